"""Rows of rules: each is used, has a name of its own, and is written as kubectl and OpenTofu write."""

import ast
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import pytest

from desired.model.key import Key, ObjectKind
from desired.plan.change import GuardName
from desired.plan.notes import Note, NoteKind
from desired.rules.nodes import ADDRESSES_UNDECIDED
from desired.rules.rule import Decided, Rule
from tests.support.rules import facts_of, names_of_rules, rules_by_table

ROOT, PRODUCT = Path(__file__).resolve().parents[3], ("actuators", "desired", "reconciler")
ROWS = tuple(row for rows in rules_by_table().values() for row in rows)
UNREADABLE = re.compile(
    r"\b(nobody|somebody|everybody|whoever|anybody|whose|whom)\b|^(what|who|which) |, (which|who|where) |^it ",
    re.IGNORECASE,
)
OF_MANY = re.compile(r"(?<!of )(?<!\w)\{\w+\} (?:\w+ )*?\w+s (?:are|have|were|do)\b")
"""A number and a verb in the plural: ``{lost} Nodes are``, which reads ``1 Nodes are``. ``1 of 4 Nodes are`` is right.
"""
OF_ONE = re.compile(
    r"\b(?:Node|server|address|target|Service|port) \{(?:nodes|servers|addresses|targets|services|ports)\}"
)
"""A noun in the singular before a list: ``Node {nodes}``, which reads ``Node a, b``. The fact has the noun (``named``).
"""
PRIVATE_WORDS = re.compile(r"\b(nobody|somebody|whoever|anybody|by now|gives way)\b|cannot be told", re.IGNORECASE)


def test_each_row_has_a_name_of_its_own() -> None:
    """Two rows of one name would share an anchor of the page."""
    assert [name for name, count in Counter(row.name for row in ROWS).items() if count > 1] == []


def test_each_row_is_used() -> None:
    """A row that no module takes from its table is said of nothing; another of its name is not it."""
    used = {each for path, found in _nodes() if path.parent.name != "rules" for each in _rows_used_in(found)}
    assert sorted(names_of_rules().keys() - used) == []


def _rows_used_in(nodes: Sequence[ast.AST]) -> Iterator[tuple[str, str]]:
    """Table and constant of each row that a module names: imported, or as an attribute of its table."""
    tables: dict[str, str] = {}
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module == "desired.rules":
            tables |= {each.asname or each.name: each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("desired.rules."):
            yield from (((node.module or "").rpartition(".")[2], each.name) for each in node.names)
    for node in nodes:
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in tables:
            yield tables[node.value.id], node.attr


def test_no_public_name_stands_twice() -> None:
    """Who looks for a name finds one thing. Type variables of one letter are of their module."""
    named = Counter(
        name
        for path, nodes in _nodes()
        if path.is_relative_to(ROOT / "desired") and isinstance(module := nodes[0], ast.Module)
        for name in {found for node in module.body for found in _names_of(node)}
        if not name.startswith("_") and len(name) > 1
    )
    assert [name for name, count in named.items() if count > 1] == []


def _names_of(node: ast.stmt) -> Iterator[str]:
    match node:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Assign(targets=targets):
            yield from (each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name))
        case ast.AnnAssign(target=ast.Name(id=name)):
            yield name


def test_no_sentence_is_written_twice() -> None:
    """Rows of one sentence share it, so that it is changed once."""
    written = Counter(
        node.value
        for path, nodes in _nodes()
        if path.parent.name == "rules" and path.name != "rule.py"
        for node in nodes
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value
    )
    said = {row.says for row in ROWS if len(re.sub(r"\{\w+\}", "", row.says).split()) > 1}
    assert [text for text, count in written.items() if count > 1 and text in said] == []


def test_a_text_is_written_plainly() -> None:
    """Wherever it is made: it names who does what, and says what is instead of what is "by now"."""
    assert [(path.name, text) for path, text in _texts() if PRIVATE_WORDS.search(text)] == []


def _texts() -> Iterator[tuple[Path, str]]:
    """The texts of the product that are no docstrings and no single words, with their files."""
    for path, nodes in _nodes():
        docstrings = {node.value for node in nodes if isinstance(node, ast.Expr)}
        texts = [node.value for node in nodes if isinstance(node, ast.Constant) and node not in docstrings]
        yield from ((path, text) for text in texts if isinstance(text, str) and " " in text)


@cache
def _nodes() -> Sequence[tuple[Path, Sequence[ast.AST]]]:
    """Each module of the product with the nodes of its syntax tree."""
    paths = sorted(path for package in PRODUCT for path in (ROOT / package).rglob("*.py"))
    return [(path, list(ast.walk(ast.parse(path.read_text("utf-8"))))) for path in paths]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_row_is_written_plainly(row: Rule) -> None:
    """The object first, no relative clause as subject, no full stop, and a remedy that is not in the sentence."""
    for text in (row.says, row.remedy):
        assert UNREADABLE.search(text) is None
        assert OF_MANY.search(text) is OF_ONE.search(text) is None
        assert not text.endswith(".")
        assert ". " not in text
    assert ";" not in row.remedy
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", row.name)


def test_a_decision_says_its_rule_with_its_facts() -> None:
    """The sentence, the remedy after a semicolon, and the note of the row's kind."""
    row = Rule("label-kept", "label {label} is {value}; kept", "remove the label", NoteKind.KEPT)
    decided = Decided("a", row, {"label": "zone", "value": "a"})
    key = Key(ObjectKind.NODE, "web-1")
    assert decided.text == "label zone is a; kept; remove the label"
    assert decided.note(key) == Note(key, NoteKind.KEPT, decided.text)
    assert facts_of(row) == {"label", "value"}


def test_a_decision_whose_rule_is_no_notes_has_no_note() -> None:
    """And a row of a guard cannot be made into one."""
    row = Rule("nodes-lost", "{lost} Nodes are lost", of=GuardName.NODE_BLAST_RADIUS)
    key = Key(ObjectKind.NODE, "web-1")
    assert Decided(None, row, {"lost": 3}).note(key) is None
    with pytest.raises(TypeError, match="nodes-lost"):
        row.note(key, lost=3)


def test_a_fact_that_is_missing_is_an_error() -> None:
    """A sentence with a gap is never shown."""
    with pytest.raises(KeyError, match="lost"):
        Rule("nodes-lost", "{lost} Nodes are lost").text()


def test_every_row_of_addresses_that_stay_is_known_as_one() -> None:
    """The condition of a Node with such addresses is False or Unknown."""
    assert {row for row in ROWS if row.says.startswith("addresses are not written: ")} == ADDRESSES_UNDECIDED
