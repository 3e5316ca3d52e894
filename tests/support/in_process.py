"""The product in this process, on a stage: the same passes as the command's, in a tenth of its time."""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from actuators.outcome import Outcome
from desired.plan.change import Change
from reconciler.config.config import load_config
from reconciler.config.options import Command
from reconciler.passes.context import Progress
from reconciler.passes.one_pass import converge, plan_once
from reconciler.report.documents import report_as_json
from reconciler.runtime import Runtime, build_runtime
from tests.support.direct import IN_TURN
from tests.support.passes import Ears
from tests.support.simulators import PassingTime
from tests.support.stage import Stage

ONCE = {"--once": "true"}
ONCE_AT_ANY_AGE = {**ONCE, "--delete-min-age": "0s"}


@contextmanager
def runtime(stage: Stage, flags: Mapping[str, str], stop: threading.Event, /, **variables: str) -> Iterator[Runtime]:
    """What the command would build from these flags and the stage's environment; without a mode, that of the loop. It
    goes by the clock of the stage."""
    flags = {"--kubeconfig": stage.environment["KUBECONFIG"], **flags}
    config = load_config(Command.BARE, flags, {**stage.environment, **variables})
    built = build_runtime(config, stop, Ears(), replace(IN_TURN, clock=stage.clock.timestamp))
    stage.shorten(built.plan_context.readers.kubernetes.connection, built.plan_context.readers.hetzner._connection)
    yield built
    if built.connections is not None:
        built.connections.events.close(5.0)
        built.connections.leader.close()


def one_pass(stage: Stage, flags: Mapping[str, str] = ONCE, /, **variables: str) -> Mapping[str, Any]:
    """The JSON report of one pass. While it waits simulated time passes, and no other."""
    with runtime(stage, flags, PassingTime(stage.clock), **variables) as built:
        connections = built.connections
        report = (
            plan_once(built.plan_context)
            if connections is None
            else converge(built.plan_context, connections.apply_context)
        )
        if connections is not None:
            built.plan_context.records.status.keep(report)
    return report_as_json(report)


@dataclass
class _Interrupted:
    """Progress of a pass during which something happens, before the first of its writes."""

    progress: Progress
    happens: Callable[[], object]
    has_happened: bool = False

    def begin(self, changes: Sequence[Change]) -> None:
        if not self.has_happened:
            self.has_happened = True
            self.happens()
        self.progress.begin(changes)

    def done(self, change: Change, outcome: Outcome) -> None:
        self.progress.done(change, outcome)

    def end(self) -> None:
        self.progress.end()


def pass_during_which(stage: Stage, happens: Callable[[], object], /, **variables: str) -> Mapping[str, Any]:
    """The JSON report of one pass. When it has observed, and not written yet, this happens."""
    with runtime(stage, ONCE, PassingTime(stage.clock), **variables) as built:
        assert built.connections is not None
        apply_context = replace(
            built.connections.apply_context, progress=_Interrupted(built.connections.apply_context.progress, happens)
        )
        return report_as_json(converge(built.plan_context, apply_context))
