"""An explanation as JSON. ``explanation.schema.json`` beside this file describes it."""

import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

import msgspec

from desired.anchor import Anchor
from desired.blast_radius import NodeLosses
from desired.explanation.fact import Fact
from desired.explanation.guards import Word
from desired.explanation.match import ServerMatch
from desired.explanation.node import Explanation
from desired.section import Present
from desired.snapshot import Server
from reconciler import __version__
from reconciler.report.json_report import FORMAT_VERSION, change_as_json, hold_as_json, note_as_json
from reconciler.result import Explained, Line

_NOTHING: Mapping[str, Any] = {
    "stage": None,
    "why": None,
    "match": None,
    "labels": [],
    "addresses": [],
    "taints": [],
    "conditions": [],
    "changes": [],
    "guards": [],
    "announced": None,
    "anchor": None,
    "losses": None,
    "notes": [],
}
"""What is said of an object that could not be explained."""


def explanation_as_json(explained: Explained) -> Mapping[str, Any]:
    """The explanation in JSON values, keys in the order in which people read them."""
    explanation, report = explained.explanation, explained.report
    snapshot = report.snapshot
    uid = snapshot.cluster_uid.value if snapshot and isinstance(snapshot.cluster_uid, Present) else None
    return {
        "format_version": FORMAT_VERSION,
        "tool_version": __version__,
        "kind": explained.key.split("/", 1)[0],
        "key": explained.key,
        "taken_at": snapshot.taken_at.isoformat() if snapshot else None,
        "cluster": {"uid": uid},
        **(_NOTHING if explanation is None else _found(explanation, report.approve_flags)),
        "errors": list(report.errors),
        "requests": {"kubernetes": report.cost.kubernetes, "hetzner": report.cost.hetzner},
    }


def render_explanation_json(explained: Explained) -> str:
    """The JSON text with a line break at its end."""
    return msgspec.json.format(msgspec.json.encode(explanation_as_json(explained)), indent=2).decode() + "\n"


def explanation_schema() -> Mapping[str, Any]:
    """The published JSON Schema (draft 2020-12)."""
    file = files("reconciler.report").joinpath("explanation.schema.json")
    loaded: Mapping[str, Any] = json.loads(file.read_text("utf-8"))
    return loaded


def _found(explanation: Explanation, approve_flags: str) -> Mapping[str, Any]:
    return {
        "stage": explanation.stage.value,
        "why": explanation.why,
        "match": _match(explanation.match),
        "labels": [_fact(fact) for fact in explanation.labels],
        "addresses": [_fact(fact) for fact in explanation.addresses],
        "taints": [_fact(fact) for fact in explanation.taints],
        "conditions": [_fact(fact) for fact in explanation.conditions],
        "changes": [change_as_json(Line(change)) for change in explanation.changes],
        "guards": [
            *(_word(word, "changes", approve_flags) for word in explanation.guards),
            *(_word(word, "deletion", approve_flags) for word in explanation.on_deletion),
        ],
        "announced": explanation.announced,
        "anchor": _anchor(explanation.anchor),
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


def _fact(fact: Fact) -> Mapping[str, Any]:
    return {
        "subject": fact.subject,
        "value": fact.value,
        "wanted": fact.wanted,
        "rule": fact.rule.value,
        "source": fact.source,
    }


def _word(word: Word, concerns: str, approve_flags: str) -> Mapping[str, Any]:
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


def _anchor(anchor: Anchor) -> Mapping[str, Any]:
    return {
        "state": anchor.state.value,
        "found": anchor.found,
        "total": anchor.total,
        "unknown": anchor.unknown,
        "needed": anchor.needed,
    }


def _losses(losses: NodeLosses) -> Mapping[str, Any]:
    return {"lost": sorted(losses.lost), "nodes": losses.nodes, "limit": losses.limit}
