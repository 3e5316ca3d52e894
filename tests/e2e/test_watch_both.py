"""HCCM itself on the simulated cloud and a real API server: what it leaves undone is all that a plan has then."""

import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.faults.sandbox_process import COMMAND, environment, running
from tests.support.assets import folder_of
from tests.support.child_processes import Process, end, spawn, wait_until
from tests.support.stage import DEADLINE_S

pytestmark = pytest.mark.apiserver

CIDR = "10.244.0.0/16"


@pytest.fixture(scope="module")
def exports() -> Iterator[Mapping[str, str]]:
    """What a sandbox prints that has an API server."""
    if "HCCM" not in os.environ:
        pytest.skip("HCCM names no program: docs/tutorials/watch-both.md tells how to build it")
    assets = str(folder_of("envtest"))
    with running("--kubernetes=auto", "--without=robot", KUBEBUILDER_ASSETS=assets) as exports:
        yield exports


@pytest.fixture(scope="module")
def hccm(exports: Mapping[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    """HCCM, as the tutorial starts it."""
    kubeconfig = exports["KUBECONFIG"]
    process = spawn(
        [
            str(Path(os.environ["HCCM"]).resolve()),
            "--cloud-provider=hcloud",
            f"--kubeconfig={kubeconfig}",
            f"--authentication-kubeconfig={kubeconfig}",
            f"--authorization-kubeconfig={kubeconfig}",
            "--allow-untagged-cloud",
            "--leader-elect=false",
            "--secure-port=0",
            "--webhook-secure-port=0",
            "--allocate-node-cidrs=true",
            f"--cluster-cidr={CIDR}",
        ],
        tmp_path_factory.mktemp("hccm") / "hccm.log",
        exports,
    )
    yield process
    end(process)


def planned(exports: Mapping[str, str]) -> set[str]:
    """The keys of all changes of a plan."""
    command = [*COMMAND, "plan", "--output=json", f"--cluster-cidr={CIDR}"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, env=environment(exports))
    report: dict[str, Any] = json.loads(ran.stdout)
    return {change["key"] for change in report["changes"]}


def test_what_hccm_leaves_undone_is_all_that_is_planned(exports: Mapping[str, str], hccm: Process) -> None:
    """A server was resized, and HCCM labels a Node once. Before it ran there was a lot to do."""
    only_the_labels = {"node/worker-1/labels"}
    assert wait_until(lambda: planned(exports) == only_the_labels, [hccm], 3 * DEADLINE_S), planned(exports)
