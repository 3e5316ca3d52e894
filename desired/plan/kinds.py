"""Table of kinds: everything that may ever be changed.

RBAC, guards, plan texts, the JSON schema and the actuators follow from it; a kind that is not here cannot be planned. A
row is data about a kind and does not say when it is planned: that is decided in ``desired.nodes``,
``desired.load_balancers`` and ``desired.routes``.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from desired.model.settings import Controller


class Verb(StrEnum):
    """The class of a change. Policies look at nothing else."""

    ADD = "add"
    MODIFY = "modify"
    REMOVE = "remove"


class Retry(StrEnum):
    """Retry of a write of which it is not known whether it was carried out."""

    IDEMPOTENT = "idempotent"
    """Send it again."""
    LOOK_UP = "look up"
    """Look whether it happened before sending it again."""


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
    """One row: what a change of this kind is, needs and touches."""

    name: str
    verbs: frozenset[Verb]
    calls: tuple[Call, ...]
    retry: Retry
    locks: tuple[str, ...]
    """Objects that the change locks: changes that share a lock run one after another. ``network`` is shared by load
    balancers and routes."""
    controller: Controller
    decided_from: tuple[str, ...]
    """Sections of the snapshot that the decision depends on, for the guard ``incomplete-snapshot``."""
    gives_way: bool = False
    """Whether changes of this kind are preemptible: a long series of them stops for something more urgent, and
    continues afterwards."""

    @property
    def creates_in_cloud(self) -> bool:
        """Whether a change of this kind creates a cloud object."""
        return self.verbs == {Verb.ADD} and any(call.api is Api.HETZNER for call in self.calls)

    @property
    def writes_cloud(self) -> bool:
        """Whether a change of this kind is sent to Hetzner."""
        return any(call.api is Api.HETZNER for call in self.calls)


_A, _M, _R = frozenset({Verb.ADD}), frozenset({Verb.MODIFY}), frozenset({Verb.REMOVE})
_ANY = _A | _M | _R
_I, _L = Retry.IDEMPOTENT, Retry.LOOK_UP


def _k8s(*resources: str, verb: str = "patch") -> tuple[Call, ...]:
    return tuple(Call(Api.KUBERNETES, verb, resource) for resource in resources)


def _hcloud(method: str, *paths: str) -> tuple[Call, ...]:
    return tuple(Call(Api.HETZNER, method, path) for path in paths)


def _lb_action(*actions: str) -> tuple[Call, ...]:
    return _hcloud("POST", *(f"/load_balancers/{{id}}/actions/{action}" for action in actions))


def _net_action(*actions: str) -> tuple[Call, ...]:
    return _hcloud("POST", *(f"/networks/{{id}}/actions/{action}" for action in actions))


def _node(name: str, verbs: frozenset[Verb], calls: tuple[Call, ...], controller: Controller = Controller.NODE) -> Kind:
    return Kind(name, verbs, calls, _I, ("node",), controller, ("nodes", "servers"))


def _service(name: str, verbs: frozenset[Verb]) -> Kind:
    return Kind(
        name, verbs, _k8s("services/status"), _I, ("service",), Controller.SERVICE, ("services", "load_balancers")
    )


def _lb(
    name: str, verbs: frozenset[Verb], calls: tuple[Call, ...], retry: Retry, *locks: str, needs: tuple[str, ...] = ()
) -> Kind:
    return Kind(name, verbs, calls, retry, ("lb", *locks), Controller.SERVICE, ("services", "load_balancers", *needs))


def _route(name: str, verbs: frozenset[Verb], retry: Retry, *actions: str) -> Kind:
    sections = ("nodes", "servers", "routes")
    calls = _net_action(*actions)
    return Kind(name, verbs, calls, retry, ("network",), Controller.ROUTE, sections, gives_way=True)


_ROWS = (
    _node("node.initialise", _A, _k8s("nodes/status", "nodes")),
    _node("node.addresses", _M, _k8s("nodes/status")),
    _node("node.labels", _M, _k8s("nodes")),
    _node("node.shutdown_taint", _M, _k8s("nodes"), Controller.LIFECYCLE),
    _node("node.network_condition", _M, _k8s("nodes/status"), Controller.ROUTE),
    _node("node.delete", _R, _k8s("nodes", verb="delete"), Controller.LIFECYCLE),
    _service("service.claim", _A),
    _service("service.status", _M),
    _service("service.release", _R),
    _lb("lb.create", _A, _hcloud("POST", "/load_balancers"), _L, "network"),
    _lb("lb.adopt", _M, _hcloud("PUT", "/load_balancers/{id}"), _I),
    _lb("lb.identity", _M, _hcloud("PUT", "/load_balancers/{id}"), _I),
    _lb("lb.type", _M, _lb_action("change_type"), _I),
    _lb("lb.algorithm", _M, _lb_action("change_algorithm"), _I),
    _lb("lb.rdns", _M, _lb_action("change_dns_ptr"), _I),
    _lb("lb.network", _ANY, _lb_action("attach_to_network", "detach_from_network"), _L, "network"),
    _lb("lb.public_interface", _M, _lb_action("enable_public_interface", "disable_public_interface"), _I),
    _lb("lb.listener", _ANY, _lb_action("add_service", "update_service", "delete_service"), _L),
    _lb("lb.target", _ANY, _lb_action("add_target", "remove_target"), _L, needs=("nodes", "servers")),
    _lb("lb.retain", _M, _hcloud("PUT", "/load_balancers/{id}"), _I),
    _lb("lb.delete", _R, _hcloud("DELETE", "/load_balancers/{id}"), _I),
    Kind(
        "certificate.create",
        _A,
        _hcloud("POST", "/certificates"),
        _L,
        ("certificate",),
        Controller.SERVICE,
        ("services", "certificates"),
    ),
    _route("route.create", _A, _L, "add_route"),
    _route("route.replace", _M, _L, "delete_route", "add_route"),
    _route("route.delete", _R, _I, "delete_route"),
)

KINDS: Mapping[str, Kind] = MappingProxyType({kind.name: kind for kind in _ROWS})
"""Kind's name → its row, in the order of the table."""
