"""``reconcile explain node NAME``: every decision about one Node, and what stands behind it. It only looks."""

import sys
from collections.abc import Mapping

from actuators.clients.kubeconfig import ConnectionProblem
from reconciler.cli.run import internal_error
from reconciler.cli.stopping import stop_on_signals
from reconciler.cli.streams import fail, publish, say
from reconciler.config import Config, ConfigurationError, load_config
from reconciler.cycle import explain_once
from reconciler.flags import BAD_USAGE, Command, Output
from reconciler.report.terminal import TerminalProgress, Writer, is_terminal
from reconciler.result import Explained, Report
from reconciler.telemetry import logs
from reconciler.wiring import wire


def explain(name: str, flags: Mapping[str, str], environ: Mapping[str, str]) -> int:
    """Write what there is to say of the Node ``name``, which may be written as in a plan; the exit code."""
    name = name.removeprefix("node/").encode(errors="backslashreplace").decode()  # what is no text is no JSON either
    try:
        config = load_config(Command.EXPLAIN, flags, environ)
    except ConfigurationError as error:
        if flags.get("--output", environ.get("RECONCILER_OUTPUT")) == Output.JSON:
            publish(Writer(Output.JSON), _nothing(name, *error.lines))
        return fail(*error.lines, code=BAD_USAGE if error.usage else 1)
    logs.set_up(debug=config.debug, quiet=not is_terminal(sys.stderr))
    for warning in config.warnings:
        say(f"warning: {warning}")
    explained = _explained(name, config)
    written = publish(Writer(config.output), explained)
    errors = explained.report.errors
    return fail(*errors, code=0 if written and not errors else 1)


def _explained(name: str, config: Config) -> Explained:
    """The explanation, or the errors that keep it from being one."""
    with stop_on_signals() as stop:
        try:
            return explain_once(wire(config, stop, TerminalProgress()).looking, name)
        except ConnectionProblem as error:
            return _nothing(name, str(error))
        except Exception as error:  # noqa: BLE001 - a bug of ours is told in one line, as everywhere
            return _nothing(name, internal_error(error))


def _nothing(name: str, *errors: str) -> Explained:
    return Explained(f"node/{name}", Report(errors=errors))
