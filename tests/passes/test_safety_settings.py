"""Settings that are lost, mistyped and undone, on a real API server: nothing follows from them without a person."""

from typing import Any

import pytest

from tests.support.in_process import ONCE, one_pass
from tests.support.objects import a_service, notes_of_kind
from tests.support.stage import Stage

LB = "HCLOUD_LOAD_BALANCERS_"
INTERNAL = {f"{LB}USE_PRIVATE_IP": "true", f"{LB}DISABLE_PUBLIC_NETWORK": "true"}
NAMES = ("a", "b", "c", "d")


@pytest.fixture
def remembering(balanced: Stage) -> Stage:
    """The stage with the ConfigMap that the chart brings, and four Services."""
    balanced.have_config_map()
    balanced.have_services(*map(a_service, NAMES))
    return balanced


def settled(stage: Stage, **variables: str) -> None:
    """All is as these settings want it, and they are remembered."""
    one_pass(stage, ONCE, **variables)
    assert one_pass(stage, ONCE, **variables)["result"] == "no_changes"
    stage.forget()


def world(stage: Stage) -> list[tuple[bool, int, int]]:
    """Of each load balancer: whether it is public, how many networks it is in, and how many targets it has."""
    return [
        (each["public_net"]["enabled"], len(each["private_net"]), len(each["targets"])) for each in stage.balancers()
    ]


def told(report: Any) -> list[str]:
    """What is said of settings."""
    return [text.partition(", since")[0] for text in notes_of_kind(report, "settings")]


def test_settings_that_vanish_together_take_nothing(remembering: Stage) -> None:
    """A values file that was not merged: network, private targets and closed interfaces are gone from all four."""
    settled(remembering, **INTERNAL)
    before = world(remembering)
    assert before == [(False, 1, 3)] * 4

    for _ in range(2):
        report = one_pass(remembering, ONCE, HCLOUD_NETWORK="")

        assert report["result"] == "blocked"
        (hold,) = report["holds"]
        assert (hold["rule"], hold["keys"]) == ("by-default", [f"node/web-{number}/addresses" for number in (1, 2, 3)])
        (said,) = told(report)
        assert said.split(", ") == [
            f"changed settings: {LB}DISABLE_PUBLIC_NETWORK true -> (unset)",
            f"{LB}USE_PRIVATE_IP true -> (unset)",
            "HCLOUD_NETWORK private -> (unset)",
        ]
    assert (world(remembering), remembering.written_to_hetzner()) == (before, [])
    settled(remembering, **INTERNAL)


@pytest.mark.parametrize(
    ("variable", "field"), [(f"{LB}DISABLE_PUBLIC_NETWORK", "public"), (f"{LB}USES_PROXYPROTOCOL", "proxy")]
)
def test_a_setting_for_all_is_undone_by_the_opposite(remembering: Stage, variable: str, field: str) -> None:
    """Once for all of it in both directions, and in the end all is as it was at first."""
    private = {f"{LB}USE_PRIVATE_IP": "true"}
    settled(remembering, **private)

    def state() -> list[bool]:
        return [
            each["public_net"]["enabled"] if field == "public" else each["services"][0]["proxyprotocol"]
            for each in remembering.balancers()
        ]

    first = state()
    for variables in ({**private, variable: "true"}, {**private, variable: "false"}):
        before = state()
        report = one_pass(remembering, ONCE, **variables)
        assert [hold["rule"] for hold in report["holds"]] == ["by-default"]
        assert (report["result"], state()) == ("blocked", before)
        approved = {**ONCE, "--approve": report["holds"][0]["hash"]}
        report = one_pass(remembering, approved, **variables)
        assert (report["result"], report["holds"], state()) == ("no_changes", [], [not each for each in before])
        assert one_pass(remembering, ONCE, **variables)["result"] == "no_changes"
    assert state() == first
