"""Renderers of commands other than a pass, each in text and as JSON. Imported only when one of them has a result."""

from collections.abc import Iterator
from typing import assert_never

from reconciler.report.explanation_json import render_explanation_json
from reconciler.report.explanation_text import render_explanation
from reconciler.report.orphans import OrphanReport, render_orphans, render_orphans_json
from reconciler.report.text_report import TextLine
from reconciler.report.validation import Validation, render_validation, render_validation_json
from reconciler.result import Explained

Other = Explained | Validation | OrphanReport
"""What there is to write besides the report of a pass."""


def to_json(said: Other) -> str:
    """One JSON document."""
    match said:
        case Explained():
            return render_explanation_json(said)
        case Validation():
            return render_validation_json(said)
        case OrphanReport():
            return render_orphans_json(said)
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
        case _:
            assert_never(said)
