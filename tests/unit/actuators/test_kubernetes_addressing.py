"""Where the cluster is and who asks: kubeconfigs as they really are, and addresses where no API server answers."""

import json
import ssl
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from actuators.http.errors import ApiError, Broken
from actuators.http.kubeconfig import ConnectionProblem
from tests.support.connecting import a_cluster, a_kubeconfig
from tests.support.objects import joining_node
from tests.support.rows import rows
from tests.support.simulators import Simulate

NODES = "/api/v1/nodes"
SECRET = "s3cr3t-token"
USER = {"token": SECRET}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A home folder without a kubeconfig, outside of any pod."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"):
        monkeypatch.delenv(name, raising=False)


CORRECT_IT = "; give another with --kubeconfig or KUBECONFIG, or correct it"


@rows(
    "content end",
    {
        "missing": (None, CORRECT_IT),
        "without context": ("{}", CORRECT_IT),
        "unknown context": ('{"clusters": [], "users": [], "contexts": [], "current-context": "x"}', CORRECT_IT),
        "certificate authority not there": (
            (
                '{"clusters": [{"name": "c", "cluster": {"server": "https://h", "certificate-authority": "/no/such"}}],'
                '"users": [], "contexts": [{"name": "x", "context": {"cluster": "c"}}], "current-context": "x"}'
            ),
            CORRECT_IT,
        ),
        "malformed YAML": (":\n  - [", ")"),
        "binary": ("\x00\x01", ")"),
        "a list": ("[]", ")"),
    },
)
def test_unusable_kubeconfigs(tmp_path: Path, content: str | None, end: str) -> None:
    file = tmp_path / "my-kubeconfig"
    if content is not None:
        file.write_text(content)
    with pytest.raises(ConnectionProblem) as raised:
        a_cluster(file)
    text = str(raised.value)
    no_kubeconfig = "it is no kubeconfig (" if end == ")" else ""
    assert text.startswith(f"kubeconfig {file} cannot be used: {no_kubeconfig}")
    assert text.endswith(end)
    assert "\n" not in text


def test_without_any_kubeconfig(tmp_path: Path) -> None:
    with pytest.raises(ConnectionProblem, match=rf"^kubeconfig {tmp_path}/\.kube/config cannot be used"):
        a_cluster(None)


def test_inside_a_pod(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.96.0.1")
    with pytest.raises(ConnectionProblem, match=r"^the pod's service account cannot be used"):
        a_cluster(None)


def test_the_variable_names_the_file(simulate: Simulate, monkeypatch: pytest.MonkeyPatch) -> None:
    """``KUBECONFIG`` is used when no file is given, even in a pod, as kubectl does."""
    sim = simulate(nodes=[joining_node("web-1")])
    monkeypatch.setenv("KUBECONFIG", str(sim.kubeconfig()))
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.96.0.1")
    assert b"web-1" in a_cluster(None).get(NODES).body


def _of_two_clusters(folder: Path, first: Path, *names: str) -> Path:
    """A kubeconfig whose current context leads nowhere, and which has that of ``first`` under each of these names."""
    content = json.loads(first.read_text())
    (there,) = content["contexts"]
    content["clusters"].append({"name": "away", "cluster": {"server": "http://127.0.0.1:1"}})
    content["contexts"] = [
        {"name": "current", "context": {"cluster": "away"}},
        *({"name": name, "context": there["context"]} for name in names),
    ]
    file = folder / "config"
    file.write_text(json.dumps({**content, "current-context": "current"}))
    return file


@pytest.mark.parametrize("in_a_pod", [False, True])
def test_a_context_is_taken_instead_of_the_current_one(
    simulate: Simulate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, in_a_pod: bool
) -> None:
    sim = simulate(nodes=[joining_node("web-1")])
    (tmp_path / ".kube").mkdir()
    _of_two_clusters(tmp_path / ".kube", sim.kubeconfig(), "prod")
    if in_a_pod:
        monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.96.0.1")
    assert b"web-1" in a_cluster(None, "prod").get(NODES).body


@pytest.mark.parametrize(
    ("names", "there"),
    [(["prod"], "'current', 'prod'"), (["a", "b", "c", "d", "e"], "'current', 'a', 'b', 'c', 'd' and 1 more")],
)
def test_a_context_that_is_not_there(tmp_path: Path, names: list[str], there: str) -> None:
    file = _of_two_clusters(tmp_path, a_kubeconfig(tmp_path, "http://127.0.0.1:1", USER), *names)
    with pytest.raises(ConnectionProblem) as raised:
        a_cluster(file, "prdo")
    assert str(raised.value) == f"kubeconfig {file} cannot be used: it has no context 'prdo', but {there}{CORRECT_IT}"


@rows(
    "server token",
    {
        "password in the address": ("http://user:s3cr3t-token@127.0.0.1:1", "x"),
        "password in a malformed address": ("http://user:s3cr3t-token@exa mple", "x"),
        "token with a line break": ("http://127.0.0.1:1", "s3cr3t-token\nx"),
        "token that is not ASCII": ("http://127.0.0.1:1", "s3cr3t-token\u20ac"),
    },
)
def test_no_error_shows_a_secret(tmp_path: Path, server: str, token: str) -> None:
    wrong = a_cluster(a_kubeconfig(tmp_path, server, {"token": token}))
    with pytest.raises(ApiError) as raised:
        wrong.get(NODES)
    assert SECRET not in f"{raised.value} {raised.value.__cause__} {wrong.host}"


@pytest.mark.parametrize(
    "server", ["ftp://127.0.0.1:1", "127.0.0.1:6443", "/run/apiserver.sock", "HTTPS//10.0.0.1", ""]
)
def test_a_server_that_is_no_http_address(tmp_path: Path, server: str) -> None:
    with pytest.raises(ConnectionProblem) as raised:
        a_cluster(a_kubeconfig(tmp_path, server, USER))
    text = f"kubeconfig {tmp_path}/kubeconfig cannot be used: its server {server!r} has no https:// before it"
    assert str(raised.value) == text


class _Hello(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class calls it that
        pass


class _Quiet(HTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up in the handshake is what the test wants."""


@pytest.fixture(scope="module")
def https(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, Path]]:
    """Port of an HTTPS server on 127.0.0.1, and its self-signed certificate."""
    folder = tmp_path_factory.mktemp("tls")
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    command = f"openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout {key} -out {certificate}"
    extensions = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2"]
    subprocess.run([*command.split(), *extensions], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server = _Quiet(("127.0.0.1", 0), _Hello)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server.server_port, certificate
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_trusted_certificate(tmp_path: Path, https: tuple[int, Path]) -> None:
    port, authority = https
    answer = a_cluster(
        a_kubeconfig(tmp_path, f"https://127.0.0.1:{port}", USER, **{"certificate-authority": str(authority)})
    )
    assert answer.get(NODES).body == b""


def test_an_untrusted_certificate(tmp_path: Path, https: tuple[int, Path]) -> None:
    untrusting = a_cluster(a_kubeconfig(tmp_path, f"https://127.0.0.1:{https[0]}", USER))
    with pytest.raises(Broken, match="check certificate-authority and server in the kubeconfig"):
        untrusting.get(NODES)
    assert untrusting.requests.total == 1


@rows(
    "server warned",
    {
        "another machine": ("http://me:s3cr3t-token@api.example.com:8080", "http://api.example.com:8080"),
        "this machine": ("http://127.0.0.1:8080", None),
        "encrypted": ("https://api.example.com:6443", None),
    },
)
def test_plain_http_is_warned_of_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, server: str, warned: str | None
) -> None:
    """However many connections there are; who listens reads the credentials."""
    for _ in range(3):
        a_cluster(a_kubeconfig(tmp_path, server, USER))
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == (warned is not None)
    assert all(f"its server {warned} is reached without encryption" in line for line in said)
    assert SECRET not in caplog.text
