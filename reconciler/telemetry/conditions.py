"""Conditions of Services and Nodes that get a write of their own at the end of a pass: those that have changed.

Those of Services are written together with the status wherever it is written. An idle pass writes nothing. What a pass
has begun and not seen the end of changes no condition: it would be written twice.
"""

import logging
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TypeVar

from actuators.concurrency import THREADS, Concurrency
from actuators.http.errors import ApiError
from actuators.outcome import Failed
from desired.guards.anchor import is_own_project
from desired.guards.guard import GuardInput
from desired.guards.statuses import conditions_of
from desired.health.node_condition import sync_condition
from desired.health.service import health_condition
from desired.health.state import ObjectState, States
from desired.load_balancers.conditions import is_worth_a_write
from desired.model.service import Service, ServiceCondition
from desired.model.settings import Controller, Policy
from desired.model.snapshot import Node, SyncCondition
from desired.names import CONDITION_HEALTHY, CONDITION_IN_SYNC, CONDITION_NODE_IN_SYNC
from desired.nodes.matching import is_ignored
from desired.plan.change import Change, GuardDecision, Verdict
from reconciler.result import Line
from reconciler.telemetry.logs import pairs

_log = logging.getLogger("hcloud-reconciler.conditions")

Due = tuple[Service, tuple[ServiceCondition, ...]]
"""A Service, and all conditions of ours that it should have."""
_Due = TypeVar("_Due")
_SENDERS = 12
_WAITING = "Waiting"
"""The reason that the rules give to what is not done yet."""
_FAILED = "SyncFailed"
_LASTING = timedelta(seconds=60)
"""How long a Service's health has to be the same before it is written."""


class ConditionSink:
    """Writes conditions in parallel. One that is lost does no harm: the next pass finds that it is still due."""

    def __init__(
        self,
        write: Callable[[Service, tuple[ServiceCondition, ...]], None],
        concurrency: Concurrency = THREADS,
        *,
        tells_health: bool = False,
    ) -> None:
        """``tells_health`` is whether Services get the condition ``LoadBalancerHealthy``; those that have it lose it
        otherwise."""
        self._write = write
        self._concurrency = concurrency
        self._tells_health = tells_health
        self._seen: dict[str, tuple[str, str, datetime]] = {}
        """UID of a Service → status and reason that its health would get, and since when."""

    def due(self, facts: GuardInput, tried: Iterable[Line], states: States) -> Iterator[Due]:
        """The conditions to write after a pass, by Service: those of ``conditions_due``, and those of health once they
        have said the same in two passes, for a minute at least, so that a health that flaps is not written."""
        now, services = facts.snapshot.taken_at, facts.snapshot.services or ()
        wanting = filter(facts.snapshot.serving.wants, services)
        by_key = {each.key: each for each in states.services} if self._tells_health else {}
        self._seen = {service.uid: self._seen[service.uid] for service in services if service.uid in self._seen}
        healthy = {each.id: self._health(each, by_key.get(each.key), now) for each in wanting}
        for service, wanted in conditions_due(facts, tried):
            yield service, (*wanted, *filter(None, [healthy.pop(service.id, None)]))
        if _may_tell(facts):
            for service in services:
                if (condition := healthy.get(service.id)) is not None:
                    yield service, (condition,)

    def _health(self, service: Service, state: ObjectState | None, now: datetime) -> ServiceCondition | None:
        """The condition of health of the Service in this state; None where nothing is to be written."""
        there = next((each for each in service.conditions if each.type == CONDITION_HEALTHY), None)
        wanted = None if state is None else health_condition(state, service, now)
        if wanted is None:
            return None if there is None else ServiceCondition(CONDITION_HEALTHY, "")
        status, reason, since = self._seen.get(service.uid, ("", "", now))
        if (wanted.status, wanted.reason) != (status, reason):
            self._seen[service.uid] = wanted.status, wanted.reason, now
            return None
        is_told = there is not None and (there.status, there.reason) == (status, reason)
        return None if is_told or now - since < _LASTING else replace(wanted, since=since)

    def write(self, due: Collection[Due]) -> None:
        """Write all of them, and return when that has ended, well or not. Never raises an ApiError."""
        _send(due, self._try, self._concurrency)

    def _try(self, due: Due) -> None:
        service, conditions = due
        try:
            self._write(service, conditions)
        except ApiError as error:
            _log.debug("conditions not written %s", pairs(service=service.id, why=error))


NodeDue = tuple[Node, SyncCondition | None, datetime]
"""A Node, the condition ``NodeInSync`` that it should have, None for none, and the time of the write."""


class NodeConditionSink:
    """Writes the condition ``NodeInSync`` of Nodes in parallel. One that is lost does no harm, either."""

    def __init__(
        self,
        write: Callable[[Node, SyncCondition | None, datetime], None],
        concurrency: Concurrency = THREADS,
        *,
        tells_sync: bool = False,
    ) -> None:
        """``tells_sync`` is whether Nodes get the condition; those that have it lose it otherwise."""
        self._write = write
        self._concurrency = concurrency
        self._tells_sync = tells_sync

    def due(self, facts: GuardInput, tried: Iterable[Line]) -> Iterator[NodeDue]:
        """The conditions to write after a pass, by Node; of a Node that says the same for another reason as well. Empty
        where those of Services are, and while the controller of Nodes is off."""
        settings, now = facts.settings, facts.snapshot.taken_at
        if not _may_tell(facts) or Controller.NODE not in settings.controllers:
            return
        routes, errors = facts.desired.routes if settings.routed_range else None, dict(_refusals(tried))
        for node in facts.snapshot.nodes:
            there = node.condition(CONDITION_NODE_IN_SYNC)
            if not self._tells_sync:
                if there is not None and not is_ignored(node, settings):
                    yield node, None, now
                continue
            wanted, changes = facts.desired.nodes[node.name], facts.by_owner.get(node.key, ())
            condition = sync_condition(node, wanted, routes, changes, errors)
            said = None if there is None else (there.status, there.reason)
            if condition is not None and said != (condition.status, condition.reason):
                yield node, condition, now

    def write(self, due: Collection[NodeDue]) -> None:
        """Write all of them, and return when that has ended, well or not. Never raises an ApiError."""
        _send(due, self._try, self._concurrency)

    def _try(self, due: NodeDue) -> None:
        try:
            self._write(*due)
        except ApiError as error:
            _log.debug("condition not written %s", pairs(node=due[0].name, why=error))


def _send(due: Collection[_Due], write: Callable[[_Due], None], concurrency: Concurrency) -> None:
    if not due:
        return
    with concurrency.pool(min(len(due), _SENDERS), "conditions") as pool:
        for _ in pool.map(write, due):
            pass


def conditions_due(facts: GuardInput, tried: Iterable[Line]) -> Iterator[Due]:
    """The conditions to write, by Service, after a pass that ended with this judged plan.

    ``tried`` are the changes that it tried, with how each ended. Empty where nothing may be written, where only part of
    the plan was looked at, and where it is not certain that the token sees the cluster's own project.
    """
    snapshot = facts.snapshot
    if not _may_tell(facts):
        return
    failed = dict(_refusals(tried))
    for service in filter(snapshot.serving.wants, snapshot.services or ()):
        changes = facts.by_owner.get(service.key, ())
        left = [change for change in changes if change.decision.verdict is Verdict.ALLOWED]
        errors = [failed[change.key] for change in left if change.key in failed]
        if left and not errors:
            continue  # under way: the next pass knows more
        judged = tuple(_undone(change, errors) if change in left else change for change in changes)
        wanted = tuple(_named(condition, errors) for condition in conditions_of(service.key, judged, facts))
        if is_worth_a_write(service, wanted):
            yield service, wanted


def _may_tell(facts: GuardInput) -> bool:
    """Whether anything may be written, all was looked at, and the token is certain to see the cluster's project."""
    settings = facts.settings
    is_whole = settings.policy is not Policy.OBSERVE and not settings.only
    return is_whole and is_own_project(facts.anchor, facts.snapshot, settings)


def _refusals(tried: Iterable[Line]) -> Iterator[tuple[str, str]]:
    """Key and error of each change that an API refuses. What it may do in a moment is not worth a condition that comes
    and goes."""
    for line in tried:
        if isinstance(line.outcome, Failed) and line.outcome.retry_after_s is None:
            yield line.change.key, line.outcome.error


def _undone(change: Change, errors: Collection[str]) -> Change:
    """A change that was allowed and is not done, since it failed or comes after one that did."""
    return change.ruled(GuardDecision(Verdict.WAITING, why=next(iter(errors), "")))


def _named(condition: ServiceCondition, errors: Collection[str]) -> ServiceCondition:
    """The condition as it is, but that what failed is not only waited for."""
    if errors and condition.type == CONDITION_IN_SYNC and condition.reason == _WAITING:
        return replace(condition, reason=_FAILED)
    return condition
