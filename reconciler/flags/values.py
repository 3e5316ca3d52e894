"""The values of flags: from the command line, else from the environment, else the default."""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from desired.bounds import VARIABLE, shown_text
from reconciler.flags.table import FLAGS, PREFIX, Command
from reconciler.grammar import is_service_link


def read_flags(
    command: Command, given: Mapping[str, str], environ: Mapping[str, str], usage: list[str], errors: list[str]
) -> Mapping[str, Any]:
    """Flag → parsed value: from the command line, else from its variable, if it has one, else the default.

    Problems of the command line are appended to ``usage``, those of the environment to ``errors``, one line each.
    """
    values: dict[str, Any] = {}
    for row in FLAGS.values():
        values[row.name] = row.default
        on_command_line = row.name in given
        if command not in row.commands:
            if on_command_line:
                usage.append(f"{row.name} has no meaning for 'reconcile {'' if command is Command.RUN else command}'")
            continue
        text = given[row.name] if on_command_line else None if row.is_typed else environ.get(row.variable)
        if text is None or (not on_command_line and not text and row.metavar):
            continue
        try:
            values[row.name] = row.parse(text)
        except ValueError as error:
            name, problems = (row.name, usage) if on_command_line else (row.variable, errors)
            problems.append(f"{name} is {shown_text(text)}: {error}")
    return values


def unknown_variables(environ: Mapping[str, str]) -> list[str]:
    """A line for each ``RECONCILER_*`` name that is none of ours, with the nearest one that is, or with the flag that
    is to be given instead."""
    known = [row.variable.removeprefix(PREFIX) for row in FLAGS.values() if not row.is_typed]
    typed = {row.variable: row.name for row in FLAGS.values() if row.is_typed}
    lines = []
    for name in sorted(environ):
        rest = name.removeprefix(PREFIX)
        if name in typed:
            lines.append(f"{name} is no variable: give {typed[name]} on the command line, each time that it is meant")
        elif name.startswith(PREFIX) and rest not in known and not is_service_link(name):
            near = [] if VARIABLE.is_exceeded(name) else get_close_matches(rest, known, n=1)
            shown = shown_text(name) if VARIABLE.is_exceeded(name) else name
            lines.append(f"unknown variable {shown}" + (f": did you mean {PREFIX}{near[0]}?" if near else ""))
    return lines
