"""A real cluster without machines: kube-controller-manager, kube-scheduler and fake kubelets around a real API server.

As in a cluster of a cloud: kube-controller-manager runs with ``--cloud-provider=external``, so that it watches Nodes,
gives them pod CIDRs, moves pods and never deletes a Node. What is missing: packets, kube-proxy, a network for pods.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path

from tests.support.apiserver import LESS_MEMORY, ApiServer, start_api_server
from tests.support.assets import Script, folder_of
from tests.support.child_processes import Process, end, free_ports, spawn, wait_until
from tests.support.kubelets import kwok_configuration

PROGRAMS: Sequence[Script] = ("envtest", "controllers", "kwok")
"""The scripts that make what runs here."""
CLUSTER_CIDR = "10.128.0.0/12"
"""Four thousand pod CIDRs of /24: none is given out twice in a run."""
_START_DEADLINE_S = 180.0


@dataclass(frozen=True, slots=True)
class Timing:
    """How soon a kubelet that falls silent is noticed."""

    lease_s: int
    """How long a kubelet's Lease lasts; it is renewed four times in it."""
    grace_s: int
    """How old a Lease may be before the Node's state is unknown."""
    period_s: int
    """How often kube-controller-manager looks."""


BRISK = Timing(lease_s=4, grace_s=6, period_s=1)
"""For a handful of Nodes: each renews once a second."""
USUAL = Timing(lease_s=40, grace_s=50, period_s=5)
"""Kubernetes' defaults."""


class ControlPlane:
    """The processes of the cluster, which belong to this process. ``timing`` is the one that they run with."""

    def __init__(self, api_server: ApiServer, folder: Path) -> None:
        self.api_server = api_server
        self.timing = BRISK
        self._folder = folder
        self._processes: dict[str, Process] = {}

    def run_with(self, timing: Timing) -> None:
        """Have the cluster run with this timing: whatever does not is restarted."""
        if timing != self.timing or not self._processes:
            self.timing = timing
            self.kill(*self._processes)
            self._start_scheduler()
            self._start_kubelets()
            self.start_controller_manager()

    def start_controller_manager(self) -> None:
        """Start kube-controller-manager, and wait until it does its work."""
        kubeconfig = self._kubeconfig("system:kube-controller-manager")
        self._start(
            "kube-controller-manager",
            *_own_kubeconfig(kubeconfig),
            *self._serving(),
            "--use-service-account-credentials=true",
            f"--service-account-private-key-file={self.api_server.signing_key}",
            f"--root-ca-file={self.api_server.ca_file}",
            "--cloud-provider=external",
            "--allocate-node-cidrs=true",
            f"--cluster-cidr={CLUSTER_CIDR}",
            "--node-cidr-mask-size=24",
            "--service-cluster-ip-range=10.96.0.0/16",
            f"--node-monitor-grace-period={self.timing.grace_s}s",
            f"--node-monitor-period={self.timing.period_s}s",
            # The usual 20 requests a second are felt from a hundred Nodes on, and at each start.
            "--kube-api-qps=500",
            "--kube-api-burst=1000",
        )
        # It makes the account of a namespace that it has not seen yet: a sign of life of this very process.
        account = "/api/v1/namespaces/default/serviceaccounts/default"
        self.api_server.request("DELETE", account)
        self._wait_for("kube-controller-manager", account)

    def kill(self, *names: str) -> None:
        """End these without a chance to say goodbye: ``kube-controller-manager``, ``kube-scheduler``, ``kwok``."""
        for name in names:
            end(self._processes.pop(name))

    def stop(self) -> None:
        self.kill(*list(self._processes))
        self.api_server.stop()

    def _start_scheduler(self) -> None:
        kubeconfig = self._kubeconfig("system:kube-scheduler")
        self._start("kube-scheduler", *_own_kubeconfig(kubeconfig), *self._serving())

    def _start_kubelets(self) -> None:
        (port,) = free_ports(1)
        configuration = self._folder / "kwok.yaml"
        configuration.write_text(kwok_configuration(self.timing.lease_s))
        self._start(
            "kwok",
            f"--kubeconfig={self.api_server.kubeconfig()}",
            f"--config={configuration}",
            f"--server-address=127.0.0.1:{port}",  # else it listens on all addresses
        )

    def _serving(self) -> Sequence[str]:
        (port,) = free_ports(1)
        return (
            "--leader-elect=false",
            "--bind-address=127.0.0.1",
            f"--secure-port={port}",
            f"--cert-dir={self._folder}",
            "--profiling=false",
        )

    def _kubeconfig(self, user: str) -> Path:
        return self.api_server.kubeconfig(self.api_server.token(user))

    def _start(self, name: str, *arguments: str) -> None:
        command = [str(folder_of("kwok" if name == "kwok" else "controllers") / name), *arguments]
        self._processes[name] = spawn(command, self._folder / f"{name}.log", LESS_MEMORY)

    def _wait_for(self, name: str, path: str) -> None:
        def is_there() -> bool:
            return self.api_server.request("GET", path)[0] == HTTPStatus.OK

        if not wait_until(is_there, [self._processes[name]], _START_DEADLINE_S):
            log = self._folder / f"{name}.log"
            raise RuntimeError(f"{name} did not get ready; the end of {log}:\n{log.read_text()[-4000:]}")


def start_control_plane(folder: Path) -> ControlPlane:
    """Start a whole cluster, which notices silent kubelets soon. Raises RuntimeError with the reason when the programs
    cannot be had or do not get ready."""
    api_server = start_api_server(folder / "apiserver", has_controllers=True)
    control_plane = ControlPlane(api_server, folder)
    try:
        control_plane.run_with(BRISK)
    except BaseException:
        control_plane.stop()
        raise
    return control_plane


def _own_kubeconfig(file: Path) -> Sequence[str]:
    """Who asks it is authenticated and authorized by the API server as well."""
    return [f"--{purpose}kubeconfig={file}" for purpose in ("", "authentication-", "authorization-")]
