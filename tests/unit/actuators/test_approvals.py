"""Approvals in their ConfigMap and uses in the record: written by people and passes, and harmless to each other."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from actuators.approvals import ApprovalUses, approve, reviewed_name, revoke
from actuators.config_maps import read_data
from actuators.http.errors import ApiError, Broken, Conflict, Denied
from actuators.http.kubernetes import ApiAnswer, KubernetesReader, KubernetesWriter
from desired.model.record import Stamp
from desired.names import APPROVALS_CONFIG_MAP, CONFIG_MAP
from desired.plan.approvals import format_approval, parse_approvals
from desired.plan.controller_record import RECORD, ControllerRecord, record_in
from desired.plan.grants import Grant, Here, Source
from desired.section import Present, Unknown
from tests.support.records import put, uses_of
from tests.support.simulators import Simulate, Simulation

NAMESPACE = "kube-system"
NOW = datetime(2026, 7, 1, 12, 0, tzinfo=UTC)
ONE = Grant(Source.CLUSTER, "sha256:0123456789abcdef", "anna@laptop", NOW)
TWO = Grant(Source.CLUSTER, "sha256:fedcba9876543210", "ben@laptop", NOW)


@pytest.fixture
def sim(simulate: Simulate) -> Simulation:
    """An empty cluster with one who may do everything and one who may only read."""
    return simulate(kubernetes_tokens={"admin": None, "viewer": {"get", "list"}, "approver": {"patch"}})


HERE = Here(NOW, Present("11111111-2222-3333-4444-555555555555"))
LATER = replace(HERE, now=NOW + timedelta(minutes=1))


def data_of(sim: Simulation, name: str) -> Mapping[str, str]:
    return read_data(sim.kubernetes_reader(), NAMESPACE, name) or {}


def given(sim: Simulation) -> tuple[Grant, ...]:
    return parse_approvals(data_of(sim, APPROVALS_CONFIG_MAP))


def record(sim: Simulation) -> ControllerRecord:
    found = record_in(data_of(sim, CONFIG_MAP), HERE.cluster)
    assert isinstance(found, Present)
    return replace(found.value, begun_at=found.value.begun_at or NOW)


def approvals(sim: Simulation) -> tuple[Grant, ...]:
    """As the record judges them."""
    return tuple(map(record(sim).judged, given(sim)))


def a_process(sim: Simulation, reader: KubernetesReader | None = None) -> ApprovalUses:
    """The uses of a process that has seen a hold: the record has begun."""
    uses = uses_of(sim.kubernetes_reader(), sim.kubernetes_writer(), "ccm-0", creates=True)
    assert isinstance(uses.known(record_in(data_of(sim, CONFIG_MAP), HERE.cluster), HERE), Present)
    return uses if reader is None else uses_of(reader, sim.kubernetes_writer(), "ccm-0")


def test_two_first_approvals_at_once(sim: Simulation) -> None:
    """Who loses the race for the ConfigMap's creation adds an approval to the winner's."""
    sim.spoil_kubernetes("status", method="GET", code=404, body={"kind": "Status", "reason": "NotFound"})
    winner = {"metadata": {"name": APPROVALS_CONFIG_MAP}, "data": dict([format_approval(ONE)])}
    sim.kubernetes_writer().create(f"/api/v1/namespaces/{NAMESPACE}/configmaps", winner)
    approve(sim.kubernetes_reader(), sim.kubernetes_writer(), NAMESPACE, TWO, NOW)
    assert approvals(sim) == (ONE, TWO)
    assert [(entry.method, entry.status) for entry in sim.written()] == [("POST", 201), ("POST", 409), ("PATCH", 200)]


def test_data_of_others_is_kept(sim: Simulation) -> None:
    body = {"metadata": {"name": APPROVALS_CONFIG_MAP}, "data": {"note": "hands off"}}
    sim.kubernetes_writer().create(f"/api/v1/namespaces/{NAMESPACE}/configmaps", body)
    approve(sim.kubernetes_reader(), sim.kubernetes_writer(), NAMESPACE, ONE, NOW)
    assert sim.objects("configmaps")[APPROVALS_CONFIG_MAP]["data"]["note"] == "hands off"
    assert approvals(sim) == (ONE,)


def test_approving_again_renews(sim: Simulation) -> None:
    later = NOW + timedelta(minutes=5)
    again = Grant(Source.CLUSTER, ONE.of, "ben@laptop", later)
    approve(sim.kubernetes_reader(), sim.kubernetes_writer(), NAMESPACE, ONE, NOW)
    a_process(sim).use_up([ONE], HERE)
    (before,) = approvals(sim)
    assert approve(sim.kubernetes_reader(), sim.kubernetes_writer(), NAMESPACE, again, later, before=before) == "again"
    assert approvals(sim) == (again,)
    assert again.counts(Here(later))


def test_an_approval_in_the_arguments_is_used_once(sim: Simulation) -> None:
    flag = Grant(Source.FLAG, ONE.of)
    a_process(sim).use_up([flag], HERE)
    with pytest.raises(Conflict, match="it was used at 2026-07-01 12:00 UTC"):
        a_process(sim).use_up([flag], LATER)
    assert record(sim).judged(flag).counts(LATER) is False


def test_a_record_that_is_lost_between_plan_and_use(sim: Simulation) -> None:
    approve(sim.kubernetes_reader(), sim.kubernetes_writer(), NAMESPACE, ONE, NOW)
    uses = a_process(sim)
    put(sim.kubernetes_reader(), sim.kubernetes_writer(), {RECORD.key: None})
    with pytest.raises(Conflict, match="it was given before the record of uses began at 2026-07-01 12:01 UTC"):
        uses.use_up([ONE], LATER)


def test_a_process_knows_its_uses_better_than_a_record(sim: Simulation) -> None:
    """A backup of the record is put back, from before the use."""
    approve(sim.kubernetes_reader(), sim.kubernetes_writer(), NAMESPACE, ONE, NOW)
    uses, backup = a_process(sim), data_of(sim, CONFIG_MAP)
    uses.use_up([ONE], HERE)
    put(sim.kubernetes_reader(), sim.kubernetes_writer(), backup)
    assert record(sim).judged(ONE).counts(LATER)
    known = uses.known(record_in(backup, HERE.cluster), LATER)
    assert isinstance(known, Present)
    assert not known.value.judged(ONE).counts(LATER)
    with pytest.raises(Conflict):
        uses.use_up([ONE], LATER)


OF_ANOTHER = RECORD.write(ControllerRecord(NOW), Stamp("another", "ccm-0", NOW))


@pytest.mark.parametrize("text", ["{", "{}", OF_ANOTHER])
def test_a_garbled_record_is_no_empty_record(sim: Simulation, text: str) -> None:
    a_process(sim)
    put(sim.kubernetes_reader(), sim.kubernetes_writer(), {RECORD.key: text})
    uses = uses_of(sim.kubernetes_reader(), sim.kubernetes_writer())
    assert isinstance(uses.known(record_in(data_of(sim, CONFIG_MAP), HERE.cluster), HERE), Unknown)
    with pytest.raises(Broken, match="remove the key record"):
        uses.use_up([ONE], HERE)
    assert data_of(sim, CONFIG_MAP) == {RECORD.key: text}


def test_no_record_begins_while_the_clocks_differ(sim: Simulation) -> None:
    """It may begin in the future, and approvals would be older for days."""
    uses = uses_of(sim.kubernetes_reader(), sim.kubernetes_writer(), creates=True)
    assert isinstance(uses.known(Present(ControllerRecord()), replace(HERE, clocks_differ=True)), Unknown)
    assert data_of(sim, CONFIG_MAP) == {}


def test_a_record_that_cannot_be_begun(sim: Simulation) -> None:
    """A run makes no ConfigMap, and approve says who has to."""
    for creates, remedy in ((False, "is not there"), (True, "have it made once")):
        uses = uses_of(sim.kubernetes_reader(), sim.kubernetes_writer("approver"), creates=creates)
        found = uses.known(Present(ControllerRecord()), HERE)
        assert isinstance(found, Unknown)
        assert f"{remedy}" in found.why
        assert "kubectl -n kube-system create configmap hcloud-reconciler" in found.why


def test_without_the_right_to_create(sim: Simulation) -> None:
    """Who may only write into the ConfigMap that comes with the chart is told what to do where there is none."""
    approver = KubernetesWriter(sim.kubernetes_connection(token="approver"))
    with pytest.raises(Denied, match=r"you may not create it: .* create configmap hcloud-reconciler-approvals"):
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
    reader, writer = sim.kubernetes_reader(), sim.kubernetes_writer()
    approve(reader, writer, NAMESPACE, ONE, NOW)
    first = a_process(sim, Slow(reader, lambda: a_process(sim).use_up([ONE], HERE)))
    with pytest.raises(Conflict, match="it was used at 2026-07-01 12:00 UTC"):
        first.use_up([ONE], LATER)
    assert of_one(sim).used_at == NOW


def test_an_approval_that_is_revoked_before_its_use(sim: Simulation) -> None:
    reader, writer = sim.kubernetes_reader(), sim.kubernetes_writer()
    approve(reader, writer, NAMESPACE, ONE, NOW)

    def take_back() -> None:
        revoke(reader, writer, NAMESPACE, ONE.of, NOW, who="ben", name="oidc:ben")

    with pytest.raises(Conflict, match="it was revoked"):
        a_process(sim, Slow(reader, take_back)).use_up([ONE], HERE)

    assert (of_one(sim).passes(HERE), of_one(sim).revoked_by) == ((), "oidc:ben")


def test_an_approval_that_is_gone_before_its_use(sim: Simulation) -> None:
    with pytest.raises(Conflict, match="it was revoked"):
        a_process(sim).use_up([ONE], HERE)


def test_a_use_without_its_answer(sim: Simulation) -> None:
    approve(sim.kubernetes_reader(), sim.kubernetes_writer(), NAMESPACE, ONE, NOW)
    uses = a_process(sim)
    sim.spoil_kubernetes("executed_then_reset", method="PATCH")
    uses.use_up([ONE], HERE)
    assert of_one(sim).used_at == NOW


def test_somebody_else_is_always_faster(sim: Simulation) -> None:
    approve(sim.kubernetes_reader(), sim.kubernetes_writer(), NAMESPACE, ONE, NOW)
    uses = a_process(sim)
    sim.spoil_kubernetes("status", method="PATCH", code=409, body={"kind": "Status", "reason": "Conflict"}, count=9)
    with pytest.raises(Conflict, match="was changed by others 5 times"):
        uses.use_up([ONE], HERE)
    assert of_one(sim) == ONE


def test_our_name_at_the_api_server(sim: Simulation) -> None:
    """Its name for us; none from one that reviews nobody, whatever it answers; any other trouble is an error."""
    assert reviewed_name(sim.kubernetes_writer("viewer")) == "sandbox-1"
    for code, body in ((404, {"kind": "Status", "reason": "NotFound"}), (404, "404 page not found"), (403, {})):
        sim.spoil_kubernetes("status", method="POST", code=code, body=body)
        assert reviewed_name(sim.kubernetes_writer()) == ""
    sim.spoil_kubernetes("status", method="POST", code=500, body={}, count=9)
    with pytest.raises(ApiError):
        reviewed_name(sim.kubernetes_writer())


LEFT = ("sha256:00000000000000aa service/default/web", "sha256:00000000000000bb service/default/db")


def begun(sim: Simulation) -> ApprovalUses:
    """The uses of a process that has used an approval, of which both differences are left."""
    approve(sim.kubernetes_reader(), sim.kubernetes_writer(), NAMESPACE, ONE, NOW)
    uses = a_process(sim)
    uses.use_up([ONE], HERE, LEFT)
    return uses


def test_a_used_approval_passes_its_names_until_they_are_struck(sim: Simulation) -> None:
    uses = begun(sim)
    assert of_one(sim).passes(HERE) == tuple(sorted(LEFT))
    uses.strike((), lambda name: name == LEFT[0], HERE)
    assert of_one(sim).passes(HERE) == (LEFT[1],)
    assert uses.known(Present(record(sim)), HERE) == Present(record(sim))

    after = uses_of(sim.kubernetes_reader(), sim.kubernetes_writer())
    after.strike((), lambda _name: True, HERE)
    assert of_one(sim).left == (LEFT[1],)
    after.strike((), lambda _name: True, HERE, looks=True)
    assert of_one(sim).passes(HERE) == ()
    sim.forget()
    after.strike((), lambda _name: True, HERE, looks=True)
    assert list(sim.sent_to_kubernetes()) == []


def test_a_process_that_leads_again_looks_for_names_left_by_another(sim: Simulation) -> None:
    first = uses_of(sim.kubernetes_reader(), sim.kubernetes_writer())
    first.strike((), lambda _name: True, HERE, looks=True)
    begun(sim)
    first.forget()
    first.strike((), lambda _name: True, HERE, looks=True)
    assert of_one(sim).passes(HERE) == ()


def test_approving_again_keeps_names_that_are_left(sim: Simulation) -> None:
    later = NOW + timedelta(minutes=30)
    begun(sim)
    approve(sim.kubernetes_reader(), sim.kubernetes_writer(), NAMESPACE, replace(ONE, approved_at=later), later)
    assert of_one(sim).passes(Here(later)) == (ONE.of, *sorted(LEFT))
