"""All small worlds of classes, held against what must never be allowed: one Service of every class, in every state,
with every finalizer, and one load balancer with every label.

Two Nodes are in order. Beside a process of a class HCCM may serve the Services without one, and other processes of
ours those of other classes.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from itertools import product
from typing import Any

from desired.guards.judge import ask_guards, judge
from desired.load_balancers.ownership import former_by_name, stamped
from desired.model.service import Service
from desired.model.serving import Serving
from desired.names import (
    FINALIZER_BALANCER,
    FINALIZER_OWN_CLASS,
    LABEL_CLASS,
    LABEL_CLUSTER_UID,
    LABEL_FORMER,
    LABEL_OWN_CLASS_UID,
    LABEL_RELEASED,
    LABEL_SERVICE_UID,
    OWN_CLASS,
)
from desired.plan.change import Change, Claimed
from desired.plan.kinds import ChangeKind
from desired.section import Section
from tests.balancers import SERVICE_UID, a_balancer, a_served_service
from tests.builders import CLUSTER_UID, NOW
from tests.campaign.forbidden import viewed
from tests.campaign.small_worlds import CIRCUMSTANCES, Given, Machine, given
from tests.campaign.small_worlds import World as SmallWorld

OTHER_CLASS = "example.com/internal"
OWN, OTHER = "hcloud-reconciler..load-balancer", "example.com..internal"
_HERE, _HCCM = {LABEL_CLUSTER_UID: CLUSTER_UID}, {LABEL_SERVICE_UID: SERVICE_UID}
_BY_US = {LABEL_OWN_CLASS_UID: SERVICE_UID, **_HERE}
_RELEASED = {
    LABEL_FORMER: former_by_name("default", "web"),
    LABEL_RELEASED: stamped(NOW - timedelta(minutes=5)),
    **_HERE,
}
LABELS: Mapping[str, Mapping[str, str] | None] = {
    "there is none": None,
    "none": {},
    "HCCM's": _HCCM,
    "HCCM's, with ours of the cluster": _HCCM | _HERE,
    "of our class": _BY_US | {LABEL_CLASS: OWN},
    "of our class, and HCCM's": _BY_US | _HCCM | {LABEL_CLASS: OWN},
    "of another class": _BY_US | {LABEL_CLASS: OTHER},
    "of another class, and HCCM's": _BY_US | _HCCM | {LABEL_CLASS: OTHER},
    "of another class, for another Service": _BY_US | {LABEL_OWN_CLASS_UID: "uid-other", LABEL_CLASS: OTHER},
    "of no class, released": _RELEASED,
    "of a class that is lost": _BY_US,
    "of our class, released": _RELEASED | {LABEL_CLASS: OWN},
    "of another class, released": _RELEASED | {LABEL_CLASS: OTHER},
}
"""What the labels of the load balancer say."""
FINALIZER_OTHER = Serving(OTHER_CLASS).finalizer
FINALIZERS = (
    (),
    (FINALIZER_BALANCER,),
    (FINALIZER_OWN_CLASS,),
    (FINALIZER_BALANCER, FINALIZER_OWN_CLASS, FINALIZER_OTHER),
)
SERVICES = (
    *product(("lives", "is deleted"), ("LoadBalancer",), (None, OWN_CLASS, OTHER_CLASS), FINALIZERS),
    *product(("lives", "is deleted"), ("NodePort",), (None,), FINALIZERS),  # the API server drops the class
    ("is gone", "LoadBalancer", None, ()),
)
"""What becomes of it, its type, class and finalizers."""
AROUND = (
    "all is well",
    "the list of Services is cut off",
    "the list of load balancers is cut off",
    "the cluster is unread",
    "another controller runs",
)
"""Of ``CIRCUMSTANCES``."""


@dataclass(frozen=True, slots=True)
class World:
    """A world as it is drawn."""

    state: str
    type: str
    of_class: str | None
    finalizers: tuple[str, ...]
    labels: str
    """Of ``LABELS``."""
    serves: str | None
    """The class of this process; None: Services without one."""
    is_published: bool
    circumstance: str

    @property
    def is_served(self) -> bool:
        """Whether this process serves such Services."""
        return self.type == "LoadBalancer" and self.state != "is gone" and self.of_class == self.serves

    @property
    def is_left(self) -> bool:
        """Whether the Service is left to HCCM, or to the process that serves its class."""
        return self.type == "LoadBalancer" and self.state != "is gone" and self.of_class != self.serves

    @property
    def is_claimed(self) -> bool:
        """Whether the Service has the finalizer of this process."""
        return Serving(self.serves).finalizer in self.finalizers

    @property
    def names_the_service(self) -> bool:
        """Whether a label names the Service."""
        return self.state != "is gone" and SERVICE_UID in (LABELS[self.labels] or {}).values()

    @property
    def is_of_others(self) -> bool:
        """Whether label or class are those of another process, or of HCCM, or may be, as that of the class is lost."""
        labels = LABELS[self.labels] or {}
        if self.serves is None:
            return LABEL_CLASS in labels or LABEL_OWN_CLASS_UID in labels
        return bool(labels) and labels.get(LABEL_CLASS) != OWN

    @property
    def is_free(self) -> bool:
        """Whether its labels leave it to a living Service of this process."""
        return "released" in self.labels or ("is lost" in self.labels and self.serves is not None)


def worlds() -> Iterator[World]:
    """All of them."""
    for service, labels, serves, is_published, around in product(
        SERVICES, LABELS, (None, OWN_CLASS), (True, False), AROUND
    ):
        yield World(*service, labels, serves, is_published, around)


_IN_ORDER = SmallWorld((Machine("there", "ready"), Machine("there", "ready")), "none")


def values_of(world: World) -> Given:
    """A world as values."""
    usual, labels = given(_IN_ORDER), LABELS[world.labels]
    changes: dict[str, Any] = {"spec": {"labels": labels}}
    balancers = [] if labels is None else [a_balancer(**changes)]
    services = [] if world.state == "is gone" else [_service(world)]
    snapshot = replace(
        usual.snapshot,
        serving=Serving(world.serves),
        services=Section({service.id: service for service in services}),
        load_balancers=Section({balancer.id: balancer for balancer in balancers}),
    )
    return replace(usual, snapshot=CIRCUMSTANCES[world.circumstance].read(snapshot))


def _service(world: World) -> Service:
    service = a_served_service(
        type=world.type,
        load_balancer_class=world.of_class,
        finalizers=world.finalizers,
        deleted_at=NOW if world.state == "is deleted" else None,
    )
    return service if world.is_published else replace(service, ingress=())


# What must never be allowed.


@dataclass(frozen=True, slots=True)
class Row:
    """A world in which no such change may pass, whatever a person approves."""

    name: str
    when: Callable[[World], bool]
    what: Callable[[Change], bool]
    unless_approved: bool = False
    """Whether it may pass once a person approves."""


def _touches(change: Change) -> bool:
    """Whether it changes, deletes, adopts or releases the load balancer that is there."""
    return str(change.kind).startswith("lb.") and change.kind is not ChangeKind.LB_CREATE


def _deletes(change: Change) -> bool:
    return change.kind is ChangeKind.LB_DELETE


def _ends(change: Change) -> bool:
    return change.kind in (ChangeKind.LB_DELETE, ChangeKind.LB_RETAIN)


def _is_of_service(change: Change) -> bool:
    return str(change.kind).startswith("service.")


def _removes(finalizer: str) -> Callable[[Change], bool]:
    return lambda change: isinstance(change.before, Claimed) and change.before.finalizer == finalizer


ROWS: Sequence[Row] = (
    Row(
        "a load balancer of others stays as it is, unless it was released, or a living Service tells its lost class",
        lambda world: world.is_of_others and not (world.is_served and world.state == "lives" and world.is_free),
        _touches,
    ),
    Row(
        "a load balancer is not deleted while its Service lives and asks for it here",
        lambda world: world.state == "lives" and world.is_served and world.names_the_service,
        _deletes,
    ),
    Row(
        "no load balancer ends with a Service that lacks the finalizer before a person says so",
        lambda world: world.names_the_service and not world.is_claimed,
        _ends,
        unless_approved=True,
    ),
    Row(
        "a Service of others without our finalizer stays as it is, but where a load balancer of ours names it",
        lambda world: world.is_left and not world.is_claimed and (world.is_of_others or not world.names_the_service),
        _is_of_service,
    ),
    Row(
        "HCCM's finalizer stays while a class is served",
        lambda world: world.serves is not None,
        _removes(FINALIZER_BALANCER),
    ),
    Row(
        "the finalizer of a class stays while another is served",
        lambda world: world.serves != OWN_CLASS,
        _removes(FINALIZER_OWN_CLASS),
    ),
    Row(
        "nothing is deleted by a list of Services that is cut off",
        lambda world: world.state == "is gone" and world.circumstance == "the list of Services is cut off",
        _deletes,
    ),
    Row("a released load balancer is not deleted", lambda world: "released" in world.labels, _deletes),
    Row(
        "no load balancer whose Service is gone is deleted while the cluster is unread",
        lambda world: world.state == "is gone" and world.circumstance == "the cluster is unread",
        _deletes,
    ),
)


@dataclass
class Tally:
    """What was found in some worlds."""

    worlds: int = 0
    plans: int = 0
    """Worlds in which something is planned."""
    here: Counter[str] = field(default_factory=Counter)
    """Row → worlds that it is about."""
    elsewhere: Counter[str] = field(default_factory=Counter)
    """Row → worlds that it is not about, in which such a change passes."""
    broken: list[str] = field(default_factory=list)
    """What has passed that must not."""


def tally_of(drawn: Iterable[World]) -> Tally:
    """Plan and judge each world with all that is held approved, and hold it against the table."""
    tally = Tally()
    for world in drawn:
        view = viewed(values_of(world))
        results = ask_guards(view)
        unasked = plan = judge(view, (), results)
        if plan.holds:
            plan = judge(view, {hold.hash for hold in plan.holds}, results)
        tally.worlds += 1
        tally.plans += bool(plan.changes)
        for row in ROWS:
            allowed = unasked.allowed if row.unless_approved else plan.allowed
            is_about, passes = row.when(world), any(map(row.what, allowed))
            tally.here[row.name] += is_about
            tally.elsewhere[row.name] += passes and not is_about
            if is_about and passes:
                tally.broken.append(f"{world}: {row.name}")
    return tally


def unkept(tally: Tally) -> list[str]:
    """What has passed, and the rows that say nothing of these worlds."""
    toothless = [row.name for row in ROWS if not (tally.here[row.name] and tally.elsewhere[row.name])]
    return [*tally.broken, *(f"nothing is like that: {name}" for name in toothless)]
