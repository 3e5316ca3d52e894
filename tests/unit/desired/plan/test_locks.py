"""What changes occupy, and in which order they are carried out."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from desired.model.load_balancer import Attachment, LoadBalancer
from desired.plan.change import Change, Plan
from desired.plan.kinds import KINDS, Verb
from desired.plan.ordering import bridged, in_order, locks_of, not_preemptible, predecessors, urgent
from desired.section import UNMANAGED
from tests.builders import a_change
from tests.support.keys import key_of
from tests.support.rows import rows

SERVICE, BALANCER = "service/default/web", "load_balancer/default/web"
NOWHERE = LoadBalancer(name="web", labels={}, type="lb11")
PLACE, ELSEWHERE = Attachment(7), Attachment(8)


def of_service(key: str, kind: str, **fields: Any) -> Change:
    return a_change(key, kind, owner=SERVICE, **fields)


def creating(attachment: Any) -> Change:
    return of_service(BALANCER, "lb.create", after=replace(NOWHERE, attachment=attachment))


def attaching(verb: Verb, before: Attachment | None, after: Attachment | None) -> Change:
    return of_service(f"{BALANCER}/network/7", "lb.network", verb=verb, before=before, after=after)


@rows("change locks", {
    "a Node": (a_change(), {"node/web-1"}),
    "part of it": (a_change("node/web-1/labels", "node.labels", owner="node/web-1"), {"node/web-1"}),
    "a Service": (of_service(f"{SERVICE}/status", "service.status"), {SERVICE}),
    "its certificate": (of_service("certificate/default/web", "certificate.create"), {SERVICE}),
    "a part of its balancer": (of_service(f"{BALANCER}/target/server:1", "lb.target"), {SERVICE}),
    "end": (of_service(BALANCER, "lb.delete", before=replace(NOWHERE, attachment=PLACE)), {SERVICE}),
    "created in a network": (creating(PLACE), {SERVICE, "network/7"}),
    "created in no network": (creating(None), {SERVICE}),
    "created, and attached afterwards": (creating(UNMANAGED), {SERVICE}),
    "attached": (attaching(Verb.ADD, None, PLACE), {SERVICE, "network/7"}),
    "detached": (attaching(Verb.REMOVE, PLACE, None), {SERVICE, "network/7"}),
    "out of one into another": (attaching(Verb.MODIFY, PLACE, ELSEWHERE), {SERVICE, "network/7", "network/8"}),
    "a route": (a_change("route/7/10.244.1.0/24", "route.create", owner="node/web-1"), {"network/7"}),
})  # fmt: skip
def test_lanes(change: Change, locks: set[str]) -> None:
    """A change occupies its owner, and each network that it changes."""
    assert locks_of(change) == locks


@pytest.mark.parametrize("kind", [name for name, kind in KINDS.items() if not kind.locks_network])
def test_only_kinds_of_the_network_occupy_one(kind: str) -> None:
    """What the table of kinds keeps out of the network is in one lane, whatever its sides are."""
    place = replace(NOWHERE, attachment=PLACE)
    sides = {Verb.ADD: (None, place), Verb.MODIFY: (NOWHERE, place), Verb.REMOVE: (place, None)}
    for verb in KINDS[kind].verbs:
        before, after = sides[verb]
        assert len(locks_of(a_change("node/x", kind, verb=verb, before=before, after=after))) == 1


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
    """Changes keep their order but that each is preceded by what it depends on or follows."""
    assert "".join(change.key.name for change in in_order(changes)) == order


@rows("changes circle", {
    "for itself": ([a_link("a", needs="a")], "node/a"),
    "for each other": ([a_link("a", needs="b"), a_link("b", follows="a")], "node/a, node/b"),
    "met late": ([a_link("z", needs="a"), a_link("a", needs="b"), a_link("b", needs="a")], "node/a, node/b"),
})  # fmt: skip
def test_circles(changes: Sequence[Change], circle: str) -> None:
    """Changes that wait for each other are a bug, which names them."""
    for ordering in (in_order, predecessors):
        with pytest.raises(ValueError, match=f"wait for each other: {circle}$"):
            ordering(changes)


@rows("changes before", {
    "nothing shared": ([a_link("a"), a_link("b")], {"a": "", "b": ""}),
    "one lane": ([a_link("a", owner="o"), a_link("b", owner="o")], {"a": "", "b": "a"}),
    "the last one is enough": ([a_link(name, owner="o") for name in "abc"], {"a": "", "b": "a", "c": "b"}),
    "turned in its lane": ([a_link("a", owner="o", needs="b"), a_link("b", owner="o")], {"b": "", "a": "b"}),
    "named": ([a_link("a", needs="bx", follows="cy"), a_link("b"), a_link("c")], {"b": "", "c": "", "a": "bc"}),
})  # fmt: skip
def test_forerunners(changes: Sequence[Change], before: Mapping[str, str]) -> None:
    """A change waits for what it names, and for the one before it in each of its lanes."""
    assert predecessors(changes) == {f"node/{name}": frozenset(_keys(names)) for name, names in before.items()}


def test_two_lanes_at_once() -> None:
    """A change of two lanes waits for both, and holds up both."""
    create, attach = creating(PLACE), attaching(Verb.ADD, None, PLACE)
    other = replace(attach, key=key_of("load_balancer/default/api/network/7"), owner=key_of("service/default/api"))
    status = of_service(f"{SERVICE}/status", "service.status")

    assert predecessors([other, create, status]) == {
        other.key: frozenset(),
        create.key: {other.key},
        status.key: {create.key},
    }


ROUTE, NODE = a_change("route/7/10.244.1.0/24", "route.create", owner="node/web-1"), a_change()


def test_a_claim_in_a_late_place_keeps_load_balancers_before_routes() -> None:
    create = replace(creating(PLACE), depends_on=(f"{SERVICE}/finalizer",))
    route = a_change("route/7/10.244.1.0/24", "route.create", owner="node/web-1")
    claim = of_service(f"{SERVICE}/finalizer", "service.claim")
    ordered = in_order(Plan((create, route, claim)).changes)
    assert [change.kind for change in ordered] == ["service.claim", "lb.create", "route.create"]


def test_routes_occupy_the_network_alone() -> None:
    """Load balancers of a network go first, and its routes then, one by one; a Node's own changes wait for neither."""
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
    """The neighbours of a change that is left out keep their order, whichever way it was tied to them."""
    for middle in (a_link("b", follows="a"), a_link("b", needs="a")):
        plan = Plan((a_link("a"), middle, a_link("c", follows="b")))
        changes = bridged([plan.by_key[key] for key in _keys(kept)], plan)
        assert [change.key.name for change in changes] == list(kept)
        named = {change.key.name: {*change.follows, *change.depends_on} for change in changes}
        assert named == {name: set(_keys(before)) for name, before in follows.items()}


def test_a_bridge_over_several() -> None:
    """Whatever number of links is left out, all that came before them comes before what is after them."""
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
def test_what_does_not_give_way(changes: Sequence[Change], kept: str, first: str) -> None:
    """All that neither gives way nor waits for what does; of that urgent is what Hetzner is not needed for."""
    assert not_preemptible(changes) == set(kept.split())
    assert urgent(changes) == set(first.split())
