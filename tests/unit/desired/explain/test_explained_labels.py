"""Labels of a Node as an explanation shows them: as they are, as they will be, and the rule that decides."""

from collections.abc import Mapping
from typing import Any

import pytest

from desired.explain.fact import Fact
from desired.explain.node import explain_labels
from desired.model.settings import Controller, Settings
from desired.model.snapshot import Node, Server
from desired.rules.rule import Basis
from tests.builders import SERVER_LABELS, a_node, a_server, a_settled_node
from tests.support.nodes import decide

TYPE, ZONE = "node.kubernetes.io/instance-type", "topology.kubernetes.io/zone"
BETA_ZONE = "failure-domain.beta.kubernetes.io/zone"
MIRRORED = "servers.example.com/role"
MIRRORING = Settings(mirror_labels="servers.example.com")


def labelled(changes: Mapping[str, str], **overrides: Any) -> Node:
    """A settled Node that is labelled right but for these."""
    return a_settled_node(labels={**SERVER_LABELS, **changes}, **overrides)


def explained(node: Node, server: Server, settings: Settings) -> Mapping[str, Fact]:
    """Key → what is said of it."""
    wanted, _ = decide(node, server, settings)
    return {fact.subject: fact for fact in explain_labels(node, wanted.labels)}


@pytest.mark.parametrize(
    ("node", "server", "settings", "expected"),
    [
        pytest.param(
            labelled({}),
            a_server(type="cpx52"),
            Settings(),
            Fact(TYPE, "cpx32", "cpx52", Basis.SERVER, "the server's type"),
            id="the-server-was-resized",
        ),
        pytest.param(
            labelled({ZONE: "rack-7"}),
            a_server(),
            Settings(),
            Fact(
                BETA_ZONE,
                "fsn1-dc14",
                "rack-7",
                Basis.KEPT,
                f"label {ZONE} keeps 'rack-7', which differs from the server's 'fsn1-dc14'",
            ),
            id="a-zone-that-a-person-set",
        ),
        pytest.param(
            labelled({ZONE: "rack-7"}),
            a_server(),
            Settings(zone_labels=False),
            Fact(
                BETA_ZONE,
                "fsn1-dc14",
                "rack-7",
                Basis.KEPT,
                f"follows label {ZONE}, as the server has no value for either",
            ),
            id="a-twin-that-follows",
        ),
        pytest.param(
            labelled({MIRRORED: "web"}),
            a_server(),
            Settings(),
            Fact(MIRRORED, "web", "web", Basis.FOREIGN, "not ours, left alone"),
            id="somebody-elses",
        ),
        pytest.param(
            labelled({}),
            a_server(labels={"role": "web"}),
            MIRRORING,
            Fact(MIRRORED, None, "web", Basis.MIRRORED, "the server's label role"),
            id="mirrored",
        ),
        pytest.param(
            labelled({MIRRORED: "web"}),
            a_server(),
            MIRRORING,
            Fact(
                MIRRORED,
                "web",
                None,
                Basis.MIRRORED,
                f"label {MIRRORED} goes away: the server has no label that is mirrored as it",
            ),
            id="mirrored-no-more",
        ),
    ],
)
def test_label(node: Node, server: Server, settings: Settings, expected: Fact) -> None:
    """Each label is told with its value, the wanted one, and what its rule says."""
    assert explained(node, server, settings)[expected.subject] == expected


@pytest.mark.parametrize(
    ("node", "settings", "why"),
    [
        pytest.param(
            labelled({"team": "blue"}, provider_id="aws://1"),
            Settings(),
            "not managed: the Node is foreign",
            id="no-node-of-ours",
        ),
        pytest.param(
            labelled({"team": "blue"}),
            Settings(controllers=frozenset({Controller.LIFECYCLE})),
            "not managed: --controllers leaves cloud-node out",
            id="labels-are-left-to-others",
        ),
    ],
)
def test_labels_that_are_left_alone(node: Node, settings: Settings, why: str) -> None:
    """Where nothing is wanted of a Node each label stays, ours with the reason why."""
    found = explained(node, a_server(), settings)

    assert [fact.subject for fact in found.values()] == sorted(node.labels)
    assert {fact.subject: fact.wanted for fact in found.values()} == node.labels
    assert (found["team"].rule, found[TYPE].rule) == (Basis.FOREIGN, Basis.UNTOUCHED)
    assert found[TYPE].source == why


def test_no_labels() -> None:
    """A Node that nobody labelled, and of which nothing is wanted, has no label to explain."""
    assert explained(a_node(), a_server(), Settings()) == {}
