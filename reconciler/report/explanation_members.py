"""The members that explanations of all kinds share, as JSON values."""

from collections.abc import Mapping
from typing import Any

from desired.explain.fact import Fact
from desired.explain.guards import Word
from desired.guards.anchor import Anchor
from reconciler.report.json_report import hold_as_json


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
    """A guard's word; ``concerns`` tells planned ``changes`` from a ``deletion`` that is only supposed."""
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
    """What the guards know of the project."""
    return {
        "state": anchor.state.value,
        "found": anchor.found,
        "total": anchor.total,
        "unknown": anchor.unknown,
        "needed": anchor.needed,
    }
