"""Text of one Node or Service: the page that shows it, each layout and section, nothing that a terminal would obey.

Its JSON: the members and their order, whatever there is to say.
"""

import json
import os
import re
from collections.abc import Mapping
from dataclasses import replace
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path
from typing import Any

import pytest

from desired.annotations.options import PREFIX
from desired.annotations.reading import Origin
from desired.annotations.warnings import AnnotationWarning
from desired.explain.document import (
    AnchorFact,
    BalancerFact,
    Candidate,
    CertificateFact,
    Concern,
    Fact,
    FoundBalancer,
    GuardFact,
    ListenerFact,
    LossFact,
    NodeRoutes,
    OptionFact,
    PrivateAddress,
    RouteFact,
    ServerFact,
    ServerMatch,
    ServiceStage,
    TargetFact,
    Wait,
)
from desired.guards.anchor import AnchorState
from desired.health.state import NodeState, ServiceState
from desired.load_balancers.membership import Membership
from desired.model.load_balancer import Health
from desired.model.snapshot import ServerStatus
from desired.plan.change import GuardName, Hold, Verdict
from desired.plan.kinds import Verb
from desired.plan.notes import Note, NoteKind
from desired.routes.actions import RouteAction
from desired.routes.claims import RouteStatus
from desired.rules.nodes import Stage
from desired.rules.rule import Basis
from desired.syntax.provider_id import Provider
from reconciler import __version__
from reconciler.config.options import Detail, Output
from reconciler.report.explanation import explanation_as_json, render_explanation
from reconciler.report.text import TextLine, Tone, visible_lines
from reconciler.result import Explained
from tests.support.explanations import EXPLANATIONS
from tests.support.keys import key_of
from tests.support.rendering import golden, written
from tests.support.rows import rows
from tests.support.service_explanations import SERVICE_EXPLANATIONS

PAGE = Path(__file__).resolve().parents[3] / "docs" / "explain.md"
ALL = {**EXPLANATIONS, **SERVICE_EXPLANATIONS}
NODE, SERVICE = EXPLANATIONS["settled"], SERVICE_EXPLANATIONS["service_served"]
EXAMPLE = re.compile(r"(<!-- example (?P<name>\w+) -->\n```\n)(?P<text>.*?)(```\n)", re.DOTALL)


def changed(explained: Explained, **members: Any) -> Explained:
    """The same with other members of the explanation."""
    assert explained.explanation is not None
    return replace(explained, explanation=replace(explained.explanation, **members))


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
    rows = re.findall(r"^\| `([\w-]+)` \|", PAGE.read_text("utf-8"), re.MULTILINE)

    assert rows == [*ServiceState, *NodeState, *Stage, *Basis, *RouteStatus, *RouteAction, *ServiceStage, *Membership]


LINES: Mapping[str, tuple[str, str]] = {
    **dict.fromkeys(("labels", "addresses", "taints", "conditions", "status"), ("subject", "source")),
    **dict.fromkeys(("targets", "pending"), ("subject", "why")),
    "listeners": ("port", "why"),
    "certificates": ("name", "state"),
    "guards": ("rule", "verdict"),
}
"""List of a document → two members of each of its objects that are in one line of the text."""
VERBS = {"allowed": "passes", "waiting": "waits", "held": "holds", "refused": "refuses"}


@pytest.mark.parametrize("name", ALL)
def test_text_tells_all_that_json_tells(name: str) -> None:
    """Every fact, guard, wait, port, target, annotation and sentence that machines get, people get as well."""
    full = replace(ALL[name], report=replace(ALL[name].report, detail=Detail.FULL))
    document, text = explanation_as_json(full), written(full)
    options, routes = document.get("options", ()), document.get("routes") or {"destinations": ()}
    health, stage = document["health"], document["stage"]
    told: list[str | None] = (
        [f"{document['key']}  {(health['state'] if health else stage).replace('_', ' ')}"] if stage else []
    )
    told += [document["why"], *([health["why"]] if health else [])]
    told += [routes.get("why"), routes.get("mismatch"), *(row["why"] for row in routes["destinations"])]
    told += [guard["why"] for guard in document["guards"]]
    told += [row["text"] for row in (*document["remarks"], *document["notes"])] if "remarks" in document else []
    for option in options:
        told += [option["key"].removeprefix(PREFIX), option["remark"], *option["problems"]]

    def shown(words: str) -> str:
        return next(visible_lines([TextLine(words)])).text

    assert [sentence for sentence in told if sentence and shown(sentence) not in text] == []
    assert not re.search(r"[ \t]$", text, re.MULTILINE)
    for part, (subject, said) in LINES.items():
        for row in document.get(part, ()):
            words = VERBS.get(row[said], row[said])
            assert re.search(f" {re.escape(str(row[subject]))}.*{re.escape(shown(words))}", text), (part, row)


FOREIGN = "a\x1b[31m\nb\u202e"


def test_control_characters_are_made_visible() -> None:
    """Text from elsewhere cannot move the cursor, change colors or begin a line of its own."""
    fact = Fact(FOREIGN, FOREIGN, None, Basis.SERVER, FOREIGN)
    note = Note(key_of("node/web-1"), NoteKind.UNKNOWN, FOREIGN)
    spoiled = changed(NODE, why=FOREIGN, labels=(fact,), notes=(note,))
    shown = r"a\x1b[31m\nb\u202e"

    assert f"  - {shown}  {shown} -> (none)  {shown}\n" in written(spoiled)
    assert f"  {shown}\n" in written(spoiled)


def test_columns_are_aligned() -> None:
    """Values stand below each other, whatever is in them; one that is far too long only pushes its own line."""
    rows = ("a", "\x1b", "x" * 60)
    facts = tuple(Fact(row, row, row, Basis.FOREIGN, "END") for row in rows)
    short, escaped, long = (line.index("END") for line in section("Labels", changed(NODE, labels=facts)))

    assert short == escaped == 4 + 48 + 2 + 48 + 2 < long


GATEWAY, OTHER = IPv4Address("10.0.0.2"), IPv4Address("10.0.0.3")
RANGE = "10.244.1.0/24"


def route(standing: RouteStatus | None, fate: RouteAction | None, value: Any, wanted: Any) -> RouteFact:
    """A route to pods."""
    return RouteFact(RANGE, standing, fate, value, wanted, "why")


CERTIFICATE = CertificateFact(5, "shop", (), "uploaded", (443,), asked_for=True)
PORT = ListenerFact(80, "TCP", "tcp", "tcp", None, "why")
TARGET = TargetFact("web-1", Membership.TARGET, 1, "10.0.0.2", "10.0.0.2", Health.HEALTHY, "why")
UNHEALTHY = replace(TARGET, health=Health.UNHEALTHY)
OPTION = OptionFact(f"{PREFIX}type", Origin.ANNOTATION, None, "lb21", "lb11")


@pytest.mark.parametrize(("part", "fact", "line", "tone"), [
    ("labels", Fact("key", "x", "x", Basis.SERVER, "why"), "    key  x  why", Tone.PLAIN),
    ("labels", Fact("key", "", "", Basis.SERVER, "why"), '    key  ""  why', Tone.PLAIN),
    ("labels", Fact("key", "x", "x", Basis.FOREIGN, "why"), "    key  x  why", Tone.DETAIL),
    ("labels", Fact("key", None, "x", Basis.SERVER, "why"), "  + key  (none) -> x  why", Tone.ADD),
    ("labels", Fact("key", "x", "y", Basis.SERVER, "why"), "  ~ key  x -> y  why", Tone.MODIFY),
    ("labels", Fact("key", "x", None, Basis.SERVER, "why"), "  - key  x -> (none)  why", Tone.REMOVE),
    ("routes", route(RouteStatus.SERVED, RouteAction.CLAIMED, GATEWAY, GATEWAY), f"    {RANGE}  served  10.0.0.2  why",
        Tone.PLAIN),
    ("routes", route(RouteStatus.MISLED, RouteAction.CLAIMED, OTHER, GATEWAY),
        f"  ~ {RANGE}  misled  10.0.0.3 -> 10.0.0.2  why", Tone.MODIFY),
    ("routes", route(RouteStatus.UNROUTABLE, None, None, None), f"  ! {RANGE}  unroutable  (none)  why", Tone.BAD),
    ("routes", route(RouteStatus.OVER_LIMIT, RouteAction.DEAD, GATEWAY, None),
        f"  - {RANGE}  over-limit  10.0.0.2 -> (none)  why", Tone.REMOVE),
    ("routes", route(RouteStatus.WAITING, None, None, None), f"  ? {RANGE}  waiting  (none)  why", Tone.WARNING),
    ("routes", route(None, RouteAction.FOREIGN, GATEWAY, GATEWAY), f"    {RANGE}  foreign  10.0.0.2  why", Tone.DETAIL),
    ("routes", RouteFact("fd00::/64", None, None, None, None, "why"), "    fd00::/64  -  (none)  why", Tone.DETAIL),
    ("pending", Wait("policy", "why", 4.2), "  ? policy  why; due in 5 s", Tone.WARNING),
    ("listeners", PORT, "    80  tcp  why", Tone.PLAIN),
    ("listeners", replace(PORT, protocol="UDP"), "    80/UDP  tcp  why", Tone.PLAIN),
    ("listeners", replace(PORT, planned=Verb.MODIFY), "  ~ 80  tcp  why", Tone.MODIFY),
    ("listeners", replace(PORT, value=None, planned=Verb.ADD), "  + 80  (none) -> tcp  why", Tone.ADD),
    ("targets", TARGET, "    web-1  target  10.0.0.2  healthy  why", Tone.PLAIN),
    ("targets", UNHEALTHY, "    web-1  target  10.0.0.2  unhealthy  why", Tone.WARNING),
    ("targets", replace(UNHEALTHY, wanted=None), "  - web-1  target  10.0.0.2 -> (none)  unhealthy  why", Tone.REMOVE),
    ("targets", TargetFact("server:7", None, 7, None, None, None, "why"), "    server:7  -  (none)  -  why",
        Tone.PLAIN),
    ("certificates", CERTIFICATE, "    5  shop  uploaded; used by port 443", Tone.PLAIN),
    ("certificates", replace(CERTIFICATE, ports=(443, 444), domains=("a.de", "b.de"), asked_for=False),
        "    5  shop, for a.de, b.de  uploaded; used by port 443, 444, not requested", Tone.PLAIN),
    ("certificates", replace(CERTIFICATE, name=None, ports=(), state="managed, failed", error="no CAA"),
        "    5  (none)  managed, failed: no CAA; not used", Tone.PLAIN),
    ("certificates", replace(CERTIFICATE, id=None, ports=(), state="to be created"),
        "  + new  shop  to be created; not used", Tone.ADD),
    ("options", OPTION, "    type  lb21  annotation", Tone.PLAIN),
    ("options", replace(OPTION, in_use="lb21"), "    type  lb21  annotation", Tone.PLAIN),
    ("options", replace(OPTION, origin=Origin.ENVIRONMENT, variable="A_TYPE", value="", in_use="lb11"),
        '    type  ""  A_TYPE; the load balancer has lb11', Tone.PLAIN),
    ("options", replace(OPTION, origin=Origin.UNSET, value=None), "    type  -  not set: lb11", Tone.DETAIL),
    ("options", replace(OPTION, key="example.com/type", value=None, problems=("no type",)),
        "  ! example.com/type  -  annotation", Tone.BAD),
    ("remarks", AnnotationWarning("spec.x", "x has no effect"), "    x has no effect", Tone.PLAIN),
])  # fmt: skip
def test_layouts(part: str, fact: Any, line: str, tone: Tone) -> None:
    """What is told of each type of fact, with the mark of a plan for what comes, changes or goes, and of a guard for
    what waits or is wrong; nothing is said by color alone."""
    value = NodeRoutes(network=4, destinations=(fact,)) if part == "routes" else (fact,)
    explained = changed(NODE if part in ("labels", "routes") else SERVICE, **{part: value})

    full = replace(explained, report=replace(explained.report, detail=Detail.FULL))

    assert [found.tone for found in render_explanation(full) if found.text == line] == [tone]


def test_troubles_with_an_annotation_stand_below_it() -> None:
    """Each on a line of its own; what nobody has set is counted."""
    unset = replace(OPTION, key=f"{PREFIX}name", origin=Origin.UNSET, value=None)
    wrong = replace(
        OPTION, key=f"{PREFIX}location", origin=Origin.UNSET, value=None, problems=("is missing", "has to be")
    )
    odd = replace(OPTION, remark="no effect")

    assert section("Annotations", changed(SERVICE, options=(unset, wrong, odd))) == [
        "  ! location  -     not set: lb11",
        "        is missing",
        "        has to be",
        "    type      lb21  annotation",
        "        no effect",
        "  1 more are not set (--full)",
    ]


def test_a_remark_on_a_port_is_told_there() -> None:
    """It is no remark as well; without another one there is no such section."""
    remark = AnnotationWarning("spec.ports[0].protocol", "UDP is not balanced")
    told = changed(SERVICE, remarks=(remark,), listeners=(replace(PORT, why=remark.text),))

    assert "Remarks" not in written(told)
    assert section("Ports", told)[0] == "    80  tcp  UDP is not balanced"


SERVER = ServerFact(7, "web-1", ServerStatus.OFF, "cpx32", "")


@rows("match lines", {
    "by-id": (ServerMatch("providerID", "hcloud://7", SERVER), ["  7  web-1, off, cpx32",
        "  matched by providerID hcloud://7"]),
    "by-name": (ServerMatch("name", None, replace(SERVER, location="fsn1")), ["  7  web-1, off, cpx32 in fsn1",
        "  matched by name"]),
    "none": (ServerMatch("name", None, None, "no server", (Candidate(8, "web1", "its name is not the Node's"),)),
        ["  none: no server", "  nearest: 8  web1: its name is not the Node's"]),
})  # fmt: skip
def test_servers(match: ServerMatch, lines: list[str]) -> None:
    assert section("Server", changed(NODE, match=match)) == lines


BALANCER = BalancerFact(
    id=42,
    name="shop",
    type="lb11",
    location="fsn1",
    network_zone="eu-central",
    ipv4=IPv4Address("203.0.113.2"),
    ipv6=None,
    public=True,
    private=(PrivateAddress(7, IPv4Address("10.0.0.9")),),
    protected=False,
    ports=1,
    max_ports=5,
    targets=2,
    max_targets=25,
)
OWNER = (Fact("uid", "1", "1", Basis.OWNER, "this cluster's"),)


@rows("match lines", {
    "its-own": (FoundBalancer("shop", "label", BALANCER, owner=OWNER),
        ["  42  shop, lb11 in fsn1, 1 of 5 ports, 2 of 25 targets", "  matched by label hcloud-ccm/service-uid",
        "  addresses: 203.0.113.2, 10.0.0.9 in network 7", "    uid  1  this cluster's"]),
    "somebody-else's": (FoundBalancer("shop", "name", other=replace(BALANCER, public=False, protected=True,
        max_ports=None, max_targets=None, location=None), why="it is another cluster's"),
        ["  none: it is another cluster's", "  nearest: 42  shop, lb11, 1 port, 2 targets", "  matched by name shop",
        "  addresses: 203.0.113.2 (switched off), 10.0.0.9 in network 7", "  protected against deletion"]),
    "without-an-address": (FoundBalancer("shop", "name", replace(BALANCER, ipv4=None, private=())),
        ["  42  shop, lb11 in fsn1, 1 of 5 ports, 2 of 25 targets", "  matched by name shop", "  addresses: none"]),
    "none": (FoundBalancer(None, why="nobody asks"), ["  none: nobody asks"]),
})  # fmt: skip
def test_load_balancers(match: FoundBalancer, lines: list[str]) -> None:
    """Which load balancer is the Service's, or which one would be."""
    assert section("Load balancer", changed(SERVICE, load_balancer=match)) == lines


@rows("routes lines", {
    "unread": (NodeRoutes(why="the network was not read"), ["  none: the network was not read"]),
    "no-pod-cidr": (NodeRoutes(network=4, used=7, cluster_cidr=IPv4Network("10.244.0.0/16")),
        ["  network 4, 7/100 routes; cluster CIDR: 10.244.0.0/16"]),
    "little-is-known": (NodeRoutes(network=4, cluster_cidr=IPv4Network("10.244.0.0/16"),
        mismatch="it is not that of the Nodes", why="the Node has no pod CIDR yet"),
        ["  network 4, an unknown number of routes; cluster CIDR: 10.244.0.0/16", "  it is not that of the Nodes",
        "  none: the Node has no pod CIDR yet"]),
})  # fmt: skip
def test_networks(routes: NodeRoutes, lines: list[str]) -> None:
    """What is known of the network, and why there is no route."""
    assert section("Routes", changed(NODE, routes=routes)) == lines


HOLD = Hold(
    "sha256:0123456789abcdef", GuardName.ADOPTION, "1", "0", ("node/web-1", "node/web-2"), "it would lose a port"
)
HELD = GuardFact("adoption", Concern.CHANGES, Verdict.HELD, HOLD.why, "1", "0", 60.0, HOLD)
LOST = "  on a deletion of the Node, if its server were gone and its kubelet silent:"


def test_guards_of_a_node() -> None:
    """What they look at, then each with its mark, its verdict, why and for how long."""
    guards = (
        GuardFact("policy", Concern.CHANGES, Verdict.ALLOWED),
        GuardFact("project-anchor", Concern.CHANGES, Verdict.REFUSED, "why", "1", "2"),
        GuardFact("absence-proof", Concern.DELETION, Verdict.WAITING, "too soon", due_in_s=19.5),
    )
    explained = changed(
        NODE,
        guards=guards,
        announced="cordoned",
        anchor=AnchorFact(AnchorState.UNDETERMINED, found=1, total=4, unknown=2, needed=2),
        losses=LossFact(("node/a",), nodes=4, limit=1),
    )

    assert section("Guards", explained) == [
        "  1 of 4 Ready Nodes found in the project (at least 2 needed, 2 unknown)",
        "  lost without a drain: 1 of 4 Nodes (limit 1)",
        "  planned removal of this Node: cordoned",
        "  on the planned changes:",
        "      policy          passes",
        "    ! project-anchor  refuses: why",
        LOST,
        "    ? absence-proof  waits: too soon; due in 20 s",
    ]


def test_guards_of_a_service() -> None:
    """A hold is told with all that it holds, and what to type for the cluster of this run; one that was approved asks
    for nothing."""
    approved = replace(HELD, verdict=Verdict.ALLOWED, due_in_s=None, approved=True)
    explained = changed(SERVICE, guards=(HELD, approved), anchor=AnchorFact(AnchorState.HOLDS, 1, 1, 0, 1))
    report = replace(explained.report, approve_flags="--kubeconfig f")
    told = ["        it would lose a port", "        changes: node/web-1, node/web-2"]

    assert section("Guards", replace(explained, report=report)) == [
        "  1 of 1 Ready Node found in the project (at least 1 needed)",
        "  on the planned changes:",
        "    ! adoption  holds; due in 60 s",
        *told,
        "        approve: reconcile approve sha256:0123456789abcdef --kubeconfig f   (once, within 1 h)",
        "      adoption  passes (approved)",
        *told,
    ]


@pytest.mark.parametrize(("explained", "line"), [
    (SERVICE, "  none: no change is planned"),
    (NODE, "  none: no change is planned, and this Node is never deleted from here"),
    (changed(NODE, stage=Stage.DELETING), "  none: no change is planned, and the Node is being deleted already"),
])  # fmt: skip
def test_no_guards(explained: Explained, line: str) -> None:
    assert section("Guards", changed(explained, guards=())) == [line]


@rows("members line tone", {
    "another-project": ({"anchor": AnchorFact(AnchorState.VIOLATED, 1, 4, 0, 2)},
        "  1 of 4 Ready Nodes found in the project (at least 2 needed)", Tone.BAD),
    "no-node-was-found": ({"anchor": AnchorFact(AnchorState.UNFOUND, 0, 0, 0, 0)},
        "  no Node is Ready, and no server of a Node was found in the project", Tone.BAD),
    "no-account-was-read": ({"anchor": AnchorFact(AnchorState.UNFOUND, 0, 0, 3, 0, Provider.ROBOT)},
        "  no Node is Ready, and no server of a Node was found in the Robot account (3 unknown)", Tone.BAD),
    "a-new-cluster": ({"anchor": AnchorFact(AnchorState.NONE, 0, 0, 0, 0)}, "  no Node is Ready", Tone.PLAIN),
    "too-many-losses": ({"losses": LossFact(("node/a", "node/b"), 4, 1)},
        "  lost without a drain: 2 of 4 Nodes (limit 1)", Tone.BAD),
    "not-announced": ({"announced": None}, "  planned removal of this Node: no", Tone.PLAIN),
})  # fmt: skip
def test_measures(members: Mapping[str, Any], line: str, tone: Tone) -> None:
    """What most guards look at is told in words, and in red where it stops them."""
    assert [found.tone for found in render_explanation(changed(NODE, **members)) if found.text == line] == [tone]


@pytest.mark.parametrize(("explained", "first", "tone"), [
    (NODE, "node/web-1  in sync: server 1", Tone.GOOD),
    (SERVICE, "service/default/web  degraded: port 80: 1 of 2 healthy", Tone.WARNING),
    (ALL["service_unclaimed"], "service/default/web  unclaimed", Tone.HEADING),
])  # fmt: skip
def test_the_first_line(explained: Explained, first: str, tone: Tone) -> None:
    """What it is about, and its state; its stage where it is not looked after."""
    line = next(render_explanation(explained))

    assert (line.text, line.tone) == (first, tone)


NOTE = Note(key_of("service/default/web"), NoteKind.CERTIFICATE, "certificate 5 is being issued")


@rows("explained is_told", {
    "of-a-node": (NODE, True),
    "the-first-sentence-of-a-node": (changed(NODE, why=NOTE.text), False),
    "the-end-of-it-with-a-route": (changed(NODE, routes=NodeRoutes(network=4, destinations=(RouteFact("r", None, None,
        None, None, "issued"),))), False),
    "of-a-service": (SERVICE, True),
    "the-first-sentence-of-a-service": (changed(SERVICE, why=NOTE.text), False),
    "with-its-balancer": (changed(SERVICE, load_balancer=FoundBalancer(None, why=NOTE.text)), False),
    "with-a-port": (changed(SERVICE, listeners=(replace(PORT, why=NOTE.text),)), False),
    "as-a-remark": (changed(SERVICE, remarks=(AnnotationWarning("x", NOTE.text),)), False),
    "with-an-annotation": (changed(SERVICE, options=(replace(OPTION, remark=NOTE.text),)), False),
    "as-a-problem": (changed(SERVICE, options=(replace(OPTION, problems=(NOTE.text,)),)), False),
    "not-the-end-of-it": (changed(SERVICE, listeners=(replace(PORT, why="issued"),)), True),
})  # fmt: skip
def test_a_note_is_not_told_twice(explained: Explained, is_told: bool) -> None:
    lines = section("Notes", changed(explained, notes=(NOTE,)))

    assert lines == (["  service/default/web  certificate: certificate 5 is being issued"] if is_told else [])


def test_changes_are_told_as_in_a_plan() -> None:
    """With their fields, but for what is told below field by field."""
    joining, drifted = section("Changes", EXPLANATIONS["joining"]), section("Changes", EXPLANATIONS["drifted"])

    assert joining[0] == "  + node/web-1  node.initialise"
    assert not [line for line in joining if "(none) ->" in line]
    assert [line for line in drifted if "labels[" in line]


def test_parts_without_facts() -> None:
    """It is said that there are none, but for parts that few objects have."""
    empty = changed(SERVICE, targets=(), certificates=(), pending=(), notes=())

    assert section("Targets", empty) == ["  none"]
    assert not {"Certificates", "Waits for", "Notes"} & set(written(empty).splitlines())


def test_nothing_to_explain() -> None:
    """Nothing but what was read: errors are said once, on stderr."""
    assert written(EXPLANATIONS["no_api"]) == ""
    assert written(EXPLANATIONS["missing"]).splitlines()[-1].startswith("Requests: ")


def document(name: str) -> Any:
    """The explanation as a machine reads it."""
    return json.loads(written(ALL[name], Output.JSON))


@pytest.mark.parametrize("name", ["rerouted", "service_served"])
def test_golden_explanations(name: str) -> None:
    """A Node and a Service, member by member; set UPDATE_GOLDEN to write the files anew, and read them."""
    text = written(ALL[name], Output.JSON).replace(f'"{__version__}"', '"0.0.0"')

    assert text == golden(f"explain_{name}.json", text)


@pytest.mark.parametrize(("name", "like"), [
    ("missing", "rerouted"),
    ("no_api", "rerouted"),
    ("service_missing", "service_served"),
    ("service_no_api", "service_served"),
])  # fmt: skip
def test_documents_without_an_explanation(name: str, like: str) -> None:
    """A document without an explanation has all the same members in the same order, empty, and says why."""
    found, explained = document(name), document(like)
    head = ("format_version", "tool_version", "kind", "key", "taken_at", "cluster")
    members = found.keys() - {*head, "errors", "requests"}

    assert list(found) == list(explained)
    assert {member: found[member] for member in members} == {
        member: [] if isinstance(explained[member], list) else None for member in members
    }
    assert len(found["errors"]) == 1


def test_a_hold_with_its_command() -> None:
    """A hold is there with what to type, for the cluster of this run; what it would say of a deletion that is not
    planned is no hold to approve."""
    report = replace(ALL["held"].report, approve_flags="--kubeconfig f")
    flagged = json.loads(written(replace(ALL["held"], report=report), Output.JSON))
    (held,) = (fact for fact in flagged["guards"] if fact["verdict"] == "held")
    supposed = [fact for fact in document("ambiguous")["guards"] if fact["verdict"] == "held"]

    assert held["hold"]["approve"] == f"reconcile approve {held['hold']['hash']} --kubeconfig f"
    assert (held["concerns"], held["approved"]) == ("changes", False)
    assert [(fact["concerns"], fact["hold"]) for fact in supposed] == [("deletion", None)]
