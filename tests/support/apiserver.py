"""A real kube-apiserver with its etcd, for tests: no kubelet, no controllers, RBAC on.

The fixture ``api_server`` has one for all tests of a worker; ``control_plane`` puts controllers around one of its own.
Both processes die with the thread that started them.
"""

import base64
import csv
import json
import os
import secrets
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from urllib3 import HTTPSConnectionPool
from urllib3.exceptions import HTTPError

from actuators.http.decoding import without_depths
from tests.support.assets import folder_of
from tests.support.child_processes import Process, end, free_ports, spawn, wait_until

NEWEST = "1.36"
"""The minor version that everything is tested with, and that the simulator takes after."""
KUBERNETES = os.environ.get("KUBERNETES_VERSION") or NEWEST
"""The one of this run (``scripts/older``)."""
START_DEADLINE_S = 90.0
USERS = {
    "admin": "system:masters",
    "reader": "",
    "observer": "",
    "reconciler": "",
    "keeper": "",
    "deaf": "",
    "mute": "",
    "hccm": "",
    "nobody": "",
    "system:kube-controller-manager": "",
    "system:kube-scheduler": "",
}
"""User → group. All but admin may do nothing until a test binds roles to them, and Kubernetes' own what its bootstrap
roles say."""
# Measured: a tenth less memory, no difference in time.
LESS_MEMORY = {"GOGC": "50"}
_SIGNING_KEY = "service-accounts.pem"


class ApiServer:
    """An API server whose processes belong to this process, and what a client needs to use it."""

    def __init__(self, directory: Path, etcd: Process, command: Sequence[str]) -> None:
        self.directory = directory
        self._etcd = etcd
        self._command = command
        self._process: Process | None = None
        self.url: str = json.loads((directory / "server.json").read_text())["url"]
        self.ca_file = directory / "apiserver.crt"
        self.signing_key = directory / _SIGNING_KEY
        """The key of ServiceAccounts' tokens."""
        self._tokens = {row[1]: row[0] for row in csv.reader((directory / "tokens.csv").read_text().splitlines())}
        self._connections: HTTPSConnectionPool | None = None

    @property
    def admin_token(self) -> str:
        return self.token("admin")

    def token(self, user: str) -> str:
        """The bearer token of one of ``USERS``; it ends in the user's name. Raises KeyError for any other."""
        return self._tokens[user]

    def kubeconfig(self, token: str | None = None, *, server: str | None = None) -> Path:
        """A kubeconfig file with this token, the admin's by default.

        ``server`` is another address of the same server, such as that of a fault proxy.
        """
        token = token or self.admin_token
        cluster: dict[str, Any] = {"server": server or self.url}
        if cluster["server"].startswith("https:"):
            cluster["certificate-authority"] = str(self.ca_file)
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "test", "cluster": cluster}],
            "users": [{"name": "test", "user": {"token": token}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
            "current-context": "test",
        }
        file = self.directory / f"kubeconfig-{secrets.token_hex(4)}"
        file.write_text(json.dumps(config))
        return file

    def request(self, method: str, path: str, body: Any = None, *, token: str | None = None) -> tuple[int, Any]:
        """Status and decoded JSON of one request, the admin's by default. Raises HTTPError of urllib3 when nobody
        answers.

        A body of bytes is sent as it is.
        """
        headers = {"Authorization": f"Bearer {token or self.admin_token}"}
        if method == "PATCH":
            headers["Content-Type"] = "application/merge-patch+json"
        elif body is not None:
            headers["Content-Type"] = "application/json"
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        if self._connections is None:
            # The certificate is written by the server when it starts for the first time.
            address = urlsplit(self.url)
            self._connections = HTTPSConnectionPool(
                str(address.hostname), address.port, maxsize=8, ca_certs=str(self.ca_file)
            )
        answer = self._connections.request(method, path, data, headers=headers, timeout=30, retries=False)
        return answer.status, _decoded(answer.data)

    def kubectl(self, *args: str, input: str | None = None, token: str | None = None) -> str:  # noqa: A002
        """What kubectl prints. Raises FileNotFoundError when it is not installed, RuntimeError when it fails."""
        command = ["kubectl", "--kubeconfig", str(self.kubeconfig(token)), *args]
        environment = {**os.environ, "KUBECACHEDIR": str(self.directory / "kubectl-cache")}
        done = subprocess.run(command, input=input, capture_output=True, text=True, env=environment, check=False)
        if done.returncode:
            raise RuntimeError(f"kubectl {' '.join(args)}: {done.stderr.strip()}")
        return done.stdout

    def restart(self, *options: str) -> None:
        """End the API server as a crash would, if it runs, and start it again: same port, data and certificate.
        ``options`` are added to its own."""
        self.kill()
        log = self.directory / "kube-apiserver.log"
        self._process = spawn([*self._command, *options], log, LESS_MEMORY)
        if not wait_until(self._is_ready, (self._process, self._etcd), START_DEADLINE_S):
            raise RuntimeError(f"the API server did not get ready; the end of {log}:\n{log.read_text()[-4000:]}")

    def kill(self) -> None:
        """End the API server without a chance to say goodbye. etcd keeps running and keeps the data."""
        if self._process is not None:
            end(self._process)
            self._process = None

    def stop(self) -> None:
        if self._connections is not None:
            self._connections.close()
        self.kill()
        end(self._etcd)
        shutil.rmtree(self.directory / "etcd", ignore_errors=True)

    def _is_ready(self) -> bool:
        if not self.ca_file.exists():
            return False
        # The namespaces are made by a controller that readyz does not wait for.
        paths = "/readyz", "/api/v1/namespaces/default", "/api/v1/namespaces/kube-system"
        try:
            return all(self.request("GET", path)[0] == 200 for path in paths)
        except HTTPError:
            return False


def start_api_server(directory: Path, *, has_controllers: bool = False) -> ApiServer:
    """Start etcd and kube-apiserver with all their files in ``directory``, and wait until they are ready.

    Pods get a ServiceAccount where there are to be controllers, which make one for each namespace: without them no pod
    would be admitted. Raises RuntimeError with the end of the log when they are not ready in time or when there are no
    binaries.
    """
    binaries = folder_of("envtest")
    directory.mkdir(parents=True, exist_ok=True)
    etcd_port, port = free_ports(2)
    etcd_url = f"http://127.0.0.1:{etcd_port}"
    tokens, signing_key = directory / "tokens.csv", directory / _SIGNING_KEY
    with tokens.open("w", newline="") as file:
        csv.writer(file).writerows(
            (f"{secrets.token_hex(8)}-{user}", user, user, group) for user, group in USERS.items()
        )
    signing_key.write_text(_new_signing_key())
    (directory / "server.json").write_text(json.dumps({"url": f"https://127.0.0.1:{port}"}))
    etcd_command = [
        str(binaries / "etcd"),
        f"--data-dir={directory / 'etcd'}",
        f"--listen-client-urls={etcd_url}",
        f"--advertise-client-urls={etcd_url}",
        "--listen-peer-urls=http://127.0.0.1:0",
        "--unsafe-no-fsync",
        "--log-level=warn",
    ]
    command = [
        str(binaries / "kube-apiserver"),
        f"--etcd-servers={etcd_url}",
        f"--cert-dir={directory}",
        f"--secure-port={port}",
        "--bind-address=127.0.0.1",
        "--advertise-address=127.0.0.1",
        "--endpoint-reconciler-type=none",
        "--service-cluster-ip-range=10.96.0.0/16",
        "--authorization-mode=RBAC",
        f"--token-auth-file={tokens}",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={signing_key}",
        f"--service-account-signing-key-file={signing_key}",
        "--profiling=false",
        *(() if has_controllers else ("--disable-admission-plugins=ServiceAccount",)),
    ]
    server = ApiServer(directory, spawn(etcd_command, directory / "etcd.log", LESS_MEMORY), command)
    try:
        server.restart()
    except BaseException:
        server.stop()
        raise
    return server


def _new_signing_key() -> str:
    """A new P-256 private key as PEM (RFC 5915; the public half may be left out, whoever reads it computes it)."""
    order = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
    scalar = (secrets.randbelow(order - 1) + 1).to_bytes(32, "big")
    prime256v1 = bytes.fromhex("a00a06082a8648ce3d030107")
    fields = b"\x02\x01\x01" + b"\x04\x20" + scalar + prime256v1
    body = base64.b64encode(b"\x30" + bytes([len(fields)]) + fields).decode()
    return f"-----BEGIN EC PRIVATE KEY-----\n{body}\n-----END EC PRIVATE KEY-----\n"


def _decoded(raw: bytes) -> Any:
    """JSON where it parses, less what is nested too deeply for that; else text: health endpoints answer ``ok``."""
    try:
        return json.loads(raw)
    except RecursionError:
        return json.loads(without_depths(raw))
    except ValueError:
        return raw.decode("utf-8", "replace")
