"""``reconcile sandbox`` beside a distribution of its own, which has the simulators and a command for them."""

from hcloud_sandbox.flags import DEFAULTS, PARTS
from reconciler.config.options import FLAGS, Command


def test_the_flags_are_those_of_the_sandboxs_own_command() -> None:
    """Each is known there by the same name, and means the same where it is not given."""
    ours = {name: row.default for name, row in FLAGS.items() if Command.SANDBOX in row.commands}

    assert ours == DEFAULTS
    assert FLAGS["--without"].values_for(Command.SANDBOX) == PARTS
