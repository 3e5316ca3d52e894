"""What people and machines read of orphans: the page that shows it, the schema, and each line."""

import json
import os
import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import pytest

from actuators.outcome import STOPPED, Applied, Failed, Skipped
from desired.load_balancers.orphans import Orphan, StrayAddress
from desired.model.load_balancer import CloudBalancer
from desired.names import LABEL_CLUSTER_UID, LABEL_RELEASED
from reconciler.config.options import Output
from reconciler.report.documents import to_json
from reconciler.report.orphans import OrphanReport
from tests.balancers import LB11, LB21, a_balancer, a_price
from tests.builders import CLUSTER_UID, NOW
from tests.support.rendering import golden, invalid, written
from tests.support.rules import saying
from tests.support.schemas import published

PAGE = Path(__file__).resolve().parents[3] / "docs" / "orphans.md"
EXAMPLE = re.compile(r"(<!-- example (?P<name>\w+) -->\n```\n)(?P<text>.*?)(```\n)", re.DOTALL)
DEAD = "0b9c5b1e-7a43-4c0e-9d55-3f1f5f0c2a11"
DEAR = replace(LB21, prices={"fsn1": a_price("16.40")})
CHEAP = replace(LB11, prices={"fsn1": a_price("5.39")})


def a_left_over(number: int, name: str, **overrides: Any) -> CloudBalancer:
    spec = {"name": name, **overrides.pop("spec", {})}
    defaults: dict[str, Any] = {
        "service_uid": DEAD,
        "ipv4": IPv4Address(f"203.0.113.{number}"),
        "ipv6": None,
        "type": CHEAP,
        "created_at": NOW - timedelta(days=12, hours=3),
    }
    return a_balancer(number, spec=spec, **defaults | overrides)


GONE = Orphan(a_left_over(42, "a0b9c5b1e7a434c0e9d553f1f5f0c2a1"), saying(f"its Service (UID {DEAD}) no longer exists"))
LABELS = {"labels": {LABEL_CLUSTER_UID: CLUSTER_UID, LABEL_RELEASED: "20260601T120000Z"}}
LET_GO = Orphan(
    a_left_over(43, "shop", type=DEAR, created_at=NOW - timedelta(days=400), spec=LABELS),
    saying("released with Service default/shop on 2026-06-01 12:00 UTC, and no Service requests its name"),
)
PROTECTED = replace(LET_GO, balancer=a_left_over(44, "kept", is_protected=True, spec=LABELS))
LIST = OrphanReport(NOW, CLUSTER_UID, (GONE, LET_GO, PROTECTED), currency="EUR")
ERROR = "Hetzner API https://api.hetzner.cloud/v1: DELETE /load_balancers/43 answers 403 no (forbidden)"
DELETED = replace(LIST, orphans=(GONE, LET_GO), outcomes={42: Applied(), 43: Failed(ERROR)})
STRAY = StrayAddress(
    a_left_over(45, "web"),
    "198.51.100.99",
    saying("belongs to no Node of the cluster and no server of the Robot account"),
)
EXAMPLES = {"list": LIST, "deleted": DELETED, "stray": replace(LIST, orphans=(), stray=(STRAY,))}


def test_the_page_shows_what_is_printed() -> None:
    """Each example of docs/orphans.md is what the command prints; ``UPDATE_DOCS=1`` writes them anew."""
    page = PAGE.read_text("utf-8")
    now = EXAMPLE.sub(lambda found: found[1] + written(EXAMPLES[found["name"]]) + found[4], page)
    if "UPDATE_DOCS" in os.environ:
        PAGE.write_text(now, "utf-8")

    assert len(EXAMPLE.findall(page)) == page.count("<!-- example") == len(EXAMPLES)
    assert PAGE.read_text("utf-8") == now


EMPTY = OrphanReport(NOW, CLUSTER_UID)
KEPT = replace(LIST, orphans=(PROTECTED,))


@pytest.mark.parametrize(
    ("report", "result"),
    [
        pytest.param(EMPTY, "none", id="none"),
        pytest.param(LIST, "orphans", id="some"),
        pytest.param(replace(LIST, obstacle="why not"), "orphans", id="some, and an obstacle"),
        pytest.param(DELETED, "partial", id="one failed"),
        pytest.param(replace(LIST, outcomes={42: Applied(), 43: Skipped(STOPPED)}), "partial", id="one not tried"),
        pytest.param(replace(LIST, outcomes={42: Applied(), 43: Applied()}), "orphans", id="one is left"),
        pytest.param(replace(LIST, orphans=(GONE,), outcomes={42: Applied()}), "none", id="none is left"),
        pytest.param(replace(LIST, errors=("no",)), "error", id="an error"),
        pytest.param(OrphanReport(errors=("no",)), "error", id="nothing but an error"),
        pytest.param(KEPT, "orphans", id="one that is kept"),
    ],
)
def test_results(report: OrphanReport, result: str) -> None:
    document = json.loads(written(report, Output.JSON))

    assert document["result"] == result
    assert document == to_json(report.document())
    assert invalid(document, published("orphans.schema.json")) == []


def test_json() -> None:
    document = to_json(DELETED.document())

    assert {key: value for key, value in document.items() if key not in ("orphans", "tool_version")} == {
        "format_version": "1.0",
        "result": "partial",
        "taken_at": "2026-07-01T12:00:00+00:00",
        "cluster": {"uid": CLUSTER_UID},
        "stray_addresses": [],
        "currency": "EUR",
        "monthly_gross": "16.40",
        "obstacle": None,
        "errors": [],
    }
    first, second = document["orphans"]
    assert first == {
        "id": 42,
        "name": "a0b9c5b1e7a434c0e9d553f1f5f0c2a1",
        "type": "lb11",
        "location": "fsn1",
        "ipv4": "203.0.113.42",
        "ipv6": None,
        "created": "2026-06-19T09:00:00+00:00",
        "age_s": 1047600,
        "why": GONE.reason.text,
        "service_uid": DEAD,
        "released": None,
        "monthly_gross": "5.39",
        "serves": False,
        "protected": False,
        "kept": None,
        "outcome": {"state": "deleted", "why": None},
    }
    assert (second["service_uid"], second["released"], second["monthly_gross"]) == (None, "20260601T120000Z", "16.40")
    assert second["outcome"] == {"state": "failed", "why": ERROR}
    assert to_json(TOLD["no price is known"].document())["monthly_gross"] is None
    (third,) = to_json(KEPT.document())["orphans"]
    assert (third["protected"], third["outcome"], third["kept"]) == (True, None, PROTECTED.kept)


def aged(age: timedelta) -> OrphanReport:
    return replace(LIST, orphans=(replace(GONE, balancer=replace(GONE.balancer, created_at=NOW - age)),))


def different(**overrides: Any) -> Orphan:
    return replace(GONE, balancer=replace(GONE.balancer, **overrides))


AGES = {
    "days": 400,
    "two days": 2,
    "hours": 47 / 24,
    "two hours": 2 / 24,
    "minutes": 119 / 1440,
    "none": 0,
    "ahead": -1,
}
TOLD: Mapping[str, OrphanReport] = {
    "none": EMPTY,
    "several": LIST,
    "one": replace(LIST, orphans=(GONE,)),
    "no currency": replace(LIST, currency=None),
    "one price of two is known": replace(LIST, orphans=(GONE, different(type=LB11))),
    "no price is known": replace(LIST, orphans=(different(type=LB11),)),
    "released on purpose": replace(LIST, orphans=(LET_GO,)),
    "flags of another cluster": replace(LIST, flags="--kubeconfig f"),
    "serves": replace(LIST, orphans=(replace(GONE, serves=True),)),
    "nothing may go": KEPT,
    "an obstacle": replace(LIST, obstacle="why not"),
    "none, and an obstacle": replace(EMPTY, obstacle="why not"),
    "unknown cluster": replace(EMPTY, cluster_uid=None),
    "after a deletion": DELETED,
    "not tried": replace(LIST, outcomes={42: Skipped(STOPPED)}),
    "an error": replace(LIST, errors=("no",)),
    "none was found, which may be wrong": replace(EMPTY, errors=("no",)),
    "nothing was read": OrphanReport(errors=("no",)),
    "no address": replace(LIST, orphans=(different(ipv4=None),)),
    "foreign text": replace(LIST, orphans=(replace(GONE, balancer=a_left_over(42, "\x1b[2Jx")),)),
    **{f"age: {name}": aged(timedelta(days=days)) for name, days in AGES.items()},
    "age: unknown": replace(LIST, orphans=(GONE,), taken_at=None),
}
"""Nothing is offered that would not work, and nothing is said that is not known."""


def test_whole_texts() -> None:
    """Set UPDATE_GOLDEN to write the file anew, and read it."""
    text = "".join(f"=== {name}\n{written(report)}\n" for name, report in TOLD.items())

    assert text == golden("orphans.txt", text)
