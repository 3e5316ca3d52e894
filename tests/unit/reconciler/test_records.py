"""What is kept from pass to pass: its trouble ends no pass, and what others wrote is read."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from actuators.http.errors import ApiError, Denied, Transient
from desired.model.record import Stamp
from desired.model.settings import Settings
from desired.section import Present
from reconciler.passes.records import ProjectMemory, StatusPublication
from reconciler.report.published import STATUS
from reconciler.result import Report
from tests.builders import CLUSTER_UID, NOW, a_network, a_server, a_settled_node, a_snapshot
from tests.support.rows import rows
from tests.support.stored import Stored

HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)
WORLD = a_snapshot([a_settled_node()], [a_server()], network=Present(a_network(4)))


def _project(stored: Stored) -> Callable[[datetime], None]:
    memory = ProjectMemory(stored.config_map(), Settings(network="private"), after_changes_only=False)
    return lambda now: memory.keep(replace(WORLD, taken_at=now), has_changed=False)


def _status(stored: Stored) -> Callable[[datetime], None]:
    publication = StatusPublication(stored.config_map(), Settings())
    return lambda now: publication.keep(Report(snapshot=replace(WORLD, taken_at=now)))


@pytest.mark.parametrize("trouble", [Denied("403"), Transient("500"), None])
@rows("of pause", {"project": (_project, HOUR), "status": (_status, 5 * MINUTE)})
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


WRITTEN = (
    f'{{"version":1,"cluster":"{CLUSTER_UID}","by":"ccm-0","tool_version":"0.1.0","written_at":"2026-07-01T12:00:00Z",'
    '"last_pass":{"at":"2026-07-01T12:00:00Z","result":"blocked","counts":{"add":0},"errors":[],"in_need":0,'
    '"seconds":null,"requests_left":3000,"requests_limit":3600},"holds":[{"hash":"sha256:0000000000000001",'
    '"rule":"node-blast-radius","value":"2","limit":"1","why":"two","advice":"cordon","since":"2026-07-01T12:00:00Z",'
    '"end":null,"count":1,"keys":["node/a"],"changes":[{"key":"node/a","kind":"node.delete","class":"remove",'
    '"reason":"a test","consequences":[],"fields":[{"path":"a","before":"1","after":null}]}]}],"more_holds":0}'
)
"""A status without the members that it got later."""


def test_a_status_of_an_older_version_is_read_and_what_is_written_it_can_read() -> None:
    """Every member that it knows is there, and is what it was."""
    value = STATUS.read(WRITTEN)
    assert value is not None
    before, now = json.loads(WRITTEN), json.loads(STATUS.write(value, Stamp(CLUSTER_UID, "ccm-0", NOW)))
    moment = now["written_at"]
    for name, member in before.items():  # what an object has more of, they do not look at
        before[name] = {**now[name], **member} if isinstance(member, dict) else member
    assert now | before | {"written_at": moment} == now
    assert now.keys() == before.keys() | {"replaced", "settings"}
    assert STATUS.read(json.dumps(now)) == value


def test_what_no_version_wrote_is_none() -> None:
    """Damaged, of another version or another cluster, deep as a stack, with what JSON has not."""
    for broken in (
        None,
        "",
        "null",
        "[]",
        "[" * 100_000,
        WRITTEN.replace('"version":1', '"version":2'),
        WRITTEN[:-1] + ', "more": "\\ud800"}',
        WRITTEN[:-1] + ', "more": NaN}',
        WRITTEN[:-1] + ', "by": 7}',
        WRITTEN[:-1] + ', "written_at": "2026-07-01T12:00:00"}',
        WRITTEN + " " * STATUS.longest,
    ):
        assert STATUS.read(broken) is None
    assert STATUS.read(WRITTEN, "another") is None
