"""Whatever hides all servers from the product, no Node is deleted: random fault scripts on a real API server.

``FAULT_SCRIPTS`` says how many scripts there are, from seed ``PROPERTY_SEED`` on; ``scripts/soak`` runs many.
"""

import os
from collections.abc import Sequence
from functools import partial

import pytest

from reconciler.passes.one_pass import converge
from reconciler.result import Report
from tests.support.fault_scripts import NETWORK, Mode, Pass, Script, random_script
from tests.support.in_process import one_pass, runtime
from tests.support.looping import loop
from tests.support.objects import CONTROL_PLANE, ago, of_control_plane, server, settled_node
from tests.support.sampling import SEED
from tests.support.simulators import ImpatientStop
from tests.support.stage import Stage, killed_at_the_end, wait_for

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
