"""Masks: the parts of an API's object that go into a world file. All that a plan is made from, and nothing else.

A field that is not named here is left out, whatever it is. A value of another shape than expected keeps that shape, so
that it is as unreadable in the file as it was at the API, and loses its contents.
"""

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import inspect

from desired.annotations.options import OWN_PREFIX, PREFIX
from desired.model.snapshot import IMAGE
from desired.names import ANNOTATION_PROVIDED_NODE_IP
from reconciler.observe.load_balancers import ServiceShape

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


def read_by(shape: inspect.Type) -> Mask:
    """What is decoded from an object of this shape."""
    match shape:
        case inspect.UnionType(types):
            return next(read_by(each_type) for each_type in types if not isinstance(each_type, inspect.NoneType))
        case inspect.ListType(item_type):
            return each(read_by(item_type))
        case inspect.StructType():
            return only(**{field.encode_name: read_by(field.type) for field in shape.fields})
    return value


def _is_read(annotation: str) -> bool:
    return annotation == ANNOTATION_PROVIDED_NODE_IP or annotation.startswith((PREFIX, OWN_PREFIX))


def _image(found: Any) -> Any:
    """The image as HCCM's or another one: nothing else is asked of it."""
    return value(found) if not isinstance(found, str) else IMAGE if IMAGE in found else ""


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

NAMESPACE = only(metadata=only("name", "uid"))

CONFIG_MAP = only(metadata=only("name", "namespace"), data=texts())
"""The product's own: approvals of holds, and what the cluster remembers of its project."""

WORKLOAD = only(
    metadata=only("name", "namespace"),
    spec=only(template=only(spec=only(containers=each(only(image=_image))))),
    status=only("readyReplicas", "numberReady"),
)

SERVER = only(
    "id",
    "name",
    "status",
    server_type=only("name"),
    location=only("name", "network_zone"),
    public_net=only(ipv4=only("ip"), ipv6=only("ip")),
    private_net=each(only("network", "ip", alias_ips=each(value))),
    labels=texts(),
)

ROBOT_SERVER = only("server_number", "server_name", "product", "dc", "server_ip", "server_ipv6_net")

NETWORK = only(
    "id",
    "name",
    "ip_range",
    subnets=each(only("type", "ip_range", "network_zone", "gateway")),
    routes=each(only("destination", "gateway")),
    servers=each(value),
)

MEMBER = only("type", "id", "ip", alias_ips=each(value))

_AMOUNT = only("net", "gross")
BALANCER_TYPE = only(
    "id",
    "name",
    "max_services",
    "max_targets",
    "max_assigned_certificates",
    "deprecated",
    deprecation=only("announced", "unavailable_after"),
    prices=each(only("location", price_hourly=_AMOUNT, price_monthly=_AMOUNT)),
)

PRICING = only("currency")

_HEALTH = each(only("listen_port", "status"))
_TARGET: Mapping[str, Mask] = {
    "server": only("id", "ip"),
    "ip": only("ip"),
    "label_selector": only("selector"),
    "health_status": _HEALTH,
}

LOAD_BALANCER = only(
    "id",
    "name",
    "created",
    public_net=only("enabled", ipv4=only("id", "ip", "dns_ptr"), ipv6=only("id", "ip", "dns_ptr")),
    private_net=each(only("network", "ip")),
    location=only("name", "network_zone"),
    load_balancer_type=BALANCER_TYPE,
    protection=only("delete"),
    labels=texts(),
    algorithm=only("type"),
    services=each(read_by(inspect.type_info(ServiceShape))),
    targets=each(only("type", "use_private_ip", **_TARGET, targets=each(only("type", **_TARGET)))),
)

PRIMARY_IP = only(
    "id",
    "name",
    "type",
    "ip",
    "assignee_id",
    "assignee_type",
    "auto_delete",
    "blocked",
    location=only("name", "network_zone"),
)

CERTIFICATE = only(
    "id",
    "name",
    "type",
    "created",
    domain_names=each(value),
    labels=texts(),
    status=only("issuance", error=only("code", "message")),
)
