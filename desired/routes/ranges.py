"""Which of many ranges overlap with one, without looking at each: thousands of pod CIDRs meet a hundred routes."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from ipaddress import IPv4Network

_BITS = 32


class Ranges:
    """Some ranges. Two of them overlap only where one contains the other, as ranges do."""

    def __init__(self, ranges: Iterable[IPv4Network]) -> None:
        self._ordered = sorted(set(ranges))
        self._starts = [int(each.network_address) for each in self._ordered]
        self._by_place = {(int(each.network_address), each.prefixlen): each for each in self._ordered}
        self._lengths = sorted({each.prefixlen for each in self._ordered})

    def overlapping(self, wanted: IPv4Network) -> list[IPv4Network]:
        """Those that have an address in common with ``wanted``: first what it is in, then what is in it, in order."""
        first, last = int(wanted.network_address), int(wanted.broadcast_address)
        around = []
        for length in self._lengths:
            start = first >> (_BITS - length) << (_BITS - length)
            if length < wanted.prefixlen and start != first and (start, length) in self._by_place:
                around.append(self._by_place[start, length])
        return [*around, *self._ordered[bisect_left(self._starts, first) : bisect_right(self._starts, last)]]
