"""The name of the program as it was started, for its usage and for the lines that it says on stderr."""

import sys
from collections.abc import Mapping

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
