"""What a run came to: every row of the table of results, and the exit codes that follow."""

from dataclasses import replace
from typing import Any

import pytest

from actuators.outcome import Applied, Failed, Outcome, Pending, Skipped
from desired.health.state import NodeState, ObjectState, ServiceState, States
from desired.model.snapshot import Snapshot
from desired.plan.change import ALLOWED, GuardDecision, GuardName, Verdict
from desired.plan.kinds import Verb
from desired.plan.notes import Note, NoteKind
from desired.section import Absent, Section, Unknown
from reconciler.result import Line, Report, Result, exit_code, is_incomplete, needing_a_person, summary
from tests.builders import a_change, a_server, a_snapshot, incomplete, servers_of
from tests.support.keys import key_of
from tests.support.rows import rows

WHOLE = a_snapshot()
GAP = a_snapshot(servers_section=incomplete(servers_of(a_server())))
ANCHOR = Note(key_of("project/cloud"), NoteKind.ANCHOR, "another project")
UNDECIDED = Note(key_of("node/web-8"), NoteKind.UNKNOWN, "429")
UNREADABLE = Note(key_of("node/web-7"), NoteKind.UNREADABLE, "no uid")
REMARK = Note(key_of("node/web-9"), NoteKind.FOREIGN, "left alone")
WRONG = Note(key_of("service/ns/web"), NoteKind.MALFORMED, "no such type")
DOWN = ObjectState(key_of("service/ns/web"), ServiceState.DOWN, "port 80: 0 of 2 healthy")
DEGRADED = ObjectState(key_of("service/ns/web"), ServiceState.DEGRADED, "port 80: 1 of 2 healthy")
STUCK = ObjectState(key_of("node/web-9"), NodeState.STUCK, "no server has its name")
FAILED = Failed("refused")
PENDING = Pending("conflict")
SKIPPED = Skipped("stopped")

ALLOWED_, WAITING, HELD, REFUSED = Verdict


def planned(verdict: Verdict, rule: GuardName | None = GuardName.ADOPTION, name: str = "planned") -> Line:
    decision = ALLOWED if verdict is Verdict.ALLOWED else GuardDecision(verdict, rule, "why")
    return Line(a_change(f"node/{verdict}-{name}", decision=decision))


def ended(outcome: Outcome) -> Line:
    return Line(a_change(f"node/{type(outcome).__name__}"), outcome)


def report(*lines: Line, snapshot: Snapshot | None = WHOLE, **parts: Any) -> Report:
    return Report(snapshot=snapshot, lines=lines, **parts)


@rows(
    "told result plain detailed",
    {
        # error
        "an error, and nothing read": (Report(errors=("no API",)), Result.ERROR, 1, 1),
        "an error, and all read": (report(errors=("denied",)), Result.ERROR, 1, 1),
        "an error after a write": (report(ended(Applied()), errors=("gone",)), Result.ERROR, 1, 1),
        "failed and none applied": (report(ended(FAILED)), Result.ERROR, 1, 1),
        "failed and pending, none applied": (report(ended(FAILED), ended(PENDING)), Result.ERROR, 1, 1),
        "error beats incomplete": (report(ended(FAILED), snapshot=GAP), Result.ERROR, 1, 1),
        "error beats blocked": (report(errors=("x",), notes=(ANCHOR,)), Result.ERROR, 1, 1),
        # incomplete
        "a section with a gap": (report(snapshot=GAP), Result.INCOMPLETE, 0, 5),
        "network unknown": (report(snapshot=replace(WHOLE, network=Unknown("timeout"))), Result.INCOMPLETE, 0, 5),
        "a change waits for data": (report(planned(WAITING, GuardName.INCOMPLETE_SNAPSHOT)), Result.INCOMPLETE, 0, 5),
        "incomplete beats blocked": (report(planned(HELD), snapshot=GAP), Result.INCOMPLETE, 0, 5),
        "incomplete beats the anchor": (report(notes=(ANCHOR,), snapshot=GAP), Result.INCOMPLETE, 0, 5),
        "incomplete beats partial": (report(ended(PENDING), snapshot=GAP), Result.INCOMPLETE, 0, 5),
        "incomplete beats changes": (report(planned(ALLOWED_), snapshot=GAP), Result.INCOMPLETE, 0, 5),
        "a Node of which too little is known": (report(notes=(UNDECIDED,)), Result.INCOMPLETE, 0, 5),
        "an unreadable Node": (report(notes=(UNREADABLE,)), Result.INCOMPLETE, 0, 5),
        "one waits, the rest was applied": (report(ended(Applied()), notes=(UNDECIDED,)), Result.INCOMPLETE, 0, 5),
        "an unreadable Node beats blocked": (report(planned(HELD), notes=(UNREADABLE,)), Result.INCOMPLETE, 0, 5),
        # blocked
        "another project has no such network": (
            report(notes=(ANCHOR, UNDECIDED), snapshot=replace(WHOLE, network=Absent())),
            Result.BLOCKED,
            0,
            3,
        ),
        "held": (report(planned(HELD)), Result.BLOCKED, 0, 3),
        "refused": (report(planned(REFUSED)), Result.BLOCKED, 0, 3),
        "the anchor is violated, nothing planned": (report(notes=(ANCHOR,)), Result.BLOCKED, 0, 3),
        "blocked beats partial": (report(planned(HELD), ended(PENDING)), Result.BLOCKED, 0, 3),
        "blocked beats changes": (report(planned(HELD), planned(ALLOWED_)), Result.BLOCKED, 0, 3),
        "a wrong annotation": (report(notes=(WRONG,)), Result.BLOCKED, 0, 3),
        "a wrong annotation beats partial": (report(ended(PENDING), notes=(WRONG,)), Result.BLOCKED, 0, 3),
        "a wrong annotation beats changes": (report(planned(ALLOWED_), notes=(WRONG,)), Result.BLOCKED, 0, 3),
        "a Service is down": (report(states=States((DOWN,))), Result.BLOCKED, 0, 3),
        "a Node is stuck": (report(states=States((), (STUCK,))), Result.BLOCKED, 0, 3),
        "some failed, and will again": (
            report(ended(Applied()), ended(FAILED), states=States((), (STUCK,))),
            Result.BLOCKED,
            1,
            3,
        ),
        "the rest was applied": (report(planned(HELD), ended(Applied())), Result.BLOCKED, 0, 3),
        "blocked, and some failed": (report(planned(HELD), ended(Applied()), ended(FAILED)), Result.BLOCKED, 1, 3),
        # partial
        "some failed": (report(ended(Applied()), ended(FAILED)), Result.PARTIAL, 1, 4),
        "some pending": (report(ended(Applied()), ended(PENDING)), Result.PARTIAL, 0, 4),
        "all pending": (report(ended(PENDING)), Result.PARTIAL, 0, 4),
        "stopped before it began": (report(ended(SKIPPED)), Result.PARTIAL, 0, 4),
        "partial beats changes": (report(ended(PENDING), planned(WAITING)), Result.PARTIAL, 0, 4),
        # changes
        "allowed": (report(planned(ALLOWED_)), Result.CHANGES, 0, 2),
        "waiting": (report(planned(WAITING)), Result.CHANGES, 0, 2),
        "applied, and some wait": (report(planned(WAITING), ended(Applied())), Result.CHANGES, 0, 2),
        # no_changes
        "nothing to do": (report(), Result.NO_CHANGES, 0, 0),
        "some targets fail": (report(states=States((DEGRADED,))), Result.NO_CHANGES, 0, 0),
        "a note is no change": (report(notes=(REMARK,)), Result.NO_CHANGES, 0, 0),
        "a note on the cluster's identity": (
            report(notes=(Note(key_of("cluster"), NoteKind.UNKNOWN, "403"),)),
            Result.NO_CHANGES,
            0,
            0,
        ),
        "all done and observed": (report(ended(Applied())), Result.NO_CHANGES, 0, 0),
        "absence is no gap": (report(snapshot=replace(WHOLE, network=Absent())), Result.NO_CHANGES, 0, 0),
        "no decision depends on the cluster's identity": (
            report(snapshot=replace(WHOLE, cluster_uid=Unknown("timeout"))),
            Result.NO_CHANGES,
            0,
            0,
        ),
    },
)
def test_results(told: Report, result: Result, plain: int, detailed: int) -> None:
    assert told.result is result
    assert exit_code(told, detailed=False) == plain
    assert exit_code(told, detailed=True) == detailed


@pytest.mark.parametrize(
    ("told", "code"),
    [
        pytest.param(report(planned(HELD)), 3, id="a guard stands in the way"),
        pytest.param(report(planned(REFUSED), ended(Applied())), 3, id="of a part"),
        pytest.param(report(planned(HELD), ended(FAILED), ended(Applied())), 1, id="and a change has failed"),
        pytest.param(report(errors=("down",)), 1, id="an error"),
        pytest.param(report(not_leader="another one leads"), 1, id="another one leads"),
        pytest.param(report(snapshot=replace(WHOLE, servers=Section.missing("503"))), 1, id="an incomplete reading"),
        pytest.param(report(planned(WAITING)), 0, id="it only waits"),
        pytest.param(report(ended(PENDING)), 0, id="it is under way"),
        pytest.param(report(ended(Applied())), 0, id="all is done"),
    ],
)
def test_who_runs_it_unattended_learns_that_a_person_is_needed(told: Report, code: int) -> None:
    """The Job of a CronJob fails then, and not while something only waits."""
    assert exit_code(told, detailed=False, acts=True) == code


@pytest.mark.parametrize(
    ("key", "kind"),
    [
        *(("node/web-1", kind) for kind in NoteKind),
        ("service/default/web", NoteKind.UNKNOWN),
        ("load_balancer/default/web", NoteKind.UNKNOWN),
        ("load_balancer/#42", NoteKind.UNKNOWN),
        ("route/7/10.244.1.0/24", NoteKind.UNKNOWN),
    ],
)
def test_which_notes_are_gaps(key: str, kind: NoteKind) -> None:
    """An object whose need could not be told is a gap; one of which it is known that nothing is done is none."""
    told = report(notes=(Note(key_of(key), kind, "why"),))

    assert is_incomplete(told) is (kind in {NoteKind.UNKNOWN, NoteKind.UNREADABLE})


@pytest.mark.parametrize("name", ["services", "load_balancers", "certificates"])
def test_a_section_of_services_with_a_gap(name: str) -> None:
    gap: dict[str, Any] = {name: Section.missing("429")}
    whole: dict[str, Any] = {name: Section()}

    assert is_incomplete(report(snapshot=replace(WHOLE, **gap)))
    assert not is_incomplete(report(snapshot=replace(WHOLE, **whole)))


def test_an_unknown_catalogue_alone_is_no_gap() -> None:
    """Types of load balancers matter only to a Service that needs one, which then has a note of its own."""
    world = replace(WHOLE, balancer_types=Unknown("429"))

    assert not is_incomplete(report(snapshot=world))
    assert is_incomplete(report(snapshot=world, notes=(Note(key_of("service/default/web"), NoteKind.UNKNOWN, "429"),)))


def test_an_unreadable_object_that_no_node_needs_is_no_gap() -> None:
    """One object that could not be decoded leaves its section whole: only a Node that waits for it is a gap."""
    section = replace(servers_of(a_server()), unreadable={9: "bad"})

    assert not is_incomplete(report(snapshot=a_snapshot(servers_section=section)))


def test_summary() -> None:
    lines = (
        ended(Applied()),
        ended(FAILED),
        ended(PENDING),
        planned(ALLOWED_),
        planned(WAITING),
        planned(HELD),
        planned(HELD, name="other"),
        planned(REFUSED),
        Line(a_change("node/gone", "node.delete")),
        Line(a_change("node/a/addresses", "node.addresses")),
    )

    assert Verb.REMOVE in {line.change.verb for line in lines}
    assert summary(report(*lines)) == {
        "add": 8,
        "modify": 1,
        "remove": 1,
        "held": 2,
        "waiting": 1,
        "refused": 1,
        "applied": 1,
        "failed": 1,
    }


def test_who_needs_a_person() -> None:
    notes = (
        Note(key_of("service/ns/b"), NoteKind.AMBIGUOUS, "two Services ask for its name"),
        Note(key_of("node/a"), NoteKind.MALFORMED, "no providerID of ours"),
        Note(key_of("node/a"), NoteKind.MALFORMED, "and a second thing"),
        Note(key_of("node/c"), NoteKind.KEPT, "set by hand"),
        Note(key_of("node/d"), NoteKind.UNROUTABLE, "its server is not in the network"),
        Note(key_of("node/e"), NoteKind.CLUSTER_CIDR, "its pods are outside of it"),
        Note(key_of("node/f"), NoteKind.LIMIT, "the network takes no more routes"),
        Note(key_of("network/7"), NoteKind.UNROUTABLE, "on nothing that wants pods"),
        Note(key_of("network/7"), NoteKind.CLUSTER_CIDR, "it is not given"),
        Note(key_of("service/ns/c"), NoteKind.LIMIT, "25 of its Nodes are targets, and others none"),
        Note(key_of("load_balancer/#42"), NoteKind.MALFORMED, "on nothing that a person applied"),
    )

    assert needing_a_person(report(notes=notes)) == ("node/a", "node/d", "node/e", "node/f", "service/ns/b")
    assert report(notes=notes).result is Result.BLOCKED
    assert report(notes=notes[-2:]).result is Result.NO_CHANGES


@pytest.mark.parametrize("kind", [NoteKind.UNREACHABLE, NoteKind.SEVERAL_BALANCERS])
def test_what_no_pass_can_mend_is_no_success(kind: NoteKind) -> None:
    """No target can be reached, or a second load balancer is paid for: a person has to act."""
    found = report(notes=(Note(key_of("service/ns/a"), kind, "said"),))

    assert needing_a_person(found) == ("service/ns/a",)
    assert found.result is Result.BLOCKED
    assert exit_code(found, detailed=True) == exit_code(found, detailed=False, acts=True) == 3
    assert exit_code(found, detailed=False) == 0
