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
from desired.model.service import Ingress
from desired.names import FINALIZER_BALANCER, LABEL_CLUSTER_UID, LABEL_FORMER, LABEL_RELEASED, LABEL_SERVICE_UID
from desired.plan.change import Change
from desired.plan.controller_record import FoundRecord
from desired.section import UNMANAGED
from tests.balancers import DEFAULT_NAME, SERVICE_UID, a_balancer, a_listener, a_service, a_world, an_http_listener
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
        "one of the two": ({"primary_ipv4": 7}, {"ipv4": 7}),
        "both": ({"primary_ipv4": 7, "primary_ipv6": 8}, {"ipv4": 7, "ipv6": 8}),
    },
)
def test_primary_ips(simulate: Simulate, wish: dict[str, Any], sent: dict[str, int]) -> None:
    """Named in the creation, and nowhere else: Hetzner itself refuses what it cannot assign, and says so."""
    stage = a_stage(simulate, servers=[a_member(1), a_member(2)])
    world = stage.sim.hetzner.world()["hetzner"]
    free = [{"id": 7, "name": "four"}, {"id": 8, "name": "six", "type": "ipv6"}]
    stage.sim.hetzner.replace_world({**world, "primary_ips": free})

    stage.carry_out(creation(replace(WISH, **wish)))

    assert [body.get("public_net") for body in posts(stage)] == [sent]
    public_net = stage.balancer()["public_net"]
    assert {family: public_net[family]["id"] for family in sent} == sent
    with pytest.raises(Invalid, match="primary_ip_assigned"):
        stage.carry_out(creation(replace(WISH, name="another", **wish)))
    assert len(posts(stage)) == 2


def test_everything_is_asked_for_at_once(simulate: Simulate) -> None:
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


def test_unmanaged_fields_are_not_sent(simulate: Simulate) -> None:
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


AT_AN_ADDRESS = Attachment(NETWORK_ID, IPv4Address("10.7.0.200"))
IN_A_SUBNET = Attachment(NETWORK_ID, ip_range=IPv4Network("10.7.0.0/24"))


@pytest.mark.parametrize("place", [AT_AN_ADDRESS, IN_A_SUBNET, None])
def test_places_that_a_creation_cannot_name(simulate: Simulate, place: Any) -> None:
    """The request has no field for an address or a subnet: it is attached in the next pass."""
    stage = a_stage(simulate)
    stage.carry_out(creation(replace(WISH, attachment=place)))
    assert "network" not in posts(stage)[0]
    assert stage.balancer()["private_net"] == []


def test_targets_go_in_a_stable_order(simulate: Simulate) -> None:
    stage = a_stage(simulate, servers=[a_member(number) for number in (2, 10)])
    servers = {ServerTarget(number, use_private_ip=False) for number in (10, 2)}
    stage.carry_out(creation(replace(WISH, targets=frozenset({IpTarget("198.51.100.7"), *servers}))))
    assert posts(stage)[0]["targets"] == [
        {"type": "server", "server": {"id": 2}, "use_private_ip": False},
        {"type": "server", "server": {"id": 10}, "use_private_ip": False},
        {"type": "ip", "ip": {"ip": "198.51.100.7"}},
    ]


def refused(code: str, message: str = "no", limit: str | None = None) -> dict[str, Any]:
    return {"code": code, "message": message, "details": limit and {"limits": [{"name": limit}]}}


LIMIT = "resource_limit_exceeded"


@rows(
    "status error sent",
    {
        "a code that nobody knows": (422, refused("word_of_next_year"), ["targets", "services"]),
        "something is not there": (404, refused("not_found"), ["targets", "services"]),
        "a port first": (412, refused("source_port_already_used"), ["services", "targets"]),
        "of targets alone": (422, refused("target_already_defined"), ["targets"]),
        "of a Primary IP": (422, refused("primary_ip_blocked"), []),
        "a payment": (402, refused("word_of_next_year"), []),
        "the token may not": (403, refused("forbidden"), []),
        "the name is taken": (409, refused("uniqueness_error"), []),
        "too many requests": (429, refused("rate_limit_exceeded"), []),
        "a limit of targets, by its name": (403, refused(LIMIT, limit="load_balancer_target_limit"), ["targets"]),
        "a limit of targets, in words": (403, refused(LIMIT, "too many targets", "other"), ["targets"]),
        "a limit of services": (403, refused(LIMIT, "load balancer service limit exceeded"), ["services", "targets"]),
        "a limit of load balancers": (403, refused(LIMIT, limit="load_balancer_limit"), []),
        "a limit that is not said": (403, refused(LIMIT), ["targets", "services"]),
    },
)
def test_each_part_is_left_out_once(simulate: Simulate, status: int, error: dict[str, Any], sent: list[str]) -> None:
    """Whatever the code says, unless that is known to be about something else: no request more than that. The limit of
    the project alone is raised by asking."""
    stage = a_stage(simulate)
    stage.sim.spoil_hetzner("status", method="POST", code=status, body={"error": error}, count=None)
    with pytest.raises(ApiError) as caught:
        stage.carry_out(creation())
    is_of_the_project = error == refused(LIMIT) or error["details"] == {"limits": [{"name": "load_balancer_limit"}]}
    assert ("ask Hetzner" in str(caught.value)) is is_of_the_project
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
        "in a network": (IN_NETWORK, {}, [True, False], IN_NETWORK.targets),
        "and so are targets": (IN_NETWORK, {"private_targets_at_creation": "refused"}, [True, False, False], set()),
        "there is none": (replace(WISH, listeners={}), {}, [False], WISH.targets),
    },
)
def test_services_are_refused(
    simulate: Simulate, wish: LoadBalancer, options: dict[str, Any], sent: list[bool], targets: Any
) -> None:
    """It is created without them, and with all else that can be had: the next pass adds them one by one."""
    stage = a_stage(simulate, services_at_creation="refused", **options)
    stage.carry_out(creation(wish))
    assert ["services" in body for body in posts(stage)] == sent
    found = stage.balancer()
    assert (found["labels"], found["services"], stage.targets()) == (LABELS, [], targets)
    assert bool(found["private_net"]) is isinstance(wish.attachment, Attachment)


def test_a_lesser_one_is_never_a_second_one(simulate: Simulate) -> None:
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
        "another cluster did": ({}, waiting(**{LABEL_CLUSTER_UID: "another"}), "default.web", ["label"], True),
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
    simulate: Simulate, unlisted: UnlistedBalancers, had: dict[str, Any], asked: list[str], ends: type[ApiError] | None
) -> None:
    """A load balancer that lost label and name is asked for by its id, unless it is listed."""
    stage = a_stage(simulate, RENAMED, a_balancer(7, spec={"name": "seven", "labels": {}}))
    stage.snapshot = a_world([a_service(**had)], [a_balancer(7, spec={"name": "seven", "labels": {}})])
    stage.writers = replace(stage.writers, unlisted=unlisted)
    with nullcontext() if ends is None else pytest.raises(ends, check=lambda error: type(error) is ends):
        stage.carry_out(creation())  # a refusal of Kubernetes bars nothing at Hetzner
    assert questions(stage) == asked
    assert len(stage.balancers()) == 2 + (ends is None)


def test_an_id_that_is_gone_is_asked_for_once(simulate: Simulate) -> None:
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


@pytest.mark.parametrize("path", ["/load_balancers", "/load_balancers/41"])
def test_an_unreadable_answer_proves_nothing(simulate: Simulate, path: str) -> None:
    stage = a_stage(simulate)
    stage.snapshot = a_world([a_service(**CLAIMED)])
    stage.writers = replace(stage.writers, unlisted=in_record(41))
    stage.sim.spoil_hetzner("status", method="GET", path=f"/v1{path}", code=200, body="<html>", count=None)
    with pytest.raises(Broken):
        stage.carry_out(creation())
    assert posts(stage) == []


def test_one_that_has_changed_since_it_was_listed(simulate: Simulate) -> None:
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
    stage = a_stage(simulate, **options)
    with pytest.raises(NotFound if not options else Invalid, match=said):
        stage.carry_out(creation(wish))
    assert len(posts(stage)) == 1
    assert stage.balancers() == []


def test_a_request_that_is_carried_out_late(simulate: Simulate) -> None:
    """The look comes too early, and the second request meets the first one's load balancer: done all the same."""
    stage = a_stage(simulate)
    stage.sim.spoil_hetzner("executed_then_504", method="POST")
    stage.sim.hetzner.set_faults([{"kind": "list_lacks", "path": "/load_balancers"}])
    stage.carry_out(creation())
    assert [method for method, _, _ in stage.sent()] == ["POST", "GET", "POST", "GET"]
    assert stage.balancer()["labels"] == LABELS


def test_a_look_that_fails(simulate: Simulate) -> None:
    """While it cannot be looked up, it is not sent again."""
    stage = a_stage(simulate)
    stage.sim.spoil_hetzner("executed_then_504", method="POST")
    stage.sim.spoil_hetzner("status", method="GET", code=200, body="<html>")
    with pytest.raises(Broken):
        stage.carry_out(creation())
    assert len(posts(stage)) == 1
    assert len(stage.balancers()) == 1
