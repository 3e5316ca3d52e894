"""Provider ids: the one durable link between a Node and its server.

``parse_provider_id`` and ``format_provider_id`` are inverse for what we write. The grammar is strict: HCCM accepts
signs, padding and repeated prefixes, and concludes from ``hcloud://-5`` that a server is gone.
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

from desired.names import PROVIDER_ID_CLOUD, PROVIDER_ID_ROBOT, PROVIDER_ID_ROBOT_LEGACY
from desired.syntax.bounds import LONGEST_PROVIDER_ID, measured_text, shown_text

_NUMBER = re.compile(r"[1-9][0-9]{0,18}", re.ASCII)
"""No more digits than the largest has: ``int`` raises on thousands of them."""
_LARGEST = 2**63 - 1


class Provider(StrEnum):
    """The two clouds of Hetzner. Each has credentials, and so an anchor, of its own."""

    CLOUD = "Cloud"
    ROBOT = "Robot"


class ServerKey(NamedTuple):
    """What identifies a server: ids of Hetzner Cloud and numbers of Robot know nothing of each other."""

    provider: Provider
    id: int

    @property
    def name(self) -> str:
        """In sentences: ``server 42``, ``Robot server 321``."""
        return f"server {self.id}" if self.provider is Provider.CLOUD else f"Robot server {self.id}"


@dataclass(frozen=True, slots=True)
class CloudID:
    """A Hetzner Cloud server."""

    server_id: int


@dataclass(frozen=True, slots=True)
class RobotID:
    """A Robot server. ``legacy`` tells the fork's prefix, which is read and never written."""

    number: int
    legacy: bool = False


@dataclass(frozen=True, slots=True)
class ForeignID:
    """A providerID of some other cloud: its Node is not ours."""

    text: str


@dataclass(frozen=True, slots=True)
class MalformedID:
    """One of our prefixes with something after it that is no server number; ``why`` is one sentence for people."""

    text: str
    why: str


ProviderID = CloudID | RobotID | ForeignID | MalformedID


_PREFIXES = (PROVIDER_ID_ROBOT, PROVIDER_ID_ROBOT_LEGACY, PROVIDER_ID_CLOUD)
"""The longer one is tried first, since ``hcloud://bm-`` begins with ``hcloud://``. They are case-sensitive."""


def parse_provider_id(text: str) -> ProviderID:
    """Parse ``text``. Never raises: a value that cannot be used is a ForeignID or a MalformedID."""
    if not LONGEST_PROVIDER_ID.is_exceeded(text):
        return _parse(text)
    if text.startswith(_PREFIXES):
        shown = measured_text(text, LONGEST_PROVIDER_ID)
        return MalformedID(text, f"providerID {shown} has no server id (a positive decimal number)")
    return ForeignID(text)


@lru_cache(maxsize=16_384)
def _parse(text: str) -> ProviderID:
    for prefix in _PREFIXES:
        if not text.startswith(prefix):
            continue
        rest = text.removeprefix(prefix)
        shown = shown_text(text)
        if not rest:
            return MalformedID(text, f"providerID {shown} is missing a server id")
        if not _NUMBER.fullmatch(rest) or int(rest) > _LARGEST:
            why = f"providerID {shown}: {shown_text(rest)} is no server id (a positive decimal number)"
            return MalformedID(text, why)
        if prefix == PROVIDER_ID_CLOUD:
            return CloudID(int(rest))
        return RobotID(int(rest), legacy=prefix == PROVIDER_ID_ROBOT_LEGACY)
    return ForeignID(text)


def server_key(provider_id: str | None) -> ServerKey | None:
    """The server that a providerID names; None when it names none of Hetzner's."""
    match parse_provider_id(provider_id or ""):
        case CloudID(server_id):
            return ServerKey(Provider.CLOUD, server_id)
        case RobotID(number):
            return ServerKey(Provider.ROBOT, number)
    return None


def provider_of(provider_id: str | None) -> Provider | None:
    """The provider that a providerID belongs to; None when it is not one of ours."""
    key = server_key(provider_id)
    return key.provider if key else None


def format_provider_id(provider_id: CloudID | RobotID) -> str:
    """The text of ``spec.providerID``."""
    if isinstance(provider_id, CloudID):
        return f"{PROVIDER_ID_CLOUD}{provider_id.server_id}"
    return f"{PROVIDER_ID_ROBOT_LEGACY if provider_id.legacy else PROVIDER_ID_ROBOT}{provider_id.number}"


def provider_id_of(key: ServerKey) -> str:
    """What a Node on this server gets as its ``spec.providerID``."""
    return format_provider_id(CloudID(key.id) if key.provider is Provider.CLOUD else RobotID(key.id))
