"""Agreements: what one permits of a change, where it counts, and what differs from it."""

from dataclasses import replace
from typing import Any

import pytest

from desired.model.load_balancer import KNOWN_AFTER_APPLY
from desired.model.service import Ingress
from desired.plan.change import Change
from reconciler.passes.agreement import Agreement, Permission
from tests.builders import a_change, an_identity

CHANGE = a_change()
STATUS = a_change("service/default/web/status", "service.status", before=(), after=KNOWN_AFTER_APPLY)
PUBLISHED = (Ingress(ip="203.0.113.1"),)


@pytest.mark.parametrize(
    ("agreed", "now", "expected"),
    [
        pytest.param(CHANGE, CHANGE, True, id="the same"),
        pytest.param(CHANGE, replace(CHANGE, reason="another", consequences=("x",)), True, id="other words"),
        pytest.param(CHANGE, a_change("node/web-2"), False, id="another object"),
        pytest.param(CHANGE, a_change(kind="node.labels"), False, id="another kind"),
        pytest.param(CHANGE, replace(CHANGE, after=an_identity("hcloud://2")), False, id="another value"),
        pytest.param(CHANGE, replace(CHANGE, before=an_identity("hcloud://2")), False, id="another present"),
        pytest.param(STATUS, replace(STATUS, after=PUBLISHED), True, id="known by now"),
        pytest.param(STATUS, replace(STATUS, before=PUBLISHED), False, id="of another present"),
        pytest.param(replace(STATUS, after=PUBLISHED), STATUS, False, id="not known any more"),
    ],
)
def test_what_is_permitted(agreed: Change, now: Change, expected: bool) -> None:
    assert Agreement.to([agreed]).permits(now) is expected


@pytest.mark.parametrize(
    ("agreed", "now"),
    [
        pytest.param(True, 1, id="true is not 1"),
        pytest.param(None, False, id="nothing is not false"),
        pytest.param({"a": 1}, {"a": 1, "b": None}, id="a member more"),
        pytest.param(["a"], ["a", "b"], id="an entry more"),
        pytest.param("(known after apply)", "x", id="a text that says so"),
        pytest.param({}, [], id="an object is no list"),
    ],
)
def test_values_of_a_file_that_only_look_alike(agreed: Any, now: Any) -> None:
    permission = Permission("node/a", "node.labels", None, agreed)

    assert not permission.covers(replace(permission, after=now))
