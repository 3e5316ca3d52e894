"""Guards on targets of load balancers: what serves goes on serving.

| Guard | Withholds |
|---|---|
| ``target-floor`` | the removal of all existing servers, or of most of them without a known reason |
| ``target-health`` | the next batch of a switch of targets until the one before it is healthy |
"""

from collections import Counter
from collections.abc import Collection, Iterator

from desired.guards.facts import Facts, GuardResult
from desired.guards.load_balancers import services_with
from desired.load_balancers.desired import DesiredLoadBalancer
from desired.load_balancers.exchange import Step, exchanges_of, silent_newcomers
from desired.load_balancers.move import gap_of, is_dead, labels_for, spoken, unknown_to_nodes
from desired.load_balancers.switch import (
    RETRY_AFTER,
    SWITCH,
    Phase,
    look_again_s,
    patience_s,
    switch_of,
)
from desired.load_balancers.targets import removal_reason
from desired.model.load_balancer import CloudBalancer, IpTarget, Target
from desired.model.snapshot import Snapshot
from desired.plan.change import Change, GuardName, HoldEnd, Verdict
from desired.plan.kinds import ChangeKind, Verb
from desired.section import Absent, Unmanaged
from desired.syntax.provider_id import Provider, ServerKey

_SHOWN = 5
"""Number of targets that a hold names."""


def target_floor(facts: Facts) -> Iterator[GuardResult]:
    """Existing servers are not all removed from a load balancer, nor most of them without a known reason.

    Judged on what the load balancer ends up with, so that one pass and ten small ones mean the same: a removal for a
    known reason counts no more than if it had happened before. Most are counted for each provider alone: what goes
    wrong with one must not be outvoted by servers of the other. Servers that are gone are never held. Targets that
    serve on the way there, while the load balancer leaves a network, are held, whoever has added them.
    """
    for lb, changes in services_with(facts, ChangeKind.LB_TARGET, ChangeKind.LB_NETWORK):
        present = lb.present
        if present is None:
            continue
        yield from _floor_of_a_move(lb, present, changes, facts.snapshot)
        led_to = lb.targets.node_targets.led_to
        serving = set(map(led_to, lb.targets.targets))
        removals = [
            (change, change.before, server)
            for change in changes
            if change.kind == ChangeKind.LB_TARGET and change.verb is Verb.REMOVE
            if isinstance(change.before, Target) and (server := led_to(change.before))
            if server not in serving
        ]
        providers = {change.key: server.provider for change, _, server in removals}
        reasons = {
            change.key: removal_reason(target, server, lb.targets.claiming(server), facts.snapshot)
            for change, target, server in removals
        }
        living = tuple(sorted(key for key, reason in reasons.items() if reason.server_lives))
        ends = _alive(lb.targets.targets, lb, facts.snapshot)
        named = f"load balancer {present.id} {present.spec.name}"
        if living and not ends:
            nobody = "anybody who is known to serve" if lb.targets.targets else "any target"
            why = f"{named} would be left without {nobody}, though servers of it live: {reasons[living[0]].why}"
            yield GuardResult(GuardName.TARGET_FLOOR, Verdict.HELD, living, why, "0", "1")
            continue
        for provider, there in _alive(present.targets, lb, facts.snapshot).items():
            going = [key for key in living if providers[key] is provider]
            unexplained = tuple(key for key in going if not reasons[key].explained)
            end, had = ends[provider], there - (len(going) - len(unexplained))
            if unexplained and end * 2 < had:
                why = f"{named} would keep {end} of {had} targets"
                why += f", and nothing explains why: {reasons[unexplained[0]].why}"
                yield GuardResult(GuardName.TARGET_FLOOR, Verdict.HELD, unexplained, why, str(end), str((had + 1) // 2))


def _floor_of_a_move(
    lb: DesiredLoadBalancer, present: CloudBalancer, changes: Collection[Change], snapshot: Snapshot
) -> Iterator[GuardResult]:
    """A load balancer that leaves a network continues to serve meanwhile, unless nothing of it did, and nobody's
    targets are lost by it for good."""
    moves = [change for change in changes if change.kind == ChangeKind.LB_NETWORK and change.before is not None]
    if not moves:
        return
    named = f"load balancer {present.id} {present.spec.name}"
    back = [change for change in changes if change.kind == ChangeKind.LB_TARGET and change.verb is Verb.ADD]
    back = [change for change in back if change.after in present.targets]
    gap = gap_of(present, changes)
    if gap.lost and not gap.serving:
        few = ", ".join(map(spoken, gap.lost[:_SHOWN])) + (", ..." if len(gap.lost) > _SHOWN else "")
        returns = "until they are added again, " if back else ""
        why = (
            f"{named} would serve nobody {returns}as all that answers is reached through the network that it leaves"
            f" ({few}): {moves[0].reason}; let other targets answer before, or approve it when an outage does no harm"
        )
        keys = tuple(sorted(change.key for change in (*moves, *back)))
        yield GuardResult(GuardName.TARGET_FLOOR, Verdict.HELD, keys, why, "0", "1")
    lost = [
        change
        for change in changes
        if change.kind == ChangeKind.LB_TARGET and change.verb is Verb.REMOVE and change.before in lb.targets.targets
    ]
    if lost and not all(is_dead(change.before, snapshot) for change in lost if isinstance(change.before, Target)):
        what = ", ".join(spoken(change.before) for change in lost[:_SHOWN] if isinstance(change.before, Target))
        why = (
            f"{named} would lose targets that are not to go: {what}; they are reached through the network that it"
            f" leaves, as {moves[0].reason}"
        )
        keys = tuple(sorted(change.key for change in lost))
        yield GuardResult(GuardName.TARGET_FLOOR, Verdict.HELD, keys, why, str(len(lost)), "0")
    returning = unknown_to_nodes([c.after for c in back if isinstance(c.after, Target)], lb.targets.node_targets)
    if labels_for(returning) is None:
        why = (
            f"{named} would lose {len(returning)} targets that no Node tells of until they are added again, and they"
            f" are too many to be remembered in its labels, should that end on the way: {moves[0].reason}"
        )
        keys = tuple(sorted(change.key for change in (*moves, *back)))
        yield GuardResult(GuardName.TARGET_FLOOR, Verdict.HELD, keys, why, str(len(returning)), "0")


def target_health(facts: Facts) -> Iterator[GuardResult]:
    """Targets that are switched to their other addresses go in batches that double, each once the load balancer has
    reported the one before it healthy. What does not answer in time goes back, and a person may approve the rest.

    What would take away the way back waits until the last batch answers: the public interface, or the network of
    targets that leave their private addresses.
    """
    for lb, changes in services_with(facts, ChangeKind.LB_TARGET, ChangeKind.LB_IDENTITY):
        present = lb.present
        if present is None or lb.wanted is None or isinstance(lb.wanted.targets, Unmanaged):
            continue
        yield from _exchanges(lb, present, changes, facts.snapshot)
        switch = switch_of(present, changes, facts.snapshot, to_private=lb.options.use_private_ip)
        if switch.phase is Phase.FREE:
            continue
        named = f"load balancer {present.id} {present.spec.name}"
        way = f"by {'private' if switch.to_private else 'public'} address"
        label = [change.key for change in changes if change.key.parts == SWITCH]
        waiting = [change.key for change in switch.waiting]
        closing = [change.key for change in changes if _takes_away_the_way_back(change, to_private=switch.to_private)]
        if switch.phase in (Phase.FAILS, Phase.FAILED):
            held = (*waiting, *(label if switch.phase is Phase.FAILED else ()))
            first = f"{len(switch.back)} targets that were" if len(switch.back) > 1 else "a target that was"
            gone = f"{first} switched did not answer {way} in {patience_s(present.spec.listeners.values())} s"
            why = (
                f"{named}: {gone}, and gets traffic by the other one again. Look at firewalls (of Hetzner and on the"
                " servers), node ports, externalTrafficPolicy, the annotation health-check-node-port and the servers'"
                " private network; approve it to switch all that are left at once, or it is tried again with one"
                f" after {RETRY_AFTER.total_seconds() / 3600:g} hours"
            )
            yield GuardResult(
                GuardName.TARGET_HEALTH,
                Verdict.HELD,
                tuple(sorted(held)),
                why,
                str(switch.answering),
                "1",
                switch.due_in_s,
                end=HoldEnd("when it is tried again with one target", switch.due_in_s)
                if switch.phase is Phase.FAILED
                else None,
            )
        else:
            held = (*waiting, *(label if switch.phase is Phase.LOOKING and not waiting else ()))
            looked = "waits for the next look at it" if switch.batch else "is looked at before others follow"
            why = f"{named}: what is switched to answer {way} {looked} ({switch.answering} of its targets answer so)"
            if switch.is_unchecked:
                why = f"{named}: its health checks have not reported yet which targets answer"
            yield GuardResult(
                GuardName.TARGET_HEALTH, Verdict.WAITING, tuple(sorted(held)), why, due_in_s=switch.due_in_s
            )
        why = f"{named}: the switch of its targets has not ended, and may have to go back"
        yield GuardResult(GuardName.TARGET_HEALTH, Verdict.WAITING, tuple(closing), why, due_in_s=switch.due_in_s)


def _exchanges(
    lb: DesiredLoadBalancer, present: CloudBalancer, changes: Collection[Change], snapshot: Snapshot
) -> Iterator[GuardResult]:
    """A dedicated server keeps the address by which it answers until it does by the other one. Where there is no room
    for both, one server at a time changes its address."""
    going = [exchange for exchange in exchanges_of(present, lb.targets) if exchange.step is not Step.REMOVE]
    if not going:
        return
    named = f"load balancer {present.id} {present.spec.name}"
    look_at = "look at the vSwitch, firewalls and node ports, or approve it to go on without an answer"
    due_in_s = look_again_s(present.spec.listeners.values())
    of_targets = [change for change in changes if change.kind == ChangeKind.LB_TARGET]
    for step, verdict in ((Step.WAIT, Verdict.WAITING), (Step.ASK, Verdict.HELD)):
        some = [exchange for exchange in going if exchange.step is step]
        old = {target for exchange in some for target in exchange.old}
        keys = tuple(sorted(change.key for change in of_targets if change.before in old and change.after is None))
        if keys:
            more = f", and so with {len(some) - 1} more" if len(some) > 1 else ""
            why = f"{named}: {some[0].old[0].ip} stays until {some[0].new.ip} answers its health checks{more}"
            if step is Step.WAIT:
                yield GuardResult(GuardName.TARGET_HEALTH, verdict, keys, why, due_in_s=due_in_s)
            else:
                yield GuardResult(GuardName.TARGET_HEALTH, verdict, keys, f"{why}; {look_at}", "0", "1")
    swaps = sorted(c.key for c in of_targets if c.verb is Verb.MODIFY and isinstance(c.after, IpTarget))
    silent = silent_newcomers(present, lb.targets, snapshot)
    if silent and any(present.answering(target) for exchange in going for target in exchange.old):
        why = f"{named}: it has no room for two addresses of a server, and {silent[0].ip} does not answer by now"
        if any(map(present.is_unchecked, silent)):
            yield GuardResult(GuardName.TARGET_HEALTH, Verdict.WAITING, tuple(swaps), why, due_in_s=due_in_s)
        else:
            yield GuardResult(GuardName.TARGET_HEALTH, Verdict.HELD, tuple(swaps), f"{why}; {look_at}", "0", "1")
    else:
        why = f"{named}: it has no room for two addresses of a server, and these change one by one"
        yield GuardResult(GuardName.TARGET_HEALTH, Verdict.WAITING, tuple(swaps[1:]), why, due_in_s=due_in_s)
    closing = tuple(c.key for c in changes if _takes_away_the_way_back(c, to_private=lb.options.use_private_ip))
    why = f"{named}: targets are still reached by the addresses that they are to lose"
    yield GuardResult(GuardName.TARGET_HEALTH, Verdict.WAITING, closing, why)


def _takes_away_the_way_back(change: Change, *, to_private: bool) -> bool:
    """Whether the change ends the way in which targets were reached before. A switch to private addresses needs the
    next network for that, which comes only once the one before is left."""
    if change.kind == ChangeKind.LB_PUBLIC_INTERFACE:
        return change.after is False
    return change.kind == ChangeKind.LB_NETWORK and change.after is None and not to_private


def _alive(targets: Collection[Target], lb: DesiredLoadBalancer, snapshot: Snapshot) -> Counter[Provider]:
    """Number of each provider's servers among these targets: each is one by whichever address, and none when it is
    gone. The servers of a selector, and whether an address of no Node serves, are not known here."""
    servers = {server: target for target in targets if (server := lb.targets.node_targets.led_to(target))}
    return Counter(server.provider for server, target in servers.items() if not _is_gone(target, server, lb, snapshot))


def _is_gone(target: Target, server: ServerKey, lb: DesiredLoadBalancer, snapshot: Snapshot) -> bool:
    absent = isinstance(snapshot.find(server), Absent)
    return absent and not removal_reason(target, server, lb.targets.claiming(server), snapshot).server_lives
