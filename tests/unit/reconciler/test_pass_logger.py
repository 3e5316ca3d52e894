"""What a loop tells in its log of passes and of single changes."""

import json
import logging
import re
import threading
from collections.abc import Callable
from dataclasses import replace

import pytest

from actuators.apply import apply
from actuators.http.actions import Actions
from actuators.http.connection import note_action, note_correlation
from actuators.http.errors import Invalid
from actuators.outcome import Applied, Failed, Outcome, Pending, Skipped
from actuators.writers import Writers
from desired.health.state import NodeState, ObjectState, ServiceState, States
from desired.model.snapshot import Snapshot
from desired.plan.change import Change, GuardDecision, GuardName, Hold, HoldEnd, Verdict
from desired.plan.notes import Note, NoteKind
from desired.section import Section
from reconciler.passes.context import ApplyContext
from reconciler.passes.one_pass import converge
from reconciler.result import Line, Report, Requests
from reconciler.runtime import actuators_with
from reconciler.telemetry.pass_logger import Meter, PassLogger
from tests.builders import a_change, a_snapshot
from tests.support.keys import key_of
from tests.support.passes import BALANCER, a_balanced_run
from tests.support.records import uses_of
from tests.support.rows import rows
from tests.support.scenarios import readdressed
from tests.support.simulators import PassingTime, Simulation

OF_A_CHANGE = "kind=node.initialise key=node/web-1 action=add changes='a: 1 -> 2' why='a test wants it'"
DOWN = States(services=(ObjectState(key_of("service/default/web"), ServiceState.DOWN, "no target"),))
LOGGER = "hcloud-reconciler.pass"


@pytest.fixture(autouse=True)
def _at_info(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, LOGGER)


def lines_of(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [f"{record.levelname} {record.message}" for record in caplog.records]


@rows("outcome lines", {
    "applied": (Applied(), [f"INFO applied {OF_A_CHANGE}"]),
    "failed": (Failed("no such thing"), [f"WARNING failed {OF_A_CHANGE} error='no such thing'"]),
    "pending": (Pending("later"), []),
    "skipped": (Skipped("stopped"), []),
})  # fmt: skip
def test_a_change_that_ended(outcome: Outcome, lines: list[str], caplog: pytest.LogCaptureFixture) -> None:
    """What it makes of which fields, and why."""
    PassLogger(describe=lambda _: "a: 1 -> 2").done(a_change(), outcome)

    assert lines_of(caplog) == lines


def test_ids_of_a_change_are_told_with_it(caplog: pytest.LogCaptureFixture) -> None:
    """Each change has those of its own calls, although many are carried out at once, and how long it took."""
    ticks = iter(range(100))
    narrator = PassLogger(clock=lambda: float(next(ticks)))
    together = threading.Barrier(2)

    def carry_out(change: Change, _snapshot: Snapshot) -> None:
        number = int(change.key[-1])
        together.wait(10)
        note_action(number)
        note_action(number)
        note_action(number + 10)
        note_correlation(f"c{number}")
        note_correlation(None)
        together.wait(10)
        if number == 2:
            raise Invalid("refused")

    changes = [a_change(f"node/web-{n}", owner=f"node/web-{n}") for n in (1, 2)]
    actuators = narrator.attends({"node.initialise": carry_out})
    narrator.begin(changes)
    outcomes = apply(changes, a_snapshot(), actuators, stop=threading.Event(), done=narrator.done)
    narrator.end()

    told = sorted(record.message.split(" duration_s=") for record in caplog.records)
    assert [line[0] for line in told] == [
        "applied kind=node.initialise key=node/web-1 action=add why='a test wants it'",
        "failed kind=node.initialise key=node/web-2 action=add why='a test wants it'",
    ]
    assert [line[1].partition(" ")[2] for line in told] == [
        "hetzner_actions=1,11 correlation_ids=c1",
        "hetzner_actions=2,12 correlation_ids=c2 error=refused",
    ]
    assert isinstance(outcomes["node/web-2"], Failed)
    note_action(3)  # nobody collects: without effect


@rows("report requests lines", {
    "applied": (Report(lines=(Line(a_change(), Applied()),), requests=Requests(kubernetes=7, hetzner=3)), (7, 3),
        ["INFO pass result=no_changes add=1 modify=0 remove=0 held=0 waiting=0 refused=0 applied=1 failed=0{rest}"]),
    "an error": (Report(errors=("Hetzner API answers 401",)), (0, 0), ["ERROR error error='Hetzner API answers 401'",
        "WARNING pass result=error add=0 modify=0 remove=0 held=0 waiting=0 refused=0 applied=0 failed=0{rest}"]),
})  # fmt: skip
def test_a_pass(report: Report, requests: tuple[int, int], lines: list[str], caplog: pytest.LogCaptureFixture) -> None:
    """One line with result, counts, duration, requests and what called for it."""
    ticks = iter((10.0, 12.0))

    PassLogger().passed(Meter(lambda: next(ticks)).end(report, "node/web-1 is new"))

    sent = f"kubernetes_requests={requests[0]} hetzner_requests={requests[1]}"
    measured = f" duration_s=2.0 {sent} trigger='node/web-1 is new'"
    assert lines_of(caplog) == [line.format(rest=measured) for line in lines]


def a_hold(count: int = 2, **more: object) -> Hold:
    keys = tuple(f"node/web-{number}" for number in range(1, count + 1))
    hold = Hold("sha256:8da36531c0ce2138", GuardName.NODE_BLAST_RADIUS, str(count), "1", keys, "their servers are gone")
    return replace(hold, **more)  # type: ignore[arg-type]


HELD = (
    "held rule=node-blast-radius value=2 limit=1 keys='node/web-1, node/web-2' why='their servers are gone'"
    " approve='reconcile approve sha256:8da36531c0ce2138 --kubeconfig k'"
)
ANCHOR = Note(key_of("cluster"), NoteKind.ANCHOR, "the token is another project's")


@rows("report line", {
    "a hold, and how to approve it": (Report(holds=(a_hold(),), approve_flags="--kubeconfig k"), HELD),
    "the anchor, which holds nothing": (Report(notes=(ANCHOR,)),
        'violated rule=project-anchor why="the token is another project\'s"'),
    "a Service that is down": (Report(states=DOWN), "down key=service/default/web why='no target'"),
    "a list with a gap": (Report(snapshot=a_snapshot(servers_section=Section.missing("503"))),
        "incomplete section=servers why=503"),
})  # fmt: skip
def test_troubles_are_told_once(report: Report, line: str, caplog: pytest.LogCaptureFixture) -> None:
    """The log alone tells what stands in the way, also where nobody reads the report; again when it comes up anew."""
    narrator = PassLogger()

    unread, over = Report(), Report(snapshot=a_snapshot())
    for seen in (report, report, unread, over, over, report):
        narrator.look(seen)

    first, ended, again = lines_of(caplog)
    assert (first, again) == (f"WARNING {line}",) * 2
    word, _, rest = line.partition(" ")
    assert ended.startswith(f"INFO no longer {word} {rest.split(' ')[0]}")


def states(state: NodeState, *names: str, why: str = "the API answers 429") -> Report:
    found = (ObjectState(key_of(f"node/{name}"), state, why) for name in names)
    return Report(snapshot=a_snapshot(), states=States(nodes=tuple(found)))


def service(state: ServiceState, why: str = "no target") -> Report:
    return Report(
        snapshot=a_snapshot(), states=States(services=(ObjectState(key_of("service/default/web"), state, why),))
    )


def test_objects_with_one_cause_share_a_line(caplog: pytest.LogCaptureFixture) -> None:
    """300 Nodes are stuck by one refusal; some stop being so together, and others have another cause."""
    narrator, names = PassLogger(), [f"web-{number}" for number in range(10, 310)]

    narrator.look(states(NodeState.STUCK, *names))
    narrator.look(states(NodeState.STUCK, "web-10", why="the server is gone"))

    shown = "node/web-{}, node/web-{}, node/web-{}, node/web-{}, node/web-{}"
    assert lines_of(caplog) == [
        f"WARNING stuck objects=300 keys='{shown.format(*range(10, 15))} and 295 more' why='the API answers 429'",
        f"INFO no longer stuck objects=299 keys='{shown.format(*range(11, 16))} and 294 more'",
    ]


@rows("report is_again", {
    "a Service that is down": (service(ServiceState.DOWN), True),
    "one that a person has to correct": (service(ServiceState.BLOCKED), True),
    "a Node that is stuck": (states(NodeState.STUCK, "web-1"), True),
    "a hold": (Report(snapshot=a_snapshot(), holds=(a_hold(),)), True),
    "a token of another project": (Report(snapshot=a_snapshot(), notes=(ANCHOR,)), True),
    "a Service that serves by some targets": (service(ServiceState.DEGRADED), False),
    "a server that is off": (states(NodeState.OFF, "web-1"), False),
})  # fmt: skip
def test_the_need_for_a_person_is_logged_again(
    report: Report, is_again: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """Every five minutes, however many passes there are."""
    moment = [0.0]
    narrator = PassLogger(clock=lambda: moment[0])

    for moment[0] in (0.0, 10.0, 299.0, 301.0, 310.0, 602.0):
        narrator.look(report)

    first, *others = lines_of(caplog)
    assert others == [first] * (2 if is_again else 0)


@rows("then lines", {
    "it serves": (service(ServiceState.SERVING), ["INFO no longer down key=service/default/web"]),
    "it serves by some": (service(ServiceState.DEGRADED, "1 of 2"),
        ["WARNING degraded key=service/default/web why='1 of 2'"]),
    "that cannot be told": (service(ServiceState.UNKNOWN, "no result"),
        ["WARNING unknown key=service/default/web why='no result'"]),
    "a first result is awaited": (service(ServiceState.WAITING), []),
    "it is gone": (Report(snapshot=a_snapshot()), ["INFO no longer down key=service/default/web"]),
})  # fmt: skip
def test_the_end_of_an_outage_is_logged_once_it_is_seen(
    then: Report, lines: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    narrator = PassLogger()
    for report in (service(ServiceState.DOWN), then, then):
        narrator.look(report)

    assert lines_of(caplog)[1:] == lines


def test_replaced_addresses_are_logged_with_both(caplog: pytest.LogCaptureFixture) -> None:
    """In the pass that published them, and once; a DNS record of an operator points at the old one."""
    PassLogger().look(readdressed("203.0.113.1", "203.0.113.9", Report(snapshot=a_snapshot())))

    (line,) = lines_of(caplog)
    moved = "before=203.0.113.1 after=203.0.113.9 advice='update DNS records and firewalls'"
    assert line == f"WARNING replaced key=service/default/web {moved}"


def test_a_hold_that_ends_by_itself_is_logged_with_its_time(caplog: pytest.LogCaptureFixture) -> None:
    """In words, as everywhere: the line had the value's own notation."""
    hold = a_hold(end=HoldEnd("if both stay NotReady", 600.0))
    PassLogger().look(Report(snapshot=a_snapshot(), holds=(hold,)))

    ends = "at 2026-07-01 12:10 UTC, in 10 min, if both stay NotReady; its changes are then made"
    assert f"ends='{ends}'" in caplog.text


def test_waiting_is_told_as_it_begins_and_as_it_ends(caplog: pytest.LogCaptureFixture) -> None:
    """By the rule that it waits for, whatever time is left."""
    narrator = PassLogger()
    for seconds in (30, 20, None):
        waits = GuardDecision(Verdict.WAITING, GuardName.ABSENCE_PROOF, f"in {seconds} s")
        lines = () if seconds is None else (Line(a_change("node/web-1", "node.delete").ruled(waits)),)
        narrator.look(Report(snapshot=a_snapshot(), lines=lines))

    assert lines_of(caplog) == [
        "INFO waiting rule=absence-proof keys=node/web-1 why='in 30 s'",
        "INFO no longer waiting rule=absence-proof keys=node/web-1",
    ]


def test_a_hold_that_is_approved_or_large(caplog: pytest.LogCaptureFixture) -> None:
    """Of what is let through nothing is told, and of thousands of objects a few."""
    PassLogger().look(Report(holds=(a_hold(approved=True),)))
    assert "held rule" not in caplog.text

    PassLogger().look(Report(holds=(a_hold(7),)))
    assert "node/web-5 and 2 more'" in caplog.text


def test_a_load_balancer_is_told_of_with_its_action(
    simulate: Callable[..., Simulation], caplog: pytest.LogCaptureFixture
) -> None:
    """The id is the one under which the project's log of actions has it."""
    run, narrator = a_balanced_run(simulate), PassLogger()
    reader, clock = run.readers.hetzner, run.sim.clock
    actions = Actions(reader, PassingTime(clock), clock=clock.timestamp)
    writers = Writers(reader, run.writer, actions, run.readers.kubernetes)
    actuators = narrator.attends(actuators_with(run.sim.kubernetes_writer(), writers, None))
    uses = uses_of(run.readers.kubernetes, run.sim.kubernetes_writer())

    converge(run.plan_context, ApplyContext(actuators, uses, run.ears, narrator, run.stop))

    (created,) = (r.message for r in caplog.records if f"kind=lb.create key={BALANCER} " in r.message)
    ids = re.search(r" hetzner_actions=([\d,]+)", created)
    assert created.startswith("applied ")
    assert ids is not None
    asked = json.loads(reader.get("/actions?" + "&".join(f"id={found}" for found in ids[1].split(","))))
    assert "create_load_balancer" in [action["command"] for action in asked["actions"]]


def test_requests_are_those_of_the_pass(caplog: pytest.LogCaptureFixture) -> None:
    """A report has those of the whole run; one of a bug has none, and the next one's are not negative."""
    meter = Meter()
    sent = (Requests(5, 3), Requests(9, 6), Requests(), Requests(12, 6))
    measured = [meter.end(Report(requests=requests)) for requests in sent]

    counted = [(5, 3), (4, 3), (0, 0), (3, 0)]
    shown = [each.report.requests for each in measured]
    assert [(requests.kubernetes, requests.hetzner) for requests in shown] == counted
    PassLogger().passed(replace(measured[0], trigger=""))
    assert caplog.records[-1].message.endswith("trigger=interval")
