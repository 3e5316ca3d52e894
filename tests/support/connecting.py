"""Connections from an address alone, as a start makes them; nobody waits between their tries."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from actuators.http import hetzner, kubernetes
from actuators.http.hetzner import HetznerConnection
from actuators.http.kubernetes import KubernetesReader
from actuators.http.retry import Patience, Retry
from tests.support.simulators import ImpatientStop


def a_kubeconfig(folder: Path, server: str, user: Mapping[str, Any], **cluster: Any) -> Path:
    """A kubeconfig with one context."""
    file = folder / "kubeconfig"
    content = {
        "clusters": [{"name": "c", "cluster": {"server": server, **cluster}}],
        "users": [{"name": "u", "user": user}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    file.write_text(json.dumps(content))
    return file


def a_cluster(kubeconfig: Path | None, context: str | None = None, attempts: int = 2) -> KubernetesReader:
    """A reader of the cluster that the kubeconfig names."""
    retry, file = Retry(ImpatientStop(), Patience(attempts=attempts)), str(kubeconfig) if kubeconfig else None
    return KubernetesReader(
        kubernetes.connect(file, context, user_agent="tests/1.0", retry=retry, timeout_s=2.0, read_only=True)
    )


def a_project(endpoint: str, token: str, attempts: int = 2) -> HetznerConnection:
    """A connection for reading the project of the token."""
    retry, application = Retry(ImpatientStop(), Patience(attempts=attempts)), ("tests", "1.0")
    return hetzner.connect(token, endpoint, application=application, retry=retry, timeout_s=2.0, read_only=True)
