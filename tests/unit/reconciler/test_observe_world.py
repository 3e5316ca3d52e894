"""One reading of both clouds: what is read, what is not because nobody needs it, and what trouble makes of it."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from actuators.http.errors import ApiError, Broken, Denied, Transient
from desired.annotations.options import Options
from desired.model.settings import Controller, Settings
from desired.model.snapshot import Snapshot
from desired.section import Unknown
from reconciler.observe.world import observe_world
from tests.support.objects import server, settled_node
from tests.support.rows import rows
from tests.support.services import of_type, raw_service, set_services
from tests.support.simulators import Simulation

LOCATED = Settings(balancer_defaults=Options(location="fsn1"))
NETWORK = {"id": 7, "name": "net", "ip_range": "10.0.0.0/16"}
WEB = {"id": 1, "name": "lb-1", "labels": {"hcloud-ccm/service-uid": "uid-web"}}
LARGE = {"id": 2, "name": "lb-2", "load_balancer_type": "lb21"}
FORBIDDEN = {"kind": "Status", "reason": "Forbidden", "message": "services is forbidden"}


@pytest.fixture
def sim(simulate: Callable[..., Simulation]) -> Simulation:
    """A Node with its server, and two load balancers, one of which is the Service web's."""
    project = {
        "servers": [server(1, "web-1")],
        "networks": [NETWORK],
        "load_balancers": [WEB, LARGE],
        "certificates": [{"id": 4, "name": "shop"}],
    }
    return simulate(nodes=[settled_node("web-1", 1)], project=project)


def asked(sim: Simulation) -> Counter[str]:
    found = Counter(entry.path.removeprefix("/v1/") for entry in sim.sent_to_hetzner())
    sim.hetzner_proxy.journal.clear()
    return found


def look(sim: Simulation, *services: dict[str, Any], settings: Settings = LOCATED) -> Snapshot:
    set_services(sim, *services)
    observation = observe_world(sim.readers(), settings)
    assert observation.failures == {}
    return observation.snapshot


@rows(
    "service reads",
    {
        "wants one": (raw_service(), {"load_balancers"}),
        "releases one": (raw_service(claimed=True, going=True), {"load_balancers"}),
        "wants none any more": (of_type("ClusterIP", claimed=True), {"load_balancers"}),
        "has released": (raw_service(going=True), set()),
        "of another type": (of_type("ClusterIP"), set()),
        "of another class": (of_type("LoadBalancer", loadBalancerClass="other"), set()),
        "of another class, and perhaps claimed here before": (
            of_type("LoadBalancer", claimed=True, loadBalancerClass="other"),
            {"load_balancers"},
        ),
        "speaks https": (raw_service(protocol="https", http_certificates="4"), {"load_balancers", "certificates"}),
        "speaks http": (raw_service(protocol="http"), {"load_balancers"}),
        "spoke https, and lets go": (raw_service(claimed=True, going=True, protocol="https"), {"load_balancers"}),
    },
)
def test_what_is_read_of_hetzner(sim: Simulation, service: dict[str, Any], reads: set[str]) -> None:
    snapshot = look(sim, service)

    assert asked(sim) == Counter({"servers", *reads})
    assert (snapshot.load_balancers is not None, snapshot.certificates is not None) == (
        "load_balancers" in reads,
        "certificates" in reads,
    )
    assert snapshot.services is not None
    assert "default/web" in snapshot.services.items


def test_no_service_at_all(sim: Simulation) -> None:
    snapshot = look(sim)

    assert asked(sim) == Counter({"servers"})
    assert (snapshot.load_balancers, snapshot.certificates, snapshot.balancer_types) == (None, None, {})
    assert list(snapshot.sections()) == ["nodes", "servers", "services"]


def test_services_switched_off(sim: Simulation) -> None:
    """Without the part that looks after Services they are listed only to tell who waits for it in vain: no rule sees
    them, and Hetzner is asked for nothing of theirs."""
    settings = Settings(controllers=frozenset(Controller) - {Controller.SERVICE})
    snapshot = look(sim, raw_service(protocol="https"), settings=settings)

    assert asked(sim) == Counter({"servers"})
    assert Counter(entry.path for entry in sim.sent_to_kubernetes())["/api/v1/services"] == 1
    assert snapshot.unserved is not None
    assert list(snapshot.unserved.items) == ["default/web"]
    assert "services" not in snapshot.sections()
    assert (snapshot.services, snapshot.load_balancers, snapshot.certificates) == (None, None, None)


def many(number: int) -> list[dict[str, Any]]:
    return [server(1000 + index, f"worker-{index}") for index in range(number)]


@rows(
    "servers balancers service network requests",
    {
        "no Service matters": (0, 60, None, None, {"servers": 1}),
        "a page of each": (50, 50, raw_service(), None, {"servers": 1, "load_balancers": 1}),
        "and one": (51, 51, raw_service(), "7", {"servers": 2, "load_balancers": 2, "networks/7": 1}),
        "three pages, and everything else": (
            101,
            0,
            raw_service(protocol="https", type="lb11"),
            "net",
            {"servers": 3, "load_balancers": 1, "networks": 1, "certificates": 1, "load_balancer_types": 1},
        ),
    },
)
def test_requests_of_an_idle_pass(
    simulate: Callable[..., Simulation],
    servers: int,
    balancers: int,
    service: dict[str, Any] | None,
    network: str | None,
    requests: dict[str, int],
) -> None:
    """A request for each 50 servers, for each 50 load balancers when one matters, one for the network, and one for
    certificates only where they are used; the catalogue is read once an hour."""
    listed = [{**WEB, "id": number, "name": f"lb-{number}"} for number in range(1, balancers + 1)]
    project = {"servers": many(servers), "networks": [NETWORK], "load_balancers": listed}
    sim = simulate(nodes=[], project=project)
    set_services(sim, *([service] if service else []))
    readers, settings = sim.readers(), Settings(network=network)

    observe_world(readers, settings)
    assert asked(sim) == Counter(requests)

    observe_world(readers, settings)
    assert asked(sim) == Counter(requests) - Counter(["load_balancer_types"])


@pytest.mark.parametrize(
    ("services", "defaults", "types", "requests"),
    [
        pytest.param([raw_service()], Options(), {"lb11", "lb21"}, 0, id="there, and keeps its type"),
        pytest.param([raw_service(type="lb21")], Options(), {"lb11", "lb21"}, 0, id="the type of another one"),
        pytest.param([raw_service(type="lb31")], Options(), {"lb11", "lb21", "lb31"}, 1, id="a type of no other"),
        pytest.param([raw_service()], Options(type="lb31"), {"lb11", "lb21", "lb31"}, 1, id="of the environment"),
        pytest.param([raw_service("api")], Options(), {"lb11", "lb21"}, 0, id="to be created, of a known type"),
        pytest.param([raw_service(type="lb99")], Options(), {"lb11", "lb21", "lb31"}, 1, id="a type there is not"),
    ],
)
def test_types(
    sim: Simulation, services: list[dict[str, Any]], defaults: Options, types: set[str], requests: int
) -> None:
    set_services(sim, *services)
    readers, settings = sim.readers(), Settings(balancer_defaults=defaults)

    for _ in range(2):
        observation = observe_world(readers, settings)

        assert observation.failures == {}
        assert not isinstance(observation.snapshot.balancer_types, Unknown)
        assert set(observation.snapshot.balancer_types) == types
    assert asked(sim)["load_balancer_types"] == requests

    sim.clock.advance(3600)
    observe_world(readers, settings)
    assert asked(sim)["load_balancer_types"] == requests


def test_a_type_that_a_load_balancer_shows(sim: Simulation) -> None:
    """What a load balancer says of its type goes before what the catalogue said."""
    found = look(sim, raw_service(type="lb31"))

    assert found.load_balancers is not None
    assert not isinstance(found.balancer_types, Unknown)
    assert found.balancer_types["lb11"] is found.load_balancers.items[1].type


SERVICE_TROUBLE = [
    pytest.param({"kind": "status", "code": 403, "body": FORBIDDEN}, Denied, id="forbidden"),
    pytest.param({"kind": "status", "code": 503, "body": "<html>"}, Transient, id="down"),
    pytest.param({"kind": "status", "code": 200, "body": "<html>"}, Broken, id="a page of HTML"),
]


@pytest.mark.parametrize(("fault", "expected"), SERVICE_TROUBLE)
def test_services_that_cannot_be_listed(sim: Simulation, fault: dict[str, Any], expected: type[ApiError]) -> None:
    set_services(sim, raw_service(protocol="https"))
    sim.spoil_kubernetes(path="/api/v1/services$", count=None, **fault)

    observation = observe_world(sim.readers(), LOCATED)

    (failure,) = observation.failures.items()
    assert (failure[0], type(failure[1])) == ("services", expected)
    snapshot = observation.snapshot
    assert list(snapshot.nodes.items) == ["web-1"]
    assert snapshot.services is not None
    assert (snapshot.services.complete, snapshot.services.why_incomplete) == (False, str(failure[1]))
    assert isinstance(snapshot.services.find("default/web"), Unknown)
    assert (snapshot.load_balancers, snapshot.certificates) == (None, None)
    assert asked(sim) == Counter({"servers"})


@pytest.mark.parametrize(
    ("part", "path"), [("load_balancers", "/v1/load_balancers$"), ("certificates", "/v1/certificates$")]
)
def test_a_part_that_cannot_be_read(sim: Simulation, part: str, path: str) -> None:
    set_services(sim, raw_service(protocol="https", type="lb31"))
    sim.spoil_hetzner("status", code=503, body="<html>", path=path, count=None)

    observation = observe_world(sim.readers(), LOCATED)

    section = observation.snapshot.sections()[part]
    error = observation.failures[part]
    assert (section.complete, section.why_incomplete) == (False, str(error))
    assert set(observation.failures) == {part}
    assert {name for name, read in observation.snapshot.sections().items() if read.complete} == {
        "nodes",
        "servers",
        "services",
        "load_balancers",
        "certificates",
    } - {part}


def test_no_catalogue_where_there_is_no_list(sim: Simulation) -> None:
    set_services(sim, raw_service(type="lb31"))
    sim.spoil_hetzner("status", code=503, body="<html>", path="/v1/load_balancers$", count=None)

    observation = observe_world(sim.readers(), LOCATED)

    assert observation.snapshot.balancer_types == Unknown(str(observation.failures["load_balancers"]))
    assert asked(sim)["load_balancer_types"] == 0


def test_a_catalogue_that_cannot_be_read(sim: Simulation) -> None:
    set_services(sim, raw_service(type="lb31"))
    sim.spoil_hetzner("status", code=503, body="<html>", path="/v1/load_balancer_types", count=None)

    observation = observe_world(sim.readers(), LOCATED)

    (failure,) = observation.failures.items()
    assert failure[0] == "load_balancer_types"
    assert observation.snapshot.balancer_types == Unknown(str(failure[1]))
    assert observation.snapshot.load_balancers is not None
    assert observation.snapshot.load_balancers.complete
