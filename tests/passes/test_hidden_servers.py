"""Whatever hides all servers from the product, no Node is deleted: random fault scripts on a real API server.

``FAULT_SCRIPTS`` says how many scripts there are, from seed ``PROPERTY_SEED`` on; ``scripts/soak`` runs many.
"""

import os
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import Any, Literal

import pytest

from hcloud_sandbox.clock import SimulatedClock
from hcloud_sandbox.hetzner import HetznerSimulator
from reconciler.passes.one_pass import converge
from reconciler.result import Report
from tests.support.in_process import one_pass, runtime
from tests.support.looping import loop
from tests.support.objects import AUTOSCALER, CONTROL_PLANE, LONG_AGO, ago, of_control_plane, server, settled_node
from tests.support.sampling import SEED
from tests.support.simulators import ImpatientStop
from tests.support.stage import Stage, hetzner_says, killed_at_the_end, wait_for

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


SCRIPTS = int(os.environ.get("FAULT_SCRIPTS", "4"))
SEEDS = range(SEED, SEED + SCRIPTS)
FLAGS = {"--delete-min-age": "0s", "--delete-not-ready-for": "0s", "--request-timeout": "500ms"}
"""Nothing but guards keeps a Node from being deleted."""
COMMAND_LINE = [word for flag in FLAGS.items() for word in flag]


@pytest.mark.parametrize("seed", SEEDS)
def test_no_node_is_deleted_while_its_server_is_only_hidden(stage: Stage, seed: int) -> None:
    """All passes of a script, in this process: the Nodes are the same to the last byte, and no write was sent.

    The counter-proof: with the faults gone and one announced server really gone, exactly its Node goes.
    """
    script = _staged(stage, seed)
    before = stage.nodes()

    for mode, passes in script.runs:
        assert _run(stage, mode, passes) == len(passes)
        assert (stage.nodes(), stage.deletions(), stage.writes()) == (before, [], []), str(script)

    stage.hetzner_proxy.clear_faults()
    victim = _lose_one(stage)
    left = {name: uid for name, uid in stage.uids().items() if name != victim}
    report = one_pass(stage, {**FLAGS, "--once": "true", "--request-timeout": "10s"})
    assert (stage.uids(), len(stage.deletions())) == (left, 1), f"{report}; {script}"


@pytest.mark.parametrize("seed", SEEDS[::10])
def test_the_shipped_command_deletes_none_either(stage: Stage, seed: int) -> None:
    """The first pass of each mode of some of these scripts, by the command as it is installed."""
    script = _staged(stage, seed)
    before = stage.nodes()

    for mode, passes in script.runs:
        _spoil(stage, passes[0])
        if mode == "loop":
            _command_in_a_loop(stage, script)
        else:
            assert "Traceback" not in stage.reconcile(f"--{mode}", *COMMAND_LINE).stderr, str(script)
        assert (stage.nodes(), stage.deletions(), stage.writes()) == (before, [], []), str(script)


def _staged(stage: Stage, seed: int) -> Script:
    script = random_script(seed)
    stage.have_servers(*script.cluster.servers, networks=[NETWORK])
    stage.register(*script.cluster.nodes)
    if script.cluster.network:
        stage.environment["HCLOUD_NETWORK"] = str(NETWORK["id"])
    stage.forget()
    return script


def _spoil(stage: Stage, spoilt: Pass) -> None:
    stage.hetzner_proxy.clear_faults()
    stage.hetzner_proxy.set_faults(spoilt.faults)


def _run(stage: Stage, mode: Mode, passes: Sequence[Pass]) -> int:
    """The number of passes. A loop remembers from one to the next, the other modes begin anew."""
    if mode == "loop":
        return _loop(stage, passes)
    for spoilt in passes:
        _spoil(stage, spoilt)
        one_pass(stage, {**FLAGS, f"--{mode}": "true"})
    return len(passes)


def _loop(stage: Stage, passes: Sequence[Pass]) -> int:
    stop = ImpatientStop()
    reports: list[Report] = []
    with runtime(stage, FLAGS, stop) as built:
        plan_context, connections = built.plan_context, built.connections
        assert connections is not None

        def run_pass(_why: str) -> Report:
            _spoil(stage, passes[len(reports)])
            reports.append(converge(plan_context, connections.apply_context))
            if len(reports) == len(passes):
                stop.set()
            return reports[-1]

        loop(run_pass, stop, leader=connections.leader)
    return len(reports)


def _command_in_a_loop(stage: Stage, script: Script) -> None:
    """Some passes of one process; the ways follow one another through all of them."""
    with killed_at_the_end(stage.start("run", "--interval", "50ms", *COMMAND_LINE)) as process:
        wait_for(partial(_has_asked, stage, len(stage.asked_hetzner()) + 5), str(script))
        process.terminate()
        process.communicate(timeout=30)
    assert process.returncode == 0, str(script)


def _has_asked(stage: Stage, questions: int) -> bool:
    return len(stage.asked_hetzner()) >= questions


def _lose_one(stage: Stage) -> str:
    """Cordon a Node, and delete its server: the Node's name. The only one gets a successor first, and the last one of
    the control plane stays, for that needs a person.
    """
    nodes = stage.nodes()
    workers = [name for name, node in nodes.items() if CONTROL_PLANE not in node["metadata"]["labels"]]
    victim = (workers or list(nodes))[0]
    if len(nodes) == 1:
        successor = settled_node("successor", 200)
        stage.add_servers(server(200, "successor"))
        stage.register(successor if workers else of_control_plane(successor))
    stage.cordon(victim)
    stage.remove_servers(int(nodes[victim]["spec"]["providerID"].removeprefix("hcloud://")))
    stage.set_ready(victim, ready="Unknown", since=ago(minutes=5))
    return victim
