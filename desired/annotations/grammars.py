"""Grammars of annotation values, as small parsers with a name for people.

A text is taken as it is, blanks included, unless a docstring says otherwise. Ranges are those of the Hetzner Cloud API:
what is outside would be refused there, after half of the work was done.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, StrEnum
from ipaddress import AddressValueError, IPv4Address, IPv4Network
from typing import Final, Generic, TypeVar, cast

from desired.annotations.choices import CertificateType
from desired.syntax import bounds
from desired.syntax.bounds import Bound, shown_text
from desired.syntax.go import parse_bool, parse_cidr, parse_duration
from desired.syntax.selector import Selector, parse_selector

T = TypeVar("T")
Choice = TypeVar("Choice", bound=StrEnum)

_LARGEST_ID = 2**63 - 1
_HOST_LABEL = r"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
_HOST = re.compile(rf"(?:{_HOST_LABEL}\.)*{_HOST_LABEL}\.?", re.ASCII)
_DNS_LABEL = r"[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?"
_DNS_NAME = re.compile(rf"(?:{_DNS_LABEL}\.)*{_DNS_LABEL}", re.ASCII)
_FOUR_NUMBERS = re.compile(r"[0-9]+(?:\.[0-9]+){3}", re.ASCII)
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}", re.ASCII)
_ID = re.compile(r"[+-]?[0-9]+", re.ASCII)
_STATUS_CODE = re.compile(r"[0-9?*]{1,3}", re.ASCII)
_LONGEST_HOST = 253


class ValueKind(Enum):
    """Kind of a value, where more than its grammar depends on it."""

    TEXT = "text"
    BOOLEAN = "boolean"
    NUMBER = "number"
    DURATION = "duration"
    """In seconds, which are written with their unit."""


def _anything(_value: object) -> None:
    """No range."""


@dataclass(frozen=True, slots=True)
class Grammar(Generic[T]):
    """Grammar of one kind of value."""

    name: str
    """For people, as the page about annotations has it."""
    read: Callable[[str], T]
    """Text → value. Raises ValueError that says what is expected."""
    check: Callable[[T], None] = _anything
    """Raises the same for a value out of range, wherever it comes from: the environment's are not read here."""
    longest: Bound = bounds.LONGEST_VALUE
    """The limit beyond which a text is not read."""
    kind: ValueKind = ValueKind.TEXT

    def parse(self, text: str) -> T:
        """The value that ``text`` means. Raises ValueError that says what is expected."""
        self.longest.check(text)
        value = self.read(text)
        self.check(value)
        return value


def integer(low: int, high: int) -> Grammar[int]:
    """A decimal number with an optional sign, in a range."""
    expected = f"expect a number from {low} to {high}"

    def read(text: str) -> int:
        if not _INTEGER.fullmatch(text):
            raise ValueError(expected)
        return int(text)

    return Grammar(
        f"number, {low} to {high}", read, _range(low, high, expected), bounds.LONGEST_NUMBER, ValueKind.NUMBER
    )


def seconds(low: int, high: int) -> Grammar[int]:
    """Go's duration as whole seconds, what is beyond them cut off, in a range. A number without a unit is an error."""
    check = _range(low, high, f"expect a duration from {low}s to {high}s")
    return Grammar(f"duration, {low}s to {high}s", _read_seconds, check, bounds.LONGEST_DURATION, ValueKind.DURATION)


def _read_seconds(text: str) -> int:
    try:
        duration_s = parse_duration(text)
    except ValueError as error:
        raise ValueError(f"{error} (did you mean {text}s?)" if _INTEGER.fullmatch(text) else str(error)) from error
    return int(round(duration_s, 9))


def _range(low: int, high: int, expected: str) -> Callable[[int], None]:
    def check(value: int) -> None:
        if not low <= value <= high:
            raise ValueError(expected)

    return check


def one_of(kind: type[Choice], *, blanks: bool = False) -> Grammar[Choice]:
    """One of an enumeration's values, upper case or lower; ``blanks`` around it are cut off."""

    def read(text: str) -> Choice:
        word = (text.strip() if blanks else text).lower()
        if word not in list(kind):
            raise ValueError(f"expect one of {', '.join(kind)}")
        return kind(word)

    return Grammar(", ".join(f"`{choice}`" for choice in kind), read)


def text(low: int, high: int) -> Grammar[str]:
    """Any text of a length."""

    def read(given: str) -> str:
        if not low <= len(given) <= high:
            raise ValueError(f"expect {low} to {high} characters")
        return given

    return Grammar(f"text, {low} to {high} characters", read)


def list_of(name: str, item: Callable[[str], T], most: int) -> Grammar[tuple[T, ...]]:
    """Items separated by commas, blanks around them cut off, repetitions left out, in the order of their mention.

    HCCM keeps the blanks, and then no item fits: nothing that it accepts is read differently.
    """

    def read(given: str) -> tuple[T, ...]:
        words = [word.strip() for word in given.split(",")]
        if not all(words):
            raise ValueError("expect items separated by commas, none of them empty")
        items = tuple(dict.fromkeys(item(word) for word in words))
        if len(items) > most:
            raise ValueError(f"expect at most {most} items, and this has {len(items)}")
        return items

    return Grammar(f"list of {name}, at most {most}", read, longest=bounds.LONGEST_LIST)


def _read_name(given: str) -> str:
    if not 1 <= len(given) <= 128 or given.strip() != given or not given.isprintable():
        raise ValueError("expect 1 to 128 characters without a blank at either end")
    return given


def _read_host(given: str) -> str:
    if given and (len(given.removesuffix(".")) > _LONGEST_HOST or not _HOST.fullmatch(given)):
        raise ValueError("expect a host name such as www.example.com, or nothing for no pointer")
    return given


def _read_dns_name(given: str) -> str:
    if given and (len(given) > _LONGEST_HOST or not _DNS_NAME.fullmatch(given) or _FOUR_NUMBERS.fullmatch(given)):
        raise ValueError("expect a host name in lower case such as www.example.com, as no status may have another")
    return given


def _read_domain(given: str) -> str:
    host = given.removeprefix("*.")
    if len(host) > _LONGEST_HOST or not _HOST.fullmatch(host):
        raise ValueError(f"{shown_text(given)} is no domain; expect domains such as example.com,*.example.com")
    return given


def _read_status_code(given: str) -> str:
    if not _STATUS_CODE.fullmatch(given):
        raise ValueError(f"{shown_text(given)} is no status code; expect codes such as 200,2??,3*")
    return given


def _read_certificate(given: str) -> int | str:
    """A number is an id, and never looked up as a name; ``0`` is none."""
    if not _ID.fullmatch(given) or not given.strip("+-0"):
        return given
    # More digits than an id can have are a name to HCCM; Python refuses to read thousands of them.
    number = int(given) if len(given) <= 20 else _LARGEST_ID + 1
    if number < 0:
        raise ValueError(f"{shown_text(given)} is no certificate; expect ids or names")
    return number if number <= _LARGEST_ID else given


def _read_primary_ip(given: str) -> int | str:
    """A number is an id, and never looked up as a name."""
    if not _ID.fullmatch(given):
        return _read_name(given)
    number = int(given) if len(given) <= 20 else 0
    if not 1 <= number <= _LARGEST_ID:
        raise ValueError("expect the id or the name of a Primary IP, such as 4711")
    return number


def _read_address(given: str) -> IPv4Address:
    try:
        return IPv4Address(given.strip())
    except AddressValueError as error:
        raise ValueError("expect an IPv4 address such as 10.0.0.5") from error


_RANGE_EXPECTED = "expect an IPv4 range such as 10.0.1.0/24"


def _read_range(given: str) -> IPv4Network:
    """Of IPv6 as well, which ``check`` refuses: a default of the environment may be overruled."""
    try:
        return cast("IPv4Network", parse_cidr(given, strict=False))
    except ValueError as error:
        raise ValueError(_RANGE_EXPECTED) from error


def _check_range(given: IPv4Network) -> None:
    if given.version != 4:
        raise ValueError(_RANGE_EXPECTED)


def _read_selector(given: str) -> Selector:
    """As Kubernetes has it, nothing at all selects everything."""
    if not given.strip():
        return Selector("", ())
    try:
        return parse_selector(given)
    except ValueError as error:
        raise ValueError(f"{error}, separated by commas") from error


def _read_check_domain(given: str) -> str:
    if len(given) > 128 or set(given) & set(" %\\"):
        raise ValueError("expect at most 128 characters without blanks, % or \\")
    return given


def _read_path(given: str) -> str:
    if not 1 <= len(given) <= 256 or " " in given:
        raise ValueError("expect a path of 1 to 256 characters, blanks in it written as %20")
    return given


def _read_lenient_bool(given: str) -> bool:
    try:
        return parse_bool(given)
    except ValueError:
        return False


def _read_certificate_type(given: str) -> CertificateType:
    return CertificateType.MANAGED if given == CertificateType.MANAGED else CertificateType.UPLOADED


BOOL: Final = Grammar("boolean", parse_bool, kind=ValueKind.BOOLEAN)
LENIENT_BOOL: Final = Grammar("boolean; anything else is false", _read_lenient_bool, kind=ValueKind.BOOLEAN)
NAME: Final = Grammar("1 to 128 characters, no blank at either end", _read_name)
WORD: Final = Grammar("name", str)
HOST: Final = Grammar("host name, or nothing for no pointer", _read_host, longest=bounds.LONGEST_HOST)
DNS_NAME: Final = Grammar("host name in lower case", _read_dns_name, longest=bounds.LONGEST_HOST)
PRIMARY_IP: Final = Grammar("id or name of a Primary IP", _read_primary_ip)
ADDRESS: Final = Grammar("IPv4 address", _read_address, longest=bounds.LONGEST_ADDRESS)
RANGE: Final = Grammar("IPv4 range (CIDR)", _read_range, _check_range, bounds.LONGEST_RANGE)
SELECTOR: Final = Grammar("label selector", _read_selector, longest=bounds.LONGEST_SELECTOR)
CERTIFICATES: Final = list_of("ids or names", _read_certificate, bounds.MOST_CERTIFICATES)
CERTIFICATE_TYPE: Final = Grammar("`managed`; anything else is uploaded", _read_certificate_type)
DOMAINS: Final = list_of("domains", _read_domain, bounds.MOST_DOMAINS)
STATUS_CODES: Final = list_of("status codes with `?` and `*`", _read_status_code, bounds.MOST_STATUS_CODES)
CHECK_DOMAIN: Final = Grammar("up to 128 characters without blanks, `%` or `\\`", _read_check_domain)
PATH: Final = Grammar("path, 1 to 256 characters", _read_path)
RESERVED: Final = Grammar("reserved", str)
