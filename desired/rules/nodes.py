"""Rows of Nodes: what decides on each of their labels."""

from desired.plan.kinds import ChangeKind
from desired.plan.notes import NoteKind
from desired.rules.rule import Basis, Rule

TYPE_OF_SERVER = Rule("type-of-server", "the server's type", basis=Basis.SERVER)
TYPE_OF_PRODUCT = Rule("type-of-product", "the server's product", basis=Basis.SERVER)
ZONE_OF_LOCATION = Rule("zone-of-location", "the zone of the server's location", basis=Basis.SERVER)
ZONE_OF_DATA_CENTER = Rule("zone-of-data-center", "the server's data center", basis=Basis.SERVER)
REGION_OF_SERVER = Rule("region-of-server", "the server's location", basis=Basis.SERVER)
REGION_OF_DATA_CENTER = Rule("region-of-data-center", "the location of the server's data center", basis=Basis.SERVER)
PROVIDED_BY_CLOUD = Rule("provided-by-cloud", "the same for all servers of Hetzner Cloud", basis=Basis.SERVER)
PROVIDED_BY_ROBOT = Rule("provided-by-robot", "the same for all Robot servers", basis=Basis.SERVER)
ZONE_OFF = Rule("zone-off", "stays as it is: HCLOUD_INSTANCES_ZONE_LABEL_ENABLED is false", basis=Basis.UNTOUCHED)
LABEL_UNKNOWN = Rule("label-unknown", "stays as it is: the server's {field} is not known", basis=Basis.UNTOUCHED)
LABEL_UNUSABLE = Rule(
    "label-unusable",
    "label {label} stays as it is: the server's {field} {wanted!r} is not a valid label value",
    of=NoteKind.UNUSABLE_LABEL,
    basis=Basis.UNTOUCHED,
)
LABEL_IN_STEP = Rule("label-in-step", "follows label {label}, as the server has no value for either", basis=Basis.KEPT)
LABEL_KEPT = Rule(
    "label-kept",
    "label {label} keeps {value!r}, which differs from the server's {wanted!r}",
    of=NoteKind.KEPT,
    basis=Basis.KEPT,
)
LABEL_MIRRORED = Rule("label-mirrored", "the server's label {name}", basis=Basis.MIRRORED)
MIRROR_GONE = Rule(
    "mirror-gone", "label {label} goes away: the server has no label that is mirrored as it", basis=Basis.MIRRORED
)
MIRROR_UNKNOWN = Rule(
    "mirror-unknown", "stays as it is: Hetzner's answer has no labels of the server", basis=Basis.UNTOUCHED
)
MIRROR_AMBIGUOUS = Rule(
    "mirror-ambiguous",
    "label {label} is not written: the server's labels {names} would all become it",
    of=NoteKind.UNUSABLE_LABEL,
    basis=Basis.MIRRORED,
)
MIRROR_UNUSABLE = Rule(
    "mirror-unusable",
    "the server's label {name} is not mirrored: its key or value is not valid on a Node",
    of=NoteKind.UNUSABLE_LABEL,
    basis=Basis.MIRRORED,
)
LABELS_DIFFER = Rule("labels-differ", "differs from {server} ({type} in {location})", of=ChangeKind.NODE_LABELS)
MIRROR_DIFFERS = Rule("mirror-differs", "differs from the labels of {server}", of=ChangeKind.NODE_LABELS)
