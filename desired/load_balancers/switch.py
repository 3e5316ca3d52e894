"""Switch of targets to their other addresses, in batches, so that traffic moves only to targets that answer.

One goes first, the canary, since a change of ``use_private_ip`` removes the target and adds it again; when the load
balancer reports it healthy the others follow in batches that double, each checked before the next. What does not answer
in time goes back, and the rest is held. How far this is stands in one label of the load balancer, so that every run
finds it again; where nothing is healthy, nothing is waited for. While clocks disagree no timeout ends, and no batch
begins.

Health is counted by checks, one for each listener: a port that never answered is not waited for, and one that did is,
whatever the others say.

| the label says | targets by the new address | then |
|---|---|---|
| nothing | | one that is healthy goes first; all at once when none is, or there is no other target |
| | | a look, for a while, when none is healthy because checks are still to come |
| a batch that was begun | fewer than it has | the rest of the batch follows |
| | all checks that passed do so again | the next batch, twice as large; at the end the label goes |
| | some do not, and their Nodes are down | the same: silence of their own tells nothing of the address |
| | some do not, and there is time | nothing, for a while |
| | nobody answers by any address, and others did | nothing: that is no matter of addresses |
| | some do not, and the time is over | they go back, and the label says that it failed |
| that it failed | | what is left is held, for as long as ``RETRY_AFTER`` |
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import cached_property

from desired.model.load_balancer import CloudBalancer, Listener, ServerTarget, Target
from desired.model.snapshot import Readiness, ServerStatus, Snapshot
from desired.names import LABEL_SWITCH
from desired.plan.change import Change
from desired.plan.kinds import ChangeKind, Verb
from desired.section import Unmanaged
from desired.syntax.provider_id import CloudID, parse_provider_id

RETRY_AFTER = timedelta(hours=6)
"""After this long a switch that failed is tried again, with one target first."""
SWITCH = ("labels", "switch")
"""The end of the key of the change that writes the label."""
_AHEAD = timedelta(minutes=5)
"""A label from further in the future was written by a clock that was put back since: it says nothing."""
_CHECK = (15, 10, 3)
"""Interval, timeout and retries where a listener does not say (Hetzner Cloud API, load balancers)."""
_TEXT = re.compile(r"(private|public)\.(\d{8}T\d{6}Z)\.(?:failed|(\d{1,5})\.(\d{1,5})\.(\d{1,5})\.(\d{1,5}))")
_TIME = "%Y%m%dT%H%M%SZ"


@dataclass(frozen=True, slots=True)
class Trial:
    """The content of the label ``switch``: ``private.20261122T101500Z.3.4.2.9``, or
    ``private.20261122T101500Z.failed``."""

    to_private: bool
    since: datetime
    """When the batch was begun, or had failed."""
    expected: int = 0
    """How many checks targets by the new address should pass once the batch does."""
    total: int = 0
    """How many such targets there are by then."""
    batch: int = 0
    """How many of them are the batch; 0: it has failed."""
    left: int = 0
    """How many checks targets by the old address passed when it was begun, the batch left out."""

    @property
    def has_failed(self) -> bool:
        return not self.batch

    def __str__(self) -> str:
        rest = "failed" if self.has_failed else f"{self.expected}.{self.total}.{self.batch}.{self.left}"
        return f"{'private' if self.to_private else 'public'}.{self.since.astimezone(UTC):{_TIME}}.{rest}"


def trial_of(labels: Mapping[str, str]) -> Trial | None:
    """The content of the label ``switch``; None where there is none, or a malformed one."""
    found = _TEXT.fullmatch(labels.get(LABEL_SWITCH, "")[:64])
    if found is None:
        return None
    way, at, *numbers = found.groups()
    try:
        since = datetime.strptime(at, _TIME).replace(tzinfo=UTC)
    except ValueError:
        return None
    expected, total, batch, left = (int(number or 0) for number in numbers)
    return Trial(way == "private", since, expected, total, batch, left)


def patience_s(listeners: Iterable[Listener]) -> int:
    """Seconds that a target may take to be reported healthy: two rounds more than health checks are set to need."""
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
    """The phase of a switch."""

    FREE = "free"
    """Nothing has to be waited for."""
    BATCH = "batch"
    """Some are switched now."""
    LOOKING = "looking"
    """Those that were switched are checked."""
    FAILS = "fails"
    """Those that do not answer are switched back."""
    FAILED = "failed"
    """They were switched back, and the rest is held."""


@dataclass(frozen=True, slots=True)
class Switch:
    """The targets that may be switched now."""

    phase: Phase
    label: str | None
    """What the label should say; None: it should not be there."""
    waiting: tuple[Change, ...] = ()
    """Those that are not switched now, in the order of their keys."""
    batch: tuple[Change, ...] = ()
    """Those that are."""
    back: tuple[ServerTarget, ...] = ()
    """What is reached by its new address, does not answer, and gets back the one that it had."""
    answering: int = 0
    """Number of targets that answer by the new address."""
    due_in_s: int | None = None
    to_private: bool = True
    is_unchecked: bool = False
    """Whether nothing is known yet of all that is left, and nothing has been switched."""


def switch_of(present: CloudBalancer, changes: Collection[Change], snapshot: Snapshot, *, to_private: bool) -> Switch:
    """The state of the switch of ``present`` to the requested addresses, of which ``changes`` are planned."""
    look = _Look(present, snapshot, _flips(changes, present, to_private=to_private), to_private)
    trial = _standing(trial_of(present.spec.labels), snapshot, to_private=to_private)
    if trial is None:
        return _beginning(look)
    if trial.has_failed:
        return look.failed(trial)
    age_s = 0.0 if snapshot.clocks.differ else max(0.0, (look.now - trial.since).total_seconds())
    is_over = age_s >= look.limit_s
    missing = trial.total - len(look.there)
    if missing > 0 and look.sound:  # a run that ended before it switched them: they get the time that they are to have
        return look.begin(missing, trial) if is_over else look.at(Phase.BATCH, str(trial), look.sound[:missing])
    if look.passed >= trial.expected or (look.there and not look.blamed):
        if look.sound:
            return look.begin(2 * trial.batch if look.answering else 1, trial, again=False)
        if is_over or not look.is_unchecked:
            return look.at(Phase.FREE, None)
    if not is_over:
        return look.at(Phase.LOOKING, str(trial), due_in_s=min(look.pause_s, int(look.limit_s - age_s) + 1))
    if trial.left and not look.alive:
        return look.at(Phase.LOOKING, str(trial))
    return look.failed(Trial(to_private, look.now), Phase.FAILS)


def _beginning(look: "_Look") -> Switch:
    """The start of a switch: one target goes first, if there is something to compare it with."""
    is_alone = len(look.present.targets) == 1
    if look.sound and not is_alone:
        return look.begin(1)
    if not look.is_unchecked or is_alone:
        return look.at(Phase.FREE, None)
    is_timed = not look.snapshot.clocks.differ
    return look.at(
        Phase.LOOKING, str(Trial(look.to_private, look.now, look.passed, len(look.there), 1)) if is_timed else None
    )


class _Look:
    """The health of the targets that are switched, and of those that are left."""

    def __init__(self, present: CloudBalancer, snapshot: Snapshot, flips: tuple[Change, ...], to_private: bool) -> None:
        self.present, self.snapshot, self.flips, self.to_private = present, snapshot, flips, to_private
        self.now = snapshot.taken_at
        listeners = tuple(present.spec.listeners.values())
        self.limit_s, self.pause_s = patience_s(listeners), look_again_s(listeners)
        self.sound = [change for change in flips if _passed(change.before, present)]
        """Those that are left and answer."""
        left = [change.before for change in flips if isinstance(change.before, ServerTarget)]
        self.is_unchecked = not self.sound and any(map(present.is_unchecked, left))
        """Whether nothing is known yet of what is left."""

    # Most load balancers have nothing to switch, and nobody asks about each of their targets.

    @cached_property
    def there(self) -> Sequence[ServerTarget]:
        """Those that are reached by the new address."""
        ours = (target for target in self.present.targets if isinstance(target, ServerTarget))
        return [target for target in ours if target.use_private_ip is self.to_private]

    @cached_property
    def alive(self) -> frozenset[int]:
        """The ports at which anybody answers."""
        return frozenset().union(*(_ports(target, self.present) for target in self.present.targets))

    @cached_property
    def silent(self) -> Sequence[ServerTarget]:
        """Those that are switched and do not answer at a port at which anybody does, or at none."""
        return [t for t in self.there if not self.alive or not self.alive <= _ports(t, self.present)]

    @cached_property
    def blamed(self) -> Sequence[ServerTarget]:
        """Those of them that have no reason of their own to be silent."""
        return [target for target in self.silent if not _is_down(target, self.snapshot)]

    @property
    def answering(self) -> int:
        """Number of those that are switched and answer."""
        return len(self.there) - len(self.silent)

    @cached_property
    def passed(self) -> int:
        """Number of health checks that they pass."""
        return sum(map(self.present.passed, self.there))

    def at(self, phase: Phase, label: str | None, batch: Sequence[Change] = (), due_in_s: int | None = None) -> Switch:
        """The switch in this phase; another look is worth its while after a health check, unless that is said."""
        if phase is Phase.FREE:
            return Switch(phase, label, batch=tuple(batch), due_in_s=due_in_s, to_private=self.to_private)
        going = {change.key for change in batch}
        left = tuple(change for change in self.flips if change.key not in going)
        back = (t for t in self.silent if _may_go_back(t, self.present, self.snapshot))
        return Switch(
            phase,
            label,
            left,
            tuple(batch),
            tuple(back) if phase in (Phase.FAILS, Phase.FAILED) else (),
            self.answering,
            due_in_s or self.pause_s,
            self.to_private,
            is_unchecked=self.is_unchecked and not self.there,
        )

    def begin(self, size: int, trial: Trial | None = None, *, again: bool = True) -> Switch:
        """Switch so many more, as the batch of ``trial`` ``again`` or as the next one."""
        if self.snapshot.clocks.differ:  # nobody could tell later how long that was ago
            return self.at(Phase.LOOKING, str(trial) if trial else None)
        batch = self.sound[:size]
        expected = self.passed + sum(_passed(change.before, self.present) for change in batch)
        number = trial.batch if trial and again else len(batch)
        left = sum(_passed(change.before, self.present) for change in self.sound[size:])
        goes = Trial(self.to_private, self.now, expected, len(self.there) + len(batch), number, left)
        return self.at(Phase.BATCH, str(goes), batch)

    def failed(self, trial: Trial, phase: Phase = Phase.FAILED) -> Switch:
        """Switch back what does not answer, and hold the rest; nothing, where there is neither."""
        due_in_s = int((trial.since + RETRY_AFTER - self.now).total_seconds()) + (phase is Phase.FAILED)
        found = self.at(phase, str(trial), due_in_s=due_in_s)
        return found if found.back or self.flips else self.at(Phase.FREE, None)


def _flips(changes: Collection[Change], present: CloudBalancer, *, to_private: bool) -> tuple[Change, ...]:
    """The changes that reach a server by its other address for the first time, the canary first: one that is two
    targets has been there before."""
    flips = [
        change
        for change in changes
        if change.kind == ChangeKind.LB_TARGET
        and change.verb is Verb.MODIFY
        and isinstance(change.after, ServerTarget)
        and change.after.use_private_ip is to_private
        and change.after not in present.targets
    ]
    return tuple(sorted(flips, key=lambda change: turn_of(change, present)))


def turn_of(change: Change, present: CloudBalancer) -> tuple[int, str]:
    """When a switch has its turn: at once where the other address is in use already, then those that answer now, as
    only they show whether they do afterwards. Of these whoever alone answers at some port is the last."""
    if change.after in present.targets:
        return 0, change.key
    if not _passed(change.before, present):
        return 3, change.key
    others = {port for target in present.targets if target != change.before for port in _ports(target, present)}
    return 1 if _ports(change.before, present) <= others else 2, change.key


def _ports(target: object, present: CloudBalancer) -> frozenset[int]:
    """The ports at which the target answers."""
    return present.answering(target) if isinstance(target, Target) else frozenset()


def _passed(target: object, present: CloudBalancer) -> int:
    return present.passed(target) if isinstance(target, ServerTarget) else 0


def _is_down(target: ServerTarget, snapshot: Snapshot) -> bool:
    """Whether the target is silent for a reason of its own: its server is not running, or its Node is not Ready."""
    server = snapshot.servers.items.get(target.server_id)
    if server is not None and server.status is not ServerStatus.RUNNING:
        return True
    its_id = CloudID(target.server_id)
    nodes = [node for node in snapshot.nodes if parse_provider_id(node.provider_id or "") == its_id]
    return bool(nodes) and all(node.ready is not Readiness.TRUE for node in nodes)


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
