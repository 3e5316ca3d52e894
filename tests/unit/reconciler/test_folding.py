"""Folding: which changes stand together, how their names and values are told, and what is never folded."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from actuators.outcome import Failed, Skipped
from desired.plan.change import GuardDecision, GuardName, Verdict
from desired.plan.kinds import Verb
from reconciler.config.options import Detail
from reconciler.report.fields import FieldChange
from reconciler.report.folding import LEAST, Block, Shown, blocks, described_fields, names, natural_order
from reconciler.report.view import view_of
from reconciler.result import Line, Report
from tests.balancers import a_balancer, a_listener
from tests.builders import a_change, an_identity
from tests.support.rows import rows


def numbered(*numbers: int, pattern: str = "node/w-{}") -> list[str]:
    return [pattern.format(number) for number in numbers]


@pytest.mark.parametrize(
    ("keys", "shown"),
    [
        pytest.param([], "", id="none"),
        pytest.param(["node/a"], "node/a", id="one"),
        pytest.param(numbered(10, 9, 8), "node/w-8, node/w-9, node/w-10", id="three, by number"),
        pytest.param(numbered(*range(100)), "node/w-0, node/w-1, node/w-2 and 97 more", id="a hundred"),
        pytest.param(["n/1", "n/01", "n/001"], "n/001, n/01, n/1", id="the same number in other widths"),
        pytest.param([f"n/{'1' * 5000}", f"n/{'1' * 5001}"], f"n/{'1' * 5000}, n/{'1' * 5001}", id="no int at all"),
        pytest.param(["n/३", "n/४"], "n/३, n/४", id="digits of another script"),
    ],
)
def test_names(keys: list[str], shown: str) -> None:
    assert names(keys) == shown


def test_as_many_names_as_are_requested() -> None:
    """Removals are named at greater length; a record that was cut tells how many there were."""
    assert names(numbered(*range(0, 40, 2)), 20) == ", ".join(numbered(*range(0, 40, 2)))
    assert names(numbered(1, 2), count=9) == "node/w-1, node/w-2 and 7 more"


def test_natural_order() -> None:
    texts = ["b", "a-10", "10", "a", "", "a-2", "9", "1"]
    assert sorted(texts, key=natural_order) == ["", "1", "9", "10", "a", "a-2", "a-10", "b"]


SERVERS = [f"server:{n} (private)" for n in range(1, 21)]
EIGHT = ", ".join(SERVERS[:8])


def values(*sides: tuple[Any, Any]) -> str:
    """What is told of a field of so many changes."""
    every = [Shown(f"node/{n}", "x", "modify", "", fields=(FieldChange("a", *pair),)) for n, pair in enumerate(sides)]
    return blocks(every * LEAST if len(every) > 1 else every)[0].fields[0].values


@rows(
    "before after told",
    {
        "comes": (None, "x", "(none) -> x"),
        "an empty text can be seen": ("", None, '"" -> (none)'),
        "no text": (False, True, "false -> true"),
        "a text with a comma": ("a, b", "a", "a, b -> a"),
        "as many as are shown": (None, SERVERS[:8], f"(none) -> {EIGHT}"),
        "more than anybody reads come": (None, SERVERS, f"(none) -> 20 in all: {EIGHT}, ..."),
        "and go": (SERVERS, None, f"20 in all: {EIGHT}, ... -> (none)"),
        "a list that changes": (SERVERS, SERVERS[1:], f"{', '.join(SERVERS)} -> {', '.join(SERVERS[1:])}"),
    },
)
def test_both_sides(before: Any, after: Any, told: str) -> None:
    """Of one change; a long list that changes is told whole, as its last entry may be the one that matters."""
    assert values((before, after)) == told


@pytest.mark.parametrize(
    ("sides", "told"),
    [
        pytest.param([(None, "a")] * 3, "(none) -> a", id="one"),
        pytest.param([(None, "b"), (None, "a")], "(none) -> a, b", id="what comes differs"),
        pytest.param([("b", "x"), ("a", "x")], "a, b -> x", id="what goes differs"),
        pytest.param([("a", "b"), ("b", "a")], "a -> b, b -> a", id="an exchange"),
        pytest.param([(f"a{n}", f"b{n}") for n in range(9)], "a0 -> b0, a1 -> b1, a2 -> b2 and 6 more", id="many"),
        pytest.param([(None, "1, 2"), (None, "1")], '(none) -> 1, "1, 2"', id="lists"),
    ],
)
def test_both_sides_of_values(sides: list[tuple[str | None, str]], told: str) -> None:
    """The different values, the first three; what changes never looks as if nothing did."""
    assert values(*sides) == told


def like(number: int = 5, key: str = "node/w-{}", **overrides: Any) -> list[Line]:
    outcome = overrides.pop("outcome", None)
    return [Line(a_change(key.format(place), **overrides), outcome) for place in range(number)]


def folded(lines: Iterable[Line], detail: Detail = Detail.FOLDED) -> tuple[Block, ...]:
    return blocks([Shown.of(line) for line in lines], detail)


HELD = GuardDecision(Verdict.HELD, GuardName.NODE_BLAST_RADIUS, "too many")
WAITING = GuardDecision(Verdict.WAITING, GuardName.ABSENCE_PROOF, "too soon")


@rows(
    "lines expected",
    {
        "nothing": ([], []),
        "too few": (like(4), [1] * 4),
        "enough": (like(5), [5]),
        "held": (like(6, decision=HELD), [6]),
        "Nodes go": (like(6, kind="node.delete"), [6]),
        "failed for other reasons": ([*like(3, outcome=Failed("a")), *like(3, "node/v-{}", outcome=Failed("b"))], [6]),
        "with other consequences": ([*like(3, consequences=("a",)), *like(3, "node/v-{}", consequences=("b",))], [6]),
        "of two kinds": ([*like(4), *like(4, "node/v-{}", kind="node.labels")], [1] * 8),
        "of two verdicts": ([*like(4), *like(4, "node/v-{}", decision=WAITING)], [1] * 8),
        "of two outcomes": ([*like(4), *like(4, "node/v-{}", outcome=Skipped("no"))], [1] * 8),
        "with and without a consequence": ([*like(4), *like(4, "node/v-{}", consequences=("a",))], [1] * 8),
        "of other fields": ([*like(3), *like(3, "node/v-{}", after=an_identity(labels={}))], [6]),
        "for other reasons": ([*like(6, reason="one"), *like(6, "node/v-{}", reason="two")], [12]),
        "single ones come first": ([*like(6), *like(2, "node/v-{}", kind="node.delete")], [1, 1, 6]),
    },
)
def test_what_is_folded(lines: list[Line], expected: list[int]) -> None:
    assert [len(block.members) for block in folded(lines)] == expected


def test_a_fold_has_the_order_of_people() -> None:
    (fold,) = folded(reversed(like(11)))

    assert (fold.first.key, fold.keys[2], fold.keys[10]) == ("node/w-0", "node/w-2", "node/w-10")


@rows(
    "lines shown",
    {
        "three": (like(25), "node/w-0, node/w-1, node/w-2 and 22 more"),
        "twenty go": (like(25, kind="node.delete"), f"{', '.join(numbered(*range(20)))} and 5 more"),
        "twenty lose something": (like(25, consequences=("x",)), f"{', '.join(numbered(*range(20)))} and 5 more"),
        "objects of many parts": (
            [line for n in range(4) for line in like(6, f"load_balancer/a/{n}/target/{{}}", kind="lb.target")],
            "of load_balancer/a/0, load_balancer/a/1, load_balancer/a/2 and 1 more",
        ),
        "a part of each object": (like(5, "node/w-{}/labels"), "node/w-0, node/w-1, node/w-2 and 2 more"),
        "parts of one object": (
            like(6, "load_balancer/a/b/target/{}", kind="lb.target"),
            "load_balancer/a/b/target/0, load_balancer/a/b/target/1, load_balancer/a/b/target/2 and 3 more",
        ),
    },
)
def test_names_of_a_fold(lines: list[Line], shown: str) -> None:
    assert folded(lines)[0].names == shown


def joined(**labels: str) -> Mapping[str, Any]:
    return {"before": an_identity(labels={}), "after": an_identity(labels=labels)}


@rows(
    "labels shown",
    {
        "one": (["a"], ["a"]),
        "one more than a few": (["a", "b", "c"], ["a", "b", "c"]),
        "many": (["a", "b", "c", "d"], ["a", "b"]),
        "those that tell most": (
            ["a", "b", "c", "topology.kubernetes.io/region", "node.kubernetes.io/instance-type"],
            ["node.kubernetes.io/instance-type", "topology.kubernetes.io/region"],
        ),
        "a last one beside them": (["a", "topology.kubernetes.io/region"], ["topology.kubernetes.io/region", "a"]),
    },
)
def test_fields(labels: list[str], shown: list[str]) -> None:
    (fold,) = folded(like(**joined(**dict.fromkeys(labels, "x"))))

    assert [field.path for field in fold.fields] == [f"labels[{label}]" for label in shown]
    assert len(fold.fields) + fold.more_fields == len(labels)


def test_a_field_that_not_all_have() -> None:
    (fold,) = folded([*like(5, **joined(a="x")), *like(1, "node/v-{}", **joined(b="y"))])

    assert {field.path: field.values for field in fold.fields} == {
        "labels[a]": "(none) -> x (5 of 6)",
        "labels[b]": "(none) -> y (1 of 6)",
    }


def a_new_balancer(ports: int) -> Line:
    listeners = {8000 + number: a_listener(8000 + number, 30000 + number) for number in range(ports)}
    wanted = replace(a_balancer().spec, listeners=listeners)
    return Line(a_change("load_balancer/default/web", "lb.create", verb=Verb.ADD, before=None, after=wanted))


def test_the_ports_of_one_load_balancer_are_told_together() -> None:
    """A game server's load balancer with thirty was 120 lines, and what else the plan had was lost above them."""
    few, many = (folded([a_new_balancer(ports)])[0] for ports in (4, 30))
    assert (len(few.fields), few.more_fields) == (len(few.first.fields), 0)
    shown = {field.path: field.values for field in many.fields if field.path.startswith("listeners")}
    assert len(shown) < 10
    told = "listeners[8000, 8001, 8002 and 27 more]"
    assert shown[f"{told}.destination_port"] == "(none) -> 30000, 30001, 30002 and 27 more"
    assert shown[f"{told}.protocol"] == "(none) -> tcp"
    (whole,) = folded([a_new_balancer(30)], Detail.FULL)
    assert len(whole.fields) == len(whole.first.fields)
    assert view_of(Report(lines=(a_new_balancer(30),))).opening == "Each field: --full"
    assert view_of(Report(lines=(a_new_balancer(30),), detail=Detail.FULL)).opening == ""


def test_the_log_tells_type_and_location_before_labels() -> None:
    created = a_new_balancer(1).change

    assert described_fields(created).startswith("type: (none) -> lb11, location: (none) -> fsn1, ")


@pytest.mark.parametrize(
    ("due_in_s", "told"),
    [
        (12.0, "; due in 12 s"),
        (11.2, "; due in 12 s"),
        (0.4, "; due in 1 s"),
        (120.0, "; due in 120 s"),
        (1500.0, "; due in 25 min"),
        (1501.0, "; due in 26 min"),
        (7200.0, "; due in 120 min"),
        (20_000.0, "; due in 6 h"),
        (0.0, ""),
        (None, ""),
    ],
)
def test_when_a_wait_ends(due_in_s: float | None, told: str) -> None:
    (block,) = folded([Line(a_change(decision=replace(WAITING, due_in_s=due_in_s)))])

    assert list(block.remarks) == [f"waiting (absence-proof): too soon{told}"]


def test_why_a_fold_waits() -> None:
    """The first one's wait stands for the others, and says so where theirs differ; a hold tells of its own."""
    same, own = (
        [Line(a_change(f"node/{n}", decision=replace(WAITING, due_in_s=n * by))) for n in range(1, 6)] for by in (0, 1)
    )

    assert [list(block.remarks) for block in folded(same)] == [["waiting (absence-proof): too soon"]]
    assert [list(block.remarks) for block in folded(own)] == [
        ["the first: waiting (absence-proof): too soon; due in 1 s"]
    ]
    assert [list(block.remarks) for block in folded([Line(a_change(decision=HELD))])] == [[]]
