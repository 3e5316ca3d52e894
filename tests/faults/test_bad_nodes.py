"""Nodes and servers that are not as they should be: what becomes of each, what is said, and that the others go on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.support.in_process import one_pass
from tests.support.objects import SHUTDOWN, joining_node, notes, public_ipv4, server, settled_node
from tests.support.stage import SimulatedCluster, Stage

Object = dict[str, Any]
NODE_IP = "alpha.kubernetes.io/provided-node-ip"
UNINITIALIZED = "node.cloudprovider.kubernetes.io/uninitialized"
TYPE = "node.kubernetes.io/instance-type"
NETWORK = {"id": 7, "name": "cluster", "ip_range": "10.0.0.0/16", "subnets": [{"ip_range": "10.0.1.0/24"}]}
STATUSES = ("running", "initializing", "starting", "stopping", "off", "deleting", "migrating", "rebuilding", "unknown")
IPV4 = public_ipv4(1)
LONG = "x" * 64
"""One character more than a label's value may have."""
SAME: Mapping[str, Any] = {}
"""Said of a Node on which nothing was written."""


@dataclass(frozen=True)
class World:
    """What there is beside two healthy Nodes and one that joins, and what must be true of it after a run."""

    nodes: Sequence[Object]
    servers: Sequence[Object]
    after: Mapping[str, Mapping[str, Any]]
    """Name → what the Node has then."""
    notes: frozenset[tuple[str, str]] = frozenset()
    """Key and kind of all that is said."""
    variables: Mapping[str, str] = field(default_factory=dict)


def _has(node: Mapping[str, Any]) -> Object:
    """What a world may say of a Node."""
    return {
        "providerID": node["spec"].get("providerID"),
        "taints": [taint["key"] for taint in node["spec"].get("taints", [])],
        "labels": node["metadata"]["labels"],
        "addresses": [(address["type"], address["address"]) for address in node["status"]["addresses"]],
    }


def _healthy(name: str, server_id: int) -> tuple[Object, Object]:
    """A Node that needs nothing, and its server, which has no address of any family."""
    node = settled_node(name, server_id)
    node["status"]["addresses"] = [{"type": "Hostname", "address": name}]
    return node, server(server_id, name, public_net={})


def _node_ip(node: Object, text: str) -> Object:
    node["metadata"]["annotations"] = {NODE_IP: text}
    return node


NAMELESS = joining_node("web-1")
NAMELESS["spec"]["providerID"] = "hcloud://007"


def _of_old_type(node: Object) -> Object:
    node["metadata"]["labels"][TYPE] = node["metadata"]["labels"]["beta.kubernetes.io/instance-type"] = "old"
    return node


def _left_alone(kind: str, *nodes: Object, servers: Sequence[Object]) -> World:
    """None of the Nodes is written to, and of each there is a note of this kind."""
    names = [node["metadata"]["name"] for node in nodes]
    said = frozenset((f"node/{name}", kind) for name in names)
    return World(nodes, servers, dict.fromkeys(names, SAME), said)


IDENTITIES = {
    "a server that was renamed keeps its Node": World(
        [settled_node("web-1", 1)], [server(1, "renamed")], {"web-1": SAME}, frozenset({("node/web-1", "kept")})
    ),
    "a Node that came back under another name matches nothing": World(
        [settled_node("web-1", 1), joining_node("renamed")],
        [server(1, "web-1")],
        {"web-1": SAME, "renamed": SAME},
        frozenset({("node/renamed", "unmatched")}),
    ),
    "two Nodes with one providerID": _left_alone(
        "ambiguous", settled_node("old", 1), settled_node("new", 1), servers=[server(1, "old", server_type="cpx42")]
    ),
    "a Node that joins under the name of another one's server": World(
        [settled_node("old", 1), joining_node("web-1")],
        [server(1, "web-1")],
        {"web-1": SAME, "old": SAME},
        frozenset({("node/web-1", "ambiguous"), ("node/old", "kept")}),
    ),
    "a Ready Node whose server is in another project": _left_alone(
        "unmatched", settled_node("theirs", 999), servers=[]
    ),
    "a providerID that names no server": _left_alone("malformed", NAMELESS, servers=[server(7, "web-1")]),
    "servers in each of their nine states": World(
        [*(settled_node(f"in-{i}", i) for i in range(1, 10)), *(joining_node(f"new-{i}") for i in range(11, 20))],
        [
            *(server(i, f"in-{i}", status=status) for i, status in enumerate(STATUSES, 1)),
            *(server(i, f"new-{i}", status=status) for i, status in enumerate(STATUSES, 11)),
        ],
        {
            **{f"in-{i}": {"taints": [SHUTDOWN] if s == "off" else []} for i, s in enumerate(STATUSES, 1)},
            **{f"new-{i}": {"providerID": f"hcloud://{i}"} for i in range(11, 20)},
        },
    ),
}


WRONG_FAMILY = "2001:db8:7::1"
SETTLED = _node_ip(settled_node("web-2", 2), WRONG_FAMILY)
SETTLED["status"]["addresses"] = [{"type": "Hostname", "address": "as-it-was"}]
NODE_IPS = {
    "a kubelet's --node-ip of the wrong family": World(
        [_node_ip(joining_node("web-1"), WRONG_FAMILY), SETTLED],
        [server(1, "web-1", public_net={"ipv4": {"ip": IPV4}}), server(2, "web-2", server_type="cpx42")],
        {"web-1": SAME, "web-2": {"addresses": [("Hostname", "as-it-was")]}},
        frozenset({("node/web-1", "unusable-node-ip"), ("node/web-2", "unusable-node-ip"), ("node/web-2", "kept")}),
    )
}
"""It keeps its Node from joining, and on a settled Node keeps the addresses as they are."""


UNUSABLE = frozenset({("node/web-1", "unusable-label")})
UNNAMED = server(1, "web-1", server_type={"name": LONG})
MIRRORED = {**settled_node("web-1", 1)["metadata"]["labels"], "hetzner.example.com/team": "blue"}
LABELS = {
    "a server type that no label can name, on a settled Node": World(
        [settled_node("web-1", 1)], [UNNAMED], {"web-1": SAME}, UNUSABLE
    ),
    "a server type that no label can name, on a Node that joins": World(
        [_of_old_type(joining_node("web-1"))],
        [UNNAMED],
        {"web-1": {"labels": _of_old_type(settled_node("web-1", 1))["metadata"]["labels"], "taints": []}},
        UNUSABLE,
    ),
    "a mirrored value of 64 characters": World(
        [settled_node("web-1", 1)],
        [server(1, "web-1", labels={"env": LONG, "team": "blue"})],
        {"web-1": {"labels": MIRRORED}},
        UNUSABLE,
        variables={"RECONCILER_MIRROR_LABELS": "hetzner.example.com"},
    ),
}


@pytest.mark.parametrize(
    "world", [pytest.param(world, id=name) for table in (IDENTITIES, NODE_IPS, LABELS) for name, world in table.items()]
)
def test_trouble_stays_with_its_node(stage: Stage, cluster: SimulatedCluster, world: World) -> None:
    """The world is as the table says, and so are the notes; the healthy Nodes are not touched, and the new one joins. A
    second run finds nothing to write."""
    healthy, servers = zip(*(_healthy(f"well-{i}", i) for i in (91, 92)), strict=True)
    stage.have_servers(*servers, server(93, "joiner"), *world.servers, networks=[NETWORK])
    cluster.holds(*healthy, joining_node("joiner"), *world.nodes)
    before = stage.nodes()

    report = one_pass(stage, **world.variables)

    after = stage.nodes()
    is_stuck = any(state["state"] == "stuck" for state in report["states"]["nodes"])
    assert (report["result"], notes(report)) == ("blocked" if is_stuck else "no_changes", set(world.notes))
    assert before.keys() == after.keys()
    for name, expected in world.after.items():
        if expected is SAME:
            assert after[name] == before[name]
        else:
            assert expected.items() <= _has(after[name]).items(), _has(after[name])
    assert [after[name] for name in ("well-91", "well-92")] == [before[name] for name in ("well-91", "well-92")]
    assert UNINITIALIZED not in _has(after["joiner"])["taints"]

    stage.forget()
    one_pass(stage, **world.variables)
    assert stage.writes() == []
