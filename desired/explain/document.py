"""The explanation of a Node or Service as it is shown: its fields in their order, each a line of text and of JSON."""

from dataclasses import dataclass
from enum import StrEnum
from ipaddress import IPv4Address, IPv4Network, IPv6Address
from typing import Literal

from desired.annotations.reading import Origin
from desired.annotations.warnings import AnnotationWarning
from desired.guards.anchor import AnchorState
from desired.load_balancers.membership import Membership
from desired.model.load_balancer import Health
from desired.model.route import MOST_ROUTES
from desired.model.snapshot import ServerStatus
from desired.plan.change import Change, Hold, Verdict
from desired.plan.kinds import Verb
from desired.plan.notes import Note
from desired.routes.actions import RouteAction
from desired.routes.claims import RouteStatus
from desired.rules.explanations import LEFT_ALONE
from desired.rules.nodes import Stage
from desired.rules.rule import Basis, Decided, Reason
from desired.syntax.provider_id import Provider


@dataclass(frozen=True, slots=True)
class Fact:
    """One label, address, taint or condition of a Node, of a Service, or of its load balancer."""

    subject: str
    """A label's or taint's key, an address's or condition's type."""
    value: str | None
    """As it stands; None when it is not there."""
    wanted: str | None
    """As it should be, which is ``value`` for what is left alone; None when it should not be there."""
    rule: Basis
    source: str
    """Where the value comes from, or why it stays or goes, in words."""

    @classmethod
    def of(cls, subject: str, value: str | None, wanted: str | None, decided: Decided[object] | Reason) -> "Fact":
        """A field with what was decided on it."""
        return cls(subject, value, wanted, decided.rule.basis or Basis.UNTOUCHED, decided.text)

    @classmethod
    def foreign(cls, subject: str, value: str) -> "Fact":
        """A field of another owner, which stays."""
        return cls.of(subject, value, value, LEFT_ALONE.because())


class Concern(StrEnum):
    """What a guard decides on."""

    CHANGES = "changes"
    """The changes that are planned for the object."""
    DELETION = "deletion"
    """The Node's deletion, if its server were gone and its kubelet silent."""


@dataclass(frozen=True, slots=True)
class GuardFact:
    """The decision of one guard. An approved hold lets pass, and is listed all the same."""

    rule: str
    """The guard's name."""
    concerns: Concern
    verdict: Verdict
    why: str | None = None
    """None when the guard lets pass without a word."""
    value: str | None = None
    """What was measured; None when the guard measures nothing."""
    limit: str | None = None
    due_in_s: float | None = None
    """Seconds until another look is worth it; None when no time is known."""
    hold: Hold | None = None
    approved: bool = False
    """Whether the hold was approved."""


@dataclass(frozen=True, slots=True)
class AnchorFact:
    """The anchor: whether the token's project, or the Robot account, is the cluster's, judged by the Ready Nodes found
    in it."""

    state: AnchorState
    found: int
    total: int
    """The Ready Nodes without a planned disruption."""
    unknown: int
    needed: int
    provider: Provider = Provider.CLOUD


@dataclass(frozen=True, slots=True)
class LossFact:
    """The Nodes of a provider, and those whose servers are gone without a planned disruption."""

    lost: tuple[str, ...]
    """Keys of these Nodes, sorted."""
    nodes: int
    limit: int
    """How many may be lost."""
    provider: Provider = Provider.CLOUD


@dataclass(frozen=True, slots=True)
class Candidate:
    """A server that is a near match, and why it is not the Node's."""

    id: int
    name: str
    why_not: str
    provider: Provider = Provider.CLOUD


@dataclass(frozen=True, slots=True)
class ServerFact:
    """One server."""

    id: int
    name: str
    status: ServerStatus
    """Of Robot ``unknown`` while the Node is Ready: its servers are not asked for then."""
    type: str
    location: str
    """"" when the API sent none."""
    provider: Provider = Provider.CLOUD


@dataclass(frozen=True, slots=True)
class ServerMatch:
    """The server behind a Node."""

    by: Literal["providerID", "name"]
    """What decides: ``providerID`` when the Node has one, else ``name``."""
    provider_id: str | None
    server: ServerFact | None = None
    why: str | None = None
    """Why there is no server; None when there is one."""
    candidates: tuple[Candidate, ...] = ()
    """Nearest first."""


@dataclass(frozen=True, slots=True)
class RouteFact:
    """One pod CIDR of the Node with the route to it, or a route to other pods that leads to the Node's server."""

    destination: str
    """As routes have it; as the Node has it, where that is no range."""
    standing: RouteStatus | None
    """None for what is no pod CIDR of the Node, or none that a route could lead to."""
    fate: RouteAction | None
    """What happens to the existing route; None when there is none."""
    value: IPv4Address | None
    """The gateway of the existing route."""
    wanted: IPv4Address | None
    """The gateway once the planned changes are made; None when there should be no route."""
    why: str
    """One sentence."""


@dataclass(frozen=True, slots=True)
class NodeRoutes:
    """Explanation of a Node's routes."""

    network: int | None = None
    """Id; None when there is none, or it is not known: ``why`` says so."""
    used: int | None = None
    """Number of routes in the network; None while that is not known."""
    limit: int = MOST_ROUTES
    """How many routes a network takes."""
    cluster_cidr: IPv4Network | None = None
    """The one that is given; None where no route is managed."""
    mismatch: str | None = None
    """Why it cannot be the cluster's; None when it may be."""
    why: str | None = None
    """Why no route is managed, one sentence; None when some are."""
    destinations: tuple[RouteFact, ...] = ()
    """The Node's pod CIDRs in their order, then the other routes that lead to its server, by destination."""


@dataclass(frozen=True, slots=True)
class NodeExplanation:
    """Explanation of one Node."""

    stage: Stage
    why: str
    """Why it is in this stage and what comes next, one sentence."""
    match: ServerMatch
    labels: tuple[Fact, ...]
    addresses: tuple[Fact, ...]
    routes: NodeRoutes | None
    """None while routes are switched off, and the Node has no condition that says otherwise."""
    taints: tuple[Fact, ...]
    conditions: tuple[Fact, ...]
    changes: tuple[Change, ...]
    """As in the judged plan."""
    guards: tuple[GuardFact, ...]
    """On these changes, if there are any; then on the Node's deletion, unless it is never deleted from here, or its
    deletion is among the changes or was asked for."""
    announced: str | None
    """How the Node's disruption was announced (a planned disruption); None when it was not."""
    anchor: AnchorFact
    losses: LossFact
    notes: tuple[Note, ...]
    """On this Node, and those that explain verdicts wherever they stand."""


class ServiceStage(StrEnum):
    """A stage of a Service, as this product sees it."""

    SERVED = "served"
    """It has its load balancer, which is kept in sync with it."""
    JOINING = "joining"
    """It wants a load balancer, and has none yet."""
    ADOPTING = "adopting"
    """An unowned load balancer has the name that it asks for."""
    MALFORMED = "malformed"
    """Something that it asks for is impossible."""
    REFUSED = "refused"
    """The load balancer that it asks for has another owner."""
    CONTESTED = "contested"
    """Several Services ask for one load balancer."""
    AMBIGUOUS = "ambiguous"
    """Several load balancers have its label."""
    WAITING = "waiting"
    """Too little could be read to tell which load balancer is its, or which it may have."""
    LEAVING = "leaving"
    """It releases its load balancer."""
    FOREIGN = "foreign"
    """It is another controller's."""
    UNCLAIMED = "unclaimed"
    """It asks for no load balancer."""


@dataclass(frozen=True, slots=True)
class Wait:
    """One thing that is waited for."""

    subject: str
    """The rule of a guard; else the certificate, port, status or finalizer that it is about."""
    why: str
    due_in_s: float | None = None
    """Seconds until another look is worth it; None when no time is known."""


@dataclass(frozen=True, slots=True)
class PrivateAddress:
    """The address of a load balancer in a private network."""

    network: int
    """Id."""
    ip: IPv4Address


@dataclass(frozen=True, slots=True)
class BalancerFact:
    """One load balancer."""

    id: int
    name: str
    type: str
    location: str | None
    network_zone: str | None
    ipv4: IPv4Address | None
    ipv6: IPv6Address | None
    public: bool
    """Whether its public interface is on."""
    private: tuple[PrivateAddress, ...]
    protected: bool
    """Against deletion."""
    ports: int
    max_ports: int | None
    """How many its type takes; None when that is not known."""
    targets: int
    max_targets: int | None
    """How many its type takes; None when that is not known."""


@dataclass(frozen=True, slots=True)
class FoundBalancer:
    """The load balancer of a Service."""

    asked_name: str | None
    """The name by which it is looked up when no label identifies it; None when the name cannot be read, or only the
    label counts."""
    by: Literal["label", "name", "address"] | None = None
    """What it was found by; None when none was found."""
    found: BalancerFact | None = None
    """The Service's own, or the one that it is about to adopt."""
    other: BalancerFact | None = None
    """One that would be the Service's by its label or name, and is not."""
    why: str | None = None
    """Why none was found; None when one was."""
    owner: tuple[Fact, ...] = ()
    """The labels that name the owner of either load balancer."""


@dataclass(frozen=True, slots=True)
class ListenerFact:
    """One port."""

    port: int
    protocol: str
    """As the Service has it, ``UDP``; TCP for what only the load balancer has."""
    value: str | None
    """What the load balancer does there, ``https to node port 30443, certificate 5``; None when nothing."""
    wanted: str | None
    """The same once the planned changes are made."""
    planned: Verb | None
    """What is planned of it. Both sides may read alike all the same: the changes tell every field."""
    why: str


@dataclass(frozen=True, slots=True)
class TargetFact:
    """One Node, or one target that is no Node's."""

    subject: str
    """The Node's name; else what the target is called in plans, ``server:7``."""
    membership: Membership | None
    """None for what is no Node's, and where no targets are asked for."""
    server_id: int | None
    """Of a Robot server its number."""
    value: str | None
    """The address by which it gets traffic now, or both; what it is called, where the address is not known. None: it
    gets none."""
    wanted: str | None
    """The same once the planned changes are made."""
    health: Health | None
    """What the load balancer says of it; None where it is no target."""
    why: str
    provider: Provider | None = None
    """Of the server; None where there is none."""


@dataclass(frozen=True, slots=True)
class CertificateFact:
    """One certificate."""

    id: int | None
    """None for one that is to be created."""
    name: str | None
    """None for one that the project does not seem to have."""
    domains: tuple[str, ...]
    state: str
    """``uploaded``, how far the issuance of a managed one is, ``to be created`` or ``not read``."""
    ports: tuple[int, ...]
    """The listeners that use it now."""
    asked_for: bool
    """Whether the Service asks for it."""
    error: str | None = None
    """Why it was not issued or renewed; None when nothing went wrong."""


@dataclass(frozen=True, slots=True)
class OptionFact:
    """One row of the table of annotations, as it holds for one Service."""

    key: str
    """In full."""
    origin: Origin
    variable: str | None
    """The environment variable behind the origin ``environment``; None with another origin."""
    value: str | None
    """As it was understood; None when it is not set, or cannot be understood."""
    otherwise: str
    """The default."""
    in_use: str | None = None
    """The load balancer's present value; None where there is none, or that cannot be told."""
    problems: tuple[str, ...] = ()
    """Why the value that is set cannot be used."""
    remark: str | None = None
    """A warning about it; nothing depends on that."""


@dataclass(frozen=True, slots=True)
class ServiceExplanation:
    """Explanation of one Service."""

    stage: ServiceStage
    why: str
    """Why it is in this stage and what comes next, one sentence."""
    load_balancer: FoundBalancer
    pending: tuple[Wait, ...]
    """What is waited for."""
    changes: tuple[Change, ...]
    """As in the judged plan."""
    guards: tuple[GuardFact, ...]
    """On these changes; empty when there is none."""
    status: tuple[Fact, ...]
    """The addresses that it publishes."""
    conditions: tuple[Fact, ...]
    listeners: tuple[ListenerFact, ...]
    targets: tuple[TargetFact, ...]
    """Every Node, and every target that is no Node's."""
    certificates: tuple[CertificateFact, ...]
    options: tuple[OptionFact, ...]
    """Every annotation of the table; empty for a Service of which none counts."""
    remarks: tuple[AnnotationWarning, ...]
    """Other warnings about its annotations and spec."""
    anchor: AnchorFact
    notes: tuple[Note, ...]
    """On this Service and its load balancer, and those that explain verdicts wherever they stand."""
