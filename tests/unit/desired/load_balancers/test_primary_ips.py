"""Primary IPs: which are asked for, whether a new load balancer can have them, what an existing one keeps, and what
becomes of them when it goes."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from desired.annotations.options import OPTIONS, Options
from desired.load_balancers.matching import match_balancers
from desired.load_balancers.primary_ips import Purpose, asked_primary_ips
from desired.model.load_balancer import CloudBalancer, LoadBalancer, PrimaryIp
from desired.model.service import Ingress, Service
from desired.model.settings import Settings
from desired.names import FINALIZER_BALANCER, LABEL_ADOPTED
from desired.plan.change import Plan
from desired.plan.kinds import ChangeKind
from desired.plan.notes import NoteKind
from desired.rules import load_balancer_changes as of_changes
from desired.rules import load_balancers as rules
from desired.section import UNMANAGED, Absent, Section, Unknown
from tests.balancers import LOCATED, a_balancer, a_claim, a_primary_ip, a_primary_ipv6, a_service, a_world, annotated
from tests.builders import NOW
from tests.support.balancer_plans import asking, new, plan_of, said
from tests.support.rows import rows

IPV4 = OPTIONS["public_net_ipv4"].full_key
IN_ZONE = Settings(balancer_defaults=Options(network_zone="eu-central"))
BOTH, ONE = {"public_net_ipv4": "7", "public_net_ipv6": "8"}, {"public_net_ipv4": "7"}
FOUR, GOES = a_primary_ip(), a_primary_ip(auto_delete=True)
Found = Mapping[int | str, PrimaryIp | Absent | Unknown]


def having(*held: int | None, **overrides: Any) -> CloudBalancer:
    """The Service's load balancer with Primary IPs of these ids, first IPv4, then IPv6."""
    names = ("primary_ipv4", "primary_ipv6")
    return a_balancer(**{"spec": dict(zip(names, held, strict=False))} | overrides)


def created(plan: Plan) -> LoadBalancer | None:
    found = [change.after for change in plan.changes if change.kind is ChangeKind.LB_CREATE]
    return found[0] if found and isinstance(found[0], LoadBalancer) else None


def consequences(plan: Plan, kind: ChangeKind) -> tuple[str, ...]:
    (change,) = (change for change in plan.changes if change.kind is kind)
    return change.consequences


@rows("options found ids", {
    "by its name": ({"public_net_ipv4": "web-7"}, {"web-7": FOUR}, (7, UNMANAGED)),
    "place untold": (ONE, {7: a_primary_ip(location=None, zone=None)}, (7, UNMANAGED)),
    "goes along": (ONE, {7: GOES}, (7, UNMANAGED)),
})  # fmt: skip
def test_primary_ips_of_a_creation(options: dict[str, str], found: Found, ids: tuple[object, object]) -> None:
    """The ids go into the creation; what nobody asked for is left to Hetzner. What is deleted with the load balancer is
    told: its owner may mean to keep it."""
    plan = plan_of(new(**options), primary_ips=found)
    wanted = created(plan)
    assert wanted is not None
    assert (wanted.primary_ipv4, wanted.primary_ipv6, wanted.location) == (*ids, "fsn1")
    goes = rules.PRIMARY_IP_GOES_ALONG.text(address=GOES.shown, primary_ip=7)
    assert said(plan, NoteKind.PRIMARY_IP) == [goes] * (found.get(7) is GOES)


NAMED: dict[str, Any] = {"option": IPV4, "wanted": 7, "address": FOUR.shown, "location": "nbg1"}
VERSION_6 = NAMED | {"address": a_primary_ipv6(7).shown, "version": 6, "needed": 4}


@rows("found why", {
    "none": (Absent(), rules.PRIMARY_IP_MISSING.text(**NAMED)),
    "of the wrong type": (a_primary_ipv6(7), rules.PRIMARY_IP_OF_ANOTHER_VERSION.text(**VERSION_6)),
    "blocked": (a_primary_ip(is_blocked=True), rules.PRIMARY_IP_BLOCKED.text(**NAMED)),
    "elsewhere": (a_primary_ip(location="nbg1"), rules.PRIMARY_IP_ELSEWHERE.text(**NAMED, place="fsn1")),
    "not asked yet": (None, None),
    "503": (Unknown("503"), None),
})  # fmt: skip
def test_primary_ips_that_cannot_be_had(found: PrimaryIp | Absent | Unknown | None, why: str | None) -> None:
    """No load balancer is created with another address than the one that was asked for. What could not be looked up is
    no error of the Service's, and nothing is created without it."""
    plan = plan_of(new(**ONE), primary_ips={} if found is None else {7: found})
    assert created(plan) is None
    assert said(plan, NoteKind.MALFORMED) == [why] * (why is not None)
    assert len(said(plan, NoteKind.UNKNOWN)) == (why is None)


NOWHERE, FAR_SIX = a_primary_ip(location=None), a_primary_ipv6(location="nbg1")


@rows("ipv4 ipv6 place problem", {
    "where the one is that says so": (NOWHERE, a_primary_ipv6(), ("fsn1", None), None),
    "nobody says where": (NOWHERE, a_primary_ipv6(location=None), (None, "eu-central"), None),
    "nobody says the zone": (a_primary_ip(location=None, zone=None), a_primary_ipv6(), ("fsn1", None), None),
    "apart": (FOUR, FAR_SIX, None, "is created in fsn1"),
    "in another zone": (a_primary_ip(location="ash", zone="us-east"), a_primary_ipv6(), None,
        "is created in eu-central"),
})  # fmt: skip
def test_a_zone_leaves_the_place_to_the_address(
    ipv4: PrimaryIp, ipv6: PrimaryIp, place: tuple[str | None, str | None] | None, problem: str | None
) -> None:
    """Hetzner would choose some location of the zone, and refuse the creation where that is another one."""
    plan = plan_of(new(**BOTH), settings=IN_ZONE, primary_ips={7: ipv4, 8: ipv6})
    wanted = created(plan)
    assert (wanted and (wanted.location, wanted.zone)) == place
    assert [problem in text for text in said(plan, NoteKind.MALFORMED) if problem] == [True] * bool(problem)


@rows("published lost", {
    "those of before": (("198.51.100.7", "2001:db8:8::1"), None),
    "one of them": (("198.51.100.9", "2001:db8:8::1"), "198.51.100.9"),
})  # fmt: skip
def test_addresses_lost_by_a_creation(published: tuple[str, str], lost: str | None) -> None:
    service = replace(new(**BOTH), ingress=tuple(map(Ingress, published)), finalizers=(FINALIZER_BALANCER,))
    plan = plan_of(service, primary_ips={7: FOUR, 8: a_primary_ipv6()})
    change = of_changes.ADDRESSES_LIKELY_CHANGE.text(addresses=lost) if lost else ""
    assert consequences(plan, ChangeKind.LB_CREATE) == (change,) * bool(lost)


def keeps(wanted: str | int, kind: str = "Primary IP 7") -> str:
    """What is said of an existing load balancer that has another address."""
    facts = {"option": IPV4, "wanted": wanted, "balancer": 42, "address": f"203.0.113.200, {kind}"}
    return rules.PRIMARY_IP_NOT_TAKEN.text(**facts)


@rows("value held found text", {
    "the one that it has, by its name": ("web-7", 7, {"web-7": FOUR}, ""),
    "another one, by its name": ("web-9", 7, {"web-9": a_primary_ip(9)}, keeps("web-9")),
    "it has none": ("9", None, {}, keeps(9, "an address that Hetzner manages")),
    "nonsense": ("-4", 7, {}, "; load balancer 42 keeps 203.0.113.200, Primary IP 7"),
    "one that goes along": ("7", 7, {7: GOES}, rules.PRIMARY_IP_GOES_ALONG.text(address=GOES.shown, primary_ip=7)),
})  # fmt: skip
def test_an_existing_one_keeps_its_addresses(value: str, held: int | None, found: Found, text: str) -> None:
    """Whatever the annotation says: another address would be another load balancer. It stays in sync all the same."""
    plan = plan_of(asking(public_net_ipv4=value), having(held, listeners=()), primary_ips=found)
    told = said(plan, NoteKind.PRIMARY_IP)
    assert len(told) == bool(text)
    assert all(each.endswith(text) for each in told)
    assert said(plan, NoteKind.MALFORMED) == []
    assert [change.kind for change in plan.changes] == [ChangeKind.LB_LISTENER]


V4, V6 = "203.0.113.200", "2001:db8::200"
STAYS, MAY_GO = rules.PRIMARY_IP_STAYS, rules.PRIMARY_IP_MAY_GO


@rows("held found texts", {
    "one of the two": ((7, None), {7: FOUR}, [rules.ADDRESSES_GO.text(addresses=f"address {V6}"),
        STAYS.text(primary_ip=7, address=V4)]),
    "one goes, of one it is not known": ((7, 8), {7: GOES},
        [rules.PRIMARY_IP_GOES.text(primary_ip=7, address=V4), MAY_GO.text(primary_ip=8, address=V6)]),
})  # fmt: skip
def test_addresses_lost_by_a_deletion(held: tuple[int | None, int | None], found: Found, texts: list[str]) -> None:
    plan = plan_of(replace(asking(), deleted_at=NOW), having(*held), primary_ips=found)
    assert list(consequences(plan, ChangeKind.LB_DELETE)) == texts


def vanished(*held: int | None, **labels: str) -> CloudBalancer:
    labels = {**a_balancer(service_uid="gone").spec.labels, **labels}
    balancer = having(*held)
    return replace(balancer, spec=replace(balancer.spec, labels=labels))


def another(**options: str) -> Service:
    """Another Service, without a load balancer, which asks for these."""
    return a_service("api", uid="1f2e3d4c-5b6a-7980-aabb-ccddeeff0022", claim=a_claim(annotations=annotated(**options)))


CREATION, UPKEEP, DELETION = Purpose.CREATION, Purpose.UPKEEP, Purpose.DELETION
OTHER_SIX = asking(public_net_ipv4="7", public_net_ipv6="9")
WANTS_8 = another(public_net_ipv4="8")


@rows("services balancers expected", {
    "to be created, by name": ([another(public_net_ipv4="web")], [], {"web": CREATION}),
    "there, with addresses of Hetzner's": ([asking(public_net_ipv4="web", public_net_ipv6="9")], [having()], {}),
    "there, and it has another one": ([OTHER_SIX], [having(7, 8)], {7: UPKEEP}),
    "to be deleted": ([replace(asking(), deleted_at=NOW)], [having(7, 8)], {7: DELETION, 8: DELETION}),
    "its Service has vanished, and wanted": ([WANTS_8], [vanished(7, 8)], {7: DELETION, 8: DELETION}),
    "adopted, its Service has vanished": ([WANTS_8], [vanished(7, 8, **{LABEL_ADOPTED: "true"})], {8: CREATION}),
})  # fmt: skip
def test_look_ups(services: list[Service], balancers: list[CloudBalancer], expected: dict[int | str, Purpose]) -> None:
    """Only what something depends on, the most urgent first: each look-up is a call. Nothing beside a list with a gap:
    which load balancers are to be created is not known then."""
    world = a_world(services, balancers)
    gap = replace(world, load_balancers=Section.missing("503"))
    asked = asked_primary_ips(world, LOCATED, match_balancers(world))
    assert (list(asked), asked) == (list(expected), expected)
    assert asked_primary_ips(gap, LOCATED, match_balancers(gap)) == {}
