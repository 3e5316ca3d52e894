"""What is read of the words of a command line beside click: which are flags, in whatever spelling, which of them are
unknown, and what was given.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from difflib import get_close_matches
from itertools import takewhile

import click

from desired.syntax.bounds import LONGEST_VARIABLE
from reconciler.cli.commands import COMMANDS
from reconciler.config.hccm_flags import INSTEAD, SWITCHES
from reconciler.config.options import FLAGS, FORMER, SPELLINGS, Command

OF_HCCM = frozenset({Command.BARE, Command.RUN, Command.VALIDATE})
"""The commands that take the flags of HCCM which mean nothing here: what a run takes can be validated."""
LETTERS = {"--v": "-v"}
"""Those of them that have a spelling of one letter."""
_SWITCHES = {spelling for spelling, row in SPELLINGS.items() if not row.metavar} | SWITCHES
_VALUED = {*SPELLINGS, *INSTEAD, *LETTERS.values()} - _SWITCHES
"""Flags whose value may be the next word."""
_NEGATIVE = re.compile(r"-(\d+|\d*\.\d+)", re.ASCII)


def words_for_click(argv: Sequence[str]) -> Iterator[str]:
    """The words as click takes them: flags have the names of the table, a switch has its value behind a sign and a
    letter before it, a key or name behind ``explain`` is kind and name, and operands that begin with a dash come last.

    Raises UsageError where the value of a flag looks like a flag itself: it was forgotten.
    """
    awaiting, operands, last = "", list[str](), list[str]()
    for place, word in enumerate(argv):
        if word == "--" and not awaiting:
            last += argv[place + bool(operands) :]  # before a command it is none, and begins no run
            break
        if awaiting and _is_flag(word):
            raise click.UsageError(awaits_a_value(awaiting))
        if awaiting:
            awaiting = ""
            yield word
        elif _is_flag(word):
            awaiting = dashed(word) if dashed(word) in _VALUED else ""
            yield from _flag(word)
        else:
            operands.append(word)
            found = _object(word) if operands[:-1] == [Command.EXPLAIN] else (word,)
            if last or (word.startswith("-") and word != "-"):
                last += found
            else:
                yield from found
    if last and awaiting:
        raise click.UsageError(awaits_a_value(awaiting))
    if last:
        yield from ("--", *last)


def _is_flag(word: str) -> bool:
    """Whether a word is no value and no operand: a negative number is one, and a text with blanks unless a flag stands
    before its sign."""
    name = dashed(word.partition("=")[0])
    is_text = " " in word and name not in _SWITCHES | _VALUED
    return word.startswith("-") and word != "-" and not _NEGATIVE.fullmatch(word) and not is_text


def _flag(word: str) -> Iterator[str]:
    name, sign, value = word.partition("=")
    if sign and not word.startswith("--"):
        yield from (name, value)
    else:
        yield f"{dashed(word)}=true" if dashed(word) in _SWITCHES else f"{dashed(name)}{sign}{value}"


_KINDS = {"node": "node", "nodes": "node", "no": "node", "service": "service", "services": "service", "svc": "service"}
"""Spellings of kinds, as kubectl takes them."""


def _object(word: str) -> Sequence[str]:
    """What stands behind ``explain``: a kind; kind and name of a key as reports print it, ``node/web-1``; or the name
    of something whose kind is to be found out."""
    kind, slash, name = word.partition("/")
    if kind in _KINDS and (name or not slash):
        return (_KINDS[kind], name) if name else (_KINDS[kind],)
    return (word,) if word == "any" or word.endswith("/") else ("any", word)


def dashed(name: str) -> str:
    """The name of a flag as the table has it: Kubernetes takes an underscore there for a dash."""
    return name.replace("_", "-") if name.startswith("--") else name


def awaits_a_value(name: str) -> str:
    """What is said where the value of this flag is missing."""
    spellings = SPELLINGS[name].spellings if name in SPELLINGS else (name,)
    hint = ""
    if name in LETTERS or name in LETTERS.values():
        spellings = next((letter, word) for word, letter in LETTERS.items())
        hint = "; HCLOUD_DEBUG=true logs every request"
    return f"argument {'/'.join(spellings)}: expected one argument{hint}"


def refuse_unknown_flags(argv: Sequence[str]) -> None:
    """Raise UsageError for the flags that no command has, each with the nearest one that there is, of this command if
    it has one, and for those that go with other commands: all of them at once."""
    command = next((Command(word) for word in argv if word in COMMANDS), Command.BARE)
    words = argv[: argv.index("--")] if "--" in argv else argv
    names = {name: dashed(name) for name in (word.partition("=")[0] for word in words) if name.startswith("--")}
    if wrong := [why for typed, name in names.items() if (why := _why_unknown(typed, name, command))]:
        raise click.UsageError(f"unrecognized arguments: {', '.join(wrong)}")


def asks_for_help(words: Sequence[str]) -> bool:
    """Whether the page of help is among the words for click."""
    return not {"-h", "--help"}.isdisjoint(takewhile("--".__ne__, words))


def refuse_misplaced_flags(command: Command, words: Sequence[str]) -> None:
    """Raise UsageError for the flags among the words for click that go with other commands: all of them at once."""
    names = dict.fromkeys(word.partition("=")[0] for word in takewhile("--".__ne__, words) if word.startswith("--"))
    if wrong := [misplaced(name) for name in names if _takers(name) and command not in _takers(name)]:
        raise click.UsageError(f"unrecognized arguments: {', '.join(wrong)}")


def _why_unknown(typed: str, name: str, command: Command) -> str:
    known = [*SPELLINGS, *INSTEAD, "--help", "--version"]
    if name in known:
        return misplaced(name) if _takers(name) and not {command, Command.BARE} & _takers(name) else ""
    if LONGEST_VARIABLE.is_exceeded(name):
        return typed
    if name in FORMER:
        return f"{typed} ({FORMER[name]})"
    own = [flag for flag in known if not _takers(flag) or command in _takers(flag)]
    if near := get_close_matches(name, own, n=1, cutoff=0.7):
        return f"{typed} (did you mean {near[0]}?)"
    if near := get_close_matches(name, known, n=1, cutoff=0.7):
        return f"{typed} (did you mean {near[0]}, which goes with {_listed(_takers(near[0]))}?)"
    return typed


def misplaced(word: str) -> str:
    """A word that the command does not take; of a flag the name, and the commands that take it."""
    name = dashed(word)
    return f"{name} (it goes with {_listed(_takers(name))})" if _takers(name) else word


def _takers(name: str) -> frozenset[Command]:
    """The commands that take a flag with this name; none where there is no such flag, or where all do."""
    return SPELLINGS[name].commands if name in SPELLINGS else OF_HCCM if name in INSTEAD else frozenset()


def _listed(commands: Collection[Command]) -> str:
    """What one of them has to be; what goes without a name is named where nothing else takes it."""
    named = [command for command in COMMANDS if command in commands and command is not Command.VALIDATE]
    return ", ".join(named) or "no command"


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
