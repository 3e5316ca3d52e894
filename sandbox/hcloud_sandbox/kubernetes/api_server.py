"""Processes of a kube-apiserver and its etcd, all of whose files are in one folder."""

import base64
import contextlib
import json
import os
import secrets
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from http.client import HTTPException, HTTPSConnection
from pathlib import Path
from typing import Any

from hcloud_sandbox.exchange import Response

ASSETS = "KUBEBUILDER_ASSETS"
"""The variable by which tools of Kubernetes find a folder with ``kube-apiserver`` and ``etcd`` (setup-envtest)."""
_PROGRAMS = ("etcd", "kube-apiserver")
_START_S = 90.0
_POLL_S = 0.05
_ANSWER_S = 10.0
_STOP_S = 5.0
_USER, _GROUP = "sandbox-admin", "system:masters"
# Linux kills the child when the thread that started it ends, which is a wrapper's to ask for: between fork and exec a
# process with threads cannot. If the parent has ended by then, the wrapper ends as well.
_DIE_WITH_PARENT = """
import ctypes, os, signal, sys
prctl = getattr(ctypes.CDLL(None), "prctl", None)
if prctl is not None:
    prctl(1, signal.SIGKILL)
if os.getppid() == int(sys.argv[1]):
    os.execv(sys.argv[2], sys.argv[2:])
"""


def ending_with_parent(*command: str) -> list[str]:
    """A command, whose program is named by its path, that Linux kills when the calling thread ends; other systems leave
    that to who started it."""
    return [sys.executable, "-I", "-S", "-c", _DIE_WITH_PARENT, str(os.getpid()), *command]


def assets_of(environ: Mapping[str, str]) -> Path | None:
    """The folder that has the programs, None where the variable is not set. Raises ValueError for one without them."""
    folder = environ.get(ASSETS)
    if not folder:
        return None
    if missing := [name for name in _PROGRAMS if not os.access(Path(folder) / name, os.X_OK)]:
        raise ValueError(f"{ASSETS} is {folder!r}, which has no {' and no '.join(missing)}: name a folder with both")
    return Path(folder)


class ApiServer:
    """A running API server. ``start`` returns when it answers; whatever happens then, call ``stop``.

    One token may do everything, as a member of ``system:masters``; other users come with RBAC and certificates, as in
    any cluster. Pods need no ServiceAccount, which no controller would make, and Nodes are tainted by kubelets alone.
    """

    def __init__(self, assets: Path, folder: Path, port: int = 0) -> None:
        self._assets = assets
        self._folder = folder
        self._port = port
        self._processes: list[subprocess.Popen[bytes]] = []
        self._connection: HTTPSConnection | None = None
        self.token = f"{secrets.token_hex(8)}-{_USER}"
        self.url = ""
        self.ca_file = folder / "apiserver.crt"
        """The server's certificate, which it has signed itself."""

    def start(self, stopped: Callable[[], bool] = lambda: False) -> "ApiServer":
        """Raises OSError for a port that is taken, and with the end of a log when the programs do not run or do not get
        ready in time; InterruptedError when it was ``stopped`` meanwhile."""
        etcd_port, port = _free_port(), _free_port(self._port)
        etcd_url, self.url = f"http://127.0.0.1:{etcd_port}", f"https://127.0.0.1:{port}"
        tokens = self._folder / "tokens.csv"
        tokens.touch(mode=0o600)
        tokens.write_text(f"{self.token},{_USER},{_USER},{_GROUP}\n")
        key = self._folder / "apiserver.key"  # which the server makes before it reads it as the key of ServiceAccounts
        self._spawn(
            "etcd",
            f"--data-dir={self._folder / 'etcd'}",
            f"--listen-client-urls={etcd_url}",
            f"--advertise-client-urls={etcd_url}",
            "--listen-peer-urls=http://127.0.0.1:0",
            "--unsafe-no-fsync",
            "--log-level=warn",
        )
        self._spawn(
            "kube-apiserver",
            f"--etcd-servers={etcd_url}",
            f"--cert-dir={self._folder}",
            f"--secure-port={port}",
            "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1",
            "--endpoint-reconciler-type=none",
            "--service-cluster-ip-range=10.96.0.0/16,fd00:10:96::/112",
            "--authorization-mode=RBAC",
            f"--token-auth-file={tokens}",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={key}",
            f"--service-account-signing-key-file={key}",
            "--profiling=false",
            "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition",
        )
        deadline = time.monotonic() + _START_S
        while not self._is_ready():
            if stopped():
                raise InterruptedError("stopped while the API server started")
            ended = [name for name, each in zip(_PROGRAMS, self._processes, strict=True) if each.poll() is not None]
            if ended or time.monotonic() > deadline:
                name = ended[0] if ended else "kube-apiserver"
                why = "has ended" if ended else f"is not ready after {_START_S:.0f} s"
                raise OSError(f"{name} {why}; the end of its log:\n{self._log(name).read_text()[-2000:].rstrip()}")
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._processes[-1].wait(_POLL_S)
        return self

    def stop(self) -> None:
        """End both processes; what they stored goes with the folder, which is the caller's."""
        self._hang_up()
        for process in reversed(self._processes):
            process.terminate()
            try:
                process.wait(_STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._processes.clear()

    def kubeconfig(self) -> dict[str, object]:
        """A kubeconfig that needs no other file."""
        authority = base64.b64encode(self.ca_file.read_bytes()).decode()
        return {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "sandbox", "cluster": {"server": self.url, "certificate-authority-data": authority}}],
            "users": [{"name": "sandbox", "user": {"token": self.token}}],
            "contexts": [{"name": "sandbox", "context": {"cluster": "sandbox", "user": "sandbox"}}],
            "current-context": "sandbox",
        }

    def request(self, method: str, path: str, body: Any = None, content_type: str = "application/json") -> Response:
        """The answer to a request that may do everything, its body decoded. Raises OSError when there is none."""
        headers = {
            "Authorization": f"Bearer {self.token}",
            "Content-Type": content_type,
            "User-Agent": "hcloud-sandbox",
        }
        if self._connection is None:
            host, _, port = self.url.partition("://")[2].partition(":")
            trusted = ssl.create_default_context(cafile=str(self.ca_file))
            self._connection = HTTPSConnection(host, int(port), timeout=_ANSWER_S, context=trusted)
        try:
            self._connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = self._connection.getresponse()
            raw = answer.read()
        except (OSError, HTTPException) as error:
            self._hang_up()
            raise OSError(f"the API server does not answer {method} {path}: {error}") from error
        is_json = answer.headers.get_content_type() == "application/json"
        return Response(answer.status, json.loads(raw) if is_json else raw)

    def _hang_up(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _spawn(self, name: str, *options: str) -> None:
        with self._log(name).open("ab") as log:
            self._processes.append(
                subprocess.Popen(  # noqa: S603 - programs that the user's own variable names
                    ending_with_parent(str(self._assets / name), *options),
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,  # Ctrl-C is for the sandbox, which stops them in order
                )
            )

    def _log(self, name: str) -> Path:
        return self._folder / f"{name}.log"

    def _is_ready(self) -> bool:
        # Namespaces are made by a controller of the API server that readyz does not wait for.
        paths = ("/readyz", "/api/v1/namespaces/default", "/api/v1/namespaces/kube-system")
        try:
            return all(self.request("GET", path).status == 200 for path in paths)
        except OSError:  # it does not listen yet, or has not written its certificate
            return False


def _free_port(wanted: int = 0) -> int:
    """A port of 127.0.0.1 that nobody listens on, 0 for any. Raises OSError that names it."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", wanted))
        except OSError as error:
            raise OSError(f"port {wanted} of 127.0.0.1 cannot be used: {error.strerror or error}") from error
        port: int = probe.getsockname()[1]
        return port
