"""``reconcile sandbox``: the command ``hcloud-sandbox``, which declares its flags by itself."""

from collections.abc import Mapping, Sequence

from hcloud_sandbox.command import main
from reconciler.config.program import BAD_USAGE

_REFUSED = 2
"""Exit code of argparse, which means "changes" here."""


def sandbox(words: Sequence[str], _flags: Mapping[str, str], _environ: Mapping[str, str]) -> int:
    """Serve until a signal comes, or do what else the words say; the exit code."""
    try:
        return main(words)
    except SystemExit as left:
        return BAD_USAGE if left.code == _REFUSED else 0
