"""Application of the allowed changes of a plan: in parallel, unless they share an object or depend on each other.

A change begins when everything that it depends on or follows has ended, and so has what is before it in its locks. A
failure stays with its change and what depends on it.
"""

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from graphlib import TopologicalSorter
from queue import SimpleQueue

from actuators.http.errors import ApiError, Busy, Conflict, Denied, Exhausted, Stopped, Throttled, Transient
from actuators.outcome import PREEMPTED, STOPPED, Applied, Failed, Outcome, Pending, Skipped
from desired.guards.history import narrow_scope_of, scope_of
from desired.model.snapshot import Snapshot
from desired.plan.change import Change
from desired.plan.kinds import KINDS, Api
from desired.plan.ordering import not_preemptible, predecessors

_log = logging.getLogger("hcloud-reconciler.apply")

Actuator = Callable[[Change, Snapshot], None]
"""Carries out one change of one kind, planned from that snapshot. Raises an ApiError when it could not."""

PARALLEL_CHANGES: Mapping[Api, int] = {Api.KUBERNETES: 16, Api.HETZNER: 24}
"""Maximum number of changes at the same time to each API: enough to hide the latency of a hundred joining Nodes, few
enough for a small API server. Each API has its own threads, so that no Node waits for load balancers. Changes at
Hetzner mostly wait for actions, and a project's quota of load balancers keeps no more threads busy."""

BUSY_AGAIN_S = 10.0
"""When to try an object again that stayed busy through all attempts: whatever runs on it takes longer than usual (about
10 s for an attachment to a network), and the next round of the same pass would find it busy still."""


_HIGHER_LIMIT = "ask Hetzner for a higher limit"


def apply(
    changes: Sequence[Change],
    snapshot: Snapshot,
    actuators: Mapping[str, Actuator],
    *,
    stop: threading.Event,
    done: Callable[[Change, Outcome], None] = lambda _change, _outcome: None,
    yields: Callable[[Change, bool], bool] = lambda _change, _alone: False,
    barred: Mapping[str, str] | None = None,
) -> Mapping[str, Outcome]:
    """Carry out the changes and return the outcome of each by its key. ``done`` is called from this thread as each one
    ends.

    ``stop`` is checked between changes: what has not begun by then is Skipped. ``yields`` is asked before each
    preemptible change, except for the first, whether it gives way; it is told whether every change with priority has
    ended. ``barred`` has the scopes that Hetzner has refused before, and with what: of these, and of those that it
    refuses meanwhile, nothing more is begun.

    Raises KeyError for a kind without an actuator, and ValueError for changes that wait for each other in a circle,
    before anything is written: the plan and the actuators do not fit together.
    """
    by_key: dict[str, Change] = {change.key: change for change in changes}
    for change in changes:
        actuators[change.kind]
    waiting = TopologicalSorter(predecessors(changes))
    waiting.prepare()
    pressing = set(not_preemptible(changes))
    has_begun = False  # a preemptible change: each call gets a step on with them, however often it is woken
    outcomes: dict[str, Outcome] = {}
    refused = dict(barred or {})  # written by several threads, a key at a time
    ended: SimpleQueue[tuple[Change, Future[Outcome]]] = SimpleQueue()

    def end(change: Change, future: "Future[Outcome]") -> None:
        ended.put((change, future))

    with ExitStack() as pools:
        workers = {api: pools.enter_context(ThreadPoolExecutor(PARALLEL_CHANGES[api], f"apply-{api}")) for api in Api}
        while waiting.is_active():
            for change in (by_key[key] for key in waiting.get_ready()):
                ending = Skipped(STOPPED) if stop.is_set() else _missing(change, outcomes)
                if ending is None and change.row.is_preemptible:
                    ending = PREEMPTED if has_begun and yields(change, not pressing) else None
                    has_begun = True
                if ending is not None:
                    end(change, _ended_with(ending))
                    continue
                api = Api.HETZNER if change.row.writes_cloud else Api.KUBERNETES
                future = workers[api].submit(_attempt, change, snapshot, actuators[change.kind], stop, refused)
                future.add_done_callback(partial(end, change))
            change, future = ended.get()
            outcomes[change.key] = future.result()
            pressing.discard(change.key)
            waiting.done(change.key)
            done(change, outcomes[change.key])
    return outcomes


def _ended_with(outcome: Outcome) -> "Future[Outcome]":
    future: Future[Outcome] = Future()
    future.set_result(outcome)
    return future


def _missing(change: Change, outcomes: Mapping[str, Outcome]) -> Outcome | None:
    """The outcome of a change that is not tried because one that it depends on was not done. None when all were."""
    undone = [key for key in change.depends_on if not isinstance(outcomes.get(key, Applied()), Applied)]
    return Skipped(f"comes after {undone[0]}, which was not done") if undone else None


def _attempt(
    change: Change, snapshot: Snapshot, actuator: Actuator, stop: threading.Event, refused: dict[str, str]
) -> Outcome:
    if stop.is_set():
        return Skipped(STOPPED)
    error = next((refused[scope] for scope in (scope_of(change), narrow_scope_of(change)) if scope in refused), None)
    if error is not None:
        return Skipped(f"not sent, as Hetzner has just refused another change of this kind: {error}", is_final=True)
    outcome = _tried(change, snapshot, actuator)
    if isinstance(outcome, Failed) and outcome.bars:
        refused[outcome.bars] = outcome.error
    return outcome


def _tried(change: Change, snapshot: Snapshot, actuator: Actuator) -> Outcome:
    try:
        actuator(change, snapshot)
    except Busy as error:
        return Pending(str(error), BUSY_AGAIN_S)
    except (Conflict, Stopped) as error:
        return Pending(str(error))
    except Throttled as error:
        return Pending(str(error), error.retry_after_s)
    except Transient as error:
        return Failed(str(error), retry_after_s=1.0)
    except Exhausted as error:
        remedy = "" if _HIGHER_LIMIT in str(error) else f"; {_HIGHER_LIMIT}, or delete what is not needed"
        scope = narrow_scope_of(change) if error.code == "resource_limit_exceeded" else scope_of(change)
        return Failed(f"{error}{remedy}", bars=scope)
    except Denied as error:
        return Failed(str(error), bars=scope_of(change) if change.row.writes_cloud else "")
    except ApiError as error:
        return Failed(str(error))
    except Exception as error:  # noqa: BLE001 - a bug met in one change must not lose the outcomes of the others
        _log.debug("internal error in %s", change.key, exc_info=True)
        return Failed(f"internal error, {type(error).__name__}: {error}")
    return Applied()


def within_budget(actuators: Mapping[str, Actuator], begin_change: Callable[[], None]) -> Mapping[str, Actuator]:
    """Wrap the actuators so that each asks ``begin_change`` before it begins a change at Hetzner. It raises OverBudget
    when no calls are left."""
    return {
        kind: partial(_budgeted, begin_change, actuator) if KINDS[kind].writes_cloud else actuator
        for kind, actuator in actuators.items()
    }


def _budgeted(begin_change: Callable[[], None], actuator: Actuator, change: Change, snapshot: Snapshot) -> None:
    begin_change()
    actuator(change, snapshot)
