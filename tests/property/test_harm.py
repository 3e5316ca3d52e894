"""The law of harm: whatever clusters, clones and people do, and whatever lies a controller sees, in no run is anything
lost whose server and wish are there in truth; and when the lies end, all is as people want it.

A world is a start and some steps: who does what, or who runs through which lies. ``harm_stage`` carries them out,
``harm_judge`` looks at the truth after each run. ``HARM_WORLDS`` says how many worlds are tried in all, and
``HARM_KINDS`` of which kinds, by their names with commas: where it is not set, all of ``STARTS``.
"""

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any
from zlib import crc32

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from tests.property.strategies import WORLDS, some
from tests.support import sampling
from tests.support.harm_excuses import EXCUSES, Excuse
from tests.support.harm_lens import DEATHS, HOW, OF_CLUSTER, OF_PROJECT
from tests.support.harm_metal import METAL_LIES, inside, metal_of
from tests.support.harm_stage import Stage, a_stage
from tests.support.harm_start import (
    FREE_IP,
    GUEST,
    GUEST_IP,
    HOME,
    NAT_IP,
    RACK_IP,
    SHOP,
    Start,
    node_name,
    pods,
    private_address,
)
from tests.support.harm_truth import balancer_of, is_wanted, machine_of, server_of
from tests.support.measured import MEASURED
from tests.support.premises import most
from tests.support.sampling import SEED

HARMED = int(os.environ.get("HARM_WORLDS") or WORLDS)
FEWEST_RUNS = 20
MOST_EXCUSED = 0.3
"""Share of the runs in which something may be left to a person."""
LONG_RUN = 5000
Step = tuple[Any, ...]
"""What happens, or ``run``, with its parameters."""

PRIVATE: Mapping[str, str] = {"use-private-ip": "true"}
OF_A: Mapping[str, str] = {"node-selector": "pool=a"}
EXCLUDED = "node.kubernetes.io/exclude-from-external-load-balancers"
LB = "HCLOUD_LOAD_BALANCERS_"
INTERNAL = ((f"{LB}USE_PRIVATE_IP", "true"), (f"{LB}DISABLE_PUBLIC_NETWORK", "true"))
VOLUMES_FOLLOW = (("--out-of-service", "deleted"),)
CLOSED: Mapping[str, str] = {**PRIVATE, "disable-public-network": "true"}
STARTS: Mapping[str, tuple[Start, ...]] = {
    "small": (
        Start(nodes=1),
        Start(nodes=2, network="private", routes=False, services=(("web", PRIVATE),)),
        Start(nodes=3, network=None),
    ),
    "routed": (
        Start(nodes=4, twins=True),
        Start(nodes=5, network="private", services=(("web", {}), ("db", PRIVATE))),
        Start(nodes=4, retained=True, services=(("web", {}), ("db", {}))),
    ),
    "large": (Start(nodes=8, services=(("web", PRIVATE), ("db", {}))), Start(nodes=9, routes=False, twins=True)),
    "shared": (Start(nodes=3, others=3), Start(nodes=5, others=2, services=(("web", {}), ("db", {})))),
    "copied": (
        Start(nodes=3, copied=True),
        Start(nodes=6, copied=True, services=(("web", PRIVATE), ("db", {})), retained=True),
    ),
    "dedicated": (
        Start(nodes=2, metal=1, services=(("web", {}), ("db", PRIVATE))),
        Start(nodes=1, metal=3, network=None),
        Start(nodes=3, metal=6, services=(("web", PRIVATE), ("db", {}))),
        Start(nodes=2, metal=4, services=(("web", {}), ("db", PRIVATE)), retained=True),
        Start(nodes=2, metal=2, keyless=True, services=(("web", PRIVATE),)),
        Start(nodes=3, metal=3, copied=True, services=(("web", {}), ("db", PRIVATE))),
    ),
    "pools": (
        Start(nodes=4, pools=True, services=(("web", OF_A), ("db", {}))),
        Start(nodes=6, pools=True, services=(("web", {**OF_A, **PRIVATE}),)),
        Start(nodes=6, pools=True, network=None, services=(("web", OF_A),)),
    ),
    "ill": (
        Start(nodes=4, pools=True, services=(("web", OF_A), ("db", PRIVATE))),
        Start(nodes=3, services=(("web", {}),)),
    ),
    "stuck": (
        Start(nodes=3, network=None, services=(("web", {}), ("db", {}))),
        Start(nodes=3, services=(("web", PRIVATE), ("db", {}))),
    ),
    "gradual": (
        Start(nodes=8, services=(("web", PRIVATE), ("db", {}))),
        Start(nodes=6, pools=True, services=(("web", OF_A), ("db", {}))),
    ),
    "configured": (
        Start(nodes=3, services=(("web", {}), ("db", {})), variables=INTERNAL),
        Start(nodes=4, services=(("web", {"disable-public-network": "true"}), ("db", {})), variables=INTERNAL[:1]),
        Start(nodes=3, services=(("web", {}), ("db", {"use-private-ip": "false"})), variables=INTERNAL[:1]),
        Start(nodes=4, services=(("web", PRIVATE), ("db", {})), variables=((f"{LB}USES_PROXYPROTOCOL", "true"),)),
        Start(nodes=2, metal=2, services=(("web", {}), ("db", CLOSED)), variables=INTERNAL[:1]),
        Start(nodes=5, services=(("web", {}), ("db", PRIVATE)), variables=(("--server-selector", "pool=a"),)),
    ),
    "lost": (
        Start(nodes=4, variables=VOLUMES_FOLLOW),
        Start(nodes=5, services=(("web", PRIVATE), ("db", {})), variables=VOLUMES_FOLLOW),
        Start(nodes=5, variables=(*VOLUMES_FOLLOW, ("--server-selector", "pool=a"))),
        Start(nodes=3, metal=2, services=(("web", PRIVATE),), variables=VOLUMES_FOLLOW),
    ),
}
"""Name → worlds to begin with: each is converged once, and copied from then on."""

ASKED = [kind for kind in os.environ.get("HARM_KINDS", "").split(",") if kind]

OPTIONS: tuple[tuple[str, str | None], ...] = (
    ("use-private-ip", "true"),
    ("use-private-ip", None),
    ("private-ipv4", FREE_IP),
    ("private-ipv4", FREE_IP),
    ("private-ipv4", None),
    ("name", "shop"),
    ("name", "idle"),
    ("name", "empty"),
    ("name", "theirs"),
    ("name", None),
    ("algorithm-type", "least_connections"),
    ("type", "lb21"),
    ("node-selector", "zone=a"),
    ("node-selector", None),
    ("disable-public-network", "true"),
    ("disable-public-network", None),
)
TARGETS: tuple[dict[str, Any], ...] = (
    {"type": "ip", "ip": {"ip": RACK_IP}},
    {"type": "label_selector", "label_selector": {"selector": "pool=x"}},
    {"type": "server", "server": {"id": GUEST}},
)
CLUSTERS = ("a", "a", "copy", "b", "copy", "b")


def _cluster(stage: Stage, number: int) -> str:
    chosen = CLUSTERS[number % len(CLUSTERS)]
    return chosen if chosen in stage.truth.clusters else "a"


def _server(stage: Stage, number: int, cluster: str = "a") -> int:
    """The number of some Node's server, cloud or dedicated; 0 when there is none."""
    found = sorted(filter(None, map(machine_of, stage.nodes(cluster).values())))
    return found[number % len(found)] if found else 0


def _service(number: int) -> str:
    return ("web", "web", "db", "mail")[number % 4]


def _annotate(stage: Stage, first: int, second: int) -> None:
    name, value = OPTIONS[second % len(OPTIONS)]
    stage.annotate(_service(first), {name: value})


def _make_service(stage: Stage, first: int, second: int) -> None:
    """A new Service, which may name any load balancer from the start."""
    options: Sequence[Mapping[str, str]] = ({}, {"name": "idle"}, {"name": "shop"}, {"name": "empty"}, PRIVATE)
    stage.make_service(("mail", "db", "web")[first % 3], options[second % len(options)])


def _lead(stage: Stage, first: int, second: int) -> None:
    found = _balancer(stage, first)
    stage.lead(found or SHOP, TARGETS[second % len(TARGETS)])


def _balancer(stage: Stage, number: int) -> int | None:
    seen = stage.truth.seen()
    service = seen.services["a"].get(f"default/{_service(number)}")
    found = balancer_of(seen, HOME, service, seen.uid("a")) if is_wanted(service) and service else None
    return found["id"] if found else None


def _drop(stage: Stage, first: int, second: int) -> None:
    found = _balancer(stage, first)
    if found is not None:
        stage.drop(found, _server(stage, second))


def _encrypt(stage: Stage, first: int, _second: int) -> None:
    found = _balancer(stage, first)
    if found is not None:
        stage.encrypt(found)


def _delete_balancer(stage: Stage, first: int, _second: int) -> None:
    found = _balancer(stage, first)
    if found is not None:
        stage.delete_balancer(found)


def _route(stage: Stage, first: int, second: int) -> None:
    gateway = (GUEST_IP, None, NAT_IP, "10.0.0.12", "10.0.0.99")[second % 5]
    stage.route(pods((1, 2, 3, 101, 200)[first % 5]), gateway)


def _silence(stage: Stage, first: int, second: int) -> None:
    chosen = () if first % 2 == 0 else (_server(stage, first),)
    stage.silence(_cluster(stage, first), *chosen, minutes=(0.2, 1, 5, 31)[second % 4])


def _rename(stage: Stage, first: int, second: int) -> None:
    stage.rename(_server(stage, first), (node_name(2), "elsewhere", node_name(101))[second % 3])


def _metal(stage: Stage, number: int) -> int:
    """The number of some Node's dedicated server; 0 when there is none."""
    found = sorted(filter(None, map(metal_of, stage.nodes().values())))
    return found[number % len(found)] if found else 0


def _silence_metal(stage: Stage, first: int, second: int) -> None:
    """Kubelets of one or of all dedicated servers."""
    chosen = filter(None, map(metal_of, stage.nodes().values())) if first % 2 else [_metal(stage, first)]
    stage.silence("a", 0, *chosen, minutes=(0.2, 1, 5, 31)[second % 4])


def _rename_metal(stage: Stage, first: int, second: int) -> None:
    """To the name of nobody, of a cloud server, or of another dedicated one."""
    names = ("elsewhere", node_name(2), node_name(_metal(stage, second)), node_name(_metal(stage, first)))
    stage.change_metal(_metal(stage, first), server_name=names[second % len(names)])


def _readdress(stage: Stage, first: int, second: int) -> None:
    """A dedicated server gets another address, none, or that of another one, which gets its own."""
    number = _metal(stage, first)
    if second % 3 == 0:
        stage.swap_metal(number, _metal(stage, first + 1))
    else:
        stage.change_metal(number, server_ip=f"192.0.2.{100 + second}" if second % 3 == 1 else None)


def _claim(stage: Stage, first: int, second: int) -> None:
    """The kubelet of a dedicated server says that it has addresses of others."""
    number, other = _metal(stage, first), _metal(stage, first + 1)
    own, theirs = ("InternalIP", inside(number)), ("InternalIP", inside(other))
    public = ("ExternalIP", f"192.0.2.{other}")
    claims = (
        (theirs, own),
        (own, theirs),
        (theirs,),
        (("InternalIP", private_address(1)), own),
        (own, public),
        (public, ("InternalIP", f"192.0.2.{other}")),
        (),
    )
    if number != other:
        stage.claim(number, *claims[second % len(claims)])


HAPPENINGS: dict[str, Callable[[Stage, int, int], object]] = {
    "silence": _silence,
    "wake": lambda stage, *_: stage.wake(),
    "beat": lambda stage, first, second: stage.beat(_cluster(stage, first), hours=(0.1, 2.0)[second % 2]),
    "kill": lambda stage, first, _: stage.kill(_server(stage, first)),
    "join": lambda stage, *_: stage.join(),
    "rename": _rename,
    "swap": lambda stage, first, second: stage.swap(_server(stage, first), _server(stage, second)),
    "cordon": lambda stage, first, _: stage.cordon(_server(stage, first)),
    "mark": lambda stage, first, _: stage.mark(_server(stage, first), "ToBeDeletedByClusterAutoscaler"),
    "delete node": lambda stage, first, _: stage.delete_node(_server(stage, first)),
    "make service": _make_service,
    "delete service": lambda stage, first, second: stage.delete_service(_service(first), _cluster(stage, second)),
    "vanish": lambda stage, first, second: stage.vanish(_service(first), _cluster(stage, second)),
    "annotate": _annotate,
    "retain": lambda stage, first, second: stage.retain(_service(first), ("retain", "delete", None)[second % 3]),
    "listen": lambda stage, first, second: stage.listen(_service(first), *((80,), (80, 443), (443,))[second % 3]),
    "move port": lambda stage, first, second: stage.listen(_service(first), 80, node_port=31000 + second),
    "route": _route,
    "lead": _lead,
    "drop": _drop,
    "encrypt": _encrypt,
    "delete balancer": _delete_balancer,
    "restore": lambda stage, *_: stage.restore(),
    "restart": lambda stage, *_: stage.restart(),
    "advance": lambda stage, first, _: stage.advance((15, 90, 600, 1900, 4000)[first % 5]),
    "silence metal": _silence_metal,
    "rack": lambda stage, *_: stage.rack(),
    "rename metal": _rename_metal,
    "readdress": _readdress,
    "claim": _claim,
    "give back": lambda stage, first, _: stage.kill(_metal(stage, first)),
    "approve": lambda stage, first, second: stage.approve(_cluster(stage, second), first),
}


def _several(stage: Stage, first: int, second: int) -> Sequence[int]:
    """Numbers of servers: of a pool, of half of them, of one, or of all but one; the newest or the oldest."""
    found = sorted(filter(None, map(machine_of, stage.nodes().values())), reverse=first % 3 > 0)
    half = found[: max(1, len(found) // 2)]
    return (half, half, found[:1], found[: max(1, len(found) - 1)])[second % 4]


def _some_service(stage: Stage, number: int) -> str:
    found = sorted(stage.truth.seen().services["a"])
    return found[number % len(found)].partition("/")[2] if found else "web"


def _label(stage: Stage, first: int, second: int) -> None:
    """Nodes are excluded from load balancers by mistake, or no longer."""
    for number in _several(stage, first, second):
        stage.label(number, {EXCLUDED: None if second > 9 else ""})


def _mark(stage: Stage, first: int, second: int) -> None:
    for number in _several(stage, first, second):
        stage.mark(number, "ToBeDeletedByClusterAutoscaler")


def _unmark(stage: Stage, *_: int) -> None:
    for number in filter(None, map(machine_of, stage.nodes().values())):
        stage.unmark(number)


def _select(stage: Stage, first: int, second: int) -> None:
    pool = ("pool=b", "pool=b", "pool=b", "pool=a", "pool=c", None)[second % 6]
    stage.annotate(_some_service(stage, first), {"node-selector": pool})


def _edit(stage: Stage, first: int, second: int) -> None:
    """Several annotations at once."""
    edits: Sequence[Mapping[str, str | None]] = (
        {"node-selector": "pool=b", **CLOSED},
        CLOSED,
        dict.fromkeys(CLOSED),
        {"use-private-ip": None, "node-selector": "pool=b"},
        {"disable-public-network": None, "node-selector": None},
        {"uses-proxyprotocol": "true", "node-selector": "pool=b"},
    )
    stage.annotate(_some_service(stage, first), edits[second % len(edits)])


def _tell_apart(stage: Stage, first: int, second: int) -> None:
    """Ports get settings of their own at once, or lose them."""
    texts: Sequence[Sequence[str | None]] = (("true", "false"), ("false", "true"), ("true", None), (None, None))
    stage.tell_apart(_some_service(stage, first), texts[second % len(texts)])


def _turn(stage: Stage, first: int, second: int) -> None:
    """To another type and back between two passes, with or without a class."""
    service = _some_service(stage, first)
    stage.turn(service, "ClusterIP")
    if second % 3:
        stage.turn(service, "LoadBalancer", (None, "io.cilium/l2-announcer")[second % 2])


def _remake(stage: Stage, first: int, second: int) -> None:
    """Deleted, and made again as soon as nothing keeps it."""
    service = _some_service(stage, first)
    options: Sequence[Mapping[str, str]] = ({}, PRIVATE, OF_A)
    stage.delete_service(service)
    stage.make_service(service, options[second % len(options)])


def _configure(stage: Stage, first: int, second: int) -> None:
    """A person changes a setting, and means it."""
    wishes: Sequence[tuple[str, Sequence[str | None]]] = (
        (f"{LB}USE_PRIVATE_IP", ("true", "false", None)),
        (f"{LB}DISABLE_PUBLIC_NETWORK", ("true", "false", None)),
        (f"{LB}USES_PROXYPROTOCOL", ("true", "false", None)),
        (f"{LB}DISABLE_PRIVATE_INGRESS", ("true", None)),
        (f"{LB}DISABLE_IPV6", ("true", None)),
        (f"{LB}ALGORITHM_TYPE", ("least_connections", None)),
    )
    name, values = wishes[first % len(wishes)]
    stage.configure(**{name: values[second % len(values)]})


def _deafen(stage: Stage, first: int, second: int) -> None:
    stage.deafen(*_several(stage, first, second))


def _switch_off(stage: Stage, first: int, second: int) -> None:
    for number in _several(stage, first, second):
        stage.power(number, on=False)


def _leave_network(stage: Stage, first: int, second: int) -> None:
    for number in _several(stage, first, second):
        stage.leave_network(number)


def _hang(stage: Stage, first: int, second: int) -> None:
    stage.hang((None, None, "change_algorithm", "attach_to_network")[first % 4], count=1 + second % 4)


def _arrive(stage: Stage, first: int, _second: int) -> None:
    """A Node joins, or a Service is made, while the next run is at work."""
    if first % 2:
        stage.meanwhile(lambda: stage.make_service("mail"))
    else:
        number, _ = stage.make_server()
        stage.meanwhile(lambda: stage.register(number))


def _attach(stage: Stage, first: int, second: int) -> None:
    """A volume to one Node, or to half of all."""
    for number in _several(stage, first, second):
        stage.attach(number)


def _lose(stage: Stage, first: int, second: int) -> None:
    """A server is deleted to which a volume is attached, as long ago as a deletion of its Node waits for; most often a
    pass has looked by now."""
    number = _server(stage, first)
    stage.attach(number)
    stage.kill(number)
    stage.advance((90, 600, 600)[second % 3])
    if second > 3:
        stage.run(loop=second % 2 > 0)


def _bring_back(stage: Stage, first: int, _second: int) -> None:
    """One of the servers that are gone and whose Nodes are there."""
    known = stage.truth.seen().servers[HOME]
    gone = sorted(each for node in stage.nodes().values() if (each := server_of(node) or 0) and each not in known)
    if gone:
        stage.bring_back(gone[first % len(gone)])


MISTAKES: dict[str, Callable[[Stage, int, int], object]] = {
    "label": _label,
    "mark some": _mark,
    "unmark": _unmark,
    "select": _select,
    "edit": _edit,
    "tell apart": _tell_apart,
    "turn": _turn,
    "remake": _remake,
    "configure": _configure,
    "deafen": _deafen,
    "undeafen": lambda stage, *_: stage.undeafen(),
    "switch off": _switch_off,
    "switch on": lambda stage, *_: stage.recover(),
    "attach": _attach,
    "detach": lambda stage, *_: stage.detach_lost(),
    "lose": _lose,
    "bring back": _bring_back,
    "uncordon": lambda stage, first, _: stage.uncordon(_server(stage, first)),
    "leave network": _leave_network,
    "hang": _hang,
    "arrive": _arrive,
}
"""What happens in worlds in which more is mistaken."""
_OFTEN = (
    "silence",
    "silence",
    "join",
    "kill",
    "annotate",
    "annotate",
    "annotate",
    "make service",
    "approve",
    "advance",
)
NUMBERS = st.integers(0, 13)
_OF_METAL = ("silence metal", "rack", "rename metal", "readdress", "claim", "give back")
_OF_CLOUD = tuple(name for name in HAPPENINGS if name not in _OF_METAL)
happenings: st.SearchStrategy[Step] = st.tuples(some(*_OF_CLOUD, *_OFTEN), NUMBERS, NUMBERS)
_SILENCES = ("silence", "silence", "silence", "silence metal", "silence metal", "silence metal")
with_metal: st.SearchStrategy[Step] = st.one_of(
    happenings,
    st.tuples(some(*_OF_METAL, *_SILENCES), NUMBERS, NUMBERS),
    st.tuples(some(*_OF_METAL, *_SILENCES), NUMBERS, NUMBERS),
)
_LISTS = (f"{kind}:{how}" for kind in (*OF_PROJECT, *OF_CLUSTER) for how in HOW)
_LIES = ("token", "token", "servers:all", "servers:all", "servers:half", "clock", "network", *DEATHS, *_LISTS)


def _runs(*known: str) -> st.SearchStrategy[Step]:
    """Runs that see up to two of these lies."""
    seen_through = st.one_of(st.just(()), st.tuples(some(*known)), st.tuples(some(*known), some(*known)))
    return st.tuples(st.just("run"), NUMBERS, seen_through, st.booleans())


runs = _runs(*_LIES)
scripts = st.lists(st.one_of(happenings, happenings, runs), min_size=1, max_size=12)
scripts_with_metal = st.lists(
    st.one_of(with_metal, with_metal, runs, *[_runs(*METAL_LIES, "robot:account", "robot:account")] * 3),
    min_size=1,
    max_size=12,
)


SETTINGS = (
    "HCLOUD_NETWORK=",
    "HCLOUD_NETWORK=8",
    "HCLOUD_NETWORK=none-such",
    "HCLOUD_NETWORK_ROUTES_ENABLED=false",
    "HCLOUD_INSTANCES_ADDRESS_FAMILY=ipv6",
    "HCLOUD_INSTANCES_ADDRESS_FAMILY=dualstack",
    "HCLOUD_INSTANCES_ZONE_LABEL_ENABLED=false",
    f"{LB}ENABLED=false",
    f"{LB}LOCATION=",
    f"{LB}LOCATION=nbg1",
    f"{LB}TYPE=lb21",
    f"{LB}ALGORITHM_TYPE=least_connections",
    f"{LB}DISABLE_PUBLIC_NETWORK=",
    f"{LB}DISABLE_PUBLIC_NETWORK=true",
    f"{LB}DISABLE_PUBLIC_NETWORK=false",
    f"{LB}DISABLE_PRIVATE_INGRESS=true",
    f"{LB}DISABLE_IPV6=true",
    f"{LB}USE_PRIVATE_IP=",
    f"{LB}USE_PRIVATE_IP=true",
    f"{LB}USE_PRIVATE_IP=false",
    f"{LB}USES_PROXYPROTOCOL=",
    f"{LB}USES_PROXYPROTOCOL=true",
    f"{LB}USES_PROXYPROTOCOL=false",
    f"{LB}PRIVATE_SUBNET_IP_RANGE=10.0.0.0/24",
    f"{LB}HEALTH_CHECK_INTERVAL=7s",
    "ROBOT_ENABLED=",
    "ROBOT_FORWARD_INTERNAL_IPS=false",
    "--cluster-cidr=",
    "--cluster-cidr=10.96.0.0/16",
    "--controllers=cloud-node",
    "--controllers=*,-service",
    "--keep-internal-ips=true",
    "--ignore-nodes=pool=a",
    "--mirror-labels=example.com",
    "--server-selector=pool=a",
    "--server-selector=!pool",
    f"{LB}DELETION_POLICY=",
    f"{LB}DELETION_POLICY=delete",
    f"{LB}DELETION_POLICY=retain",
    "values:lost",
)
"""Settings that are lost, mistyped, or another valid value."""
NEW_FLAGS_LOST = ("--out-of-service=", "--server-selector=", "--server-selector=!pool")
HEALTH = ("health:healthy", "health:unhealthy", "health:unknown", "health:unhealthy:1", "health:unknown:1")


def _mistaken_runs() -> st.SearchStrategy[Step]:
    """Runs with settings of which one or several are mistaken."""
    seen_through = st.lists(some(*SETTINGS), min_size=1, max_size=3, unique=True).map(tuple)
    return st.tuples(st.just("run"), st.just(0), seen_through, st.booleans())


_truthful = st.one_of(
    st.tuples(st.just("run"), st.just(0), st.just(()), st.booleans()),
    st.tuples(st.just("run"), st.just(0), st.just(()), st.booleans()),
    st.tuples(st.just("run"), st.just(0), some(*DEATHS).map(lambda death: (death,)), st.booleans()),
)
_EXPECTED: Mapping[str, tuple[str, ...]] = {
    "configured": (
        "configure",
        "edit",
        "tell apart",
        "tell apart",
        "turn",
        "remake",
        "annotate",
        "join",
        "approve",
        "advance",
    ),
    "pools": (
        *["select"] * 4,
        *["deafen", "switch off"] * 2,
        "undeafen",
        "switch on",
        *["edit", "label"] * 2,
        "mark some",
    ),
    "ill": (*["deafen", "select"] * 2, "undeafen", "switch off", "switch on", "unmark", "label", "edit", "kill"),
    "stuck": ("hang", "hang", "arrive", "arrive", "make service", "annotate", "join", "edit", "advance"),
    "lost": (
        *["lose", "bring back"] * 5,
        *["cordon", "advance"] * 2,
        "silence",
        "attach",
        "kill",
        "detach",
        "uncordon",
        "mark some",
        "switch off",
        "switch on",
        "join",
        "delete node",
    ),
    "gradual": ("leave network", "delete node", "delete node", "label", "mark some", "cordon", "join", "kill", "drop"),
}
_SEEN_BY: Mapping[str, tuple[st.SearchStrategy[Step], ...]] = {
    "configured": (_mistaken_runs(), _mistaken_runs()),
    "pools": (_truthful, _truthful),
    "ill": (_runs(*HEALTH), _runs(*HEALTH, "token", "servers:all", "load_balancers:lag")),
    "stuck": (_truthful, _truthful),
    "gradual": (_truthful, _truthful, _truthful),
    "lost": (
        _runs(
            "servers:all", "servers:half", "servers:stale", "nodes:stale", "token", "clock", *NEW_FLAGS_LOST, *DEATHS
        ),
        _truthful,
        _truthful,
    ),
}


def scripts_of(kind: str) -> st.SearchStrategy[list[Step]]:
    """What may happen in worlds of this kind."""
    if kind.startswith("dedicated"):
        return scripts_with_metal
    if kind not in _EXPECTED:
        return scripts
    happens = st.tuples(some(*_EXPECTED[kind]), NUMBERS, NUMBERS)
    return st.lists(st.one_of(happens, happens, *_SEEN_BY[kind]), min_size=3, max_size=14)


def play(start: Start, script: Sequence[Step]) -> Stage:
    """Carry a script out, let the world settle, and approve what is held.

    Raises AssertionError for harm, and for what is left undone.
    """
    stage = a_stage(start)
    for name, *how in script:
        if name == "run":
            first, seen_through, loop = how
            stage.run(_cluster(stage, first), *seen_through, loop=loop)
        else:
            first, second = how
            (HAPPENINGS | MISTAKES)[name](stage, first, second)
    stage.settle()
    stage.let_go()
    return stage


def seed_of(kind: str, number: int = SEED) -> int:
    """Another one for each kind, so that not all of them try the same scripts."""
    return number ^ crc32(kind.encode())


def sample(kind: str, number: int, count: int) -> list[list[Step]]:
    """So many scripts of a kind, by this seed."""
    found: list[list[Step]] = []
    every = list(HealthCheck)

    @seed(seed_of(kind, number))
    @settings(max_examples=count, deadline=None, database=None, phases=[Phase.generate], suppress_health_check=every)
    @given(scripts_of(kind))
    def draw(script: list[Step]) -> None:
        found.append(script)

    draw()
    return found


def test_each_happening_occurs() -> None:
    """What is in no script is not tried, whatever its table says."""
    counts = {
        "configured": 120,
        "pools": 40,
        "ill": 40,
        "stuck": 40,
        "gradual": 20,
        "lost": 40,
        "small": 400,
        "dedicated": 40,
    }
    drawn = [step for kind, count in counts.items() for script in sample(kind, 33, count) for step in script]
    happened = {name for name, *_ in drawn if name != "run"}
    lies = {lie for name, *how in drawn if name == "run" for lie in how[1]}
    assert happened == HAPPENINGS.keys() | MISTAKES.keys()
    assert {*SETTINGS, *HEALTH, *DEATHS} <= lies


_WHERE: Mapping[str, str] = {
    **dict.fromkeys(_OF_METAL, "dedicated"),
    **{name: kind for kind, names in _EXPECTED.items() for name in names if name not in HAPPENINGS},
}
"""Happening → worlds in which it has something to happen to; those that are not here happen anywhere."""


@pytest.mark.parametrize("name", sampling.sample(sorted(HAPPENINGS | MISTAKES), "happenings", least=14))
def test_each_happening_among_others(name: str) -> None:
    """Each happens in a world of its own, before a run and amid a script of others."""
    chance = Random(seed_of(name))
    kind = _WHERE.get(name) or chance.choice(sorted(STARTS))
    script = sample(kind, seed_of(name), 3)[-1]
    place = chance.randrange(len(script) + 1)
    happening: Step = (name, chance.randrange(14), chance.randrange(14))
    _count(play(chance.choice(STARTS[kind]), [*script[:place], happening, ("run", 0, (), True), *script[place:]]))


_runs_of: Counter[str] = Counter()
_used: set[Excuse] = set()


def _count(stage: Stage) -> None:
    """Note whether a run was excused from settling, and by what."""
    _runs_of["all"] += 1
    _runs_of["excused"] += bool(stage.excused)
    _used.update(stage.excused)


@pytest.mark.timeout(3600)  # a failure takes minutes to become as short as it gets
@pytest.mark.parametrize("kind", ASKED or STARTS)
def test_nothing_is_harmed_and_all_is_mended(kind: str) -> None:
    @seed(seed_of(kind))
    @settings(
        max_examples=max(1, HARMED // len(ASKED or STARTS)),
        deadline=None,
        derandomize=False,
        print_blob=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(some(*STARTS[kind]), scripts_of(kind))
    def law(start: Start, script: Sequence[Step]) -> None:
        _count(play(start, script))

    law()


def test_few_runs_are_excused(record_property: Callable[[str, object], None]) -> None:
    """Of all worlds of this file at most a share ends with something that waits for a person; in a long run each
    excuse of the table is used, or goes."""
    runs, excused = _runs_of["all"], _runs_of["excused"]
    if runs < FEWEST_RUNS:
        pytest.skip("so few runs prove nothing: run the whole file")
    record_property(
        MEASURED, f"{excused} of {runs} runs end with an excuse: {', '.join(sorted({e.by for e in _used}))}"
    )
    assert excused <= most(MOST_EXCUSED, runs)
    assert runs < LONG_RUN or {*EXCUSES} == _used
