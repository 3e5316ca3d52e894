"""The guard ``adoption``, through whole plans."""

from dataclasses import replace
from ipaddress import IPv4Address
from typing import Any

import pytest

from desired.guards.load_balancers import adoption
from desired.model.load_balancer import Attachment, CloudBalancer, IpTarget, SelectorTarget, ServerTarget
from desired.model.service import Service
from desired.model.settings import Settings
from desired.model.snapshot import Snapshot
from desired.names import LABEL_CLUSTER_UID, LABEL_FORMER, LABEL_RELEASED
from desired.plan.change import GuardDecision, GuardName, Verdict
from desired.plan.kinds import Verb
from desired.planner import compute_plan
from desired.rules import guards as rows
from desired.rules import load_balancers as rules
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
from tests.builders import CLUSTER_UID, a_joining_node, a_server, a_settled_node, incomplete, nodes_of, servers_of
from tests.support.balancer_verdicts import by_hand, facts, judged, verdicts
from tests.support.rows import rows as cases

DEAD = "dddddddd-0000-0000-0000-000000000000"
ELSEWHERE = "99999999-8888-7777-6666-555555555555"
LB, SERVICE = "load_balancer/default/web", "service/default/web"
CLAIM = f"{SERVICE}/finalizer"
MINE, SHARED = f"load balancer 42 {DEFAULT_NAME}", "load balancer 42 shared"

SHOP = a_listener(8080, 31000)
OURS, STRAY = ServerTarget(1, use_private_ip=False), ServerTarget(7, use_private_ip=False)
SELECTOR, ADDRESS = SelectorTarget("a=b", False), IpTarget("198.51.100.7")
PLACE = Attachment(6, IPv4Address("10.6.0.9"))
TWO_SERVERS = (a_server(), a_server(7, "stray"))
ALL = {"listeners": (a_listener(), SHOP), "targets": (OURS, STRAY)}
REMOVALS = [
    pytest.param({"listeners": (a_listener(), SHOP)}, "listener 8080", id="a listener"),
    pytest.param({"targets": (OURS, STRAY)}, "target server:7", id="a target"),
    pytest.param({"targets": (STRAY,)}, "target server:7", id="a target for another"),
    pytest.param(ALL, "listener 8080, target server:7", id="one of each"),
]


def before_adoption(parts: dict[str, Any], service_uid: str | None = None) -> Snapshot:
    """A Service with a load balancer of its default name that has these parts as well."""
    balancer = a_balancer(service_uid=service_uid, cluster_uid=None, **parts)
    return a_world([a_service()], [balancer], servers=TWO_SERVERS)


@pytest.mark.parametrize(("parts", "words"), REMOVALS)
def test_adoption_that_takes_something_away(parts: dict[str, Any], words: str) -> None:
    """The plan lists every listener, target and attachment that would go, and one hold covers them all; approved, it
    passes with all of them, and one removal more is another hold."""
    world = before_adoption(parts)
    found, lost = judged(world), words.split(", ")

    keys = {LB, *(f"{LB}/{part.replace(' ', '/')}" for part in lost)}
    (hold,) = found.holds
    assert (hold.rule, hold.value, hold.limit) == (GuardName.ADOPTION, str(len(lost)), "0")
    assert (hold.keys, hold.said) == (tuple(sorted(keys)), rows.ADOPTION_REMOVES.text(balancer=MINE, parts=words))
    assert {change.key for change in found.with_verdict(Verdict.HELD)} == keys
    assert {change.verb for change in found.changes if change.key in keys - {LB}} == {Verb.REMOVE}
    assert len(found.by_key[LB].consequences) == len(lost)
    assert verdicts(found)[CLAIM] == (Verdict.WAITING, "adoption")
    assert found.allowed == ()

    approved = judged(world, approved={hold.hash})
    waiting = {change.key for change in approved.changes} - {change.key for change in approved.allowed}
    assert {verdicts(approved)[key] for key in waiting} <= {(Verdict.WAITING, "target-health")}

    more = {**parts, "listeners": (*parts.get("listeners", (a_listener(),)), a_listener(9090, 31001))}
    assert judged(before_adoption(more), approved={hold.hash}).allowed == ()


@cases("parts", {
    "nothing is changed": {},
    "a target is added": {"targets": ()},
    "a listener is added": {"listeners": ()},
    "a listener is changed": {"listeners": (a_listener(node_port=31000),)},
    "an attachment stays": {"attachments": (PLACE,)},
    "a selector stays": {"targets": (OURS, SELECTOR)},
    "an address stays": {"targets": (OURS, ADDRESS)},
})  # fmt: skip
def test_adoption_that_takes_nothing_away(parts: dict[str, Any]) -> None:
    """Only what is taken away needs an approval."""
    found = judged(before_adoption(parts))
    assert (found.holds, found.allowed) == ((), found.changes)
    assert {"service.claim", "lb.adopt", "service.status"} <= {change.kind for change in found.changes}


def test_dead_targets_of_an_adoption() -> None:
    """What leads to no server any more is a removal all the same: a person sees the whole list."""
    world = replace(before_adoption({"targets": (OURS, STRAY)}), servers=servers_of(a_server()))
    (hold,) = judged(world).holds
    assert hold.keys == (LB, f"{LB}/target/server:7")


NAMED = a_service(claim=a_claim(annotations=annotated(name="shared")))


def nobodys(**parts: Any) -> CloudBalancer:
    """A load balancer that somebody called ``shared``, without a word on whose it is."""
    return a_balancer(service_uid=None, cluster_uid=None, spec={"name": "shared"}, **parts)


def released(former: str | None, cluster: str = CLUSTER_UID, **parts: Any) -> CloudBalancer:
    """A load balancer called ``shared`` that was released for good, with the Service that its label names."""
    labels = {LABEL_CLUSTER_UID: cluster, LABEL_RELEASED: "20260601T120000Z"}
    labels |= {} if former is None else {LABEL_FORMER: former}
    return a_balancer(service_uid=None, cluster_uid=None, spec={"name": "shared", "labels": labels}, **parts)


UNUSED: dict[str, Any] = {"listeners": (), "targets": ()}
IN_USE = "in use (1 listener and 1 target)"


@cases("balancer doubt", {
    "as the Service asks for it": (nobodys(), f"{IN_USE}, without an owner label"),
    "a listener alone": (nobodys(targets=()), "in use (1 listener), without an owner label"),
    "a target alone": (nobodys(listeners=()), "in use (1 target), without an owner label"),
    "targets that would stay": (nobodys(targets=(SELECTOR, ADDRESS)),
        "in use (1 listener and 2 targets), without an owner label"),
    "another Service's": (released("prod.shop"), f"{IN_USE}, released with Service prod/shop"),
    "another cluster's, of the same name": (released("default.web", ELSEWHERE),
        f"{IN_USE}, released with Service default/web of cluster {ELSEWHERE}"),
    "a dead Service's": (a_balancer(service_uid=DEAD, cluster_uid=None, spec={"name": "shared"}),
        f"labeled with unknown Service UID {DEAD}"),
})  # fmt: skip
def test_adoption_in_doubt(balancer: CloudBalancer, doubt: str) -> None:
    """It serves, or was a Service's: whatever is changed needs a person, additions included."""
    world = a_world([NAMED], [balancer])
    (hold,) = judged(world).holds
    assert (hold.rule, hold.value, hold.keys) == (GuardName.ADOPTION, doubt, (LB,))
    assert hold.said == rows.ADOPTION_IN_DOUBT.text(balancer=SHARED, doubt=doubt)
    assert judged(world).allowed == ()
    approved = judged(world, approved={hold.hash})
    assert approved.allowed == approved.changes


@cases("balancer", {
    "nobody's and empty": nobodys(**UNUSED),
    "nobody's, as Terraform prepares it": nobodys(listeners=(), targets=(SELECTOR,)),
    "its own": released("default.web"),
    "released by a version that did not say whose it was": released(None),
    "another's that is empty": released("prod.shop", **UNUSED),
    "another cluster's that is empty": released("default.web", ELSEWHERE, **UNUSED),
    "a dead Service's of this cluster": a_balancer(service_uid=DEAD, spec={"name": "shared"}),
})  # fmt: skip
def test_adoption_without_a_word(balancer: CloudBalancer) -> None:
    """A Service finds what was its own by the name, and what is not used."""
    found = judged(a_world([NAMED], [balancer]))
    assert (found.holds, found.allowed) == ((), found.changes)
    assert found.by_key[LB].kind == "lb.adopt"


def test_adoption_of_a_dead_services_that_takes_something_away() -> None:
    """One hold, and a person is told both; one that changed hands meanwhile is another one to approve."""
    parts = {"targets": (OURS, STRAY)}
    (hold,), (other,) = (judged(before_adoption(parts, uid)).holds for uid in (DEAD, "another"))
    assert hold.keys == other.keys == (LB, f"{LB}/target/server:7")
    assert hold.said == rows.ADOPTION_REMOVES.text(
        balancer=f"{MINE}, labeled with unknown Service UID {DEAD},", parts="target server:7"
    )
    assert hold.hash != other.hash


def test_adoptions_are_held_one_by_one() -> None:
    """An approval is of one load balancer."""
    parts: dict[str, Any] = {"service_uid": None, "cluster_uid": None, "targets": (OURS, STRAY)}
    service = a_service("shop", uid="uid-shop", claim=a_claim(annotations=annotated(name="shop")))
    balancers = [a_balancer(**parts), a_balancer(43, spec={"name": "shop"}, **parts)]
    world = a_world([a_service(), service], balancers, servers=TWO_SERVERS)
    found = judged(world, approved={hold.hash for hold in judged(world).holds if LB in hold.keys})
    assert {change.owner for change in found.allowed} == {SERVICE}
    assert {change.owner for change in found.with_verdict(Verdict.HELD)} == {"service/default/shop"}


WEB, PRIVATE = a_service(), a_service(claim=a_claim(annotations=annotated(use_private_ip="true")))
TWO = {"targets": (OURS, STRAY)}
UNREAD, NOWHERE = {"network": Unknown("429")}, {"network": Absent()}
NO_NETWORK = "there is no network as HCLOUD_NETWORK names it"
NODE_UNREAD = {"nodes": Section({"web-1": a_settled_node()}, unreadable={"z": "no uid"})}
SERVER_UNREAD = {
    "nodes": nodes_of(a_settled_node(), a_settled_node("b", 7)),
    "servers": Section({1: a_server()}, unreadable={7: "no type"}),
}
JOINING = {
    "nodes": nodes_of(a_settled_node(), a_joining_node("b")),
    "servers": incomplete(servers_of(*TWO_SERVERS), "429"),
}


@cases("service parts world why", {
    "private targets, and no network was read": (PRIVATE, {}, UNREAD, "429"),
    "private targets, and the network is not there": (PRIVATE, {}, NOWHERE, NO_NETWORK),
    "a Node was not read": (WEB, {}, NODE_UNREAD, rules.NODE_UNREADABLE.text(cause="no uid")),
    "a target's own server": (WEB, TWO, SERVER_UNREAD, "server unknown: no type"),
    "a Node may be the target": (WEB, TWO, JOINING, rules.NOT_INITIALIZED_YET.text(cause="429")),
})  # fmt: skip
def test_adoption_waits_until_it_is_known_what_would_go(
    service: Service, parts: dict[str, Any], world: dict[str, Any], why: str
) -> None:
    """What is unknown is not nothing: once it is adopted, no approval would be asked for before it goes."""
    balancer = a_balancer(service_uid=None, cluster_uid=None, **parts)
    snapshot = replace(a_world([service], [balancer], servers=TWO_SERVERS), **world)
    found = judged(snapshot, IN_NETWORK, {hold.hash for hold in judged(snapshot, IN_NETWORK).holds})
    unclear = rows.ADOPTION_UNCLEAR.text(balancer=MINE, error=why)
    assert found.by_key[LB].decision == GuardDecision(Verdict.WAITING, GuardName.INCOMPLETE_SNAPSHOT, unclear)
    assert found.allowed == ()


IPV6 = a_service(claim=a_claim(ip_families=("IPv6",)))
NO_IPV6 = {"servers": servers_of(replace(a_server(), ipv6=None))}
SPARE = {"nodes": nodes_of(a_settled_node(), a_settled_node("spare", 7, labels={"spare": ""}))}
IGNORING = replace(LOCATED, ignore_nodes=parse_selector("spare"))
OTHERS_UNREAD = {"servers": Section({1: a_server()}, unreadable={9: "no type"})}


@cases("service parts world settings", {
    "it is in no network": (WEB, {}, UNREAD, IN_NETWORK),
    "it has no targets": (PRIVATE, {"targets": ()}, UNREAD, IN_NETWORK),
    "what is ignored stays for good": (WEB, TWO, SPARE, IGNORING),
    "what is not ours stays for good": (WEB, {"targets": (SELECTOR,)}, OTHERS_UNREAD, LOCATED),
    "a target of another family stays": (IPV6, {"targets": (OURS,)}, NO_IPV6, LOCATED),
})  # fmt: skip
def test_adoption_that_hides_nothing(
    service: Service, parts: dict[str, Any], world: dict[str, Any], settings: Settings
) -> None:
    """A gap that hides no removal is no reason to wait."""
    balancer = a_balancer(service_uid=None, cluster_uid=None, **parts)
    found = judged(replace(a_world([service], [balancer], servers=TWO_SERVERS), **world), settings)
    assert found.by_key[LB].decision.verdict is Verdict.ALLOWED
    assert found.holds == ()


def test_an_adoption_whose_service_asks_for_nonsense() -> None:
    """The rule about strangers holds even where nothing would be planned."""
    service = a_service(claim=a_claim(annotations=annotated(protocol="gopher")))
    world = a_world([service], [a_balancer(service_uid=DEAD, cluster_uid=None)])
    assert compute_plan(world, LOCATED).changes == ()
    assert [finding.keys for finding in adoption(facts([by_hand(LB, "lb.adopt")], world))] == [(LB,)]
    assert list(adoption(facts([by_hand(LB, "lb.adopt")], a_world([WEB], [a_balancer()])))) == []
