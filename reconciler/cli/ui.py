"""``reconcile ui``: the plan and what leads where, in a browser on this machine. Reads only."""

import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import closing

from actuators.http.errors import ApiError
from actuators.http.kubeconfig import ConnectionProblem
from actuators.http.shown import is_loopback
from reconciler.cli.own_settings import settled
from reconciler.cli.run import guarded
from reconciler.cli.stopping import READING_GRACE_S, stop_within
from reconciler.cli.streams import begin, fail, say
from reconciler.config.config import Config, ConfigurationError, load_config
from reconciler.config.options import Command
from reconciler.page.live import HEADERS, LIMITS, LivePage
from reconciler.passes.context import PlanContext
from reconciler.passes.one_pass import plan_once
from reconciler.report.terminal import TerminalProgress
from reconciler.runtime import build_runtime
from reconciler.telemetry.pass_logger import Meter
from reconciler.telemetry.serving import serve_page


def ui(_words: Sequence[str], flags: Mapping[str, str], environ: Mapping[str, str]) -> int:
    """Serve the page until a signal comes; the exit code. Raises KeyboardInterrupt, and BrokenPipeError without a
    reader where it is."""
    try:
        config = load_config(Command.UI, flags, environ)
    except ConfigurationError as error:
        return fail(*error.lines, code=error.code)
    begin(config)
    with stop_within(READING_GRACE_S) as stop:
        try:
            config = settled(config, stop)
            plan_context = build_runtime(config, stop, TerminalProgress(config.color)).plan_context
            page = LivePage(config.ui_hosts)
            with closing(serve_page(page.answer, config.ui_address or ("", 0), HEADERS, LIMITS)) as server:
                _tell(config, server.ports()[0])
                _plan_on_and_on(plan_context, config, page, stop)
        except (ConnectionProblem, ApiError) as error:
            return fail(str(error), code=1)
        except ConfigurationError as error:
            return fail(*error.lines, code=1)
    return 0


def _plan_on_and_on(plan_context: PlanContext, config: Config, page: LivePage, stop: threading.Event) -> None:
    """Plan again after each interval; a file once, as it stays what it is."""
    meter = Meter()
    while not stop.is_set():
        page.began()
        meter.begin()
        report = meter.end(guarded(lambda: plan_once(plan_context))).report
        page.ended(report)
        limit, reads = report.requests.limit or None, report.requests.hetzner
        stop.wait(None if config.captured is not None else config.interval_for(limit, reads))


def _tell(config: Config, port: int) -> None:
    """Where the page is, on stdout; and who else may look."""
    host = (config.ui_address or ("", 0))[0]
    shown = f"[{host}]" if ":" in host else host or "localhost"
    url = f"http://{shown}:{port}/"
    sys.stdout.write(f"{url}\n")
    sys.stdout.flush()
    if not is_loopback(url) or not host:
        say("warning: the page has no login, and is open to all that reach this address; 127.0.0.1 keeps it private")
    say("the page is there until Ctrl-C")
