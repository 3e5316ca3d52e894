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
from tests.support.rows import rows

LARGEST = 2**63 - 1


@rows("text expected", {
    "cloud": ("hcloud://1", CloudID(1)),
    "cloud-largest": (f"hcloud://{LARGEST}", CloudID(LARGEST)),
    "robot": ("hrobot://321", RobotID(321)),
    "robot-of-the-fork": ("hcloud://bm-12", RobotID(12, legacy=True)),
    "other-cloud": ("talos://x", ForeignID("talos://x")),
    "k3s": ("k3s://web-1", ForeignID("k3s://web-1")),
    "aws": ("aws:///eu-central-1a/i-1", ForeignID("aws:///eu-central-1a/i-1")),
    "prefix-is-case-sensitive": ("HCLOUD://1", ForeignID("HCLOUD://1")),
    "blank-in-front": (" hcloud://1", ForeignID(" hcloud://1")),
    "one-slash": ("hcloud:/1", ForeignID("hcloud:/1")),
    "empty": ("", ForeignID("")),
})  # fmt: skip
def test_parse(text: str, expected: ProviderID) -> None:
    """A providerID refers to a cloud server, a Robot server or something that is not ours."""
    assert parse_provider_id(text) == expected


@pytest.mark.parametrize("text", ["hcloud://", "hcloud://bm-", "hrobot://"])
def test_missing_number(text: str) -> None:
    """A prefix of ours with nothing behind it is malformed and says so."""
    assert parse_provider_id(text) == MalformedID(text, f"providerID {text!r} is missing a server id")


@rows("prefix rest", {
    "letters": ("hcloud://", "abc"),
    "negative": ("hcloud://", "-1"),
    "negative-that-HCCM-takes-for-a-deleted-server": ("hcloud://", "-5"),
    "plus-sign": ("hcloud://", "+5"),
    "padding": ("hcloud://", "007"),
    "zero": ("hcloud://", "0"),
    "repeated-prefix": ("hcloud://", "hcloud://5"),
    "one-above-the-largest": ("hcloud://", "9223372036854775808"),
    "fraction": ("hcloud://", "1.5"),
    "underscore": ("hcloud://", "1_000"),
    "blank-behind": ("hcloud://", "1 "),
    "line-end-behind": ("hcloud://", "1\n"),
    "digit-of-another-script": ("hcloud://", "\u0661"),
    "fork-prefix-is-case-sensitive": ("hcloud://", "BM-1"),
    "fork-letters": ("hcloud://bm-", "x"),
    "fork-negative": ("hcloud://bm-", "-1"),
    "robot-letters": ("hrobot://", "x"),
    "robot-padding": ("hrobot://", "01"),
})  # fmt: skip
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


@rows("provider_id expected", {
    "cloud": (CloudID(1), "hcloud://1"),
    "robot": (RobotID(321), "hrobot://321"),
    "robot-of-the-fork": (RobotID(12, legacy=True), "hcloud://bm-12"),
})  # fmt: skip
def test_format(provider_id: CloudID | RobotID, expected: str) -> None:
    """Formatting gives the text that parses to the same value."""
    assert format_provider_id(provider_id) == expected
    assert parse_provider_id(expected) == provider_id
