"""Saved plans as files: what is written, and what is refused of what somebody may have written instead."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from ipaddress import IPv4Network
from typing import Any

import pytest

from desired.annotations.options import VARIABLES as OPTION_VARIABLES
from desired.annotations.options import Options
from desired.model.published_settings import texts_of
from desired.model.set_by import Reads
from desired.model.settings import SET_BY, Policy, Settings, Waits
from desired.plan.change import GuardDecision, GuardName, Verdict
from desired.section import Unknown
from reconciler import __version__
from reconciler.config.environment import VARIABLES
from reconciler.config.options import FLAGS
from reconciler.passes.saved_plan import SavedPlanProblem, read_plan, save_plan
from reconciler.result import Line, Report
from tests.builders import a_change, a_snapshot
from tests.support.rows import rows

Raw = dict[str, Any]
SETTINGS = Settings(network="private", only=("node/web-1", "node/web-2"))
HELD = GuardDecision(Verdict.HELD, GuardName.NODE_BLAST_RADIUS, "too many")
REPORT = Report(a_snapshot(), (Line(a_change()), Line(a_change("node/web-2").ruled(HELD))))
READS = "version reads '2.0'"
AGAIN = "; plan again with 'reconcile plan --save plan.json'"


def a_document() -> Raw:
    loaded: Raw = json.loads(save_plan(REPORT, SETTINGS))
    return loaded


def why_refused(content: bytes | str | Raw, settings: Settings = SETTINGS) -> str:
    """The reason without the name of the file and the remedy, which stand in each sentence."""
    if isinstance(content, dict):
        content = json.dumps(content)
    with pytest.raises(SavedPlanProblem) as caught:
        read_plan(content if isinstance(content, bytes) else content.encode(), "plan.json").check(settings)
    return the_reason(caught.value)


def the_reason(error: SavedPlanProblem) -> str:
    text = str(error)
    assert text.startswith("saved plan 'plan.json' cannot be applied: "), text
    assert text.endswith(AGAIN), text
    return text.removeprefix("saved plan 'plan.json' cannot be applied: ").removesuffix(AGAIN)


def test_what_is_saved_is_permitted() -> None:
    saved = read_plan(save_plan(REPORT, SETTINGS), "plan.json")
    changes = [line.change for line in REPORT.lines]

    saved.check(SETTINGS)
    assert saved.agreement.permissions == {change.digest: change.key for change in changes}
    assert all(map(saved.agreement.permits, changes))
    assert saved.agreement.only == SETTINGS.only


def test_a_file_has_digests_and_the_texts_of_settings() -> None:
    """Sides of changes are not in it: a digest cannot say another thing than they do."""
    document = a_document()

    assert list(document["permissions"].values()) == ["node/web-1", "node/web-2"]
    assert document["settings"]["HCLOUD_NETWORK"] == "private"
    assert document.keys() == {
        "format_version", "tool_version", "cluster", "taken_at", "settings", "only", "permissions"
    }  # fmt: skip


def without(name: str) -> Callable[[Raw], object]:
    return lambda document: document.pop(name)


def having(name: str, value: object) -> Callable[[Raw], object]:
    return lambda document: document.update({name: value})


@rows(
    "edit why",
    {
        "a plain report": (having("format_version", "1.0"), f"its format_version is '1.0', and this {READS}"),
        "of no version": (without("format_version"), f"its format_version is 'None', and this {READS}"),
        "number": (having("format_version", 2), f"its format_version is '2', and this {READS}"),
        "older": (having("tool_version", "0.0.1"), f"it is of version '0.0.1', and this is {__version__!r}"),
        "no permissions": (having("permissions", "all"), "it is damaged: Expected an object, got text - at $.permi"),
        "without settings": (without("settings"), "it is damaged: Object missing required field settings"),
        "nobody's": (having("cluster", None), "it is damaged: Expected text, got nothing - at $.cluster"),
        "no digest": (
            having("permissions", {"node/\x1b[2J": "node/a"}),
            "it is damaged: Expected text matching regex '^sha256:[0-9a-f]{64}$' - at key in $.permissions",
        ),
        "a long key": (
            having("permissions", {f"sha256:{0:064}": "node/" + "x" * 2000}),
            "it is damaged: Expected text of length <= 1024 - at $.permissions[...]",
        ),
        "a time of no zone": (having("taken_at", "2026-01-01T00:00:00"), "it is damaged: "),
        "at the end of time": (having("taken_at", "9999-12-31T23:59:59+00:00"), "it is damaged: date value out of"),
    },
)
def test_a_document_that_nobody_has_saved(edit: Callable[[Raw], object], why: str) -> None:
    document = a_document()
    edit(document)

    assert why_refused(document).startswith(why)


@rows(
    "content",
    {
        "empty": b"",
        "truncated": save_plan(REPORT, SETTINGS)[:-40],
        "no text": b"\xff\xfe\xff",
        "control characters": b"\x1b[31m",
        "a list": b"[1]",
        "deep and open": b"[" * 100_000,
        "a long number": b"9" * 10_000,
    },
)
def test_what_is_no_document(content: bytes) -> None:
    assert why_refused(content) == "it is no JSON document of a saved plan"


def test_a_deep_document_is_a_damaged_one() -> None:
    deep = b'{"format_version": "2.0", "tool_version": "%b", "permissions": ' % __version__.encode()
    assert why_refused(deep + b"[" * 100_000 + b"]" * 100_000 + b"}").startswith("it is damaged: ")


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


def test_other_published_settings_are_named() -> None:
    """Flags that guards read are not published. Foreign names are quoted."""
    published = texts_of(replace(SETTINGS, network="other"))
    saved = read_plan(save_plan(REPORT, SETTINGS), "plan.json")

    saved.check_published(texts_of(SETTINGS))
    with pytest.raises(SavedPlanProblem) as caught:
        saved.check_published({**published, "x\x1b[2J": ""})
    names = "HCLOUD_NETWORK, 'x\\x1b[2J'"
    assert the_reason(caught.value) == f"{names} are published otherwise than when it was made"


def test_what_a_plan_is_restricted_to_is_no_setting() -> None:
    assert read_plan(save_plan(REPORT, SETTINGS), "plan.json").fits(replace(SETTINGS, only=()))


def test_every_setting_has_a_text() -> None:
    """Under a name that people can set."""
    texts = a_document()["settings"]
    only_read = {name for name in SET_BY.values() if isinstance(name, Reads)}

    assert texts.keys() == {*SET_BY.values(), *OPTION_VARIABLES} - {"--only"} - only_read
    assert texts.keys() <= {*FLAGS, *VARIABLES}


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
