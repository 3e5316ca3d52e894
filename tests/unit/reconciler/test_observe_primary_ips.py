"""Primary IPs: which requests they cost, what is understood of the answers, and how long these are used."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from actuators.http.hetzner import HetznerReader
from desired.load_balancers.matching import match_balancers
from desired.load_balancers.primary_ips import asked_primary_ips
from desired.model.load_balancer import CloudBalancer, PrimaryIp
from desired.model.service import Service
from desired.model.snapshot import Snapshot
from desired.section import Absent, Unknown
from reconciler.observe.primary_ips import MOST_AT_ONCE, PrimaryIps
from tests.balancers import LOCATED, a_balancer, a_claim, a_primary_ip, a_served_service, a_service, a_world, annotated
from tests.builders import NOW
from tests.support.simulators import Simulation

FREE = {"id": 7, "name": "web", "ip": "198.51.100.7"}
SIX = {"id": 8, "name": "six", "type": "ipv6", "ip": "2001:db8:8::/64", "auto_delete": True}


@pytest.fixture
def sim(simulate: Callable[..., Simulation]) -> Simulation:
    return simulate(project={"primary_ips": [FREE, SIX], "servers": [{"id": 1, "name": "web-1"}]})


def reader(sim: Simulation) -> HetznerReader:
    return HetznerReader(sim.hetzner_connection(read_only=True, attempts=1))


def new(number: int = 0, **options: str) -> Service:
    return a_service(
        f"web-{number}",
        uid=f"{number:08d}-0000-0000-0000-000000000000",
        claim=a_claim(annotations=annotated(**options)),
    )


def served(**options: str) -> Service:
    return a_served_service(claim=a_claim(annotations=annotated(**options)))


def world(*services: Service, balancers: tuple[CloudBalancer, ...] = (), after_s: float = 0) -> Snapshot:
    return a_world(services, balancers, taken_at=NOW + timedelta(seconds=after_s))


def asked(sim: Simulation) -> list[str]:
    paths = sorted(entry.path.removeprefix("/v1") for entry in sim.sent_to_hetzner())
    sim.hetzner_proxy.journal.clear()
    return paths


def looked_up(
    sim: Simulation, snapshot: Snapshot, primary_ips: PrimaryIps | None = None
) -> Mapping[int | str, PrimaryIp | Absent | Unknown]:
    """What is known of the Primary IPs that something in this snapshot depends on."""
    wanted = asked_primary_ips(snapshot, LOCATED, match_balancers(snapshot))
    return (primary_ips or PrimaryIps()).look_up(reader(sim), snapshot, wanted)


def test_one_request_each(sim: Simulation) -> None:
    snapshot = world(
        new(1, public_net_ipv4="7"), new(2, public_net_ipv4="web", public_net_ipv6="8"), new(3, public_net_ipv6="99")
    )

    found = looked_up(sim, snapshot)

    free = a_primary_ip(7, name="web", assignee_type="unassigned")
    six = found[8]
    assert found == {7: free, "web": free, 8: six, 99: Absent()}
    assert isinstance(six, PrimaryIp)
    assert (six.version, str(six.network), six.auto_delete) == (6, "2001:db8:8::/64", True)
    assert len(asked(sim)) == 4


def test_a_server_has_it(sim: Simulation) -> None:
    held = sim.hetzner.world()["hetzner"]["servers"][0]["public_net"]["ipv4"]["id"]
    found = looked_up(sim, world(new(public_net_ipv4=str(held))))[held]

    assert isinstance(found, PrimaryIp)
    assert (found.assignee_id, found.assignee_type) == (1, "server")


def test_nothing_to_ask(sim: Simulation) -> None:
    assert looked_up(sim, world(new(), served(), balancers=(a_balancer(),))) == {}
    assert asked(sim) == []


def times(sim: Simulation, passes: int, *services: Service, balancers: tuple[CloudBalancer, ...] = ()) -> list[int]:
    primary_ips, found = PrimaryIps(), []
    for number in range(passes):
        looked_up(sim, world(*services, balancers=balancers, after_s=15 * number), primary_ips)
        found += [number] * len(asked(sim))
    return found


def test_an_answer_is_used_for_a_while(sim: Simulation) -> None:
    """While a creation waits it is asked for after 30 s, a minute, two, four, and every five minutes then; for a note
    every hour in the end."""
    has = a_balancer(spec={"primary_ipv4": 7})

    assert times(sim, 80, new(public_net_ipv4="7")) == [0, 2, 6, 14, 30, 50, 70]
    assert times(sim, 80, served(public_net_ipv4="7"), balancers=(has,)) == [0, 2, 6, 14, 30, 62]


def test_a_new_purpose_asks_anew(sim: Simulation) -> None:
    """What was known for a note is too old for a deletion, and that is too old for the next creation; the answer before
    a creation serves for the notes after it."""
    primary_ips, has = PrimaryIps(), a_balancer(spec={"primary_ipv4": 7})
    steps = [
        (world(served(public_net_ipv4="7"), balancers=(has,)), 1),
        (world(a_served_service(deleted_at=NOW), balancers=(has,)), 1),
        (world(new(public_net_ipv4="7")), 1),
        (world(served(public_net_ipv4="7"), balancers=(has,)), 0),
    ]

    for snapshot, requests in steps:
        assert looked_up(sim, snapshot, primary_ips)[7] == a_primary_ip(7, name="web", assignee_type="unassigned")
        assert len(asked(sim)) == requests


def test_ten_a_pass(sim: Simulation) -> None:
    """However many Services ask, a pass asks for ten, and the next one goes on."""
    primary_ips = PrimaryIps()
    snapshot = world(*(new(number, public_net_ipv4=str(100 + number)) for number in range(25)))
    known = [len(looked_up(sim, snapshot, primary_ips)) for _ in range(4)]

    assert MOST_AT_ONCE == 10
    assert known == [10, 20, 25, 25]
    assert len(asked(sim)) == 25


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param({"kind": "reset"}, id="no connection"),
        pytest.param({"kind": "status", "code": 503, "body": "<html>"}, id="down"),
        pytest.param({"kind": "status", "code": 404, "body": "<html>"}, id="a proxy's 404 is no absence"),
        pytest.param({"kind": "status", "code": 200, "body": "<html>"}, id="a page of HTML"),
        pytest.param({"kind": "status", "code": 200, "body": {"primary_ip": {"id": 7}}}, id="half an object"),
        pytest.param(
            {"kind": "status", "code": 200, "body": {"primary_ip": {**FREE, "type": "ipv8", "auto_delete": False}}},
            id="a type of tomorrow",
        ),
    ],
)
def test_an_answer_that_is_none(sim: Simulation, fault: dict[str, Any]) -> None:
    primary_ips, snapshot = PrimaryIps(), world(new(public_net_ipv4="7"))
    sim.spoil_hetzner(**fault, path="/v1/primary_ips/7$")

    assert isinstance(looked_up(sim, snapshot, primary_ips)[7], Unknown)
    assert isinstance(looked_up(sim, snapshot, primary_ips)[7], PrimaryIp)


def test_another_token(sim: Simulation) -> None:
    primary_ips, snapshot = PrimaryIps(), world(new(public_net_ipv4="7"))
    looked_up(sim, snapshot, primary_ips)
    asked(sim)

    primary_ips.forget()
    looked_up(sim, replace(snapshot), primary_ips)

    assert len(asked(sim)) == 1
