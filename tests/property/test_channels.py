"""Law of the channels: whatever tells of a Service or a Node tells of the one state that a pass has made of it.

Random worlds are passed twice, ten minutes apart. Report, text, JSON, page, status, log, metrics, Events and conditions
have to agree with the states of the last report. ``TRUTH_WORLDS`` says how many worlds are tried.
"""

import logging
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, seed, settings

from desired.health.state import Level, ObjectState, ServiceState, word_of
from desired.model.settings import Controller, Policy
from desired.names import CONDITION_HEALTHY, CONDITION_IN_SYNC, CONDITION_NODE_IN_SYNC
from desired.plan.change import Verdict
from reconciler.config.options import Detail
from reconciler.page.page import document_of, page_of
from reconciler.report.documents import report_as_json
from reconciler.report.published import status_of
from reconciler.report.status import StatusReport
from reconciler.report.text import render_lines
from reconciler.result import Report, Result
from reconciler.telemetry.pass_logger import PassLogger
from reconciler.telemetry.pass_metrics import IN_NEED, NODES, SERVICES, gauges
from tests.property.plan_worlds import PlanWorld, plan_worlds
from tests.property.test_plan_truth import WORLDS, a_run
from tests.support.direct import DirectSimulation
from tests.support.passes import Run
from tests.support.sampling import SEED

_COUNTED = re.compile(r"([0-9]+) ([a-z ]+)")


def counts(states: tuple[ObjectState, ...]) -> Mapping[str, int]:
    return Counter(state.state.value for state in states)


def said_by(line: str) -> Mapping[str, int]:
    """``1 down, 19 in sync`` as numbers."""
    return {word.strip().replace(" ", "_"): int(number) for number, word in _COUNTED.findall(line)}


def conditions_of(thing: Mapping[str, Any]) -> Mapping[str, str]:
    return {each["type"]: each["status"] for each in thing.get("status", {}).get("conditions", [])}


def the_report_agrees(report: Report) -> None:
    """Text, JSON, page and result."""
    states, document = report.states, report_as_json(report)
    assert [(each["key"], each["state"], each["why"]) for each in (*document["states"]["services"],
        *document["states"]["nodes"])] == [(each.key, each.state, each.why) for each in states]  # fmt: skip
    text = "\n".join(line.text for line in render_lines(replace(report, detail=Detail.FULL)))
    for word, group in (("Services", states.services), ("Nodes", states.nodes)):
        if group:
            (told,) = re.findall(rf"\b{word}: ([^;\n]+)", text)
            assert said_by(told) == counts(group)
    page = document_of(page_of(report)).file()
    assert [each.key for each in states if each.key not in page] == []
    needs = any(each.needs_a_person for each in states)
    verdicts = {line.change.decision.verdict for line in report.lines if line.outcome is None}
    if report.result in (Result.NO_CHANGES, Result.CHANGES, Result.PARTIAL):
        assert not needs
        assert not verdicts & {Verdict.HELD, Verdict.REFUSED}


def the_status_agrees(report: Report) -> None:
    published = status_of(report, "ccm-0", {})
    if published is None or report.snapshot is None:
        return
    status = StatusReport(now=report.snapshot.taken_at, published=published)
    lines = {word: line for text in status.lines() for word, _, line in [text.text.partition(":")]}
    for word, group in (("Services", report.states.services), ("Nodes", report.states.nodes)):
        assert said_by(lines.get(word, "")) == counts(group)
    last = published.last_pass
    assert [(each.key, each.state) for each in last.states.unwell] == [(e.key, e.state) for e in report.states.unwell]
    assert (status.code == 3) is (report.result is Result.BLOCKED)
    if any(state.needs_a_person for state in report.states):
        assert status.code != 0


def the_metrics_agree(report: Report) -> None:
    found = gauges(report, 0.0, 30.0)
    for name, group in ((SERVICES, report.states.services), (NODES, report.states.nodes)):
        assert {labels[0]: number for labels, number in found[name].items() if number} == counts(group)
    assert not sum(found[IN_NEED].values()) or report.result not in (Result.NO_CHANGES, Result.CHANGES)


class Lines(logging.Handler):
    """What is logged of a pass."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


def the_log_agrees(report: Report) -> None:
    """Each state that a person should look at begins a line, or shares that of its cause."""
    log, lines = logging.getLogger("hcloud-reconciler.pass"), Lines()
    log.addHandler(lines)
    try:
        PassLogger().look(report)
    finally:
        log.removeHandler(lines)
    told = Counter[str]()
    for line in lines.lines:
        for word in {each.word for each in report.states.unwell}:
            if line.startswith(f"{word} key="):
                told[word] += 1
            elif found := re.match(rf"{word} objects=([0-9]+) ", line):
                told[word] += int(found[1])
    unwell = [each for each in report.states.unwell if not any(error in each.why for error in report.errors)]
    assert told == Counter(each.word for each in unwell)


def the_events_agree(report: Report, run: Run[DirectSimulation]) -> None:
    """Exactly the Services that are down have the warning that says so."""
    if report.settings.only:
        return
    warned = {
        event.subject.name for event in run.ears.events if event.reason == "NoHealthyTarget" and not event.is_silent
    }
    down = {each.key.name.partition("/")[2] for each in report.states.services if each.state is ServiceState.DOWN}
    assert warned == down


def the_conditions_agree(report: Report, run: Run[DirectSimulation]) -> None:
    """No condition says that all is well if a person is needed."""
    if report.settings.policy is Policy.OBSERVE or report.settings.only:
        return
    services, nodes = run.sim.objects("services"), run.sim.nodes()
    for state in report.states.services:
        told = conditions_of(services.get(state.key.name.partition("/")[2], {}))
        if state.state is ServiceState.BLOCKED:
            assert told.get(CONDITION_IN_SYNC) != "True", state
        if told.get(CONDITION_HEALTHY) == "False":
            assert state.state is ServiceState.DOWN, state
    for state in report.states.nodes:
        if state.level is Level.WARNING and state.needs_a_person and Controller.NODE in report.settings.controllers:
            assert conditions_of(nodes.get(state.key.name, {})).get(CONDITION_NODE_IN_SYNC) != "True", state


@pytest.mark.timeout(3600)
def test_all_channels_tell_one_state() -> None:
    """See the module. What is tried in all has states of many kinds."""
    seen: Counter[str] = Counter()

    @seed(SEED)
    @settings(max_examples=WORLDS, deadline=None, print_blob=True, suppress_health_check=list(HealthCheck))
    @given(plan_worlds())
    def law(world: PlanWorld) -> None:
        run = a_run(world)
        run.tells_health = run.tells_sync = True
        run.converge()
        run.sim.clock.advance(600)
        run.ears.events.clear()
        report = run.converge()
        the_report_agrees(report)
        the_status_agrees(report)
        the_metrics_agree(report)
        the_log_agrees(report)
        the_events_agree(report, run)
        the_conditions_agree(report, run)
        seen.update({word_of(state.state) for state in report.states})

    law()
    assert {"serving", "blocked", "stuck", "in sync"} <= seen.keys(), seen
