"""The explanation of a Node as JSON values."""

from collections.abc import Mapping
from typing import Any

from desired.explain.node import Explanation
from desired.explain.routes import NodeRoutes, RouteFact
from desired.explain.stage import ServerMatch
from desired.guards.nodes import NodeLosses
from desired.model.snapshot import Server
from reconciler.report.explanation_members import anchor_as_json, fact_as_json, word_as_json
from reconciler.report.json_report import change_as_json, note_as_json
from reconciler.report.limits import LIMITS
from reconciler.result import Line

NO_NODE: Mapping[str, Any] = {
    "stage": None,
    "why": None,
    "match": None,
    "labels": [],
    "addresses": [],
    "routes": None,
    "taints": [],
    "conditions": [],
    "changes": [],
    "guards": [],
    "announced": None,
    "anchor": None,
    "losses": None,
    "notes": [],
}
"""What is said of a Node that could not be explained."""


def node_as_json(explanation: Explanation, approve_flags: str) -> Mapping[str, Any]:
    """The members of an explanation, keys in the order in which people read them."""
    return {
        "stage": explanation.stage.value,
        "why": explanation.why,
        "match": _match(explanation.match),
        "labels": [fact_as_json(fact) for fact in explanation.labels],
        "addresses": [fact_as_json(fact) for fact in explanation.addresses],
        "routes": _routes(explanation.routes) if explanation.routes else None,
        "taints": [fact_as_json(fact) for fact in explanation.taints],
        "conditions": [fact_as_json(fact) for fact in explanation.conditions],
        "changes": [change_as_json(Line(change)) for change in explanation.changes],
        "guards": [
            *(word_as_json(word, "changes", approve_flags) for word in explanation.guards),
            *(word_as_json(word, "deletion", approve_flags) for word in explanation.on_deletion),
        ],
        "announced": explanation.announced,
        "anchor": anchor_as_json(explanation.anchor),
        "losses": _losses(explanation.losses),
        "notes": [note_as_json(note) for note in explanation.notes],
    }


def _match(match: ServerMatch) -> Mapping[str, Any]:
    return {
        "by": match.by,
        "provider_id": match.provider_id,
        "server": _server(match.server) if match.server else None,
        "why": match.why or None,
        "candidates": [
            {"id": candidate.server_id, "name": candidate.name, "why_not": candidate.why_not}
            for candidate in match.candidates
        ],
    }


def _server(server: Server) -> Mapping[str, Any]:
    return {
        "id": server.id,
        "name": server.name,
        "status": server.status.value,
        "type": server.type,
        "location": server.location,
    }


def _routes(routes: NodeRoutes) -> Mapping[str, Any]:
    return {
        "network": routes.network_id,
        "used": routes.used,
        "limit": LIMITS["routes"],
        "cluster_cidr": str(routes.cluster_cidr) if routes.cluster_cidr else None,
        "mismatch": routes.mismatch,
        "why": routes.why or None,
        "destinations": [_route(fact) for fact in routes.facts],
    }


def _route(fact: RouteFact) -> Mapping[str, Any]:
    return {
        "destination": fact.destination,
        "standing": fact.standing.value if fact.standing else None,
        "fate": fact.action.value if fact.action else None,
        "value": str(fact.value) if fact.value else None,
        "wanted": str(fact.wanted) if fact.wanted else None,
        "why": fact.why,
    }


def _losses(losses: NodeLosses) -> Mapping[str, Any]:
    return {"lost": sorted(losses.lost), "nodes": losses.nodes, "limit": losses.limit}
