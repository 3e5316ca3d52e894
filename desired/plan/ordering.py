"""Order in which changes are carried out: the locks of each, and the changes that have to end before it begins.

A lock is an object that has one change in flight at most: a Node, a Service with its load balancer, or a network.
Hetzner refuses a second change of a locked object (``locked``, ``conflict``). Changes that share no lock and do not
depend on each other run in parallel.

| Function | Result |
|---|---|
| ``locks_of``, ``networks_of`` | the locks of a change; the networks among them |
| ``in_order`` | the changes, each after those that it depends on or follows |
| ``predecessors`` | the changes that have to end before each one begins, locks included |
| ``not_preemptible`` | the changes that no series of preemptible ones delays |
| ``urgent`` | the changes that wait for no request to Hetzner |
| ``bridged`` | a part of a plan without gaps in the order |
| ``not_ready`` | the allowed changes that cannot be carried out now, and why |
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from desired.model.key import Key, ObjectKind
from desired.model.load_balancer import Attachment, LoadBalancer
from desired.plan.change import Change, Plan
from desired.plan.kinds import ChangeKind
from desired.section import grouped


def locks_of(change: Change) -> frozenset[str]:
    """The objects that a change locks while it is carried out.

    These are its owner: a Node, or a Service with its load balancer and certificate; and the network that it attaches
    something to or detaches it from. A route locks the network alone: its Node need not wait for it.
    """
    networks = networks_of(change)
    return networks if change.row.object is ObjectKind.ROUTE else frozenset({change.owner, *networks})


def networks_of(change: Change) -> frozenset[str]:
    """The networks among the locks of a change."""
    return frozenset(_networks(change))


def _networks(change: Change) -> Iterator[Key]:
    if not change.row.locks_network:
        return
    if change.row.object is ObjectKind.ROUTE:
        yield Key(ObjectKind.NETWORK, change.cloud_id)
    for side in (change.before, change.after):
        attachment = side.attachment if isinstance(side, LoadBalancer) else side
        if isinstance(attachment, Attachment):
            yield Key(ObjectKind.NETWORK, attachment.network_id)


def in_order(changes: Sequence[Change]) -> tuple[Change, ...]:
    """The changes as they were given, except that each is preceded by all that it depends on or follows.

    Unknown keys count as done. Raises ValueError if changes wait for each other in a circle.
    """
    places: dict[str, int] = {change.key: place for place, change in enumerate(changes)}
    order: dict[str, Change] = {}
    for first in changes:
        path = {} if first.key in order else {first.key: _before(first, places)}
        while path:
            key, before = next(reversed(path.items()))
            needed = next((changes[place] for place in before if changes[place].key not in order), None)
            if needed is None:
                order[key] = changes[places[key]]
                del path[key]
            elif needed.key in path:
                circle = list(path)[list(path).index(needed.key) :]
                raise ValueError(f"changes that wait for each other: {', '.join(circle)}")
            else:
                path[needed.key] = _before(needed, places)
    return tuple(order.values())


def _before(change: Change, places: Mapping[str, int]) -> Iterator[int]:
    """Positions of the changes that go before a change, in the order in which they were given."""
    return iter(sorted({places[key] for key in (*change.depends_on, *change.follows) if key in places}))


def predecessors(changes: Sequence[Change]) -> Mapping[str, frozenset[str]]:
    """Key → keys of those changes that have to end before this one begins, in the order of ``in_order``.

    They are those that it depends on or follows, and for each of its locks the one before it. Raises ValueError if
    changes wait for each other in a circle.
    """
    among = {change.key for change in changes}
    last: dict[str, str] = {}
    found: dict[str, frozenset[str]] = {}
    for change in in_order(changes):
        locks = locks_of(change)
        named = among.intersection((*change.depends_on, *change.follows))
        found[change.key] = frozenset({*named, *(last[lock] for lock in locks if lock in last)})
        last |= dict.fromkeys(locks, change.key)
    return found


def not_preemptible(changes: Sequence[Change]) -> frozenset[str]:
    """Keys of the changes that neither are preemptible nor come after one that is.

    Raises ValueError when changes wait for each other in a circle.
    """
    return _before_all(changes, {change.key for change in changes if change.row.is_preemptible})


def urgent(changes: Sequence[Change]) -> frozenset[str]:
    """Keys of the changes that neither are sent to Hetzner nor come after one that is, such as that of a joining Node.

    Raises ValueError when changes wait for each other in a circle.
    """
    return _before_all(changes, {change.key for change in changes if change.row.writes_cloud})


def _before_all(changes: Sequence[Change], patient: set[str]) -> frozenset[str]:
    """Keys of the changes that neither are ``patient`` nor come after one that is."""
    for key, before in predecessors(changes).items():
        if not patient.isdisjoint(before):
            patient.add(key)
    return frozenset(change.key for change in changes if change.key not in patient)


def bridged(changes: Sequence[Change], plan: Plan) -> tuple[Change, ...]:
    """These changes of ``plan``. Each also follows the ones that left-out changes before it would have followed.

    Changes are planned in chains: without a link, its neighbors would lose their order. Raises ValueError when changes
    of the plan wait for each other in a circle.
    """
    among = {change.key for change in changes}
    if len(among) == len(plan.changes):
        return tuple(changes)
    reached: dict[str, frozenset[str]] = {}
    for change in in_order(plan.changes):
        named = (key for key in (*change.depends_on, *change.follows) if key in plan.by_key)
        reached[change.key] = frozenset().union(*({key} if key in among else reached[key] for key in named))
    return tuple(
        replace(change, follows=tuple(sorted(reached[change.key].difference(change.depends_on)))) for change in changes
    )


def not_ready(plan: Plan, given_up: Collection[str] = ()) -> Mapping[str, str]:
    """Key of each allowed change that cannot be carried out now → why, in words for people.

    A change that waits delays its dependents, and not the changes that merely follow it.
    """
    allowed: dict[str, Change] = {change.key: change for change in plan.allowed}
    created: set[str] = {change.key for change in plan.changes if change.kind == ChangeKind.LB_CREATE}
    claims: dict[str, str] = {c.owner: c.key for c in plan.changes if c.kind == ChangeKind.SERVICE_CLAIM}
    why: dict[str, str] = {
        key: reason for key, change in allowed.items() if (reason := _why(change, created, claims)) is not None
    }
    dependents = grouped((before, key) for key, change in allowed.items() for before in change.depends_on)
    blocked = [key for key in plan.by_key if key in why or key in given_up or key not in allowed]
    while blocked:
        before = blocked.pop()
        reason = f"blocked by {before} ({'not applied' if before in given_up else 'waiting'})"
        new = [key for key in dependents.get(before, ()) if key not in why]
        why |= dict.fromkeys(new, reason)
        blocked += new
    return why


def _why(change: Change, created: Collection[str], claims: Mapping[str, str]) -> str | None:
    if not change.is_known:
        return "takes a value that is known only after another change"
    balancer = next((key for key in _needed(change) if key in created), None)
    if balancer is not None:
        return f"takes what is known of {balancer} only once that is there"
    if change.kind == ChangeKind.SERVICE_STATUS and change.owner in claims:
        return f"takes the version that {change.owner} has only after {claims[change.owner]}"
    return None


def _needed(change: Change) -> Iterator[str]:
    """Keys of load balancers whose id or addresses a change takes: the one that it is a part of, or publishes."""
    if change.key.kind is ObjectKind.LOAD_BALANCER and change.key.parts:
        yield change.key.whole
    if change.kind == ChangeKind.SERVICE_STATUS:
        yield from change.depends_on
