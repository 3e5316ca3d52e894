"""Table of kinds: everything that may ever be changed.

RBAC, guards, plan texts, the JSON schema and the actuators follow from it; a kind that is not here cannot be planned. A
row is data about a kind and does not say when it is planned: that is decided in ``desired.nodes``,
``desired.load_balancers`` and ``desired.routes``.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from desired.model.key import ObjectKind
from desired.model.route import CONDITION_NETWORK
from desired.model.settings import Controller


class ChangeKind(StrEnum):
    """Kinds of changes, in the order of the table. The values are public: plans, metrics and logs show them."""

    NODE_INITIALISE = "node.initialise"
    NODE_ADDRESSES = "node.addresses"
    NODE_LABELS = "node.labels"
    NODE_SHUTDOWN_TAINT = "node.shutdown_taint"
    NODE_OUT_OF_SERVICE_TAINT = "node.out_of_service_taint"
    NODE_NETWORK_CONDITION = "node.network_condition"
    NODE_DELETE = "node.delete"
    SERVICE_CLAIM = "service.claim"
    SERVICE_STATUS = "service.status"
    SERVICE_RELEASE = "service.release"
    LB_CREATE = "lb.create"
    LB_ADOPT = "lb.adopt"
    LB_IDENTITY = "lb.identity"
    LB_TYPE = "lb.type"
    LB_ALGORITHM = "lb.algorithm"
    LB_RDNS = "lb.rdns"
    LB_NETWORK = "lb.network"
    LB_PUBLIC_INTERFACE = "lb.public_interface"
    LB_LISTENER = "lb.listener"
    LB_TARGET = "lb.target"
    LB_RETAIN = "lb.retain"
    LB_DELETE = "lb.delete"
    CERTIFICATE_CREATE = "certificate.create"
    ROUTE_CREATE = "route.create"
    ROUTE_REPLACE = "route.replace"
    ROUTE_DELETE = "route.delete"


class Verb(StrEnum):
    """The class of a change. Policies look at nothing else."""

    ADD = "add"
    MODIFY = "modify"
    REMOVE = "remove"


class Api(StrEnum):
    """The API that a call goes to."""

    KUBERNETES = "kubernetes"
    HETZNER = "hetzner"


@dataclass(frozen=True, slots=True)
class Call:
    """One write that a kind may send; reads are left out. ``resource`` is the RBAC resource, or Hetzner's path."""

    api: Api
    verb: str
    resource: str


@dataclass(frozen=True, slots=True)
class Kind:
    """One row: object, verbs, requests and evidence of a kind of change."""

    name: ChangeKind
    object: ObjectKind
    """What it changes."""
    verbs: frozenset[Verb]
    calls: tuple[Call, ...]
    controller: Controller
    decided_from: tuple[str, ...]
    """Sections of the snapshot that the decision depends on."""
    locks_network: bool = False
    """Whether it may lock a private network, which load balancers and routes share."""
    is_preemptible: bool = False
    """Whether changes of this kind are preemptible: a long series of them stops for something more urgent, and
    continues afterwards."""
    serves: frozenset[ChangeKind] = frozenset()
    """Of the changes that depend on one of this kind, those for which alone it is made: withheld with the last."""
    restored_by: frozenset[ChangeKind] = frozenset()
    """Of the changes that come after one that takes away, the additions that restore that: withheld with any."""
    field: str = ""
    """What a plan calls the sides of such a change where they have no fields of their own. Empty: the last word of
    ``name``."""

    @property
    def creates_in_cloud(self) -> bool:
        """Whether a change of this kind creates a cloud object."""
        return self.verbs == {Verb.ADD} and self.writes_cloud

    @property
    def writes_cloud(self) -> bool:
        """Whether a change of this kind is sent to Hetzner."""
        return any(call.api is Api.HETZNER for call in self.calls)

    @property
    def shown_field(self) -> str:
        """``field``, else the last word of ``name``."""
        return self.field or self.name.rpartition(".")[2]


_A, _M, _R = frozenset({Verb.ADD}), frozenset({Verb.MODIFY}), frozenset({Verb.REMOVE})
_ANY = _A | _M | _R


def _k8s(*resources: str, verb: str = "patch") -> tuple[Call, ...]:
    return tuple(Call(Api.KUBERNETES, verb, resource) for resource in resources)


def _hcloud(method: str, *paths: str) -> tuple[Call, ...]:
    return tuple(Call(Api.HETZNER, method, path) for path in paths)


def _lb_action(*actions: str) -> tuple[Call, ...]:
    return _hcloud("POST", *(f"/load_balancers/{{id}}/actions/{action}" for action in actions))


def _net_action(*actions: str) -> tuple[Call, ...]:
    return _hcloud("POST", *(f"/networks/{{id}}/actions/{action}" for action in actions))


def _node(
    name: ChangeKind,
    verbs: frozenset[Verb],
    calls: tuple[Call, ...],
    controller: Controller = Controller.NODE,
    field: str = "",
) -> Kind:
    sections = ("nodes", "servers")
    return Kind(name, ObjectKind.NODE, verbs, calls, controller, sections, field=field)


def _service(name: ChangeKind, verbs: frozenset[Verb], *serves: ChangeKind, field: str = "") -> Kind:
    sections, calls, of = ("services", "load_balancers"), _k8s("services/status"), frozenset(serves)
    return Kind(name, ObjectKind.SERVICE, verbs, calls, Controller.SERVICE, sections, serves=of, field=field)


def _lb(
    name: ChangeKind,
    verbs: frozenset[Verb],
    calls: tuple[Call, ...],
    *needs: str,
    locks_network: bool = False,
    restored_by: frozenset[ChangeKind] = frozenset(),
) -> Kind:
    sections, of = ("services", "load_balancers", *needs), ObjectKind.LOAD_BALANCER
    return Kind(name, of, verbs, calls, Controller.SERVICE, sections, locks_network, restored_by=restored_by)


def _route(name: ChangeKind, verbs: frozenset[Verb], *actions: str) -> Kind:
    return Kind(
        name,
        ObjectKind.ROUTE,
        verbs,
        _net_action(*actions),
        Controller.ROUTE,
        ("nodes", "servers", "routes"),
        locks_network=True,
        is_preemptible=True,
        field="gateway",
    )


_ROWS = (
    _node(ChangeKind.NODE_INITIALISE, _A, _k8s("nodes/status", "nodes")),
    _node(ChangeKind.NODE_ADDRESSES, _M, _k8s("nodes/status")),
    _node(ChangeKind.NODE_LABELS, _M, _k8s("nodes")),
    _node(ChangeKind.NODE_SHUTDOWN_TAINT, _M, _k8s("nodes"), Controller.LIFECYCLE, "shutdown"),
    _node(ChangeKind.NODE_OUT_OF_SERVICE_TAINT, _M | _R, _k8s("nodes"), Controller.LIFECYCLE, "out-of-service"),
    _node(ChangeKind.NODE_NETWORK_CONDITION, _M, _k8s("nodes/status"), Controller.ROUTE, CONDITION_NETWORK),
    _node(ChangeKind.NODE_DELETE, _R, _k8s("nodes", verb="delete"), Controller.LIFECYCLE),
    _service(ChangeKind.SERVICE_CLAIM, _A, ChangeKind.LB_CREATE, ChangeKind.LB_ADOPT, field="finalizer"),
    _service(ChangeKind.SERVICE_STATUS, _M, field="ingress"),
    _service(ChangeKind.SERVICE_RELEASE, _R),
    _lb(ChangeKind.LB_CREATE, _A, _hcloud("POST", "/load_balancers"), locks_network=True),
    _lb(ChangeKind.LB_ADOPT, _M, _hcloud("PUT", "/load_balancers/{id}")),
    _lb(ChangeKind.LB_IDENTITY, _M, _hcloud("PUT", "/load_balancers/{id}")),
    _lb(ChangeKind.LB_TYPE, _M, _lb_action("change_type")),
    _lb(ChangeKind.LB_ALGORITHM, _M, _lb_action("change_algorithm")),
    _lb(ChangeKind.LB_RDNS, _M, _lb_action("change_dns_ptr")),
    _lb(
        ChangeKind.LB_NETWORK,
        _ANY,
        _lb_action("attach_to_network", "detach_from_network"),
        locks_network=True,
        restored_by=frozenset({ChangeKind.LB_TARGET}),
    ),
    _lb(ChangeKind.LB_PUBLIC_INTERFACE, _M, _lb_action("enable_public_interface", "disable_public_interface")),
    _lb(ChangeKind.LB_LISTENER, _ANY, _lb_action("add_service", "update_service", "delete_service")),
    _lb(ChangeKind.LB_TARGET, _ANY, _lb_action("add_target", "remove_target"), "nodes", "servers"),
    _lb(ChangeKind.LB_RETAIN, _M, _hcloud("PUT", "/load_balancers/{id}")),
    _lb(ChangeKind.LB_DELETE, _R, _hcloud("DELETE", "/load_balancers/{id}")),
    Kind(
        ChangeKind.CERTIFICATE_CREATE,
        ObjectKind.CERTIFICATE,
        _A,
        _hcloud("POST", "/certificates"),
        Controller.SERVICE,
        ("services", "certificates"),
        serves=frozenset({ChangeKind.LB_LISTENER}),
    ),
    _route(ChangeKind.ROUTE_CREATE, _A, "add_route"),
    _route(ChangeKind.ROUTE_REPLACE, _M, "delete_route", "add_route"),
    _route(ChangeKind.ROUTE_DELETE, _R, "delete_route"),
)

KINDS: Mapping[str, Kind] = MappingProxyType({kind.name: kind for kind in _ROWS})
"""Kind's name → its row, in the order of the table."""
OF_TRAFFIC = frozenset({ChangeKind.LB_TARGET, ChangeKind.LB_NETWORK, ChangeKind.LB_PUBLIC_INTERFACE})
"""Kinds by which the targets that a load balancer reaches become others."""
