"""Machines come and go as they do in real clusters: each ends with exactly the right Nodes, and nobody approves."""

import json
from functools import partial

from tests.support.in_process import ONCE_AT_ANY_AGE, one_pass
from tests.support.objects import joining_node, of_control_plane, server, settled_node
from tests.support.stage import AT_ANY_AGE, Stage, is_initialised, killed_at_the_end, wait_for

SILENT_FOR = ("--delete-not-ready-for", "0s")


def _is_replaced(stage: Stage, number: int) -> bool:
    nodes = stage.nodes()
    return f"old-{number}" not in nodes and is_initialised(nodes[f"new-{number}"])


def test_rolling_replacement_of_all_ten(stage: Stage) -> None:
    """Three of the control plane and seven workers, one after another: cordon, delete the server, the next one joins.

    The loop follows without a word of anybody's; the last report has ten new Nodes and holds nothing.
    """
    control_plane = [of_control_plane(settled_node(f"old-{i}", i)) for i in (1, 2, 3)]
    stage.have_servers(*(server(i, f"old-{i}") for i in range(1, 11)))
    stage.register(*control_plane, *(settled_node(f"old-{i}", i) for i in range(4, 11)))

    arguments = ("--interval", "100ms", "--output", "json", *AT_ANY_AGE, *SILENT_FOR)
    with killed_at_the_end(stage.start("run", *arguments)) as loop:
        for i in range(1, 11):
            stage.cordon(f"old-{i}")
            stage.remove_servers(i)
            stage.set_ready(f"old-{i}", ready="Unknown")
            stage.add_servers(server(100 + i, f"new-{i}"))
            joined = joining_node(f"new-{i}")
            stage.register(of_control_plane(joined) if i <= 3 else joined)
            wait_for(partial(_is_replaced, stage, i), f"new-{i} to join and old-{i} to go")
            stage.set_ready(f"new-{i}", ready="True")
        loop.terminate()
        stdout, _ = loop.communicate(timeout=30)

    assert sorted(stage.nodes()) == sorted(f"new-{i}" for i in range(1, 11))
    assert all(is_initialised(node) for node in stage.nodes().values())
    reports = [json.loads(line) for line in stdout.splitlines()]
    assert [report["holds"] for report in reports if report["holds"]] == []
    assert one_pass(stage, ONCE_AT_ANY_AGE)["result"] == "no_changes"
