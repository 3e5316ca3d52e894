"""Reports of passes: what of a judged plan, of attempts and of a reading is told."""

from collections.abc import Collection
from dataclasses import replace

from actuators.http.errors import ApiError
from actuators.outcome import Applied, Failed
from desired.health import states_of
from desired.model.price import Cost
from desired.model.snapshot import Snapshot
from desired.plan.change import Change, Verdict
from reconciler.observe.world import Readers
from reconciler.passes.attempts import Attempts
from reconciler.passes.context import PlanContext
from reconciler.passes.errors import all_errors, robot_errors
from reconciler.passes.judging import JudgedPlan
from reconciler.passes.telling import as_tried
from reconciler.result import Line, MonthlyCost, Report, Requests


def report_of(context: PlanContext, judged: JudgedPlan) -> Report:
    """The report of a plan of which nothing was applied. A cluster CIDR that cannot be is an error that stops routes
    alone, credentials that Robot refuses one that stops its servers' Nodes alone, and a key of ``--only`` that names
    nothing one that stops nothing."""
    observation, plan, routes = judged.observation, judged.plan, judged.facts.desired.routes
    misconfigured = (*filter(None, [routes.error]), *robot_errors(observation), *judged.strange)
    return Report(
        snapshot=observation.snapshot,
        facts=judged.facts,
        results=judged.results,
        lines=tuple(map(Line, plan.changes)),
        notes=plan.notes,
        holds=tuple(hold for hold in plan.holds if not hold.approved),
        errors=(*all_errors(observation, plan), *misconfigured),
        misconfigured=misconfigured,
        requests=requests_of(context.readers),
        context=context.cluster,
        approve_flags=context.approve_flags,
        detail=context.detail,
        next_step=context.next_step,
        settings=context.settings,
        states=states_of(judged.facts, judged.whole, {}),
    )


def with_failures(report: Report, judged: JudgedPlan) -> Report:
    """With states that know which changes an API refused, and will again: those that this pass tried, and those that
    wait since they failed."""
    _, tried = as_tried(judged.whole, report.lines, judged.facts.snapshot, judged.facts.setbacks)
    failed: dict[str, str] = {
        line.change.key: line.outcome.error
        for line in tried
        if isinstance(line.outcome, Failed) and line.outcome.retry_after_s is None
    }
    return replace(report, states=states_of(judged.facts, judged.whole, failed)) if failed else report


def report_of_error(context: PlanContext, error: ApiError, attempts: Attempts, first: Snapshot | None = None) -> Report:
    """The report of a pass that could not observe the state, whatever it had done until then; ``first`` is what it had
    read at its beginning."""
    report = Report(
        lines=attempts.tried(),
        errors=(str(error),),
        context=context.cluster,
        detail=context.detail,
    )
    return with_cost_of_done(context, report, first, may_ask=False)


def with_cost_of_done(context: PlanContext, report: Report, before: Snapshot | None, *, may_ask: bool) -> Report:
    """The report with the cost of the changes that were applied."""
    done = [line.change for line in report.outcomes(Applied)]
    cost = MonthlyCost() if before is None else _cost(context.readers, report, done, before, may_ask=may_ask)
    return replace(report, cost=cost, requests=requests_of(context.readers))


def with_cost_of_plan(context: PlanContext, report: Report, before: Snapshot, *, may_ask: bool) -> Report:
    """The report with the cost of all its changes, but for those that are refused."""
    planned = [line.change for line in report.lines if line.change.decision.verdict is not Verdict.REFUSED]
    cost = _cost(context.readers, report, planned, before, may_ask=may_ask)
    return replace(report, cost=cost, requests=requests_of(context.readers))


def _cost(
    readers: Readers, report: Report, changes: Collection[Change], before: Snapshot, *, may_ask: bool
) -> MonthlyCost:
    """The cost of these changes of the report. The currency is asked for only if the report shows a price."""
    if not any(line.change.cost for line in report.lines):
        return MonthlyCost()
    currency = readers.currency.look_up(readers.hetzner, before.taken_at, may_ask=may_ask)
    costs = [change.cost for change in changes if change.cost is not None]
    return MonthlyCost(currency, sum(costs, Cost()) if costs else None)


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
