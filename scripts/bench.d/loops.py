"""``reconcile`` as a controller runs it, with its Lease, its probes and its watches: how soon it begins, its peak."""

import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from processes import SandboxProcess, cpu_s_of, like_the_image, peak_mib_of
from worlds import NETWORK

_COMMAND = (sys.executable, "-m", "reconciler", "--health-address=127.0.0.1:0")
_STARTS = 5
_POLL_S = 0.5
_SETTLES_S = 3.0
"""After the last Node has joined: the watches are open by then, and the pass that they call for is over."""
_PATIENCE_S = 120.0


def first_request(folder: Path) -> dict[str, float | None]:
    """Wall and CPU seconds from the start of a loop to the arrival of its first request, at whichever API: the least
    of some, as whatever else the machine does only adds to them. CPU is None where there is no /proc."""
    starts = [_start(folder) for _ in range(_STARTS)]
    known = [cpu_s for _, cpu_s in starts if cpu_s is not None]
    return {"first_request_s": min(wall_s for wall_s, _ in starts), "first_request_cpu_s": min(known, default=None)}


def _start(folder: Path) -> tuple[float, float | None]:
    with socket.create_server(("127.0.0.1", 0)) as door:
        door.settimeout(_PATIENCE_S)
        url = f"http://127.0.0.1:{door.getsockname()[1]}"
        kubeconfig = folder / "first-request.json"
        kubeconfig.write_text(json.dumps(_kubeconfig(url)), "utf-8")
        access = {"HCLOUD_ENDPOINT": f"{url}/v1", "HCLOUD_TOKEN": "x" * 64, "KUBECONFIG": str(kubeconfig)}
        started = time.monotonic()
        with _loop({**like_the_image(), **access}) as process:
            caller, _ = door.accept()
            with caller:
                caller.settimeout(_PATIENCE_S)
                caller.recv(1)
                wall_s, cpu_s = time.monotonic() - started, cpu_s_of(process.pid)
            process.kill()  # it is not answered
    return wall_s, cpu_s


def peak_of_joining(sandbox: SandboxProcess, *flags: str) -> float | None:
    """Peak MiB of a loop, run with these flags besides, that has initialized every Node of the sandbox; None where
    there is no /proc. Raises RuntimeError when it never does."""
    network = {"HCLOUD_NETWORK": str(NETWORK), "HCLOUD_NETWORK_ROUTES_ENABLED": "false"}
    given_up_at = time.monotonic() + _PATIENCE_S
    with _loop({**sandbox.environment, **network}, *flags) as process:
        while any("providerID" not in node["spec"] for node in sandbox.nodes()):
            if time.monotonic() > given_up_at or _ends_within(_POLL_S, process):
                raise RuntimeError("the loop did not initialize all Nodes")
        if _ends_within(_SETTLES_S, process):
            raise RuntimeError("the loop came to an end")
        return peak_mib_of(process.pid)


def _ends_within(seconds: float, process: subprocess.Popen[bytes]) -> bool:
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return True


@contextmanager
def _loop(environment: Mapping[str, str], *flags: str) -> Iterator[subprocess.Popen[bytes]]:
    """A loop that ends with the block."""
    quiet = subprocess.DEVNULL
    chosen = {**environment, "RECONCILER_LEADER_ELECT": "true", "HCLOUD_METRICS_ADDRESS": "127.0.0.1:0"}
    process = subprocess.Popen([*_COMMAND, *flags], env=chosen, stdin=quiet, stdout=quiet, stderr=quiet)
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


def _kubeconfig(server: str) -> Mapping[str, Any]:
    name = "bench"
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": name,
        "clusters": [{"name": name, "cluster": {"server": server}}],
        "users": [{"name": name, "user": {}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
    }
