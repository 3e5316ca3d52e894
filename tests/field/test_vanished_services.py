"""A load balancer whose Service is gone without having released it: nothing that is paid for goes unmentioned."""

from collections.abc import Callable

import pytest

from tests.support.in_process import ONCE, one_pass
from tests.support.objects import finalizers
from tests.support.stage import Stage


@pytest.fixture
def vanished(field: Callable[[str], Stage]) -> Stage:
    """05: another controller has taken the shared finalizer away, and the only Service is deleted."""
    stage = field("05-shared-finalizer")
    one_pass(stage)
    stage.patch_service({"metadata": {"finalizers": []}})
    stage.delete_service()
    return stage


@pytest.mark.parametrize("flags", [{}, {"--dry-run": "true"}], ids=["run", "plan"])
def test_it_waits_for_an_approval(vanished: Stage, flags: dict[str, str]) -> None:
    """Nobody has said what is to become of it: it stays until somebody does, and the plan says so although no Service
    wants a load balancer."""
    for _ in range(2):
        report = one_pass(vanished, flags)
        (change,) = report["changes"]
        assert (change["key"], change["kind"], change["verdict"]) == ("load_balancer/#1", "lb.delete", "held")
        (hold,) = report["holds"]
        assert hold["rule"] == "ip-loss"
        assert "was not released" in hold["why"]
        assert "protect it against deletion" in hold["why"]
        assert len(vanished.balancers()) == 1


def test_it_goes_once_that_is_approved(vanished: Stage) -> None:
    """And then there is nothing left to do, or to tell."""
    (hold,) = one_pass(vanished, {})["holds"]

    one_pass(vanished, {**ONCE, "--approve": hold["hash"]})

    assert vanished.balancers() == []
    assert one_pass(vanished, {})["changes"] == []


def test_an_event_on_what_lives(vanished: Stage) -> None:
    """The Service has none any more: the namespace that identifies the cluster gets it, with the command."""
    (hold,) = one_pass(vanished, {})["holds"]

    (event,) = (event for event in vanished.events() if event["involvedObject"]["kind"] == "Namespace")
    assert (event["reason"], event["involvedObject"]["name"]) == ("ChangeHeld", "kube-system")
    assert hold["hash"] in event["message"]


def test_the_finalizer_is_lost_while_the_service_lives(field: Callable[[str], Stage]) -> None:
    """It is put back, and told as another controller's work: a later deletion would leave the load balancer behind."""
    stage = field("05-shared-finalizer")
    one_pass(stage)
    stage.patch_service({"metadata": {"finalizers": []}})

    (change,) = one_pass(stage)["changes"]

    assert (change["key"], change["kind"]) == ("service/default/web/finalizer", "service.claim")
    assert "another controller" in change["consequences"][0]
    assert finalizers(stage.service()) == {"service.kubernetes.io/load-balancer-cleanup"}
    (event,) = stage.events("FinalizerRestored")
    assert "--disable servicelb" in event["message"]
