"""Approvals in the ConfigMap: written by a person, used up by a pass, and harmless to each other."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from actuators.approvals import approve, use_up
from actuators.http.errors import Denied, NotFound
from actuators.http.kubernetes import KubernetesWriter
from desired.plan.approval import Approval, format_approval, parse_approvals
from reconciler.observe.kubernetes import observe_config_map
from tests.support.simulators import Simulation

NAMESPACE = "kube-system"
NOW = datetime(2026, 7, 1, 12, 0, tzinfo=UTC)
ONE = Approval("sha256:0123456789abcdef", "anna@laptop", NOW)
TWO = Approval("sha256:fedcba9876543210", "ben@laptop", NOW)


@pytest.fixture
def sim(simulate: Callable[..., Simulation]) -> Simulation:
    """An empty cluster with one who may do everything and one who may only read."""
    return simulate(kubernetes_tokens={"admin": None, "viewer": {"get", "list"}, "approver": {"patch"}})


def approvals(sim: Simulation) -> tuple[Approval, ...]:
    """Those in the ConfigMap."""
    return parse_approvals(observe_config_map(sim.kubernetes_reader(), NAMESPACE) or {})


def test_the_first_approval_creates_the_config_map(sim: Simulation) -> None:
    """The ConfigMap comes into being with the first approval."""
    approve(sim.kubernetes_writer(), NAMESPACE, ONE)

    assert approvals(sim) == (ONE,)
    assert sim.objects("configmaps")["hcloud-reconciler"]["metadata"]["namespace"] == NAMESPACE


def test_two_first_approvals_at_once(sim: Simulation) -> None:
    """Who loses the race for the ConfigMap's creation adds an approval to the winner's."""
    sim.spoil_kubernetes("status", method="PATCH", code=404, body={"kind": "Status", "reason": "NotFound"})
    winner = {"metadata": {"name": "hcloud-reconciler"}, "data": dict([format_approval(ONE)])}
    sim.kubernetes_writer().create(f"/api/v1/namespaces/{NAMESPACE}/configmaps", winner)

    approve(sim.kubernetes_writer(), NAMESPACE, TWO)

    assert approvals(sim) == (ONE, TWO)
    assert [(entry.method, entry.status) for entry in sim.written()] == [
        ("POST", 201),
        ("PATCH", 404),
        ("POST", 409),
        ("PATCH", 200),
    ]


def test_approvals_stand_side_by_side(sim: Simulation) -> None:
    """Another approval leaves the first one as it is."""
    approve(sim.kubernetes_writer(), NAMESPACE, ONE)
    approve(sim.kubernetes_writer(), NAMESPACE, TWO)

    assert approvals(sim) == (ONE, TWO)


def test_data_of_others_is_kept(sim: Simulation) -> None:
    """What else is in the ConfigMap stays there, and approves nothing."""
    body = {"metadata": {"name": "hcloud-reconciler"}, "data": {"note": "hands off"}}
    sim.kubernetes_writer().create(f"/api/v1/namespaces/{NAMESPACE}/configmaps", body)

    approve(sim.kubernetes_writer(), NAMESPACE, ONE)

    assert sim.objects("configmaps")["hcloud-reconciler"]["data"]["note"] == "hands off"
    assert approvals(sim) == (ONE,)


def test_approving_again_renews(sim: Simulation) -> None:
    """A hold that is approved a second time, after it was used up, counts once more."""
    later = NOW + timedelta(minutes=5)
    again = Approval(ONE.hash, "ben@laptop", later)
    approve(sim.kubernetes_writer(), NAMESPACE, ONE)
    use_up(sim.kubernetes_writer(), NAMESPACE, ONE, NOW)

    approve(sim.kubernetes_writer(), NAMESPACE, again)

    assert approvals(sim) == (again,)
    assert again.counts(later)


def test_using_up(sim: Simulation) -> None:
    """A used approval says when it was used, and counts no more; others still do."""
    approve(sim.kubernetes_writer(), NAMESPACE, ONE)
    approve(sim.kubernetes_writer(), NAMESPACE, TWO)

    use_up(sim.kubernetes_writer(), NAMESPACE, ONE, NOW + timedelta(minutes=1))

    used, other = approvals(sim)
    assert used == ONE.used(NOW + timedelta(minutes=1))
    assert (used.counts(NOW + timedelta(minutes=1)), other.counts(NOW)) == (False, True)


def test_a_config_map_that_is_gone_cannot_be_used_up(sim: Simulation) -> None:
    """When the ConfigMap was deleted meanwhile the approval is withdrawn: nothing counts as used."""
    with pytest.raises(NotFound):
        use_up(sim.kubernetes_writer(), NAMESPACE, ONE, NOW)

    assert sim.objects("configmaps") == {}


def test_without_the_right_to_write(sim: Simulation) -> None:
    """Whoever may not write the ConfigMap approves nothing."""
    with pytest.raises(Denied):
        approve(KubernetesWriter(sim.kubernetes_connection(token="viewer")), NAMESPACE, ONE)

    assert approvals(sim) == ()


def test_without_the_right_to_create(sim: Simulation) -> None:
    """Who may only write into the ConfigMap that comes with the chart is told what to do where there is none."""
    approver = KubernetesWriter(sim.kubernetes_connection(token="approver"))
    with pytest.raises(Denied, match=r"you may not create it: .* create configmap hcloud-reconciler"):
        approve(approver, NAMESPACE, ONE)
    approve(sim.kubernetes_writer(), NAMESPACE, ONE)

    approve(approver, NAMESPACE, TWO)

    assert set(approvals(sim)) == {ONE, TWO}
