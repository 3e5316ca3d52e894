"""Owners of load balancers by labels and names, and Services that want one or give theirs up."""

import ast
import re
from pathlib import Path
from typing import Any

from desired.load_balancers.ownership import (
    Ownership,
    default_name,
    former_of,
    leaves,
    matters,
    ownership,
)
from desired.model.load_balancer import Owner, owner_of
from desired.model.service import ServiceCondition
from desired.model.serving import Serving, class_of
from desired.names import (
    CONDITION_IN_SYNC,
    FINALIZER_BALANCER,
    LABEL_CLUSTER_UID,
    LABEL_RELEASED,
    LABEL_SERVICE_UID,
    OWN_CLASS,
)
from desired.section import Present, Unknown
from tests.balancers import a_service, a_world
from tests.builders import CLUSTER_UID, NOW
from tests.support.rows import rows


def test_default_name() -> None:
    """As HCCM names load balancers: the last digit is lost."""
    assert default_name("1f2e3d4c-5b6a-7980-aabb-ccddeeff0011") == "a1f2e3d4c5b6a7980aabbccddeeff001"


@rows("labels owner", {
    "ours": ({LABEL_SERVICE_UID: "s", LABEL_CLUSTER_UID: "c"}, Owner("c", "s")),
    "an empty label is one": ({LABEL_SERVICE_UID: ""}, Owner(None, "")),
    "when is no difference: a hold would be another one": ({LABEL_RELEASED: "20260701T120000Z"}, Owner(None, None)),
})  # fmt: skip
def test_owner_of(labels: dict[str, str], owner: Owner) -> None:
    assert owner_of(labels) == owner
    assert owner_of(labels).released == labels.get(LABEL_RELEASED)


@rows("own label", {
    "with a domain": ("example.com/internal", "example.com..internal"),
    "that reads as another one's": ("example.com..internal", None),
    "too long for a label": (f"example.com/{'x' * 60}", None),
})  # fmt: skip
def test_the_label_of_a_class(own: str, label: str | None) -> None:
    """People read the class in it; where it would mean another class, or does not fit, it is a digest."""
    found = Serving(own).class_label or ""
    assert (found == label) if label else re.fullmatch(r"sha256-[0-9a-f]{32}", found)
    assert class_of(found) == (own if label else found)


_CLEANUP = "hcloud-reconciler/load-balancer-cleanup"


@rows("own finalizer", {
    "no class": (None, "service.kubernetes.io/load-balancer-cleanup"),
    "the first one": (OWN_CLASS, _CLEANUP),
    "with a domain": ("example.com/internal", f"{_CLEANUP}.example.com..internal"),
    "too long for a finalizer": ("x" * 42, None),
    "that reads as another one's": ("example.com..internal", None),
})  # fmt: skip
def test_the_finalizer_of_a_class(own: str | None, finalizer: str | None) -> None:
    """Each class has its own, which the API server takes: a name of 63 characters behind the domain."""
    found = Serving(own).finalizer
    assert (found == finalizer) if finalizer else re.fullmatch(rf"{_CLEANUP}\.sha256-[0-9a-f]{{32}}", found)
    assert len(found.partition("/")[2]) <= 63


@rows("owner serving is_its", {
    "of the class": (Owner("c", None, own_class_uid="s", balancer_class="internal"), Serving("internal"), True),
    "of the class, and HCCM's": (
        Owner("c", "x", own_class_uid="s", balancer_class="internal"), Serving("internal"), True),
    "of a class, without one": (Owner("c", None, own_class_uid="s", balancer_class="internal"), Serving(), False),
    "its class is lost": (Owner("c", None, own_class_uid="s"), Serving("internal"), False),
    "the label of HCCM and a class": (Owner("c", "s", balancer_class="internal"), Serving("internal"), False),
    "released by the class": (Owner("c", None, balancer_class="internal"), Serving("internal"), True),
})  # fmt: skip
def test_label_and_class_decide(owner: Owner, serving: Serving, is_its: bool) -> None:
    """A process acts on nothing that only one of them names."""
    assert serving.has(owner) is is_its


@rows("namespace name expected", {
    "as long as a label's value may be": ("n" * 31, "s" * 31, f"{'n' * 31}.{'s' * 31}"),
    "too long": ("n" * 32, "s" * 31, "sha256-"),
    "as long as can be": ("n" * 63, "s" * 63, "sha256-"),
})  # fmt: skip
def test_how_a_service_is_remembered(namespace: str, name: str, expected: str) -> None:
    """As a value that Hetzner's labels may have, and no two Services share."""
    found = former_of(a_service(name, namespace=namespace))
    assert found.startswith(expected)
    assert len(found) <= 63
    assert found != former_of(a_service(f"{name[:-1]}x", namespace=namespace))


OURS, FORBIDDEN = Present(CLUSTER_UID), Unknown("forbidden")


@rows("label ours expected", {
    "ours": (CLUSTER_UID, OURS, Ownership.OURS),
    "another one's": ("99999999", OURS, Ownership.OTHER_CLUSTER),
    "ours is not known": (CLUSTER_UID, FORBIDDEN, Ownership.UNKNOWN),
    "nobody's, ours is not known": (None, FORBIDDEN, Ownership.UNCLAIMED),
})  # fmt: skip
def test_the_label_of_the_cluster(label: str | None, ours: Present[str] | Unknown, expected: Ownership) -> None:
    assert ownership(label, a_world(cluster_uid=ours)) is expected


def test_nothing_else_compares_the_label_of_the_cluster() -> None:
    """Five places decided it once, and one differed."""
    root = Path(__file__).resolve().parents[4]
    comparing = {
        str(path.relative_to(root))
        for top in ("desired", "actuators", "reconciler")
        for path in (root / top).rglob("*.py")
        if "cluster_uid" in (text := path.read_text())
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Compare)
        and not isinstance(node.ops[0], ast.Is | ast.IsNot)
        and any(re.search(r"cluster_uid(\.value)?$", ast.unparse(side)) for side in (node.left, *node.comparators))
    }
    assert comparing == {"desired/load_balancers/ownership.py"}


Fields = dict[str, Any]
"""Fields of a Service."""
CLAIMED: Fields = {"finalizers": (FINALIZER_BALANCER,)}
GOING: Fields = {"deleted_at": NOW}
CLUSTER_IP: Fields = {"type": "ClusterIP"}
OTHER: Fields = {"load_balancer_class": "other"}
SERVED: Fields = {"conditions": (ServiceCondition(CONDITION_IN_SYNC, "True"),)}
WANTS, CLEANUP, NEITHER = (True, False), (False, True), (False, False)


@rows("service is_labelled verdict", {
    "new": ({}, False, WANTS),
    "served": ({}, True, WANTS),
    "of another type": (CLUSTER_IP, False, NEITHER),
    "no longer of the type": (CLAIMED | {"type": "NodePort"}, False, CLEANUP),
    "being deleted": (CLAIMED | GOING, False, CLEANUP),
    "being deleted, released already": (GOING, False, NEITHER),
    "being deleted, and another controller took the finalizer": (GOING, True, CLEANUP),
    "of another type, unclaimed, labelled": ({"type": "ExternalName"}, True, CLEANUP),
    "of another type, released but for conditions": (CLUSTER_IP | SERVED, False, NEITHER),
    "of another class": (OTHER, False, NEITHER),
    "of a class, its own finalizer, going": (OTHER | CLAIMED | GOING, False, NEITHER),
    "of a class, claimed here before": (OTHER | SERVED | CLAIMED, False, CLEANUP),
    "of a class, labelled": (OTHER, True, CLEANUP),
})  # fmt: skip
def test_wants_one_or_lets_go(service: dict[str, Any], is_labelled: bool, verdict: tuple[bool, bool]) -> None:
    """Never both; and the finalizer of a Service of another class, of which nothing is ours, is its controller's."""
    found = a_service(**service)
    assert (Serving().wants(found), leaves(found, Serving(), is_labelled=is_labelled)) == verdict
    assert matters(found, Serving()) is (Serving().wants(found) or found.is_claimed)
