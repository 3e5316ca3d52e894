"""The page of a report: it says what the JSON document of the same report says, and nothing that is foreign acts."""

import re
import zlib
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actuators.outcome import Failed
from desired.model.key import Key, ObjectKind
from desired.model.settings import Settings
from desired.plan.change import GuardName, Hold, Verdict
from desired.plan.notes import Note, NoteKind
from desired.section import Section
from reconciler.config.options import Output
from reconciler.page.page import Page, anchor, document_of, page_of
from reconciler.page.policy import asset, policy
from reconciler.report.escaping import visible
from reconciler.result import Line, Report
from tests.balancers import a_balancer, a_served_service, a_world
from tests.builders import a_change, a_server, a_settled_node, a_snapshot
from tests.property.strategies import law
from tests.support.judging import decided
from tests.support.pages import Element, read_page
from tests.support.premises import ALWAYS
from tests.support.rendering import written
from tests.support.scenarios import SCENARIOS

HOSTILE = "</bdi></script><img src=x onerror=alert(1)>\"' style=x &lt; \u202e\x1b[2J\ud800 `]]><!--"


def shown(report: Report) -> Element:
    """The page of a report, read."""
    return read_page(document_of(page_of(decided(report))).file())


def keys_of(page: Page) -> list[str]:
    """The key of every change of the plan, in its order."""
    return [key for part in page.view.parts for block in part.blocks for key in block.keys]


def test_every_change_is_in_one_place() -> None:
    lines = tuple(
        Line(a_change(f"node/w-{number}/labels", "node.labels", before={"a": "1"}, after={"a": f"{number + 2}"}))
        for number in range(30)
    )
    report = Report(snapshot=a_snapshot(), lines=(Line(a_change()), *lines))

    page = page_of(report)

    assert sorted(keys_of(page)) == sorted(line.change.key for line in report.lines)
    assert page.changes == 31
    assert [len(part.blocks) for part in page.view.parts] == [2]
    assert len(shown(report).by_id("plan").keys) == 31


def test_a_file_of_its_own() -> None:
    """Nothing is fetched, and nothing runs."""
    text = written(SCENARIOS["joining"], Output.HTML)
    page = read_page(text)

    (told,) = [meta.attributes for meta in page.named("meta") if "http-equiv" in meta.attributes]
    assert told["content"] == policy(is_live=False)
    assert "frame-ancestors" not in policy(is_live=False)  # a document cannot say it, and browsers complain
    assert page.with_attribute("src") == page.with_attribute("style") == page.named("script") == []
    assert [element.children for element in page.named("style")] == [[asset("style.css")]]


def hostile_report(text: str) -> Report:
    """A report in which everything that somebody else may have written is this text."""
    key = Key(ObjectKind.NODE, f"web-{text}")
    change = a_change(
        str(key), "node.labels", before={"a": text}, after={f"b-{text}": text}, reason=text, consequences=(text,)
    )
    failed = Failed(text)
    node = a_settled_node(f"web-{text}", labels={"node.kubernetes.io/instance-type": text})
    balancer = a_balancer(spec={"name": text})
    world = a_world([a_served_service()], [balancer], nodes=[node], servers=[a_server(1, text, type=text)])
    hold = Hold("sha256:0123456789abcdef", GuardName.ADOPTION, text, text, (f"node/{text}",), text)
    return Report(
        snapshot=world,
        lines=(Line(change, failed),),
        notes=(Note(key, NoteKind.UNKNOWN, text),),
        holds=(hold,),
        errors=(text,),
        context=text,
        settings=Settings(network=text),
        approve_flags=text,
        next_step=text,
    )


@law(ALWAYS)
@given(
    st.just(HOSTILE) | st.text(min_size=1, max_size=60) | st.text(st.sampled_from("<>&\"'/!-=` \u202ea\n"), min_size=1)
)
def test_foreign_text_stays_text(text: str) -> None:
    """Whatever it says, the page has the same elements as with an ordinary name, and shows it."""
    tame, wild = shown(hostile_report("tame")), shown(hostile_report(text))

    assert [element.name for element in wild.every] == [element.name for element in tame.every]
    assert [element.attributes.keys() - {"title"} for element in wild.every] == [
        element.attributes.keys() - {"title"} for element in tame.every
    ]  # a long key has a tooltip
    assert visible(text) in wild.by_id("notes").text
    assert visible(text) in wild.by_id("states").text


def test_the_template_has_nothing_that_acts() -> None:
    """No handler, no style and no link to elsewhere; each value in an attribute is quoted, and nothing but our own
    style is written without being escaped."""
    template = re.sub(r"{#.*?#}|{%.*?%}", "", asset("page.html"))
    written = re.sub(r"{{.*?}}", "VALUE", template)
    tags = re.findall(r"<[a-z]+([^<>]*)>", written)

    assert {
        name for tag in tags for name in re.findall(r"([\w-]+)=", tag) if re.match(r"on|style|src|action", name)
    } == set()
    assert [tag for tag in tags if re.search(r"VALUE|=", re.sub(r'="[^"]*"', "", tag))] == []
    assert set(re.findall(r'href="([^"]*)"', written)) == {
        "#main",
        "#notes",
        "#states",
        "#VALUE",
        "./VALUE",
        "?",
        "?still",
        "VALUE#VALUE",
    }
    assert re.findall(r"{{ ([^{}]*) \| safe", template) == ['asset("style.css")']
    assert not any(mark in asset("style.css") for mark in ("</", "<!--", "url(", "@import"))


def test_a_link_leads_to_the_object() -> None:
    """Each change links the place on the map of what it serves, and an id is made so that a link finds it."""
    report = hostile_report("x")
    page = shown(
        replace(report, lines=(Line(a_change("node/web-x/labels", "node.labels", before={}, after={"a": "b"})),))
    )

    assert {"node/web-x", "service/default/web"} <= {element.attributes["id"] for element in page.with_attribute("id")}
    assert anchor("route/4/10.244.1.0/24") == "route/4/10.244.1.0/24"
    assert anchor('node/a b"<') == "node/a%20b%22%3C"


def test_what_somebody_has_to_look_at_is_open() -> None:
    """A held change shows its fields at once, however many others there are; those do not."""
    held = a_change("node/web-1")
    held = held.ruled(replace(held.decision, verdict=Verdict.HELD, rule=GuardName.PROJECT_ANCHOR, why="why not"))
    others = tuple(Line(a_change(f"node/x{chr(97 + n)}", reason=f"r{n}", consequences=())) for n in range(4))
    many = tuple(
        Line(a_change(f"load_balancer/a/x{n}/type", "lb.type", before="lb11", after="lb21")) for n in range(10)
    )
    page = shown(Report(snapshot=a_snapshot(), lines=(Line(held), *others, *many)))

    opened = [
        element.attributes["data-key"]
        for element in page.by_id("plan").named("details")
        if "open" in element.attributes
    ]
    assert opened == ["node/web-1"]


def test_the_head_says_that_a_person_is_needed() -> None:
    """Nothing is planned, and yet nothing is fine: a green line would send whoever looks back to bed."""
    note = Note(Key(ObjectKind.SERVICE, "default/web"), NoteKind.MALFORMED, "no such type")

    status = shown(Report(snapshot=a_snapshot(), notes=(note,))).by_id("status")

    assert "1 object needs a person" in status.text
    assert status.attributes["class"] == "status bad"
    assert "person" not in shown(Report(snapshot=a_snapshot())).by_id("status").text


def test_nothing_is_planned_by_a_pass_that_saw_all() -> None:
    """After an error nobody knows; after half a reading somebody knows half."""
    missing = replace(a_snapshot(), servers=Section.missing("no answer"))
    for report, said in (
        (Report(snapshot=a_snapshot()), "Nothing is planned."),
        (Report(snapshot=missing), "Nothing is planned by what could be read."),
        (Report(errors=("no answer",)), "Nothing could be planned."),
    ):
        page = shown(report)
        assert said in page.by_id("status").text


def test_nothing_of_the_surroundings_is_told() -> None:
    """Annotations and labels that no rule reads, and uids, stay where they are: the page has what a plan may show."""
    secret = "s3cr3t-marker"
    node = a_settled_node(labels={"example.com/x": secret}, uid=secret)
    service = a_served_service(labels={"example.com/x": secret})
    server = a_server(labels={"x": secret})
    labels = {"x": secret, "hcloud-ccm/service-uid": service.uid}
    balancer = a_balancer(spec={"labels": labels})
    world = a_world([service], [balancer], nodes=[node], servers=[server])

    text = document_of(page_of(decided(Report(snapshot=world, settings=Settings())))).file()

    assert secret not in text
    assert balancer.spec.name in text


def test_a_large_cluster() -> None:
    """Five thousand changes, on a page of less than a megabyte when it is compressed."""
    names = [f"worker-{number:04}" for number in range(5000)]
    lines = tuple(
        Line(a_change(f"node/{name}/labels", "node.labels", before={"a": name}, after={"a": f"{name}x", "b": name}))
        for name in names
    )
    nodes = [a_settled_node(name, number + 1) for number, name in enumerate(names[:1000])]
    report = Report(snapshot=a_snapshot(nodes), lines=lines)

    text = document_of(page_of(report)).file()

    assert len(zlib.compress(text.encode())) < 1_000_000
    assert len(read_page(text).by_id("plan").keys) == 5000


def test_a_held_change_stands_with_its_hold() -> None:
    report = SCENARIOS["held_by_blast_radius"]
    (hold,) = report.holds

    held = shown(report).by_id(f"hold/{hold.hash}")

    assert held.keys == list(hold.keys)
    assert all("open" in element.attributes for element in held.with_attribute("data-key"))


@pytest.mark.parametrize(("count", "folded"), [(4, False), (5, True)])
def test_like_notes_are_folded(count: int, folded: bool) -> None:
    notes = tuple(Note(Key(ObjectKind.NODE, f"w-{n}"), NoteKind.FOREIGN, "left alone") for n in range(count))

    section = shown(Report(snapshot=a_snapshot(), notes=notes)).by_id("notes")

    assert bool(section.named("details")) is folded
    assert section.keys == [f"node/w-{n}" for n in range(count)]
    assert ("5 x node/w-0, node/w-1, node/w-2 and 2 more" in section.text) is folded
