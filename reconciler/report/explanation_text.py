"""An explanation as lines of text: first what happens to the object and why, then everything on it with its rule."""

from collections.abc import Iterator

from desired.explain.node import Explanation
from desired.explain.service import ServiceExplanation
from reconciler.report.escaping import visible
from reconciler.report.explanation_node_text import STAGE_TONES, node_lines
from reconciler.report.explanation_service_text import SERVICE_STAGE_TONES, service_lines
from reconciler.report.text_report import TextLine, Tone, header_lines
from reconciler.result import Explained


def render_explanation(explained: Explained) -> Iterator[TextLine]:
    """The lines of an explanation, what somebody who was woken at night wants to know before all detail."""
    for line in _lines(explained):
        yield TextLine(visible(line.text).rstrip(), line.tone)


def _lines(explained: Explained) -> Iterator[TextLine]:
    explanation, report = explained.explanation, explained.report
    if explanation is not None:
        yield TextLine(f"{explanation.key}  {explanation.stage}", _tone(explanation))
        yield TextLine(f"  {explanation.why}")
        yield TextLine("")
    yield from header_lines(report)
    match explanation:
        case Explanation():
            yield from node_lines(explanation, report.approve_flags)
        case ServiceExplanation():
            yield from service_lines(explanation, report.approve_flags)
    if report.errors:
        yield TextLine("")
    for error in report.errors:
        yield TextLine(f"Error: {error}", Tone.BAD)


def _tone(explanation: Explanation | ServiceExplanation) -> Tone:
    if isinstance(explanation, Explanation):
        return STAGE_TONES.get(explanation.stage, Tone.HEADING)
    return SERVICE_STAGE_TONES.get(explanation.stage, Tone.HEADING)
