"""The API server as far as our writes go, and whose a Node is: written anew, so that laws do not judge the product by
itself."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from desired.model.settings import Settings
from desired.model.snapshot import Node, Snapshot
from desired.model.taint import Taint
from desired.names import OUT_OF_SERVICE_DELETED, TAINT_OUT_OF_SERVICE, TAINT_SHUTDOWN, TAINT_UNINITIALIZED
from desired.plan.change import Change, NodeIdentity, OutOfService
from desired.syntax.provider_id import CloudID, RobotID, parse_provider_id


def applied(snapshot: Snapshot, changes: Iterable[Change]) -> Snapshot:
    """The world after these changes were carried out one by one."""
    items = dict(snapshot.nodes.items)
    for change in changes:
        name = change.owner.removeprefix("node/")
        node = written(items.pop(name), change, snapshot)
        if node is not None:
            items[name] = node
    return replace(snapshot, nodes=replace(snapshot.nodes, items=items))


def written(node: Node, change: Change, snapshot: Snapshot) -> Node | None:
    """What a change makes of its Node, as the API server merges patches; None when the Node is gone."""
    match change.kind, change.before, change.after:
        case "node.initialise", NodeIdentity() as before, NodeIdentity() as after:
            assert node.provider_id in (None, after.provider_id), "the API server lets no one change a providerID"
            labels = merged(node.labels, before.labels, after.labels)
            return replace(
                node, provider_id=after.provider_id, labels=labels, taints=after.taints, addresses=after.addresses
            )
        case "node.labels", Mapping() as before, Mapping() as after:
            return replace(node, labels=merged(node.labels, before, after))
        case "node.addresses", _, tuple() as after:
            return replace(node, addresses=after)
        case "node.shutdown_taint", _, True:
            return replace(node, taints=(*node.taints, Taint(TAINT_SHUTDOWN, "NoSchedule")))
        case "node.shutdown_taint", _, False:
            return replace(node, taints=tuple(taint for taint in node.taints if not is_shutdown(taint)))
        case "node.out_of_service_taint", _, OutOfService():
            return replace(
                node, taints=(*node.taints, Taint(TAINT_OUT_OF_SERVICE, "NoExecute", OUT_OF_SERVICE_DELETED))
            )
        case "node.out_of_service_taint", _, False:
            return replace(node, taints=tuple(t for t in node.taints if t.value != OUT_OF_SERVICE_DELETED))
        case "node.delete", _, None:
            return replace(node, deleted_at=snapshot.taken_at) if node.finalizers else None
    raise AssertionError(f"{change.key}: the API server knows no {change.kind} to {change.after}")


def merged(labels: Mapping[str, str], before: Mapping[str, str], after: Mapping[str, str]) -> Mapping[str, str]:
    """``labels`` after a merge patch in which what only ``before`` has is null."""
    return {**{key: value for key, value in labels.items() if key not in before}, **after}


def is_shutdown(taint: Taint) -> bool:
    """Whether the taint is the one of a server that is off, whoever gave it which value."""
    return (taint.key, taint.effect) == (TAINT_SHUTDOWN, "NoSchedule")


def is_joining(node: Node) -> bool:
    """Whether the Node waits for a cloud controller."""
    return TAINT_UNINITIALIZED in {taint.key for taint in node.taints}


def is_foreign(node: Node) -> bool:
    """Whether this Node is not ours: another provider's, or ignored."""
    if node.provider_id is None:
        return not is_joining(node)
    return not isinstance(parse_provider_id(node.provider_id), CloudID | RobotID)


def is_spared(node: Node, chosen: Settings) -> bool:
    return chosen.ignore_nodes is not None and chosen.ignore_nodes.matches(node.labels)


def our_nodes(snapshot: Snapshot, chosen: Settings) -> list[tuple[Node, int]]:
    """Our Nodes of the cloud, with the ids of their servers."""
    claims = [(node, parse_provider_id(node.provider_id or "")) for node in snapshot.nodes.items.values()]
    return [
        (node, claim.server_id) for node, claim in claims if isinstance(claim, CloudID) and not is_spared(node, chosen)
    ]


def is_owned(key: str, chosen: Settings) -> bool:
    """Whether a label of a Node is ours: what HCCM writes, and what is mirrored."""
    return key in OWNED or (chosen.mirror_labels is not None and key.startswith(f"{chosen.mirror_labels}/"))


OWNED = frozenset(
    f"{domain}/{name}"
    for domain, name in (
        ("beta.kubernetes.io", "instance-type"),
        ("node.kubernetes.io", "instance-type"),
        ("failure-domain.beta.kubernetes.io", "zone"),
        ("failure-domain.beta.kubernetes.io", "region"),
        ("topology.kubernetes.io", "zone"),
        ("topology.kubernetes.io", "region"),
        ("instance.hetzner.cloud", "provided-by"),
    )
)
"""Those that initialization writes."""
