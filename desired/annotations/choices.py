"""Enumerations that annotations choose from."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType


class Algorithm(StrEnum):
    """Algorithm by which a load balancer picks a target."""

    ROUND_ROBIN = "round_robin"
    LEAST_CONNECTIONS = "least_connections"


class Protocol(StrEnum):
    """The protocol of a port. As the protocol of a health check, HTTPS is HTTP over TLS to the API."""

    TCP = "tcp"
    HTTP = "http"
    HTTPS = "https"


class CertificateType(StrEnum):
    """Origin of the certificates of https ports."""

    UPLOADED = "uploaded"
    MANAGED = "managed"


class DeletionPolicy(StrEnum):
    """What happens to the load balancer when its Service is deleted."""

    DELETE = "delete"
    RETAIN = "retain"


ZONE_OF_LOCATION: Mapping[str, str] = MappingProxyType(
    {
        "fsn1": "eu-central",
        "nbg1": "eu-central",
        "hel1": "eu-central",
        "ash": "us-east",
        "hil": "us-west",
        "sin": "ap-southeast",
    }
)
"""Location → network zone (Hetzner Cloud API, locations), of those that were there when this was written."""
