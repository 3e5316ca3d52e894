"""Markdown of plans: what stands where, what is left out where there is no room, and that no name becomes markup."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from actuators.outcome import Failed, Pending
from desired.plan.change import GuardDecision, GuardName, Hold, Verdict
from desired.plan.notes import Note, NoteKind
from desired.section import Present
from reconciler.config.options import Detail, Output
from reconciler.report.escaping import visible
from reconciler.report.markdown import COMMENT, MARK, Budget, code, render_markdown, step_summary
from reconciler.result import Line, Report
from tests.balancers import LOCATED
from tests.builders import a_change, a_snapshot
from tests.property.strategies import law
from tests.support.keys import key_of
from tests.support.objects import server, settled_node
from tests.support.passes import Run, load_balancer_service
from tests.support.premises import ALWAYS
from tests.support.rendering import golden, written
from tests.support.scenarios import SCENARIOS
from tests.support.simulators import Simulation, ago
from tests.support.world import SERVICES

_READER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
_HOSTILE = (
    "@octocat",
    "#1",
    "owner/repo#1",
    "GH-1",
    "GL-1",
    "</details><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<!-- -->",
    "-->",
    "[x](https://evil.example)",
    "![x](https://evil.example/pixel)",
    "https://evil.example",
    "(www.evil.example)",
    "<https://evil.example>",
    "someone@evil.example",
    "**bold** _it_ ~~gone~~ *x*",
    "`",
    "``` a ```",
    "`a`",
    " a ",
    "a|b",
    r"a\|b",
    "\\",
    r"\`|",
    "|---|",
    "a\n\n# b\r\n- c",
    "# heading",
    "> quote",
    "/close",
    "---",
    "&lt;&#64;octocat",
    "$`x`$ $$y$$",
    ":smile: :+1: :100:",
    "0123456789abcdef0123456789abcdef01234567",
    "\u202e\x1b[31m\x00",
    "   ",
    "1. a",
    "+ a",
    "[^1]: a",
    "~~~",
)
_hostile = st.sampled_from(_HOSTILE) | st.text(st.sampled_from("`|\\*_[]()<>!#@&$~:/.-+ \na1"), max_size=30) | st.text()
_ACTIVE = re.compile(
    r"[`|\\*_\[\]<>#@&$~!{}^]|://|www\.|\bg[hl]-\d|\b[0-9a-f]{7,}\b|:[a-z+-][\w+-]*:|:100:", re.IGNORECASE
)
_SYMBOLS = ("~", "!")
_TAGS = re.compile(r"<details><summary>[a-z, 0-9/-]+: [a-z, 0-9]+</summary>\n?|</details>\n?")


def a_report(foreign: str) -> Report:
    held = GuardDecision(Verdict.HELD, GuardName.ADOPTION, foreign)
    waiting = GuardDecision(Verdict.WAITING, GuardName.POLICY, foreign)
    sides: dict[str, Any] = {"before": {"one": foreign, f"key{foreign}": "x"}, "after": {"one": "some other value"}}
    lines = (
        Line(a_change(f"node/n{foreign}/labels", reason=foreign, **sides), Failed(foreign)),
        Line(a_change("node/b", consequences=(foreign,)), Pending(foreign)),
        Line(a_change(f"route/4/n{foreign}", "route.delete", before="10.0.0.1", reason=f"it leads to {foreign}")),
        Line(a_change(f"service/ns/n{foreign}", decision=waiting)),
        Line(a_change(f"load_balancer/ns/n{foreign}", "lb.delete", before="x", decision=held)),
    )
    hold = Hold("sha256:0", GuardName.ADOPTION, foreign, "1", (lines[-1].change.key,), foreign)
    return Report(
        snapshot=replace(a_snapshot(), cluster_uid=Present(foreign)),
        lines=lines,
        notes=(Note(key_of(f"service/ns/n{foreign}"), NoteKind.LIMIT, f"{foreign} is full"),),
        holds=(hold,),
        errors=(foreign, f"server {foreign} is gone"),
        approve_flags=f"--context {foreign}",
        next_step=f"reconcile apply --only {foreign}",
        not_leader=foreign,
    )


def blocks(tokens: list[Token]) -> list[str]:
    return [token.type + token.tag for token in tokens]


def inlines(tokens: list[Token]) -> Iterator[Token]:
    for token in tokens:
        yield from token.children or ()


@law(ALWAYS)
@given(_hostile)
def test_foreign_text_stays_text(foreign: str) -> None:
    """Whatever it says, the page has the blocks that it has of a plain word, and in these nothing but text, code, our
    own emphasis and our own line breaks; and no text has anything of which a code host makes something."""
    page = render_markdown(a_report(foreign))
    tokens = _READER.parse(page)

    assert blocks(tokens) == blocks(_READER.parse(render_markdown(a_report("word"))))
    for block in (token for token in tokens if token.type == "html_block"):
        mark = re.fullmatch(rf"<!-- {MARK}:[0-9A-Za-z]+ -->\n?", block.content)
        assert mark or _TAGS.fullmatch(block.content), block.content
    for token in inlines(tokens):
        assert token.type in {"text", "code_inline", "strong_open", "strong_close", "hardbreak", "html_inline"}
        assert token.type != "html_inline" or token.content == "<br>"
        assert token.type != "text" or token.content in _SYMBOLS or not _ACTIVE.search(token.content), token.content
    assert not any(line.startswith("/") for line in page.splitlines())


@law(ALWAYS)
@given(_hostile)
def test_foreign_text_is_told_whole(foreign: str) -> None:
    """A code span has exactly the text, as far as it can be seen; in a table as elsewhere, but for a backslash that
    stands before a bar."""
    seen = visible(foreign)
    spans = inlines(_READER.parse(f"a {code(foreign)}"))
    cells = inlines(_READER.parse(f"| a |\n|---|\n| {code(foreign, in_table=True)} |"))
    in_table = re.sub(r"\\+(?=\|)", lambda run: r"\x5c" * len(run[0]), seen)

    assert [(token.type, token.content) for token in spans][1:] == [("code_inline", seen)] * bool(seen)
    assert [(token.type, token.content) for token in cells][1:] == [("code_inline", in_table)] * bool(seen)


def anonymous(text: str) -> str:
    for found, told in (
        (rf"{MARK}:[0-9a-f]{{8}} ", f"{MARK}:5f0c2a11 "),
        (r"[0-9a-f]{8}-[0-9a-f]{4}-[-0-9a-f]{22}", "5f0c2a11-6d0e-4a53-9b8a-3a1c5d2e7f90"),
        (r"sha256:[0-9a-f]{16}", "sha256:3f9a1c0b7e55d214"),
        (r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}", "2026-11-22 12:00"),
        (r":[0-9]{2} UTC", ":03 UTC"),
        (r"\ba[0-9a-f]{31}\b", "a5f0c2a116d0e4a539b8a3a1c5d2e7f9"),
    ):
        text = re.sub(found, told, text)
    return text


def test_a_plan_for_a_pull_request(simulate: Callable[..., Simulation]) -> None:
    """What is held and what goes stand above everything else, with what is lost for good."""
    lost = [settled_node(f"worker-{number}", number, "Unknown", since=ago(300)) for number in (3, 4)]
    kept = {number: f"worker-{number}" for number in (1, 2, 5, 6)}
    sim = simulate(
        nodes=[*lost, *(settled_node(name, number) for number, name in kept.items())],
        project={"servers": [server(number, name) for number, name in kept.items()]},
    )
    run = Run(sim, LOCATED)
    writer = sim.kubernetes_writer()
    writer.create(SERVICES, load_balancer_service("old"))
    run.converge()
    old = sim.objects("services")["old"]["metadata"]
    writer.delete(f"{SERVICES}/old", uid=old["uid"], version=old["resourceVersion"])
    writer.create(SERVICES, load_balancer_service("shop"))

    report = replace(run.plan(), next_step="reconcile apply")

    text = anonymous(render_markdown(report))
    assert text == golden("pull_request.md", text)


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_page(name: str) -> None:
    page = written(SCENARIOS[name], Output.MARKDOWN)
    tokens = _READER.parse(page)

    assert page.startswith(f"<!-- {MARK}:")
    assert [token.tag for token in tokens if token.type == "heading_open"] == ["h3"]
    assert page.count("\n|---|") == len([token for token in tokens if token.type == "table_open"])
    rows = [line for line in page.splitlines() if line.startswith("|") and not line.startswith("|---")]
    assert len(rows) == len([token for token in tokens if token.type == "tr_open"])


def crowd(count: int, **change: Any) -> Report:
    """A report of so many Nodes that join, and one label that changes, of a cluster with a short id."""
    joining = (Line(a_change(f"node/n{number}", **change)) for number in range(count))
    return Report(snapshot=a_snapshot(), lines=(*joining, Line(a_change("node/z/labels", "node.labels"))))


def test_folds() -> None:
    folded, full, short = (
        render_markdown(replace(crowd(30), detail=detail)) for detail in (Detail.FOLDED, Detail.FULL, Detail.SUMMARY)
    )

    assert "| + | 30 x `node/n0, node/n1, node/n2 and 27 more`<br>" in folded
    assert "<br>a test wants it | `addresses[ExternalIP]` | `(none) -> 203.0.113.1` |" in folded
    assert folded.endswith("Each change: `--full`.\n")
    assert ("node/n17" in full, "30 x" in full, "--full" in full) == (True, False, False)
    assert "| ~ | `node/z/labels` |\n| + | 30 x `node/n0, node/n1, node/n2 and 27 more` |\n" in short
    assert "a test wants it" not in short


@pytest.mark.parametrize(
    ("room", "has"),
    [
        pytest.param(60_000, (True, True, True), id="enough"),
        pytest.param(540, (False, False, True), id="no room for fields"),
        pytest.param(400, (False, False, False), id="nor for details"),
    ],
)
def test_what_goes_first_where_there_is_no_room(room: int, has: tuple[bool, bool, bool]) -> None:
    page = render_markdown(crowd(30), Budget(room, len))

    assert ("203.0.113.1" in page, "z/labels`<br>a test wants it | `labels[" in page, "<details>" in page) == has
    assert ("the whole plan is in the artifact" in page) is not all(has)
    assert len(page) <= room
    assert page.startswith(f"<!-- {MARK}:")


def test_a_page_has_room() -> None:
    removals = [Line(a_change(f"route/4/10.{n % 199}.{n}.0/24", "route.delete", before="x")) for n in range(0, 400, 2)]
    held = tuple(f"node/{'x' * 200}-{number}" for number in range(0, 2_000, 2))
    notes = [Note(key_of(f"node/n{n}"), NoteKind.LIMIT, f"{n} " + "y" * 500) for n in range(1_000)]
    report = Report(
        snapshot=a_snapshot(),
        lines=tuple(removals),
        notes=tuple(notes),
        holds=(Hold("sha256:0", GuardName.NODE_BLAST_RADIUS, "1000", "1", held, "why"),),
        errors=("z" * 70_000, "no"),
        detail=Detail.FULL,
    )
    page = render_markdown(report)

    assert COMMENT.measure(page) <= COMMENT.limit
    assert "### Plan: 200 to remove, **1000 objects need a person**, **2 errors**" in page
    assert ("\n**To remove:** 200" in page, "\n1 hold\n" in page, "- 1000 notes\n" in page) == (True, True, True)
    assert len(render_markdown(replace(report, errors=()))) > 20_000


def test_budgets() -> None:
    """A comment is measured in units of UTF-16, as the strictest of code hosts does it, and a summary in bytes, of
    which it may have some already."""
    assert (COMMENT.measure("a\U0001f600"), COMMENT.limit) == (3, 60_000)
    assert (step_summary(0).measure("a\U0001f600"), step_summary(1_000).limit) == (5, 900 * 1024 - 1_000)
