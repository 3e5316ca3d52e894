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
    WORD,
    Grammar,
    integer,
    list_of,
    one_of,
    seconds,
    text,
)
from desired.syntax.selector import Selector, parse_selector

INTERVAL = seconds(3, 60)
ALGORITHM = one_of(Algorithm, blanks=True)
PROTOCOL = one_of(Protocol)
LONG = "x" * 63


@pytest.mark.parametrize(
    ("grammar", "written", "value"),
    [
        pytest.param(BOOL, "T", True, id="bool"),
        pytest.param(LENIENT_BOOL, "true", True, id="lenient-bool"),
        pytest.param(LENIENT_BOOL, "yes", False, id="lenient-bool-of-another-kind"),
        pytest.param(LENIENT_BOOL, "", False, id="lenient-bool-of-nothing"),
        pytest.param(integer(1, 5), "3", 3, id="number"),
        pytest.param(integer(1, 5), "+3", 3, id="number-with-a-sign"),
        pytest.param(integer(1, 5), "003", 3, id="number-with-zeros"),
        pytest.param(INTERVAL, "10s", 10, id="duration"),
        pytest.param(INTERVAL, "1m", 60, id="duration-at-the-upper-end"),
        pytest.param(INTERVAL, "3500ms", 3, id="what-is-beyond-whole-seconds-is-cut-off"),
        pytest.param(INTERVAL, "3000000000ns", 3, id="no-digit-is-lost"),
        pytest.param(ALGORITHM, "Least_Connections", Algorithm.LEAST_CONNECTIONS, id="algorithm-upper-case"),
        pytest.param(ALGORITHM, " ROUND_ROBIN\n", Algorithm.ROUND_ROBIN, id="algorithm-with-blanks"),
        pytest.param(PROTOCOL, "HTTP", Protocol.HTTP, id="protocol-upper-case"),
        pytest.param(text(1, 3), " a ", " a ", id="text-with-blanks"),
        pytest.param(WORD, " lb11", " lb11", id="word-as-it-is"),
        pytest.param(NAME, "Web_1 front", "Web_1 front", id="name-with-capitals-and-a-blank-inside"),
        pytest.param(NAME, "x" * 128, "x" * 128, id="longest-name"),
        pytest.param(HOST, "www.example.com", "www.example.com", id="host"),
        pytest.param(HOST, "web_1.example.com.", "web_1.example.com.", id="host-with-an-underscore-and-a-last-dot"),
        pytest.param(HOST, "", "", id="no-host"),
        pytest.param(DNS_NAME, "www.example.com", "www.example.com", id="dns-name"),
        pytest.param(DNS_NAME, "", "", id="no-dns-name"),
        pytest.param(ADDRESS, "10.0.0.5", ip_address("10.0.0.5"), id="address"),
        pytest.param(ADDRESS, " 10.0.0.5 ", ip_address("10.0.0.5"), id="address-with-blanks"),
        pytest.param(RANGE, "10.0.1.0/24", ip_network("10.0.1.0/24"), id="range"),
        pytest.param(RANGE, "10.0.1.7/24", ip_network("10.0.1.0/24"), id="range-with-bits-of-a-host"),
        pytest.param(SELECTOR, "a=b,c in (d,e)", parse_selector("a=b,c in (d,e)"), id="selector"),
        pytest.param(SELECTOR, "a > 3, b<7", parse_selector("a > 3, b<7"), id="selector-that-compares"),
        pytest.param(SELECTOR, "", Selector("", ()), id="everything"),
        pytest.param(SELECTOR, "  ", Selector("", ()), id="everything-in-blanks"),
        pytest.param(CERTIFICATES, "12, name", (12, "name"), id="certificates-by-id-and-name"),
        pytest.param(CERTIFICATES, "+12,007", (12, 7), id="certificates-as-go-reads-numbers"),
        pytest.param(CERTIFICATES, "0,-0", ("0", "-0"), id="zero-is-a-name"),
        pytest.param(CERTIFICATES, "a,12,a,012", ("a", 12), id="certificates-once-each"),
        pytest.param(CERTIFICATES, "9223372036854775807", (2**63 - 1,), id="largest-id"),
        pytest.param(CERTIFICATES, "+9223372036854775807", (2**63 - 1,), id="largest-id-with-a-sign"),
        pytest.param(CERTIFICATES, "9223372036854775808", ("9223372036854775808",), id="too-large-an-id-is-a-name"),
        pytest.param(CERTIFICATES, "9" * 5000, ("9" * 5000,), id="and-a-huge-one-as-well"),
        pytest.param(CERTIFICATE_TYPE, "managed", CertificateType.MANAGED, id="managed"),
        pytest.param(CERTIFICATE_TYPE, "Managed", CertificateType.UPLOADED, id="managed-is-written-small"),
        pytest.param(CERTIFICATE_TYPE, "", CertificateType.UPLOADED, id="uploaded"),
        pytest.param(DOMAINS, "example.com, *.example.com", ("example.com", "*.example.com"), id="domains"),
        pytest.param(STATUS_CODES, "200,2??,3*,*", ("200", "2??", "3*", "*"), id="status-codes"),
        pytest.param(CHECK_DOMAIN, "", "", id="no-host-header"),
        pytest.param(CHECK_DOMAIN, "x" * 128, "x" * 128, id="longest-host-header"),
        pytest.param(PATH, "/", "/", id="shortest-path"),
        pytest.param(PATH, "/health%20z?x=1", "/health%20z?x=1", id="path"),
    ],
)
def test_values(grammar: Grammar[Any], written: str, value: Any) -> None:
    """What is written means this, and is of this type."""
    found = grammar.parse(written)

    assert (found, type(found)) == (value, type(value))


NO_DURATION = "expect a duration with a unit, such as 30s, 1m30s or 500ms"
NO_BOOL = "expect one of 1, t, T, TRUE, true, True, 0, f, F, FALSE, false, False"
NO_HOST = "expect a host name such as www.example.com, or nothing for no pointer"
NO_DNS_NAME = "expect a host name in lower case such as www.example.com, as no status may have another"
NO_LIST = "expect items separated by commas, none of them empty"


@pytest.mark.parametrize(
    ("grammar", "written", "said"),
    [
        pytest.param(BOOL, "yes", NO_BOOL, id="bool-yes"),
        pytest.param(BOOL, " true", NO_BOOL, id="bool-with-a-blank"),
        pytest.param(BOOL, "", NO_BOOL, id="bool-empty"),
        pytest.param(integer(1, 5), "3.0", "expect a number from 1 to 5", id="number-with-a-point"),
        pytest.param(integer(1, 5), "0", "expect a number from 1 to 5", id="number-too-small"),
        pytest.param(integer(1, 5), "6", "expect a number from 1 to 5", id="number-too-large"),
        pytest.param(integer(1, 5), "9" * 18, "expect a number from 1 to 5", id="number-without-end"),
        pytest.param(integer(1, 5), "\u0663", "expect a number from 1 to 5", id="number-of-another-script"),
        pytest.param(INTERVAL, "10", f"{NO_DURATION}; did you mean 10s?", id="duration-without-a-unit"),
        pytest.param(INTERVAL, "", NO_DURATION, id="duration-empty"),
        pytest.param(INTERVAL, "0", "expect a duration from 3s to 60s", id="duration-zero"),
        pytest.param(INTERVAL, "-5s", "expect a duration from 3s to 60s", id="duration-negative"),
        pytest.param(INTERVAL, "1500ms", "expect a duration from 3s to 60s", id="duration-too-short"),
        pytest.param(INTERVAL, "61s", "expect a duration from 3s to 60s", id="duration-too-long"),
        pytest.param(
            INTERVAL, "9" * 63 + "h", "expect a shorter duration, of at most 277778h", id="duration-without-end"
        ),
        pytest.param(PROTOCOL, "udp", "expect one of tcp, http, https", id="another-protocol"),
        pytest.param(PROTOCOL, " tcp", "expect one of tcp, http, https", id="protocol-with-a-blank"),
        pytest.param(ALGORITHM, "", "expect one of round_robin, least_connections", id="algorithm-empty"),
        pytest.param(text(1, 3), "", "expect 1 to 3 characters", id="text-too-short"),
        pytest.param(text(1, 3), "abcd", "expect 1 to 3 characters", id="text-too-long"),
        pytest.param(NAME, " x", "expect 1 to 128 characters without a blank at either end", id="name-with-a-blank"),
        pytest.param(NAME, "x" * 129, "expect 1 to 128 characters without a blank at either end", id="name-too-long"),
        pytest.param(NAME, "a\nb", "expect 1 to 128 characters without a blank at either end", id="name-of-two-lines"),
        pytest.param(HOST, "a b", NO_HOST, id="host-with-a-blank"),
        pytest.param(HOST, "a..b", NO_HOST, id="host-with-an-empty-part"),
        pytest.param(HOST, "-a.example.com", NO_HOST, id="host-that-starts-with-a-dash"),
        pytest.param(HOST, f"x{LONG}.example.com", NO_HOST, id="host-with-a-part-too-long"),
        pytest.param(HOST, ".".join([LONG] * 4), NO_HOST, id="host-too-long"),
        pytest.param(HOST, "münchen.example.com", NO_HOST, id="host-with-an-umlaut"),
        pytest.param(DNS_NAME, "Www.example.com", NO_DNS_NAME, id="dns-name-with-a-capital"),
        pytest.param(DNS_NAME, "10.0.0.1", NO_DNS_NAME, id="dns-name-that-is-an-address"),
        pytest.param(DNS_NAME, "a.", NO_DNS_NAME, id="dns-name-with-a-last-dot"),
        pytest.param(DNS_NAME, ".".join([LONG] * 4), NO_DNS_NAME, id="dns-name-too-long"),
        pytest.param(ADDRESS, "10.0.0", "expect an IPv4 address such as 10.0.0.5", id="address-cut-short"),
        pytest.param(ADDRESS, "10.0.0.05", "expect an IPv4 address such as 10.0.0.5", id="address-with-a-zero"),
        pytest.param(ADDRESS, "fd00::1", "expect an IPv4 address such as 10.0.0.5", id="address-of-the-other-family"),
        pytest.param(ADDRESS, " ", "expect an IPv4 address such as 10.0.0.5", id="address-of-blanks"),
        pytest.param(RANGE, "10.0.1.0", "expect an IPv4 range such as 10.0.1.0/24", id="range-without-a-length"),
        pytest.param(RANGE, "10.0.1.0/33", "expect an IPv4 range such as 10.0.1.0/24", id="range-too-small"),
        pytest.param(RANGE, "fd00::/8", "expect an IPv4 range such as 10.0.1.0/24", id="range-of-the-other-family"),
        pytest.param(
            SELECTOR,
            "a b",
            "'a b' is no requirement: expect key, !key, key=value, key!=value, key in (a,b), key>1, separated by"
            " commas",
            id="selector",
        ),
        pytest.param(CERTIFICATES, "", NO_LIST, id="certificates-empty"),
        pytest.param(CERTIFICATES, "12,,13", NO_LIST, id="certificates-with-a-gap"),
        pytest.param(CERTIFICATES, "-5", "'-5' is no certificate; expect ids or names", id="negative-id"),
        pytest.param(
            DOMAINS,
            "example.com,a b",
            "'a b' is no domain; expect domains such as example.com,*.example.com",
            id="domain-with-a-blank",
        ),
        pytest.param(
            DOMAINS,
            "*." + ".".join([LONG] * 4),
            f"'*.{LONG}.{'x' * 14}...' is no domain; expect domains such as example.com,*.example.com",
            id="domain-too-long",
        ),
        pytest.param(DOMAINS, "*.", "'*.' is no domain; expect domains such as example.com,*.example.com", id="star"),
        pytest.param(
            STATUS_CODES, "ok", "'ok' is no status code; expect codes such as 200,2??,3*", id="status-code-of-letters"
        ),
        pytest.param(
            STATUS_CODES,
            ",".join(map(str, range(200, 221))),
            "expect at most 20 items, and this has 21",
            id="too-many-status-codes",
        ),
        pytest.param(CHECK_DOMAIN, "a b", "expect at most 128 characters without blanks, % or \\", id="host-header"),
        pytest.param(CHECK_DOMAIN, "x" * 129, "expect at most 128 characters without blanks, % or \\", id="too-long"),
        pytest.param(PATH, "", "expect a path of 1 to 256 characters, blanks in it written as %20", id="no-path"),
        pytest.param(PATH, "/a b", "expect a path of 1 to 256 characters, blanks in it written as %20", id="path"),
    ],
)
def test_no_values(grammar: Grammar[Any], written: str, said: str) -> None:
    """What means nothing is refused with what was expected."""
    with pytest.raises(ValueError, match=r".") as refused:
        grammar.parse(written)

    assert str(refused.value) == said


def test_names_say_the_range() -> None:
    """People read of a range where they read of the grammar."""
    assert integer(1, 5).name == "number, 1 to 5"
    assert INTERVAL.name == "duration, 3s to 60s"
    assert list_of("things", str, most=2).name == "list of things, at most 2"
    assert PROTOCOL.name == "`tcp`, `http`, `https`"
