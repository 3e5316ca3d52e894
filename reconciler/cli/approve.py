"""``reconcile approve HASH`` and ``revoke HASH``: let one hold pass once, and take that back."""

import getpass
import os
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import count

from actuators import approvals
from actuators.config_maps import ConfigMap
from actuators.http.errors import ApiError, Denied
from actuators.http.kubeconfig import ConnectionProblem
from actuators.http.kubernetes import KubernetesConnection, KubernetesReader, KubernetesWriter
from actuators.wire.objects import server_time
from desired.model.clocks import shown_moment
from desired.names import APPROVALS_CONFIG_MAP
from desired.plan.approvals import Step, is_hash
from desired.plan.grants import LONGEST, Grant, Here, Source
from desired.section import Present, Unknown
from reconciler.cli import INTERRUPTED
from reconciler.cli.own_settings import settled
from reconciler.cli.reading import digits_of, find_holds, read_approvals, read_holds, the_one
from reconciler.cli.stopping import GRACE_S, Stop, stop_within
from reconciler.cli.streams import Writer, begin, fail, is_agreed, is_attended, publish, say
from reconciler.config.config import Config, ConfigurationError, load_config
from reconciler.config.options import Command, Output
from reconciler.config.program import BAD_USAGE, typed
from reconciler.observe.approvals import observe_approvals
from reconciler.observe.kubernetes import observe_cluster_uid
from reconciler.report.escaping import visible
from reconciler.report.holds import HoldsReport, told
from reconciler.runtime import open_cluster

_POLL_S = 2.0
"""From one look to the next, while a person waits for the use of an approval."""
Sleep = Callable[[threading.Event, float], object]


def _sleep(stop: threading.Event, seconds: float) -> None:
    stop.wait(seconds)


def approve(
    words: Sequence[str], flags: Mapping[str, str], environ: Mapping[str, str], *, sleep: Sleep = _sleep
) -> int:
    """Show the hold, as it is published or as a plan of this run finds it, ask where a person can be asked, and record
    the approval beside the Lease; the exit code. The time is the API server's, so that it expires alike.

    ``sleep`` waits between looks, for so many seconds or until the event is set. Raises KeyboardInterrupt; what was
    approved until then was said.
    """

    def find(job: _Job) -> HoldsReport:
        if job.config.approval.is_unseen:
            return read_holds(job.reader, job.config)
        begin(job.config)
        config = settled(job.config, job.stop)
        return find_holds(Command.APPROVE, job.digits, config, flags, environ, job.stop)

    return _with_cluster(Command.APPROVE, words[0], flags, environ, lambda job: _approve(job, find(job), sleep))


def revoke(words: Sequence[str], flags: Mapping[str, str], environ: Mapping[str, str]) -> int:
    """Take back what was approved and not used; the exit code, 1 when it was used, or it was not approved. Raises
    KeyboardInterrupt."""
    return _with_cluster(Command.REVOKE, words[0], flags, environ, _revoke)


@dataclass(frozen=True, slots=True)
class _Job:
    """What both commands need."""

    config: Config
    digits: str
    reader: KubernetesReader
    writer: KubernetesWriter
    stop: Stop

    @property
    def namespace(self) -> str:
        """Where the Lease and the ConfigMaps are."""
        return self.config.lease_namespace

    def now(self) -> datetime:
        """The API server's time. Raises an ApiError."""
        return server_time(self.reader.get("/version"))


def _with_cluster(
    command: Command,
    text: str,
    flags: Mapping[str, str],
    environ: Mapping[str, str],
    do: Callable[[_Job], int],
) -> int:
    try:
        config = load_config(command, flags, environ)
        digits = digits_of(text)
    except ConfigurationError as error:
        return fail(*error.lines, code=error.code)
    except ValueError as error:
        return fail(str(error), code=BAD_USAGE)
    with stop_within(GRACE_S) as stop:
        try:
            connection: KubernetesConnection = open_cluster(config, stop, read_only=False)
            return do(_Job(config, digits, KubernetesReader(connection), KubernetesWriter(connection), stop))
        except (LookupError, ConfigurationError, ConnectionProblem, ApiError) as error:
            trouble = str(error)
    return fail(*trouble.split("\n"), code=1)


def _approve(job: _Job, found: HoldsReport, sleep: Sleep) -> int:
    """Raises LookupError for a hash that is not known, and an ApiError."""
    options, hold_hash = job.config.approval, _known(job, found)
    is_shown = hold_hash in {hold.hash for hold in found.holds}
    if is_shown:
        publish(Writer(Output.AUTO, color=job.config.color), replace(found, shown=hold_hash))
    if is_shown and found.published is None and not options.is_agreed and not is_attended():
        return fail("no terminal to prompt on, and no controller has published this hold; pass --yes", code=BAD_USAGE)
    if not options.is_agreed and is_attended():
        what = "it" if is_shown else f"{hold_hash}, of which nothing is known,"
        if not is_agreed(f"Approve {what} for {_span(options.lifetime)}?", job.stop):
            return INTERRUPTED if job.stop.is_interrupted else fail("nothing was approved", code=1)
    now, name, via = job.now(), approvals.reviewed_name(job.writer), _caller()
    stored = observe_approvals(job.reader, job.namespace, survives=Denied)
    if isinstance(stored.record, Present) and stored.record.value.begun_at is None:  # by a controller, or by this
        own = ConfigMap.of(job.reader, job.namespace, job.writer, via)
        uses = approvals.ApprovalUses(own, job.reader, job.namespace, creates=True)
        stored = replace(stored, record=uses.known(stored.record, Here(now, observe_cluster_uid(job.reader))))
    before = next((each for each in stored.grants if each.of == hold_hash), None)
    used = {use.identity for use in stored.record.value.uses} if isinstance(stored.record, Present) else set()
    at = next(at for at in (now + timedelta(seconds=each) for each in count()) if (hold_hash, at) not in used)
    wanted = Grant(
        Source.CLUSTER,
        hold_hash,
        name or via,
        at,
        at + options.lifetime,
        via=via if name else "",
        reason=options.reason,
    )
    step = approvals.approve(job.reader, job.writer, job.namespace, wanted, now, before=before, name=name)
    if not name:
        say(
            "warning: the API server does not tell who you are (before Kubernetes 1.28, or not allowed): the name is a"
            " claim of this machine"
        )
    standing = before if step is Step.STANDS and before is not None else wanted
    _say(*_outcome(step, wanted, before, now, job.namespace))
    if isinstance(stored.record, Unknown):
        say(f"warning: no approval counts for now: {stored.record.why}")
    if options.patience is None:
        return 0
    ends_at = min(standing.until or now, now + min(options.patience, LONGEST))
    return _await_use(job, standing, ends_at, sleep)


def _known(job: _Job, found: HoldsReport) -> str:
    """The hash of the hold that is meant. Raises LookupError unless it is held, or may be approved unseen."""
    full, remedy = f"sha256:{job.digits}", "give --unseen to approve it all the same"
    if is_hash(full) and job.config.approval.is_unseen:
        return full
    if found.errors:
        trouble = "; ".join(found.errors)
        unknown = f"{full} is not known to be a hold, so nothing is approved: {trouble}; {remedy}"
        raise LookupError(unknown if is_hash(full) else trouble)
    hashes = [hold.hash for hold in found.holds]
    if full in hashes or not is_hash(full):
        return the_one(job.digits, hashes, "hold", found.flags)
    where = "of a plan with these flags and variables"
    if found.published:
        where = f"that the controller has published at {shown_moment(found.published.written_at)}"
    listed = typed("holds", found.flags)
    raise LookupError(f"{full} is no hold {where}, so nothing is approved: '{listed}' lists them, or {remedy}")


def _outcome(step: Step, wanted: Grant, before: Grant | None, now: datetime, namespace: str) -> Iterator[str]:
    """What approving meant, in sentences."""
    until = f", until {shown_moment(wanted.until)}" if wanted.until else ""
    if before is not None:
        match step:
            case Step.STANDS:
                yield f"Nothing to do: it is {told(before, now)}."
                return
            case Step.AGAIN:
                was = told(before, now)
                yield f"It was {was}. This is a new approval: the hold passes once more."
            case Step.LONGER:
                yield f"It was {told(before, now)}. It is longer now."
    where = f"ConfigMap {namespace}/{APPROVALS_CONFIG_MAP}"
    yield f"Approved {wanted.of} in {where}, as {wanted.approver}."
    yield (
        f"If a plan holds exactly these changes, the next pass lets them through, once{until}; if they are"
        " others by then, they are held again."
    )


def _await_use(job: _Job, approval: Grant, ends_at: datetime, sleep: Sleep) -> int:
    """Wait until the approval is used, or its hold is gone; the exit code: 0 for both, 1 when that did not happen
    before ``ends_at``, or it was revoked. Raises an ApiError."""
    since = approval.approved_at or ends_at
    while not job.stop.is_set():
        found = read_holds(job.reader, job.config)
        now = found.now or ends_at
        mine = next((each for each in found.approvals if each.of == approval.of), None)
        if mine is None:
            return fail(found.why_unread or "the approval is not there any more", code=1)
        if mine.used_at is not None:
            status = typed("status", job.config.cluster_flags)
            _say(f"Used at {shown_moment(mine.used_at)}: what it let through is in '{status}'.")
            return 0
        if mine.revoked_at is not None or mine.damage:
            return fail(f"the approval {mine.why_void(Here(now))}", code=1)
        published = found.published
        is_later = published is not None and published.last_pass.at > since
        is_whole = published is not None and published.last_pass.is_whole and not published.more_holds
        if is_later and is_whole and approval.of not in {hold.hash for hold in found.holds}:
            _say("The hold is gone, and the approval was not used.")
            return 0
        if now >= ends_at:
            return fail("the approval was not used within that time; it counts as long as it says", code=1)
        sleep(job.stop, _POLL_S)
    return INTERRUPTED if job.stop.is_interrupted else 1


def _revoke(job: _Job) -> int:
    """Raises LookupError when it was not approved, and an ApiError."""
    found = observe_approvals(job.reader, job.namespace, survives=Denied)
    if found.unread:
        raise LookupError(f"approvals cannot be read: {found.unread}")
    hold_hash = the_one(job.digits, [each.of for each in found.given], "approval", job.config.cluster_flags)
    mine, now = next(each for each in found.grants if each.of == hold_hash), job.now()
    given = next(each for each in found.given if each.of == hold_hash)
    if mine.used_at is not None and not mine.passes(Here(now)):
        return _fail_used(mine, now)
    if (void := given.why_void(Here(max(now, given.approved_at or now)))) is not None:
        _say(f"Nothing to do: the approval of {hold_hash} {void}.")
        return 0
    name, via = approvals.reviewed_name(job.writer), _caller()
    at = max(now, given.approved_at or now)  # one that is dated in the future counts later
    approvals.revoke(job.reader, job.writer, job.namespace, hold_hash, at, who=name or via, name=name)
    since, _ = read_approvals(job.reader, job.namespace)  # anew: it may have been used since
    used = next((each for each in since if each.of == hold_hash and each.used_at), None)
    if used is not None and mine.used_at is None:
        return _fail_used(used, now)
    _say(f"Revoked {hold_hash}, as {name or via}: it lets nothing pass.")
    return 0


def _fail_used(approval: Grant, now: datetime) -> int:
    why = approval.why_void(Here(now))
    return fail(f"the approval of {approval.of} {why}: what it let through cannot be taken back", code=1)


def _say(*sentences: str) -> None:
    """Say it on stdout. Names and reasons are of others."""
    sys.stdout.write("".join(f"{visible(sentence)}\n" for sentence in sentences))
    sys.stdout.flush()


def _span(lifetime: timedelta) -> str:
    """``1 h``, ``15 min``."""
    minutes = lifetime.total_seconds() / 60
    return f"{minutes / 60:g} h" if minutes >= 60 and minutes % 60 == 0 else f"{minutes:g} min"


def _caller() -> str:
    """The person who asks, in this machine's words. A container may know no user name."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = f"uid {os.getuid()}"
    return visible(f"{user}@{socket.gethostname()}")
