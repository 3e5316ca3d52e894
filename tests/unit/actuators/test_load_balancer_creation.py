"""Creating a load balancer: what one request carries, what happens when it is refused or its answer is lost."""

from contextlib import nullcontext
from dataclasses import replace
from ipaddress import IPv4Address, IPv4Network
from typing import Any

import pytest

from actuators.http.errors import ApiError, Broken, Conflict, Denied, Invalid, NotFound, Outdated, Transient
from actuators.unlisted import UnlistedBalancers
from desired.annotations.choices import Algorithm, Protocol
from desired.model.load_balancer import (
    Attachment,
    CloudBalancer,
    HealthCheck,
    HttpCheck,
    HttpOptions,
    IpTarget,
    LoadBalancer,
    ServerTarget,
)
from desired.model.service import (
    Ingress,
)
from desired.names import (
    FINALIZER_BALANCER,
    LABEL_CLUSTER_UID,
    LABEL_FORMER,
    LABEL_RELEASED,
    LABEL_SERVICE_UID,
)
from desired.plan.change import Change
from desired.plan.controller_record import FoundRecord
from desired.section import UNMANAGED
from tests.balancers import (
    DEFAULT_NAME,
    SERVICE_UID,
    a_balancer,
    a_listener,
    a_service,
    a_world,
    an_http_listener,
)
from tests.builders import CLUSTER_UID
from tests.support.balancer_changes import BALANCER, a_difference
from tests.support.balancer_stage import NETWORK_ID, Stage, a_member, a_stage, in_record
from tests.support.rows import rows
from tests.support.simulators import Simulate

LABELS = {LABEL_SERVICE_UID: SERVICE_UID, LABEL_CLUSTER_UID: CLUSTER_UID}
WISH = LoadBalancer(
    name=DEFAULT_NAME,
    labels=LABELS,
    type="lb11",
    location="fsn1",
    listeners={80: a_listener()},
    targets=frozenset({ServerTarget(1, use_private_ip=False), ServerTarget(2, use_private_ip=False)}),
)
IN_NETWORK = replace(WISH, attachment=Attachment(NETWORK_ID), targets=frozenset({ServerTarget(1, use_private_ip=True)}))


def creation(wish: LoadBalancer = WISH) -> Change:
    return a_difference(BALANCER, "lb.create", None, wish, "a test wants it")


def posts(stage: Stage) -> list[Any]:
    return [body for method, path, body in stage.sent() if (method, path) == ("POST", "/load_balancers")]


@rows(
    "wish sent",
    {
        "none": ({}, None),
        "one of the two": ({"primary_ipv4": 7}, {"ipv4": 7}),
        "both": ({"primary_ipv4": 7, "primary_ipv6": 8}, {"ipv4": 7, "ipv6": 8}),
    },
)
def test_primary_ips(simulate: Simulate, wish: dict[str, Any], sent: dict[str, int] | None) -> None:
    """Named in the creation, and nowhere else: Hetzner itself refuses what it cannot assign, and says so."""
    stage = a_stage(simulate, servers=[a_member(1), a_member(2)])
    world = stage.sim.hetzner.world()["hetzner"]
    free = [{"id": 7, "name": "four"}, {"id": 8, "name": "six", "type": "ipv6"}]
    stage.sim.hetzner.replace_world({**world, "primary_ips": free})

    stage.carry_out(creation(replace(WISH, **wish)))

    assert [body.get("public_net") for body in posts(stage)] == [sent]
    public_net = stage.balancer()["public_net"]
    assert {family: public_net[family]["id"] for family in sent or {}} == (sent or {})
    if sent:
        with pytest.raises(Invalid, match="primary_ip_assigned"):
            stage.carry_out(creation(replace(WISH, name="another", **wish)))
        assert len(posts(stage)) == 2


def test_everything_is_asked_for_at_once(simulate: Simulate) -> None:
    """Two ports, twenty targets, network, labels, algorithm are one request, and its action takes one poll or two."""
    stage = a_stage(simulate, servers=[a_member(number) for number in range(1, 21)])
    targets = frozenset(ServerTarget(number, use_private_ip=True) for number in range(1, 21))
    wish = replace(
        IN_NETWORK,
        targets=targets,
        listeners={80: a_listener(), 443: a_listener(443, 30443, proxyprotocol=True)},
        algorithm=Algorithm.LEAST_CONNECTIONS,
    )

    stage.carry_out(creation(wish))

    assert [(method, path) for method, path, _ in stage.sent()] == [("POST", "/load_balancers")]
    assert 1 <= stage.polls() <= 2
    found = stage.balancer()
    assert (found["name"], found["labels"]) == (DEFAULT_NAME, LABELS)
    assert found["load_balancer_type"]["name"] == "lb11"
    assert found["location"]["name"] == "fsn1"
    assert found["algorithm"] == {"type": "least_connections"}
    assert found["public_net"]["enabled"]
    assert [entry["network"] for entry in found["private_net"]] == [NETWORK_ID]
    assert {service["listen_port"]: service["proxyprotocol"] for service in found["services"]} == {80: False, 443: True}
    assert stage.targets() == targets


def test_what_nobody_asked_for_is_not_sent(simulate: Simulate) -> None:
    """The API chooses for itself: a field that is UNMANAGED is not there, nor a public interface that is on."""
    stage = a_stage(simulate)
    wish = LoadBalancer(DEFAULT_NAME, LABELS, "lb11", zone="eu-central", public_interface=True, targets=UNMANAGED)
    stage.carry_out(creation(wish))
    assert posts(stage) == [
        {"name": DEFAULT_NAME, "labels": LABELS, "load_balancer_type": "lb11", "network_zone": "eu-central"}
    ]
    assert stage.balancer()["location"]["network_zone"] == "eu-central"


@rows("wish targets", {"in a network": (IN_NETWORK, IN_NETWORK.targets), "by public addresses": (WISH, set())})
def test_without_a_public_interface(simulate: Simulate, wish: LoadBalancer, targets: set[Any]) -> None:
    """Nobody can reach it from outside for a moment; targets by public addresses cannot be had, and do not come."""
    stage = a_stage(simulate, private_targets_at_creation="accepted")
    stage.carry_out(creation(replace(wish, public_interface=False)))
    assert not stage.balancer()["public_net"]["enabled"]
    assert stage.targets() == targets


@rows(
    "place",
    {
        "an address": Attachment(NETWORK_ID, IPv4Address("10.7.0.200")),
        "a subnet": Attachment(NETWORK_ID, ip_range=IPv4Network("10.7.0.0/24")),
        "no network": None,
        "not said": UNMANAGED,
    },
)
def test_places_that_a_creation_cannot_name(simulate: Simulate, place: Any) -> None:
    """The request has no field for an address or a subnet: it is attached in the next round."""
    stage = a_stage(simulate)
    stage.carry_out(creation(replace(WISH, attachment=place)))
    assert "network" not in posts(stage)[0]
    assert stage.balancer()["private_net"] == []


def test_targets_go_in_a_stable_order(simulate: Simulate) -> None:
    """Servers by id as numbers, then addresses."""
    stage = a_stage(simulate, servers=[a_member(number) for number in (2, 10)])
    servers = {ServerTarget(number, use_private_ip=False) for number in (10, 2)}
    stage.carry_out(creation(replace(WISH, targets=frozenset({IpTarget("198.51.100.7"), *servers}))))
    assert posts(stage)[0]["targets"] == [
        {"type": "server", "server": {"id": 2}, "use_private_ip": False},
        {"type": "server", "server": {"id": 10}, "use_private_ip": False},
        {"type": "ip", "ip": {"ip": "198.51.100.7"}},
    ]


@rows(
    "targets options",
    {
        "a server that is gone": ({ServerTarget(99, use_private_ip=False)}, {}),
        "a server without a public address": ({ServerTarget(4, use_private_ip=False)}, {}),
        "a server in no network": ({ServerTarget(4, use_private_ip=True)}, {}),
        "an address of somebody else": ({IpTarget("198.51.100.7")}, {"foreign_addresses": ("198.51.100.0/24",)}),
        "an address of a cloud server": ({IpTarget("203.0.113.1")}, {}),
        "a private address and no vSwitch": ({IpTarget("10.7.0.200")}, {}),
        "private targets while it is not attached yet": (
            {ServerTarget(1, use_private_ip=True)},
            {"private_targets_at_creation": "refused"},
        ),
        "more targets than the type takes": (
            {ServerTarget(number, use_private_ip=private) for number in range(1, 14) for private in (True, False)},
            {"server_as_two_targets": "accepted"},
        ),
        "one server twice": ({ServerTarget(1, use_private_ip=private) for private in (True, False)}, {}),
    },
)
def test_a_target_in_the_way(simulate: Simulate, targets: set[Any], options: dict[str, Any]) -> None:
    """Nothing about one target keeps the Service from its load balancer: it is created without any, with all else."""
    servers = [a_member(number) for number in (1, 2, 3, *range(5, 14))]
    stage = a_stage(simulate, servers=[*servers, a_member(4, ipv4=None, private_ips=())], **options)
    stage.carry_out(creation(replace(IN_NETWORK, targets=frozenset(targets))))
    assert ["targets" in body for body in posts(stage)] == [True, False]
    found = stage.balancer()
    assert [service["listen_port"] for service in found["services"]] == [80]
    assert [entry["network"] for entry in found["private_net"]] == [NETWORK_ID]
    assert stage.targets() == set()


@pytest.mark.parametrize(
    "code", ["resolve_cloud_public_targets_error", "missing_ipv4", "server_not_attached_to_network"]
)
def test_codes_of_other_times(simulate: Simulate, code: str) -> None:
    """Older names of the same refusals are understood as well."""
    stage = a_stage(simulate)
    stage.sim.spoil_hetzner("status", method="POST", code=422, body={"error": {"code": code, "message": "no"}})
    stage.carry_out(creation())
    assert len(posts(stage)) == 2
    assert stage.targets() == set()


@rows(
    "message limit tries remedy",
    {
        "of targets, by its name": ("no", "load_balancer_target_limit", 2, False),
        "of targets, by the message": ("too many targets", "other", 2, False),
        "of load balancers": ("no", "load_balancer_limit", 1, True),
        "of what one may have": ("load balancer service limit exceeded", "other", 3, False),
        "not said": ("no", None, 3, True),
    },
)
def test_limits(simulate: Simulate, message: str, limit: str | None, tries: int, *, remedy: bool) -> None:
    """One of targets or services makes way for a creation without any; only the project's is raised by asking."""
    stage = a_stage(simulate)
    error = {"code": "resource_limit_exceeded", "message": message, "details": limit and {"limits": [{"name": limit}]}}
    stage.sim.spoil_hetzner("status", method="POST", code=403, body={"error": error}, count=None)
    with pytest.raises(Invalid) as caught:
        stage.carry_out(creation())
    assert len(posts(stage)) == tries
    assert ("ask Hetzner" in str(caught.value)) is remedy


@rows(
    "status code sent",
    {
        "of another network zone": (422, "unsupported_error", ["targets", "services"]),
        "a code that nobody knows": (422, "word_of_next_year", ["targets", "services"]),
        "a request that is none": (400, "json_error", ["targets", "services"]),
        "something is not there": (404, "not_found", ["targets", "services"]),
        "another status": (412, "word_of_next_year", ["targets", "services"]),
        "a port first": (412, "source_port_already_used", ["services", "targets"]),
        "of targets alone": (422, "target_already_defined", ["targets"]),
        "of a Primary IP": (422, "primary_ip_blocked", []),
        "a payment": (402, "word_of_next_year", []),
        "the token may not": (403, "forbidden", []),
        "the token is wrong": (401, "unauthorized", []),
        "the name is taken": (409, "uniqueness_error", []),
        "something else runs": (409, "conflict", []),
        "something is locked": (423, "locked", []),
        "too many requests": (429, "rate_limit_exceeded", []),
    },
)
def test_each_part_is_left_out_once(simulate: Simulate, status: int, code: str, sent: list[str]) -> None:
    """Whatever the code says, unless that is known to be about something else: no request more than that."""
    stage = a_stage(simulate)
    error = {"error": {"code": code, "message": "no"}}
    stage.sim.spoil_hetzner("status", method="POST", code=status, body=error, count=None)
    with pytest.raises(ApiError):
        stage.carry_out(creation())
    left_out = [frozenset({"targets", "services"} - body.keys()) for body in posts(stage)]
    expected = [frozenset(sent[:number]) for number in range(len(sent) + 1)]
    assert list(dict.fromkeys(left_out)) == expected  # what is transient is sent more than once
    assert len(left_out) == len(expected) or not sent


@rows(
    "wish options",
    {
        "no subnet in the zone of the load balancer": (replace(IN_NETWORK, location="ash", targets=frozenset()), {}),
        "a network without room": (IN_NETWORK, {"network_attachment_limit": 0}),
    },
)
def test_a_network_in_the_way(simulate: Simulate, wish: LoadBalancer, options: dict[str, Any]) -> None:
    """It is created outside: the attachment fails by itself, and so does what needs it."""
    stage = a_stage(simulate, servers=[a_member(1, private_ips=())], **options)
    stage.carry_out(creation(wish))
    assert ["network" in body for body in posts(stage)][:2] == [True, False]
    found = stage.balancer()
    assert (found["private_net"], [service["listen_port"] for service in found["services"]]) == ([], [80])
    assert stage.targets() == set()


def test_a_network_that_is_the_only_way_in(simulate: Simulate) -> None:
    """Without its public interface nothing could reach it: nothing is bought, and the refusal is told."""
    stage = a_stage(simulate, servers=[a_member(1, private_ips=())], network_attachment_limit=0)
    with pytest.raises(ApiError):
        stage.carry_out(creation(replace(IN_NETWORK, public_interface=False, targets=frozenset())))
    assert all("network" in body for body in posts(stage))
    assert stage.sim.objects("load_balancers") == {}


CERTIFICATES = [{"id": 4, "type": "uploaded"}]
HTTP = an_http_listener(http=HttpOptions(), health_check=HealthCheck(Protocol.HTTP, 30080, http=HttpCheck(path="/up")))
HTTPS = an_http_listener(443, 30443, protocol=Protocol.HTTPS, http=HttpOptions("MINE", certificates=(4,)))
DEFAULTS = {"cookie_name": "HCLBSTICKY", "cookie_lifetime": 300, "timeout_idle": 50, "sticky_sessions": False}


def test_services_are_complete(simulate: Simulate) -> None:
    """Every member that the API's document requires of ``http`` in a creation, and nobody asked for, has its default;
    numbers of health checks, which have none in the document, are left to the API."""
    stage = a_stage(simulate, services_at_creation="complete")
    stage.sim.hetzner.replace_world({**stage.sim.hetzner.world()["hetzner"], "certificates": CERTIFICATES})
    stage.carry_out(creation(replace(WISH, listeners={80: HTTP, 443: HTTPS})))
    (sent,) = posts(stage)
    plain, secure = sent["services"]
    assert plain["http"] == DEFAULTS
    assert secure["http"] == {**DEFAULTS, "cookie_name": "MINE", "certificates": [4], "redirect_http": False}
    assert not any(service["proxyprotocol"] for service in sent["services"])
    assert plain["health_check"] == {"protocol": "http", "port": 30080, "http": {"domain": None, "path": "/up"}}
    assert len(stage.balancer()["services"]) == 2


@rows(
    "wish options sent targets",
    {
        "public targets": (WISH, {}, [True, False], WISH.targets),
        "in a network": (IN_NETWORK, {}, [True, False], IN_NETWORK.targets),
        "and so are targets": (IN_NETWORK, {"private_targets_at_creation": "refused"}, [True, False, False], set()),
        "there is none": (replace(WISH, listeners={}), {}, [False], WISH.targets),
    },
)
def test_services_are_refused(
    simulate: Simulate, wish: LoadBalancer, options: dict[str, Any], sent: list[bool], targets: Any
) -> None:
    """It is created without them, and with all else that can be had: the next round adds them one by one."""
    stage = a_stage(simulate, services_at_creation="refused", **options)
    stage.carry_out(creation(wish))
    assert ["services" in body for body in posts(stage)] == sent
    found = stage.balancer()
    assert (found["labels"], found["services"], stage.targets()) == (LABELS, [], targets)
    assert bool(found["private_net"]) is isinstance(wish.attachment, Attachment)


@pytest.mark.parametrize("certificate", [9, 4], ids=["is unknown", "is not issued"])
def test_a_certificate_in_the_way(simulate: Simulate, certificate: int) -> None:
    """Nor does a certificate that is gone by now, or is not issued, keep the Service from its address."""
    stage = a_stage(simulate, pending_certificates="refused")
    managed = {"id": 4, "type": "managed", "status": {"issuance": "pending"}}
    stage.sim.hetzner.replace_world({**stage.sim.hetzner.world()["hetzner"], "certificates": [managed]})
    secure = replace(HTTPS, http=HttpOptions(certificates=(certificate,)))
    stage.carry_out(creation(replace(WISH, listeners={443: secure})))
    assert stage.balancer()["services"] == []


def test_a_lesser_one_is_never_a_second_one(simulate: Simulate) -> None:
    """A refusal beside a load balancer that has the Service's label by now: the next round looks at that one."""
    stage = a_stage(simulate, a_balancer(spec={"name": "shop"}), services_at_creation="refused")
    stage.snapshot = a_world([a_service()])
    stage.carry_out(creation())
    assert len(posts(stage)) == 1
    assert [found["name"] for found in stage.balancers()] == ["shop"]


@pytest.mark.parametrize("code", ["invalid_input", "not_found", "target_already_defined"])
def test_a_creation_that_fails_later(simulate: Simulate, code: str) -> None:
    """What was accepted is not asked for again in a lesser form, whatever its action says."""
    stage = a_stage(simulate)
    fault = {"kind": "action_fails", "command": "create_load_balancer", "code": code, "message": "a target and service"}
    stage.sim.hetzner.set_faults([fault])
    with pytest.raises(Invalid):
        stage.carry_out(creation())
    assert len(posts(stage)) == 1


def waiting(**labels: str) -> CloudBalancer:
    """One that was released when a Service ``default/web`` went; these labels say otherwise."""
    own = {LABEL_CLUSTER_UID: CLUSTER_UID, LABEL_FORMER: "default.web", LABEL_RELEASED: "20260701T121000Z"}
    return a_balancer(spec={"name": "was-42", "labels": own | labels})


CLAIMED: dict[str, Any] = {"finalizers": (FINALIZER_BALANCER,)}
PUBLISHED = {"ingress": (Ingress("203.0.113.200"),)}
ITS_OWN = a_balancer(spec={"name": "shop"})
FOREIGN = a_balancer(cluster_uid="another", spec={"name": "shop"})


UNLABELLED = a_balancer(spec={"name": DEFAULT_NAME, "labels": {}})
RENAMED = a_balancer(spec={"name": "shop", "labels": {}})


@rows(
    "had there former asked found",
    {
        "claimed, and there is one": (CLAIMED, ITS_OWN, None, ["label"], True),
        "published, and there is one": (PUBLISHED, ITS_OWN, None, ["label"], True),
        "claimed, and there is none": (CLAIMED, None, None, ["label", "name", "create"], False),
        "claimed, and another cluster's": (CLAIMED, FOREIGN, None, ["label"], True),
        "claimed, and one has its name": (CLAIMED, UNLABELLED, None, ["label", "name"], True),
        "claimed, and another name": (CLAIMED, RENAMED, None, ["label", "name", "create"], False),
        "a new Service": ({}, RENAMED, None, ["create"], False),
        "one was released with it": ({}, waiting(), "default.web", ["label"], True),
        "one was released with it, and nobody asks": ({}, waiting(), None, ["create"], False),
        "another cluster did": (
            {},
            waiting(**{LABEL_CLUSTER_UID: "another"}),
            "default.web",
            ["label"],
            True,
        ),
        "another Service's": ({}, waiting(**{LABEL_FORMER: "default.api"}), "default.web", ["label", "create"], False),
    },
)
def test_one_that_the_list_lacked(
    simulate: Simulate,
    had: dict[str, Any],
    there: CloudBalancer | None,
    former: str | None,
    asked: list[str],
    *,
    found: bool,
) -> None:
    """A Service that may have had a load balancer, or for which one may wait, gets no second one of another name. A new
    Service costs one request."""
    others = [] if there is None else [there]
    stage = a_stage(simulate, *others)
    stage.snapshot = a_world([a_service(**had)])
    why = "^the list of load balancers lacks load balancer 42 .*, but a lookup finds it$"
    with pytest.raises(Outdated, match=why) if found else nullcontext():
        stage.carry_out(creation(replace(WISH, name="new", former=former)))
    assert questions(stage) == asked
    assert len(stage.balancers()) == len(others) + (not found)


def questions(stage: Stage) -> list[str]:
    """What was asked of Hetzner, in order."""
    entries = [entry for entry in stage.sim.sent_to_hetzner() if entry.path != "/v1/actions"]
    return [
        "create" if entry.method == "POST" else entry.query.partition("=")[0].partition("_")[0] or "id"
        for entry in entries
    ]


def forbidden(_uid: object) -> FoundRecord:
    raise Denied("configmaps is forbidden", status=403)


def down(_uid: object) -> FoundRecord:
    raise Transient("the API server is down")


@rows(
    "unlisted had asked ends",
    {
        "it exists": (in_record(42), CLAIMED, ["label", "name", "id"], Outdated),
        "it is gone": (in_record(41), CLAIMED, ["label", "name", "id", "create"], None),
        "one of several exists": (in_record(40, 41, 42), CLAIMED, ["label", "name", "id", "id", "id"], Outdated),
        "it is listed": (in_record(7), CLAIMED, ["label", "name", "create"], None),
        "a record of another cluster": (in_record(42, cluster="x"), CLAIMED, ["label", "name"], ApiError),
        "a new Service": (in_record(42), {}, ["create"], None),
        "the record may not be read": (UnlistedBalancers(forbidden), CLAIMED, ["label", "name"], ApiError),
        "the record cannot be read": (UnlistedBalancers(down), CLAIMED, ["label", "name"], Transient),
    },
)
def test_one_that_the_record_has(
    simulate: Simulate,
    unlisted: UnlistedBalancers,
    had: dict[str, Any],
    asked: list[str],
    ends: type[ApiError] | None,
) -> None:
    """A load balancer that lost label and name is asked for by its id, unless it is listed."""
    stage = a_stage(simulate, RENAMED, a_balancer(7, spec={"name": "seven", "labels": {}}))
    stage.snapshot = a_world([a_service(**had)], [a_balancer(7, spec={"name": "seven", "labels": {}})])
    stage.writers = replace(stage.writers, unlisted=unlisted)
    with nullcontext() if ends is None else pytest.raises(ends, check=lambda error: type(error) is ends):
        stage.carry_out(creation())  # a refusal of Kubernetes bars nothing at Hetzner
    assert questions(stage) == asked
    assert len(stage.balancers()) == 2 + (ends is None)


def test_what_is_gone_is_asked_for_once(simulate: Simulate) -> None:
    """Hetzner gives no id to a second load balancer; another token may be of another project."""
    stage, unlisted = a_stage(simulate), in_record(41)
    stage.snapshot = a_world([a_service(**CLAIMED)])
    stage.writers = replace(stage.writers, unlisted=unlisted)
    for _ in range(2):
        assert list(unlisted.recorded(stage.writers.reader, stage.snapshot)) == []
    assert questions(stage) == ["id"]
    unlisted.forget()
    assert list(unlisted.recorded(stage.writers.reader, stage.snapshot)) == []
    assert questions(stage) == ["id", "id"]


@rows(
    "trouble",
    {
        "down": {"code": 503, "body": "<html>"},
        "a page of HTML": {"code": 200, "body": "<html>"},
        "too many requests": {"code": 429, "body": {"error": {"code": "rate_limit_exceeded", "message": "no"}}},
    },
)
@pytest.mark.parametrize("path", ["/load_balancers", "/load_balancers/41"])
def test_an_unreadable_answer_proves_nothing(simulate: Simulate, path: str, trouble: dict[str, Any]) -> None:
    """Unknown is not absent: nothing is made."""
    stage = a_stage(simulate)
    stage.snapshot = a_world([a_service(**CLAIMED)])
    stage.writers = replace(stage.writers, unlisted=in_record(41))
    stage.sim.spoil_hetzner("status", method="GET", path=f"/v1{path}", count=None, **trouble)
    with pytest.raises(ApiError):
        stage.carry_out(creation())
    assert posts(stage) == []


def test_one_that_has_changed_since_it_was_listed(simulate: Simulate) -> None:
    """A label that came meanwhile is a conflict; the next list has it."""
    stage = a_stage(simulate, ITS_OWN)
    stage.snapshot = a_world([a_service(**CLAIMED)], [RENAMED])
    with pytest.raises(Conflict, match=r"^load balancer 42 shop now has another name or other owner labels$"):
        stage.carry_out(creation())
    assert posts(stage) == []


QUOTA = r"load balancer limit exceeded .*; ask Hetzner for a higher limit, or delete load balancers: `reconcile orph"


@rows(
    "wish said options",
    {
        "an unknown type": (replace(WISH, type="lb99"), "load balancer type not found", {}),
        "an unknown location": (replace(WISH, location="mars"), "location not found", {}),
        "no such network": (replace(WISH, attachment=Attachment(99)), "network with ID '99' not found", {}),
        "the quota": (WISH, QUOTA, {"load_balancer_limit": 0}),
    },
)
def test_other_refusals(simulate: Simulate, wish: LoadBalancer, said: str, options: dict[str, Any]) -> None:
    """What targets have nothing to do with is refused once, in the API's words."""
    stage = a_stage(simulate, **options)
    with pytest.raises(NotFound if not options else Invalid, match=said):
        stage.carry_out(creation(wish))
    assert len(posts(stage)) == 1
    assert stage.balancers() == []


def test_a_request_that_is_never_answered(simulate: Simulate) -> None:
    """It is sent twice at most, each time with a look whether it was carried out."""
    stage = a_stage(simulate)
    stage.sim.spoil_hetzner("reset", method="POST", count=None)
    with pytest.raises(Transient):
        stage.carry_out(creation())
    assert [method for method, _, _ in stage.sent()] == ["POST", "GET", "POST", "GET"]
    assert stage.balancers() == []


def test_a_request_that_is_carried_out_late(simulate: Simulate) -> None:
    """The look comes too early, and the second request meets the first one's load balancer: done all the same."""
    stage = a_stage(simulate)
    stage.sim.spoil_hetzner("executed_then_504", method="POST")
    stage.sim.hetzner.set_faults([{"kind": "list_lacks", "path": "/load_balancers"}])
    stage.carry_out(creation())
    assert [method for method, _, _ in stage.sent()] == ["POST", "GET", "POST", "GET"]
    assert stage.balancer()["labels"] == LABELS


@rows(
    "trouble expected",
    {
        "down": ({"code": 503, "body": "<html>", "count": None}, Transient),
        "a page of HTML": ({"code": 200, "body": "<html>"}, Broken),
    },
)
def test_a_look_that_fails(simulate: Simulate, trouble: dict[str, Any], expected: type[Exception]) -> None:
    """While it cannot be looked up, it is not sent again."""
    stage = a_stage(simulate)
    stage.sim.spoil_hetzner("executed_then_504", method="POST")
    stage.sim.spoil_hetzner("status", method="GET", **trouble)
    with pytest.raises(expected):
        stage.carry_out(creation())
    assert len(posts(stage)) == 1
    assert len(stage.balancers()) == 1
