"""Approvals in the ConfigMap: written by a person, used up by a pass, and harmless to each other."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from actuators.approvals import ApprovalUses, approve, reviewed_name, revoke
from actuators.http.errors import ApiError, Conflict, Denied, NotFound
from actuators.http.kubernetes import ApiAnswer, KubernetesReader, KubernetesWriter
from desired.plan.approvals import format_approval, parse_approvals, parse_git_approvals
from desired.plan.grants import Grant, Here, Source
from reconciler.observe.kubernetes import observe_config_map
from tests.support.simulators import Simulate, Simulation

NAMESPACE = "kube-system"
NOW = datetime(2026, 7, 1, 12, 0, tzinfo=UTC)
ONE = Grant(Source.CLUSTER, "sha256:0123456789abcdef", "anna@laptop", NOW)
TWO = Grant(Source.CLUSTER, "sha256:fedcba9876543210", "ben@laptop", NOW)


@pytest.fixture
def sim(simulate: Simulate) -> Simulation:
    """An empty cluster with one who may do everything and one who may only read."""
    return simulate(kubernetes_tokens={"admin": None, "viewer": {"get", "list"}, "approver": {"patch"}})


def approvals(sim: Simulation) -> tuple[Grant, ...]:
    return parse_approvals(observe_config_map(sim.kubernetes_reader(), NAMESPACE) or {})


def test_the_first_approval_creates_the_config_map(sim: Simulation) -> None:
    approve(sim.kubernetes_reader(), sim.kubernetes_writer(), NAMESPACE, ONE, NOW)
    assert approvals(sim) == (ONE,)
    assert sim.objects("configmaps")["hcloud-reconciler"]["metadata"]["namespace"] == NAMESPACE


def test_two_first_approvals_at_once(sim: Simulation) -> None:
    """Who loses the race for the ConfigMap's creation adds an approval to the winner's."""
    sim.spoil_kubernetes("status", method="GET", code=404, body={"kind": "Status", "reason": "NotFound"})
    winner = {"metadata": {"name": "hcloud-reconciler"}, "data": dict([format_approval(ONE)])}
    sim.kubernetes_writer().create(f"/api/v1/namespaces/{NAMESPACE}/configmaps", winner)
    approve(sim.kubernetes_reader(), sim.kubernetes_writer(), NAMESPACE, TWO, NOW)
    assert approvals(sim) == (ONE, TWO)
    assert [(entry.method, entry.status) for entry in sim.written()] == [("POST", 201), ("POST", 409), ("PATCH", 200)]


def test_approvals_stand_side_by_side(sim: Simulation) -> None:
    approve(sim.kubernetes_reader(), sim.kubernetes_writer(), NAMESPACE, ONE, NOW)
    approve(sim.kubernetes_reader(), sim.kubernetes_writer(), NAMESPACE, TWO, NOW)
    assert approvals(sim) == (ONE, TWO)


def test_data_of_others_is_kept(sim: Simulation) -> None:
    body = {"metadata": {"name": "hcloud-reconciler"}, "data": {"note": "hands off"}}
    sim.kubernetes_writer().create(f"/api/v1/namespaces/{NAMESPACE}/configmaps", body)
    approve(sim.kubernetes_reader(), sim.kubernetes_writer(), NAMESPACE, ONE, NOW)
    assert sim.objects("configmaps")["hcloud-reconciler"]["data"]["note"] == "hands off"
    assert approvals(sim) == (ONE,)


def test_approving_again_renews(sim: Simulation) -> None:
    later = NOW + timedelta(minutes=5)
    again = Grant(Source.CLUSTER, ONE.of, "ben@laptop", later)
    approve(sim.kubernetes_reader(), sim.kubernetes_writer(), NAMESPACE, ONE, NOW)
    ApprovalUses(sim.kubernetes_reader(), sim.kubernetes_writer(), NAMESPACE).use_up([ONE], NOW)
    approve(sim.kubernetes_reader(), sim.kubernetes_writer(), NAMESPACE, again, later)
    assert approvals(sim) == (again,)
    assert again.counts(Here(later))


def test_using_up(sim: Simulation) -> None:
    """A used approval says when it was used, and counts no more; others still do."""
    approve(sim.kubernetes_reader(), sim.kubernetes_writer(), NAMESPACE, ONE, NOW)
    approve(sim.kubernetes_reader(), sim.kubernetes_writer(), NAMESPACE, TWO, NOW)
    ApprovalUses(sim.kubernetes_reader(), sim.kubernetes_writer(), NAMESPACE).use_up([ONE], NOW + timedelta(minutes=1))
    used, other = approvals(sim)
    assert used == replace(ONE, used_at=NOW + timedelta(minutes=1), used_by=used.used_by)
    assert (used.counts(Here(NOW + timedelta(minutes=1))), other.counts(Here(NOW))) == (False, True)


def test_a_config_map_that_is_gone_cannot_be_used_up(sim: Simulation) -> None:
    """When the ConfigMap was deleted meanwhile the approval is withdrawn: nothing counts as used."""
    with pytest.raises(NotFound):
        ApprovalUses(sim.kubernetes_reader(), sim.kubernetes_writer(), NAMESPACE).use_up([ONE], NOW)
    assert sim.objects("configmaps") == {}


def test_without_the_right_to_write(sim: Simulation) -> None:
    with pytest.raises(Denied):
        approve(
            sim.kubernetes_reader(), KubernetesWriter(sim.kubernetes_connection(token="viewer")), NAMESPACE, ONE, NOW
        )
    assert approvals(sim) == ()


def test_without_the_right_to_create(sim: Simulation) -> None:
    """Who may only write into the ConfigMap that comes with the chart is told what to do where there is none."""
    approver = KubernetesWriter(sim.kubernetes_connection(token="approver"))
    with pytest.raises(Denied, match=r"you may not create it: .* create configmap hcloud-reconciler"):
        approve(sim.kubernetes_reader(), approver, NAMESPACE, ONE, NOW)
    approve(sim.kubernetes_reader(), sim.kubernetes_writer(), NAMESPACE, ONE, NOW)
    approve(sim.kubernetes_reader(), approver, NAMESPACE, TWO, NOW)
    assert set(approvals(sim)) == {ONE, TWO}


def of_one(sim: Simulation) -> Grant:
    (found,) = approvals(sim)
    return found


class Slow(KubernetesReader):
    """A reader after whose first answer the world moves."""

    def __init__(self, reader: KubernetesReader, moves: Callable[[], object]) -> None:
        super().__init__(reader.connection)
        self._moves = [moves]

    def get(self, path: str) -> ApiAnswer:
        answer = super().get(path)
        while self._moves:
            self._moves.pop()()
        return answer


def test_two_processes_use_one_approval(sim: Simulation) -> None:
    """Whoever is later reads again, finds it used, and lets nothing pass."""
    reader, writer = sim.kubernetes_reader(), sim.kubernetes_writer()
    approve(reader, writer, NAMESPACE, ONE, NOW)
    first = Slow(reader, lambda: ApprovalUses(reader, writer, NAMESPACE).use_up([ONE], NOW))
    with pytest.raises(Conflict, match="it was used at 2026-07-01 12:00 UTC"):
        ApprovalUses(first, writer, NAMESPACE).use_up([ONE], NOW + timedelta(minutes=1))
    assert of_one(sim).used_at == NOW


def test_an_approval_that_is_revoked_before_its_use(sim: Simulation) -> None:
    """Between the plan and the use, or between the last look and the write: it lets nothing pass."""
    reader, writer = sim.kubernetes_reader(), sim.kubernetes_writer()
    approve(reader, writer, NAMESPACE, ONE, NOW)

    def take_back() -> None:
        assert revoke(reader, writer, NAMESPACE, ONE.of, (), NOW, who="ben", name="oidc:ben")

    with pytest.raises(Conflict, match="it was revoked at 2026-07-01 12:00 UTC by oidc:ben"):
        ApprovalUses(Slow(reader, take_back), writer, NAMESPACE).use_up([ONE], NOW)

    assert of_one(sim).used_at is None


def test_an_approval_that_is_used_while_it_is_revoked(sim: Simulation) -> None:
    """The use stands, and whoever revokes is told that nothing was taken back."""
    reader, writer = sim.kubernetes_reader(), sim.kubernetes_writer()
    approve(reader, writer, NAMESPACE, ONE, NOW)
    slow = Slow(reader, lambda: ApprovalUses(reader, writer, NAMESPACE).use_up([ONE], NOW))
    assert not revoke(slow, writer, NAMESPACE, ONE.of, (), NOW, who="ben", name="")
    assert of_one(sim).used_at == NOW


def test_a_use_whose_answer_is_lost(sim: Simulation) -> None:
    """It was carried out: the second try knows its own use again."""
    reader, writer = sim.kubernetes_reader(), sim.kubernetes_writer()
    approve(reader, writer, NAMESPACE, ONE, NOW)
    sim.spoil_kubernetes("executed_then_reset", method="PATCH")
    ApprovalUses(reader, writer, NAMESPACE).use_up([ONE], NOW)
    assert of_one(sim).used_at == NOW


def test_what_is_approved_in_git_is_used_once(sim: Simulation) -> None:
    """The use is recorded beside the approvals of people, and neither Git nor one of these brings it back."""
    reader, writer = sim.kubernetes_reader(), sim.kubernetes_writer()
    approve(reader, writer, NAMESPACE, TWO, NOW)
    of_git = Grant(Source.GIT, ONE.of, "team", expires_at=NOW + timedelta(days=1))

    ApprovalUses(reader, writer, NAMESPACE).use_up([of_git], NOW)
    with pytest.raises(Conflict):
        ApprovalUses(reader, writer, NAMESPACE).use_up([of_git], NOW + timedelta(minutes=1))
    approve(reader, writer, NAMESPACE, ONE, NOW)

    data = observe_config_map(reader, NAMESPACE) or {}
    entries = {
        ONE.of.replace(":", "."): json.dumps({"approver": "team", "expires_at": (NOW + timedelta(days=1)).isoformat()})
    }
    assert [entry.counts(Here(NOW)) for entry in parse_git_approvals(entries, data)] == [False]
    assert len(approvals(sim)) == 2


def test_somebody_else_is_always_faster(sim: Simulation) -> None:
    """After a few tries that is an error, and nothing is written."""
    approve(sim.kubernetes_reader(), sim.kubernetes_writer(), NAMESPACE, ONE, NOW)
    sim.spoil_kubernetes("status", method="PATCH", code=409, body={"kind": "Status", "reason": "Conflict"}, count=9)
    with pytest.raises(Conflict, match="was changed by others 5 times"):
        ApprovalUses(sim.kubernetes_reader(), sim.kubernetes_writer(), NAMESPACE).use_up([ONE], NOW)
    assert of_one(sim) == ONE


def test_who_the_api_server_says_we_are(sim: Simulation) -> None:
    """Its name for us; none from one that reviews nobody, whatever it answers; any other trouble is an error."""
    assert reviewed_name(sim.kubernetes_writer("viewer")) == "sandbox-1"
    for code, body in ((404, {"kind": "Status", "reason": "NotFound"}), (404, "404 page not found"), (403, {})):
        sim.spoil_kubernetes("status", method="POST", code=code, body=body)
        assert reviewed_name(sim.kubernetes_writer()) == ""
    sim.spoil_kubernetes("status", method="POST", code=500, body={}, count=9)
    with pytest.raises(ApiError):
        reviewed_name(sim.kubernetes_writer())


LEFT = ("sha256:00000000000000aa service/default/web", "sha256:00000000000000bb service/default/db")


def begun(sim: Simulation, *approved: Grant) -> ApprovalUses:
    """The uses of a process that has used these approvals, of which both differences are left."""
    uses = ApprovalUses(sim.kubernetes_reader(), sim.kubernetes_writer(), NAMESPACE)
    for grant in approved:
        if grant.source is Source.CLUSTER:
            approve(uses.reader, uses.writer, NAMESPACE, grant, NOW)
        uses.use_up([grant], NOW, LEFT)
    return uses


def test_a_used_approval_passes_what_it_named_until_that_is_struck(sim: Simulation) -> None:
    """One after the other, and by another process as well: it looks once."""
    uses = begun(sim, ONE)
    assert of_one(sim).passes(Here(NOW)) == tuple(sorted(LEFT))
    uses.strike((), lambda name: name == LEFT[0])
    assert of_one(sim).passes(Here(NOW)) == (LEFT[1],)

    after = ApprovalUses(uses.reader, uses.writer, NAMESPACE)
    after.strike((), lambda _name: True)
    assert of_one(sim).left == (LEFT[1],)
    after.strike((), lambda _name: True, looks=True)
    assert of_one(sim).passes(Here(NOW)) == ()
    sim.forget()
    after.strike((), lambda _name: True, looks=True)
    assert list(sim.sent_to_kubernetes()) == []


def test_what_is_left_passes_no_longer_than_the_approval(sim: Simulation) -> None:
    begun(sim, ONE)
    assert of_one(sim).passes(Here(NOW + timedelta(minutes=59))) == tuple(sorted(LEFT))
    assert of_one(sim).passes(Here(NOW + timedelta(minutes=61))) == ()


def test_what_is_left_is_revoked(sim: Simulation) -> None:
    uses = begun(sim, ONE)
    assert revoke(uses.reader, uses.writer, NAMESPACE, ONE.of, [], NOW, who="ben", name="") is True
    assert (of_one(sim).left, of_one(sim).passes(Here(NOW))) == ((), ())


def test_approving_again_keeps_what_is_left(sim: Simulation) -> None:
    uses, later = begun(sim, ONE), NOW + timedelta(minutes=30)
    approve(uses.reader, uses.writer, NAMESPACE, replace(ONE, approved_at=later), later)
    assert of_one(sim).passes(Here(later)) == (ONE.of, *sorted(LEFT))


def test_what_an_entry_in_git_has_left_is_struck_and_outlives_a_later_end(sim: Simulation) -> None:
    approve(sim.kubernetes_reader(), sim.kubernetes_writer(), NAMESPACE, TWO, NOW)
    uses = begun(sim, Grant(Source.GIT, ONE.of, "team", expires_at=NOW + timedelta(hours=2)))

    def passes(hours: int) -> tuple[str, ...]:
        ends = (NOW + timedelta(hours=hours)).isoformat()
        entries = {ONE.of.replace(":", "."): json.dumps({"approver": "team", "expires_at": ends})}
        (found,) = parse_git_approvals(entries, observe_config_map(uses.reader, NAMESPACE) or {})
        return found.passes(Here(NOW))

    assert (passes(2), passes(3)) == (tuple(sorted(LEFT)), (ONE.of, *sorted(LEFT)))
    uses.strike((), lambda name: name == LEFT[1])
    assert (passes(2), passes(3)) == ((LEFT[0],), (ONE.of, LEFT[0]))
