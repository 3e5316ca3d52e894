"""Flags of the command line, in one table. Each has an environment variable ``RECONCILER_<FLAG>``, except for those
that have to be typed each time.

``--help`` prints the table, ``read_flags`` reads the values, and unknown names are compared with it.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from enum import StrEnum
from typing import Any

from desired.model.settings import Controller, Policy, Settings, Waits
from desired.names import LEASE, LEASE_NAMESPACE
from desired.plan.grants import LIFETIME
from desired.syntax.bounds import LONGEST_VARIABLE, shown_text
from desired.syntax.go import parse_bool
from desired.syntax.selector import parse_selector
from reconciler.config.commands import Command as Command  # noqa: PLC0414 - part of each row, and imported from here
from reconciler.config.grammar import (
    is_service_link,
    parse_address,
    parse_cidrs,
    parse_controllers,
    parse_file,
    parse_hashes,
    parse_hosts,
    parse_int,
    parse_keys,
    parse_label_prefix,
    parse_lifetime,
    parse_object_name,
    parse_page_address,
    parse_patience,
    parse_port,
    parse_positive_duration,
    parse_positive_wait,
    parse_reason,
    parse_undo,
    parse_wait,
)

PREFIX = "RECONCILER_"
"""Prefix of the environment variable of every flag."""


class Output(StrEnum):
    """``--output``: AUTO is text, colored on a terminal; NAME is one key a line, HTML the page as one file."""

    AUTO = "auto"
    TEXT = "text"
    JSON = "json"
    YAML = "yaml"
    MARKDOWN = "markdown"
    NAME = "name"
    HTML = "html"

    @property
    def is_document(self) -> bool:
        """Whether a machine reads it, and so wants one whatever happens."""
        return self in (Output.JSON, Output.YAML)


@dataclass(frozen=True, slots=True)
class Artifact:
    """One ``--also FORMAT=FILE``."""

    format: Output
    file: str

    @property
    def text(self) -> str:
        """How it is given."""
        return f"{self.format}={self.file}"


class Color(StrEnum):
    """``--color``: whether a text is colored; AUTO leaves it to the environment and the terminal."""

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


class Detail(StrEnum):
    """How much of a plan its text tells: FOLDED unless ``--full`` or ``--summary`` says otherwise."""

    FOLDED = "folded"
    FULL = "full"
    SUMMARY = "summary"


class LogFormat(StrEnum):
    """``--log-format``: lines for people, or one object of JSON a line."""

    TEXT = "text"
    JSON = "json"


@dataclass(frozen=True, slots=True)
class Flag:
    """One row of the table."""

    name: str
    parse: Callable[[str], Any]
    default: Any
    meaning: str
    metavar: str = ""
    """What stands for the value in ``--help``; "" for a switch, which may also be written ``--flag=false``."""
    commands: frozenset[Command] = frozenset({Command.BARE, Command.PLAN, Command.APPLY, Command.RUN, Command.VALIDATE})
    """The commands for which it has a meaning; what a run takes can be validated."""
    is_typed: bool = False
    """Whether it is accepted on the command line only: what cannot be undone is no setting to be left in an
    environment."""
    values: tuple[str, ...] = ()
    """The words that it takes, or of which its list consists, for completion; () where there are too many to list."""
    values_of: Mapping[Command, tuple[str, ...]] = field(default_factory=dict)
    """Those of commands that take only some of them."""
    repeats: bool = False
    """Whether it may be given several times, each time with one more value; a variable has one a line."""
    short: str = ""
    """Its spelling of one letter, ``-o``; "" where it has none."""

    @property
    def variable(self) -> str:
        """The environment variable that means the same."""
        return PREFIX + self.name.removeprefix("--").replace("-", "_").upper()

    @property
    def spellings(self) -> tuple[str, ...]:
        """How it may be written, its name last."""
        return (self.short, self.name) if self.short else (self.name,)

    def values_for(self, command: Command) -> tuple[str, ...]:
        """The words that it takes with this command."""
        return self.values_of.get(command, self.values)

    def read(self, text: str, command: Command) -> Any:
        """The value that ``text`` means. Raises ValueError with what is expected instead."""
        if command in self.values_of and text not in self.values_of[command]:
            raise ValueError(f"expect one of {', '.join(self.values_of[command])}")
        return self.parse(text)

    @property
    def separator(self) -> str:
        """What joins its values when it is given several times; "" where the last one counts."""
        return "," if self.takes_list else "\n" if self.repeats else ""

    @property
    def takes_list(self) -> bool:
        """Whether its value is a list, which may also be given in parts: the flag several times."""
        return "[," in self.metavar or self.metavar == "LIST"


def _choice(kind: type[StrEnum]) -> Callable[[str], StrEnum]:
    def parse(text: str) -> StrEnum:
        if text not in list(kind):
            raise ValueError(f"expect one of {', '.join(kind)}")
        return kind(text)

    return parse


def parse_artifacts(text: str) -> tuple[Artifact, ...]:
    """One artifact a line, each in a file of its own. Raises ValueError."""
    formats = [output for output in Output if output is not Output.AUTO]
    found: dict[str, Artifact] = {}
    for line in filter(None, text.split("\n")):
        name, _, file = line.partition("=")
        if name not in formats or file in ("", "-"):
            raise ValueError(f"expect FORMAT=FILE, with one of {', '.join(formats)}, and stdout has the report already")
        place = os.path.realpath(file)
        if place in found:
            raise ValueError(f"{file!r} would be written twice: give each format a file of its own")
        found[place] = Artifact(Output(name), file)
    return tuple(found.values())


def _lock_type(text: str) -> str:
    if text != "leases":
        raise ValueError("expect leases: nothing else is supported as a lock")
    return text


_SEVERAL = frozenset(set(Command) - {Command.DEMO, Command.SANDBOX, Command.COMPLETION})
_RUNS = frozenset({Command.BARE, Command.PLAN, Command.APPLY, Command.RUN, Command.VALIDATE})
"""Commands that are a run, or check what it takes."""
_PLANS = _RUNS | {Command.EXPLAIN, Command.HOLDS, Command.UI}
"""Commands that compute a plan."""
_ENDS = _RUNS - {Command.RUN}
"""Those that end by themselves."""
_WRITES = _RUNS - {Command.PLAN}
_LOOPS = _WRITES - {Command.APPLY}
_UNNAMED = frozenset({Command.BARE, Command.VALIDATE})
_JUDGES = _PLANS | {Command.ORPHANS}
"""Commands that check whether the token sees the cluster's own project."""
_REPORTS = (_JUDGES | {Command.STATUS}) - {Command.UI}
"""Commands that write a report."""
_ASKS = frozenset({Command.APPLY, Command.APPROVE})
_APPROVES = frozenset({Command.APPROVE})
_PAGES = _LOOPS | {Command.UI}
"""Commands that may serve the page."""
_SANDBOX = frozenset({Command.SANDBOX})
_INTERVAL = "60s or more"
OF_ALL = (Output.AUTO, Output.TEXT, Output.JSON, Output.YAML)
"""What each command can write that writes a report, and a controller after each pass."""

FLAG_GROUPS: Mapping[str, tuple[Flag, ...]] = {
    "What": (
        Flag("--yes", parse_bool, False, "do it without asking", commands=_ASKS, is_typed=True),
        Flag(
            "--exact",
            parse_bool,
            False,
            "with FILE: apply nothing if the plan has changed",
            commands=frozenset({Command.APPLY}),
            is_typed=True,
        ),
        Flag("--dry-run", parse_bool, False, "the same as 'reconcile plan'", commands=_UNNAMED),
        Flag("--once", parse_bool, False, "the same as 'reconcile apply --yes'", commands=_UNNAMED),
        Flag("--approve", parse_hashes, (), "let these holds pass in this run", "HASH[,HASH]", _WRITES - {Command.RUN}),
        Flag("--only", parse_keys, (), "plan and apply only these keys and what is below them", "KEY[,KEY]"),
        Flag(
            "--controllers",
            parse_controllers,
            frozenset(Controller),
            "*, or names; -name switches off",
            "LIST",
            _PLANS,
            values=("*", *Controller, *(f"-{name}" for name in Controller)),
        ),
        Flag(
            "--policy",
            _choice(Policy),
            Policy.SYNC,
            "observe: nothing, upsert: no removals, sync: all",
            "POLICY",
            _PLANS,
            values=tuple(Policy),
        ),
        Flag(
            "--ignore-nodes",
            parse_selector,
            None,
            "leave Nodes with these labels out of everything",
            "SELECTOR",
            _JUDGES,
        ),
        Flag("--plan", parse_bool, False, "compute them now", commands=frozenset({Command.HOLDS}), is_typed=True),
        Flag(
            "--for",
            parse_lifetime,
            LIFETIME,
            "how long the approval counts; default 1h, 24h at most",
            "D",
            _APPROVES,
            is_typed=True,
        ),
        Flag("--reason", parse_reason, "", "why, for the record", "TEXT", _APPROVES, is_typed=True),
        Flag(
            "--wait",
            parse_patience,
            None,
            "wait until it is used or the hold is gone; --wait=D: for so long at most",
            commands=_APPROVES,
            is_typed=True,
        ),
        Flag(
            "--unseen",
            parse_bool,
            False,
            "approve what no controller has published",
            commands=_APPROVES,
            is_typed=True,
        ),
        Flag(
            "--delete",
            parse_bool,
            False,
            "delete the orphans, but for protected ones and, unless their ids are given, those released on purpose or"
            " in their undo window",
            commands=frozenset({Command.ORPHANS}),
            is_typed=True,
        ),
    ),
    "Output": (
        Flag(
            "--output",
            _choice(Output),
            Output.AUTO,
            "auto, text, json or yaml; of a plan also markdown, name or html",
            "FORMAT",
            _REPORTS,
            values=tuple(Output),
            values_of=dict.fromkeys(_REPORTS - {Command.BARE, Command.PLAN, Command.APPLY}, OF_ALL),
            short="-o",
        ),
        Flag(
            "--color",
            _choice(Color),
            Color.AUTO,
            "auto, always or never; NO_COLOR wins",
            "WHEN",
            _REPORTS | {Command.APPROVE},
            values=tuple(Color),
        ),
        Flag(
            "--also",
            parse_artifacts,
            (),
            "also write text, json, yaml, markdown, name or html to a file; repeatable",
            "FORMAT=FILE",
            _ENDS,
            repeats=True,
        ),
        Flag("--full", parse_bool, False, "show each change of a text by itself, none folded with like ones"),
        Flag("--summary", parse_bool, False, "show names and counts in a text, no fields and no reasons"),
        Flag(
            "--detailed-exitcode",
            parse_bool,
            False,
            "let the exit code tell the result: 0, 1, 2, 3, 4 or 5",
            commands=_ENDS,
        ),
        Flag(
            "--save",
            parse_file,
            None,
            "write the plan to a file, for 'reconcile apply FILE'",
            "FILE",
            frozenset({Command.PLAN}),
            is_typed=True,
        ),
        Flag("--to", str, "-", "file to write; default -, which is stdout", "FILE", frozenset({Command.CAPTURE})),
        Flag("--force", parse_bool, False, "overwrite the file", commands=frozenset({Command.CAPTURE}), is_typed=True),
    ),
    "Cluster and project": (
        Flag("--kubeconfig", str, None, "default: KUBECONFIG, the pod's account, ~/.kube/config", "FILE", _SEVERAL),
        Flag("--context", str, None, "context of the kubeconfig; default: its current one", "CONTEXT", _SEVERAL),
        Flag(
            "--from",
            str,
            None,
            "plan from a file of 'reconcile capture'; - is stdin",
            "FILE",
            _PLANS,
        ),
        Flag(
            "--request-timeout",
            parse_positive_duration,
            15.0,
            "longest wait for one answer; default 15s",
            "D",
            _SEVERAL,
        ),
        Flag(
            "--cluster-cidr",
            parse_cidrs,
            (),
            "the cluster's pod CIDR; without it no pod routes, as for HCCM",
            "CIDR[,CIDR]",
            _PLANS,
        ),
        Flag("--configure-cloud-routes", parse_bool, True, "as for HCCM; false: no pod routes", "", _PLANS),
    ),
    "Nodes and load balancers": (
        Flag(
            "--mirror-labels",
            parse_label_prefix,
            None,
            "repeat servers' labels on Nodes as DOMAIN/KEY",
            "DOMAIN",
            _PLANS,
        ),
        Flag(
            "--keep-internal-ips",
            parse_bool,
            False,
            "without HCLOUD_NETWORK, keep the kubelets' InternalIPs",
            "",
            _PLANS,
        ),
    ),
    "Waits": (
        Flag("--interval", parse_positive_duration, None, f"pause between passes; default {_INTERVAL}", "D", _PAGES),
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
            "Nodes that are NotReady for so long count as planned removals; default 30m",
            "D",
            _PLANS,
        ),
        Flag(
            "--load-balancer-undo",
            parse_undo,
            Settings().undo_window,
            "how long a load balancer waits for its deleted Service; default 0s",
            "D",
            _PLANS,
        ),
    ),
    "Lease": (
        Flag(
            "--leader-elect",
            parse_bool,
            True,
            "write only while this process holds the Lease; default true",
            commands=_WRITES,
        ),
        Flag(
            "--leader-elect-lease-duration",
            parse_positive_duration,
            15.0,
            "how long others leave a Lease alone that is not renewed; default 15s",
            "D",
            _WRITES,
        ),
        Flag(
            "--leader-elect-renew-deadline",
            parse_positive_duration,
            10.0,
            "how long its holder writes without renewing it; default 10s",
            "D",
            _WRITES,
        ),
        Flag(
            "--leader-elect-retry-period",
            parse_positive_duration,
            2.0,
            "from one try to the next; default 2s",
            "D",
            _WRITES,
        ),
        Flag(
            "--leader-elect-resource-lock",
            _lock_type,
            "leases",
            "as for HCCM; leases",
            "TYPE",
            _WRITES,
            values=("leases",),
        ),
        Flag(
            "--leader-elect-resource-name",
            parse_object_name,
            LEASE,
            f"of the Lease; default {LEASE}",
            "LEASE",
            _WRITES | {Command.STATUS},
        ),
        Flag(
            "--leader-elect-resource-namespace",
            parse_object_name,
            LEASE_NAMESPACE,
            f"where the Lease is, and approvals are kept; default {LEASE_NAMESPACE}",
            "NAMESPACE",
            _SEVERAL,
        ),
    ),
    "Controller": (
        Flag(
            "--health-address",
            parse_address,
            ("", 10258),
            "where /livez, /readyz and /healthz are served; default :10258",
            "ADDRESS",
            _LOOPS,
        ),
        Flag(
            "--log-format",
            _choice(LogFormat),
            LogFormat.TEXT,
            "of a controller's log: text or json",
            "FORMAT",
            _LOOPS,
            values=tuple(LogFormat),
        ),
    ),
    "Page": (
        Flag(
            "--ui-address",
            parse_page_address,
            None,
            "where the page is served; of a controller nowhere unless it is given, default of ui: 127.0.0.1:8234",
            "ADDRESS",
            _PAGES,
        ),
        Flag(
            "--ui-hosts",
            parse_hosts,
            (),
            "names under which the page is asked for, besides addresses and localhost",
            "HOST[,HOST]",
            _PAGES,
        ),
    ),
    "Simulators": (
        Flag("--world", str, None, "world file to start from; default: a small cluster", "FILE", _SANDBOX),
        Flag("--hetzner-port", parse_port, 0, "default: any free port", "N", _SANDBOX),
        Flag("--kubernetes-port", parse_port, 0, "default: any free port", "N", _SANDBOX),
        Flag("--robot-port", parse_port, 0, "default: any free port", "N", _SANDBOX),
        Flag(
            "--without",
            str,
            "",
            "what to leave out: kubelets, kubernetes, robot",
            "LIST",
            _SANDBOX,
            values=("kubelets", "kubernetes", "robot"),
        ),
        Flag("--action-ms", parse_int, 300, "how long a Hetzner action takes; default 300", "N", _SANDBOX),
        Flag("--latency-ms", parse_int, 0, "waited before each answer; default 0", "N", _SANDBOX),
        Flag("--rate-limit", parse_int, 3600, "Hetzner requests an hour; default 3600", "N", _SANDBOX),
        Flag("--join-ms", parse_int, 5000, "from a server's start to its Node; default 5000", "N", _SANDBOX),
        Flag("--node-grace-ms", parse_int, 10000, "silence until a Node is Unknown; default 10000", "N", _SANDBOX),
        Flag("--network-attachments", parse_int, 100, "attachments that a network takes; default 100", "N", _SANDBOX),
        Flag("--proxy", str, None, "instead: a fault proxy before this address", "URL", _SANDBOX),
        Flag("--proxy-ca-file", str, None, "certificate authority of --proxy's https address", "FILE", _SANDBOX),
        Flag("--proxy-port", parse_port, 0, "default: any free port", "N", _SANDBOX),
    ),
}
"""Heading in ``--help`` → the flags below it: the table."""

FLAGS: Mapping[str, Flag] = {row.name: row for rows in FLAG_GROUPS.values() for row in rows}
"""Name → row."""


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
                usage.append(f"{row.name} has no meaning for 'reconcile {command}'")
            continue
        text = given[row.name] if on_command_line else None if row.is_typed else environ.get(row.variable)
        if text is None or (not on_command_line and not text and row.metavar):
            continue
        try:
            values[row.name] = row.read(text, command)
        except ValueError as error:
            name, problems = (row.name, usage) if on_command_line else (row.variable, errors)
            problems.append(f"{name} is {shown_text(text)}: {error}")
    return values


def asked(command: Command, name: str, given: Mapping[str, str], environ: Mapping[str, str]) -> str:
    """What a flag of several values, or its variable, says; its default where that is wrong, which is an error. So a
    command can answer in the form that was asked for whatever else is wrong."""
    row = FLAGS[name]
    text = given.get(name, environ.get(row.variable, ""))
    return text if text in row.values_for(command) else str(row.default)


FORMER: Mapping[str, str] = {
    "--load-balancers-reset-unset": "it is gone: notes of kind kept name what nothing asks for; set these annotations",
}
"""Flag that there once was → what there is instead."""


def unknown_variables(environ: Mapping[str, str]) -> list[str]:
    """A line for each ``RECONCILER_*`` name that is unknown, with the nearest known one, or with the flag that is to be
    given instead."""
    known = [row.variable.removeprefix(PREFIX) for row in FLAGS.values() if not row.is_typed]
    typed = {row.variable: row.name for row in FLAGS.values() if row.is_typed}
    lines = []
    for name in sorted(environ):
        rest = name.removeprefix(PREFIX)
        former = f"--{rest.lower().replace('_', '-')}"
        if former in FORMER:
            lines.append(f"unknown variable {name}: {FORMER[former]}")
        elif name in typed:
            lines.append(f"{name} is no variable: give {typed[name]} on the command line, each time that it is meant")
        elif name.startswith(PREFIX) and rest not in known and not is_service_link(name):
            near = [] if LONGEST_VARIABLE.is_exceeded(name) else get_close_matches(rest, known, n=1)
            shown = shown_text(name) if LONGEST_VARIABLE.is_exceeded(name) else name
            lines.append(f"unknown variable {shown}" + (f": did you mean {PREFIX}{near[0]}?" if near else ""))
    return lines
