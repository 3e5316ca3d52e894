"""What the loop holds against single changes: which it means, what waits with them, and what goes on."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from desired.guards.history import back_off, flapping, mark_in, suspension_of
from desired.model.record import Origin
from desired.model.service import ServiceCondition
from desired.model.settings import Settings
from desired.model.snapshot import Condition, Snapshot
from desired.plan.change import Change, GuardName, Plan, Verdict
from desired.plan.setbacks import Setbacks, Suspension
from desired.plan.suspended import SUSPENDED, SuspendedChange, trace_in
from tests.balancers import a_service, a_world
from tests.builders import a_change, a_server, a_settled_node, a_snapshot, an_identity
from tests.support.judging import facts_of, judge

CHANGE = a_change()
LABELS = a_change("node/web-1/labels", "node.labels", owner="node/web-1")
OTHER = a_change("node/web-2", owner="node/web-2")
NODES = [a_settled_node(), a_settled_node("web-2", 2)]
SERVERS = [a_server(), a_server(2, "web-2")]


def against(change: Change, rule: str = GuardName.BACK_OFF) -> Mapping[str, Suspension]:
    """This change, to be left alone for another 7 s."""
    return {change.key: Suspension(GuardName(rule), mark_in(change, a_snapshot(NODES)), "failed: no", 7.0, "no")}


def judged(suspensions: Mapping[str, Suspension], *changes: Change) -> Plan:
    """The plan with verdicts, under what the loop remembers."""
    setbacks = Setbacks(suspensions=suspensions)
    return judge(Plan(changes), a_snapshot(NODES, SERVERS), Settings(), setbacks=setbacks)


@pytest.mark.parametrize(
    ("rule", "why"),
    [(GuardName.BACK_OFF, "failed: no"), (GuardName.FLAPPING, "failed: no; find what else writes it")],
)
def test_a_suspended_change_waits(rule: str, why: str) -> None:
    """It waits with its reason and its time, nobody is asked to approve it, and no other waits with it."""
    plan = judged(against(CHANGE, rule), CHANGE, OTHER)
    decision = plan.by_key[CHANGE.key].decision

    assert (decision.verdict, decision.rule, decision.why, decision.due_in_s) == (
        Verdict.WAITING,
        rule,
        why,
        7.0,
    )
    assert plan.by_key[OTHER.key].decision.verdict is Verdict.ALLOWED
    assert plan.holds == ()


WHY = "was reverted 3 times in 10 minutes, first at 12:00:00 UTC; suspended for 60 minutes"
SWITCHES = "; switch one off: Cilium defaultLBServiceIPAM=none, k3s --disable servicelb; or set spec.loadBalancerClass"


@pytest.mark.parametrize(
    ("writers", "types", "expected"),
    [
        pytest.param((), (), f"{WHY}{SWITCHES}", id="no hint"),
        pytest.param((), ("LoadBalancerReady",), f"{WHY}{SWITCHES}", id="ours alone"),
        pytest.param(
            (),
            ("LoadBalancerReady", "cilium.io/IPAMRequestSatisfied"),
            f"is also written by another controller (condition 'cilium.io/IPAMRequestSatisfied'), {WHY}{SWITCHES}",
            id="another's condition",
        ),
        pytest.param(
            ("cilium-operator",),
            ("cilium.io/IPAMRequestSatisfied",),
            f"is also written by 'cilium-operator' (condition 'cilium.io/IPAMRequestSatisfied'), {WHY}{SWITCHES}",
            id="another's name and condition",
        ),
        pytest.param(("k3s",), (), f"is also written by 'k3s', {WHY}{SWITCHES}", id="another's name"),
        pytest.param(
            ("a\n" + "x" * 200, "b"),
            ("\U0001f600" * 100, "\U0001f600" * 101),
            "is also written by 'a\\nxxxxxxxxxxxxxxxxxxxxxxxx...'"
            rf" (condition '\U0001f600\U0001f600\U0001f...' and 1 more), {WHY}{SWITCHES}",
            id="hostile",
        ),
    ],
)
def test_who_else_writes_a_status(writers: tuple[str, ...], types: tuple[str, ...], expected: str) -> None:
    """A suspended status names who else writes it and what the Service carries of another controller, and the switches
    to look at; short enough for the trace in the ConfigMap, which a dry run reads."""
    conditions = tuple(ServiceCondition(kind, "True") for kind in types)
    service = a_service(conditions=conditions, status_writers=writers)
    snapshot = a_world([service])
    change = a_change(f"{service.key}/status", "service.status", owner=service.key)

    why = _why_waiting(GuardName.FLAPPING, change, snapshot)

    assert why == expected
    assert _why_waiting(GuardName.BACK_OFF, change, snapshot) == WHY
    suspended = SuspendedChange(change.key, "", GuardName.FLAPPING, why, snapshot.taken_at)
    stored = trace_in(SUSPENDED.write([suspended], Origin("uid", "me", snapshot.taken_at)), "uid", snapshot.taken_at)
    assert stored.changes[change.key].why == why


@pytest.mark.parametrize(
    ("kind", "part", "expected"),
    [
        ("service.claim", "finalizer", f"{WHY}{SWITCHES}"),
        ("lb.algorithm", "algorithm", f"{WHY}; find what else writes it"),
    ],
)
def test_who_else_writes_another_field(kind: str, part: str, expected: str) -> None:
    """The finalizer is shared with k3s' servicelb; of other fields nothing says who writes them."""
    service = a_service(conditions=(ServiceCondition("cilium.io/IPAMRequestSatisfied", "True"),))
    change = a_change(f"{service.key}/{part}", kind, owner=service.key)

    assert _why_waiting(GuardName.FLAPPING, change, a_world([service])) == expected


NO_ROUTES = "; switch one off: HCLOUD_NETWORK_ROUTES_ENABLED=false where the network plug-in routes by itself"


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        pytest.param((), f"{WHY}{NO_ROUTES}", id="taken away"),
        pytest.param((Condition("NetworkUnavailable", "True", "NoRouteCreated"),), f"{WHY}{NO_ROUTES}", id="ours"),
        pytest.param(
            (Condition("NetworkUnavailable", "False", "FlannelIsUp"),),
            f"is also written by another controller (reason 'FlannelIsUp'), {WHY}{NO_ROUTES}",
            id="Flannel's",
        ),
    ],
)
def test_who_else_writes_the_condition_of_a_node(conditions: tuple[Condition, ...], expected: str) -> None:
    """Network plug-ins write NetworkUnavailable as well, each with a reason of its own."""
    node = replace(a_settled_node(), conditions=conditions)
    change = a_change(f"{node.key}/network", "node.network_condition", owner=node.key)

    assert _why_waiting(GuardName.FLAPPING, change, a_snapshot([node])) == expected


def _why_waiting(rule: GuardName, change: Change, snapshot: Snapshot) -> str:
    setbacks = Setbacks(suspensions={change.key: Suspension(rule, mark_in(change, snapshot), WHY, 7.0)})
    guard = flapping if rule is GuardName.FLAPPING else back_off
    (result,) = guard(facts_of(Plan((change,)), snapshot, Settings(), setbacks))
    return result.why


def test_what_depends_on_it_waits_with_it() -> None:
    """And is due when it is."""
    after = a_change(LABELS.key, LABELS.kind, owner=LABELS.owner, depends_on=(CHANGE.key,))
    decision = judged(against(CHANGE), CHANGE, after).by_key[after.key].decision

    assert (decision.verdict, decision.rule, decision.due_in_s) == (Verdict.WAITING, GuardName.BACK_OFF, 7.0)
    assert decision.why == "blocked by node/web-1 (waiting)"


@pytest.mark.parametrize(
    ("planned", "is_meant"),
    [
        pytest.param(CHANGE, True, id="the very same"),
        pytest.param(a_change(before=an_identity("hcloud://9")), True, id="from another state"),
        pytest.param(a_change(reason="for another reason"), True, id="for another reason"),
        pytest.param(a_change(after=an_identity("hcloud://2")), False, id="leading elsewhere"),
        pytest.param(a_change("node/web-1", "node.delete"), False, id="of another kind"),
        pytest.param(OTHER, False, id="of another object"),
    ],
)
def test_which_change_is_meant(planned: Change, is_meant: bool) -> None:
    """The one that leads to the same: whoever corrects what is wanted need not wait."""
    snapshot, setbacks = a_snapshot(NODES, SERVERS), Setbacks(suspensions=against(CHANGE))
    found = [
        *back_off(facts_of(Plan((planned,)), snapshot, Settings(), setbacks)),
        *flapping(facts_of(Plan(), snapshot, Settings(), setbacks)),
    ]

    assert bool(found) is is_meant
    assert (suspension_of(planned, snapshot, setbacks) is not None) is is_meant


def test_only_failures_back_off() -> None:
    """What counts as refused, to others that depend on it, is what failed."""
    setbacks = Setbacks(suspensions={**against(CHANGE), **against(OTHER, GuardName.FLAPPING)})
    assert setbacks.failed == {CHANGE.key}
