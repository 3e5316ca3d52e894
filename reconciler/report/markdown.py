"""Markdown of a report, for the comment of a pull request and the summary of a step: what matters most stands first.

Foreign text cannot become markup, a link or a mention: keys and values stand in code spans, and so does each word of a
sentence that could mean something. A backslash or an entity would not do: code hosts look for mentions in what they
have rendered. ``plan.md.j2`` is the template. What is over its budget loses parts of it whole, the least important
first, and is never cut within.
"""

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from importlib.resources import files

from jinja2 import Environment, StrictUndefined, Template
from markupsafe import Markup

from actuators.outcome import Applied
from desired.health.state import Level
from desired.model.clocks import shown_moment
from desired.model.price import Cost
from desired.plan.change import Verdict
from desired.plan.kinds import Verb
from desired.section import grouped
from desired.syntax.bounds import counted
from reconciler.config.options import Detail
from reconciler.report.escaping import visible
from reconciler.report.folding import LEAST, NAMED, Block, Shown, names
from reconciler.report.money import shown_cost, shown_total
from reconciler.report.view import MEANS, View, is_applied, view_of
from reconciler.result import Report, Result, approve_command, look_command, needing_a_person

MARK = "hcloud-reconciler:plan"
"""What the first line has, before the cluster: by it a pipeline finds the comment that it is to edit."""


@dataclass(frozen=True, slots=True)
class Budget:
    """The room that there is for a text."""

    limit: int
    measure: Callable[[str], int]
    """How much of it a text takes."""


def _units(text: str) -> int:
    """Characters as the strictest of code hosts counts them, in units of UTF-16."""
    return len(text.encode("utf-16-le")) // 2


def _bytes(text: str) -> int:
    return len(text.encode())


COMMENT = Budget(60_000, _units)
"""GitHub refuses a comment of more than 65,536 characters."""


def step_summary(used: int) -> Budget:
    """The budget of a summary that has so many bytes already: GitHub drops one of more than 1,024 KiB as a whole."""
    return Budget(900 * 1024 - used, _bytes)


def code(text: str, *, in_table: bool = False) -> Markup:
    """Foreign text as a code span; an empty one as nothing. In the cell of a table a bar has a backslash, and one that
    stands before a bar already is an escape, as readers of tables do not agree on two."""
    text = visible(text)
    if in_table:
        text = re.sub(r"(?<!\\)\\+(?=\|)", lambda found: r"\x5c" * len(found[0]), text).replace("|", r"\|")
    if not text:
        return Markup()
    fence = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    is_padded = text.strip(" ") and (text[0] in "` " or text[-1] in "` ")
    return Markup(f"{fence} {text} {fence}" if is_padded else f"{fence}{text}{fence}")  # noqa: S704


_HARMLESS = re.compile(r"(?:[^\W_]|[.,;:()'\"/?=+-])+")
_LINKED = re.compile(
    r"://|\bwww\.|\bg[hl]-[0-9]|\b[0-9a-f]{7,}\b|:[a-z+-][a-z0-9+-]*:|:(?:100|1234|8ball):", re.IGNORECASE
)
"""What a code host makes something of: addresses, issues, commits, pictures."""


def prose(text: str, *, in_table: bool = False) -> Markup:
    """A sentence that may have foreign names in it: what is more than a harmless word stands in a code span."""
    return Markup(" ").join(_word(word, in_table=in_table) for word in visible(text).rstrip().split(" "))


def _word(word: str, *, in_table: bool) -> Markup:
    """A word, in a code span unless it is harmless; what punctuates the sentence stands around that."""
    if not word or (_HARMLESS.fullmatch(word) and not _LINKED.search(word)):
        return Markup(word)  # noqa: S704
    rest = word.lstrip("(")
    within = rest.rstrip("(),.;:")
    return Markup(f"{word[: -len(rest)]}{code(within, in_table=in_table)}{rest[len(within) :]}")  # noqa: S704


@dataclass(frozen=True, slots=True)
class _Extent:
    """How much is told; each loses something that the one before it has."""

    has_fields: bool = True
    has_details: bool = True
    most: int | None = None
    """How many entries a list has; None: all."""


_EXTENTS = (_Extent(), _Extent(has_fields=False), *(_Extent(False, False, most) for most in (None, 100, 20, 5, 1, 0)))


def render_markdown(report: Report, budget: Budget = COMMENT) -> str:
    """The text with a line break at its end: as much as the budget has room for. Its head always stands."""
    view, text = view_of(report), ""
    known = re.sub(r"[^0-9A-Za-z]", "", view.head.cluster.partition("-")[0])[:8]
    told = {
        "view": view,
        "report": report,
        "mark": f"{MARK}:{known or 'unknown'}",
        "title": _title(view),
        "ill": [each for each in view.standings if each.first.level is Level.BAD],
        "means": MEANS[report.result],
        "removals": grouped(_removals(view)),
        "cost": shown_total(report.cost),
        "details": tuple(_details(view)),
        "remarks": partial(_remarks, view),
    }
    for extent in _EXTENTS:
        most = NAMED if extent.most is None else min(extent.most, NAMED)
        if report.detail is Detail.FULL and extent.most is None:
            most = sys.maxsize
        made = _template().render(told, extent=extent, most=most, is_cut=extent is not _EXTENTS[0])
        text = re.sub(r"(?: *\n){2,}", "\n\n", made.strip()) + "\n"
        if budget.measure(text) <= budget.limit:
            break
    return text


def _title(view: View) -> str:
    report = view.report
    pieces = list(_counts(view, view.counts, len(report.lines), "**"))
    if wrong := len(needing_a_person(report)):
        pieces.append(f"**{counted(wrong, 'object')} need{'s' * (wrong == 1)} a person**")
    if report.errors:
        pieces.append(f"**{counted(len(report.errors), 'error')}**")
    if (cost := report.cost.changes) is not None and cost != Cost():
        pieces.append(shown_cost(cost, report.cost.currency))
    if report.result is Result.NO_CHANGES and not report.lines:
        return ", ".join(("No changes", *pieces))
    word = "Apply" if is_applied(report.lines) else "Plan"
    return f"{word}: {', '.join(pieces or [str(report.result)])}"


def _counts(view: View, counts: Mapping[str, int], total: int, bold: str = "") -> Iterator[str]:
    """What there is to do, or what was done and what was left; ``bold`` around what a person has to see."""
    if is_applied(view.report.lines):
        left = total - counts["applied"] - counts["failed"]
        told = [("applied", counts["applied"]), ("failed", counts["failed"]), ("left", left)]
    else:
        told = [(f"to {verb}", counts[verb]) for verb in Verb]
    told += [(word, counts[word]) for word in ("held", "waiting", "refused")]
    for word, count in told:
        mark = bold if word in ("held", "refused", "failed") else ""
        if count:
            yield f"{mark}{count} {word}{mark}"


def _removals(view: View) -> Iterator[tuple[str, Shown]]:
    """What becomes of it, and each removal: of all that is planned it must not be overlooked. Held ones stand with
    their hold, and refused ones stay."""
    for shown in (each for part in view.parts for block in part.blocks for each in block.members):
        verdict, outcome = shown.decision.verdict, shown.outcome
        if shown.verb == Verb.REMOVE and verdict is not Verdict.REFUSED:
            word = "To remove, after waiting" if verdict is Verdict.WAITING else "To remove"
            ended = "Removed" if isinstance(outcome, Applied) else "Not removed yet"
            yield word if outcome is None else ended, shown


def _details(view: View) -> Iterator[tuple[str, tuple[Block, ...]]]:
    """Summary and changes of each hold, and of each kind of object."""
    for held in view.held:
        yield f"held by {held.hold.rule}: {counted(len(held.hold.keys), 'change')}", held.blocks
    for part in view.parts:
        title = f"{part.title}, {part.use}" if part.use else part.title
        total = sum(len(block.members) for block in part.blocks)
        yield f"{title}: {', '.join(_counts(view, part.counts, total))}", part.blocks


def _remarks(view: View, block: Block) -> Iterator[str]:
    """Price, fate, reason, what withholds it and consequences."""
    reason = () if view.report.detail is Detail.SUMMARY else (block.reason,)
    told = (view.price(block.cost), block.fate, *reason, *block.remarks)
    return (prose(remark, in_table=True) for remark in told if remark)


def _span(value: object) -> object:
    """A value without a filter, as a code span."""
    return value if isinstance(value, Markup | int) else code(str(value))


@cache
def _template() -> Template:
    # Everything that is no Markup yet becomes a code span: a forgotten filter is safe.
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, finalize=_span, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"prose": prose, "own": Markup, "code": code, "cell": partial(code, in_table=True)}
    environment.globals |= {
        "approve_command": approve_command,
        "LEAST": LEAST,
        "look_command": look_command,
        "counted": counted,
        "names": names,
        "shown_moment": shown_moment,
    }
    return environment.from_string((files(__package__) / "plan.md.j2").read_text("utf-8"))
