"""Innocent things that come together and once emptied clusters with exit code 0, on a real API server: settings that
vanish, edits that do two things, labels and taints of Nodes. What answers goes on to answer, and a person is told."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest

from tests.support.in_process import ONCE, one_pass
from tests.support.objects import AUTOSCALER, a_service, private_ip, public_ipv4, seen
from tests.support.rows import rows
from tests.support.stage import Stage

LB = "HCLOUD_LOAD_BALANCERS_"
INTERNAL = {f"{LB}USE_PRIVATE_IP": "true", f"{LB}DISABLE_PUBLIC_NETWORK": "true"}
"""Settings of a cluster whose load balancers nobody reaches from outside."""
LOST_TOGETHER = dict.fromkeys(("HCLOUD_NETWORK", *INTERNAL))
"""As with a values file that was not merged."""
OTHER_NETWORK = {"id": 8, "name": "other", "ip_range": "10.1.0.0/16"}
EXCLUDED = "node.kubernetes.io/exclude-from-external-load-balancers"


@contextmanager
def configured(stage: Stage, changes: Mapping[str, str | None]) -> Iterator[None]:
    """Variables of the environment are set otherwise for a while; None: they are lost."""
    right = stage.environment
    stage.environment = {name: text for name, text in {**right, **changes}.items() if text is not None}
    yield
    stage.environment = right


def rules_of(report: Mapping[str, Any]) -> set[str]:
    """The rules that hold something."""
    return {hold["rule"] for hold in report["holds"]}


def standing(stage: Stage) -> dict[str, Any]:
    """Load balancer → what it leads to and by which address, and how it is reached."""
    kept = ("targets", "public", "private")
    return {found["name"]: {part: seen(found)[part] for part in kept} for found in stage.balancers()}


def reached(stage: Stage) -> dict[int, str]:
    """Server → by which of its addresses the only load balancer leads to it."""
    (found,) = standing(stage).values()
    targets: dict[int, str] = found["targets"]
    return targets


def web(*numbers: int) -> list[str]:
    return [f"web-{number}" for number in numbers]


def silence(stage: Stage, *numbers: int) -> None:
    """Neither address of these servers answers a health check, and those of all others do."""
    stage.project.clear_faults()
    ranges = [f"{address(number)}/32" for number in numbers for address in (private_ip, public_ipv4)]
    stage.project.set_faults([{"kind": "no_answer", "ranges": ranges, "count": None}] if ranges else [])


def switch_off(stage: Stage, *numbers: int) -> None:
    """These servers, which then answer no health check."""
    stage.change_servers(*numbers, status="off")
    silence(stage, *numbers)


@pytest.fixture
def internal(balanced: Stage) -> Stage:
    """Four Services, each reached through the network alone, as settings for all say."""
    balanced.environment |= INTERNAL
    balanced.have_services(*map(a_service, ("api", "db", "mail", "web")))
    assert one_pass(balanced)["result"] == "no_changes"
    assert {(each["public"], *each["targets"].values()) for each in standing(balanced).values()} == {
        (False, "private", "private", "private")
    }
    return balanced


@pytest.mark.parametrize(
    ("mistaken", "flags", "rules"),
    [
        pytest.param(LOST_TOGETHER, {}, {"by-default"}, id="lost together"),
        pytest.param(LOST_TOGETHER, {"--keep-internal-ips": "true"}, set(), id="no address would be lost"),
        pytest.param({f"{LB}DISABLE_PUBLIC_NETWORK": "false"}, {}, {"by-default"}, id="internal ones become public"),
    ],
)
def test_settings_that_are_mistaken_for_all(
    internal: Stage, mistaken: Mapping[str, str | None], flags: Mapping[str, str], rules: set[str]
) -> None:
    """No load balancer loses a target, its network, or what keeps it internal, in the first run or the second; when the
    settings are back nothing is left to do."""
    before = standing(internal)

    with configured(internal, mistaken):
        for _ in range(2):
            report = one_pass(internal, {**ONCE, **flags})
            result = "blocked" if rules else "no_changes"
            assert (report["result"], rules_of(report), standing(internal)) == (result, rules, before)

    assert one_pass(internal)["result"] == "no_changes"


def test_settings_that_are_lost_when_a_plan_is_saved(internal: Stage) -> None:
    """By the command: a file that was saved then permits nothing that is held."""
    before = standing(internal)

    with configured(internal, LOST_TOGETHER):
        internal.reconcile("plan", "--save", "plan.json")
        applied = internal.reconcile("apply", "plan.json", "--output", "json", "--detailed-exitcode")

    assert (applied.code, applied.report["result"], applied.report["summary"]["applied"]) == (3, "blocked", 0)
    assert (rules_of(applied.report), standing(internal)) == ({"by-default"}, before)
    assert one_pass(internal)["result"] == "no_changes"


def test_another_network_and_no_private_addresses(balanced: Stage) -> None:
    """The annotation keeps the interface closed, so that no public target would be reached."""
    balanced.environment |= {f"{LB}USE_PRIVATE_IP": "true"}
    balanced.change_project(networks=[balanced.network(), OTHER_NETWORK])
    balanced.have_services(a_service(disable_public_network="true"))
    one_pass(balanced)
    before = standing(balanced)

    with configured(balanced, {"HCLOUD_NETWORK": "other", f"{LB}USE_PRIVATE_IP": None}):
        for _ in range(2):
            report = one_pass(balanced)
            assert (report["result"], standing(balanced)) == ("blocked", before)
            assert "target-floor" in rules_of(report)

    assert reached(balanced) == dict.fromkeys((1, 2, 3), "private")
    assert one_pass(balanced)["result"] == "no_changes"


@pytest.fixture
def pools(balanced: Stage) -> Stage:
    """Three Nodes of pool a and three of pool b, and a Service that asks for those of a."""
    balanced.remove_nodes()
    balanced.have_nodes(6)
    balanced.label(*web(1, 2, 3), labels={"pool": "a"})
    balanced.label(*web(4, 5, 6), labels={"pool": "b"})
    balanced.have_services(a_service(node_selector="pool=a"))
    one_pass(balanced)
    assert reached(balanced) == dict.fromkeys((1, 2, 3), "public")
    return balanced


def test_one_edit_to_a_pool_that_does_not_answer(pools: Stage) -> None:
    """Other Nodes, other addresses and no public interface at once: the former pool and the interface stay while the
    new one fails its health checks, and follow without a word when it answers."""
    silence(pools, 4, 5, 6)
    pools.annotate(node_selector="pool=b", use_private_ip="true", disable_public_network="true")

    for _ in range(2):
        report = one_pass(pools)
        (found,) = standing(pools).values()
        assert (report["result"], rules_of(report), found["public"]) == ("blocked", {"target-floor"}, True)
        assert found["targets"].items() >= dict.fromkeys((1, 2, 3), "public").items()

    silence(pools)
    assert one_pass(pools)["result"] == "no_changes"
    (found,) = standing(pools).values()
    assert (found["targets"], found["public"]) == (dict.fromkeys((4, 5, 6), "private"), False)


def test_a_selector_of_a_pool_that_is_off(pools: Stage) -> None:
    """What answers stays until what replaces it answers, and nothing is left of the detour when the edit is undone."""
    switch_off(pools, 4, 5, 6)
    pools.annotate(node_selector="pool=b")

    for _ in range(2):
        report = one_pass(pools)
        assert (report["result"], rules_of(report)) == ("blocked", {"target-floor"})
        assert reached(pools).keys() >= {1, 2, 3}

    pools.annotate(node_selector="pool=a")
    assert (one_pass(pools)["result"], reached(pools)) == ("no_changes", dict.fromkeys((1, 2, 3), "public"))


@pytest.fixture
def four(balanced: Stage) -> Stage:
    """Four Nodes and a Service."""
    balanced.remove_nodes()
    balanced.have_nodes(4)
    balanced.have_services(a_service())
    one_pass(balanced)
    return balanced


@rows(
    "deaf answering happens ends",
    {
        "a label keeps them out": (
            [4],
            [1, 2, 3],
            lambda stage, *names: stage.label(*names, labels={EXCLUDED: ""}),
            lambda stage, *names: stage.label(*names, labels={EXCLUDED: None}),
        ),
        "the autoscaler taints them": (
            [3, 4],
            [1, 2],
            lambda stage, *names: stage.taint(*names, key=AUTOSCALER),
            lambda stage, *names: stage.untaint(*names),
        ),
    },
)
def test_all_that_answer_are_to_go(
    four: Stage, deaf: list[int], answering: list[int], happens: Callable[..., None], ends: Callable[..., None]
) -> None:
    """A loss that is announced is no surprise, but it ends where nothing would answer."""
    silence(four, *deaf)
    happens(four, *web(*answering))

    for _ in range(2):
        report = one_pass(four)
        assert (report["result"], rules_of(report)) == ("blocked", {"target-floor"})
        assert reached(four).keys() >= {*answering}

    ends(four, *web(*answering))
    assert (one_pass(four)["result"], set(reached(four))) == ("no_changes", {1, 2, 3, 4})


def test_a_target_stays_whose_replacement_only_leaves_out(balanced: Stage) -> None:
    """The last target waits for others in a run of all, and is held in a run of its own, which does not add them."""
    balanced.label(*web(1, 2), labels={EXCLUDED: ""})
    balanced.have_services(a_service())
    one_pass(balanced)
    balanced.label(*web(1, 2), labels={EXCLUDED: None})
    balanced.label(*web(3), labels={EXCLUDED: ""})
    key = "load_balancer/default/web/target/server:3"

    report = one_pass(balanced, {**ONCE, "--only": key})

    assert [(hold["rule"], hold["keys"]) for hold in report["holds"]] == [("target-floor", [key])]
    assert {*reached(balanced)} == {3}
    assert (one_pass(balanced)["holds"], {*reached(balanced)} >= {1, 2}) == ([], True)
