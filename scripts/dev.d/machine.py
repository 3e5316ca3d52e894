"""The control plane by SSH: its first boot, its kubeconfig, and the way to its registry."""

import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import yaml
from home import Home
from saying import Problem, one_line, say, wait_until

REGISTRY = "127.0.0.1:30666"
"""Where Skaffold pushes to; deploy/dev/infra/registries.yaml has the same port."""
_REGISTRY_AT = "10.0.0.2:5000"
_SSH_FAILED = 255
_WITH_WARNINGS = 2
_BOOT_S = 900.0


class Machine:
    """A server at a public address."""

    def __init__(self, home: Home, address: str, server_id: int) -> None:
        self._address = address
        # The first answer is believed, each other one has to be of the same key. A new server at the same address is
        # another server.
        hosts = ("StrictHostKeyChecking=accept-new", f"UserKnownHostsFile={home.ssh}/known_hosts-{server_id}")
        options = ("IdentitiesOnly=yes", "BatchMode=yes", "ConnectTimeout=10", "ServerAliveInterval=15", *hosts)
        self._command = ["ssh", "-i", str(home.ssh / "id_ed25519"), *(part for one in options for part in ("-o", one))]

    def wait_for_boot(self) -> None:
        """Return when cloud-init has come to its end, be it with warnings. Raises Problem."""
        say(f"waiting for the first boot of {self._address}: some minutes")
        until = time.monotonic() + _BOOT_S
        pause = threading.Event()
        while (done := self._run("cloud-init status --wait >/dev/null")).returncode == _SSH_FAILED:
            if time.monotonic() >= until:
                raise Problem(
                    f"ssh does not reach root@{self._address} ({_last_line(done.stderr)}): see whether the server runs"
                    " and --admin-ranges has your address, then run scripts/dev up again"
                )
            pause.wait(5)
        if done.returncode not in (0, _WITH_WARNINGS):
            raise Problem(
                f"cloud-init of {self._address} has failed: read /var/log/cloud-init-output.log there"
                f" ({' '.join(self._command[:3])} root@{self._address}), then scripts/dev down and up"
            )

    def kubeconfig(self, context: str) -> str:
        """The text of the cluster's kubeconfig, as it is of use from here. Raises Problem."""
        done = self._run("cat /etc/rancher/k3s/k3s.yaml")
        try:
            config: dict[str, Any] = yaml.safe_load(done.stdout)
            (cluster,) = config["clusters"]
            cluster["cluster"]["server"] = f"https://{self._address}:6443"
            (user,) = config["users"]
            cluster["name"] = user["name"] = config["current-context"] = context
            config["contexts"] = [{"name": context, "context": {"cluster": context, "user": context}}]
        except (yaml.YAMLError, TypeError, KeyError, ValueError, AttributeError):
            raise Problem(
                f"{self._address} has no usable /etc/rancher/k3s/k3s.yaml"
                f" ({_last_line(done.stderr) or 'it is damaged'}): see `journalctl -u k3s` there, then scripts/dev down"
                " and up"
            ) from None
        return yaml.safe_dump(config)

    @contextmanager
    def registry(self) -> Iterator[None]:
        """The cluster's registry is at ``REGISTRY`` meanwhile. Raises Problem."""
        forward = ["-N", "-o", "ExitOnForwardFailure=yes", "-L", f"{REGISTRY}:{_REGISTRY_AT}"]
        tunnel = subprocess.Popen([*self._command, *forward, f"root@{self._address}"], stdin=subprocess.DEVNULL)
        host, _, port = REGISTRY.partition(":")

        def answers() -> bool:
            if tunnel.poll() is not None:
                raise Problem(f"no tunnel to {self._address}, as ssh says above: see whether {REGISTRY} is in use here")
            try:
                socket.create_connection((host, int(port)), timeout=1).close()
            except OSError:
                return False
            return True

        try:
            wait_until(answers, f"the tunnel to {self._address} does not open", deadline_s=30, every_s=0.2)
            yield
        finally:
            tunnel.terminate()
            tunnel.wait()

    def _run(self, remote: str) -> "subprocess.CompletedProcess[str]":
        command = [*self._command, f"root@{self._address}", remote]
        return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)


def _last_line(text: str) -> str:
    return one_line((text.strip().splitlines() or [""])[-1])
