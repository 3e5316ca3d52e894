"""The undo window: a load balancer whose Service is gone is let go first, and deleted later (D26).

Until it is deleted a Service of the same namespace and name gets it back with its addresses. What has to be known for
that is on the load balancer: whose it was, and after when it goes. Only what has exactly the labels that this product
writes is ever deleted for them.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from desired.annotations.options import Defaults
from desired.annotations.parsing import read_options
from desired.annotations.table import BY_FIELD
from desired.load_balancer import CloudBalancer, Owner
from desired.load_balancers.identity import former_of, owner_of
from desired.load_balancers.matching import BalancerMatch, Missing, Undecided, may_come_back
from desired.load_balancers.wanted import wants_balancer
from desired.section import Unmanaged
from desired.service import Service
from desired.settings import Settings
from desired.snapshot import Snapshot

WHERE_UNCLEAR = timedelta(minutes=10)
"""The window of a Service that asks for one which cannot be understood, where no other is configured: who asks for a
window does not want none."""
_STAMP = "%Y%m%dT%H%M%SZ"
_STAMPED = re.compile(r"[0-9]{8}T[0-9]{6}Z", re.ASCII)


@dataclass(frozen=True, slots=True)
class Parting:
    """A load balancer that was let go, and that no Service wants back."""

    balancer: CloudBalancer
    due_at: datetime
    """When it may be deleted."""
    returned: str | None = None
    """Id of the living Service of that namespace and name, which wants a load balancer, names no other one, and was not
    given this one; None while there is none."""


def window_of(service: Service, settings: Settings) -> timedelta:
    """How long the load balancer outlives the Service: by its annotation, else by the operator's flag."""
    row = BY_FIELD["undo_window"]
    annotations = {key: text for key, text in service.claim.annotations.items() if key == row.full_key}
    options, bad = read_options(annotations, Defaults())
    if bad:
        return settings.undo_window or WHERE_UNCLEAR
    asked_s = options.undo_window
    return settings.undo_window if isinstance(asked_s, Unmanaged) else timedelta(seconds=asked_s)


def why_window_is_unclear(service: Service) -> str | None:
    """What is wrong with the Service's annotation; None when it can be understood, or is not there."""
    row = BY_FIELD["undo_window"]
    text = service.claim.annotations.get(row.full_key)
    bad = {} if text is None else read_options({row.full_key: text}, Defaults())[1]
    return bad["undo_window"].text if bad else None


def stamped(moment: datetime) -> str:
    """A time as a label may have it."""
    return f"{moment.astimezone(UTC):{_STAMP}}"


def due_of(owner: Owner) -> datetime | None:
    """After when the load balancer may be deleted, by its label; None when it has none, or one that we never write."""
    text = owner.delete_after
    if text is None or not _STAMPED.fullmatch(text):
        return None
    try:
        return datetime.strptime(text, _STAMP).replace(tzinfo=UTC)
    except ValueError:
        return None


def shown_time(moment: datetime) -> str:
    """A time as a sentence has it."""
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def shown_former(owner: Owner) -> str:
    """The Service whose load balancer it was, as far as its label tells."""
    namespace, dot, name = (owner.former or "").partition(".")
    return f"Service {namespace}/{name}" if dot else "its Service"


def partings(snapshot: Snapshot, matches: Mapping[str, BalancerMatch]) -> tuple[Parting, ...]:
    """What was let go and is wanted by nobody, by id. ``matches`` are of all Services that want a load balancer or have
    to let go of one: what one of them may get is not among these, nor what one of them may yet turn out to get."""
    if snapshot.services is None:
        return ()
    claimed = (None if isinstance(match, Missing | Undecided) else match.balancer for match in matches.values())
    taken = {balancer.id for balancer in claimed if balancer is not None}
    undecided = [snapshot.services.items[key] for key, match in matches.items() if isinstance(match, Undecided)]
    open_ = {former_of(service) for service in undecided}
    return tuple(_partings(snapshot, taken, open_))


def _partings(snapshot: Snapshot, taken: Collection[int], open_: Collection[str]) -> list[Parting]:
    found = []
    heirs = {former_of(service): service for service in snapshot.services or () if wants_balancer(service)}
    for balancer in snapshot.load_balancers or ():
        owner = owner_of(balancer.spec.labels)
        due_at = due_of(owner)
        if due_at is None or balancer.id in taken or owner.former in open_ or not may_come_back(owner, snapshot):
            continue
        heir = heirs.get(owner.former or "")
        is_back = heir is not None and not _names_another(heir, balancer)
        found.append(Parting(balancer, due_at, heir.id if heir and is_back else None))
    return found


def _names_another(service: Service, balancer: CloudBalancer) -> bool:
    name = read_options(service.claim.annotations, Defaults())[0].name
    return not isinstance(name, Unmanaged) and name != balancer.spec.name
