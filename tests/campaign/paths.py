"""Paths to a wish: whatever people asked for before, a cluster ends as the last wish has it (Acto's law).

A wish is what people set: annotations of the Service ``web``, settings of the product, labels of the Node ``web-3``.
Every single one of the table is reached from each of seven worlds, and every pair of them at once and by way of others.
On the way whatever serves goes on serving, is held, or was given up by exactly what was asked for.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import combinations
from types import MappingProxyType

from desired.names import OWN_CLASS
from tests.campaign.cluster import Cluster, Step
from tests.campaign.oracles import of_state
from tests.campaign.running import Outcome, play
from tests.campaign.workloads import ADOPT_IDLE, EXCLUDED, OWN_ALONE, SECURE, Workload, install, of_class, upload
from tests.support.objects import LOCATED

Wish = Mapping[str, str]
"""Option of ``web``, variable, or key of a label of ``web-3`` → its text."""
ANNOTATIONS: Mapping[str, tuple[str, ...]] = {
    "name": ("shop",),
    "type": ("lb21",),
    "location": ("nbg1",),
    "network_zone": ("us-east",),
    "algorithm_type": ("least_connections",),
    "disable_public_network": ("true",),
    "disable_private_ingress": ("true",),
    "ipv6_disabled": ("true",),
    "use_private_ip": ("true",),
    "private_ipv4": ("10.0.0.77",),
    "private_subnet_ip_range": ("10.0.0.0/24",),
    "ipv4_rdns": ("four.example.com",),
    "ipv6_rdns": ("six.example.com",),
    "hostname": ("shop.example.com",),
    "node_selector": ("example.com/team=blue", "none=such"),
    "protocol": ("http", "https"),
    "uses_proxyprotocol": ("true",),
    "http_cookie_name": ("SHOP",),
    "http_cookie_lifetime": ("60s",),
    "http_timeout_idle": ("70s",),
    "http_redirect_http": ("true",),
    "http_sticky_sessions": ("true",),
    "http_certificates": ("one",),
    "certificate_type": ("managed",),
    "http_managed_certificate_name": ("second",),
    "http_managed_certificate_domains": ("shop.example.com,www.example.com",),
    "http_managed_certificate_acme_staging": ("true",),
    "health_check_protocol": ("http", "tcp"),
    "health_check_port": ("8080",),
    "health_check_node_port": ("true",),
    "health_check_interval": ("7s",),
    "health_check_timeout": ("4s",),
    "health_check_retries": ("5",),
    "health_check_http_domain": ("shop.example.com",),
    "health_check_http_path": ("/healthz",),
    "health_check_http_validate_certificate": ("true",),
    "http_status_codes": ("204",),
    "deletion_policy": ("retain",),
}
"""Values of options that a Service may ask for, and one that no Node has."""
OF_PORTS: Mapping[str, tuple[str, ...]] = {"port_80_protocol": ("http", "tcp"), "port_80_uses_proxyprotocol": ("true",)}
"""The same of the one port of ``web``. All options of ports are read alike (``tests/unit/desired/annotations``)."""
_LB = "HCLOUD_LOAD_BALANCERS_"
SETTINGS: Mapping[str, tuple[str, ...]] = {
    f"{_LB}TYPE": ("lb21",),
    f"{_LB}LOCATION": ("nbg1",),
    f"{_LB}ALGORITHM_TYPE": ("least_connections",),
    f"{_LB}DISABLE_PUBLIC_NETWORK": ("true",),
    f"{_LB}DISABLE_PRIVATE_INGRESS": ("true",),
    f"{_LB}DISABLE_IPV6": ("true",),
    f"{_LB}USE_PRIVATE_IP": ("true",),
    f"{_LB}PRIVATE_SUBNET_IP_RANGE": ("10.0.0.0/24",),
    f"{_LB}USES_PROXYPROTOCOL": ("true",),
    f"{_LB}HEALTH_CHECK_INTERVAL": ("9s",),
    f"{_LB}HEALTH_CHECK_TIMEOUT": ("3s",),
    f"{_LB}HEALTH_CHECK_RETRIES": ("4",),
    f"{_LB}DELETION_POLICY": ("retain",),
    "HCLOUD_NETWORK_ROUTES_ENABLED": ("false",),
    "HCLOUD_INSTANCES_ADDRESS_FAMILY": ("dualstack",),
    "HCLOUD_INSTANCES_ZONE_LABEL_ENABLED": ("false",),
    "--ignore-nodes": ("example.com/team=red",),
    "--mirror-labels": ("servers.example.com",),
    "--keep-internal-ips": ("true",),
}
LABELS: Mapping[str, tuple[str, ...]] = {EXCLUDED: ("true",), "example.com/team": ("red",)}
"""One keeps traffic away from the Node, and a selector of the table leaves out what has the other."""
HAD = {"example.com/team": "blue", **LOCATED}
"""What there is of these in the beginning."""
LEFT_OUT: Mapping[str, str] = {
    "public_net_ipv4": "read at creation alone, and no path creates a load balancer",
    "public_net_ipv6": "read at creation alone, and no path creates a load balancer",
    f"{_LB}NETWORK_ZONE": "the location in the environment takes precedence, so that it is never read",
    "HCLOUD_NETWORK": "without it `db` has no targets at all: the workload `settings lack the network`",
    "--cluster-cidr": "with another one the pods of all Nodes are outside of it: a cluster never gets another one",
    "--controllers": "what is switched off is not done, so that the end does depend on the way",
    "ROBOT_ENABLED": "with an account: the workloads of dedicated servers",
    "ROBOT_FORWARD_INTERNAL_IPS": "it says something of Nodes on dedicated servers alone",
}
"""Option, variable or flag that changes what is planned, and is in no path → why."""
BAD: Mapping[str, str] = {
    "type": "lb 21",
    "location": "nbg 1",
    "algorithm_type": "fastest",
    "disable_public_network": "perhaps",
    "disable_private_ingress": "perhaps",
    "ipv6_disabled": "perhaps",
    "use_private_ip": "perhaps",
    "private_ipv4": "10.0.0",
    "private_subnet_ip_range": "10.0.0",
    "ipv4_rdns": "-shop-",
    "hostname": "-shop-",
    "node_selector": "a in b",
    "protocol": "gopher",
    "uses_proxyprotocol": "perhaps",
    "http_cookie_lifetime": "60",
    "http_timeout_idle": "1s",
    "http_redirect_http": "perhaps",
    "http_sticky_sessions": "perhaps",
    "http_certificates": "one,,two",
    "health_check_protocol": "gopher",
    "health_check_port": "many",
    "health_check_node_port": "perhaps",
    "health_check_interval": "seven",
    "health_check_timeout": "seven",
    "health_check_retries": "many",
    "health_check_http_domain": "a b",
    "health_check_http_validate_certificate": "perhaps",
    "http_status_codes": "fine",
    "deletion_policy": "maybe",
}
"""Values that no option has."""
_OF_HTTP = ("http_cookie_name", "http_cookie_lifetime", "http_timeout_idle", "http_sticky_sessions")
_OF_HTTP_CHECKS = (
    "health_check_http_domain",
    "health_check_http_path",
    "health_check_http_validate_certificate",
    "http_status_codes",
)
KEPT = (
    "name",
    "type",
    f"{_LB}TYPE",
    "algorithm_type",
    "protocol",
    "port_80_protocol",
    "uses_proxyprotocol",
    "port_80_uses_proxyprotocol",
    "disable_public_network",
    "use_private_ip",
    f"{_LB}USE_PRIVATE_IP",
    f"{_LB}ALGORITHM_TYPE",
    f"{_LB}DISABLE_PUBLIC_NETWORK",
    f"{_LB}USES_PROXYPROTOCOL",
    f"{_LB}HEALTH_CHECK_INTERVAL",
    f"{_LB}HEALTH_CHECK_TIMEOUT",
    f"{_LB}HEALTH_CHECK_RETRIES",
    "health_check_protocol",
    "health_check_port",
    "health_check_interval",
    "health_check_timeout",
    "health_check_retries",
    *_OF_HTTP,
    "http_certificates",
    *_OF_HTTP_CHECKS,
)
"""Options that stay as they are when nobody asks for them any more (docs/load-balancers.md). A redirect is refused: all
that ``web`` has is port 80."""
_HTTPS = {"protocol": "https"}
_HTTP: tuple[Wish, ...] = ({"protocol": "http"}, _HTTPS)
_PRIVATE: tuple[Wish, ...] = ({"use_private_ip": "true"}, {f"{_LB}USE_PRIVATE_IP": "true"})
NEEDS: Mapping[str, tuple[Wish, ...]] = {
    **dict.fromkeys(("disable_public_network", f"{_LB}DISABLE_PUBLIC_NETWORK"), _PRIVATE),
    **dict.fromkeys(_OF_HTTP, _HTTP),
    "http_certificates": (_HTTPS,),
    **dict.fromkeys(_OF_HTTP_CHECKS, (*_HTTP, {"health_check_protocol": "http"})),
}
"""What some of these need to be done at all, any of it: targets in the network, or HTTP."""
NOBODY: Wish = {"node_selector": "none=such"}
"""It leaves a port without targets."""
_NUMBERS = ("health_check_interval", "health_check_timeout", "health_check_retries")
_IS_CHECKED = {"health_check_port", *_NUMBERS, *(f"{_LB}{name.upper()}" for name in _NUMBERS)}
"""With any of these health checks speak what the port is asked to speak beside them; without, they keep what they
speak."""


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
    "of a class": Start(before=(of_class("web", OWN_CLASS),), environment=OWN_ALONE),
    "retained": Start({"deletion_policy": "retain"}),
}


@dataclass(frozen=True)
class Path:
    """Wishes, one after the other, in a world."""

    start: str
    wishes: tuple[Wish, ...]

    def __str__(self) -> str:
        shown = (", ".join(f"{key}={text}" for key, text in wish.items()) or "nothing" for wish in self.wishes)
        return f"{self.start}: {' -> '.join(shown)}"


@dataclass(frozen=True)
class Taken:
    """What a path has left, and what was seen on it."""

    outcome: Outcome
    owners: Mapping[str, str]
    """Name of a load balancer → the Service whose it is."""
    held: Collection[str]
    """Parts of the keys of all that was held after the last wish: ``web``, where it was something of this Service."""


def singles() -> Iterator[Wish]:
    """Each value of each option, setting and label."""
    for name, values in {**ANNOTATIONS, **OF_PORTS, **SETTINGS, **LABELS}.items():
        for value in values:
            yield {name: value}


def pairs() -> Iterator[Wish]:
    """Two of them at once, with each of their values."""
    for one, other in combinations(singles(), 2):
        if one.keys() != other.keys():
            yield {**one, **other}


def paths() -> Iterator[Path]:
    """From every world there and back, and by way of what cannot be read. Each pair at once in one of the worlds; in
    the plain one in turn, in one of both orders, and at once before or after one of the two alone."""
    for start in STARTS:
        for wish in singles():
            is_measured = start != "secure" or not _IS_CHECKED & wish.keys()
            yield Path(start, ({}, wish, {}) if is_measured else (wish,))
        for option, text in BAD.items():
            good = {option: ANNOTATIONS[option][0]}
            yield Path(start, ({option: text}, good))
            yield Path(start, (good, {option: text}, good))
    for number, wish in enumerate(pairs()):
        (one, other) = ({key: text} for key, text in wish.items())
        yield Path([*STARTS][number % len(STARTS)], (wish,))
        is_checked = "protocol" in _at_port_80(wish) and not _IS_CHECKED.isdisjoint(wish)
        if is_checked and not _IS_CHECKED.isdisjoint(one):  # what the port speaks comes first
            one, other = other, one
        beside: list[tuple[Wish, ...]] = [(one, wish), (other, wish)]
        in_turn: list[tuple[Wish, ...]] = [(one, other)]
        if not is_checked:
            in_turn.append((other, one))
            if not (_has("use_private_ip", other) and _has("disable_public_network", one)):
                beside.append((wish, one))
        for ways in (beside[:2],) if _depends_on_the_way(wish) else (beside, in_turn):
            if some := [way for way in ways if not _waits(way[-1])]:
                yield Path("plain", some[number % len(some)])


def _depends_on_the_way(wish: Wish) -> bool:
    """Without public interface and use-private-ip no target is reached: what is there stays, public or not, until
    nothing needs it, so that it depends on what was there (``tests/unit/desired/load_balancers/test_desired.py``)."""
    return _has("disable_public_network", wish) and NOBODY.items() <= wish.items()


def _waits(wish: Wish) -> bool:
    """Whether ports wait for a certificate of which nothing is said: until there is one they stay as they were, so that
    it depends on what was there."""
    return _HTTPS.items() <= _at_port_80(wish).items() and "http_certificates" not in wish


def _at_port_80(wish: Wish) -> Wish:
    """What is asked of the port of ``web``: what is said of it comes before what is said of all."""
    return {**wish, **{name.removeprefix("port_80_"): text for name, text in wish.items() if name in OF_PORTS}}


def _has(option: str, wish: Wish) -> bool:
    """Whether the annotation or the setting is wished for."""
    return not {option, f"{_LB}{option.upper()}"}.isdisjoint(wish)


def differing(path: Path) -> list[str]:
    """What of the end state depends on the way, what was done on it that must never be done, and what has stopped
    serving though nobody wished for it or approved it."""
    own = STARTS[path.start].own
    kept = {
        option: text
        for wish in path.wishes
        for option, text in wish.items()
        if _is_kept(option, text, {**own, **wish})
        and option.removeprefix("port_80_") not in own  # what the Service says of all its ports decides again
        and not _has(option, path.wishes[-1])
    }
    direct = _direct(path.start, tuple(sorted({**kept, **path.wishes[-1]}.items())))
    taken = direct if len(path.wishes) == 1 else _taken(path)
    harm = (f"harm: {each}" for each in taken.outcome.harm if not _is_asked(each, path))
    return [*of_state(taken.outcome, direct.outcome), *harm, *_unasked(path, taken)]


def _is_kept(option: str, text: str, wish: Wish) -> bool:
    """Whether the option stays when nobody asks for it any more. What could not be done is not there to stay; a setting
    may have been done of ``db`` alone."""
    needs = NEEDS.get(option)
    is_free = needs is None or option in SETTINGS
    is_done = is_free or any(needed.items() <= _at_port_80(wish).items() for needed in needs or ())
    is_done = is_done and not (text == "https" and option.endswith("protocol") and _waits(wish))
    return option in KEPT and text in {**ANNOTATIONS, **OF_PORTS, **SETTINGS}[option] and is_done


def _asked(path: Path) -> Iterator[Mapping[str, Wish]]:
    """Service → what each wish asks of it, with what stays of those before."""
    stays: dict[str, str] = {}
    for wish in path.wishes:
        settings = {name: text for name, text in wish.items() if name in SETTINGS}
        yield {"web": {**stays, **STARTS[path.start].own, **wish}, "db": settings}
        stays |= {option: text for option, text in wish.items() if option in KEPT}


def _is_asked(harm: str, path: Path) -> bool:
    """Whether the judge, who reads no annotations of ports and addresses, takes for harm what a Service asks for: to
    speak without TLS, or to publish nothing."""
    asked = [wish for wishes in _asked(path) for service, wish in wishes.items() if f"default/{service} " in harm]
    if " loses TLS " in harm:
        return any(_at_port_80(wish).get("protocol", "https") != "https" for wish in asked)
    return " publishes [], " in harm and any(map(_gives_up, asked))


def _unasked(path: Path, taken: Taken) -> Iterator[str]:
    """Ports without targets and Services without addresses for a while, where the Service was not to have any and
    nothing of it was held in the step in which they went dark."""
    if not taken.outcome.dark:
        return
    dark: frozenset[str] = frozenset()
    for number, asked in enumerate(_asked(path), 1):
        upto = taken if number == len(path.wishes) else _taken(Path(path.start, path.wishes[:number]))
        for what in sorted(upto.outcome.dark - dark):
            service = upto.owners.get(what.split()[0], what)
            if service not in upto.held and not _gives_up(asked.get(service, {})):
                yield f"{what} of {service} serves nobody for a while"
        dark = upto.outcome.dark


def _gives_up(wish: Wish) -> bool:
    """Whether exactly this was asked for: no Node that gets traffic, or neither public nor private addresses."""
    is_silent = _has("disable_public_network", wish) and _has("disable_private_ingress", wish)
    return is_silent or NOBODY.items() <= wish.items()


@cache
def _direct(start: str, wish: tuple[tuple[str, str], ...]) -> Taken:
    return _taken(Path(start, (dict(wish),)))


def _taken(path: Path) -> Taken:
    start, steps = STARTS[path.start], list[Step]()
    owners: dict[str, str] = {}
    held: set[str] = set()
    names: dict[str, None] = {}

    def approve(cluster: Cluster) -> None:
        owners.update(_owners(cluster))
        held.update(part for hold in cluster.reports[-1].holds for key in hold.keys for part in key.split("/"))
        cluster.approve()

    for wish in path.wishes:
        names |= dict.fromkeys(wish)
        # What is let through may be held by another guard then.
        steps += [_asking(start, wish, tuple(names), held.clear), approve, approve]
    outcome = play(Workload(str(path), tuple(steps), _way_to(path.start), start.environment))
    return Taken(outcome, owners, held)


def _owners(cluster: Cluster) -> Mapping[str, str]:
    """Name of each load balancer that has a Service → the Service."""
    services = {service["metadata"]["uid"]: name for name, service in cluster.services().items()}
    return {
        balancer["name"]: services[uid]
        for balancer in cluster.balancers()
        for uid in balancer["labels"].values()
        if uid in services
    }


@cache
def _way_to(start: str) -> tuple[Step, ...]:
    """The steps that lead to a world: the same ones each time, by which it is known."""
    return (install, upload("one"), *STARTS[start].before, _asking(STARTS[start], {}, ()))


def _asking(start: Start, wish: Wish, names: Collection[str], first: Callable[[], object] = tuple) -> Step:
    """People set what the wish says, and take back what else there is of these names."""
    asked = {**dict.fromkeys(names), **start.own, **wish}

    def step(cluster: Cluster) -> None:
        first()
        given = {name: HAD.get(name) if text is None else text for name, text in asked.items()}
        cluster.annotate("web", **{name: text for name, text in given.items() if name in {**ANNOTATIONS, **OF_PORTS}})
        if labels := {name: text for name, text in given.items() if name in LABELS}:
            cluster.label("web-3", labels=labels)
        if settings := {name: text for name, text in given.items() if name in SETTINGS}:
            cluster.configure(**settings)

    return step
