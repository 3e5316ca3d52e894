"""A token is replaced under the process, as kubelet does about once an hour: that of the pod's own account, or one in a
file that a kubeconfig names."""

import json
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from kubernetes.client import Configuration
from kubernetes.config import incluster_config

from actuators.http.errors import Denied
from actuators.http.kubeconfig import ConnectionProblem, load_kubeconfig
from kubernetes_double import KubernetesSimulator
from tests.support.connecting import a_cluster
from tests.support.rows import rows
from tests.support.simulators import Simulate


@dataclass
class Account:
    """An account, and a clock that stands until it is advanced."""

    name: str
    file: Path
    kubeconfig: str | None = None
    now_s: float = 0.0
    configuration: Configuration = field(default_factory=Configuration)
    refused: Callable[[], None] = lambda: None
    context: str | None = None

    def load(self) -> None:
        self.refused, self.context = load_kubeconfig(self.configuration, self.kubeconfig, clock=lambda: self.now_s)

    def token_in_use(self, after_s: float = 60.0) -> str | None:
        """With what a call would be signed that follows the last one after so long."""
        self.now_s += after_s
        setting = self.configuration.auth_settings().get("BearerToken")
        return setting["value"] if setting else None


def kubeconfig(folder: Path, server: str = "https://10.96.0.1", **user: str) -> Path:
    """A kubeconfig with two users and contexts, of which one is the current one."""
    file = folder / "kubeconfig"
    clusters = [{"name": "c", "cluster": {"server": server}}, {"name": "d", "cluster": {"server": "https://other"}}]
    content: dict[str, Any] = {
        "clusters": clusters,
        "users": [{"name": "other", "user": {"token": "secret-of-other"}}, {"name": "u", "user": user}],
        "contexts": [
            {"name": "x", "context": {"cluster": "c", "user": "u"}},
            {"name": "y", "context": {"cluster": "d", "user": "other"}},
        ],
        "current-context": "x",
    }
    file.write_text(json.dumps(content))
    return file


@pytest.fixture(params=["pod", "tokenFile", "tokenFile beside a token"])
def account(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Account:
    """Of a pod, or of a kubeconfig that names the file as most do, by its place beside it; not yet read."""
    file = tmp_path / "token"
    file.write_text("first\n")
    if request.param == "pod":
        authority = tmp_path / "ca.crt"
        authority.write_text("a certificate")
        monkeypatch.setattr(incluster_config, "SERVICE_TOKEN_FILENAME", str(file))
        monkeypatch.setattr(incluster_config, "SERVICE_CERT_FILENAME", str(authority))
        monkeypatch.delenv("KUBECONFIG", raising=False)
        monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.96.0.1")
        monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
        return Account("the pod's service account", file)
    inline = {"token": "inline"} if "beside" in request.param else {}
    named = kubeconfig(tmp_path, tokenFile="token", **inline)
    return Account(f"kubeconfig {named}", file, str(named))


def test_the_context_is_known_by_its_name(account: Account) -> None:
    account.load()

    assert account.context == ("x" if account.kubeconfig else "")


def test_a_new_token_is_used_a_minute_later_at_the_latest(account: Account) -> None:
    account.load()
    assert account.token_in_use(0.0) == "Bearer first"
    account.file.write_text("second")
    assert account.token_in_use(59.0) == "Bearer first"
    assert account.token_in_use(1.0) == "Bearer second"


def test_a_token_that_is_refused_is_read_again_at_once(account: Account) -> None:
    """Whoever rotates it may have ended the old one first."""
    account.load()
    account.file.write_text("second")
    account.refused()
    assert account.token_in_use(0.0) == "Bearer second"


def test_the_api_server_says_when_it_refuses_a_token(simulate: Simulate, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("revoked")
    file = kubeconfig(tmp_path, simulate().kubernetes_proxy.url, tokenFile="token")
    cluster = a_cluster(file)
    with pytest.raises(Denied):
        cluster.get("/api/v1/nodes")
    (tmp_path / "token").write_text(KubernetesSimulator.TOKEN)
    assert b"NodeList" in cluster.get("/api/v1/nodes").body


def test_another_context_gets_nobody_elses_token(tmp_path: Path) -> None:
    """Somebody switches the kubeconfig to another cluster: this process stays with its own, and with its own token."""
    (tmp_path / "token").write_text("first")
    file = kubeconfig(tmp_path, tokenFile="token")
    account = Account("", tmp_path / "token", str(file))
    account.load()
    file.write_text(file.read_text().replace('"current-context": "x"', '"current-context": "y"'))
    assert (account.token_in_use(), account.configuration.host) == ("Bearer first", "https://10.96.0.1")


@pytest.mark.parametrize("user", ["", "nobody"])
def test_a_context_without_a_user(tmp_path: Path, user: str) -> None:
    """As in front of ``kubectl proxy``: nobody signs in."""
    file = kubeconfig(tmp_path)
    file.write_text(file.read_text().replace('"user": "u"', f'"user": "{user}"'))
    account = Account("", file, str(file))
    account.load()
    assert account.token_in_use() is None


@pytest.mark.parametrize("content", [None, b"", b" \n", b"\xff\xfe"])
def test_no_token_at_first_is_said_at_once(tmp_path: Path, content: bytes | None) -> None:
    """Nobody would ever read it again: the client would stay anonymous."""
    if content is not None:
        (tmp_path / "token").write_bytes(content)
    file = kubeconfig(tmp_path, tokenFile="token")
    with pytest.raises(ConnectionProblem, match=f"^kubeconfig {file} cannot be used: .*; give another with"):
        Account("", tmp_path / "token", str(file)).load()


@rows(
    "happens",
    {
        "vanishes": lambda file: file.unlink(),
        "is empty": lambda file: file.write_text(""),
        "is a line without a token": lambda file: file.write_text("\n"),
        "is garbage": lambda file: file.write_bytes(b"\xff\xfe"),
    },
)
def test_a_file_that_cannot_be_read_leaves_the_old_token_in_use(
    account: Account, caplog: pytest.LogCaptureFixture, happens: Callable[[Path], object]
) -> None:
    account.load()
    happens(account.file)
    with caplog.at_level(logging.WARNING):
        assert [account.token_in_use() for _ in range(3)] == ["Bearer first"] * 3
    (line,) = caplog.messages
    assert line.startswith(f"{account.name} cannot be read again, the old credentials stay: ")
    account.file.write_text("second")
    assert account.token_in_use() == "Bearer second"
