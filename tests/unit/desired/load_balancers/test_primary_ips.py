"""Primary IPs: which are asked for, whether a new load balancer can have them, what an existing one keeps, and what
becomes of them when it goes."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from desired.annotations.options import Options
from desired.load_balancers.matching import match_balancers
from desired.load_balancers.primary_ips import Purpose, asked_primary_ips
from desired.model.load_balancer import CloudBalancer, LoadBalancer, PrimaryIp
from desired.model.service import Ingress, Service
from desired.model.settings import Settings
from desired.model.snapshot import Snapshot
from desired.names import FINALIZER_BALANCER, LABEL_DELETE_AFTER, LABEL_FORMER
from desired.plan.change import Plan
from desired.plan.kinds import ChangeKind
from desired.plan.notes import NoteKind
from desired.section import UNMANAGED, Absent, Section, Unknown
from tests.balancers import (
    LOCATED,
    a_balancer,
    a_claim,
    a_primary_ip,
    a_primary_ipv6,
    a_served_service,
    a_service,
    a_world,
    annotated,
)
from tests.builders import NOW
from tests.support.balancer_plans import HERE, INSIDE, new, plan_of, said

P = "load-balancer.hetzner.cloud/"
IN_ZONE = Settings(balancer_defaults=Options(network_zone="eu-central"))
BOTH = {"public_net_ipv4": "7", "public_net_ipv6": "8"}
Found = Mapping[int | str, PrimaryIp | Absent | Unknown]


def asked_in(world: Snapshot) -> Mapping[int | str, Purpose]:
    """What is to be looked up in this world."""
    return asked_primary_ips(world, LOCATED, match_balancers(world))


def having(*held: int | None, **overrides: Any) -> CloudBalancer:
    """The Service's load balancer with Primary IPs of these ids, first IPv4, then IPv6."""
    names = ("primary_ipv4", "primary_ipv6")
    return a_balancer(**{"spec": dict(zip(names, held, strict=False))} | overrides)


def created(plan: Plan) -> LoadBalancer | None:
    """What is created; None when nothing is."""
    found = [change.after for change in plan.changes if change.kind is ChangeKind.LB_CREATE]
    return found[0] if found and isinstance(found[0], LoadBalancer) else None


@pytest.mark.parametrize(
    ("options", "found", "ids"),
    [
        pytest.param({}, {}, (UNMANAGED, UNMANAGED), id="nothing asked for"),
        pytest.param({"public_net_ipv4": "7"}, {7: a_primary_ip()}, (7, UNMANAGED), id="one of the two"),
        pytest.param({"public_net_ipv6": "8"}, {8: a_primary_ipv6()}, (UNMANAGED, 8), id="the other one"),
        pytest.param(BOTH, {7: a_primary_ip(), 8: a_primary_ipv6()}, (7, 8), id="both"),
        pytest.param({"public_net_ipv4": "web-7"}, {"web-7": a_primary_ip()}, (7, UNMANAGED), id="by its name"),
        pytest.param(
            {"public_net_ipv4": "7"}, {7: a_primary_ip(location=None, zone=None)}, (7, UNMANAGED), id="place untold"
        ),
        pytest.param({"public_net_ipv4": "7"}, {7: a_primary_ip(auto_delete=True)}, (7, UNMANAGED), id="goes along"),
    ],
)
def test_what_a_new_one_gets(options: dict[str, str], found: Found, ids: tuple[object, object]) -> None:
    """The ids go into the creation; what nobody asked for is left to Hetzner."""
    wanted = created(plan_of(new(**options), primary_ips=found))

    assert wanted is not None
    assert (wanted.primary_ipv4, wanted.primary_ipv6, wanted.location) == (*ids, "fsn1")


@pytest.mark.parametrize(
    ("found", "why"),
    [
        pytest.param(Absent(), "the project has no such Primary IP; create it, correct this, or remove it", id="none"),
        pytest.param(
            a_primary_ipv6(7),
            "Primary IP 7 web-7 (2001:db8:8::/64) is an IPv6 address; name one of IPv4",
            id="of the wrong type",
        ),
        pytest.param(
            a_primary_ip(is_blocked=True),
            "Hetzner has blocked Primary IP 7 web-7 (198.51.100.7); ask its support, or name another one",
            id="blocked",
        ),
        pytest.param(
            a_primary_ip(location="nbg1"),
            "Primary IP 7 web-7 (198.51.100.7) is bound to nbg1, and the load balancer goes to fsn1; set"
            f" {P}location to nbg1, or name one of fsn1",
            id="elsewhere",
        ),
    ],
)
def test_what_cannot_be_had(found: PrimaryIp | Absent, why: str) -> None:
    """No load balancer is created with another address than the one that was asked for."""
    plan = plan_of(new(public_net_ipv4="7"), primary_ips={7: found})

    assert created(plan) is None
    assert f"{P}public-net-ipv4 is 7: {why}" in said(plan, NoteKind.MALFORMED)


@pytest.mark.parametrize("found", [pytest.param({}, id="not asked yet"), pytest.param({7: Unknown("503")}, id="503")])
def test_unknown_is_not_absent(found: Found) -> None:
    """What could not be looked up is no error of the Service's, and nothing is created without it."""
    plan = plan_of(new(public_net_ipv4="7"), primary_ips=found)

    assert created(plan) is None
    assert said(plan, NoteKind.MALFORMED) == []
    assert len(said(plan, NoteKind.UNKNOWN)) == 1


@pytest.mark.parametrize(
    ("ipv4", "ipv6", "place", "problem"),
    [
        pytest.param(a_primary_ip(), a_primary_ipv6(), ("fsn1", None), None, id="where both are"),
        pytest.param(
            a_primary_ip(location=None), a_primary_ipv6(), ("fsn1", None), None, id="where the one is that says so"
        ),
        pytest.param(
            a_primary_ip(location=None),
            a_primary_ipv6(location=None),
            (None, "eu-central"),
            None,
            id="nobody says where",
        ),
        pytest.param(a_primary_ip(), a_primary_ipv6(location="nbg1"), None, "goes to fsn1", id="apart"),
        pytest.param(
            a_primary_ip(location="ash", zone="us-east"),
            a_primary_ipv6(),
            None,
            "goes to eu-central",
            id="in another zone",
        ),
    ],
)
def test_a_zone_leaves_the_place_to_the_address(
    ipv4: PrimaryIp, ipv6: PrimaryIp, place: tuple[str | None, str | None] | None, problem: str | None
) -> None:
    """Hetzner would choose some location of the zone, and refuse the creation where that is another one."""
    plan = plan_of(new(**BOTH), settings=IN_ZONE, primary_ips={7: ipv4, 8: ipv6})
    wanted = created(plan)

    assert (wanted and (wanted.location, wanted.zone)) == place
    texts = said(plan, NoteKind.MALFORMED)
    assert len(texts) == (0 if problem is None else 1)
    assert all((problem or "") in text for text in texts)


def test_what_goes_along_is_told() -> None:
    """An address that its owner meant to keep goes with the load balancer unless he says so in time."""
    (text,) = said(
        plan_of(new(**BOTH), primary_ips={7: a_primary_ip(), 8: a_primary_ipv6(auto_delete=True)}), NoteKind.PRIMARY_IP
    )

    assert text == (
        "Primary IP 8 web-8 (2001:db8:8::/64) is deleted together with its load balancer, as its auto_delete is on; to"
        " keep it, run hcloud primary-ip update --auto-delete=false 8"
    )


@pytest.mark.parametrize(
    ("published", "lost"),
    [
        pytest.param(("198.51.100.7", "2001:db8:8::1"), None, id="those of before"),
        pytest.param(("198.51.100.9", "2001:db8:8::1"), "198.51.100.9", id="one of them"),
    ],
)
def test_what_a_creation_costs(published: tuple[str, str], lost: str | None) -> None:
    """A Service that is created anew with its addresses of before loses none."""
    service = replace(new(**BOTH), ingress=tuple(Ingress(ip) for ip in published), finalizers=(FINALIZER_BALANCER,))
    plan = plan_of(service, primary_ips={7: a_primary_ip(), 8: a_primary_ipv6()})
    (create,) = (change for change in plan.changes if change.kind is ChangeKind.LB_CREATE)

    expected = (
        ()
        if lost is None
        else (f"the Service published {lost}, likely of a load balancer that is gone; it gets other addresses",)
    )
    assert create.consequences == expected


KEEPS = (
    "addresses are chosen at creation only; to move to another one, let a second Service have it, change DNS records"
)


@pytest.mark.parametrize(
    ("value", "held", "found", "text"),
    [
        pytest.param(None, 7, {}, "", id="nothing asked for"),
        pytest.param("7", 7, {}, "", id="the one that it has"),
        pytest.param("web-7", 7, {"web-7": a_primary_ip()}, "", id="the one that it has, by its name"),
        pytest.param("web-7", 7, {}, "", id="by a name that could not be looked up"),
        pytest.param(
            "9",
            7,
            {},
            f"{P}public-net-ipv4 is 9, and load balancer 42 keeps 203.0.113.200, Primary IP 7: {KEEPS}, and delete"
            " this Service then",
            id="another one",
        ),
        pytest.param(
            "9",
            None,
            {},
            f"{P}public-net-ipv4 is 9, and load balancer 42 keeps 203.0.113.200, an address that Hetzner manages:"
            f" {KEEPS}, and delete this Service then",
            id="it has none",
        ),
        pytest.param(
            "web-9",
            7,
            {"web-9": Absent()},
            f"{P}public-net-ipv4 is web-9, and load balancer 42 keeps 203.0.113.200, Primary IP 7: {KEEPS}, and"
            " delete this Service then",
            id="one that nobody has, by its name",
        ),
        pytest.param(
            "-4",
            7,
            {},
            f"{P}public-net-ipv4 is '-4': expect the id or the name of a Primary IP, such as 4711; correct it, or"
            " remove it; load balancer 42 keeps 203.0.113.200, Primary IP 7",
            id="nonsense",
        ),
        pytest.param(
            "7",
            7,
            {7: a_primary_ip(auto_delete=True)},
            "Primary IP 7 web-7 (198.51.100.7) is deleted together with its load balancer, as its auto_delete is"
            " on; to keep it, run hcloud primary-ip update --auto-delete=false 7",
            id="one that goes along",
        ),
    ],
)
def test_an_existing_one_keeps_its_addresses(value: str | None, held: int | None, found: Found, text: str) -> None:
    """Whatever the annotation says: another address would be another load balancer. It stays in sync all the same."""
    options = {} if value is None else {"public_net_ipv4": value}
    service = a_served_service(claim=a_claim(annotations=annotated(**options)))
    plan = plan_of(service, having(held, listeners=()), primary_ips=found)

    assert said(plan, NoteKind.PRIMARY_IP) == [text] * bool(text)
    assert said(plan, NoteKind.MALFORMED) == []
    assert [change.kind for change in plan.changes] == [ChangeKind.LB_LISTENER]


def test_neither_its_public_interface_nor_its_annotations_stop_an_existing_one() -> None:
    """What a creation would be refused for says nothing about a load balancer that has its addresses."""
    options = annotated(**BOTH, disable_public_network="true")
    balancer = having(7, 8, listeners=(), attachments=(HERE,))
    plan = plan_of(a_served_service(claim=a_claim(annotations=options)), balancer, **INSIDE)

    assert ChangeKind.LB_LISTENER in {change.kind for change in plan.changes}


LOST = "as its auto_delete is on: the address is lost for good"


@pytest.mark.parametrize(
    ("held", "found", "texts"),
    [
        pytest.param(
            (None, None), {}, ["its public addresses 203.0.113.200 and 2001:db8::200 are lost for good"], id="none"
        ),
        pytest.param(
            (7, None),
            {7: a_primary_ip()},
            [
                "its public addresses 2001:db8::200 are lost for good",
                "Primary IP 7 (203.0.113.200) stays, and is paid for",
            ],
            id="one of the two",
        ),
        pytest.param(
            (7, 8),
            {7: a_primary_ip(auto_delete=True)},
            [
                f"Primary IP 7 (203.0.113.200) is deleted with it, {LOST}",
                "Primary IP 8 (2001:db8::200) is deleted with it if its auto_delete is on, which is not known here",
            ],
            id="one goes, of one it is not known",
        ),
    ],
)
def test_what_a_deletion_costs(held: tuple[int | None, int | None], found: Found, texts: list[str]) -> None:
    """What survives is what the API says of it now."""
    plan = plan_of(a_served_service(deleted_at=NOW), having(*held), primary_ips=found)
    (deletion,) = (change for change in plan.changes if change.kind is ChangeKind.LB_DELETE)

    assert list(deletion.consequences) == texts


EARLIER, LATER = NOW - timedelta(hours=1), NOW + timedelta(hours=1)


def released(due: str, *held: int | None) -> CloudBalancer:
    """One that was released with Service default/web, and is deleted after ``due``."""
    labels = {**a_balancer(service_uid=None).spec.labels, LABEL_FORMER: "default.web", LABEL_DELETE_AFTER: due}
    balancer = having(*held)
    return replace(balancer, spec=replace(balancer.spec, labels=labels))


def asking(**options: str) -> Service:
    """Another Service, without a load balancer, which asks for these."""
    return a_service("api", uid="1f2e3d4c-5b6a-7980-aabb-ccddeeff0022", claim=a_claim(annotations=annotated(**options)))


@pytest.mark.parametrize(
    ("services", "balancers", "expected"),
    [
        pytest.param([a_served_service()], [a_balancer()], {}, id="nobody asks"),
        pytest.param([a_served_service()], [having(7, 8)], {}, id="one that was adopted has them"),
        pytest.param([asking(**BOTH)], [], {7: Purpose.CREATION, 8: Purpose.CREATION}, id="to be created"),
        pytest.param([asking(public_net_ipv4="web")], [], {"web": Purpose.CREATION}, id="to be created, by name"),
        pytest.param([asking(public_net_ipv4="-4")], [], {}, id="nonsense"),
        pytest.param(
            [a_served_service(claim=a_claim(annotations=annotated(public_net_ipv4="7", public_net_ipv6="9")))],
            [having(7, 8)],
            {7: Purpose.UPKEEP},
            id="there, and it has another one",
        ),
        pytest.param(
            [a_served_service(claim=a_claim(annotations=annotated(public_net_ipv4="web", public_net_ipv6="six")))],
            [having(7, None)],
            {"web": Purpose.UPKEEP},
            id="there, by names",
        ),
        pytest.param(
            [a_served_service(deleted_at=NOW)],
            [having(7, 8)],
            {7: Purpose.DELETION, 8: Purpose.DELETION},
            id="to be deleted",
        ),
        pytest.param(
            [asking(public_net_ipv4="8")],
            [released("20200101T000000Z", 7, 8)],
            {7: Purpose.DELETION, 8: Purpose.DELETION},
            id="due, and somebody wants one of them",
        ),
        pytest.param(
            [asking(public_net_ipv4="8")],
            [released("20990101T000000Z", 7, 8)],
            {8: Purpose.CREATION, 7: Purpose.UPKEEP},
            id="not due",
        ),
    ],
)
def test_who_is_looked_up(
    services: list[Service], balancers: list[CloudBalancer], expected: dict[int | str, Purpose]
) -> None:
    """Only what something depends on, the most urgent first: each look-up is a call."""
    asked = asked_in(a_world(services, balancers))

    assert (list(asked), asked) == (list(expected), expected)


def test_nothing_is_looked_up_beside_a_list_with_a_gap() -> None:
    """Which load balancers are to be created is not known then."""
    world = replace(a_world([asking(**BOTH)]), load_balancers=Section.missing("503"))

    assert asked_in(world) == {}
