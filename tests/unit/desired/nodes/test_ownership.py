"""Whose a Node is."""

import pytest

from desired.model.settings import Settings
from desired.model.snapshot import Node, Readiness
from desired.nodes.matching import cloud_nodes, is_ignored
from desired.syntax.provider_id import Provider, provider_of
from desired.syntax.selector import parse_selector
from tests.builders import NOW, a_joining_node, a_lost_node, a_node, a_settled_node, a_snapshot, incomplete, nodes_of

SPARED = Settings(ignore_nodes=parse_selector("example.com/spare"))
SPARE = {"example.com/spare": ""}


@pytest.mark.parametrize(
    ("provider_id", "expected"),
    [
        pytest.param("hcloud://1", Provider.CLOUD, id="cloud"),
        pytest.param("hrobot://1", Provider.ROBOT, id="robot"),
        pytest.param("hcloud://bm-1", Provider.ROBOT, id="robot-of-the-fork"),
        pytest.param("hcloud://-1", None, id="malformed"),
        pytest.param("talos://x", None, id="foreign"),
        pytest.param("", None, id="empty"),
        pytest.param(None, None, id="none"),
    ],
)
def test_provider_of(provider_id: str | None, expected: Provider | None) -> None:
    """Each provider has an anchor of its own; what is not ours has none."""
    assert provider_of(provider_id) is expected


@pytest.mark.parametrize(
    ("node", "settings", "expected"),
    [
        pytest.param(a_settled_node(labels=SPARE), SPARED, True, id="selected"),
        pytest.param(a_settled_node(), SPARED, False, id="not-selected"),
        pytest.param(a_settled_node(labels=SPARE), Settings(), False, id="no-selector"),
        pytest.param(a_node(labels=SPARE), SPARED, True, id="whoever-it-belongs-to"),
    ],
)
def test_is_ignored(node: Node, settings: Settings, expected: bool) -> None:
    """The operator's selector takes a Node out of everything, by its labels."""
    assert is_ignored(node, settings) is expected


@pytest.mark.parametrize(
    ("node", "ours"),
    [
        pytest.param(a_settled_node("n", 7), True, id="settled"),
        pytest.param(a_joining_node("n", provider_id="hcloud://7"), True, id="joining-with-a-provider-id"),
        pytest.param(a_lost_node("n", 7), True, id="lost"),
        pytest.param(a_settled_node("n", 7, deleted_at=NOW), True, id="being-deleted"),
        pytest.param(a_settled_node("n", 7, ready=Readiness.MISSING), True, id="never-reported"),
        pytest.param(a_node("n"), False, id="without-a-provider-id"),
        pytest.param(a_joining_node("n"), False, id="joining-by-name"),
        pytest.param(a_settled_node("n", provider_id="hrobot://7"), False, id="robot"),
        pytest.param(a_settled_node("n", provider_id="hcloud://bm-7"), False, id="robot-of-the-fork"),
        pytest.param(a_settled_node("n", provider_id="talos://n"), False, id="foreign"),
        pytest.param(a_settled_node("n", provider_id="hcloud://07"), False, id="malformed"),
        pytest.param(a_settled_node("n", 7, labels=SPARE), False, id="ignored"),
    ],
)
def test_cloud_nodes(node: Node, ours: bool) -> None:
    """Ours are the Nodes whose providerID names a server of the cloud, whatever became of either."""
    assert list(cloud_nodes(a_snapshot([node]), SPARED)) == ([(node, 7)] if ours else [])


def test_cloud_nodes_of_a_partial_list_in_the_order_of_names() -> None:
    """What arrived of the list counts, in the order of names and not of arrival."""
    nodes = [a_settled_node("b", 1), a_settled_node("c", 3), a_settled_node("a", 2)]
    snapshot = a_snapshot(nodes_section=incomplete(nodes_of(*nodes)))
    assert [(node.name, server_id) for node, server_id in cloud_nodes(snapshot, Settings())] == [
        ("a", 2),
        ("b", 1),
        ("c", 3),
    ]
