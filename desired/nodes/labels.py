"""Labels that a Node gets from its server, when it is initialized and ever after."""

import re
from collections.abc import Mapping
from itertools import chain

from desired.model.settings import Settings
from desired.model.snapshot import Server
from desired.names import LABEL_INSTANCE_TYPE, LABEL_PROVIDED_BY, LABEL_REGION, LABEL_ZONE
from desired.rules import nodes as rules
from desired.rules.rule import Decided, Rule
from desired.section import Unmanaged, grouped
from desired.syntax.provider_id import Provider
from desired.syntax.selector import is_label_key, is_label_value

_ZONES = {
    "nbg1": "nbg1-dc3",
    "hel1": "hel1-dc2",
    "fsn1": "fsn1-dc14",
    "ash": "ash-dc1",
    "hil": "hil-dc1",
    "sin": "sin-dc1",
}
"""Location → zone. Hetzner took the datacenter out of its API on 2026-07-01; volumes and affinity rules out there still
name the old values, so they are kept for the old locations. A newer location is its own zone."""

_PAIRS = (LABEL_INSTANCE_TYPE, LABEL_ZONE, LABEL_REGION)
"""Deprecated and stable key of each label with two."""
OWNED_LABELS = frozenset({*chain.from_iterable(_PAIRS), LABEL_PROVIDED_BY})
"""The label keys that HCCM writes; every other label is another client's and kept byte for byte."""
_NO_LABEL = re.compile(r"[^A-Za-z0-9_.-]")
_LONGEST_LABEL = 63

Labels = Mapping[str, Decided[str | None]]
"""Owned key → its value on the Node; None if it should not be there. Other keys are not ours."""
_PROVIDED_BY: Mapping[Provider, Decided[str | None]] = {
    Provider.CLOUD: Decided("cloud", rules.PROVIDED_BY_CLOUD),
    Provider.ROBOT: Decided("robot", rules.PROVIDED_BY_ROBOT),
}


def is_owned_label(key: str, settings: Settings) -> bool:
    """Whether a label is ours to write: HCCM's keys, and everything below the prefix of mirrored labels."""
    return key in OWNED_LABELS or (settings.mirror_labels is not None and key.startswith(f"{settings.mirror_labels}/"))


def owned_labels(labels: Mapping[str, str], settings: Settings) -> Mapping[str, str]:
    """Those of ``labels`` that are ours."""
    return {key: value for key, value in labels.items() if is_owned_label(key, settings)}


def label_values(labels: Labels) -> Mapping[str, str]:
    """The owned labels that should be there."""
    return {key: decided.value for key, decided in labels.items() if decided.value is not None}


def untouched_labels(current: Mapping[str, str], why: Decided[Unmanaged], settings: Settings) -> Labels:
    """The owned labels among ``current``, each of which stays as it is."""
    return {key: why.deciding(value) for key, value in owned_labels(current, settings).items()}


def desired_labels(server: Server, current: Mapping[str, str], settings: Settings, *, joins: bool) -> Labels:
    """The owned labels of a Node on ``server`` that has ``current`` labels.

    If it ``joins``, instance type, zone and region are overwritten. Later the instance type alone follows the server,
    and a zone or region that another client set stays. A ``provided-by`` always stays.
    """
    labels: dict[str, Decided[str | None]] = {}
    for pair, offered in zip(_PAIRS, _offered(server, settings), strict=True):
        labels |= _paired(pair, offered, current, follows=joins or pair is LABEL_INSTANCE_TYPE)
    labels[LABEL_PROVIDED_BY] = expected = _PROVIDED_BY[server.provider]
    found = current.get(LABEL_PROVIDED_BY)
    if found and found != expected.value:
        facts = {"label": LABEL_PROVIDED_BY, "value": found, "wanted": expected.value or ""}
        labels[LABEL_PROVIDED_BY] = Decided(found, rules.LABEL_KEPT, facts)
    return labels if settings.mirror_labels is None else {**labels, **_mirrored(server, current, settings)}


def _offered(server: Server, settings: Settings) -> tuple[Decided[str], Decided[str], Decided[str]]:
    """The server's instance type, zone and region, each "" if it is unknown, switched off or no label's value.

    Of a Robot server the zone is written whatever HCLOUD_INSTANCES_ZONE_LABEL_ENABLED says, and the product as HCCM
    writes it: dashes for blanks, without characters of no label. HCCM leaves ends and a length that the API server
    refuses; here they fit as well.
    """
    of_type, of_zone, of_region = (stable for _, stable in _PAIRS)
    if server.provider is Provider.ROBOT:
        product = _NO_LABEL.sub("", server.type.replace(" ", "-")).strip("-._")[:_LONGEST_LABEL].rstrip("-._")
        return (
            _usable(product, rules.TYPE_OF_PRODUCT, "product", of_type),
            _usable(server.zone, rules.ZONE_LABEL_OF_DATA_CENTER, "data center", of_zone),
            _usable(server.location, rules.REGION_OF_DATA_CENTER, "location", of_region),
        )
    zone = _ZONES.get(server.location, server.location)
    return (
        _usable(server.type, rules.TYPE_OF_SERVER, "type", of_type),
        _usable(zone, rules.ZONE_LABEL, "location", of_zone) if settings.zone_labels else Decided("", rules.ZONE_OFF),
        _usable(server.location, rules.REGION_OF_SERVER, "location", of_region),
    )


def _usable(value: str, row: Rule, field: str, label: str) -> Decided[str]:
    if not value:
        return Decided("", rules.LABEL_UNKNOWN, {"field": field})
    if not is_label_value(value):
        return Decided("", rules.LABEL_UNUSABLE, {"label": label, "field": field, "wanted": value})
    return Decided(value, row)


def _paired(keys: tuple[str, str], offered: Decided[str], current: Mapping[str, str], *, follows: bool) -> Labels:
    """Both keys of a label: the deprecated one gets the value of the stable one. If only the deprecated key is there,
    the stable one gets its value, as HCCM treats that as authoritative. If the server has no value, a twin is kept in
    step and nothing is added."""
    deprecated, stable = keys
    value = current.get(stable) or current.get(deprecated)
    if offered.value and (follows or value in (None, "", offered.value)):
        return dict.fromkeys(keys, offered)
    if offered.value:
        facts = {"label": stable, "value": value or "", "wanted": offered.value}
        return dict.fromkeys(keys, Decided(value, rules.LABEL_KEPT, facts))
    in_step = value if deprecated in current else None
    kept: dict[str, Decided[str | None]] = {}
    for key, twin in ((deprecated, stable), (stable, deprecated)):
        there = current.get(key)
        copied = Decided(in_step, rules.LABEL_IN_STEP, {"label": twin})
        kept[key] = copied if in_step and in_step != there else offered.deciding(there)
    return kept


def _mirrored(server: Server, current: Mapping[str, str], settings: Settings) -> Labels:
    """Every label below the prefix: the server's, and those of ``current`` that stay or go away. A slash in a key
    becomes an underscore, as a Node's label has only one; of two keys that become the same neither is written."""
    there = {key: value for key, value in current.items() if key not in OWNED_LABELS and is_owned_label(key, settings)}
    if "labels" in server.missing:
        return {key: Decided(value, rules.MIRROR_UNKNOWN) for key, value in there.items()}
    names = grouped((f"{settings.mirror_labels}/{name.replace('/', '_')}", name) for name in server.labels)
    gone = {key: Decided(None, rules.MIRROR_GONE, {"label": key}) for key in there}
    return gone | {key: _mirror(key, sorted(found), server.labels) for key, found in names.items()}


def _mirror(key: str, names: list[str], labels: Mapping[str, str]) -> Decided[str | None]:
    if len(names) > 1:
        return Decided(None, rules.MIRROR_AMBIGUOUS, {"label": key, "names": ", ".join(names)})
    (name,) = names
    if not is_label_key(key) or not is_label_value(labels[name]):
        return Decided(None, rules.MIRROR_UNUSABLE, {"name": name})
    return Decided(labels[name], rules.LABEL_MIRRORED, {"name": name})
