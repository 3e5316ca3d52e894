"""Later passes of a chain: what was changed is read anew, the rest stays, and newcomers wait for the next chain."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from actuators.http.errors import Denied, Transient
from desired.annotations.options import Options
from desired.model.settings import Controller, Settings
from desired.section import Absent, Present, Unknown
from reconciler.observe.world import Observation, Readers, observe_again, observe_world
from tests.support.objects import server, settled_node
from tests.support.payloads import replaced
from tests.support.robot_bodies import LISTED
from tests.support.rows import rows
from tests.support.services import of_type, raw_service, set_services
from tests.support.simulators import Simulation

SETTINGS = Settings(balancer_defaults=Options(location="fsn1"))
WEB = {"id": 1, "name": "lb-1", "labels": {"hcloud-ccm/service-uid": "uid-web"}}
EVERYTHING = {"nodes", "services", "load_balancers", "certificates"}
DOWN: dict[str, Any] = {"kind": "status", "code": 503, "body": "<html>", "count": None}


@pytest.fixture
def sim(simulate: Callable[..., Simulation]) -> Simulation:
    project = {"servers": [server(1, "web-1")], "load_balancers": [WEB], "certificates": [{"id": 4, "name": "shop"}]}
    started = simulate(nodes=[settled_node("web-1", 1)], project=project)
    set_services(started, raw_service(protocol="https"))
    return started


@pytest.fixture
def readers(sim: Simulation) -> Readers:
    return sim.readers()


def first(sim: Simulation, readers: Readers) -> Observation:
    """The pass's first reading; ten seconds go by after it."""
    observation = observe_world(readers, SETTINGS)
    sim.kubernetes_proxy.journal.clear()
    sim.hetzner_proxy.journal.clear()
    sim.clock.advance(10)
    return observation


def again(readers: Readers, before: Observation, *kinds: str) -> Observation:
    return observe_again(readers, before, SETTINGS, frozenset(kinds))


def read(sim: Simulation) -> Counter[str]:
    entries = (*sim.sent_to_kubernetes(), *sim.sent_to_hetzner())
    return Counter(entry.path.rpartition("/")[2] for entry in entries)


def test_clocks_that_differed_once_differ_for_the_whole_pass(sim: Simulation, readers: Readers) -> None:
    """One API server of several is an hour ahead and has told the time of the Nodes: a later pass in which the others
    answer alone leaves that time where it is, and gives no Node up by it."""
    sim.spoil_kubernetes("clock", seconds=3600, path="/api/v1/nodes$")
    before = first(sim, readers)
    assert before.snapshot.clocks.differ

    for kinds in (("lb.target",), ("service.claim",)):
        assert again(readers, before, *kinds).snapshot.clocks.differ


@pytest.mark.parametrize(
    ("kinds", "anew", "later"),
    [
        pytest.param((), set(), False, id="nothing"),
        pytest.param(("node.labels", "node.initialise"), {"nodes"}, True, id="Nodes"),
        pytest.param(("service.claim",), {"services"}, True, id="Services"),
        pytest.param(("lb.target", "lb.type"), {"load_balancers"}, False, id="load balancers"),
        pytest.param(("certificate.create",), {"certificates"}, False, id="certificates"),
        pytest.param(("service.status", "lb.create"), {"services", "load_balancers"}, True, id="two of them"),
        pytest.param(("node.delete", "service.claim", "lb.create", "certificate.create"), EVERYTHING, True, id="all"),
        pytest.param(("route.create",), set(), False, id="something else"),
    ],
)
def test_what_was_changed_is_read_anew(
    sim: Simulation, readers: Readers, kinds: tuple[str, ...], anew: set[str], later: bool
) -> None:
    before = first(sim, readers)

    after = again(readers, before, *kinds)

    assert read(sim) == Counter(anew)
    sections, old = after.snapshot.sections(), before.snapshot.sections()
    assert sections == old
    assert {name for name in sections if sections[name] is not old[name]} == anew
    assert (after.snapshot.taken_at > before.snapshot.taken_at) is later
    assert after.failures == {}


@pytest.mark.parametrize("kinds", [(), ("lb.target",), ("node.labels",)])
def test_a_list_of_robot_servers_is_older_by_then(simulate: Callable[..., Simulation], kinds: tuple[str, ...]) -> None:
    """Whether or not the pass reads the cluster's time again: what was fresh enough at first may prove nothing now."""
    sim = simulate(nodes=[settled_node("web-1", 1)], project={"servers": [server(1, "web-1")]}, robot=[LISTED])
    readers = sim.readers()
    before = first(sim, readers)

    after = again(readers, before, *kinds)

    assert before.snapshot.robot is not None
    assert after.snapshot.robot == replace(before.snapshot.robot, age=timedelta(seconds=10))


def test_a_load_balancer_that_was_created(sim: Simulation, readers: Readers) -> None:
    set_services(sim, raw_service(type="lb21"))
    before = first(sim, readers)
    body = {"name": "new", "load_balancer_type": "lb31", "location": "fsn1", "labels": {}}
    sim.hetzner_connection().send("POST", "/load_balancers", body=body, repeatable=False)

    after = again(readers, before, "lb.create")

    assert after.snapshot.load_balancers is not None
    assert [balancer.spec.name for balancer in after.snapshot.load_balancers] == ["lb-1", "new"]
    assert not isinstance(after.snapshot.balancer_types, Unknown)
    assert set(after.snapshot.balancer_types) == {"lb11", "lb21", "lb31"}
    assert read(sim)["load_balancer_types"] == 0


@rows(
    "before now reads",
    {
        "begins to want one": (of_type("ClusterIP"), raw_service(), {"load_balancers"}),
        "begins to use certificates": (raw_service(), raw_service(protocol="https"), {"certificates"}),
        "both": (of_type("ClusterIP"), raw_service(protocol="https"), {"load_balancers", "certificates"}),
        "wants none any more": (raw_service(protocol="https"), of_type("ClusterIP"), set()),
    },
)
def test_a_service_that_changes_meanwhile(
    sim: Simulation, readers: Readers, before: dict[str, Any], now: dict[str, Any], reads: set[str]
) -> None:
    set_services(sim, before)
    earlier = first(sim, readers)
    set_services(sim, now)

    after = again(readers, earlier, "service.status")

    assert read(sim) == Counter({"services", *reads})
    assert set(after.snapshot.sections()) == {*earlier.snapshot.sections(), *reads}


def test_services_switched_off(sim: Simulation, readers: Readers) -> None:
    off = Settings(controllers=frozenset(Controller) - {Controller.SERVICE})
    before = observe_world(readers, off)
    sim.kubernetes_proxy.journal.clear()

    after = observe_again(readers, before, off, frozenset({"service.claim", "node.labels"}))

    assert after.snapshot.services is None
    assert [entry.path for entry in sim.sent_to_kubernetes()] == ["/api/v1/nodes"]


def test_latecomers(sim: Simulation, readers: Readers) -> None:
    """A Service that has appeared since is not in the pass, nor one that took the name of another."""
    set_services(sim, raw_service(), raw_service("api"))
    before = first(sim, readers)
    another = raw_service("api")
    another["metadata"]["uid"] = "uid-of-another"
    set_services(sim, raw_service(), another, raw_service("late"))

    services = again(readers, before, "service.claim").snapshot.services

    assert services is not None
    assert (list(services.items), services.complete) == (["default/web"], True)


def test_a_node_that_registers_again_meanwhile_is_unknown(sim: Simulation, readers: Readers) -> None:
    """Were it absent, the target on its server would be that of no Node, and go."""
    before = first(sim, readers)
    sim.register_again(settled_node("web-1", 1))

    nodes = again(readers, before, "node.labels").snapshot.nodes

    assert isinstance(nodes.find("web-1"), Unknown)


def spoiled(*services: dict[str, Any]) -> dict[str, Any]:
    body = {"kind": "ServiceList", "metadata": {"resourceVersion": "5"}, "items": list(services)}
    return {"kind": "status", "code": 200, "body": body, "path": "/api/v1/services$"}


def whole(name: str, **metadata: Any) -> dict[str, Any]:
    """A Service as a list has it."""
    found = raw_service(name)
    found["metadata"] |= {"resourceVersion": "1", "creationTimestamp": "2026-01-01T00:00:00Z", **metadata}
    return found


@pytest.mark.parametrize("late", [whole("late"), whole("late", uid=5)], ids=["readable", "unreadable"])
def test_what_could_not_be_read_at_first_is_no_latecomer(
    sim: Simulation, readers: Readers, late: dict[str, Any]
) -> None:
    """A Service that was there and could not be read is never said to be absent; one that comes late is not there."""
    sim.spoil_kubernetes(**spoiled(whole("web"), whole("api", uid=5), whole("db", uid=5)))
    before = first(sim, readers)
    sim.spoil_kubernetes(**spoiled(whole("web"), whole("api"), whole("db", uid=5), late))

    services = again(readers, before, "service.claim").snapshot.services

    assert services is not None
    assert isinstance(services.find("default/web"), Present)
    assert isinstance(services.find("default/api"), Present)
    assert isinstance(services.find("default/db"), Unknown)
    assert isinstance(services.find("default/late"), Absent)


def test_a_gap_stays_a_gap(sim: Simulation, readers: Readers) -> None:
    sim.spoil_kubernetes(**spoiled(whole("web"), replaced(whole("api"), ("metadata", "name"), 5)))
    before = first(sim, readers)
    sim.spoil_kubernetes(**spoiled(whole("web"), whole("api")))

    services = again(readers, before, "service.claim").snapshot.services

    assert services is not None
    assert isinstance(services.find("default/api"), Unknown)
    assert services.why_incomplete == "1 Service could not be read, name included"


def test_services_that_cannot_be_read_again(sim: Simulation, readers: Readers) -> None:
    """The pass goes on with Nodes, and says what it does not know; what was known is too old to act on."""
    before = first(sim, readers)
    sim.spoil_kubernetes(path="/api/v1/services$", **DOWN)

    after = again(readers, before, "service.claim", "node.labels")

    assert {part: type(error) for part, error in after.failures.items()} == {"services": Transient}
    assert after.snapshot.services is not None
    assert not after.snapshot.services.complete
    assert after.snapshot.nodes == before.snapshot.nodes
    assert after.snapshot.taken_at > before.snapshot.taken_at


def test_nodes_that_cannot_be_read_again(sim: Simulation, readers: Readers) -> None:
    before = first(sim, readers)
    sim.spoil_kubernetes(
        "status", code=403, body={"kind": "Status", "reason": "Forbidden"}, path="/api/v1/nodes$", count=None
    )

    with pytest.raises(Denied):
        again(readers, before, "service.claim", "node.labels")


def test_trouble_that_is_over(sim: Simulation, readers: Readers) -> None:
    sim.spoil_hetzner(path="/v1/(load_balancers|certificates)$", **DOWN)
    before = first(sim, readers)
    assert set(before.failures) == {"load_balancers", "certificates"}
    sim.hetzner_proxy.clear_faults()

    after = again(readers, before, "lb.target")

    assert set(after.failures) == {"certificates"}
    assert after.snapshot.load_balancers is not None
    assert after.snapshot.load_balancers.complete
    assert not isinstance(after.snapshot.balancer_types, Unknown)
    assert set(after.snapshot.balancer_types) == {"lb11"}
