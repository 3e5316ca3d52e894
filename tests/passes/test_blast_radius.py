"""Servers that vanish unannounced: their Nodes are held until a person approves exactly that."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.in_process import ONCE_AT_ANY_AGE, one_pass
from tests.support.objects import ago, settled_node
from tests.support.stage import AT_ANY_AGE, Stage, killed_at_the_end, wait_for

PART = {"--only": "node/web-2"}


def _vanish(stage: Stage, *server_ids: int) -> None:
    """The servers are gone, and since five minutes their Nodes are silent."""
    stage.remove_servers(*server_ids)
    stage.set_ready(*(f"web-{i}" for i in server_ids), ready="Unknown", since=ago(minutes=5))


def _the_hold(stage: Stage) -> Any:
    """What a run holds; nothing is deleted by it."""
    before = stage.uids()
    stage.forget()
    report = one_pass(stage, ONCE_AT_ANY_AGE)
    (hold,) = report["holds"]
    assert (report["result"], report["summary"]["applied"]) == ("blocked", 0)
    assert (stage.uids(), stage.deletions()) == (before, [])
    return hold


def test_two_of_three_are_held_until_approved_while_the_loop_runs(stage: Stage) -> None:
    """Held, with the command to type in text and in JSON; once it was typed, the running loop deletes both Nodes."""
    stage.have_nodes(3)
    _vanish(stage, 2, 3)
    kept = stage.uids()["web-1"]

    _the_hold(stage)
    (hold,) = stage.reconcile("--once", "--output", "json", *AT_ANY_AGE).report["holds"]
    told = stage.reconcile("--once", *AT_ANY_AGE)

    assert (hold["rule"], hold["value"], hold["limit"]) == ("node-blast-radius", "2", "1")
    assert hold["keys"] == ["node/web-2", "node/web-3"]
    assert hold["approve"] == f"reconcile approve {hold['hash']} {' '.join(AT_ANY_AGE)}"
    assert f"approve: {hold['approve']}   (once, within 1 h)" in told.stdout
    assert "2 of 3 Nodes lost their servers without a drain" in told.stdout

    with killed_at_the_end(stage.start("run", "--interval", "200ms", *AT_ANY_AGE)):
        stage.forget()
        wait_for(lambda: len(stage.asked_hetzner()) > 1, "the loop to have looked twice")
        assert len(stage.nodes()) == 3
        wait_for(lambda: stage.reconcile("holds", "show", hold["hash"]).code == 0, "it to be published")
        assert stage.reconcile(*hold["approve"].split()[1:]).code == 0
        wait_for(lambda: len(stage.nodes()) == 1, "what was approved")

    assert stage.uids() == {"web-1": kept}
    assert one_pass(stage, ONCE_AT_ANY_AGE)["result"] == "no_changes"


def _another_vanishes(stage: Stage) -> None:
    _vanish(stage, 4)


def _one_registers_again(stage: Stage) -> None:
    stage.register_again(settled_node("web-3", 3, ready="Unknown", since=ago(minutes=5)))


def _one_was_ready_in_between(stage: Stage) -> None:
    stage.set_ready("web-3", ready="Unknown", since=ago(minutes=1))


@pytest.mark.parametrize("happens", [_another_vanishes, _one_registers_again, _one_was_ready_in_between])
def test_an_approval_does_not_fit_a_hold_that_changed(stage: Stage, happens: Callable[[Stage], None]) -> None:
    """A person has approved the loss of two certain machines as they were then, and of nothing else."""
    stage.have_nodes(5)
    _vanish(stage, 2, 3)
    approved = _the_hold(stage)
    assert stage.reconcile("approve", approved["hash"], "--unseen").code == 0

    happens(stage)

    assert _the_hold(stage)["hash"] != approved["hash"]


@pytest.mark.parametrize("shown", [{}, PART], ids=["all", "the part"])
def test_an_approval_is_of_what_was_shown(stage: Stage, shown: dict[str, str]) -> None:
    """An approval is of the hold that was shown: of all, or of a part."""
    stage.have_nodes(6)
    _vanish(stage, 2, 3, 4)
    (hold,) = one_pass(stage, {**ONCE_AT_ANY_AGE, **shown})["holds"]
    assert stage.reconcile("approve", hold["hash"], "--unseen").code == 0

    one_pass(stage, ONCE_AT_ANY_AGE | PART)
    part = {*stage.nodes()}
    one_pass(stage, ONCE_AT_ANY_AGE)

    everything = {f"web-{number}" for number in range(1, 7)}
    assert part == (everything - {"web-2"} if shown else everything)
    assert {*stage.nodes()} == (part if shown else {"web-1", "web-5", "web-6"})
