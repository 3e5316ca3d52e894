"""``reconcile`` itself: plan, apply, or run for ever."""

import gc
import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

from actuators.calls import have_room, within_budget
from actuators.http.call_budget import SharedAllowance
from actuators.http.errors import ApiError
from actuators.http.kubeconfig import ConnectionProblem
from actuators.http.kubernetes import KubernetesReader
from actuators.outcome import Applied, Failed, Pending
from desired.model.key import Key, ObjectKind
from desired.plan.change import Verdict
from desired.plan.grants import Here
from desired.syntax.bounds import counted, listed, shown_text
from reconciler.cli import INTERRUPTED
from reconciler.cli.artifacts import unwritable, write_artifacts
from reconciler.cli.files import check_file, read_file, write_file
from reconciler.cli.own_settings import published_in, settled
from reconciler.cli.stopping import READING_GRACE_S, Stop, ended_at_the_latest, stop_on_signals
from reconciler.cli.streams import Writer, fail, for_stderr, internal_error, is_agreed, is_attended, publish, say
from reconciler.config.config import Config, ConfigurationError, Mode, load_config
from reconciler.config.options import Command, LogFormat, Output, asked
from reconciler.leader_election.leadership import LeadershipStatus
from reconciler.observe.kubernetes import observe_identity
from reconciler.observe.world import Readers
from reconciler.passes.agreement import Agreement
from reconciler.passes.context import PlanContext
from reconciler.passes.loop import Wake
from reconciler.passes.one_pass import converge, plan_once
from reconciler.passes.saved_plan import MOST_BYTES, SavedPlanProblem, is_saved_plan, read_plan, save_plan
from reconciler.report.terminal import TerminalProgress, is_terminal
from reconciler.result import UPDATE_DNS, Report, Result, exit_code, needing_a_person
from reconciler.runtime import Connections, Runtime, build_runtime, open_cluster
from reconciler.telemetry import logs
from reconciler.telemetry.logs import harmless, pairs

_log = logging.getLogger("hcloud-reconciler.run")

ONCE_DEADLINE_S = 300.0
"""After this a ``--once`` run stops between changes; what is left is said to be."""
EVENTS_GRACE_S = 2.0
"""How long the end of a run that was told to stop waits for events that are under way."""
_LAST_EVENTS_S = 5.0
"""And that of one that came to its end by itself."""
_SHOWN = 5
"""Objects that a warning names."""


def run(
    flags: Mapping[str, str],
    environ: Mapping[str, str],
    stop: Stop | None = None,
    command: Command = Command.BARE,
    file: str | None = None,
) -> int:
    """The exit code of one run, which is part of what ``stop`` ends, or ends by itself on signals. ``file`` has the
    saved plan that it is to apply; None: there is none.

    Raises KeyboardInterrupt if Ctrl-C ended it. Of a loop only the log says so.
    """
    try:
        config = load_config(command, flags, environ, file)
    except ConfigurationError as error:
        return _reject(error, command, flags, environ)
    if config.asks and (why := _why_not_asked(config)):
        unasked = ConfigurationError((f"{why}; pass --yes",), usage=True)
        return _reject(unasked, command, flags, environ)
    is_loop = config.mode is Mode.LOOP
    # A run that ends says it all in its report; a person who watches it hears of retries as well.
    quiet = not is_loop and not is_terminal(sys.stderr)
    logs.set_up(debug=config.debug, quiet=quiet, brief=is_loop, log_format=config.log_format, wrapped=for_stderr)
    logs.hide(config.token, *config.passwords)
    for warning in config.warnings if is_loop else ():
        _log.warning("configuration %s", pairs(warning=warning))
    if stop is not None:
        return _run(config, stop)
    try:
        with stop_on_signals() as signalled:
            return _run(config, signalled)
    except KeyboardInterrupt:
        if not is_loop:
            raise
        _log.info("interrupted")
        return INTERRUPTED


def _run(config: Config, stop: Stop) -> int:
    is_loop = config.mode is Mode.LOOP
    writer = Writer(config.output, color=config.color)
    code = 0 if is_loop else 1
    if unusable := dict(unwritable(config)):
        rest = tuple(artifact for artifact in config.also if artifact not in unusable)
        return _end(Report(errors=tuple(unusable.values())), replace(config, also=rest), writer, stop)
    try:
        if config.save_to is not None:
            _check_place(config.save_to)
        with ended_at_the_latest(stop, grace_s=READING_GRACE_S, code=code):
            config, agreement = _agreed(config if is_loop else settled(config, stop), stop)
    except (SavedPlanProblem, ConfigurationError, ConnectionProblem, ApiError) as error:
        return _end(Report(errors=tuple(str(error).split("\n"))), config, writer, stop)
    try:
        with ended_at_the_latest(stop, grace_s=READING_GRACE_S, code=code):  # a credential plugin may hang
            runtime = build_runtime(config, stop, TerminalProgress(config.color))
    except ConnectionProblem as error:
        if is_loop and config.log_format is LogFormat.JSON:
            return _cannot_start((str(error),), config.log_format)
        return _end(Report(errors=(str(error),)), config, writer, stop)
    gc.freeze()  # what imports left behind lives as long as the process: no collection has to look at it again
    connections, plan_context = runtime.connections, replace(runtime.plan_context, agreement=agreement)
    if connections is None:
        with ended_at_the_latest(stop, grace_s=READING_GRACE_S, code=code):
            report = guarded(lambda: plan_once(plan_context))
            return _end(_saved(report, config, stop), config, writer, stop)
    with _held(connections, stop, code):
        if is_loop:
            return _loop(runtime, connections, config, writer, stop)
        if config.asks:
            return _asked(plan_context, connections, config, writer, stop)
        return _end(_once(plan_context, connections, stop), config, writer, stop)


def _check_place(file: str) -> None:
    """Raises SavedPlanProblem where no plan can be saved, before anything is read: a plan takes the place of another
    one, and of nothing else."""
    try:
        check_file(file)
        content = read_file(file, MOST_BYTES) if os.path.lexists(file) else b""
    except OSError as error:
        raise SavedPlanProblem(f"--save {shown_text(file)} cannot be written: {error.strerror or error}") from error
    if content and not is_saved_plan(content):
        raise SavedPlanProblem(f"--save {shown_text(file)} has something else than a plan: give another name")


def _saved(report: Report, config: Config, stop: Stop) -> Report:
    """The report of a plan that is saved, if that was asked for; it says so where that could not be done."""
    if config.save_to is None or stop.is_set():
        return report
    try:
        write_file(save_plan(report, config.settings), config.save_to)
    except SavedPlanProblem as error:
        why = str(error)
    except OSError as error:
        why = error.strerror or str(error)
    else:
        return report
    why = f"nothing is saved in {shown_text(config.save_to)}: {why}"
    return replace(report, errors=(*report.errors, why), misconfigured=(*report.misconfigured, why))


def _agreed(config: Config, stop: Stop) -> tuple[Config, Agreement]:
    """The configuration of a run that applies a saved plan, with its settings if a controller publishes the same; and
    what it permits; both as they are without one. Raises SavedPlanProblem, ConfigurationError, ConnectionProblem and an
    ApiError."""
    file = config.saved_plan
    if file is None:
        return config, Agreement()
    try:
        content = read_file(file, MOST_BYTES)
    except OSError as error:
        why = f"saved plan {shown_text(file)} cannot be read: {error.strerror or error}"
        raise SavedPlanProblem(f"{why}; give a file that 'reconcile plan --save FILE' has written") from error
    saved = read_plan(content, file, is_exact=config.is_exact)
    if not saved.fits(config.settings):
        reader = KubernetesReader(open_cluster(config, stop, read_only=True))
        if published := published_in(reader, config.lease_namespace, saved.agreement.grant.cluster):
            saved.check_published(published)
            config = config.beside(saved.settings)
            logs.hide(config.token, *config.passwords)
    saved.check(config.settings)
    return config, saved.agreement


def _asked(plan_context: PlanContext, connections: Connections, config: Config, writer: Writer, stop: Stop) -> int:
    """The exit code of a run whose plan a person sees before anything is done, the Lease included."""
    report = guarded(lambda: plan_once(plan_context))
    if not publish(writer, report) or stop.is_set():
        return INTERRUPTED if stop.is_interrupted else 1
    changes = tuple(line.change for line in report.lines)
    allowed = sum(change.decision.verdict is Verdict.ALLOWED for change in changes)
    if not allowed or report.obstacles:
        return _end(report, config, None, stop)
    if not is_agreed(f"Apply {counted(allowed, 'change')}?", stop):
        _write_artifacts(report, config)
        return INTERRUPTED if stop.is_interrupted else fail("nothing was applied", code=1)
    agreed = replace(plan_context, agreement=Agreement.to(changes))
    return _end(_once(agreed, connections, stop), config, writer, stop)


def _why_not_asked(config: Config) -> str:
    """The reason why there is no prompt; "" where there is one."""
    if config.output not in (Output.AUTO, Output.TEXT):
        return f"--output {config.output} leaves no room for a prompt"
    return "" if is_attended() else "no terminal to prompt on"


@contextmanager
def _held(connections: Connections, stop: Stop, code: int) -> Iterator[None]:
    """Hold what a run that writes needs, and give it back at its end, which comes soon after a stop, whatever hangs.
    The Lease is left to run out when a request of ours is still open."""
    with ended_at_the_latest(stop, lambda: connections.leader.close(release=False), code=code):
        try:
            yield
        finally:
            is_quiet = connections.events.close(EVENTS_GRACE_S if stop.is_set() else _LAST_EVENTS_S)
            connections.leader.close(release=is_quiet)


def _once(plan_context: PlanContext, connections: Connections, stop: Stop) -> Report:
    """One pass, as soon as this process leads."""
    deadline = threading.Timer(ONCE_DEADLINE_S, stop.set)
    deadline.daemon = True
    deadline.start()
    try:
        if refused := _why_void(plan_context.agreement, plan_context.readers):  # before the Lease is taken
            return Report(errors=(refused,))
        outcome = connections.leader.wait_until_leader(stop)
        match outcome.standing:
            case LeadershipStatus.LEADING:
                allowance = SharedAllowance(lambda: _allowance(connections))
                actuators = within_budget(connections.apply_context.actuators, allowance.begin_change)
                has_room = partial(have_room, allowance.has_room)
                apply_context = replace(connections.apply_context, actuators=actuators, have_room=has_room)
                began = time.monotonic()
                report = guarded(lambda: converge(plan_context, apply_context))
                if not stop.is_set() and not plan_context.only:  # a part of what is held would look like all of it
                    with harmless("status"):
                        plan_context.records.status.keep(report, time.monotonic() - began)
                return report
            case LeadershipStatus.NOT_LEADER:
                return Report(not_leader=f"{outcome.why}, which makes the same changes")
            case _:
                return Report(errors=(outcome.why,))
    except ApiError as error:
        return Report(errors=(str(error),))
    finally:
        deadline.cancel()


def _why_void(agreement: Agreement, readers: Readers) -> str | None:
    """The reason why this cluster is not the one, or this not the time, for which a plan was saved, by one request;
    None when it seems to be, or none is applied. A pass looks again. Raises an ApiError."""
    if agreement.grant.cluster is None:
        return None
    uid, now = observe_identity(readers.kubernetes)
    return agreement.why_void(Here(now, uid))


def _allowance(connections: Connections) -> tuple[int, int] | None:
    known = connections.cloud.rate_limit
    return None if known is None else (known.limit, known.remaining)


def _loop(runtime: Runtime, connections: Connections, config: Config, writer: Writer, stop: Stop) -> int:
    from reconciler.controller import run_controller  # noqa: PLC0415 - a run that ends by itself need not pay for it

    def publish_pass(report: Report) -> None:
        if config.output is not Output.AUTO:  # the log has each change, and is not to be mixed with reports
            publish(writer, report, stream_of_passes=True)

    wake = Wake(stop)
    stop.wakes(wake.interrupt)
    try:
        run_controller(runtime, connections, config, stop, wake=wake, of_bug=internal_error, publish=publish_pass)
    except ConfigurationError as error:
        return _cannot_start(error.lines, config.log_format)
    return 0


def _cannot_start(lines: Sequence[str], log_format: str, code: int = 1) -> int:
    """The exit code of a controller that ends before its first pass, for these reasons. A log in JSON has nothing but
    JSON."""
    if log_format != LogFormat.JSON:
        return fail(*lines, code=code)
    for line in lines:
        _log.error("error %s", pairs(error=line))
    return code


def guarded(run_pass: Callable[[], Report]) -> Report:
    """The pass's report; one that says so when the pass ended in a bug of ours, which must end neither a loop nor a
    page."""
    try:
        return run_pass()
    except Exception as error:  # noqa: BLE001 - the last resort before the process dies
        return Report(errors=(internal_error(error),))


def _end(report: Report, config: Config, writer: Writer | None, stop: Stop) -> int:
    """``_finish``, but for a run that Ctrl-C ended: what it has done is reported, what it has not is no news."""
    if not stop.is_interrupted:
        return _finish(report, config, writer)
    if writer is None:
        return INTERRUPTED
    if report.outcomes(Applied) or report.outcomes(Failed) or report.outcomes(Pending):
        publish(writer, report)
        _write_artifacts(report, config)
    return INTERRUPTED


def _finish(report: Report, config: Config, writer: Writer | None) -> int:
    """Write the report, unless that was done, repeat on stderr what must not be overlooked; return the exit code."""
    written = writer is None or publish(writer, report)
    written = _write_artifacts(report, config) and written
    for error in (*report.errors, *filter(None, [report.not_leader])):
        say(f"error: {error}")
    if report.result in (Result.INCOMPLETE, Result.BLOCKED, Result.PARTIAL):
        say(f"warning: result is {report.result}; the report says what and why")
    for moved in report.replacements():
        was, now = ", ".join(moved.before), ", ".join(moved.after)
        say(f"warning: {moved.service} has the addresses {now} now, and had {was}: {UPDATE_DNS}")
    if keys := needing_a_person(report):
        say(f"warning: {_in_need(keys)}")
    acts = config.mode is Mode.ONCE
    return exit_code(report, detailed=config.detailed_exitcode, acts=acts) if written else 1


def _write_artifacts(report: Report, config: Config) -> bool:
    """Write what was asked for beside the report; whether all of it could be written."""
    problems = tuple(write_artifacts(report, config))
    fail(*problems, code=1)
    return not problems


def _in_need(keys: Sequence[Key]) -> str:
    """``1 Node and 2 Services need a person, see the report: node/a, service/ns/b, service/ns/c``."""
    kinds = {"Node": ObjectKind.NODE, "Service": ObjectKind.SERVICE}
    counts = {word: sum(key.kind is kind for key in keys) for word, kind in kinds.items()}
    objects = " and ".join(counted(count, word) for word, count in counts.items() if count)
    verb = "needs" if len(keys) == 1 else "need"
    return f"{objects} {verb} a person, see the report: {listed(keys, _SHOWN)}"


def _reject(error: ConfigurationError, command: Command, flags: Mapping[str, str], environ: Mapping[str, str]) -> int:
    """All configuration errors on stderr; a machine that asked for a document gets it all the same."""
    log_format = asked(command, "--log-format", flags, environ) if command is Command.RUN else LogFormat.TEXT
    if log_format == LogFormat.JSON:
        logs.set_up(debug=False, log_format=LogFormat.JSON)
    code = _cannot_start(error.lines, log_format, error.code)
    output = Output(asked(command, "--output", flags, environ))
    if output.is_document:
        publish(Writer(output), Report(errors=error.lines))
    return code
