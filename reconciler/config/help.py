"""Pages of help, made from the tables of commands and flags: the first one, and one for each command. The first one is
what people wait for who look around, so that nothing is imported that it does not need."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from reconciler.config.commands import COMMAND_GROUPS, COMMANDS, EXAMPLES, Command
from reconciler.config.program import program_name

if TYPE_CHECKING:
    from reconciler.config.flags import Flag

_WIDTH = 80
"""Columns of a page, where the terminal has them."""
_LEFT = 30
"""Columns of what is typed. What is longer stands on a line of its own."""
_LEAST = 60
"""From here down a page has one column: what is typed, and its meaning below it."""
_BELOW = 6
_LEAST_MEANING = 12
"""A meaning has so many columns at least, however narrow the terminal."""


def root_help() -> str:
    """The first page of help: commands by what people want, in 40 lines of 80 columns at most."""
    program = program_name()
    lines = [f"usage: {program} COMMAND [flags]", ""]
    lines += ["A cloud controller for Kubernetes on Hetzner that shows its plan before it acts.", ""]
    for want, rows in COMMAND_GROUPS.items():
        lines += [f"{want}:", *(f"  {command:<11} {row.brief}" for command, row in rows.items()), ""]
    lines += ["Examples:", *(f"  {program} {example:<34} {meaning}" for example, meaning in EXAMPLES.items()), ""]
    return "\n".join(
        [
            *lines,
            f"'{program} COMMAND --help' lists its flags, which are RECONCILER_<FLAG> too.",
            "Hetzner's settings are HCLOUD_* and ROBOT_* variables, as for HCCM.",
            "Older spellings: --dry-run is plan, --once is apply --yes, and without a",
            "terminal no command is run. --version tells the version.",
            "",
        ]
    )


def command_help(command: Command) -> str:
    """The page of one command: its operands and its flags, by what they are about; as wide as the terminal, up to 80
    columns."""
    import shutil  # noqa: PLC0415 - see the module's docstring
    from textwrap import wrap  # noqa: PLC0415

    from reconciler.config.flags import FLAG_GROUPS  # noqa: PLC0415

    width = min(shutil.get_terminal_size((_WIDTH, 24)).columns or _WIDTH, _WIDTH)
    row = COMMANDS[command]
    lines = [f"usage: {' '.join((program_name(), command, *(each.usage for each in row.operands)))} [flags]", ""]
    lines += [*wrap(row.description, width, break_long_words=False), ""]
    if row.operands:
        lines += [line for each in row.operands for line in _entry(each.metavar, each.meaning, width)] + [""]
    for heading, flags in FLAG_GROUPS.items():
        if own := [flag for flag in flags if command in flag.commands]:
            lines += [f"{heading}:", *(line for flag in own for line in _entry(_typed(flag), flag.meaning, width)), ""]
    lines += _entry("-h, --help", "show this page", width)
    return "\n".join(lines) + "\n"


def _typed(flag: "Flag") -> str:
    return f"{', '.join(flag.spellings)} {flag.metavar}".rstrip()


def _entry(typed: str, meaning: str, width: int) -> Iterator[str]:
    """Lines with what is typed on the left and its meaning on the right, or below it."""
    from textwrap import wrap  # noqa: PLC0415

    left = _LEFT if width >= _LEAST else _BELOW
    head = f"  {typed}"
    texts = wrap(meaning, max(width - left, _LEAST_MEANING), break_long_words=False, break_on_hyphens=False)
    if len(head) + 2 > left:
        yield head
    else:
        yield f"{head:<{left}}{texts.pop(0)}"
    yield from (f"{'':<{left}}{text}" for text in texts)
