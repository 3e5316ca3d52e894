"""Folding: which changes stand together, how their names and values are told, and what is never folded."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from actuators.outcome import Applied, Failed, Pending, Skipped
from desired.plan.change import Change, GuardDecision, GuardName, Verdict
from desired.plan.kinds import Verb
from reconciler.report.folding import Block, Fold, blocks, names, natural_order, summed_up, summed_up_sides
from reconciler.result import Line
from tests.builders import a_change, an_identity

LONG = "a" * 250


def numbered(*numbers: int, pattern: str = "node/w-{}") -> list[str]:
    """Names by their numbers."""
    return [pattern.format(number) for number in numbers]


@pytest.mark.parametrize(
    ("keys", "shown"),
    [
        pytest.param([], "", id="nobody"),
        pytest.param(["node/a"], "node/a", id="one"),
        pytest.param(numbered(*range(100), pattern="node/w-{:03}"), "node/w-[000-099]", id="filled with zeros"),
        pytest.param(numbered(*range(8, 13)), "node/w-[8-12]", id="as people count"),
        pytest.param(numbered(*range(8, 103), pattern="node/w-{:02}"), "node/w-[08-102]", id="grows out of its zeros"),
        pytest.param(numbered(*range(3), pattern="node/w-{}/network"), "node/w-[0-2]/network", id="of parts"),
        pytest.param(numbered(*range(3), pattern="route/4/10.244.{}.0/24"), "route/4/10.244.[0-2].0/24", id="inside"),
        pytest.param(
            ["r/10.0.254.0", "r/10.0.255.0", "r/10.1.0.0", "r/10.1.1.0"],
            "r/10.0.[254-255].0, r/10.1.[0-1].0",
            id="over the end of a number",
        ),
        pytest.param(numbered(1, 2, 3, 5, 6), "node/w-[1-3], node/w-[5-6]", id="a gap"),
        pytest.param(numbered(1, 3, 5), "node/w-1, node/w-3, node/w-5", id="three and no range"),
        pytest.param(numbered(1, 3, 5, 7, 9), "node/w-1, node/w-3, node/w-5 and 2 more", id="gaps everywhere"),
        pytest.param(numbered(10, 9, 11), "node/w-[9-11]", id="in any order"),
        pytest.param(["n/1", "n/01", "n/001"], "n/001, n/01, n/1", id="the same number in other widths"),
        pytest.param(["n/01", "n/2", "n/03", "n/4"], "n/01, n/2, n/03 and 1 more", id="mixed widths"),
        pytest.param(["n/099", "n/100", "n/0101"], "n/[099-100], n/0101", id="a width that is not that of its range"),
        pytest.param(["n/1-1", "n/2-2", "n/3-3"], "n/1-1, n/2-2, n/3-3", id="two numbers that grow"),
        pytest.param(["n/1-1", "n/1-2", "n/2-2"], "n/1-[1-2], n/2-2", id="one number, then the other"),
        pytest.param(["node/w-[0-9]"], r"node/w-\x5b0-9\x5d", id="looks like a range"),
        pytest.param(
            ["a[0-9]-1", "a[0-9]-2", "a[0-9]-3"], r"a\x5b0-9\x5d-[1-3]", id="a range of what looks like a range"
        ),
        pytest.param([f"n/{LONG}-1", f"n/{LONG}-2"], f"n/{LONG}-[1-2]", id="253 characters"),
        pytest.param(
            [f"n/{'9' * 250}{n}" for n in range(2)], f"n/{'9' * 250}0, n/{'9' * 250}1", id="a number that is none"
        ),
        pytest.param([f"n/{'1' * 5000}", f"n/{'1' * 5001}"], f"n/{'1' * 5000}, n/{'1' * 5001}", id="no int at all"),
        pytest.param(["n/३", "n/४"], "n/३, n/४", id="digits of another script"),
        pytest.param(["n/\u202e1", "n/\u202e2"], "n/\u202e[1-2]", id="control characters are escaped elsewhere"),
    ],
)
def test_names(keys: list[str], shown: str) -> None:
    """Contiguous numbers are ranges; of more than three names and ranges the first three names and a count are told."""
    assert names(keys) == shown


def test_as_many_names_as_are_asked_for() -> None:
    """Removals are named at greater length."""
    assert names(numbered(*range(0, 40, 2)), 20) == ", ".join(numbered(*range(0, 40, 2)))
    assert names(numbered(*range(0, 50, 2)), 20) == f"{', '.join(numbered(*range(0, 40, 2)))} and 5 more"


def test_natural_order() -> None:
    """Numbers by their value, whatever stands before them; any two texts can be compared."""
    texts = ["b", "a-10", "10", "a", "", "a-2", "9", "1"]
    assert sorted(texts, key=natural_order) == ["", "1", "9", "10", "a", "a-2", "a-10", "b"]


@pytest.mark.parametrize(
    ("values", "told"),
    [
        pytest.param([], "", id="none"),
        pytest.param(["fsn1"] * 9, "fsn1", id="one value"),
        pytest.param(["cpx42"] * 34 + ["cpx32"] * 66, "cpx32 x66, cpx42 x34", id="two values"),
        pytest.param(["b", "b", "a", "a", "c"], "a x2, b x2, c x1", id="as often as another"),
        pytest.param(["d", "c", "b", "a"], "a x1, b x1, c x1, d x1", id="four values"),
        pytest.param(["10", "9", "8", "7", "11", "11"], "7 ... 11 (5)", id="five values"),
    ],
)
def test_values(values: list[str], told: str) -> None:
    """One value is told; a few with how often each occurs; of many the ends and how many there are."""
    assert summed_up(values) == told


@pytest.mark.parametrize(
    ("sides", "told"),
    [
        ([("(none)", "a")] * 3, "(none) -> a"),
        ([("(none)", "a"), ("(none)", "b")], "(none) -> a x1, b x1"),
        ([("a", "b"), ("b", "a")], "a -> b x1, b -> a x1"),
        ([(f"a{number}", f"b{number}") for number in range(9)], "a0 -> b0 ... a8 -> b8 (9)"),
        ([("(none)", "1, 2"), ("(none)", "1")], '(none) -> 1 x1, "1, 2" x1'),
    ],
    ids=["one", "what comes differs", "an exchange", "many pairs", "lists"],
)
def test_both_sides_of_values(sides: list[tuple[str, str]], told: str) -> None:
    """What changes never looks as if nothing did."""
    assert summed_up_sides(sides) == told


def like(number: int = 5, key: str = "node/w-{}", **overrides: Any) -> list[Line]:
    """So many like changes."""
    outcome = overrides.pop("outcome", None)
    return [Line(a_change(key.format(place), **overrides), outcome) for place in range(number)]


def sizes(found: tuple[Block, ...]) -> list[int]:
    """How many changes each block has, 1 for one by itself."""
    return [len(block.lines) if isinstance(block, Fold) else 1 for block in found]


HELD = GuardDecision(Verdict.HELD, GuardName.NODE_BLAST_RADIUS, "too many")
WAITING = GuardDecision(Verdict.WAITING, GuardName.ABSENCE_PROOF, "too soon")


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        pytest.param([], [], id="nothing"),
        pytest.param(like(4), [1] * 4, id="too few"),
        pytest.param(like(5), [5], id="enough"),
        pytest.param(like(6, decision=WAITING), [6], id="waiting for the same"),
        pytest.param(like(6, outcome=Applied()), [6], id="applied"),
        pytest.param(like(6, outcome=Pending("busy")), [6], id="pending for the same"),
        pytest.param(
            like(6, key="load_balancer/a/b/target/server:{}", kind="lb.target", verb=Verb.REMOVE), [6], id="parts go"
        ),
        pytest.param(like(6, key="route/4/10.0.{}.0", kind="route.delete"), [6], id="routes go"),
        pytest.param(like(6, kind="node.delete"), [1] * 6, id="Nodes go"),
        pytest.param(like(6, key="load_balancer/a/{}", kind="lb.delete"), [1] * 6, id="load balancers go"),
        pytest.param(like(6, key="load_balancer/a/{}/type", kind="lb.type"), [1] * 6, id="types"),
        pytest.param(like(6, decision=HELD), [1] * 6, id="held"),
        pytest.param(like(6, decision=replace(HELD, verdict=Verdict.REFUSED)), [1] * 6, id="refused"),
        pytest.param(like(6, outcome=Failed("no")), [1] * 6, id="failed"),
        pytest.param(like(6, consequences=("its address goes",)), [1] * 6, id="with a consequence"),
        pytest.param([*like(4), *like(4, "node/v-{}", kind="node.labels")], [1] * 8, id="of two kinds"),
        pytest.param([*like(4), *like(4, "service/a/{}")], [1] * 8, id="of two sections"),
        pytest.param([*like(4), *like(4, "node/v-{}", decision=WAITING)], [1] * 8, id="of two verdicts"),
        pytest.param([*like(4), *like(4, "node/v-{}", outcome=Skipped("no"))], [1] * 8, id="of two outcomes"),
        pytest.param([*like(4), *like(4, "node/v-{}", after=an_identity(labels={}))], [1] * 8, id="of other fields"),
        pytest.param([*like(6, reason="one"), *like(6, "node/v-{}", reason="two")], [12], id="for other reasons"),
        pytest.param([*like(6), *like(2, "node/v-{}", kind="node.delete")], [1, 1, 6], id="single ones come first"),
    ],
)
def test_what_is_folded(lines: list[Line], expected: list[int]) -> None:
    """Five or more like changes are; never what a person has to look at by itself."""
    assert sizes(blocks(lines)) == expected


def test_a_fold_has_the_order_of_people() -> None:
    """The first by its number speaks for the others."""
    (fold,) = blocks(reversed(like(11)))

    assert isinstance(fold, Fold)
    assert (fold.first.change.key, fold.keys[2], fold.keys[10]) == ("node/w-0", "node/w-2", "node/w-10")


def joined(**labels: str) -> Mapping[str, Any]:
    """A Node that gets these labels, and nothing else."""
    return {"before": an_identity(labels={}), "after": an_identity(labels=labels)}


@pytest.mark.parametrize(
    ("labels", "shown"),
    [
        pytest.param(["a"], ["a"], id="one"),
        pytest.param(["a", "b", "c", "d"], ["a", "b", "c", "d"], id="one more than a few"),
        pytest.param(["a", "b", "c", "d", "e"], ["a", "b", "c"], id="many"),
        pytest.param(
            ["a", "b", "c", "topology.kubernetes.io/region", "node.kubernetes.io/instance-type"],
            ["node.kubernetes.io/instance-type", "topology.kubernetes.io/region"],
            id="those that tell most",
        ),
        pytest.param(
            ["a", "topology.kubernetes.io/region"], ["topology.kubernetes.io/region", "a"], id="a last one beside them"
        ),
    ],
)
def test_fields(labels: list[str], shown: list[str]) -> None:
    """A few are shown, the most telling first, and no line says that there is one more."""
    (fold,) = blocks(like(**joined(**dict.fromkeys(labels, "x"))))

    assert isinstance(fold, Fold)
    assert [field.path for field in fold.shown_fields] == [f"labels[{label}]" for label in shown]
    assert len(fold.fields) == len(labels)


def changes_in(found: tuple[Block, ...]) -> list[Change]:
    """All changes of blocks."""
    return [line.change for block in found for line in (block.lines if isinstance(block, Fold) else (block,))]


def test_each_field_has_every_member() -> None:
    """Of a fold no value is lost."""
    lines = [Line(a_change(f"node/w-{n}", **joined(a=str(n)))) for n in range(6)]
    found = blocks(lines)

    assert changes_in(found) == [line.change for line in lines]
    (fold,) = found
    assert isinstance(fold, Fold)
    assert [field.after for field in fold.fields[0].members] == ["0", "1", "2", "3", "4", "5"]
