"""A Service releases its load balancer: deleted with it, or kept with its addresses, and nothing half done."""

from collections.abc import Callable

import pytest

from desired.names import (
    FINALIZER_BALANCER,
    LABEL_ADOPTED,
    LABEL_CLUSTER_UID,
    LABEL_FORMER,
    LABEL_RELEASED,
    LABEL_SERVICE_UID,
)
from tests.support.in_process import one_pass
from tests.support.objects import IN_NETWORK, a_service, finalizers, ingress, said_of, seen
from tests.support.stage import Stage, killed_at_the_end, wait_for
from tests.support.world import SERVICES

STATUS = f"{SERVICES}/web/status"


def _nothing_is_left_to_do(stage: Stage) -> None:
    """The next pass writes nothing, neither here nor there."""
    stage.forget()
    report = one_pass(stage)
    assert (report["changes"], stage.writes(), stage.asked_of_hetzner()) == ([], [], [])


def _with_annotations_that_cannot_be_read(stage: Stage) -> None:
    stage.annotate(uses_proxyprotocol="perhaps", ipv6_disabled="", location="", http_timeout_idle="50", name="a b")
    stage.delete_service()


def _with_the_service_of_another_type_by_then(stage: Stage) -> None:
    stage.patch_service({"spec": {"type": "ClusterIP"}})
    stage.delete_service()


@pytest.mark.parametrize(
    "happens",
    [
        pytest.param(Stage.delete_service, id="as it is"),
        pytest.param(_with_annotations_that_cannot_be_read, id="with annotations that cannot be read"),
        pytest.param(_with_the_service_of_another_type_by_then, id="of another type"),
    ],
)
def test_a_deleted_service_goes_when_its_load_balancer_is_gone(served: Stage, happens: Callable[[Stage], None]) -> None:
    """It is released by one write, after the load balancer is gone, and then there is neither."""
    happens(served)
    assert finalizers(served.service()) == {FINALIZER_BALANCER}

    report = one_pass(served)

    assert (report["result"], served.services(), served.balancers()) == ("no_changes", {}, [])
    assert served.asked_of_hetzner() == ["DELETE 1"]
    assert [(entry.path, entry.status) for entry in served.writes()] == [(STATUS, 200)]
    _nothing_is_left_to_do(served)


def test_nothing_is_let_go_while_hetzner_does_not_delete(served: Stage) -> None:
    """The Service keeps its finalizer and its addresses as long as its load balancer lives."""
    published = ingress(served.service())
    served.hetzner_proxy.set_faults([{"kind": "status", "code": 500, "method": "DELETE", "count": None}])
    served.delete_service()

    report = one_pass(served)

    service = served.service()
    assert (report["summary"]["failed"], len(served.balancers())) == (1, 1)
    assert (finalizers(service), ingress(service)) == ({FINALIZER_BALANCER}, published)
    served.hetzner_proxy.clear_faults()
    assert (one_pass(served)["result"], served.services(), served.balancers()) == ("no_changes", {}, [])


def _of_another_class(stage: Stage) -> None:
    """No pass sees the ClusterIP between: the API server takes a class together with the type alone."""
    stage.patch_service({"spec": {"type": "ClusterIP"}})
    stage.patch_service({"spec": {"type": "LoadBalancer", "loadBalancerClass": "example.com/lb"}})


def _of_another_class_and_deleted(stage: Stage) -> None:
    _of_another_class(stage)
    stage.delete_service()


def _of_another_class_and_published_by_its_controller(stage: Stage) -> None:
    _of_another_class(stage)
    stage.patch_service({"status": {"loadBalancer": {"ingress": [{"ip": "198.51.100.9"}]}}}, "web/status")


def _an_external_name_after_a_class(stage: Stage) -> None:
    _of_another_class(stage)
    stage.patch_service({"spec": {"type": "ExternalName", "externalName": "example.com", "loadBalancerClass": None}})


@pytest.mark.parametrize(
    "flips",
    [
        _of_another_class,
        _of_another_class_and_deleted,
        _of_another_class_and_published_by_its_controller,
        _an_external_name_after_a_class,
    ],
)
def test_a_service_that_is_anothers_by_now_lets_go_of_its_load_balancer(
    served: Stage, flips: Callable[[Stage], None]
) -> None:
    """Whatever steps no pass has seen: it goes as with a change of type, the Service is free, and what the
    controller of its class publishes stays."""
    flips(served)
    published = ingress(served.service())

    report = one_pass(served)

    assert (report["result"], served.balancers(), served.asked_of_hetzner()) == ("no_changes", [], ["DELETE 1"])
    left = [(finalizers(each), ingress(each), said_of(each)) for each in served.services().values()]
    assert left in ([], [(set(), published, {})])
    _nothing_is_left_to_do(served)


def test_a_load_balancer_of_another_type_by_now_stays_without_the_finalizer(served: Stage) -> None:
    """k3s' servicelb takes the finalizer off; the label alone ends nothing before a person says so."""
    served.patch_service({"metadata": {"finalizers": None}, "spec": {"type": "ClusterIP"}})
    served.have_services(a_service("api"))
    before = served.balancers()

    report = one_pass(served)

    assert [hold["rule"] for hold in report["holds"]] == ["ip-loss"]
    assert before[0] in served.balancers()


def test_a_service_of_another_class_that_was_never_ours_is_left_alone(balanced: Stage) -> None:
    """Its finalizer has the name that all cloud controllers share, and is its own controller's."""
    theirs = a_service()
    theirs["metadata"]["finalizers"] = [FINALIZER_BALANCER]
    theirs["spec"]["loadBalancerClass"] = "example.com/lb"
    balanced.have_services(theirs)
    balanced.delete_service()

    report = one_pass(balanced)

    assert (report["changes"], balanced.writes(), finalizers(balanced.service())) == ([], [], {FINALIZER_BALANCER})


def test_a_finalizer_of_somebody_else_stays(served: Stage) -> None:
    """Ours and all addresses go with the load balancer, theirs stays, and the Service is not served again (§15, 3)."""
    served.patch_service({"metadata": {"finalizers": [FINALIZER_BALANCER, "example.com/backup"]}})
    served.delete_service()

    one_pass(served)

    service = served.service()
    assert (finalizers(service), ingress(service), served.balancers()) == ({"example.com/backup"}, [], [])
    _nothing_is_left_to_do(served)


def _asked_to_retain(stage: Stage) -> None:
    stage.annotate(deletion_policy="retain")


def _asked_for_what_nobody_knows(stage: Stage) -> None:
    stage.annotate(deletion_policy="perhaps")


def _protected(stage: Stage) -> None:
    stage.change_balancer(protection={"delete": True})


@pytest.mark.parametrize("why", [_asked_to_retain, _asked_for_what_nobody_knows, _protected])
def test_what_is_retained_keeps_its_addresses_and_finds_the_next_service(
    served: Stage, why: Callable[[Stage], None]
) -> None:
    """It loses its Service's label alone, says whose it was, and is a note from then on. That one takes it
    over when it names it, and it outlives that one as well: somebody wanted it to stay."""
    served.annotate(name="shop")
    one_pass(served)
    published = ingress(served.service())
    (before,) = served.balancers()
    why(served)
    served.delete_service()
    served.forget()

    report = one_pass(served)

    (balancer,) = served.balancers()
    cluster_uid = before["labels"][LABEL_CLUSTER_UID]
    released = balancer["labels"].get(LABEL_RELEASED)
    assert (served.services(), served.asked_of_hetzner()) == ({}, ["PUT 1"])
    assert released is not None
    labels = {LABEL_CLUSTER_UID: cluster_uid, LABEL_RELEASED: released, LABEL_FORMER: "default.web"}
    assert seen(balancer) == seen(before) | {"labels": labels}
    assert [(note["key"], note["kind"]) for note in report["notes"]] == [("load_balancer/#1", "orphan")]
    _nothing_is_left_to_do(served)

    served.have_services(a_service("web", name="shop"))
    one_pass(served)
    (balancer,) = served.balancers()
    uid = served.service()["metadata"]["uid"]
    assert balancer["labels"] == {LABEL_CLUSTER_UID: cluster_uid, LABEL_SERVICE_UID: uid, LABEL_ADOPTED: "true"}
    assert ingress(served.service()) == published
    _nothing_is_left_to_do(served)


_HELD_UP = {"kind": "hang", "method": "POST", "path": "/v1/load_balancers$"}


@pytest.mark.parametrize("faults", [[_HELD_UP], []], ids=["before it is carried out", "while it is carried out"])
def test_a_service_deleted_while_its_load_balancer_is_created_leaves_none(
    a_stage: Callable[..., Stage], faults: list[dict[str, str]]
) -> None:
    """Whatever the run still does after that, the next one ends with neither of them."""
    stage = a_stage(action_s=0.5)
    stage.environment |= IN_NETWORK
    stage.have_nodes(1)
    stage.have_services(a_service())
    stage.forget()
    stage.hetzner_proxy.set_faults(faults)

    with killed_at_the_end(stage.start("--once", "--request-timeout", "1s")) as process:
        wait_for(lambda: "POST load_balancers" in stage.asked_of_hetzner(), "the creation")
        stage.delete_service()
        process.communicate(timeout=30)
    one_pass(stage)

    assert (stage.services(), stage.balancers(), process.returncode) == ({}, [], 0)
    _nothing_is_left_to_do(stage)
