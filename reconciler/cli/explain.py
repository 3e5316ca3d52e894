"""``reconcile explain node NAME`` and ``service NAMESPACE/NAME``: every decision about one object, and its reason.
Reads only."""

from collections.abc import Mapping

from actuators.http.kubeconfig import ConnectionProblem
from desired.model.key import Key, ObjectKind
from reconciler.cli.run import internal_error
from reconciler.cli.stopping import READING_GRACE_S, stop_within
from reconciler.cli.streams import begin, fail, publish
from reconciler.config.config import Config, ConfigurationError, load_config
from reconciler.config.options import Command, Output, asked
from reconciler.passes.one_pass import explain_once
from reconciler.report.terminal import TerminalProgress, Writer
from reconciler.result import Explained, Report
from reconciler.runtime import build_runtime


def explain(kind: str, name: str, flags: Mapping[str, str], environ: Mapping[str, str]) -> int:
    """Write the explanation of the ``node`` or ``service`` with this name; the exit code."""
    key = key_of(kind, name)
    try:
        config = load_config(Command.EXPLAIN, flags, environ)
    except ConfigurationError as error:
        output = Output(asked(Command.EXPLAIN, "--output", flags, environ))
        if output.is_document:
            publish(Writer(output), _nothing(key, *error.lines))
        return fail(*error.lines, code=error.code)
    begin(config)
    explained = _explained(key, config)
    written = publish(Writer(config.output, color=config.color), explained)
    errors = explained.report.errors
    return fail(*errors, code=0 if written and not errors else 1)


def key_of(kind: str, name: str) -> Key:
    """The object's key in plans, which may stand for its name. A Service without a namespace is one of ``default``."""
    name = name.encode(errors="backslashreplace").decode()  # what is no text is no JSON either
    if kind == "node":
        return Key(ObjectKind.NODE, name.removeprefix("node/"))
    if name.count("/") > 1:  # a namespace may be named service as well
        name = name.removeprefix("service/")
    return Key(ObjectKind.SERVICE, name if "/" in name else f"default/{name}")


def _explained(key: Key, config: Config) -> Explained:
    """The explanation, or the errors that keep it from being one."""
    with stop_within(READING_GRACE_S) as stop:
        try:
            return explain_once(build_runtime(config, stop, TerminalProgress(config.color)).plan_context, key)
        except ConnectionProblem as error:
            return _nothing(key, str(error))
        except Exception as error:  # noqa: BLE001 - a bug of ours is told in one line, as everywhere
            return _nothing(key, internal_error(error))


def _nothing(key: Key, *errors: str) -> Explained:
    return Explained(key, Report(errors=errors))
