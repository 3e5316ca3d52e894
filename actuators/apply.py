"""Carries out the allowed changes of a plan: lanes one after another inside, side by side among each other.

A lane is an object; changes that share one never overlap. A failure stays with its change and what depends on it.
"""

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed

from actuators.errors import ApiError, Conflict, Throttled, Transient
from actuators.outcome import STOPPED, Applied, Failed, Outcome, Pending, Skipped
from desired.change import Change
from desired.snapshot import Snapshot

_log = logging.getLogger("hcloud-reconciler.apply")

Actuator = Callable[[Change, Snapshot], None]
"""Carries out one change of one kind, planned from that snapshot. Raises an ApiError when it could not."""

PARALLEL_LANES = 16
"""Lanes at once: enough to hide the latency of a hundred joining Nodes, few enough for a small API server."""


def apply(
    changes: Sequence[Change],
    snapshot: Snapshot,
    actuators: Mapping[str, Actuator],
    *,
    stop: threading.Event,
    done: Callable[[Change, Outcome], None] = lambda _change, _outcome: None,
) -> Mapping[str, Outcome]:
    """Key → outcome of each change. ``done`` is called after each one, from this thread.

    ``stop`` is looked at between changes: what was not begun by then is Skipped. Raises KeyError for a kind without an
    actuator before anything is written: the plan and the hands do not fit together.
    """
    for change in changes:
        actuators[change.kind]
    outcomes: dict[str, Outcome] = {}
    lanes = _lanes(changes)
    with ThreadPoolExecutor(min(PARALLEL_LANES, len(lanes)) or 1, thread_name_prefix="lane") as pool:
        running = [pool.submit(_run_lane, lane, snapshot, actuators, stop) for lane in lanes]
        for lane in as_completed(running):
            for change, outcome in lane.result():
                outcomes[change.key] = outcome
                done(change, outcome)
    return outcomes


def _run_lane(
    lane: Sequence[Change], snapshot: Snapshot, actuators: Mapping[str, Actuator], stop: threading.Event
) -> list[tuple[Change, Outcome]]:
    outcomes: dict[str, Outcome] = {}
    for change in lane:
        undone = [key for key in change.depends_on if not isinstance(outcomes.get(key, Applied()), Applied)]
        if stop.is_set():
            outcomes[change.key] = Skipped(STOPPED)
        elif undone:
            outcomes[change.key] = Skipped(f"comes after {undone[0]}, which was not done")
        else:
            outcomes[change.key] = _attempt(change, snapshot, actuators[change.kind])
    return [(change, outcomes[change.key]) for change in lane]


def _attempt(change: Change, snapshot: Snapshot, actuator: Actuator) -> Outcome:
    try:
        actuator(change, snapshot)
    except Conflict as error:
        return Pending(str(error))
    except Throttled as error:
        return Pending(str(error), error.retry_after_s)
    except Transient as error:
        return Failed(str(error), retry_after_s=1.0)
    except ApiError as error:
        return Failed(str(error))
    except Exception as error:  # noqa: BLE001 - a bug met in one lane must not lose the outcomes of the others
        _log.debug("internal error in %s", change.key, exc_info=True)
        return Failed(f"internal error, {type(error).__name__}: {error}")
    return Applied()


def _lanes(changes: Sequence[Change]) -> list[list[Change]]:
    """The changes grouped by the object that they occupy, each group in the order of the plan.

    Every kind that can be planned occupies one object alone: its owner.
    """
    lanes: dict[str, list[Change]] = {}
    for change in changes:
        lanes.setdefault(change.owner, []).append(change)
    return list(lanes.values())
