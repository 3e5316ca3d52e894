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
    label_values,
    owned_labels,
)
from desired.nodes.node import notes_of
from tests.builders import SERVER_LABELS, a_robot_server, a_server, a_settled_node
from tests.support.rows import rows

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
    found = desired_labels(server, current, settings, joins=joins)
    return {key: (each.value, each.rule.name) for key, each in found.items()}


def both(keys: tuple[str, ...], value: str | None, rule: str) -> Expected:
    return dict.fromkeys(keys, (value, rule))


@pytest.mark.parametrize(("product", "expected"), [
    ("AX41-NVMe", "AX41-NVMe"),
    ("Server Auction", "Server-Auction"),
    ("Robot Server™ 1", "Robot-Server-1"),
    ("  EX  44 ", "EX--44"),
    ("(SB) 35.", "SB-35"),
    ("x" * 70, "x" * 63),
    ("x" * 62 + " y", "x" * 62),
    ("™", ""),
    ("", ""),
])  # fmt: skip
def test_type_of_product(product: str, expected: str) -> None:
    """As HCCM writes it, and always a label's value."""
    labels = label_values(desired_labels(a_robot_server(type=product), {}, DEFAULT, joins=True))
    assert [labels.get(key, "") for key in TYPES] == [expected, expected]


@pytest.mark.parametrize(("location", "expected"), [
    ("nbg1", "nbg1-dc3"),
    ("hel1", "hel1-dc2"),
    ("fsn1", "fsn1-dc14"),
    ("ash", "ash-dc1"),
    ("hil", "hil-dc1"),
    ("sin", "sin-dc1"),
    ("mars", "mars"),
    ("FSN1", "FSN1"),
    ("", ""),
])  # fmt: skip
def test_zone(location: str, expected: str) -> None:
    """The old locations keep the zone of their datacenter, any other is its own zone."""
    labels = label_values(desired_labels(a_server(location=location), {}, DEFAULT, joins=True))
    assert [labels.get(key, "") for key in ZONES] == [expected, expected]


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
NO_LABELS, NO_NET = a_server(missing=frozenset({"labels"})), a_server(missing=frozenset({"private_net"}))
A, OFF = a_server(), both(ZONES, None, "zone-off")


@rows("joins", {"joins": True, "joined": False})
@rows("server current settings expected", {
    "nothing-there": (A, {}, DEFAULT, {}),
    "as-they-were-written": (A, SERVER_LABELS, DEFAULT, {}),
    "an-empty-value-is-none": (A, SERVER_LABELS | dict.fromkeys(ZONES, ""), DEFAULT, {}),
    "resized-server": (A, SERVER_LABELS | dict.fromkeys(TYPES, "cpx22"), DEFAULT, {}),
    "the-stable-key-decides": (A, SERVER_LABELS | {BETA_ZONE: "r"}, DEFAULT, {}),
    "labels-of-others": (A, {"team": "red", "kubernetes.io/os": "linux"}, DEFAULT, {}),
    "provided-by-is-kept": (A, {PROVIDED_BY: "robot"}, DEFAULT, {PROVIDED_BY: ("robot", "label-kept")}),
    "new-location-is-its-own-zone": (a_server(location="mars"), {}, DEFAULT,
        both(ZONES, "mars", "zone-of-location") | both(REGIONS, "mars", "region-of-server")),
    "zone-labels-off": (A, {}, NO_ZONES, OFF),
    "off-removes-none-and-adds-no-twin": (A, {ZONE: "mine"}, NO_ZONES, OFF | {ZONE: ("mine", "zone-off")}),
    "off-brings-twins-in-step": (A, {ZONE: "mine", BETA_ZONE: "other"}, NO_ZONES,
        {ZONE: ("mine", "zone-off"), BETA_ZONE: ("mine", "label-in-step")}),
    "off-gives-the-deprecated-key-its-twin": (A, {BETA_ZONE: "mine"}, NO_ZONES,
        {ZONE: ("mine", "label-in-step"), BETA_ZONE: ("mine", "zone-off")}),
    "no-location-adds-nothing": (NOWHERE, {}, DEFAULT, both((*ZONES, *REGIONS), None, "label-unknown")),
    "no-location-brings-twins-in-step": (NOWHERE, {REGION: "eu", BETA_REGION: "us", ZONE: "a"}, DEFAULT,
        both(ZONES, None, "label-unknown") | {REGION: ("eu", "label-unknown"), BETA_REGION: ("eu", "label-in-step"),
        ZONE: ("a", "label-unknown")}),
    "type-too-long-for-a-label": (LONG, {TYPE: "old"}, DEFAULT,
        {TYPE: ("old", "label-unusable"), BETA_TYPE: (None, "label-unusable")}),
    "type-too-long-brings-twins-in-step": (LONG, {TYPE: "old", BETA_TYPE: "older"}, DEFAULT,
        {TYPE: ("old", "label-unusable"), BETA_TYPE: ("old", "label-in-step")}),
    "malformed-location": (MOON, {}, DEFAULT, both((*ZONES, *REGIONS), None, "label-unusable")),
    "malformed-location-without-zone-labels": (MOON, SERVER_LABELS, NO_ZONES,
        both(ZONES, "fsn1-dc14", "zone-off") | both(REGIONS, "fsn1", "label-unusable")),
    "mirrored": (a_server(labels={"team": "red", "empty": ""}), {OURS: "blue"}, MIRROR,
        {OURS: ("red", "label-mirrored"), "srv.example.com/empty": ("", "label-mirrored")}),
    "lost-whatever-else-did-not-arrive": (NO_NET, {OURS: "red"}, MIRROR, {OURS: (None, "mirror-gone")}),
    "labels-did-not-arrive": (NO_LABELS, {OURS: "red"}, MIRROR, {OURS: ("red", "mirror-unknown")}),
    "a-slash-becomes-an-underscore": (a_server(labels={"example.com/team": "red"}), {}, MIRROR,
        {"srv.example.com/example.com_team": ("red", "label-mirrored")}),
    "two-that-become-the-same": (a_server(labels={"b/c": "1", "b_c": "2"}), {"srv.example.com/b_c": "0"}, MIRROR,
        {"srv.example.com/b_c": (None, "mirror-ambiguous")}),
    "key-or-value-that-no-label-may-have": (a_server(labels={f"{'p' * 60}/name": "1", "z": "a b"}), {}, MIRROR,
        both((f"srv.example.com/{'p' * 60}_name", "srv.example.com/z"), None, "mirror-unusable")),
})  # fmt: skip
def test_labels(
    server: Server, current: Mapping[str, str], settings: Settings, expected: Expected, *, joins: bool
) -> None:
    """Whether it joins or has joined: what is missing comes from the server; what it cannot say stays as it is."""
    assert decided(server, current, settings, joins=joins) == ALL | expected


@rows("server current expected", {
    "zone": ({}, dict.fromkeys(ZONES, "r7"), both(ZONES, "r7", "label-kept")),
    "its-twin-follows": ({}, {ZONE: "r7", BETA_ZONE: "b"}, both(ZONES, "r7", "label-kept")),
    "the-twin-decides-alone": ({}, {BETA_ZONE: "r7"}, both(ZONES, "r7", "label-kept")),
    "region": ({}, dict.fromkeys(REGIONS, "eu"), both(REGIONS, "eu", "label-kept")),
    "both": ({}, dict.fromkeys(ZONES, "r7") | dict.fromkeys(REGIONS, "eu"),
        both(ZONES, "r7", "label-kept") | both(REGIONS, "eu", "label-kept")),
    "another-location-than-the-labels-say": ({"location": "hel1"}, SERVER_LABELS,
        both(ZONES, "fsn1-dc14", "label-kept") | both(REGIONS, "fsn1", "label-kept")),
})  # fmt: skip
def test_a_zone_or_region_that_a_person_set(
    server: Mapping[str, Any], current: Mapping[str, str], expected: Expected
) -> None:
    """It is overwritten when the Node joins, and stays later, with both keys in step."""
    machine = a_server(**server)
    assert decided(machine, current, DEFAULT, joins=False) == ALL | expected
    assert decided(machine, current, DEFAULT, joins=True) == decided(machine, {}, DEFAULT, joins=True)


@rows("server current settings expected", {
    "nothing-to-say": (a_server(), SERVER_LABELS, DEFAULT, []),
    "kept": (a_server(), SERVER_LABELS | {ZONE: "r7", PROVIDED_BY: "robot"}, DEFAULT, [ZONE, PROVIDED_BY]),
    "unusable": (MOON, {BETA_ZONE: "r7"}, DEFAULT, [ZONE, REGION]),
    "not-mirrored": (a_server(labels={"b/c": "1", "b_c": "2"}), {}, MIRROR, ["srv.example.com/b_c"]),
})  # fmt: skip
def test_notes_on_labels(server: Server, current: Mapping[str, str], settings: Settings, expected: list[str]) -> None:
    """Each value that stays although the server has another, and each that cannot be written, is told once."""
    notes = notes_of(a_settled_node(), desired_labels(server, current, settings, joins=False).values())
    assert [next(word for word in note.text.split() if "/" in word) for note in notes] == expected


def test_owned_labels() -> None:
    """The owned keys are exactly those that HCCM writes."""
    assert set(ALL) == OWNED_LABELS == set(SERVER_LABELS)
    assert label_values(desired_labels(a_server(), {}, DEFAULT, joins=True)) == SERVER_LABELS


@rows("key settings expected", {
    "HCCMs": (ZONE, DEFAULT, True),
    "somebody-elses": ("team", MIRROR, False),
    "below-the-prefix": (OURS, MIRROR, True),
    "below-a-prefix-that-is-not-configured": (OURS, DEFAULT, False),
    "a-prefix-that-begins-alike": ("srv.example.company/team", MIRROR, False),
})  # fmt: skip
def test_is_owned_label(key: str, settings: Settings, expected: bool) -> None:
    """HCCM's keys are ours, and those below the prefix of mirrored labels; everything else is kept byte for byte."""
    assert is_owned_label(key, settings) is expected
    assert owned_labels({key: "x"}, settings) == ({key: "x"} if expected else {})
