"""The order of changes: their lanes, and the pass in which each can be carried out."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from desired.model.load_balancer import KNOWN_AFTER_APPLY, Attachment, HttpOptions, LoadBalancer, Owner
from desired.model.service import Ingress
from desired.plan.change import Change, GuardDecision, GuardName, Plan, Verdict
from desired.plan.kinds import Verb
from desired.plan.ordering import (
    bridged,
    in_order,
    locks_of,
    not_preemptible,
    not_ready,
    predecessors,
    urgent,
)
from tests.balancers import an_http_listener
from tests.builders import a_change
from tests.support.keys import key_of
from tests.support.rows import rows

SERVICE, BALANCER = "service/default/web", "load_balancer/default/web"
NOWHERE = LoadBalancer(name="web", labels={}, type="lb11")
PLACE, ELSEWHERE = Attachment(7), Attachment(8)
ROUTE, NODE = a_change("route/7/10.244.1.0/24", "route.create", owner="node/web-1"), a_change()


def of_service(key: str, kind: str, **fields: Any) -> Change:
    return a_change(key, kind, owner=SERVICE, **fields)


def creating(attachment: Any) -> Change:
    return of_service(BALANCER, "lb.create", after=replace(NOWHERE, attachment=attachment))


def attaching(verb: Verb, before: Attachment | None, after: Attachment | None) -> Change:
    return of_service(f"{BALANCER}/network/7", "lb.network", verb=verb, before=before, after=after)


@rows("change locks", {
    "a Node": (a_change(), {"node/web-1"}),
    "a Service": (of_service(f"{SERVICE}/status", "service.status"), {SERVICE}),
    "its certificate": (of_service("certificate/default/web", "certificate.create"), {SERVICE}),
    "a part of its balancer": (of_service(f"{BALANCER}/target/server:1", "lb.target"), {SERVICE}),
    "end": (of_service(BALANCER, "lb.delete", before=replace(NOWHERE, attachment=PLACE)), {SERVICE}),
    "created in a network": (creating(PLACE), {SERVICE, "network/7"}),
    "created in no network": (creating(None), {SERVICE}),
    "attached": (attaching(Verb.ADD, None, PLACE), {SERVICE, "network/7"}),
    "out of one into another": (attaching(Verb.MODIFY, PLACE, ELSEWHERE), {SERVICE, "network/7", "network/8"}),
    "a route": (a_change("route/7/10.244.1.0/24", "route.create", owner="node/web-1"), {"network/7"}),
})  # fmt: skip
def test_lanes(change: Change, locks: set[str]) -> None:
    assert locks_of(change) == locks


def a_link(name: str, *, needs: str = "", follows: str = "", owner: str = "") -> Change:
    """A change that depends on those whose one-letter names are in ``needs``, in a lane of its own by default."""
    return a_change(f"node/{name}", owner=f"node/{owner or name}", depends_on=_keys(needs), follows=_keys(follows))


def _keys(names: str) -> tuple[str, ...]:
    return tuple(f"node/{name}" for name in names)


ORDERS = [
    pytest.param([], "", id="nothing"),
    pytest.param([a_link("b"), a_link("a"), a_link("c")], "bac", id="as given"),
    pytest.param([a_link("a"), a_link("b", needs="a")], "ab", id="in order already"),
    pytest.param([a_link("a", needs="c"), a_link("b"), a_link("c")], "cab", id="what is needed is drawn to the front"),
    pytest.param([a_link("a", follows="c"), a_link("b"), a_link("c")], "cab", id="and so is what is followed"),
    pytest.param([a_link("a", needs="b"), a_link("b", follows="c"), a_link("c")], "cba", id="a chain backwards"),
    pytest.param([a_link("a", needs="cb"), a_link("b"), a_link("c")], "bca", id="several, as given among each other"),
    pytest.param([a_link("a", needs="c"), a_link("b", follows="c"), a_link("c")], "cab", id="shared"),
    pytest.param([a_link("a", needs="x"), a_link("b", follows="y")], "ab", id="what is not among them counts as done"),
    pytest.param([a_link("a", needs="c", follows="c"), a_link("b"), a_link("c")], "cab", id="named twice"),
]


@pytest.mark.parametrize(("changes", "order"), ORDERS)
def test_order(changes: Sequence[Change], order: str) -> None:
    assert "".join(change.key.name for change in in_order(changes)) == order


@rows("changes circle", {
    "for itself": ([a_link("a", needs="a")], "node/a"),
    "met late": ([a_link("z", needs="a"), a_link("a", needs="b"), a_link("b", needs="a")], "node/a, node/b"),
})  # fmt: skip
def test_circles(changes: Sequence[Change], circle: str) -> None:
    for ordering in (in_order, predecessors):
        with pytest.raises(ValueError, match=f"wait for each other: {circle}$"):
            ordering(changes)


@rows("changes before", {
    "nothing shared": ([a_link("a"), a_link("b")], {"a": "", "b": ""}),
    "the last one is enough": ([a_link(name, owner="o") for name in "abc"], {"a": "", "b": "a", "c": "b"}),
    "turned in its lane": ([a_link("a", owner="o", needs="b"), a_link("b", owner="o")], {"b": "", "a": "b"}),
    "named": ([a_link("a", needs="bx", follows="cy"), a_link("b"), a_link("c")], {"b": "", "c": "", "a": "bc"}),
})  # fmt: skip
def test_forerunners(changes: Sequence[Change], before: Mapping[str, str]) -> None:
    assert predecessors(changes) == {f"node/{name}": frozenset(_keys(names)) for name, names in before.items()}


def test_routes_occupy_the_network_alone() -> None:
    routes = [a_change(f"route/7/10.244.{n}.0/24", "route.create", owner="node/web-1") for n in (1, 2)]
    replaced = a_change("route/7/10.244.3.0/24", "route.replace", owner="node/web-1")
    gone = a_change("route/7/10.244.0.0/24", "route.delete", owner="network/7")
    elsewhere = a_change("route/8/10.244.1.0/24", "route.create", owner="node/web-1")
    labels = a_change("node/web-1/labels", "node.labels", owner="node/web-1")
    create, attach = creating(PLACE), attaching(Verb.ADD, None, PLACE)

    plan = Plan((gone, replaced, *routes, elsewhere, labels, attach, create))

    assert predecessors(plan.changes) == {
        create.key: frozenset(),
        attach.key: {create.key},
        labels.key: frozenset(),
        routes[0].key: {attach.key},
        routes[1].key: {routes[0].key},
        replaced.key: {routes[1].key},
        gone.key: {replaced.key},
        elsewhere.key: frozenset(),
    }


CHAINS = [
    pytest.param("abc", {"a": "", "b": "a", "c": "b"}, id="whole"),
    pytest.param("ac", {"a": "", "c": "a"}, id="a link is left out"),
    pytest.param("c", {"c": ""}, id="nothing is left of what came before"),
    pytest.param("ab", {"a": "", "b": "a"}, id="the end is left out"),
]


@pytest.mark.parametrize(("kept", "follows"), CHAINS)
def test_bridges(kept: str, follows: Mapping[str, str]) -> None:
    for middle in (a_link("b", follows="a"), a_link("b", needs="a")):
        plan = Plan((a_link("a"), middle, a_link("c", follows="b")))
        changes = bridged([plan.by_key[key] for key in _keys(kept)], plan)
        assert [change.key.name for change in changes] == list(kept)
        named = {change.key.name: {*change.follows, *change.depends_on} for change in changes}
        assert named == {name: set(_keys(before)) for name, before in follows.items()}


def test_a_bridge_over_several() -> None:
    chain = [a_link(f"{number:03}") for number in range(400)]
    links = [chain[0], *(replace(c, follows=(b.key,)) for b, c in pairwise(chain))]
    plan = Plan((*links[:-1], replace(links[-1], follows=("node/398", "node/zzz")), a_link("zzz")))
    first, second, last = (plan.by_key[key] for key in ("node/000", "node/zzz", "node/399"))
    assert bridged([first, second, last], plan) == (first, second, replace(last, follows=("node/000", "node/zzz")))


@rows("changes kept first", {
    "a route gives way": ([ROUTE], "", ""),
    "a Node does not": ([ROUTE, NODE], NODE.key, NODE.key),
    "what depends on one comes with it": ([ROUTE, replace(NODE, depends_on=(ROUTE.key,))], "", ""),
    "as does what follows it": ([ROUTE, replace(NODE, follows=(ROUTE.key,))], "", ""),
    "what it waits for": ([replace(ROUTE, depends_on=(NODE.key,)), NODE], NODE.key, NODE.key),
    "what goes before it in its lane": ([creating(PLACE), ROUTE], BALANCER, ""),
    "what follows a creation": ([creating(None), replace(NODE, follows=(BALANCER,))], f"{BALANCER} {NODE.key}", ""),
})  # fmt: skip
def test_changes_that_do_not_give_way(changes: Sequence[Change], kept: str, first: str) -> None:
    assert not_preemptible(changes) == set(kept.split())
    assert urgent(changes) == set(first.split())


UNKNOWN = "takes a value that is known only after another change"
OTHER = key_of("service/default/api")
UNCLAIMED = f"takes the version that {SERVICE} has only after {SERVICE}/finalizer"
UNMADE = f"takes what is known of {BALANCER} only once that is there"


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
REMOVAL = replace(TARGET, key=key_of(f"{BALANCER}/target/server:2"), depends_on=(TARGET.key,))


@rows("changes waiting", {
    "all is there already": ([NODE, TARGET, STATUS], {}),
    "claimed and created at once": ([CLAIM, CREATE], {}),
    "a part of what is being created": ([CLAIM, CREATE, TARGET], {TARGET.key: UNMADE}),
    "addresses that nobody knows yet": ([CREATE, STATUS_TO_COME], {STATUS.key: UNKNOWN}),
    "a hostname, published once it leads somewhere": ([CREATE, replace(STATUS, depends_on=(BALANCER,))],
        {STATUS.key: UNMADE}),
    "a status that needs no load balancer": ([CREATE, STATUS], {}),
    "a status of a Service that is being claimed": ([CLAIM, STATUS], {STATUS.key: UNCLAIMED}),
    "a status of another Service": ([CLAIM, replace(STATUS, owner=OTHER)], {}),
    "a part of what is being adopted": ([ADOPT, replace(TARGET, depends_on=(BALANCER,))], {}),
    "released when it is deleted": ([DELETE, RELEASE], {}),
    "what depends on what waits": ([CREATE, TARGET, REMOVAL, replace(NODE, depends_on=(REMOVAL.key,))],
        {TARGET.key: UNMADE, REMOVAL.key: UNMADE, NODE.key: f"blocked by {REMOVAL.key} (waiting)"}),
    "but no follower": ([CREATE, TARGET, replace(NODE, follows=(TARGET.key,))], {TARGET.key: UNMADE}),
    "a similar name": ([CREATE, replace(TARGET, key=key_of("load_balancer/default/web-2/target/server:1"))], {}),
    "a certificate that nobody knows yet": ([LISTENER], {LISTENER.key: UNKNOWN}),
})  # fmt: skip
def test_changes_that_wait_for_a_later_pass(changes: Sequence[Change], waiting: Mapping[str, str]) -> None:
    """A pass leaves out what takes a value that only a change of it brings, and what depends on that."""
    plan = Plan(tuple(changes))
    assert not_ready(plan) == waiting


@pytest.mark.parametrize("verdict", [Verdict.WAITING, Verdict.HELD, Verdict.REFUSED])
def test_what_needs_a_withheld_change_is_not_ready(verdict: Verdict) -> None:
    create = CREATE.ruled(GuardDecision(verdict, GuardName.ADOPTION))
    plan = Plan((create, TARGET, replace(NODE, depends_on=(BALANCER,))))
    assert not_ready(plan) == {TARGET.key: UNMADE, NODE.key: f"blocked by {BALANCER} (waiting)"}


def test_why_after_something_was_given_up() -> None:
    """The words tell what was not done from what only has to wait."""
    plan = Plan((CLAIM, CREATE, STATUS_TO_COME, replace(NODE, depends_on=(BALANCER,))))
    assert not_ready(plan, (CLAIM.key,)) == {
        BALANCER: f"blocked by {CLAIM.key} (not applied)",
        STATUS.key: UNKNOWN,
        NODE.key: f"blocked by {BALANCER} (waiting)",
    }


def test_a_long_chain() -> None:
    chain = [replace(TARGET, key=key_of(f"{BALANCER}/target/server:0"))]
    chain += [a_change(f"node/{number}", depends_on=(f"node/{number - 1}",)) for number in range(2000)]
    chain[1] = replace(chain[1], depends_on=(chain[0].key,))
    waiting = not_ready(Plan((CREATE, *chain)))
    assert len(waiting) == 2001
    assert waiting["node/1999"] == "blocked by node/1998 (waiting)"
