"""What is applied without helm follows from the chart: static manifests, kustomize, the CronJob. ``UPDATE_DOCS=1``
writes the static ones anew."""

import os
from collections.abc import Mapping
from typing import Any

import pytest

from tests.support.chart import DEPLOY, Object, kustomized, rendered, template

pytestmark = [pytest.mark.apiserver, pytest.mark.timeout(900)]
"""The first test may have to build helm."""

STATIC: Mapping[str, Mapping[str, Any]] = {
    "manifests/hcloud-reconciler.yaml": {},
    "manifests/hcloud-reconciler-networks.yaml": {"networking": {"enabled": True}},
    "cronjob/hcloud-reconciler.yaml": {"kind": "CronJob"},
}
OVERLAYS: Mapping[str, Mapping[str, Any]] = {
    "base": {},
    "overlays/network": {"networking": {"enabled": True}},
    "overlays/observe-only": {"policy": "observe"},
}


def _as_manifest(values: Mapping[str, Any]) -> str:
    """The rendering without helm's remarks."""
    head = "# Made from the chart in deploy/helm, for namespace kube-system.\n"
    lines = template(values).splitlines(keepends=True)
    return head + "".join(line for line in lines if not line.startswith("# Source:"))


def _by_name(objects: list[Object]) -> dict[tuple[str, str], Object]:
    return {(each["kind"], each["metadata"]["name"]): each for each in objects}


@pytest.mark.parametrize("file", STATIC)
def test_static_manifests_are_what_the_chart_renders(file: str) -> None:
    manifest = DEPLOY / file
    if os.environ.get("UPDATE_DOCS"):
        manifest.write_text(_as_manifest(STATIC[file]))

    assert manifest.read_text() == _as_manifest(STATIC[file])


@pytest.mark.parametrize("folder", OVERLAYS)
def test_kustomize_makes_what_the_chart_makes(folder: str) -> None:
    assert _by_name(kustomized(folder)) == _by_name(rendered(OVERLAYS[folder]))


def test_a_cron_job_never_runs_beside_itself_and_ends() -> None:
    """One at a time, no second try of a run that failed, an end to a run that hangs."""
    spec = _by_name(rendered({"kind": "CronJob"}))["CronJob", "hcloud-reconciler"]["spec"]
    job = spec["jobTemplate"]["spec"]

    assert (spec["concurrencyPolicy"], job["backoffLimit"]) == ("Forbid", 0)
    assert job["activeDeadlineSeconds"] > 300
    assert job["template"]["spec"]["restartPolicy"] == "Never"
