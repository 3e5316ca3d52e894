"""Address and credentials of the cluster, from kubeconfig files or the pod's service account, as kubectl reads them."""

import logging
import math
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Any

from actuators.http.errors import one_line
from actuators.http.shown import is_loopback, shown_address
from desired.syntax.bounds import listed, shown_text

_log = logging.getLogger("hcloud-reconciler.clients")

_TOKEN_FILE_S = 60.0
_SHOWN = 5
"""Contexts that are named where another one was asked for."""


class ConnectionProblem(Exception):
    """The cluster cannot be reached as configured; the text names the setting and the remedy."""


def load_kubeconfig(
    configuration: Any,
    kubeconfig: str | None,
    context: str | None = None,
    *,
    clock: Callable[[], float] = time.monotonic,
) -> tuple[Callable[[], None], str]:
    """Fill a client configuration from ``kubeconfig``; None means ``KUBECONFIG``, the pod's own cluster, then
    ``~/.kube/config``. ``context`` is one of its contexts, which the pod's own cluster has none of; None means the
    current one. Raises ConnectionProblem with one line that names the file and the remedy.

    The configuration reads its credentials again in time; ``clock`` counts seconds. Returns what is to be called when
    the API server refuses them, as a token that is in a file is read again before the next call then, and the name of
    the context, "" in the pod's own cluster.
    """
    from kubernetes.config import config_exception, incluster_config  # noqa: PLC0415 - 0.2 s that --help need not pay
    from yaml import YAMLError  # noqa: PLC0415 - what the kubernetes package reads files with

    given = kubeconfig or os.environ.get("KUBECONFIG")
    in_cluster = not given and not context and "KUBERNETES_SERVICE_HOST" in os.environ
    file = given or str(Path("~/.kube/config").expanduser())
    name = "the pod's service account" if in_cluster else f"kubeconfig {file}"
    remedy = "give another with --kubeconfig or KUBECONFIG, or correct it"
    with _overheard() as complaints:  # what the package says is said once, as the problem
        try:
            if in_cluster:
                incluster_config.load_incluster_config(client_configuration=configuration)
                token_file: Path | None = Path(incluster_config.SERVICE_TOKEN_FILENAME)
                named = ""
            else:
                token_file, named = _load_file(configuration, file, context or None)
        except (TypeError, KeyError, AttributeError, IndexError, YAMLError, RecursionError) as error:
            raise ConnectionProblem(f"{name} cannot be used: it is no kubeconfig ({_why_none(error)})") from error
        except (config_exception.ConfigException, OSError, ValueError) as error:
            raise ConnectionProblem(f"{name} cannot be used: {_why_unusable(error)}; {remedy}") from error
    if complaints:
        by_hand = "run the plugin by hand, or log in again"
        raise ConnectionProblem(f"{name}: its credential plugin failed, {complaints[0]}; {by_hand}")
    _check_address(name, str(configuration.host))
    token = None if token_file is None else _TokenFile(token_file, clock)
    if token is not None:
        try:
            token(configuration)
        except (OSError, ValueError) as error:
            if not configuration.api_key.get("BearerToken", "").split()[1:]:  # the kubeconfig may have one as well
                raise ConnectionProblem(f"{name} cannot be used: {_why_unusable(error)}; {remedy}") from error
    source = token or configuration.refresh_api_key_hook
    if source is not None:
        configuration.refresh_api_key_hook = _Refresh(name, source)
    return (token.refused if token else lambda: None), named


def _why_unusable(error: Exception) -> str:
    """What is wrong with a kubeconfig, or with a file that it names."""
    is_binary = isinstance(error, UnicodeError)
    return "it, or a file that it names, is no text in UTF-8" if is_binary else one_line(error)


def _why_none(error: Exception) -> str:
    """What is wrong with a file that is no kubeconfig, for people: the package lets the errors of Python through."""
    from yaml.reader import ReaderError  # noqa: PLC0415 - imported by now

    if isinstance(error, ReaderError):
        return "it is no text"
    mark = getattr(error, "problem_mark", None)
    if mark is not None:
        return f"it is no YAML from line {mark.line + 1}, column {mark.column + 1}"
    return "it is no mapping with lists of clusters, contexts and users"


def _check_address(name: str, host: str) -> None:
    """Raises ConnectionProblem for what is no address; warns of one to which everything is sent in the clear."""
    shown = shown_address(host)
    if not host.startswith(("http://", "https://")):
        raise ConnectionProblem(f"{name} cannot be used: its server {shown!r} has no https:// before it")
    if host.startswith("http://") and not is_loopback(host):
        _warn_of_plain_http(name, shown)


@cache
def _warn_of_plain_http(name: str, host: str) -> None:
    """Once, however many connections there are."""
    why = "credentials can be read and requests changed on the way; write https:// before it"
    _log.warning("%s: its server %s is reached without encryption: %s", name, host, why)


def _load_file(configuration: Any, file: str, context: str | None) -> tuple[Path | None, str]:
    """Fill the configuration from a kubeconfig; the file that the context's user has a token in, None when there is
    none, and the context's name. Raises whatever the package does."""
    from kubernetes.config import config_exception, kube_config  # noqa: PLC0415 - imported by now

    merged = kube_config.KubeConfigMerger(file)
    if merged.config is None:
        raise config_exception.ConfigException("no such file")
    if context and (contexts := merged.config["contexts"]).get_with_name(context, safe=True) is None:
        there = listed([shown_text(each["name"]) for each in contexts], _SHOWN) or "none at all"
        raise config_exception.ConfigException(f"it has no context {shown_text(context)}, but {there}")
    loader = kube_config.KubeConfigLoader(
        merged.config, active_context=context, config_base_path=None, config_persister=merged.save_changes
    )
    loader.load_and_set(configuration)
    user = loader.current_context["context"].get("user")
    entry = user and merged.config["users"].get_with_name(user, safe=True)
    token_file = entry and entry["user"].safe_get("tokenFile")
    name = str(loader.current_context["name"])
    return Path(entry.path).parent / token_file if token_file else None, name  # as the package finds what it names


class _Refresh:
    """Rereads credentials before each call, as the package does. When they cannot be read for a moment, because the
    file is being replaced, the old ones stay in use: otherwise each call would end in a bug."""

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
    """Rereads a token file: its owner, kubelet for a pod, writes a new token before the old one expires. client-go
    looks once a minute as well, and prefers the file to a token in the kubeconfig; the package does not."""

    def __init__(self, file: Path, clock: Callable[[], float]) -> None:
        self._file = file
        self._clock = clock
        self._read_at = -math.inf

    def __call__(self, configuration: Any) -> None:
        """Raises OSError; ValueError for what is no token."""
        now = self._clock()
        if now < self._read_at + _TOKEN_FILE_S:
            return
        token = self._file.read_text().strip()
        if not token:
            raise ValueError(f"{self._file} is empty")
        configuration.api_key = {"BearerToken": f"Bearer {token}"}
        self._read_at = now

    def refused(self) -> None:
        """The token is not good any more."""
        self._read_at = -math.inf


_listener: ContextVar[list[str] | None] = ContextVar("_listener", default=None)


@contextmanager
def _overheard() -> Iterator[list[str]]:
    """Captures what the package only logs: a credential plugin that fails leaves an anonymous client behind. It uses
    the root logger, which nothing else does; what other threads log meanwhile goes where it always does."""
    logging.getLogger().addFilter(_overhear)  # once: a filter that is there is not added again
    heard: list[str] = []
    before = _listener.set(heard)
    try:
        yield heard
    finally:
        _listener.reset(before)


def _overhear(record: logging.LogRecord) -> bool:
    """Whether the root logger is to handle this: not while this thread listens."""
    heard = _listener.get()
    if heard is None or record.levelno < logging.ERROR:
        return True
    heard.append(one_line(record.getMessage()))
    return False
