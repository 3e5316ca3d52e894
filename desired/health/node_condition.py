"""The condition ``NodeInSync`` of a Node: whether its labels, its addresses and the routes to its pods are as they
should be.

It is for clients that let pods wait for more than Ready, such as the node-readiness-controller. So it says False of
what is known to lack, and not of what is in doubt: an outage of an API, or a setting whose effects guards hold, must
not close a cluster to pods.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from desired.model.route import UNROUTED
from desired.model.snapshot import Node, SyncCondition
from desired.names import CONDITION_NODE_IN_SYNC
from desired.nodes.node import DesiredNode, InitializedNode, UnmanagedNode
from desired.plan.change import Change, Verdict
from desired.plan.kinds import ChangeKind
from desired.plan.notes import NoteKind
from desired.routes.desired import DesiredRoutes
from desired.rules.nodes import ADDRESSES_UNDECIDED, GONE_READY, Stage
from desired.rules.routes import NO_POD_CIDR, NODE_ELSEWHERE, PODS_IPV6_ONLY
from desired.section import Unmanaged

_IN_SYNC = SyncCondition("True", "InSync", "labels, addresses and routes are as they should be")
_SERVERLESS: Mapping[Stage, str] = MappingProxyType(
    {
        Stage.UNMATCHED: "ServerNotFound",
        Stage.AMBIGUOUS: "ServerAmbiguous",
        Stage.MALFORMED: "ProviderIDMalformed",
    }
)
"""Stage of a Node that is known to have no server, or none that can be told → the reason."""
_UNKNOWN = frozenset({Stage.UNKNOWN, Stage.UNSUPPORTED})
_MANAGED = frozenset({Stage.JOINING, Stage.SETTLED, *_UNKNOWN, *_SERVERLESS})
"""Stages in which a Node gets the condition. One that goes keeps what it has."""
_PARTS: Mapping[str, str] = MappingProxyType(
    {
        ChangeKind.NODE_INITIALISE: "NotInitialized",
        ChangeKind.NODE_ADDRESSES: "AddressesDiffer",
        ChangeKind.NODE_LABELS: "LabelsDiffer",
    }
)
_OF_ROUTES = frozenset({ChangeKind.ROUTE_CREATE, ChangeKind.ROUTE_REPLACE})
_WITHOUT_ROUTES = (PODS_IPV6_ONLY, NODE_ELSEWHERE)
"""Why the condition NetworkUnavailable of a Node stays, though nothing is in doubt: there is no route to its pods."""


def sync_condition(
    node: Node,
    wanted: DesiredNode,
    routes: DesiredRoutes | None,
    changes: Sequence[Change],
    errors: Mapping[str, str],
) -> SyncCondition | None:
    """The condition that the Node should have after a pass; None if it stays as it is.

    ``routes`` are None if none are managed. ``changes`` are the Node's of the judged plan that the pass ended with,
    and ``errors`` what APIs said of those that failed, by key. It stays while a change is under way, while the Node
    goes, and if too little is known: Unknown is for a Node that has no condition yet.
    """
    if wanted.stage.value not in _MANAGED:
        return None
    parts = [change for change in changes if change.kind in _PARTS]
    of_routes = [change for change in changes if change.kind in _OF_ROUTES]
    if any(_is_under_way(change, errors) for change in (*parts, *of_routes)):
        return None
    found = (
        _of_server(wanted)
        or _of_parts(parts, errors)
        or _of_addresses(wanted)
        or (None if routes is None else _of_routes(node, routes, of_routes, changes, errors))
        or _IN_SYNC
    )
    is_told = found.status != "Unknown" or node.condition(CONDITION_NODE_IN_SYNC) is None
    return found if is_told else None


def _is_under_way(change: Change, errors: Mapping[str, str]) -> bool:
    """Whether the next pass may find it done: it is allowed, and neither it nor what it needs first has failed."""
    return change.decision.verdict is Verdict.ALLOWED and _obstacle(change, errors) is None


def _obstacle(change: Change, errors: Mapping[str, str]) -> str | None:
    """An API's error on the change, if it was tried, or on one that it needs first; None if it refused neither."""
    return next((errors[key] for key in (change.key, *change.depends_on) if key in errors), None)


def _unknown(reason: str, why: str) -> SyncCondition:
    return SyncCondition("Unknown", reason, why)


def _lacks(reason: str, why: str) -> SyncCondition:
    return SyncCondition("False", reason, why)


def _of_server(wanted: DesiredNode) -> SyncCondition | None:
    """The condition of a Node without a server, or that cannot be initialized; None for any other."""
    stage = wanted.stage
    if stage.value in _UNKNOWN or stage.rule is GONE_READY:
        return _unknown("ServerUnknown", stage.text)
    if stage.value in _SERVERLESS:
        return _lacks(_SERVERLESS[stage.value], stage.text)
    if isinstance(wanted, UnmanagedNode) and wanted.left is not None:
        is_unknown = wanted.left.rule.of is NoteKind.UNKNOWN
        return (_unknown if is_unknown else _lacks)(_PARTS[ChangeKind.NODE_INITIALISE], wanted.left.text)
    return None


def _of_parts(parts: Sequence[Change], errors: Mapping[str, str]) -> SyncCondition | None:
    """The condition by a change that failed, or is withheld. A Node that was not initialized lacks everything; of any
    other one it is in doubt whether the withheld change is right."""
    for change in parts:
        why = _why(change, errors)
        is_certain = change.key in errors or change.kind == ChangeKind.NODE_INITIALISE
        return _lacks(_PARTS[change.kind], why) if is_certain else _unknown("Withheld", why)
    return None


def _why(change: Change, errors: Mapping[str, str]) -> str:
    error = errors.get(change.key)
    if error is not None:
        return f"{change.kind} failed: {error}"
    if (obstacle := _obstacle(change, errors)) is not None:
        return f"{change.kind} is {Verdict.WAITING}: {obstacle}"
    return f"{change.kind} is {change.decision.verdict}: {change.decision.why}"


def _of_addresses(wanted: DesiredNode) -> SyncCondition | None:
    """The condition by addresses that stay as they are, since the right ones are not known."""
    if not isinstance(wanted, InitializedNode):
        return None
    for decided in wanted.addresses.wanted:
        if decided.rule in ADDRESSES_UNDECIDED:
            is_unknown = decided.rule.of is NoteKind.UNKNOWN
            return (_unknown if is_unknown else _lacks)(_PARTS[ChangeKind.NODE_ADDRESSES], decided.text)
    return None


def _of_routes(
    node: Node,
    routes: DesiredRoutes,
    missing: Sequence[Change],
    changes: Sequence[Change],
    errors: Mapping[str, str],
) -> SyncCondition | None:
    """The condition of a Node whose pods cannot be reached, or of which that cannot be told; None for any other."""
    if routes.network is None:
        return _unknown("RoutesUnknown", routes.left.text if routes.left else "")
    wanted = routes.conditions.get(node.name)
    if wanted is None:
        return None
    value, why = wanted.decided.value, wanted.decided.text
    if value == UNROUTED:
        is_held = any(
            c.kind == ChangeKind.NODE_NETWORK_CONDITION and c.decision.verdict is Verdict.HELD for c in changes
        )
        return _unknown("Withheld", why) if is_held else _lacks("RouteMissing", why)
    if missing:
        unread = next((each for each in missing if each.decision.waits_for_data), None)
        if unread is not None:
            return _unknown("RoutesUnknown", unread.decision.why)
        return _lacks("RouteMissing", _why(missing[0], errors))
    if wanted.decided.rule is NO_POD_CIDR:
        return _lacks("PodCIDRMissing", why)
    is_unknown = isinstance(value, Unmanaged) and wanted.decided.rule not in _WITHOUT_ROUTES
    return _unknown("RoutesUnknown", why) if is_unknown else None
