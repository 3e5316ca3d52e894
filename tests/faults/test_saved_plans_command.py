"""Saved plans on the command line: ``plan --save FILE`` and ``apply FILE``, and files that are none."""

import os
import shlex
import stat
from collections.abc import Callable
from pathlib import Path

from tests.faults.conftest import assert_untouched
from tests.support.objects import joining_node, server
from tests.support.permissions import shipped
from tests.support.rows import rows
from tests.support.stage import SimulatedCluster, Stage

FILE = "my plan.json"


def joins_as_well(stage: Stage) -> None:
    """Another Node."""
    stage.have_servers(server(1, "web-1"), server(2, "web-2"))
    stage.register(joining_node("web-2"))


def provider_ids(stage: Stage) -> list[str | None]:
    return [node["spec"].get("providerID") for _, node in sorted(stage.nodes().items())]


def test_a_plan_is_saved_reviewed_and_applied(joining: Stage) -> None:
    """Changes that have come since are left, counted, and told; nobody is asked."""
    planned = joining.reconcile("plan", "--save", FILE)
    file = joining.folder / FILE
    assert planned.code == 0, planned.stderr
    assert planned.stdout.splitlines()[-1] == f"Result: changes. Next: reconcile apply {shlex.quote(FILE)}"
    assert (stat.S_IMODE(file.stat().st_mode), provider_ids(joining)) == (0o600, [None])
    joins_as_well(joining)

    applied = joining.reconcile("apply", FILE, "--output", "json")

    assert applied.code == 0, applied.stderr
    assert provider_ids(joining) == ["hcloud://1", None]
    assert applied.report["result"] == "partial"
    rules = {change["key"]: change["rule"] for change in applied.report["changes"]}
    assert rules == {"node/web-1": None, "node/web-2": "agreed-plan"}
    assert "permissions" not in applied.report
    assert joining.reconcile("plan", "--save", FILE).code == 0  # in the place of the one before


def test_an_exact_plan_that_is_another_one(joining: Stage) -> None:
    joining.reconcile("plan", "--save", FILE)
    joins_as_well(joining)
    ran = joining.reconcile("apply", FILE, "--exact")
    assert (ran.code, provider_ids(joining)) == (1, [None, None])
    (line,) = ran.stderr.splitlines()
    assert "and nothing was applied: 1 change differs (node/web-2); plan again with" in line


UNZONED = {"HCLOUD_INSTANCES_ZONE_LABEL_ENABLED": "false"}
ZONED = {"HCLOUD_INSTANCES_ZONE_LABEL_ENABLED": "true"}
OTHERWISE = "HCLOUD_INSTANCES_ZONE_LABEL_ENABLED is {} otherwise than when it was made; plan again with"


def _publishes(stage: Stage, **variables: str) -> None:
    """A controller with these variables has done a pass."""
    stage.to_cluster("POST", "/api/v1/namespaces/kube-system/configmaps", shipped("configmap.yaml")[0])
    assert stage.reconcile("--once", **variables).code == 0


def test_a_saved_plan_needs_no_settings_if_a_controller_publishes_them(joining: Stage) -> None:
    _publishes(joining, **UNZONED)
    joins_as_well(joining)
    joining.reconcile("plan", "--save", FILE, **UNZONED)

    applied = joining.reconcile("apply", FILE, "--exact")

    assert applied.code == 0, applied.stderr
    assert provider_ids(joining) == ["hcloud://1", "hcloud://2"]
    labels = joining.nodes()["web-2"]["metadata"]["labels"]
    assert ("topology.kubernetes.io/region" in labels, "topology.kubernetes.io/zone" in labels) == (True, False)


@rows("published given why", {
    "nothing is published": (None, {}, OTHERWISE.format("set")),
    "others are published": ({}, {}, OTHERWISE.format("published")),
    "the run has its own": (UNZONED, ZONED, OTHERWISE.format("set")),
    "guards have others": (UNZONED, {"RECONCILER_DELETE_MIN_AGE": "0s"},
        "--delete-min-age is set otherwise than when it was made; plan again with"),
})  # fmt: skip
def test_settings_that_differ(
    joining: Stage, published: dict[str, str] | None, given: dict[str, str], why: str
) -> None:
    if published is not None:
        _publishes(joining, **published)
    joins_as_well(joining)
    joining.reconcile("plan", "--save", FILE, **UNZONED)
    joining.forget()

    ran = joining.reconcile("apply", FILE, **given)

    (line,) = ran.stderr.splitlines()
    assert (ran.code, why in line) == (1, True), line
    assert_untouched(joining)


@rows("becomes why", {
    "no file": (lambda _: None, "No such file or directory"),
    "a folder": (Path.mkdir, "it is no regular file"),
    "a pipe": (os.mkfifo, "it is no regular file"),
    "9 MB": (lambda file: file.write_bytes(bytes(9_000_000)), "it has more than 8388608 bytes"),
    "something else": (lambda file: file.write_text("[]"), "it is no JSON document of a saved plan"),
})  # fmt: skip
def test_a_file_that_is_none(joining: Stage, becomes: Callable[[Path], object], why: str) -> None:
    """One line, before anything is asked; nobody waits for a pipe."""
    joining.reconcile("plan", "--save", FILE)
    (joining.folder / FILE).unlink()
    becomes(joining.folder / FILE)
    asked = len(joining.asked_hetzner())

    ran = joining.reconcile("apply", FILE)

    (line,) = ran.stderr.splitlines()
    assert ran.code == 1
    assert line.startswith(f"reconcile: error: saved plan {FILE!r} cannot be ")
    assert why in line
    assert line.isprintable()
    assert len(joining.asked_hetzner()) == asked
    assert_untouched(joining)


def test_a_plan_of_another_cluster(joining: Stage, cluster: SimulatedCluster) -> None:
    """It is refused before the Lease is taken, and nothing of the project is read."""
    joining.reconcile("plan", "--save", FILE)
    cluster.simulator.replace_world({"namespaces": [{"metadata": {"name": "kube-system", "uid": "another"}}]})
    asked = len(joining.asked_hetzner())
    ran = joining.reconcile("apply", FILE)
    (line,) = ran.stderr.splitlines()
    assert ran.code == 1
    assert f"saved plan {FILE!r} is of cluster " in line
    assert ", and this is another; give --context, or plan again with " in line
    assert len(joining.asked_hetzner()) == asked
    assert_untouched(joining)


@rows("arguments code why", {
    "stdout": (("plan", "--save", "-"), 64, "--save is '-': expect the name of a file"),
    "world": (("plan", "--save", "a", "--from", "w"), 64, "--from and --save exclude each other"),
    "something is there": (("plan", "--save", "notes.txt"), 1, "has something else than a plan"),
    "nowhere": (("plan", "--save", "nowhere/plan"), 1, "--save 'nowhere/plan' cannot be written"),
    "a device": (("plan", "--save", "/dev/null"), 1, "it is no regular file"),
    "exactly what": (("apply", "--exact"), 64, "--exact goes with 'reconcile apply FILE'"),
    "x": (("apply", "a", "--exact", "--only", "node/a"), 64, "--exact and --only exclude each other"),
    "a variable that is not set": (("apply", ""), 1, "saved plan '' cannot be read: No such file"),
})  # fmt: skip
def test_arguments_of_no_meaning(joining: Stage, arguments: tuple[str, ...], code: int, why: str) -> None:
    """Nothing is read, written, or in the place of what was there."""
    (joining.folder / "notes.txt").write_text("{}")
    ran = joining.reconcile(*arguments)
    assert (ran.code, joining.asked_hetzner()) == (code, [])
    assert why in ran.stderr
    assert (joining.folder / "notes.txt").read_text() == "{}"
    assert_untouched(joining)


def test_an_error_is_no_plan(joining: Stage) -> None:
    joining.reconcile("plan", "--save", FILE)
    before = (joining.folder / FILE).read_text()
    ran = joining.reconcile("plan", "--save", FILE, HCLOUD_TOKEN="0" * 64)
    assert ran.code == 1
    assert f"nothing is saved in {FILE!r}: the plan ended with an error: correct that first" in ran.stderr
    assert (joining.folder / FILE).read_text() == before
