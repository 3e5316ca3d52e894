"""Warnings about the annotations of a Service: misspelt keys, and values without effect. They stop nothing."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from enum import StrEnum
from heapq import nsmallest

from desired.annotations.choices import ZONE_OF_LOCATION, CertificateType
from desired.annotations.combinations import Combination
from desired.annotations.grammars import RESERVED
from desired.annotations.options import ANNOTATIONS, OPTIONS, OWN_PREFIX, PREFIX, Options
from desired.annotations.port_keys import is_of_port, is_ours
from desired.annotations.reading import Origin, Requested
from desired.names import LABEL_REGION
from desired.section import UNMANAGED, Unmanaged
from desired.syntax.bounds import LONGEST_LABEL_KEY, counted, shown_text
from desired.syntax.go import parse_bool
from desired.syntax.selector import Operator


class Lack(StrEnum):
    """What a Service's spec asks for, and its load balancer cannot do."""

    PORT = "port"
    """A port of another protocol than TCP."""
    NODE_PORT = "node port"
    """A port without a port on the Nodes to lead to."""
    EVERY_PORT = "every port"
    SOURCE_RANGES = "source ranges"


@dataclass(frozen=True, slots=True, order=True)
class AnnotationWarning:
    """Something that a person should know about a Service though nothing depends on it."""

    key: str
    """Of the annotation, or the path of the Service's field."""
    text: str
    """One sentence, which names the key."""
    lack: Lack | None = field(default=None, compare=False)
    """What the Service does not get; None when it lacks nothing, and something only has no effect."""
    port: int | None = field(default=None, compare=False)
    """The port that it is about; None when it is about no single one."""
    is_unread: bool = field(default=False, compare=False)
    """Whether it is about a value that nothing reads."""


def warnings_on(
    annotations: Mapping[str, str], requested: Requested, idle: Mapping[str, Combination]
) -> tuple[AnnotationWarning, ...]:
    """Every warning on these annotations, by key; ``requested`` is what was read of them, ``idle`` has no effect. What
    annotations of single ports say is for ``warnings_on_port``."""
    found = [*_keys(annotations), *_values(annotations), *_idle(annotations, requested, idle)]
    found += _zone(annotations, requested)
    found += _selected_elsewhere(requested.options, {*requested.bad, *idle})
    return tuple(sorted(found))


def warnings_on_port(
    annotations: Mapping[str, str], requested: Requested, idle: Mapping[str, Combination]
) -> Iterator[AnnotationWarning]:
    """The warnings on the annotations of one port, which asks for this."""
    own = {name: row for name, row in idle.items() if name in requested.own}
    yield from _idle(annotations, requested, own)
    if "certificate_type" in requested.own:
        yield from _certificate_type(annotations, requested.key("certificate_type"), requested.port)


def _idle(
    annotations: Mapping[str, str], requested: Requested, idle: Mapping[str, Combination]
) -> Iterator[AnnotationWarning]:
    """Values without effect: those that a person wrote and that ask for something, and those that are wrong."""
    options, bad = requested.options, requested.bad
    for name, row in idle.items():
        key, port = requested.key(name), requested.port
        if name in bad:
            text = f"{bad[name].text}; for now it has no effect: {row.text(requested)}"
            yield AnnotationWarning(bad[name].key, text, port=port, is_unread=True)
        elif key in annotations and not row.is_ordinary and not _asks_for_nothing(getattr(options, name)):
            yield AnnotationWarning(key, f"{key} has no effect: {row.text(requested)}", port=port, is_unread=True)


def _asks_for_nothing(value: object) -> bool:
    """Whether the option is off, or its annotation is empty and so unsets it."""
    return value is False or value is UNMANAGED


def _keys(annotations: Mapping[str, str]) -> Iterator[AnnotationWarning]:
    """Keys that look like ours and are not, and those that are not read. Of thousands that are unknown only the first
    few are compared with what might have been meant."""
    unknown = [key for key in annotations if is_ours(key) and key not in ANNOTATIONS and not is_of_port(key)]
    told = nsmallest(_TOLD, unknown)
    for key in told:
        name = key.rpartition("/")[2]
        is_long = LONGEST_LABEL_KEY.is_exceeded(key)
        meant = "no annotation has this name" if is_long else _what_is_meant(name)
        text = f"{shown_text(key) if is_long else key} is unknown, and ignored: {meant}"
        yield AnnotationWarning(key, text, is_unread=True)
    if len(unknown) > len(told):
        where = "metadata.annotations"
        more = counted(len(unknown) - len(told), "more unknown key")
        begin = "begins" if len(unknown) == len(told) + 1 else "begin"
        text = f"{where} has {more} that {begin} with {PREFIX} or {OWN_PREFIX}"
        yield AnnotationWarning(where, text, is_unread=True)
    for key, row in ANNOTATIONS.items():
        if row.grammar is RESERVED and key in annotations:
            text = f"{key} is reserved: it is neither read nor written"
            field_name = _BY_MEANING.get(row.key)
            text += f"; set {OPTIONS[field_name].full_key}" if field_name else ""
            yield AnnotationWarning(key, text, is_unread=True)


def _what_is_meant(name: str) -> str:
    """What to write instead of an unknown key without its prefix. What a name means is asked before its spelling:
    ``network`` is close to ``network-zone`` in letters alone."""
    if name in _ELSEWHERE:
        return _ELSEWHERE[name]
    if name in _BY_MEANING:
        return f"did you mean {OPTIONS[_BY_MEANING[name]].full_key}?"
    if name in _KNOWN:
        return f"did you mean {_KNOWN[name]}?"
    if (of_ports := name.removesuffix("-ports")) != name and of_ports in _KNOWN:
        return f"single ports have annotations of their own, as port-443.{OWN_PREFIX}{of_ports}"
    whole = [key for key in _KNOWN if key.endswith(f"-{name}") or name.endswith(f"-{key}")]
    misspelt = get_close_matches(name, _KNOWN, n=1, cutoff=0.85)
    near = misspelt or (whole if len(whole) == 1 else get_close_matches(name, _KNOWN, n=1, cutoff=0.7))
    is_another = bool(near) and name.startswith(f"{near[0]}-")  # a word more is another thing
    return "no annotation has this name" if is_another or not near else f"did you mean {_KNOWN[near[0]]}?"


def _values(annotations: Mapping[str, str]) -> Iterator[AnnotationWarning]:
    """Values that are accepted and hardly meant."""
    yield from _certificate_type(annotations, OPTIONS["certificate_type"].full_key)
    key = OPTIONS["http_managed_certificate_acme_staging"].full_key
    if key in annotations:
        try:
            parse_bool(annotations[key])
        except ValueError as error:
            yield AnnotationWarning(key, f"{key} is {shown_text(annotations[key])}, which counts as false: {error}")
    key = OPTIONS["hostname"].full_key
    if annotations.get(key) == "":
        yield AnnotationWarning(key, f"{key} is empty: the Service's status will show neither an address nor a name")


def _certificate_type(annotations: Mapping[str, str], key: str, port: int | None = None) -> Iterator[AnnotationWarning]:
    if key in annotations and annotations[key] not in list(CertificateType):
        shown = shown_text(annotations[key])
        text = f"{key} is {shown}, which counts as uploaded: write managed or uploaded"
        yield AnnotationWarning(key, text, port=port)


def _zone(annotations: Mapping[str, str], requested: Requested) -> Iterator[AnnotationWarning]:
    """A zone that a location overrules. Only an annotation is worth a warning: it is what a person just wrote."""
    zone, location, value = OPTIONS["network_zone"], OPTIONS["location"], requested.options.location
    if annotations.get(zone.full_key) and value is not UNMANAGED:
        by_default = requested.origin("location") is Origin.ENVIRONMENT
        other = location.variable if by_default else location.full_key
        remedy = f'set {location.full_key} to ""' if by_default else "remove one of the two"
        text = f"{zone.full_key} has no effect: {other} is {value}, and a location wins; {remedy}"
        yield AnnotationWarning(zone.full_key, text, is_unread=True)


def _selected_elsewhere(options: Options, unclear: Collection[str]) -> Iterator[AnnotationWarning]:
    """A selector of Nodes of other network zones alone than the one that the load balancer is asked for in."""
    asked = {"location", "network_zone", "node_selector"}
    if asked & set(unclear) or isinstance(options.node_selector, Unmanaged):
        return
    located = options.network_zone if isinstance(options.location, Unmanaged) else options.location
    if isinstance(located, Unmanaged):
        return
    zone = ZONE_OF_LOCATION.get(located) if located == options.location else located
    for requirement in options.node_selector.requirements:
        if requirement.key not in LABEL_REGION or requirement.operator is not Operator.IN:
            continue
        zones = {ZONE_OF_LOCATION.get(value, zone) for value in requirement.values}
        if zone is not None and zone not in zones:
            key, place = OPTIONS["node_selector"].full_key, OPTIONS["location"].full_key
            chosen = f"{', '.join(sorted(requirement.values))} (network zone {', '.join(sorted(map(str, zones)))})"
            text = f"{key} chooses Nodes in {chosen}, and the load balancer is requested in {located} ({zone}): Hetzner"
            yield AnnotationWarning(key, f"{text} takes servers of its own zone only; set {place} to one of theirs")


_TOLD = 10
"""Unknown keys of one Service that are told one by one."""
_KNOWN = {row.key: row.full_key for row in OPTIONS.values()}
"""Key without its prefix → the whole of it, of what can be meant."""
_OF_CONTROLLER = "the network is the controller's: HCLOUD_NETWORK"
_NO_FIREWALL = "Hetzner's load balancers have no firewall"
_ELSEWHERE: Mapping[str, str] = {
    "delete-protection": "protect the load balancer in Hetzner's console, which is respected",
    "deletion-protection": "protect the load balancer in Hetzner's console, which is respected",
    "firewall": _NO_FIREWALL,
    "firewalls": _NO_FIREWALL,
    "network": _OF_CONTROLLER,
    "network-id": _OF_CONTROLLER,
    "network-name": _OF_CONTROLLER,
    "private-network": _OF_CONTROLLER,
    "source-ranges": _NO_FIREWALL,
}
"""Name that people write → where the thing is decided, which is no annotation."""
_BY_MEANING: Mapping[str, str] = {
    "backend-protocol": "protocol",
    "certificate": "http_certificates",
    "certificates": "http_certificates",
    "datacenter": "location",
    "floating-ip": "public_net_ipv4",
    "id": "name",
    "internal": "disable_public_network",
    "ip": "public_net_ipv4",
    "ipv4": "public_net_ipv4",
    "ipv6": "public_net_ipv6",
    "label-selector": "node_selector",
    "load-balancer-ip": "public_net_ipv4",
    "node-labels": "node_selector",
    "primary-ip": "public_net_ipv4",
    "private": "disable_public_network",
    "private-ip": "use_private_ip",
    "proxy-protocol": "uses_proxyprotocol",
    "region": "location",
    "session-affinity": "http_sticky_sessions",
    "size": "type",
    "ssl-certificates": "http_certificates",
    "sticky-sessions": "http_sticky_sessions",
    "target-node-labels": "node_selector",
    "tls-certificates": "http_certificates",
    "zone": "network_zone",
}
"""Name that people write → the field of the annotation that does what it says."""
