"""The condition ``NodeInSync``: False of what lacks, Unknown where nothing is known yet, and else as it was."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from actuators.outcome import Failed
from desired.health.node_condition import sync_condition
from desired.model.route import ROUTED, UNROUTED, NetworkCondition
from desired.model.settings import Controller, Policy, Settings
from desired.model.snapshot import Condition, Node, RobotAccount, Server, Snapshot, SyncCondition
from desired.names import CONDITION_NODE_IN_SYNC
from desired.plan.change import GuardDecision, GuardName, Verdict
from desired.planner import compute_plan
from desired.section import Unknown
from desired.syntax.selector import parse_selector
from reconciler.result import Line
from reconciler.telemetry.conditions import NodeConditionSink
from tests.builders import (
    NOW,
    a_joining_node,
    a_lost_node,
    a_robot_server,
    a_server,
    a_settled_node,
    a_snapshot,
    incomplete,
    servers_of,
)
from tests.routes import ROUTING, a_pod_node, a_pod_server, a_route, a_routed_world, pods_of, routes_of
from tests.support.judging import facts_of, judge
from tests.support.rows import rows

Said = tuple[str, str]
DEFAULT = Settings()
TRUE: Said = ("True", "InSync")
OTHER, OTHERS_SERVER = a_settled_node("web-2", 2), a_server(2, "web-2")


def told(
    snapshot: Snapshot,
    settings: Settings = DEFAULT,
    refused: str = "",
    *,
    tells_sync: bool = True,
) -> dict[str, Said | None]:
    """Node → status and reason of the condition that a pass writes, None where it takes it away. Nothing was done of
    the plan but the changes of the kind ``refused``, which failed."""
    plan = judge(compute_plan(snapshot, settings), snapshot, settings)
    tried = tuple(Line(each, Failed("no space left")) for each in plan.changes if each.kind == refused)
    due = NodeConditionSink(lambda *_: None, tells_sync=tells_sync).due(facts_of(plan, snapshot, settings), tried)
    return {node.name: (found.status, found.reason) if found else None for node, found, _ in due}


def said(node: Node, status: str = "True", reason: str = "InSync") -> Node:
    """The Node with the condition."""
    return replace(node, conditions=(*node.conditions, Condition(CONDITION_NODE_IN_SYNC, status, reason)))


def beside(node: Node, *servers: Any, **overrides: Any) -> Snapshot:
    """The Node beside another one that is well, so that the project is known to be the cluster's."""
    return a_snapshot((node, said(OTHER)), (*servers, OTHERS_SERVER), **overrides)


UNREAD = incomplete(servers_of(OTHERS_SERVER), "page 2 timed out")
STRANGE = a_settled_node(provided_node_ip="192.168.1.1")


@rows("world refused expected", {
    "in sync": (beside(a_settled_node(), a_server()), "", TRUE),
    "about to be initialized": (beside(a_joining_node(), a_server()), "", None),
    "cannot be initialized": (beside(a_joining_node(), a_server()), "node.initialise", ("False", "NotInitialized")),
    "addresses are not known": (beside(a_joining_node(), a_server(missing=frozenset({"public_net.ipv4"}))), "",
        ("Unknown", "NotInitialized")),
    "no server": (beside(a_joining_node()), "", ("False", "ServerNotFound")),
    "two servers": (beside(a_joining_node(), a_server(), a_server(3)), "", ("False", "ServerAmbiguous")),
    "no id": (beside(a_settled_node(provider_id="hcloud://x")), "", ("False", "ProviderIDMalformed")),
    "a server that the list lacks": (beside(a_settled_node()), "", ("Unknown", "ServerUnknown")),
    "a list with a gap": (beside(a_joining_node(), servers_section=UNREAD), "", ("Unknown", "ServerUnknown")),
    "another name than its server's": (beside(a_settled_node(), a_server(name="renamed")), "", TRUE),
    "labels on their way": (beside(a_settled_node(labels={}), a_server()), "", None),
    "labels refused": (beside(a_settled_node(labels={}), a_server()), "node.labels", ("False", "LabelsDiffer")),
    "addresses refused": (beside(a_settled_node(addresses=()), a_server()), "node.addresses", ("False",
        "AddressesDiffer")),
    "a wrong --node-ip": (beside(STRANGE, a_server()), "", ("False", "AddressesDiffer")),
    "of another cloud": (beside(a_settled_node(provider_id="aws:///i-1")), "", None),
    "going": (beside(a_lost_node()), "", None),
    "being deleted": (beside(a_settled_node(deleted_at=NOW), a_server()), "", None),
})  # fmt: skip
def test_the_condition(world: Snapshot, refused: str, expected: Said | None) -> None:
    """Of a Node without routes; None where nothing is written."""
    assert told(world, refused=refused).get("web-1") == expected


BARE = a_pod_node(says=None)


def closed(pods: str) -> Node:
    return a_pod_node(1, pods, says=UNROUTED)


JOINING = a_routed_world(
    [a_joining_node(pod_cidrs=(pods_of(),)), said(a_pod_node(2))],
    [a_pod_server(), a_pod_server(2)],
    routes=[a_route(2)],
)
"""Node web-1 joins, and has pods already."""
DEAD = a_route("10.244.1.0/25", "10.0.0.77")
"""A route in the way of that to the pods of web-1, by an address that nothing has."""


@rows("world refused expected", {
    "there": (a_routed_world(), "", TRUE),
    "on its way": (a_routed_world(routes=[]), "", None),
    "refused": (a_routed_world(routes=[]), "route.create", ("False", "RouteMissing")),
    "behind an initialization that was refused": (JOINING, "node.initialise", ("False", "NotInitialized")),
    "behind a deletion that was refused": (a_routed_world(routes=[DEAD], members=[]), "route.delete", ("False",
        "RouteMissing")),
    "perhaps among what was not read": (replace(a_routed_world(routes=[]), routes=incomplete(routes_of())), "",
        ("Unknown", "RoutesUnknown")),
    "outside": (a_routed_world([closed("10.9.1.0/24")], routes=[]), "", ("False", "RouteMissing")),
    "malformed": (a_routed_world([closed("pods")], routes=[]), "", ("False", "RouteMissing")),
    "routes that were not read": (replace(a_routed_world(), routes=None), "", ("Unknown", "RoutesUnknown")),
    "no pods yet": (a_routed_world([replace(BARE, pod_cidrs=())]), "", ("False", "PodCIDRMissing")),
    "pods of IPv6": (a_routed_world([replace(BARE, pod_cidrs=("fd00::/64",))]), "", TRUE),
})  # fmt: skip
def test_conditions_of_routes(world: Snapshot, refused: str, expected: Said | None) -> None:
    assert told(world, ROUTING, refused).get("web-1") == expected


def test_the_error_behind_a_wait() -> None:
    """The error of what a route needs first, which is no error of its own."""
    world = a_routed_world(routes=[DEAD], members=[])
    plan = judge(compute_plan(world, ROUTING), world, ROUTING)
    ((_, found, _),) = NodeConditionSink(lambda *_: None, tells_sync=True).due(
        facts_of(plan, world, ROUTING),
        [Line(each, Failed("no space left")) for each in plan.changes if each.kind == "route.delete"],
    )
    assert found == SyncCondition("False", "RouteMissing", "route.create is waiting: no space left")


@pytest.mark.parametrize("network", [None, ROUTED, UNROUTED])
def test_robot_servers_have_no_routes(network: NetworkCondition | None) -> None:
    """Nor is that in doubt where another controller said of the Node whether there is one."""
    node = a_pod_node(9, says=network, provider_id="hrobot://9")
    metal, settings = RobotAccount(servers_of(a_robot_server(9, "web-9"))), replace(ROUTING, robot=True)
    world = replace(a_routed_world([a_pod_node(), node], [a_pod_server()], routes=[a_route()]), robot=metal)
    desired = facts_of(compute_plan(world, settings), world, settings).desired
    found = sync_condition(node, desired.nodes["web-9"], desired.routes, (), {})
    assert (found and (found.status, found.reason)) == TRUE


def test_without_routes_none_is_missing() -> None:
    assert told(a_routed_world(routes=[]), replace(ROUTING, routes=False)) == {"web-1": TRUE}


GAPPED = a_routed_world([said(a_pod_node())], routes=[])


@rows("world settings", {
    "a list with a gap": (beside(said(a_settled_node()), servers_section=UNREAD), Settings()),
    "a network that was not read": (replace(a_routed_world([said(a_pod_node())]), network=Unknown("HTTP 503"),
        routes=None), ROUTING),
    "a list of servers with a gap, and no route": (replace(GAPPED, servers=incomplete(GAPPED.servers)), ROUTING),
    "a list of routes with a gap": (replace(GAPPED, routes=incomplete(routes_of())), ROUTING),
    "another project": (a_snapshot([said(a_settled_node(labels={}))], [OTHERS_SERVER]), Settings()),
})  # fmt: skip
def test_an_outage_keeps_the_condition(world: Snapshot, settings: Settings) -> None:
    """An outage says nothing of Nodes that were in sync before it."""
    assert told(world, settings) == {}


def test_an_idle_pass_writes_nothing() -> None:
    world = a_snapshot([said(a_settled_node()), said(OTHER)], [a_server(), OTHERS_SERVER])
    assert told(world) == {}


def test_another_reason_is_written() -> None:
    node = said(a_settled_node(labels={}), "False", "AddressesDiffer")
    assert told(beside(node, a_server()), refused="node.labels") == {"web-1": ("False", "LabelsDiffer")}


FOUR = [a_pod_node(number) for number in range(1, 5)]
OUTSIDE = [replace(node, pod_cidrs=(f"10.9.{number}.0/24",)) for number, node in enumerate(FOUR, 1)]


@rows("nodes servers", {
    "a network that was mistyped": (FOUR, [a_server(number, f"web-{number}") for number in range(1, 5)]),
    "a cluster CIDR that was mistyped": (OUTSIDE, None),
})  # fmt: skip
def test_a_hold_says_nothing_of_nodes_in_sync(nodes: Sequence[Node], servers: Sequence[Server] | None) -> None:
    """It would take the addresses of all Nodes, or close them all to pods, and is held: they stay as they were told.
    Where nothing was told yet, that is not known."""
    world = a_routed_world(map(said, nodes), servers, routes=[])
    plan = judge(compute_plan(world, ROUTING), world, ROUTING)
    assert any(hold.rule is GuardName.ADDRESS_BLAST_RADIUS for hold in plan.holds)
    assert told(world, ROUTING) == {}
    assert set(told(a_routed_world(nodes, servers, routes=[]), ROUTING).values()) == {("Unknown", "Withheld")}


def test_an_initialization_that_is_withheld() -> None:
    """A Node that was not initialized lacks everything, whatever guards doubt."""
    node = a_joining_node()
    world = beside(node, a_server())
    plan = compute_plan(world, DEFAULT)
    held = [each.ruled(GuardDecision(Verdict.HELD, GuardName.ADDRESS_BLAST_RADIUS, "why")) for each in plan.changes]
    wanted = facts_of(plan, world, DEFAULT).desired.nodes[node.name]
    expected = SyncCondition("False", "NotInitialized", "node.initialise is held: why")
    assert sync_condition(node, wanted, None, held, {}) == expected


IGNORING = replace(Settings(), ignore_nodes=parse_selector("ignored=true"))


@rows("settings expected", {
    "off": (Settings(), {"web-1": None, "web-2": None}),
    "ignored": (IGNORING, {"web-2": None}),
    "the part is off": (replace(Settings(), controllers=frozenset({Controller.SERVICE})), {}),
    "observing": (replace(Settings(), policy=Policy.OBSERVE), {}),
    "a part of the plan": (replace(Settings(), only=("node/web-1",)), {}),
})  # fmt: skip
def test_without_the_flag_it_is_taken_away(settings: Settings, expected: Mapping[str, Said | None]) -> None:
    """Where Nodes may be written to; of those that do not have it nothing is written."""
    node = a_settled_node()
    ignored = replace(node, labels={**node.labels, "ignored": "true"})
    world = a_snapshot([said(ignored), said(OTHER)], [a_server(), OTHERS_SERVER])
    assert told(world, settings, tells_sync=False) == expected
    bare = a_snapshot([a_settled_node(), OTHER], [a_server(), OTHERS_SERVER])
    assert told(bare, settings, tells_sync=False) == {}


def test_the_rule_in_the_documentation_names_it() -> None:
    """The manifest of docs/nodes.md, as its CustomResourceDefinition (v1alpha1) wants it."""
    page = (Path(__file__).resolve().parents[4] / "docs/nodes.md").read_text()
    blocks = (block.partition("```")[0] for block in page.split("```yaml\n")[1:])
    (rule,) = (found for found in map(yaml.safe_load, blocks) if found["kind"] == "NodeReadinessRule")
    assert rule["apiVersion"] == "readiness.node.x-k8s.io/v1alpha1"
    spec = rule["spec"]
    assert spec["conditions"] == [{"type": CONDITION_NODE_IN_SYNC, "requiredStatus": "True"}]
    assert spec["taint"].keys() == {"key", "effect", "value"}
    assert spec["taint"]["key"].startswith("readiness.k8s.io/")
    assert spec["enforcementMode"] in ("bootstrap-only", "continuous")
