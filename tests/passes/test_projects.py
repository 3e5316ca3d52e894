"""A token of the wrong project changes nothing, and the words say what is probably wrong."""

from tests.support.objects import joining_node, server, settled_node
from tests.support.stage import Stage, is_initialised

SETTLED = [settled_node(f"old-{i}", 100 + i) for i in range(3)]


def test_a_token_of_an_empty_project_is_refused_though_the_plan_is_empty(stage: Stage) -> None:
    """Initialised Nodes of which none is in the project: refused, nothing written, and a hint at the token."""
    stage.register(*SETTLED)
    before = stage.nodes()

    ran = stage.reconcile("--once", "--output", "json")
    told = stage.reconcile("--once")

    assert (ran.report["result"], ran.report["changes"], ran.code) == ("blocked", [], 3)
    assert [note["kind"] for note in ran.report["notes"]] == ["project-anchor"]
    assert "in the project of HCLOUD_TOKEN" in told.stdout
    assert "warning" in told.stderr
    assert "No changes" not in told.stdout
    assert [e.method for e in stage.proxy.journal.entries() if e.method != "GET"] == []
    assert stage.nodes() == before
    assert stage.reconcile("--once", "--detailed-exitcode").code == 3


def test_an_empty_project_is_refused_even_when_it_lacks_the_network_too(stage: Stage) -> None:
    """The missing network is a symptom of the wrong project, not a second error."""
    stage.register(*SETTLED)

    ran = stage.reconcile("--once", "--output", "json", HCLOUD_NETWORK="cluster")

    assert (ran.report["result"], ran.code) == ("blocked", 3)


def test_an_empty_project_and_a_cluster_just_being_born_get_a_note_for_each_node(stage: Stage) -> None:
    """No Node is initialized yet, so there is no anchor to violate: notes, no hold, and only Events are written."""
    names = ("first", "second")
    stage.register(*map(joining_node, names))

    ran = stage.reconcile("--once", "--output", "json")

    assert (ran.report["result"], ran.report["holds"], ran.code) == ("no_changes", [], 0)
    assert [(note["key"], note["kind"]) for note in ran.report["notes"]] == [
        (f"node/{name}", "unmatched") for name in names
    ]
    assert stage.writes() == []
    assert {event["involvedObject"]["name"] for event in stage.events("ServerNotFound")} >= set(names)


def test_an_approved_hold_passes_once_and_no_other(stage: Stage) -> None:
    """An approval in the cluster lets exactly the held changes pass; it does not fit a hold that changed meanwhile."""
    stage.register(*SETTLED, joining_node("new-1"))
    stage.have_servers(server(900, "new-1"))
    first = stage.reconcile("--dry-run", "--output", "json").report["holds"][0]["hash"]

    refused = stage.reconcile("approve", first)
    assert (refused.code, "pass --yes" in refused.stderr) == (64, True), "no controller has published it"
    approved = stage.reconcile("approve", first, "--yes")
    assert (approved.code, first in approved.stdout) == (0, True)

    stage.register(joining_node("new-2"))
    stage.have_servers(server(900, "new-1"), server(901, "new-2"))
    both = stage.reconcile("--once", "--output", "json").report
    assert (both["summary"]["held"], both["summary"]["applied"]) == (2, 0)

    stage.reconcile("approve", both["holds"][0]["hash"], "--unseen")
    done = stage.reconcile("--once", "--output", "json").report
    assert done["summary"]["applied"] == 2
    assert all(is_initialised(stage.nodes()[name]) for name in ("new-1", "new-2"))

    for name in ("new-1", "new-2"):
        stage.register_again(joining_node(name))
    again = stage.reconcile("--once", "--output", "json").report
    assert again["summary"]["applied"] == 0
