"""Rights that are asked for at the start."""

import json
import threading
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from actuators.http.errors import Denied
from actuators.http.kubernetes import ApiAnswer
from reconciler.permissions import RbacRule, missing_permissions
from tests.support.rows import rows

NODES, STATUS = RbacRule("list", "nodes"), RbacRule("patch", "nodes/status")
LEASE = RbacRule("get", "leases", "coordination.k8s.io", is_beside_lease=True)
IDENTITY = RbacRule("get", "namespaces", name="kube-system")


class Reviewer:
    """An API server that answers reviews; it stands for the writer, of which nothing else is used."""

    def __init__(self, allows: Callable[[Mapping[str, str]], Any]) -> None:
        self._allows = allows
        self.asked: list[tuple[str, Mapping[str, str]]] = []

    def create(self, path: str, body: Mapping[str, Any]) -> ApiAnswer:
        attributes = body["spec"]["resourceAttributes"]
        self.asked.append((path, attributes))
        return ApiAnswer(json.dumps({"status": {"allowed": self._allows(attributes)}}).encode(), {})


def missing(reviewer: Reviewer, needed: Mapping[RbacRule, tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(missing_permissions(reviewer, needed, "ops", threading.Event()))  # type: ignore[arg-type]


def test_nothing_is_missing() -> None:
    assert missing(Reviewer(lambda _: True), {NODES: ("everything",), STATUS: ("node.addresses",)}) == ()


def test_what_is_asked() -> None:
    reviewer = Reviewer(lambda _: True)
    missing(reviewer, {STATUS: ("a",), LEASE: ("b",), IDENTITY: ("c",)})

    assert {path for path, _ in reviewer.asked} == {"/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"}
    assert sorted((sorted(attributes.items()) for _, attributes in reviewer.asked)) == sorted(
        sorted(attributes.items())
        for attributes in (
            {"verb": "patch", "resource": "nodes", "subresource": "status"},
            {"verb": "get", "resource": "leases", "group": "coordination.k8s.io", "namespace": "ops"},
            {"verb": "get", "resource": "namespaces", "name": "kube-system"},
        )
    )


@rows(
    "permission uses line",
    {
        "one use": (NODES, ("everything",), "list nodes, which everything needs"),
        "two uses": (STATUS, ("a", "b"), "patch nodes/status, which a, b need"),
        "many uses": (STATUS, tuple("abcde"), "patch nodes/status, which a, b, c and 2 more need"),
        "beside the Lease": (
            LEASE,
            ("leading",),
            "get leases.coordination.k8s.io in namespace ops, which leading needs",
        ),
        "of one object": (IDENTITY, ("x",), "get namespaces kube-system, which x needs"),
    },
)
def test_what_is_missing(permission: RbacRule, uses: tuple[str, ...], line: str) -> None:
    assert missing(Reviewer(lambda _: False), {permission: uses}) == (f"not allowed to {line}: see deploy/rbac",)


def test_only_what_is_missing_is_named() -> None:
    reviewer = Reviewer(lambda attributes: attributes["verb"] == "list")

    lines = missing(reviewer, {STATUS: ("a",), NODES: ("b",), LEASE: ("c",)})

    assert [line.split(", which")[0] for line in lines] == [
        "not allowed to patch nodes/status",
        "not allowed to get leases.coordination.k8s.io in namespace ops",
    ]


def test_rights_that_cannot_be_asked_for() -> None:
    def refuse(attributes: Mapping[str, str]) -> bool:
        if attributes["verb"] == "list":
            return False
        raise Denied("Kubernetes API server: POST answers 403")

    lines = missing_permissions(Reviewer(refuse), {NODES: ("a",), STATUS: ("b",)}, "ops", threading.Event())  # type: ignore[arg-type]

    assert next(lines).startswith("not allowed to list nodes")
    with pytest.raises(Denied):
        next(lines)


def test_nothing_is_asked_for_any_more_at_the_end() -> None:
    stop = threading.Event()
    reviewer = Reviewer(lambda _: False)
    lines = missing_permissions(reviewer, {NODES: ("a",), STATUS: ("b",)}, "ops", stop)  # type: ignore[arg-type]
    next(lines)

    stop.set()

    assert (list(lines), len(reviewer.asked)) == ([], 1)


def test_an_answer_that_is_no_review() -> None:
    assert missing(Reviewer(lambda _: "perhaps"), {NODES: ("a",)}) == ()
