"""The reason why a load balancer leads to no Node: the cause that all Nodes share, with the command that ends it; where
causes are mixed, how many Nodes have each."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from desired.annotations.options import OPTIONS, Options
from desired.load_balancers.membership import Cause, NodeTarget
from desired.model.service import Service
from desired.names import LABEL_EXCLUDE_FROM_BALANCERS, TAINT_CLUSTER_AUTOSCALER
from desired.section import Unmanaged
from desired.syntax.bounds import shown_text

_BEGINNING = "no Node may get traffic"
_LONGEST = 1000
"""Characters of a text: an Event has 1024."""
_NAMED = 3
"""Nodes that a command names."""
_EXTERNAL = "start the kubelet with --cloud-provider=external, delete the Node and restart the kubelet"


@dataclass(frozen=True, slots=True)
class _Sentence:
    """What is said of Nodes with one cause."""

    one: str
    """To go on after ``1 of 1 Nodes``."""
    many: str
    """To go on after ``2 of 2 Nodes``."""
    remedy: Callable[[Sequence[str]], str]
    """What ends it, from the names of the Nodes."""


def _fixed(text: str) -> Callable[[Sequence[str]], str]:
    return lambda _names: text


def _kubectl(verb: str, key: str) -> Callable[[Sequence[str]], str]:
    """The command that takes ``key`` off the Nodes."""
    everybody = f"-l {key}" if verb == "label" else "--all"
    return lambda names: f"kubectl {verb} node {' '.join(names) if len(names) <= _NAMED else everybody} {key}-"


_LABEL = f"the label {LABEL_EXCLUDE_FROM_BALANCERS} (kubeadm, Talos and k3s set it on control planes)"
_DOOMED = f"the taint {TAINT_CLUSTER_AUTOSCALER}; unless the cluster autoscaler is about to remove"
_SENTENCES: Mapping[Cause, _Sentence] = MappingProxyType(
    {
        Cause.LABEL: _Sentence(f"has {_LABEL}", f"have {_LABEL}", _kubectl("label", LABEL_EXCLUDE_FROM_BALANCERS)),
        Cause.TAINT: _Sentence(
            f"has {_DOOMED} it", f"have {_DOOMED} them", _kubectl("taint", TAINT_CLUSTER_AUTOSCALER)
        ),
        Cause.DELETING: _Sentence("is being deleted", "are being deleted", _fixed("a new Node becomes a target")),
        Cause.IGNORED: _Sentence(
            "is ignored", "are ignored", _fixed("change --ignore-nodes, or the labels that it matches")
        ),
        Cause.FOREIGN: _Sentence(
            "has a providerID that is not Hetzner's", "have providerIDs that are not Hetzner's", _fixed(_EXTERNAL)
        ),
        Cause.MALFORMED: _Sentence(
            "has a providerID that names no server", "have providerIDs that name no server", _fixed(_EXTERNAL)
        ),
        Cause.UNCLAIMED: _Sentence("has no providerID", "have no providerID", _fixed(_EXTERNAL)),
        Cause.JOINING: _Sentence(
            "is not initialized", "are not initialized", _fixed("a Node is a target once it has its providerID")
        ),
        Cause.GONE: _Sentence(
            "has lost its server", "have lost their servers", _fixed("a new Node becomes a target once it has joined")
        ),
        Cause.ROBOT: _Sentence(
            "is a Robot server, which is not read",
            "are Robot servers, which are not read",
            _fixed("set ROBOT_ENABLED, ROBOT_USER and ROBOT_PASSWORD"),
        ),
    }
)
"""Cause → what is said of it. The others say it with ``NodeTarget.why``."""


def why_no_targets(members: Sequence[NodeTarget], service: Service, options: Options) -> str:
    """One sentence on why none of these Nodes, all of the cluster, gets traffic of ``service``."""
    if not members:
        return f"{_BEGINNING}: the cluster has no Nodes"
    groups: dict[tuple[Cause, str], list[NodeTarget]] = {}
    for member in members:
        is_told = member.cause in _SENTENCES or member.cause is Cause.UNSELECTED
        groups.setdefault((member.cause, "" if is_told else member.why), []).append(member)
    if len(groups) == 1:
        (((cause, why), found),) = groups.items()
        return _cut(f"{_BEGINNING}: {_shared(cause, why, found, service, options)}")
    counts = Counter(member.cause for member in members)
    text = f"{_BEGINNING}: {', '.join(f'{count} {cause}' for cause, count in counts.most_common())}"
    for (cause, why), found in sorted(groups.items(), key=lambda group: -len(group[1])):
        said = found[0].note or why
        detail = f"; {found[0].node}: {said}" if said else f"; {_remedy(cause, found, service)}"
        text += detail if len(text) + len(detail) <= _LONGEST else ""
    return _cut(text)


def _shared(cause: Cause, why: str, found: Sequence[NodeTarget], service: Service, options: Options) -> str:
    """What is said where all Nodes have this cause."""
    total = f"{len(found)} of {len(found)} Nodes"
    if why:
        return f"{total} {'is' if len(found) == 1 else 'are'} {cause}: {why}"
    remedy = _remedy(cause, found, service)
    if cause is Cause.UNSELECTED and not isinstance(options.node_selector, Unmanaged):
        verb = "does" if len(found) == 1 else "do"
        selector = shown_text(options.node_selector.text)
        return f"{total} {verb} not match {OPTIONS['node_selector'].full_key} {selector}: {remedy}"
    row = _SENTENCES[cause]
    said = row.one if len(found) == 1 else row.many
    told = next((member for member in found if member.note), None)
    return f"{total} {said}: {remedy}" if told is None else f"{total} {said}; {told.node}: {told.note}"


def _remedy(cause: Cause, found: Sequence[NodeTarget], service: Service) -> str:
    """What ends the cause."""
    if cause is Cause.UNSELECTED:
        key = OPTIONS["node_selector"].full_key
        return f"label the Nodes, or kubectl annotate service {service.name} -n {service.namespace} {key}-"
    return _SENTENCES[cause].remedy([member.node for member in found])


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
