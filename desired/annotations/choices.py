"""The values among which an annotation chooses."""

from enum import StrEnum


class Algorithm(StrEnum):
    """How a load balancer picks a target."""

    ROUND_ROBIN = "round_robin"
    LEAST_CONNECTIONS = "least_connections"


class Protocol(StrEnum):
    """What a port speaks. As the protocol of a health check, HTTPS is HTTP over TLS to the API (W-13)."""

    TCP = "tcp"
    HTTP = "http"
    HTTPS = "https"


class CertificateType(StrEnum):
    """Where the certificates of https ports come from."""

    UPLOADED = "uploaded"
    MANAGED = "managed"


class DeletionPolicy(StrEnum):
    """What becomes of the load balancer when its Service goes."""

    DELETE = "delete"
    RETAIN = "retain"
