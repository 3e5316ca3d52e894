"""Commands that read, and write one report: ``explain``, ``holds`` and ``status``; and what ``orphans`` and ``migrate``
have in common with them."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

from actuators.config_maps import read_data
from actuators.http.errors import ApiError, Denied
from actuators.http.kubeconfig import ConnectionProblem
from actuators.http.kubernetes import KubernetesReader
from actuators.wire.lease import read_lease
from actuators.wire.objects import server_time
from desired.model.key import Key, ObjectKind
from desired.names import CONFIG_MAP
from desired.plan.grants import Grant
from desired.section import Unknown
from desired.syntax.bounds import shown_text
from reconciler.cli.own_settings import settled
from reconciler.cli.stopping import GRACE_S, READING_GRACE_S, Stop, stop_within
from reconciler.cli.streams import Writer, begin, fail, internal_error, publish
from reconciler.config.config import Config, ConfigurationError, Mode, load_config
from reconciler.config.options import Command, Output, asked
from reconciler.config.program import BAD_USAGE, typed
from reconciler.observe.approvals import observe_approvals
from reconciler.passes.one_pass import explain_once, plan_once
from reconciler.report.holds import HoldsReport
from reconciler.report.migration import MigrationReport
from reconciler.report.orphans import OrphanReport
from reconciler.report.published import STATUS, is_whole, published_holds
from reconciler.report.status import StatusReport
from reconciler.report.terminal import TerminalProgress
from reconciler.result import SHORT, Explained, Report
from reconciler.runtime import build_runtime, open_cluster

_PREFIX = re.compile(rf"(?:sha256:)?([0-9a-f]{{{SHORT},16}})", re.ASCII)
_DOUBT = "the pass ended with {}, and what could not be read or decided is not held either"
_TO_COMPUTE = "{}; to compute here what is held: {}"
_USAGE = "expect 'holds', or 'holds show' and the hash of a hold, of which 6 hex digits will do"

_KINDS = {"node": "node", "nodes": "node", "no": "node", "service": "service", "services": "service", "svc": "service"}
"""Spellings of kinds, as kubectl takes them."""

Said = TypeVar("Said", Explained, HoldsReport, StatusReport, OrphanReport, MigrationReport)


def report_on(
    command: Command,
    flags: Mapping[str, str],
    environ: Mapping[str, str],
    read: Callable[[Config, Stop], Said],
    failed: Callable[[tuple[str, ...]], Said],
    *,
    wrong: Sequence[str] = (),
    answers: bool = False,
    is_told_anyway: Callable[[Said], object] = lambda _: False,
) -> int:
    """The exit code of a command that writes what it has ``read``, or what has ``failed``, with these errors. ``wrong``
    is what is wrong with its operands. Where it ``answers``, a machine that asked for a document gets one whatever is
    wrong with the command line. Raises KeyboardInterrupt, after what is to be told anyway."""
    try:
        config = load_config(command, flags, environ, wrong=wrong)
    except ConfigurationError as error:
        output = Output(asked(command, "--output", flags, environ))
        if answers and output.is_document:
            publish(Writer(output), failed(error.lines))
        return fail(*error.lines, code=error.code)
    begin(config)
    with stop_within(READING_GRACE_S if config.mode is Mode.DRY_RUN else GRACE_S) as stop:
        try:
            report = read(settled(config, stop), stop)
        except ConfigurationError as error:
            report = failed(error.lines)
        except (ConnectionProblem, ApiError) as error:
            report = failed((str(error),))
        except Exception as error:  # noqa: BLE001 - a bug of ours is told in one line, as everywhere
            report = failed((internal_error(error),))
        if is_told_anyway(report):
            return _tell(report, config)
    return _tell(report, config)


def _tell(report: Explained | HoldsReport | StatusReport | OrphanReport | MigrationReport, config: Config) -> int:
    written = publish(Writer(config.output, color=config.color), report)
    return fail(*report.errors, code=report.code if written else 1)


def explain(words: Sequence[str], flags: Mapping[str, str], environ: Mapping[str, str]) -> int:
    """Write every decision about the Node or Service with this name, and its reason; the exit code."""
    try:
        kind, name = object_of(words)
    except ValueError as error:
        return fail(str(error), code=BAD_USAGE)
    key = key_of(kind, name)

    def read(config: Config, stop: Stop) -> Explained:
        context = build_runtime(config, stop, TerminalProgress(config.color)).plan_context
        return explain_once(context, key, is_kind_known=kind != "any")

    return report_on(
        Command.EXPLAIN, flags, environ, read, lambda errors: Explained(key, Report(errors=errors)), answers=True
    )


def object_of(words: Sequence[str]) -> tuple[str, str]:
    """Kind and name of the object that is meant: two words, a key as reports print it, or a name alone, whose kind is
    ``any`` unless a namespace tells it. Raises ValueError."""
    kind, name = words if len(words) == 2 else words[0].partition("/")[::2]
    if kind in _KINDS:
        if not name:
            raise ValueError(f"the name of a {_KINDS[kind]} is missing: explain {_KINDS[kind]} NAME")
        return _KINDS[kind], name
    if len(words) == 2 and kind != "any":
        raise ValueError(f"{shown_text(kind)} cannot be explained: expect node or service")
    name = words[-1]
    return "service" if "/" in name else "any", name


def key_of(kind: str, name: str) -> Key:
    """The object's key in plans, which may stand for its name. A Service without a namespace is one of ``default``,
    and what may be either a Node."""
    name = name.encode(errors="backslashreplace").decode()  # what is no text is no JSON either
    if kind in ("node", "any"):
        return Key(ObjectKind.NODE, name.removeprefix("node/"))
    if name.count("/") > 1:  # a namespace may be named service as well
        name = name.removeprefix("service/")
    return Key(ObjectKind.SERVICE, name if "/" in name else f"default/{name}")


_POLL_S = 2.0
"""From one look at the Lease to the next."""
_LONGEST_LOOK_S = 15.0
"""A leader that lives renews within the duration of its Lease, which is this by default."""


def _sleep(stop: Stop, seconds: float) -> None:
    stop.wait(seconds)


def status(
    _words: Sequence[str],
    flags: Mapping[str, str],
    environ: Mapping[str, str],
    *,
    sleep: Callable[[Stop, float], object] = _sleep,
) -> int:
    """Write the controller's last pass, from what the leader published; the exit code: 0 when it went well, 3 when
    anything needs a person, or the leader is gone, 1 when it went wrong, or nothing recent is known."""

    def read(config: Config, stop: Stop) -> StatusReport:
        reader = KubernetesReader(open_cluster(config, stop, read_only=True))
        found = read_holds(reader, config)
        plan = f"'{typed('plan', config.cluster_flags)}' computes what there is to do"
        errors = tuple(f"{each}; {plan}" for each in found.errors)
        report = StatusReport(found.now, found.published, errors=errors, flags=config.cluster_flags)
        first = _with_leader(report, reader, config)
        return _looked_again(first, lambda: _with_leader(report, reader, config), partial(sleep, stop))

    return report_on(Command.STATUS, flags, environ, read, lambda errors: StatusReport(errors=errors))


def _looked_again(
    first: StatusReport, look: Callable[[], StatusReport], sleep: Callable[[float], object]
) -> StatusReport:
    """The report, with whether a leader that seems to be gone renews its Lease meanwhile: its clock may be another."""
    left_s = min(first.duration_s or 0, _LONGEST_LOOK_S) if first.is_gone else 0.0
    while left_s > 0:
        sleep(_POLL_S)
        left_s -= _POLL_S
        again = look()
        if (again.leader, again.renewed) != (first.leader, first.renewed):
            return replace(again, has_renewed=True)
    return first


def _with_leader(report: StatusReport, reader: KubernetesReader, config: Config) -> StatusReport:
    """Who leads, as far as that may be read: without it the rest is worth knowing as well."""
    try:
        lease = read_lease(reader, config.lease_namespace, config.lease_name)
    except ApiError:
        return report
    name = f"{config.lease_namespace}/{config.lease_name}"
    if lease is None:
        return replace(report, lease=name, leader="")
    leader = "" if lease.claim.holder == "" else lease.claim.shown
    return replace(report, lease=name, leader=leader, renewed=lease.claim.renewed, duration_s=lease.claim.duration_s)


def holds(words: Sequence[str], flags: Mapping[str, str], environ: Mapping[str, str]) -> int:
    """List what waits for approval, or show one hold; the exit code: 0 when that is known, whether or not something is
    held."""
    prefix, wrong = "", list[str]()
    try:
        prefix = _shown(words)
    except ValueError as error:
        wrong.append(str(error))

    def read(config: Config, stop: Stop) -> HoldsReport:
        found = find_holds(Command.HOLDS, prefix, config, flags, environ, stop)
        if not prefix or found.errors:
            return found
        try:
            return replace(found, shown=the_one(prefix, [hold.hash for hold in found.holds], "hold", found.flags))
        except LookupError as error:
            return replace(found, holds=(), errors=(str(error),))

    return report_on(Command.HOLDS, flags, environ, read, lambda errors: HoldsReport(errors=errors), wrong=wrong)


def _shown(words: Sequence[str]) -> str:
    """The prefix of the one hold that is asked for; "" for all. Raises ValueError."""
    match words:
        case ():
            return ""
        case ("show", text):
            return digits_of(text)
    raise ValueError(_USAGE)


def find_holds(
    command: Command,
    digits: str,
    config: Config,
    flags: Mapping[str, str],
    environ: Mapping[str, str],
    stop: Stop,
) -> HoldsReport:
    """What is held: as the leader published it, or, where that has none with these ``digits`` or is not there, as a
    plan of this run finds it, with these flags and variables; what is wrong with these where it cannot. Raises
    ConnectionProblem and an ApiError."""
    if config.plans:
        return _planned(config, stop)
    found = read_holds(KubernetesReader(open_cluster(config, stop, read_only=True)), config)
    if found.published and (not digits or any(_begins(hold.hash, digits) for hold in found.holds)):
        return found
    try:
        own = load_config(command, {**flags, "--plan": "true"}, environ)
    except ConfigurationError as error:
        return replace(found, errors=tuple(_TO_COMPUTE.format(each, "; ".join(error.lines)) for each in found.errors))
    begin(own)
    return _planned(replace(settled(own, stop), deciding=config.deciding), stop)


def _planned(config: Config, stop: Stop) -> HoldsReport:
    """Raises ConnectionProblem."""
    context = build_runtime(replace(config, mode=Mode.DRY_RUN), stop, TerminalProgress()).plan_context
    report = plan_once(replace(context, as_unapproved=True))
    now = report.snapshot.taken_at if report.snapshot else None
    if now is None:
        return HoldsReport(errors=report.errors)
    approvals, why = read_approvals(context.readers.kubernetes, config.lease_namespace)
    found = published_holds(report, now, {})
    doubt = "" if is_whole(report.result) else _DOUBT.format(report.result)
    flags = config.approve_flags
    return HoldsReport(now, None, found, approvals, why, why_incomplete=doubt, errors=report.errors, flags=flags)


def read_holds(reader: KubernetesReader, config: Config) -> HoldsReport:
    """What the leader published, and what was approved of it; an error when it has published nothing. Raises an
    ApiError."""
    now = server_time(reader.get("/version"))
    namespace, status = config.lease_namespace, None
    try:
        data = read_data(reader, namespace)
        status = STATUS.read((data or {}).get(STATUS.key))
        unpublished = "" if status else _unpublished(data, namespace)
    except Denied as error:
        unpublished = str(error)
    approvals, why = read_approvals(reader, namespace)
    report = HoldsReport(now, status, (), approvals, why, flags=config.approve_flags)
    if status is None:
        return replace(report, errors=(unpublished,))
    doubt = "" if status.last_pass.is_whole else _DOUBT.format(status.last_pass.result)
    return replace(report, holds=status.holds, why_incomplete=doubt)


def _unpublished(data: Mapping[str, str] | None, namespace: str) -> str:
    """Why nothing is known of any hold."""
    name = f"ConfigMap {namespace}/{CONFIG_MAP}"
    if data is None:
        return (
            f"{name} is not there, in which a controller publishes: upgrade its chart, or kubectl -n {namespace}"
            f" create configmap {CONFIG_MAP}"
        )
    if STATUS.key in data:
        return f"the status in {name} cannot be read: another version may have written it"
    return f"no controller has published its status in {name} yet"


def read_approvals(reader: KubernetesReader, namespace: str) -> tuple[tuple[Grant, ...], str]:
    """The approvals, and why they could not be read, "" when they were. Raises an ApiError, but for missing
    permissions."""
    found = observe_approvals(reader, namespace, survives=Denied)
    return found.grants, found.unread or (found.record.why if isinstance(found.record, Unknown) else "")


def digits_of(text: str) -> str:
    """The hex digits of a hash, or of its beginning. Raises ValueError for anything else."""
    found = _PREFIX.fullmatch(text)
    if found is None:
        raise ValueError(
            f"{shown_text(text)} is no hash of a hold: expect sha256: and 16 hex digits, as the plan shows it, or"
            f" {SHORT} of them or more"
        )
    return found[1]


def the_one(digits: str, hashes: Collection[str], what: str, flags: str) -> str:
    """The one hash that begins with these digits. ``flags`` are those with which they are listed. Raises LookupError
    where there is none, or more than one."""
    matching = sorted({each for each in hashes if _begins(each, digits)})
    if len(matching) == 1:
        return matching[0]
    if matching:
        raise LookupError(f"{digits} names {len(matching)} {what}s, give more digits: {', '.join(matching)}")
    raise LookupError(f"{digits} names no {what} that is known: '{typed('holds', flags)}' lists them")


def _begins(hold_hash: str, digits: str) -> bool:
    return hold_hash.removeprefix("sha256:").startswith(digits)
