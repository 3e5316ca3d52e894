"""Keepers of records: when one looks, writes and rests, whatever the record is."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from actuators.http.errors import ApiError, Denied, NotLeader, Transient
from desired.model.record import Format, Stamp
from desired.model.settings import Settings
from desired.model.snapshot import Snapshot
from desired.plan.change import GuardDecision, GuardName, Verdict
from desired.section import Present, Unknown
from reconciler.passes.keeper import Keeper, Upkeep
from reconciler.passes.records import ProjectMemory, StatusPublication
from reconciler.result import Line, Report
from tests.builders import CLUSTER_UID, NOW, a_change, a_network, a_server, a_settled_node, a_snapshot
from tests.support.rows import rows
from tests.support.stored import Stored

MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
WORLD = a_snapshot([a_settled_node()], [a_server()], network=Present(a_network(4)))


def _fields(value: str) -> Mapping[str, object]:
    return {"said": value}


def _value(fields: Mapping[str, Any]) -> str:
    return str(fields["said"])


SAID: Format[str] = Format("said", 300, _fields, _value)
ONCE = Upkeep(SAID, logging.getLogger("hcloud-reconciler.test"), "nothing is said", HOUR)
RENEWED = replace(ONCE, renewed=HOUR / 2)


def of_another(value: str) -> Stored:
    """What another process has written."""
    return Stored({"said": SAID.write(value, Stamp(CLUSTER_UID, "ccm-9", NOW))})


def at(moment: timedelta, world: Snapshot = WORLD) -> Snapshot:
    """A reading so long after the beginning."""
    return replace(world, taken_at=NOW + moment)


def said(stored: Stored, upkeep: Upkeep[str], *values: tuple[float, str | None]) -> list[str]:
    """What a keeper asks when these values are wanted, so many minutes after the beginning."""
    keeper = Keeper(upkeep, stored.config_map())
    for minutes, value in values:
        keeper.keep(at(minutes * MINUTE), lambda _stored, value=value: value)  # type: ignore[misc]
    return stored.asked


@pytest.mark.parametrize(
    ("stored", "upkeep", "values", "asked"),
    [
        pytest.param(Stored(), ONCE, [(0, "a"), (1, "a"), (2, "b")], ["read", "write", "write"], id="what differs"),
        pytest.param(of_another("a"), ONCE, [(0, "a"), (90, "a")], ["read"], id="whoever wrote it, it holds"),
        pytest.param(of_another("a"), RENEWED, [(0, "a"), (1, "a")], ["read", "write"], id="under its own name"),
        pytest.param(Stored(), RENEWED, [(0, "a"), (29, "a"), (30, "a")], ["read", "write", "write"], id="anew"),
        pytest.param(Stored(), ONCE, [(0, None), (1, None)], ["read"], id="nothing to take away"),
        pytest.param(of_another("a"), ONCE, [(0, None), (1, None)], ["read", "take away"], id="what another left"),
        pytest.param(Stored({"said": "{"}), ONCE, [(0, None)], ["read", "take away"], id="damage"),
        pytest.param(Stored(None), ONCE, [(0, "a"), (59, "a"), (60, "a")], ["read", "read"], id="no ConfigMap"),
        pytest.param(Stored(), ONCE, [(0, "a" * 300), (59, "a")], ["read"], id="more than is read again"),
    ],
)
def test_when_it_looks_and_writes(
    stored: Stored, upkeep: Upkeep[str], values: list[tuple[float, str | None]], asked: list[str]
) -> None:
    assert said(replace(stored, asked=[]), upkeep, *values) == asked


def test_what_is_not_known_is_not_written() -> None:
    stored = Stored()
    Keeper(ONCE, stored.config_map(writes=False)).keep(WORLD, lambda _stored: "a")
    Keeper(ONCE, stored.config_map()).keep(replace(WORLD, cluster_uid=Unknown("403")), lambda _stored: "a")
    assert stored.asked == []


def test_a_lost_lead_is_no_trouble() -> None:
    """The next pass may lead again, and looks; so it does after it was told to forget, as others may have written."""
    stored = Stored(trouble=NotLeader("no"))
    keeper = Keeper(ONCE, stored.config_map())
    keeper.keep(WORLD, lambda _stored: "a")
    stored.trouble = None
    keeper.keep(WORLD, lambda _stored: "a")
    stored.data = of_another("b").data
    keeper.forget()
    keeper.keep(WORLD, lambda _stored: "a")
    assert stored.asked == ["read", "read", "write", "read", "write"]


def test_trouble_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    """With the command that mends it; another one is told anew."""
    keeper = Keeper(ONCE, Stored(None).config_map())
    with caplog.at_level(logging.INFO):
        for hours in range(3):
            keeper.keep(at(hours * HOUR), lambda _stored: "a")
    why = "there is no ConfigMap for it: kubectl create configmap hcloud-reconciler, in the namespace of the Lease"
    assert [record.getMessage() for record in caplog.records] == [f"nothing is said why='{why}'"]


def _anchor(stored: Stored) -> Callable[[datetime], None]:
    memory = ProjectMemory(stored.config_map(), Settings(network="private"), after_changes_only=False)
    return lambda now: memory.keep(replace(WORLD, taken_at=now), has_changed=False)


def _report(now: datetime) -> Report:
    flaps = GuardDecision(Verdict.WAITING, GuardName.FLAPPING, "somebody undoes it", 3600.0)
    return Report(snapshot=replace(WORLD, taken_at=now), lines=(Line(a_change().ruled(flaps)),))


def _status(stored: Stored) -> Callable[[datetime], None]:
    publication = StatusPublication(stored.config_map())
    return lambda now: publication.keep(_report(now))


@pytest.mark.parametrize("trouble", [Denied("403"), Transient("500"), None])
@rows("of pause", {"anchor": (_anchor, HOUR), "status": (_status, 5 * MINUTE)})
def test_trouble_ends_no_pass_and_is_not_repeated_in_each(
    of: Callable[[Stored], Callable[[datetime], None]], pause: timedelta, trouble: ApiError | None
) -> None:
    """Without a ConfigMap, or the permission, it is tried again after a while; at once when a clock was put back."""
    for again in (pause, -pause):
        stored = Stored(None if trouble is None else {}, trouble)
        keep = of(stored)
        keep(NOW)
        stored.data, stored.trouble = {}, None
        keep(NOW + again - again / 60)
        assert stored.asked == ["read"]
        keep(NOW + again)
        assert stored.asked == ["read", "read", "write"]
