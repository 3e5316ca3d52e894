"""Labels that a Node gets from its server, when it is initialized and ever after."""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import chain

from desired.model.settings import Settings
from desired.model.snapshot import Server
from desired.names import LABEL_INSTANCE_TYPE, LABEL_PROVIDED_BY, LABEL_REGION, LABEL_ZONE
from desired.rules import nodes as rules
from desired.rules.rule import Decided, Rule
from desired.section import Unmanaged
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
_PAIRED = tuple(chain.from_iterable(_PAIRS))
OWNED_LABELS = frozenset({*_PAIRED, LABEL_PROVIDED_BY})
"""The label keys that HCCM writes; every other label is another client's and kept byte for byte."""
_NO_LABEL = re.compile(r"[^A-Za-z0-9_.-]")
_LONGEST_LABEL = 63

Labels = Mapping[str, Decided[str | None]]
"""Owned key → its value on the Node; None where it should not be there. Keys that are not in it are not ours."""
_PROVIDED_BY: Mapping[Provider, Decided[str | None]] = {
    Provider.CLOUD: Decided("cloud", rules.PROVIDED_BY_CLOUD),
    Provider.ROBOT: Decided("robot", rules.PROVIDED_BY_ROBOT),
}


def type_of_product(product: str) -> str:
    """The instance type of a Robot server: its product as HCCM writes it, with dashes for blanks and without what no
    label may have. HCCM leaves ends and a length that the API server refuses; here they fit as well."""
    return _NO_LABEL.sub("", product.replace(" ", "-")).strip("-._")[:_LONGEST_LABEL].rstrip("-._")


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
    return {key: Decided(value, why.rule, why.facts) for key, value in owned_labels(current, settings).items()}


def desired_labels(server: Server, current: Mapping[str, str], settings: Settings, *, joins: bool) -> Labels:
    """The owned labels of a Node on ``server`` that has ``current`` labels.

    Where it ``joins``, instance type, zone and region are overwritten. Later the instance type alone follows the
    server, and a zone or region that another client set stays. A ``provided-by`` always stays.
    """
    owned = tuple(map(current.get, _PAIRED))
    zone_labels = settings.zone_labels
    labels = _paired(server.provider, server.type, server.zone, server.location, zone_labels, joins, owned)
    expected, found = _PROVIDED_BY[server.provider], current.get(LABEL_PROVIDED_BY)
    provided_by = expected
    if found and found != expected.value:
        facts = {"label": LABEL_PROVIDED_BY, "value": found, "wanted": expected.value or ""}
        provided_by = Decided(found, rules.LABEL_KEPT, facts)
    labels = {**labels, LABEL_PROVIDED_BY: provided_by}
    return labels if settings.mirror_labels is None else {**labels, **_mirrored(server, current, settings)}


def zone(provider: Provider, location: str, data_center: str, *, zone_labels: bool) -> Decided[str]:
    """The server's zone, "" where none is written. Of a Robot server it is written whatever
    HCLOUD_INSTANCES_ZONE_LABEL_ENABLED says, as by HCCM."""
    if provider is Provider.ROBOT:
        return _usable(data_center, rules.ZONE_LABEL_OF_DATA_CENTER, "data center", LABEL_ZONE)
    if not zone_labels:
        return Decided("", rules.ZONE_OFF)
    return _usable(_ZONES.get(location, location), rules.ZONE_LABEL, "location", LABEL_ZONE)


def region(provider: Provider, location: str) -> Decided[str]:
    """The server's region, "" where it has none that a label may have."""
    row = rules.REGION_OF_DATA_CENTER if provider is Provider.ROBOT else rules.REGION_OF_SERVER
    return _usable(location, row, "location", LABEL_REGION)


def instance_type(provider: Provider, name: str) -> Decided[str]:
    """The server's type, "" where it has none that a label may have."""
    if provider is Provider.ROBOT:
        return _usable(type_of_product(name), rules.TYPE_OF_PRODUCT, "product", LABEL_INSTANCE_TYPE)
    return _usable(name, rules.TYPE_OF_SERVER, "type", LABEL_INSTANCE_TYPE)


def _usable(value: str, row: Rule, field: str, pair: tuple[str, str]) -> Decided[str]:
    if not value:
        return Decided("", rules.LABEL_UNKNOWN, {"field": field})
    if not is_label_value(value):
        return Decided("", rules.LABEL_UNUSABLE, {"label": pair[1], "field": field, "wanted": value})
    return Decided(value, row)


@lru_cache(maxsize=4096)  # thousands of Nodes have few types and locations
def _paired(
    provider: Provider,
    type_name: str,
    data_center: str,
    location: str,
    zone_labels: bool,
    joins: bool,
    current: tuple[str | None, ...],
) -> Labels:
    """The labels with two keys. ``current`` are the Node's, in the order of the keys."""
    there = dict(zip(_PAIRED, current, strict=True))
    return dict(
        chain(
            _pair(LABEL_INSTANCE_TYPE, instance_type(provider, type_name), there, follows=True),
            _pair(LABEL_ZONE, zone(provider, location, data_center, zone_labels=zone_labels), there, follows=joins),
            _pair(LABEL_REGION, region(provider, location), there, follows=joins),
        )
    )


def _pair(
    keys: tuple[str, str], offered: Decided[str], there: Mapping[str, str | None], *, follows: bool
) -> Iterator[tuple[str, Decided[str | None]]]:
    """Both keys of a label. The deprecated one gets the value of the stable one; where only the deprecated key is
    there, the stable one gets its value, as HCCM treats that as authoritative. Where the server has no value, a twin is
    kept in step and nothing is added."""
    deprecated, stable = keys
    current = there[stable] or there[deprecated]
    if not offered.value:
        in_step = current if there[deprecated] is not None else None
        for key, twin in ((deprecated, stable), (stable, deprecated)):
            value = in_step or there[key]
            changes = value != there[key]
            yield key, Decided(value, rules.LABEL_IN_STEP, {"label": twin}) if changes else _valued(offered, value)
    elif follows or current in (None, "", offered.value):
        yield from dict.fromkeys(keys, _valued(offered, offered.value)).items()
    else:
        facts = {"label": stable, "value": current or "", "wanted": offered.value}
        yield from dict.fromkeys(keys, Decided(current, rules.LABEL_KEPT, facts)).items()


def _valued(offered: Decided[str], value: str | None) -> Decided[str | None]:
    return Decided(value, offered.rule, offered.facts)


def _mirrored(server: Server, current: Mapping[str, str], settings: Settings) -> Labels:
    """Every label below the prefix: the server's, and those of ``current`` that stay or go away. A slash in a key
    becomes an underscore, as a Node's label has only one; of two keys that become the same neither is written."""
    there = {key: value for key, value in current.items() if key not in OWNED_LABELS and is_owned_label(key, settings)}
    if "labels" in server.missing:
        return {key: Decided(value, rules.MIRROR_UNKNOWN) for key, value in there.items()}
    names: dict[str, list[str]] = {}
    for name in server.labels:
        names.setdefault(f"{settings.mirror_labels}/{name.replace('/', '_')}", []).append(name)
    gone = {key: Decided(None, rules.MIRROR_GONE, {"label": key}) for key in there}
    return gone | {key: _mirror(key, sorted(found), server.labels) for key, found in names.items()}


def _mirror(key: str, names: list[str], labels: Mapping[str, str]) -> Decided[str | None]:
    if len(names) > 1:
        return Decided(None, rules.MIRROR_AMBIGUOUS, {"label": key, "names": ", ".join(names)})
    (name,) = names
    if not is_label_key(key) or not is_label_value(labels[name]):
        return Decided(None, rules.MIRROR_UNUSABLE, {"name": name})
    return Decided(labels[name], rules.LABEL_MIRRORED, {"name": name})
