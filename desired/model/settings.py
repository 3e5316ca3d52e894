"""Settings: the operator's choices, as far as rules depend on them. Filled from flags and environment."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from ipaddress import IPv4Network
from types import MappingProxyType
from typing import Annotated, get_type_hints

from desired.annotations.options import Options
from desired.model.serving import Serving
from desired.model.set_by import Admits, Decides, Reads
from desired.syntax.selector import Selector


class AddressFamily(StrEnum):
    """``HCLOUD_INSTANCES_ADDRESS_FAMILY``: which public addresses a Node gets."""

    IPV4 = "ipv4"
    IPV6 = "ipv6"
    DUALSTACK = "dualstack"


class Policy(StrEnum):
    """Policy of what a pass may apply: nothing, everything but removals, everything."""

    OBSERVE = "observe"
    UPSERT = "upsert"
    SYNC = "sync"


class Controller(StrEnum):
    """The parts that ``--controllers`` switches on and off, by HCCM's short names."""

    NODE = "cloud-node"
    LIFECYCLE = "cloud-node-lifecycle"
    SERVICE = "service"
    ROUTE = "route"


class ServerLoss(StrEnum):
    """What has become of a server, in the words of ``--out-of-service``."""

    DELETED = "deleted"


@dataclass(frozen=True, slots=True)
class Waits:
    """Ages and waits of the rules about Nodes that seem to have no server (guards ``absence-proof`` and
    ``node-blast-radius``)."""

    not_ready_for: Annotated[timedelta, Admits("--delete-not-ready-for")] = timedelta(seconds=20)
    """``--delete-not-ready-for``: a Node is deleted only after it was not Ready for so long."""
    age: Annotated[timedelta, Admits("--delete-min-age")] = timedelta(seconds=120)
    """``--delete-min-age``: and only when it is older than this."""
    given_up_after: Annotated[timedelta, Admits("--given-up-after")] = timedelta(minutes=30)
    """``--given-up-after``: a Node that was not Ready, and silent, for so long counts as a planned disruption."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Choices of the operator that change what is planned or what may be applied."""

    address_family: Annotated[AddressFamily, Decides("HCLOUD_INSTANCES_ADDRESS_FAMILY")] = AddressFamily.IPV4
    zone_labels: Annotated[bool, Decides("HCLOUD_INSTANCES_ZONE_LABEL_ENABLED")] = True
    """``HCLOUD_INSTANCES_ZONE_LABEL_ENABLED``: False leaves the zone labels of cloud servers away."""
    network: Annotated[str | None, Decides("HCLOUD_NETWORK")] = None
    """``HCLOUD_NETWORK`` as given, an id or a name; None when no private network is used."""
    routes: Annotated[bool, Decides("HCLOUD_NETWORK_ROUTES_ENABLED")] = False
    """``HCLOUD_NETWORK_ROUTES_ENABLED`` and ``--configure-cloud-routes``, as far as there is a network: whether pod
    routes in it are not switched off. They are managed where a cluster CIDR is given as well: ``routed_range``."""
    cluster_cidr: Annotated[IPv4Network | None, Decides("--cluster-cidr")] = None
    """The IPv4 range of ``--cluster-cidr``; None when none is given: then no routes are managed, as by HCCM."""
    policy: Annotated[Policy, Admits("--policy")] = Policy.SYNC
    controllers: Annotated[frozenset[Controller], Decides("--controllers")] = frozenset(Controller)
    ignore_nodes: Annotated[Selector | None, Decides("--ignore-nodes")] = None
    """``--ignore-nodes``: Nodes that are never touched; None when all are managed."""
    server_selector: Annotated[Selector | None, Reads("--server-selector")] = None
    """``--server-selector``: which servers Hetzner lists; None: all. It decides on nothing but what is read."""
    mirror_labels: Annotated[str | None, Decides("--mirror-labels")] = None
    """``--mirror-labels``: prefix, without a slash, of Node labels that repeat the server's; None mirrors nothing."""
    keep_internal_ips: Annotated[bool, Decides("--keep-internal-ips")] = False
    """``--keep-internal-ips``: an InternalIP that the kubelet reported and the cloud does not know stays instead of
    being removed, as HCCM does."""
    robot: Annotated[bool, Decides("ROBOT_ENABLED")] = False
    """``ROBOT_ENABLED``: whether Nodes on Robot servers are ours, and get traffic by their addresses."""
    forward_internal_ips: Annotated[bool, Decides("ROBOT_FORWARD_INTERNAL_IPS")] = True
    """``ROBOT_FORWARD_INTERNAL_IPS``: whether Nodes on Robot servers keep the InternalIPs that they have."""
    waits: Waits = field(default_factory=Waits)
    out_of_service: Annotated[frozenset[ServerLoss], Admits("--out-of-service")] = frozenset()
    """``--out-of-service``: of which servers the Nodes get the out-of-service taint."""
    balancer_defaults: Options = field(default_factory=Options)
    """``HCLOUD_LOAD_BALANCERS_*``: the defaults for Services whose annotations say nothing."""
    serving: Serving = field(default_factory=Serving)
    """The Services that are served here."""
    only: Annotated[tuple[str, ...], Admits("--only")] = ()
    """Keys of ``--only``; a key stands for itself and everything below it. Empty means everything."""

    @property
    def routed_range(self) -> IPv4Network | None:
        """The range of pods to which routes are managed; None when none are. As HCCM, which starts no route controller
        without ``--cluster-cidr``."""
        return self.cluster_cidr if self.routes and Controller.ROUTE in self.controllers else None


def _set_by(values: type, of: str = "") -> Iterator[tuple[str, Decides | Admits | Reads]]:
    for name, kind in get_type_hints(values, include_extras=True).items():
        yield from ((f"{of}{name}", origin) for origin in getattr(kind, "__metadata__", ()))
        if kind in _PARTS:
            yield from _set_by(kind, f"{name}.")


_PARTS = (Waits, Serving)
SET_BY: Mapping[str, Decides | Admits | Reads] = MappingProxyType(dict(_set_by(Settings)))
"""Field of ``Settings``, or of one of its parts as in ``waits.age`` → its flag or variable, where it has one of its
own."""
DECIDING: Mapping[str, str] = MappingProxyType({field: name for field, name in SET_BY.items() if type(name) is Decides})
"""Those that decide on what is planned; the defaults of load balancers, which annotations name, are not among them."""
