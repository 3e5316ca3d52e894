"""One thing on a Node or Service as it stands, and the rule behind it: what an explanation is made of."""

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum

from desired.plan.change import Change, Verdict


class Rule(StrEnum):
    """Whose something on a Node or Service is, and what decides on it."""

    SERVER = "server"
    """Ours, and the server says what it should be."""
    KEPT = "kept"
    """Ours, but somebody else has set it, and it stays."""
    MIRRORED = "mirrored"
    """Ours, as ``--mirror-labels`` says."""
    NODE_IP = "node-ip"
    """Ours, and the kubelet's ``--node-ip`` decides."""
    UNTOUCHED = "untouched"
    """Ours to write, and nothing is written as things are."""
    UNINITIALISED = "uninitialised"
    """The taint of a joining Node."""
    SHUTDOWN = "shutdown"
    """The taint of a Node whose server is switched off."""
    ANNOUNCING = "announcing"
    """A taint of somebody who is about to remove the Node."""
    READY = "ready"
    """The condition that the Node's deletion hangs on."""
    ROUTES = "routes"
    """The condition that says whether the Node's pods can be reached: the routes to them decide."""
    BALANCER = "load-balancer"
    """Ours, and the load balancer says what it should be."""
    ASKED = "asked"
    """Ours, as an annotation of the Service asks."""
    OWNER = "owner"
    """The label that says whose a load balancer is."""
    FOREIGN = "foreign"
    """Somebody else's, left alone."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One label, address, taint or condition of a Node, of a Service, or of its load balancer."""

    subject: str
    """A label's or taint's key, an address's or condition's type."""
    value: str | None
    """As it stands; None when it is not there."""
    wanted: str | None
    """As it should be, which is ``value`` for what is left alone; None when it should not be there."""
    rule: Rule
    source: str
    """Where the value comes from, or why it stays or goes, in words."""


NOT_OURS = "not ours, left alone"
"""The source of everything that is FOREIGN."""


def planned(changes: Collection[Change]) -> str:
    """How many changes are planned, and what withholds some of them."""
    count = {0: "no change is", 1: "1 change is"}.get(len(changes), f"{len(changes)} changes are")
    withheld = dict.fromkeys(ruled(change) for change in changes if change.decision.verdict is not Verdict.ALLOWED)
    return f"{count} planned" + (f": {', '.join(withheld)}" if withheld else "")


def becomes(changes: Collection[Change], done: str, what: str) -> str:
    """What becomes of ``what``, by the first of these changes: it is ``done``, or why not; "" when there is none."""
    for change in changes:
        return done if change.decision.verdict is Verdict.ALLOWED else f"{what} is {ruled(change)}"
    return ""


def ruled(change: Change) -> str:
    """Verdict and rule of a change that is withheld."""
    return f"{change.decision.verdict} ({change.decision.rule})"


def if_withheld(change: Change) -> str:
    """What goes behind a sentence about a change that is withheld; "" when it is not."""
    return "" if change.decision.verdict is Verdict.ALLOWED else f"; {ruled(change)}"
