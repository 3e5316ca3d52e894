"""Paths to a wish: whatever people asked for before, a Service ends as the last wish has it (Acto's law).

A wish is a set of annotations of the Service ``web``. Every single one of the table, and every pair of them, is
reached at once and by way of others.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from itertools import combinations

from tests.campaign.cluster import Cluster, Step
from tests.campaign.running import play
from tests.campaign.workloads import Workload
from tests.support.world import World

Wish = Mapping[str, str]
"""Option → its text."""
VALUES: Mapping[str, tuple[str, ...]] = {
    "name": ("shop",),
    "type": ("lb21",),
    "algorithm_type": ("least_connections",),
    "use_private_ip": ("true",),
    "private_ipv4": ("10.0.0.77",),
    "disable_private_ingress": ("true",),
    "disable_public_network": ("true",),
    "hostname": ("shop.example.com",),
    "uses_proxyprotocol": ("true",),
    "protocol": ("http",),
    "health_check_protocol": ("http", "tcp"),
    "health_check_interval": ("7s",),
    "health_check_retries": ("5",),
    "health_check_http_path": ("/healthz",),
    "http_sticky_sessions": ("true",),
    "node_selector": ("example.com/team=blue", "none=such"),
    "deletion_policy": ("retain",),
    "ipv6_disabled": ("true",),
}
"""Values of options that a Service may ask for, and one that no Node has."""
KEPT = (
    "name",
    "type",
    "algorithm_type",
    "uses_proxyprotocol",
    "disable_public_network",
    "http_sticky_sessions",
    "health_check_interval",
    "health_check_retries",
    "health_check_http_path",
)
"""Options that stay as they are when nobody asks for them any more (docs/load-balancers.md)."""

_CONTRADICTION: Wish = {"disable_public_network": "true", "node_selector": "none=such"}
"""Without public interface and use-private-ip no target is reached: what is there stays, public or not, until nothing
needs it, so that it depends on what was there (``tests/unit/desired/load_balancers/test_desired.py``)."""
_IS_CHECKED = {"health_check_interval", "health_check_retries"}
"""With any of these health checks speak what the port speaks, and TCP without; the values stay, and the protocol goes
back."""


class Path(tuple[Wish, ...]):
    """Wishes, one after the other."""

    __slots__ = ()

    def __str__(self) -> str:
        return " -> ".join(", ".join(f"{key}={text}" for key, text in wish.items()) or "nothing" for wish in self)


def singles() -> Iterator[Wish]:
    """Each value of each option."""
    for option, values in VALUES.items():
        for value in values:
            yield {option: value}


def pairs() -> Iterator[Wish]:
    """Two options at once, with each of their values."""
    for one, other in combinations(singles(), 2):
        if one.keys() != other.keys():
            yield {**one, **other}


def paths() -> Iterator[Path]:
    """There and back; each pair at once; one after the other in both orders; and a wish that is reached by another."""
    for wish in singles():
        yield Path(({}, wish, {}))
    for wish in pairs():
        (one, other) = ({key: text} for key, text in wish.items())
        yield Path((wish,))
        yield Path((one, wish))
        yield Path((other, wish))
        is_unmeasured = wish == _CONTRADICTION
        if not is_unmeasured:
            yield Path((one, other))
        if not is_unmeasured and (not _IS_CHECKED & wish.keys() or "protocol" not in wish):
            yield Path((wish, one))


def differing(path: Path) -> list[str]:
    """What of the end state depends on the way."""
    kept = {option: text for wish in path for option, text in wish.items() if option in KEPT}
    found, direct = _reached(path), _direct(tuple(sorted({**kept, **path[-1]}.items())))
    return [f"{part}: {found[part]}, not {wanted}" for part, wanted in direct.items() if found[part] != wanted]


@cache
def _direct(wish: tuple[tuple[str, str], ...]) -> Mapping[str, object]:
    return _reached(Path((dict(wish),)))


def _reached(path: Path) -> Mapping[str, object]:
    steps: list[Step] = []
    asked: dict[str, str | None] = {}
    for wish in path:
        asked = {**dict.fromkeys(asked), **wish}
        steps += [
            _asking(dict(asked)),
            Cluster.approve,
            Cluster.approve,
        ]  # what is let through may be held by another guard then
    return play(Workload("paths", tuple(steps))).found


def _asking(options: Mapping[str, str | None]) -> Step:
    def step(world: World) -> None:
        world.annotate("web", **options)

    return step
