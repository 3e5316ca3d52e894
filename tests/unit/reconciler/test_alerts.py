"""The chart's alerts are those of the table of metrics, and the dashboard shows what is served."""

import json
import re
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
import yaml

from desired.plan.change import GuardName, Verdict
from reconciler.telemetry.metric_table import METRICS, Sort
from tests.support.rules import names_of_rules

ROOT = Path(__file__).resolve().parents[3]
DOCS = ROOT / "docs"
CHART = ROOT / "deploy" / "helm" / "hcloud-reconciler"
ALERTS = {
    rule["alert"]: rule
    for group in yaml.safe_load((CHART / "alerts.yaml").read_text())["groups"]
    for rule in group["rules"]
}
DASHBOARD = json.loads((CHART / "dashboard.json").read_text())
PANELS = DASHBOARD["panels"]

OF_ANY_TARGET = {"instance", "job"}
"""Labels that Prometheus gives whatever it scrapes."""
_METRIC = re.compile(r"\b(?:hcloud_|leader_election_|rest_client_)[a-z_]+")
_CHOSEN = re.compile(r"(\w+)\s*(?:=~|!~|!=|=)\s*\"")
_GROUPED = re.compile(r"\b(?:by|on|without|group_left)\s*\(([^)]*)\)")
_SHOWN = re.compile(r"\$labels\.(\w+)|\{\{(\w+)\}\}")


def served() -> dict[str, set[str]]:
    """Name of a sample → its labels."""
    found = {name: {*row.labels, *OF_ANY_TARGET} for name, row in METRICS.items()}
    buckets = {f"{name}_bucket": {*found[name], "le"} for name, row in METRICS.items() if row.sort is Sort.HISTOGRAM}
    return found | buckets


def asked(when: str) -> tuple[set[str], set[str]]:
    grouped = (label.strip() for found in _GROUPED.findall(when) for label in found.split(","))
    return set(_METRIC.findall(when)), {*_CHOSEN.findall(when), *grouped} - {""}


def expressions() -> list[Any]:
    rules = [(name, rule["expr"], " ".join(rule["annotations"].values())) for name, rule in ALERTS.items()]
    queries = [(f"{panel['title']} {each['refId']}", each) for panel in PANELS for each in panel["targets"]]
    shown = [(name, query["expr"], query["legendFormat"]) for name, query in queries]
    return [pytest.param(when, text, id=name) for name, when, text in (*rules, *shown)]


def test_the_charts_alerts_are_those_of_the_table() -> None:
    of_table = {row.alarm.name: (row.alarm.when, row.alarm.lasting) for row in METRICS.values() if row.alarm}
    of_chart = {name: (" ".join(rule["expr"].split()), rule["for"]) for name, rule in ALERTS.items()}

    assert of_chart == of_table


@pytest.mark.parametrize("name", ALERTS)
def test_what_passes_by_itself_alarms_nobody(name: str) -> None:
    """Each has to hold for some time; what is counted over a time for as long, so that one burst is none: eight targets
    of servers that went in a scale-down fired one. What is undone again and again has lasted when it is counted."""
    lasting = _minutes(ALERTS[name]["for"])
    counted = [_minutes(over) for over in re.findall(r"increase\([^\[]*\[(\w+)\]\)", ALERTS[name]["expr"])]

    assert lasting > 0
    assert name == "HcloudReconcilerOscillates" or all(over <= lasting for over in counted)


def _minutes(text: str) -> int:
    return int(text[:-1]) * {"m": 1, "h": 60}[text[-1]]


def test_names_of_alerts_are_unique() -> None:
    """In the table and in the file, where a second one would be a second rule."""
    names = [row.alarm.name for row in METRICS.values() if row.alarm]

    assert len(names) == len(set(names)) == (CHART / "alerts.yaml").read_text().count("- alert:")


@pytest.mark.parametrize("name", ALERTS)
def test_an_alert_says_what_is_wrong_and_how_bad_it_is(name: str) -> None:
    assert ALERTS[name]["labels"]["severity"] in ("critical", "warning")
    assert set(ALERTS[name]["annotations"]) == {"summary", "description", "runbook"}


def test_each_alert_has_its_section_in_the_runbook() -> None:
    """And leads to it; the runbook has no section of an alert that is gone, nor one without a step to take."""
    text = (DOCS / "runbook.md").read_text("utf-8")
    sections = dict(re.findall(r"^## (.+)\n((?:(?!## ).*\n)*)", text, re.MULTILINE))
    links = {name: rule["annotations"]["runbook"] for name, rule in ALERTS.items()}

    assert sections.keys() == ALERTS.keys()
    assert links == {name: f"docs/runbook.md#{name.lower()}" for name in ALERTS}
    assert [name for name, body in sections.items() if not re.search(r"^(?:1\. |\|---)", body, re.MULTILINE)] == []


def test_the_runbook_tells_of_each_guard_that_a_person_may_meet() -> None:
    """Those that hold or refuse, and no others: what to do then is not told anywhere else."""
    held = (DOCS / "runbook.md").read_text("utf-8").partition("## HcloudReconcilerHeld\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^ +\| (\[`[^|]+) \|", held, re.MULTILINE)
    stops = (Verdict.HELD, Verdict.REFUSED)
    guards = {GuardName(row.of) for row in names_of_rules().values() if row.of and row.verdict in stops}

    assert {name for row in rows for name in re.findall(r"\[`([^`]+)`\]\(reference/rules.md#\1\)", row)} == guards


@pytest.mark.parametrize(("when", "shown"), expressions())
def test_only_what_is_served_is_asked_for(when: str, shown: str) -> None:
    """Metrics by the table that the registry is filled from, and labels that these metrics have."""
    metrics, labels = asked(when)
    labels |= {one or other for one, other in _SHOWN.findall(shown)}

    assert metrics
    assert metrics <= served().keys()
    assert labels <= set().union(*(served()[name] for name in metrics))


def test_the_dashboard_can_be_loaded_by_any_grafana() -> None:
    """Nothing of where it was made: no id, and data from whichever Prometheus is chosen."""
    assert "id" not in DASHBOARD
    assert (DASHBOARD["title"], DASHBOARD["uid"]) == ("hcloud-reconciler", "hcloud-reconciler")
    assert [(each["name"], each["type"]) for each in DASHBOARD["templating"]["list"]] == [("datasource", "datasource")]
    assert [panel["datasource"]["uid"] for panel in PANELS] == ["${datasource}"] * len(PANELS)


def test_panels_are_whole() -> None:
    for key in ("id", "title"):
        assert len({panel[key] for panel in PANELS}) == len(PANELS) > 0
    queries = [[target["refId"] for target in panel["targets"]] for panel in PANELS]
    assert all(ids and len(set(ids)) == len(ids) for ids in queries)


def test_panels_stand_side_by_side() -> None:
    """Within Grafana's 24 columns, and none on another one."""
    places = [panel["gridPos"] for panel in PANELS]

    assert all(at["x"] >= 0 and at["x"] + at["w"] <= 24 for at in places)
    assert not [pair for pair in combinations(places, 2) if _overlap(*pair)]


def _overlap(one: dict[str, int], other: dict[str, int]) -> bool:
    return all(
        one[start] < other[start] + other[size] and other[start] < one[start] + one[size]
        for start, size in (("x", "w"), ("y", "h"))
    )
