"""Config: flags and environment as one frozen value; all errors are reported at once."""

import os
import re
import shlex
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path
from typing import Any

from actuators.http.robot import RobotLogin
from actuators.http.shown import is_loopback, shown_address, with_shown_addresses
from desired.annotations.options import VARIABLES as OPTION_VARIABLES
from desired.annotations.options import defaults_of
from desired.model.serving import Serving
from desired.model.settings import DECIDING, SET_BY, Controller, Policy, Settings, Waits
from desired.names import LEASE, LEASE_NAMESPACE
from desired.plan.grants import LIFETIME
from desired.syntax.bounds import shown_text
from desired.syntax.go import parse_bool
from reconciler.config.environment import VARIABLES, former_variables, passwords_in, read_variables
from reconciler.config.hccm_flags import without_effect
from reconciler.config.options import (
    FLAGS,
    OF_ALL,
    OF_HOLDS,
    Artifact,
    Color,
    Command,
    Detail,
    LogFormat,
    Output,
    read_flags,
    unknown_variables,
)
from reconciler.config.program import BAD_USAGE, program_name
from reconciler.leader_election.leadership import LEAST_TRIES, Timings

_TOKEN_LENGTH = 64
"""Length of every token that Hetzner hands out."""
_DEFAULT_INTERVAL_S = 60.0
_USUAL_RATE_LIMIT = 3600
"""Requests an hour that a project has, unless Hetzner says otherwise."""
_PAGE_ADDRESS = ("127.0.0.1", 8234)
_ROBOT_MAX_AGE_S = 300.0
_ROUTES = "HCLOUD_NETWORK_ROUTES_ENABLED"


ROBOT_TEXTS = {"ROBOT_USER": re.compile(r"[\x21-\x39\x3b-\x7e]+"), "ROBOT_PASSWORD": re.compile(r"[^\x00-\x1f\x7f]+")}
"""Variable → what it may hold: a colon ends the user, and nothing ends a header before its end (RFC 7617)."""
_EXCLUSIVE = (("--dry-run", "--once"), ("--full", "--summary"))
"""Switches that exclude each other."""
_OF_DRY_RUNS = frozenset(
    {"--dry-run", "--once", "--output", "--also", "--color", "--full", "--summary", "--detailed-exitcode", "--save"}
)
"""Flags that decide on how a plan is shown, and on nothing that is done."""


_LOOKS = frozenset(
    {
        Command.PLAN,
        Command.EXPLAIN,
        Command.CAPTURE,
        Command.HOLDS,
        Command.STATUS,
        Command.UI,
        Command.MIGRATE,
    }
)
"""Commands that write nothing."""
_SHOWS_PLANS = frozenset({Command.PLAN, Command.EXPLAIN, Command.UI})
_READS_FILES = _SHOWS_PLANS | OF_HOLDS
"""Commands that may plan from a file."""
_TOKENLESS = frozenset({Command.REVOKE, Command.STATUS, Command.MIGRATE})
"""Commands that ask Hetzner for nothing, or with other settings. Those of holds do so unless they compute a plan."""
_DECIDING = frozenset(
    name for name, row in FLAGS.items() if row.commands >= OF_HOLDS and Command.STATUS not in row.commands
)
"""Flags that decide on what a plan holds, and not on the cluster that it is of, or on how it is shown."""


class Mode(StrEnum):
    """How long a run continues and whether it may write."""

    DRY_RUN = "dry-run"
    ONCE = "once"
    LOOP = "loop"


@dataclass(frozen=True, slots=True)
class ApprovalOptions:
    """What ``reconcile approve`` was given besides a hash."""

    lifetime: timedelta = LIFETIME
    reason: str = ""
    patience: timedelta | None = None
    """How long to wait for its use, at most as long as it counts; None: not at all."""
    is_unseen: bool = False
    """Whether a hash may be approved of which nothing is known."""
    is_agreed: bool = False
    """Whether no question is asked."""


class ConfigurationError(Exception):
    """Something in flags or environment is wrong; ``lines`` say it all, one problem each.

    ``usage`` tells that the command line alone is to blame.
    """

    def __init__(self, lines: tuple[str, ...], *, usage: bool = False) -> None:
        self.lines = tuple(map(with_shown_addresses, lines))
        super().__init__("\n".join(self.lines))
        self.usage = usage

    @property
    def code(self) -> int:
        """The exit code that tells it."""
        return BAD_USAGE if self.usage else 1


@dataclass(frozen=True, slots=True)
class Config:
    """Everything that flags and environment decide."""

    settings: Settings
    mode: Mode
    output: Output
    detailed_exitcode: bool
    approved: tuple[str, ...]
    """Hashes of ``--approve``."""
    kubeconfig: str | None
    interval_s: float | None
    """Pause between passes; None leaves it to the rate limit."""
    request_timeout_s: float
    lease_namespace: str
    """Where the Lease and the product's ConfigMap live."""
    beside: Callable[[Mapping[str, str]], "Config"] = field(repr=False, compare=False)
    """Returns the same configuration with these texts for settings that nothing else gives: flag or variable → text.
    Raises ConfigurationError."""
    asks: bool = False
    """Whether a person sees the plan of a run that applies it first, and is asked."""
    lease_name: str = LEASE
    health_conditions: bool = False
    """Whether Services get a condition that says how healthy their targets are."""
    node_conditions: bool = False
    """Whether Nodes get a condition that says whether labels, addresses and routes are in sync."""
    shares_rate_limit: bool = False
    """Whether pauses get longer the less of the project's rate limit is left."""
    leader_elect: bool = True
    """Whether the Lease has to be held for a write."""
    timings: Timings = field(default_factory=Timings)
    token: str = field(repr=False, default="")
    passwords: tuple[str, ...] = field(repr=False, default=())
    """Other values of the environment to be masked."""
    token_file: Path | None = None
    """Where the token was read from, and is read again; None when it was given itself."""
    endpoint: str = field(repr=False, default="")
    robot_login: RobotLogin | None = None
    """Credentials of the Robot webservice; None when Robot is not enabled, or has none (load balancers alone)."""
    robot_files: Mapping[str, Path] = field(default_factory=dict)
    """``ROBOT_USER`` or ``ROBOT_PASSWORD`` → where it was read from, and is read again."""
    robot_endpoint: str = field(repr=False, default="")
    robot_max_age: timedelta = timedelta(minutes=5)
    robot_pause_s: float = 0.0
    """How long nothing is asked after a rate limit; 0: as long as the answer says."""
    context: str | None = None
    """Context of the kubeconfig; None: its current one."""
    debug: bool = False
    log_format: LogFormat = LogFormat.TEXT
    health_address: tuple[str, int] = ("", 10258)
    """Host, "" for all, and port of the probes."""
    metrics_address: tuple[str, int] | None = ("", 8233)
    """Likewise of the metrics; None: they are not served."""
    ui_address: tuple[str, int] | None = None
    """Likewise of the page."""
    ui_hosts: tuple[str, ...] = ()
    """Names under which the page is asked for, besides addresses and localhost."""
    color: Color = Color.AUTO
    detail: Detail = Detail.FOLDED
    """How much of a plan its text tells."""
    next_step: str = ""
    """The command that does what this run only plans; "" where there is none."""
    also: tuple[Artifact, ...] = ()
    """What is written to files beside the report."""
    step_summary: str = ""
    """The file with the summary of a step of a GitHub workflow; "" outside of one."""
    save_to: str | None = None
    """Where a plan is saved; None: nowhere."""
    saved_plan: str | None = None
    """File of the plan that this run is to apply; None: there is none."""
    is_exact: bool = False
    """Whether it does nothing at all where the plan is another one by now."""
    approval: ApprovalOptions = field(default_factory=ApprovalOptions)
    plans: bool = False
    """Whether a command about holds computes a plan, and reads no published status."""
    deciding: str = ""
    """The flags that were typed and decide on what is held; "" where a controller publishes what it holds."""
    captured: str | None = None
    """World file to plan from instead of asking an API, ``-`` for stdin; None: both APIs are read."""
    capture_to: str = "-"
    """Where ``reconcile capture`` writes; ``-`` is stdout."""
    overwrites: bool = False
    """Whether it may replace a file that is there."""
    warnings: tuple[str, ...] = ()
    """Warnings about what is accepted."""
    takes_published: bool = False
    """Whether settings that a controller publishes count if neither a flag nor a variable gives them."""

    @property
    def takes_lease(self) -> bool:
        """Whether this run waits for the Lease before it writes. A run with the policy ``observe`` writes nothing, and
        needs none."""
        return self.leader_elect and self.settings.policy is not Policy.OBSERVE

    @property
    def approve_flags(self) -> str:
        """The flags of this run that commands about its holds need, to find the same ones; "" when none does."""
        return " ".join(filter(None, (self.cluster_flags, self.deciding)))

    @property
    def cluster_flags(self) -> str:
        """The flags of this run that another command needs to reach the same ConfigMaps; "" when none does."""
        given = {
            "--kubeconfig": self.kubeconfig,
            "--context": self.context,
            "--leader-elect-resource-namespace": self.lease_namespace,
        }
        default = {"--leader-elect-resource-namespace": LEASE_NAMESPACE}
        return " ".join(f"{flag} {shlex.quote(v)}" for flag, v in given.items() if v and v != default.get(flag))

    def interval_for(self, rate_limit: int | None, reads_per_pass: int) -> float:
        """Seconds between passes: as given, else a minute or what keeps reads under a quarter of the allowance, which
        is the usual one where Hetzner has not said (None)."""
        if self.interval_s is not None:
            return self.interval_s
        limit = _USUAL_RATE_LIMIT if rate_limit is None else max(1, rate_limit)
        return max(_DEFAULT_INTERVAL_S, reads_per_pass * 3600.0 / (0.25 * limit))


def load_config(
    command: Command,
    given: Mapping[str, str],
    environ: Mapping[str, str],
    saved_plan: str | None = None,
    *,
    wrong: Iterable[str] = (),
) -> Config:
    """The configuration of a run, which may be that of a ``saved_plan``, or of another command. Raises
    ConfigurationError with every problem there is, of which some are ``wrong`` operands."""
    usage, errors = list(wrong), list[str]()
    flags = _without_overruled(command, read_flags(command, given, environ, usage, errors), given)
    errors += unknown_variables(environ)
    mode = _mode(command, flags)
    usage += _contradictions(command, flags, given)
    (usage if "--output" in given else errors).extend(_not_for_loops(mode, flags))
    usage += _overwriting(mode, flags, environ, saved_plan)
    if flags["--exact"] and saved_plan is None:
        usage.append("--exact goes with 'reconcile apply FILE': nothing else says what is to be done exactly")
    if flags["--exact"] and flags["--only"]:
        usage.append("--exact and --only exclude each other: a part of a saved plan is not all of it")
    variables: Mapping[str, Any] = {}
    # What is published is of the whole cluster.
    plans = command in OF_HOLDS and bool(flags["--plan"] or flags["--only"] or flags["--from"])
    if command not in _TOKENLESS and (plans or command not in OF_HOLDS):
        variables = read_variables(environ, errors)
        errors += _check(variables, environ, needs_token=command is not Command.VALIDATE and not flags["--from"])
        errors += _check_routes(flags, variables)
        errors += _check_selector(flags, variables)
    errors += _check_timings(flags)
    if usage or errors:
        raise ConfigurationError((*usage, *errors), usage=not errors)
    asks = command is Command.APPLY and not flags["--yes"] and saved_plan is None
    looks = plans or command in _SHOWS_PLANS or (command is Command.BARE and flags["--dry-run"])
    robot_login = _robot_login(variables)
    token_file = environ.get("HCLOUD_TOKEN_FILE") if "HCLOUD_TOKEN" not in environ else None
    return Config(
        settings=_settings(flags, variables),
        mode=mode,
        asks=asks,
        output=flags["--output"],
        detailed_exitcode=flags["--detailed-exitcode"],
        approved=flags["--approve"],
        kubeconfig=flags["--kubeconfig"],
        interval_s=flags["--interval"],
        request_timeout_s=flags["--request-timeout"],
        lease_namespace=flags["--leader-elect-resource-namespace"],
        lease_name=flags["--leader-elect-resource-name"],
        leader_elect=flags["--leader-elect"],
        timings=_timings(flags),
        token=variables.get("HCLOUD_TOKEN") or "",
        passwords=(*passwords_in(environ), *(robot_login.secrets if robot_login else ())),
        token_file=Path(token_file) if token_file else None,
        endpoint=(variables.get("HCLOUD_ENDPOINT") or "").rstrip("/"),
        robot_login=robot_login,
        robot_files={
            name: Path(environ[f"{name}_FILE"]) for name in ROBOT_TEXTS if robot_login and name not in environ
        },
        robot_endpoint=(variables.get("ROBOT_ENDPOINT") or "").rstrip("/"),
        robot_max_age=timedelta(seconds=variables.get("ROBOT_CACHE_TIMEOUT") or _ROBOT_MAX_AGE_S),
        robot_pause_s=variables.get("ROBOT_RATE_LIMIT_WAIT_TIME") or 0.0,
        context=flags["--context"],
        debug=variables.get("HCLOUD_DEBUG", False),
        log_format=flags["--log-format"],
        health_address=flags["--health-address"],
        metrics_address=variables.get("HCLOUD_METRICS_ADDRESS") if variables.get("HCLOUD_METRICS_ENABLED") else None,
        health_conditions=flags["--health-conditions"],
        node_conditions=flags["--node-conditions"],
        shares_rate_limit=flags["--share-rate-limit"],
        color=flags["--color"],
        ui_address=flags["--ui-address"] or (_PAGE_ADDRESS if command is Command.UI else None),
        ui_hosts=flags["--ui-hosts"],
        detail=Detail.FULL if flags["--full"] else Detail.SUMMARY if flags["--summary"] else Detail.FOLDED,
        next_step=_next_step(command, flags, given),
        also=flags["--also"],
        step_summary=environ.get("GITHUB_STEP_SUMMARY", ""),
        save_to=flags["--save"],
        saved_plan=saved_plan,
        is_exact=flags["--exact"],
        approval=ApprovalOptions(flags["--for"], flags["--reason"], flags["--wait"], flags["--unseen"], flags["--yes"]),
        plans=plans,
        deciding=_deciding(mode, flags, given),
        captured=flags["--from"],
        capture_to=flags["--to"],
        overwrites=flags["--force"],
        warnings=(*without_effect(given), *_warnings(variables, environ, flags)),
        takes_published=not (flags["--own-settings"] or flags["--from"]) and (asks or looks),
        beside=lambda texts: load_config(command, given, {**variables_for(texts), **environ}, saved_plan),
    )


def variables_for(texts: Mapping[str, str]) -> Mapping[str, str]:
    """The variables that give a run the settings with these texts. Other names, as of an endpoint, are left out: any
    client may have written the texts."""
    named = {name: FLAGS[name].variable for name in DECIDING.values() if name in FLAGS}
    names = (*DECIDING.values(), *OPTION_VARIABLES)
    return {named.get(name, name): texts[name] for name in names if texts.get(name)}


def _settings(flags: Mapping[str, Any], variables: Mapping[str, Any]) -> Settings:
    """The settings of a run: each as its flag or variable says, but for those that two of them decide."""
    given, values = {**flags, **variables}, defaultdict[str, dict[str, Any]](dict)
    for path, name in SET_BY.items():
        part, _, field = path.rpartition(".")
        if name in given:
            values[part][field] = given[name]
    switched_off = frozenset() if variables.get("HCLOUD_LOAD_BALANCERS_ENABLED", True) else {Controller.SERVICE}
    decided = {
        "routes": variables.get(_ROUTES, False) and flags["--configure-cloud-routes"],
        "cluster_cidr": _ipv4_of(flags["--cluster-cidr"]),
        "controllers": flags["--controllers"] - switched_off,
        "waits": Waits(**values["waits"]),
        "balancer_defaults": defaults_of(variables),
        "serving": Serving(**values["serving"]),
    }
    return Settings(**{**values[""], **decided})


def _without_overruled(command: Command, flags: Mapping[str, Any], given: Mapping[str, str]) -> Mapping[str, Any]:
    """A switch on the command line switches off the one that the environment sets and that it excludes; and a command
    says what is to be done, whatever was left in an environment."""
    both_ways = (*_EXCLUSIVE, *((other, one) for one, other in _EXCLUSIVE))
    overruled = {other for one, other in both_ways if one in given and flags[one] and other not in given}
    overruled |= {name for name in _EXCLUSIVE[0] if command is Command.RUN and name not in given}
    return {**flags, **dict.fromkeys(overruled, False)}


def _next_step(command: Command, flags: Mapping[str, Any], given: Mapping[str, str]) -> str:
    """The command that does what this one plans, with the flags that were typed for it: without ``--only`` it would do
    more. Nothing can be applied to a file."""
    if not (command in (Command.PLAN, Command.UI) or flags["--dry-run"]) or flags["--from"]:
        return ""
    file = flags["--save"]
    left_out = _OF_DRY_RUNS | {"--only"} if file else _OF_DRY_RUNS  # a saved plan says itself what it was restricted to
    taken = [name for name, row in FLAGS.items() if name not in left_out and Command.APPLY in row.commands]
    return " ".join((program_name(), "apply", *([shown_file(file)] if file else []), *_typed(taken, given)))


def _deciding(mode: Mode, flags: Mapping[str, Any], given: Mapping[str, str]) -> str:
    """The flags that were typed, without which another plan would be computed; "" for a controller that publishes."""
    publishes = mode is Mode.LOOP and flags["--policy"] is not Policy.OBSERVE and not flags["--only"]
    return "" if publishes else " ".join(_typed([name for name in FLAGS if name in _DECIDING], given))


def shown_file(file: str) -> str:
    """The name of a file as it is typed in a shell, and no flag."""
    return shlex.quote(f"./{file}" if file.startswith("-") else file)


def _typed(names: Iterable[str], given: Mapping[str, str]) -> Iterator[str]:
    """Those of these flags that were given, as they are typed in a shell; a switch that is on has no value."""
    for name in names:
        if name in given and FLAGS[name].metavar:
            yield f"{name} {shlex.quote(given[name])}"
        elif name in given:
            yield name if parse_bool(given[name]) else f"{name}=false"


def _contradictions(command: Command, flags: Mapping[str, Any], given: Mapping[str, str]) -> Iterator[str]:
    """Errors for what cannot be combined. A file can only be read, and stands for the cluster."""
    for one, other in _EXCLUSIVE:
        if flags[one] and flags[other]:
            yield f"{one} and {other} exclude each other"
    if flags["--approve"] and command is not Command.APPLY and not flags["--once"]:
        yield "--approve goes with 'reconcile apply'; for a running controller use 'reconcile approve HASH'"
    if not flags["--from"]:
        return
    if command not in _READS_FILES and not flags["--dry-run"]:
        yield "--from goes with 'reconcile plan', 'explain', 'holds' and 'ui': nothing can be applied to a file"
    if flags["--save"]:
        yield "--from and --save exclude each other: a plan from a file cannot be applied"
    for flag in ("--kubeconfig", "--context"):
        if flag in given:
            yield f"--from and {flag} exclude each other: a plan from a file asks no cluster"


def _overwriting(mode: Mode, flags: Mapping[str, Any], environ: Mapping[str, str], saved_plan: str | None) -> list[str]:
    """Errors for artifacts that are not written, or that would replace another file of the same command: one that its
    flags name, or that it reads a credential from."""
    if not flags["--also"]:
        return []
    if mode is Mode.LOOP:
        return ["--also goes with 'reconcile plan' and 'reconcile apply': a controller has a report after each pass"]
    files = [(name, flags[name]) for name in ("--save", "--from", "--kubeconfig")] + [("the saved plan", saved_plan)]
    files += [("KUBECONFIG", file) for file in environ.get("KUBECONFIG", "").split(os.pathsep)]
    files += [
        (name, environ.get(name)) for name in (f"{name}_FILE" for name, row in VARIABLES.items() if row.from_file)
    ]
    places = {os.path.realpath(file): name for name, file in files if file}
    return [
        f"--also {artifact.text!r} would replace the file of {places[place]}: give another name"
        for artifact in flags["--also"]
        if (place := os.path.realpath(artifact.file)) in places
    ]


def _not_for_loops(mode: Mode, flags: Mapping[str, Any]) -> list[str]:
    """Errors for what only a run that ends by itself can write."""
    if mode is not Mode.LOOP or flags["--output"] in OF_ALL:
        return []
    instead = f"a controller writes a report after each pass, in one of {', '.join(OF_ALL)}"
    return [f"output {flags['--output']} goes with 'reconcile plan' and 'reconcile apply': {instead}"]


def _mode(command: Command, flags: Mapping[str, Any]) -> Mode:
    lists_only = command is Command.ORPHANS and not flags["--delete"]
    if command in _LOOKS or lists_only or flags["--dry-run"]:
        return Mode.DRY_RUN
    return Mode.LOOP if command in (Command.BARE, Command.RUN) and not flags["--once"] else Mode.ONCE


def _robot_login(variables: Mapping[str, Any]) -> RobotLogin | None:
    if not variables.get("ROBOT_ENABLED") or not variables["ROBOT_USER"]:
        return None
    return RobotLogin(variables["ROBOT_USER"], variables["ROBOT_PASSWORD"])


def _check(variables: Mapping[str, Any], environ: Mapping[str, str], *, needs_token: bool) -> list[str]:
    """Errors in combinations of variables, by HCCM's rules."""
    lines = []
    token = variables["HCLOUD_TOKEN"]
    if needs_token and not token and ("HCLOUD_TOKEN" in environ or not environ.get("HCLOUD_TOKEN_FILE")):
        is_hidden = "HCLOUD_TOKEN" in environ and environ.get("HCLOUD_TOKEN_FILE")
        remedy = (
            "unset it, as it wins over HCLOUD_TOKEN_FILE even when it is empty"
            if is_hidden
            else "set it, or HCLOUD_TOKEN_FILE to a file with it"
        )
        lines.append(f'environment variable "HCLOUD_TOKEN" is required: {remedy}')
    elif token and not re.fullmatch(r"[\x21-\x7e]+", token):
        lines.append("HCLOUD_TOKEN has a blank, a line break or another character that no token has: copy it again")
    if not re.match(r"https?://[^/\s]+", variables["HCLOUD_ENDPOINT"]):
        shown = shown_text(shown_address(variables["HCLOUD_ENDPOINT"]))
        lines.append(f"HCLOUD_ENDPOINT is {shown}: expect an address such as https://host/v1")
    if variables["HCLOUD_LOAD_BALANCERS_LOCATION"] and variables["HCLOUD_LOAD_BALANCERS_NETWORK_ZONE"]:
        lines.append("HCLOUD_LOAD_BALANCERS_LOCATION and HCLOUD_LOAD_BALANCERS_NETWORK_ZONE exclude each other")
    return lines + (_check_robot(variables) if variables["ROBOT_ENABLED"] else [])


def _check_robot(variables: Mapping[str, Any]) -> list[str]:
    """Errors in what is set for the Robot webservice."""
    lines = []
    if bool(variables["ROBOT_USER"]) != bool(variables["ROBOT_PASSWORD"]):
        lines.append('both "ROBOT_USER" and "ROBOT_PASSWORD" must be provided, or neither')
    for name, pattern in ROBOT_TEXTS.items():
        if variables[name] and not pattern.fullmatch(variables[name]):
            lines.append(f"{name} has a line break or another character that it cannot have: copy it again")
    if variables[_ROUTES]:
        lines.append(
            f"using Routes with Robot is not supported: set {_ROUTES}=false, and connect the dedicated servers by a"
            " vSwitch or by the network of pods itself"
        )
    if not re.match(r"https?://[^/\s]+", variables["ROBOT_ENDPOINT"]):
        shown = shown_text(shown_address(variables["ROBOT_ENDPOINT"]))
        lines.append(f"ROBOT_ENDPOINT is {shown}: expect an address such as https://host")
    return lines


def _check_routes(flags: Mapping[str, Any], variables: Mapping[str, Any]) -> list[str]:
    """Errors for pod routes that are impossible, as private networks have IPv4 alone. HCCM starts all the same, and
    leaves the Nodes unschedulable."""
    given = flags["--cluster-cidr"]
    are_wanted = variables[_ROUTES] and flags["--configure-cloud-routes"] and Controller.ROUTE in flags["--controllers"]
    if not are_wanted or not given or _ipv4_of(given) is not None:
        return []
    what = f"--cluster-cidr is {given[0]} alone, and pod routes are for IPv4"
    return [f"{what}: add the pods' IPv4 range, or set {_ROUTES}=false"]


def _check_selector(flags: Mapping[str, Any], variables: Mapping[str, Any]) -> list[str]:
    """Errors for a selector of servers where the addresses of all of them have to be known: those of dedicated servers
    may be another server's."""
    if flags["--server-selector"] is None or not variables["ROBOT_ENABLED"]:
        return []
    return ["--server-selector and ROBOT_ENABLED exclude each other: unset one of them"]


def _check_timings(flags: Mapping[str, Any]) -> list[str]:
    """Errors for durations of a Lease that could not be kept, or that would let two processes hold it; HCCM refuses
    them as well."""
    if not flags["--leader-elect"]:
        return []
    timings = _timings(flags)
    lines = []
    if timings.lease_duration_s <= timings.renew_deadline_s:
        lines.append("--leader-elect-lease-duration has to be more than --leader-elect-renew-deadline: lengthen it")
    if timings.renew_deadline_s <= LEAST_TRIES * timings.retry_period_s:
        more = f"more than {LEAST_TRIES:g} times --leader-elect-retry-period"
        lines.append(f"--leader-elect-renew-deadline has to be {more}: lengthen it, or shorten that one")
    return lines


def _timings(flags: Mapping[str, Any]) -> Timings:
    return Timings(
        flags["--leader-elect-lease-duration"],
        flags["--leader-elect-renew-deadline"],
        flags["--leader-elect-retry-period"],
    )


def _ipv4_of(cidrs: Iterable[IPv4Network | IPv6Network]) -> IPv4Network | None:
    """The IPv4 one of the cluster's ranges, of which there is at most one."""
    return next((cidr for cidr in cidrs if isinstance(cidr, IPv4Network)), None)


def _warnings(variables: Mapping[str, Any], environ: Mapping[str, str], flags: Mapping[str, Any]) -> tuple[str, ...]:
    lines = former_variables(environ)
    token = variables.get("HCLOUD_TOKEN")
    if token and len(token) != _TOKEN_LENGTH:
        lines.append(f"HCLOUD_TOKEN has {len(token)} characters where Hetzner's tokens have {_TOKEN_LENGTH}")
    secrets = {"HCLOUD_ENDPOINT": "token", "ROBOT_ENDPOINT": "password"}
    for name, secret in secrets.items():
        endpoint = variables.get(name) or ""
        if endpoint.startswith("http://") and not is_loopback(endpoint):
            shown = shown_address(endpoint)
            why = f"the {secret} can be read and the answers changed on the way; write https:// before it"
            lines.append(f"{name} is {shown}, which is reached without encryption: {why}")
    if variables.get("ROBOT_ENABLED") and not variables["ROBOT_USER"] and not flags["--from"]:
        only = "load balancers alone know Robot servers, by their Nodes' InternalIPs, and the Nodes are left alone"
        lines.append(f"ROBOT_ENABLED without ROBOT_USER and ROBOT_PASSWORD: {only}")
    if variables and not variables["HCLOUD_NETWORK"] and _is_true(environ.get(_ROUTES, "")):
        lines.append(f"{_ROUTES} has no effect without HCLOUD_NETWORK: pod routes need a network")
    return tuple(lines)


def _is_true(text: str) -> bool:
    """Whether a boolean says yes that HCCM does not even parse, so that garbage is no error."""
    try:
        return parse_bool(text)
    except ValueError:
        return False
