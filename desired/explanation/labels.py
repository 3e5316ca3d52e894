"""The labels of a Node, each with the rule behind it. What should be there is the desired state's, and not decided
again here."""

from collections.abc import Mapping

from desired.explanation.fact import NOT_OURS, Fact, Rule
from desired.model.settings import Settings
from desired.model.snapshot import Node
from desired.nodes.desired import DesiredNode, JoiningNode, SettledNode
from desired.nodes.labels import OWNED_LABELS, LabelOrigin, is_owned_label, label_origins
from desired.section import UNMANAGED, Unmanaged


def explain_labels(node: Node, wanted: DesiredNode | None, settings: Settings, left: str) -> tuple[Fact, ...]:
    """Every label that the Node has or should have, by key. ``left`` says why nothing is wanted, where that is so."""
    current = node.labels
    labels, origins = _desired(wanted, settings)
    if isinstance(labels, Unmanaged):
        return tuple(_label(key, current[key], current[key], None, settings, left) for key in sorted(current))
    keys = sorted({*current, *labels})
    return tuple(_label(key, current.get(key), labels.get(key), origins.get(key), settings) for key in keys)


def _desired(
    wanted: DesiredNode | None, settings: Settings
) -> tuple[Mapping[str, str] | Unmanaged, Mapping[str, LabelOrigin]]:
    """The owned labels that the Node should have, and where their values come from."""
    match wanted:
        case JoiningNode(identity, server):
            return identity.labels, label_origins(server, settings)
        case SettledNode(server, labels):
            return labels, label_origins(server, settings)
    return UNMANAGED, {}


def _label(
    key: str, value: str | None, wanted: str | None, origin: LabelOrigin | None, settings: Settings, left: str = ""
) -> Fact:
    """One label. ``left`` says why nothing is wanted of it, else ``wanted`` is its value in the desired state."""
    if not is_owned_label(key, settings):
        return Fact(key, value, value, Rule.FOREIGN, NOT_OURS)
    if left:
        return Fact(key, value, value, Rule.UNTOUCHED, f"stays as it is: {left}")
    if wanted is None:
        return Fact(key, value, None, Rule.MIRRORED, "goes away: no label of the server's is mirrored as this key")
    if origin is None:
        return Fact(key, value, wanted, Rule.UNTOUCHED, "stays as it is: Hetzner's answer has no labels of the server")
    if not origin.value and key in OWNED_LABELS:
        stays = "stays as it is" if value == wanted else "comes in step with the other key of its pair"
        return Fact(key, value, wanted, Rule.UNTOUCHED if value == wanted else Rule.KEPT, f"{stays}: {origin.what}")
    if wanted != origin.value:
        return Fact(key, value, wanted, Rule.KEPT, f"somebody set it, and it stays; {origin.what} is {origin.value!r}")
    return Fact(key, value, wanted, Rule.SERVER if key in OWNED_LABELS else Rule.MIRRORED, origin.what)
