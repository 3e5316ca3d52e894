"""Enumerations that annotations choose from."""

from enum import StrEnum


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
