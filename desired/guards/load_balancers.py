"""Guards on changes of load balancers.

| Guard | Withholds |
|---|---|
| ``foreign-owner`` | everything on a load balancer of somebody else |
| ``adoption`` | an adoption that removes something, or of a load balancer that may be somebody else's |
| ``undo-window`` | the deletion of a released load balancer before its time |
| ``ip-loss`` | the deletion of a load balancer that a Service still wants |
| ``address-in-use`` | the creation of a load balancer with a Primary IP that something else has |
| ``target-floor`` | the removal of all existing servers, or of most of them without a known reason |
| ``target-health`` | the next batch of a switch of targets until the one before it is healthy |
| ``certificate-issuance`` | an https port without its certificate |
"""

from collections import Counter
from collections.abc import Collection, Iterator

from desired.guards.facts import Facts, GuardResult
from desired.load_balancers.desired import DesiredLoadBalancer
from desired.load_balancers.exchange import Step, exchanges_of, silent_newcomers
from desired.load_balancers.move import gap_of, is_dead, labels_for, spoken, unknown_to_nodes
from desired.load_balancers.ownership import Adoptable, Contested, Foreign, Ownership, former_of, owner_of, ownership
from desired.load_balancers.primary_ips import holder_of, loses_addresses
from desired.load_balancers.release import LoadBalancerRelease, due_of, shown_former, shown_time
from desired.load_balancers.switch import (
    RETRY_AFTER,
    SWITCH,
    Phase,
    look_again_s,
    patience_s,
    switch_of,
)
from desired.load_balancers.targets import Membership, removal_reason
from desired.load_balancers.wanted import wants_balancer
from desired.model.load_balancer import CloudBalancer, IpTarget, PrimaryIp, Target
from desired.model.settings import Controller
from desired.model.snapshot import Snapshot
from desired.plan.change import Change, GuardName, Verdict
from desired.plan.kinds import KINDS, ChangeKind, Verb
from desired.section import Absent, Unknown, Unmanaged
from desired.syntax.bounds import counted
from desired.syntax.provider_id import Provider, ServerKey

_KINDS = tuple(kind.name for kind in KINDS.values() if kind.controller is Controller.SERVICE)
"""Of every change that serves a Service."""
_SHOWN = 5
"""Number of targets that a hold names."""


def foreign_owner(facts: Facts) -> Iterator[GuardResult]:
    """Changes to a load balancer of another cluster, of another Service, or that several ask for, are refused."""
    for lb, changes in _serving(facts, *_KINDS):
        if isinstance(lb.match, Foreign | Contested):
            keys = tuple(change.key for change in changes)
            yield GuardResult(GuardName.FOREIGN_OWNER, Verdict.REFUSED, keys, lb.match.why)


def adoption(facts: Facts) -> Iterator[GuardResult]:
    """An adoption is held when it would take something away, or when the load balancer was a deleted Service's, waits
    for another Service's return, is in use without an owner, or was released by another Service: everything after the
    adoption changes where traffic goes.

    The hold covers the removals as well, so that an approval is void when there is one more. While some of them cannot
    be told the adoption waits: afterwards nobody would be asked.
    """
    for lb, changes in _serving(facts, ChangeKind.LB_ADOPT):
        if not isinstance(lb.match, Adoptable) or lb.match.returns:
            continue
        adopt = next(change for change in changes if change.kind == ChangeKind.LB_ADOPT)
        removals = [change for change in changes if adopt.key in change.depends_on and change.verb is Verb.REMOVE]
        keys = tuple(sorted([adopt.key, *(change.key for change in removals)]))
        balancer = lb.match.balancer
        named = f"load balancer {balancer.id} {balancer.spec.name}"
        owner = owner_of(balancer.spec.labels)
        was_elsewhere = ownership(owner.cluster_uid, facts.snapshot) is Ownership.OTHER_CLUSTER
        uid, former = owner.service_uid, shown_former(owner) + (f" of cluster {owner.cluster_uid}" * was_elsewhere)
        strange = f"{named} was a Service's, of the UID {uid}, and nothing says that it was one of this cluster"
        if removals:
            parts = ", ".join(" ".join(change.key.parts) for change in removals)
            why = f"{named} is to be taken over, and would lose what the Service does not ask for: {parts}"
            why += f"; {strange}" if lb.match.is_stranger else ""
            why += f"; {_awaited(balancer)}" if lb.match.is_awaited else ""
            yield GuardResult(GuardName.ADOPTION, Verdict.HELD, keys, why, str(len(removals)), "0")
        elif lb.match.is_stranger:
            yield GuardResult(GuardName.ADOPTION, Verdict.HELD, keys, strange, str(uid), "a Service of this cluster")
        elif lb.match.is_awaited:
            mine = former_of(lb.service)
            yield GuardResult(GuardName.ADOPTION, Verdict.HELD, keys, _awaited(balancer), str(owner.former), mine)
        elif lb.match.is_in_use_by_nobody_known:
            use = _use_of(balancer)
            whose = f"was released with {former}" if lb.match.is_anothers else "nothing says whose it is"
            why = f"{named} is to be taken over, and {whose}: somebody uses it, with {use}"
            yield GuardResult(GuardName.ADOPTION, Verdict.HELD, keys, why, use, "no listener, no target")
        gap = _hides_removals(lb, balancer, facts.snapshot)
        if gap is not None:
            why = f"it cannot be told yet what {named} would lose: {gap}"
            yield GuardResult(GuardName.INCOMPLETE_SNAPSHOT, Verdict.WAITING, (adopt.key,), why)


def undo_window(facts: Facts) -> Iterator[GuardResult]:
    """A load balancer that was released with its Service stays until its time has come, and while a Service may be one
    that wants it back."""
    services = facts.snapshot.services
    unread = min(services.unreadable.values(), default=None) if services is not None else None
    for pending in facts.desired.pending_deletions:
        keys = tuple(change.key for change in facts.by_owner.get(pending.balancer.key, ()))
        left_s = (pending.due_at - facts.snapshot.taken_at).total_seconds()
        if left_s > 0:
            why = f"a Service of the same namespace and name gets it back until {shown_time(pending.due_at)}"
            yield GuardResult(GuardName.UNDO_WINDOW, Verdict.WAITING, keys, why, due_in_s=left_s)
        elif unread is not None:
            why = f"a Service that may want it back could not be read: {unread}"
            yield GuardResult(GuardName.UNDO_WINDOW, Verdict.WAITING, keys, why)


def ip_loss(facts: Facts) -> Iterator[GuardResult]:
    """No load balancer goes, and its addresses with it, while its Service still wants it, or while a Service of the
    same namespace and name has come back and did not get it, because the list of load balancers lacked it then.

    For the latter one it is no loss if all its addresses are Primary IPs that are known to stay.
    """
    deletions = [change for change in facts.plan.changes if change.kind == ChangeKind.LB_DELETE]
    due = (
        [each for each in facts.desired.pending_deletions if each.due_at <= facts.snapshot.taken_at]
        if deletions
        else []
    )
    returned = {
        pending.balancer.key: pending.returned for pending in due if loses_addresses(pending.balancer, facts.snapshot)
    }
    for change in deletions:
        service, heir = facts.snapshot.service(change.owner), returned.get(change.owner)
        if service is not None and wants_balancer(service):
            why = f"Service {service.id} still wants a load balancer, and the addresses of this one would be lost"
        elif heir is not None:
            why = f"Service {heir} has come back, and the addresses of this one, which was its, would be lost: it gets"
            why += " it back once it has no other, so delete that, or approve this"
        else:
            continue
        yield GuardResult(GuardName.IP_LOSS, Verdict.HELD, (change.key,), why, "1", "0")


def address_in_use(facts: Facts) -> Iterator[GuardResult]:
    """No Primary IP is taken from what has it: the creation that asks for it waits for a load balancer of this cluster
    that is about to go, and is refused otherwise. Of several Services that ask for one the oldest gets it."""
    asking: dict[int, list[tuple[PrimaryIp, DesiredLoadBalancer, tuple[str, ...]]]] = {}
    for lb, changes in _serving(facts, ChangeKind.LB_CREATE):
        creations = tuple(change.key for change in changes if change.kind == ChangeKind.LB_CREATE)
        for found in lb.primary_ips.by_field.values():
            asking.setdefault(found.id, []).append((found, lb, creations))
    for askers in asking.values():
        askers.sort(key=lambda asker: (asker[1].service.created_at, asker[1].service.uid))
        for found, _, keys in askers:
            holder = holder_of(found, facts.snapshot)
            if holder is None and found.assignee_id is None:
                continue
            leaving = None if holder is None else _why_it_gets_free(holder, facts)
            verdict = Verdict.REFUSED if leaving is None else Verdict.WAITING
            remedy = "an address is never taken from something else: unassign it there, or name another one"
            why = f"{found.shown} is assigned to {_assignee(found, holder)}; {leaving or remedy}"
            yield GuardResult(GuardName.ADDRESS_IN_USE, verdict, keys, why)
        oldest = askers[0][1].service
        for found, _, keys in askers[1:]:
            why = f"{found.shown} goes to Service {oldest.id}, which is older and asks for it as well; name another one"
            yield GuardResult(GuardName.ADDRESS_IN_USE, Verdict.REFUSED, keys, why)


def _why_it_gets_free(balancer: CloudBalancer, facts: Facts) -> str | None:
    """What becomes of the load balancer that has a Primary IP, where this cluster deletes or has released it; None
    where it stays as it is."""
    for pending in facts.desired.pending_deletions:
        if pending.balancer.id == balancer.id:
            return f"that one is deleted after {shown_time(pending.due_at)}"
    for release in facts.desired.services.values():
        if isinstance(release, LoadBalancerRelease) and release.present == balancer:
            return f"that one is being released with Service {release.service.id}"
    owner = owner_of(balancer.spec.labels)
    is_ours = ownership(owner.cluster_uid, facts.snapshot) is Ownership.OURS
    if is_ours and owner.service_uid is None and (owner.released or owner.delete_after):
        return f"that one was released and stays: delete it to set the address free (reconcile orphans, {balancer.id})"
    return None


def _assignee(found: PrimaryIp, balancer: CloudBalancer | None) -> str:
    """``load balancer 7 web``."""
    if balancer is not None:
        return f"load balancer {balancer.id} {balancer.spec.name}"
    what = found.assignee_type.replace("_", " ") or "resource"
    return f"{what} {found.assignee_id}"


def target_floor(facts: Facts) -> Iterator[GuardResult]:
    """Existing servers are not all removed from a load balancer, nor most of them without a known reason.

    Judged on what the load balancer ends up with, so that one pass and ten small ones mean the same: a removal for a
    known reason counts no more than if it had happened before. Most are counted for each provider alone: what goes
    wrong with one must not be outvoted by servers of the other. Servers that are gone are never held. Targets that
    serve on the way there, while the load balancer leaves a network, are held, whoever has added them.
    """
    for lb, changes in _serving(facts, ChangeKind.LB_TARGET, ChangeKind.LB_NETWORK):
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
    for lb, changes in _serving(facts, ChangeKind.LB_TARGET, ChangeKind.LB_IDENTITY):
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


def certificate_issuance(facts: Facts) -> Iterator[GuardResult]:
    """An https port waits for its managed certificate; the rest of the load balancer does not."""
    for lb, changes in _serving(facts, ChangeKind.LB_LISTENER):
        if lb.certificates.pending is None or any(change.kind == ChangeKind.CERTIFICATE_CREATE for change in changes):
            continue
        for change in changes:
            if change.kind == ChangeKind.LB_LISTENER and not change.is_known:
                why, due_in_s = lb.certificates.pending, lb.certificates.due_in_s
                yield GuardResult(
                    GuardName.CERTIFICATE_ISSUANCE, Verdict.WAITING, (change.key,), why, due_in_s=due_in_s
                )


def _serving(facts: Facts, *kinds: str) -> Iterator[tuple[DesiredLoadBalancer, tuple[Change, ...]]]:
    """Each Service that wants a load balancer and has a change of one of these kinds, with all its changes."""
    for owner, changes in facts.by_owner.items():
        if any(change.kind in kinds for change in changes):
            lb = facts.desired.services.get(owner.name)
            if isinstance(lb, DesiredLoadBalancer):
                yield lb, changes


def _alive(targets: Collection[Target], lb: DesiredLoadBalancer, snapshot: Snapshot) -> Counter[Provider]:
    """Number of each provider's servers among these targets: each is one by whichever address, and none when it is
    gone. The servers of a selector, and whether an address of no Node serves, are not known here."""
    servers = {server: target for target in targets if (server := lb.targets.node_targets.led_to(target))}
    return Counter(server.provider for server, target in servers.items() if not _is_gone(target, server, lb, snapshot))


def _is_gone(target: Target, server: ServerKey, lb: DesiredLoadBalancer, snapshot: Snapshot) -> bool:
    absent = isinstance(snapshot.find(server), Absent)
    return absent and not removal_reason(target, server, lb.targets.claiming(server), snapshot).server_lives


def _awaited(balancer: CloudBalancer) -> str:
    """The Service whose return the load balancer waits for."""
    owner = owner_of(balancer.spec.labels)
    due_at = due_of(owner)
    until = "" if due_at is None else f" until {shown_time(due_at)}"
    named = f"load balancer {balancer.id} {balancer.spec.name}"
    return f"{named} was released{until} with {shown_former(owner)}, which gets it back if it returns"


def _use_of(balancer: CloudBalancer) -> str:
    """``1 listener and 2 targets``."""
    counts = ((len(balancer.spec.listeners), "listener"), (len(balancer.targets), "target"))
    return " and ".join(counted(number, word) for number, word in counts if number)


def _hides_removals(lb: DesiredLoadBalancer, balancer: CloudBalancer, snapshot: Snapshot) -> str | None:
    """The reason why later readings may take more away from the load balancer than this one; None when they do not."""
    if lb.wanted is None:
        return None
    targets, place, network = lb.wanted.targets, lb.wanted.attachment, snapshot.network
    led_to = lb.targets.node_targets.led_to
    servers = {server: target for target in balancer.targets if (server := led_to(target))}
    if (servers and isinstance(targets, Unmanaged)) or (balancer.attachments and isinstance(place, Unmanaged)):
        return network.why if isinstance(network, Unknown) else "there is no network as HCLOUD_NETWORK names it"
    settled = {
        member.server
        for membership in (Membership.TARGET, Membership.IGNORED)
        for member in lb.targets.being(membership)
    }
    gap = snapshot.robot.servers.why_incomplete if snapshot.robot else None
    if gap and any(isinstance(target, IpTarget) and led_to(target) is None for target in balancer.targets):
        return f"the list of Robot servers is incomplete: {gap}"
    if not any(servers[key] in lb.targets.targets for key in servers.keys() - settled):
        return None
    return next(member.why for member in lb.targets.being(Membership.UNCERTAIN))
