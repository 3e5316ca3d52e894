"""Completion: what may stand at a place of the command line, made from the tables of commands and flags.

``script`` writes that down for a shell, which then knows commands, flags and values by itself, and starts the program
for names from the cluster alone (``names``). kubectl has no script of ours, and asks each time.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from reconciler.config.commands import COMMANDS, Operand
from reconciler.config.flags import FLAGS, Command, Flag


class WordSource(StrEnum):
    """Where the words come from that only the moment knows; the value is what scripts ask ``__complete`` for."""

    FILE = "file"
    CONTEXT = "context"
    NODE = "node"
    SERVICE = "service"
    HOLD = "hold"
    KEY = "key"
    NAMED = "named"
    """An object of the kind that stands before it."""


_SOURCES = {
    "FILE": WordSource.FILE,
    "CONTEXT": WordSource.CONTEXT,
    "HASH": WordSource.HOLD,
    "HASH[,HASH]": WordSource.HOLD,
    "KEY[,KEY]": WordSource.KEY,
}
"""What stands for a value in help → where its words come from."""
_EXPLAINED = {"KIND": WordSource.KEY, "NAME": WordSource.NAMED}
"""Operands of ``explain``, which is also content with a key of a plan."""


@dataclass(frozen=True, slots=True)
class Slot:
    """A place for a value: the words that it may have, and where others come from; both are none where a person has to
    know."""

    values: tuple[str, ...] = ()
    source: WordSource | None = None
    takes_list: bool = False


SPELLED: Mapping[str, Flag] = {spelling: row for row in FLAGS.values() for spelling in row.spellings}
"""How a flag may be written → the flag."""


def slot_of(flag: Flag, command: Command) -> Slot | None:
    """The place behind a flag of a command; None for a switch."""
    if not flag.metavar:
        return None
    return Slot(flag.values_for(command), _SOURCES.get(flag.metavar), flag.takes_list)


def slot_at(command: Command, place: int) -> Slot | None:
    """The place of an operand, of which 0 is the first; None where no more are taken."""
    operands = COMMANDS[command].operands
    operand: Operand | None = operands[place] if place < len(operands) else None
    if operand is None and operands and operands[-1].many:
        operand = operands[-1]
    if operand is None:
        return None
    sources = _EXPLAINED if command is Command.EXPLAIN else _SOURCES
    return Slot(operand.choices, sources.get(operand.metavar))


def flags_of(command: Command) -> Iterator[tuple[str, str]]:
    """Flags that may stand behind the command's name, each with its meaning; behind none, those that need none."""
    if command is Command.BARE:
        yield "--version", "show the version"
    yield "--help", "show the page of help"
    yield from ((row.name, row.meaning) for row in FLAGS.values() if command in row.commands and command)


@dataclass(frozen=True, slots=True)
class Candidates:
    """The words that may stand at a place."""

    words: Mapping[str, str]
    """Word → its meaning, which may be ""."""
    are_files: bool = False
    """Whether names of files are welcome instead."""


Names = Callable[[WordSource, str], Iterable[str]]
"""Names from the cluster: of which kind, and how they begin."""


_FILES, _NO_FILES = ":0", ":4"
"""What ends an answer to kubectl, which has it from cobra: the shell may offer files, or it may not."""


def answer(words: Sequence[str], names: Names) -> str:
    """What ``kubectl`` is told, which gives the words behind the plugin's name, the last one being typed: a candidate a
    line, with its meaning behind a tab, and a line that says what else may be offered."""
    found = complete(words[:-1], words[-1] if words else "", names)
    lines = [f"{word}\t{meaning}" if meaning else word for word, meaning in found.words.items()]
    return "\n".join([*lines, _FILES if found.are_files else _NO_FILES, ""])


def complete(words: Sequence[str], current: str, names: Names) -> Candidates:
    """The candidates for ``current``, which stands behind ``words`` on the command line, the program's name left out.
    A flag's name before its value, ``--flag=``, is no part of a candidate."""
    command, operands, awaiting = _walk(words)
    head, equals, value = current.partition("=")
    if awaiting is None and current.startswith("-"):
        if not equals:
            return _of(dict(flags_of(command)), current)
        awaiting, current = SPELLED.get(head), value
        slot = slot_of(awaiting, command) if awaiting else None
    elif awaiting is not None:
        slot = slot_of(awaiting, command)
    elif command is Command.BARE:
        return _of({name: row.brief for name, row in COMMANDS.items()}, current)
    else:
        slot = slot_at(command, len(operands))
    return _of_slot(slot, current, operands, names)


def _walk(words: Sequence[str]) -> tuple[Command, tuple[str, ...], Flag | None]:
    """The command, its operands, and the flag that awaits its value."""
    command, operands, awaiting = Command.BARE, list[str](), None
    for word in words:
        if awaiting is not None:
            awaiting = None
        elif word.startswith("-"):
            flag = SPELLED.get(word)
            awaiting = flag if flag is not None and flag.metavar else None
        elif command is Command.BARE:
            command = Command(word) if word in COMMANDS else command
        else:
            operands.append(word)
    return command, tuple(operands), awaiting


def _of_slot(slot: Slot | None, current: str, operands: Sequence[str], names: Names) -> Candidates:
    if slot is None:
        return Candidates({})
    if slot.source is WordSource.FILE:
        return Candidates({}, are_files=True)
    before, comma, last = current.rpartition(",") if slot.takes_list else ("", "", current)
    source: WordSource | None = slot.source
    if source is WordSource.NAMED:
        source = WordSource(operands[-1]) if operands[-1] in (WordSource.NODE, WordSource.SERVICE) else None
    if slot.values and "/" not in last:  # a key has a slash
        source = None
    found = [*slot.values, *(names(source, last) if source else ())]
    return _of({f"{before}{comma}{word}": "" for word in found}, current)


def _of(words: Mapping[str, str], current: str) -> Candidates:
    return Candidates({word: meaning for word, meaning in words.items() if word.startswith(current)})
