"""A status that follows from other changes of the same plan is known after them, and written once."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.support.in_process import one_pass
from tests.support.objects import ingress
from tests.support.stage import Stage

NETWORK = {"HCLOUD_NETWORK": "cluster"}


@pytest.fixture
def stage(field: Callable[[str], Stage]) -> Stage:
    """36: two annotations at once, each of which alters the status."""
    return field("36-two-annotations-saved-plan")


def statuses(stage: Stage) -> list[Any]:
    """The addresses of each status that was published."""
    sent = [exchange.body.get("status", {}) for exchange in stage.writes() if exchange.path.endswith("/web/status")]
    return [status["loadBalancer"]["ingress"] for status in sent if "loadBalancer" in status]


def test_a_saved_plan_covers_the_status(stage: Stage, tmp_path: Path) -> None:
    """36: all of it is applied, and nothing is left to plan."""
    file = str(tmp_path / "p")
    stage.reconcile("plan", "--save", file, **NETWORK)
    ran = stage.reconcile("apply", file, "-o", "json", **NETWORK)
    assert (ran.code, ran.report["result"]) == (0, "no_changes")
    assert {entry["ipMode"] for entry in ingress(stage.service())} == {"Proxy"}
    assert len(statuses(stage)) == 1
    assert one_pass(stage, {"--dry-run": "true"}, **NETWORK)["changes"] == []


def test_the_status_is_known_after_apply(stage: Stage) -> None:
    """36: the plan shows no value that the same plan makes wrong."""
    changes = {each["key"]: each for each in one_pass(stage, {"--dry-run": "true"}, **NETWORK)["changes"]}
    assert changes["service/default/web/status"]["after"] == "(known after apply)"


@pytest.mark.parametrize(
    "options",
    [
        {"uses_proxyprotocol": "true", "ipv6_disabled": "true", "disable_private_ingress": None},
        {"uses_proxyprotocol": "true", "disable_public_network": "true", "disable_private_ingress": None},
        {"uses_proxyprotocol": "true", "hostname": "web.example.com"},
    ],
    ids=["family", "public interface", "hostname"],
)
def test_the_status_is_written_once(stage: Stage, options: Mapping[str, str | None]) -> None:
    """36: neighbours, which alter what is published by an annotation and by a change of the load balancer."""
    stage.annotate(**options)
    report = one_pass(stage, **NETWORK)
    assert (report["holds"], report["result"]) == ([], "no_changes")
    assert len(statuses(stage)) == 1


def test_a_held_part_does_not_hold_the_status(stage: Stage) -> None:
    """36: what the Service asks for by itself is published, though a default alters it besides and is held."""
    stage.annotate(uses_proxyprotocol=None)
    report = one_pass(stage, **NETWORK, HCLOUD_LOAD_BALANCERS_USES_PROXYPROTOCOL="true")
    assert [hold["rule"] for hold in report["holds"]] == ["by-default"]
    assert statuses(stage) == [[{"ip": each["ip"], "ipMode": "VIP"} for each in ingress(stage.service())]]
    assert len(ingress(stage.service())) == 2


def test_a_held_move_does_not_hold_the_status(stage: Stage) -> None:
    """36: another private address would interrupt its targets and is held; the family that is switched off goes."""
    stage.annotate(
        uses_proxyprotocol=None, private_ipv4="10.0.0.77", ipv6_disabled="true", disable_private_ingress=None
    )
    report = one_pass(stage, **NETWORK)
    assert [hold["rule"] for hold in report["holds"]] == ["target-floor"]
    assert [entry["ip"] for entry in ingress(stage.service())] == ["198.18.0.200", "10.0.0.2"]
