"""Text and JSON of one Node or Service: whole texts, marks and columns, nothing that a terminal would obey."""

import json
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest

from desired.explain.rows import Part, Row
from desired.health.state import NodeState, ServiceState
from desired.load_balancers.matching import BalancerMatch
from desired.load_balancers.membership import Membership
from desired.plan.change import GuardName, Hold
from desired.routes.actions import RouteAction
from desired.routes.claims import RouteStatus
from desired.rules.load_balancers import PORT_AS_ASKED
from desired.rules.nodes import Stage
from reconciler import __version__
from reconciler.config.options import Detail, Output
from reconciler.report.explanation import render_explanation
from reconciler.report.text import Tone
from reconciler.result import Explained
from tests.support.explanations import EXPLANATIONS
from tests.support.rendering import golden, written
from tests.support.rows import rows
from tests.support.service_explanations import SERVICE_EXPLANATIONS

PAGE = Path(__file__).resolve().parents[3] / "docs" / "explain.md"
ALL = {**EXPLANATIONS, **SERVICE_EXPLANATIONS}
NODE, SERVICE = EXPLANATIONS["settled"], SERVICE_EXPLANATIONS["service_served"]
EXAMPLE = re.compile(r"(<!-- example (?P<name>\w+) -->\n```\n)(?P<text>.*?)(```\n)", re.DOTALL)


def changed(explained: Explained, *rows: Row, detail: Detail = Detail.FOLDED) -> Explained:
    """The same with other rows behind the first one."""
    found = explained.explanation
    assert found is not None
    report = replace(explained.report, detail=detail)
    return replace(explained, report=report, explanation=replace(found, rows=(found.rows[0], *rows)))


def section(title: str, explained: Explained) -> list[str]:
    """The lines below a heading."""
    _, _, below = written(explained).partition(f"\n{title}\n")
    return below.partition("\n\n")[0].splitlines()


def test_the_page_shows_what_is_printed() -> None:
    """Each example of docs/explain.md is what the command prints; ``UPDATE_DOCS=1`` writes them anew."""
    page = PAGE.read_text("utf-8")
    now = EXAMPLE.sub(lambda found: found[1] + written(ALL[found["name"]]) + found[4], page)
    if "UPDATE_DOCS" in os.environ:
        PAGE.write_text(now, "utf-8")

    assert len(EXAMPLE.findall(page)) == page.count("<!-- example") > 0
    assert PAGE.read_text("utf-8") == now


def test_the_page_names_every_word() -> None:
    """The tables of docs/explain.md have a row for each word, and none for what does not exist."""
    told = re.findall(r"^\| `([\w-]+)` \|", PAGE.read_text("utf-8"), re.MULTILINE)
    matches = [each.__name__.lower() for each in get_args(BalancerMatch)]

    assert told == [
        *(*ServiceState, *NodeState, *Stage, *RouteStatus, *RouteAction),
        *matches,
        "ambiguous",
        "unclaimed",
        *Membership,
    ]


def test_golden_texts() -> None:
    """Explanations that are not on the page; set UPDATE_GOLDEN to write the file anew, and read it."""
    names = ("drifted", "dedicated", "unreadable", "over_limit", "mismatched", "routes_dead")
    services = ("joining", "drifted", "private", "certified", "exposed", "full", "refused", "leaving")
    told = (*names, *(f"service_{name}" for name in services))
    text = "\n".join(f"##### {name}\n{written(ALL[name])}" for name in told)

    assert text == golden("explanations.txt", text)
    assert not re.search(r"[ \t]$", text, re.MULTILINE)


def document(name: str) -> Any:
    """The explanation as a machine reads it."""
    return json.loads(written(ALL[name], Output.JSON))


@pytest.mark.parametrize("name", ["rerouted", "service_served"])
def test_golden_documents(name: str) -> None:
    """A Node and a Service, member by member; set UPDATE_GOLDEN to write the files anew, and read them."""
    text = written(ALL[name], Output.JSON).replace(f'"{__version__}"', '"0.0.0"')

    assert text == golden(f"explain_{name}.json", text)


@pytest.mark.parametrize("name", ALL)
def test_text_tells_all_that_json_tells(name: str) -> None:
    """Each decision has its line, with why and remedy."""
    text = written(replace(ALL[name], report=replace(ALL[name].report, detail=Detail.FULL)))
    for row in document(name)["decisions"]:
        words = "; ".join(filter(None, (row["why"], row["remedy"])))
        subject = row["subject"].removeprefix("load-balancer.hetzner.cloud/")
        assert re.search(f" {re.escape(subject)}.*{re.escape(words)}$", text, re.MULTILINE), row


FOREIGN = "a\x1b[31m\nb\u202e"


def test_control_characters_are_made_visible() -> None:
    """Text from elsewhere cannot move the cursor, change colors or begin a line of its own."""
    spoiled = changed(NODE, Row(Part.LABELS, FOREIGN, FOREIGN, None, "rule", FOREIGN, FOREIGN))
    shown = r"a\x1b[31m\nb\u202e"

    assert f"  - {shown}  {shown} -> (none)  {shown}; {shown}\n" in written(spoiled)


def test_columns_are_aligned() -> None:
    """Values stand below each other, whatever is in them; one that is far too long only pushes its own line."""
    facts = [Row(Part.LABELS, text, text, text, None, "END") for text in ("a", "\x1b", "x" * 60)]
    short, escaped, long = (line.index("END") for line in section("Labels", changed(NODE, *facts)))

    assert short == escaped == 4 + 48 + 2 + 48 + 2 < long


def a_row(part: Part, value: str | None, wanted: str | None, rule: str = "rule", state: str | None = None) -> Row:
    return Row(part, "key", value, wanted, rule, "why", state=state)


@rows("row line tone", {
    "stays": (a_row(Part.LABELS, "x", "x"), "    key  x  why", Tone.PLAIN),
    "empty": (a_row(Part.LABELS, "", ""), '    key  ""  why', Tone.PLAIN),
    "of others": (a_row(Part.LABELS, "x", "x", "left-alone"), "    key  x  why", Tone.DETAIL),
    "comes": (a_row(Part.LABELS, None, "x"), "  + key  (none) -> x  why", Tone.ADD),
    "changes": (a_row(Part.LABELS, "x", "y"), "  ~ key  x -> y  why", Tone.MODIFY),
    "goes": (a_row(Part.LABELS, "x", None), "  - key  x -> (none)  why", Tone.REMOVE),
    "goes, unhealthy": (a_row(Part.TARGETS, "x", None, state="unhealthy"), "  - key  unhealthy  x -> (none)  why",
        Tone.REMOVE),
    "unhealthy": (a_row(Part.TARGETS, "x", "x", state="unhealthy"), "    key  unhealthy  x  why", Tone.WARNING),
    "no target": (a_row(Part.TARGETS, None, None, state="excluded"), "    key  excluded  (none)  why", Tone.PLAIN),
    "no route": (a_row(Part.ROUTES, None, None, state="unroutable"), "  ! key  unroutable  why", Tone.BAD),
    "a route that waits": (a_row(Part.ROUTES, None, None, state="waiting"), "  ? key  waiting  why", Tone.WARNING),
    "a guard that measures": (a_row(Part.GUARDS, "2", "1", state="allowed"), "    key  allowed  2 (limit 1)  why",
        Tone.PLAIN),
    "a guard": (a_row(Part.GUARDS, None, None, state="approved"), "    key  approved  why", Tone.PLAIN),
    "holds": (a_row(Part.GUARDS, "2", "1", state="held"), "  ! key  held  2 (limit 1)  why", Tone.BAD),
    "refuses": (a_row(Part.GUARDS, None, None, state="refused"), "  ! key  refused  why", Tone.BAD),
    "waits": (a_row(Part.GUARDS, None, None, state="waiting"), "  ? key  waiting  why", Tone.WARNING),
    "wrong": (a_row(Part.ANNOTATIONS, None, None, state="wrong"), "  ! key  wrong  why", Tone.BAD),
    "unset": (a_row(Part.ANNOTATIONS, None, None, "option-unset", "unset"), "    key  unset  why", Tone.DETAIL),
})  # fmt: skip
def test_lines(row: Row, line: str, tone: Tone) -> None:
    """The mark of a plan for what comes, changes or goes, and of a guard for what waits or is wrong; nothing is said by
    color alone."""
    full = changed(NODE, row, detail=Detail.FULL)

    assert [found.tone for found in render_explanation(full) if found.text == line] == [tone]


def a_port(number: int, *, is_quiet: bool = True) -> Row:
    return Row(Part.PORTS, str(number), "tcp", "tcp", PORT_AS_ASKED.name if is_quiet else "rule", "why")


@rows("ports told", {
    "few": ([1, 2, 3, 4], ["1", "2", "3", "4"]),
    "many": ([1, 2, 3, 4, 5, 80], ["80", "5 more that match the Service (--full)"]),
    "many that fail": ([1, 2, 3, 4, 80], ["1", "2", "3", "4", "80"]),
})  # fmt: skip
def test_many_quiet_ports_are_counted(ports: list[int], told: list[str]) -> None:
    """A port of which a target fails is no quiet one: that is 80 here."""
    lines = section("Ports", changed(SERVICE, *map(a_port, ports)))
    assert [line.strip().removesuffix("  tcp  why").strip() for line in lines] == told
    assert len(section("Ports", changed(SERVICE, *map(a_port, ports), detail=Detail.FULL))) == len(ports)


def test_a_port_that_fails_is_in_the_color_of_a_warning() -> None:
    found = {line.text: line.tone for line in render_explanation(changed(SERVICE, a_port(80), a_port(81)))}
    assert (found["    80  tcp  why"], found["    81  tcp  why"]) == (Tone.WARNING, Tone.PLAIN)


HOLD = Hold("sha256:0123456789abcdef", GuardName.ADOPTION, "1", "0", ("node/a", "node/b"), "it would lose a port")


@rows("state told", {
    "held": ("held", [
        "  ! adoption  held  1 (limit 0)  it would lose a port",
        "        changes: node/a, node/b",
        "        approve: reconcile approve sha256:0123456789abcdef --kubeconfig f   (once, within 1 h)",
    ]),
    "approved": ("approved", ["    adoption  approved  1 (limit 0)  it would lose a port"]),
})  # fmt: skip
def test_a_hold(state: str, told: list[str]) -> None:
    """All that it holds, and what to type for the cluster of this run; an approved one asks for nothing."""
    guard = Row(Part.GUARDS, "adoption", "1", "0", "adoption", HOLD.why, state=state)
    found = changed(SERVICE, guard)
    assert found.explanation is not None
    report = replace(found.report, approve_flags="--kubeconfig f")
    flagged = replace(found, report=report, explanation=replace(found.explanation, holds=(HOLD,)))

    assert section("Guards", flagged) == told
    (hold,) = json.loads(written(flagged, Output.JSON))["holds"]
    assert hold["approve"] == "reconcile approve sha256:0123456789abcdef --kubeconfig f"


def test_holds_of_one_guard_stand_below_their_own_rows() -> None:
    whys = ("it would lose a port", "it would lose a target")
    guards = [Row(Part.GUARDS, "adoption", "1", "0", "adoption", why, state="held") for why in whys]
    found = changed(SERVICE, *guards)
    assert found.explanation is not None
    holds = tuple(replace(HOLD, why=why, keys=(f"node/{number}",)) for number, why in enumerate(whys))
    lines = section("Guards", replace(found, explanation=replace(found.explanation, holds=holds)))
    assert [line.strip() for line in lines if "changes: " in line] == ["changes: node/0", "changes: node/1"]


@rows("explained first tone", {
    "Node": (NODE, "node/web-1  in sync: server 1", Tone.GOOD),
    "Service": (SERVICE, "service/default/web  degraded: port 80: 1 of 2 healthy", Tone.WARNING),
    "not looked after": (ALL["service_unclaimed"], "service/default/web  unclaimed", Tone.HEADING),
})  # fmt: skip
def test_the_first_line(explained: Explained, first: str, tone: Tone) -> None:
    """Its name and state; the word of its first row if it is not looked after."""
    line = next(render_explanation(explained))

    assert (line.text, line.tone) == (first, tone)


def test_changes_are_told_as_in_a_plan() -> None:
    """With their fields, but for what is told below field by field."""
    joining, drifted = section("Changes", EXPLANATIONS["joining"]), section("Changes", EXPLANATIONS["drifted"])

    assert joining[0] == "  + node/web-1  node.initialise"
    assert not [line for line in joining if "(none) ->" in line]
    assert [line for line in drifted if "labels[" in line]


def test_nothing_to_explain() -> None:
    """Nothing but what was read: errors are said once, on stderr."""
    assert written(EXPLANATIONS["no_api"]) == ""
    assert written(EXPLANATIONS["missing"]).splitlines()[-1].startswith("Requests: ")


@pytest.mark.parametrize("name", ["missing", "no_api", "service_missing", "service_no_api"])
def test_documents_without_an_explanation(name: str) -> None:
    """A document without an explanation has all the same members in the same order, and says why."""
    found = document(name)

    assert list(found) == list(document("rerouted"))
    assert (found["health"], found["decisions"], found["changes"], found["holds"]) == (None, [], [], [])
    assert len(found["errors"]) == 1
