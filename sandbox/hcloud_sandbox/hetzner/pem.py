"""Certificates in PEM: reading what the API shows of an uploaded one, and making up one that was "issued".

Known differences: of a chain only the first certificate is read; no signature is checked, and of a private key only
that it looks like one, so one that belongs to another certificate is accepted. Issued certificates are no real ones.
"""

import base64
import hashlib
import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

_CERTIFICATE = re.compile(r"-----BEGIN CERTIFICATE-----\s+([A-Za-z0-9+/=\s]+?)-----END CERTIFICATE-----")
_PRIVATE_KEY = re.compile(r"-----BEGIN ([A-Z]+ )?PRIVATE KEY-----\s+[A-Za-z0-9+/=\s]+-----END \1?PRIVATE KEY-----")
_SEQUENCE, _UTC_TIME, _GENERALIZED_TIME, _OID, _DNS_NAME, _EXTENSIONS = 0x30, 0x17, 0x18, 0x06, 0x82, 0xA3
_COMMON_NAME = bytes.fromhex("550403")
_SUBJECT_ALT_NAME = bytes.fromhex("551d11")

_Item = tuple[int, bytes]
"""Tag and content of one DER value."""


@dataclass(frozen=True, slots=True)
class Certificate:
    """What the API shows of a certificate."""

    fingerprint: str
    """SHA-256 in upper-case hex pairs."""
    not_valid_before: datetime
    not_valid_after: datetime
    domain_names: tuple[str, ...]
    """Of the extension for alternative names; without one the common name."""


def read_certificate(text: str) -> Certificate:
    """The first certificate of a PEM text. Raises ValueError when there is none."""
    match = _CERTIFICATE.search(text)
    if match is None:
        raise ValueError("no certificate in PEM format")
    try:
        der = base64.b64decode("".join(match[1].split()), validate=True)
        fields = list(_items(_only(_items(_only(_items(der), _SEQUENCE)), _SEQUENCE)))
        sequences = [content for tag, content in fields if tag == _SEQUENCE]
        # Signature algorithm, issuer, validity, subject: the version before them and the keys behind them vary.
        validity, subject = sequences[2], sequences[3]
        extensions = next((content for tag, content in fields if tag == _EXTENSIONS), b"")
        before, after = (_time(item) for item in _items(validity))
        names = tuple(_alternative_names(extensions)) or tuple(_common_names(subject))
    except (ValueError, IndexError) as error:
        raise ValueError("the certificate cannot be read") from error
    return Certificate(_fingerprint(der), before, after, names)


def is_private_key(text: str) -> bool:
    """Whether the text holds a private key in PEM format, of any kind."""
    return _PRIVATE_KEY.search(text) is not None


def made_up_certificate(seed: str) -> tuple[str, str]:
    """A PEM text that looks like a certificate, the same for the same seed, and its fingerprint."""
    der = b"".join(hashlib.sha256(f"{seed}/{number}".encode()).digest() for number in range(16))
    lines = textwrap.wrap(base64.b64encode(der).decode(), 64)
    return "\n".join(["-----BEGIN CERTIFICATE-----", *lines, "-----END CERTIFICATE-----", ""]), _fingerprint(der)


def _fingerprint(der: bytes) -> str:
    return hashlib.sha256(der).digest().hex(":").upper()


def _items(der: bytes) -> Iterator[_Item]:
    """The values that stand one after another. Raises IndexError where the text ends too early."""
    position = 0
    while position < len(der):
        tag, length = der[position], der[position + 1]
        position += 2
        if length & 0x80:
            size = length & 0x7F
            length = int.from_bytes(der[position : position + size])
            position += size
        if position + length > len(der):
            raise IndexError(position)
        yield tag, der[position : position + length]
        position += length


def _only(items: Iterator[_Item], tag: int) -> bytes:
    """The content of the first value, which must have this tag."""
    found, content = next(items, (None, b""))
    if found != tag:
        raise ValueError(f"tag {found} where {tag} should be")
    return content


def _time(item: _Item) -> datetime:
    tag, content = item
    formats = {_UTC_TIME: "%y%m%d%H%M%SZ", _GENERALIZED_TIME: "%Y%m%d%H%M%SZ"}
    if tag not in formats:
        raise ValueError(f"tag {tag} where a time should be")
    return datetime.strptime(content.decode("ascii"), formats[tag]).replace(tzinfo=UTC)


def _alternative_names(extensions: bytes) -> Iterator[str]:
    for _, listed in _items(extensions):
        for _, extension in _items(listed):
            parts = list(_items(extension))
            if parts[0] == (_OID, _SUBJECT_ALT_NAME):
                for tag, name in _items(_only(_items(parts[-1][1]), _SEQUENCE)):
                    if tag == _DNS_NAME:
                        yield name.decode("ascii")


def _common_names(subject: bytes) -> Iterator[str]:
    for _, relative in _items(subject):
        for _, attribute in _items(relative):
            (_, kind), (_, value) = _items(attribute)
            if kind == _COMMON_NAME:
                yield value.decode()
