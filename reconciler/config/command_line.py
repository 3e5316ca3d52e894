"""Command line: its split into command, flags and operands."""

import argparse
from collections.abc import Collection, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, NoReturn

from desired.syntax.bounds import LONGEST_VARIABLE, shown_text
from reconciler import __version__
from reconciler.config.commands import COMMANDS, WORDS_OF_OTHERS
from reconciler.config.flags import FLAGS, FORMER, Command, Flag
from reconciler.config.hccm_flags import INSTEAD, SWITCHES
from reconciler.config.help import command_help, root_help
from reconciler.config.program import BAD_USAGE, program_name

_OF_HCCM = frozenset({Command.BARE, Command.RUN, Command.VALIDATE})
"""The commands that take the flags of HCCM which mean nothing here: what a run takes can be validated."""
_HELP = "help"
"""What is typed before a command for its page of help, as ``--help`` behind it."""
_TAKING_A_VALUE = frozenset(spelling for row in FLAGS.values() if row.metavar for spelling in row.spellings)
"""Flags whose value may be the next word."""


class _Parser(argparse.ArgumentParser):
    """The parser of one command. The command without a name takes all flags of a run; its help shows the commands,
    whose helps show flags."""

    def __init__(self, command: Command = Command.BARE, **_: Any) -> None:
        super().__init__(prog=program_name(), allow_abbrev=False)
        self._command = command
        _add(self, command)

    def format_help(self) -> str:
        return command_help(self._command) if self._command else root_help()

    def print_help(self, file: Any = None) -> None:
        print(self.format_help(), end="", file=file)  # argparse would pass over a disk that is full

    def error(self, message: str) -> NoReturn:
        self.exit(BAD_USAGE, f"{program_name()}: {message}\nTry '{program_name()} --help'.\n")

    def _check_value(self, action: argparse.Action, value: str) -> None:
        if self._command or action.choices is None or value in action.choices:
            super()._check_value(action, value)
            return
        near = WORDS_OF_OTHERS.get(value) or next(iter(get_close_matches(value, [*COMMANDS, _HELP], n=1)), None)
        hint = f" (did you mean {near}?)" if near else f": expect one of {', '.join(COMMANDS)}"
        self.error(f"{shown_text(value)} is no command{hint}")


def parse_command_line(argv: Sequence[str]) -> tuple[Command, Mapping[str, str], tuple[str, ...]]:
    """The command, flag → its text for each flag that was given, and the command's arguments.

    Exits with BAD_USAGE and one line on stderr when the command line cannot be split, and with 0 after a page of help.
    """
    if argv[:1] == [_HELP]:
        argv = [*argv[1:2], "--help"]
    switches = {row.name for row in FLAGS.values() if not row.metavar} | SWITCHES
    words = _with_key_apart(_with_dashes(argv))
    parser = _parser(words)
    if unknown := _unknown(argv, next((Command(word) for word in words if word in COMMANDS), Command.BARE)):
        parser.error(f"unrecognized arguments: {unknown}")
    parsed, rest = parser.parse_known_args([f"{word}=true" if word in switches else word for word in words])
    given = vars(parsed)
    command = Command(given.pop("command", None) or Command.BARE)
    if rest:
        parser.error(f"unrecognized arguments: {', '.join(map(_misplaced, rest))}")
    operands = COMMANDS[command].operands if command else ()
    arguments = tuple(word for operand in operands for word in _words(given.pop(operand.name)))
    flags = {f"--{name.replace('_', '-')}": texts for name, texts in given.items()}
    return command, {name: _last_or_all(FLAGS.get(name), texts) for name, texts in flags.items()}, arguments


def _words(found: str | list[str] | None) -> Sequence[str]:
    """The words that argparse has for an operand. An empty one is a word, so that a missing file name is an error."""
    return found if isinstance(found, list) else () if found is None else (found,)


def _with_dashes(argv: Sequence[str]) -> list[str]:
    """The words with the names of flags as they are in the table: Kubernetes takes an underscore there for a dash."""
    flags = _until_operands(argv)
    return [*(_name(word) + "".join(word.partition("=")[1:]) for word in flags), *argv[len(flags) :]]


def _with_key_apart(words: Sequence[str]) -> list[str]:
    """The words of ``explain``, in which a key as reports print it, ``node/web-1``, is kind and name."""
    place = words.index(Command.EXPLAIN) + 1 if Command.EXPLAIN in words else len(words)
    while place < len(words) and words[place].startswith("-"):
        takes_next = "=" not in words[place] and words[place] in _TAKING_A_VALUE
        place += 2 if takes_next else 1
    kind, _, name = words[place].partition("/") if place < len(words) else ("", "", "")
    if not name or kind not in ("node", "service"):
        return list(words)
    return [*words[:place], kind, name, *words[place + 1 :]]


def _until_operands(argv: Sequence[str]) -> Sequence[str]:
    """The words before the one after which nothing is a flag."""
    return argv[: argv.index("--")] if "--" in argv else argv


def _name(word: str) -> str:
    """What stands before the value; of a flag, the name that the table has."""
    name = word.partition("=")[0]
    return name.replace("_", "-") if name.startswith("--") else name


def _unknown(argv: Sequence[str], command: Command) -> str:
    """The flags that no command has, each with the nearest one that there is, of this command if it has one, and those
    that go with other commands; "" when there are none.

    argparse would take the value of such a flag for a command, and complain about that.
    """
    names = {word.partition("=")[0]: _name(word) for word in _until_operands(argv) if word.startswith("--")}
    return ", ".join(filter(None, (_why_unknown(typed, name, command) for typed, name in names.items())))


def _why_unknown(typed: str, name: str, command: Command) -> str:
    known = [*FLAGS, *INSTEAD, "--help", "--version"]
    if name in known:
        return _misplaced(name) if _takers(name) and not {command, Command.BARE} & _takers(name) else ""
    if LONGEST_VARIABLE.is_exceeded(name):
        return typed
    if name in FORMER:
        return f"{typed} ({FORMER[name]})"
    own = [flag for flag in known if not _takers(flag) or command in _takers(flag)]
    if near := _nearest(name, own):
        return f"{typed} (did you mean {near}?)"
    if near := _nearest(name, known):
        return f"{typed} (did you mean {near}, which goes with {_listed(_takers(near))}?)"
    return typed


def _nearest(name: str, names: Sequence[str]) -> str | None:
    return next(iter(get_close_matches(name, names, n=1, cutoff=0.7)), None)


def _misplaced(word: str) -> str:
    """A word that the command does not take; of a flag the name, and the commands that take it."""
    name = _name(word)
    return f"{name} (it goes with {_listed(_takers(name))})" if _takers(name) else word


def _takers(name: str) -> frozenset[Command]:
    """The commands that take a flag with this name; none where there is no such flag, or where all do."""
    return FLAGS[name].commands if name in FLAGS else _OF_HCCM if name in INSTEAD else frozenset()


def _listed(commands: Collection[Command]) -> str:
    """What one of them has to be; what goes without a name is named where nothing else takes it."""
    named = [command for command in COMMANDS if command in commands and command is not Command.VALIDATE]
    return ", ".join(named) or "no command"


def _last_or_all(flag: Flag | None, texts: Sequence[str]) -> str:
    """A flag that takes a list may be given several times; of any other the last one counts."""
    return flag.separator.join(texts) if flag is not None and flag.separator else texts[-1]


def _parser(words: Sequence[str]) -> argparse.ArgumentParser:
    """The parser of a command line with these words: it knows the commands that are among them, as to make the parsers
    of all takes longer than most commands."""
    parser = _Parser()
    parser.add_argument("--version", action="version", version=f"hcloud-reconciler {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands", parser_class=_Parser)
    for command in COMMANDS:
        if command in words:
            commands.add_parser(command.value, command=command)
    return parser


def _add(parser: argparse.ArgumentParser, command: Command) -> None:
    for row in FLAGS.values():
        if command not in row.commands:
            continue
        shape: dict[str, Any] = {"metavar": row.metavar} if row.metavar else {"nargs": "?", "const": "true"}
        parser.add_argument(*row.spellings, action="append", default=argparse.SUPPRESS, **shape)
    if command in _OF_HCCM:
        for name in INSTEAD:
            names = ("-v", "--v") if name == "--v" else (name,)
            value: dict[str, Any] = {"nargs": "?", "const": "true"} if name in SWITCHES else {}
            parser.add_argument(*names, action="append", default=argparse.SUPPRESS, **value)
    for operand in COMMANDS[command].operands if command else ():
        nargs: Any = "*" if operand.many else "?" if operand.optional else 1
        parser.add_argument(operand.name, nargs=nargs, metavar=operand.metavar, choices=operand.choices or None)
