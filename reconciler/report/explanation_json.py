"""JSON of explanations, of a Node and of a Service: their fields as they are, between a head and a tail."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal, get_origin, get_type_hints

from msgspec import Struct

from desired.explain.document import NodeExplanation, ServiceExplanation
from reconciler import __version__
from reconciler.report.documents import (
    FORMAT_VERSION,
    ClusterDocument,
    FormatVersion,
    RequestsDocument,
    to_json,
)
from reconciler.report.json_report import shown
from reconciler.result import Explained


class ExplanationHead(Struct, frozen=True):
    """What stands before the members of an explanation."""

    format_version: FormatVersion
    tool_version: str
    kind: Literal["node", "service"]
    key: str
    """As in a plan, node/NAME or service/NAMESPACE/NAME; as it was given, when there is no such object."""
    taken_at: datetime | None
    """The API server's clock; None when it could not be read."""
    cluster: ClusterDocument


class ExplanationTail(Struct, frozen=True):
    """What stands behind the members of an explanation."""

    errors: tuple[str, ...]
    """What went wrong; where there is nothing to explain, why."""
    requests: RequestsDocument


EXPLANATIONS: Mapping[Literal["node", "service"], type[NodeExplanation | ServiceExplanation]] = {
    "node": NodeExplanation,
    "service": ServiceExplanation,
}
"""Kind of an object → its explanation. What cannot be explained has the same members: null, and empty lists."""


def explanation_as_json(explained: Explained) -> Mapping[str, Any]:
    """The explanation in JSON values."""
    report, kind = explained.report, explained.kind
    taken_at = report.snapshot.taken_at if report.snapshot else None
    cluster = ClusterDocument.of(report.snapshot)
    head = ExplanationHead(FORMAT_VERSION, __version__, kind, explained.key, taken_at, cluster)
    tail = ExplanationTail(report.errors, RequestsDocument.of(report))
    members = get_type_hints(EXPLANATIONS[kind])
    empty: Mapping[str, Any] = {name: [] if get_origin(hint) is tuple else None for name, hint in members.items()}
    return {
        **to_json(head),
        **(to_json(explained.explanation, shown(report)) if explained.explanation else empty),
        **to_json(tail),
    }
