"""Writes to Services: the claim, the published addresses, the release; what others have written stays."""

from contextlib import nullcontext
from dataclasses import replace
from datetime import timedelta
from ipaddress import IPv4Address
from typing import Any

import pytest

from actuators.http.errors import Conflict, Invalid, Outdated, Transient
from actuators.services import ServiceTask, require_alive, write_conditions
from actuators.wire.service import SERVICES
from desired.model.load_balancer import Attachment, Owner
from desired.model.service import Ingress, ServiceCondition
from desired.model.snapshot import Snapshot
from desired.names import FINALIZER_BALANCER, LABEL_CLUSTER_UID, LABEL_SERVICE_UID
from desired.plan.change import Change, Claimed
from tests.balancers import a_balancer, a_service, a_world
from tests.support.balancer_changes import BALANCER, SERVICE, a_difference
from tests.support.balancer_stage import carry_out as actuate
from tests.support.balancer_stage import hands_in, in_record
from tests.support.rows import rows
from tests.support.simulators import START, Simulate, Simulation, ago

PATH = "/api/v1/namespaces/default/services/web"
OTHERS = "example.com/hold"
FOREIGN = {
    "type": "example.com/Audited",
    "status": "True",
    "observedGeneration": 3,
    "lastTransitionTime": "2027-01-01T00:00:00Z",
    "reason": "Checked",
    "message": "by somebody",
}
OLD = [{"ip": "203.0.113.9", "ipMode": "VIP"}]
NEW = (Ingress("203.0.113.200", ip_mode="Proxy"), Ingress("2001:db8::200"), Ingress(hostname="lb.example.com"))
READY = ServiceCondition("LoadBalancerReady", "True", "AddressPublished", "published 203.0.113.200")
WHY = "a test wants it"

CLAIM = a_difference(f"{SERVICE}/finalizer", "service.claim", False, True, WHY, verb="add")
STATUS = a_difference(f"{SERVICE}/status", "service.status", (), NEW, WHY)
RELEASE = a_difference(f"{SERVICE}/release", "service.release", Claimed(FINALIZER_BALANCER, ()), None, WHY)


def raw(*finalizers: str, conditions: tuple[dict[str, Any], ...] = (), going: bool = False) -> dict[str, Any]:
    """A Service as the API server has it, that has an address."""
    metadata: dict[str, Any] = {"name": "web", "namespace": "default", "finalizers": list(finalizers)}
    if going:
        metadata |= {"deletionTimestamp": ago(60), "deletionGracePeriodSeconds": 0}
    return {
        "metadata": metadata,
        "spec": {"type": "LoadBalancer", "ports": [{"port": 80, "nodePort": 30080}]},
        "status": {"loadBalancer": {"ingress": OLD}, "conditions": [FOREIGN, *conditions]},
    }


@pytest.fixture
def started(simulate: Simulate) -> Simulate:
    """A cluster with the Service that it is given."""

    def start(service: dict[str, Any] | None = None) -> Simulation:
        sim = simulate()
        sim.kubernetes.replace_world({"services": [service or raw(OTHERS, FINALIZER_BALANCER)]})
        return sim

    return start


def service(sim: Simulation) -> dict[str, Any]:
    return sim.objects("services")["web"]


def observed(sim: Simulation, **overrides: Any) -> Snapshot:
    """The Service as a pass has read it."""
    metadata = service(sim)["metadata"]
    fields = {
        "uid": metadata["uid"],
        "resource_version": metadata["resourceVersion"],
        "finalizers": tuple(metadata.get("finalizers", ())),
    }
    return replace(a_world([a_service(**fields | overrides)]), taken_at=START)


def carry_out(sim: Simulation, change: Change, snapshot: Snapshot | None = None) -> None:
    found = snapshot or observed(sim)
    sim.kubernetes_proxy.journal.clear()
    actuate(sim, change, found)


@rows(
    "finalizers after",
    {
        "none": ([], [FINALIZER_BALANCER]),
        "somebody else's": ([OTHERS], [FINALIZER_BALANCER, OTHERS]),
        "ours already": ([OTHERS, FINALIZER_BALANCER], [OTHERS, FINALIZER_BALANCER]),
    },
)
def test_the_claim(started: Simulate, finalizers: list[str], after: list[str]) -> None:
    sim = started(raw(*finalizers))
    before = service(sim)
    carry_out(sim, CLAIM)
    now = service(sim)
    assert now["metadata"]["finalizers"] == after
    assert (now["spec"], now["status"]) == (before["spec"], before["status"])
    assert [entry.path for entry in sim.written()] == [f"{PATH}/status"]


ADOPTS = a_difference(f"{BALANCER}", "lb.adopt", Owner(None, "of-another"), Owner(None, "ours"), WHY)


@rows(
    "observed_as owner present says",
    {
        "it lives, and nobody owned the load balancer": ({}, None, True, None),
        "it lives, and the owner is gone": ({}, "gone", True, None),
        "the owner lives as well": ({}, "web", True, "exists"),
        "another one has its name by now": ({"uid": "earlier"}, None, True, "uid"),
        "it is gone": ({}, None, False, r"default/web is gone$"),
    },
)
def test_an_adopter_has_to_live(
    started: Simulate, observed_as: dict[str, str], owner: str | None, present: bool, says: str | None
) -> None:
    """A list of Services may be of an earlier time; the question itself changes nothing."""
    sim = started()
    snapshot = observed(sim, **observed_as)
    before = Owner(None, service(sim)["metadata"]["uid"] if owner == "web" else owner)
    change = replace(ADOPTS, before=before)
    if not present:
        sim.kubernetes.replace_world({"services": []})
    services = sim.objects("services")
    with nullcontext() if says is None else pytest.raises(Conflict, match=says):
        require_alive(ServiceTask(hands_in(sim), change, snapshot, sim.kubernetes_writer()), before)
    assert sim.objects("services") == services


def test_no_claim_of_a_service_that_is_being_deleted(started: Simulate) -> None:
    sim = started(raw(OTHERS, going=True))
    with pytest.raises(Conflict, match=r"^Service default/web is being deleted$"):
        carry_out(sim, CLAIM, observed(sim, deleted_at=START - timedelta(minutes=1)))
    assert sim.written() == []


def test_a_claim_beside_another_write(started: Simulate) -> None:
    """It needs no version: what somebody else adds meanwhile stays. A refusal for another reason is what it says."""
    sim = started(raw())
    snapshot = observed(sim)
    refusal = {"kind": "Status", "status": "Failure", "reason": "Invalid", "code": 422, "message": "no"}
    sim.spoil_kubernetes("status", method="PATCH", code=422, body=refusal)
    with pytest.raises(Invalid):
        carry_out(sim, CLAIM, snapshot)
    sim.kubernetes_writer().patch(PATH, {"metadata": {"finalizers": [OTHERS]}})
    carry_out(sim, CLAIM, snapshot)
    assert set(service(sim)["metadata"]["finalizers"]) == {OTHERS, FINALIZER_BALANCER}


def test_a_claim_that_comes_too_late(started: Simulate) -> None:
    sim = started(raw(OTHERS))
    snapshot = observed(sim)
    uid, version = (service(sim)["metadata"][name] for name in ("uid", "resourceVersion"))
    sim.kubernetes_writer().delete(PATH, uid=uid, version=version)
    with pytest.raises(Conflict, match=r"^Service default/web is now being deleted$"):
        carry_out(sim, CLAIM, snapshot)
    assert service(sim)["metadata"]["finalizers"] == [OTHERS]


def test_the_status(started: Simulate) -> None:
    sim = started()
    before = service(sim)

    carry_out(sim, STATUS)

    now = service(sim)
    assert now["status"]["loadBalancer"]["ingress"] == [
        {"ip": "203.0.113.200", "ipMode": "Proxy"},
        {"ip": "2001:db8::200", "ipMode": "VIP"},
        {"hostname": "lb.example.com"},
    ]
    assert now["status"]["conditions"] == [FOREIGN]
    assert now["spec"] == before["spec"]
    assert now["metadata"]["finalizers"] == before["metadata"]["finalizers"]
    (sent,) = sim.written()
    assert sent.body["status"]["loadBalancer"]["ingress"][1] == {"ip": "2001:db8::200"}


@rows(
    "there places is_written",
    {
        "it is the Service's": ({}, (), True),
        "it is another Service's by now": ({"labels": {LABEL_SERVICE_UID: "another"}}, (), False),
        "it has other addresses by now": ({}, (Attachment(7, IPv4Address("10.0.0.9")),), False),
        "its public interface was switched": ({"public_net": {"enabled": False}}, (), False),
        "it is gone": (None, (), False),
    },
)
@pytest.mark.parametrize("after", [STATUS.after, ()], ids=["for-others", "for-none"])
def test_no_address_is_given_up_because_of_a_list(
    started: Simulate,
    there: dict[str, Any] | None,
    places: tuple[Attachment, ...],
    is_written: bool,
    after: tuple[Ingress, ...],
) -> None:
    """A list of an earlier time shows a load balancer that was there before the one whose addresses are published."""
    sim = started()
    metadata = service(sim)["metadata"]
    served, listed = a_service(uid=metadata["uid"], resource_version=metadata["resourceVersion"]), a_balancer()
    own = {LABEL_SERVICE_UID: served.uid}
    found = [] if there is None else [{"id": listed.id, "name": "web", "labels": own} | there]
    sim.hetzner.replace_world({"load_balancers": found})
    labelled = replace(listed, attachments=places, spec=replace(listed.spec, labels=own))
    snapshot = replace(a_world([served], [labelled]), taken_at=START)
    change = replace(STATUS, before=(Ingress("203.0.113.9", ip_mode="VIP"),), after=after, cloud_id=listed.id)
    with nullcontext() if is_written else pytest.raises(Conflict):
        carry_out(sim, change, snapshot)
    assert (service(sim)["status"]["loadBalancer"].get("ingress") != OLD) is is_written


def shown(condition: ServiceCondition) -> dict[str, str]:
    names = ("type", "status", "reason", "message")
    return {name: getattr(condition, name) for name in names} | {
        "lastTransitionTime": f"{condition.since:%Y-%m-%dT%H:%M:%SZ}"
    }


@pytest.mark.parametrize("present", [None, replace(READY, status="False"), READY], ids=["new", "another", "the same"])
def test_conditions_that_ride_on_it(started: Simulate, present: ServiceCondition | None) -> None:
    """They are merged by type: ours say since when they have their status, those of others stay byte for byte."""
    there = () if present is None else (replace(present, since=START - timedelta(seconds=7)),)
    sim = started(raw(FINALIZER_BALANCER, conditions=tuple(map(shown, there))))
    condition = replace(READY, since=START - timedelta(hours=1))
    carry_out(sim, replace(STATUS, conditions=(condition,)), observed(sim, conditions=there))
    conditions = {condition["type"]: condition for condition in service(sim)["status"]["conditions"]}
    assert conditions == {FOREIGN["type"]: FOREIGN, "LoadBalancerReady": shown(condition)}


def test_a_condition_of_no_time_is_a_bug(started: Simulate) -> None:
    """The API server demands a time, and the rules always give one."""
    sim = started(raw(FINALIZER_BALANCER))
    with pytest.raises(ValueError, match="does not say since when"):
        carry_out(sim, replace(STATUS, conditions=(replace(READY, since=None),)), observed(sim))


@pytest.mark.parametrize("conditions", [(), (READY,)], ids=["no condition of ours", "a condition of ours"])
def test_the_release(started: Simulate, conditions: tuple[ServiceCondition, ...]) -> None:
    there = [{"type": found.type, "status": found.status, "lastTransitionTime": ago(7)} for found in conditions]
    sim = started(raw(OTHERS, FINALIZER_BALANCER, "example.com/more", conditions=tuple(there)))
    foreign = ServiceCondition(str(FOREIGN["type"]), "True")
    carry_out(sim, RELEASE, observed(sim, conditions=(foreign, *conditions)))
    now = service(sim)
    assert now["metadata"]["finalizers"] == [OTHERS, "example.com/more"]
    assert now["status"] == {"loadBalancer": {}, "conditions": [FOREIGN]}
    assert len(sim.written()) == 1


def test_the_release_of_the_last_finalizer(started: Simulate) -> None:
    """A Service that nobody else holds lives on without any, or vanishes when its deletion was asked for."""
    sim = started(raw(FINALIZER_BALANCER))
    carry_out(sim, RELEASE)
    assert "finalizers" not in service(sim)["metadata"]
    sim = started(raw(FINALIZER_BALANCER, going=True))
    carry_out(sim, RELEASE)
    assert sim.objects("services") == {}


def test_the_release_of_a_service_of_another_class(started: Simulate) -> None:
    """What its controller publishes is not ``before``, and stays; a finalizer that is gone is no error."""
    sim = started(raw(OTHERS))
    before = service(sim)["status"]
    carry_out(sim, RELEASE, observed(sim, ingress=tuple(Ingress(entry["ip"]) for entry in OLD)))
    assert (service(sim)["metadata"]["finalizers"], service(sim)["status"]) == ([OTHERS], before)


@rows(
    "labels depends_on is_released",
    {
        "it is there": ({}, (), False),
        "it is there, and another change came first": ({}, ("certificate/default/web",), False),
        "another cluster's, which the next pass sees": ({LABEL_CLUSTER_UID: "another"}, (), False),
        "its deletion was waited for": ({}, (BALANCER,), True),
        "so was its retention": ({}, (f"{BALANCER}/retain",), True),
    },
)
def test_the_release_beside_a_load_balancer(
    started: Simulate, labels: dict[str, str], depends_on: tuple[str, ...], is_released: bool
) -> None:
    """A list may lack one that is there, and nobody would release it any more. What went just before is not looked up:
    reads may lag behind."""
    sim = started()
    own = {LABEL_SERVICE_UID: service(sim)["metadata"]["uid"]}
    sim.hetzner.replace_world({"load_balancers": [{"id": 42, "name": "shop", "labels": own | labels}]})
    why = "^the list of load balancers lacks load balancer 42 shop, but a lookup finds it$"
    with nullcontext() if is_released else pytest.raises(Conflict, match=why):
        carry_out(sim, replace(RELEASE, depends_on=depends_on))
    assert service(sim)["metadata"]["finalizers"] == [OTHERS, *([] if is_released else [FINALIZER_BALANCER])]
    assert bool(sim.written()) is is_released
    assert (sim.sent_to_hetzner() == []) is any(key.startswith(BALANCER) for key in depends_on)


PUBLISHED_BEFORE: dict[str, Any] = {"ingress": (Ingress("203.0.113.9"),)}


@rows(
    "elsewhere had asked is_written",
    {
        "the published one is in no list, and exists": (42, {}, 4, False),
        "the published one is gone": (41, {}, 4, True),
        "the published one is listed": (42, {"ipv4": IPv4Address("203.0.113.9")}, 1, True),
    },
)
def test_another_address_is_published(
    started: Simulate, elsewhere: int, had: dict[str, Any], asked: int, is_written: bool
) -> None:
    """An address that no listed load balancer has is given up only once its load balancer is proven absent."""
    sim = started()
    metadata = service(sim)["metadata"]
    served = a_service(uid=metadata["uid"], resource_version=metadata["resourceVersion"], **PUBLISHED_BEFORE)
    own = a_balancer(7, service_uid=served.uid, cluster_uid=None)
    labels = {LABEL_SERVICE_UID: served.uid}
    sim.hetzner.replace_world(
        {"load_balancers": [{"id": 7, "name": own.spec.name, "labels": labels}, {"id": 42, "name": "edge"}]}
    )
    other = a_balancer(8, service_uid=None, cluster_uid=None, spec={"name": "other"}, **had)
    snapshot = replace(a_world([served], [own, other]), taken_at=START)
    hands = replace(hands_in(sim), unlisted=in_record(elsewhere))
    change = replace(STATUS, before=served.ingress, cloud_id=7)
    with nullcontext() if is_written else pytest.raises(Outdated, match=r"lacks load balancer 42 edge"):
        actuate(sim, change, snapshot, hands)
    assert len(sim.sent_to_hetzner()) == asked
    assert bool(sim.written()) is is_written


@rows("recorded ends", {"it exists": (42, Outdated), "it is gone": (41, None)})
def test_the_release_beside_a_recorded_load_balancer(
    started: Simulate, recorded: int, ends: type[Outdated] | None
) -> None:
    """A load balancer without label and name is asked for by its id: three requests."""
    sim = started()
    sim.hetzner.replace_world({"load_balancers": [{"id": 42, "name": "edge"}]})
    hands = replace(hands_in(sim), unlisted=in_record(recorded))
    with nullcontext() if ends is None else pytest.raises(ends):
        actuate(sim, RELEASE, observed(sim), hands)
    assert len(sim.sent_to_hetzner()) == 3
    assert (FINALIZER_BALANCER in service(sim)["metadata"]["finalizers"]) is (ends is not None)


def test_no_release_while_nobody_can_say(started: Simulate) -> None:
    sim = started()
    sim.spoil_hetzner("status", code=503, body="<html>", count=None)
    with pytest.raises(Transient):
        carry_out(sim, RELEASE)
    assert sim.written() == []


IN_SYNC = ServiceCondition("LoadBalancerInSync", "False", "Held", "a person has to approve", START)


def test_conditions_on_their_own(started: Simulate) -> None:
    sim, ready = started(), replace(READY, since=START)
    before = service(sim)
    better = replace(IN_SYNC, status="True", reason="InSync", since=START.replace(hour=9))
    for conditions in ((ready, IN_SYNC), (ready, better)):
        (found,) = SERVICES.observe(sim.kubernetes_reader())[0]
        write_conditions(sim.kubernetes_writer(), found, conditions)
    now = service(sim)
    assert sorted(now["status"]["conditions"], key=str) == sorted([FOREIGN, shown(ready), shown(better)], key=str)
    assert (now["status"]["loadBalancer"], now["spec"]) == (before["status"]["loadBalancer"], before["spec"])


@pytest.mark.parametrize("other", [{"uid": "another"}, {"resource_version": "1"}], ids=["made anew", "written to"])
def test_conditions_of_a_service_that_has_moved_on(started: Simulate, other: dict[str, Any]) -> None:
    """What was concluded may be wrong by now: Conflict, and it stays as it is."""
    sim = started()
    (found,) = SERVICES.observe(sim.kubernetes_reader())[0]
    with pytest.raises(Conflict):
        write_conditions(sim.kubernetes_writer(), replace(found, **other), (IN_SYNC,))
    assert service(sim)["status"]["conditions"] == [FOREIGN]
