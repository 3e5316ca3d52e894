"""Paths to a wish: whatever people asked for before, a cluster ends as the last wish has it (Acto's law).

A wish is what people set: annotations of the Service ``web``, settings of the product, labels of the Node ``web-3``.
Every single one of the table is reached from each of six worlds, and every pair of them at once and by way of others.
On the way whatever serves goes on serving, is held, or was given up by exactly what was asked for.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import combinations
from types import MappingProxyType

from tests.campaign.cluster import Cluster, Step
from tests.campaign.running import Outcome, play
from tests.campaign.workloads import ADOPT_IDLE, EXCLUDED, SECURE, Workload, install

Wish = Mapping[str, str]
"""Option of ``web``, variable, or key of a label of ``web-3`` → its text."""
ANNOTATIONS: Mapping[str, tuple[str, ...]] = {
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
_LB = "HCLOUD_LOAD_BALANCERS_"
SETTINGS: Mapping[str, tuple[str, ...]] = {
    f"{_LB}ALGORITHM_TYPE": ("least_connections",),
    f"{_LB}USE_PRIVATE_IP": ("true",),
    f"{_LB}DISABLE_PRIVATE_INGRESS": ("true",),
    f"{_LB}DISABLE_PUBLIC_NETWORK": ("true",),
    f"{_LB}DISABLE_IPV6": ("true",),
    f"{_LB}HEALTH_CHECK_INTERVAL": ("9s",),
    "HCLOUD_NETWORK_ROUTES_ENABLED": ("false",),
}
LABELS: Mapping[str, tuple[str, ...]] = {EXCLUDED: ("true",), "example.com/team": ("red",)}
"""One keeps traffic away from the Node, and a selector of the table leaves out what has the other."""
HAD = {"example.com/team": "blue"}
"""What the Node has of these in the beginning."""
BAD: Mapping[str, str] = {
    "type": "lb 21",
    "algorithm_type": "fastest",
    "use_private_ip": "perhaps",
    "private_ipv4": "10.0.0",
    "disable_private_ingress": "perhaps",
    "disable_public_network": "perhaps",
    "hostname": "-shop-",
    "uses_proxyprotocol": "perhaps",
    "protocol": "gopher",
    "health_check_protocol": "gopher",
    "health_check_interval": "seven",
    "health_check_retries": "many",
    "http_sticky_sessions": "perhaps",
    "node_selector": "a in b",
    "deletion_policy": "maybe",
    "ipv6_disabled": "perhaps",
}
"""Values that no option has."""
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
NEEDS: Mapping[str, tuple[str, ...]] = {
    "disable_public_network": ("use_private_ip",),
    "http_sticky_sessions": ("protocol",),
    "health_check_http_path": ("protocol", "health_check_protocol"),
}
"""What some of these need to be done at all, any of it: targets in the network, or HTTP."""
NOBODY: Wish = {"node_selector": "none=such"}
"""It leaves a port without targets."""
_IS_CHECKED = {"health_check_interval", "health_check_retries"}
"""With any of these health checks speak what the port speaks, and TCP without; the values stay, and the protocol goes
back."""


@dataclass(frozen=True)
class Start:
    """A world in which paths begin."""

    own: Wish = field(default_factory=lambda: MappingProxyType({}))
    """What ``web`` asks for in it, unless a wish has something else."""
    before: tuple[Step, ...] = ()
    environment: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


STARTS: Mapping[str, Start] = {
    "plain": Start(),
    "private": Start({"use_private_ip": "true"}),
    "closed": Start({"use_private_ip": "true", "disable_public_network": "true", "ipv6_disabled": "true"}),
    "secure": Start(SECURE),
    "adopted": Start({"name": "idle"}, ADOPT_IDLE),
    "retained": Start({"deletion_policy": "retain"}, environment={"RECONCILER_LOAD_BALANCER_UNDO": "10m"}),
}


@dataclass(frozen=True)
class Path:
    """Wishes, one after the other, in a world."""

    start: str
    wishes: tuple[Wish, ...]

    def __str__(self) -> str:
        shown = (", ".join(f"{key}={text}" for key, text in wish.items()) or "nothing" for wish in self.wishes)
        return f"{self.start}: {' -> '.join(shown)}"


def singles() -> Iterator[Wish]:
    """Each value of each option, setting and label."""
    for name, values in {**ANNOTATIONS, **SETTINGS, **LABELS}.items():
        for value in values:
            yield {name: value}


def pairs() -> Iterator[Wish]:
    """Two of them at once, with each of their values."""
    for one, other in combinations(singles(), 2):
        if one.keys() != other.keys():
            yield {**one, **other}


def paths() -> Iterator[Path]:
    """From every world there and back, and by way of what cannot be read. In the plain one each pair at once, one after
    the other in both orders, and reached by another wish; each pair at once in one world more."""
    for start in STARTS:
        for wish in singles():
            is_measured = start != "secure" or not _IS_CHECKED & wish.keys()
            yield Path(start, ({}, wish, {}) if is_measured else (wish,))
        for option, text in BAD.items():
            good = {option: ANNOTATIONS[option][0]}
            yield Path(start, ({option: text}, good))
            yield Path(start, (good, {option: text}, good))
    others = [start for start in STARTS if start != "plain"]
    for number, wish in enumerate(pairs()):
        (one, other) = ({key: text} for key, text in wish.items())
        yield Path(others[number % len(others)], (wish,))
        for way in ((wish,), (one, wish), (other, wish)):
            yield Path("plain", way)
        is_checked = "protocol" in wish and _IS_CHECKED & wish.keys()
        if not _depends_on_the_way(wish):
            yield Path("plain", (one, other))
            if not is_checked:
                yield Path("plain", (other, one))
            if not is_checked and not (_has("use_private_ip", other) and _has("disable_public_network", one)):
                yield Path("plain", (wish, one))


def _depends_on_the_way(wish: Wish) -> bool:
    """Without public interface and use-private-ip no target is reached: what is there stays, public or not, until
    nothing needs it, so that it depends on what was there (``tests/unit/desired/load_balancers/test_desired.py``)."""
    return _has("disable_public_network", wish) and NOBODY.items() <= wish.items()


def _gives_up(wish: Wish) -> bool:
    """Whether exactly this was asked for: no Node that gets traffic, or neither public nor private addresses."""
    is_silent = _has("disable_public_network", wish) and _has("disable_private_ingress", wish)
    return is_silent or NOBODY.items() <= wish.items()


def _has(option: str, wish: Wish) -> bool:
    """Whether the annotation or the setting is wished for."""
    return not {option, f"{_LB}{option.upper()}"}.isdisjoint(wish)


def differing(path: Path) -> list[str]:
    """What of the end state depends on the way, and what has stopped serving on it without anybody's will."""
    own = STARTS[path.start].own
    kept = {
        option: text
        for wish in path.wishes
        for option, text in wish.items()
        if _is_kept(option, text, {**own, **wish}) and option not in own and not _has(option, path.wishes[-1])
    }
    taken, direct = _taken(path), _direct(path.start, tuple(sorted({**kept, **path.wishes[-1]}.items())))
    found, wanted = taken.found, direct.found
    differences = [f"{part}: {found[part]}, not {wanted[part]}" for part in wanted if found[part] != wanted[part]]
    return [*differences, *_unasked(path, taken)]


def _is_kept(option: str, text: str, wish: Wish) -> bool:
    """Whether the option stays when nobody asks for it any more. What could not be done is not there to stay."""
    is_done = any(_has(needed, wish) for needed in NEEDS.get(option, (option,)))
    return option in KEPT and text in ANNOTATIONS[option] and is_done


def _unasked(path: Path, taken: Outcome) -> Collection[str]:
    """Ports without targets and Services without addresses for a while, which nobody asked for or approved."""
    own = STARTS[path.start].own
    is_asked = any(_gives_up({**own, **wish}) for wish in path.wishes)
    return () if is_asked or taken.holds else [f"{what} serves nobody for a while" for what in sorted(taken.dark)]


@cache
def _direct(start: str, wish: tuple[tuple[str, str], ...]) -> Outcome:
    return _taken(Path(start, (dict(wish),)))


def _taken(path: Path) -> Outcome:
    start, steps = STARTS[path.start], list[Step]()
    names: dict[str, None] = {}
    for wish in path.wishes:
        names |= dict.fromkeys(wish)
        # What is let through may be held by another guard then.
        steps += [_asking(start, wish, tuple(names)), Cluster.approve, Cluster.approve]
    return play(Workload(str(path), tuple(steps), _way_to(path.start), start.environment))


@cache
def _way_to(start: str) -> tuple[Step, ...]:
    """The steps that lead to a world: the same ones each time, by which it is known."""
    return (install, *STARTS[start].before, _asking(STARTS[start], {}, ()))


def _asking(start: Start, wish: Wish, names: Collection[str]) -> Step:
    """People set what the wish says, and take back what else there is of these names."""
    asked = {**dict.fromkeys(names), **start.own, **wish}

    def step(cluster: Cluster) -> None:
        cluster.annotate("web", **{name: text for name, text in asked.items() if name not in {**SETTINGS, **LABELS}})
        if labels := {name: text or HAD.get(name) for name, text in asked.items() if name in LABELS}:
            cluster.label("web-3", labels=labels)
        if settings := {name: text for name, text in asked.items() if name in SETTINGS}:
            cluster.configure(**settings)

    return step
