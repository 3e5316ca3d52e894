"""Plans and their parts: changes, notes, holds. All frozen, compared by full value, ordered by a key of their own."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from functools import cache, cached_property
from math import ceil

from desired.model.clocks import shown_moment
from desired.model.key import Key, ObjectKind
from desired.model.load_balancer import (
    KNOWN_AFTER_APPLY,
    Attachment,
    Identity,
    KnownAfterApply,
    Listener,
    LoadBalancer,
    ManagedCertificate,
    Owner,
    Target,
)
from desired.model.price import Cost
from desired.model.route import NetworkCondition, Route
from desired.model.service import Ingress, ServiceCondition
from desired.model.snapshot import NodeAddress
from desired.model.taint import Taint, out_of_service_taint
from desired.model.to_builtins import digest
from desired.plan.evidence import AbsenceProof, Age, Evidence, Identified, NetworkRead, ServerGone, WholeList
from desired.plan.kinds import KINDS, ChangeKind, Kind, Verb
from desired.plan.notes import Note
from desired.syntax.provider_id import Provider, ServerKey


@dataclass(frozen=True, slots=True)
class NodeIdentity:
    """The part of a Node that ``node.initialise`` sets."""

    provider_id: str | None
    labels: Mapping[str, str]
    """Owned keys only."""
    taints: tuple[Taint, ...]
    """The whole list: taints have no merge key."""
    addresses: tuple[NodeAddress, ...]


@dataclass(frozen=True, slots=True)
class LostNode:
    """What ``node.delete`` removes, and the proof that its server is gone."""

    identity: NodeIdentity
    proof: AbsenceProof

    @property
    def is_out_of_service(self) -> bool:
        """Whether our out-of-service taint allowed this loss: it is no older than the silence. None is on Robot's."""
        taint = out_of_service_taint(self.identity.taints)
        added = None if taint is None else taint.added_at
        return self.proof.provider is Provider.CLOUD and added is not None and added >= self.proof.not_ready_since


@dataclass(frozen=True, slots=True)
class OutOfService:
    """What ``node.out_of_service_taint`` says of a Node by our taint: its server is gone, and this is the proof."""

    proof: AbsenceProof


@dataclass(frozen=True, slots=True)
class Claimed:
    """What ``service.release`` removes from a Service: the finalizer, and the published addresses."""

    finalizer: str | None
    """None if the Service does not have it."""
    ingress: tuple[Ingress, ...]


State = (
    NodeIdentity
    | LostNode
    | OutOfService
    | Mapping[str, str]
    | tuple[NodeAddress, ...]
    | bool
    | str
    | tuple[Ingress, ...]
    | KnownAfterApply
    | Claimed
    | LoadBalancer
    | Owner
    | Identity
    | Attachment
    | Listener
    | Target
    | ManagedCertificate
    | Route
    | NetworkCondition
)
"""Every type that the two sides of a change may have; which kind has which is in ``docs/design/architecture.md``."""


class Verdict(StrEnum):
    """Decisions of guards on a change, weakest first."""

    ALLOWED = "allowed"
    WAITING = "waiting"
    """For time or for data. It cannot be approved."""
    HELD = "held"
    """A person may approve it."""
    REFUSED = "refused"
    """Another owner's. It cannot be approved."""

    @property
    def weight(self) -> int:
        """The weight: of two verdicts the heavier one wins."""
        return list(Verdict).index(self)


class GuardName(StrEnum):
    """Names of the guards, and of what else withholds a change. The values are public: holds, metrics and logs show
    them."""

    INCOMPLETE_SNAPSHOT = "incomplete-snapshot"
    OTHER_CONTROLLER = "other-controller"
    PROJECT_ANCHOR = "project-anchor"
    SILENT_CLUSTER = "silent-cluster"
    ABSENCE_PROOF = "absence-proof"
    CLOCK_SKEW = "clock-skew"
    NODE_BLAST_RADIUS = "node-blast-radius"
    ADDRESS_BLAST_RADIUS = "address-blast-radius"
    BY_DEFAULT = "by-default"
    FOREIGN_OWNER = "foreign-owner"
    ADOPTION = "adoption"
    IP_LOSS = "ip-loss"
    ADDRESS_IN_USE = "address-in-use"
    TARGET_FLOOR = "target-floor"
    TARGET_HEALTH = "target-health"
    EXPOSURE = "exposure"
    CERTIFICATE_ISSUANCE = "certificate-issuance"
    ROUTE_BLAST_RADIUS = "route-blast-radius"
    CLUSTER_CIDR = "cluster-cidr"
    FLAPPING = "flapping"
    BACK_OFF = "back-off"
    QUOTA = "quota"
    POLICY = "policy"
    VOLUME_DETACH = "volume-detach"
    ONLY = "only"
    """No guard: ``--only`` leaves out what has to be done first."""
    AGREED_PLAN = "agreed-plan"
    """No guard: the plan that was agreed to does not have the change, or not so."""


@dataclass(frozen=True, slots=True)
class GuardDecision:
    """The decision on one change."""

    verdict: Verdict
    rule: GuardName | None = None
    """What withholds it; None when the change is allowed."""
    why: str = ""
    """One sentence for people: what is wrong, or what is waited for."""
    due_in_s: float | None = None
    """Seconds until the change is worth another look; None when no time is known."""

    @property
    def waits_for_data(self) -> bool:
        """Whether a gap in the reading alone withholds the change: the next reading may have none."""
        return self.rule == GuardName.INCOMPLETE_SNAPSHOT


ALLOWED = GuardDecision(Verdict.ALLOWED)


@dataclass(frozen=True, slots=True)
class Difference:
    """Another value that a setting of the cluster alone asks for, and that takes away, interrupts, exposes or publishes
    otherwise. An approval names it, and not the changes that bring it about."""

    owner: Key
    """Of the Service or Node."""
    field: str
    before: str
    """The same until the last change that brings it about is made."""
    after: str
    setting: str
    """Variable or flag behind it, ``HCLOUD_NETWORK``."""
    port: int | None = None
    """None if it is not of one port."""


@dataclass(frozen=True, slots=True)
class Change:
    """One difference between the present and the desired state."""

    key: Key
    """Identity of what changes, ``node/web-1``; no plan has a key twice."""
    kind: ChangeKind
    verb: Verb
    before: State | None
    after: State | None
    reason: str
    """One sentence for people: why this is wanted."""
    owner: Key
    """Key of the Node or Service that the change serves; of a load balancer that is no Service's any more its own."""
    consequences: tuple[str, ...] = ()
    """Warnings for people."""
    depends_on: tuple[str, ...] = ()
    """Keys of changes that have to be done first; withheld with them."""
    follows: tuple[str, ...] = ()
    """Keys of changes that are tried first if they are applied in the same pass. They may fail."""
    conditions: tuple[ServiceCondition, ...] = field(default=(), compare=False)
    """Conditions that a write of this change takes along; they are never a difference of their own."""
    decision: GuardDecision = ALLOWED
    cloud_id: int | None = None
    """Id of the load balancer or network that it is about, or whose addresses it publishes; None while that does
    not exist, and for a change that concerns none."""
    brings: tuple[Difference, ...] = field(default=(), compare=False)
    """Harmful differences that a setting alone asks for: held by guard ``by-default``."""
    server: ServerKey | None = None
    """Of a target the server that it leads to; None for one that leads to none that is known, and for other changes."""
    presumed: tuple[Evidence, ...] = field(default=(), compare=False)
    """Evidence that only a snapshot tells, from the planner (``with_evidence``)."""
    cost: Cost | None = field(default=None, compare=False)
    """The difference that it makes to the price; None if it makes none. For people: no rule reads it, and a new price
    makes the same plan."""

    def __post_init__(self) -> None:
        if self.verb not in KINDS[self.kind].verbs:
            raise ValueError(f"{self.kind} is never a {self.verb}")
        if self.before == self.after:
            raise ValueError(f"{self.key}: a change that changes nothing")

    @classmethod
    def of(
        cls,
        key: Key,
        kind: ChangeKind,
        before: State | None,
        after: State | None,
        reason: str,
        owner: Key,
        *,
        consequences: tuple[str, ...] = (),
        depends_on: tuple[str, ...] = (),
    ) -> "Change":
        """A change with the verb of its kind; if that has several, with the one that follows from its sides."""
        (verb, *others) = KINDS[kind].verbs
        if others:
            verb = Verb.ADD if before is None else Verb.REMOVE if after is None else Verb.MODIFY
        return cls(key, kind, verb, before, after, reason, owner, consequences, depends_on)

    @property
    def row(self) -> Kind:
        """The change's row in the table of kinds."""
        return KINDS[self.kind]

    @property
    def is_of_no_service(self) -> bool:
        """Whether it is about a load balancer that no Service has or wants any more, and that is its own owner."""
        return self.owner.kind is ObjectKind.LOAD_BALANCER

    @property
    def comes_after_its_balancer(self) -> bool:
        """Whether it comes after the deletion or the retention of the load balancer of the Service that it serves: one
        was found then."""
        balancer = Key(ObjectKind.LOAD_BALANCER, self.owner.name)
        return not {balancer, balancer.part("retain")}.isdisjoint(self.depends_on)

    @property
    def rests_on(self) -> tuple[Evidence, ...]:
        """All evidence without which it would be wrong: by its kind, verb and values, and ``presumed``."""
        evidence = _evidence(self)
        return (*evidence, *self.presumed) if self.presumed else evidence

    @property
    def is_known(self) -> bool:
        """Whether all values are known that it applies; else it waits for the next pass."""
        if isinstance(self.after, Listener):
            return not self.after.waits_for_certificate
        return KNOWN_AFTER_APPLY not in (self.before, self.after)

    @property
    def digest(self) -> str:
        """The digest of its difference: kind, key and both sides."""
        return self._digest_of(self.before, self.after)

    @property
    def digests(self) -> tuple[str, ...]:
        """That digest, and the one of an earlier plan if a value was known only after the apply then."""
        before, after = self.before, self.after
        if self.kind is ChangeKind.SERVICE_STATUS and after:
            after = KNOWN_AFTER_APPLY
        elif self.kind is ChangeKind.LB_RDNS:
            before = KNOWN_AFTER_APPLY
        elif isinstance(after, Listener) and after.http is not None and isinstance(after.http.certificates, tuple):
            after = replace(after, http=replace(after.http, certificates=KNOWN_AFTER_APPLY))
        return self.digest, self._digest_of(before, after)

    def _digest_of(self, before: State | None, after: State | None) -> str:
        return digest(self.kind, self.key, before, after, digits=64)

    @property
    def order(self) -> tuple[str, int, str]:
        """The position of the change in a plan: by section, then class (removals last), then key."""
        return (self.key.kind, list(Verb).index(self.verb), self.key)

    def ruled(self, decision: GuardDecision) -> "Change":
        """The same change with another decision."""
        return replace(self, decision=decision)


_OF_METAL: tuple[Evidence, ...] = (
    *(WholeList(name, if_read=True, each=True) for name in ("services", "load_balancers")),
    NetworkRead(),
)
"""Evidence for a dedicated server: without its Node, targets by its addresses cannot be told from those of others.
Targets of unreadable objects stay, and by private address all do while the network is not known."""


def _evidence(change: Change) -> tuple[Evidence, ...]:
    """The evidence that follows from the change's own values."""
    needed, before, after = _by_kind(change.kind, change.verb), change.before, change.after
    if isinstance(before, LostNode):
        lists = _OF_METAL if before.proof.provider is Provider.ROBOT else ()
        return (*needed, *lists, Age(before.proof), ServerGone(before.proof.server))
    if isinstance(after, OutOfService):
        return (*needed, Age(after.proof), ServerGone(after.proof.server))
    return needed


@cache
def _by_kind(kind: ChangeKind, verb: Verb) -> tuple[Evidence, ...]:
    """Writes to the cloud need the cluster's UID; removals and creations in the cloud also lists that are complete.
    A load balancer is created in its network: attached later, it would be published with another address."""
    row = KINDS[kind]
    identity = (Identified(),) if row.writes_cloud else ()
    needs_lists = verb is Verb.REMOVE or row.creates_in_cloud
    network = (NetworkRead(),) if kind is ChangeKind.LB_CREATE else ()
    return (*identity, *(map(WholeList, row.decided_from) if needs_lists else ()), *network)


@dataclass(frozen=True, slots=True)
class HoldEnd:
    """The end of a hold without an approval."""

    how: str
    """The condition, in words that follow a time: ``if both stay NotReady``."""
    in_s: float | None = None
    """Seconds until then; None when no time is known."""

    def said_at(self, now: datetime | None) -> str:
        """``at 2026-11-27 15:40 UTC, in 24 min, if both stay NotReady; its changes are then made``: with the time if
        one is known, as the held changes are made then, and nobody is asked again."""
        if self.in_s is None:
            return self.how
        at = "" if now is None else f"at {shown_moment(now + timedelta(seconds=self.in_s))}, "
        left = f"in {shown_seconds(self.in_s)}" if self.in_s > 0 else "now"
        return f"{at}{left}, {self.how}; its changes are then made"

    def announced_at(self, now: datetime) -> str:
        """The same for an Event, which is read later: without a duration."""
        if self.in_s is None:
            return self.how
        return f"after {shown_moment(now + timedelta(seconds=self.in_s))}, {self.how}; its changes are then made"


def shown_seconds(seconds: float) -> str:
    """A duration as people say it, never less than it is: ``24 min``."""
    for unit_s, unit in ((3600, "h"), (60, "min")):
        if seconds > 2 * unit_s:
            return f"{ceil(seconds / unit_s)} {unit}"
    return f"{ceil(seconds)} s"


@dataclass(frozen=True, slots=True)
class Hold:
    """One rule with the changes that it holds until a person approves exactly these."""

    hash: str
    """``sha256:`` and 16 hex digits over cluster, rule and the held changes."""
    rule: GuardName
    value: str
    """The measured value."""
    limit: str
    """The limit of the rule."""
    keys: tuple[str, ...]
    why: str
    approved: bool = False
    """A person approved it; its changes are then allowed, unless another rule withholds them."""
    advice: str = ""
    """The remedy, if ``why`` says only the problem."""
    end: HoldEnd | None = None
    """Its end without a person; None without one, or if it is not known."""
    names: tuple[str, ...] = ()
    """Of the differences in it: an approval lets each pass until it is done."""

    @property
    def said(self) -> str:
        """Problem and remedy in one sentence."""
        return with_advice(self.why, self.advice)

    @property
    def approval_mends(self) -> bool:
        """Whether an approval is the remedy. A token of another project is corrected, and another controller stopped;
        only ``holds show`` tells how to approve such a hold."""
        return self.rule not in (GuardName.PROJECT_ANCHOR, GuardName.OTHER_CONTROLLER)


def with_advice(why: str, advice: str) -> str:
    """Both as one sentence, the remedy last."""
    return f"{why}; {advice}" if advice else why


@dataclass(frozen=True)
class Plan:
    """Changes in their order, notes sorted, holds by rule. Equal inputs give equal plans, whatever their order."""

    changes: tuple[Change, ...] = ()
    notes: tuple[Note, ...] = ()
    holds: tuple[Hold, ...] = field(default=())

    def __post_init__(self) -> None:
        object.__setattr__(self, "changes", tuple(sorted(self.changes, key=lambda change: change.order)))
        object.__setattr__(self, "notes", tuple(sorted(set(self.notes))))
        object.__setattr__(self, "holds", tuple(sorted(self.holds, key=lambda hold: (hold.rule, hold.hash))))
        if len(self.by_key) != len(self.changes):
            raise ValueError("a plan has a key twice")

    @cached_property
    def by_key(self) -> Mapping[str, Change]:
        """Key → change."""
        return {change.key: change for change in self.changes}

    def with_verdict(self, *verdicts: Verdict) -> tuple[Change, ...]:
        """The changes that have one of these verdicts, in their order."""
        return tuple(change for change in self.changes if change.decision.verdict in verdicts)

    @property
    def allowed(self) -> tuple[Change, ...]:
        """The changes that may be applied now."""
        return self.with_verdict(Verdict.ALLOWED)
