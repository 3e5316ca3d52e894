"""How Go writes values, and what a person gets told who writes something else."""

from ipaddress import ip_network

import pytest

from desired.syntax.go import parse_bool, parse_cidr, parse_duration


@pytest.mark.parametrize("text", ["1", "t", "T", "TRUE", "true", "True"])
def test_true(text: str) -> None:
    """Go's six ways to say true."""
    assert parse_bool(text) is True


@pytest.mark.parametrize("text", ["0", "f", "F", "FALSE", "false", "False"])
def test_false(text: str) -> None:
    """Go's six ways to say false."""
    assert parse_bool(text) is False


@pytest.mark.parametrize("text", ["", "yes", "no", "on", "tRUE", "true ", "2", "-1"])
def test_no_boolean(text: str) -> None:
    """Nothing else is a boolean, and the error lists what is."""
    with pytest.raises(ValueError, match=r"^expect one of 1, t, T, TRUE, true, True, 0, f, F, FALSE, false, False$"):
        parse_bool(text)


@pytest.mark.parametrize(("text", "seconds"), [
    ("0", 0.0),
    ("-0", 0.0),
    ("+0", 0.0),
    ("0s", 0.0),
    ("30s", 30.0),
    ("+30s", 30.0),
    ("2m", 120.0),
    ("1h30m", 5400.0),
    ("1h5m3s", 3903.0),
    ("1.5h", 5400.0),
    (".5s", 0.5),
    ("1.s", 1.0),
    ("500ms", 0.5),
    ("300us", 3e-4),
    ("300\u00b5s", 3e-4),
    ("300\u03bcs", 3e-4),
    ("7ns", 7e-9),
    ("-1m30s", -90.0),
    ("1s1h", 3601.0),
])  # fmt: skip
def test_durations(text: str, seconds: float) -> None:
    assert parse_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    "text",
    ["", "5", "-", "+", ".", "s", "5 s", " 5s", "5s ", "1d", "5S", "1h-5m", "--5s", "00", "٣s", "1e3s", "5seconds"],
)
def test_no_duration(text: str) -> None:
    """A number without a unit, and whatever Go would refuse, is refused with an example."""
    with pytest.raises(ValueError, match="such as 30s, 1m30s or 500ms"):
        parse_duration(text)


@pytest.mark.parametrize("text", ["10.0.0.0/8", "10.0.0.5/32", "fd00::/8"])
def test_ranges(text: str) -> None:
    """An address with the length of its prefix."""
    assert parse_cidr(text) == ip_network(text)


@pytest.mark.parametrize("text", ["", "10.0.0.0", "10.0.0.1/24", "10.0.0.0/255.0.0.0", "10.0.0.0/33", " 10.0.0.0/8"])
def test_no_range(text: str) -> None:
    """A mask, a missing length and bits of a host are refused."""
    with pytest.raises(ValueError, match=r".+"):
        parse_cidr(text)


def test_host_bits_can_be_ignored() -> None:
    """Where Go's ``net.ParseCIDR`` is the measure, host bits are cut off."""
    assert parse_cidr("10.0.1.7/24", strict=False) == ip_network("10.0.1.0/24")
