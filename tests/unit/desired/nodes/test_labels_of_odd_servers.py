"""Labels where the server has no value, or none that a label may have."""

from collections.abc import Mapping

import pytest

from desired.model.settings import Settings
from desired.model.snapshot import Server
from desired.nodes.labels import NodeLabels, initial_labels, kept_labels
from tests.builders import a_server

DEFAULT, NO_ZONES = Settings(), Settings(zone_labels=False)

BETA_TYPE, TYPE = "beta.kubernetes.io/instance-type", "node.kubernetes.io/instance-type"
BETA_ZONE, ZONE = "failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"
BETA_REGION, REGION = "failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region"
PROVIDED_BY = "instance.hetzner.cloud/provided-by"

TYPES = {BETA_TYPE: "cpx32", TYPE: "cpx32"}
ZONES = {BETA_ZONE: "fsn1-dc14", ZONE: "fsn1-dc14"}
REGIONS = {BETA_REGION: "fsn1", REGION: "fsn1"}
CLOUD = {PROVIDED_BY: "cloud"}
ALL = TYPES | ZONES | REGIONS | CLOUD


def kept(key: str, value: str, server: str) -> tuple[str, ...]:
    """What is said of a value that somebody set."""
    return (f"label {key} is {value!r} where the server has {server!r}; kept",)


def unusable(value: str, *keys: str) -> tuple[str, ...]:
    """What is said of a value of the server's that no label may have."""
    return tuple(f"{value!r} can be no label's value: {key} stays as it is" for key in keys)


@pytest.mark.parametrize(
    ("server", "current", "settings", "expected"),
    [
        pytest.param(a_server(), {}, NO_ZONES, NodeLabels(TYPES | REGIONS | CLOUD), id="zone-labels-disabled"),
        pytest.param(
            a_server(),
            {ZONE: "mine"},
            NO_ZONES,
            NodeLabels(TYPES | REGIONS | CLOUD | {ZONE: "mine"}),
            id="zone-labels-disabled-remove-none",
        ),
        pytest.param(a_server(location=""), {}, DEFAULT, NodeLabels(TYPES | CLOUD), id="empty-location-writes-neither"),
        pytest.param(
            a_server(location=""),
            dict.fromkeys(REGIONS, "old"),
            DEFAULT,
            NodeLabels(TYPES | CLOUD | dict.fromkeys(REGIONS, "old")),
            id="empty-location-removes-nothing",
        ),
        pytest.param(
            a_server(type="x" * 64),
            {TYPE: "old"},
            DEFAULT,
            NodeLabels(ZONES | REGIONS | CLOUD | {TYPE: "old"}, (), unusable("x" * 64, TYPE)),
            id="type-too-long-for-a-label",
        ),
        pytest.param(
            a_server(type="x" * 64),
            {TYPE: "old", BETA_TYPE: "older"},
            DEFAULT,
            NodeLabels(ZONES | REGIONS | CLOUD | dict.fromkeys(TYPES, "old"), (), unusable("x" * 64, TYPE)),
            id="type-too-long-for-a-label-brings-twins-in-step",
        ),
        pytest.param(
            a_server(),
            {ZONE: "mine", BETA_ZONE: "other"},
            NO_ZONES,
            NodeLabels(TYPES | REGIONS | CLOUD | dict.fromkeys(ZONES, "mine")),
            id="zone-labels-disabled-bring-twins-in-step",
        ),
        pytest.param(
            a_server(),
            {BETA_ZONE: "mine"},
            NO_ZONES,
            NodeLabels(TYPES | REGIONS | CLOUD | dict.fromkeys(ZONES, "mine")),
            id="zone-labels-disabled-give-the-deprecated-key-its-twin",
        ),
        pytest.param(
            a_server(location=""),
            {REGION: "eu", BETA_REGION: "us"},
            DEFAULT,
            NodeLabels(TYPES | CLOUD | dict.fromkeys(REGIONS, "eu")),
            id="empty-location-brings-twins-in-step",
        ),
    ],
)
def test_joining_labels_of_odd_servers(
    server: Server, current: Mapping[str, str], settings: Settings, expected: NodeLabels
) -> None:
    """A pair for which the server has no usable value is kept in step, and gets no deprecated key that is not there."""
    assert initial_labels(server, current, settings) == expected


@pytest.mark.parametrize(
    ("server", "current", "settings", "expected"),
    [
        pytest.param(
            a_server(location="mars"),
            {},
            DEFAULT,
            NodeLabels(TYPES | CLOUD | dict.fromkeys((*ZONES, *REGIONS), "mars")),
            id="new-location",
        ),
        pytest.param(
            a_server(location="hel1"),
            ALL,
            DEFAULT,
            NodeLabels(ALL, kept(ZONE, "fsn1-dc14", "hel1-dc2") + kept(REGION, "fsn1", "hel1")),
            id="another-location-than-the-labels-say",
        ),
        pytest.param(a_server(location=""), {}, DEFAULT, NodeLabels(TYPES | CLOUD), id="empty-location-adds-nothing"),
        pytest.param(
            a_server(location=""),
            {ZONE: "a", BETA_ZONE: "b"} | CLOUD,
            DEFAULT,
            NodeLabels(TYPES | CLOUD | {ZONE: "a", BETA_ZONE: "a"}),
            id="empty-location-brings-twins-in-step",
        ),
        pytest.param(
            a_server(location=""),
            {REGION: "eu"},
            DEFAULT,
            NodeLabels(TYPES | CLOUD | {REGION: "eu"}),
            id="empty-location-gives-the-stable-key-no-twin",
        ),
        pytest.param(
            a_server(location=""),
            {BETA_REGION: "eu"},
            DEFAULT,
            NodeLabels(TYPES | CLOUD | dict.fromkeys(REGIONS, "eu")),
            id="empty-location-gives-the-deprecated-key-its-twin",
        ),
        pytest.param(a_server(), {}, NO_ZONES, NodeLabels(TYPES | REGIONS | CLOUD), id="zone-labels-disabled-add-none"),
        pytest.param(
            a_server(),
            ALL | {ZONE: "rack-7"},
            NO_ZONES,
            NodeLabels(ALL | dict.fromkeys(ZONES, "rack-7")),
            id="zone-labels-disabled-bring-twins-in-step",
        ),
        pytest.param(
            a_server(),
            {BETA_ZONE: "rack-7"},
            NO_ZONES,
            NodeLabels(TYPES | REGIONS | CLOUD | dict.fromkeys(ZONES, "rack-7")),
            id="zone-labels-disabled-give-the-deprecated-key-its-twin",
        ),
        pytest.param(
            a_server(),
            {ZONE: "rack-7"},
            NO_ZONES,
            NodeLabels(TYPES | REGIONS | CLOUD | {ZONE: "rack-7"}),
            id="zone-labels-disabled-give-the-stable-key-no-twin",
        ),
        pytest.param(
            a_server(),
            dict.fromkeys(ZONES, ""),
            NO_ZONES,
            NodeLabels(TYPES | REGIONS | CLOUD | dict.fromkeys(ZONES, "")),
            id="zone-labels-disabled-leave-empty-twins",
        ),
        pytest.param(
            a_server(type="x" * 64),
            ALL | {TYPE: "old"},
            DEFAULT,
            NodeLabels(ALL | dict.fromkeys(TYPES, "old"), (), unusable("x" * 64, TYPE)),
            id="type-too-long-for-a-label-brings-twins-in-step",
        ),
        pytest.param(
            a_server(type="x" * 64),
            {TYPE: "old"},
            DEFAULT,
            NodeLabels(ZONES | REGIONS | CLOUD | {TYPE: "old"}, (), unusable("x" * 64, TYPE)),
            id="type-too-long-for-a-label-gives-the-stable-key-no-twin",
        ),
        pytest.param(
            a_server(type="x" * 63),
            ALL,
            DEFAULT,
            NodeLabels(ALL | dict.fromkeys(TYPES, "x" * 63)),
            id="the-longest-type-that-a-label-may-have",
        ),
        pytest.param(
            a_server(location="moon base"),
            {},
            DEFAULT,
            NodeLabels(TYPES | CLOUD, (), unusable("moon base", ZONE, REGION)),
            id="malformed-location",
        ),
        pytest.param(
            a_server(location="moon base"),
            ALL,
            NO_ZONES,
            NodeLabels(ALL, (), unusable("moon base", REGION)),
            id="malformed-location-without-zone-labels",
        ),
    ],
)
def test_settled_labels_of_odd_servers(
    server: Server, current: Mapping[str, str], settings: Settings, expected: NodeLabels
) -> None:
    """A pair for which the server has no usable value is kept in step, and gets no deprecated key that is not there."""
    assert kept_labels(server, current, settings) == expected
