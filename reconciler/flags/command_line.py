"""The command line, split into words: a command, its flags as texts, and its arguments. What follows from the table is
made by argparse; values are parsed with the environment's, so that all problems are reported together.
"""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, NoReturn

from desired.bounds import VARIABLE
from reconciler import __version__
from reconciler.flags.of_hccm import INSTEAD, SWITCHES
from reconciler.flags.table import FLAGS, Command, Flag

BAD_USAGE = 64
"""Exit code of a command line that cannot be understood (sysexits EX_USAGE); argparse's own 2 means "changes"."""

_DESCRIPTION = {
    Command.DEMO: "Plan, apply and an empty plan against an embedded sandbox: no cloud, no cluster, no token.",
    Command.SANDBOX: "Simulators of Hetzner and Kubernetes on 127.0.0.1; prints the environment that points at them.",
    Command.APPROVE: "Let one hold of a plan pass once, within the next hour.",
    Command.EXPLAIN: "Every decision about one Node or Service: where each value comes from, and what guards wait for.",
    Command.CAPTURE: "Cluster and project as a file without secrets: to plan from it offline, or to report a bug.",
    Command.ORPHANS: "Load balancers of this cluster that no Service wants, with their cost; deletes them on demand.",
    Command.VALIDATE: "Check flags, variables and Services in manifests, offline: no cloud, no cluster, no token.",
}


@dataclass(frozen=True, slots=True)
class _Operand:
    """A word that a command needs after its name, or as many as there are."""

    name: str
    meaning: str
    choices: tuple[str, ...] | None = None
    many: bool = False

    @property
    def metavar(self) -> str | None:
        """What stands for it in ``--help``; None shows the choices."""
        return None if self.choices else self.name.upper()


_OPERANDS: Mapping[Command, tuple[_Operand, ...]] = {
    Command.APPROVE: (_Operand("hash", "sha256:..., as the plan shows it"),),
    Command.EXPLAIN: (
        _Operand("kind", "what NAME is", ("node", "service")),
        _Operand("name", "the Node's name; NAMESPACE/NAME of the Service, or its name in namespace default"),
    ),
    Command.ORPHANS: (_Operand("id", "of the load balancers that are meant; without any: all orphans", many=True),),
    Command.VALIDATE: (
        _Operand("file", "manifests in YAML or JSON, - for stdin; without any: flags and variables", many=True),
    ),
}


class _Help(argparse.HelpFormatter):
    """Wide enough that a flag's meaning stays on one line; a switch is shown without the value it may have."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=110, max_help_position=46)

    def _format_args(self, action: argparse.Action, default_metavar: str) -> str:
        return "" if action.nargs == "?" else super()._format_args(action, default_metavar)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(BAD_USAGE, f"reconcile: {message}\nTry 'reconcile --help'.\n")


def parse_command_line(argv: Sequence[str]) -> tuple[Command, Mapping[str, str], tuple[str, ...]]:
    """The command, flag → its text for each flag that was given, and the command's arguments.

    Exits with BAD_USAGE and one line on stderr when the command line cannot be split.
    """
    switches = {row.name for row in FLAGS.values() if not row.metavar} | SWITCHES
    parser = _parser()
    if unknown := _unknown(argv):
        parser.error(f"unrecognized arguments: {unknown}")
    words = _with_dashes(argv)
    given = vars(parser.parse_args([f"{word}=true" if word in switches else word for word in words]))
    command = Command(given.pop("command", None) or Command.RUN)
    arguments = tuple(word for operand in _OPERANDS.get(command, ()) for word in given.pop(operand.name))
    flags = {f"--{name.replace('_', '-')}": texts for name, texts in given.items()}
    return command, {name: _last_or_all(FLAGS.get(name), texts) for name, texts in flags.items()}, arguments


def _with_dashes(argv: Sequence[str]) -> list[str]:
    """The words with the names of flags as they are in the table: Kubernetes takes an underscore there for a dash."""
    flags = _until_operands(argv)
    return [*(_name(word) + "".join(word.partition("=")[1:]) for word in flags), *argv[len(flags) :]]


def _until_operands(argv: Sequence[str]) -> Sequence[str]:
    """The words before the one after which nothing is a flag."""
    return argv[: argv.index("--")] if "--" in argv else argv


def _name(word: str) -> str:
    """What stands before the value; of a flag, the name that the table has."""
    name = word.partition("=")[0]
    return name.replace("_", "-") if name.startswith("--") else name


def _unknown(argv: Sequence[str]) -> str:
    """The flags that no command has, each with the nearest one that there is; "" when all are known.

    argparse would take the value of such a flag for a command, and complain about that.
    """
    known = [*FLAGS, *INSTEAD, "--help", "--version"]
    names = {word.partition("=")[0]: _name(word) for word in _until_operands(argv) if word.startswith("--")}
    near = {
        typed: [] if VARIABLE.is_exceeded(name) else get_close_matches(name, known, n=1, cutoff=0.7)
        for typed, name in names.items()
        if name not in known
    }
    return ", ".join(f"{name} (did you mean {found[0]}?)" if found else name for name, found in near.items())


def _last_or_all(flag: Flag | None, texts: Sequence[str]) -> str:
    """A flag that takes a list may be given several times; of any other the last one counts."""
    takes_list = flag is not None and ("[," in flag.metavar or flag.metavar == "LIST")
    return ",".join(texts) if takes_list else texts[-1]


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="reconcile",
        description="A cloud controller for Kubernetes on Hetzner that shows its plan before it acts.",
        epilog="Every flag may be given as RECONCILER_<FLAG>. Hetzner's settings are HCLOUD_* and ROBOT_* variables, as"
        " for hcloud-cloud-controller-manager.",
        allow_abbrev=False,
        formatter_class=_Help,
    )
    parser.add_argument("--version", action="version", version=f"hcloud-reconciler {__version__}")
    _add(parser, Command.RUN)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands", parser_class=_Parser)
    for command, description in _DESCRIPTION.items():
        sub = commands.add_parser(
            command.value, help=description, description=description, allow_abbrev=False, formatter_class=_Help
        )
        _add(sub, command)
        for operand in _OPERANDS.get(command, ()):
            nargs: Any = "*" if operand.many else 1
            sub.add_argument(
                operand.name, nargs=nargs, metavar=operand.metavar, choices=operand.choices, help=operand.meaning
            )
    return parser


def _add(parser: argparse.ArgumentParser, command: Command) -> None:
    for row in FLAGS.values():
        if command not in row.commands:
            continue
        shape: dict[str, Any] = {"metavar": row.metavar} if row.metavar else {"nargs": "?", "const": "true"}
        parser.add_argument(row.name, action="append", help=row.meaning, default=argparse.SUPPRESS, **shape)
    if command is Command.RUN:
        for name in INSTEAD:
            names = ("-v", "--v") if name == "--v" else (name,)
            value: dict[str, Any] = {"nargs": "?", "const": "true"} if name in SWITCHES else {}
            parser.add_argument(*names, action="append", help=argparse.SUPPRESS, default=argparse.SUPPRESS, **value)
