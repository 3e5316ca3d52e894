"""What the program is to who types it: its name as it was started, and the exit code of a line it does not take."""

import sys
from collections.abc import Mapping

BAD_USAGE = 64
"""Exit code of a command line that cannot be understood (sysexits EX_USAGE); argparse's own 2 means "changes"."""

PROGRAM = "reconcile"
"""The name of the command, and of whatever is started by none of its names."""

CALLED: Mapping[str, str] = {
    PROGRAM: PROGRAM,
    "hcloud-reconciler": "hcloud-reconciler",
    "kubectl-hcloud_reconciler": "kubectl hcloud-reconciler",
}
"""File name of a command that is installed → what is typed to run it."""


def program_name() -> str:
    """What was typed to run this process: for a plugin of kubectl these are two words."""
    return CALLED.get(sys.argv[0].rpartition("/")[2], PROGRAM)


def typed(*words: str) -> str:
    """What to type to run this program with these words, of which empty ones are left out."""
    return " ".join(filter(None, (program_name(), *words)))
