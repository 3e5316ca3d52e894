"""A Node is reached by an address of a family that the Service has: kube-proxy opens its node ports for these alone."""

from collections.abc import Callable

import pytest

from tests.support.in_process import one_pass
from tests.support.objects import notes_of_kind
from tests.support.stage import Stage, hetzner_says

WORLD = "04-ip-families"
IPV4, IPV6 = "198.18.0.1", "2001:db8:0:1::1"


def targets(stage: Stage) -> list[tuple[str, str]]:
    """Address and health of each target of the only load balancer."""
    (balancer,) = hetzner_says(stage.project, "/v1/load_balancers")["load_balancers"]
    return [(target["server"]["ip"], target["health_status"][0]["status"]) for target in balancer["targets"]]


def have_families(stage: Stage, *families: str) -> None:
    """The Service takes traffic by these."""
    policy = "PreferDualStack" if len(families) > 1 else "SingleStack"
    stage.patch_service({"spec": {"ipFamilyPolicy": policy, "ipFamilies": families}}, "six")


def without_public(stage: Stage, family: str) -> None:
    """The only server has no public address of this family."""
    (server,) = stage.servers()
    stage.change_servers(1, public_net={**server["public_net"], family: None})


@pytest.mark.parametrize(
    ("families", "lacks", "by"),
    [
        pytest.param(["IPv6"], None, IPV6, id="IPv6 alone"),
        pytest.param(["IPv4"], None, IPV4, id="IPv4 alone"),
        pytest.param(["IPv6", "IPv4"], None, IPV4, id="both"),
        pytest.param(["IPv4", "IPv6"], "ipv4", IPV6, id="both, and a server of IPv6"),
    ],
)
def test_the_address_of_the_target(
    field: Callable[[str], Stage], families: list[str], lacks: str | None, by: str
) -> None:
    """It answers, and the next pass has nothing to do."""
    stage = field(WORLD)
    have_families(stage, *families)
    if lacks:
        without_public(stage, lacks)

    one_pass(stage)

    assert targets(stage) == [(by, "healthy")]
    second = one_pass(stage)
    assert (second["changes"], second["notes"]) == ([], [])


@pytest.mark.parametrize(
    ("family", "lacks", "had"), [("IPv6", "ipv6", "IPv4"), ("IPv4", "ipv4", "IPv6")], ids=["IPv6", "IPv4"]
)
def test_a_server_without_the_family(field: Callable[[str], Stage], family: str, lacks: str, had: str) -> None:
    """It is no target, and note and event say which family it lacks, and the remedy."""
    stage = field(WORLD)
    have_families(stage, family)
    without_public(stage, lacks)

    report = one_pass(stage)

    assert targets(stage) == []
    said = f"a public {had} address only, but the Service accepts {family} only (spec.ipFamilies)"
    for kind in ("unusable-target", "no-targets"):
        (text,) = notes_of_kind(report, kind)
        assert said in text
        assert "ipFamilyPolicy: PreferDualStack" in text
    assert any(said in event["message"] for event in stage.events("UnusableTarget"))


def test_an_existing_target_by_the_other_family(field: Callable[[str], Stage]) -> None:
    """It stays, as another hand may have put it there, and is told: it does not answer."""
    stage = field(WORLD)
    have_families(stage, "IPv4")
    one_pass(stage)
    have_families(stage, "IPv6")

    report = one_pass(stage)

    assert targets(stage) == [(IPV4, "unhealthy")]
    (text,) = notes_of_kind(report, "unusable-target")
    assert "the Service accepts IPv6 only (spec.ipFamilies)" in text
    assert "it is added again by IPv6" in text


def test_a_server_that_loses_the_family_keeps_its_target(field: Callable[[str], Stage]) -> None:
    """What exists is not removed: that no address is known does not prove that nothing answers."""
    stage = field(WORLD)
    have_families(stage, "IPv4")
    one_pass(stage)
    have_families(stage, "IPv6")
    without_public(stage, "ipv6")

    report = one_pass(stage)

    assert len(targets(stage)) == 1
    assert len(stage.balancers()) == 1
    (text,) = notes_of_kind(report, "unusable-target")
    assert "target of Node w-1 unchanged: " in text
