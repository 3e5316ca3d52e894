"""The plans of large worlds in each format: a person reads them on one screen, whatever is held."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache

import pytest

from hcloud_sandbox.demo_world import CLUSTER_CIDR
from reconciler.config.options import Detail, Output
from reconciler.report.documents import report_as_json
from reconciler.report.holds import HoldsReport
from reconciler.report.published import published_holds
from reconciler.result import Report
from tests.support.large_plans import a_report_of
from tests.support.page_worlds import busy_world, by_default_world
from tests.support.pages import read_page
from tests.support.rendering import golden, written
from tests.support.simulators import START
from tests.unit.reconciler.test_folded_plans import anonymous

SET = {
    "HCLOUD_NETWORK": "4711",
    "HCLOUD_LOAD_BALANCERS_LOCATION": "fsn1",
    "HCLOUD_LOAD_BALANCERS_USE_PRIVATE_IP": "true",
}
ROUTED = {**SET, "--cluster-cidr": CLUSTER_CIDR}
LOST: Mapping[str, Mapping[str, str]] = {
    "the network is lost": {name: text for name, text in ROUTED.items() if name != "HCLOUD_NETWORK"},
    "targets are reached otherwise": {**ROUTED, "HCLOUD_LOAD_BALANCERS_USE_PRIVATE_IP": "false"},
    "load balancers are closed": {**ROUTED, "HCLOUD_LOAD_BALANCERS_DISABLE_PUBLIC_NETWORK": "true"},
}
"""What is wrong with the settings of a hundred Nodes and twenty Services → these settings."""
BUSY = "Nodes join beside a hold and an outage"
NAMES = [*LOST, BUSY]
MOST = 30
"""Lines of a text."""


@cache
def report_of(name: str) -> Report:
    if name == BUSY:
        return a_report_of(busy_world(START), {**SET, "HCLOUD_LOAD_BALANCERS_DISABLE_PUBLIC_NETWORK": "true"})
    return a_report_of(by_default_world(START), LOST[name])


def texts_of(report: Report) -> Mapping[str, str]:
    """The plan, its summary, and its hold, as text."""
    (hold,) = holds = published_holds(report, START, {})
    return {
        "plan": written(report),
        "plan --summary": written(replace(report, detail=Detail.SUMMARY)),
        "holds show": written(HoldsReport(START, holds=holds, shown=hold.hash)),
    }


def test_whole_texts() -> None:
    told = {f"{name}: {what}": text for name in NAMES for what, text in texts_of(report_of(name)).items()}
    text = anonymous("".join(f"=== {name}\n{plan}\n" for name, plan in told.items()))

    assert {name: plan.count("\n") for name, plan in told.items() if plan.count("\n") > MOST} == {}
    assert text == golden("large_plans.txt", text)


def test_whole_pages_in_markdown() -> None:
    pages = {name: written(report_of(name), Output.MARKDOWN) for name in NAMES}
    text = anonymous("".join(f"=== {name}\n{page}\n" for name, page in pages.items()))

    assert max(map(len, pages.values())) < 10_000
    assert text == golden("large_plans.md", text)


@pytest.mark.parametrize("name", NAMES)
def test_json_and_the_page_keep_each_change(name: str) -> None:
    """On the page they are in folds that are closed."""
    report = report_of(name)
    keys = [line.change.key for line in report.lines]
    page = read_page(written(report, Output.HTML))
    held, planned = page.section("holds"), page.section("plan")

    assert [change["key"] for change in report_as_json(report)["changes"]] == keys
    assert sorted([*held.keys, *planned.keys]) == sorted(keys)
    assert len([each for each in page.named("details") if "open" in each.attributes]) < MOST
