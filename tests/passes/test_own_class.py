"""Services of our own class: by whose marks they are served, beside HCCM and beside another process of ours."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

import desired.names
from desired.names import (
    FINALIZER_BALANCER,
    FINALIZER_OWN_CLASS,
    LABEL_CLASS,
    LABEL_CLUSTER_UID,
    LABEL_FORMER,
    LABEL_OWN_CLASS_UID,
    LABEL_RELEASED,
    LABEL_SERVICE_UID,
    OWN_CLASS,
)
from tests.support.in_process import one_pass
from tests.support.objects import a_service, finalizers, ingress, notes, notes_of_kind
from tests.support.stage import Stage

ONCE = {"--once": "true"}
CLASS_ALONE = ONCE | {"--default-load-balancer": "false"}
"""HCCM, or another process, serves Services without a class."""
OTHER = "example.com/internal"
OTHER_INSTANCE = CLASS_ALONE | {"--load-balancer-class": OTHER}
OWN_LABEL, OTHER_LABEL = "hcloud-reconciler..load-balancer", "example.com..internal"


def of_class(name: str, load_balancer_class: str | None = OWN_CLASS) -> dict[str, Any]:
    service = a_service(name)
    return service | {"spec": service["spec"] | {"loadBalancerClass": load_balancer_class}}


def flip(stage: Stage, load_balancer_class: str | None, service: str = "web") -> None:
    """As the API server allows it: by another type, which empties the status."""
    stage.turn(service, "NodePort")
    stage.patch_service({"status": {"loadBalancer": None}}, f"{service}/status")
    stage.turn(service, "LoadBalancer", load_balancer_class)


def marks(stage: Stage, name: str = "web") -> tuple[set[str], set[str]]:
    """The finalizers of a Service, and the labels of its load balancer that name a Service or a class."""
    uid = stage.service(name)["metadata"]["uid"]
    (balancer,) = (each for each in stage.balancers() if uid in each["labels"].values())
    of_owners = {LABEL_SERVICE_UID, LABEL_OWN_CLASS_UID, LABEL_CLASS}
    return finalizers(stage.service(name)), of_owners & balancer["labels"].keys()


OWN_MARKS = ({FINALIZER_OWN_CLASS}, {LABEL_OWN_CLASS_UID, LABEL_CLASS})
HCCM_MARKS = ({FINALIZER_BALANCER}, {LABEL_SERVICE_UID})


def hccm_cleans_up(stage: Stage) -> None:
    """What HCCM's library does in each sync: whatever has its finalizer and is deleted, or of another type or class,
    loses the load balancers with HCCM's label, and then the finalizer."""
    for name, service in stage.services().items():
        spec, metadata = service["spec"], service["metadata"]
        wants = (
            spec["type"] == "LoadBalancer" and "loadBalancerClass" not in spec and "deletionTimestamp" not in metadata
        )
        if wants or FINALIZER_BALANCER not in metadata.get("finalizers", ()):
            continue
        for balancer in stage.balancers():
            if balancer["labels"].get(LABEL_SERVICE_UID) == metadata["uid"]:
                stage.to_project("DELETE", f"/load_balancers/{balancer['id']}")
        left = [each for each in metadata["finalizers"] if each != FINALIZER_BALANCER]
        stage.patch_service({"metadata": {"finalizers": left or None}}, name)


def settle(stage: Stage, flags: Mapping[str, str] = ONCE) -> None:
    """Passes until one has nothing to do, which then asks nothing of either API but what it reads."""
    for _ in range(3):
        if one_pass(stage, flags)["result"] == "no_changes":
            break
    stage.forget()
    report = one_pass(stage, flags)
    assert (report["changes"], stage.writes(), stage.asked_of_hetzner()) == ([], [], [])


def test_a_service_of_our_class_has_marks_that_hccm_does_not_know(balanced: Stage) -> None:
    """From its creation to its deletion, with and without HCCM's cleanup between the passes."""
    balanced.have_services(of_class("web"))
    settle(balanced, CLASS_ALONE)
    assert marks(balanced) == OWN_MARKS
    published = ingress(balanced.service())
    assert published

    hccm_cleans_up(balanced)
    assert (marks(balanced), ingress(balanced.service())) == (OWN_MARKS, published)

    balanced.delete_service()
    hccm_cleans_up(balanced)
    assert len(balanced.balancers()) == 1
    one_pass(balanced, CLASS_ALONE)
    assert (balanced.services(), balanced.balancers()) == ({}, [])


@pytest.mark.parametrize("load_balancer_class", [OTHER, "", "tailscale"])
def test_a_service_of_another_class_is_never_touched(balanced: Stage, load_balancer_class: str) -> None:
    """Nor is anything read for its sake."""
    theirs = of_class("web", load_balancer_class)
    theirs["metadata"]["finalizers"] = ["example.com/x"]
    balanced.have_services(theirs)
    one_pass(balanced)
    balanced.forget()
    report = one_pass(balanced)
    assert (report["changes"], balanced.writes(), balanced.balancers()) == ([], [], [])
    assert not [asked for asked in balanced.read_of_hetzner() if "load_balancers" in asked]


@pytest.mark.parametrize("passes_between", [False, True], ids=["within a pass", "over two passes"])
@pytest.mark.parametrize("flags", [ONCE, CLASS_ALONE], ids=["default on", "default off"])
def test_a_service_gets_our_class_and_keeps_its_load_balancer(
    served: Stage, flags: Mapping[str, str], *, passes_between: bool
) -> None:
    """As the steps of ``validate --for class`` say: retained first, so that a pass between costs nothing either."""
    before = served.balancers()[0]
    served.annotate(deletion_policy="retain")
    served.turn("web", "NodePort")
    if passes_between:
        settle(served, flags)
    served.turn("web", "LoadBalancer", OWN_CLASS)
    settle(served, flags)
    assert marks(served) == OWN_MARKS
    after = served.balancers()[0]
    assert (after["id"], after["public_net"]) == (before["id"], before["public_net"])
    assert ingress(served.service())[0]["ip"] == before["public_net"]["ipv4"]["ip"]


def test_a_service_goes_back_to_having_no_class(balanced: Stage) -> None:
    """With the marks of HCCM, so that HCCM may go on with it."""
    balanced.have_services(of_class("web"))
    settle(balanced)
    before = balanced.balancers()[0]["id"]
    flip(balanced, None)
    settle(balanced)
    assert marks(balanced) == HCCM_MARKS
    assert [each["id"] for each in balanced.balancers()] == [before]


@pytest.mark.parametrize("to_class", [OWN_CLASS, None], ids=["to our class", "back"])
@pytest.mark.parametrize("done", range(4))
def test_a_death_within_a_take_over(balanced: Stage, to_class: str | None, done: int) -> None:
    """After each of its writes; the next pass goes on, and HCCM's cleanup at that moment takes nothing once the labels
    are ours."""
    balanced.have_services(of_class("web", None if to_class else OWN_CLASS))
    settle(balanced)
    flip(balanced, to_class)
    was, now = (HCCM_MARKS, OWN_MARKS) if to_class else (OWN_MARKS, HCCM_MARKS)
    uid, balancer = balanced.service()["metadata"]["uid"], balanced.balancers()[0]
    if done >= 1:
        balanced.patch_service({"metadata": {"finalizers": sorted(was[0] | now[0])}})
    if done >= 2:
        own = {LABEL_OWN_CLASS_UID: uid, LABEL_CLASS: OWN_LABEL}
        labels = (own if to_class else {LABEL_SERVICE_UID: uid}) | {
            LABEL_CLUSTER_UID: balancer["labels"][LABEL_CLUSTER_UID]
        }
        balanced.to_project("PUT", f"/load_balancers/{balancer['id']}", {"labels": labels})
    if done >= 3:
        balanced.patch_service({"metadata": {"finalizers": sorted(now[0])}})
    if done >= 2 and to_class:
        hccm_cleans_up(balanced)
    settle(balanced)
    assert marks(balanced) == now
    assert [each["id"] for each in balanced.balancers()] == [balancer["id"]]


@pytest.mark.parametrize(
    "goes", [Stage.delete_service, lambda stage: stage.turn("web", "NodePort")], ids=["deleted", "of another type"]
)
def test_switched_off_for_services_without_a_class(served: Stage, goes: Callable[[Stage], None]) -> None:
    """What has our marks is left as it is, until whoever serves it cleans up, and a note names a Service that waits."""
    before = served.balancers()
    report = one_pass(served, CLASS_ALONE)
    assert (report["changes"], served.writes(), served.balancers()) == ([], [], before)
    goes(served)
    report = one_pass(served, CLASS_ALONE)
    waiting = [note["key"] for note in report["notes"] if note["kind"] == "stuck"]
    is_deleted = "deletionTimestamp" in served.service()["metadata"]
    assert (report["changes"], waiting) == ([], ["service/default/web"] * is_deleted)
    assert (served.writes(), served.balancers()) == ([], before)
    hccm_cleans_up(served)
    assert served.balancers() == []


def test_a_service_that_lost_our_class_beside_hccm_stays_as_it_is(balanced: Stage) -> None:
    """With Services without a class left to HCCM; it is taken up again with its class, or once they are served."""
    balanced.have_services(of_class("web"))
    settle(balanced, CLASS_ALONE)
    before = balanced.balancers()
    flip(balanced, None)
    report = one_pass(balanced, CLASS_ALONE)
    assert (report["changes"], balanced.balancers()) == ([], before)
    balanced.delete_service()
    assert [note["kind"] for note in one_pass(balanced, CLASS_ALONE)["notes"]] == ["stuck"]
    assert balanced.balancers() == before
    one_pass(balanced, ONCE)
    assert (balanced.services(), balanced.balancers()) == ({}, [])


def test_the_only_service_gets_a_foreign_class_between_two_passes(balanced: Stage) -> None:
    """Its load balancer was not read any more, as no Service seemed to need one: it stayed, was paid for, and the
    deletion of the Service waited for ever."""
    balanced.have_services(of_class("web"))
    settle(balanced)
    flip(balanced, "example.com/foreign")
    one_pass(balanced, ONCE)
    assert (finalizers(balanced.service()), balanced.balancers()) == (set(), [])


def test_a_deletion_that_waits_for_a_lost_class_is_noted(balanced: Stage) -> None:
    """With the flag lost, or another value of it, the Service and its load balancer stay, and the note says so."""
    balanced.have_services(of_class("web", OTHER))
    settle(balanced, OTHER_INSTANCE)
    before = balanced.balancers()
    balanced.delete_service()
    report = one_pass(balanced, ONCE)
    (note,) = notes_of_kind(report, "stuck")
    assert f"deletion waits for finalizer {FINALIZER_OWN_CLASS}" in note
    assert (report["changes"], balanced.balancers()) == ([], before)


def test_a_label_that_hccm_set_for_its_own_service_is_no_change_of_class(balanced: Stage) -> None:
    """HCCM labels what has the name that its Service asks for: to take that off again was a fight, told as a change of
    class."""
    service = of_class("web")
    service["metadata"]["annotations"] = a_service(name="shared")["metadata"]["annotations"]
    balanced.have_services(service)
    settle(balanced, CLASS_ALONE)
    balanced.have_services(a_service("theirs"))
    (balancer,) = balanced.balancers()
    uid = balanced.service("theirs")["metadata"]["uid"]
    labels = balancer["labels"] | {LABEL_SERVICE_UID: uid}
    balanced.to_project("PUT", f"/load_balancers/{balancer['id']}", {"labels": labels})
    report = one_pass(balanced, CLASS_ALONE)
    assert report["changes"] == []
    (note,) = notes_of_kind(report, "foreign")
    assert "label hcloud-ccm/service-uid of Service default/theirs too" in note
    assert balanced.balancers()[0]["labels"] == labels


def test_hccm_runs_beside_us(balanced: Stage) -> None:
    """Its load balancers stay as they are, whatever happens to their Services, and ours are nothing to its cleanup."""
    balanced.have_services(of_class("ours"), a_service("theirs"))
    one_pass(balanced, ONCE)
    settle(balanced, CLASS_ALONE)
    theirs = [each for each in balanced.balancers() if LABEL_SERVICE_UID in each["labels"]]
    balanced.delete_service("theirs")
    report = one_pass(balanced, as_loop(CLASS_ALONE))
    assert report["changes"] == []
    assert [each for each in balanced.balancers() if LABEL_SERVICE_UID in each["labels"]] == theirs
    hccm_cleans_up(balanced)
    assert [LABEL_OWN_CLASS_UID in each["labels"] for each in balanced.balancers()] == [True]
    settle(balanced, CLASS_ALONE)


@pytest.mark.parametrize("goes", ["is retained", "vanishes"])
@pytest.mark.parametrize("ours", [ONCE, CLASS_ALONE], ids=["default on", "default off"])
def test_two_processes_leave_each_other_alone(balanced: Stage, ours: Mapping[str, str], goes: str) -> None:
    """Each with its class in one cluster: what the other has released or lost is no orphan here,
    and is neither deleted nor counted."""
    balanced.have_services(of_class("web"), of_class("inside", OTHER))
    settle(balanced, ours)
    settle(balanced, OTHER_INSTANCE)
    settle(balanced, ours)
    assert marks(balanced, "inside") == OWN_MARKS
    (inside,) = (each for each in balanced.balancers() if each["labels"].get(LABEL_CLASS) == OTHER_LABEL)
    if goes == "vanishes":
        balanced.patch_service({"metadata": {"finalizers": None}}, "inside")
        balanced.delete_service("inside")
    else:
        balanced.annotate("inside", deletion_policy="retain")
        balanced.delete_service("inside")
        report = one_pass(balanced, ours)
        assert report["changes"] == []
        one_pass(balanced, OTHER_INSTANCE)
        assert "inside" not in balanced.services()
    (left,) = (each for each in balanced.balancers() if each["id"] == inside["id"])
    assert left["labels"][LABEL_CLASS] == OTHER_LABEL
    assert {LABEL_RELEASED in left["labels"], LABEL_FORMER in left["labels"]} == {goes == "is retained"}
    balanced.forget()
    report = one_pass(balanced, as_loop(ours))
    assert (report["changes"], report["notes"], balanced.asked_of_hetzner()) == ([], [], [])


def test_a_name_of_another_process_is_not_taken(balanced: Stage) -> None:
    """The load balancer that has it serves another class."""
    theirs = of_class("inside", OTHER)
    theirs["metadata"]["annotations"] = a_service(name="shared")["metadata"]["annotations"]
    balanced.have_services(theirs)
    settle(balanced, OTHER_INSTANCE)
    balanced.have_services(a_service(name="shared"))
    before = balanced.balancers()
    report = one_pass(balanced)
    assert {change["verdict"] for change in report["changes"] if change["kind"].startswith("lb.")} <= {"refused"}
    assert balanced.balancers() == before


def test_the_process_of_another_class_takes_over(balanced: Stage) -> None:
    """A Service that is given the class of another process keeps its load balancer, if it is there first."""
    balanced.have_services(of_class("web"))
    settle(balanced)
    before = balanced.balancers()[0]["id"]
    flip(balanced, OTHER)
    settle(balanced, OTHER_INSTANCE)
    assert [(each["id"], each["labels"][LABEL_CLASS]) for each in balanced.balancers()] == [(before, OTHER_LABEL)]
    settle(balanced)
    assert marks(balanced) == OWN_MARKS
    balanced.delete_service()
    assert one_pass(balanced)["changes"] == []
    one_pass(balanced, OTHER_INSTANCE)
    assert (balanced.services(), balanced.balancers()) == ({}, [])


def test_a_service_of_another_process_is_not_released_by_its_finalizer(balanced: Stage) -> None:
    """It has Kubernetes' finalizer too, and our condition, which the other process has written."""
    balanced.have_services(of_class("web", OTHER))
    settle(balanced, OTHER_INSTANCE)
    both = {FINALIZER_BALANCER, FINALIZER_OWN_CLASS}
    balanced.patch_service({"metadata": {"finalizers": sorted(both)}})
    before = balanced.service()
    # A Service of ours, so that load balancers are read: they tell whose the other one is.
    balanced.have_services(of_class("ours"))
    settle(balanced)
    assert balanced.service() == before


def relabel(stage: Stage, **labels: str | None) -> None:
    """As a person does by hand; None takes one off. Names are those of ``desired.names``, without ``LABEL_``."""
    (balancer,) = stage.balancers()
    found = balancer["labels"] | {getattr(desired.names, f"LABEL_{name}"): text for name, text in labels.items()}
    body = {"labels": {key: text for key, text in found.items() if text is not None}}
    stage.to_project("PUT", f"/load_balancers/{balancer['id']}", body)


def test_a_class_that_is_taken_off_by_hand_is_written_again(balanced: Stage) -> None:
    """By the process that serves the Service; meanwhile the others leave it alone, and tell of it: they do not know
    which classes are served."""
    balanced.have_services(of_class("web"))
    settle(balanced)
    relabel(balanced, CLASS=None)
    others = one_pass(balanced, as_loop(OTHER_INSTANCE))
    assert (others["changes"], [note["kind"] for note in others["notes"]]) == ([], ["foreign"])
    settle(balanced)
    assert marks(balanced) == OWN_MARKS
    others = one_pass(balanced, as_loop(OTHER_INSTANCE))
    assert (others["changes"], others["notes"]) == ([], [])


def as_loop(flags: Mapping[str, str]) -> Mapping[str, str]:
    """The flags of a controller, which lists load balancers at its start though no Service needs one."""
    return {name: text for name, text in flags.items() if name != "--once"}


PROCESSES = {"default on": ONCE, "default off": CLASS_ALONE, "another": OTHER_INSTANCE}


@pytest.mark.parametrize(("process", "goes"), [
    (process, goes)
    for process in PROCESSES
    for goes in ("another type", "no class", "a foreign class", "vanishes")
    if (process, goes) != ("default on", "no class")  # such a Service is served, with the load balancer that it had
])  # fmt: skip
def test_a_load_balancer_that_has_lost_its_class_and_its_service_is_noted(
    balanced: Stage, process: str, goes: str
) -> None:
    """No process could tell that it is not another one's, so that none deleted it and none told of it, also where its
    Service is of a class that is served by others, or has none. A person says whose it is."""
    flags = PROCESSES[process]
    balanced.have_services(of_class("web"))
    settle(balanced)
    relabel(balanced, CLASS=None)
    (before,) = balanced.balancers()
    if goes == "vanishes":
        balanced.patch_service({"metadata": {"finalizers": None}})
        balanced.delete_service()
    elif goes == "another type":
        balanced.turn("web", "NodePort")
    else:
        flip(balanced, "tailscale" if goes == "a foreign class" else None)
    reports = [one_pass(balanced, as_loop(flags)) for _ in range(2)]  # a state of the world, and no news
    for report in reports:
        assert (report["changes"], notes(report)) == ([], {(f"load_balancer/#{before['id']}", "foreign")})
    assert balanced.balancers() == [before]
    mine = OTHER_LABEL if flags is OTHER_INSTANCE else OWN_LABEL
    (text,) = notes_of_kind(reports[0], "foreign")
    assert f"hcloud load-balancer add-label {before['id']} {LABEL_CLASS}={mine} if" in text

    relabel(balanced, CLASS=mine)
    report = one_pass(balanced, as_loop(flags))
    # What has no class is left to others, until it has one again.
    expected = {"vanishes": ["lb.delete"], "no class": []}.get(goes, ["lb.delete"])
    assert [change["kind"] for change in report["changes"]][:1] == expected
