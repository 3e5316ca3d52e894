"""Carries out the allowed changes of a plan: side by side, but for those that share an object or wait for each other.

A change begins when all that it depends on or follows has ended, and so has what is before it in its lanes. A failure
stays with its change and what depends on it.
"""

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from graphlib import TopologicalSorter
from queue import SimpleQueue

from actuators.errors import ApiError, Busy, Conflict, Stopped, Throttled, Transient
from actuators.outcome import STOPPED, Applied, Failed, Outcome, Pending, Skipped
from desired.change import Change
from desired.kinds import Api
from desired.lanes import forerunners
from desired.snapshot import Snapshot

_log = logging.getLogger("hcloud-reconciler.apply")

Actuator = Callable[[Change, Snapshot], None]
"""Carries out one change of one kind, planned from that snapshot. Raises an ApiError when it could not."""

PARALLEL_LANES: Mapping[Api, int] = {Api.KUBERNETES: 16, Api.HETZNER: 24}
"""Changes at once to each of the two APIs: enough to hide the latency of a hundred joining Nodes, few enough for a
small API server. Each API has threads of its own, so that no Node waits while load balancers take as many as may be;
those of Hetzner mostly wait for actions, and more than a project's quota of load balancers would have nothing to do."""

BUSY_AGAIN_S = 10.0
"""When an object is worth another try that stayed busy through all of them: whatever runs on it takes longer than
usual, and the next round of the same pass would find it so (hetzner-api 5)."""


def apply(
    changes: Sequence[Change],
    snapshot: Snapshot,
    actuators: Mapping[str, Actuator],
    *,
    stop: threading.Event,
    done: Callable[[Change, Outcome], None] = lambda _change, _outcome: None,
) -> Mapping[str, Outcome]:
    """Key → outcome of each change. ``done`` is called as each one ends, from this thread.

    ``stop`` is looked at between changes: what was not begun by then is Skipped. Raises KeyError for a kind without an
    actuator, and ValueError for changes that wait for each other in a circle, before anything is written: the plan and
    the hands do not fit together.
    """
    by_key = {change.key: change for change in changes}
    for change in changes:
        actuators[change.kind]
    waiting = TopologicalSorter(forerunners(changes))
    waiting.prepare()
    outcomes: dict[str, Outcome] = {}
    ended: SimpleQueue[tuple[Change, Callable[[], Outcome]]] = SimpleQueue()

    def tell(change: Change, future: "Future[Outcome]") -> None:
        ended.put((change, future.result))

    with ExitStack() as pools:
        workers = {api: pools.enter_context(ThreadPoolExecutor(PARALLEL_LANES[api], f"lane-{api}")) for api in Api}
        while waiting.is_active():
            for change in (by_key[key] for key in waiting.get_ready()):
                why_not = STOPPED if stop.is_set() else _missing(change, outcomes)
                if why_not is not None:
                    ended.put((change, partial(Skipped, why_not)))
                    continue
                api = Api.HETZNER if change.row.writes_cloud else Api.KUBERNETES
                future = workers[api].submit(_attempt, change, snapshot, actuators[change.kind], stop)
                future.add_done_callback(partial(tell, change))
            change, outcome_of = ended.get()
            outcomes[change.key] = outcome_of()
            waiting.done(change.key)
            done(change, outcomes[change.key])
    return outcomes


def _missing(change: Change, outcomes: Mapping[str, Outcome]) -> str | None:
    """Why a change is not tried: the first that it depends on and that was not done. None when there is none."""
    undone = [key for key in change.depends_on if not isinstance(outcomes.get(key, Applied()), Applied)]
    return f"comes after {undone[0]}, which was not done" if undone else None


def _attempt(change: Change, snapshot: Snapshot, actuator: Actuator, stop: threading.Event) -> Outcome:
    if stop.is_set():
        return Skipped(STOPPED)
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
    except ApiError as error:
        return Failed(str(error))
    except Exception as error:  # noqa: BLE001 - a bug met in one change must not lose the outcomes of the others
        _log.debug("internal error in %s", change.key, exc_info=True)
        return Failed(f"internal error, {type(error).__name__}: {error}")
    return Applied()
