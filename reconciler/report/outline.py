"""Outline of a report: its sections, how many changes each has, and what goes. Pure, for every renderer."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import groupby

from actuators.outcome import Applied
from desired.model.key import Key, ObjectKind
from desired.plan.change import Verdict
from desired.plan.kinds import Verb
from reconciler.report.folding import natural_order
from reconciler.result import Line, Report, summary

_HEADINGS = {
    ObjectKind.NODE: "nodes",
    ObjectKind.LOAD_BALANCER: "load balancers",
    ObjectKind.CERTIFICATE: "certificates",
    ObjectKind.SERVICE: "services",
    ObjectKind.ROUTE: "routes",
}
"""What changes are of → what stands above them all, in the order in which people read them."""
GONE, GOES, LATER, AFTER_APPROVAL, STAYED = "Gone", "Goes", "Goes, after waiting", "Goes, when approved", "Not gone yet"
"""What a removal comes to: it is done, is to be done, waits, is held, or was tried and is not done."""


def sections(lines: Iterable[Line]) -> Mapping[str, tuple[Line, ...]]:
    """Heading → the changes below it, in the order of reading; objects without a heading of their own come last."""
    grouped = groupby(sorted(lines, key=_place), key=lambda line: line.change.key.kind)
    return {_HEADINGS.get(kind, str(kind)): tuple(group) for kind, group in grouped}


def _place(line: Line) -> tuple[int, str]:
    kind, order = line.change.key.kind, list(_HEADINGS)
    return order.index(kind) if kind in order else len(order), kind


def section_counts(report: Report) -> Mapping[str, Mapping[str, int]]:
    """Heading → verb, verdict or outcome → how many changes; only what occurs anywhere, in the order of the summary."""
    counts = {heading: summary(replace(report, lines=lines)) for heading, lines in sections(report.lines).items()}
    words = [word for word, count in summary(report).items() if count]
    return {heading: {word: found[word] for word in words} for heading, found in counts.items()}


def removals(lines: Iterable[Line]) -> Mapping[str, tuple[Key, ...]]:
    """What a removal comes to → the keys of all such removals. What is refused stays, and is not told."""
    found: dict[str, list[Key]] = {word: [] for word in (GONE, GOES, LATER, AFTER_APPROVAL, STAYED)}
    for line in lines:
        if line.change.verb is Verb.REMOVE and line.change.decision.verdict is not Verdict.REFUSED:
            found[_end(line)].append(line.change.key)
    return {word: tuple(sorted(keys, key=natural_order)) for word, keys in found.items() if keys}


def _end(line: Line) -> str:
    if line.outcome is not None:
        return GONE if isinstance(line.outcome, Applied) else STAYED
    return {Verdict.WAITING: LATER, Verdict.HELD: AFTER_APPROVAL}.get(line.change.decision.verdict, GOES)
