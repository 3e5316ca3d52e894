"""Wrapping: where lines break on a terminal, and what is never broken."""

import pytest
from rich.cells import cell_len

from reconciler.report.terminal import lines_of, on_terminal, wrapped
from reconciler.report.text import TextLine
from reconciler.result import Explained, Report
from tests.support.explanations import EXPLANATIONS
from tests.support.rows import rows
from tests.support.scenarios import SCENARIOS

LONG = "n" * 253


@pytest.mark.parametrize(
    ("text", "width", "shown"),
    [
        pytest.param("", 20, [""], id="nothing"),
        pytest.param("as wide as it is", 16, ["as wide as it is"], id="fits"),
        pytest.param("one more than fits", 17, ["one more than", "  fits"], id="does not fit"),
        pytest.param("      type: (none) -> lb11", 20, ["      type: (none)", "        -> lb11"], id="hangs"),
        pytest.param("  a  b c", 6, ["  a  b", "   c"], id="keeps what stands between words"),
        pytest.param(f"  + node/{LONG}  node.labels", 20, [f"  + node/{LONG}", "    node.labels"], id="253 characters"),
        pytest.param("fsn1 x33, hel1 x33", 16, ["fsn1 x33,", "  hel1 x33"], id="a count stays with its value"),
        pytest.param("      a b", 3, ["      a", " b"], id="less than the indent"),
        pytest.param("      a b", 1, ["      a", "b"], id="one column"),
    ],
)
def test_wrapping(text: str, width: int, shown: list[str]) -> None:
    assert list(wrapped(TextLine(text), width)) == shown


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        pytest.param(40, ["once: reconcile approve sha256:1"], id="fits"),
        pytest.param(26, ["once:", "  reconcile approve sha256:1"], id="on a line of its own"),
        pytest.param(10, ["once:", "  reconcile approve sha256:1"], id="wider than the terminal"),
    ],
)
def test_a_command_is_never_broken(width: int, shown: list[str]) -> None:
    command = "reconcile approve sha256:1"

    assert list(wrapped(TextLine(f"once: {command}", command=command), width)) == shown


@rows(
    "text shown",
    {
        "behind a colon": (
            "to delete it: reconcile orphans --delete 4711",
            ["to delete it:", "  reconcile orphans --delete 4711"],
        ),
        "in quotes": (
            "the command 'reconcile holds show 0123ab' has the rest",
            ["the command", "  'reconcile holds show 0123ab' has", "  the rest"],
        ),
        "up to a word that ends it": (
            "to release it, kubectl annotate service a b=retain and delete it",
            ["to release it,", "  kubectl annotate service a b=retain", "  and delete it"],
        ),
        "up to a remark": (
            "or else kubectl label node web-1 example- (kubeadm sets it)",
            ["or else", "  kubectl label node web-1 example-", "  (kubeadm sets it)"],
        ),
        "no command": (
            "it's the 'own' name of the Node's own server",
            ["it's the 'own' name of the Node's own", "  server"],
        ),
    },
)
def test_a_command_in_a_sentence_stays_whole(text: str, shown: list[str]) -> None:
    assert list(wrapped(TextLine(text), 37)) == shown


@pytest.mark.parametrize("said", [SCENARIOS["balancer_adopted"], *EXPLANATIONS.values()], ids=type)
def test_on_a_terminal_everything_is_wrapped(said: Report | Explained) -> None:
    lines = list(on_terminal(said, 80, is_colored=False))

    assert " ".join(lines).split() == " ".join(line.text for line in lines_of(said)).split()
    assert [line for line in lines if len(line) > 80 and len(line) - len(line.split()[-1]) > 80] == []


def test_wide_characters_count_as_what_they_take() -> None:
    """The terminal's measure decides, not the number of characters."""
    assert list(wrapped(TextLine("日本 日本"), 6, cell_len)) == ["日本", "  日本"]
