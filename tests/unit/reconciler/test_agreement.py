"""Agreements: what one permits of a change, where it counts, and what differs from it."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from desired.model.load_balancer import KNOWN_AFTER_APPLY
from desired.model.service import Ingress
from desired.plan.change import Change
from desired.section import Present, Unknown
from reconciler.passes.agreement import Agreement, Permission, Terms
from tests.builders import NOW, a_change, an_identity

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
    """The same change, or what has become of it."""
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
    """JSON has more types than some comparisons."""
    permission = Permission("node/a", "node.labels", None, agreed)

    assert not permission.covers(replace(permission, after=now))


UID = Present("5f0c2a11")
TERMS = Terms("5f0c2a11", NOW, NOW + timedelta(hours=1), "plan again")


@pytest.mark.parametrize(
    ("uid", "later_s", "clocks_differ", "why"),
    [
        pytest.param(UID, 0, False, None, id="at once"),
        pytest.param(UID, 3600, False, None, id="at the last moment"),
        pytest.param(UID, 3601, False, "it has expired at 2026-07-01 13:00:00 UTC: plan again", id="too late"),
        pytest.param(UID, -60, False, None, id="API servers a minute apart"),
        pytest.param(UID, -61, False, "it is of the future, 2026-07-01 12:00:00 UTC, and the API server", id="future"),
        pytest.param(UID, 0, True, "its age is not known while the clocks differ", id="clocks"),
        pytest.param(Present("other"), 0, False, "it is of cluster 5f0c2a11, and this is other", id="another cluster"),
        pytest.param(Unknown("403"), 0, False, "whether it is of this cluster is not known: 403", id="whichever"),
    ],
)
def test_where_and_when_it_counts(
    uid: Present[str] | Unknown, later_s: float, clocks_differ: bool, why: str | None
) -> None:
    """In the cluster of which it is, for an hour by the API server's clock."""
    agreement = Agreement({}, terms=TERMS, name="it")
    found = agreement.why_void(uid, NOW + timedelta(seconds=later_s), clocks_differ=clocks_differ)

    assert (found or "").startswith("" if why is None else f"it cannot be applied: {why}")
    assert (found is None) is (why is None)
