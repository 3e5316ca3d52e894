"""Commands, and their flags with the grammars of values, in one table. Each flag has an environment variable
``RECONCILER_<FLAG>``, except for those that have to be typed each time.

The command line, completion, the manual page and the documentation follow from the table. Help and completion wait for
it, so that what only a value needs is imported when there is one.
"""

import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from difflib import get_close_matches
from enum import StrEnum
from functools import partial
from ipaddress import IPv4Network, IPv6Network
from typing import TYPE_CHECKING, Any, TypeVar

from desired.names import CONDITION_NODE_IN_SYNC, LEASE, LEASE_NAMESPACE
from desired.syntax import bounds
from desired.syntax.bounds import LONGEST_VARIABLE, shown_text
from desired.syntax.go import parse_bool, parse_cidr, parse_duration
from desired.syntax.selector import Operator, Selector, is_label_key, parse_selector

if TYPE_CHECKING:
    from desired.model.settings import Controller, Policy, ServerLoss

_Kind = TypeVar("_Kind", bound=StrEnum)

PREFIX = "RECONCILER_"
"""Prefix of the environment variable of every flag."""


class Command(StrEnum):
    """The command to run; BARE is a command line without one: ``--once``, ``--dry-run``, or a pod of HCCM."""

    BARE = ""
    PLAN = "plan"
    APPLY = "apply"
    RUN = "run"
    DEMO = "demo"
    SANDBOX = "sandbox"
    HOLDS = "holds"
    STATUS = "status"
    APPROVE = "approve"
    REVOKE = "revoke"
    EXPLAIN = "explain"
    VALIDATE = "validate"
    ORPHANS = "orphans"
    CAPTURE = "capture"
    MIGRATE = "migrate"
    COMPLETION = "completion"
    UI = "ui"


class Output(StrEnum):
    """``--output``: AUTO is text, colored on a terminal; NAME is one key a line, HTML the page as one file, VALUES a
    values file of the chart."""

    AUTO = "auto"
    TEXT = "text"
    JSON = "json"
    YAML = "yaml"
    MARKDOWN = "markdown"
    NAME = "name"
    HTML = "html"
    VALUES = "values"

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


CONTROLLERS: Mapping[str, str] = {
    "cloud-node-controller": "cloud-node",
    "cloud-node": "cloud-node",
    "cloud-node-lifecycle-controller": "cloud-node-lifecycle",
    "cloud-node-lifecycle": "cloud-node-lifecycle",
    "service-lb-controller": "service",
    "service": "service",
    "node-route-controller": "route",
    "route": "route",
}
"""HCCM's names and aliases for ``--controllers`` → the controller, in the words of ``Controller``."""

_SERVICE_LINK = re.compile(r"_(SERVICE_(HOST|PORT)(_\w+)?|PORT(_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)$", re.ASCII)
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", re.ASCII)
_RESERVED_PREFIX = re.compile(r"(^|\.)(kubernetes\.io|k8s\.io|hetzner\.cloud)$", re.ASCII)
_HOST = re.compile(r"[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?")
"""The name of a host in DNS, in lower case."""
_DIGITS = 18
_PORT_DIGITS = 5
_LAST_PORT = 65535


# Grammars of values. Each returns the value, or raises ValueError with what was expected; the caller adds the name.


def parse_positive_duration(text: str) -> float:
    """A duration that is more than zero."""
    seconds = parse_duration(text)
    if seconds <= 0:
        raise ValueError("expect a duration of more than 0")
    return seconds


def parse_wait(text: str) -> timedelta:
    """A duration of zero or more."""
    seconds = parse_duration(text)
    if seconds < 0:
        raise ValueError("expect a duration of 0 or more")
    return timedelta(seconds=seconds)


def parse_positive_wait(text: str) -> timedelta:
    """A duration that is more than zero."""
    return timedelta(seconds=parse_positive_duration(text))


def parse_lifetime(text: str) -> timedelta:
    """How long an approval counts."""
    from desired.plan.grants import LONGEST  # noqa: PLC0415 - see the module's docstring

    wait = parse_positive_wait(text)
    if wait > LONGEST:
        raise ValueError(f"expect a duration of {LONGEST.total_seconds() / 3600:g}h at most")
    return wait


def parse_patience(text: str) -> timedelta | None:
    """How long to wait at most: a switch, or a duration; None: not at all."""
    try:
        return timedelta.max if parse_bool(text) else None
    except ValueError:
        return parse_positive_wait(text)


def parse_reason(text: str) -> str:
    """A sentence of a person."""
    bounds.LONGEST_VALUE.check(text)
    sentence = " ".join(text.split())
    if not sentence.isprintable():
        raise ValueError("expect a sentence, without control characters")
    return sentence


def parse_label_prefix(text: str) -> str:
    """The part of label keys before the slash: a domain that is neither Kubernetes' nor HCCM's."""
    bounds.LONGEST_HOST.check(text)
    prefix = text.removesuffix("/")
    if not is_label_key(f"{prefix}/x") or "." not in prefix:
        raise ValueError("expect a domain such as servers.example.com, as the prefix of label keys")
    if _RESERVED_PREFIX.search(prefix):
        raise ValueError("expect a domain of your own: kubernetes.io, k8s.io and hetzner.cloud are taken")
    return prefix


def parse_server_selector(text: str) -> Selector:
    """A selector that Hetzner understands as well, which compares no numbers."""
    selector = parse_selector(text)
    for requirement in selector.requirements:
        if requirement.operator in (Operator.GREATER, Operator.LESS):
            raise ValueError(f"Hetzner does not know {requirement.operator.value}: expect key in (a,b) instead")
    return selector


def parse_object_name(text: str) -> str:
    """A name that Kubernetes gives to objects: a DNS subdomain."""
    if len(text) > 253 or not all(_LABEL.fullmatch(part) for part in text.split(".")):
        raise ValueError("expect the name of a Kubernetes object, such as cloud-controller-manager")
    return text


def parse_class(text: str) -> str:
    """The name of a loadBalancerClass, with a domain before a slash or without (Kubernetes core/v1 ServiceSpec)."""
    if not is_label_key(text):
        raise ValueError("expect the name of a loadBalancerClass, such as hcloud-reconciler/load-balancer")
    return text


def parse_file(text: str) -> str:
    """The name of a file. Streams have none."""
    if text in ("", "-"):
        raise ValueError("expect the name of a file")
    return text


def parse_int(text: str) -> int:
    """A decimal number of zero or more."""
    if not (len(text) <= _DIGITS and text.isascii() and text.isdecimal()):
        raise ValueError("expect a number of 0 or more")
    return int(text)


def parse_cidrs(text: str) -> tuple[IPv4Network | IPv6Network, ...]:
    """One CIDR, or an IPv4 and an IPv6 one separated by a comma; "" is none, as for HCCM."""
    bounds.LONGEST_ADDRESSES.check(text)
    if not text:
        return ()
    try:
        networks = tuple(parse_cidr(part.strip()) for part in text.split(","))
    except ValueError as error:
        raise ValueError(f"expect a CIDR such as 10.244.0.0/16, or one of each family ({error})") from error
    if len(networks) > 2 or len({network.version for network in networks}) != len(networks):
        raise ValueError("expect one CIDR, or one of each family")
    return networks


def parse_controllers(text: str) -> "frozenset[Controller]":
    """HCCM's list: ``*`` for all, ``name`` on, ``-name`` off; the first mention of a name wins."""
    from desired.model.settings import Controller  # noqa: PLC0415 - see the module's docstring

    bounds.LONGEST_VALUE.check(text)
    chosen: dict[str, bool] = {}
    everything = False
    for word in (word.strip() for word in text.split(",")):
        name = word.removeprefix("-")
        if word == "*":
            everything = True
        elif name in CONTROLLERS:
            chosen.setdefault(CONTROLLERS[name], not word.startswith("-"))
        else:
            raise ValueError(f"{shown_text(word)} is no controller; there are {', '.join(CONTROLLERS)}")
    return frozenset(controller for controller in Controller if chosen.get(controller, everything))


def parse_out_of_service(text: str) -> "frozenset[ServerLoss]":
    """A list of names of ``ServerLoss``; nothing for none."""
    from desired.model.settings import ServerLoss  # noqa: PLC0415 - see the module's docstring

    bounds.LONGEST_VALUE.check(text)
    words = [word.strip() for word in text.split(",") if word.strip()]
    for word in words:
        if word == "off":
            raise ValueError("off is not supported in this version; expect deleted")
        if word not in list(ServerLoss):
            raise ValueError(f"{shown_text(word)} is no loss of a server; there is {', '.join(ServerLoss)}")
    return frozenset(map(ServerLoss, words))


def parse_policy(text: str) -> "Policy":
    """A name of ``Policy``."""
    from desired.model.settings import Policy  # noqa: PLC0415 - see the module's docstring

    return _one_of(Policy)(text)


def parse_keys(text: str) -> tuple[str, ...]:
    """Keys of a plan, separated by commas."""
    bounds.LONGEST_ARGUMENT.check(text)
    keys = tuple(key.strip().rstrip("/") for key in text.split(","))
    if not all(re.fullmatch(r"[a-z_]+/\S+", key) for key in keys):
        raise ValueError("expect keys as a plan shows them, such as node/web-1")
    return keys


def parse_hashes(text: str) -> tuple[str, ...]:
    """Hashes of holds, separated by commas."""
    from desired.plan.approvals import is_hash  # noqa: PLC0415 - see the module's docstring

    bounds.LONGEST_ARGUMENT.check(text)
    hashes = tuple(part.strip() for part in text.split(","))
    if not all(is_hash(part) for part in hashes):
        raise ValueError("expect the hash of a hold as a plan shows it, sha256: and 16 hex digits")
    return hashes


def parse_address(text: str) -> tuple[str, int]:
    """``host:port`` or ``:port`` → host ("" for all) and port."""
    bounds.LONGEST_HOST.check(text)
    host, colon, port = text.rpartition(":")
    if not colon or not _is_port(port):
        raise ValueError("expect an address such as :10258 or 127.0.0.1:10258")
    return host.strip("[]"), int(port)


def parse_page_address(text: str) -> tuple[str, int] | None:
    """The same; None for an empty text, which switches off."""
    return parse_address(text) if text else None


def parse_hosts(text: str) -> tuple[str, ...]:
    """Names of hosts, without ports and in lower case."""
    bounds.LONGEST_LIST.check(text)
    names = tuple(part.strip().lower().rstrip(".") for part in text.split(",") if part.strip())
    for name in names:
        bounds.LONGEST_HOST.check(name)
        if not _HOST.fullmatch(name):
            raise ValueError(f"{shown_text(name)} is no host name: give it without scheme, port and path")
    return names


def parse_artifacts(text: str) -> tuple[Artifact, ...]:
    """One artifact a line, each in a file of its own."""
    formats = [output for output in OF_PLANS if output is not Output.AUTO]
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


def parse_lock_type(text: str) -> str:
    """The one lock that there is."""
    if text != "leases":
        raise ValueError("expect leases: nothing else is supported as a lock")
    return text


def _one_of(kind: type[_Kind]) -> Callable[[str], _Kind]:
    def parse(text: str) -> _Kind:
        if text not in list(kind):
            raise ValueError(f"expect one of {', '.join(kind)}")
        return kind(text)

    return parse


def _is_port(text: str) -> bool:
    return len(text) <= _PORT_DIGITS and text.isascii() and text.isdecimal() and int(text) <= _LAST_PORT


def is_service_link(name: str) -> bool:
    """Whether a variable is one that Kubernetes puts into every container for each Service of its namespace."""
    return not LONGEST_VARIABLE.is_exceeded(name) and _SERVICE_LINK.search(name) is not None


_RUNS = frozenset({Command.BARE, Command.PLAN, Command.APPLY, Command.RUN, Command.VALIDATE})
"""Commands that are a run, or check what it takes."""
_SEVERAL = frozenset(set(Command) - {Command.DEMO, Command.SANDBOX, Command.COMPLETION})
OF_HOLDS = frozenset({Command.HOLDS, Command.APPROVE})
"""Commands about holds that are published, which compute a plan where they are not."""
_PLANS = _RUNS | {Command.EXPLAIN, Command.UI} | OF_HOLDS
"""Commands that compute a plan."""
_ENDS = _RUNS - {Command.RUN}
"""Those that end by themselves."""
_TELLS = _ENDS | {Command.MIGRATE}
"""Those whose exit code may tell the result of a plan."""
_WRITES = _RUNS - {Command.PLAN}
_LOOPS = _WRITES - {Command.APPLY}
_UNNAMED = frozenset({Command.BARE, Command.RUN, Command.VALIDATE})
_JUDGES = _PLANS | {Command.ORPHANS}
"""Commands that check whether the token sees the cluster's own project."""
_REPORTS = (_JUDGES | {Command.STATUS, Command.MIGRATE}) - {Command.UI, Command.APPROVE}
"""Commands that write a report."""
_PAGES = _LOOPS | {Command.UI}
"""Commands that may serve the page."""
_ACTS = _WRITES - {Command.RUN}
_SHOWN_AS_PLANS = frozenset({Command.BARE, Command.PLAN, Command.APPLY})
_ASKS = frozenset({Command.APPLY, Command.APPROVE})
_SAVES, _APPLIES, _APPROVES, _ORPHANS, _CAPTURES = (
    frozenset({command})
    for command in (
        Command.PLAN,
        Command.APPLY,
        Command.APPROVE,
        Command.ORPHANS,
        Command.CAPTURE,
    )
)
_POLICIES = ("observe", "upsert", "sync")
_CONTROLLERS = tuple(dict.fromkeys(CONTROLLERS.values()))
OF_ALL = (Output.AUTO, Output.TEXT, Output.JSON, Output.YAML)
"""What each command can write that writes a report, and a controller after each pass."""
OF_PLANS = tuple(output for output in Output if output is not Output.VALUES)
"""What a plan can be written as."""


@dataclass(frozen=True, slots=True)
class Flag:
    """One row of the table."""

    name: str
    parse: Callable[[str], Any]
    default: Any
    """The value where none is given; a text is parsed as one that is."""
    meaning: str
    metavar: str = ""
    """What stands for the value in ``--help``; "" for a switch, which may also be written ``--flag=false``."""
    commands: frozenset[Command] = _RUNS
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
    others: tuple[str, ...] = ()
    """Its other spellings, ``-o``."""

    @property
    def variable(self) -> str:
        """The environment variable that means the same."""
        return PREFIX + self.name.removeprefix("--").replace("-", "_").upper()

    @property
    def spellings(self) -> tuple[str, ...]:
        """How it may be written, its name last."""
        return (*self.others, self.name)

    @property
    def usual(self) -> Any:
        """Its value where none is given."""
        return self.parse(self.default) if isinstance(self.default, str) else self.default

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


def _flag(
    spelled: str, parse: Callable[[str], Any], default: Any, commands: frozenset[Command], meaning: str, **more: Any
) -> Flag:
    """A row, from how it is written in help, ``-o, --output FORMAT``. The default stands for ``{}`` in the meaning."""
    *others, last = spelled.split(", ")
    name, _, metavar = last.partition(" ")
    return Flag(name, parse, default, meaning.format(default), metavar, commands, others=tuple(others), **more)


def _switch(spelled: str, commands: frozenset[Command], meaning: str, **more: Any) -> Flag:
    return _flag(spelled, parse_bool, False, commands, meaning, **more)


_typed = partial(_flag, is_typed=True)
_typed_switch = partial(_switch, is_typed=True)

FLAG_GROUPS: Mapping[str, tuple[Flag, ...]] = {
    "Options": (
        _typed_switch("--auto-approve, --yes", _ASKS, "do it without asking"),
        _typed_switch("--exact", _APPLIES, "with FILE: apply nothing if the plan has changed"),
        _switch("--dry-run", _UNNAMED, "the same as 'reconcile plan'"),
        _switch("--once", _UNNAMED, "the same as 'reconcile apply --yes'"),
        _flag("--approve HASH[,HASH]", parse_hashes, (), _ACTS, "let these holds pass, once"),
        _flag(
            "--only KEY[,KEY]",
            parse_keys,
            (),
            _RUNS | OF_HOLDS,
            "plan and apply only these keys and what is below them",
        ),
        _flag(
            "--controllers LIST",
            parse_controllers,
            "*",
            _PLANS,
            "which controllers run: * or names; -name switches one off",
            values=("*", *_CONTROLLERS, *(f"-{name}" for name in _CONTROLLERS)),
        ),
        _flag(
            "--policy POLICY",
            parse_policy,
            "sync",
            _PLANS,
            "what is applied: nothing (observe), no removals (upsert) or all (sync)",
            values=_POLICIES,
        ),
        _flag(
            "--ignore-nodes SELECTOR", parse_selector, None, _JUDGES, "leave Nodes with these labels out of everything"
        ),
        _typed_switch("--plan", OF_HOLDS, "compute what is held now, whatever is published"),
        _typed(
            "--for D",
            parse_lifetime,
            "1h",
            _APPROVES,
            "how long the approval counts; default {}, 24h at most",
        ),
        _typed("--reason TEXT", parse_reason, "", _APPROVES, "why, for the record"),
        _typed(
            "--wait",
            parse_patience,
            None,
            _APPROVES,
            "wait until it is used or the hold is gone; --wait=D: for so long at most",
        ),
        _typed_switch("--unseen", _APPROVES, "approve what nothing is known of"),
        _typed_switch(
            "--delete",
            _ORPHANS,
            "delete the orphans, but for protected ones and, unless their ids are given, those that serve or were"
            " released on purpose",
        ),
    ),
    "Output": (
        _flag(
            "-o, --output FORMAT",
            _one_of(Output),
            "auto",
            _REPORTS,
            "auto, text, json or yaml; a plan also markdown, name or html; migrate also values",
            values=OF_PLANS,
            values_of={
                **dict.fromkeys(_REPORTS, OF_PLANS),
                **dict.fromkeys(_REPORTS - _SHOWN_AS_PLANS, OF_ALL),
                Command.MIGRATE: (*OF_ALL, Output.VALUES),
            },
        ),
        _flag(
            "--color WHEN",
            _one_of(Color),
            "auto",
            _REPORTS | {Command.APPROVE},
            "auto, always or never; NO_COLOR wins",
            values=tuple(Color),
        ),
        _flag(
            "--also FORMAT=FILE",
            parse_artifacts,
            (),
            _ENDS,
            "also write text, json, yaml, markdown, name or html to a file; repeatable",
            repeats=True,
        ),
        _switch("--full", _RUNS | {Command.EXPLAIN}, "show each change by itself, and each annotation"),
        _switch("--summary", _RUNS, "show names and counts, no fields and no reasons"),
        _switch("--detailed-exitcode", _TELLS, "exit with the code of the result: 0 to 5"),
        _typed("--save FILE", parse_file, None, _SAVES, "write the plan to a file, for 'reconcile apply FILE'"),
        _flag("--to FILE", str, "-", _CAPTURES, "file to write; default {}, which is stdout"),
        _typed_switch("--force", _CAPTURES, "overwrite the file"),
    ),
    "Cluster and project": (
        _flag("--kubeconfig FILE", str, None, _SEVERAL, "default: KUBECONFIG, the pod's account, ~/.kube/config"),
        _flag("--context CONTEXT", str, None, _SEVERAL, "context of the kubeconfig; default: its current one"),
        _switch(
            "--own-settings",
            _PLANS - {Command.RUN},
            "plan with the settings of this shell alone, not with those that the controller publishes",
        ),
        _flag("--from FILE", str, None, _PLANS, "plan from a file of 'reconcile capture'; - is stdin"),
        _flag(
            "--request-timeout D",
            parse_positive_duration,
            "15s",
            _SEVERAL,
            "how long to wait for one answer; default {}",
        ),
        _flag(
            "--cluster-cidr CIDR[,CIDR]",
            parse_cidrs,
            (),
            _PLANS,
            "the cluster's pod CIDR; without it no pod routes, as for HCCM",
        ),
        _flag(
            "--server-selector SELECTOR",
            parse_server_selector,
            None,
            _JUDGES,
            "list only servers with these labels; others that something depends on are read by id",
        ),
        _flag("--configure-cloud-routes", parse_bool, True, _PLANS, "as for HCCM; false: no pod routes"),
    ),
    "Nodes and load balancers": (
        _flag(
            "--mirror-labels DOMAIN", parse_label_prefix, None, _PLANS, "repeat servers' labels on Nodes as DOMAIN/KEY"
        ),
        _switch("--keep-internal-ips", _PLANS, "without HCLOUD_NETWORK, keep the kubelets' InternalIPs"),
        _flag(
            "--out-of-service LIST",
            parse_out_of_service,
            "",
            _PLANS,
            "taint Nodes of lost servers so that volumes follow their pods: deleted; default none",
            values=("deleted",),
        ),
        _flag(
            "--load-balancer-class NAME",
            parse_class,
            None,
            _JUDGES,
            "serve Services of this loadBalancerClass alone; default those without one",
        ),
        _switch("--health-conditions", _WRITES, "give Services the condition LoadBalancerHealthy"),
        _switch("--node-conditions", _WRITES, f"give Nodes the condition {CONDITION_NODE_IN_SYNC}"),
    ),
    "Waits": (
        _flag("--interval D", parse_positive_duration, None, _PAGES, "pause between passes; default 60s or more"),
        _switch("--share-rate-limit", _LOOPS, "pause longer the less of the project's rate limit is left"),
        _flag(
            "--delete-not-ready-for D",
            parse_wait,
            "20s",
            _PLANS,
            "delete a Node without a server once it is NotReady for so long; default {}",
        ),
        _flag("--delete-min-age D", parse_wait, "120s", _PLANS, "delete no Node that is younger than this; default {}"),
        _flag(
            "--given-up-after D",
            parse_positive_wait,
            "30m",
            _PLANS,
            "count Nodes as planned removals once they are NotReady for so long; default {}",
        ),
    ),
    "Lease": (
        _flag(
            "--leader-elect", parse_bool, True, _WRITES, "write only while this process holds the Lease; default true"
        ),
        _flag(
            "--leader-elect-lease-duration D",
            parse_positive_duration,
            "15s",
            _WRITES,
            "how long a standby waits for a Lease that is not renewed; default {}",
        ),
        _flag(
            "--leader-elect-renew-deadline D",
            parse_positive_duration,
            "10s",
            _WRITES,
            "how long the leader writes without renewing it; default {}",
        ),
        _flag(
            "--leader-elect-retry-period D",
            parse_positive_duration,
            "2s",
            _WRITES,
            "pause between attempts to take or renew it; default {}",
        ),
        _flag(
            "--leader-elect-resource-lock TYPE",
            parse_lock_type,
            "leases",
            _WRITES,
            "as for HCCM; leases",
            values=("leases",),
        ),
        _flag(
            "--leader-elect-resource-name LEASE",
            parse_object_name,
            LEASE,
            _WRITES | {Command.STATUS},
            "name of the Lease; default {}",
        ),
        _flag(
            "--leader-elect-resource-namespace NAMESPACE",
            parse_object_name,
            LEASE_NAMESPACE,
            _SEVERAL,
            "namespace of the Lease and of approvals; default {}",
        ),
    ),
    "Controller": (
        _flag(
            "--health-address ADDRESS",
            parse_address,
            ":10258",
            _LOOPS,
            "address of /livez, /readyz and /healthz; default {}",
        ),
        _flag(
            "--log-format FORMAT",
            _one_of(LogFormat),
            "text",
            _LOOPS,
            "format of the log: text or json",
            values=tuple(LogFormat),
        ),
    ),
    "Page": (
        _flag(
            "--ui-address ADDRESS",
            parse_page_address,
            None,
            _PAGES,
            "address of the page; a controller has none by default, ui has 127.0.0.1:8234",
        ),
        _flag(
            "--ui-hosts HOST[,HOST]",
            parse_hosts,
            (),
            _PAGES,
            "host names of the page, besides addresses and localhost",
        ),
    ),
}
"""Heading in ``--help`` → the flags below it: the table."""

FLAGS: Mapping[str, Flag] = {row.name: row for rows in FLAG_GROUPS.values() for row in rows}
"""Name → row."""

SPELLINGS: Mapping[str, Flag] = {spelling: row for row in FLAGS.values() for spelling in row.spellings}
"""Name, or another spelling → row."""


def read_flags(
    command: Command,
    given: Mapping[str, str],
    environ: Mapping[str, str],
    usage: list[str],
    errors: list[str],
    names: Iterable[str] = FLAGS,
) -> Mapping[str, Any]:
    """Flag → parsed value, of those with these names: from the command line, else from its variable, if it has one,
    else the default.

    Problems of the command line are appended to ``usage``, those of the environment to ``errors``, one line each.
    """
    values: dict[str, Any] = {}
    for row in map(FLAGS.__getitem__, names):
        values[row.name] = row.usual
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
    "--lifecycle-conditions": "it is gone: cordon a Node before its server goes, as such conditions are not read",
    "--load-balancer-undo": "it is gone: HCLOUD_LOAD_BALANCERS_DELETION_POLICY=retain keeps load balancers of Services",
    "--default-load-balancer": "give each class a process of its own with --load-balancer-class; without it Services"
    " without a class are served",
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
