"""Command line: its split into command, flags and operands, and HCCM's flags that are accepted without effect.

The latter are those of Kubernetes' cloud-controller-manager 1.36, any of which a Helm values file may carry. Each is
accepted, and one line says what there is instead; flags with a meaning are in the product's own table (``flags``).
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any, NoReturn

from desired.syntax.bounds import VARIABLE, shown_text
from reconciler import __version__
from reconciler.config.flags import FLAGS, Command, Flag
from reconciler.config.program import program_name

_ALONE = "this controller has no other cloud"
_LISTS = "each pass lists Nodes and Services; --interval sets how often"
_ACTS = "changes that share no object are made side by side"
_HTTPS = "health is plain HTTP on --health-address, metrics on HCLOUD_METRICS_ADDRESS, and nothing else is served"
_WEBHOOKS = "there are no webhooks"
_LOGS = "--log-format and HCLOUD_DEBUG set what is logged"
_METRICS = "all metrics are served, see docs/metrics.md"
_QPS = "a pass needs few requests, and waits when the API server asks for it"
_VERSIONS = "there are no feature gates and no versions to emulate"

_INSTEAD: Mapping[str, tuple[str, ...]] = {
    _ALONE: ("cloud-provider", "cloud-config", "allow-untagged-cloud", "external-cloud-volume-plugin", "cluster-name"),
    "pod CIDRs are given by kube-controller-manager; routes to them follow from --cluster-cidr": (
        "allocate-node-cidrs",
        "cidr-allocator-type",
    ),
    _LISTS: (
        "min-resync-period",
        "node-monitor-period",
        "node-status-update-frequency",
        "node-sync-period",
        "route-reconciliation-period",
        "controller-start-interval",
    ),
    _ACTS: ("concurrent-service-syncs", "concurrent-node-syncs", "concurrent-node-status-updates"),
    _QPS: ("kube-api-qps", "kube-api-burst", "kube-api-content-type"),
    "the address of the API server is in the kubeconfig": ("master",),
    "all requests are made with one account": ("use-service-account-credentials",),
    "the Lease is taken as it is": ("enable-leader-migration", "leader-migration-config"),
    _HTTPS: (
        "secure-port",
        "bind-address",
        "cert-dir",
        "client-ca-file",
        "disable-http2-serving",
        "http2-max-streams-per-connection",
        "permit-address-sharing",
        "permit-port-sharing",
        "tls-cert-file",
        "tls-cipher-suites",
        "tls-curve-preferences",
        "tls-min-version",
        "tls-private-key-file",
        "tls-sni-cert-key",
        "authentication-kubeconfig",
        "authentication-skip-lookup",
        "authentication-token-webhook-cache-ttl",
        "authentication-tolerate-lookup-failure",
        "authorization-always-allow-paths",
        "authorization-kubeconfig",
        "authorization-webhook-cache-authorized-ttl",
        "authorization-webhook-cache-unauthorized-ttl",
        "requestheader-allowed-names",
        "requestheader-client-ca-file",
        "requestheader-extra-headers-prefix",
        "requestheader-group-headers",
        "requestheader-uid-headers",
        "requestheader-username-headers",
        "profiling",
        "contention-profiling",
    ),
    _WEBHOOKS: (
        "webhooks",
        "webhook-bind-address",
        "webhook-cert-dir",
        "webhook-disable-http2-serving",
        "webhook-secure-port",
        "webhook-tls-cert-file",
        "webhook-tls-cipher-suites",
        "webhook-tls-curve-preferences",
        "webhook-tls-min-version",
        "webhook-tls-private-key-file",
        "webhook-tls-sni-cert-key",
    ),
    _LOGS: (
        "v",
        "vmodule",
        "logging-format",
        "log-flush-frequency",
        "log-json-info-buffer-size",
        "log-json-split-stream",
        "log-text-info-buffer-size",
        "log-text-split-stream",
    ),
    _METRICS: (
        "allow-metric-labels",
        "allow-metric-labels-manifest",
        "disabled-metrics",
        "show-hidden-metrics-for-version",
    ),
    _VERSIONS: ("feature-gates", "emulated-version", "min-compatibility-version"),
}

SWITCHES = frozenset(
    f"--{name}"
    for name in (
        "allow-untagged-cloud",
        "allocate-node-cidrs",
        "authentication-skip-lookup",
        "authentication-tolerate-lookup-failure",
        "contention-profiling",
        "disable-http2-serving",
        "enable-leader-migration",
        "log-json-split-stream",
        "log-text-split-stream",
        "permit-address-sharing",
        "permit-port-sharing",
        "profiling",
        "use-service-account-credentials",
        "webhook-disable-http2-serving",
    )
)
"""Those that may be given without a value."""

INSTEAD: Mapping[str, str] = MappingProxyType(
    {f"--{name}": instead for instead, names in _INSTEAD.items() for name in names}
)
"""Flag → what there is instead of it."""


def without_effect(given: Mapping[str, str]) -> Iterator[str]:
    """A line for each kind of flags among ``given`` that mean nothing here, with what there is instead."""
    for instead, names in _INSTEAD.items():
        found = [f"--{name}" for name in names if f"--{name}" in given]
        if found:
            verb = "has" if len(found) == 1 else "have"
            yield f"{', '.join(found)} {verb} no effect: {instead}"


BAD_USAGE = 64
"""Exit code of a command line that cannot be understood (sysexits EX_USAGE); argparse's own 2 means "changes"."""

_DESCRIPTION = {
    Command.PLAN: "What would change, and why; touches nothing.",
    Command.EXPLAIN: "Every decision about one Node or Service: where each value comes from, and what guards wait for.",
    Command.ORPHANS: "Load balancers of this cluster that no Service wants, with their cost; deletes them on demand.",
    Command.APPLY: "Show the plan, ask, and make its changes; without a terminal it needs --yes.",
    Command.APPROVE: "Let one hold of a plan pass once, within the next hour.",
    Command.RUN: "The controller: applies for ever, while it leads.",
    Command.DEMO: "Plan, apply and an empty plan against an embedded sandbox: no cloud, no cluster, no token.",
    Command.SANDBOX: "Simulators of Hetzner, Robot and Kubernetes on 127.0.0.1; prints the environment for them.",
    Command.VALIDATE: "Check flags, variables and Services in manifests, offline: no cloud, no cluster, no token.",
    Command.CAPTURE: "Cluster and project as a file without secrets: to plan from it offline, or to report a bug.",
}
_GROUPS: Mapping[str, Mapping[Command, str]] = {
    "Look": {
        Command.PLAN: "what would change, and why; touches nothing",
        Command.EXPLAIN: "every decision about one Node or Service",
        Command.ORPHANS: "load balancers that no Service wants, with their cost",
    },
    "Act": {
        Command.APPLY: "show the plan, ask, and make its changes",
        Command.APPROVE: "let one hold of a plan pass once, within the next hour",
        Command.RUN: "the controller: applies for ever, while it leads",
    },
    "Try": {
        Command.DEMO: "plan, apply and an empty plan in an embedded sandbox",
        Command.SANDBOX: "simulators of Hetzner, Robot and Kubernetes on this machine",
        Command.VALIDATE: "check flags, variables and manifests, offline",
        Command.CAPTURE: "cluster and project as a file without secrets",
    },
}
"""What people want → the commands for it, in the words of the first page of help, which has 80 columns."""
_EXAMPLES = {
    "plan --only service/default/web": "one Service, and what is below it",
    "apply --yes --detailed-exitcode": "for a CronJob or a pipeline",
    "explain node worker-1": "why a Node is as it is",
}
_WORDS_OF_OTHERS = {
    "preview": Command.PLAN,
    "diff": Command.PLAN,
    "dry-run": Command.PLAN,
    "up": Command.APPLY,
    "sync": Command.APPLY,
    "push": Command.APPLY,
    "once": Command.APPLY,
    "start": Command.RUN,
    "controller": Command.RUN,
    "check": Command.VALIDATE,
    "describe": Command.EXPLAIN,
}
"""What similar tools call a command."""


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
        self.exit(BAD_USAGE, f"{program_name()}: {message}\nTry '{program_name()} --help'.\n")


class _Root(_Parser):
    """The command without a name takes all flags of a run; its help shows the commands, whose helps show flags."""

    def format_help(self) -> str:
        return root_help()

    def _check_value(self, action: argparse.Action, value: str) -> None:
        if action.choices is not None and value not in action.choices:
            near = _WORDS_OF_OTHERS.get(value) or next(iter(get_close_matches(value, _DESCRIPTION, n=1)), None)
            hint = f" (did you mean {near}?)" if near else f": expect one of {', '.join(_DESCRIPTION)}"
            self.error(f"{shown_text(value)} is no command{hint}")


def root_help() -> str:
    """The first page of help: commands by what people want, in 40 lines of 80 columns at most."""
    program = program_name()
    lines = [f"usage: {program} COMMAND [flags]", ""]
    lines += ["A cloud controller for Kubernetes on Hetzner that shows its plan before it acts.", ""]
    for want, commands in _GROUPS.items():
        lines += [f"{want}:", *(f"  {command:<10} {meaning}" for command, meaning in commands.items()), ""]
    lines += ["Examples:", *(f"  {program} {example:<34} {meaning}" for example, meaning in _EXAMPLES.items()), ""]
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


def parse_command_line(argv: Sequence[str]) -> tuple[Command, Mapping[str, str], tuple[str, ...]]:
    """The command, flag → its text for each flag that was given, and the command's arguments.

    Exits with BAD_USAGE and one line on stderr when the command line cannot be split.
    """
    switches = {row.name for row in FLAGS.values() if not row.metavar} | SWITCHES
    parser = _parser()
    if unknown := _unknown(argv):
        parser.error(f"unrecognized arguments: {unknown}")
    words = _with_key_apart(_with_dashes(argv))
    given = vars(parser.parse_args([f"{word}=true" if word in switches else word for word in words]))
    command = Command(given.pop("command", None) or Command.BARE)
    arguments = tuple(word for operand in _OPERANDS.get(command, ()) for word in given.pop(operand.name))
    flags = {f"--{name.replace('_', '-')}": texts for name, texts in given.items()}
    return command, {name: _last_or_all(FLAGS.get(name), texts) for name, texts in flags.items()}, arguments


def _with_dashes(argv: Sequence[str]) -> list[str]:
    """The words with the names of flags as they are in the table: Kubernetes takes an underscore there for a dash."""
    flags = _until_operands(argv)
    return [*(_name(word) + "".join(word.partition("=")[1:]) for word in flags), *argv[len(flags) :]]


def _with_key_apart(words: Sequence[str]) -> list[str]:
    """The words of ``explain``, in which a key as reports print it, ``node/web-1``, is kind and name."""
    place = words.index(Command.EXPLAIN) + 1 if Command.EXPLAIN in words else len(words)
    while place < len(words) and words[place].startswith("-"):
        takes_next = "=" not in words[place] and (row := FLAGS.get(words[place])) is not None and row.metavar
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
    parser = _Root(prog=program_name(), allow_abbrev=False, formatter_class=_Help)
    parser.add_argument("--version", action="version", version=f"hcloud-reconciler {__version__}")
    _add(parser, Command.BARE)
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
    if command in (Command.BARE, Command.RUN, Command.VALIDATE):  # what a run takes can be validated
        for name in INSTEAD:
            names = ("-v", "--v") if name == "--v" else (name,)
            value: dict[str, Any] = {"nargs": "?", "const": "true"} if name in SWITCHES else {}
            parser.add_argument(*names, action="append", help=argparse.SUPPRESS, default=argparse.SUPPRESS, **value)
