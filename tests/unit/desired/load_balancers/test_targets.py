"""Which of the Nodes that may get traffic fit into a load balancer, which targets go, and why none is left."""

import inspect
import re
from collections.abc import Collection
from dataclasses import replace

import pytest

from desired.annotations.options import Options
from desired.load_balancers import membership as deciding
from desired.load_balancers.membership import Membership, NodeTarget
from desired.load_balancers.targets import (
    DesiredTargets,
    TargetCache,
    TargetCandidates,
    count_targets,
    desired_targets,
    note_on_no_targets,
    removal_reason,
    target_candidates,
)
from desired.model.load_balancer import CloudBalancer, IpTarget, SelectorTarget, ServerTarget, Target
from desired.model.settings import Settings
from desired.model.snapshot import Snapshot
from desired.nodes.node import desired_nodes
from desired.rules import load_balancer_changes as of_changes
from desired.rules import load_balancers as rules
from desired.rules.nodes import Stage
from desired.rules.rule import Decided, Reason, Rule
from desired.syntax.bounds import counted
from desired.syntax.selector import parse_selector
from tests.balancers import a_balancer, a_service
from tests.builders import a_lost_node, a_server, a_settled_node, a_snapshot, in_cloud
from tests.support.balancer_plans import private, public
from tests.support.rows import rows
from tests.support.rules import saying

OVER_LIMIT, SERVES = Membership.OVER_LIMIT, rules.TAKES_PUBLIC.because(server="server", address="192.0.2.1")
EXCLUDED, UNUSABLE = rules.LEAVING.because(), rules.WITHOUT_PUBLIC_ADDRESS.because()
UNCERTAIN, IGNORED = rules.TARGET_SERVER_UNKNOWN.because(cause="GET timed out"), rules.TARGET_IGNORED.because()
SELECTED, OTHER = SelectorTarget("pool=web", use_private_ip=False), SelectorTarget("pool=web", use_private_ip=True)
VSWITCH = IpTarget("198.51.100.7")
P1, P2, V1 = *public(1, 2), *private(1)
"""Server 1 and server 2 by their public addresses, server 1 by its private one."""


def desired(members: Collection[NodeTarget], there: Collection[Target], most: int | None = 25) -> DesiredTargets:
    return desired_targets(in_order(members), with_targets(*there), most, "choose a larger type")


def in_order(members: Collection[NodeTarget]) -> TargetCandidates:
    return target_candidates(sorted(members, key=lambda member: member.node))


def with_targets(*targets: Target) -> CloudBalancer:
    return a_balancer(targets=targets)


def wanting(name: str, server_id: int, *, by_private: bool = False) -> NodeTarget:
    return NodeTarget(name, SERVES, ServerTarget(server_id, by_private), in_cloud(server_id))


def no_target(name: str, reason: Reason, server_id: int | None) -> NodeTarget:
    return NodeTarget(name, reason, server=in_cloud(server_id) if server_id else None)


A1, B2, C3 = wanting("a", 1), wanting("b", 2), wanting("c", 3)
BY_PRIVATE = wanting("b", 1, by_private=True)
UNSURE, SPARED, OUT = (no_target("a", each, 1) for each in (UNCERTAIN, IGNORED, EXCLUDED))
UNKNOWN = no_target("a", UNCERTAIN, None)


@rows("members there expected", {
    "excluded": ([OUT], (P1,), set()),
    "uncertain stays": ([UNSURE], (P1,), {P1}),
    "uncertain is not added": ([UNSURE], (), set()),
    "ignored stays": ([SPARED], (P1,), {P1}),
    "uncertain in both modes": ([UNSURE], (P1, V1), {P1, V1}),
    "one of two modes": ([A1], (P1, V1), {P1}),
    "who knows whose it is": ([UNKNOWN], (P1,), {P1}),
    "it is known whose it is": ([UNKNOWN, no_target("b", UNUSABLE, 1)], (P1,), set()),
    "known to be no server": ([no_target("a", UNUSABLE, None)], (P1,), set()),
    "one of two Nodes is uncertain": ([OUT, no_target("b", UNCERTAIN, 1)], (P1,), {P1}),
    "a wish beats a doubt": ([UNSURE, BY_PRIVATE], (P1,), {V1}),
    "what is not ours stays": ([A1], (VSWITCH, P2, OTHER, SELECTED), {VSWITCH, SELECTED, OTHER, P1}),
})  # fmt: skip
def test_wanted_targets(members: list[NodeTarget], there: tuple[Target, ...], expected: set[Target]) -> None:
    found = desired(members, there)
    assert found.targets == expected
    assert found.foreign == tuple(sorted({VSWITCH, SELECTED, OTHER} & set(there), key=str))


ABC = (A1, B2, C3)
D = no_target("d", UNCERTAIN, 4)


@rows("members there limit targets left_out", {
    "room for all": (ABC, (), 3, {1, 2, 3}, ""),
    "by name and not by server": ((wanting("z", 1), wanting("y", 2)), (), 1, {2}, "z"),
    "nobody changes places": (ABC, public(2, 3), 2, {2, 3}, "a"),
    "selector and address count": (ABC, (VSWITCH, SELECTED), 2, set(), "abc"),
    "what is uncertain counts": ((*ABC, D), public(4), 2, {1, 4}, "bc"),
    "two Nodes of one server count once": ((*ABC, wanting("d", 1)), (), 2, {1, 2}, "c"),
})  # fmt: skip
def test_the_limit(
    members: tuple[NodeTarget, ...], there: Collection[Target], limit: int, targets: set[int], left_out: str
) -> None:
    """Who loses does not change from pass to pass, nor with the order of what was read."""
    found, everything = desired(members, there, limit), desired(members, there, None)
    full = rules.ROOM_LACKING.because(room=counted(limit, "target"), remedy="choose a larger type")
    over = [member for member in found.members if member.membership is OVER_LIMIT]

    assert {target.server_id for target in found.targets if isinstance(target, ServerTarget)} == targets
    assert [member.node for member in over] == list(left_out)
    assert all(member.target is not None and member.reason == full for member in over)
    assert desired(members, tuple(there)[::-1], limit) == found
    assert desired(members, found.targets, limit).targets == found.targets
    assert list(found.by_why(OVER_LIMIT)) == [full.text for _ in left_out[:1]]
    assert [member.node for those in found.by_why(OVER_LIMIT).values() for member in those] == list(left_out)
    for server in map(in_cloud, range(1, 5)):
        assert [*found.of_server(server)] == [member for member in found.members if member.server == server]
    assert len(everything.targets) == count_targets(in_order(members), with_targets(*there))
    assert OVER_LIMIT not in {member.membership for member in everything.members}


UNATTACHED = rules.NOT_ATTACHED.because(network=7)
NO_NODE, GONE = of_changes.TARGET_WITHOUT_NODE.text(server="server 1"), of_changes.TARGET_GONE.text(server="server 1")
OUT_N, NO_N = no_target("n", EXCLUDED, 1), no_target("n", UNUSABLE, 1)
WITH_N = a_snapshot([a_settled_node("n", 1)], [a_server()])
BOTH = a_snapshot([a_settled_node("a", 1), a_settled_node("b", 1)], [a_server()])
TWICE = of_changes.TARGET_TWICE.text(server="server 1")


def is_none(**why: Reason) -> str:
    return ", and ".join(of_changes.TARGET_EXCLUDED.text(node=node, cause=why[node].says) for node in why)


@rows("members snapshot why", {
    "no Node": ([], a_snapshot([], [a_server()]), NO_NODE),
    "lost": ([NO_N], a_snapshot([a_lost_node("n", 1)]), GONE),
    "excluded and only missing in the list": ([OUT_N], a_snapshot([a_settled_node("n", 1)]), is_none(n=EXCLUDED)),
    "two Nodes": ([no_target("b", EXCLUDED, 1), no_target("a", UNUSABLE, 1)], BOTH, is_none(a=UNUSABLE, b=EXCLUDED)),
    "by its other address": ([wanting("n", 1, by_private=True)], WITH_N, TWICE),
    "wanted and yet removed": ([wanting("n", 1)], WITH_N, is_none(n=SERVES)),
})  # fmt: skip
def test_why_a_target_goes(members: list[NodeTarget], snapshot: Snapshot, why: str) -> None:
    """Dead targets are free (``target-floor``), exclusions explain a removal, and knowing less lets nothing more go."""
    assert removal_reason(P1, in_cloud(1), members, snapshot) == (why, why is GONE)


LABEL = "-l node.kubernetes.io/exclude-from-external-load-balancers"
POOL = Options(node_selector=parse_selector("pool=web"))


def own(says: str, remedy: str = "") -> Decided[Stage]:
    return Decided(Stage.UNMATCHED, Rule("own", "{says}", remedy), {"says": says})


def out(name: str, reason: Reason, told: Decided[Stage] | None = None) -> NodeTarget:
    return NodeTarget(name, reason, told=told)


def several(reason: Reason, count: int) -> list[NodeTarget]:
    return [out("abcdefgh"[number], reason) for number in range(count)]


def mends(row: Rule, nodes: str = "") -> str:
    return row.advice({"nodes": nodes, "selector": "pool=web", "service": "web", "namespace": "default"})


LABELLED, WAITING = rules.EXCLUDED_BY_LABEL.because(), rules.NOT_INITIALIZED.because()
TAINTED, ALONE = rules.LEAVING_BY_AUTOSCALER, rules.WITHOUT_NETWORK.because()
LONG = [
    out("a", rules.WITHOUT_SERVER.because()),
    out("b", rules.OF_ANOTHER_CLOUD.because(), told=own("x" * 1200)),
    out("c", rules.LEAVING.because()),
]


@rows("members counts remedies", {
    "more than are named": (several(LABELLED, 4), "4 excluded by label", [mends(LABELLED.rule, LABEL)]),
    "tainted": (several(TAINTED.because(), 4), "4 with the cluster autoscaler's taint", [mends(TAINTED, "--all")]),
    "the first note that there is": ([out("a", WAITING),
        out("b", WAITING, told=own("no server is named 'b'", "rename it"))],
        "2 not initialized (b: no server is named 'b')", ["b: rename it"]),
    "ignored": (several(rules.TARGET_IGNORED.because(), 1), "1 ignored by --ignore-nodes",
        [mends(rules.TARGET_IGNORED)]),
    "out of reach for two": ([out("a", UNATTACHED), out("b", ALONE)],
        f"1 not attached to the network (a: {UNATTACHED.says}), 1 without private network",
        [UNATTACHED.advice, ALONE.advice]),
    "what is too long is left out": (LONG, "1 without server, 1 of another cloud, 1 being deleted",
        [mends(rules.WITHOUT_SERVER), mends(rules.LEAVING)]),
})  # fmt: skip
def test_why_no_targets(members: list[NodeTarget], counts: str, remedies: list[str]) -> None:
    expected = rules.NODES_INELIGIBLE.text(total=len(members), counts=counts, remedies=", or ".join(remedies))
    assert note_on_no_targets(members, a_service(), POOL).text == expected


@pytest.mark.parametrize("order", [("pool=web", ""), ("", "pool=web")])
def test_selectors_share_no_answers_on_equal_targets(order: tuple[str, str]) -> None:
    """Equal targets are one value for all load balancers. A Service without a selector lost targets of another's."""
    there, web = tuple(public(1, 2)), a_settled_node("web-1", 1)
    nodes = [replace(web, labels={**web.labels, "pool": "web"}), a_settled_node("web-2", 2)]
    world = a_snapshot(nodes, [a_server(), a_server(2, "web-2")])
    cache = TargetCache(world, desired_nodes(world, Settings())[0], Settings())
    found = {}
    for text in order:
        options = Options(node_selector=parse_selector(text)) if text else Options()
        found[text] = cache.candidates(a_service(), options, a_balancer(targets=there), "").existing(there).staying
    assert found == {"": set(public(1, 2)), "pool=web": set(public(1))}


def test_a_cluster_without_nodes() -> None:
    assert note_on_no_targets([], a_service(), POOL).text == rules.NODES_LACKING.text()


@pytest.mark.parametrize("reason", [saying("w" * 3000), rules.UNSELECTED.because()], ids=["long", "unselected"])
@pytest.mark.parametrize("count", [1, 2, 5])
def test_every_sentence_fits_into_an_event(reason: Reason, count: int) -> None:
    """Hostile texts are cut: an Event holds 1024 characters, and so does a condition with its beginning."""
    hostile = Options(node_selector=parse_selector("pool in (" + ",".join(f"w{n}" for n in range(600)) + ")"))
    for told in (None, own("y" * 5000), own("y", "z" * 5000)):
        members = [out(f"node-{number}" + "n" * 200, reason, told) for number in range(count)]
        assert 60 < len(note_on_no_targets(members, a_service(), hostile).text) <= 1000


def test_each_reason_has_words_to_count_by() -> None:
    """Of Nodes that are no targets: a number without them says nothing."""
    names = set(re.findall(r"rows\.([A-Z]\w+)", inspect.getsource(deciding)))
    found = [getattr(rules, name) for name in names if not name.startswith("TAKES")]
    assert len(found) > 20
    assert [row.name for row in (*found, rules.ROOM_LACKING) if not row.counted] == []
