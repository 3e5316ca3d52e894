"""Which ranges overlap."""

from ipaddress import IPv4Network

import pytest

from desired.routes.claims import Ranges

KNOWN = ("10.244.0.0/24", "10.244.1.0/25", "10.244.1.128/25", "10.244.4.0/22", "10.245.0.0/16", "172.16.0.0/12")


@pytest.mark.parametrize(
    ("wanted", "overlapping"),
    [
        pytest.param("10.244.0.0/24", ["10.244.0.0/24"], id="the same"),
        pytest.param("10.244.1.0/24", ["10.244.1.0/25", "10.244.1.128/25"], id="two within it"),
        pytest.param("10.244.5.0/24", ["10.244.4.0/22"], id="within one"),
        pytest.param("10.244.4.0/24", ["10.244.4.0/22"], id="at the beginning of one"),
        pytest.param("10.244.7.0/24", ["10.244.4.0/22"], id="at its end"),
        pytest.param("10.244.2.0/24", [], id="between"),
        pytest.param("10.244.8.0/24", [], id="right after one"),
        pytest.param("9.0.0.0/8", [], id="before all"),
        pytest.param("192.168.0.0/16", [], id="after all"),
        pytest.param("10.0.0.0/8", list(KNOWN[:5]), id="around many"),
        pytest.param("0.0.0.0/0", list(KNOWN), id="everything"),
        pytest.param("172.31.1.1/32", ["172.16.0.0/12"], id="one address"),
    ],
)
def test_overlapping(wanted: str, overlapping: list[str]) -> None:
    """What has an address in common, in the order of addresses."""
    ranges = Ranges(map(IPv4Network, KNOWN))

    assert list(map(str, ranges.overlapping(IPv4Network(wanted)))) == overlapping


def test_ranges_within_each_other() -> None:
    """The wide ones come first."""
    nested = [IPv4Network(f"10.0.0.0/{length}") for length in (24, 8, 16)]

    assert Ranges(nested).overlapping(IPv4Network("10.0.0.128/25")) == [
        IPv4Network("10.0.0.0/8"),
        IPv4Network("10.0.0.0/16"),
        IPv4Network("10.0.0.0/24"),
    ]


def test_nothing_overlaps_with_nothing() -> None:
    """Neither is anything found among no ranges."""
    assert Ranges(()).overlapping(IPv4Network("0.0.0.0/0")) == []


def test_each_is_as_asking_all_of_them() -> None:
    """Short ways lead to the same place."""
    some = [IPv4Network((start << 26, length)) for start in range(0, 64, 3) for length in (6, 7, 9)]
    ranges = Ranges(some)
    for wanted in (IPv4Network((start << 24, length)) for start in range(256) for length in (8, 10, 32)):
        assert set(ranges.overlapping(wanted)) == {each for each in some if each.overlaps(wanted)}
