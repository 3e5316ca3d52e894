"""Attacks on what is not ours, and mistakes with what is, on a real API server: whose a load balancer is, and for how
long."""

from typing import Any

import pytest

from desired.names import LABEL_ADOPTED, LABEL_RELEASED, LABEL_SERVICE_UID
from tests.support.balancer_cluster import (
    a_service,
    annotate,
    asked_of_hetzner,
    balancers,
    delete_service,
    have_balancers,
    have_services,
    ingress,
    seen,
    service_in,
    services,
)
from tests.support.in_process import ONCE, one_pass
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
    """A person said that it may be taken over, not that it may be deleted: it goes on, and says when it was let go.
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
    """It has neither port nor target: one pass makes it the Service's. It is let go with the Service, and deleted only
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
