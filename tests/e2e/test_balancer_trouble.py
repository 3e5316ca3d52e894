"""Load balancers that somebody else got hold of, names that are taken, quotas: said, and never made worse."""

from collections.abc import Callable
from typing import Any

import pytest

from desired.names import LABEL_CLUSTER_UID, LABEL_SERVICE_UID
from tests.support.balancer_cluster import (
    IN_NETWORK,
    a_service,
    addresses,
    annotate,
    asked_of_hetzner,
    balancers,
    change_balancer,
    delete_service,
    finalizers,
    have_balancers,
    have_nodes,
    have_services,
    ingress,
    said_of,
    seen,
    service_in,
    services,
)
from tests.support.in_process import ONCE, one_pass
from tests.support.lifecycle import notes
from tests.support.stage import Stage

BALANCER, SERVICE = "load_balancer/default/web", "service/default/web"
STRAY_PORT = {"protocol": "tcp", "listen_port": 9000, "destination_port": 9000}


@pytest.fixture
def served(balanced: Stage) -> Stage:
    """The Service ``web`` has its load balancer."""
    have_services(balanced, a_service())
    one_pass(balanced)
    balanced.forget()
    return balanced


def _settled(stage: Stage) -> None:
    """Another pass writes nothing, whatever is left undone."""
    stage.forget()
    one_pass(stage)
    assert (asked_of_hetzner(stage), stage.writes()) == ([], [])


def _published_as_it_is(stage: Stage) -> None:
    (balancer,) = balancers(stage)
    assert [entry["ip"] for entry in ingress(service_in(stage))] == addresses(balancer)


def test_one_that_somebody_deleted_is_created_again(served: Stage) -> None:
    """With everything it had, in one call, and its new addresses are published in place of the old ones."""
    (before,) = balancers(served)
    elsewhere = {"id": 70, "name": "other", "public_net": before["public_net"], "private_net": before["private_net"]}
    have_balancers(served, elsewhere)

    report = one_pass(served)

    (_, created) = balancers(served)
    assert (report["result"], asked_of_hetzner(served)) == ("no_changes", ["POST load_balancers"])
    assert [entry["ip"] for entry in ingress(service_in(served))] == addresses(created) != addresses(before)
    different = ("private", "reverse")
    assert {**seen(created), **dict.fromkeys(different)} == {**seen(before), **dict.fromkeys(different)}
    _settled(served)


@pytest.mark.parametrize(
    ("edited", "asked"),
    [
        pytest.param({"protection": {"delete": True}}, [], id="protected"),
        pytest.param({"name": "renamed", "algorithm": {"type": "least_connections"}}, [], id="what nobody asks for"),
        pytest.param({"services": []}, ["POST add_service"], id="without its port"),
        pytest.param({"services": [STRAY_PORT]}, ["POST add_service", "POST delete_service"], id="another port"),
        pytest.param({"targets": []}, ["POST add_target"] * 3, id="without its targets"),
        pytest.param({"private_net": []}, ["POST attach_to_network"], id="out of its network"),
        pytest.param({"labels": {LABEL_SERVICE_UID: None}}, ["PUT 1"], id="without its labels"),
    ],
)
def test_what_somebody_did_by_hand_is_put_right(served: Stage, edited: dict[str, Any], asked: list[str]) -> None:
    """As far as anybody asks for something else: one call for what differs, and no second load balancer."""
    (before,) = balancers(served)
    shown = seen(before)
    change_balancer(served, **edited | ({"labels": {}} if "labels" in edited else {}))

    report = one_pass(served)

    (balancer,) = balancers(served)
    kept = {"name": edited["name"], "algorithm": "least_connections"} if "name" in edited else {}
    assert (report["result"], asked_of_hetzner(served)) == ("no_changes", asked)
    assert seen(balancer) == shown | kept
    _published_as_it_is(served)
    _settled(served)


def _belongs_to_a_service_that_lives(stage: Stage) -> None:
    have_services(stage, a_service("other", name="shop"))
    one_pass(stage)


def _belongs_to_another_cluster(stage: Stage) -> None:
    have_balancers(stage, {"id": 1, "name": "shop", "labels": {LABEL_CLUSTER_UID: "another"}})


@pytest.mark.parametrize("owner", [_belongs_to_a_service_that_lives, _belongs_to_another_cluster])
def test_a_name_that_is_somebody_elses_is_refused(balanced: Stage, owner: Callable[[Stage], None]) -> None:
    """It is said on the Service and in the report; nothing is claimed, so that the Service can be deleted at once."""
    owner(balanced)
    before = balancers(balanced)
    have_services(balanced, a_service("web", name="shop"))
    balanced.forget()

    report = one_pass(balanced)

    verdicts = {change["verdict"] for change in report["changes"] if change["owner"] == SERVICE}
    assert (report["result"], verdicts) == ("refused", {"refused"})
    assert (balancers(balanced), asked_of_hetzner(balanced)) == (before, [])
    assert said_of(service_in(balanced))["LoadBalancerInSync"][0] == "False"
    _settled(balanced)

    delete_service(balanced)
    assert "web" not in services(balanced)


def test_two_services_that_ask_for_one_name_get_none(balanced: Stage) -> None:
    """Whoever was first: an error on both, until one of them asks for something else."""
    have_services(balanced, a_service("web", name="shop"), a_service("api", name="shop"))
    balanced.forget()

    report = one_pass(balanced)

    assert (report["result"], asked_of_hetzner(balanced), balancers(balanced)) == ("refused", [], [])
    assert notes(report) == {("service/default/api", "ambiguous"), (SERVICE, "ambiguous")}
    assert [said_of(found)["LoadBalancerInSync"] for found in services(balanced).values()] == [
        ("False", "Ambiguous")
    ] * 2
    _settled(balanced)

    annotate(balanced, "api", name=None)
    assert one_pass(balanced)["result"] == "no_changes"
    uids = {found["metadata"]["uid"] for found in services(balanced).values()}
    assert {found["labels"][LABEL_SERVICE_UID] for found in balancers(balanced)} == uids
    assert {said_of(found)["LoadBalancerInSync"] for found in services(balanced).values()} == {("True", "InSync")}
    _settled(balanced)

    have_services(balanced, a_service("late", name="shop"))
    annotate(balanced, algorithm_type="least_connections")
    assert notes(one_pass(balanced)) == {("service/default/late", "foreign")}
    said = {key: said_of(found)["LoadBalancerInSync"] for key, found in services(balanced).items()}
    assert said == {"web": ("True", "InSync"), "api": ("True", "InSync"), "late": ("False", "Refused")}
    assert [found["algorithm"]["type"] for found in balancers(balanced) if found["name"] == "shop"] == [
        "least_connections"
    ]


def test_another_name_that_is_taken_is_not_fought_for(served: Stage) -> None:
    """The load balancer keeps the name that it has, and the Service says so; all else goes on."""
    (before,) = balancers(served)
    have_balancers(served, before, {"id": 70, "name": "shop"})
    annotate(served, name="shop", algorithm_type="least_connections")

    one_pass(served)

    (after, other) = balancers(served)
    assert asked_of_hetzner(served) == ["POST change_algorithm"]
    assert seen(after) == seen(before) | {"algorithm": "least_connections"}
    assert other["labels"] == {}
    assert said_of(service_in(served))["LoadBalancerInSync"] == ("False", "InvalidAnnotation")
    _settled(served)


def test_one_of_nobody_with_a_port_of_its_own_is_taken_over_when_a_person_says_so(balanced: Stage) -> None:
    """Held, with what it would lose, and nothing is claimed. Approved, it is the Service's, with its addresses."""
    have_balancers(balanced, {"id": 70, "name": "shop", "services": [STRAY_PORT]})
    have_services(balanced, a_service("web", name="shop"))
    balanced.forget()

    (hold,) = one_pass(balanced)["holds"]
    assert (hold["rule"], hold["keys"]) == ("adoption", [BALANCER, f"{BALANCER}/listener/9000"])
    assert (asked_of_hetzner(balanced), finalizers(service_in(balanced))) == ([], set())
    _settled(balanced)

    assert one_pass(balanced, {**ONCE, "--approve": hold["hash"]})["result"] == "no_changes"
    (balancer,) = balancers(balanced)
    assert (balancer["id"], list(seen(balancer)["ports"])) == (70, [80])
    assert balancer["labels"][LABEL_SERVICE_UID] == service_in(balanced)["metadata"]["uid"]
    _published_as_it_is(balanced)
    _settled(balanced)


def test_a_full_quota_is_said_and_the_service_can_go_or_wait(a_stage: Callable[..., Stage]) -> None:
    """The Service says what is wrong, and gets its load balancer when there is room. One that is deleted meanwhile goes
    at once."""
    stage = a_stage(action_s=0.0, load_balancer_limit=1)
    stage.environment |= IN_NETWORK
    have_nodes(stage, 1, load_balancers=[{"id": 70, "name": "other"}])
    have_services(stage, a_service("web"), a_service("api"))

    report = one_pass(stage)

    outcomes = [change["outcome"] for change in report["changes"] if change["kind"] == "lb.create"]
    assert (report["result"], {outcome["state"] for outcome in outcomes}) == ("partial", {"failed", "skipped"})
    assert all("resource_limit_exceeded" in outcome["why"] for outcome in outcomes)
    assert said_of(service_in(stage))["LoadBalancerInSync"] == ("False", "SyncFailed")
    assert one_pass(stage)["result"] == "error"

    delete_service(stage, "api")
    have_balancers(stage)
    assert one_pass(stage)["result"] == "no_changes"
    assert (list(services(stage)), len(balancers(stage))) == (["web"], 1)
    assert said_of(service_in(stage))["LoadBalancerInSync"] == ("True", "InSync")
    _published_as_it_is(stage)
    _settled(stage)


@pytest.mark.parametrize("name", [None, "shop"], ids=["unnamed", "named"])
def test_a_service_that_is_created_again_is_another_one(balanced: Stage, name: str | None) -> None:
    """Somebody took our finalizer off and deleted the Service while nobody looked. The next one of its name gets a load
    balancer of its own, and the deletion of the old one waits for a person; if it asks for one by name, it finds the
    old one again."""
    options = {} if name is None else {"name": name}
    have_services(balanced, a_service("web", **options))
    one_pass(balanced)
    old = ingress(service_in(balanced))
    balanced.remove_services()
    have_services(balanced, a_service("web", **options))

    report = one_pass(balanced)

    uid = service_in(balanced)["metadata"]["uid"]
    mine = [found for found in balancers(balanced) if found["labels"][LABEL_SERVICE_UID] == uid]
    held = [(hold["rule"], hold["keys"]) for hold in report["holds"]]
    assert held == ([] if name else [("ip-loss", ["load_balancer/#1"])])
    assert [entry["ip"] for entry in ingress(service_in(balanced))] == addresses(mine[0])
    assert (ingress(service_in(balanced)) == old) == (name is not None)
    assert len(balancers(balanced)) == len(mine) + (name is None)
    if name:
        _settled(balanced)
