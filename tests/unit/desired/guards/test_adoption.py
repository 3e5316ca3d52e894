"""The rule ``adoption``, through whole plans."""

from dataclasses import replace
from ipaddress import IPv4Address
from typing import Any

import pytest

from desired.guards.load_balancers import adoption
from desired.model.load_balancer import (
    Attachment,
    IpTarget,
    SelectorTarget,
    ServerTarget,
)
from desired.model.service import Service
from desired.model.settings import Settings
from desired.model.snapshot import Snapshot
from desired.names import LABEL_CLUSTER_UID, LABEL_FORMER, LABEL_RELEASED
from desired.plan.change import GuardDecision, GuardName, Verdict
from desired.plan.kinds import Verb
from desired.planner import compute_plan
from desired.rules.guards import (
    ADOPTION_OF_UNKNOWN_REMOVES,
    ADOPTION_REMOVES,
    ADOPTION_UNCLEAR,
    BALANCER_IN_USE,
    BALANCER_IN_USE_RELEASED,
    BALANCER_OF_UNKNOWN,
)
from desired.section import Absent, Section, Unknown
from desired.syntax.selector import parse_selector
from tests.balancers import (
    DEFAULT_NAME,
    IN_NETWORK,
    LOCATED,
    a_balancer,
    a_claim,
    a_listener,
    a_service,
    a_world,
    annotated,
)
from tests.builders import (
    CLUSTER_UID,
    a_joining_node,
    a_server,
    a_settled_node,
    incomplete,
    nodes_of,
    servers_of,
)
from tests.support.balancer_verdicts import by_hand, facts, judged, verdicts

DEAD = "dddddddd-0000-0000-0000-000000000000"
LB, SERVICE = "load_balancer/default/web", "service/default/web"
CLAIM = f"{SERVICE}/finalizer"


ADOPTED = a_balancer(service_uid=None, cluster_uid=None)
"""What has the Service's default name, and everything that the Service asks for."""


def test_adoption_that_takes_nothing_away() -> None:
    """A load balancer that fits is taken over without a word."""
    found = judged(a_world([a_service()], [ADOPTED]))

    assert {change.kind for change in found.allowed} == {"service.claim", "lb.adopt", "service.status"}
    assert (found.changes, found.holds) == (found.allowed, ())


SHOP = a_listener(8080, 31000)
STRAY = ServerTarget(7, use_private_ip=False)
PLACE = Attachment(6, IPv4Address("10.6.0.9"))
OURS = ServerTarget(1, use_private_ip=False)
TWO_SERVERS = (a_server(), a_server(7, "stray"))
REMOVALS = [
    pytest.param({"listeners": (a_listener(), SHOP)}, {"listener/8080"}, "listener 8080", id="a listener"),
    pytest.param({"targets": (OURS, STRAY)}, {"target/server:7"}, "target server:7", id="a target"),
    pytest.param({"targets": (STRAY,)}, {"target/server:7"}, "target server:7", id="a target for another"),
    pytest.param({"attachments": (PLACE,)}, {"network/6"}, "network 6", id="an attachment"),
    pytest.param(
        {"listeners": (a_listener(), SHOP), "targets": (OURS, STRAY), "attachments": (PLACE,)},
        {"listener/8080", "target/server:7", "network/6"},
        "listener 8080, network 6, target server:7",
        id="one of each",
    ),
]


def before_adoption(parts: dict[str, Any], service_uid: str | None = None) -> Snapshot:
    """A Service with a load balancer of its default name that has these parts as well."""
    balancer = a_balancer(service_uid=service_uid, cluster_uid=None, **parts)
    return a_world([a_service()], [balancer], servers=TWO_SERVERS)


@pytest.mark.parametrize(("parts", "lost", "words"), REMOVALS)
def test_adoption_that_takes_something_away(parts: dict[str, Any], lost: set[str], words: str) -> None:
    """The plan lists every listener, target and attachment that would go, and one hold covers them all."""
    found = judged(before_adoption(parts))

    keys = {LB, *(f"{LB}/{part}" for part in lost)}
    (hold,) = found.holds
    assert (hold.rule, hold.value, hold.limit) == (GuardName.ADOPTION, str(len(lost)), "0")
    assert (hold.keys, hold.said) == (tuple(sorted(keys)), ADOPTION_REMOVES.text(balancer=MINE, parts=words))
    assert {change.key for change in found.with_verdict(Verdict.HELD)} == keys
    assert {change.verb for change in found.changes if change.key in keys - {LB}} == {Verb.REMOVE}
    assert set(found.by_key[LB].consequences) == {
        f"{part.replace('/', ' ')} is removed from it: the Service does not ask for that" for part in lost
    }
    assert verdicts(found)[CLAIM] == (Verdict.WAITING, "adoption")
    assert found.allowed == ()


@pytest.mark.parametrize(("parts", "lost", "_words"), REMOVALS)
def test_adoption_that_was_approved(parts: dict[str, Any], lost: set[str], _words: str) -> None:
    """A person's word lets the adoption pass with all that it takes away, and what hung on it."""
    snapshot = before_adoption(parts)
    (hold,) = judged(snapshot).holds

    found = judged(snapshot, approved={hold.hash})

    waiting = {change.key for change in found.changes} - {change.key for change in found.allowed}
    assert {verdicts(found)[key] for key in waiting} <= {(Verdict.WAITING, "target-health")}
    assert {LB, CLAIM, *(f"{LB}/{part}" for part in lost)} <= found.by_key.keys()


@pytest.mark.parametrize(("parts", "_lost", "_words"), REMOVALS)
def test_approval_of_an_adoption_that_takes_more_away(parts: dict[str, Any], _lost: set[str], _words: str) -> None:
    """One more removal than a person has seen is another hold."""
    (hold,) = judged(before_adoption(parts)).holds
    more = {**parts, "listeners": (*parts.get("listeners", (a_listener(),)), a_listener(9090, 31001))}

    found = judged(before_adoption(more), approved={hold.hash})

    assert found.allowed == ()
    assert {other.hash for other in found.holds}.isdisjoint({hold.hash})


@pytest.mark.parametrize(
    "parts",
    [
        pytest.param({"targets": ()}, id="a target is added"),
        pytest.param({"listeners": ()}, id="a listener is added"),
        pytest.param({"listeners": (a_listener(node_port=31000),)}, id="a listener is changed"),
        pytest.param({"targets": (ServerTarget(1, use_private_ip=True),)}, id="a target gets another address"),
        pytest.param({"targets": (OURS, SelectorTarget("a=b", False))}, id="a selector stays"),
        pytest.param({"targets": (OURS, IpTarget("198.51.100.7"))}, id="an address stays"),
    ],
)
def test_adoption_that_changes_what_is_there(parts: dict[str, Any]) -> None:
    """Only what is taken away needs a person."""
    found = judged(before_adoption(parts))

    assert (found.holds, found.allowed) == ((), found.changes)


def test_dead_targets_of_an_adoption() -> None:
    """What leads to no server any more is a removal all the same: a person sees the whole list."""
    snapshot = replace(before_adoption({"targets": (OURS, STRAY)}), servers=servers_of(a_server()))

    (hold,) = judged(snapshot).holds
    assert hold.keys == (LB, f"{LB}/target/server:7")


MINE = f"load balancer 42 {DEFAULT_NAME}"


def test_adoption_of_a_dead_services() -> None:
    """Without our cluster's label a person has to say that it is theirs, even where nothing would go."""
    snapshot = before_adoption({}, DEAD)

    (hold,) = judged(snapshot).holds
    assert (hold.rule, hold.value, hold.limit) == (GuardName.ADOPTION, DEAD, "a Service of this cluster")
    assert (hold.keys, hold.said) == ((LB,), BALANCER_OF_UNKNOWN.text(balancer=MINE, uid=DEAD))
    assert judged(snapshot).allowed == ()
    assert judged(snapshot, approved={hold.hash}).allowed == judged(snapshot, approved={hold.hash}).changes


def test_adoption_of_a_dead_services_that_takes_something_away() -> None:
    """One hold, and a person is told both."""
    (hold,) = judged(before_adoption({"targets": (OURS, STRAY)}, DEAD)).holds

    assert hold.keys == (LB, f"{LB}/target/server:7")
    assert hold.said == ADOPTION_OF_UNKNOWN_REMOVES.text(balancer=MINE, uid=DEAD, parts="target server:7")


@pytest.mark.parametrize("name", [DEFAULT_NAME, "shared"])
def test_adoption_of_a_dead_services_of_this_cluster(name: str) -> None:
    """Our cluster's label says that it was ours: a Service that was created anew has its load balancer back."""
    service = a_service(claim=a_claim(annotations={} if name == DEFAULT_NAME else annotated(name=name)))
    balancer = a_balancer(service_uid=DEAD, spec={"name": name})

    found = judged(a_world([service], [balancer]))

    assert (found.holds, found.allowed) == ((), found.changes)
    assert found.by_key[LB].kind == "lb.adopt"


def test_owner_of_an_adoption_is_part_of_its_hash() -> None:
    """A load balancer that changed hands meanwhile is another one to approve."""
    (one,) = judged(before_adoption({"targets": (OURS, STRAY)}, DEAD)).holds
    (other,) = judged(before_adoption({"targets": (OURS, STRAY)}, "another")).holds

    assert one.keys == other.keys
    assert one.hash != other.hash


NAMED = a_service(claim=a_claim(annotations=annotated(name="shared")))


def nobodys(**parts: Any) -> Any:
    """A load balancer that somebody called ``shared``, without a word on whose it is."""
    return a_balancer(service_uid=None, cluster_uid=None, spec={"name": "shared"}, **parts)


@pytest.mark.parametrize(
    ("parts", "use"),
    [
        pytest.param({}, "1 listener and 1 target", id="as the Service asks for it"),
        pytest.param({"targets": ()}, "1 listener", id="a listener alone"),
        pytest.param({"targets": (OURS,), "listeners": ()}, "1 target", id="a target alone"),
        pytest.param({"listeners": (a_listener(node_port=31000),)}, "1 listener and 1 target", id="leads elsewhere"),
        pytest.param(
            {"targets": (SelectorTarget("a=b", False), IpTarget("198.51.100.7"))},
            "1 listener and 2 targets",
            id="targets that would stay",
        ),
    ],
)
def test_adoption_of_what_somebody_uses(parts: dict[str, Any], use: str) -> None:
    """Nobody's name is on it, and it serves: whatever is changed needs a person, additions included."""
    snapshot = a_world([NAMED], [nobodys(**parts)])

    (hold,) = judged(snapshot).holds
    assert (hold.rule, hold.value, hold.limit) == (GuardName.ADOPTION, use, "no listener, no target")
    assert (hold.keys, hold.said) == ((LB,), BALANCER_IN_USE.text(balancer="load balancer 42 shared", use=use))
    assert judged(snapshot).allowed == ()
    approved = judged(snapshot, approved={hold.hash})
    assert approved.allowed == approved.changes


def test_adoption_of_an_empty_one() -> None:
    """What Terraform has made and nobody uses is taken over by its name, without a person's word."""
    found = judged(a_world([NAMED], [nobodys(targets=(), listeners=())]))

    assert (found.holds, found.allowed) == ((), found.changes)
    assert {change.kind for change in found.changes} == {
        "service.claim",
        "lb.adopt",
        "lb.listener",
        "lb.target",
        "service.status",
    }


def released(former: str | None, **parts: Any) -> Any:
    """A load balancer called ``shared`` that was released for good, with the Service that its label names."""
    labels = {LABEL_CLUSTER_UID: CLUSTER_UID, LABEL_RELEASED: "20260601T120000Z"}
    labels |= {} if former is None else {LABEL_FORMER: former}
    return a_balancer(service_uid=None, spec={"name": "shared", "labels": labels}, **parts)


def test_adoption_of_what_was_another_services() -> None:
    """That it was this cluster's says nothing of whose it is: who release it may still be served by it."""
    snapshot = a_world([NAMED], [released("prod.shop")])

    (hold,) = judged(snapshot).holds
    use = "1 listener and 1 target"
    shared = "load balancer 42 shared"
    assert (hold.rule, hold.value, hold.limit, hold.keys) == (GuardName.ADOPTION, use, "no listener, no target", (LB,))
    assert hold.said == BALANCER_IN_USE_RELEASED.text(balancer=shared, former="Service prod/shop", use=use)
    approved = judged(snapshot, approved={hold.hash})
    assert approved.allowed == approved.changes


@pytest.mark.parametrize(
    "balancer",
    [
        pytest.param(released("default.web"), id="its own"),
        pytest.param(released(None), id="released by a version that did not say whose it was"),
        pytest.param(released("prod.shop", listeners=(), targets=()), id="another's that nobody uses"),
    ],
)
def test_adoption_of_what_was_let_go_for_good(balancer: Any) -> None:
    """Its Service finds it again by its name, without a person's word."""
    found = judged(a_world([NAMED], [balancer]))

    assert (found.holds, found.allowed) == ((), found.changes)
    assert found.by_key[LB].kind == "lb.adopt"


def test_adoptions_are_held_one_by_one() -> None:
    """An approval is of one load balancer."""
    shop = a_balancer(43, service_uid=None, cluster_uid=None, targets=(OURS, STRAY), spec={"name": "shop"})
    service = a_service("shop", uid="uid-shop", claim=a_claim(annotations=annotated(name="shop")))
    mine = replace(ADOPTED, targets=(OURS, STRAY), spec=replace(ADOPTED.spec, targets=frozenset((OURS, STRAY))))
    snapshot = a_world([a_service(), service], [mine, shop], servers=TWO_SERVERS)

    holds = {hold.keys[0]: hold.hash for hold in judged(snapshot).holds}
    found = judged(snapshot, approved={holds[LB]})

    assert {change.owner for change in found.allowed} == {SERVICE}
    assert {change.owner for change in found.with_verdict(Verdict.HELD)} == {"service/default/shop"}


PRIVATE = a_service(claim=a_claim(annotations=annotated(use_private_ip="true")))


@pytest.mark.parametrize(
    ("service", "parts", "world", "why"),
    [
        pytest.param(
            a_service(), {"attachments": (PLACE,)}, {"network": Unknown("429")}, "429", id="the network was not read"
        ),
        pytest.param(
            a_service(),
            {"attachments": (PLACE,)},
            {"network": Absent()},
            "there is no network as HCLOUD_NETWORK names it",
            id="the network is not there",
        ),
        pytest.param(PRIVATE, {}, {"network": Unknown("429")}, "429", id="private targets, and no network was read"),
        pytest.param(
            PRIVATE,
            {},
            {"network": Absent()},
            "there is no network as HCLOUD_NETWORK names it",
            id="private targets, and the network is not there",
        ),
        pytest.param(
            a_service(),
            {"targets": (OURS, STRAY)},
            {"nodes": Section({"web-1": a_settled_node()}, unreadable={"z": "no uid"})},
            "the Node could not be read: no uid",
            id="a Node was not read",
        ),
        pytest.param(
            a_service(),
            {"targets": (OURS, STRAY)},
            {
                "nodes": nodes_of(a_settled_node(), a_settled_node("b", 7)),
                "servers": Section({1: a_server()}, unreadable={7: "no type"}),
            },
            "the server is not known: no type",
            id="a target's own server was not read",
        ),
        pytest.param(
            a_service(),
            {"targets": (OURS, STRAY)},
            {
                "nodes": nodes_of(a_settled_node(), a_joining_node("b")),
                "servers": incomplete(servers_of(*TWO_SERVERS), "429"),
            },
            "the Node cannot be initialized yet: 429",
            id="a Node may turn out to be the target",
        ),
    ],
)
def test_adoption_waits_until_it_is_known_what_would_go(
    service: Service, parts: dict[str, Any], world: dict[str, Any], why: str
) -> None:
    """What is unknown is not nothing: once it is adopted, nobody would be asked before it goes."""
    balancer = a_balancer(service_uid=None, cluster_uid=None, **parts)
    snapshot = replace(a_world([service], [balancer], servers=TWO_SERVERS), **world)

    found = judged(snapshot, IN_NETWORK, {hold.hash for hold in judged(snapshot, IN_NETWORK).holds})

    unclear = ADOPTION_UNCLEAR.text(balancer=MINE, error=why)
    assert found.by_key[LB].decision == GuardDecision(Verdict.WAITING, GuardName.INCOMPLETE_SNAPSHOT, unclear)
    assert found.allowed == ()


@pytest.mark.parametrize(
    ("service", "parts", "world", "settings"),
    [
        pytest.param(a_service(), {}, {"network": Unknown("429")}, IN_NETWORK, id="it is in no network"),
        pytest.param(PRIVATE, {"targets": ()}, {"network": Unknown("429")}, IN_NETWORK, id="it has no targets"),
        pytest.param(
            a_service(),
            {},
            {"nodes": Section({"web-1": a_settled_node()}, unreadable={"b": "no uid"})},
            LOCATED,
            id="every target is a Node's",
        ),
        pytest.param(
            a_service(),
            {"targets": (OURS, STRAY)},
            {"nodes": nodes_of(a_settled_node(), a_settled_node("spare", 7, labels={"spare": ""}))},
            replace(LOCATED, ignore_nodes=parse_selector("spare")),
            id="what is ignored stays for good",
        ),
        pytest.param(
            a_service(),
            {"targets": (SelectorTarget("a=b", False),)},
            {"servers": Section({1: a_server()}, unreadable={9: "no type"})},
            LOCATED,
            id="what is not ours stays for good",
        ),
        pytest.param(
            a_service(claim=a_claim(ip_families=("IPv6",))),
            {"targets": (OURS,)},
            {"servers": servers_of(replace(a_server(), ipv6=None))},
            LOCATED,
            id="a target of another family stays",
        ),
    ],
)
def test_adoption_that_hides_nothing(
    service: Service, parts: dict[str, Any], world: dict[str, Any], settings: Settings
) -> None:
    """A gap that hides no removal is no reason to wait."""
    balancer = a_balancer(service_uid=None, cluster_uid=None, **parts)
    snapshot = replace(a_world([service], [balancer], servers=TWO_SERVERS), **world)

    found = judged(snapshot, settings)

    assert found.by_key[LB].decision.verdict is Verdict.ALLOWED
    assert found.holds == ()


def test_an_adoption_that_no_rule_planned() -> None:
    """Without a load balancer to adopt there is nothing to hold: other rules see to it."""
    change = by_hand(LB, "lb.adopt")

    assert list(adoption(facts([change], a_world([a_service()], [a_balancer()])))) == []
    assert list(adoption(facts([by_hand(f"{LB}/type", "lb.type")], a_world([a_service()], [ADOPTED])))) == []
    assert list(adoption(facts([change], a_world()))) == []


def test_an_adoption_whose_service_asks_for_nonsense() -> None:
    """The rule about strangers holds even where nothing would be planned."""
    service = a_service(claim=a_claim(annotations=annotated(protocol="gopher")))
    snapshot = a_world([service], [a_balancer(service_uid=DEAD, cluster_uid=None)])

    assert compute_plan(snapshot, LOCATED).changes == ()
    assert [finding.keys for finding in adoption(facts([by_hand(LB, "lb.adopt")], snapshot))] == [(LB,)]
