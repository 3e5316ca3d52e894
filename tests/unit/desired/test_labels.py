"""Labels from servers: nodes-and-routes 3.1 and 4.4."""

from collections.abc import Mapping

import pytest

from desired.labels import OWNED_LABELS, compute_labels, zone_of
from desired.snapshot import Server
from tests.builders import a_server

TYPE = {"beta.kubernetes.io/instance-type": "cpx32", "node.kubernetes.io/instance-type": "cpx32"}
ZONE = {"failure-domain.beta.kubernetes.io/zone": "fsn1-dc14", "topology.kubernetes.io/zone": "fsn1-dc14"}
REGION = {"failure-domain.beta.kubernetes.io/region": "fsn1", "topology.kubernetes.io/region": "fsn1"}
PROVIDED_BY = {"instance.hetzner.cloud/provided-by": "cloud"}


@pytest.mark.parametrize(
    ("location", "zone"),
    [
        ("nbg1", "nbg1-dc3"),
        ("hel1", "hel1-dc2"),
        ("fsn1", "fsn1-dc14"),
        ("ash", "ash-dc1"),
        ("hil", "hil-dc1"),
        ("sin", "sin-dc1"),
        ("mars", "mars"),
        ("FSN1", "FSN1"),
        ("", ""),
    ],
)
def test_zone_of(location: str, zone: str) -> None:
    """The old locations keep the zone of their datacenter, any other is its own zone."""
    assert zone_of(location) == zone


@pytest.mark.parametrize(
    ("server", "current", "zone_labels", "expected"),
    [
        pytest.param(a_server(), {}, True, TYPE | ZONE | REGION | PROVIDED_BY, id="nothing-there"),
        pytest.param(
            a_server(),
            dict.fromkeys((*TYPE, *ZONE, *REGION), "wrong"),
            True,
            TYPE | ZONE | REGION | PROVIDED_BY,
            id="wrong-values-are-overwritten",
        ),
        pytest.param(
            a_server(),
            {"instance.hetzner.cloud/provided-by": "robot"},
            True,
            TYPE | ZONE | REGION | {"instance.hetzner.cloud/provided-by": "robot"},
            id="provided-by-is-kept",
        ),
        pytest.param(
            a_server(),
            {"team": "red", "kubernetes.io/os": "linux"},
            True,
            TYPE | ZONE | REGION | PROVIDED_BY,
            id="labels-of-others-are-no-business-of-ours",
        ),
        pytest.param(
            a_server(location="mars"),
            {},
            True,
            TYPE | dict.fromkeys((*ZONE, *REGION), "mars") | PROVIDED_BY,
            id="new-location-is-its-own-zone",
        ),
        pytest.param(a_server(), {}, False, TYPE | REGION | PROVIDED_BY, id="zone-labels-disabled"),
        pytest.param(a_server(location=""), {}, True, TYPE | PROVIDED_BY, id="empty-location-writes-neither"),
        pytest.param(
            a_server(location=""), dict.fromkeys(REGION, "old"), True, TYPE | PROVIDED_BY, id="empty-removes-nothing"
        ),
    ],
)
def test_compute_labels(
    server: Server, current: Mapping[str, str], zone_labels: bool, expected: Mapping[str, str]
) -> None:
    """Both keys of each pair are written together, and only where the server has a value."""
    assert compute_labels(server, current, zone_labels=zone_labels) == expected


def test_owned_labels() -> None:
    """The owned keys are exactly those that HCCM writes."""
    assert {*TYPE, *ZONE, *REGION, *PROVIDED_BY} == OWNED_LABELS
