"""The processes of a measurement: a fresh sandbox, and what runs against it."""

import json
import os
import re
import shlex
import subprocess
import sys
import urllib.request
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

_HERE = Path(__file__).resolve().parent
_NEEDED = {"HCLOUD_ENDPOINT", "HCLOUD_TOKEN", "KUBECONFIG"}
_OURS = ("HCLOUD_", "ROBOT_", "RECONCILER_", "KUBE")
_DOCKERFILE = _HERE.parents[1] / "deploy" / "Dockerfile"
_OF_THE_IMAGE = ("PYTHONOPTIMIZE", "MALLOC_ARENA_MAX")


@dataclass(frozen=True, slots=True)
class Conditions:
    """What the sandbox imitates."""

    latency_ms: int
    action_ms: int
    rate_limit: int
    network_attachments: int = 200
    """Hetzner's is 100: too few for 100 servers with 20 load balancers."""


class SandboxProcess:
    """``reconcile sandbox`` from a world file, as a context manager; ``environment`` is known inside."""

    def __init__(self, world: Path, conditions: Conditions) -> None:
        self._command = [
            *(sys.executable, "-m", "reconciler", "sandbox", f"--world={world}"),
            f"--latency-ms={conditions.latency_ms}",
            f"--action-ms={conditions.action_ms}",
            f"--rate-limit={conditions.rate_limit}",
            f"--network-attachments={conditions.network_attachments}",
            "--without=kubelets",  # whose Leases would be work beside what is measured
        ]
        self._process: subprocess.Popen[str] | None = None
        self._urls: dict[str, str] = {}
        self.environment: dict[str, str] = {}

    def __enter__(self) -> "SandboxProcess":
        self._process = subprocess.Popen(
            self._command, env=like_the_image(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        found: dict[str, str] = {}
        for line in self._process.stdout or ():
            name, _, value = shlex.split(line.removeprefix("export "))[0].partition("=")
            found[name] = value
            if found.keys() >= _NEEDED:
                break
        if not found.keys() >= _NEEDED:
            said = self._process.stderr.read() if self._process.stderr else ""
            self.__exit__(None, None, None)
            raise RuntimeError(f"the sandbox did not start: {said.strip()}")
        self.environment = {
            **like_the_image(),
            **found,
            "RECONCILER_LEADER_ELECT": "false",
        }  # a Lease is no part of a pass
        kubeconfig = json.loads(Path(found["KUBECONFIG"]).read_text("utf-8"))
        servers = {"hetzner": found["HCLOUD_ENDPOINT"], "kubernetes": kubeconfig["clusters"][0]["cluster"]["server"]}
        if "ROBOT_ENDPOINT" in found:
            servers["robot"] = found["ROBOT_ENDPOINT"]
        for api, url in servers.items():
            parts = urlsplit(url)
            self._urls[api] = f"http://{parts.hostname}:{parts.port}"
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.communicate()

    @property
    def apis(self) -> tuple[str, ...]:
        """``hetzner``, ``kubernetes`` and, where the world has dedicated servers, ``robot``."""
        return tuple(self._urls)

    def requests(self, api: str) -> list[Mapping[str, Any]]:
        """The request log of one of these, in order."""
        log: list[Mapping[str, Any]] = self._ask(api, "requests")
        return log

    def services(self) -> list[Mapping[str, Any]]:
        """The Services as they are now."""
        found: list[Mapping[str, Any]] = self._ask("kubernetes", "world")["kubernetes"]["services"]
        return found

    def nodes(self) -> list[Mapping[str, Any]]:
        """The Nodes as they are now."""
        found: list[Mapping[str, Any]] = self._ask("kubernetes", "world")["kubernetes"]["nodes"]
        return found

    def cpu_s(self) -> float | None:
        """CPU that the sandbox has used so far; None where there is no /proc."""
        return None if self._process is None else cpu_s_of(self._process.pid)

    def _ask(self, api: str, what: str) -> Any:
        with urllib.request.urlopen(f"{self._urls[api]}/_sandbox/{what}", timeout=60) as answer:  # noqa: S310
            return json.load(answer)


def cpu_s_of(pid: int) -> float | None:
    """CPU that a process has used so far; None where there is no /proc."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text("ascii")
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def peak_mib_of(pid: int) -> float | None:
    """Peak memory of a process so far; None where there is no /proc."""
    try:
        status = Path(f"/proc/{pid}/status").read_text("ascii")
    except OSError:
        return None
    (peak,) = [line.split() for line in status.splitlines() if line.startswith("VmHWM:")]
    return int(peak[1]) / 2**10


def run_measured(command: Sequence[str], environment: Mapping[str, str], output: Path) -> dict[str, Any]:
    """What the command cost, see ``measured``; its stdout is in ``output`` afterwards."""
    helper = [sys.executable, "-I", "-S", str(_HERE / "measured.py"), str(output), *command]
    done = subprocess.run(helper, env=dict(environment), capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{command[-1]} could not be measured: {done.stderr.strip()}")
    cost: dict[str, Any] = json.loads(done.stdout)
    return {**cost, "stderr": done.stderr}


def count_methods(log: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Method → number of requests."""
    return dict(sorted(Counter(entry["method"] for entry in log).items()))


def count_calls(log: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """``PATCH /api/v1/nodes/*`` → number of requests; names and ids are stars, actions are not."""
    return dict(sorted(Counter(f"{entry['method']} {_pattern(entry['path'])}" for entry in log).items()))


def unpublished(services: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Names of Services that are not served: without a finalizer, or without an address in their status."""
    for service in services:
        is_published = bool(service["status"].get("loadBalancer", {}).get("ingress"))
        if not is_published or not service["metadata"].get("finalizers"):
            yield service["metadata"]["name"]


def _pattern(path: str) -> str:
    parts = path.strip("/").split("/")
    names = {"v1": (2,), "api": (3, 5), "apis": (4, 6), "server": (1,), "reset": (1,)}.get(parts[0], ())
    return "/" + "/".join("*" if i in names else part for i, part in enumerate(parts))


def like_the_image() -> dict[str, str]:
    """This process's environment without variables that configure the product, and with the image's settings of the
    interpreter and of memory; bytecode is kept, as the image has it. Raises ValueError for one that is not in the
    Dockerfile."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_OURS)}
    kept.pop("PYTHONDONTWRITEBYTECODE", None)
    dockerfile = _DOCKERFILE.read_text("utf-8")
    return kept | {name: _set_in(dockerfile, name) for name in _OF_THE_IMAGE}


def _set_in(dockerfile: str, name: str) -> str:
    """Its one value, in whatever steps it is set."""
    values = set(re.findall(rf"\b{name}=(\S+)", dockerfile))
    if len(values) != 1:
        raise ValueError(f"{_DOCKERFILE} sets {name} to {sorted(values) or 'nothing'}, and one value is needed")
    value: str = values.pop()
    return value
