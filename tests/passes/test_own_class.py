"""Services of a class: by which finalizer and label they are served, beside HCCM and beside other processes of ours."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from desired.model.serving import Serving
from desired.names import (
    FINALIZER_BALANCER,
    FINALIZER_OWN_CLASS,
    LABEL_CLASS,
    LABEL_OWN_CLASS_UID,
    LABEL_RELEASED,
    LABEL_SERVICE_UID,
    OWN_CLASS,
)
from tests.support.in_process import one_pass
from tests.support.objects import a_service, finalizers, ingress, notes_of_kind
from tests.support.stage import Stage

ONCE = {"--once": "true"}
"""Of the process that serves Services without a class."""
OTHER = "example.com/internal"
OTHER_LABEL = "example.com..internal"


def process_of(balancer_class: str | None) -> dict[str, str]:
    """Flags of the process that serves a class."""
    return ONCE if balancer_class is None else ONCE | {"--load-balancer-class": balancer_class}


CLASS_ALONE, OTHER_INSTANCE = process_of(OWN_CLASS), process_of(OTHER)


def as_loop(flags: Mapping[str, str]) -> Mapping[str, str]:
    """The flags of a controller, which lists load balancers at its start though no Service needs one."""
    return {name: text for name, text in flags.items() if name != "--once"}


def of_class(service: str, load_balancer_class: str | None = OWN_CLASS, /, **options: str) -> dict[str, Any]:
    found = a_service(service, **options)
    return found | {"spec": found["spec"] | {"loadBalancerClass": load_balancer_class}}


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


def marks_of(balancer_class: str | None) -> tuple[set[str], set[str]]:
    """What a Service of this class has, and its load balancer."""
    labels = {LABEL_SERVICE_UID} if balancer_class is None else {LABEL_OWN_CLASS_UID, LABEL_CLASS}
    return {Serving(balancer_class).finalizer}, labels


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
                stage.delete_balancer(balancer["id"])
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


def test_a_service_of_a_class_has_marks_that_hccm_does_not_know(balanced: Stage) -> None:
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


@pytest.mark.parametrize("load_balancer_class", [OWN_CLASS, OTHER, "", "tailscale"])
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


CHANGES = pytest.mark.parametrize(
    ("was", "to"), [(None, OWN_CLASS), (OWN_CLASS, None), (OWN_CLASS, OTHER)], ids=["to a class", "back", "to another"]
)


@CHANGES
def test_a_service_that_leaves_a_class_gets_another_load_balancer(
    balanced: Stage, was: str | None, to: str | None
) -> None:
    """The next process makes none before the former one has let go, and tells of it."""
    balanced.have_services(of_class("web", was))
    settle(balanced, process_of(was))
    (before,) = balanced.balancers()
    flip(balanced, to)
    report = one_pass(balanced, process_of(to))
    (note,) = notes_of_kind(report, "foreign")
    assert "is not released yet" in note
    assert balanced.balancers() == [before]
    one_pass(balanced, process_of(was))
    assert (balanced.balancers(), finalizers(balanced.service())) == ([], set())
    settle(balanced, process_of(to))
    (after,) = balanced.balancers()
    assert after["id"] != before["id"]
    assert marks(balanced) == marks_of(to)
    assert ingress(balanced.service())[0]["ip"] == after["public_net"]["ipv4"]["ip"]


@CHANGES
def test_what_a_class_retains_is_taken_by_name_in_the_next(balanced: Stage, was: str | None, to: str | None) -> None:
    """With its addresses, and without a question: it was this cluster's."""
    balanced.have_services(of_class("web", was, name="shared"))
    settle(balanced, process_of(was))
    (before,) = balanced.balancers()
    balanced.annotate(deletion_policy="retain")
    flip(balanced, to)
    one_pass(balanced, process_of(was))
    assert LABEL_RELEASED in balanced.balancers()[0]["labels"]
    settle(balanced, process_of(to))
    settle(balanced, process_of(was))
    assert marks(balanced) == marks_of(to)
    (after,) = balanced.balancers()
    assert (after["id"], after["public_net"]) == (before["id"], before["public_net"])
    assert ingress(balanced.service())[0]["ip"] == before["public_net"]["ipv4"]["ip"]


@pytest.mark.parametrize(
    "goes", [Stage.delete_service, lambda stage: stage.turn("web", "NodePort")], ids=["deleted", "of another type"]
)
def test_a_process_of_a_class_leaves_services_without_one_alone(served: Stage, goes: Callable[[Stage], None]) -> None:
    """Also those that a process without the flag has served, until HCCM cleans up."""
    before = served.balancers()
    for step in (lambda _: None, goes):
        step(served)
        report = one_pass(served, CLASS_ALONE)
        assert (report["changes"], notes_of_kind(report, "stuck")) == ([], [])
        assert (served.writes(), served.balancers()) == ([], before)
    hccm_cleans_up(served)
    assert served.balancers() == []


@pytest.mark.parametrize("flags", [ONCE, CLASS_ALONE], ids=["the flag is lost", "of another class"])
def test_a_service_of_a_class_that_is_not_served_is_left_alone(balanced: Stage, flags: Mapping[str, str]) -> None:
    """A note tells of its deletion once it has waited for five minutes."""
    balanced.have_services(of_class("web", OTHER))
    settle(balanced, OTHER_INSTANCE)
    before = balanced.balancers()
    assert one_pass(balanced, flags)["changes"] == []
    balanced.delete_service()
    assert notes_of_kind(one_pass(balanced, flags), "stuck") == []
    balanced.clock.advance(360)
    report = one_pass(balanced, flags)
    (note,) = notes_of_kind(report, "stuck")
    assert f"deletion waits for finalizer {FINALIZER_OWN_CLASS}.{OTHER_LABEL} of a loadBalancerClass" in note
    assert (report["changes"], balanced.balancers()) == ([], before)


@pytest.mark.parametrize("goes", ["is retained", "vanishes"])
@pytest.mark.parametrize("ours", [None, OWN_CLASS], ids=["no class", "a class"])
def test_two_processes_leave_each_other_alone(balanced: Stage, ours: str | None, goes: str) -> None:
    """Each with its class in one cluster: what the other has released or lost is neither deleted nor counted here."""
    balanced.have_services(of_class("web", ours), of_class("inside", OTHER))
    settle(balanced, process_of(ours))
    settle(balanced, OTHER_INSTANCE)
    settle(balanced, process_of(ours))
    assert marks(balanced, "inside") == marks_of(OTHER)
    (inside,) = (each for each in balanced.balancers() if each["labels"].get(LABEL_CLASS) == OTHER_LABEL)
    if goes == "vanishes":
        balanced.patch_service({"metadata": {"finalizers": None}}, "inside")
        balanced.delete_service("inside")
    else:
        balanced.annotate("inside", deletion_policy="retain")
        balanced.delete_service("inside")
        assert one_pass(balanced, process_of(ours))["changes"] == []
        one_pass(balanced, OTHER_INSTANCE)
        assert "inside" not in balanced.services()
    (left,) = (each for each in balanced.balancers() if each["id"] == inside["id"])
    assert left["labels"][LABEL_CLASS] == OTHER_LABEL
    assert (LABEL_RELEASED in left["labels"]) is (goes == "is retained")
    balanced.forget()
    report = one_pass(balanced, as_loop(process_of(ours)))
    assert (report["changes"], report["notes"], balanced.asked_of_hetzner()) == ([], [], [])


def test_the_only_service_gets_a_foreign_class_between_two_passes(balanced: Stage) -> None:
    """Its load balancer was not read any more, as no Service seemed to need one: it stayed, was paid for, and the
    deletion of the Service waited for ever."""
    balanced.have_services(of_class("web"))
    settle(balanced, CLASS_ALONE)
    flip(balanced, "example.com/foreign")
    one_pass(balanced, CLASS_ALONE)
    assert (finalizers(balanced.service()), balanced.balancers()) == (set(), [])


def test_a_label_that_hccm_set_for_its_own_service_is_no_change_of_class(balanced: Stage) -> None:
    """HCCM labels what has the name that its Service asks for: to take that off again was a fight, told as a change of
    class."""
    balanced.have_services(of_class("web", name="shared"))
    settle(balanced, CLASS_ALONE)
    balanced.have_services(a_service("theirs"))
    (balancer,) = balanced.balancers()
    uid = balanced.service("theirs")["metadata"]["uid"]
    labels = balancer["labels"] | {LABEL_SERVICE_UID: uid}
    balanced.change_labels(balancer["id"], labels)
    report = one_pass(balanced, CLASS_ALONE)
    assert report["changes"] == []
    (note,) = notes_of_kind(report, "foreign")
    assert "label hcloud-ccm/service-uid of Service default/theirs too" in note
    assert balanced.balancers()[0]["labels"] == labels


def test_hccm_runs_beside_us(balanced: Stage) -> None:
    """Its load balancers stay as they are, whatever happens to their Services, and ours are nothing to its cleanup."""
    balanced.have_services(of_class("ours"), a_service("theirs"))
    settle(balanced, ONCE)
    settle(balanced, CLASS_ALONE)
    theirs = [each for each in balanced.balancers() if LABEL_SERVICE_UID in each["labels"]]
    balanced.delete_service("theirs")
    report = one_pass(balanced, as_loop(CLASS_ALONE))
    assert report["changes"] == []
    assert [each for each in balanced.balancers() if LABEL_SERVICE_UID in each["labels"]] == theirs
    hccm_cleans_up(balanced)
    assert [LABEL_OWN_CLASS_UID in each["labels"] for each in balanced.balancers()] == [True]
    settle(balanced, CLASS_ALONE)


def test_a_name_of_another_process_is_not_taken(balanced: Stage) -> None:
    """The load balancer that has it serves another class."""
    balanced.have_services(of_class("inside", OTHER, name="shared"))
    settle(balanced, OTHER_INSTANCE)
    balanced.have_services(a_service(name="shared"))
    before = balanced.balancers()
    report = one_pass(balanced)
    assert {change["verdict"] for change in report["changes"] if change["kind"].startswith("lb.")} <= {"refused"}
    assert balanced.balancers() == before


def test_a_finalizer_of_its_own_alone_is_taken_off_what_another_process_serves(balanced: Stage) -> None:
    """A Service of a class has Kubernetes' finalizer from before, and our condition, which the other process wrote."""
    balanced.have_services(of_class("web", OTHER))
    settle(balanced, OTHER_INSTANCE)
    both = {FINALIZER_BALANCER, Serving(OTHER).finalizer}
    balanced.patch_service({"metadata": {"finalizers": sorted(both)}})
    before, published = balanced.balancers(), ingress(balanced.service())
    settle(balanced, CLASS_ALONE)
    assert finalizers(balanced.service()) == both
    settle(balanced, ONCE)
    settle(balanced, OTHER_INSTANCE)
    assert marks(balanced) == marks_of(OTHER)
    assert (balanced.balancers(), ingress(balanced.service())) == (before, published)


def without_class(stage: Stage) -> None:
    """A person takes the label of the class off."""
    (balancer,) = stage.balancers()
    labels = {key: text for key, text in balancer["labels"].items() if key != LABEL_CLASS}
    stage.change_labels(balancer["id"], labels)


def test_a_class_that_is_taken_off_by_hand_is_written_again(balanced: Stage) -> None:
    """By the process that serves the living Service; meanwhile the others leave it alone."""
    balanced.have_services(of_class("web"))
    settle(balanced, CLASS_ALONE)
    without_class(balanced)
    for others in (ONCE, OTHER_INSTANCE):
        report = one_pass(balanced, as_loop(others))
        assert (report["changes"], report["notes"]) == ([], [])
    settle(balanced, CLASS_ALONE)
    assert marks(balanced) == OWN_MARKS


@pytest.mark.parametrize("process", [None, OWN_CLASS, OTHER])
@pytest.mark.parametrize("goes", ["another type", "no class", "a foreign class", "vanishes"])
def test_a_load_balancer_that_has_lost_its_class_and_its_service_stays(
    balanced: Stage, process: str | None, goes: str
) -> None:
    """Not even the process of its class could tell that it is not another one's."""
    balanced.have_services(of_class("web"))
    settle(balanced, CLASS_ALONE)
    without_class(balanced)
    before = balanced.balancers()
    if goes == "vanishes":
        balanced.patch_service({"metadata": {"finalizers": None}})
        balanced.delete_service()
    elif goes == "another type":
        balanced.turn("web", "NodePort")
    else:
        flip(balanced, "tailscale" if goes == "a foreign class" else None)
    for _ in range(2):
        one_pass(balanced, as_loop(process_of(process)))
    assert balanced.balancers() == before


def test_a_deletion_waits_if_the_class_is_lost(balanced: Stage) -> None:
    """The Service keeps its finalizer, and the note has the command that puts the label back."""
    balanced.have_services(of_class("web"))
    settle(balanced, CLASS_ALONE)
    without_class(balanced)
    balanced.delete_service()
    report = one_pass(balanced, CLASS_ALONE)
    (note,) = notes_of_kind(report, "unknown")
    (there,) = balanced.balancers()
    assert f"hcloud load-balancer add-label {there['id']} {LABEL_CLASS}=" in note
    assert FINALIZER_OWN_CLASS in balanced.service()["metadata"]["finalizers"]
    labels = there["labels"] | {LABEL_CLASS: "hcloud-reconciler..load-balancer"}
    balanced.change_labels(there["id"], labels)
    settle(balanced, CLASS_ALONE)
    assert balanced.balancers() == []


def test_an_end_waits_for_a_person_without_the_finalizer(balanced: Stage) -> None:
    """The label alone ends nothing."""
    balanced.have_services(of_class("web"))
    settle(balanced, CLASS_ALONE)
    before = balanced.balancers()
    balanced.patch_service({"metadata": {"finalizers": None}})
    flip(balanced, OTHER)
    report = one_pass(balanced, as_loop(CLASS_ALONE))
    assert [hold["rule"] for hold in report["holds"]] == ["ip-loss"]
    assert balanced.balancers() == before


@pytest.mark.parametrize("name", [None, "shop"], ids=["by the default name", "by its name"])
def test_a_service_moves_from_hccm_to_a_class(balanced: Stage, name: str | None) -> None:
    """By the steps of the migration page; an adoption is approved unless the name itself tells whose it is."""
    balanced.have_services(a_service() if name is None else a_service(name=name))
    settle(balanced)
    (before,) = balanced.balancers()
    balanced.to_project("POST", f"/load_balancers/{before['id']}/actions/change_protection", {"delete": True})
    balanced.turn("web", "NodePort")
    balanced.patch_service({"status": {"loadBalancer": None}}, "web/status")
    balanced.change_labels(before["id"], {})
    hccm_cleans_up(balanced)
    balanced.turn("web", "LoadBalancer", OWN_CLASS)
    report = one_pass(balanced, CLASS_ALONE)
    assert [hold["rule"] for hold in report["holds"]] == ([] if name is None else ["adoption"])
    for hold in report["holds"]:
        one_pass(balanced, CLASS_ALONE | {"--approve": hold["hash"]})
    settle(balanced, CLASS_ALONE)
    assert marks(balanced) == OWN_MARKS
    (after,) = balanced.balancers()
    assert (after["id"], after["public_net"]) == (before["id"], before["public_net"])
    assert ingress(balanced.service())[0]["ip"] == before["public_net"]["ipv4"]["ip"]
