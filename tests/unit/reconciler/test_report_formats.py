"""A report in all its formats: each tells what the document tells, and two are compared line by line."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest
import yaml

from reconciler import __version__
from reconciler.config.options import Detail, Output
from reconciler.report.documents import report_as_json
from reconciler.report.escaping import visible
from reconciler.report.view import view_of
from reconciler.result import Report
from tests.support.judging import decided
from tests.support.pages import Element, read_page
from tests.support.rendering import golden, invalid, written
from tests.support.scenarios import SCENARIOS
from tests.support.schemas import published
from tests.unit.reconciler.test_text_report import WITH_COSTS

every_scenario = pytest.mark.parametrize(
    "report", [replace(report, detail=Detail.FULL) for report in SCENARIOS.values()], ids=SCENARIOS
)


def test_whole_documents() -> None:
    """Set UPDATE_GOLDEN to write the file anew, and read it."""
    names = ("balancer_adopted", "balancer_created", "balancers_unread", "routes_drifted", "failed")
    reports = [*(SCENARIOS[name] for name in names), WITH_COSTS]
    text = "".join(written(report, Output.JSON) for report in reports).replace(f'"{__version__}"', '"0.0.0"')

    assert text == golden("reports.json", text)
    assert invalid(report_as_json(WITH_COSTS), published("schema.json")) == []


def sentences(document: Mapping[str, Any], report: Report) -> Iterator[str]:
    """All that a person reads of changes and holds, and the notes worth telling, but for times, which are written
    otherwise."""
    for change in document["changes"]:
        yield from (change["key"], change["reason"], *change["consequences"])
    for hold in document["holds"]:
        yield from (*hold["keys"], *_approve(hold))
    for alike in view_of(report).notes:
        yield from (alike[0].text, *(note.key for note in alike))


@every_scenario
def test_text_tells_all(report: Report) -> None:
    text, document = written(report), report_as_json(report)

    assert [told for told in sentences(document, report) if visible(told) not in text] == []
    for change in document["changes"]:
        sides = [side for field in change["fields"] for side in (field["before"], field["after"])]
        assert [each for each in sides if isinstance(each, str) and not _is_time(each) and each not in text] == []
    assert not re.search(r"[ \t]$", text, re.MULTILINE)


def _approve(hold: Mapping[str, Any]) -> list[str]:
    """Not for a wrong token, which no approval mends."""
    return [] if hold["rule"] == "project-anchor" else [hold["approve"]]


def _is_time(text: str) -> bool:
    return re.match(r"\d{4}-", text) is not None


@every_scenario
def test_markdown_tells_all(report: Report) -> None:
    text, document = written(report, Output.MARKDOWN).replace("`", ""), report_as_json(report)

    told = [*sentences(document, report), *document["errors"]]
    assert [each for each in told if visible(each) not in text] == []


@every_scenario
def test_the_page_tells_all(report: Report) -> None:
    document, page = report_as_json(report), read_page(written(decided(report), Output.HTML))

    shown = [each for name in ("plan", "holds") for each in page.section(name).with_attribute("data-key")]
    changes = {element.attributes["data-key"]: element.text for element in shown}
    assert Counter(each.attributes["data-key"] for each in shown) == Counter(c["key"] for c in document["changes"])
    for change in document["changes"]:
        sides = [side for field in change["fields"] for side in (field["before"], field["after"])]
        assert [
            side
            for side in (*sides, change["reason"], *change["consequences"])
            if isinstance(side, str) and not _is_time(side) and visible(side) not in changes[change["key"]]
        ] == []
    holds = page.section("holds").text
    for hold in document["holds"]:
        assert all(visible(text) in holds for text in (*_approve(hold), hold["why"], hold["value"], *hold["keys"]))
    notes = page.section("notes")
    assert Counter(notes.keys) == Counter(note["key"] for note in document["notes"])
    assert all(visible(note["text"]) in notes.text for note in document["notes"])
    status, facts = page.by_id("status").text, page.by_id("facts").text
    assert status.startswith(document["result"])
    assert all(visible(error) in status for error in document["errors"])
    told = [f"{document['summary'][verb]} to {verb}" for verb in ("add", "modify", "remove")]
    assert [count for count in told if count not in status and not count.startswith("0 ")] == []
    assert f"{document['summary']['held']} held" in status or not document["holds"]
    assert (document["cluster"]["uid"] or "unknown") in facts
    assert (document["taken_at"] or "")[:19].replace("T", " ") in facts
    sent = document["requests"]
    assert f"{sent['kubernetes']} to Kubernetes, {sent['hetzner']} to Hetzner" in facts
    assert "hetzner_left" not in sent or f"{sent['hetzner_left']} of {sent['hetzner_limit']}" in facts


@every_scenario
def test_documents(report: Report) -> None:
    document = json.loads(written(report, Output.JSON))

    assert document == report_as_json(report)
    assert yaml.safe_load(written(report, Output.YAML)) == document
    assert invalid(document, published("schema.json")) == []
    assert written(report, Output.NAME).splitlines() == [change["key"] for change in document["changes"]]
    assert document["result"] == report.result


@pytest.mark.parametrize(
    ("flags", "command"),
    [("", "reconcile approve {}"), ("--kubeconfig '/my file'", "reconcile approve {} --kubeconfig '/my file'")],
)
def test_the_approve_command_reaches_the_same_cluster(flags: str, command: str) -> None:
    """What is shown to be typed has the flags that this run was given, for people and for machines."""
    report = replace(SCENARIOS["held_by_blast_radius"], approve_flags=flags)
    expected = command.format(report.holds[0].hash)

    assert f"      approve: {expected}   (once, within 1 h)\n" in written(report)
    assert f": `{expected}`" in written(report, Output.MARKDOWN)
    assert report_as_json(report)["holds"][0]["approve"] == expected
    assert expected in commands(read_page(written(report, Output.HTML)))


def commands(page: Element) -> list[str]:
    return [element.text for element in page.by_id("holds").named("code")]
