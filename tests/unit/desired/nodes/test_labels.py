"""Labels that a Node gets from its server: each value with the rule that decides on it."""

from collections.abc import Mapping
from typing import Any

import pytest

from desired.model.settings import Settings
from desired.model.snapshot import Server
from desired.nodes.labels import (
    OWNED_LABELS,
    desired_labels,
    is_owned_label,
    owned_labels,
    type_of_product,
    values_of,
    zone,
)
from desired.nodes.node import notes_on
from desired.plan.notes import Note, NoteKind
from desired.syntax.provider_id import Provider
from tests.builders import SERVER_LABELS, a_robot_server, a_server, a_settled_node
from tests.support.keys import key_of

DEFAULT, NO_ZONES, MIRROR = Settings(), Settings(zone_labels=False), Settings(mirror_labels="srv.example.com")

BETA_TYPE, TYPE = TYPES = ("beta.kubernetes.io/instance-type", "node.kubernetes.io/instance-type")
BETA_ZONE, ZONE = ZONES = ("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone")
BETA_REGION, REGION = REGIONS = ("failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region")
PROVIDED_BY = "instance.hetzner.cloud/provided-by"
OURS = "srv.example.com/team"
Expected = dict[str, tuple[str | None, str]]
ALL: Expected = {
    **dict.fromkeys(TYPES, ("cpx32", "type-of-server")),
    **dict.fromkeys(ZONES, ("fsn1-dc14", "zone-of-location")),
    **dict.fromkeys(REGIONS, ("fsn1", "region-of-server")),
    PROVIDED_BY: ("cloud", "provided-by-cloud"),
}
"""Key → value and rule, of a Node on server 1 that nothing is odd about."""


def decided(server: Server, current: Mapping[str, str], settings: Settings, *, joins: bool) -> Expected:
    """Key → value and name of the rule."""
    found = desired_labels(server, current, settings, joins=joins)
    return {key: (each.value, each.rule.name) for key, each in found.items()}


def both(keys: tuple[str, str], value: str | None, rule: str) -> Expected:
    """The same for both keys of a label."""
    return dict.fromkeys(keys, (value, rule))


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


@pytest.mark.parametrize(
    ("location", "expected"),
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
def test_zone(location: str, expected: str) -> None:
    """The old locations keep the zone of their datacenter, any other is its own zone."""
    assert zone(Provider.CLOUD, location, "", zone_labels=True).value == expected


@pytest.mark.parametrize("settings", [DEFAULT, NO_ZONES])
def test_labels_of_a_robot_server(settings: Settings) -> None:
    """Its product, its data center as the zone, whatever cloud servers get, and who provides it."""
    server = a_robot_server(type="Server Auction", zone="hel1-dc2", location="hel1")

    assert decided(server, {}, settings, joins=True) == {
        **both(TYPES, "Server-Auction", "type-of-product"),
        **both(ZONES, "hel1-dc2", "zone-of-data-center"),
        **both(REGIONS, "hel1", "region-of-data-center"),
        PROVIDED_BY: ("robot", "provided-by-robot"),
    }


NOWHERE, MOON, LONG = a_server(location=""), a_server(location="moon base"), a_server(type="x" * 64)
NO_LABELS = a_server(missing=frozenset({"labels"}))
UNMANAGED_ZONES = both(ZONES, None, "zone-off")


@pytest.mark.parametrize("joins", [True, False], ids=["joins", "joined"])
@pytest.mark.parametrize(
    ("server", "current", "settings", "expected"),
    [
        pytest.param(a_server(), {}, DEFAULT, {}, id="nothing-there"),
        pytest.param(a_server(), SERVER_LABELS, DEFAULT, {}, id="as-they-were-written"),
        *(
            pytest.param(
                a_server(), {key: value for key, value in SERVER_LABELS.items() if key != missing}, DEFAULT, {}, id=name
            )
            for name, missing in {key.replace("/", "-"): key for key in SERVER_LABELS}.items()
        ),
        pytest.param(a_server(), SERVER_LABELS | dict.fromkeys(ZONES, ""), DEFAULT, {}, id="an-empty-value-is-none"),
        pytest.param(a_server(), SERVER_LABELS | dict.fromkeys(TYPES, "cpx22"), DEFAULT, {}, id="resized-server"),
        pytest.param(a_server(), SERVER_LABELS | {TYPE: "mine"}, DEFAULT, {}, id="a-type-that-a-person-set"),
        pytest.param(a_server(), SERVER_LABELS | {BETA_TYPE: "mine"}, DEFAULT, {}, id="on-the-deprecated-key"),
        pytest.param(a_server(), SERVER_LABELS | {BETA_ZONE: "r"}, DEFAULT, {}, id="the-stable-key-decides"),
        pytest.param(a_server(), {"team": "red", "kubernetes.io/os": "linux"}, DEFAULT, {}, id="labels-of-others"),
        pytest.param(
            a_server(),
            {PROVIDED_BY: "robot"},
            DEFAULT,
            {PROVIDED_BY: ("robot", "label-kept")},
            id="provided-by-is-kept",
        ),
        pytest.param(a_server(), {PROVIDED_BY: ""}, DEFAULT, {}, id="provided-by-that-is-empty-is-filled"),
        pytest.param(
            a_server(location="mars"),
            {},
            DEFAULT,
            both(ZONES, "mars", "zone-of-location") | both(REGIONS, "mars", "region-of-server"),
            id="new-location-is-its-own-zone",
        ),
        pytest.param(a_server(), {}, NO_ZONES, UNMANAGED_ZONES, id="zone-labels-off"),
        pytest.param(
            a_server(),
            {ZONE: "mine"},
            NO_ZONES,
            UNMANAGED_ZONES | {ZONE: ("mine", "zone-off")},
            id="zone-labels-off-removes-none-and-adds-no-twin",
        ),
        pytest.param(
            a_server(),
            {ZONE: "mine", BETA_ZONE: "other"},
            NO_ZONES,
            {ZONE: ("mine", "zone-off"), BETA_ZONE: ("mine", "label-in-step")},
            id="zone-labels-off-brings-twins-in-step",
        ),
        pytest.param(
            a_server(),
            {BETA_ZONE: "mine"},
            NO_ZONES,
            {ZONE: ("mine", "label-in-step"), BETA_ZONE: ("mine", "zone-off")},
            id="zone-labels-off-gives-the-deprecated-key-its-twin",
        ),
        pytest.param(
            a_server(),
            dict.fromkeys(ZONES, ""),
            NO_ZONES,
            both(ZONES, "", "zone-off"),
            id="zone-labels-off-empty-twins",
        ),
        pytest.param(
            NOWHERE,
            {},
            DEFAULT,
            both(ZONES, None, "label-unknown") | both(REGIONS, None, "label-unknown"),
            id="no-location-adds-nothing",
        ),
        pytest.param(
            NOWHERE,
            {REGION: "eu", BETA_REGION: "us", ZONE: "a"},
            DEFAULT,
            {
                REGION: ("eu", "label-unknown"),
                BETA_REGION: ("eu", "label-in-step"),
                ZONE: ("a", "label-unknown"),
                BETA_ZONE: (None, "label-unknown"),
            },
            id="no-location-brings-twins-in-step",
        ),
        pytest.param(
            LONG,
            {TYPE: "old"},
            DEFAULT,
            {TYPE: ("old", "label-unusable"), BETA_TYPE: (None, "label-unusable")},
            id="type-too-long-for-a-label",
        ),
        pytest.param(
            LONG,
            {TYPE: "old", BETA_TYPE: "older"},
            DEFAULT,
            {TYPE: ("old", "label-unusable"), BETA_TYPE: ("old", "label-in-step")},
            id="type-too-long-brings-twins-in-step",
        ),
        pytest.param(
            a_server(type="x" * 63), {}, DEFAULT, both(TYPES, "x" * 63, "type-of-server"), id="the-longest-type"
        ),
        pytest.param(
            MOON,
            {},
            DEFAULT,
            both(ZONES, None, "label-unusable") | both(REGIONS, None, "label-unusable"),
            id="malformed-location",
        ),
        pytest.param(
            MOON,
            SERVER_LABELS,
            NO_ZONES,
            both(ZONES, "fsn1-dc14", "zone-off") | both(REGIONS, "fsn1", "label-unusable"),
            id="malformed-location-without-zone-labels",
        ),
        pytest.param(a_server(labels={"team": "red"}), {OURS: "blue"}, DEFAULT, {}, id="mirroring-off"),
        pytest.param(a_server(labels={}), {}, MIRROR, {}, id="nothing-to-mirror"),
        pytest.param(
            a_server(labels={"team": "red", "empty": ""}),
            {OURS: "blue"},
            MIRROR,
            {OURS: ("red", "label-mirrored"), "srv.example.com/empty": ("", "label-mirrored")},
            id="mirrored",
        ),
        pytest.param(
            a_server(labels={}), {OURS: "red"}, MIRROR, {OURS: (None, "mirror-gone")}, id="the-server-lost-it"
        ),
        pytest.param(
            a_server(missing=frozenset({"private_net"})),
            {OURS: "red"},
            MIRROR,
            {OURS: (None, "mirror-gone")},
            id="the-server-lost-it-whatever-else-did-not-arrive",
        ),
        pytest.param(NO_LABELS, {OURS: "red"}, MIRROR, {OURS: ("red", "mirror-unknown")}, id="labels-did-not-arrive"),
        pytest.param(NO_LABELS, {OURS: "red"}, DEFAULT, {}, id="labels-did-not-arrive-and-mirroring-off"),
        pytest.param(
            a_server(labels={"example.com/team": "red"}),
            {},
            MIRROR,
            {"srv.example.com/example.com_team": ("red", "label-mirrored")},
            id="a-slash-becomes-an-underscore",
        ),
        pytest.param(
            a_server(labels={"b/c": "1", "b_c": "2"}),
            {"srv.example.com/b_c": "0"},
            MIRROR,
            {"srv.example.com/b_c": (None, "mirror-ambiguous")},
            id="two-that-become-the-same",
        ),
        pytest.param(
            a_server(labels={f"{'p' * 60}/name": "1", "z": "a b", "a": "x" * 64}),
            {},
            MIRROR,
            dict.fromkeys(
                (f"srv.example.com/{'p' * 60}_name", "srv.example.com/z", "srv.example.com/a"),
                (None, "mirror-unusable"),
            ),
            id="key-or-value-that-no-label-may-have",
        ),
    ],
)
def test_labels(
    server: Server, current: Mapping[str, str], settings: Settings, expected: Expected, *, joins: bool
) -> None:
    """Whether it joins or has joined: what is missing comes from the server; what it cannot say stays as it is."""
    assert decided(server, current, settings, joins=joins) == ALL | expected


@pytest.mark.parametrize(
    ("server", "current", "expected"),
    [
        pytest.param({}, dict.fromkeys(ZONES, "r7"), both(ZONES, "r7", "label-kept"), id="zone"),
        pytest.param({}, {ZONE: "r7", BETA_ZONE: "b"}, both(ZONES, "r7", "label-kept"), id="its-twin-follows"),
        pytest.param({}, {BETA_ZONE: "r7"}, both(ZONES, "r7", "label-kept"), id="the-twin-decides-alone"),
        pytest.param({}, dict.fromkeys(REGIONS, "eu"), both(REGIONS, "eu", "label-kept"), id="region"),
        pytest.param(
            {},
            dict.fromkeys(ZONES, "r7") | dict.fromkeys(REGIONS, "eu"),
            both(ZONES, "r7", "label-kept") | both(REGIONS, "eu", "label-kept"),
            id="both",
        ),
        pytest.param(
            {"location": "hel1"},
            SERVER_LABELS,
            both(ZONES, "fsn1-dc14", "label-kept") | both(REGIONS, "fsn1", "label-kept"),
            id="another-location-than-the-labels-say",
        ),
    ],
)
def test_a_zone_or_region_that_a_person_set(
    server: Mapping[str, Any], current: Mapping[str, str], expected: Expected
) -> None:
    """It is overwritten when the Node joins, and stays later, with both keys in step."""
    machine = a_server(**server)
    assert decided(machine, current, DEFAULT, joins=False) == ALL | expected
    assert decided(machine, current, DEFAULT, joins=True) == decided(machine, {}, DEFAULT, joins=True)


@pytest.mark.parametrize(
    ("server", "current", "settings", "expected"),
    [
        pytest.param(a_server(), SERVER_LABELS, DEFAULT, [], id="nothing-to-say"),
        pytest.param(
            a_server(),
            SERVER_LABELS | {ZONE: "r7", PROVIDED_BY: "robot"},
            DEFAULT,
            [
                (NoteKind.KEPT, f"label {ZONE} keeps 'r7', which differs from the server's 'fsn1-dc14'"),
                (NoteKind.KEPT, f"label {PROVIDED_BY} keeps 'robot', which differs from the server's 'cloud'"),
            ],
            id="kept",
        ),
        pytest.param(
            MOON,
            {BETA_ZONE: "r7"},
            DEFAULT,
            [
                (
                    NoteKind.UNUSABLE_LABEL,
                    f"label {key} stays as it is: the server's location 'moon base' is not a valid label value",
                )
                for key in (ZONE, REGION)
            ],
            id="unusable",
        ),
        pytest.param(
            a_server(labels={"b/c": "1", "b_c": "2", "z": "a b"}),
            {},
            MIRROR,
            [
                (
                    NoteKind.UNUSABLE_LABEL,
                    "label srv.example.com/b_c is not written: the server's labels b/c, b_c would all become it",
                ),
                (
                    NoteKind.UNUSABLE_LABEL,
                    "the server's label z is not mirrored: its key or value is not valid on a Node",
                ),
            ],
            id="not-mirrored",
        ),
    ],
)
def test_notes_on_labels(
    server: Server, current: Mapping[str, str], settings: Settings, expected: list[tuple[NoteKind, str]]
) -> None:
    """Each value that stays although the server has another, and each that cannot be written, is told once."""
    labels = desired_labels(server, current, settings, joins=False)
    assert list(notes_on(a_settled_node(), labels.values())) == [Note(key_of("node/web-1"), *each) for each in expected]


def test_owned_labels() -> None:
    """The owned keys are exactly those that HCCM writes."""
    assert set(ALL) == OWNED_LABELS == set(SERVER_LABELS)
    assert values_of(desired_labels(a_server(), {}, DEFAULT, joins=True)) == SERVER_LABELS


@pytest.mark.parametrize(
    ("key", "settings", "expected"),
    [
        pytest.param(ZONE, DEFAULT, True, id="HCCMs"),
        pytest.param(ZONE, NO_ZONES, True, id="HCCMs-though-nothing-is-written"),
        pytest.param("team", MIRROR, False, id="somebody-elses"),
        pytest.param("kubernetes.io/os", MIRROR, False, id="the-kubelets"),
        pytest.param(OURS, MIRROR, True, id="below-the-prefix"),
        pytest.param(OURS, DEFAULT, False, id="below-a-prefix-that-is-not-configured"),
        pytest.param("srv.example.com", MIRROR, False, id="the-prefix-without-a-slash"),
        pytest.param("srv.example.company/team", MIRROR, False, id="a-prefix-that-begins-alike"),
    ],
)
def test_is_owned_label(key: str, settings: Settings, expected: bool) -> None:
    """HCCM's keys are ours, and those below the prefix of mirrored labels; everything else is kept byte for byte."""
    assert is_owned_label(key, settings) is expected
    assert owned_labels({key: "x"}, settings) == ({key: "x"} if expected else {})
