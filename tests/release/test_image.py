"""The image: made by the Dockerfile's steps from a clean folder, and by buildah from the Dockerfile as it is. It works
as a user with no rights who cannot write."""

import shutil
import subprocess
import urllib.request
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.support import buildah, image
from tests.support.assets import ROOT
from tests.support.child_processes import free_ports
from tests.support.objects import joining_node, server
from tests.support.stage import Stage, killed_at_the_end, wait_for

pytestmark = [
    pytest.mark.apiserver,
    pytest.mark.soak,
    pytest.mark.timeout(1800),
    pytest.mark.xdist_group("image"),
]
"""Everything that is needed is installed first."""


@pytest.fixture(scope="module", params=["steps", "buildah"])
def built(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[image.Image]:
    """The image, below a folder that every user may look into: its steps alone, and all of it."""
    by = {"steps": image, "buildah": buildah}[request.param]
    if reason := by.why_not():
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("image")
    if by is image:
        yield image.build(folder)
    else:
        tool = buildah.Buildah(folder)
        tool.build(ROOT, "deploy/Dockerfile", {})
        with tool.unpacked() as unpacked:
            yield unpacked
        shutil.rmtree(folder)


def _run(
    built: image.Image, *words: str, mounted: Path | None = None, **variables: str
) -> "subprocess.CompletedProcess[str]":
    line = image.command(built, words, variables, mounted)
    return subprocess.run(line, capture_output=True, text=True, check=False, timeout=60)


def _reconcile(built: image.Image, *words: str, **options: Any) -> "subprocess.CompletedProcess[str]":
    return _run(built, *built.entry_point, *words, **options)


@pytest.fixture
def access(stage: Stage, tmp_path: Path) -> Mapping[str, str]:
    """The stage's environment with its kubeconfig as a mounted file."""
    stage.have_servers(server(1, "web-1"))
    stage.register(joining_node("web-1"))
    return image.with_kubeconfig(stage.environment, tmp_path)


def test_it_runs_as_nobody_who_can_write(built: image.Image) -> None:
    """What the tests below rest on: the user has no rights, and no place to write to."""
    places = "/tmp /var/tmp /dev/shm /opt /opt/hcloud-reconciler / /mnt"
    tried = _run(built, "sh", "-c", f'id -u; id -g; id -G; for p in {places}; do touch "$p/x" && echo "$p"; done; true')

    assert built.user == "65532:65532"
    assert tried.stdout.split() == ["65532", "65532", "65532"]


def test_it_says_what_it_can_do(built: image.Image) -> None:
    ran = _reconcile(built, "--help")

    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.startswith("usage: reconcile COMMAND [flags]")


def test_it_has_no_simulator(built: image.Image) -> None:
    ran = _reconcile(built, "demo")

    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr.startswith("reconcile: error: the sandbox is not installed: ")


def test_all_of_it_is_compiled_and_nothing_else_is_in_it(built: image.Image) -> None:
    """No module is compiled at each start; no test, no tool, no installer."""
    folder = built.opt / "hcloud-reconciler"
    sources = [each for each in folder.rglob("*.py") if "/templates/" not in str(each)]
    bytecode = folder / "bytecode" / "opt" / folder.name
    compiled = {folder / _source_of(each.relative_to(bytecode)) for each in bytecode.rglob("*.opt-2.pyc")}

    assert len(sources) > 500
    assert set(sources) - compiled == set()
    assert [each.name for each in built.opt.iterdir()] == ["hcloud-reconciler"]
    assert [each.name for each in (folder / "bin").iterdir()] == ["reconcile"]
    assert not {"pip", "pytest", "tests", "deploy", "scripts", "sandbox", "hcloud_sandbox", "kubernetes_double"} & {
        each.name for each in folder.iterdir()
    }


def _source_of(bytecode: Path) -> Path:
    """``a/b.py`` for ``a/b.cpython-313.opt-2.pyc``."""
    return bytecode.with_name(f"{bytecode.name.split('.')[0]}.py")


def test_a_start_compiles_nothing(built: image.Image) -> None:
    """Neither of the product nor of the standard library, of which the base image has no bytecode."""
    loaded = "reconciler.controller, reconciler.cli.run, hcloud, kubernetes.client, deepdiff, rich.console"
    ran = _run(built, "python", "-v", "-c", f"import {loaded}")

    assert ran.returncode == 0, ran.stderr
    told = [line for line in ran.stderr.splitlines() if line.startswith("# code object from ")]
    assert len(told) > 500
    # What stands in for the base image has things of its own there.
    ours = [line for line in told if "/site-packages/" not in line and "/dist-packages/" not in line]
    assert [line for line in ours if line.endswith(".py")] == []


def test_it_plans_and_applies(built: image.Image, stage: Stage, access: Mapping[str, str], tmp_path: Path) -> None:
    plan = _reconcile(built, "--dry-run", mounted=tmp_path, **access)
    assert (plan.returncode, plan.stderr) == (0, "")
    assert "node/web-1" in plan.stdout

    done = _reconcile(built, "--once", mounted=tmp_path, **access)

    assert done.returncode == 0, done.stderr
    assert stage.nodes()["web-1"]["spec"]["providerID"] == "hcloud://1"


def test_it_answers_its_probes(built: image.Image, stage: Stage, access: Mapping[str, str], tmp_path: Path) -> None:
    """As the chart asks for them, once its first pass has ended; then it leaves on SIGTERM with 0."""
    (port,) = free_ports(1)
    words = [*built.entry_point, "run", f"--health-address=127.0.0.1:{port}"]
    line = image.command(built, words, {**access, "HCLOUD_METRICS_ENABLED": "false"}, tmp_path)
    with subprocess.Popen(line, stderr=subprocess.PIPE, text=True) as process, killed_at_the_end(process):
        for path in ("/readyz", "/livez", "/healthz"):
            wait_for(partial(_is_well, port, path), f"{path} to answer 200")
        process.terminate()
        assert process.wait(20) == 0


def _is_well(port: int, path: str) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=60) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False
