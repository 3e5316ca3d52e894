"""How targets are switched to their other addresses, so that traffic moves only to what answers (D32).

One goes first, the canary; when the load balancer reports it healthy the others follow in batches that double, each
looked at before the next. What does not answer in time goes back, and the rest is held. How far this is stands in one
label of the load balancer, so that every run finds it again; where nothing is healthy, nothing is waited for. While
clocks disagree no time is over, and no batch is begun.

| the label says | targets by the new address | then |
|---|---|---|
| nothing | | one that is healthy goes first; all at once when none is, or there is no other target |
| a batch that was begun | fewer than it has | the rest of the batch follows |
| | all that were healthy are so again | the next batch, twice as large; at the end the label goes |
| | some are not, and there is time | nothing, for a while |
| | some are not, and the time is over | they go back, and the label says that it failed |
| that it failed | | what is left is held, for as long as ``RETRY_AFTER`` |
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from desired.change import Change
from desired.kinds import Verb
from desired.load_balancer import CloudBalancer, Health, Listener, ServerTarget
from desired.names import LABEL_SWITCH
from desired.section import Unmanaged
from desired.snapshot import Snapshot

RETRY_AFTER = timedelta(hours=6)
"""After this long a switch that failed is tried again, with one target first."""
SWITCH = "labels/switch"
"""The end of the key of the change that writes the label."""
_AHEAD = timedelta(minutes=5)
"""A label from further in the future was written by a clock that was put back since: it says nothing."""
_CHECK = (15, 10, 3)
"""Interval, timeout and retries where a listener does not say (Hetzner Cloud API, load balancers)."""
_TEXT = re.compile(r"(private|public)\.(\d{8}T\d{6}Z)\.(?:failed|(\d{1,5})\.(\d{1,5})\.(\d{1,5}))")
_TIME = "%Y%m%dT%H%M%SZ"


@dataclass(frozen=True, slots=True)
class Trial:
    """What the label says: ``private.20261122T101500Z.3.4.2``, or ``private.20261122T101500Z.failed``."""

    to_private: bool
    since: datetime
    """When the batch was begun, or had failed."""
    expected: int = 0
    """How many targets by the new address should be healthy once the batch is."""
    total: int = 0
    """How many there are by then."""
    batch: int = 0
    """How many of them are the batch; 0: it has failed."""

    @property
    def has_failed(self) -> bool:
        return not self.batch

    def __str__(self) -> str:
        rest = "failed" if self.has_failed else f"{self.expected}.{self.total}.{self.batch}"
        return f"{'private' if self.to_private else 'public'}.{self.since.astimezone(UTC):{_TIME}}.{rest}"


def trial_of(labels: Mapping[str, str]) -> Trial | None:
    """What the label says of a switch; None where there is none, or none that makes sense."""
    found = _TEXT.fullmatch(labels.get(LABEL_SWITCH, "")[:64])
    if found is None:
        return None
    way, at, *numbers = found.groups()
    try:
        since = datetime.strptime(at, _TIME).replace(tzinfo=UTC)
    except ValueError:
        return None
    expected, total, batch = (int(number or 0) for number in numbers)
    return Trial(way == "private", since, expected, total, batch)


def patience_s(listeners: Iterable[Listener]) -> int:
    """How long a target may take to be reported healthy: two rounds more than health checks are set to need."""
    return max((_patience(listener) for listener in listeners), default=_rounds(*_CHECK))


def _patience(listener: Listener) -> int:
    check = listener.health_check
    values = zip((check.interval_s, check.timeout_s, check.retries), _CHECK, strict=True)
    return _rounds(*(default if isinstance(value, Unmanaged) else value for value, default in values))


def _rounds(interval_s: int, timeout_s: int, retries: int) -> int:
    return (retries + 2) * interval_s + timeout_s


def look_again_s(listeners: Iterable[Listener]) -> int:
    """When another look is worth its while: after the shortest interval of health checks."""
    checks = (listener.health_check.interval_s for listener in listeners)
    return min((_CHECK[0] if isinstance(check, Unmanaged) else check for check in checks), default=_CHECK[0])


class Phase(StrEnum):
    """How far a switch is."""

    FREE = "free"
    """Nothing has to be waited for."""
    BATCH = "batch"
    """Some go now."""
    LOOKING = "looking"
    """Those that went are looked at."""
    FAILS = "fails"
    """Those that do not answer go back."""
    FAILED = "failed"
    """They did, and the rest is held."""


@dataclass(frozen=True, slots=True)
class Switch:
    """What may be done of a switch now."""

    phase: Phase
    label: str | None
    """What the label should say; None: it should not be there."""
    waiting: tuple[Change, ...] = ()
    """Those that do not go now, in the order of their keys."""
    batch: tuple[Change, ...] = ()
    """Those that do."""
    back: tuple[ServerTarget, ...] = ()
    """What is reached by its new address, does not answer, and gets back the one that it had."""
    answering: int = 0
    """How many answer by the new address."""
    due_in_s: int | None = None
    to_private: bool = True


def switch_of(present: CloudBalancer, changes: Collection[Change], snapshot: Snapshot, *, to_private: bool) -> Switch:
    """How far the switch of ``present`` to the addresses that are asked for is, of which ``changes`` are planned."""
    now = snapshot.taken_at
    flips = _flips(changes, present, to_private=to_private)
    sound = [change for change in flips if _is_healthy(change.before, present)]
    trial = _standing(trial_of(present.spec.labels), snapshot, to_private=to_private)
    there = [t for t in present.targets if isinstance(t, ServerTarget) and t.use_private_ip is to_private]
    silent = tuple(target for target in there if not _is_healthy(target, present))
    answering = len(there) - len(silent)
    listeners = tuple(present.spec.listeners.values())
    limit_s, pause_s = patience_s(listeners), look_again_s(listeners)

    def at(phase: Phase, label: str | None, batch: Sequence[Change] = (), due: int | None = None) -> Switch:
        going = {change.key for change in batch}
        left = () if phase is Phase.FREE else tuple(change for change in flips if change.key not in going)
        back = tuple(target for target in silent if _may_go_back(target, present, snapshot))
        back = back if phase in (Phase.FAILS, Phase.FAILED) else ()
        return Switch(phase, label, left, tuple(batch), back, answering, due, to_private)

    def begin(size: int, again: int | None = None) -> Switch:
        if snapshot.clocks.differ:  # nobody could tell later how long that was ago
            return at(Phase.LOOKING, str(trial) if trial else None, due=pause_s)
        batch = sound[:size]
        goes = Trial(to_private, now, answering + len(batch), len(there) + len(batch), again or len(batch))
        return at(Phase.BATCH, str(goes), batch, pause_s)

    if trial is None:
        return begin(1) if sound and len(present.targets) > 1 else at(Phase.FREE, None)
    if trial.has_failed:
        failed = at(Phase.FAILED, str(trial), due=int((trial.since + RETRY_AFTER - now).total_seconds()) + 1)
        return failed if failed.back or flips else at(Phase.FREE, None)
    age_s = 0.0 if snapshot.clocks.differ else max(0.0, (now - trial.since).total_seconds())
    missing = trial.total - len(there)
    if missing > 0 and sound:
        if age_s >= limit_s:  # a run has ended before it switched them: they get the time that they are to have
            return begin(missing, trial.batch)
        return at(Phase.BATCH, str(trial), sound[:missing], pause_s)
    if answering >= trial.expected or (there and not silent):
        return begin(2 * trial.batch) if sound else at(Phase.FREE, None)
    if age_s < limit_s:
        return at(Phase.LOOKING, str(trial), due=min(pause_s, int(limit_s - age_s) + 1))
    fails = at(Phase.FAILS, str(Trial(to_private, now)), due=int(RETRY_AFTER.total_seconds()))
    return fails if fails.back or flips else at(Phase.FREE, None)


def _flips(changes: Collection[Change], present: CloudBalancer, *, to_private: bool) -> tuple[Change, ...]:
    """The changes that reach a server by its other address for the first time, the canary first: one that is two
    targets has been there before."""
    flips = [
        change
        for change in changes
        if change.kind == "lb.target"
        and change.verb is Verb.MODIFY
        and isinstance(change.after, ServerTarget)
        and change.after.use_private_ip is to_private
        and change.after not in present.targets
    ]
    return tuple(sorted(flips, key=lambda change: turn_of(change, present)))


def turn_of(change: Change, present: CloudBalancer) -> tuple[int, str]:
    """When a switch has its turn: at once where the other address is in use already, then those that answer now, as
    only they show whether they do afterwards."""
    return 0 if change.after in present.targets else 1 if _is_healthy(change.before, present) else 2, change.key


def _is_healthy(target: object, present: CloudBalancer) -> bool:
    return isinstance(target, ServerTarget) and present.health.get(target) is Health.HEALTHY


def _standing(trial: Trial | None, snapshot: Snapshot, *, to_private: bool) -> Trial | None:
    """The trial, as far as it says something of this switch at this time. While clocks disagree nothing is too old."""
    if trial is None or trial.to_private is not to_private:
        return None
    age = snapshot.taken_at - trial.since
    is_over = age < -_AHEAD or (trial.has_failed and age > RETRY_AFTER)
    return None if is_over and not snapshot.clocks.differ else trial


def _may_go_back(target: ServerTarget, present: CloudBalancer, snapshot: Snapshot) -> bool:
    """Whether the server still has the address by which it was reached before."""
    server = snapshot.servers.items.get(target.server_id)
    if server is None:
        return False
    if target.use_private_ip:
        return server.ipv4 is not None and present.spec.public_interface is not False
    places = {place.network_id for place in present.attachments}
    return any(network in places for network, _ in server.private_ips)
