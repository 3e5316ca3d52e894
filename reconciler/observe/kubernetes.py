"""What the Kubernetes API says, as values of the core.

Only fields that some rule looks at are decoded. One object that cannot be decoded is isolated: its key becomes
Unknown, and the list stays whole. msgspec's errors are ValueErrors, and so is that of text that is not UTF-8.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from sys import intern
from typing import Any

import msgspec

from actuators.clients.kubernetes import Answer, KubernetesReader, segment
from actuators.errors import ApiError, Broken, NotFound
from desired.approval import Approval, parse_approvals
from desired.names import ANNOTATION_PROVIDED_NODE_IP, CONFIG_MAP, IDENTITY_NAMESPACE
from desired.section import Present, Section, Unknown
from desired.snapshot import Condition, Node, NodeAddress, Taint


class _Meta(msgspec.Struct, rename="camel", gc=False):
    name: str
    uid: str
    resource_version: str
    creation_timestamp: datetime
    deletion_timestamp: datetime | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    finalizers: list[str] | None = None


class _Taint(msgspec.Struct, rename="camel", gc=False):
    key: str
    effect: str
    value: str | None = None
    time_added: str | None = None


class _Spec(msgspec.Struct, gc=False):
    provider_id: str = msgspec.field(default="", name="providerID")
    unschedulable: bool = False
    taints: list[_Taint] | None = None


class _Condition(msgspec.Struct, rename="camel", gc=False):
    type: str
    status: str
    reason: str = ""
    last_transition_time: datetime | None = None


class _Address(msgspec.Struct, gc=False):
    type: str
    address: str


class _Status(msgspec.Struct, gc=False):
    conditions: list[_Condition] | None = None
    addresses: list[_Address] | None = None


class _Node(msgspec.Struct, gc=False):
    metadata: _Meta
    spec: _Spec = msgspec.field(default_factory=_Spec)
    status: _Status = msgspec.field(default_factory=_Status)


class _ListMeta(msgspec.Struct, rename="camel"):
    resource_version: str = ""


class _NodeList(msgspec.Struct):
    kind: str
    metadata: _ListMeta
    items: list[_Node] | None


class _RawList(msgspec.Struct):
    kind: str
    metadata: _ListMeta
    items: list[msgspec.Raw] | None


class _NameOnly(msgspec.Struct):
    name: str


class _Named(msgspec.Struct):
    metadata: _NameOnly


class _Identified(msgspec.Struct):
    class _Uid(msgspec.Struct):
        uid: str

    metadata: _Uid


class _ConfigMap(msgspec.Struct):
    data: dict[str, str] | None = None


_NODE_LIST = msgspec.json.Decoder(_NodeList)
_RAW_LIST = msgspec.json.Decoder(_RawList)
_NODE = msgspec.json.Decoder(_Node)
_NAMED = msgspec.json.Decoder(_Named)


def observe_nodes(reader: KubernetesReader) -> tuple[Section[str, Node], datetime]:
    """All Nodes, and the API server's time when the reading began. Raises an ApiError when the list cannot be had."""
    pages = reader.list_pages("/api/v1/nodes", lambda answer: (decode_nodes(answer.body), server_time(answer)))
    return _joined([nodes for nodes, _ in pages]), pages[0][1]


@dataclass(frozen=True, slots=True)
class NodePage:
    """The Nodes of one page, by name; why others could not be read; and of how many not even the name could be."""

    items: Mapping[str, Node]
    unreadable: Mapping[str, str] = field(default_factory=dict)
    nameless: int = 0


def decode_nodes(page: bytes) -> NodePage:
    """The Nodes of one page of a list. Raises Broken for a page that is no list of the API server's."""
    try:
        return NodePage({node.metadata.name: _node(node) for node in _checked(_NODE_LIST.decode(page)).items or ()})
    except ValueError:
        return _one_by_one(_raw_items(page))


def _one_by_one(raw_items: Sequence[msgspec.Raw]) -> NodePage:
    items: dict[str, Node] = {}
    unreadable: dict[str, str] = {}
    nameless = 0
    for raw in raw_items:
        try:
            node = _NODE.decode(raw)
            items[node.metadata.name] = _node(node)
        except ValueError as error:
            name = _name_of(raw)
            nameless += name is None
            if name is not None:
                unreadable[name] = f"the API server's Node could not be read: {error}"
    return NodePage(items, unreadable, nameless)


def _joined(pages: Sequence[NodePage]) -> Section[str, Node]:
    """One section of all pages."""
    items = {name: node for page in pages for name, node in page.items.items()}
    unreadable = {name: why for page in pages for name, why in page.unreadable.items()}
    nameless = sum(page.nameless for page in pages)
    why = f"{nameless} Nodes could not be read, not even their names" if nameless else None
    return Section(items, complete=why is None, why_incomplete=why, unreadable=unreadable)


def observe_cluster_uid(reader: KubernetesReader) -> Present[str] | Unknown:
    """The cluster's identity: the UID of namespace ``kube-system``. Unknown when it cannot be read, whatever why."""
    try:
        body = reader.get(f"/api/v1/namespaces/{IDENTITY_NAMESPACE}").body
        return Present(msgspec.json.decode(body, type=_Identified).metadata.uid)
    except (ApiError, ValueError) as error:
        return Unknown(str(error))


def observe_approvals(reader: KubernetesReader, namespace: str) -> tuple[Approval, ...]:
    """The approvals in the product's ConfigMap; none when there is no ConfigMap. Raises an ApiError."""
    try:
        body = reader.get(f"/api/v1/namespaces/{segment(namespace)}/configmaps/{CONFIG_MAP}").body
        return parse_approvals(msgspec.json.decode(body, type=_ConfigMap).data or {})
    except NotFound:
        return ()
    except ValueError as error:
        raise Broken(f"ConfigMap {namespace}/{CONFIG_MAP} could not be read: {error}") from error


def server_time(answer: Answer) -> datetime:
    """The API server's clock, to the second, in UTC. Raises Broken when the answer carries no ``Date``."""
    try:
        return parsedate_to_datetime(answer.headers["date"]).astimezone(UTC)
    except (KeyError, ValueError) as error:
        raise Broken("the Kubernetes API server's answer has no usable Date header; is that a proxy?") from error


def _checked(answer: Any) -> Any:
    """Null items are an empty list only in an answer that says it is a list of some version."""
    if not answer.kind.endswith("List") or (answer.items is None and not answer.metadata.resource_version):
        raise Broken(f"Kubernetes GET /api/v1/nodes: the answer is a {answer.kind}, not a list of Nodes")
    return answer


def _raw_items(page: bytes) -> Sequence[msgspec.Raw]:
    try:
        return _checked(_RAW_LIST.decode(page)).items or ()
    except ValueError as error:
        raise Broken(f"Kubernetes GET /api/v1/nodes: the answer is no list ({error})") from error


def _name_of(raw: msgspec.Raw) -> str | None:
    try:
        return _NAMED.decode(raw).metadata.name
    except ValueError:
        return None


def _node(node: _Node) -> Node:
    meta = node.metadata
    return Node(
        name=meta.name,
        uid=meta.uid,
        resource_version=meta.resource_version,
        created_at=meta.creation_timestamp,
        provider_id=node.spec.provider_id or None,
        labels=meta.labels or {},
        taints=tuple(Taint(t.key, t.effect, t.value, t.time_added) for t in node.spec.taints or ()),
        addresses=tuple(NodeAddress(a.type, a.address) for a in node.status.addresses or ()),
        provided_node_ip=(meta.annotations or {}).get(ANNOTATION_PROVIDED_NODE_IP),
        conditions=tuple(_condition(condition) for condition in node.status.conditions or ()),
        unschedulable=node.spec.unschedulable,
        deleted_at=meta.deletion_timestamp,
        finalizers=tuple(meta.finalizers or ()),
    )


def _condition(found: _Condition) -> Condition:
    """The words are the same on thousands of Nodes: one copy of each is kept."""
    return Condition(intern(found.type), intern(found.status), intern(found.reason), found.last_transition_time)
