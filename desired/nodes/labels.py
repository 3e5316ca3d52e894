"""Labels that a Node gets from its server, when it is initialized and ever after."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from desired.model.settings import Settings
from desired.model.snapshot import Server
from desired.names import LABEL_INSTANCE_TYPE, LABEL_PROVIDED_BY, LABEL_REGION, LABEL_ZONE
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

OWNED_LABELS = frozenset({*LABEL_INSTANCE_TYPE, *LABEL_ZONE, *LABEL_REGION, LABEL_PROVIDED_BY})
"""The label keys that HCCM writes; every other label is somebody else's and kept byte for byte."""
_PROVIDED_BY = {Provider.CLOUD: "cloud", Provider.ROBOT: "robot"}
_NO_LABEL = re.compile(r"[^A-Za-z0-9_.-]")
_LONGEST_LABEL = 63
_WHAT = {
    Provider.CLOUD: {
        LABEL_INSTANCE_TYPE: "the server's type",
        LABEL_ZONE: "the zone of the server's location",
        LABEL_REGION: "the server's location",
    },
    Provider.ROBOT: {
        LABEL_INSTANCE_TYPE: "the server's product",
        LABEL_ZONE: "the server's data center",
        LABEL_REGION: "the location of the server's data center",
    },
}


@dataclass(frozen=True, slots=True)
class NodeLabels:
    """The owned labels that a Node should have. An owned key that is not in ``labels`` should not be there."""

    labels: Mapping[str, str]
    kept: tuple[str, ...] = ()
    """One sentence for each value that somebody else set and that stays."""
    unusable: tuple[str, ...] = ()
    """One sentence for each value of the server's that no label may have."""


@dataclass(frozen=True, slots=True)
class LabelOrigin:
    """Origin of the value of an owned label."""

    value: str
    """The server's value for it; "" when there is nothing to write."""
    what: str
    """What that is, or why there is nothing, in words."""


def zone_of(location: str) -> str:
    """The zone label's value for a Hetzner location."""
    return _ZONES.get(location, location)


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


def initial_labels(server: Server, current: Mapping[str, str], settings: Settings) -> NodeLabels:
    """The owned labels of a Node on ``server`` that has ``current`` labels and is about to be initialized.

    Instance type, zone and region are overwritten, a ``provided-by`` that somebody set is kept. Where the server has no
    value the deprecated key is synchronized with the stable one, and nothing is added.
    """
    labels: dict[str, str] = {}
    for keys, value in _pairs(server, settings):
        chosen = _usable(value) or _in_step(*keys, current)
        labels |= dict.fromkeys(keys, chosen) if chosen else {}
    return _complete(labels, (), server, current, settings)


def kept_labels(server: Server, current: Mapping[str, str], settings: Settings) -> NodeLabels:
    """The owned labels of a Node on ``server`` that was initialized and has ``current`` labels now.

    The instance type follows the server. A zone or region that somebody set stays. The deprecated key
    gets the value of the stable one; where only the deprecated key is there, the stable one gets its value, as HCCM
    treats that as authoritative. What is missing on both comes from the server; where that has no value, nothing is
    added.
    """
    labels: dict[str, str] = {}
    kept: list[str] = []
    for (beta, stable), value in _pairs(server, settings):
        wanted = _usable(value)
        chosen = current.get(stable) or current.get(beta) or wanted
        if not wanted:
            chosen = _in_step(beta, stable, current)
        elif stable in LABEL_INSTANCE_TYPE:
            chosen = wanted
        if wanted not in ("", chosen):
            kept.append(f"label {stable} is {chosen!r} where the server has {wanted!r}; kept")
        labels |= dict.fromkeys((beta, stable), chosen) if chosen else {}
    return _complete(labels, tuple(kept), server, current, settings)


def _usable(value: str) -> str:
    """``value``, or "" when no label may have it."""
    return value if is_label_value(value) else ""


def _in_step(beta: str, stable: str, current: Mapping[str, str]) -> str:
    """The value of both keys where the server has none: the stable key's; "" when there is no twin to keep in step."""
    return current.get(stable) or current[beta] if beta in current else ""


def label_origins(server: Server, settings: Settings) -> Mapping[str, LabelOrigin]:
    """Owned key → where its value comes from, for each key that ``server`` could have a value for."""
    provided_by = _PROVIDED_BY[server.provider]
    whose = "what every server of Hetzner Cloud gets" if provided_by == "cloud" else "what every Robot server gets"
    origins = {LABEL_PROVIDED_BY: LabelOrigin(provided_by, whose)}
    for keys, value in _pairs(server, settings):
        origins |= dict.fromkeys(keys, _origin(value, _WHAT[server.provider][keys]))
    if not settings.zone_labels and server.provider is Provider.CLOUD:
        origins |= dict.fromkeys(LABEL_ZONE, LabelOrigin("", "HCLOUD_INSTANCES_ZONE_LABEL_ENABLED is false"))
    for mirror, (name, *_) in _mirror_names(server, settings.mirror_labels).items():
        origins[mirror] = LabelOrigin(server.labels[name], f"the server's label {name}")
    return origins


def _origin(value: str, what: str) -> LabelOrigin:
    if not value:
        return LabelOrigin("", f"{what} is not known")
    return LabelOrigin(value, what) if is_label_value(value) else LabelOrigin("", f"{what} can be no label's value")


def _pairs(server: Server, settings: Settings) -> tuple[tuple[tuple[str, str], str], ...]:
    """Deprecated and stable key, and the server's value for both; "" when it has none. A Robot server's zone is written
    whatever HCLOUD_INSTANCES_ZONE_LABEL_ENABLED says, as by HCCM."""
    if server.provider is Provider.ROBOT:
        values = (type_of_product(server.type), server.zone, server.location)
    else:
        values = (server.type, zone_of(server.location) if settings.zone_labels else "", server.location)
    return tuple(zip((LABEL_INSTANCE_TYPE, LABEL_ZONE, LABEL_REGION), values, strict=True))


def _complete(
    labels: Mapping[str, str],
    kept: tuple[str, ...],
    server: Server,
    current: Mapping[str, str],
    settings: Settings,
) -> NodeLabels:
    """The pairs' ``labels`` with the labels that are treated alike at initialization and later."""
    untouched = {key: value for key, value in current.items() if key in OWNED_LABELS}
    expected = _PROVIDED_BY[server.provider]
    provided_by = current.get(LABEL_PROVIDED_BY) or expected
    if provided_by != expected:
        kept += (f"label {LABEL_PROVIDED_BY} is {provided_by!r} where {expected!r} is expected; kept",)
    mirrored, unusable = _mirrored(server, settings.mirror_labels)
    if "labels" in server.missing:
        mirrored = {key: value for key, value in owned_labels(current, settings).items() if key not in OWNED_LABELS}
    unusable += tuple(
        f"{value!r} can be no label's value: {stable} stays as it is"
        for (_, stable), value in _pairs(server, settings)
        if not is_label_value(value)
    )
    return NodeLabels({**untouched, **labels, LABEL_PROVIDED_BY: provided_by, **mirrored}, kept, unusable)


def _mirrored(server: Server, prefix: str | None) -> tuple[Mapping[str, str], tuple[str, ...]]:
    """The server's labels under ``prefix``, and a sentence for each that cannot be written.

    Of two keys that become the same neither is written.
    """
    keys = _mirror_names(server, prefix)
    problems = dict(_problems(keys, server.labels))
    mirrored = {mirror: server.labels[names[0]] for mirror, names in keys.items() if mirror not in problems}
    return mirrored, tuple(problems[mirror] for mirror in sorted(problems))


def _mirror_names(server: Server, prefix: str | None) -> Mapping[str, list[str]]:
    """Key on the Node → keys of the server's labels that become it; empty without a ``prefix``.

    A slash in a key becomes an underscore, as a Node's label has only one.
    """
    keys: dict[str, list[str]] = {}
    for key in server.labels if prefix is not None else ():
        keys.setdefault(f"{prefix}/{key.replace('/', '_')}", []).append(key)
    return keys


def _problems(keys: Mapping[str, list[str]], labels: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for mirror, names in keys.items():
        if len(names) > 1:
            yield mirror, f"the server's labels {', '.join(sorted(names))} would all become {mirror}; none is mirrored"
        elif not is_label_key(mirror) or not is_label_value(labels[names[0]]):
            yield mirror, f"the server's label {names[0]} cannot be a Node's: key or value is too long or malformed"
