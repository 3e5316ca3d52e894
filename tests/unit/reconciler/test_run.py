"""The command around a pass: a bug in one becomes a line, and what is logged beside the report."""

import io
import json
import logging
import socket
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path

import pytest

from actuators.outcome import STOPPED, Applied, Failed, Outcome, Skipped
from desired.plan.notes import Note, NoteKind
from hcloud_sandbox.clock import SimulatedClock
from kubernetes_double import KubernetesSimulator
from reconciler.cli.run import _end, _finish, guarded
from reconciler.cli.stopping import Stop
from reconciler.cli.streams import Writer
from reconciler.config.config import load_config
from reconciler.config.options import Command
from reconciler.passes.pacing import Pacing
from reconciler.result import Line, Report, Requests, Result
from reconciler.telemetry import logs
from tests.builders import a_change
from tests.support.keys import key_of
from tests.support.looping import loop
from tests.support.rows import rows
from tests.support.said import CommandLine
from tests.support.simulators import ImpatientStop

BUG = "internal error, KeyError: 'web-1'; set HCLOUD_DEBUG=true for details, and please report it"


def stumble() -> Report:
    return {"web-2": Report()}["web-1"]


def test_a_bug_in_a_pass_is_one_error() -> None:
    report = guarded(stumble)

    assert (report.result, report.errors) == (Result.ERROR, (BUG,))


def test_a_pass_without_a_bug_is_as_it_is() -> None:
    report = Report(errors=("no API",))

    assert guarded(lambda: report) is report


@pytest.mark.parametrize("ending", [KeyboardInterrupt, SystemExit])
def test_what_ends_the_process_is_not_caught(ending: type[BaseException]) -> None:

    def leave() -> Report:
        raise ending

    with pytest.raises(ending):
        guarded(leave)


_BLOCKED = "reconcile: warning: result is blocked; the report says what and why\n"


@rows(
    "keys said",
    {
        "a Service": (["service/default/web"], "1 Service needs a person, see the report: service/default/web"),
        "Nodes": (["node/a", "node/b"], "2 Nodes need a person, see the report: node/a, node/b"),
        "both": (["node/a", "service/x/b"], "1 Node and 1 Service need a person, see the report: node/a, service/x/b"),
        "many": (
            [f"node/{number}" for number in range(7)],
            "7 Nodes need a person, see the report: node/0, node/1, node/2, node/3, node/4 and 2 more",
        ),
    },
)
def test_who_needs_a_person(keys: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    config = load_config(Command.BARE, {"--dry-run": "true"}, {"HCLOUD_TOKEN": "x" * 64})
    report = Report(notes=tuple(Note(key_of(key), NoteKind.MALFORMED, "why") for key in (*keys, "plan")))

    code = _finish(report, config, Writer(config.output, io.StringIO()))

    assert (code, capsys.readouterr().err) == (0, f"{_BLOCKED}reconcile: warning: {said}\n")


def test_a_single_run_beside_a_leader_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    config = load_config(Command.BARE, {"--once": "true"}, {"HCLOUD_TOKEN": "x" * 64})

    code = _finish(Report(not_leader="one-1 leads"), config, Writer(config.output, io.StringIO()))

    assert (code, capsys.readouterr().err) == (1, "reconcile: error: one-1 leads\n")


@pytest.fixture
def taken() -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as other:
        yield f"127.0.0.1:{other.getsockname()[1]}"


def kubeconfig(folder: Path) -> str:
    found = KubernetesSimulator(SimulatedClock()).kubeconfig("https://127.0.0.1:9")
    (folder / "kubeconfig").write_text(json.dumps(found))
    return str(folder / "kubeconfig")


@pytest.mark.parametrize("is_reachable", [True, False], ids=["port taken", "no kubeconfig"])
def test_a_controller_that_cannot_start_says_so_in_json_too(
    is_reachable: bool, taken: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Collectors of its log read nothing else."""
    cluster = kubeconfig(tmp_path) if is_reachable else "/nowhere"
    variables = {"HCLOUD_TOKEN": "x" * 64, "KUBECONFIG": cluster, "RECONCILER_HEALTH_ADDRESS": taken}

    said = CommandLine(monkeypatch, capsys, variables)("run", "--log-format", "json")

    why = f"--health-address: cannot listen on {taken}" if is_reachable else "kubeconfig /nowhere cannot be used"
    assert (said.code, said.stdout) == (1, "")
    errors = [line["error"] for line in map(json.loads, said.stderr.splitlines()) if line["level"] == "error"]
    assert [why in error for error in errors] == [True]


def test_a_controller_with_wrong_settings_says_so_in_json_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    said = CommandLine(monkeypatch, capsys, {"HCLOUD_TOKEN": "x" * 64})("run", "--log-format", "json", HCLOUD_DEBUG="x")

    (line,) = map(json.loads, said.stderr.splitlines())
    assert (said.code, line["level"], line["error"][:19]) == (1, "error", "HCLOUD_DEBUG is 'x'")


def test_the_details_of_a_bug_are_for_debugging(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "hcloud-reconciler")
    guarded(stumble)
    assert caplog.records == []

    caplog.set_level(logging.DEBUG, "hcloud-reconciler")
    guarded(stumble)
    (record,) = caplog.records
    assert record.exc_info is not None


@pytest.mark.parametrize(
    ("outcomes", "is_told"),
    [
        pytest.param([Applied(), Skipped(STOPPED)], True, id="something was applied"),
        pytest.param([Failed("no")], True, id="something was tried"),
        pytest.param([Skipped(STOPPED)], False, id="nothing was begun"),
        pytest.param([None], False, id="a plan"),
    ],
)
def test_ctrl_c(outcomes: Sequence[Outcome | None], is_told: bool, capsys: pytest.CaptureFixture[str]) -> None:
    """What a run has done is reported although it was interrupted, and no error says what it has not."""
    config = load_config(Command.BARE, {"--once": "true"}, {"HCLOUD_TOKEN": "x" * 64})
    lines = tuple(Line(a_change(f"node/web-{number}"), outcome) for number, outcome in enumerate(outcomes))
    stop = Stop()
    stop.is_interrupted = True

    code = _end(Report(lines=lines, errors=("stopped",)), config, Writer(config.output), stop)

    said = capsys.readouterr()
    assert (code, said.err, "node/web-0" in said.out) == (130, "", is_told)


def test_a_bug_ends_no_loop() -> None:
    passes = count(1)
    stop = ImpatientStop()
    published: list[Report] = []

    def run_pass() -> Report:
        if next(passes) == 3:
            stop.set()
            return Report()
        return stumble()

    loop(lambda _why: guarded(run_pass), stop, publish=lambda ended: published.append(ended.report))

    assert {report.errors for report in published} >= {(BUG,)}
    assert next(passes) == 4


@pytest.mark.parametrize(
    ("debug", "quiet", "logged"),
    [
        pytest.param(False, False, ["INFO", "WARNING", "ERROR"], id="as usual"),
        pytest.param(False, True, ["WARNING", "ERROR"], id="quiet"),
        pytest.param(True, False, ["DEBUG", "INFO", "WARNING", "ERROR"], id="debug"),
        pytest.param(True, True, ["DEBUG", "INFO", "WARNING", "ERROR"], id="debug beats quiet"),
    ],
)
def test_what_is_logged(debug: bool, quiet: bool, logged: list[str]) -> None:
    stream = io.StringIO()
    logs.set_up(debug=debug, quiet=quiet, stream=stream)

    for level in (logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR):
        logging.getLogger("hcloud-reconciler.anything").log(level, "a message")

    assert [line.split()[1] for line in stream.getvalue().splitlines()] == logged


@pytest.mark.parametrize(
    ("debug", "brief", "logged"),
    [
        pytest.param(False, False, ["INFO", "WARNING"], id="who watches a run hears of retries"),
        pytest.param(False, True, ["WARNING"], id="a loop does not, for days"),
        pytest.param(True, True, ["DEBUG", "INFO", "WARNING"], id="debug beats brief"),
    ],
)
@pytest.mark.parametrize("name", ["retry", "clients"])
def test_single_requests(debug: bool, brief: bool, logged: list[str], name: str) -> None:
    """While an API is gone each pass tries dozens of requests: the pass says it, once."""
    stream = io.StringIO()
    logs.set_up(debug=debug, brief=brief, stream=stream)

    for level in (logging.DEBUG, logging.INFO, logging.WARNING):
        logging.getLogger(f"hcloud-reconciler.{name}").log(level, "a message")

    assert [line.split()[1] for line in stream.getvalue().splitlines()] == logged


@pytest.mark.parametrize("quiet", [False, True])
def test_libraries_are_only_heard_when_they_warn(quiet: bool) -> None:
    stream = io.StringIO()
    logs.set_up(debug=True, quiet=quiet, stream=stream)

    logging.getLogger("urllib3").info("chatter")
    logging.getLogger("urllib3").warning("trouble")

    assert [line.split()[1:] for line in stream.getvalue().splitlines()] == [["WARNING", "trouble"]]


def test_writes_and_waiting_do_not_slow_the_loop_down() -> None:
    """The pause follows from what a pass costs to read: one that wrote hundreds of times is followed by the next one as
    soon as any."""
    config = load_config(Command.BARE, {}, {"HCLOUD_TOKEN": "x" * 64})
    pace = Pacing(config).after
    written = Line(a_change("node/web-1"), Applied())
    idle = pace(Report(requests=Requests(hetzner=3, limit=3600))).interval_s
    assert pace(Report(lines=(written,), requests=Requests(hetzner=900, limit=3600))).interval_s == idle
    assert pace(Report(requests=Requests(hetzner=100, limit=3600))).interval_s == pytest.approx(400.0)


@rows("words documents", {"without --output": ((), 0), "with it": (("-o", "json"), 1)})
def test_reports_of_a_controller_are_for_who_asks(
    words: tuple[str, ...],
    documents: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """At a terminal as well: text would stand among lines of the log."""
    monkeypatch.setattr("reconciler.cli.run.is_terminal", lambda _stream: True)
    monkeypatch.setattr(
        "reconciler.controller.run_controller", lambda *_, publish, **__: publish(Report(errors=("no API",)))
    )
    variables = {"HCLOUD_TOKEN": "x" * 64, "KUBECONFIG": kubeconfig(tmp_path), "RECONCILER_LEADER_ELECT": "false"}

    said = CommandLine(monkeypatch, capsys, variables)("run", *words)

    assert (said.code, len(said.stdout.splitlines())) == (0, documents)
