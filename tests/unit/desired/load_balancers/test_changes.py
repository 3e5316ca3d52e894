"""The changes around a load balancer: claim, creation, adoption, status, deletion, release."""

from collections.abc import Mapping
from dataclasses import replace
from ipaddress import IPv4Address, IPv4Network
from typing import Any

import pytest

from desired.annotations.choices import Algorithm, Protocol
from desired.annotations.claims import ClaimedPort
from desired.annotations.options import OPTIONS
from desired.model.load_balancer import (
    KNOWN_AFTER_APPLY,
    Attachment,
    CloudBalancer,
    HealthCheck,
    HttpCheck,
    HttpOptions,
    Issuance,
    LoadBalancer,
    ManagedCertificate,
    Owner,
    ServerTarget,
)
from desired.model.service import Ingress, Service, ServiceCondition
from desired.model.settings import Policy
from desired.model.snapshot import Network
from desired.names import FINALIZER_BALANCER, LABEL_ADOPTED, LABEL_CLUSTER_UID, LABEL_SERVICE_UID
from desired.plan.change import Change, Claimed, GuardName
from desired.plan.notes import NoteKind
from desired.plan.ordering import not_ready
from desired.plan.setbacks import Setbacks
from desired.planner import compute_plan
from desired.section import UNMANAGED, Present, Section, Unknown
from tests.balancers import (
    DEFAULT_NAME,
    IN_NETWORK,
    LOCATED,
    NETWORK,
    SERVICE_UID,
    a_balancer,
    a_certificate,
    a_claim,
    a_listener,
    a_served_service,
    a_service,
    a_world,
    annotated,
)
from tests.builders import CLUSTER_UID, NOW, a_joining_node, a_server, incomplete
from tests.support.balancer_changes import (
    BALANCER,
    CLAIM,
    OURS,
    PUBLISH,
    SERVICE,
    a_creation,
    a_difference,
    a_part,
    a_publication,
    a_wish,
    an_adoption,
)
from tests.support.balancer_plans import HERE, INSIDE, asking, fleet, in_turn, new, plan_of, private, public, said
from tests.support.judging import judge

V4, V6 = Ingress("203.0.113.200", ip_mode="VIP"), Ingress("2001:db8::200", ip_mode="VIP")
INSIDE_ENTRY = Ingress("10.0.0.200", ip_mode="VIP")
SMALLEST = LoadBalancer(
    DEFAULT_NAME,
    {LABEL_SERVICE_UID: SERVICE_UID, LABEL_CLUSTER_UID: CLUSTER_UID},
    "lb11",
    location="fsn1",
    attachment=None,
    listeners={80: a_wish(80, 30080)},
    targets=frozenset(public(1)),
)
"""What is created with LOCATED when nothing is asked for."""
RANGE = IPv4Network("10.0.0.0/24")
PART: Section[int, CloudBalancer] = incomplete(Section())
UNREADABLE: Section[int, CloudBalancer] = Section(unreadable={42: "load balancer 42 has no name"})
DEAD_UID = "deaddead-0000-4000-8000-000000000000"


def created(service: Service, **world: Any) -> LoadBalancer:
    """The body of the one creation."""
    after = plan_of(service, **world).by_key[BALANCER].after
    assert isinstance(after, LoadBalancer)
    return after


def test_a_new_service() -> None:
    """Claim, one creation with everything in it, and a status that only then is known."""
    why = "Service default/web wants a load balancer and has none"
    create = a_difference(BALANCER, "lb.create", None, SMALLEST, why, depends_on=(CLAIM.key,))
    assert plan_of(new()).changes == (create, replace(CLAIM, serves=(BALANCER,)), PUBLISH)


@pytest.mark.parametrize(
    ("options", "world", "fields"),
    [
        pytest.param({"name": "shop"}, {}, {"name": "shop"}, id="name"),
        pytest.param({"type": "lb21"}, {}, {"type": "lb21"}, id="type"),
        pytest.param({"location": "nbg1"}, {}, {"location": "nbg1"}, id="location"),
        pytest.param({"location": "", "network_zone": "us-east"}, {}, {"location": None, "zone": "us-east"}, id="zone"),
        pytest.param({"network_zone": "us-east"}, {}, {}, id="location-wins"),
        pytest.param(
            {"algorithm_type": "least_connections"}, {}, {"algorithm": Algorithm.LEAST_CONNECTIONS}, id="algorithm"
        ),
        pytest.param({"disable_public_network": "false"}, {}, {"public_interface": True}, id="public"),
        pytest.param({}, INSIDE, {"attachment": Attachment(7)}, id="in-a-network"),
        pytest.param(
            {"use_private_ip": "true", "disable_public_network": "true"},
            INSIDE,
            {"attachment": Attachment(7), "targets": frozenset(private(1)), "public_interface": False},
            id="internal",
        ),
        pytest.param(
            {"private_ipv4": "10.0.0.9"},
            INSIDE,
            {"attachment": UNMANAGED, "targets": frozenset(public(1))},
            id="a-private-address",
        ),
        pytest.param(
            {"private_subnet_ip_range": "10.0.0.0/24"}, INSIDE, {"attachment": UNMANAGED}, id="a-private-range"
        ),
        pytest.param(
            {"private_ipv4": "10.0.0.9", "use_private_ip": "true"},
            INSIDE,
            {"attachment": UNMANAGED, "targets": frozenset()},
            id="a-private-address-and-private-targets",
        ),
        pytest.param(
            {}, {"network": Unknown("500"), "settings": IN_NETWORK}, {"attachment": UNMANAGED}, id="a-network-unread"
        ),
        pytest.param(
            {"use_private_ip": "true"},
            {"network": Unknown("500"), "settings": IN_NETWORK},
            {"attachment": UNMANAGED, "targets": UNMANAGED},
            id="private-targets-of-a-network-unread",
        ),
        pytest.param({"ipv4_rdns": "a.example.com", "ipv6_rdns": "b.example.com"}, {}, {}, id="reverse-names-later"),
        pytest.param({}, {"nodes": []}, {"targets": frozenset()}, id="no-node"),
        pytest.param(
            {"uses_proxyprotocol": "true", "health_check_interval": "5s"},
            {},
            {
                "listeners": {
                    80: replace(
                        a_wish(80, 30080),
                        proxyprotocol=True,
                        health_check=HealthCheck(Protocol.TCP, 30080, interval_s=5),
                    )
                }
            },
            id="what-is-said-of-the-port",
        ),
        pytest.param(
            {"protocol": "http", "health_check_protocol": "https", "http_status_codes": "200"},
            {},
            {
                "listeners": {
                    80: replace(
                        a_wish(80, 30080, Protocol.HTTP, HttpOptions()),
                        health_check=HealthCheck(Protocol.HTTP, 30080, http=HttpCheck(status_codes=("200",), tls=True)),
                    )
                }
            },
            id="http",
        ),
    ],
)
def test_what_is_created(options: dict[str, str], world: dict[str, Any], fields: dict[str, Any]) -> None:
    """One request holds all that is asked for, save what its body has no field for."""
    found = created(new(**options), **fleet(1) | world)
    if "network" not in world and world.get("settings", LOCATED) is LOCATED:
        assert found == replace(SMALLEST, **fields)
    assert {name: getattr(found, name) for name in fields} == fields
    assert (found.ipv4_rdns, found.ipv6_rdns) == (UNMANAGED, UNMANAGED)


def test_a_private_address_comes_after_the_creation() -> None:
    """Created without a network, attached with the address, then the targets; each in its round."""
    service = asking(use_private_ip="true", private_ipv4="10.0.0.9", private_subnet_ip_range="10.0.0.0/24")
    there = a_balancer(targets=())
    plan = plan_of(service, there, **INSIDE | fleet(1))
    assert in_turn(plan) == ["network/7", "target/server:1"]
    assert plan.by_key[f"{BALANCER}/network/7"].after == Attachment(7, IPv4Address("10.0.0.9"), RANGE)


def test_reverse_names_come_after_the_creation() -> None:
    """Only then there is an address that could be named. They are shown before, with what is known of them."""
    service = asking(ipv4_rdns="a.example.com", ipv6_rdns="b.example.com")
    plan = plan_of(service)
    named = [plan.by_key[f"{BALANCER}/rdns/{family}"] for family in ("ipv4", "ipv6")]
    assert [(change.before, change.after) for change in named] == [
        (KNOWN_AFTER_APPLY, "a.example.com"),
        (KNOWN_AFTER_APPLY, "b.example.com"),
    ]
    assert not_ready(plan).keys() >= {change.key for change in named}
    assert in_turn(plan_of(service, a_balancer())) == ["rdns/ipv4", "rdns/ipv6"]


def test_a_node_that_joins_is_a_target_of_the_creation() -> None:
    """A new cluster costs no second round: its targets are what its Nodes will be."""
    world = {"nodes": [a_joining_node("web-1")], "servers": [a_server(1, "web-1")]}
    assert created(new(), **world).targets == frozenset(public(1))


WAS_OURS = "the Service was reachable as {}; it gets other addresses"
LIKELY = "the Service published {}, likely of a load balancer that is gone; it gets other addresses"
IN_RANGE = Present(Network(7, "private", (), ip_range=IPv4Network("10.0.0.0/16")))


@pytest.mark.parametrize(
    ("published", "condition", "world", "expected"),
    [
        pytest.param((V4, V6), "AddressPublished", {}, WAS_OURS.format("203.0.113.200, 2001:db8::200"), id="ours"),
        pytest.param((V4,), "NoTargets", {}, WAS_OURS.format("203.0.113.200"), id="ours, useless"),
        pytest.param((V4,), None, {}, LIKELY.format("203.0.113.200"), id="hccm's"),
        pytest.param((V4,), "OtherAddressPublished", {}, LIKELY.format("203.0.113.200"), id="beside another's"),
        pytest.param((Ingress("10.20.0.5"),), None, {}, None, id="Cilium's"),
        pytest.param((Ingress("10.20.0.5"),), "AddressPublished", {}, None, id="Cilium's after ours"),
        pytest.param((Ingress("10.20.0.5"),), None, {"network": IN_RANGE}, None, id="outside of the network"),
        pytest.param((Ingress("10.0.9.5"),), None, {"network": IN_RANGE}, LIKELY.format("10.0.9.5"), id="in it"),
        pytest.param(
            (Ingress("10.20.0.5"),), None, {"network": Unknown("timed out")}, LIKELY.format("10.20.0.5"), id="unknown"
        ),
        pytest.param((Ingress("100.64.0.1"), Ingress("fd00::1"), Ingress("::1")), None, {}, None, id="an overlay's"),
        pytest.param((Ingress("203.0.113.1"),), None, fleet(1), None, id="a Node's, as servicelb publishes"),
        pytest.param((Ingress(hostname="x.example.net"),), None, {}, None, id="a hostname"),
        pytest.param(
            (Ingress(hostname="x.example.net"),),
            "AddressPublished",
            {},
            WAS_OURS.format("x.example.net"),
            id="a hostname that was ours",
        ),
        pytest.param((Ingress("no address"),), "AddressPublished", {}, None, id="no address"),
    ],
)
def test_a_service_that_was_reachable(
    published: tuple[Ingress, ...], condition: str | None, world: Mapping[str, Any], expected: str | None
) -> None:
    """Somebody deleted its load balancer: other addresses are worth a warning. The finalizer is no evidence of one, as
    k3s' servicelb sets it as well."""
    conditions = () if condition is None else (ServiceCondition("LoadBalancerReady", "True", condition),)
    plan = plan_of(replace(asking(), ingress=published, conditions=conditions), **world)
    assert CLAIM.key not in plan.by_key
    assert plan.by_key[BALANCER].consequences == (() if expected is None else (expected,))
    assert plan.by_key[PUBLISH.key].before == published


def test_a_hostname_that_the_service_asks_for() -> None:
    """No other controller publishes it."""
    service = replace(asking(hostname="lb.example.com"), ingress=(Ingress(hostname="lb.example.com"),))
    assert plan_of(service).by_key[BALANCER].consequences == (LIKELY.format("lb.example.com"),)


def test_a_status_that_another_controller_wrote() -> None:
    """Without the finalizer there was no load balancer: nothing of it is lost, whatever is published."""
    assert plan_of(replace(asking(), finalizers=())).by_key[BALANCER].consequences == ()


def test_a_name_that_is_published() -> None:
    """A hostname waits for the load balancer as addresses do."""
    change = plan_of(new(hostname="lb.example.com")).by_key[PUBLISH.key]
    assert change.after is KNOWN_AFTER_APPLY
    assert change.reason == "publishes lb.example.com once there is a load balancer"


MANAGED = {"protocol": "https", "certificate_type": "managed", "http_managed_certificate_domains": "b.de,a.de"}
WAITS = HttpOptions(certificates=KNOWN_AFTER_APPLY)
WAITING = a_wish(443, 30443, Protocol.HTTPS, WAITS)
ASKED = ManagedCertificate(
    f"ccm-managed-certificate-{SERVICE_UID}",
    ("a.de", "b.de"),
    {LABEL_SERVICE_UID: SERVICE_UID, LABEL_CLUSTER_UID: CLUSTER_UID},
)
WEB = ClaimedPort(443, "TCP", 30443)
PENDING = a_certificate(
    5,
    ASKED.name,
    is_managed=True,
    labels=ASKED.labels,
    domains=ASKED.domains,
    issuance=Issuance.PENDING,
)


def test_a_managed_certificate() -> None:
    """It is asked for once there is a load balancer for it, as the CA counts; its listener waits for
    both, the rest does not."""
    plan = plan_of(new(WEB, **MANAGED), certificates=[])
    certificate = a_difference(
        "certificate/default/web",
        "certificate.create",
        None,
        ASKED,
        "the Service asks for a managed certificate for a.de, b.de, and there is none",
        depends_on=(CLAIM.key, BALANCER),
        serves=(f"{BALANCER}/listener/443",),
    )
    listener = a_part(
        "listener/443",
        None,
        WAITING,
        "the Service has port 443",
        depends_on=(BALANCER, "certificate/default/web"),
        cloud_id=None,
    )
    create = plan.by_key[BALANCER]
    assert plan.changes == (certificate, create, listener, replace(CLAIM, serves=(BALANCER,)), PUBLISH)
    assert create.after == replace(SMALLEST, listeners={})
    assert not listener.is_known


@pytest.mark.parametrize("present", [None, a_balancer(listeners=())], ids=["new", "there"])
def test_a_certificate_that_is_not_issued(present: CloudBalancer | None) -> None:
    """It is not asked for again, and the listener still waits."""
    balancers = [] if present is None else [present]
    service = asking(WEB, **MANAGED)
    plan = plan_of(service, *balancers, certificates=[PENDING])
    listener = plan.by_key[f"{BALANCER}/listener/443"]
    assert listener.depends_on == ((BALANCER,) if present is None else ())
    assert (listener.before, listener.after) == (None, WAITING)
    assert "certificate/default/web" not in plan.by_key


def test_a_certificate_for_a_load_balancer_that_is_there() -> None:
    """The listener depends on nothing but its certificate."""
    plan = plan_of(asking(WEB, **MANAGED), a_balancer(listeners=()), certificates=[])
    assert plan.by_key["certificate/default/web"].depends_on == ()
    assert plan.by_key[f"{BALANCER}/listener/443"].depends_on == ("certificate/default/web",)


def test_what_needs_no_certificate_does_not_wait_for_one() -> None:
    """A port that goes, goes at once."""
    plan = plan_of(asking(WEB, **MANAGED), a_balancer(), certificates=[])
    assert plan.by_key[f"{BALANCER}/listener/80"].depends_on == ()


def test_no_certificate_for_what_is_wrong() -> None:
    """The limits of certificate authorities are too strict to ask before everything is right."""
    service = asking(WEB, **MANAGED, health_check_port="0")
    assert plan_of(service, certificates=[]).changes == ()
    assert plan_of(service, a_balancer(listeners=()), certificates=[]).changes == ()


@pytest.mark.parametrize(
    ("options", "balancer", "ingress", "wanted"),
    [
        pytest.param({}, a_balancer(), (), (V4, V6), id="first"),
        pytest.param({}, a_balancer(), (V4, V6), None, id="equal"),
        pytest.param({}, a_balancer(), (Ingress("203.0.113.200"), V6), None, id="no-mode-is-vip"),
        pytest.param({}, a_balancer(), (V6, V4), (V4, V6), id="another-order"),
        pytest.param({}, a_balancer(ipv6=None), (V4, V6), (V4,), id="an-address-that-is-gone"),
        pytest.param({"ipv6_disabled": "true"}, a_balancer(), (V4, V6), (V4,), id="ipv6-off"),
        pytest.param({"ipv6_disabled": "false"}, a_balancer(), (V4,), (V4, V6), id="ipv6-on"),
        pytest.param({"hostname": "a.de"}, a_balancer(), (V4, V6), (Ingress(hostname="a.de"),), id="hostname"),
        pytest.param({"hostname": ""}, a_balancer(), (V4, V6), (Ingress(hostname=""),), id="empty-hostname"),
        pytest.param({}, a_balancer(), (Ingress(hostname="a.de"),), (V4, V6), id="hostname-gone"),
        pytest.param(
            {},
            a_balancer(listeners=[a_listener(proxyprotocol=True)]),
            (V4, V6),
            (replace(V4, ip_mode="Proxy"), replace(V6, ip_mode="Proxy")),
            id="what-it-speaks-and-not-what-is-asked",
        ),
    ],
)
def test_status(
    options: dict[str, str],
    balancer: CloudBalancer,
    ingress: tuple[Ingress, ...],
    wanted: tuple[Ingress, ...] | None,
) -> None:
    """One write where what is published means something else, none otherwise."""
    service = replace(asking(**options), ingress=ingress)
    change = plan_of(service, balancer).by_key.get(f"{SERVICE}/status")
    assert change == (None if wanted is None else a_publication(*wanted, before=ingress, depends_on=()))


@pytest.mark.parametrize(
    ("options", "balancer", "ingress", "part"),
    [
        pytest.param(
            {"uses_proxyprotocol": "true"},
            a_balancer(attachments=(HERE,)),
            (V4, V6, INSIDE_ENTRY),
            "listener/80",
            id="another-mode",
        ),
        pytest.param({}, a_balancer(), (V4, V6), "network/7", id="an-address-that-hetzner-chooses"),
        pytest.param({"private_ipv4": "10.0.0.200"}, a_balancer(), (V4, V6), "network/7", id="a-chosen-address"),
        pytest.param(
            {"disable_public_network": "true", "use_private_ip": "true"},
            a_balancer(attachments=(HERE,), targets=()),
            (V4, V6, INSIDE_ENTRY),
            "public",
            id="addresses-that-go",
        ),
    ],
)
def test_a_status_that_changes_with_the_load_balancer(
    options: dict[str, str], balancer: CloudBalancer, ingress: tuple[Ingress, ...], part: str
) -> None:
    """It is right, and will not be: the plan shows that, and the round after the change writes it. As long as the part
    is withheld, or once it was refused, nothing is to be published."""
    service = replace(asking(**options), ingress=ingress)
    world = a_world([service], [balancer], network=Present(NETWORK))
    plan = compute_plan(world, IN_NETWORK)
    change = plan.by_key[f"{SERVICE}/status"]
    assert (change.before, change.after, change.follows) == (ingress, KNOWN_AFTER_APPLY, (f"{BALANCER}/{part}",))

    def is_left(**others: Any) -> bool:
        return change.key in judge(plan, world, **{"settings": IN_NETWORK} | others).by_key

    assert change.key in not_ready(judge(plan, world, IN_NETWORK))
    assert not is_left(setbacks=Setbacks(refused=frozenset({f"{BALANCER}/{part}"})))
    assert not is_left(setbacks=Setbacks(withheld={f"{BALANCER}/{part}": GuardName.TARGET_FLOOR}))
    assert is_left(settings=replace(IN_NETWORK, policy=Policy.OBSERVE))  # it is withheld as all else is


@pytest.mark.parametrize(
    ("options", "balancer", "ingress"),
    [
        pytest.param({"hostname": "lb.example.com"}, a_balancer(), (Ingress(hostname="lb.example.com"),), id="by-name"),
        pytest.param({"disable_private_ingress": "true"}, a_balancer(), (V4, V6), id="private-ingress-off"),
        pytest.param(
            {"algorithm_type": "least_connections"},
            a_balancer(attachments=(HERE,)),
            (V4, V6, INSIDE_ENTRY),
            id="another-part",
        ),
    ],
)
def test_a_status_that_stays_what_it_is(
    options: dict[str, str], balancer: CloudBalancer, ingress: tuple[Ingress, ...]
) -> None:
    """Whatever changes of its load balancer."""
    service = replace(asking(**options), ingress=ingress)
    plan = plan_of(service, balancer, **INSIDE)
    assert any(change.key.startswith(f"{BALANCER}/") for change in plan.changes)
    assert f"{SERVICE}/status" not in plan.by_key


@pytest.mark.parametrize(
    ("options", "balancer", "expected"),
    [
        pytest.param({}, a_balancer(attachments=(HERE,)), (V4, V6, INSIDE_ENTRY), id="private-address-too"),
        pytest.param(
            {"disable_private_ingress": "true"}, a_balancer(attachments=(HERE,)), None, id="private-ingress-off"
        ),
        pytest.param(
            {"use_private_ip": "true", "disable_public_network": "true"},
            a_balancer(attachments=(HERE,), targets=private(1), spec={"public_interface": False}),
            (INSIDE_ENTRY,),
            id="internal",
        ),
        pytest.param(
            {"use_private_ip": "true", "disable_public_network": "true", "disable_private_ingress": "true"},
            a_balancer(attachments=(HERE,), targets=private(1), spec={"public_interface": False}),
            (),
            id="nothing-is-reachable",
        ),
        pytest.param(
            {"use_private_ip": "true", "disable_private_ingress": "true", "disable_public_network": "false"},
            a_balancer(attachments=(HERE,), targets=private(1), spec={"public_interface": False}),
            None,
            id="as-long-as-it-becomes-public-again",
        ),
        pytest.param(
            {"use_private_ip": "true", "disable_public_network": "true"},
            a_balancer(attachments=(HERE,), targets=private(1)),
            (V4, V6, INSIDE_ENTRY),
            id="as-long-as-it-is-public",
        ),
    ],
)
def test_status_in_a_network(
    options: dict[str, str], balancer: CloudBalancer, expected: tuple[Ingress, ...] | None
) -> None:
    """What it really has; it is empty only where nothing is to reach the load balancer."""
    plan = plan_of(asking(**options), balancer, **INSIDE | fleet(1))
    change = plan.by_key.get(f"{SERVICE}/status")
    assert (None if change is None else change.after) == expected


@pytest.mark.parametrize("field", ["hostname", "ipv6_disabled", "disable_private_ingress"])
def test_a_status_that_cannot_be_told(field: str) -> None:
    """While what says what is published cannot be read, what is published stays."""
    wrong = {"hostname": "not a name"}.get(field, "perhaps")
    service = replace(asking(**{field: wrong}), ingress=())
    assert plan_of(service, a_balancer()).changes == ()
    other = replace(asking(health_check_port="0"), ingress=())
    assert list(plan_of(other, a_balancer()).by_key) == [f"{SERVICE}/status"]


SHOP = {"name": "shop"}
STRANGE = a_balancer(
    service_uid=None,
    cluster_uid=None,
    targets=[*public(1), ServerTarget(9, use_private_ip=False)],
    listeners=[a_listener(), a_listener(22, 30022)],
    attachments=(HERE,),
    spec=SHOP,
)


def test_adoption() -> None:
    """Everything comes after it, and what it takes away is said before it is done."""
    plan = plan_of(new(algorithm_type="least_connections", **SHOP), STRANGE, servers=[a_server(), a_server(9, "x")])
    assert in_turn(plan) == [
        "lb.adopt",
        "algorithm",
        "target/server:9",
        "network/7",
        "listener/22",
    ]
    losses = ("network 7", "listener 22", "target server:9")
    said = tuple(f"{part} is removed from it: the Service does not ask for that" for part in sorted(losses))
    adopt = plan.by_key[BALANCER]
    assert replace(adopt, consequences=tuple(sorted(adopt.consequences))) == an_adoption(
        Owner(None, None), *said, outlives=True
    )
    parts = [change for change in plan.changes if change.key.startswith(f"{BALANCER}/")]
    assert all(BALANCER in change.depends_on for change in parts)
    assert plan.by_key[f"{SERVICE}/status"].depends_on == (BALANCER,)


@pytest.mark.parametrize(
    ("service", "before", "balancer", "mark"),
    [
        pytest.param(
            new(), Owner(None, None), {"service_uid": None, "cluster_uid": None}, None, id="by-the-default-name"
        ),
        pytest.param(
            new(), Owner(CLUSTER_UID, None), {"service_uid": None}, None, id="by-the-default-name-and-let-go-once"
        ),
        pytest.param(new(**SHOP), Owner(CLUSTER_UID, None), {"service_uid": None, "spec": SHOP}, "true", id="let-go"),
        pytest.param(
            new(**SHOP),
            Owner(None, None),
            {"service_uid": None, "cluster_uid": None, "spec": SHOP, "targets": (), "listeners": ()},
            "true",
            id="nobody's",
        ),
        pytest.param(
            new(**SHOP),
            Owner(None, DEAD_UID),
            {"service_uid": DEAD_UID, "cluster_uid": None, "spec": SHOP},
            "true",
            id="of-a-dead-service-of-no-known-cluster",
        ),
        pytest.param(
            new(**SHOP),
            Owner(CLUSTER_UID, DEAD_UID),
            {"service_uid": DEAD_UID, "spec": SHOP},
            None,
            id="of-a-dead-service",
        ),
        pytest.param(
            new(**SHOP),
            Owner(CLUSTER_UID, DEAD_UID, adopted="yes"),
            {
                "spec": SHOP
                | {"labels": {LABEL_SERVICE_UID: DEAD_UID, LABEL_CLUSTER_UID: CLUSTER_UID, LABEL_ADOPTED: "yes"}}
            },
            "yes",
            id="of-a-dead-service-that-had-adopted-it",
        ),
    ],
)
def test_adoption_of_what_takes_nothing_away(
    service: Service, before: Owner, balancer: dict[str, Any], mark: str | None
) -> None:
    """Nothing is taken away, so there is nothing to be warned of. What was not made for a Service of this
    cluster is marked, so that it outlives the one that takes it over."""
    plan = plan_of(service, a_balancer(**balancer))
    adopt = plan.by_key[BALANCER]
    there, ours = replace(before, balancer_id=42), replace(OURS, balancer_id=42, adopted=mark)
    assert (adopt.kind, adopt.before, adopt.after, adopt.consequences) == ("lb.adopt", there, ours, ())
    assert adopt.reason.endswith("will outlive it") is (mark is not None)
    assert in_turn(plan)[0] == "lb.adopt"


def test_no_adoption_for_a_service_that_has_one() -> None:
    """The label decides before any name, and one that HCCM left without our own label is ours all the same."""
    plan = plan_of(asking(), a_balancer(cluster_uid=None))
    assert plan.changes == ()


OTHER = a_served_service("db", uid="uid-db", claim=a_claim(annotations=annotated(name="shop")))


@pytest.mark.parametrize(
    ("service", "balancer", "others"),
    [
        pytest.param(
            new(**SHOP), {"service_uid": "uid-x", "cluster_uid": "another", "spec": SHOP}, [], id="of-a-cluster"
        ),
        pytest.param(
            new(**SHOP),
            {"service_uid": "uid-x", "spec": SHOP},
            [a_service("x", uid="uid-x", type="ClusterIP")],
            id="of-a-living-service",
        ),
        pytest.param(new(**SHOP), {"service_uid": None, "spec": SHOP, "targets": ()}, [OTHER], id="of-two-who-ask"),
    ],
)
def test_what_somebody_else_has(service: Service, balancer: dict[str, Any], others: list[Service]) -> None:
    """Nothing but the adoption, for a guard to refuse; no part of it is touched, and nothing prepared in vain."""
    plan = plan_of(service, a_balancer(**balancer), others=others)
    own = [change for change in plan.changes if change.owner == SERVICE]
    assert [change.kind for change in own] == ["lb.adopt", "service.claim"]


def test_a_name_that_another_service_asks_for_as_well() -> None:
    """What a Service has keeps its name, and everything else of it is kept in sync; the Service is told."""
    balancer = a_balancer(targets=())
    plan, calm = plan_of(asking(**SHOP), balancer, others=[OTHER]), plan_of(asking(), balancer)
    own = [change for change in plan.changes if change.owner == SERVICE]

    assert [change.key for change in own] == [change.key for change in calm.changes] != []
    (told,) = (note.text for note in plan.notes if note.key == SERVICE and note.kind is NoteKind.AMBIGUOUS)
    assert told == (
        f"load balancer 42 stays {balancer.spec.name!r}: the name 'shop' is asked for by Service default/db as well;"
        " give each a name of its own"
    )


def test_two_who_ask_for_one_that_is_not_there() -> None:
    """Both creations stand in the plan, for a guard to refuse."""
    plan = plan_of(new(**SHOP), others=[OTHER])
    assert [(change.kind, change.owner) for change in plan.changes if change.kind == "lb.create"] == [
        ("lb.create", "service/default/db"),
        ("lb.create", SERVICE),
    ]


GOING: dict[str, Any] = {"deleted_at": NOW}
RETYPED: dict[str, Any] = {"type": "ClusterIP"}
RETAIN = {OPTIONS["deletion_policy"].full_key: "retain"}
DELETED, UNWANTED = "the Service is being deleted", "the Service no longer wants a load balancer"
LOST = "its public addresses 203.0.113.200 and 2001:db8::200 are lost for good"


def release(why: str, *depends_on: str, ingress: tuple[Ingress, ...] = (V4, V6)) -> Change:
    """The finalizer and what is published go."""
    before = Claimed(finalizer=True, ingress=ingress)
    return a_difference(f"{SERVICE}/release", "service.release", before, None, why, depends_on=depends_on)


def deletion(why: str, balancer: CloudBalancer, *consequences: str) -> Change:
    """The load balancer goes."""
    return a_difference(BALANCER, "lb.delete", balancer.spec, None, why, *consequences)


@pytest.mark.parametrize(("going", "why"), [(GOING, DELETED), (RETYPED, UNWANTED)], ids=["deleted", "retyped"])
def test_leaving(going: dict[str, Any], why: str) -> None:
    """First the load balancer, then the Service is released, whatever its annotations say."""
    claim = a_claim(annotations=annotated(hostname="not a name", uses_proxyprotocol="perhaps", type=""))
    for service in (a_served_service(**going), a_served_service(**going, claim=claim)):
        expected = (deletion(why, a_balancer(), LOST), release("its load balancer is deleted", BALANCER))
        assert plan_of(service, a_balancer()).changes == expected


def test_leaving_touches_nothing_else() -> None:
    """Neither certificates nor networks, nor a reverse name, nor any part of what goes."""
    balancer = a_balancer(attachments=(HERE,), targets=(), listeners=(), spec={"ipv4_rdns": "a.example.com"})
    service = a_served_service(**GOING, claim=asking(WEB, **MANAGED).claim)
    plan = plan_of(service, balancer, certificates=[PENDING], **INSIDE)
    assert [change.kind for change in plan.changes] == ["lb.delete", "service.release"]


@pytest.mark.parametrize(
    ("balancer", "consequences"),
    [
        pytest.param(a_balancer(ipv6=None), ("its public addresses 203.0.113.200 are lost for good",), id="one"),
        pytest.param(a_balancer(ipv4=None, ipv6=None), (), id="none"),
    ],
)
def test_addresses_that_are_lost(balancer: CloudBalancer, consequences: tuple[str, ...]) -> None:
    """What a person would want to keep is named before it is gone."""
    plan = plan_of(a_served_service(**GOING), balancer)
    assert plan.by_key[BALANCER].consequences == consequences


@pytest.mark.parametrize(
    ("claim", "balancer", "why"),
    [
        pytest.param(
            a_claim(annotations=RETAIN), a_balancer(), "the Service's deletion policy is to retain it", id="policy"
        ),
        pytest.param(a_claim(), a_balancer(is_protected=True), "it is protected against deletion", id="protected"),
    ],
)
def test_retaining(claim: Any, balancer: CloudBalancer, why: str) -> None:
    """A load balancer that stays loses the Service's label, and says when."""
    kept = Owner(CLUSTER_UID, None, "20260701T120000Z", former="default.web")
    retain = a_part(
        "retain",
        OURS,
        kept,
        f"{DELETED}, and {why}: its label goes, and another says when it was released",
        f"load balancer 42 {DEFAULT_NAME} stays, and is paid for",
    )
    plan = plan_of(a_served_service(**GOING, claim=claim), balancer)
    assert plan.changes == (retain, release("its load balancer is released", f"{BALANCER}/retain"))
    after = plan.changes[0].after
    assert isinstance(after, Owner)
    assert after.released == kept.released


@pytest.mark.parametrize(
    "ingress", [pytest.param((), id="nothing-published"), pytest.param((V4,), id="an-address-published")]
)
def test_leaving_without_a_load_balancer(ingress: tuple[Ingress, ...]) -> None:
    """What is gone keeps nobody."""
    service = a_served_service(**GOING, ingress=ingress)
    assert plan_of(service).changes == (release(f"{DELETED}, and it has no load balancer", ingress=ingress),)


@pytest.mark.parametrize(
    ("balancers", "world"),
    [
        pytest.param([], {"load_balancers": PART}, id="part-of-the-list"),
        pytest.param([], {"load_balancers": None}, id="not-read"),
        pytest.param([], {"load_balancers": UNREADABLE}, id="one-unreadable"),
        pytest.param([a_balancer(), a_balancer(43, spec=SHOP)], {}, id="two-with-its-label"),
    ],
)
def test_leaving_while_too_little_is_known(balancers: list[CloudBalancer], world: dict[str, Any]) -> None:
    """A Service is not released before it is known whether it has a load balancer."""
    plan = plan_of(a_served_service(**GOING), *balancers, **world)
    assert plan.changes == ()
    (text,) = said(plan)
    assert text.startswith(("cannot determine its load balancer: ", "load balancers 42, 43 all have the label"))


def test_leaving_what_another_cluster_has() -> None:
    """Another cluster's load balancer with our Service's UID is none of this Service's."""
    plan = plan_of(a_served_service(**GOING), a_balancer(cluster_uid="another"))
    assert plan.changes == (release(f"{DELETED}, and it has no load balancer"),)


@pytest.mark.parametrize(
    "balancers",
    [
        pytest.param(PART, id="part-of-the-list"),
        pytest.param(UNREADABLE, id="one-unreadable"),
    ],
)
def test_nothing_is_created_on_a_gap(balancers: Section[int, CloudBalancer]) -> None:
    """What was not found may be there all the same; nothing is claimed for it either."""
    assert plan_of(new(), load_balancers=balancers).changes == ()


def test_what_is_found_is_served_in_spite_of_a_gap() -> None:
    """The label is enough."""
    found = incomplete(Section({42: a_balancer()}))
    plan = plan_of(asking(algorithm_type="least_connections"), load_balancers=found)
    assert in_turn(plan) == ["algorithm"]


def test_a_service_made_anew() -> None:
    """Of the same name and another UID: it gets one of its own, and the old one may go (held: see test_services)."""
    service = a_service(uid="22222222-0000-4000-8000-000000000000")
    plan = plan_of(service, a_balancer(service_uid=DEAD_UID))
    create = plan.by_key[BALANCER]
    assert isinstance(create.after, LoadBalancer)
    assert (create.kind, create.after.name) == ("lb.create", "a22222222000040008000000000000000"[:32])
    old = plan.by_key["load_balancer/#42"]
    assert old.kind == "lb.delete"


def test_a_cluster_without_identity() -> None:
    """The label of the cluster is written only when it is known; a guard withholds the write anyway."""
    after = created(new(), cluster_uid=Unknown("403"))
    assert after.labels == {LABEL_SERVICE_UID: SERVICE_UID}


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({"source_ranges": ("192.0.2.0/24",)}, id="source-ranges"),
        pytest.param({"session_affinity": "ClientIP"}, id="session-affinity"),
        pytest.param({"load_balancer_ip": "192.0.2.1"}, id="load-balancer-ip"),
        pytest.param({"external_ips": ("192.0.2.1",)}, id="external-ips"),
        pytest.param({"external_traffic_policy": "Local"}, id="traffic-policy"),
    ],
)
def test_what_the_spec_asks_in_vain(spec: dict[str, Any]) -> None:
    """It is said to have no effect, and has none."""
    service = a_served_service(claim=a_claim(**spec))
    plan = plan_of(service, a_balancer())
    assert (plan.changes, len(said(plan))) == ((), 1)
    assert created(replace(service, finalizers=())) == SMALLEST


def test_the_finalizer_that_is_there() -> None:
    """A Service that has it is not claimed again, and those of others do not count."""
    for finalizers, claims in (((FINALIZER_BALANCER,), 0), (("example.com/x",), 1), ((), 1)):
        plan = plan_of(replace(asking(), finalizers=finalizers), a_balancer())
        assert sum(change.kind == "service.claim" for change in plan.changes) == claims


def test_every_creation_is_the_same() -> None:
    """What a scenario for reports writes out is what the rules plan."""
    service = new(use_private_ip="true", algorithm_type="least_connections")
    found = plan_of(service, **INSIDE | fleet(1, 2, 3)).by_key[BALANCER]
    assert found == a_creation()


def test_a_creation_shows_all_that_comes_after_it() -> None:
    """The body of a creation has no place for a private address: what follows is planned with it, and waits for the
    id."""
    service = new(use_private_ip="true", private_ipv4="10.0.0.9")
    plan = plan_of(service, **INSIDE | fleet(1))
    create = plan.by_key[BALANCER].after
    assert isinstance(create, LoadBalancer)
    assert (create.targets, create.attachment) == (frozenset(), UNMANAGED)
    needs = {change.key.removeprefix(f"{BALANCER}/"): change.depends_on for change in plan.changes}
    assert needs["network/7"] == (BALANCER,)
    assert needs["target/server:1"] == (BALANCER, f"{BALANCER}/network/7")
    plain = plan_of(new(), **INSIDE | fleet(1))
    assert [change.key for change in plain.changes if change.key.startswith(f"{BALANCER}/")] == []


def test_a_new_load_balancer_that_is_published_at_no_address() -> None:
    """A plan shows no status that nobody will write."""
    nowhere = {"disable_public_network": "true", "use_private_ip": "true", "disable_private_ingress": "true"}
    service = new(**nowhere)
    assert f"{SERVICE}/status" not in plan_of(service, **INSIDE).by_key
    assert f"{SERVICE}/status" in plan_of(replace(service, ingress=(V4,)), **INSIDE).by_key
    assert f"{SERVICE}/status" in plan_of(new(**nowhere, hostname="lb.example.com"), **INSIDE).by_key
