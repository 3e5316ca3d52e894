"""Masks: the parts of an API's object that go into a world file. All that a plan is made from, and nothing else.

A field that no codec reads, or that is not named here, is left out, whatever it is. A value of another shape than
expected keeps that shape, so that it is as unreadable in the file as it was at the API, and loses its contents.
"""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec import inspect

from actuators.wire.catalogue import TYPES
from actuators.wire.certificate import CERTIFICATES
from actuators.wire.load_balancer import BALANCERS
from actuators.wire.network import MemberShape
from actuators.wire.primary_ip import PRIMARY_IPS
from actuators.wire.robot import RobotShape
from actuators.wire.server import SERVERS
from desired.annotations.port_keys import is_ours
from desired.model.workload import told_part
from desired.names import ANNOTATION_PROVIDED_NODE_IP
from reconciler.report.published import STATUS

Mask = Callable[[Any], Any]
"""A JSON value → what of it is kept."""


def value(found: Any) -> Any:
    """A text, a number, a truth value or null."""
    return type(found)() if isinstance(found, dict | list) else found


def each(mask: Mask) -> Mask:
    """A list, each of its entries masked."""
    return lambda found: [mask(entry) for entry in found] if isinstance(found, list) else value(found)


def only(*values: str, **masks: Mask) -> Mask:
    """An object, of which fields are kept: ``values`` as they are, the others masked."""
    kept: Mapping[str, Mask] = {**dict.fromkeys(values, value), **masks}

    def mask(found: Any) -> Any:
        if not isinstance(found, dict):
            return value(found)
        return {name: kept[name](inner) for name, inner in found.items() if name in kept}

    return mask


def texts(is_kept: Callable[[str], bool] = lambda _key: True) -> Mask:
    """A map of texts, with the keys that are kept."""

    def mask(found: Any) -> Any:
        if not isinstance(found, dict):
            return value(found)
        return {key: value(text) for key, text in found.items() if is_kept(key)}

    return mask


def read_by(shape: type[msgspec.Struct], **masks: Mask) -> Mask:
    """What is decoded from an object of this shape, but for fields that have a mask of their own: what is decoded
    later, or by others who read the file."""
    kept = {field.encode_name: _of_type(field.type) for field in _fields(shape)}
    return only(**{**kept, **masks})


def _fields(shape: type[msgspec.Struct]) -> tuple[inspect.Field, ...]:
    found = inspect.type_info(shape)
    return found.fields if isinstance(found, inspect.StructType) else ()


def _of_type(kind: inspect.Type) -> Mask:
    match kind:
        case inspect.UnionType(types):
            return next(_of_type(one) for one in types if not isinstance(one, inspect.NoneType | inspect.CustomType))
        case inspect.ListType(item_type):
            return each(_of_type(item_type))
        case inspect.DictType():
            return texts()
        case inspect.StructType(cls):
            return read_by(cls)
    return value


def _is_read(annotation: str) -> bool:
    return annotation == ANNOTATION_PROVIDED_NODE_IP or is_ours(annotation)


def _told_part(found: Any) -> Any:
    """The part by which a container is told as HCCM, as a fork or as ours: nothing else is asked of it."""
    return told_part(found) if isinstance(found, str) else value(found)


_KEPT: Mapping[str, Mask] = {
    **dict.fromkeys(
        ("name", "namespace", "uid", "resourceVersion", "creationTimestamp", "deletionTimestamp"),
        value,
    ),
    "labels": texts(),
    "annotations": texts(_is_read),
    "finalizers": each(value),
}
_META = only(**_KEPT)

NODE = only(
    metadata=_META,
    spec=only(
        "providerID",
        "unschedulable",
        "podCIDR",
        podCIDRs=each(value),
        taints=each(only("key", "value", "effect", "timeAdded")),
    ),
    status=only(
        conditions=each(only("type", "status", "reason", "lastTransitionTime", "lastHeartbeatTime")),
        addresses=each(only("type", "address")),
    ),
)

_ADDRESSES = only(**{"f:status": only(**{"f:loadBalancer": only("f:ingress")})})
"""In the fields of a manager."""
SERVICE = only(
    metadata=only(**_KEPT, managedFields=each(only("manager", fieldsV1=_ADDRESSES))),
    spec=only(
        "type",
        "loadBalancerClass",
        "allocateLoadBalancerNodePorts",
        "loadBalancerIP",
        "sessionAffinity",
        "externalTrafficPolicy",
        "healthCheckNodePort",
        ports=each(only("name", "port", "protocol", "nodePort", "appProtocol")),
        loadBalancerSourceRanges=each(value),
        externalIPs=each(value),
        ipFamilies=each(value),
    ),
    status=only(
        loadBalancer=only(
            ingress=each(only("ip", "hostname", "ipMode", ports=each(only("port", "protocol", "error")))),
        ),
        conditions=each(only("type", "status", "reason", "message", "lastTransitionTime")),
    ),
)

VOLUME_ATTACHMENT = only(metadata=only("name"), spec=only("nodeName"))

NAMESPACE = only(metadata=only("name", "uid"))

CONFIG_MAP = only(metadata=only("name", "namespace"), data=texts(lambda key: key != STATUS.key))
"""Those of the product: approvals, and the record; not the status, by which nothing is planned."""

_CONTAINER = only(
    name=_told_part,
    image=_told_part,
    command=each(_told_part),
    args=each(_told_part),
    env=each(only(name=_told_part)),
)
WORKLOAD = only(
    metadata=only("name", "namespace"),
    spec=only(template=only(spec=only(containers=each(_CONTAINER)))),
    status=only("readyReplicas", "numberReady"),
)

SERVER = read_by(SERVERS.shape)

ROBOT_SERVER = read_by(RobotShape)

NETWORK = only(
    "id",
    "name",
    "ip_range",
    subnets=each(only("type", "ip_range", "network_zone", "gateway")),
    routes=each(only("destination", "gateway")),
    servers=each(value),
)

MEMBER = read_by(MemberShape)

BALANCER_TYPE = read_by(
    TYPES.shape,
    prices=each(only("location", price_monthly=only("gross"))),
    deprecation=only("announced", "unavailable_after"),
)

PRICING = only("currency")

_TARGET: Mapping[str, Mask] = {
    "server": only("id", "ip"),
    "ip": only("ip"),
    "label_selector": only("selector"),
    "health_status": each(only("listen_port", "status")),
}

LOAD_BALANCER = read_by(
    BALANCERS.shape,
    load_balancer_type=BALANCER_TYPE,
    targets=each(only("type", "use_private_ip", **_TARGET, targets=each(only("type", **_TARGET)))),
)

PRIMARY_IP = read_by(PRIMARY_IPS.shape)

CERTIFICATE = read_by(CERTIFICATES.shape)
