"""``reconcile sandbox`` and ``reconcile demo`` beside a distribution of its own, which has the simulators."""

import sys

import pytest

from hcloud_sandbox.flags import DEFAULTS, PARTS
from reconciler.config.options import FLAGS, Command
from tests.support.said import CommandLine


def test_the_flags_are_those_of_the_sandboxs_own_command() -> None:
    """Each is known there by the same name, and means the same where it is not given."""
    ours = {name: row.default for name, row in FLAGS.items() if Command.SANDBOX in row.commands}

    assert ours == DEFAULTS
    assert FLAGS["--without"].values_for(Command.SANDBOX) == PARTS


@pytest.mark.parametrize("command", ["demo", "sandbox"])
def test_without_the_sandbox_there_is_a_command_to_type(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One sentence and 1, no traceback."""
    monkeypatch.setitem(sys.modules, "hcloud_sandbox", None)

    ran = CommandLine(monkeypatch, capsys)(command)

    said = "reconcile: error: the sandbox is not installed: type pip install 'hcloud-reconciler[sandbox]'"
    assert (ran.code, ran.refusal) == (1, said)


@pytest.mark.parametrize("command", ["demo", "sandbox"])
def test_without_the_sandbox_help_is_whole(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What could be done is told in any case."""
    monkeypatch.setitem(sys.modules, "hcloud_sandbox", None)

    ran = CommandLine(monkeypatch, capsys)(command, "--help")

    assert (ran.code, f"usage: reconcile {command} [flags]" in ran.stdout) == (0, True)
