"""Labels from servers."""

from collections.abc import Mapping

import pytest

from desired.model.settings import Settings
from desired.model.snapshot import Server
from desired.nodes.labels import (
    OWNED_LABELS,
    LabelOrigin,
    NodeLabels,
    initial_labels,
    is_owned_label,
    kept_labels,
    label_origins,
    owned_labels,
    type_of_product,
    zone_of,
)
from tests.builders import SERVER_LABELS, a_robot_server, a_server

DEFAULT, NO_ZONES, MIRROR = Settings(), Settings(zone_labels=False), Settings(mirror_labels="srv.example.com")

BETA_TYPE, TYPE = "beta.kubernetes.io/instance-type", "node.kubernetes.io/instance-type"
BETA_ZONE, ZONE = "failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"
BETA_REGION, REGION = "failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region"
PROVIDED_BY = "instance.hetzner.cloud/provided-by"

TYPES = {BETA_TYPE: "cpx32", TYPE: "cpx32"}
ZONES = {BETA_ZONE: "fsn1-dc14", ZONE: "fsn1-dc14"}
REGIONS = {BETA_REGION: "fsn1", REGION: "fsn1"}
CLOUD = {PROVIDED_BY: "cloud"}
ALL = TYPES | ZONES | REGIONS | CLOUD

KEPT_PROVIDER = f"label {PROVIDED_BY} is 'robot' where 'cloud' is expected; kept"


def kept(key: str, value: str, server: str) -> tuple[str, ...]:
    """What is said of a value that somebody set."""
    return (f"label {key} is {value!r} where the server has {server!r}; kept",)


@pytest.mark.parametrize(
    ("product", "expected"),
    [
        ("AX41-NVMe", "AX41-NVMe"),
        ("Server Auction", "Server-Auction"),
        ("Robot Server™ 1", "Robot-Server-1"),
        ("  EX  44 ", "EX--44"),
        ("(SB) 35.", "SB-35"),
        ("x" * 70, "x" * 63),
        ("x" * 62 + " y", "x" * 62),
        ("™", ""),
        ("", ""),
    ],
)
def test_type_of_product(product: str, expected: str) -> None:
    """As HCCM writes it, and always a label's value."""
    assert type_of_product(product) == expected


@pytest.mark.parametrize("settings", [DEFAULT, NO_ZONES])
def test_labels_of_a_robot_server(settings: Settings) -> None:
    """Its product, its data center as the zone, whatever cloud servers get, and who provides it."""
    server = a_robot_server(type="Server Auction", zone="hel1-dc2", location="hel1")

    assert initial_labels(server, {}, settings) == NodeLabels(
        {
            **dict.fromkeys((BETA_TYPE, TYPE), "Server-Auction"),
            **dict.fromkeys((BETA_ZONE, ZONE), "hel1-dc2"),
            **dict.fromkeys((BETA_REGION, REGION), "hel1"),
            PROVIDED_BY: "robot",
        }
    )
    assert {origin.what for origin in label_origins(server, settings).values()} == {
        "the server's product",
        "the server's data center",
        "the location of the server's data center",
        "what every Robot server gets",
    }


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
    ("server", "current", "settings", "expected"),
    [
        pytest.param(a_server(), {}, DEFAULT, NodeLabels(ALL), id="nothing-there"),
        pytest.param(
            a_server(),
            dict.fromkeys((*TYPES, *ZONES, *REGIONS), "wrong"),
            DEFAULT,
            NodeLabels(ALL),
            id="wrong-values-are-overwritten",
        ),
        pytest.param(a_server(), {ZONE: "mine"}, DEFAULT, NodeLabels(ALL), id="one-wrong-key-of-a-pair"),
        pytest.param(
            a_server(),
            {PROVIDED_BY: "robot"},
            DEFAULT,
            NodeLabels(ALL | {PROVIDED_BY: "robot"}, (KEPT_PROVIDER,)),
            id="provided-by-is-kept",
        ),
        pytest.param(a_server(), {PROVIDED_BY: ""}, DEFAULT, NodeLabels(ALL), id="provided-by-that-is-empty"),
        pytest.param(
            a_server(),
            {"team": "red", "kubernetes.io/os": "linux"},
            DEFAULT,
            NodeLabels(ALL),
            id="labels-of-others-are-no-business-of-ours",
        ),
        pytest.param(
            a_server(location="mars"),
            {},
            DEFAULT,
            NodeLabels(TYPES | dict.fromkeys((*ZONES, *REGIONS), "mars") | CLOUD),
            id="new-location-is-its-own-zone",
        ),
    ],
)
def test_joining_labels(server: Server, current: Mapping[str, str], settings: Settings, expected: NodeLabels) -> None:
    """Both keys of each pair get the server's value, whatever was there."""
    assert initial_labels(server, current, settings) == expected


@pytest.mark.parametrize(
    ("current", "expected"),
    [
        pytest.param({}, NodeLabels(ALL), id="all-missing"),
        pytest.param(ALL, NodeLabels(ALL), id="as-they-were-written"),
        *(
            pytest.param(
                {key: value for key, value in ALL.items() if key != missing},
                NodeLabels(ALL),
                id=f"missing-{missing.replace('/', '-')}",
            )
            for missing in ALL
        ),
        pytest.param(ALL | dict.fromkeys(ZONES, ""), NodeLabels(ALL), id="an-empty-value-is-none"),
        pytest.param(ALL | dict.fromkeys(TYPES, "cpx22"), NodeLabels(ALL), id="resized-server"),
        pytest.param(ALL | {TYPE: "mine"}, NodeLabels(ALL), id="a-type-that-a-person-set-is-not-kept"),
        pytest.param(ALL | {BETA_TYPE: "mine"}, NodeLabels(ALL), id="nor-on-the-deprecated-key"),
        pytest.param(
            ALL | dict.fromkeys(ZONES, "rack-7"),
            NodeLabels(ALL | dict.fromkeys(ZONES, "rack-7"), kept(ZONE, "rack-7", "fsn1-dc14")),
            id="a-zone-that-a-person-set-is-kept",
        ),
        pytest.param(
            ALL | {ZONE: "rack-7"},
            NodeLabels(ALL | dict.fromkeys(ZONES, "rack-7"), kept(ZONE, "rack-7", "fsn1-dc14")),
            id="its-deprecated-twin-follows",
        ),
        pytest.param(
            ALL | dict.fromkeys(REGIONS, "eu"),
            NodeLabels(ALL | dict.fromkeys(REGIONS, "eu"), kept(REGION, "eu", "fsn1")),
            id="a-region-that-a-person-set-is-kept",
        ),
        pytest.param(ALL | {BETA_ZONE: "rack-7"}, NodeLabels(ALL), id="the-stable-key-decides-for-its-twin"),
        pytest.param(
            TYPES | REGIONS | CLOUD | {BETA_ZONE: "rack-7"},
            NodeLabels(ALL | dict.fromkeys(ZONES, "rack-7"), kept(ZONE, "rack-7", "fsn1-dc14")),
            id="the-twin-decides-while-the-stable-key-is-missing",
        ),
        pytest.param(
            ALL | dict.fromkeys(ZONES, "rack-7") | dict.fromkeys(REGIONS, "eu"),
            NodeLabels(
                ALL | dict.fromkeys(ZONES, "rack-7") | dict.fromkeys(REGIONS, "eu"),
                kept(ZONE, "rack-7", "fsn1-dc14") + kept(REGION, "eu", "fsn1"),
            ),
            id="zone-and-region-are-told-apart",
        ),
        pytest.param(
            ALL | {PROVIDED_BY: "robot"},
            NodeLabels(ALL | {PROVIDED_BY: "robot"}, (KEPT_PROVIDER,)),
            id="provided-by-of-another-is-kept",
        ),
        pytest.param(ALL | {PROVIDED_BY: ""}, NodeLabels(ALL), id="provided-by-that-is-empty-is-filled"),
        pytest.param(
            ALL | {"team": "red", "kubernetes.io/os": "linux", "srv.example.com/team": "blue"},
            NodeLabels(ALL),
            id="labels-of-others-are-no-business-of-ours",
        ),
    ],
)
def test_settled_labels(current: Mapping[str, str], expected: NodeLabels) -> None:
    """The type follows the server; a zone or region stays and its keys stay in step; what is missing is filled in."""
    assert kept_labels(a_server(), current, DEFAULT) == expected


@pytest.mark.parametrize(
    ("server", "settings", "key", "expected"),
    [
        pytest.param(a_server(), DEFAULT, TYPE, LabelOrigin("cpx32", "the server's type"), id="type"),
        pytest.param(
            a_server(), DEFAULT, BETA_ZONE, LabelOrigin("fsn1-dc14", "the zone of the server's location"), id="zone"
        ),
        pytest.param(a_server(), DEFAULT, REGION, LabelOrigin("fsn1", "the server's location"), id="region"),
        pytest.param(
            a_server(),
            DEFAULT,
            PROVIDED_BY,
            LabelOrigin("cloud", "what every server of Hetzner Cloud gets"),
            id="provided-by",
        ),
        pytest.param(
            a_server(location=""), DEFAULT, REGION, LabelOrigin("", "the server's location is not known"), id="nothing"
        ),
        pytest.param(
            a_server(type="a b"),
            DEFAULT,
            BETA_TYPE,
            LabelOrigin("", "the server's type can be no label's value"),
            id="unusable",
        ),
        pytest.param(
            a_server(),
            NO_ZONES,
            ZONE,
            LabelOrigin("", "HCLOUD_INSTANCES_ZONE_LABEL_ENABLED is false"),
            id="zone-labels-disabled",
        ),
        pytest.param(
            a_server(labels={"a/b": "red"}),
            MIRROR,
            "srv.example.com/a_b",
            LabelOrigin("red", "the server's label a/b"),
            id="mirrored",
        ),
    ],
)
def test_label_origins(server: Server, settings: Settings, key: str, expected: LabelOrigin) -> None:
    """Each key that a server could decide is told with the server's value for it, and where that comes from."""
    origins = label_origins(server, settings)
    assert origins[key] == expected
    assert set(origins) == {*ALL, key}


def test_owned_labels() -> None:
    """The owned keys are exactly those that HCCM writes."""
    assert set(ALL) == OWNED_LABELS == set(SERVER_LABELS)


@pytest.mark.parametrize(
    ("key", "settings", "expected"),
    [
        pytest.param(ZONE, DEFAULT, True, id="HCCMs"),
        pytest.param(ZONE, NO_ZONES, True, id="HCCMs-though-nothing-is-written"),
        pytest.param("team", MIRROR, False, id="somebody-elses"),
        pytest.param("kubernetes.io/os", MIRROR, False, id="the-kubelets"),
        pytest.param("srv.example.com/team", MIRROR, True, id="below-the-prefix"),
        pytest.param("srv.example.com/team", DEFAULT, False, id="below-a-prefix-that-is-not-configured"),
        pytest.param("srv.example.com", MIRROR, False, id="the-prefix-without-a-slash"),
        pytest.param("srv.example.company/team", MIRROR, False, id="a-prefix-that-begins-alike"),
    ],
)
def test_is_owned_label(key: str, settings: Settings, expected: bool) -> None:
    """HCCM's keys are ours, and those below the prefix of mirrored labels; everything else is kept byte for byte."""
    assert is_owned_label(key, settings) is expected
    assert owned_labels({key: "x"}, settings) == ({key: "x"} if expected else {})
