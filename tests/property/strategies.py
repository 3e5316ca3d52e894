"""Any Node and any server, as Hypothesis strategies; and what all laws have in common.

Names, ids and addresses come from small pools, so that Nodes and servers meet: by name, by id, twice, or not at all.
Pools are flat, and a field takes one draw, for a draw costs more than a plan.
"""

import os
from collections.abc import Callable, Mapping
from datetime import timedelta
from ipaddress import IPv4Address, IPv6Network
from typing import Any, TypeVar

import pytest
from hypothesis import seed, settings
from hypothesis import strategies as st

from desired.model.snapshot import AddressType, Condition, Node, NodeAddress, Server, ServerStatus
from desired.model.taint import Taint
from desired.names import TAINT_CLUSTER_AUTOSCALER, TAINT_KARPENTER_DISRUPTED, TAINT_SHUTDOWN, TAINT_UNINITIALIZED
from desired.syntax.provider_id import CloudID, RobotID, format_provider_id
from tests.builders import NOW, SERVER_LABELS, UNINITIALIZED
from tests.support.sampling import SEED

V = TypeVar("V")
Test = TypeVar("Test", bound=Callable[..., None])

_EXAMPLES = os.environ.get("PROPERTY_EXAMPLES")
"""How many values each law is tried on; ``scripts/soak`` asks for more."""
WORLDS = int(_EXAMPLES or 12)
"""How many those are tried on that run passes on simulators, which take as long as a hundred plans."""


def law(premises: Mapping[str, float]) -> Callable[[Test], Test]:
    """Of a test that holds for all values, of which the seed says which are tried. Name of a premise → share of the
    values that meet it, at least (``tests.support.premises``)."""
    return _tried(premises, int(_EXAMPLES or 50))


def law_of_passes(premises: Mapping[str, float], examples: int = WORLDS) -> Callable[[Test], Test]:
    """The same for one that runs passes on simulators."""
    return _tried(premises, examples)


def _tried(premises: Mapping[str, float], examples: int) -> Callable[[Test], Test]:
    budget = settings(max_examples=examples, deadline=None, derandomize=False, print_blob=True)
    return lambda test: pytest.mark.premises(premises)(seed(SEED)(budget(test)))


def some(*values: V) -> st.SearchStrategy[V]:
    return st.sampled_from(values)


names = some("web-1", "web-2", "db-1", "db-1.lan", "gpu")

cloud_ids = st.builds(CloudID, some(1, 2, 3) | st.integers(1, 2**63 - 1))
robot_ids = st.builds(RobotID, st.integers(1, 2**63 - 1), st.booleans())
malformed_ids = st.builds(
    str.__add__,
    some("hcloud://", "hrobot://", "hcloud://bm-"),
    some("", "x", "-5", "+5", "007", "0", "hcloud://5", "9223372036854775808", "1" * 5000),
)
provider_ids = (
    some(None, "hcloud://1", "hcloud://2", "hrobot://1", "hcloud://bm-1", "talos://x", "k3s://web-1", "HCLOUD://1")
    | cloud_ids.map(format_provider_id)
    | malformed_ids
)

STRANGE_NODE_IP = "198.51.100.9"
"""No server has it, and no Node."""
NODE_IPS = (
    "203.0.113.1",
    "10.0.0.2",
    "2001:db8:1::5",
    "2001:db8:1::1",
    "10.0.0.2,2001:db8:1::1",
    "",
    "0.0.0.0",
    "10.0.0.2, x",
    STRANGE_NODE_IP,
)

JOINED_TWICE = (UNINITIALIZED, Taint("team", "NoExecute"), Taint(TAINT_UNINITIALIZED, "NoExecute"))
SHUT_DOWN = (Taint("team", "NoExecute"), Taint(TAINT_SHUTDOWN, "NoSchedule"), Taint("cilium", "NoSchedule"))
SETTLED: tuple[tuple[Taint, ...], ...] = (
    (),
    (),
    (Taint("team", "NoExecute", None, "2026-01-01T00:00:00Z"),),
    SHUT_DOWN,
    (Taint(TAINT_SHUTDOWN, "NoSchedule", "by-hand"), Taint(TAINT_SHUTDOWN, "NoExecute")),
    (Taint(TAINT_CLUSTER_AUTOSCALER, "NoSchedule"),),
    (Taint("team", "NoExecute"), Taint(TAINT_KARPENTER_DISRUPTED, "NoSchedule")),
)
taints = some(*SETTLED, (UNINITIALIZED,), JOINED_TWICE, (*SHUT_DOWN, UNINITIALIZED))

_WRONG: tuple[Mapping[str, str], ...] = (
    {},
    SERVER_LABELS,
    SERVER_LABELS,
    SERVER_LABELS | {"node.kubernetes.io/instance-type": "mine", "beta.kubernetes.io/instance-type": ""},
    SERVER_LABELS | {"topology.kubernetes.io/zone": "mine", "instance.hetzner.cloud/provided-by": "mine"},
    {"failure-domain.beta.kubernetes.io/region": "mine", "beta.kubernetes.io/instance-type": "mine"},
    {"topology.kubernetes.io/region": "", "failure-domain.beta.kubernetes.io/zone": "mine"},
)
_OF_OTHERS: tuple[Mapping[str, str], ...] = (
    {},
    {},
    {"team": "mine"},
    {"node-role.kubernetes.io/control-plane": ""},
    {"node-role.kubernetes.io/control-plane": "", "team": "theirs"},
    {"node-role.kubernetes.io/master": "true", "team": "theirs"},
    {"example.com/spare": ""},
    {"mirror/env": "old", "mirrored/env": "old"},
)
labels = some(*({**wrong, **others} for wrong in _WRONG for others in _OF_OTHERS))

_INTERNAL = NodeAddress(AddressType.INTERNAL_IP, "10.0.0.2")
_V6 = NodeAddress(AddressType.INTERNAL_IP, "2001:db8:1::5")
_NO_IP = NodeAddress(AddressType.INTERNAL_IP, "none")
addresses = some(
    (),
    (NodeAddress(AddressType.HOSTNAME, "web-1"), NodeAddress(AddressType.EXTERNAL_IP, "203.0.113.1")),
    (_INTERNAL, NodeAddress(AddressType.HOSTNAME, "web-1")),
    (_V6, _INTERNAL),
    (_NO_IP, _INTERNAL, NodeAddress(AddressType.INTERNAL_DNS, "db-1.lan"), _INTERNAL),
)

_AGES = tuple(timedelta(seconds=age) for age in (0, 10, 60, 300, 1800, 86_400, -3600))
_PRESSURE = Condition("MemoryPressure", "True", since=NOW)
_BORN = NOW - timedelta(days=1)
READY = (Condition("Ready", "True", since=_BORN),)


def readiness(*statuses: str) -> tuple[tuple[Condition, ...], ...]:
    """Conditions of a Node that is as Ready as one of these, since any time or none."""
    timed = ((Condition("Ready", status, since=NOW - age),) for status in statuses for age in _AGES)
    beating = ((Condition("Ready", status, since=_BORN, heartbeat=NOW - age),) for status in statuses for age in _AGES)
    return (*timed, *beating, *((_PRESSURE, Condition("Ready", status)) for status in statuses))


conditions = some(*[READY] * 10, *readiness("True", "False", "Unknown", "perhaps"), (), (_PRESSURE,))
SILENT = (Condition("Ready", "Unknown", since=NOW - timedelta(seconds=60)),)
silences = (*readiness("Unknown", "False"), ())
departures: st.SearchStrategy[Mapping[str, Any]] = some(
    *({} for _ in range(8)),
    {"unschedulable": True},
    {"finalizers": ("example.com/volumes",)},
    {"deleted_at": NOW, "finalizers": ("example.com/volumes",)},
)
"""Whether and how a Node is on its way out."""


def nodes(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Node]:
    """Nodes of which these fields are drawn from elsewhere."""
    everything: dict[str, st.SearchStrategy[Any]] = {
        "name": names,
        "created_at": some(*(NOW - age for age in _AGES), NOW - timedelta(days=2)),
        "provider_id": provider_ids,
        "labels": labels,
        "taints": taints,
        "addresses": addresses,
        "provided_node_ip": some(*[None] * 12, *NODE_IPS),
        "conditions": conditions,
    }
    return st.builds(_node, departures, **everything | fields)


def _node(departure: Mapping[str, Any], **fields: Any) -> Node:
    return Node(uid=f"uid-{fields['name']}", resource_version="1", **fields, **departure)


_V4_A, _V4_B = IPv4Address("203.0.113.1"), IPv4Address("203.0.113.2")
_V6_A, _V6_B = IPv6Network("2001:db8:1::/64"), IPv6Network("2001:db8:2::1/128")
_P_2, _P_3 = IPv4Address("10.0.0.2"), IPv4Address("10.0.0.3")


def servers(server_id: int) -> st.SearchStrategy[Server]:
    return st.builds(
        lambda **fields: Server(id=server_id, ipv4=(pair := fields.pop("public"))[0], ipv6=pair[1], **fields),
        name=names,
        status=some(ServerStatus.RUNNING, ServerStatus.RUNNING, ServerStatus.OFF, *ServerStatus),
        type=some("cpx32", "cpx32", "cax11", "no label"),
        location=some("fsn1", "mars", ""),
        public=some((_V4_A, None), (_V4_A, _V6_A), (_V4_B, _V6_B), (None, _V6_A), (None, None)),
        private_ips=some((), ((1, _P_2),), ((1, _P_3), (2, _P_2)), ((2, _P_3),), ((1, _P_2), (1, _P_3))),
        labels=some({}, {"env": "prod"}, {"env": "prod", "a/b": "x", "a_b": "y"}, {"env": "x" * 64}),
    )
