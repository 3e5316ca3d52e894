"""Flags and commands: the table, the command line that is split by it, and the values."""

from reconciler.flags.command_line import BAD_USAGE, parse_command_line
from reconciler.flags.of_hccm import without_effect
from reconciler.flags.table import FLAGS, Command, Flag, LogFormat, Output
from reconciler.flags.values import read_flags, unknown_variables

__all__ = [
    "BAD_USAGE",
    "FLAGS",
    "Command",
    "Flag",
    "LogFormat",
    "Output",
    "parse_command_line",
    "read_flags",
    "unknown_variables",
    "without_effect",
]
