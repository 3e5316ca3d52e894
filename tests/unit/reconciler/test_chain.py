"""What a chain of passes tries next after what it has tried, and what its report says of both."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from actuators.outcome import NOT_SEEN, STOPPED, Applied, Failed, Outcome, Pending, Skipped
from desired.guards.guard import GuardInput
from desired.model.load_balancer import KNOWN_AFTER_APPLY
from desired.model.service import Ingress
from desired.model.settings import Settings
from desired.plan.change import Change, GuardDecision, GuardName, Hold, Plan, Verdict
from desired.plan.kinds import ChangeKind, Verb
from desired.plan.setbacks import NO_SETBACKS
from desired.planner import DesiredState
from reconciler.observe.world import Observation
from reconciler.passes.chain import NO_PASS_LEFT, NOT_LISTED, Chain
from reconciler.passes.judging import JudgedPlan
from reconciler.result import Line
from tests.builders import a_change, a_snapshot
from tests.support.keys import key_of
from tests.support.rows import rows

A, B, C = "node/a", "node/b", "node/c"
WITHDRAWN = Skipped("its approval could not be marked as used: 403", is_final=True)
AFTER_A = Skipped("blocked by node/a (not applied)")
OVERTAKEN, THROTTLED, REFUSED = Pending("moved on"), Pending("slow down", 7.0), Failed("wrong")
LOST = Failed("no answer", 1.0)
PUBLIC, PRIVATE = Ingress("203.0.113.200"), Ingress("10.0.0.9")

FIRST = a_change(A)
SECOND = a_change(B, depends_on=(A,))
THIRD = a_change(C, depends_on=(B,))
STATUS = a_change("service/ns/web/status", "service.status", before=(), after=(PUBLIC,))


def after(*passes: Mapping[str, Outcome], plan: Plan | None = None) -> Chain:
    """A chain that has tried changes of ``plan``, with these endings in each pass."""
    known = plan or Plan((FIRST, SECOND, THIRD))
    chain = Chain()
    for endings in passes:
        for key, outcome in endings.items():
            chain.add(known.by_key[key], outcome)
    return chain


def keys(changes: Sequence[Change]) -> list[str]:
    return [change.key for change in changes]


def said(chain: Chain, plan: Plan) -> dict[str, Outcome | None]:
    """Key → the outcome in the report of a chain that is over."""
    return {line.change.key: line.outcome for line in chain.lines(plan, chain.left(plan))}


@pytest.mark.parametrize(
    ("outcome", "tried_again"),
    [
        pytest.param(Applied(), False, id="applied: it is settling"),
        pytest.param(OVERTAKEN, True, id="overtaken: planned from what is there now"),
        pytest.param(THROTTLED, False, id="throttled: in a later pass"),
        pytest.param(REFUSED, False, id="failed: in a later pass"),
        pytest.param(Failed("no answer", 1.0), False, id="no answer: in a later pass"),
        pytest.param(AFTER_A, True, id="not tried, for the sake of another one"),
    ],
)
def test_what_is_tried_again(outcome: Outcome, tried_again: bool) -> None:
    """A change that is planned again is tried again only when it was overtaken, or was not tried at all."""
    plan = Plan((FIRST,))

    chain = after({A: outcome}, plan=plan)

    assert keys(chain.todo(plan)) == ([A] if tried_again else [])


@rows(
    "passes todo",
    {
        "nothing was tried": ([], [A, B, C]),
        "what depends on a failure is left": ([{A: Applied(), B: REFUSED, C: AFTER_A}], []),
        "what depends on what is tried again is too": ([{A: Applied(), B: OVERTAKEN, C: AFTER_A}], [B, C]),
        "however far away the failure is": ([{A: REFUSED, B: AFTER_A, C: AFTER_A}], []),
        "what a failure needed itself can go": ([{B: REFUSED}], [A]),
        "two passes": ([{A: OVERTAKEN, B: AFTER_A}, {A: Applied(), B: OVERTAKEN}], [B, C]),
        "overtaken twice": ([{A: OVERTAKEN}, {A: OVERTAKEN}], [A, B, C]),
    },
)
def test_what_is_tried_next(passes: Sequence[Mapping[str, Outcome]], todo: list[str]) -> None:
    """What was applied holds nothing up though the plan has it still; what was given up holds up what comes after."""
    assert keys(after(*passes).todo(Plan((FIRST, SECOND, THIRD)))) == todo


@pytest.mark.parametrize("verdict", [Verdict.WAITING, Verdict.HELD, Verdict.REFUSED])
def test_a_withheld_change_is_not_tried(verdict: Verdict) -> None:
    plan = Plan((FIRST.ruled(GuardDecision(verdict, GuardName.ADOPTION)), a_change(B)))

    assert keys(Chain().todo(plan)) == [B]


def test_what_was_withdrawn_is_not_tried_in_this_pass() -> None:
    plan = Plan((FIRST, SECOND, THIRD))
    chain = Chain()
    chain.add(FIRST, WITHDRAWN)

    assert chain.todo(plan) == ()
    assert (
        chain.met.refused == frozenset()
    )  # a route whose approval is kept was not refused: its Node stays open to pods
    assert said(chain, plan) == {A: WITHDRAWN, B: AFTER_A, C: Pending("blocked by node/b (waiting)")}


@rows(
    "now tried_again",
    {
        "the same": (STATUS, False),
        "the same from elsewhere": (replace(STATUS, before=(PRIVATE,)), False),
        "another end": (replace(STATUS, after=(PUBLIC, PRIVATE)), True),
        "another kind": (replace(STATUS, kind=ChangeKind.SERVICE_RELEASE, verb=Verb.REMOVE, after=None), True),
        "another kind with the same end": (replace(STATUS, kind=ChangeKind.LB_IDENTITY), True),
        "another end that nobody knows": (replace(STATUS, after=KNOWN_AFTER_APPLY), False),
    },
)
@pytest.mark.parametrize("outcome", [Applied(), REFUSED])
def test_another_end_is_another_change(now: Change, outcome: Outcome, tried_again: bool) -> None:
    """The status of a Service is written with public addresses, and in the next pass with the private one as well."""
    chain = after({STATUS.key: outcome}, plan=Plan((STATUS,)))

    assert keys(chain.todo(Plan((now,)))) == ([STATUS.key] if tried_again else [])


def test_an_end_that_was_written_is_not_written_twice() -> None:
    """A stale reading does not make a pass write to and fro."""
    more = replace(STATUS, before=(PUBLIC,), after=(PUBLIC, PRIVATE))
    chain = after({STATUS.key: Applied()}, plan=Plan((STATUS,)))
    chain.add(more, Applied())

    for plan in (Plan((STATUS,)), Plan((more,))):
        assert chain.todo(plan) == ()
        assert said(chain, plan) == {STATUS.key: NOT_SEEN}


@rows(
    "passes lines",
    {
        "not to be seen": ([{A: Applied(), B: Applied(), C: Applied()}], {A: NOT_SEEN, B: NOT_SEEN, C: NOT_SEEN}),
        "a failure, and what comes after it": (
            [{A: REFUSED, B: AFTER_A}],
            {A: REFUSED, B: AFTER_A, C: Skipped("blocked by node/b (not applied)")},
        ),
        "throttled": (
            [{A: THROTTLED, B: AFTER_A}],
            {A: THROTTLED, B: AFTER_A, C: Skipped("blocked by node/b (not applied)")},
        ),
        "overtaken in the last pass": ([{A: OVERTAKEN}], {A: OVERTAKEN, B: AFTER_A, C: NO_PASS_LEFT}),
        "possible too late": (
            [{A: OVERTAKEN, B: AFTER_A}, {A: Applied()}],
            {A: NOT_SEEN, B: NO_PASS_LEFT, C: Skipped("blocked by node/b (not applied)")},
        ),
        "planned too late": ([], {A: NO_PASS_LEFT, B: NO_PASS_LEFT, C: NO_PASS_LEFT}),
    },
)
def test_what_is_said_of_what_is_planned_still(
    passes: Sequence[Mapping[str, Outcome]], lines: Mapping[str, Outcome]
) -> None:
    """When no pass is left to write, the report says of each change that is allowed why it is still there."""
    assert said(after(*passes), Plan((FIRST, SECOND, THIRD))) == lines


@pytest.mark.parametrize(
    ("outcome", "line"),
    [
        pytest.param(Applied(), {A: Applied()}, id="applied"),
        pytest.param(REFUSED, {A: REFUSED}, id="failed"),
        pytest.param(LOST, {A: Applied()}, id="no answer: it was done all the same"),
        pytest.param(OVERTAKEN, {}, id="overtaken: somebody else did it"),
        pytest.param(THROTTLED, {}, id="throttled: somebody else did it"),
        pytest.param(AFTER_A, {}, id="not tried: nobody wants it any more"),
    ],
)
def test_what_is_said_of_what_is_not_planned_any_more(outcome: Outcome, line: Mapping[str, Outcome]) -> None:
    assert said(after({A: outcome}), Plan()) == line


@rows(
    "plan is_whole outcome",
    {
        "seen to be done": (Plan(), True, Applied()),
        "not everything was seen": (Plan(), False, LOST),
        "planned still": (Plan((FIRST,)), True, LOST),
        "other kind": (Plan((replace(FIRST, kind=ChangeKind.NODE_ADDRESSES, verb=Verb.MODIFY),)), True, Applied()),
    },
)
def test_a_change_whose_answer_got_lost(plan: Plan, is_whole: bool, outcome: Outcome) -> None:
    assert after({A: LOST}).attempted(plan if is_whole else None) == (Line(FIRST, outcome),)


def test_a_lost_answer_is_told_as_done_beside_another_change_of_its_key() -> None:
    other = replace(FIRST, kind=ChangeKind.NODE_ADDRESSES, verb=Verb.MODIFY)

    lines = after({A: LOST}).lines(Plan((other,)), lambda _change: NO_PASS_LEFT)

    assert lines == (Line(FIRST, Applied()), Line(other, NO_PASS_LEFT))


def test_a_change_whose_answer_got_lost_where_not_everything_was_seen() -> None:
    lines = after({A: LOST}).lines(Plan(), lambda _change: None, is_whole=False)

    assert lines == (Line(FIRST, LOST),)


@pytest.mark.parametrize("outcome", [Applied(), REFUSED, LOST, OVERTAKEN, THROTTLED, AFTER_A])
def test_what_is_said_of_a_world_that_cannot_be_seen(outcome: Outcome) -> None:
    chain = after({B: OVERTAKEN, A: OVERTAKEN}, {A: outcome})

    assert [(line.change.key, line.outcome) for line in chain.attempted()] == [(A, outcome), (B, OVERTAKEN)]


@pytest.mark.parametrize("verdict", [Verdict.WAITING, Verdict.HELD, Verdict.REFUSED])
def test_what_is_withheld_is_said_to_be_that(verdict: Verdict) -> None:
    """A change that a guard withholds has no outcome, whether an earlier pass tried it or not: a person may have to
    decide on it as it is planned now."""
    decision = GuardDecision(verdict, GuardName.ADOPTION)
    plan = Plan((FIRST.ruled(decision), SECOND.ruled(decision), THIRD.ruled(decision)))

    assert said(Chain(), plan) == {A: None, B: None, C: None}
    assert said(after({A: OVERTAKEN, B: AFTER_A}), plan) == {A: None, B: None, C: None}


def test_a_new_end_that_was_overtaken_by_nothing() -> None:
    """What is planned now is what the line shows, though something else of that key was tried."""
    more = replace(STATUS, before=(PUBLIC,), after=(PUBLIC, PRIVATE))
    chain = after({STATUS.key: OVERTAKEN}, plan=Plan((STATUS,)))

    (line,) = chain.lines(Plan((more,)), chain.left(Plan((more,))))

    assert (line.change, line.outcome) == (more, NO_PASS_LEFT)


def test_what_comes_after_what_somebody_else_did() -> None:
    """A failure that nobody has to mend any more is no reason."""
    chain = after({A: REFUSED})

    assert said(chain, Plan((SECOND,))) == {A: REFUSED, B: NO_PASS_LEFT}
    assert keys(chain.todo(Plan((SECOND,)))) == [B]


def test_what_was_stopped() -> None:
    """After a signal all that is left was stopped, but for what has an ending of its own."""
    chain = after({A: REFUSED, B: Skipped(STOPPED)})
    lines = chain.lines(Plan((FIRST, SECOND, THIRD)), lambda _change: Skipped(STOPPED))

    assert [line.outcome for line in lines] == [REFUSED, Skipped(STOPPED), Skipped(STOPPED)]


CREATE = a_change("load_balancer/ns/web", "lb.create", owner="service/ns/web")
RELEASE = a_change("service/ns/web/release", "service.release", owner="service/ns/web")


@rows(
    "created release waits",
    {
        "created, and not listed yet": (Applied(), RELEASE, True),
        "perhaps created": (Failed("no answer", 1.0), RELEASE, True),
        "of a name that is taken, by the first try perhaps": (Pending("the name is taken"), RELEASE, True),
        "refused": (REFUSED, RELEASE, False),
        "not tried": (AFTER_A, RELEASE, False),
        "listed, and deleted": (Applied(), replace(RELEASE, depends_on=("load_balancer/ns/web",)), False),
        "listed, and retained": (Applied(), replace(RELEASE, depends_on=("load_balancer/ns/web/retain",)), False),
        "after another change": (Applied(), replace(RELEASE, depends_on=("certificate/ns/web",)), True),
        "of another Service": (Applied(), replace(RELEASE, owner=key_of("service/ns/api")), False),
    },
)
def test_a_service_is_not_released_while_its_new_load_balancer_may_be_missing_in_lists(
    created: Outcome, release: Change, waits: bool
) -> None:
    """It was deleted while the pass created a load balancer for it: the next pass sees what there is to release."""
    chain = after({CREATE.key: created}, plan=Plan((CREATE,)))
    plan = Plan((release,))

    assert keys(chain.todo(plan)) == ([] if waits else [release.key])
    assert (said(chain, plan).get(release.key) == NOT_LISTED) is waits


@pytest.mark.parametrize(
    ("passes", "failed"),
    [
        pytest.param([{A: REFUSED, B: Applied(), C: THROTTLED}], {A}, id="only what was refused"),
        pytest.param([{A: LOST}], {A}, id="an answer that got lost as well"),
        pytest.param([{A: OVERTAKEN}, {A: REFUSED}], {A}, id="at last"),
        pytest.param([{A: REFUSED}, {A: Applied()}], set(), id="not any more"),
        pytest.param(
            [{A: REFUSED, B: Skipped("so was A", is_final=True, refusal="wrong")}],
            {A, B},
            id="what is refused likewise",
        ),
        pytest.param([{A: REFUSED, B: Skipped("comes after A")}], {A}, id="not what comes after it"),
    ],
)
def test_what_has_failed(passes: Sequence[Mapping[str, Outcome]], failed: set[str]) -> None:
    """The last attempt counts: what a Node is told of its routes depends on it."""
    assert after(*passes).met.refused == failed


@rows("ended approved noted", {
    "done": (Applied(), True, [A]),
    "refused, and perhaps done in part": (REFUSED, True, [A]),
    "overtaken": (OVERTAKEN, True, []),
    "refused before it was held": (REFUSED, False, []),
})  # fmt: skip
def test_what_an_approval_let_pass(ended: Outcome, approved: bool, noted: list[str]) -> None:
    """Changes count that were made or refused, of an approved hold: neither others nor what is still to come."""
    chain = after({A: ended, B: Applied()})
    floor = Hold("sha256:1", GuardName.TARGET_FLOOR, "3", "1", (A, C), "too few", approved=approved)

    plan = Plan((FIRST, THIRD), holds=(floor,))
    facts = GuardInput(plan, a_snapshot(), Settings(), DesiredState({}), NO_SETBACKS)
    chain.add_approved(JudgedPlan(Observation(facts.snapshot), plan, facts, plan))

    assert keys(chain.let_pass.get(GuardName.TARGET_FLOOR, [])) == noted


@pytest.mark.parametrize(
    ("plan", "passes", "has_more"),
    [
        pytest.param(Plan((FIRST, SECOND)), [], False, id="all of it can be done now"),
        pytest.param(Plan((FIRST, replace(STATUS, after=KNOWN_AFTER_APPLY))), [], True, id="a value is not known yet"),
    ],
)
def test_whether_another_round_is_waited_for(
    plan: Plan, passes: Sequence[Mapping[str, Outcome]], has_more: bool
) -> None:
    """What is known only after this pass is what the next one is for."""
    assert after(*passes, plan=plan).has_more(plan) is has_more


def test_what_was_done_is_said_though_more_of_it_waits() -> None:
    """Public addresses were published, and others are to be: a person hears of both."""
    chain = after({STATUS.key: Applied()}, plan=Plan((STATUS,)))
    more = replace(STATUS, before=(PUBLIC,), after=(PRIVATE,)).ruled(GuardDecision(Verdict.WAITING, GuardName.ONLY))

    lines = chain.lines(Plan((more,)), lambda _: None)

    assert lines == (Line(STATUS, Applied()), Line(more))


@pytest.mark.parametrize("verdict", [Verdict.HELD, Verdict.WAITING])
def test_what_was_done_is_said_though_the_same_is_withheld_anew(verdict: Verdict) -> None:
    """A target was added; the move of its load balancer, which would take it away, is held, and with it that it is
    added again."""
    again = FIRST.ruled(GuardDecision(verdict, GuardName.TARGET_FLOOR))

    lines = after({A: Applied()}).lines(Plan((again,)), lambda _: None)

    assert lines == (Line(FIRST, Applied()), Line(again))
