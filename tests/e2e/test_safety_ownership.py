"""Attacks on what is not ours, and mistakes with what is, on a real API server: whose a load balancer is, and for how
long."""

from typing import Any

import pytest

from desired.names import (
    FINALIZER_BALANCER,
    LABEL_ADOPTED,
    LABEL_CLUSTER_UID,
    LABEL_DELETE_AFTER,
    LABEL_FORMER,
    LABEL_RELEASED,
    LABEL_SERVICE_UID,
)
from reconciler.passes.one_pass import converge
from tests.support.balancer_cluster import (
    a_node,
    a_service,
    annotate,
    asked_of_hetzner,
    balancers,
    change_balancer,
    delete_service,
    finalizers,
    have_balancers,
    have_services,
    ingress,
    patch_service,
    read_of_hetzner,
    seen,
    service_in,
    services,
)
from tests.support.in_process import ONCE, one_pass, runtime
from tests.support.simulators import ImpatientStop
from tests.support.stage import Stage

THEIR_PORT = {"protocol": "tcp", "listen_port": 80, "destination_port": 31999}


def a_balancer(**parts: Any) -> dict[str, Any]:
    """A load balancer named ``theirs`` that no label says anything of."""
    return {"id": 71, "name": "theirs", "labels": {"team": "blue"}, "load_balancer_type": "lb11", **parts}


def held(report: Any) -> dict[str, str]:
    """Hash → rule of each hold."""
    return {hold["hash"]: hold["rule"] for hold in report["holds"]}


@pytest.mark.parametrize(
    "parts",
    [
        pytest.param({"services": [THEIR_PORT]}, id="a port"),
        pytest.param({"targets": [{"type": "server", "server": {"id": 2}}]}, id="a target"),
    ],
)
def test_a_strangers_load_balancer_is_neither_taken_over_nor_deleted(balanced: Stage, parts: dict[str, Any]) -> None:
    """A Service names it in its annotation, and is deleted: nothing of it is lost, nothing about it changes."""
    have_balancers(balanced, a_balancer(**parts))
    (before,) = balancers(balanced)
    have_services(balanced, a_service(name="theirs"))

    report = one_pass(balanced)

    assert set(held(report).values()) == {"adoption"}
    assert (balancers(balanced), asked_of_hetzner(balanced)) == ([before], [])
    delete_service(balanced)
    one_pass(balanced)
    assert (services(balanced), balancers(balanced), asked_of_hetzner(balanced)) == ({}, [before], [])


def test_a_strangers_load_balancer_that_was_approved_outlives_the_service(balanced: Stage) -> None:
    """A person said that it may be taken over, not that it may be deleted: it goes on, and says when it was released.
    Nor does a second Service that takes it over then take it along."""
    have_balancers(balanced, a_balancer(services=[THEIR_PORT]))
    (before,) = balancers(balanced)
    have_services(balanced, a_service(name="theirs"))
    (approved,) = held(one_pass(balanced))

    one_pass(balanced, {**ONCE, "--approve": approved})

    (taken,) = balancers(balanced)
    published = ingress(service_in(balanced))
    assert taken["labels"] == taken["labels"] | {"team": "blue", LABEL_ADOPTED: "true"}
    for _ in range(2):
        delete_service(balanced)
        one_pass(balanced)
        (left,) = balancers(balanced)
        assert services(balanced) == {}
        assert left["public_net"] == before["public_net"]
        assert {LABEL_RELEASED, "team"} <= left["labels"].keys()
        assert not {LABEL_ADOPTED, LABEL_SERVICE_UID} & left["labels"].keys()
        have_services(balanced, a_service(name="theirs"))
        assert one_pass(balanced)["result"] == "no_changes"
        assert ingress(service_in(balanced)) == published


def test_an_empty_load_balancer_made_by_terraform_is_adopted_without_a_word(balanced: Stage) -> None:
    """It has neither port nor target: one pass makes it the Service's. It is released with it, and deleted only
    where the Service says so."""
    have_balancers(balanced, a_balancer())
    have_services(balanced, a_service(name="theirs"))

    report = one_pass(balanced)

    (taken,) = balancers(balanced)
    assert (report["result"], held(report), seen(taken)["targets"].keys()) == ("no_changes", {}, {1, 2, 3})
    assert ingress(service_in(balanced))
    delete_service(balanced)
    one_pass(balanced)
    assert [found["id"] for found in balancers(balanced)] == [71]

    have_services(balanced, a_service(name="theirs"))
    one_pass(balanced)
    annotate(balanced, deletion_policy="delete")
    delete_service(balanced)
    one_pass(balanced)
    assert (services(balanced), balancers(balanced)) == ({}, [])


UNDO = {**ONCE, "--load-balancer-undo": "10m"}
LONG_AGO = "20200101T000000Z"


@pytest.fixture
def served(balanced: Stage) -> Stage:
    """The Service ``web`` has its load balancer."""
    have_services(balanced, a_service())
    one_pass(balanced)
    balanced.forget()
    return balanced


def labels(stage: Stage) -> dict[str, str]:
    """Of the only load balancer."""
    (found,) = balancers(stage)
    return dict(found["labels"])


def listed(stage: Stage) -> list[str]:
    """The lists of load balancers that were asked for."""
    return [path for path in read_of_hetzner(stage) if path.startswith("load_balancers")]


def relabel(stage: Stage, **changes: str | None) -> None:
    """A foreign hand changes labels of the only load balancer; None takes one off."""
    keys = {"delete_after": LABEL_DELETE_AFTER, "service": LABEL_SERVICE_UID, "cluster": LABEL_CLUSTER_UID}
    wanted = labels(stage) | {keys[name]: value for name, value in changes.items()}
    change_balancer(stage, labels={key: value for key, value in wanted.items() if value is not None})


def test_a_service_deleted_by_mistake_comes_back_with_its_addresses(served: Stage) -> None:
    """It goes at once, its load balancer waits for it, in the plan with its time; under another UID it gets that back,
    and whatever changed meanwhile, ports included, is put right without a word."""
    (before,) = balancers(served)
    published = ingress(service_in(served))
    delete_service(served)

    report = one_pass(served, UNDO)

    assert (services(served), asked_of_hetzner(served), report["result"]) == ({}, ["PUT 1"], "changes")
    assert labels(served).keys() == {LABEL_CLUSTER_UID, LABEL_DELETE_AFTER, LABEL_FORMER}
    assert labels(served)[LABEL_FORMER] == "default.web"
    (waits,) = [change for change in report["changes"] if change["outcome"] is None]
    said = {name: waits[name] for name in ("key", "kind", "verdict", "rule")}
    assert list(said.values()) == ["load_balancer/#1", "lb.delete", "waiting", "undo-window"]
    assert 0 < waits["due_in_s"] <= 600

    have_services(served, a_service("web", 443))
    assert one_pass(served, UNDO)["result"] == "no_changes"
    (after,) = balancers(served)
    uid = service_in(served)["metadata"]["uid"]
    assert (after["id"], after["public_net"], after["private_net"]) == (1, before["public_net"], before["private_net"])
    assert labels(served) == {LABEL_CLUSTER_UID: labels(served)[LABEL_CLUSTER_UID], LABEL_SERVICE_UID: uid}
    assert (ingress(service_in(served)), list(seen(after)["ports"])) == (published, [443])
    served.forget()
    assert (one_pass(served, UNDO)["changes"], asked_of_hetzner(served)) == ([], [])


def test_another_namespace_that_names_what_was_let_go_has_to_ask(served: Stage) -> None:
    """A tenant learns its name and asks for it within the window: a person is asked, and the Service that comes back
    has it again."""
    (before,) = balancers(served)
    delete_service(served)
    one_pass(served, UNDO)
    served.forget()
    tenant = a_service("tenant", name=before["name"])
    have_services(served, tenant)

    report = one_pass(served, UNDO)

    assert (report["result"], asked_of_hetzner(served)) == ("refused", [])
    (hold,) = report["holds"]
    assert (hold["rule"], "Service default/web" in hold["why"]) == ("adoption", True)
    have_services(served, a_service())
    one_pass(served, UNDO)
    assert labels(served)[LABEL_SERVICE_UID] == service_in(served)["metadata"]["uid"]


def test_when_the_window_is_over_it_is_deleted(served: Stage) -> None:
    """By the first pass that finds its time past, also where no Service is left that would have the load balancers
    listed; and not before, however many passes there are."""
    annotate(served, undo_window="1h")
    delete_service(served)
    one_pass(served)
    served.forget()
    for _ in range(2):
        assert one_pass(served, UNDO)["result"] == "changes"
    assert asked_of_hetzner(served) == []

    relabel(served, delete_after=LONG_AGO)
    assert one_pass(served)["changes"] == []  # without the flag and a Service nobody asks for load balancers
    assert [found["id"] for found in balancers(served)] == [1]
    assert (one_pass(served, UNDO)["result"], balancers(served)) == ("no_changes", [])


def test_a_running_controller_finds_at_its_start_what_another_let_go(served: Stage) -> None:
    """The window was one Service's alone, which was the last: a controller without the flag lists load balancers once,
    and goes on as long as one waits; then no more than today."""
    annotate(served, undo_window="1h")
    delete_service(served)
    one_pass(served)
    with runtime(served, {}, ImpatientStop()) as built:
        assert built.connections is not None
        for _ in range(2):
            served.forget()
            (line,) = converge(built.plan_context, built.connections.apply_context).lines
            assert line.change.decision.rule == "undo-window"
            assert len(listed(served)) == 1
        relabel(served, delete_after=LONG_AGO)
        converge(built.plan_context, built.connections.apply_context)
        assert balancers(served) == []
        served.forget()
        assert converge(built.plan_context, built.connections.apply_context).lines == ()
        assert listed(served) == []


@pytest.mark.parametrize(
    "forged",
    [
        pytest.param({"delete_after": "yesterday"}, id="no time"),
        pytest.param({"delete_after": "20209999T000000Z"}, id="no date"),
        pytest.param({"delete_after": None}, id="taken off"),
        pytest.param({"delete_after": LONG_AGO, "cluster": "another"}, id="of another cluster"),
        pytest.param({"delete_after": LONG_AGO, "cluster": None}, id="of no cluster"),
        pytest.param({"delete_after": LONG_AGO, "service": "somebody"}, id="of a Service that is not known"),
    ],
)
def test_labels_that_were_forged_delete_nothing(served: Stage, forged: dict[str, str | None]) -> None:
    """Only what has exactly our labels is deleted for them."""
    delete_service(served)
    one_pass(served, UNDO)
    relabel(served, **forged)
    served.forget()

    report = one_pass(served, UNDO)

    assert {change["verdict"] for change in report["changes"]} <= {"held"}
    assert (asked_of_hetzner(served), len(balancers(served))) == ([], 1)


def test_a_living_service_keeps_what_somebody_marks_to_be_deleted(served: Stage) -> None:
    """The label counts for nothing where a Service owns the load balancer."""
    relabel(served, delete_after=LONG_AGO)

    assert (one_pass(served, UNDO)["result"], asked_of_hetzner(served)) == ("no_changes", [])


def test_who_wants_it_kept_keeps_it_whatever_the_window_says(served: Stage) -> None:
    """Deletion protection that comes within the window makes it stay for good, once its time has come."""
    delete_service(served)
    one_pass(served, UNDO)
    change_balancer(served, protection={"delete": True})
    assert one_pass(served, UNDO)["result"] == "changes"
    relabel(served, delete_after=LONG_AGO)

    one_pass(served, UNDO)

    assert labels(served).keys() == {LABEL_CLUSTER_UID, LABEL_RELEASED, LABEL_FORMER}


def test_a_change_of_type_is_undone_as_well(served: Stage) -> None:
    """There and back with passes between: the Service gets back what it had."""
    published = ingress(service_in(served))
    patch_service(served, {"spec": {"type": "ClusterIP"}})
    one_pass(served, UNDO)
    assert (finalizers(service_in(served)), ingress(service_in(served))) == (set(), [])

    patch_service(served, {"spec": {"type": "LoadBalancer"}})
    one_pass(served, UNDO)

    assert ([found["id"] for found in balancers(served)], ingress(service_in(served))) == ([1], published)


def test_ten_services_deleted_and_created_again_need_nobody(balanced: Stage) -> None:
    """A namespace that a GitOps controller prunes and applies anew: each Service has its own addresses back."""
    wanted = [a_service(f"shop-{number}") for number in range(10)]
    have_services(balanced, *wanted)
    one_pass(balanced, UNDO)
    before = {name: ingress(service) for name, service in services(balanced).items()}
    for name in before:
        delete_service(balanced, name)
    one_pass(balanced, UNDO)
    assert (services(balanced), len(balancers(balanced))) == ({}, 10)

    have_services(balanced, *wanted)
    report = one_pass(balanced, UNDO)

    assert (report["result"], held(report), len(balancers(balanced))) == ("no_changes", {}, 10)
    assert {name: ingress(service) for name, service in services(balanced).items()} == before


def lose_label_and_name(stage: Stage, **parts: Any) -> dict[str, Any]:
    """Somebody takes the labels off the only load balancer and renames it. Returns what it is then."""
    change_balancer(stage, labels={}, name="by-hand", **parts)
    (found,) = balancers(stage)
    return found


def have_foreign_nodes(stage: Stage) -> None:
    """All Nodes are deleted and come back with providerIDs of another cloud."""
    for number in (1, 2, 3):
        stage.cluster.request("DELETE", f"/api/v1/nodes/web-{number}")
        stage.register(a_node(stage, number) | {"spec": {"providerID": f"other://{number}"}})


def test_a_published_load_balancer_without_label_and_name_is_taken_up_again(served: Stage) -> None:
    """Nobody is asked: it leads to this Service alone. No second one is made and published in its place."""
    published = ingress(service_in(served))
    lost = lose_label_and_name(served)

    report = one_pass(served)

    (found,) = balancers(served)
    assert (report["result"], held(report), asked_of_hetzner(served)) == ("no_changes", {}, ["PUT 1"])
    assert (found["id"], found["targets"], found["public_net"]) == (lost["id"], lost["targets"], lost["public_net"])
    assert (found["labels"][LABEL_SERVICE_UID], found["labels"][LABEL_ADOPTED]) == (
        service_in(served)["metadata"]["uid"],
        "true",
    )
    assert ingress(service_in(served)) == published


def test_no_empty_load_balancer_is_published_for_one_that_serves_while_all_nodes_are_foreign(served: Stage) -> None:
    """Whose targets these are cannot be told for the moment: everything stays as it is, and the pass after it takes the
    load balancer up again."""
    published = ingress(service_in(served))
    lost = lose_label_and_name(served)
    have_foreign_nodes(served)

    report = one_pass(served)

    assert "adoption" in held(report).values()
    assert (balancers(served), asked_of_hetzner(served)) == ([lost], [])
    assert ingress(service_in(served)) == published

    for number in (1, 2, 3):
        served.cluster.request("DELETE", f"/api/v1/nodes/web-{number}")
        served.register(a_node(served, number))
    report = one_pass(served)
    assert (report["result"], held(report), [found["id"] for found in balancers(served)]) == ("no_changes", {}, [1])
    assert ingress(service_in(served)) == published


def test_the_label_of_a_service_that_is_gone_keeps_a_published_one_from_being_replaced(served: Stage) -> None:
    """It is not taken up. A person has to say that another one is made, and then that its address is published."""
    published = ingress(service_in(served))[:1]  # two load balancers of the simulator may have one IPv6 address
    patch_service(served, {"status": {"loadBalancer": {"ingress": published}}}, "web/status")
    lose_label_and_name(served)
    change_balancer(served, labels={LABEL_SERVICE_UID: "00000000-dead-dead-dead-000000000000"})

    for ids in ([1], [1, 2]):
        report = one_pass(served)
        (hold,) = report["holds"]
        assert (hold["rule"], [found["id"] for found in balancers(served)]) == ("ip-loss", ids)
        assert f"hcloud-ccm/service-uid={service_in(served)['metadata']['uid']}" in hold["why"]
        assert ingress(service_in(served)) == published
        one_pass(served, {**ONCE, "--approve": hold["hash"]})
    assert published[0] not in ingress(service_in(served))


def test_a_forged_status_moves_nothing_of_a_stranger(balanced: Stage) -> None:
    """A Service publishes the address of a load balancer in use that no label gives to anybody: it is held while the
    Service lives, and named when it goes; nothing is written on it."""
    have_balancers(balanced, a_balancer(services=[THEIR_PORT], targets=[{"type": "server", "server": {"id": 2}}]))
    (before,) = balancers(balanced)
    have_services(balanced, a_service())
    address = before["public_net"]["ipv4"]["ip"]
    patch_service(balanced, {"status": {"loadBalancer": {"ingress": [{"ip": address}]}}}, "web/status")

    report = one_pass(balanced)

    assert set(held(report).values()) == {"adoption"}
    assert (balancers(balanced), asked_of_hetzner(balanced)) == ([before], [])
    patch_service(balanced, {"metadata": {"finalizers": [FINALIZER_BALANCER]}})
    delete_service(balanced)
    (change,) = one_pass(balanced)["changes"]
    assert (services(balanced), balancers(balanced), asked_of_hetzner(balanced)) == ({}, [before], [])
    (said,) = change["consequences"]
    assert "an address of load balancer 71 theirs (lb11, " in said


@pytest.mark.parametrize("name", [None, "by-hand"], ids=["the default name", "by its address"])
def test_a_service_that_goes_names_the_load_balancer_that_lost_its_label(served: Stage, name: str | None) -> None:
    """It is not deleted, and not forgotten: an event on the Service and `reconcile orphans` have its id and price."""
    uid = service_in(served)["metadata"]["uid"]
    change_balancer(served, labels={}, **({"name": name} if name else {}))
    delete_service(served)

    assert served.reconcile("--once").code == 0

    assert (services(served), set(labels(served))) == ({}, {LABEL_CLUSTER_UID, LABEL_FORMER, LABEL_RELEASED})
    _, listed = served.cluster.request(
        "GET", f"/api/v1/namespaces/default/events?fieldSelector=involvedObject.uid={uid},reason=RetainedLoadBalancer"
    )
    (event,) = listed["items"]
    assert "has lost its label; to delete it: reconcile orphans --delete 1" in event["message"]
    assert " a month) " in event["message"]
