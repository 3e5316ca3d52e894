"""What a running controller costs over simulated hours, whatever fails: never three quarters of the allowance."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import pytest
import requests

from actuators.outcome import Failed
from desired.plan.change import GuardName
from hcloud_sandbox.hetzner import HetznerOptions
from reconciler.result import Result
from tests.balancers import LOCATED
from tests.support.lines import Trouble
from tests.support.objects import NETWORK, server, settled_node
from tests.support.passes import load_balancer_service
from tests.support.sampling import sample
from tests.support.simulated_loop import SimulatedLoop

ALLOWANCE = 360
"""An hour. A small one is used up with fewer passes; what is asserted are shares of it."""
SERVICES = 10


def services(number: int) -> list[dict[str, Any]]:
    found = [load_balancer_service(f"web-{i:02}") for i in range(number)]
    return [{**service, "metadata": {**service["metadata"], "uid": f"uid-{i}"}} for i, service in enumerate(found)]


def a_loop(number: int = SERVICES, nodes: int = 2, **options: Any) -> SimulatedLoop:
    loop_options = {key: options.pop(key) for key in ("calls_every_s", "is_budgeted") if key in options}
    known = {"action_s": 0.0, "rate_limit": ALLOWANCE, "load_balancer_limit": 1000} | options
    loop = SimulatedLoop(
        [settled_node(f"web-{i}", i) for i in range(1, nodes + 1)],
        services(number),
        {"servers": [server(i, f"web-{i}") for i in range(1, nodes + 1)], "networks": [NETWORK]},
        LOCATED,
        HetznerOptions(**known),
        **loop_options,
    )
    loop.budget.allow(known["rate_limit"])  # as the first answer would have it
    return loop


def answers(status: int, code: str, *methods: str) -> Trouble:
    """Each call with one of these methods is refused so; all are, when none is given."""
    body = {"error": {"code": code, "message": "as the test says", "details": None}}
    return lambda method, _path: (status, body) if not methods or method in methods else None


def hangs(_method: str, _path: str) -> Exception:
    return requests.exceptions.ReadTimeout("timed out")


def every_other(trouble: Trouble) -> Trouble:
    asked = iter(range(10**9))
    return lambda method, path: trouble(method, path) if next(asked) % 2 else None


WRITES = ("POST", "PUT", "DELETE")


_TROUBLES: Mapping[str, Trouble] = {
    "every write is forbidden": answers(403, "forbidden", *WRITES),
    "the token was revoked": answers(401, "unauthorized"),
    "unavailable": answers(503, "unavailable"),
    "writes are unavailable": answers(503, "unavailable", *WRITES),
    "every write is invalid": answers(422, "invalid_input", *WRITES),
    "everything is busy": answers(423, "locked", *WRITES),
    "others use up the allowance": answers(429, "rate_limit_exceeded"),
    "no answer": hangs,
    "every other call gets no answer": every_other(hangs),
    "something else answers": answers(200, "nonsense"),
}
_CALLED_FOR: Mapping[str, float | None] = {"quiet": None, "flapping watch": 0.7}
_NAMED = (
    ("every write is forbidden", "quiet"),
    ("writes are unavailable", "flapping watch"),
    ("others use up the allowance", "flapping watch"),
    ("every other call gets no answer", "quiet"),
)
_EVERY_DAY = [pytest.param(_TROUBLES[name], _CALLED_FOR[watch], id=f"{name}, {watch}") for name, watch in _NAMED]
"""One of each way to cost many requests, in each run; one more is drawn, and scripts/soak has all."""


@pytest.mark.parametrize(
    ("trouble", "calls_every_s"),
    [
        *_EVERY_DAY,
        *sample(
            [
                pytest.param(trouble, every_s, id=f"{name}, {watch}")
                for watch, every_s in _CALLED_FOR.items()
                for name, trouble in _TROUBLES.items()
                if (name, watch) not in _NAMED
            ],
            "two hours of trouble",
        ),
    ],
)
def test_two_hours_of_trouble(trouble: Trouble, calls_every_s: float | None) -> None:
    """No hour has three quarters of the allowance, and the controller goes on looking to the end."""
    loop = a_loop(calls_every_s=calls_every_s)
    loop.line.trouble = trouble

    loop.pass_hours(1.2)

    assert loop.busiest_hour() < ALLOWANCE * 3 / 4
    assert loop.reports[-1][0] > loop.clock.timestamp() - 600


def test_a_watch_that_flaps_for_hours() -> None:
    """With nothing to do at all: the passes become fewer, not less whole."""
    loop = a_loop(0, calls_every_s=0.7)

    loop.pass_hours(1.2)

    assert loop.busiest_hour() < ALLOWANCE * 3 / 4
    assert {report.result for _, report in loop.reports} == {Result.NO_CHANGES}


def test_an_exhausted_quota() -> None:
    """Of ten Services two get a load balancer. Then one is tried a minute, each in its turn, and the others wait."""
    loop = a_loop(load_balancer_limit=2, rate_limit=3600)

    loop.pass_hours(0.3)

    tried = loop.sent("POST", "/load_balancers")
    assert len(tried) <= SERVICES + 18 / 0.9 + 1
    assert min(after - before for before, after in pairwise(tried[SERVICES:])) >= 53.0
    refused = [
        line.change.key
        for _, report in loop.reports
        for line in report.lines
        if isinstance(line.outcome, Failed) and line.outcome.bars
    ]
    assert len(set(refused)) == SERVICES - 2
    assert len(loop.calls) <= 25 * 4 + len(tried)


def test_what_waits_for_a_quota_says_so() -> None:
    """Guard ``quota``, with the limit, the remedy, and when to look again."""
    loop = a_loop(8, load_balancer_limit=5, rate_limit=3600)

    loop.pass_hours(0.05)

    report = loop.reports[-1][1]
    waiting = [
        line.change.decision for line in report.lines if line.change.kind == "lb.create" and line.outcome is None
    ]
    assert {decision.rule for decision in waiting} == {GuardName.QUOTA}
    assert all("load_balancer_limit" in decision.why and "reconcile orphans" in decision.why for decision in waiting)
    assert all(decision.due_in_s is not None and 0 < decision.due_in_s <= 60 for decision in waiting)


def test_a_quota_that_is_raised() -> None:
    """The first success frees the kind: all others follow at once."""
    loop = a_loop(10, load_balancer_limit=2, rate_limit=3600)
    loop.pass_hours(0.1)
    raised_at = loop.clock.timestamp()
    object.__setattr__(loop.options, "load_balancer_limit", 100)

    loop.pass_hours(0.1)

    assert loop.reports[-1][1].result is Result.NO_CHANGES
    assert max(loop.sent("POST", "/load_balancers")) <= raised_at + 70


def test_a_large_beginning_is_not_slowed() -> None:
    """Thirty Nodes, and twenty Services: as many calls as without a budget, and as soon."""

    def begin(*, is_budgeted: bool) -> tuple[int, float]:
        loop = a_loop(20, 30, is_budgeted=is_budgeted, rate_limit=3600)
        loop.pass_hours(0.01)
        return len(loop.calls), max(loop.sent("POST", "/load_balancers"))

    assert begin(is_budgeted=True) == begin(is_budgeted=False)
