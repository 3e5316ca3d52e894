"""Guards on targets of load balancers: what serves goes on serving.

| Guard | Withholds |
|---|---|
| ``target-health`` | the next batch of a switch of targets until the one before it is healthy |
"""

from collections.abc import Collection, Iterator

from desired.guards.facts import Facts, GuardResult
from desired.guards.load_balancers import services_with
from desired.load_balancers.desired import DesiredLoadBalancer
from desired.load_balancers.exchange import Step, exchanges_of, silent_newcomers
from desired.load_balancers.switch import (
    RETRY_AFTER,
    SWITCH,
    Phase,
    look_again_s,
    patience_s,
    switch_of,
)
from desired.model.load_balancer import CloudBalancer, IpTarget
from desired.model.snapshot import Snapshot
from desired.plan.change import Change, GuardName, HoldEnd, Verdict
from desired.plan.kinds import ChangeKind, Verb
from desired.section import Unmanaged

_SHOWN = 5
"""Number of targets that a hold names."""


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
