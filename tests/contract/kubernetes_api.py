"""A Kubernetes API as the contract tests see it: the same raw HTTP for the simulator and for the real API server."""

import json
import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import requests

from actuators.http.kubernetes import KubernetesConnection, connect
from actuators.http.retry import NO_PATIENCE, Retry
from tests.support.apiserver import KUBERNETES, NEWEST

JSON = "application/json"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
JSON_PATCH = "application/json-patch+json"

NODES = "/api/v1/nodes"
NAMESPACES = "/api/v1/namespaces"
SERVICES = "/api/v1/namespaces/default/services"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
EVENTS = "/api/v1/namespaces/default/events"
VOLUME_ATTACHMENTS = "/apis/storage.k8s.io/v1/volumeattachments"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"


NEWEST_ALONE = pytest.mark.skipif(KUBERNETES != NEWEST, reason=f"the simulator takes after Kubernetes {NEWEST}")
"""Of what older releases say in other words, with the same code and reason: values in messages."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Status and decoded body of one answer."""

    status: int
    body: Any

    @property
    def refusal(self) -> tuple[int, str | None, str]:
        """Code, reason and message of a ``Status`` body; fails for any other body."""
        assert (self.body["kind"], self.body["status"], self.body["code"]) == ("Status", "Failure", self.status)
        return self.status, self.body.get("reason"), self.body["message"]

    @property
    def causes(self) -> set[tuple[str, str]]:
        """Reason and field of every cause. A set: the real API server repeats causes of updates."""
        return {(cause["reason"], cause["field"]) for cause in self.body["details"]["causes"]}

    def good(self, status: int = 200) -> Any:
        """The body, after a check of the status."""
        assert self.status == status, self.body
        return self.body


class KubernetesApi:
    """One server under test. ``nobody`` is a token that is known and may do nothing."""

    def __init__(
        self, url: str, token: str, nobody: str, kubeconfig: Callable[[], Path], ca_file: Path | None = None
    ) -> None:
        self.url = url
        self.token = token
        self.nobody = nobody
        self.kubeconfig = kubeconfig
        self._session = requests.Session()
        self._session.trust_env = False
        self._session.verify = True if ca_file is None else str(ca_file)

    def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        content_type: str | None = None,
        token: str | None = "",
        agent: str = "contract",
    ) -> Answer:
        """Send a request. ``token`` is the powerful one unless given; None sends none. Bytes go as they are. ``agent``
        is the ``User-Agent``."""
        headers = {"Accept": "*/*", "User-Agent": agent}
        if token is not None:
            headers["Authorization"] = f"Bearer {token or self.token}"
        if content_type or body is not None:
            headers["Content-Type"] = content_type or JSON
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        got = self._session.request(method, self.url + path, data=data, headers=headers, timeout=30)
        try:
            return Answer(got.status_code, got.json())
        except ValueError:
            return Answer(got.status_code, got.text)

    def get(self, path: str) -> Answer:
        return self.request("GET", path)

    def create(self, path: str, body: Any) -> Any:
        return self.request("POST", path, body).good(201)

    def merge(self, path: str, patch: Any) -> Answer:
        return self.request("PATCH", path, patch, MERGE)

    def strategic(self, path: str, patch: Any) -> Answer:
        return self.request("PATCH", path, patch, STRATEGIC)

    @contextmanager
    def watching(self, path: str, query: str) -> Iterator[Iterator[Any]]:
        """The events of a watch, as they come; it lasts a second unless the query says more."""
        headers = {"Authorization": f"Bearer {self.token}", "Accept": JSON}
        url = f"{self.url}{path}?watch=true&timeoutSeconds=1&{query}"
        with self._session.get(url, headers=headers, stream=True, timeout=10) as answer:
            assert answer.status_code == 200
            assert answer.headers["Content-Type"] == JSON
            yield (json.loads(line) for line in answer.iter_lines())

    def close(self) -> None:
        self._session.close()


def connected(api: KubernetesApi, agent: str = "tests/1.0") -> KubernetesConnection:
    """The product's own connection, which tries nothing twice."""
    kubeconfig, retry = str(api.kubeconfig()), Retry(threading.Event(), NO_PATIENCE)
    return connect(kubeconfig, user_agent=agent, retry=retry, timeout_s=30.0, read_only=False)


def new_name() -> str:
    return f"contract-{secrets.token_hex(6)}"


def without_versions(found: Any) -> Any:
    """An object or list without what differs between two servers or two moments."""
    ignored = ("managedFields", "uid", "resourceVersion", "creationTimestamp", "deletionTimestamp")
    if isinstance(found, dict):
        return {k: without_versions(v) for k, v in found.items() if v is not None and k not in ignored}
    return [without_versions(item) for item in found] if isinstance(found, list) else found
