"""Reading for the sake of routes: nothing that the network does not bring along, but where a removal depends on who
has an address."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from ipaddress import IPv4Address, IPv4Network
from typing import Any

import pytest

from actuators.http.errors import ApiError, Denied, Transient
from desired.model.route import Member
from desired.model.settings import Controller, Settings
from desired.plan.notes import NoteKind
from desired.planner import compute_plan
from desired.section import Present, Section, Unknown
from reconciler.observe.world import Observation, Readers, observe_again, observe_world
from reconciler.result import Report, is_incomplete
from tests.support.objects import server, settled_node
from tests.support.simulators import Simulation

SETTINGS = Settings(network="7", routes=True, cluster_cidr=IPv4Network("10.244.0.0/16"))
WITHOUT = frozenset(Controller) - {Controller.ROUTE}
OWN, ALIAS, NOBODY = "10.0.0.2", "10.0.0.20", "10.0.0.77"
SERVER = server(1, "web-1", private_net=[{"network": 7, "ip": OWN, "alias_ips": [ALIAS]}])
LOST = server(2, "web-2", private_net=[{"network": 7, "ip": NOBODY}])
IDLE = Counter({"servers": 1, "networks/7": 1})
ASKED = Counter({"networks/7/members": 1})
MEMBERS_DOWN: dict[str, Any] = {"kind": "status", "path": "/v1/networks/7/members$", "count": None}


def network(*routes: tuple[str, str]) -> dict[str, Any]:
    """The network with these routes: destination and gateway."""
    listed = [{"destination": destination, "gateway": gateway} for destination, gateway in routes]
    return {"id": 7, "name": "net", "ip_range": "10.0.0.0/16", "routes": listed}


def give_routes(sim: Simulation, *routes: tuple[str, str]) -> None:
    project = sim.hetzner.world()["hetzner"]
    sim.hetzner.replace_world({**project, "networks": [network(*routes)]})


@pytest.fixture
def sim(simulate: Callable[..., Simulation]) -> Simulation:
    """A Node with its server, which is in the network and has an alias address there."""
    return simulate(nodes=[settled_node("web-1", 1)], project={"servers": [SERVER], "networks": [network()]})


@pytest.fixture
def readers(sim: Simulation) -> Readers:
    return sim.readers()


def asked(sim: Simulation) -> Counter[str]:
    found = Counter(entry.path.removeprefix("/v1/") for entry in sim.sent_to_hetzner())
    sim.hetzner_proxy.journal.clear()
    return found


def missing(error: ApiError) -> Section[int, Member]:
    return Section.missing(str(error))


DEAD = ("10.244.9.0/24", NOBODY)


@pytest.mark.parametrize(
    ("routes", "changes", "requests"),
    [
        pytest.param([], {}, IDLE, id="no route"),
        pytest.param([("10.244.1.0/24", OWN)], {}, IDLE, id="to a server"),
        pytest.param([("10.244.1.0/24", ALIAS)], {}, IDLE, id="to an alias address"),
        pytest.param([("10.99.0.0/24", NOBODY), ("0.0.0.0/0", NOBODY)], {}, IDLE, id="outside the cluster CIDR"),
        pytest.param([DEAD], {"cluster_cidr": None}, IDLE, id="to nobody, no cluster CIDR"),
        pytest.param([DEAD], {"routes": False}, IDLE, id="to nobody, switched off"),
        pytest.param([DEAD], {"controllers": WITHOUT}, IDLE, id="to nobody, another controller's business"),
        pytest.param([DEAD], {}, IDLE + ASKED, id="to nobody"),
        pytest.param([DEAD, ("10.244.8.0/24", NOBODY)], {}, IDLE + ASKED, id="two to nobody"),
        pytest.param([], {"network": "net"}, Counter({"servers": 1, "networks": 1}), id="network by name"),
        pytest.param([DEAD], {"network": "net"}, Counter({"servers": 1, "networks": 1}) + ASKED, id="both"),
    ],
)
def test_requests(
    sim: Simulation, readers: Readers, routes: list[tuple[str, str]], changes: dict[str, Any], requests: Counter[str]
) -> None:
    """One request for the network and its routes; its members are asked for only when a route may have to go that
    leads to an address of no server."""
    give_routes(sim, *routes)

    for _ in range(2):
        observation = observe_world(readers, replace(SETTINGS, **changes))

        assert asked(sim) == requests
        assert observation.failures == {}
        assert (observation.snapshot.members is not None) is (requests >= ASKED)
        looks_after_them = not changes.keys() & {"routes", "controllers", "cluster_cidr"}
        found = observation.snapshot.routes
        assert (None if found is None else len(found)) == (len(routes) if looks_after_them else None)


def test_sections(sim: Simulation, readers: Readers) -> None:
    """Routes are shown where there is a network. Members are a proof, and no part of the picture."""
    give_routes(sim, DEAD)

    assert list(observe_world(readers, SETTINGS).snapshot.sections()) == ["nodes", "servers", "routes", "services"]
    without = observe_world(readers, replace(SETTINGS, network=None)).snapshot
    assert (without.routes, without.members) == (None, None)
    absent = observe_world(readers, replace(SETTINGS, network="8")).snapshot
    assert (absent.routes, absent.members) == (None, None)


def test_members(sim: Simulation, readers: Readers) -> None:
    give_routes(sim, DEAD)

    members = observe_world(readers, SETTINGS).snapshot.members

    assert members is not None
    found = members.items[int(IPv4Address(OWN))]
    assert (found.ip, found.alias_ips) == (IPv4Address(OWN), (IPv4Address(ALIAS),))


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        pytest.param({"code": 503, "body": "<html>"}, Transient, id="down"),
        pytest.param({"code": 403, "body": {"error": {"code": "forbidden", "message": "no"}}}, Denied, id="forbidden"),
    ],
)
def test_members_that_cannot_be_read(
    sim: Simulation, readers: Readers, fault: dict[str, Any], expected: type[Exception]
) -> None:
    """All that depends on them is whether the route may go: it stays, a note says why, and the result says so."""
    give_routes(sim, DEAD)
    sim.spoil_hetzner(**MEMBERS_DOWN, **fault)

    observation = observe_world(readers, SETTINGS)

    snapshot, error = observation.snapshot, observation.failures["members"]
    assert (set(observation.failures), type(error)) == ({"members"}, expected)
    assert snapshot.members == missing(error)
    assert all(section.complete for section in snapshot.sections().values())
    plan = compute_plan(snapshot, SETTINGS)
    assert [change.kind for change in plan.changes if change.kind.startswith("route.")] == []
    (note,) = (note for note in plan.notes if note.key == "route/7/10.244.9.0/24")
    assert note.kind is NoteKind.UNKNOWN
    assert str(error) in note.text
    assert is_incomplete(Report(snapshot, notes=plan.notes))


def test_nobody_is_asked_where_servers_could_not_be_listed(sim: Simulation, readers: Readers) -> None:
    give_routes(sim, DEAD)
    sim.spoil_hetzner("status", code=503, body="<html>", path="/v1/servers$", count=None)

    observation = observe_world(readers, SETTINGS)

    assert asked(sim)["networks/7/members"] == 0
    assert set(observation.failures) == {"servers"}
    assert observation.snapshot.members == missing(observation.failures["servers"])


@pytest.mark.parametrize("code", [401, 503])
def test_a_network_that_cannot_be_read(sim: Simulation, readers: Readers, code: int) -> None:
    sim.spoil_hetzner("status", code=code, body="<html>", path="/v1/networks/7$", count=None)

    observation = observe_world(readers, SETTINGS)

    found = observation.snapshot
    assert isinstance(found.network, Unknown)
    assert found.routes == Section.missing(found.network.why)
    assert found.members is None
    assert set(observation.failures) == {"network"}


def later(readers: Readers, before: Observation, *kinds: str) -> Observation:
    return observe_again(readers, before, SETTINGS, frozenset(kinds))


@pytest.mark.parametrize(
    ("routes", "kinds", "now", "requests"),
    [
        pytest.param([], ["lb.network"], [], Counter(), id="an attachment changes no route"),
        pytest.param([], ["node.network_condition"], [], Counter(), id="nor does a condition"),
        pytest.param([], ["route.create"], [("10.244.1.0/24", OWN)], Counter({"networks/7": 1}), id="made"),
        pytest.param([DEAD], ["route.delete"], [], Counter({"networks/7": 1}), id="removed"),
        pytest.param([DEAD], ["route.delete"], [DEAD], Counter({"networks/7": 1}) + ASKED, id="still there"),
        pytest.param([], ["route.create"], [DEAD], Counter({"networks/7": 1}) + ASKED, id="another one appears"),
        pytest.param([DEAD], ["lb.network", "node.labels"], [DEAD], Counter(), id="members, no route touched"),
    ],
)
def test_after_a_round(
    sim: Simulation,
    readers: Readers,
    routes: list[tuple[str, str]],
    kinds: list[str],
    now: list[tuple[str, str]],
    requests: Counter[str],
) -> None:
    """Changes of routes cost one request for the network, and one for its members only while something depends on them;
    servers are not read anew, and what is not asked again is kept."""
    give_routes(sim, *routes)
    before = observe_world(readers, SETTINGS)
    give_routes(sim, *now)
    asked(sim)

    after = later(readers, before, *kinds)

    assert asked(sim) - Counter(["load_balancers"]) == requests
    assert after.snapshot.servers is before.snapshot.servers
    assert after.failures == {}
    assert after.snapshot.routes is not None
    expected = now if requests else routes
    assert list(after.snapshot.routes.items) == [destination for destination, _ in expected]
    asked_again = requests >= ASKED
    assert (after.snapshot.members is not before.snapshot.members) is asked_again


def test_members_are_as_new_as_the_routes(sim: Simulation, readers: Readers) -> None:
    """Somebody has got the address since: that is seen although servers are not read anew."""
    give_routes(sim, DEAD)
    before = observe_world(readers, SETTINGS)
    sim.hetzner.replace_world({"servers": [SERVER, LOST], "networks": [network(DEAD)]})

    after = later(readers, before, "route.create").snapshot

    assert before.snapshot.members is not None
    assert after.members is not None
    assert [int(IPv4Address(NOBODY)) in members.items for members in (before.snapshot.members, after.members)] == [
        False,
        True,
    ]


def test_a_network_that_cannot_be_read_again(sim: Simulation, readers: Readers) -> None:
    """What was known of its routes is too old to act on; once it can be read all is well again."""
    give_routes(sim, DEAD)
    before = observe_world(readers, SETTINGS)
    sim.spoil_hetzner("status", code=503, body="<html>", path="/v1/networks/7$", count=None)

    gap = later(readers, before, "route.create")

    assert isinstance(gap.snapshot.network, Unknown)
    assert gap.snapshot.routes == Section.missing(gap.snapshot.network.why)
    assert {part: type(error) for part, error in gap.failures.items()} == {"network": Transient}

    sim.hetzner_proxy.clear_faults()
    after = later(readers, gap, "route.create")

    assert isinstance(after.snapshot.network, Present)
    assert (after.snapshot.routes, after.failures) == (before.snapshot.routes, {})


def test_members_that_can_be_read_again(sim: Simulation, readers: Readers) -> None:
    give_routes(sim, DEAD)
    sim.spoil_hetzner(**MEMBERS_DOWN, code=503, body="<html>")
    before = observe_world(readers, SETTINGS)
    assert set(before.failures) == {"members"}
    sim.hetzner_proxy.clear_faults()

    assert set(later(readers, before, "lb.target").failures) == {"members"}
    after = later(readers, before, "route.create")

    assert after.failures == {}
    assert after.snapshot.members is not None
    assert after.snapshot.members.complete
