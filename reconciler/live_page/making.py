"""Making of documents from what the last pass has left: the page, and the explanation of one object."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from actuators.outcome import Applied
from desired.explain import explain_object
from desired.explain.document import NodeExplanation
from desired.model.key import Key
from desired.plan.change import Plan
from desired.rules.rule import Basis
from reconciler.report.explanation import render_explanation
from reconciler.report.page.page import Document, Page, document_of, explanation_of, page_of
from reconciler.report.page.ring import PassRecord
from reconciler.result import Explained, Report
from reconciler.telemetry.logs import masked


@dataclass(slots=True)
class Maker:
    """Makes documents of one report, from one thread at a time. What they share is computed once.

    Secrets are masked: an error repeats what an API or a proxy answered, and more people look at the page than read the
    log.
    """

    report: Report | None
    """None while there is none: ``why_empty`` says why."""
    passes: Sequence[PassRecord]
    leader: str
    why_empty: str
    _page: Page | None = field(default=None, init=False)

    def page(self) -> Document:
        """The page."""
        return document_of(self._model()).with_texts(masked)

    def explanation(self, key: Key) -> Document | str:
        """The explanation of a Node or Service; a text says why there is none."""
        report = self.report
        if report is None or report.facts is None:
            return explanation_of(self._model(), key, ()).with_texts(masked)
        left = tuple(line.change for line in report.lines if not isinstance(line.outcome, Applied))
        plan = Plan(left, report.notes, report.holds)
        found = explain_object(key, plan, report.facts, report.results)
        if isinstance(found, str):
            return masked(found)
        if isinstance(found, NodeExplanation):  # what a stranger put there is for who may read the cluster
            found = replace(found, labels=tuple(fact for fact in found.labels if fact.rule is not Basis.FOREIGN))
        lines = tuple(render_explanation(Explained(key, report, found)))
        return explanation_of(self._model(), key, lines).with_texts(masked)

    def _model(self) -> Page:
        if self._page is None:
            told = {"leader": self.leader, "why_empty": self.why_empty}
            self._page = page_of(self.report, self.passes, **told, is_live=True)
        return self._page
