"""JSON of a report: one shape for plans and for what was applied. ``schema.json`` beside this file describes it."""

import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from actuators.outcome import Applied, Failed, Outcome, Pending, Skipped
from desired.plan.change import Hold, Note
from desired.section import Present, Section
from reconciler import __version__
from reconciler.report.canonical import as_json
from reconciler.report.escaping import LIMITS, json_text
from reconciler.report.fields import field_changes
from reconciler.result import Line, Report, approve_command, summary

FORMAT_VERSION = "1.0"
"""Readers ignore fields they do not know within a major version, and refuse another major version."""


def report_as_json(report: Report) -> Mapping[str, Any]:
    """The report in JSON values, keys in the order in which people read them."""
    snapshot = report.snapshot
    uid = snapshot.cluster_uid.value if snapshot and isinstance(snapshot.cluster_uid, Present) else None
    sections = snapshot.sections() if snapshot else {}
    return {
        "format_version": FORMAT_VERSION,
        "result": report.result.value,
        "tool_version": __version__,
        "taken_at": snapshot.taken_at.isoformat() if snapshot else None,
        "cluster": {"uid": uid},
        "sections": {name: _section(name, section) for name, section in sections.items()},
        "changes": [change_as_json(line) for line in report.lines],
        "notes": [note_as_json(note) for note in report.notes],
        "holds": [hold_as_json(hold, report.approve_flags) for hold in report.holds],
        "errors": list(report.errors),
        "requests": {"kubernetes": report.cost.kubernetes, "hetzner": report.cost.hetzner},
        "summary": summary(report),
    }


def render_json(report: Report, *, compact: bool = False) -> str:
    """The JSON text with a line break at its end; on one line when ``compact``, for a stream of passes."""
    return json_text(report_as_json(report), compact=compact)


def schema() -> Mapping[str, Any]:
    """The published JSON Schema (draft 2020-12)."""
    loaded: Mapping[str, Any] = json.loads(files("reconciler.report").joinpath("schema.json").read_text("utf-8"))
    return loaded


def _section(name: str, section: Section[Any, Any]) -> Mapping[str, Any]:
    """``limit`` only where one is known."""
    return {
        "complete": section.complete,
        "count": len(section),
        "expected": section.expected,
        "why_incomplete": section.why_incomplete,
        **({"limit": LIMITS[name]} if name in LIMITS else {}),
    }


def change_as_json(line: Line) -> Mapping[str, Any]:
    """One change with its verdict and outcome."""
    change = line.change
    decision = change.decision
    return {
        "key": change.key,
        "kind": change.kind,
        "class": change.verb.value,
        "before": as_json(change.before),
        "after": as_json(change.after),
        "fields": [{"path": f.path, "before": f.before, "after": f.after} for f in field_changes(change)],
        "reason": change.reason,
        "consequences": list(change.consequences),
        "owner": change.owner,
        "depends_on": list(change.depends_on),
        "verdict": decision.verdict.value,
        "rule": decision.rule,
        "why": decision.why or None,
        "due_in_s": decision.due_in_s,
        "outcome": _outcome(line.outcome),
    }


def _outcome(outcome: Outcome | None) -> Mapping[str, Any] | None:
    match outcome:
        case None:
            return None
        case Applied():
            return {"state": "applied"}
        case Pending(why, retry_after_s):
            return {"state": "pending", "why": why, "retry_after_s": retry_after_s}
        case Skipped(reason):
            return {"state": "skipped", "why": reason}
        case Failed(error, retry_after_s):
            return {"state": "failed", "why": error, "retry_after_s": retry_after_s}


def note_as_json(note: Note) -> Mapping[str, Any]:
    """One note."""
    return {"key": note.key, "kind": note.kind.value, "text": note.text}


def hold_as_json(hold: Hold, flags: str) -> Mapping[str, Any]:
    """One hold with the command that approves it; ``flags`` as in ``approve_command``."""
    return {
        "hash": hold.hash,
        "rule": hold.rule,
        "value": hold.value,
        "limit": hold.limit,
        "keys": list(hold.keys),
        "why": hold.why,
        "approve": approve_command(hold, flags),
    }
