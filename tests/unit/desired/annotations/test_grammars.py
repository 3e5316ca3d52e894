"""How values of annotations are written: what means what, and what a person gets told who writes something else."""

from ipaddress import ip_address, ip_network
from typing import Any

import pytest

from desired.annotations.choices import Algorithm, CertificateType, Protocol
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
    RANGE,
    SELECTOR,
    STATUS_CODES,
    Grammar,
    integer,
    list_of,
    one_of,
    seconds,
    text,
)
from desired.syntax.selector import Selector, parse_selector
from tests.support.rows import rows

INTERVAL = seconds(3, 60)
ALGORITHM = one_of(Algorithm, blanks=True)
PROTOCOL = one_of(Protocol)
LONG = "x" * 63


@rows("grammar written value", {
    "bool": (BOOL, "T", True),
    "lenient-bool-of-another-kind": (LENIENT_BOOL, "yes", False),
    "lenient-bool-of-nothing": (LENIENT_BOOL, "", False),
    "number-with-a-sign": (integer(1, 5), "+3", 3),
    "number-with-zeros": (integer(1, 5), "003", 3),
    "duration-at-the-upper-end": (INTERVAL, "1m", 60),
    "what-is-beyond-whole-seconds-is-cut-off": (INTERVAL, "3500ms", 3),
    "no-digit-is-lost": (INTERVAL, "3000000000ns", 3),
    "algorithm-with-blanks": (ALGORITHM, " ROUND_ROBIN\n", Algorithm.ROUND_ROBIN),
    "protocol-upper-case": (PROTOCOL, "HTTP", Protocol.HTTP),
    "text-with-blanks": (text(1, 3), " a ", " a "),
    "name-with-capitals-and-a-blank-inside": (NAME, "Web_1 front", "Web_1 front"),
    "longest-name": (NAME, "x" * 128, "x" * 128),
    "host-with-an-underscore-and-a-last-dot": (HOST, "web_1.example.com.", "web_1.example.com."),
    "no-host": (HOST, "", ""),
    "address-with-blanks": (ADDRESS, " 10.0.0.5 ", ip_address("10.0.0.5")),
    "range-with-bits-of-a-host": (RANGE, "10.0.1.7/24", ip_network("10.0.1.0/24")),
    "selector-that-compares": (SELECTOR, "a > 3, b<7", parse_selector("a > 3, b<7")),
    "everything": (SELECTOR, "", Selector("", ())),
    "everything-in-blanks": (SELECTOR, "  ", Selector("", ())),
    "certificates-as-go-reads-numbers": (CERTIFICATES, "+12,007", (12, 7)),
    "zero-is-a-name": (CERTIFICATES, "0,-0", ("0", "-0")),
    "certificates-once-each": (CERTIFICATES, "a,12,a,012", ("a", 12)),
    "largest-id-with-a-sign": (CERTIFICATES, "+9223372036854775807", (2**63 - 1,)),
    "too-large-an-id-is-a-name": (CERTIFICATES, "9223372036854775808", ("9223372036854775808",)),
    "and-a-huge-one-as-well": (CERTIFICATES, "9" * 5000, ("9" * 5000,)),
    "managed-is-written-small": (CERTIFICATE_TYPE, "Managed", CertificateType.UPLOADED),
    "uploaded": (CERTIFICATE_TYPE, "", CertificateType.UPLOADED),
    "domains": (DOMAINS, "example.com, *.example.com", ("example.com", "*.example.com")),
    "status-codes": (STATUS_CODES, "200,2??,3*,*", ("200", "2??", "3*", "*")),
    "no-host-header": (CHECK_DOMAIN, "", ""),
    "path": (PATH, "/health%20z?x=1", "/health%20z?x=1"),
})  # fmt: skip
def test_values(grammar: Grammar[Any], written: str, value: Any) -> None:
    found = grammar.parse(written)
    assert (found, type(found)) == (value, type(value))


NO_DURATION = "expect a duration with a unit, such as 30s, 1m30s or 500ms"
NO_BOOL = "expect one of 1, t, T, TRUE, true, True, 0, f, F, FALSE, false, False"
NO_HOST = "expect a host name such as www.example.com, or nothing for no pointer"
NO_DNS_NAME = "expect a host name in lower case such as www.example.com, as no status may have another"
NO_DOMAIN = "is no domain; expect domains such as example.com,*.example.com"
NO_REQUIREMENT = (
    "'a b' is no requirement: expect key, !key, key=value, key!=value, key in (a,b), key>1, separated by commas"
)
NO_NUMBER, NO_INTERVAL = "expect a number from 1 to 5", "expect a duration from 3s to 60s"
NO_ADDRESS, NO_RANGE = "expect an IPv4 address such as 10.0.0.5", "expect an IPv4 range such as 10.0.1.0/24"
NO_LIST = "expect items separated by commas, none of them empty"


@rows("grammar written said", {
    "bool-with-a-blank": (BOOL, " true", NO_BOOL),
    "number-too-small": (integer(1, 5), "0", NO_NUMBER),
    "number-too-large": (integer(1, 5), "6", NO_NUMBER),
    "number-without-end": (integer(1, 5), "9" * 18, NO_NUMBER),
    "number-of-another-script": (integer(1, 5), "\u0663", NO_NUMBER),
    "duration-without-a-unit": (INTERVAL, "10", f"{NO_DURATION} (did you mean 10s?)"),
    "duration-zero": (INTERVAL, "0", NO_INTERVAL),
    "duration-negative": (INTERVAL, "-5s", NO_INTERVAL),
    "duration-too-short": (INTERVAL, "1500ms", NO_INTERVAL),
    "duration-too-long": (INTERVAL, "61s", NO_INTERVAL),
    "duration-without-end": (INTERVAL, "9" * 63 + "h", "expect a shorter duration, of at most 277778h"),
    "protocol-with-a-blank": (PROTOCOL, " tcp", "expect one of tcp, http, https"),
    "text-too-short": (text(1, 3), "", "expect 1 to 3 characters"),
    "text-too-long": (text(1, 3), "abcd", "expect 1 to 3 characters"),
    "name-too-long": (NAME, "x" * 129, "expect 1 to 128 characters without a blank at either end"),
    "name-of-two-lines": (NAME, "a\nb", "expect 1 to 128 characters without a blank at either end"),
    "host-with-an-empty-part": (HOST, "a..b", NO_HOST),
    "host-that-starts-with-a-dash": (HOST, "-a.example.com", NO_HOST),
    "host-with-a-part-too-long": (HOST, f"x{LONG}.example.com", NO_HOST),
    "host-too-long": (HOST, ".".join([LONG] * 4), NO_HOST),
    "host-with-an-umlaut": (HOST, "münchen.example.com", NO_HOST),
    "dns-name-with-a-capital": (DNS_NAME, "Www.example.com", NO_DNS_NAME),
    "dns-name-that-is-an-address": (DNS_NAME, "10.0.0.1", NO_DNS_NAME),
    "dns-name-with-a-last-dot": (DNS_NAME, "a.", NO_DNS_NAME),
    "dns-name-too-long": (DNS_NAME, ".".join([LONG] * 4), NO_DNS_NAME),
    "address-cut-short": (ADDRESS, "10.0.0", NO_ADDRESS),
    "address-with-a-zero": (ADDRESS, "10.0.0.05", NO_ADDRESS),
    "address-of-the-other-family": (ADDRESS, "fd00::1", NO_ADDRESS),
    "range-without-a-length": (RANGE, "10.0.1.0", NO_RANGE),
    "range-too-small": (RANGE, "10.0.1.0/33", NO_RANGE),
    "range-of-the-other-family": (RANGE, "fd00::/8", NO_RANGE),
    "selector": (SELECTOR, "a b", NO_REQUIREMENT),
    "certificates-with-a-gap": (CERTIFICATES, "12,,13", NO_LIST),
    "negative-id": (CERTIFICATES, "-5", "'-5' is no certificate; expect ids or names"),
    "domain-with-a-blank": (DOMAINS, "example.com,a b", f"'a b' {NO_DOMAIN}"),
    "domain-too-long": (DOMAINS, "*." + ".".join([LONG] * 4), f"'*.{LONG}.{'x' * 14}...' {NO_DOMAIN}"),
    "star": (DOMAINS, "*.", f"'*.' {NO_DOMAIN}"),
    "status-code-of-letters": (STATUS_CODES, "ok", "'ok' is no status code; expect codes such as 200,2??,3*"),
    "too-many-status-codes": (STATUS_CODES, ",".join(map(str, range(200, 221))),
        "expect at most 20 items, and this has 21"),
    "too-long": (CHECK_DOMAIN, "x" * 129, "expect at most 128 characters without blanks, % or \\"),
    "path": (PATH, "/a b", "expect a path of 1 to 256 characters, blanks in it written as %20"),
})  # fmt: skip
def test_no_values(grammar: Grammar[Any], written: str, said: str) -> None:
    with pytest.raises(ValueError, match=r".") as refused:
        grammar.parse(written)
    assert str(refused.value) == said


def test_names_say_the_range() -> None:
    assert integer(1, 5).name == "number, 1 to 5"
    assert INTERVAL.name == "duration, 3s to 60s"
    assert list_of("things", str, most=2).name == "list of things, at most 2"
    assert PROTOCOL.name == "`tcp`, `http`, `https`"
