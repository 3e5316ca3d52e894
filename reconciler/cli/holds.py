"""``reconcile holds``: holds that wait for approval, as the leader published it, or by a plan of this run."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from actuators.http.errors import ApiError, Denied
from actuators.http.kubeconfig import ConnectionProblem
from actuators.http.kubernetes import KubernetesReader
from actuators.wire.objects import server_time
from desired.names import STATUS_CONFIG_MAP
from desired.plan.grants import Grant
from desired.syntax.bounds import shown_text
from reconciler.cli.run import internal_error
from reconciler.cli.stopping import READING_GRACE_S, Stop, stop_within
from reconciler.cli.streams import begin, fail, publish
from reconciler.config.config import Config, ConfigurationError, load_config
from reconciler.config.options import Command
from reconciler.config.program import BAD_USAGE
from reconciler.observe.approvals import observe_approvals
from reconciler.observe.kubernetes import observe_config_map
from reconciler.passes.one_pass import plan_once
from reconciler.report.holds import HoldsReport
from reconciler.report.published import STATUS, is_whole, published_holds
from reconciler.report.terminal import TerminalProgress, Writer
from reconciler.result import SHORT
from reconciler.runtime import build_runtime, open_cluster

_PREFIX = re.compile(rf"(?:sha256:)?([0-9a-f]{{{SHORT},16}})", re.ASCII)
_DOUBT = "the pass ended with {}, and what could not be read or decided is not held either"
_USAGE = "expect 'holds', or 'holds show' and the hash of a hold, of which 6 hex digits will do"


def holds(words: Sequence[str], flags: Mapping[str, str], environ: Mapping[str, str]) -> int:
    """List what is held, or show one hold; the exit code: 0 when that is known, whether or not something is held."""
    try:
        config = load_config(Command.HOLDS, flags, environ)
        prefix = _shown(words)
    except ConfigurationError as error:
        return fail(*error.lines, code=error.code)
    except ValueError as error:
        return fail(str(error), code=BAD_USAGE)
    begin(config)
    with stop_within(READING_GRACE_S) as stop:
        report = _report(prefix, config, stop)
    written = publish(Writer(config.output, color=config.color), report)
    return fail(*report.errors, code=0 if written and not report.errors else 1)


def _shown(words: Sequence[str]) -> str:
    """The prefix of the one hold that is asked for; "" for all. Raises ValueError."""
    match words:
        case []:
            return ""
        case ["show", text]:
            return digits_of(text)
    raise ValueError(_USAGE)


def _report(prefix: str, config: Config, stop: Stop) -> HoldsReport:
    try:
        found = _planned(config, stop) if config.plans else read_holds(reader_of(config, stop), config)
    except (ConnectionProblem, ApiError) as error:
        return HoldsReport(errors=(str(error),))
    except Exception as error:  # noqa: BLE001 - a bug of ours is told in one line, as everywhere
        return HoldsReport(errors=(internal_error(error),))
    if not prefix or found.errors:
        return found
    try:
        return replace(found, shown=the_one(prefix, [hold.hash for hold in found.holds], "hold"))
    except LookupError as error:
        return replace(found, holds=(), errors=(str(error),))


def _planned(config: Config, stop: Stop) -> HoldsReport:
    """Raises ConnectionProblem."""
    runtime = build_runtime(config, stop, TerminalProgress())
    report = plan_once(runtime.plan_context)
    now = report.snapshot.taken_at if report.snapshot else None
    if now is None:
        return HoldsReport(errors=report.errors)
    approvals, why = read_approvals(runtime.plan_context.readers.kubernetes, config.lease_namespace)
    found = published_holds(report, now, {})
    doubt = "" if is_whole(report.result) else _DOUBT.format(report.result)
    flags = config.approve_flags
    return HoldsReport(now, None, found, approvals, why, why_incomplete=doubt, errors=report.errors, flags=flags)


def reader_of(config: Config, stop: Stop) -> KubernetesReader:
    """A reader of the cluster alone. Raises ConnectionProblem."""
    return KubernetesReader(open_cluster(config, stop, read_only=True))


def read_holds(reader: KubernetesReader, config: Config) -> HoldsReport:
    """What the leader published, and what was approved of it; an error when it has published nothing. Raises an
    ApiError."""
    now = server_time(reader.get("/version"))
    namespace, status = config.lease_namespace, None
    try:
        data = observe_config_map(reader, namespace, STATUS_CONFIG_MAP)
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
    """Why nothing is known of any hold, and what to do."""
    name = f"ConfigMap {namespace}/{STATUS_CONFIG_MAP}"
    if data is None:
        return (
            f"{name} is not there, in which the controller publishes: upgrade the chart, or kubectl -n {namespace}"
            f" create configmap {STATUS_CONFIG_MAP}; 'reconcile holds --plan' computes the holds now"
        )
    if STATUS.key in data:
        return f"the status in {name} cannot be read: another version may have written it"
    return f"no controller has published its status in {name} yet: 'reconcile holds --plan' computes the holds now"


def read_approvals(reader: KubernetesReader, namespace: str) -> tuple[tuple[Grant, ...], str]:
    """The approvals in both ConfigMaps, and why not all could be read, "" when they were. Raises an ApiError, but for
    missing permissions."""
    found = observe_approvals(reader, namespace, survives=Denied)
    return found.grants, found.unread or found.git_unread


def digits_of(text: str) -> str:
    """The hex digits of a hash, or of its beginning. Raises ValueError for anything else."""
    found = _PREFIX.fullmatch(text)
    if found is None:
        raise ValueError(
            f"{shown_text(text)} is no hash of a hold: expect sha256: and 16 hex digits, as the plan shows it, or"
            f" {SHORT} of them or more"
        )
    return found[1]


def the_one(digits: str, hashes: Collection[str], what: str) -> str:
    """The one hash that begins with these digits. Raises LookupError where there is none, or more than one."""
    matching = sorted({each for each in hashes if each.removeprefix("sha256:").startswith(digits)})
    if len(matching) == 1:
        return matching[0]
    if matching:
        raise LookupError(f"{digits} names {len(matching)} {what}s, give more digits: {', '.join(matching)}")
    raise LookupError(f"{digits} names no {what} that is known: 'reconcile holds' lists them")
