"""Where the cluster is and who we are there: kubeconfig files and the pod's own account, read as kubectl reads them."""

import logging
import math
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from actuators.clients.wording import one_line

_log = logging.getLogger("hcloud-reconciler.clients")

_TOKEN_FILE_S = 60.0


class ConnectionProblem(Exception):
    """The cluster cannot be reached as configured; the text names the setting and the remedy."""


def load_kubeconfig(configuration: Any, kubeconfig: str | None, *, clock: Callable[[], float] = time.monotonic) -> None:
    """Fill a client configuration from ``kubeconfig``; None means ``KUBECONFIG``, the pod's own cluster, then
    ``~/.kube/config``. Raises ConnectionProblem with one line that names the file and the remedy.

    The configuration reads its credentials again in time; ``clock`` counts seconds.
    """
    from kubernetes import config  # noqa: PLC0415 - 0.2 s that --help need not pay
    from kubernetes.config.config_exception import ConfigException  # noqa: PLC0415
    from yaml import YAMLError  # noqa: PLC0415 - what the kubernetes package reads files with

    given = kubeconfig or os.environ.get("KUBECONFIG")
    in_cluster = not given and "KUBERNETES_SERVICE_HOST" in os.environ
    name = "the pod's service account" if in_cluster else f"kubeconfig {given or Path('~/.kube/config').expanduser()}"
    with _overheard() as complaints:  # what the package says is said once, as the problem
        try:
            if in_cluster:
                config.load_incluster_config(client_configuration=configuration)
            else:
                config.load_kube_config(config_file=given, client_configuration=configuration)
            has_token_file = not in_cluster and _has_token_file(given)
        except (TypeError, KeyError, AttributeError, IndexError, YAMLError) as error:
            raise ConnectionProblem(f"{name} cannot be used: it is no kubeconfig ({one_line(error)})") from error
        except (ConfigException, OSError, ValueError) as error:
            remedy = "give another with --kubeconfig or KUBECONFIG, or correct it"
            raise ConnectionProblem(f"{name} cannot be used: {one_line(error)}; {remedy}") from error
    if complaints:
        remedy = "run the plugin by hand, or log in again"
        raise ConnectionProblem(f"{name}: its credential plugin failed, {complaints[0]}; {remedy}")
    if not str(configuration.host).startswith(("http://", "https://")):
        raise ConnectionProblem(f"{name} cannot be used: its server {configuration.host!r} has no https:// before it")
    refresh = _TokenFile(given, clock) if has_token_file else configuration.refresh_api_key_hook
    if refresh is not None:
        configuration.refresh_api_key_hook = _Refresh(name, refresh)


class _Refresh:
    """Reads credentials again before each call, as the package does. When they cannot be had for a moment, for the file
    is being replaced, the old ones stay in use (O-1): without a word of ours each call would end in a bug."""

    def __init__(self, name: str, refresh: Callable[[Any], object]) -> None:
        self._name = name
        self._refresh = refresh
        self._trouble = ""

    def __call__(self, configuration: Any) -> None:
        with _overheard() as complaints:
            try:
                self._refresh(configuration)
            except Exception as error:  # noqa: BLE001 - the package stumbles over a half-written file in many ways
                complaints.append(one_line(error))
            finally:
                configuration.refresh_api_key_hook = self  # the package puts its own in the place
        trouble = complaints[0] if complaints else ""
        if trouble and trouble != self._trouble:
            _log.warning("%s cannot be read again, the old credentials stay: %s", self._name, trouble)
        self._trouble = trouble


class _TokenFile:
    """Reads a kubeconfig again whose user's token is in a file of its own: somebody puts a new one there before the old
    one ends, as kubelet does for pods. client-go looks once a minute as well; the package reads the file once."""

    def __init__(self, given: str | None, clock: Callable[[], float]) -> None:
        self._given = given
        self._clock = clock
        self._read_at = -math.inf

    def __call__(self, configuration: Any) -> None:
        """Raises what the package does; ValueError for an empty file."""
        from kubernetes import client, config  # noqa: PLC0415 - imported by now

        now = self._clock()
        if now < self._read_at + _TOKEN_FILE_S:
            return
        fresh = client.Configuration()
        config.load_kube_config(config_file=self._given, client_configuration=fresh)
        if not fresh.api_key:
            raise ValueError("its token file is empty")
        # An editor ends a file with a new line, which no header can have.
        configuration.api_key = {name: value.strip() for name, value in fresh.api_key.items()}
        self._read_at = now


def _has_token_file(given: str | None) -> bool:
    """Whether the current user of the kubeconfig, which could be loaded, names a file with its token."""
    from kubernetes.config import kube_config  # noqa: PLC0415 - imported by now

    _, current = kube_config.list_kube_config_contexts(given)
    users = kube_config.KubeConfigMerger(given or kube_config.KUBE_CONFIG_DEFAULT_LOCATION).config["users"]
    name = current["context"].get("user")
    return name is not None and "tokenFile" in users.get_with_name(name)["user"]


_listener: ContextVar[list[str] | None] = ContextVar("_listener", default=None)


@contextmanager
def _overheard() -> Iterator[list[str]]:
    """Hears what the package only logs: a credential plugin that fails leaves an anonymous client behind. It uses the
    root logger, which nobody else does; what other threads log meanwhile goes where it always does."""
    logging.getLogger().addFilter(_overhear)  # once: a filter that is there is not added again
    heard: list[str] = []
    before = _listener.set(heard)
    try:
        yield heard
    finally:
        _listener.reset(before)


def _overhear(record: logging.LogRecord) -> bool:
    """Whether the root logger is to handle this: not if somebody in this thread listens."""
    heard = _listener.get()
    if heard is None or record.levelno < logging.ERROR:
        return True
    heard.append(one_line(record.getMessage()))
    return False
