"""Everything that decides on one Service, put together: an explanation says what a plan does, and nothing else."""

from dataclasses import replace

import pytest

from desired.explain.node import NodeExplanation
from desired.explain.service import ServiceExplanation, ServiceStage, why_no_service
from desired.model.load_balancer import KNOWN_AFTER_APPLY, LoadBalancer
from desired.model.service import Ingress, Service
from desired.model.settings import Controller
from desired.plan.change import Verdict
from desired.plan.kinds import Verb
from desired.plan.notes import Note, NoteKind
from desired.planner import compute_plan
from desired.section import Section
from tests.balancers import LOCATED, a_balancer, a_claim, a_served_service, a_service, a_world, annotated
from tests.builders import a_joining_node, a_server, a_settled_node, incomplete
from tests.support.judging import explain_object, explain_service, judge
from tests.support.keys import key_of
from tests.support.service_explanations import RIVAL_UID, SERVICE_EXPLANATIONS, of_the_service

FOUND = {
    name: said.explanation
    for name, said in SERVICE_EXPLANATIONS.items()
    if isinstance(said.explanation, ServiceExplanation)
}
LEFT_ALONE = (ServiceStage.WAITING, ServiceStage.AMBIGUOUS, ServiceStage.FOREIGN, ServiceStage.UNCLAIMED)


@pytest.mark.parametrize("name", FOUND)
def test_targets_agree_with_the_plan(name: str) -> None:
    """A target is said to come, change or go exactly when the planned changes do that."""
    found = FOUND[name]
    changed = {fact.subject for fact in found.targets if fact.value != fact.wanted}
    planned = {change.key for change in found.changes if change.kind == "lb.target"}
    created = [change.after for change in found.changes if change.kind == "lb.create"]
    deleted = any(change.kind == "lb.delete" for change in found.changes)
    if created:
        (balancer,) = created
        assert isinstance(balancer, LoadBalancer)
        assert isinstance(balancer.targets, frozenset)
        assert len(changed) == len(balancer.targets)
    elif deleted:
        assert len(changed) == len(found.targets)
    else:
        assert len(changed) == len(planned)


@pytest.mark.parametrize("name", FOUND)
def test_ports_agree_with_the_plan(name: str) -> None:
    """A port is said to come, change or go exactly when the planned changes do that."""
    found = FOUND[name]
    planned = {
        int(change.key.rpartition("/")[2]): change.verb for change in found.changes if change.kind == "lb.listener"
    }
    for change in found.changes:
        if change.kind == "lb.create" and isinstance(change.after, LoadBalancer):
            planned |= dict.fromkeys(change.after.listeners, Verb.ADD)
        if change.kind == "lb.delete" and isinstance(change.before, LoadBalancer):
            planned |= dict.fromkeys(change.before.listeners, Verb.REMOVE)

    assert {fact.port: fact.planned for fact in found.listeners if fact.planned} == planned


@pytest.mark.parametrize("name", FOUND)
def test_addresses_agree_with_the_plan(name: str) -> None:
    """What is said to be published is what the planned change of the status publishes."""
    found = FOUND[name]
    for change in found.changes:
        if change.kind == "service.status" and isinstance(change.after, tuple):
            wanted = {entry.ip or entry.hostname for entry in change.after if isinstance(entry, Ingress)}
            assert {fact.wanted.partition(" ")[0] for fact in found.status if fact.wanted} == wanted
            break
        if change.after is KNOWN_AFTER_APPLY or change.kind == "service.release":
            break
    else:
        assert all(fact.value == fact.wanted for fact in found.status)


@pytest.mark.parametrize("name", FOUND)
def test_what_is_left_alone_has_no_changes(name: str) -> None:
    """Where nothing is said to be done nothing is planned, and what is not this Service's is refused."""
    found = FOUND[name]
    verdicts = {change.decision.verdict for change in found.changes}

    assert found.stage not in LEFT_ALONE or verdicts == set()
    assert found.stage not in (ServiceStage.REFUSED, ServiceStage.CONTESTED) or verdicts <= {Verdict.REFUSED}


def test_changes_are_those_of_the_judged_plan() -> None:
    """Each change of the Service has its verdict, and no change of another one, or of a Node, is told."""
    other = a_service("web-2", uid=RIVAL_UID)
    nodes = [a_settled_node(labels={}), a_joining_node("web-2")]
    snapshot = a_world(
        [a_served_service(), other], [a_balancer(targets=())], nodes=nodes, servers=[a_server(), a_server(2, "web-2")]
    )

    assert [change.key for change in of_the_service(snapshot).changes] == [
        "load_balancer/default/web/target/server:1",
        "load_balancer/default/web/target/server:2",
    ]


def test_notes() -> None:
    """Notes on the Service are told, and those that explain every verdict; those on other Services are not."""
    bad = a_claim(annotations=annotated(protocol="udp"))
    services = [a_service(claim=bad), a_service("web-2", uid=RIVAL_UID, claim=bad)]
    found = of_the_service(a_world(services, servers=[]))

    assert ("service/default/web", NoteKind.MALFORMED) in [(note.key, note.kind) for note in found.notes]
    assert {note.key for note in found.notes} == {"project/cloud", "service/default/web"}


def test_notes_on_its_load_balancer() -> None:
    """A note on a part of the Service's load balancer, or on its certificate, is one on the Service."""
    service = a_service()
    snapshot = a_world([service])
    keys = ("certificate/default/web", "load_balancer/default/web/listener/80")
    notes = (
        *(Note(key_of(key), NoteKind.KEPT, "x") for key in keys),
        Note(key_of("load_balancer/default/web-2"), NoteKind.KEPT, "x"),
    )
    plan = replace(judge(compute_plan(snapshot, LOCATED), snapshot, LOCATED), notes=notes)

    assert [note.key for note in explain_service(service, snapshot, LOCATED, plan).notes] == list(keys)


BROKEN: Section[str, Service] = Section({}, unreadable={"default/web": "it has no ports"})
TWO = Section({service.id: service for service in (a_service(), a_service("api", namespace="shop"))})


@pytest.mark.parametrize(
    ("services", "name", "why"),
    [
        pytest.param(Section(), "default/web", "the cluster has no Service 'default/web'", id="no-services-at-all"),
        pytest.param(TWO, "default/wep", "the cluster has no Service 'default/wep'; nearest: default/web", id="near"),
        pytest.param(
            TWO, "default/api", "the cluster has no Service 'default/api'; nearest: shop/api", id="in-another-namespace"
        ),
        pytest.param(
            incomplete(TWO, "page 2 timed out"),
            "default/wep",
            "Service 'default/wep' is not among the 2 that were read: page 2 timed out; nearest: default/web",
            id="a-gap-in-the-list",
        ),
        pytest.param(
            Section.missing("403 forbidden"),
            "default/web",
            "Service 'default/web' is not among the 0 that were read: 403 forbidden",
            id="nothing-could-be-read",
        ),
        pytest.param(
            BROKEN, "default/web", "Service 'default/web' cannot be explained: it has no ports", id="unreadable"
        ),
        pytest.param(
            None, "default/web", "Service 'default/web' cannot be explained: the Services were not read", id="not-read"
        ),
    ],
)
def test_no_service(services: Section[str, Service] | None, name: str, why: str) -> None:
    """A name that no Service has is answered with the names that come near, or why it cannot be told."""
    assert why_no_service(name, replace(a_world(), services=services), LOCATED) == why


def test_services_that_are_left_to_others() -> None:
    """Where Services are switched off that is the reason, whatever is there."""
    settings = replace(LOCATED, controllers=frozenset({Controller.NODE}))
    snapshot = replace(a_world(), services=None)

    assert why_no_service("default/web", snapshot, settings) == (
        "Service 'default/web' cannot be explained: --controllers leaves service out"
    )


@pytest.mark.parametrize(
    ("key", "found"),
    [
        pytest.param("node/web-1", NodeExplanation, id="a-node"),
        pytest.param("service/default/web", ServiceExplanation, id="a-service"),
        pytest.param("node/web-2", "the cluster has no Node 'web-2'; nearest: web-1", id="no-node"),
        pytest.param("service/web/web", "the cluster has no Service 'web/web'; nearest: default/web", id="no-service"),
    ],
)
def test_what_a_key_means(key: str, found: str | type) -> None:
    """The first part of a key says what it is."""
    snapshot = a_world([a_service()])
    explained = explain_object(key, snapshot, LOCATED, judge(compute_plan(snapshot, LOCATED), snapshot, LOCATED))

    assert (explained if isinstance(explained, str) else type(explained)) == found
