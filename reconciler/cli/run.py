"""``reconcile`` itself: dry run, once, or for ever."""

import gc
import logging
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from actuators.clients.kubeconfig import ConnectionProblem
from reconciler.cli.stopping import stop_on_signals
from reconciler.cli.streams import fail, publish, say
from reconciler.config import Config, ConfigurationError, Mode, load_config
from reconciler.cycle import converge, plan_once
from reconciler.flags import BAD_USAGE, Command, Output
from reconciler.loop import Pace, run_loop
from reconciler.report.terminal import TerminalProgress, Writer, is_terminal
from reconciler.result import Report, Result, exit_code, needing_a_person
from reconciler.telemetry import logs
from reconciler.telemetry.logs import pairs
from reconciler.wake import Wake
from reconciler.wiring import Wired, wire

_log = logging.getLogger("hcloud-reconciler.run")

ONCE_DEADLINE_S = 300.0
"""After this a ``--once`` run stops between changes; what is left is said to be."""
_EVENTS_GRACE_S = 5.0
"""How long the end of a run waits for events that are under way."""
_DEFAULT_RATE_LIMIT = 3600
_SHOWN = 5
"""Objects that a warning names."""


def run(flags: Mapping[str, str], environ: Mapping[str, str]) -> int:
    """The exit code of one run."""
    try:
        config = load_config(Command.RUN, flags, environ)
    except ConfigurationError as error:
        return _reject(error, flags, environ)
    # A run that ends says it all in its report; a person who watches, and a loop, hear of retries as well.
    logs.set_up(debug=config.debug, quiet=config.mode is not Mode.LOOP and not is_terminal(sys.stderr))
    for warning in config.warnings:
        say(f"warning: {warning}")
    writer = Writer(config.output)
    with stop_on_signals() as stop:
        try:
            wired = wire(config, stop, TerminalProgress())
        except ConnectionProblem as error:
            return _finish(Report(errors=(str(error),)), config, writer)
        gc.freeze()  # what imports left behind lives as long as the process: no collection has to look at it again
        try:
            return _run(wired, config, writer, stop)
        finally:
            if wired.events is not None:
                wired.events.close(_EVENTS_GRACE_S)


def _run(wired: Wired, config: Config, writer: Writer, stop: threading.Event) -> int:
    looking, acting = wired.looking, wired.acting
    if acting is None:
        return _finish(_guarded(lambda: plan_once(looking)), config, writer)
    if config.mode is Mode.ONCE:
        deadline = threading.Timer(ONCE_DEADLINE_S, stop.set)
        deadline.daemon = True
        deadline.start()
        try:
            return _finish(_guarded(lambda: converge(looking, acting)), config, writer)
        finally:
            deadline.cancel()

    def publish_pass(report: Report) -> None:
        publish(writer, report, stream_of_passes=True)

    wake = Wake()
    attentive = replace(acting, is_called=wake.is_called)
    _log.info("started: no Lease is taken in this version, run one copy %s", pairs(policy=config.settings.policy))
    run_loop(
        lambda: _guarded(lambda: converge(looking, attentive)),
        pace=_pace(config),
        stop=stop,
        publish=publish_pass,
        wake=wake,
    )
    return 0


def _guarded(run_pass: Callable[[], Report]) -> Report:
    """The pass's report; one that says so when the pass ended in a bug of ours, which must not end a loop."""
    try:
        return run_pass()
    except Exception as error:  # noqa: BLE001 - the last resort before the process dies
        return Report(errors=(internal_error(error),))


def internal_error(error: Exception) -> str:
    """What a person is told of a bug of ours; the details are logged for debugging."""
    _log.debug("internal error", exc_info=True)
    where = "set HCLOUD_DEBUG=true for details, and please report it"
    return f"internal error, {type(error).__name__}: {error}; {where}"


def _pace(config: Config) -> Callable[[Report], Pace]:
    """The pause that fits what a pass costs to read: what the last one sent that had nothing to do."""
    sent = reads = 0

    def pace(report: Report) -> Pace:
        nonlocal sent, reads
        before, sent = sent, report.cost.hetzner
        if all(line.outcome is None for line in report.lines):
            reads = sent - before
        return Pace(config.interval_for(report.cost.limit or _DEFAULT_RATE_LIMIT, reads))

    return pace


def _finish(report: Report, config: Config, writer: Writer) -> int:
    """Write the report, repeat on stderr what must not be overlooked, and return the exit code."""
    written = publish(writer, report)
    for error in report.errors:
        say(f"error: {error}")
    if report.result in (Result.INCOMPLETE, Result.REFUSED, Result.PARTIAL):
        say(f"warning: result is {report.result}; the report says what and why")
    if keys := needing_a_person(report):
        say(f"warning: {_in_need(keys)}")
    return exit_code(report, detailed=config.detailed_exitcode) if written else 1


def _in_need(keys: Sequence[str]) -> str:
    """``1 Node and 2 Services need a person, see the notes: node/a, service/ns/b, service/ns/c``."""
    sorts = {sort: sum(key.startswith(f"{sort.lower()}/") for key in keys) for sort in ("Node", "Service")}
    counted = " and ".join(f"{count} {sort}{'s' * (count > 1)}" for sort, count in sorts.items() if count)
    more = f" and {len(keys) - _SHOWN} more" if len(keys) > _SHOWN else ""
    verb = "needs" if len(keys) == 1 else "need"
    return f"{counted} {verb} a person, see the notes: {', '.join(keys[:_SHOWN])}{more}"


def _reject(error: ConfigurationError, flags: Mapping[str, str], environ: Mapping[str, str]) -> int:
    """All configuration errors on stderr; a machine that asked for JSON gets its document all the same."""
    code = fail(*error.lines, code=BAD_USAGE if error.usage else 1)
    if flags.get("--output", environ.get("RECONCILER_OUTPUT")) == Output.JSON:
        publish(Writer(Output.JSON), Report(errors=error.lines))
    return code
