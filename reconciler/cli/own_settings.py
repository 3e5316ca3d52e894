"""The controller's settings on a laptop: a command that plans takes the published ones that this shell does not give.

Any account that may write the ConfigMap can publish any text. So a person is told of them first, and a run that writes
without a question takes none.
"""

import threading
from collections.abc import Mapping
from http import HTTPStatus

from actuators.config_maps import read_data
from actuators.http.errors import Denied
from actuators.http.kubernetes import KubernetesReader
from desired.model.published_settings import texts_of
from desired.section import Present
from reconciler.cli.streams import say
from reconciler.config.config import Config, ConfigurationError
from reconciler.observe.kubernetes import observe_cluster_uid
from reconciler.report.published import STATUS
from reconciler.runtime import open_cluster


def settled(config: Config, stop: threading.Event) -> Config:
    """The configuration that is planned with, after its first lines: the settings of a controller, and warnings. Raises
    ConfigurationError if both do not fit, ConnectionProblem and an ApiError."""
    if config.takes_published:
        config = _beside_published(config, stop)
    for warning in config.warnings:
        say(f"warning: {warning}")
    return config


def published_in(reader: KubernetesReader, namespace: str, cluster: str | None = None) -> Mapping[str, str]:
    """The texts that a controller of this cluster publishes, whose UID is asked for if it is None; none without a
    controller. Raises an ApiError."""
    text = (read_data(reader, namespace) or {}).get(STATUS.key)
    if text is None:
        return {}
    uid = observe_cluster_uid(reader) if cluster is None else Present(cluster)
    status = STATUS.read(text, uid.value) if isinstance(uid, Present) else None
    return {} if status is None else status.settings.values


def _beside_published(config: Config, stop: threading.Event) -> Config:
    connection = open_cluster(config, stop, read_only=True)
    if not connection.context:  # a pod
        return config
    try:
        published = published_in(KubernetesReader(connection), config.lease_namespace)
    except Denied as error:
        if error.status != HTTPStatus.FORBIDDEN:
            raise
        say(f"warning: settings of a controller cannot be read, and those of this shell are used: {error}")
        return config
    if not published:
        return config
    try:
        both = config.beside(published)
    except ConfigurationError as error:
        why = "settings of the controller and of this shell do not fit: --own-settings uses those of this shell alone"
        raise ConfigurationError((*error.lines, why)) from error
    before, after = texts_of(config.settings), texts_of(both.settings)
    taken = [f"{name}={text}" for name, text in after.items() if before.get(name, "") != text]
    if taken:
        say(f"settings of the controller (--own-settings leaves them out): {', '.join(taken)}")
    if differing := _differing(after, published):
        say(f"warning: this shell has settings other than the controller: {', '.join(differing)}")
    return both


def _differing(own: Mapping[str, str], published: Mapping[str, str]) -> list[str]:
    return [
        f"{name}={text or '(unset)'} (controller: {published[name] or '(unset)'})"
        for name, text in own.items()
        if published.get(name, text) != text
    ]
