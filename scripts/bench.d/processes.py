"""The processes of a measurement: a fresh sandbox, a run of one version, and a controller of one version."""

import json
import os
import re
import shlex
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from worlds import CLUSTER_CIDR, NETWORK

ROOT = Path(__file__).resolve().parents[2]
_NEEDED = {"HCLOUD_ENDPOINT", "HCLOUD_TOKEN", "KUBECONFIG"}
_OURS = ("HCLOUD_", "ROBOT_", "RECONCILER_", "KUBE")
_OF_THE_IMAGE = ("PYTHONOPTIMIZE", "MALLOC_ARENA_MAX")
_LOOP = ("run", "--interval=1s", "--health-address=127.0.0.1:0")
_PATIENCE_S = 600.0
_POLL_S = 1.0


@dataclass(frozen=True, slots=True)
class Conditions:
    """What the sandbox imitates."""

    latency_ms: int
    action_ms: int
    rate_limit: int = 36000
    network_attachments: int = 200
    """Hetzner's is 100: too few for 100 servers with 20 load balancers."""


@dataclass(frozen=True, slots=True)
class Sandbox:
    """One that runs. ``urls`` has the address of each API, ``environment`` what leads the product there."""

    urls: Mapping[str, str]
    environment: Mapping[str, str]

    def requests(self, api: str) -> list[Mapping[str, Any]]:
        """The request log of an API, in order."""
        log: list[Mapping[str, Any]] = self._ask(api, "requests")
        return log

    def objects(self, kind: str) -> list[Mapping[str, Any]]:
        """The ``nodes`` or ``services`` as they are now."""
        found: list[Mapping[str, Any]] = self._ask("kubernetes", "world")["kubernetes"][kind]
        return found

    def _ask(self, api: str, what: str) -> Any:
        with urllib.request.urlopen(f"{self.urls[api]}/_sandbox/{what}", timeout=_PATIENCE_S) as answer:  # noqa: S310
            return json.load(answer)


@contextmanager
def sandbox(world: Path, conditions: Conditions, *, has_routes: bool) -> Iterator[Sandbox]:
    """``reconcile sandbox`` of this checkout, from a world file. Raises RuntimeError when it does not start."""
    command = [
        *(sys.executable, "-m", "reconciler", "sandbox", f"--world={world}"),
        f"--latency-ms={conditions.latency_ms}",
        f"--action-ms={conditions.action_ms}",
        f"--rate-limit={conditions.rate_limit}",
        f"--network-attachments={conditions.network_attachments}",
        "--without=kubelets",  # whose Leases would be work beside what is measured
    ]
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, cwd=ROOT, env=like_the_image(), stdout=pipe, stderr=pipe, text=True)
    try:
        found: dict[str, str] = {}
        for line in process.stdout or ():
            name, _, value = shlex.split(line.removeprefix("export "))[0].partition("=")
            found[name] = value
            if found.keys() >= _NEEDED:
                break
        else:
            raise RuntimeError(f"the sandbox did not start: {process.communicate()[1].strip()}")
        kubeconfig = json.loads(Path(found["KUBECONFIG"]).read_text("utf-8"))
        urls = {"hetzner": found["HCLOUD_ENDPOINT"], "kubernetes": kubeconfig["clusters"][0]["cluster"]["server"]}
        if "ROBOT_ENDPOINT" in found:
            urls["robot"] = found["ROBOT_ENDPOINT"]
        hosts = {api: f"http://{urlsplit(url).hostname}:{urlsplit(url).port}" for api, url in urls.items()}
        # An id as network saves a request of those that a name costs.
        routes = {"RECONCILER_CLUSTER_CIDR": CLUSTER_CIDR} if has_routes else {"HCLOUD_NETWORK_ROUTES_ENABLED": "false"}
        yield Sandbox(hosts, {**like_the_image(), **found, "HCLOUD_NETWORK": str(NETWORK), **routes})
    finally:
        process.terminate()
        process.communicate()


def once(tree: Path, environment: Mapping[str, str], folder: Path) -> dict[str, Any]:
    """What ``reconcile --once`` of the version in this tree cost, see ``measured``, and its ``report``, which is
    empty when it wrote none."""
    output = folder / "report.json"
    command = [sys.executable, "-m", "reconciler", "--once", "--output=json"]
    helper = [sys.executable, "-I", "-S", str(Path(__file__).with_name("measured.py")), str(output), *command]
    chosen = {**environment, "RECONCILER_LEADER_ELECT": "false"}  # a Lease is no part of a pass
    done = subprocess.run(helper, cwd=tree, env=chosen, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{command[-2]} could not be measured: {done.stderr.strip()}")
    try:
        report = json.loads(output.read_text("utf-8"))
    except ValueError:
        report = {}
    return {**json.loads(done.stdout), "stderr": done.stderr, "report": report}


@contextmanager
def controller(tree: Path, environment: Mapping[str, str]) -> Iterator["subprocess.Popen[bytes]"]:
    """``reconcile run`` of the version in this tree, with its Lease, probes and watches, until the block ends."""
    quiet = subprocess.DEVNULL
    command = [sys.executable, "-m", "reconciler", *_LOOP]
    chosen = {**environment, "HCLOUD_METRICS_ADDRESS": "127.0.0.1:0"}
    process = subprocess.Popen(command, cwd=tree, env=chosen, stdin=quiet, stdout=quiet, stderr=quiet)
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


def first_request(tree: Path, folder: Path) -> tuple[float, float]:
    """Wall and CPU seconds from the start of a controller to the arrival of its first request, at whichever API."""
    with socket.create_server(("127.0.0.1", 0)) as door:
        door.settimeout(_PATIENCE_S)
        url = f"http://127.0.0.1:{door.getsockname()[1]}"
        kubeconfig = folder / "first-request.json"
        context = {"name": "bench", "context": {"cluster": "bench", "user": "bench"}}
        config = {"apiVersion": "v1", "kind": "Config", "current-context": "bench", "contexts": [context]}
        of_server = {
            "clusters": [{"name": "bench", "cluster": {"server": url}}],
            "users": [{"name": "bench", "user": {}}],
        }
        kubeconfig.write_text(json.dumps(config | of_server), "utf-8")
        access = {"HCLOUD_ENDPOINT": f"{url}/v1", "HCLOUD_TOKEN": "x" * 64, "KUBECONFIG": str(kubeconfig)}
        started = time.monotonic()
        with controller(tree, {**like_the_image(), **access}) as process:
            caller, _ = door.accept()
            with caller:
                caller.settimeout(_PATIENCE_S)
                caller.recv(1)
                cost = time.monotonic() - started, cpu_s_of(process.pid)
            process.kill()  # it is not answered
    return cost


def wait_for(process: "subprocess.Popen[bytes]", is_so: Any, what: str) -> None:
    """Return once ``is_so()``. Raises RuntimeError when the process ends before, or after ten minutes."""
    until = time.monotonic() + _PATIENCE_S
    while not is_so():
        try:
            process.wait(_POLL_S)
        except subprocess.TimeoutExpired:
            if time.monotonic() < until:
                continue
        raise RuntimeError(f"the controller {what}")


def cpu_s_of(pid: int) -> float:
    """CPU seconds that a process has used so far. Needs Linux."""
    fields = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def mib_of(pid: int, figure: str = "VmRSS") -> float:
    """Memory of a process now; with ``VmHWM`` its peak so far. Needs Linux."""
    status = Path(f"/proc/{pid}/status").read_text("ascii")
    (found,) = [line.split() for line in status.splitlines() if line.startswith(f"{figure}:")]
    return int(found[1]) / 2**10


def like_the_image() -> dict[str, str]:
    """This process's environment without variables that configure the product, and with the image's settings of the
    interpreter and of memory; bytecode is kept, as the image has it. Raises ValueError for one that is not in the
    Dockerfile."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith((*_OURS, "PYTHON"))}
    dockerfile = (ROOT / "deploy" / "Dockerfile").read_text("utf-8")
    return kept | {name: _set_in(dockerfile, name) for name in _OF_THE_IMAGE}


def _set_in(dockerfile: str, name: str) -> str:
    """Its one value, in whatever steps it is set."""
    values: Sequence[str] = sorted(set(re.findall(rf"\b{name}=(\S+)", dockerfile)))
    if len(values) != 1:
        raise ValueError(f"deploy/Dockerfile sets {name} to {values or 'nothing'}, and one value is needed")
    return values[0]
