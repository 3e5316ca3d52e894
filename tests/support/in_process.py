"""The product in this process, on a stage: the same passes as the command's, in a tenth of its time."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from reconciler.config.config import load_config
from reconciler.config.flags import Command
from reconciler.passes.one_pass import converge, plan_once
from reconciler.report.json_report import report_as_json
from reconciler.runtime import Runtime, build_runtime
from tests.support.passes import Ears
from tests.support.simulators import ImpatientStop
from tests.support.stage import Stage

ONCE = {"--once": "true"}
ONCE_AT_ANY_AGE = {**ONCE, "--delete-min-age": "0s"}


@contextmanager
def runtime(stage: Stage, flags: Mapping[str, str], stop: threading.Event, /, **variables: str) -> Iterator[Runtime]:
    """What the command would build from these flags and the stage's environment; without a mode, that of the loop."""
    flags = {"--kubeconfig": stage.environment["KUBECONFIG"], **flags}
    built = build_runtime(load_config(Command.BARE, flags, {**stage.environment, **variables}), stop, Ears())
    yield built
    if built.connections is not None:
        built.connections.events.close(5.0)
        built.connections.leader.close()


def one_pass(stage: Stage, flags: Mapping[str, str] = ONCE, /, **variables: str) -> Mapping[str, Any]:
    """The JSON report of one pass. Its retries do not wait."""
    with runtime(stage, flags, ImpatientStop(), **variables) as built:
        connections = built.connections
        report = (
            plan_once(built.plan_context)
            if connections is None
            else converge(built.plan_context, connections.apply_context)
        )
    return report_as_json(report)
