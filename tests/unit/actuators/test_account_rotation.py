"""A token is replaced under the process, as kubelet does about once an hour: that of the pod's own account, or one in a
file that a kubeconfig names."""

import datetime as dt
import json
import logging
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from kubernetes.client import Configuration
from kubernetes.config import incluster_config

from actuators.clients.kubeconfig import load_kubeconfig


class Account:
    """An account, and a clock that stands until it is advanced."""

    def __init__(self, folder: Path, name: str) -> None:
        self.name = name
        self.file = folder / "token"
        self.file.write_text("first")
        self.now = dt.datetime(2027, 1, 15, 8, 0)  # noqa: DTZ001 - as the package has it
        self.configuration = Configuration()

    def token_in_use(self) -> str:
        """With what the next call would be signed, a minute after the last one."""
        self.now += dt.timedelta(minutes=1)
        signed = self.configuration.get_api_key_with_prefix("BearerToken")
        return str(signed).lower()  # the scheme is in capitals or not


@pytest.fixture(params=["the pod's service account", "a kubeconfig's token file"])
def account(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Account:
    """A process that has just read its credentials."""
    if request.param == "the pod's service account":
        return _in_a_pod(Account(tmp_path, request.param), monkeypatch)
    return _beside(tmp_path)


def _in_a_pod(made: Account, monkeypatch: pytest.MonkeyPatch) -> Account:
    authority = made.file.with_name("ca.crt")
    authority.write_text("a certificate")
    clock = SimpleNamespace(datetime=SimpleNamespace(now=lambda: made.now), timedelta=dt.timedelta)
    monkeypatch.setattr(incluster_config, "SERVICE_TOKEN_FILENAME", str(made.file))
    monkeypatch.setattr(incluster_config, "SERVICE_CERT_FILENAME", str(authority))
    monkeypatch.setattr(incluster_config, "datetime", clock)
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.96.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    load_kubeconfig(made.configuration, None)
    return made


def _beside(folder: Path) -> Account:
    """The file is named as kubeconfigs mostly do, by its place beside them."""
    file = folder / "kubeconfig"
    made = Account(folder, f"kubeconfig {file}")
    content = {
        "clusters": [{"name": "c", "cluster": {"server": "https://10.96.0.1"}}],
        "users": [{"name": "other", "user": {}}, {"name": "u", "user": {"tokenFile": made.file.name}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    file.write_text(json.dumps(content))
    load_kubeconfig(made.configuration, str(file), clock=lambda: made.now.replace(tzinfo=dt.UTC).timestamp())
    return made


def test_a_new_token_is_used_a_minute_later_at_the_latest(account: Account) -> None:
    """Nothing is restarted."""
    assert account.token_in_use() == "bearer first"
    account.file.write_text("second")
    assert account.token_in_use() == "bearer second"


@pytest.mark.parametrize(
    "happens",
    [
        pytest.param(lambda file: file.unlink(), id="vanishes"),
        pytest.param(lambda file: file.write_text(""), id="is empty"),
        pytest.param(lambda file: file.write_bytes(b"\xff\xfe"), id="is garbage"),
    ],
)
def test_a_file_that_cannot_be_read_leaves_the_old_token_in_use(
    account: Account, caplog: pytest.LogCaptureFixture, happens: Callable[[Path], object]
) -> None:
    """The calls go on, and the log says so once, until there is a new one."""
    happens(account.file)

    with caplog.at_level(logging.WARNING):
        assert [account.token_in_use() for _ in range(3)] == ["bearer first"] * 3

    (line,) = caplog.messages
    assert line.startswith(f"{account.name} cannot be read again, the old credentials stay: ")
    account.file.write_text("second")
    assert account.token_in_use() == "bearer second"
