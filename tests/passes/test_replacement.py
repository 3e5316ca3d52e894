"""Machines come and go as they do in real clusters: each ends with exactly the right Nodes, and nobody approves."""

import json
from functools import partial

from tests.support.in_process import ONCE_AT_ANY_AGE, one_pass
from tests.support.objects import AUTOSCALER, ago, by_key, joining_node, of_control_plane, server, settled_node
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

    with killed_at_the_end(stage.start("--interval", "100ms", "--output", "json", *AT_ANY_AGE, *SILENT_FOR)) as loop:
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


def test_the_autoscaler_removes_eight_of_ten(stage: Stage) -> None:
    """The taint of the cluster autoscaler announces each of them, so that one pass deletes all eight."""
    surplus = [f"web-{i}" for i in range(3, 11)]
    stage.have_servers(*(server(i, f"web-{i}") for i in range(1, 11)))
    stage.register(*(settled_node(f"web-{i}", i) for i in range(1, 11)))
    kept = {name: uid for name, uid in stage.uids().items() if name not in surplus}
    stage.taint(*surplus, key=AUTOSCALER)
    stage.remove_servers(*range(3, 11))
    stage.set_ready(*surplus, ready="Unknown", since=ago(minutes=1))

    report = stage.reconcile("--once", "--output", "json", *AT_ANY_AGE).report

    assert (stage.uids(), report["summary"]["applied"], report["holds"]) == (kept, 8, [])
    assert one_pass(stage, ONCE_AT_ANY_AGE)["result"] == "no_changes"


def test_the_only_worker_is_replaced_under_another_name(stage: Stage) -> None:
    """With nothing else that tells the project, the new one may join once a person has said that it is the right one;
    then the old one goes by itself."""
    stage.have_servers()
    stage.register(settled_node("old", 1, ready="Unknown", since=ago(minutes=2)))

    alone = one_pass(stage, ONCE_AT_ANY_AGE)
    assert (by_key(alone)["node/old"]["verdict"], list(stage.nodes())) == ("held", ["old"])

    stage.have_servers(server(2, "new"))
    stage.register(joining_node("new"))
    both = one_pass(stage, ONCE_AT_ANY_AGE)
    assert {key: change["rule"] for key, change in by_key(both).items()} == dict.fromkeys(
        ("node/new", "node/old"), "project-anchor"
    )

    (anchor,) = (hold["hash"] for hold in both["holds"] if hold["rule"] == "project-anchor")
    one_pass(stage, {**ONCE_AT_ANY_AGE, "--approve": anchor})
    after = one_pass(stage, ONCE_AT_ANY_AGE)
    assert (list(stage.nodes()), after["result"], after["holds"]) == (["new"], "no_changes", [])
    assert is_initialised(stage.nodes()["new"])


def test_two_replaced_at_once_go_after_half_an_hour(stage: Stage) -> None:
    """Both workers of a cluster were replaced at once and unannounced: held at first, and when they have been silent
    for 30 minutes they go without anybody's word. The report says when."""
    stage.have_servers(server(3, "new-1"), server(4, "new-2"))
    stage.register(settled_node("new-1", 3), settled_node("new-2", 4))
    stage.register(*(settled_node(f"old-{i}", i, ready="Unknown", since=ago(minutes=25)) for i in (1, 2)))

    held = by_key(one_pass(stage, ONCE_AT_ANY_AGE))
    assert [held[f"node/old-{i}"]["verdict"] for i in (1, 2)] == ["held", "held"]
    assert all(240 < change["due_in_s"] <= 300 for change in held.values())
    assert len(stage.nodes()) == 4

    stage.set_ready("old-1", "old-2", ready="Unknown", since=ago(minutes=31))
    report = one_pass(stage, ONCE_AT_ANY_AGE)
    assert (sorted(stage.nodes()), report["result"]) == (["new-1", "new-2"], "no_changes")


def test_what_is_given_up_wakes_the_loop(stage: Stage) -> None:
    """With an hour between passes the hold of a cluster that lost both workers at once is gone when they are given up
    as announced."""
    stage.have_servers(server(3, "new-1"))
    stage.register(settled_node("new-1", 3))
    stage.register(*(settled_node(f"old-{i}", i, ready="Unknown", since=ago(seconds=1)) for i in (1, 2)))

    with killed_at_the_end(
        stage.start("--interval", "1h", *AT_ANY_AGE, "--delete-not-ready-for", "1s", "--given-up-after", "4s")
    ):
        wait_for(lambda: list(stage.nodes()) == ["new-1"], "both to go when they are given up")
