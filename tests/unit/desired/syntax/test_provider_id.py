"""Provider ids and their strict grammar."""

import pytest

from desired.syntax.provider_id import (
    CloudID,
    ForeignID,
    MalformedID,
    ProviderID,
    RobotID,
    format_provider_id,
    parse_provider_id,
)

LARGEST = 2**63 - 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("hcloud://1", CloudID(1), id="cloud"),
        pytest.param(f"hcloud://{LARGEST}", CloudID(LARGEST), id="cloud-largest"),
        pytest.param("hrobot://321", RobotID(321), id="robot"),
        pytest.param("hcloud://bm-12", RobotID(12, legacy=True), id="robot-of-the-fork"),
        pytest.param("talos://x", ForeignID("talos://x"), id="other-cloud"),
        pytest.param("k3s://web-1", ForeignID("k3s://web-1"), id="k3s"),
        pytest.param("aws:///eu-central-1a/i-1", ForeignID("aws:///eu-central-1a/i-1"), id="aws"),
        pytest.param("HCLOUD://1", ForeignID("HCLOUD://1"), id="prefix-is-case-sensitive"),
        pytest.param(" hcloud://1", ForeignID(" hcloud://1"), id="blank-in-front"),
        pytest.param("hcloud:/1", ForeignID("hcloud:/1"), id="one-slash"),
        pytest.param("", ForeignID(""), id="empty"),
    ],
)
def test_parse(text: str, expected: ProviderID) -> None:
    """A providerID refers to a cloud server, a Robot server or something that is not ours."""
    assert parse_provider_id(text) == expected


@pytest.mark.parametrize("text", ["hcloud://", "hcloud://bm-", "hrobot://"])
def test_missing_number(text: str) -> None:
    """A prefix of ours with nothing behind it is malformed and says so."""
    assert parse_provider_id(text) == MalformedID(text, f"providerID {text!r} is missing a server id")


@pytest.mark.parametrize(
    ("prefix", "rest"),
    [
        pytest.param("hcloud://", "abc", id="letters"),
        pytest.param("hcloud://", "-1", id="negative"),
        pytest.param("hcloud://", "-5", id="negative-that-HCCM-takes-for-a-deleted-server"),
        pytest.param("hcloud://", "+5", id="plus-sign"),
        pytest.param("hcloud://", "007", id="padding"),
        pytest.param("hcloud://", "0", id="zero"),
        pytest.param("hcloud://", "hcloud://5", id="repeated-prefix"),
        pytest.param("hcloud://", "9223372036854775808", id="one-above-the-largest"),
        pytest.param("hcloud://", "1.5", id="fraction"),
        pytest.param("hcloud://", "1_000", id="underscore"),
        pytest.param("hcloud://", "1 ", id="blank-behind"),
        pytest.param("hcloud://", "1\n", id="line-end-behind"),
        pytest.param("hcloud://", "\u0661", id="digit-of-another-script"),
        pytest.param("hcloud://", "BM-1", id="fork-prefix-is-case-sensitive"),
        pytest.param("hcloud://bm-", "x", id="fork-letters"),
        pytest.param("hcloud://bm-", "-1", id="fork-negative"),
        pytest.param("hrobot://", "x", id="robot-letters"),
        pytest.param("hrobot://", "01", id="robot-padding"),
    ],
)
def test_malformed_number(prefix: str, rest: str) -> None:
    """Whatever is no positive decimal 64-bit number behind a prefix of ours is malformed, never absent."""
    text = prefix + rest
    why = f"providerID {text!r}: {rest!r} is no server id (a positive decimal number)"
    assert parse_provider_id(text) == MalformedID(text, why)


def test_a_number_that_is_too_long_is_not_read() -> None:
    """Python refuses to convert thousands of digits; nobody looks at them, and nobody reads them in a message."""
    text = f"hcloud://{'1' * 5000}"
    why = f"providerID '{text[:80]}...' (5009 characters) has no server id (a positive decimal number)"
    assert parse_provider_id(text) == MalformedID(text, why)


@pytest.mark.parametrize(
    ("provider_id", "expected"),
    [
        pytest.param(CloudID(1), "hcloud://1", id="cloud"),
        pytest.param(RobotID(321), "hrobot://321", id="robot"),
        pytest.param(RobotID(12, legacy=True), "hcloud://bm-12", id="robot-of-the-fork"),
    ],
)
def test_format(provider_id: CloudID | RobotID, expected: str) -> None:
    """Formatting gives the text that parses to the same value."""
    assert format_provider_id(provider_id) == expected
    assert parse_provider_id(expected) == provider_id
