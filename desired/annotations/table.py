"""Table of every annotation of a Service that the product reads or reserves.

Parsing, the page ``docs/reference/annotations.md`` and ``reconcile validate`` are made from it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from desired.annotations.choices import Algorithm, DeletionPolicy, Protocol
from desired.annotations.grammars import (
    ADDRESS,
    BOOL,
    CERTIFICATE_TYPE,
    CERTIFICATES,
    CHECK_DOMAIN,
    DNS_NAME,
    DOMAINS,
    HOST,
    LENIENT_BOOL,
    NAME,
    PATH,
    PRIMARY_IP,
    RANGE,
    RESERVED,
    SELECTOR,
    STATUS_CODES,
    WORD,
    Grammar,
    integer,
    one_of,
    seconds,
    text,
)

PREFIX = "load-balancer.hetzner.cloud/"
"""Prefix of every annotation that HCCM knows."""
OWN_PREFIX = "hcloud-reconciler/"
"""Prefix of annotations that only this product knows."""

LONGEST_UNDO_S = 7 * 24 * 3600
"""A week. To keep a load balancer for longer, use the deletion policy."""

_LB = "HCLOUD_LOAD_BALANCERS_"
_KEPT = "the load balancer keeps it"
_PORTS = "all ports change"
_CHECKS = "all health checks change"
_HELD = "; held (`listener-loss`) where clients lose by it"
_AS_PROTOCOL = "`tcp`; as `protocol` when another setting of health checks is there"
_LATER = "no effect after creation"
_MANAGED_ADDRESS = "an address that Hetzner manages, and that goes with the load balancer"
_NOTED = "a note: no effect after creation"
_NOTHING_KEPT = "the load balancer keeps its address"


@dataclass(frozen=True, slots=True)
class Annotation:
    """One row of the table."""

    key: str
    """Without its prefix."""
    grammar: Grammar[Any]
    unset: str
    """The default, when neither annotation nor environment sets it."""
    change: str
    """The effect of another value on an existing load balancer."""
    removal: str
    """The effect of removing the annotation, when the environment has no default."""
    variable: str | None = None
    """The environment variable with the default for all Services."""
    empty_unsets: bool = False
    """Whether an empty value means that nothing is set, whatever the environment says."""
    prefix: str = PREFIX

    @property
    def full_key(self) -> str:
        """As it stands in a manifest."""
        return self.prefix + self.key

    @property
    def field(self) -> str | None:
        """The field of ``Options`` with its value; None for a key that is reserved."""
        return None if self.grammar is RESERVED else self.key.replace("-", "_")


def _reserved(key: str) -> Annotation:
    return Annotation(key, RESERVED, "neither read nor written", "nothing", "nothing")


_ROWS = (
    Annotation(
        "name",
        NAME,
        "`a` and the Service's UID, cut to 32 characters",
        "renamed",
        "it keeps its name",
        empty_unsets=True,
    ),
    Annotation("type", WORD, "`lb11` at creation", "the type changes", _KEPT, f"{_LB}TYPE", empty_unsets=True),
    Annotation("location", WORD, "`network-zone` decides", _LATER, "no effect", f"{_LB}LOCATION", empty_unsets=True),
    Annotation(
        "network-zone", WORD, "`location` decides", _LATER, "no effect", f"{_LB}NETWORK_ZONE", empty_unsets=True
    ),
    Annotation(
        "algorithm-type",
        one_of(Algorithm, blanks=True),
        "`round_robin` at creation",
        "the algorithm changes",
        _KEPT,
        f"{_LB}ALGORITHM_TYPE",
    ),
    Annotation(
        "disable-public-network",
        BOOL,
        "public at creation",
        "the public interface goes or comes",
        _KEPT,
        f"{_LB}DISABLE_PUBLIC_NETWORK",
    ),
    Annotation("public-net-ipv4", PRIMARY_IP, _MANAGED_ADDRESS, _NOTED, _NOTHING_KEPT),
    Annotation("public-net-ipv6", PRIMARY_IP, _MANAGED_ADDRESS, _NOTED, _NOTHING_KEPT),
    Annotation(
        "disable-private-ingress",
        BOOL,
        "private addresses are in the status",
        "the status changes",
        "they come back",
        f"{_LB}DISABLE_PRIVATE_INGRESS",
    ),
    Annotation(
        "ipv6-disabled",
        BOOL,
        "the IPv6 address is in the status",
        "the status changes, the address stays",
        "it comes back",
        f"{_LB}DISABLE_IPV6",
    ),
    Annotation(
        "use-private-ip",
        BOOL,
        "targets by public address",
        "targets are replaced one by one",
        "targets by public address",
        f"{_LB}USE_PRIVATE_IP",
    ),
    Annotation(
        "private-ipv4",
        ADDRESS,
        "any free address of the network",
        "detached and attached anew",
        _KEPT,
        empty_unsets=True,
    ),
    Annotation(
        "private-subnet-ip-range",
        RANGE,
        "any subnet of the network",
        "no effect once attached",
        "no effect once attached",
        f"{_LB}PRIVATE_SUBNET_IP_RANGE",
    ),
    Annotation("ipv4-rdns", HOST, "not managed", "the pointer changes", _KEPT),
    Annotation("ipv6-rdns", HOST, "not managed", "the pointer changes", _KEPT),
    Annotation("hostname", DNS_NAME, "addresses are in the status", "the status changes", "addresses return"),
    Annotation("node-selector", SELECTOR, "all eligible Nodes", "targets change", "all eligible Nodes"),
    Annotation("protocol", one_of(Protocol), "`tcp`", _PORTS, f"back to `tcp`{_HELD}"),
    Annotation(
        "uses-proxyprotocol",
        BOOL,
        "off at creation",
        f"{_PORTS}, and the status",
        _KEPT,
        f"{_LB}USES_PROXYPROTOCOL",
    ),
    Annotation("http-cookie-name", text(1, 100), "`HCLBSTICKY`", _PORTS, _KEPT),
    Annotation("http-cookie-lifetime", seconds(30, 86400), "300s", _PORTS, _KEPT),
    Annotation("http-timeout-idle", seconds(30, 300), "50s", _PORTS, _KEPT),
    Annotation("http-redirect-http", BOOL, "off", _PORTS, _KEPT),
    Annotation("http-sticky-sessions", BOOL, "off", _PORTS, _KEPT),
    Annotation("http-certificates", CERTIFICATES, "none", "exactly these are used", _KEPT),
    Annotation("certificate-type", CERTIFICATE_TYPE, "uploaded", _PORTS, "uploaded"),
    Annotation(
        "http-managed-certificate-name",
        NAME,
        "`ccm-managed-certificate-` and the Service's UID",
        "a note, with the remedy",
        "a note, with the remedy",
        empty_unsets=True,
    ),
    Annotation(
        "http-managed-certificate-domains",
        DOMAINS,
        "an error when managed",
        "a note, with the remedy",
        "an error when managed",
    ),
    Annotation("http-managed-certificate-acme-staging", LENIENT_BOOL, "off", "no effect once created", "no effect"),
    Annotation("health-check-protocol", one_of(Protocol), _AS_PROTOCOL, _CHECKS, f"{_AS_PROTOCOL}{_HELD}"),
    Annotation("health-check-port", integer(1, 65535), "the node port", _CHECKS, f"the node port{_HELD}"),
    Annotation(
        "health-check-node-port",
        BOOL,
        "the node port is probed",
        _CHECKS,
        f"the node port again{_HELD}",
        prefix=OWN_PREFIX,
    ),
    Annotation(
        "health-check-interval",
        seconds(3, 60),
        "the API's default",
        _CHECKS,
        _KEPT,
        f"{_LB}HEALTH_CHECK_INTERVAL",
    ),
    Annotation(
        "health-check-timeout",
        seconds(1, 60),
        "the API's default",
        _CHECKS,
        _KEPT,
        f"{_LB}HEALTH_CHECK_TIMEOUT",
    ),
    Annotation(
        "health-check-retries",
        integer(1, 5),
        "the API's default",
        _CHECKS,
        _KEPT,
        f"{_LB}HEALTH_CHECK_RETRIES",
    ),
    Annotation("health-check-http-domain", CHECK_DOMAIN, "no host header", _CHECKS, _KEPT),
    Annotation("health-check-http-path", PATH, "`/`", _CHECKS, _KEPT),
    Annotation("health-check-http-validate-certificate", BOOL, "off", _CHECKS, _KEPT),
    Annotation("http-status-codes", STATUS_CODES, "`2??,3??`", _CHECKS, _KEPT),
    Annotation(
        "deletion-policy",
        one_of(DeletionPolicy),
        "deleted with the Service, if it was made for it",
        "what happens at deletion",
        "deleted with the Service, if it was made for it",
        empty_unsets=True,
        prefix=OWN_PREFIX,
    ),
    Annotation(
        "undo-window",
        seconds(0, LONGEST_UNDO_S),
        "`--load-balancer-undo` decides",
        "what happens at deletion",
        "`--load-balancer-undo` decides",
        empty_unsets=True,
        prefix=OWN_PREFIX,
    ),
    _reserved("ipv4"),
    _reserved("ipv6"),
    _reserved("id"),
)

ANNOTATIONS: Mapping[str, Annotation] = {row.full_key: row for row in _ROWS}
"""Full key → row, in the order in which people read about them."""

BY_FIELD: Mapping[str, Annotation] = {row.field: row for row in _ROWS if row.field is not None}
"""Field of ``Options`` → row."""
