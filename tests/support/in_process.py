"""The product in this process, on a stage: the same passes as the command's, in a tenth of its time."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from reconciler.config.config import load_config
from reconciler.config.flags import Command
from reconciler.passes.converge import converge, plan_once
from reconciler.report.json_report import report_as_json
from reconciler.runtime import Wired, wire
from tests.support.passes import Ears
from tests.support.simulators import ImpatientStop
from tests.support.stage import Stage

ONCE = {"--once": "true"}
ONCE_AT_ANY_AGE = {**ONCE, "--delete-min-age": "0s"}


@contextmanager
def wired(stage: Stage, flags: Mapping[str, str], stop: threading.Event, /, **variables: str) -> Iterator[Wired]:
    """What the command would build from these flags and the stage's environment; without a mode, that of the loop."""
    flags = {"--kubeconfig": stage.environment["KUBECONFIG"], **flags}
    built = wire(load_config(Command.RUN, flags, {**stage.environment, **variables}), stop, Ears())
    yield built
    if built.hands is not None:
        built.hands.events.close(5.0)
        built.hands.leader.close()


def one_pass(stage: Stage, flags: Mapping[str, str] = ONCE, /, **variables: str) -> Mapping[str, Any]:
    """The JSON report of one pass. Its retries do not wait."""
    with wired(stage, flags, ImpatientStop(), **variables) as built:
        hands = built.hands
        report = plan_once(built.looking) if hands is None else converge(built.looking, hands.acting)
    return report_as_json(report)
