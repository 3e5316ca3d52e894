"""Guard ``settings-blast-radius``: what follows from a changed setting alone, and interrupts, exposes or takes away.

The plan under the former settings, of the same snapshot, tells what would happen without the difference. What the plan
has beyond that follows from it, whatever kinds of change bring it about. On several objects it is one hold; on a single
one where it takes everything: the target that alone answers at a port, which no order of changes avoids, or all
addresses that a Service publishes. Additions go on, and so does what takes nothing.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace

from desired.guards.blast_radius import takes_addresses
from desired.guards.guard import GuardInput, GuardResult, SettingsChange
from desired.load_balancers.desired import DesiredLoadBalancer
from desired.model.clocks import shown_moment
from desired.model.former_settings import NETWORK, FormerSettings, shown_setting
from desired.model.key import PLAN
from desired.model.load_balancer import Listener
from desired.model.route import UNROUTED
from desired.model.settings import Settings
from desired.model.snapshot import Network, Snapshot
from desired.plan.change import Change, Plan
from desired.plan.foresight import healthy, subject
from desired.plan.kinds import ChangeKind, Verb
from desired.plan.notes import Note
from desired.plan.setbacks import Setbacks
from desired.planner import compute_desired, diff
from desired.rules import guards as rows
from desired.rules.rule import Plain, Rule
from desired.section import Present, Unknown


def settings_change(
    plan: Plan, snapshot: Snapshot, settings: Settings, setbacks: Setbacks, former: FormerSettings | Unknown | None
) -> SettingsChange | None:
    """What the difference of ``settings`` from the former ones leads to in ``plan``, which is of the same snapshot;
    None where nothing differs, or nothing is remembered. An empty plan costs no comparison."""
    if former is None:
        return None
    if isinstance(former, Unknown):
        return SettingsChange(former.why, plan.changes, is_known=False)
    differing = former.differing(settings)
    if not differing:
        return None
    says = ", ".join(
        f"{name} {shown_setting(name, was)} -> {shown_setting(name, now)}" for name, (was, now) in differing.items()
    )
    noted = former.change
    if noted is not None and noted.values != {name: now for name, (_, now) in differing.items()}:
        noted = None
    if noted is not None:
        says = f"{says}, since {shown_moment(noted.since)}"
    known = _plan_under(former, snapshot, settings, setbacks) if plan.changes else plan
    same = {(c.kind, c.key): (c.before, c.after) for c in known.changes}
    follows = tuple(c for c in plan.changes if (c.before, c.after) != same.get((c.kind, c.key)))
    return SettingsChange(says, follows, is_accepted=noted is not None and noted.accepted)


def _plan_under(former: FormerSettings, snapshot: Snapshot, settings: Settings, setbacks: Setbacks) -> Plan:
    before = former.under(settings)
    world = snapshot
    if NETWORK in former.differing(settings):
        # The network that was named is not read any more. That load balancers and servers are in it they say
        # themselves; without its routes nothing is planned for them.
        network = None if before.network is None or former.network_id is None else former.network_id
        there = None if network is None else Network(network, before.network or "")
        world = replace(snapshot, network=Present(there), routes=None)
    return diff(world, compute_desired(world, before, setbacks), before)


def settings_blast_radius(view: GuardInput) -> Iterator[GuardResult]:
    """What follows from changed settings alone, and takes something from more than one object or interrupts one, is
    held, all of it as one. While the former settings cannot be read such changes wait."""
    change = view.settings_change
    if change is None or change.is_accepted or not (taking := _taking(change, view)):
        return
    keys, count = sorted(each.key for each in taking), len({each.owner for each in taking})
    row, found = _row(change)
    if change.is_known:
        row = rows.SETTINGS_TAKE if count > 1 else _row_of_one(taking, view)
        found = {**found, "objects": count, "object": str(taking[0].owner)}
    yield GuardResult.of(row, keys, found, value=count, limit=1 if count > 1 else 0)


def _row(change: SettingsChange) -> tuple[Rule, Mapping[str, Plain]]:
    """What is said of settings that differ, or cannot be compared, whatever their change takes."""
    if change.is_known:
        return rows.SETTINGS_DIFFER, {"settings": change.says}
    return rows.FORMER_SETTINGS_UNREAD, {"error": change.says}


def _row_of_one(taking: Collection[Change], view: GuardInput) -> Rule:
    return rows.SETTINGS_UNPUBLISH if any(_unpublishes(each, view) for each in taking) else rows.SETTINGS_INTERRUPT


def _taking(change: SettingsChange, view: GuardInput) -> list[Change]:
    """What of it takes something; empty where that concerns one object alone, and leaves it something."""
    taking = [each for each in change.follows if takes(each)]
    takes_all = any(_unpublishes(each, view) or _interrupts(each, view.snapshot) for each in taking)
    return taking if takes_all or len({each.owner for each in taking}) > 1 else []


def _unpublishes(change: Change, view: GuardInput) -> bool:
    """Whether the Service publishes something, and nothing once the change is made, or once its status has followed:
    its load balancer loses the public interface, and private addresses are not published."""
    if change.kind == ChangeKind.SERVICE_STATUS:
        return change.before != () and change.after == ()
    lb = view.desired.services.get(change.owner.name)
    is_closed = change.kind == ChangeKind.LB_PUBLIC_INTERFACE and change.after is False
    return is_closed and isinstance(lb, DesiredLoadBalancer) and lb.options.disable_private_ingress


def _interrupts(change: Change, snapshot: Snapshot) -> bool:
    """Whether the change replaces the target that alone answers at a port by another address of the same server."""
    if change.kind != ChangeKind.LB_TARGET or change.verb is not Verb.MODIFY:
        return False
    balancer = subject(snapshot, change)
    return balancer is not None and any(there == {change.before} for there in healthy(balancer).values())


def is_for_the_settings(view: GuardInput) -> frozenset[str]:
    """Keys of the changes that a person approves, or has approved, with all that follows from changed settings."""
    change = view.settings_change
    if change is None or not change.is_known:
        return frozenset()
    return frozenset(each.key for each in (change.follows if change.is_accepted else _taking(change, view)))


def settings_notes(view: GuardInput) -> tuple[Note, ...]:
    """The note on settings that differ while anything follows from that, or that cannot be compared."""
    change = view.settings_change
    if change is None or not change.follows:
        return ()
    row, found = _row(change)
    return (row.note(PLAN, **found),)


def takes(change: Change) -> bool:
    """Whether the change interrupts something, makes it public, or takes it away."""
    match change.verb:
        case Verb.ADD:
            return False
        case Verb.MODIFY:
            of_sides = _BY_SIDES.get(change.kind)
            return not change.row.is_harmless and (of_sides is None or of_sides(change))
    return True


def _closes(change: Change) -> bool:
    """Whether a Node is closed to pods, also one of which nothing was said: with routes off, ours is taken back."""
    return change.after == UNROUTED


def _withdraws(change: Change) -> bool:
    """Whether published entries are gone afterwards. What is known only then follows parts, which tell themselves."""
    before, after = change.before, change.after
    return isinstance(before, tuple) and isinstance(after, tuple) and not set(before) <= set(after)


def _disturbs(change: Change) -> bool:
    """Whether a listener serves otherwise. Of its health check alone only a stricter one disturbs."""
    before, after = change.before, change.after
    if not isinstance(before, Listener) or not isinstance(after, Listener):
        return True
    if replace(before, health_check=after.health_check) != after:
        return True
    was, now = before.health_check, after.health_check
    if replace(was, interval_s=now.interval_s, timeout_s=now.timeout_s, retries=now.retries) != now:
        return True
    pairs = ((was.timeout_s, now.timeout_s), (was.retries, now.retries))
    return any(isinstance(old, int) and isinstance(new, int) and new < old for old, new in pairs)


_BY_SIDES: Mapping[str, Callable[[Change], bool]] = {
    ChangeKind.NODE_ADDRESSES: takes_addresses,
    ChangeKind.NODE_NETWORK_CONDITION: _closes,
    ChangeKind.SERVICE_STATUS: _withdraws,
    ChangeKind.LB_LISTENER: _disturbs,
}
"""Kind of a change → whether such a modification takes something, where its sides tell."""
