"""What of an object goes into a world file: each field that some decoder reads, and no other."""

import json
from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from actuators.wire import network, robot
from actuators.wire.catalogue import TYPES
from actuators.wire.certificate import CERTIFICATES
from actuators.wire.load_balancer import BALANCERS
from actuators.wire.node import NODES
from actuators.wire.server import SERVERS
from actuators.wire.service import SERVICES, Manager
from actuators.wire.volume_attachment import VOLUME_ATTACHMENTS
from actuators.wire.workload import workloads
from desired.model.workload import IMAGE
from reconciler.capture import masks
from reconciler.capture.masks import Mask
from tests.support.rendering import golden

KEY = "load-balancer.hetzner.cloud/name"
DEPLOYMENTS, DAEMON_SETS = workloads("kube-system")

_LATER = {"managedFields": msgspec.inspect.type_info(list[Manager])}
"""Types of what is left raw at first."""


def example(kind: Any) -> Any:
    """A JSON value of a type as msgspec describes it, with all of its fields."""
    match kind:
        case msgspec.inspect.StructType():
            return {field.encode_name: example(_LATER.get(field.encode_name, field.type)) for field in kind.fields}
        case msgspec.inspect.ListType():
            return [example(kind.item_type)]
        case msgspec.inspect.DictType():
            return {KEY: example(kind.value_type)}
        case msgspec.inspect.UnionType():
            return example(max(kind.types, key=lambda one: isinstance(one, msgspec.inspect.StructType)))
        case msgspec.inspect.Metadata():
            return example(kind.type)
        case msgspec.inspect.EnumType():
            return next(iter(kind.cls)).value
        case msgspec.inspect.BoolType():
            return True
        case msgspec.inspect.IntType() | msgspec.inspect.AnyType():
            return 1
        case msgspec.inspect.DateTimeType():
            return "2026-01-01T00:00:00Z"
    return IMAGE


@pytest.mark.parametrize(
    ("mask", "shape"),
    [
        pytest.param(masks.NODE, NODES._one.type, id="Node"),
        pytest.param(masks.SERVICE, SERVICES._one.type, id="Service"),
        pytest.param(masks.WORKLOAD, DEPLOYMENTS._one.type, id="Deployment"),
        pytest.param(masks.WORKLOAD, DAEMON_SETS._one.type, id="DaemonSet"),
        pytest.param(masks.VOLUME_ATTACHMENT, VOLUME_ATTACHMENTS._one.type, id="VolumeAttachment"),
        pytest.param(masks.SERVER, SERVERS.shape, id="server"),
        pytest.param(masks.ROBOT_SERVER, robot.RobotShape, id="Robot server"),
        pytest.param(masks.NETWORK, network._Network, id="network"),
        pytest.param(masks.MEMBER, network.MemberShape, id="member"),
        pytest.param(masks.BALANCER_TYPE, TYPES.shape, id="type"),
        pytest.param(masks.LOAD_BALANCER, BALANCERS.shape, id="load balancer"),
        pytest.param(masks.CERTIFICATE, CERTIFICATES.shape, id="certificate"),
    ],
)
def test_all_that_is_read_is_kept(mask: Mask, shape: Any) -> None:
    whole = example(msgspec.inspect.type_info(shape))
    assert len(whole) >= 2

    assert mask(whole) == whole
    assert mask({**whole, "extra": "secret"}) == whole


def test_routes_are_kept() -> None:
    """They are decoded one by one, behind the network's own shape."""
    route = example(msgspec.inspect.type_info(network._Route))

    assert masks.NETWORK({"routes": [{**route, "extra": "secret"}]}) == {"routes": [route]}


SERVICE = {
    "metadata": {
        "annotations": {
            "kubectl.kubernetes.io/last-applied-configuration": "{}",
            "example.com/password": "p",
            "load-balancer.hetzner.cloud/nmae": "misspelt",
            "hcloud-reconciler/deletion-policy": "retain",
            "port-443.hcloud-reconciler/protocol": "http",
        },
        "managedFields": [{"manager": "kubectl", "fieldsV1": {"f:spec": {"f:ports": {"k:secret": {}}}}}],
    }
}
NODE = {
    "metadata": {"annotations": {"alpha.kubernetes.io/provided-node-ip": "10.0.0.2", "csi/node": "x"}},
    "status": {"images": [{"names": ["registry.example.com/secret"]}], "nodeInfo": {"machineID": "x"}},
}
CONTAINERS = [
    {"image": "registry.example.com/secret:1", "env": [{"name": "T", "value": "t"}]},
    {"image": f"mirror.example.com/x/{IMAGE}:v1.30.0", "args": ["--x"]},
]
CERTIFICATE = {"id": 1, "certificate": "-----BEGIN CERTIFICATE-----", "fingerprint": "aa:bb"}
GIVEN: Mapping[str, tuple[Mask, Any]] = {
    "annotations of others": (masks.SERVICE, SERVICE),
    "told by a kubelet": (masks.NODE, NODE),
    "a certificate's text": (masks.CERTIFICATE, CERTIFICATE),
    "images and environments": (masks.WORKLOAD, {"spec": {"template": {"spec": {"containers": CONTAINERS}}}}),
    "shapes": (masks.SERVER, {"id": {"a": "secret"}, "labels": ["secret"]}),
    "no objects": (masks.NODE, {"spec": "x", "status": None, "metadata": 5}),
    "no list": (masks.NODE, {"spec": {"taints": {"a": 1}}}),
    "a number as a name": (masks.WORKLOAD, {"metadata": {"name": 7}}),
}


def test_parts_that_are_left_out() -> None:
    """No plan is made from them; what has another shape than it should keeps that shape alone. Set UPDATE_GOLDEN to
    write the file anew, and read it."""
    kept = {name: mask(given) for name, (mask, given) in GIVEN.items()}
    text = json.dumps(kept, indent=1) + "\n"

    assert text == golden("masked.json", text)
