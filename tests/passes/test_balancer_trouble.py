"""Load balancers that somebody else got hold of, names that are taken, quotas: said, and never made worse."""

from collections import Counter
from typing import Any

import pytest

from desired.names import LABEL_SERVICE_UID
from tests.support.in_process import one_pass
from tests.support.objects import a_service, addresses, ingress, notes, said_of, seen
from tests.support.stage import Stage

BALANCER, SERVICE = "load_balancer/default/web", "service/default/web"
STRAY_PORT = {"protocol": "tcp", "listen_port": 9000, "destination_port": 9000}


NO_ID = {
    "kind": "status",
    "code": 200,
    "method": "GET",
    "path": "/v1/networks",
    "body": {"networks": [{"name": "k3s"}]},
    "count": None,
}
"""Networks are in the answer, but without their ids."""


def _settled(stage: Stage) -> None:
    """Another pass writes nothing, whatever is left undone."""
    stage.forget()
    one_pass(stage)
    assert (stage.asked_of_hetzner(), stage.writes()) == ([], [])


def _published_as_it_is(stage: Stage) -> None:
    (balancer,) = stage.balancers()
    assert [entry["ip"] for entry in ingress(stage.service())] == addresses(balancer)


def test_one_that_somebody_deleted_is_created_again(recorded: Stage) -> None:
    """With everything it had, in one call, and its new addresses are published in place of the old ones."""
    (before,) = recorded.balancers()
    elsewhere = {"id": 70, "name": "other", "public_net": before["public_net"], "private_net": before["private_net"]}
    recorded.have_balancers(elsewhere)

    report = one_pass(recorded)

    (_, created) = recorded.balancers()
    assert (report["result"], recorded.asked_of_hetzner()) == ("no_changes", ["POST load_balancers"])
    lists, by_label, by_name = 2, 1, 1
    reads = Counter(recorded.read_of_hetzner())
    assert (reads["load_balancers"], reads["load_balancers/1"]) == (lists + by_label + by_name, 1)
    assert [entry["ip"] for entry in ingress(recorded.service())] == addresses(created) != addresses(before)
    different = ("private", "reverse")
    assert {**seen(created), **dict.fromkeys(different)} == {**seen(before), **dict.fromkeys(different)}
    _settled(recorded)


def test_a_load_balancer_is_created_once_its_network_is_read(balanced: Stage) -> None:
    """Created without it, its private address would come later: beside those that are published, where a person
    has to approve it."""
    balanced.hetzner_proxy.set_faults([NO_ID])
    balanced.have_services(a_service())
    report = one_pass(balanced)
    assert (report["result"], balanced.balancers(), ingress(balanced.service())) == ("incomplete", [], [])

    balanced.hetzner_proxy.clear_faults()
    one_pass(balanced)

    (balancer,) = balanced.balancers()
    assert balancer["private_net"]
    _published_as_it_is(balanced)
    _settled(balanced)


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
    (before,) = served.balancers()
    shown = seen(before)
    served.change_balancer(**edited | ({"labels": {}} if "labels" in edited else {}))

    report = one_pass(served)

    (balancer,) = served.balancers()
    kept = {"name": edited["name"], "algorithm": "least_connections"} if "name" in edited else {}
    assert (report["result"], served.asked_of_hetzner()) == ("no_changes", asked)
    assert seen(balancer) == shown | kept
    _published_as_it_is(served)
    _settled(served)


def test_a_name_of_a_service_that_lives_is_refused(balanced: Stage) -> None:
    """It is said on the Service and in the report; nothing is claimed, so that the Service can be deleted at once."""
    balanced.have_services(a_service("other", name="shop"))
    one_pass(balanced)
    before = balanced.balancers()
    balanced.have_services(a_service("web", name="shop"))
    balanced.forget()

    report = one_pass(balanced)

    verdicts = {change["verdict"] for change in report["changes"] if change["owner"] == SERVICE}
    assert (report["result"], verdicts) == ("blocked", {"refused"})
    assert (balanced.balancers(), balanced.asked_of_hetzner()) == (before, [])
    assert said_of(balanced.service())["LoadBalancerInSync"][0] == "False"
    _settled(balanced)

    balanced.delete_service()
    assert "web" not in balanced.services()


def test_two_services_that_ask_for_one_name_get_none(balanced: Stage) -> None:
    """Whoever was first: an error on both, until one of them asks for something else."""
    balanced.have_services(a_service("web", name="shop"), a_service("api", name="shop"))
    balanced.forget()

    report = one_pass(balanced)

    assert (report["result"], balanced.asked_of_hetzner(), balanced.balancers()) == ("blocked", [], [])
    assert notes(report) == {("service/default/api", "ambiguous"), (SERVICE, "ambiguous")}
    assert [said_of(found)["LoadBalancerInSync"] for found in balanced.services().values()] == [
        ("False", "Ambiguous")
    ] * 2
    _settled(balanced)

    balanced.annotate("api", name=None)
    assert one_pass(balanced)["result"] == "no_changes"
    uids = {found["metadata"]["uid"] for found in balanced.services().values()}
    assert {found["labels"][LABEL_SERVICE_UID] for found in balanced.balancers()} == uids
    assert {said_of(found)["LoadBalancerInSync"] for found in balanced.services().values()} == {("True", "InSync")}
    _settled(balanced)

    balanced.have_services(a_service("late", name="shop"))
    balanced.annotate(algorithm_type="least_connections")
    assert notes(one_pass(balanced)) == {("service/default/late", "foreign")}
    said = {key: said_of(found)["LoadBalancerInSync"] for key, found in balanced.services().items()}
    assert said == {"web": ("True", "InSync"), "api": ("True", "InSync"), "late": ("False", "Refused")}
    assert [found["algorithm"]["type"] for found in balanced.balancers() if found["name"] == "shop"] == [
        "least_connections"
    ]


def test_another_name_that_is_taken_is_not_fought_for(served: Stage) -> None:
    """The load balancer keeps the name that it has, and the Service says so; all else goes on."""
    (before,) = served.balancers()
    served.have_balancers(before, {"id": 70, "name": "shop"})
    served.annotate(name="shop", algorithm_type="least_connections")

    one_pass(served)

    (after, other) = served.balancers()
    assert served.asked_of_hetzner() == ["POST change_algorithm"]
    assert seen(after) == seen(before) | {"algorithm": "least_connections"}
    assert other["labels"] == {}
    assert said_of(served.service())["LoadBalancerInSync"] == ("False", "InvalidAnnotation")
    _settled(served)


@pytest.mark.parametrize("name", [None, "shop"], ids=["unnamed", "named"])
def test_a_service_that_is_created_again_is_another_one(balanced: Stage, name: str | None) -> None:
    """Somebody took our finalizer off and deleted the Service while nobody looked. The next one of its name gets a load
    balancer of its own, and the deletion of the old one waits for a person; if it asks for one by name, it finds the
    old one again."""
    options = {} if name is None else {"name": name}
    balanced.have_services(a_service("web", **options))
    one_pass(balanced)
    old = ingress(balanced.service())
    balanced.remove_services()
    balanced.have_services(a_service("web", **options))

    report = one_pass(balanced)

    uid = balanced.service()["metadata"]["uid"]
    mine = [found for found in balanced.balancers() if found["labels"][LABEL_SERVICE_UID] == uid]
    held = [(hold["rule"], hold["keys"]) for hold in report["holds"]]
    assert held == ([] if name else [("ip-loss", ["load_balancer/#1"])])
    assert [entry["ip"] for entry in ingress(balanced.service())] == addresses(mine[0])
    assert (ingress(balanced.service()) == old) == (name is not None)
    assert len(balanced.balancers()) == len(mine) + (name is None)
    if name:
        _settled(balanced)
