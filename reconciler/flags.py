"""Every flag of the command line, in one table; each has an environment variable ``RECONCILER_<FLAG>``.

The table is what ``--help`` prints, what the loader reads and what unknown names are compared with. argparse only
splits the command line: values are parsed with the environment's, so that all problems are reported together.
"""

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from typing import Any, NoReturn

from desired.grammar import parse_bool
from desired.names import LEASE, LEASE_NAMESPACE
from desired.selector import parse_selector
from desired.settings import Controller, Policy, Waits
from reconciler import __version__
from reconciler.grammar import (
    is_service_link,
    parse_address,
    parse_cidrs,
    parse_controllers,
    parse_hashes,
    parse_int,
    parse_keys,
    parse_label_prefix,
    parse_port,
    parse_positive_duration,
    parse_positive_wait,
    parse_wait,
)

BAD_USAGE = 64
"""Exit code of a command line that cannot be understood (sysexits EX_USAGE); argparse's own 2 means "changes"."""
PREFIX = "RECONCILER_"


class Output(StrEnum):
    """``--output``: AUTO is text, coloured on a terminal."""

    AUTO = "auto"
    TEXT = "text"
    JSON = "json"


class Command(StrEnum):
    """What to do; RUN is the command without a name."""

    RUN = "run"
    DEMO = "demo"
    SANDBOX = "sandbox"
    APPROVE = "approve"
    EXPLAIN = "explain"
    VALIDATE = "validate"


@dataclass(frozen=True, slots=True)
class Flag:
    """One row of the table."""

    name: str
    parse: Callable[[str], Any]
    default: Any
    meaning: str
    metavar: str = ""
    """What stands for the value in ``--help``; "" for a switch, which may also be written ``--flag=false``."""
    commands: frozenset[Command] = frozenset({Command.RUN, Command.VALIDATE})
    """What it has a meaning for; what a run takes can be validated."""

    @property
    def variable(self) -> str:
        """The environment variable that means the same."""
        return PREFIX + self.name.removeprefix("--").replace("-", "_").upper()


def _choice(kind: type[StrEnum]) -> Callable[[str], StrEnum]:
    def parse(text: str) -> StrEnum:
        if text not in list(kind):
            raise ValueError(f"expect one of {', '.join(kind)}")
        return kind(text)

    return parse


def _lock_type(text: str) -> str:
    if text != "leases":
        raise ValueError("expect leases: nothing else is supported as a lock")
    return text


_SEVERAL = frozenset({Command.RUN, Command.APPROVE, Command.EXPLAIN, Command.VALIDATE})
_PLANS = frozenset({Command.RUN, Command.EXPLAIN, Command.VALIDATE})
"""What a command that computes a plan has to know."""
_SANDBOX = frozenset({Command.SANDBOX})
_INTERVAL = "60s or more"

_ROWS = (
    Flag("--dry-run", parse_bool, False, "print what would change, touch nothing"),
    Flag("--once", parse_bool, False, "converge, then exit"),
    Flag("--output", _choice(Output), Output.AUTO, "auto, text or json", "FORMAT", _PLANS),
    Flag("--detailed-exitcode", parse_bool, False, "let the exit code tell the result: 0, 1, 2, 3, 4 or 5"),
    Flag("--approve", parse_hashes, (), "let these holds pass in this --once run", "HASH[,HASH]"),
    Flag("--only", parse_keys, (), "plan and apply only these keys and what is below them", "KEY[,KEY]"),
    Flag("--controllers", parse_controllers, frozenset(Controller), "*, or names; -name switches off", "LIST", _PLANS),
    Flag("--cluster-cidr", parse_cidrs, (), "the cluster's pod CIDR; without effect in this version", "CIDR[,CIDR]"),
    Flag("--kubeconfig", str, None, "default: KUBECONFIG, the pod's account, ~/.kube/config", "FILE", _SEVERAL),
    Flag("--interval", parse_positive_duration, None, f"pause between passes; default {_INTERVAL}", "D"),
    Flag(
        "--policy", _choice(Policy), Policy.SYNC, "observe: nothing, upsert: no removals, sync: all", "POLICY", _PLANS
    ),
    Flag("--ignore-nodes", parse_selector, None, "leave Nodes with these labels out of everything", "SELECTOR", _PLANS),
    Flag(
        "--mirror-labels", parse_label_prefix, None, "repeat servers' labels on Nodes as DOMAIN/KEY", "DOMAIN", _PLANS
    ),
    Flag(
        "--keep-internal-ips", parse_bool, False, "without HCLOUD_NETWORK, keep the kubelets' InternalIPs", "", _PLANS
    ),
    Flag(
        "--delete-not-ready-for",
        parse_wait,
        Waits().not_ready_for,
        "how long a Node without a server must not be Ready; default 20s",
        "D",
        _PLANS,
    ),
    Flag("--delete-min-age", parse_wait, Waits().age, "and how old it must be; default 120s", "D", _PLANS),
    Flag(
        "--given-up-after",
        parse_positive_wait,
        Waits().given_up_after,
        "not Ready for so long, a Node counts as announced to go; default 30m",
        "D",
        _PLANS,
    ),
    Flag("--request-timeout", parse_positive_duration, 15.0, "longest wait for one answer; default 15s", "D", _SEVERAL),
    Flag("--leader-elect", parse_bool, True, "accepted as for HCCM; this version takes no Lease"),
    Flag("--leader-elect-lease-duration", parse_positive_duration, 15.0, "as for HCCM; default 15s", "D"),
    Flag("--leader-elect-renew-deadline", parse_positive_duration, 10.0, "as for HCCM; default 10s", "D"),
    Flag("--leader-elect-retry-period", parse_positive_duration, 2.0, "as for HCCM; default 2s", "D"),
    Flag("--leader-elect-resource-lock", _lock_type, "leases", "as for HCCM; leases", "TYPE"),
    Flag("--leader-elect-resource-name", str, LEASE, f"as for HCCM; default {LEASE}", "NAME"),
    Flag(
        "--leader-elect-resource-namespace",
        str,
        LEASE_NAMESPACE,
        f"where approvals are kept; default {LEASE_NAMESPACE}",
        "NAME",
        _SEVERAL,
    ),
    Flag("--health-address", parse_address, ("", 10258), "default :10258; this version serves no health", "ADDRESS"),
    Flag("--world", str, None, "world file to start from; default: a small cluster", "FILE", _SANDBOX),
    Flag("--hetzner-port", parse_port, 0, "default: any free port", "N", _SANDBOX),
    Flag("--kubernetes-port", parse_port, 0, "default: any free port", "N", _SANDBOX),
    Flag("--robot-port", parse_port, 0, "accepted; Robot is not simulated in this version", "N", _SANDBOX),
    Flag("--without", str, "", "simulators to leave out: kubernetes, robot", "LIST", _SANDBOX),
    Flag("--action-ms", parse_int, 300, "how long a Hetzner action takes; default 300", "N", _SANDBOX),
    Flag("--latency-ms", parse_int, 0, "waited before each answer; default 0", "N", _SANDBOX),
    Flag("--rate-limit", parse_int, 3600, "Hetzner requests an hour; default 3600", "N", _SANDBOX),
    Flag("--proxy", str, None, "instead: a fault proxy before this address", "URL", _SANDBOX),
    Flag("--proxy-ca-file", str, None, "certificate authority of --proxy's https address", "FILE", _SANDBOX),
    Flag("--proxy-port", parse_port, 0, "default: any free port", "N", _SANDBOX),
)

FLAGS: Mapping[str, Flag] = {row.name: row for row in _ROWS}
"""Name → row."""

_DESCRIPTION = {
    Command.DEMO: "Plan, apply and an empty plan against an embedded sandbox: no cloud, no cluster, no token.",
    Command.SANDBOX: "Simulators of Hetzner and Kubernetes on 127.0.0.1; prints the environment that points at them.",
    Command.APPROVE: "Let one hold of a plan pass once, within the next hour.",
    Command.EXPLAIN: "Every decision about one Node: its server, labels, addresses, taints, and what guards wait for.",
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
        _Operand("kind", "what NAME is", ("node",)),
        _Operand("name", "the object's name, as kubectl shows it"),
    ),
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
    switches = {row.name for row in FLAGS.values() if not row.metavar}
    given = vars(_parser().parse_args([f"{word}=true" if word in switches else word for word in argv]))
    command = Command(given.pop("command", None) or Command.RUN)
    arguments = tuple(word for operand in _OPERANDS.get(command, ()) for word in given.pop(operand.name))
    flags = {f"--{name.replace('_', '-')}": texts for name, texts in given.items()}
    return command, {name: _last_or_all(FLAGS[name], texts) for name, texts in flags.items()}, arguments


def _last_or_all(flag: Flag, texts: Sequence[str]) -> str:
    """A flag that takes a list may be given several times; of any other the last one counts."""
    return ",".join(texts) if "[," in flag.metavar or flag.metavar == "LIST" else texts[-1]


def read_flags(
    command: Command, given: Mapping[str, str], environ: Mapping[str, str], usage: list[str], errors: list[str]
) -> Mapping[str, Any]:
    """Flag → parsed value: from the command line, else from its variable, else the default.

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
        text = given[row.name] if on_command_line else environ.get(row.variable)
        if text is None or (not on_command_line and not text and row.metavar):
            continue
        try:
            values[row.name] = row.parse(text)
        except ValueError as error:
            name, problems = (row.name, usage) if on_command_line else (row.variable, errors)
            problems.append(f"{name} is {text!r}: {error}")
    return values


def unknown_variables(environ: Mapping[str, str]) -> list[str]:
    """A line for each ``RECONCILER_*`` name that is none of ours, with the nearest one that is."""
    known = [row.variable.removeprefix(PREFIX) for row in FLAGS.values()]
    lines = []
    for name in sorted(environ):
        rest = name.removeprefix(PREFIX)
        if name.startswith(PREFIX) and rest not in known and not is_service_link(name):
            near = get_close_matches(rest, known, n=1)
            lines.append(f"unknown variable {name}" + (f": did you mean {PREFIX}{near[0]}?" if near else ""))
    return lines


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
