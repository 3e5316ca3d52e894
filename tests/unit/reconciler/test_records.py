"""Records of all formats: what older versions wrote is read, and what is written older versions can read."""

import json
from typing import Any

import pytest

from actuators.http.robot import REFUSED, Refusal
from desired.model.published_settings import SETTINGS, PublishedSettings
from desired.model.record import Format, Stamp
from desired.model.remembered import ANCHOR, Remembered
from reconciler.report.published import STATUS
from tests.builders import CLUSTER_UID, NOW

ORIGIN = Stamp(CLUSTER_UID, "ccm-0", NOW)
_OF_CLUSTER = f'"cluster": "{CLUSTER_UID}"'
_ROBOT = '{"refused": [{"at": "2026-07-01T12:00:00+00:00", "login": "ab12"}], "version": 1}'
_ANCHOR = f'{{{_OF_CLUSTER}, "load_balancers": [42], "network": 4711, "version": 1}}'
_SETTINGS = (
    f'{{{_OF_CLUSTER}, "former": {{"HCLOUD_NETWORK": ""}}, "settings": {{"HCLOUD_NETWORK": "old"}},'
    ' "since": "2026-07-01T12:00:00+00:00", "version": 1, "written_at": "2026-07-01T12:00:00+00:00"}'
)
_STATUS = (
    f'{{"version":1,{_OF_CLUSTER},"by":"ccm-0","tool_version":"0.1.0","written_at":"2026-07-01T12:00:00Z",'
    '"last_pass":{"at":"2026-07-01T12:00:00Z","result":"refused","counts":{"add":0},"errors":[],"in_need":0,'
    '"seconds":null,"requests_left":3000,"requests_limit":3600},"holds":[{"hash":"sha256:0000000000000001",'
    '"rule":"node-blast-radius","value":"2","limit":"1","why":"two","advice":"cordon","since":"2026-07-01T12:00:00Z",'
    '"end":null,"count":1,"keys":["node/a"],"changes":[{"key":"node/a","kind":"node.delete","class":"remove",'
    '"reason":"a test","consequences":[],"fields":[{"path":"a","before":"1","after":null}]}]}],"more_holds":0}'
)
WRITTEN: list[tuple[Format[Any], str]] = [
    (ANCHOR, _ANCHOR),
    (SETTINGS, _SETTINGS),
    (STATUS, _STATUS),
    (REFUSED, _ROBOT),
]


@pytest.mark.parametrize(
    ("form", "text", "value"),
    [
        (ANCHOR, _ANCHOR, Remembered(4711, (42,))),
        (SETTINGS, _SETTINGS, PublishedSettings({"HCLOUD_NETWORK": "old"}, {"HCLOUD_NETWORK": ""}, NOW)),
        (REFUSED, _ROBOT, (Refusal("ab12", NOW),)),
    ],
)
def test_what_older_versions_wrote_is_read(form: Format[Any], text: str, value: object) -> None:
    """Without who wrote it, or when, where they did not write that."""
    assert form.read(text) == value


@pytest.mark.parametrize(("form", "text"), WRITTEN, ids=lambda each: getattr(each, "key", None))
def test_what_is_written_older_versions_can_read(form: Format[Any], text: str) -> None:
    """Every member that they know is there, and is what it was."""
    value = form.read(text)
    assert value is not None
    before, now = json.loads(text), json.loads(form.write(value, ORIGIN))
    moment = now["written_at"]
    for name, member in before.items():  # what an object has more of, they do not look at
        before[name] = {**now[name], **member} if isinstance(member, dict) and form is STATUS else member
    assert now | before | {"written_at": moment} == now | {"cluster": CLUSTER_UID}
    more = {"replaced"} if form is STATUS else set()
    assert now.keys() == before.keys() | {"version", "cluster", "by", "written_at"} | more
    assert form.record(json.dumps(now)) == form.record(form.write(value, ORIGIN))


@pytest.mark.parametrize(("form", "text"), WRITTEN, ids=lambda each: getattr(each, "key", None))
def test_what_no_version_wrote_is_none(form: Format[Any], text: str) -> None:
    """Damaged, of another version or another cluster, deep as a stack, with what JSON has not."""
    for broken in (
        None,
        "",
        "null",
        "[]",
        "[" * 100_000,
        text.replace('"version": 1', '"version": 2').replace('"version":1', '"version":2'),
        text[:-1] + ', "more": "\\ud800"}',
        text[:-1] + ', "more": NaN}',
        text[:-1] + ', "by": 7}',
        text[:-1] + ', "written_at": "2026-07-01T12:00:00"}',
        text + " " * form.longest,
    ):
        assert form.read(broken) is None
    assert form.read(text, "another") is None
