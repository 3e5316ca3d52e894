"""Which changes of a plan a round can carry out, and why others wait for a later one (design section 2, rounds).

Waiting for a round is no verdict: the next plan of the same pass has the change again, with what it lacked.
"""

from collections.abc import Collection, Iterator, Mapping

from desired.change import Change, Plan


def ready_now(plan: Plan, applied: Collection[str] = (), given_up: Collection[str] = ()) -> tuple[Change, ...]:
    """The allowed changes that can be carried out now, in their order.

    ``applied`` and ``given_up`` are keys of changes that this pass has tried already and does not try again: what
    depends on the former is ready, what depends on the latter is not.
    """
    unready = not_ready(plan, given_up)
    return tuple(
        change
        for change in plan.allowed
        if change.key not in unready and change.key not in applied and change.key not in given_up
    )


def not_ready(plan: Plan, given_up: Collection[str] = ()) -> Mapping[str, str]:
    """Key of each allowed change that cannot be carried out now → why, in words for people.

    What waits makes wait what depends on it. What it merely follows does not.
    """
    allowed = {change.key: change for change in plan.allowed}
    created = {change.key for change in plan.changes if change.kind == "lb.create"}
    claims = {change.owner: change.key for change in plan.changes if change.kind == "service.claim"}
    why = {key: reason for key, change in allowed.items() if (reason := _why(change, created, claims)) is not None}
    dependents: dict[str, list[str]] = {}
    for key, change in allowed.items():
        for before in change.depends_on:
            dependents.setdefault(before, []).append(key)
    blocked = [key for key in plan.by_key if key in why or key in given_up or key not in allowed]
    while blocked:
        before = blocked.pop()
        reason = f"comes after {before}, which " + ("was not done" if before in given_up else "has to wait")
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
    if change.kind == "service.status" and change.owner in claims:
        return f"takes the version that {change.owner} has only after {claims[change.owner]}"
    return None


def _needed(change: Change) -> Iterator[str]:
    """Keys of load balancers whose id or addresses a change takes: the one that it is a part of, or publishes."""
    kind, *name = change.key.split("/")
    if kind == "load_balancer" and len(name) > 2:
        yield "/".join((kind, *name[:2]))
    if change.kind == "service.status":
        yield from change.depends_on
