"""Which changes a round can carry out, and what others wait for."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from desired.model.load_balancer import KNOWN_AFTER_APPLY, HttpOptions, LoadBalancer, Owner
from desired.model.service import Ingress
from desired.plan.change import Change, GuardDecision, GuardName, Plan, Verdict
from desired.plan.ordering import not_ready, ready_now
from tests.balancers import an_http_listener
from tests.builders import a_change
from tests.support.keys import key_of
from tests.support.rows import rows

SERVICE, BALANCER = "service/default/web", "load_balancer/default/web"
UNKNOWN = "takes a value that is known only after another change"
OTHER = key_of("service/default/api")
UNCLAIMED = f"takes the version that {SERVICE} has only after {SERVICE}/finalizer"
UNMADE = f"takes what is known of {BALANCER} only once that is there"


def of_service(key: str, kind: str, **fields: Any) -> Change:
    return a_change(key, kind, owner=SERVICE, **fields)


CLAIM = of_service(f"{SERVICE}/finalizer", "service.claim")
CREATE = of_service(
    BALANCER, "lb.create", after=LoadBalancer("web", labels={}, type="lb11"), depends_on=(f"{SERVICE}/finalizer",)
)
ADOPT = of_service(BALANCER, "lb.adopt", before=Owner(None, None), after=Owner(None, "uid"))
TARGET = of_service(f"{BALANCER}/target/server:1", "lb.target")
STATUS = of_service(f"{SERVICE}/status", "service.status", before=(), after=(Ingress("203.0.113.200"),))
STATUS_TO_COME = replace(STATUS, after=KNOWN_AFTER_APPLY, depends_on=(BALANCER,))
TLS = an_http_listener(443, http=HttpOptions(certificates=KNOWN_AFTER_APPLY))
LISTENER = of_service(f"{BALANCER}/listener/443", "lb.listener", after=TLS)
DELETE = of_service(BALANCER, "lb.delete")
RELEASE = of_service(f"{SERVICE}/release", "service.release", depends_on=(BALANCER,))
NODE = a_change()
REMOVAL = replace(TARGET, key=key_of(f"{BALANCER}/target/server:2"), depends_on=(TARGET.key,))


@rows("changes waiting", {
    "nothing": ([], {}),
    "all is there already": ([NODE, TARGET, STATUS], {}),
    "claimed and created at once": ([CLAIM, CREATE], {}),
    "a part of what is being created": ([CLAIM, CREATE, TARGET], {TARGET.key: UNMADE}),
    "addresses that nobody knows yet": ([CREATE, STATUS_TO_COME], {STATUS.key: UNKNOWN}),
    "a hostname, published once it leads somewhere": ([CREATE, replace(STATUS, depends_on=(BALANCER,))],
        {STATUS.key: UNMADE}),
    "a status that needs no load balancer": ([CREATE, STATUS], {}),
    "a status of a Service that is being claimed": ([CLAIM, STATUS], {STATUS.key: UNCLAIMED}),
    "a status of another Service": ([CLAIM, replace(STATUS, owner=OTHER)], {}),
    "a certificate that nobody knows yet": ([LISTENER], {LISTENER.key: UNKNOWN}),
    "a part of what is being adopted": ([ADOPT, replace(TARGET, depends_on=(BALANCER,))], {}),
    "released when it is deleted": ([DELETE, RELEASE], {}),
    "what depends on what waits": ([CREATE, TARGET, REMOVAL, replace(NODE, depends_on=(REMOVAL.key,))],
        {TARGET.key: UNMADE, REMOVAL.key: UNMADE, NODE.key: f"blocked by {REMOVAL.key} (waiting)"}),
    "but no follower": ([CREATE, TARGET, replace(NODE, follows=(TARGET.key,))], {TARGET.key: UNMADE}),
    "a similar name": ([CREATE, replace(TARGET, key=key_of("load_balancer/default/web-2/target/server:1"))], {}),
    "what is not planned is done": ([replace(NODE, depends_on=("node/gone",))], {}),
})  # fmt: skip
def test_what_waits_for_a_later_round(changes: Sequence[Change], waiting: Mapping[str, str]) -> None:
    """A round leaves out what takes a value that only a change of it brings, and what depends on that."""
    plan = Plan(tuple(changes))
    assert not_ready(plan) == waiting
    assert [change.key for change in ready_now(plan)] == [key for key in plan.by_key if key not in waiting]


@pytest.mark.parametrize("verdict", [Verdict.WAITING, Verdict.HELD, Verdict.REFUSED])
def test_what_is_not_allowed_is_never_ready(verdict: Verdict) -> None:
    """It waits for its verdict and not for a round; what depends on it or is a part of it waits, even if allowed."""
    create = CREATE.ruled(GuardDecision(verdict, GuardName.ADOPTION))
    plan = Plan((create, TARGET, replace(NODE, depends_on=(BALANCER,))))
    assert ready_now(plan) == ()
    assert not_ready(plan) == {TARGET.key: UNMADE, NODE.key: f"blocked by {BALANCER} (waiting)"}


@rows("applied given_up ready", {
    "nothing was tried": ((), (), [BALANCER, CLAIM.key]),
    "what was applied is not applied again, and what needs it can go": ((CLAIM.key,), (), [BALANCER]),
    "what failed is not tried again, nor is what needs it": ((), (CLAIM.key,), []),
    "what it needed itself can go": ((), (BALANCER,), [CLAIM.key]),
})  # fmt: skip
def test_what_was_tried_in_this_pass(applied: Sequence[str], given_up: Sequence[str], ready: Sequence[str]) -> None:
    assert [change.key for change in ready_now(Plan((CLAIM, CREATE)), applied, given_up)] == ready


def test_why_after_something_was_given_up() -> None:
    """The words tell what was not done from what only has to wait."""
    plan = Plan((CLAIM, CREATE, STATUS_TO_COME, replace(NODE, depends_on=(BALANCER,))))
    assert not_ready(plan, (CLAIM.key,)) == {
        BALANCER: f"blocked by {CLAIM.key} (not applied)",
        STATUS.key: UNKNOWN,
        NODE.key: f"blocked by {BALANCER} (waiting)",
    }


def test_a_long_chain() -> None:
    """However many changes wait for one another, each is told what it comes after."""
    chain = [replace(TARGET, key=key_of(f"{BALANCER}/target/server:0"))]
    chain += [a_change(f"node/{number}", depends_on=(f"node/{number - 1}",)) for number in range(2000)]
    chain[1] = replace(chain[1], depends_on=(chain[0].key,))
    waiting = not_ready(Plan((CREATE, *chain)))
    assert len(waiting) == 2001
    assert waiting["node/1999"] == "blocked by node/1998 (waiting)"
