"""Grammars of values of flags and variables, as hcloud-cloud-controller-manager reads them.

Each ``parse_*`` returns the value or raises ValueError with what was expected; the caller adds the name. Grammars that
annotations share are in ``desired.syntax.go``.
"""

import re
from datetime import timedelta
from ipaddress import IPv4Network, IPv6Network

from desired.annotations.options import LONGEST_UNDO_S
from desired.model.settings import Controller
from desired.plan.approvals import is_hash
from desired.plan.grants import LONGEST
from desired.syntax import bounds
from desired.syntax.bounds import shown_text
from desired.syntax.go import parse_bool, parse_cidr, parse_duration
from desired.syntax.selector import is_label_key

_SERVICE_LINK = re.compile(r"_(SERVICE_(HOST|PORT)(_\w+)?|PORT(_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)$", re.ASCII)
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", re.ASCII)
_RESERVED_PREFIX = re.compile(r"(^|\.)(kubernetes\.io|k8s\.io|hetzner\.cloud)$", re.ASCII)
_DIGITS = 18
_PORT_DIGITS = 5
_LAST_PORT = 65535

CONTROLLERS = {
    "cloud-node-controller": Controller.NODE,
    "cloud-node": Controller.NODE,
    "cloud-node-lifecycle-controller": Controller.LIFECYCLE,
    "cloud-node-lifecycle": Controller.LIFECYCLE,
    "service-lb-controller": Controller.SERVICE,
    "service": Controller.SERVICE,
    "node-route-controller": Controller.ROUTE,
    "route": Controller.ROUTE,
}
"""HCCM's names and aliases for ``--controllers`` → the controller."""

_HOST = re.compile(r"[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?")
"""The name of a host in DNS, in lower case."""


def parse_positive_duration(text: str) -> float:
    """A duration that is more than zero."""
    seconds = parse_duration(text)
    if seconds <= 0:
        raise ValueError("expect a duration of more than 0")
    return seconds


def parse_wait(text: str) -> timedelta:
    """A duration of zero or more."""
    seconds = parse_duration(text)
    if seconds < 0:
        raise ValueError("expect a duration of 0 or more")
    return timedelta(seconds=seconds)


def parse_positive_wait(text: str) -> timedelta:
    """A duration that is more than zero."""
    return timedelta(seconds=parse_positive_duration(text))


def parse_undo(text: str) -> timedelta:
    """The undo window of a load balancer: the same values as the annotation's."""
    wait = parse_wait(text)
    if wait > timedelta(seconds=LONGEST_UNDO_S):
        raise ValueError(f"expect a duration of {LONGEST_UNDO_S // 3600}h at most")
    return wait


def parse_lifetime(text: str) -> timedelta:
    """How long an approval counts."""
    wait = parse_positive_wait(text)
    if wait > LONGEST:
        raise ValueError(f"expect a duration of {LONGEST.total_seconds() / 3600:g}h at most")
    return wait


def parse_patience(text: str) -> timedelta | None:
    """How long to wait at most: a switch, or a duration; None: not at all."""
    try:
        return timedelta.max if parse_bool(text) else None
    except ValueError:
        return parse_positive_wait(text)


def parse_reason(text: str) -> str:
    """A sentence of a person."""
    bounds.LONGEST_VALUE.check(text)
    sentence = " ".join(text.split())
    if not sentence.isprintable():
        raise ValueError("expect a sentence, without control characters")
    return sentence


def parse_label_prefix(text: str) -> str:
    """The part of label keys before the slash: a domain that is neither Kubernetes' nor HCCM's."""
    bounds.LONGEST_HOST.check(text)
    prefix = text.removesuffix("/")
    if not is_label_key(f"{prefix}/x") or "." not in prefix:
        raise ValueError("expect a domain such as servers.example.com, as the prefix of label keys")
    if _RESERVED_PREFIX.search(prefix):
        raise ValueError("expect a domain of your own: kubernetes.io, k8s.io and hetzner.cloud are taken")
    return prefix


def parse_object_name(text: str) -> str:
    """A name that Kubernetes gives to objects: a DNS subdomain."""
    if len(text) > 253 or not all(_LABEL.fullmatch(part) for part in text.split(".")):
        raise ValueError("expect the name of a Kubernetes object, such as cloud-controller-manager")
    return text


def parse_file(text: str) -> str:
    """The name of a file. Streams have none."""
    if text in ("", "-"):
        raise ValueError("expect the name of a file")
    return text


def parse_int(text: str) -> int:
    """A decimal number of zero or more."""
    if not (len(text) <= _DIGITS and text.isascii() and text.isdecimal()):
        raise ValueError("expect a number of 0 or more")
    return int(text)


def parse_port(text: str) -> int:
    """A TCP port; 0 stands for any that is free."""
    if not _is_port(text):
        raise ValueError("expect a port, 0 to 65535; 0 is any free one")
    return int(text)


def parse_cidrs(text: str) -> tuple[IPv4Network | IPv6Network, ...]:
    """One CIDR, or an IPv4 and an IPv6 one separated by a comma; "" is none, as for HCCM."""
    bounds.LONGEST_ADDRESSES.check(text)
    if not text:
        return ()
    try:
        networks = tuple(parse_cidr(part.strip()) for part in text.split(","))
    except ValueError as error:
        raise ValueError(f"expect a CIDR such as 10.244.0.0/16, or one of each family ({error})") from error
    if len(networks) > 2 or len({network.version for network in networks}) != len(networks):
        raise ValueError("expect one CIDR, or one of each family")
    return networks


def parse_controllers(text: str) -> frozenset[Controller]:
    """HCCM's list: ``*`` for all, ``name`` on, ``-name`` off; the first mention of a name wins."""
    bounds.LONGEST_VALUE.check(text)
    chosen: dict[Controller, bool] = {}
    everything = False
    for word in (word.strip() for word in text.split(",")):
        name = word.removeprefix("-")
        if word == "*":
            everything = True
        elif name in CONTROLLERS:
            chosen.setdefault(CONTROLLERS[name], not word.startswith("-"))
        else:
            raise ValueError(f"{shown_text(word)} is no controller; there are {', '.join(CONTROLLERS)}")
    return frozenset(controller for controller in Controller if chosen.get(controller, everything))


def parse_keys(text: str) -> tuple[str, ...]:
    """Keys of a plan, separated by commas."""
    bounds.LONGEST_ARGUMENT.check(text)
    keys = tuple(key.strip().rstrip("/") for key in text.split(","))
    if not all(re.fullmatch(r"[a-z_]+/\S+", key) for key in keys):
        raise ValueError("expect keys as a plan shows them, such as node/web-1")
    return keys


def parse_hashes(text: str) -> tuple[str, ...]:
    """Hashes of holds, separated by commas."""
    bounds.LONGEST_ARGUMENT.check(text)
    hashes = tuple(part.strip() for part in text.split(","))
    if not all(is_hash(part) for part in hashes):
        raise ValueError("expect the hash of a hold as a plan shows it, sha256: and 16 hex digits")
    return hashes


def parse_address(text: str) -> tuple[str, int]:
    """``host:port`` or ``:port`` → host ("" for all) and port."""
    bounds.LONGEST_HOST.check(text)
    host, colon, port = text.rpartition(":")
    if not colon or not _is_port(port):
        raise ValueError("expect an address such as :10258 or 127.0.0.1:10258")
    return host.strip("[]"), int(port)


def parse_page_address(text: str) -> tuple[str, int] | None:
    """The same; None for an empty text, which switches off."""
    return parse_address(text) if text else None


def parse_hosts(text: str) -> tuple[str, ...]:
    """Names of hosts, without ports and in lower case."""
    bounds.LONGEST_LIST.check(text)
    names = tuple(part.strip().lower().rstrip(".") for part in text.split(",") if part.strip())
    for name in names:
        bounds.LONGEST_HOST.check(name)
        if not _HOST.fullmatch(name):
            raise ValueError(f"{shown_text(name)} is no host name: give it without scheme, port and path")
    return names


def _is_port(text: str) -> bool:
    return len(text) <= _PORT_DIGITS and text.isascii() and text.isdecimal() and int(text) <= _LAST_PORT


def is_service_link(name: str) -> bool:
    """Whether a variable is one that Kubernetes puts into every container for each Service of its namespace."""
    return not bounds.LONGEST_VARIABLE.is_exceeded(name) and _SERVICE_LINK.search(name) is not None
