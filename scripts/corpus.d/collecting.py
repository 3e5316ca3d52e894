"""A pytest plugin that captures each new kind of world of which a test makes a plan.

Two worlds are of one kind when the same kinds of changes, verdicts, rules, notes and holds come of them. What is
captured goes to the folder CORPUS_FOLDER, a file each. A capture costs requests, so tests that count those fail while
it goes on: what they say then is of no interest.
"""

import hashlib
import os
from collections.abc import Iterator
from datetime import timedelta
from functools import wraps
from itertools import count
from pathlib import Path
from typing import Any

import msgspec

from actuators.http.errors import ApiError
from desired.annotations.options import variables_of
from desired.model.settings import AddressFamily, Controller, Policy, Settings
from desired.model.to_builtins import to_builtins
from desired.plan.setbacks import Setbacks
from desired.section import UNMANAGED
from reconciler.capture.reading import capture_world
from reconciler.config.config import load_config
from reconciler.config.options import Command
from reconciler.passes import one_pass
from reconciler.passes.context import PlanContext
from reconciler.passes.judging import JudgedPlan, judge_world
from tests.support.corpus import NAMESPACE, Entry

_FOLDER = Path(os.environ["CORPUS_FOLDER"])
_seen: set[object] = set()
_numbers = count(1)


def pytest_configure() -> None:
    """Listen where every pass judges its plan."""
    judge = judge_world

    @wraps(judge)
    def judge_and_capture(plan_context: PlanContext, *rest: Any, **more: Any) -> JudgedPlan:
        judged = judge(plan_context, *rest, **more)
        kind = _kind(judged, plan_context.settings)
        if kind not in _seen:
            _seen.add(kind)
            _capture(plan_context, judged)
        return judged

    vars(one_pass)["judge_world"] = judge_and_capture


def _kind(judged: JudgedPlan, settings: Settings) -> object:
    plan = judged.whole
    changes: dict[object, int] = {}
    for change in plan.changes:
        row = (change.kind, change.verb, change.decision.verdict, change.decision.rule)
        changes[row] = min(changes.get(row, 0) + 1, 3)
    return (
        _source(),
        frozenset(changes.items()),
        frozenset(note.kind for note in plan.notes),
        frozenset((hold.rule, hold.value) for hold in plan.holds),
        settings,
    )


def _source() -> str:
    """The test that runs: ``unit/reconciler/test_converge.py::test_joining``."""
    return os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0].removeprefix("tests/")


def _capture(plan_context: PlanContext, judged: JudgedPlan) -> None:
    readers, settings = plan_context.readers, plan_context.settings
    given = dict(_flags(settings)), dict(_variables(settings))
    if plan_context.namespace != NAMESPACE or not _says(settings, *given):
        return
    robot = readers.robot.cache.reader if readers.robot else None
    try:
        world = capture_world(readers.kubernetes, readers.hetzner, settings.network, NAMESPACE, robot)
    except ApiError:
        return
    entry = Entry(msgspec.Raw(msgspec.json.encode(world)), *given, _setbacks(judged.facts.setbacks))
    name = f"{_source()}#{next(_numbers)}"
    file = _FOLDER / f"{hashlib.sha256(name.encode()).hexdigest()[:24]}.json"
    file.write_bytes(msgspec.json.encode({name: entry}))


def _says(settings: Settings, flags: dict[str, str], variables: dict[str, str]) -> bool:
    """Whether the command would have these settings."""
    try:
        return load_config(Command.PLAN, {"--from": "-", **flags}, variables).settings == settings
    except Exception:  # noqa: BLE001 - settings that cannot be given
        return False


def _flags(settings: Settings) -> Iterator[tuple[str, str]]:
    plain, waits = Settings(), settings.waits
    if settings.cluster_cidr is not None:
        yield "--cluster-cidr", str(settings.cluster_cidr)
    if settings.policy is not Policy.SYNC:
        yield "--policy", settings.policy
    if settings.controllers != plain.controllers and Controller.SERVICE in settings.controllers:
        yield "--controllers", ",".join(sorted(settings.controllers))
    if settings.ignore_nodes is not None:
        yield "--ignore-nodes", settings.ignore_nodes.text
    if settings.mirror_labels is not None:
        yield "--mirror-labels", settings.mirror_labels
    switches = {
        "--keep-internal-ips": settings.keep_internal_ips,
    }
    yield from ((flag, "true") for flag, is_on in switches.items() if is_on)
    if settings.only:
        yield "--only", ",".join(settings.only)
    for flag, value, default in (
        ("--delete-not-ready-for", waits.not_ready_for, plain.waits.not_ready_for),
        ("--delete-min-age", waits.age, plain.waits.age),
        ("--given-up-after", waits.given_up_after, plain.waits.given_up_after),
    ):
        if value != default:
            yield flag, f"{value // timedelta(seconds=1)}s"


def _variables(settings: Settings) -> Iterator[tuple[str, str]]:
    if settings.network is not None:
        yield "HCLOUD_NETWORK", settings.network
        if not settings.routes:
            yield "HCLOUD_NETWORK_ROUTES_ENABLED", "false"
    if settings.address_family is not AddressFamily.IPV4:
        yield "HCLOUD_INSTANCES_ADDRESS_FAMILY", settings.address_family
    if not settings.zone_labels:
        yield "HCLOUD_INSTANCES_ZONE_LABEL_ENABLED", "false"
    if settings.robot:
        yield "ROBOT_ENABLED", "true"
    if not settings.forward_internal_ips:
        yield "ROBOT_FORWARD_INTERNAL_IPS", "false"
    for variable, value in variables_of(settings.balancer_defaults).items():
        if value is not UNMANAGED:
            yield variable, str(value).lower() if isinstance(value, bool) else str(value)


def _setbacks(setbacks: Setbacks) -> dict[str, Any]:
    fields = {
        "refused": sorted(setbacks.refused),
        "suspensions": dict(setbacks.suspensions),
        "bars": dict(setbacks.bars),
        "withheld": dict(setbacks.withheld),
    }
    return {name: to_builtins(value) for name, value in fields.items() if value}
