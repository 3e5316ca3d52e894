"""JSON of explanations, of a Node and of a Service."""

import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any, assert_never

from desired.explain.fact import Fact
from desired.explain.guards import Word
from desired.explain.listeners import CertificateFact, ListenerFact
from desired.explain.load_balancer import FoundBalancer
from desired.explain.members import MemberFact
from desired.explain.node import Explanation
from desired.explain.options import OptionFact
from desired.explain.routes import NodeRoutes, RouteFact
from desired.explain.service import ServiceExplanation
from desired.explain.stage import ServerMatch
from desired.guards.anchor import Anchor
from desired.guards.nodes import NodeLosses
from desired.model.key import ObjectKind
from desired.model.load_balancer import NO_LIMIT, CloudBalancer
from desired.model.snapshot import Server
from desired.model.to_builtins import to_builtins
from desired.section import Present
from reconciler import __version__
from reconciler.report.escaping import LIMITS, json_text
from reconciler.report.json_report import FORMAT_VERSION, change_as_json, hold_as_json, note_as_json
from reconciler.result import Explained, Line


def fact_as_json(fact: Fact) -> Mapping[str, Any]:
    """One fact."""
    return {
        "subject": fact.subject,
        "value": fact.value,
        "wanted": fact.wanted,
        "rule": fact.rule.value,
        "source": fact.source,
    }


def word_as_json(word: Word, concerns: str, approve_flags: str) -> Mapping[str, Any]:
    """A guard's decision; ``concerns`` tells planned ``changes`` from a supposed ``deletion``."""
    return {
        "rule": word.rule,
        "concerns": concerns,
        "verdict": word.verdict.value,
        "why": word.why or None,
        "value": word.value or None,
        "limit": word.limit or None,
        "due_in_s": word.due_in_s,
        "hold": hold_as_json(word.hold, approve_flags) if word.hold else None,
        "approved": word.hold is not None and word.hold.approved,
    }


def anchor_as_json(anchor: Anchor) -> Mapping[str, Any]:
    """The state of the anchor."""
    return {
        "state": anchor.state.value,
        "found": anchor.found,
        "total": anchor.total,
        "unknown": anchor.unknown,
        "needed": anchor.needed,
    }


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


NO_SERVICE: Mapping[str, Any] = {
    "stage": None,
    "why": None,
    "load_balancer": None,
    "pending": [],
    "changes": [],
    "guards": [],
    "status": [],
    "conditions": [],
    "listeners": [],
    "targets": [],
    "certificates": [],
    "options": [],
    "remarks": [],
    "anchor": None,
    "notes": [],
}
"""What is said of a Service that could not be explained."""


def service_as_json(explanation: ServiceExplanation, approve_flags: str) -> Mapping[str, Any]:
    """The members of an explanation, keys in the order in which people read them."""
    return {
        "stage": explanation.stage.value,
        "why": explanation.why,
        "load_balancer": _found_balancer(explanation.balancer),
        "pending": [
            {"subject": wait.subject, "why": wait.why, "due_in_s": wait.due_in_s} for wait in explanation.pending
        ],
        "changes": [change_as_json(Line(change)) for change in explanation.changes],
        "guards": [word_as_json(word, "changes", approve_flags) for word in explanation.guards],
        "status": [fact_as_json(fact) for fact in explanation.status],
        "conditions": [fact_as_json(fact) for fact in explanation.conditions],
        "listeners": [_listener(fact) for fact in explanation.listeners],
        "targets": [_member(fact) for fact in explanation.targets],
        "certificates": [_certificate(fact) for fact in explanation.certificates],
        "options": [_option(fact) for fact in explanation.options],
        "remarks": [{"key": remark.key, "text": remark.text} for remark in explanation.remarks],
        "anchor": anchor_as_json(explanation.anchor),
        "notes": [note_as_json(note) for note in explanation.notes],
    }


def _found_balancer(found: FoundBalancer) -> Mapping[str, Any]:
    return {
        "asked_name": found.asked_name,
        "by": found.by,
        "found": _balancer(found.balancer),
        "other": _balancer(found.other),
        "why": found.why or None,
        "owner": [fact_as_json(fact) for fact in found.owner],
    }


def _balancer(balancer: CloudBalancer | None) -> Mapping[str, Any] | None:
    if balancer is None:
        return None
    spec, kind = balancer.spec, balancer.type
    return {
        "id": balancer.id,
        "name": spec.name,
        "type": kind.name,
        "location": spec.location,
        "network_zone": spec.zone,
        "ipv4": to_builtins(balancer.ipv4),
        "ipv6": to_builtins(balancer.ipv6),
        "public": spec.public_interface is True,
        "private": [{"network": place.network_id, "ip": to_builtins(place.ip)} for place in balancer.attachments],
        "protected": balancer.is_protected,
        "ports": len(spec.listeners),
        "max_ports": _limit(kind.max_services),
        "targets": len(balancer.targets),
        "max_targets": _limit(kind.max_targets),
    }


def _limit(number: int) -> int | None:
    """How much of something a type takes; null when that is not known."""
    return None if number == NO_LIMIT else number


def _listener(fact: ListenerFact) -> Mapping[str, Any]:
    return {
        "port": fact.port,
        "protocol": fact.protocol,
        "value": fact.value,
        "wanted": fact.wanted,
        "planned": fact.planned.value if fact.planned else None,
        "why": fact.why,
    }


def _member(fact: MemberFact) -> Mapping[str, Any]:
    return {
        "subject": fact.subject,
        "membership": fact.membership.value if fact.membership else None,
        "server_id": fact.server_id,
        "value": fact.value,
        "wanted": fact.wanted,
        "health": fact.health.value if fact.health else None,
        "why": fact.why,
    }


def _certificate(fact: CertificateFact) -> Mapping[str, Any]:
    return {
        "id": fact.id,
        "name": fact.name,
        "domains": list(fact.domains),
        "state": fact.state,
        "ports": list(fact.ports),
        "asked_for": fact.is_asked_for,
        "error": fact.error,
    }


def _option(fact: OptionFact) -> Mapping[str, Any]:
    return {
        "key": fact.key,
        "origin": fact.origin.value,
        "variable": fact.variable,
        "value": fact.value,
        "otherwise": fact.otherwise,
        "in_use": fact.in_use,
        "problems": list(fact.problems),
        "remark": fact.remark,
    }


def explanation_as_json(explained: Explained) -> Mapping[str, Any]:
    """The explanation in JSON values, keys in the order in which people read them."""
    report = explained.report
    snapshot = report.snapshot
    uid = snapshot.cluster_uid.value if snapshot and isinstance(snapshot.cluster_uid, Present) else None
    return {
        "format_version": FORMAT_VERSION,
        "tool_version": __version__,
        "kind": explained.key.kind.value,
        "key": explained.key,
        "taken_at": snapshot.taken_at.isoformat() if snapshot else None,
        "cluster": {"uid": uid},
        **_found(explained),
        "errors": list(report.errors),
        "requests": {"kubernetes": report.cost.kubernetes, "hetzner": report.cost.hetzner},
    }


def render_explanation_json(explained: Explained) -> str:
    """The JSON text with a line break at its end."""
    return json_text(explanation_as_json(explained))


def explanation_schema() -> Mapping[str, Any]:
    """The published JSON Schema (draft 2020-12)."""
    file = files("reconciler.report").joinpath("explanation.schema.json")
    loaded: Mapping[str, Any] = json.loads(file.read_text("utf-8"))
    return loaded


def _found(explained: Explained) -> Mapping[str, Any]:
    match explained.explanation:
        case Explanation() as explanation:
            return node_as_json(explanation, explained.report.approve_flags)
        case ServiceExplanation() as explanation:
            return service_as_json(explanation, explained.report.approve_flags)
        case None:
            return NO_SERVICE if explained.key.kind is ObjectKind.SERVICE else NO_NODE
        case _:
            assert_never(explained.explanation)
