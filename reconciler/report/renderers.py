"""Renderers of commands other than a pass, as text and as documents. Imported only when one of them has a result."""

from collections.abc import Iterator, Mapping
from typing import Any, assert_never

from reconciler.report.explanation import explanation_as_json, render_explanation
from reconciler.report.holds import HoldsReport, holds_as_json, render_holds
from reconciler.report.orphans import OrphanReport, orphans_as_json, render_orphans
from reconciler.report.status import StatusReport, render_status, status_as_json
from reconciler.report.text import TextLine
from reconciler.report.validation import Validation, render_validation, validation_as_json
from reconciler.result import Explained

Other = Explained | Validation | OrphanReport | HoldsReport | StatusReport
"""What there is to write besides the report of a pass."""


def as_json(said: Other) -> Mapping[str, Any]:
    """One document in JSON values."""
    match said:
        case Explained():
            return explanation_as_json(said)
        case Validation():
            return validation_as_json(said)
        case OrphanReport():
            return orphans_as_json(said)
        case HoldsReport():
            return holds_as_json(said)
        case StatusReport():
            return status_as_json(said)
        case _:
            assert_never(said)


def to_text(said: Other) -> Iterator[TextLine]:
    """Lines for people."""
    match said:
        case Explained():
            return render_explanation(said)
        case Validation():
            return render_validation(said)
        case OrphanReport():
            return render_orphans(said)
        case HoldsReport():
            return render_holds(said)
        case StatusReport():
            return render_status(said)
        case _:
            assert_never(said)
