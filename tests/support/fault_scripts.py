"""Fault scripts: random clusters, and random ways in which Hetzner's answers hide every server of theirs.

A script follows from its seed alone. Whatever its passes are told, no server is gone, so no Node may be deleted.
"""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Literal

from hcloud_sandbox.clock import SimulatedClock
from hcloud_sandbox.hetzner import HetznerSimulator
from tests.support.objects import AUTOSCALER, LONG_AGO, ago, of_control_plane, server, settled_node
from tests.support.stage import hetzner_says

Fault = Mapping[str, Any]
"""A fault of the proxy, without the members that say which requests it hits."""
Mode = Literal["dry-run", "once", "loop"]
NETWORK = {"id": 7, "name": "cluster", "ip_range": "10.0.0.0/16"}
_MODES: tuple[Mode, ...] = ("dry-run", "once", "loop")
_KARPENTER = "karpenter.sh/disrupted"


class Question(Enum):
    """What a pass asks of Hetzner, as the members of a fault that choose these requests."""

    FIRST_PAGE = ("/v1/servers$", r"\bpage=1\b")
    OTHER_PAGES = ("/v1/servers$", r"\bpage=(?!1\b)")
    SERVER = ("/v1/servers/", "")
    NETWORK = ("/v1/networks/", "")
    NETWORKS = ("/v1/networks$", "")

    def spoilt(self, fault: Fault, count: int | None) -> dict[str, Any]:
        """The fault for the next ``count`` of these requests, for all when that is None."""
        path, query = self.value
        return {**fault, "method": "GET", "path": path, "query": query, "count": count}


LISTS = (Question.FIRST_PAGE, Question.OTHER_PAGES)
SINGLES = (Question.SERVER, Question.NETWORK, Question.NETWORKS)


@dataclass(frozen=True, slots=True)
class Way:
    """One way of hiding servers: what becomes of each question. One that is left out is answered truly."""

    name: str
    answers: Mapping[Question, Fault]


@dataclass(frozen=True, slots=True)
class Turns:
    """Ways that follow one another, each for so many requests of every sort, the last one for as many as there are."""

    ways: tuple[tuple[Way, int], ...]

    def faults(self, questions: tuple[Question, ...]) -> list[dict[str, Any]]:
        """The faults for these questions. The proxy takes them in their order."""
        counts = [*(count for _, count in self.ways[:-1]), None]
        return [
            question.spoilt(way.answers[question], count)
            for (way, _), count in zip(self.ways, counts, strict=True)
            for question in questions
            if question in way.answers
        ]

    def __str__(self) -> str:
        return ", then ".join(f"{way.name} x{count}" for way, count in self.ways)


@dataclass(frozen=True, slots=True)
class Pass:
    """What one pass meets when it lists servers, and when it asks for single things."""

    lists: Turns
    singles: Turns

    @property
    def faults(self) -> list[dict[str, Any]]:
        return self.lists.faults(LISTS) + self.singles.faults(SINGLES)

    def __str__(self) -> str:
        return f"lists: {self.lists}, else: {self.singles}"


@dataclass(frozen=True, slots=True)
class Cluster:
    """Nodes, the project's servers, some of which are nobody's Nodes, and whether HCLOUD_NETWORK names its network."""

    nodes: tuple[dict[str, Any], ...]
    servers: tuple[dict[str, Any], ...]
    network: bool


@dataclass(frozen=True, slots=True)
class Script:
    """A cluster, and a run of the product in each mode, with its passes."""

    seed: int
    cluster: Cluster
    runs: tuple[tuple[Mode, tuple[Pass, ...]], ...]

    def __str__(self) -> str:
        told = "; ".join(f"{mode}: {' | '.join(map(str, passes))}" for mode, passes in self.runs)
        return f"{told}; repeat with PROPERTY_SEED={self.seed} FAULT_SCRIPTS=1"


def random_script(seed: int) -> Script:
    """The script of this seed: a run in each mode, in any order, one to four passes each."""
    rng = random.Random(seed)
    cluster = _random_cluster(rng)
    ways = _ways(cluster, rng)
    runs = tuple(
        (mode, tuple(_random_pass(rng, ways) for _ in range(rng.randint(1, 4))))
        for mode in rng.sample(_MODES, k=len(_MODES))
    )
    return Script(seed, cluster, runs)


def _random_cluster(rng: random.Random) -> Cluster:
    """One to twelve Nodes, old and silent long enough that only the guards protect them, some of them Ready."""
    size = rng.randint(1, 12)
    ids = rng.sample(range(1, 150), size + rng.choice([0, 0, 3, 60]))
    silent_since = rng.choice([LONG_AGO, LONG_AGO, ago(minutes=31), ago(minutes=10)])
    share_ready = rng.choice([0.0, 0.0, 0.3, 0.8])
    masters = rng.choice([0, 1, 3])
    nodes = []
    for number, server_id in enumerate(ids[:size]):
        ready = rng.random() < share_ready
        status = "True" if ready else rng.choice(["False", "Unknown"])
        node = settled_node(f"node-{number}", server_id, status, since=LONG_AGO if ready else silent_since)
        nodes.append(_announced(of_control_plane(node) if number < masters else node, rng))
    names = [*(node["metadata"]["name"] for node in nodes), *(f"other-{server_id}" for server_id in ids[size:])]
    servers = tuple(server(server_id, name) for server_id, name in zip(ids, names, strict=True))
    return Cluster(tuple(nodes), servers, network=rng.random() < 0.3)


def _announced(node: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    """The Node as it is, or announced to go in one of the ways that there are."""
    match rng.choice(["not", "not", "not", "cordoned", AUTOSCALER, _KARPENTER]):
        case "not":
            pass
        case "cordoned":
            node["spec"]["unschedulable"] = True
        case key:
            node["spec"]["taints"] = [{"key": key, "effect": "NoSchedule"}]
    return node


@dataclass(frozen=True, slots=True)
class _Ways:
    """Every way, by what it takes to see through it."""

    elsewhere: tuple[Way, ...]
    """The token is another project's: all that it says is true there."""
    trouble: tuple[Way, ...]
    """No answer that is one."""
    partial: tuple[Way, ...]
    """Lists that are not whole, and whose numbers say so."""
    lying: tuple[Way, ...]
    """Lists that lack servers and add up all the same."""


def _random_pass(rng: random.Random, ways: _Ways) -> Pass:
    """Up to three ways that follow one another in the middle of the pass, drawn for lists and for the rest.

    A lying list never goes with another project's answers: were both wrong in one pass, and in the same sense, then
    nothing would tell that from the truth.
    """
    if rng.random() < 0.3:
        truth = Way("the truth", {})
        return Pass(Turns(((rng.choice(ways.lying), 1),)), Turns(((rng.choice([truth, *ways.trouble]), 1),)))
    return Pass(
        _random_turns(rng, (ways.elsewhere, ways.trouble, ways.partial)),
        _random_turns(rng, (ways.elsewhere, ways.trouble)),
    )


def _random_turns(rng: random.Random, kinds: tuple[tuple[Way, ...], ...]) -> Turns:
    drawn = [rng.choice(rng.choice(kinds)) for _ in range(rng.choice([1, 1, 2, 3]))]
    return Turns(tuple((way, 1 if way.name == "time-out" else rng.randint(1, 5)) for way in drawn))


def _ways(cluster: Cluster, rng: random.Random) -> _Ways:
    clock = SimulatedClock()
    ours = HetznerSimulator(clock, world={"servers": cluster.servers, "networks": [NETWORK]})
    names = [found["name"] for found in cluster.servers]
    theirs = [server(5000 + i, name) for i, name in enumerate(rng.sample(names, rng.randint(1, min(len(names), 40))))]
    empty, populated = (HetznerSimulator(clock, world={"servers": found}) for found in ([], theirs))
    few = HetznerSimulator(clock, world={"servers": rng.sample(cluster.servers, len(names) // 2)})
    page, no_page = hetzner_says(ours, _page(1)), hetzner_says(empty, _page(1))
    html = {"body": "<html><body>sorry</body></html>"}
    return _Ways(
        elsewhere=(_project("empty project", empty), _project("project of others", populated)),
        trouble=(
            _failing("500", _refusal(500, "server_error")),
            _failing("502 with HTML", {"kind": "status", "code": 502, **html}),
            _failing("429", _refusal(429, "rate_limit_exceeded")),
            _failing("401", _refusal(401, "unauthorized")),
            _failing("404 of something else", {"kind": "status", "code": 404, **html}),
            _failing("200 with HTML", {"kind": "status", "code": 200, **html}),
            _failing("cut body", {"kind": "cut_body"}),
            _failing("reset", {"kind": "reset"}),
            _failing("time-out", {"kind": "hang"}),
        ),
        partial=(
            _list_of("truncated list", _shortened(page, rng), _refusal(500, "server_error")),
            _list_of("page 2 missing", _halved(page), _refusal(503, "unavailable")),
            _list_of("page 2 empty", _halved(page), _ok(no_page)),
        ),
        lying=(
            _list_of("empty list", no_page, _ok(no_page)),
            _list_of("short list", hetzner_says(few, _page(1)), _ok(no_page)),
        ),
    )


def _failing(name: str, fault: Fault) -> Way:
    """The same for every question."""
    return Way(name, dict.fromkeys(Question, fault))


def _project(name: str, other: HetznerSimulator) -> Way:
    """The token is another project's, where ours is all unknown."""
    gone = _refusal(404, "not_found")
    return Way(
        name,
        {
            Question.FIRST_PAGE: _ok(hetzner_says(other, _page(1))),
            Question.OTHER_PAGES: _ok(hetzner_says(other, _page(2))),
            Question.SERVER: gone,
            Question.NETWORK: gone,
            Question.NETWORKS: _ok(hetzner_says(other, "/v1/networks?name=7")),
        },
    )


def _list_of(name: str, first_page: Any, other_pages: Fault) -> Way:
    return Way(name, {Question.FIRST_PAGE: _ok(first_page), Question.OTHER_PAGES: other_pages})


def _shortened(page: Any, rng: random.Random) -> Any:
    """The page without its last servers, at least one, and with the right total."""
    return {**page, "servers": page["servers"][: rng.randrange(len(page["servers"]))]}


def _halved(page: Any) -> Any:
    """The first half of the page, which says that there is a second one."""
    pagination = {**page["meta"]["pagination"], "next_page": 2, "last_page": 2}
    return {"servers": page["servers"][: len(page["servers"]) // 2], "meta": {"pagination": pagination}}


def _page(number: int) -> str:
    return f"/v1/servers?page={number}&per_page=50&sort=id:asc"


def _ok(body: Any) -> Fault:
    return {"kind": "status", "code": 200, "body": body}


def _refusal(status: int, code: str) -> Fault:
    return {"kind": "status", "code": status, "body": {"error": {"code": code, "message": "as the script says"}}}
