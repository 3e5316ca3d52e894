"""Why a load balancer leads to no Node: how many Nodes have each cause, and what mends it.

It stands in an Event and a condition, so that it is short: the commonest cause first, and no more remedies than fit.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from desired.annotations.options import Options
from desired.load_balancers.membership import NodeTarget
from desired.model.service import Service
from desired.names import LABEL_EXCLUDE_FROM_BALANCERS
from desired.plan.notes import Note
from desired.rules.load_balancers import EXCLUDED_BY_LABEL, NODES_INELIGIBLE, NODES_LACKING
from desired.section import Unmanaged

_LONGEST = 1000
"""Characters of a text: an Event has 1024."""
_NAMED = 3
"""Nodes that a command names."""


def note_on_no_targets(members: Sequence[NodeTarget], service: Service, options: Options) -> Note:
    """The note that none of these Nodes, all of the cluster, gets traffic of ``service``."""
    if not members:
        return NODES_LACKING.note(service.key)
    groups: dict[tuple[str, str], list[NodeTarget]] = {}
    for member in members:
        rule = member.reason.rule
        groups.setdefault((rule.name, "" if member.is_left_out else member.why), []).append(member)
    counts = Counter(member.reason.rule.counted for member in members).most_common()
    said = ", ".join(f"{count} {cause}" for cause, count in counts)
    room = _LONGEST - len(NODES_INELIGIBLE.text(total=len(members), counts=said, remedies=""))
    remedies: list[str] = []
    for found in sorted(groups.values(), key=len, reverse=True):
        told = _remedy(found, service, options)
        if len(told) + 2 <= room or not remedies:
            room -= len(told) + 2
            remedies.append(told)
    note = NODES_INELIGIBLE.note(service.key, total=len(members), counts=said, remedies="; ".join(remedies))
    return note if len(note.text) <= _LONGEST else replace(note, text=f"{note.text[: _LONGEST - 3]}...")


def _remedy(found: Sequence[NodeTarget], service: Service, options: Options) -> str:
    """What mends what these Nodes share, or what is said of the first of them."""
    first = next((member for member in found if member.note), found[0])
    if not first.is_left_out or first.note:
        return f"{first.node}: {first.note or first.why}"
    names = [member.node for member in found]
    everybody = f"-l {LABEL_EXCLUDE_FROM_BALANCERS}" if first.reason.rule is EXCLUDED_BY_LABEL else "--all"
    nodes = " ".join(names) if len(names) <= _NAMED else everybody
    selector = "" if isinstance(options.node_selector, Unmanaged) else options.node_selector.text
    facts = {"nodes": nodes, "selector": selector, "service": service.name, "namespace": service.namespace}
    return first.reason.rule.advice(facts)
