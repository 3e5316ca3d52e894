"""The words of a command line as click takes them, and the flags that click found."""

from collections.abc import Iterator, Mapping, Sequence

import click

from reconciler.config.hccm_flags import INSTEAD, SWITCHES
from reconciler.config.options import FLAGS, SPELLINGS

LETTERS = {"--v": "-v"}
"""Flags of HCCM that have a spelling of one letter."""
_SWITCHES = {spelling for spelling, row in SPELLINGS.items() if not row.metavar} | SWITCHES
_VALUED = {*SPELLINGS, *INSTEAD, *LETTERS.values()} - _SWITCHES
"""Flags whose value may be the next word."""


def words_for_click(argv: Sequence[str]) -> Iterator[str]:
    """The words with flags as in the table: an underscore in a name is a dash, as in Kubernetes' programs, and a switch
    has its value behind a sign. Raises UsageError for a flag in the place of a value, which was forgotten."""
    words = iter(argv)
    for word in words:
        name, sign, value = word.partition("=")
        name = name.replace("_", "-") if name.startswith("--") else name
        if name in _SWITCHES and not sign:
            yield f"{name}=true"
        elif name in _VALUED and not sign:
            following = next(words, "--")
            if following.startswith("--"):
                raise click.BadOptionUsage(name, f"Option {name!r} requires an argument.")
            yield from (name, following)
        elif name in _VALUED and not name.startswith("--"):  # -o=json
            yield from (name, value)
        else:
            yield f"{name}{sign}{value}" if name.startswith("--") else word
        if word == "--":
            yield from words


def given_flags(context: click.Context) -> Mapping[str, str]:
    """Flag → its text, of those that were given before the name of the command and behind it. One that takes a list may
    be given several times; of any other the last one counts."""
    given: dict[str, str] = {}
    for each in filter(None, (context.parent, context)):
        for option in each.command.params:
            texts = each.params.get(option.name or "") if isinstance(option, click.Option) else None
            name = option.opts[-1]
            separator = FLAGS[name].separator if name in FLAGS else ""
            for text in texts or ():
                given[name] = f"{given[name]}{separator}{text}" if separator and name in given else text
    return given
