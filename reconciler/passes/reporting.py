"""Report of a pass: its changes with their outcomes, its errors, its cost and its requests."""

from collections.abc import Collection
from dataclasses import replace

from actuators.http.errors import ApiError, Denied, Throttled
from actuators.outcome import Applied, Failed, Skipped
from desired.guards.history import bars_of, suspension_of
from desired.health import states_of
from desired.model.price import Cost
from desired.model.snapshot import Snapshot
from desired.plan.change import ALLOWED, GuardName, Plan, Verdict
from desired.plan.notes import NoteKind
from desired.plan.setbacks import Setbacks
from desired.section import Absent
from reconciler.observe.world import Observation, Readers
from reconciler.passes.chain import Chain
from reconciler.passes.context import PlanContext
from reconciler.passes.judging import JudgedPlan
from reconciler.result import Line, MonthlyCost, Report, Requests


def report_of(context: PlanContext, judged: JudgedPlan) -> Report:
    """The report of a plan of which nothing was applied. A cluster CIDR that cannot be is an error that stops routes
    alone, credentials that Robot refuses one that stops its servers' Nodes alone, and a key of ``--only`` that names
    nothing one that stops nothing."""
    observation, plan, routes = judged.observation, judged.plan, judged.facts.desired.routes
    misconfigured = (*filter(None, [routes.error]), *robot_errors(observation), *judged.not_found)
    return replace(
        context.blank,
        snapshot=observation.snapshot,
        facts=judged.facts,
        results=judged.results,
        lines=tuple(map(Line, plan.changes)),
        notes=plan.notes,
        holds=tuple(hold for hold in plan.holds if not hold.approved),
        errors=(*all_errors(observation, plan), *misconfigured),
        misconfigured=misconfigured,
        requests=requests_of(context.readers),
        settings=context.settings,
    )


def with_states(context: PlanContext, report: Report, judged: JudgedPlan) -> Report:
    """With the states that know which changes an API refused, and will again: those that this pass tried, and those
    that wait since they failed. They are made once a pass, when its outcomes are known."""
    _, tried = as_tried(judged.whole, report.lines, judged.facts.snapshot, judged.facts.setbacks)
    failed: dict[str, str] = {
        line.change.key: line.outcome.error
        for line in tried
        if isinstance(line.outcome, Failed) and line.outcome.retry_after_s is None
    }
    states = states_of(judged.facts, judged.whole, failed)
    return replace(report, states=context.records.status.dated(states, judged.facts.snapshot.taken_at))


def report_of_error(
    context: PlanContext, error: ApiError, chain: Chain | None = None, judged: JudgedPlan | None = None
) -> Report:
    """The report of a pass that could not observe the state, whatever its ``chain`` had done until then; ``judged`` is
    the plan of the pass before it."""
    chain = chain or Chain()
    report = replace(context.blank, lines=chain.attempted(), errors=(str(error),), settings=context.settings)
    report = with_cost(context, report, chain.first, acts=True, may_ask=False)
    return report if judged is None else replace(report, snapshot=judged.facts.snapshot, facts=judged.facts)


def with_cost(context: PlanContext, report: Report, before: Snapshot | None, *, acts: bool, may_ask: bool) -> Report:
    """The report with its requests, and with the cost of the changes that were applied, or in a run that does not
    act of all but the refused ones. None was planned without ``before``. The currency is asked for only if the report
    shows a price."""
    cost = MonthlyCost()
    if before is not None and any(line.change.cost for line in report.lines):
        lines = report.outcomes(Applied) if acts else report.lines
        priced = [line.change for line in lines if acts or line.change.decision.verdict is not Verdict.REFUSED]
        costs = [change.cost for change in priced if change.cost is not None]
        currency = context.readers.currency.look_up(context.readers.hetzner, before.taken_at, may_ask=may_ask)
        cost = MonthlyCost(currency, sum(costs, Cost()) if costs else None)
    return replace(report, cost=cost, requests=requests_of(context.readers))


def requests_of(readers: Readers) -> Requests:
    """What was sent until now."""
    limit = readers.hetzner.rate_limit
    return Requests(
        readers.kubernetes.requests.total,
        readers.hetzner.requests.total,
        limit.remaining if limit else None,
        limit.limit if limit else None,
        readers.robot.cache.reader.requests.total if readers.robot else None,
    )


_TOLD = frozenset({GuardName.BACK_OFF, GuardName.QUOTA})


def as_tried(
    plan: Plan, tried: Collection[Line], snapshot: Snapshot, setbacks: Setbacks
) -> tuple[Plan, tuple[Line, ...]]:
    """The judged ``plan`` as if backed-off changes were allowed, and what was ``tried``, as if they were among it."""
    tried = tuple(map(_as_refused, tried))
    if not setbacks.suspensions and not setbacks.bars:
        return plan, tried
    known = {line.change.key for line in tried}
    changes = tuple(change.ruled(ALLOWED) if change.decision.rule in _TOLD else change for change in plan.changes)
    barred = (
        Line(change, Failed(bars[0].error))
        for change in plan.changes
        if change.decision.rule == GuardName.QUOTA and change.key not in known and (bars := bars_of(change, setbacks))
    )
    backed_off = (
        Line(change, Failed(found.error, found.retry_after_s))
        for change in plan.changes
        if change.decision.rule == GuardName.BACK_OFF and change.key not in known
        if (found := suspension_of(change, snapshot, setbacks)) is not None
    )
    return Plan(changes, plan.notes, plan.holds), (*tried, *backed_off, *barred)


def _as_refused(line: Line) -> Line:
    """A change that was not sent because Hetzner refuses others like it counts as refused for those who wait."""
    match line.outcome:
        case Skipped(refusal=error) if error:
            return Line(line.change, Failed(error))
    return line


_NEEDED = ("servers", "network")
"""Parts of an observation that every decision needs. Where another part is missing, only what is decided from that
waits."""
_PROOF = "members"
"""A part that is read only to prove that something may be removed: without it that stays, and nothing is wrong."""
_OF_CLUSTER = "services"
"""The part that is not read from Hetzner."""
_OF_ROBOT = "robot"
"""The part that has credentials of its own: without it, all that concerns Hetzner Cloud goes on."""


def fatal_errors(observation: Observation, plan: Plan) -> tuple[str, ...]:
    """The reason why nothing should be applied at all: wrong credentials, an unreachable API, a missing network.

    Empty for trouble that leaves part of the snapshot: the guards judge what depends on it. A network that is missing
    from what seems to be another project is no second error: the anchor reports that already.
    """
    failures = {part: observation.failures[part] for part in _NEEDED if part in observation.failures}
    errors = [
        str(error)
        for part, error in failures.items()
        if isinstance(error, Denied)
        or (part == "servers" and not observation.snapshot.servers and not isinstance(error, Throttled))
    ][:1]  # all parts are of one API: what keeps one from being read keeps the others
    if isinstance(observation.snapshot.network, Absent) and not any(n.kind is NoteKind.ANCHOR for n in plan.notes):
        errors.append(str(observation.failures["network"]))
    return tuple(errors)


def all_errors(observation: Observation, plan: Plan) -> tuple[str, ...]:
    """The reason why the run is an error: all that is fatal, and a missing permission to read.

    The latter stops only what would be decided from that part: Nodes are initialized without the permission to list
    Services.
    """
    failures = {part: error for part, error in observation.failures.items() if part not in (_PROOF, _OF_ROBOT)}
    denied = {part: str(error) for part, error in failures.items() if isinstance(error, Denied)}
    of_cluster = tuple(error for part, error in denied.items() if part == _OF_CLUSTER)
    of_cloud = tuple(error for part, error in denied.items() if part != _OF_CLUSTER)
    return (*(fatal_errors(observation, plan) or of_cloud[:1]), *of_cluster)


def robot_errors(observation: Observation) -> tuple[str, ...]:
    """The error of credentials that Robot refuses: a person has to act, as nothing is asked with them any more."""
    error = observation.failures.get(_OF_ROBOT)
    return (str(error),) if isinstance(error, Denied) else ()


def is_reachable(observation: Observation) -> bool:
    """Whether nothing that is read from Hetzner has just failed."""
    return observation.failures.keys() <= {_OF_CLUSTER, _OF_ROBOT}
