"""Lookup of the load balancer that a change is about, and of its present state."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address
from typing import Any
from urllib.parse import urlencode

import msgspec

from actuators.http.decoding import decoder
from actuators.http.errors import Broken, Conflict, NotFound, one_line
from actuators.http.hetzner import HetznerReader
from desired.load_balancers.ownership import Ownership, is_of_another_cluster, may_come_back, ownership
from desired.model.load_balancer import (
    Attachment,
    CloudBalancer,
    IpTarget,
    Owner,
    SelectorTarget,
    ServerTarget,
    Target,
    owner_of,
)
from desired.model.service import Service
from desired.model.snapshot import Snapshot
from desired.names import LABEL_FORMER, LABEL_SERVICE_UID
from desired.plan.change import Change


class _Entry(msgspec.Struct):
    network: int
    ip: str | None = None


class _Protection(msgspec.Struct):
    delete: bool


class _Listener(msgspec.Struct):
    listen_port: int


class _Named(msgspec.Struct):
    name: str


class _Typed(msgspec.Struct):
    type: str


class _Address(msgspec.Struct):
    ip: str | None = None
    dns_ptr: str | None = None


class _PublicNet(msgspec.Struct):
    enabled: bool | None = None
    ipv4: _Address | None = None
    ipv6: _Address | None = None


class _Server(msgspec.Struct):
    id: int


class _Ip(msgspec.Struct):
    ip: str


class _Selector(msgspec.Struct):
    selector: str


class _Target(msgspec.Struct):
    server: _Server | None = None
    ip: _Ip | None = None
    label_selector: _Selector | None = None
    use_private_ip: bool = False


class _Balancer(msgspec.Struct):
    """What is not told is not empty: whoever labels a load balancer would take away all labels of others."""

    id: int
    name: str
    labels: dict[str, str]
    protection: _Protection
    private_net: list[_Entry]
    load_balancer_type: _Named
    algorithm: _Typed
    public_net: _PublicNet
    services: list[msgspec.Raw]
    targets: list[_Target]


class _One(msgspec.Struct):
    load_balancer: _Balancer


class _Some(msgspec.Struct):
    load_balancers: list[_Balancer]


@dataclass(frozen=True, slots=True)
class BalancerNow:
    """A load balancer as it is at this moment, as far as an actuator looks at it."""

    name: str
    labels: Mapping[str, str]
    is_protected: bool
    """Against deletion."""
    attachments: tuple[Attachment, ...]
    type: str
    algorithm: str
    is_public: bool | None
    """Whether the public interface is on; None when that is not said."""
    pointers: Mapping[str, str | None]
    """Address → its reverse name."""
    listeners: Mapping[int, Any]
    """Port → the listener, in the words of the API."""
    targets: frozenset[Target]
    is_in_use: bool = False
    """Whether it has a port or a target of any kind."""

    @property
    def owner(self) -> Owner:
        """Whom its labels name."""
        return owner_of(self.labels)


def service_of(change: Change, snapshot: Snapshot) -> Service:
    """The Service that the change serves. Raises KeyError for a change that was planned from another snapshot."""
    service = snapshot.service(change.owner)
    if service is None:
        raise KeyError(change.owner)
    return service


def balancer_of(change: Change, snapshot: Snapshot) -> CloudBalancer:
    """The load balancer that the change names, as it was observed.

    Raises KeyError for a change that was planned from another snapshot, and for one of a load balancer that was another
    cluster's: no plan has such a change, and not every write reads the load balancer before.
    """
    if change.cloud_id is None or snapshot.load_balancers is None:
        raise KeyError(f"load balancer of {change.key}")
    found = snapshot.load_balancers.items[change.cloud_id]
    if is_not_ours(found.owner, snapshot):
        raise KeyError(f"{name_of(found)} has the label of another cluster")
    return found


def is_not_ours(owner: Owner, snapshot: Snapshot) -> bool:
    """Whether the labels name a cluster that is not known to be this one, and has not released it for good."""
    is_unknown = ownership(owner.cluster_uid, snapshot) is Ownership.UNKNOWN
    return is_unknown or is_of_another_cluster(owner, snapshot)


def path_of(balancer: CloudBalancer, action: str = "") -> str:
    """The path of the load balancer, or of one of its actions, in the API."""
    return f"/load_balancers/{balancer.id}{f'/actions/{action}' if action else ''}"


def balancer_now(reader: HetznerReader, balancer: CloudBalancer) -> BalancerNow:
    """The load balancer as it is at this moment. Raises an ApiError: NotFound when it is gone."""
    body = reader.get(path_of(balancer))
    try:
        found = decoder(_One).decode(body).load_balancer
        return BalancerNow(
            name=found.name,
            labels=found.labels,
            is_protected=found.protection.delete,
            attachments=tuple(map(_attachment, found.private_net)),
            type=found.load_balancer_type.name,
            algorithm=found.algorithm.type,
            is_public=found.public_net.enabled,
            pointers=_pointers(found.public_net),
            listeners=dict(map(_listener, found.services)),
            targets=frozenset(filter(None, map(_target, found.targets))),
            is_in_use=bool(found.services or found.targets),
        )
    except ValueError as error:
        raise Broken(f"Hetzner's load balancer {balancer.id} could not be read: {one_line(error)}") from error


def remaining(reader: HetznerReader, balancer: CloudBalancer) -> BalancerNow:
    """Read a load balancer that has to exist. Raises Conflict when it is gone."""
    try:
        return balancer_now(reader, balancer)
    except NotFound as error:
        raise gone(balancer) from error


def own_now(reader: HetznerReader, change: Change, balancer: CloudBalancer, snapshot: Snapshot) -> BalancerNow:
    """Read a load balancer of which a part is about to be written, or written once more, and check its owner. Raises
    Conflict when it is not the Service's own any more."""
    now = balancer_now(reader, balancer)
    require_own(now, change, balancer, snapshot)
    return now


Look = Callable[[], BalancerNow]
"""A read of a load balancer that also checks its owner, as ``own_now`` does."""


def look_for(reader: HetznerReader, change: Change, snapshot: Snapshot) -> Look:
    """The read of the load balancer of which a change writes a part."""
    return lambda: own_now(reader, change, balancer_of(change, snapshot), snapshot)


def require_own(now: BalancerNow, change: Change, balancer: CloudBalancer, snapshot: Snapshot) -> None:
    """Raises Conflict when the load balancer is not that of the Service that the change serves."""
    service = service_of(change, snapshot)
    if now.owner.service_uid != service.uid or is_not_ours(now.owner, snapshot):
        raise Conflict(f"{name_of(balancer)} does not have the labels of Service {service.id} any more")


def gone(balancer: CloudBalancer) -> Conflict:
    """The error for a load balancer that is not there any more."""
    return Conflict(f"{name_of(balancer)} is gone")


def name_of(balancer: CloudBalancer) -> str:
    """The name of a load balancer in messages."""
    return f"load balancer {balancer.id} {balancer.spec.name}"


def is_labelled(reader: HetznerReader, service: Service) -> bool:
    """Whether a load balancer has the Service's label by now. Raises an ApiError."""
    return bool(_labelled(reader, LABEL_SERVICE_UID, service.uid))


def require_none_labelled(reader: HetznerReader, service: Service, snapshot: Snapshot) -> None:
    """Ask by label whether the Service has a load balancer though the observed list has none: a single answer may lack
    what exists. Raises Conflict when there is one, and an ApiError when it cannot be told."""
    for found in _labelled(reader, LABEL_SERVICE_UID, service.uid):
        if not is_not_ours(owner_of(found.labels), snapshot):
            raise _unlisted(found)


def require_none_waiting(reader: HetznerReader, former: str, snapshot: Snapshot) -> None:
    """The same for one that was released with its Service, which the label ``former`` names, and waits in its undo
    window: the next list shows it, and it is given back."""
    for found in _labelled(reader, LABEL_FORMER, former):
        if may_come_back(owner_of(found.labels), snapshot):
            raise _unlisted(found)


def _unlisted(found: _Balancer) -> Conflict:
    name = f"load balancer {found.id} {found.name}"
    return Conflict(f"the list of load balancers lacks {name}, and a look by its label finds it")


def _labelled(reader: HetznerReader, label: str, value: str) -> list[_Balancer]:
    query = urlencode({"label_selector": f"{label}={value}"})
    body = reader.get(f"/load_balancers?{query}")
    try:
        return decoder(_Some).decode(body).load_balancers
    except ValueError as error:
        raise Broken(f"Hetzner's list of load balancers could not be read: {one_line(error)}") from error


def _attachment(entry: _Entry) -> Attachment:
    return Attachment(entry.network) if entry.ip is None else Attachment(entry.network, IPv4Address(entry.ip))


def _listener(raw: msgspec.Raw) -> tuple[int, Any]:
    return decoder(_Listener).decode(raw).listen_port, decoder(object).decode(raw)


def _pointers(net: _PublicNet) -> Mapping[str, str | None]:
    return {one.ip: one.dns_ptr for one in (net.ipv4, net.ipv6) if one is not None and one.ip is not None}


def _target(target: _Target) -> Target | None:
    """None for one of a later version of the API."""
    if target.server is not None:
        return ServerTarget(target.server.id, target.use_private_ip)
    if target.label_selector is not None:
        return SelectorTarget(target.label_selector.selector, target.use_private_ip)
    return None if target.ip is None else IpTarget(target.ip.ip)
