"""Saved plans as files: what is written, and what is refused of what somebody may have written instead."""

import json
from collections.abc import Callable
from dataclasses import fields, replace
from datetime import timedelta
from ipaddress import IPv4Network
from typing import Any

import pytest

from desired.annotations.options import VARIABLES as OPTION_VARIABLES
from desired.annotations.options import Options
from desired.model.service import Classes
from desired.model.settings import Policy, Settings, Waits
from desired.plan.change import GuardDecision, GuardName, Verdict
from desired.section import Unknown
from reconciler import __version__
from reconciler.config.environment import VARIABLES
from reconciler.config.options import FLAGS
from reconciler.passes import saved_plan
from reconciler.passes.agreement import Permission
from reconciler.passes.saved_plan import SavedPlanProblem, read_plan, save_plan, setting_digests
from reconciler.result import Line, Report
from tests.builders import a_change, a_snapshot
from tests.support.rows import rows

Raw = dict[str, Any]
SETTINGS = Settings(network="private", only=("node/web-1", "node/web-2"))
HELD = GuardDecision(Verdict.HELD, GuardName.NODE_BLAST_RADIUS, "too many")
REPORT = Report(a_snapshot(), (Line(a_change()), Line(a_change("node/web-2").ruled(HELD))))
AGAIN = "; plan again with 'reconcile plan --save plan.json'"


def a_document() -> Raw:
    """A saved plan."""
    loaded: Raw = json.loads(save_plan(REPORT, SETTINGS))
    return loaded


def why_refused(content: bytes | str | Raw, settings: Settings = SETTINGS) -> str:
    """What is said of such a file, without its name and the remedy, which stand in each sentence."""
    if isinstance(content, dict):
        content = json.dumps(content)
    with pytest.raises(SavedPlanProblem) as caught:
        read_plan(content if isinstance(content, bytes) else content.encode(), "plan.json", settings)
    text = str(caught.value)
    assert text.startswith("saved plan 'plan.json' cannot be applied: "), text
    assert text.endswith(AGAIN), text
    return text.removeprefix("saved plan 'plan.json' cannot be applied: ").removesuffix(AGAIN)


def test_what_is_saved_is_permitted() -> None:
    """All changes, also what is held; the guards judge them again."""
    agreement = read_plan(save_plan(REPORT, SETTINGS), "plan.json", SETTINGS)

    assert list((agreement.permissions or {}).values()) == [Permission.of(line.change) for line in REPORT.lines]
    assert agreement.only == SETTINGS.only


def test_the_file_is_the_report() -> None:
    """With a member for each thing that has to be the same when it is applied, and none that tells a setting."""
    document = a_document()

    assert document["changes"][0]["key"] == "node/web-1"
    assert document["expires_at"] == (a_snapshot().taken_at + timedelta(hours=1)).isoformat()
    assert "private" not in json.dumps(document["settings"])
    assert document["plan_hash"] == a_document()["plan_hash"]


def without(name: str) -> Callable[[Raw], object]:
    """A document that lacks a member."""
    return lambda document: document.pop(name)


def having(name: str, value: object) -> Callable[[Raw], object]:
    """A document that has another value there."""
    return lambda document: document.update({name: value})


def with_change(number: int = 0, **members: object) -> Callable[[Raw], object]:
    """A document with other members of one change."""
    return lambda document: document["changes"][number].update(members)


@rows(
    "edit why",
    {
        "a plain report": (without("plan_hash"), "it is no saved plan, as it has no plan_hash"),
        "2": (having("format_version", "2.0"), "its format_version is '2.0', and this version reads 1.x"),
        "number": (having("format_version", 1), "its format_version is '1', and this version reads 1.x"),
        "older": (having("tool_version", "0.0.1"), f"it is of version '0.0.1', and this is {__version__!r}"),
        "no changes": (having("changes", "all"), "it is damaged: Expected a list, got text - at $.changes"),
        "without settings": (without("settings"), "it is damaged: Object missing required field settings"),
        "nobody's": (having("cluster", {"uid": None}), "it is damaged: Expected text, got nothing - at $.cluster.uid"),
        "moved": (having("cluster", {"uid": "another"}), "it is damaged: its plan_hash is that of other changes"),
        "edited": (with_change(before=None, after={"x": 1}), "it is damaged: its plan_hash is that of other changes"),
        "allowed": (with_change(verdict="allowed", number=1), "it is damaged: its plan_hash is that of other changes"),
        "?": (with_change(verdict="blessed"), "it is damaged: Invalid enum value 'blessed' - at $.changes[0].verdict"),
        "an unknown kind": (
            with_change(kind="node.\x1b[2Jexplode"),
            "it is damaged: there is no kind of change 'node.\\x1b[2Jexplode'",
        ),
        "a change twice": (
            lambda document: document["changes"].append(document["changes"][0]),
            "it is damaged: it has a change twice",
        ),
        "a long key": (
            with_change(key="node/" + "x" * 2000),
            "it is damaged: Expected text of length <= 1024 - at $.changes[0].key",
        ),
        "for ever": (
            having("expires_at", "2099-01-01T00:00:00+00:00"),
            "it is damaged: it does not expire one hour after it was taken",
        ),
        "a time of no zone": (having("taken_at", "2026-01-01T00:00:00"), None),
    },
)
def test_a_document_that_nobody_has_saved(edit: Callable[[Raw], object], why: str | None) -> None:
    """Each is refused in one sentence, which says what is wrong with it."""
    document = a_document()
    edit(document)

    assert why_refused(document).startswith(why or "it is damaged: ")


@rows(
    "content why",
    {
        "empty": (b"", "it is no whole JSON document: "),
        "truncated": (save_plan(REPORT, SETTINGS)[:-40], "it is no whole JSON document: "),
        "no text": (b"\xff\xfe\xff", "it is no whole JSON document: "),
        "control characters": (b"\x1b[31m", "it is no whole JSON document: "),
        "a list": (b"[1]", "it is no saved plan, as it has no plan_hash"),
        "a member twice": (b'{"a": 1, "a": 2}', "it is damaged: an object in it has a member twice"),
        "deep and open": (b"[" * 100_000, "it is damaged: it is nested too deeply"),
        "deep": (b'{"plan_hash": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "it is damaged: it is nested too deeply"),
        "a long number": (b"9" * 10_000, "it is no "),
    },
)
def test_what_is_no_document(content: bytes, why: str) -> None:
    """Whatever it is, it is told in one line, of which nothing controls a terminal."""
    text = why_refused(content)

    assert text.startswith(why)
    assert "\n" not in text


@rows(
    "settings named",
    {
        "a variable": (replace(SETTINGS, network="other"), "HCLOUD_NETWORK is"),
        "a flag": (replace(SETTINGS, cluster_cidr=IPv4Network("10.0.0.0/8")), "--cluster-cidr is"),
        "two": (
            replace(SETTINGS, waits=Waits(age=timedelta(0)), policy=Policy.UPSERT),
            "--delete-min-age, --policy are",
        ),
        "LB": (replace(SETTINGS, balancer_defaults=Options(location="fsn1")), "HCLOUD_LOAD_BALANCERS_LOCATION is"),
        "many": (
            Settings(zone_labels=False, robot=True, routes=True, keep_internal_ips=True, mirror_labels="x"),
            (
                "--keep-internal-ips, --mirror-labels, HCLOUD_INSTANCES_ZONE_LABEL_ENABLED, HCLOUD_NETWORK,"
                " HCLOUD_NETWORK_ROUTES_ENABLED and 1 more are"
            ),
        ),
    },
)
def test_other_settings_are_named(settings: Settings, named: str) -> None:
    assert why_refused(a_document(), settings) == f"{named} set otherwise than when it was made"


def test_what_a_plan_is_restricted_to_is_no_setting() -> None:
    assert setting_digests(SETTINGS) == setting_digests(replace(SETTINGS, only=()))


PARTS = {"waits": Waits, "classes": Classes}


def test_every_setting_has_a_digest() -> None:
    """Under a name that a person can set; another value is another digest."""
    remembered = {"former_defaults", "given_defaults"}
    only_read = {"server_selector"}
    names = {field.name for field in fields(Settings)} - {"only", "balancer_defaults", *PARTS} - remembered - only_read
    names |= {f"{name}.{field.name}" for name, part in PARTS.items() for field in fields(part)}

    assert set(saved_plan._COMPARED) == names
    assert set(setting_digests(SETTINGS)) <= {*FLAGS, *VARIABLES}
    assert len(setting_digests(SETTINGS)) == len(names) + len(OPTION_VARIABLES)


@rows(
    "report why",
    {
        "an error": (Report(errors=("no API",)), "the plan ended with an error: correct that first"),
        "part of an error": (
            replace(REPORT, errors=("no network",)),
            "the plan ended with an error: correct that first",
        ),
        "nobody": (
            Report(a_snapshot(cluster_uid=Unknown("forbidden"))),
            "cannot determine the plan's cluster: forbidden",
        ),
    },
)
def test_what_cannot_be_saved(report: Report, why: str) -> None:
    """There would be nothing that it permits, or nowhere that it does."""
    with pytest.raises(SavedPlanProblem, match=f"^{why}$"):
        save_plan(report, SETTINGS)
