"""An explanation as JSON. ``explanation.schema.json`` beside this file describes it."""

import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any, assert_never

from desired.explain.node import Explanation
from desired.explain.service import ServiceExplanation
from desired.section import Present
from reconciler import __version__
from reconciler.report.escaping import json_text
from reconciler.report.explanation_node_json import NO_NODE, node_as_json
from reconciler.report.explanation_service_json import NO_SERVICE, service_as_json
from reconciler.report.json_report import FORMAT_VERSION
from reconciler.result import Explained


def explanation_as_json(explained: Explained) -> Mapping[str, Any]:
    """The explanation in JSON values, keys in the order in which people read them."""
    report = explained.report
    snapshot = report.snapshot
    uid = snapshot.cluster_uid.value if snapshot and isinstance(snapshot.cluster_uid, Present) else None
    return {
        "format_version": FORMAT_VERSION,
        "tool_version": __version__,
        "kind": explained.kind,
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
            return NO_SERVICE if explained.kind == "service" else NO_NODE
        case _:
            assert_never(explained.explanation)
