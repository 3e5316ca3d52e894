"""What waits when Hetzner refuses all of a kind, and whose turn it is (guard ``quota``)."""

from collections.abc import Mapping

import pytest

from desired.guards.history import bars_of, narrow_scope_of, quota, scope_of
from desired.model.settings import Settings
from desired.plan.change import Change, GuardName, Plan
from desired.plan.kinds import Verb
from desired.plan.setbacks import Bar, Setbacks
from tests.builders import a_change, a_snapshot
from tests.support.judging import facts_of


def creation(name: str) -> Change:
    """The creation of a load balancer."""
    return a_change(f"load_balancer/ns/{name}", "lb.create", owner=f"service/ns/{name}")


def target(name: str, verb: Verb = Verb.ADD) -> Change:
    """A target of a load balancer that comes or goes."""
    return a_change(f"load_balancer/ns/{name}/target/server:1", "lb.target", owner=f"service/ns/{name}", verb=verb)


A, B, C = creation("a"), creation("b"), creation("c")
CREATIONS = scope_of(A)
ERROR = "no more (resource_limit_exceeded)"


def a_bar(due_in_s: float = 0.0, **turns: int) -> Bar:
    """Creations of load balancers are refused."""
    return Bar(ERROR, due_in_s, 54.0, {f"load_balancer/ns/{name}": turn for name, turn in turns.items()})


@pytest.mark.parametrize(
    ("bars", "changes", "waiting", "due_in_s"),
    [
        pytest.param({}, [A, B], set(), None, id="nothing is refused"),
        pytest.param({CREATIONS: a_bar(7.0)}, [A, B], {A.key, B.key}, 7.0, id="nobody's turn yet"),
        pytest.param({CREATIONS: a_bar(a=2, b=1, c=3)}, [A, B, C], {A.key, C.key}, 54.0, id="the longest ago is next"),
        pytest.param({CREATIONS: a_bar(a=1, b=1)}, [A, B], {B.key}, 54.0, id="none before the other: by their keys"),
        pytest.param({CREATIONS: a_bar(b=9)}, [A, B], {A.key}, 54.0, id="a newcomer goes to the end"),
        pytest.param({CREATIONS: a_bar(7.0)}, [target("a")], set(), None, id="another kind is free"),
        pytest.param(
            {narrow_scope_of(target("a")): a_bar(7.0)},
            [target("a"), target("b")],
            {target("a").key},
            7.0,
            id="one load balancer is full",
        ),
        pytest.param(
            {scope_of(target("a")): a_bar(7.0)},
            [target("a"), target("b")],
            {target("a").key, target("b").key},
            7.0,
            id="the account is locked",
        ),
        pytest.param(
            {scope_of(target("a")): a_bar(7.0)}, [target("a", Verb.REMOVE)], set(), None, id="what makes room is free"
        ),
    ],
)
def test_who_waits(bars: Mapping[str, Bar], changes: list[Change], waiting: set[str], due_in_s: float | None) -> None:
    """All but one when it is time, and all until then; of no other kind, and of no other load balancer's limit."""
    facts = facts_of(Plan(tuple(changes)), a_snapshot(), Settings(), Setbacks(bars=bars))
    found = [finding for finding in quota(facts) if finding.keys]

    assert {key for finding in found for key in finding.keys} == waiting
    assert [finding.due_in_s for finding in found] == ([due_in_s] if waiting else [])
    assert all(finding.rule == GuardName.QUOTA and ERROR in finding.why for finding in found)


def test_what_is_known_to_be_refused() -> None:
    """What depends on it is not as it should be, although it was not tried itself."""
    setbacks = Setbacks(bars={CREATIONS: a_bar(7.0, a=1, b=1)})

    assert setbacks.failed == {A.key, B.key}
    assert [bar.error for bar in bars_of(C, setbacks)] == [ERROR]
    assert bars_of(target("a"), setbacks) == ()
