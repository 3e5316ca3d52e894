"""Where the cluster is and who we are there: kubeconfig files and the pod's own account, read as kubectl reads them."""

import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from actuators.clients.wording import one_line

_log = logging.getLogger("hcloud-reconciler.clients")


class ConnectionProblem(Exception):
    """The cluster cannot be reached as configured; the text names the setting and the remedy."""


def load_kubeconfig(configuration: Any, kubeconfig: str | None) -> None:
    """Fill a client configuration from ``kubeconfig``; None means ``KUBECONFIG``, the pod's own cluster, then
    ``~/.kube/config``. Raises ConnectionProblem with one line that names the file and the remedy.
    """
    from kubernetes import config  # noqa: PLC0415 - 0.2 s that --help need not pay
    from kubernetes.config.config_exception import ConfigException  # noqa: PLC0415
    from yaml import YAMLError  # noqa: PLC0415 - what the kubernetes package reads files with

    given = kubeconfig or os.environ.get("KUBECONFIG")
    in_cluster = not given and "KUBERNETES_SERVICE_HOST" in os.environ
    name = "the pod's service account" if in_cluster else f"kubeconfig {given or Path('~/.kube/config').expanduser()}"
    complaints, root = _Complaints(), logging.getLogger()
    others, root.handlers[:] = root.handlers[:], [complaints]  # alone: what it hears is said once, as the problem
    try:
        if in_cluster:
            config.load_incluster_config(client_configuration=configuration)
        else:
            config.load_kube_config(config_file=given, client_configuration=configuration)
    except (TypeError, KeyError, AttributeError, IndexError, YAMLError) as error:
        raise ConnectionProblem(f"{name} cannot be used: it is no kubeconfig ({one_line(error)})") from error
    except (ConfigException, OSError, ValueError) as error:
        remedy = "give another with --kubeconfig or KUBECONFIG, or correct it"
        raise ConnectionProblem(f"{name} cannot be used: {one_line(error)}; {remedy}") from error
    finally:
        root.handlers[:] = others
    if complaints.heard:
        remedy = "run the plugin by hand, or log in again"
        raise ConnectionProblem(f"{name}: its credential plugin failed, {complaints.heard[0]}; {remedy}")
    if not str(configuration.host).startswith(("http://", "https://")):
        raise ConnectionProblem(f"{name} cannot be used: its server {configuration.host!r} has no https:// before it")
    if configuration.refresh_api_key_hook is not None:
        configuration.refresh_api_key_hook = _Refresh(name, configuration.refresh_api_key_hook)


class _Refresh:
    """Reads credentials again before each call, as the package does. When they cannot be had for a moment, for the file
    is being replaced, the old ones stay in use (O-1): without a word of ours each call would end in a bug."""

    def __init__(self, name: str, refresh: Callable[[Any], object]) -> None:
        self._name = name
        self._refresh = refresh
        self._trouble = ""

    def __call__(self, configuration: Any) -> None:
        from kubernetes.config.config_exception import ConfigException  # noqa: PLC0415 - imported by now

        try:
            self._refresh(configuration)
            self._trouble = ""
        except (ConfigException, OSError, ValueError) as error:
            trouble = one_line(error)
            if trouble != self._trouble:
                self._trouble = trouble
                _log.warning("%s cannot be read again, the old credentials stay: %s", self._name, trouble)


class _Complaints(logging.Handler):
    """Hears what the package only logs: a credential plugin that fails leaves an anonymous client behind."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.heard: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.heard.append(one_line(record.getMessage()))
