"""A world that was met before is planned as it was then: nothing changes but what a commit gives a reason for."""

from tests.support.corpus import all_differences, differences, read, sentences_of, summary
from tests.support.rules import rules_by_table


def test_every_plan_is_as_it_was() -> None:
    """``scripts/corpus`` tells all that differs in short, and stores it with ``--update``."""
    found = all_differences(read())
    assert {name: lines[:6] for name, lines in list(found.items())[:10]} == {}, "\n".join(summary(found))


def test_what_differs_is_told() -> None:
    """Each change by itself, with what is decided otherwise; and those that are alike together."""
    change = {"kind": "node.delete", "class": "remove", "verdict": "allowed", "rule": None}
    hold = {"rule": "node-blast-radius", "value": "2", "limit": "1", "keys": ["node/a", "node/b"]}
    before = {"result": "changes", "errors": 0, "order": ["node/a", "node/b"], "notes": [], "holds": []}
    before["changes"] = {"node/a": change, "node/b": change}
    held = {**change, "verdict": "held", "rule": "node-blast-radius"}
    after = {**before, "changes": {"node/b": held, "node/c": held}, "holds": [hold]}

    told = list(differences(before, after))

    assert told == [
        "- node/a node.delete remove allowed None",
        "+ node/c node.delete remove held node-blast-radius",
        "node/b node.delete remove: rule None -> node-blast-radius",
        "node/b node.delete remove: verdict allowed -> held",
        "+ holds: node-blast-radius 2 1 ['node/a', 'node/b']",
    ]
    one, other = {"first": told[:1]}, {"second": ["- node/x node.delete remove allowed None"]}
    assert list(summary(one | other)) == ["2 plans differ:", f"  2 x {told[0]}", "      first"]


def test_a_sentence_ends_with_its_remedy() -> None:
    """Whatever reasons a sentence is made of, it has one remedy, after its last semicolon."""
    rows = [row for table in rules_by_table().values() for row in table]
    remedies = {start for row in rows if len(start := row.remedy.partition("{")[0]) > len("approve")}
    entries = list(read().values())[::5]
    said = {text for entry in entries for text in sentences_of(entry)}
    assert len(said) > 100
    assert [text for text in said for start in remedies if "; " in text.partition(f"; {start}")[2]] == []
