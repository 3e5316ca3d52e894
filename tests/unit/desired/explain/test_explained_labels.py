"""Whose each label of a Node is, where its value comes from, and what becomes of it."""

from collections.abc import Mapping
from typing import Any

import pytest

from desired.explain.fact import Fact
from desired.explain.node import explain_labels
from desired.model.settings import Controller, Settings
from desired.model.snapshot import Node, Server
from desired.rules.rule import Basis
from tests.builders import SERVER_LABELS, UNINITIALIZED, a_node, a_server, a_settled_node, a_snapshot
from tests.support.judging import planned

TYPE = "node.kubernetes.io/instance-type"
ZONE, BETA_ZONE = "topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"
REGION = "topology.kubernetes.io/region"
PROVIDED_BY = "instance.hetzner.cloud/provided-by"
MIRRORED = "servers.example.com/role"
MIRRORING = Settings(mirror_labels="servers.example.com")
A_ZONE_OF_A_PERSON = "somebody set it, and it stays; the zone of the server's location is 'fsn1-dc14'"


def labelled(changes: Mapping[str, str | None], **overrides: Any) -> Node:
    """A settled Node that is labelled right but for these; None takes a label away."""
    merged = {**SERVER_LABELS, **changes}
    return a_settled_node(labels={key: value for key, value in merged.items() if value is not None}, **overrides)


def explained(node: Node, server: Server, settings: Settings, left: str = "") -> Mapping[str, Fact]:
    """Key → what is said of it."""
    wanted, then = planned(node, a_snapshot([node], [server]), settings)
    return {fact.subject: fact for fact in explain_labels(node, then, wanted, settings, left)}


@pytest.mark.parametrize(
    ("node", "server", "settings", "expected"),
    [
        pytest.param(
            labelled({}),
            a_server(),
            Settings(),
            Fact(TYPE, "cpx32", "cpx32", Basis.SERVER, "the server's type"),
            id="as-the-server-says",
        ),
        pytest.param(
            labelled({}),
            a_server(type="cpx52"),
            Settings(),
            Fact(TYPE, "cpx32", "cpx52", Basis.SERVER, "the server's type"),
            id="the-server-was-resized",
        ),
        pytest.param(
            labelled({REGION: None, "failure-domain.beta.kubernetes.io/region": None}),
            a_server(),
            Settings(),
            Fact(REGION, None, "fsn1", Basis.SERVER, "the server's location"),
            id="missing",
        ),
        pytest.param(
            labelled({PROVIDED_BY: None}),
            a_server(),
            Settings(),
            Fact(PROVIDED_BY, None, "cloud", Basis.SERVER, "what every server of Hetzner Cloud gets"),
            id="provided-by-missing",
        ),
        pytest.param(
            labelled({ZONE: "rack-7"}),
            a_server(),
            Settings(),
            Fact(ZONE, "rack-7", "rack-7", Basis.KEPT, A_ZONE_OF_A_PERSON),
            id="a-zone-that-a-person-set",
        ),
        pytest.param(
            labelled({ZONE: "rack-7"}),
            a_server(),
            Settings(),
            Fact(BETA_ZONE, "fsn1-dc14", "rack-7", Basis.KEPT, A_ZONE_OF_A_PERSON),
            id="its-deprecated-twin-follows",
        ),
        pytest.param(
            labelled({ZONE: "rack-7"}, taints=(UNINITIALIZED,)),
            a_server(),
            Settings(),
            Fact(ZONE, "rack-7", "fsn1-dc14", Basis.SERVER, "the zone of the server's location"),
            id="a-zone-that-a-person-set-goes-as-the-node-joins",
        ),
        pytest.param(
            labelled({PROVIDED_BY: "robot"}),
            a_server(),
            Settings(),
            Fact(
                PROVIDED_BY,
                "robot",
                "robot",
                Basis.KEPT,
                "somebody set it, and it stays; what every server of Hetzner Cloud gets is 'cloud'",
            ),
            id="a-provided-by-that-a-person-set",
        ),
        pytest.param(
            labelled({}),
            a_server(),
            Settings(zone_labels=False),
            Fact(
                ZONE,
                "fsn1-dc14",
                "fsn1-dc14",
                Basis.UNTOUCHED,
                "stays as it is: HCLOUD_INSTANCES_ZONE_LABEL_ENABLED is false",
            ),
            id="zone-labels-disabled",
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
                "comes in step with the other key of its pair: HCLOUD_INSTANCES_ZONE_LABEL_ENABLED is false",
            ),
            id="zone-labels-disabled-and-twins-that-differ",
        ),
        pytest.param(
            labelled({MIRRORED: "web"}),
            a_server(missing=frozenset({"labels"})),
            MIRRORING,
            Fact(
                MIRRORED,
                "web",
                "web",
                Basis.UNTOUCHED,
                "stays as it is: Hetzner's answer has no labels of the server",
            ),
            id="mirrored-once-and-not-known-now",
        ),
        pytest.param(
            labelled({}),
            a_server(location=""),
            Settings(),
            Fact(REGION, "fsn1", "fsn1", Basis.UNTOUCHED, "stays as it is: the server's location is not known"),
            id="a-server-without-a-location",
        ),
        pytest.param(
            labelled({}),
            a_server(type="-odd-"),
            Settings(),
            Fact(TYPE, "cpx32", "cpx32", Basis.UNTOUCHED, "stays as it is: the server's type can be no label's value"),
            id="a-type-that-no-label-may-have",
        ),
        pytest.param(
            labelled({"example.com/team": "blue"}),
            a_server(),
            Settings(),
            Fact("example.com/team", "blue", "blue", Basis.FOREIGN, "not ours, left alone"),
            id="somebody-elses",
        ),
        pytest.param(
            labelled({MIRRORED: "web"}),
            a_server(),
            Settings(),
            Fact(MIRRORED, "web", "web", Basis.FOREIGN, "not ours, left alone"),
            id="nothing-is-mirrored-unless-asked",
        ),
        pytest.param(
            labelled({}),
            a_server(labels={"role": "web"}),
            MIRRORING,
            Fact(MIRRORED, None, "web", Basis.MIRRORED, "the server's label role"),
            id="mirrored",
        ),
        pytest.param(
            labelled({MIRRORED: ""}),
            a_server(labels={"role": ""}),
            MIRRORING,
            Fact(MIRRORED, "", "", Basis.MIRRORED, "the server's label role"),
            id="mirrored-and-empty",
        ),
        pytest.param(
            labelled({"servers.example.com/a_b": "1"}),
            a_server(labels={"a/b": "2"}),
            MIRRORING,
            Fact("servers.example.com/a_b", "1", "2", Basis.MIRRORED, "the server's label a/b"),
            id="mirrored-under-another-key",
        ),
        pytest.param(
            labelled({MIRRORED: "web"}),
            a_server(),
            MIRRORING,
            Fact(MIRRORED, "web", None, Basis.MIRRORED, "goes away: no label of the server's is mirrored as this key"),
            id="mirrored-no-more",
        ),
        pytest.param(
            labelled({"servers.example.com/a_b": "1"}),
            a_server(labels={"a/b": "1", "a_b": "2"}),
            MIRRORING,
            Fact(
                "servers.example.com/a_b",
                "1",
                None,
                Basis.MIRRORED,
                "goes away: no label of the server's is mirrored as this key",
            ),
            id="two-labels-would-become-the-same",
        ),
    ],
)
def test_label(node: Node, server: Server, settings: Settings, expected: Fact) -> None:
    """Each label is told with its value, the wanted one, the rule, and where that comes from."""
    assert explained(node, server, settings)[expected.subject] == expected


@pytest.mark.parametrize(
    ("node", "settings"),
    [
        pytest.param(labelled({"team": "blue"}, provider_id="aws://1"), Settings(), id="no-node-of-ours"),
        pytest.param(
            labelled({"team": "blue"}),
            Settings(controllers=frozenset({Controller.LIFECYCLE})),
            id="labels-are-left-to-others",
        ),
    ],
)
def test_labels_that_are_left_alone(node: Node, settings: Settings) -> None:
    """Where nothing is wanted of a Node each label stays, ours with the reason why."""
    found = explained(node, a_server(), settings, "because")

    assert [fact.subject for fact in found.values()] == sorted(node.labels)
    assert {fact.subject: fact.wanted for fact in found.values()} == node.labels
    assert (found["team"].rule, found[TYPE].rule) == (Basis.FOREIGN, Basis.UNTOUCHED)
    assert found[TYPE].source == "stays as it is: because"


def test_no_labels() -> None:
    """A Node that nobody labelled, and of which nothing is wanted, has no label to explain."""
    assert explained(a_node(), a_server(), Settings()) == {}
