"""HCCM's flags, variables and pod as values of this product's chart, and what becomes of each setting.

Which flags and variables mean the same here, and what there is instead of the others, is decided in the tables of
``reconciler.config``. Here is decided only under which name of the chart they stand.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from reconciler.config.environment import VARIABLES, former_variables, passwords_in, unread_variables
from reconciler.config.hccm_flags import INSTEAD
from reconciler.config.options import FLAGS, Command, parse_address
from reconciler.migration.found import FoundController, FoundVariable, bool_of


class Fate(StrEnum):
    """What becomes of a setting."""

    SAME = "same"
    RENAMED = "renamed"
    """It has the same meaning under another name."""
    DROPPED = "dropped"
    """It has no equivalent, and needs none."""
    UNKNOWN = "unknown"
    """Nothing here knows it: a person decides."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting of HCCM."""

    name: str
    """A flag, a variable, or a field of the pod."""
    fate: Fate
    becomes: str
    """The chart's value that it is now, or why it is left out."""


@dataclass(frozen=True, slots=True)
class Carried:
    """What was made of HCCM's settings."""

    values: Mapping[str, Any] = field(default_factory=dict)
    """Values of our chart, without those that are its defaults."""
    settings: tuple[Setting, ...] = ()


def _secret(key: str, **more: bool) -> dict[str, Any]:
    return {"valueFrom": {"secretKeyRef": {"name": "hcloud", "key": key, **more}}}


CHART_VARIABLES: Mapping[str, Mapping[str, Any]] = {
    "HCLOUD_TOKEN": _secret("token"),
    "ROBOT_USER": _secret("robot-user", optional=True),
    "ROBOT_PASSWORD": _secret("robot-password", optional=True),
}
"""``env`` of our chart where the values say nothing."""
CHART_NETWORK = _secret("network")
"""``networking.network``, likewise."""
_SWITCHES: Mapping[tuple[str, bool | None], tuple[str, bool]] = {
    ("ROBOT_ENABLED", True): ("robot", True),
    ("HCLOUD_METRICS_ENABLED", False): ("monitoring", False),
}
"""Variable and its value → the section of the chart that has a switch for it, and how that stands then."""
_METRICS_PORT, _HEALTH_PORT = 8233, "10258"
_TOLERATED = {
    "node.cloudprovider.kubernetes.io/uninitialized": "NoSchedule",
    "CriticalAddonsOnly": "",
    "node-role.kubernetes.io/master": "NoSchedule",
    "node-role.kubernetes.io/control-plane": "NoSchedule",
    "node.kubernetes.io/not-ready": "",
}
"""Key of a taint that our chart tolerates by itself → the effect of which it does so; "" for any."""
_OF_THE_POD = {"nodeSelector": {}, "affinity": {}, "dnsConfig": {}, "dnsPolicy": "Default"}
"""Field of a pod and value of the chart → its default."""
_LEFT_TO_THE_CHART = {
    "containers", "hostNetwork", "restartPolicy", "serviceAccount", "serviceAccountName", "tolerations", "volumes",
    "priorityClassName", "priority", *_OF_THE_POD,
}  # fmt: skip
_USUAL = {"schedulerName": "default-scheduler", "securityContext": {}, "terminationGracePeriodSeconds": 30}
"""Field of a pod → the API server's default, of which nothing is said."""
_PODS_OWN: Mapping[str, str] = {
    "securityContext": "the chart has its own: set podSecurityContext",
    "terminationGracePeriodSeconds": "the chart's pod ends within 15 s",
    "imagePullSecrets": "the image is another one: set image.pullSecrets if its registry asks for credentials",
}
"""Field of a pod that the chart sets by itself → what becomes of it."""
_CONTAINERS_OWN: Mapping[str, str] = {
    "securityContext": "the chart has its own: set securityContext",
    "livenessProbe": "the chart has its own, at /livez",
    "readinessProbe": "the chart has its own, at /readyz",
    "startupProbe": "the chart has none, and needs none",
}
"""The same of a container."""
_CARRIED = frozenset({
    "name", "image", "command", "args", "env", "envFrom", "volumeMounts", "ports", "resources", "imagePullPolicy",
    "terminationMessagePath", "terminationMessagePolicy",
})  # fmt: skip
"""Fields of a container that are told of elsewhere, or decide nothing here: ports follow the chart's own."""
_RESOURCES = {"requests": {"cpu": "100m", "memory": "50Mi"}}
"""Those of HCCM's own chart."""
_PLAIN = "its value stands in the workload itself and is not shown: put it into a Secret, and name that"
_ELECTION = "the Lease is always taken, so that two processes never both write"
_NOTHING_READS_IT = "hcloud-reconciler does not read it"
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT")


def carry_over(found: FoundController) -> Carried:
    """The values that mean the same to our chart, and what becomes of each setting."""
    values: dict[str, Any] = {}
    settings = (*_flags(found, values), *_variables(found, values), *_pod(found, values))
    if found.kind == "DaemonSet":
        values["kind"] = found.kind
    elif found.replicas > 1:
        values["replicaCount"] = found.replicas
    order = ("kind", "replicaCount", "args", "env", "networking", "hostNetwork", "robot", "health", "monitoring")
    ranked = sorted(values, key=lambda name: order.index(name) if name in order else len(order))
    return Carried({name: values[name] for name in ranked}, settings)


def has_routes(found: FoundController) -> bool:
    """Whether it has both settings that ``networking.enabled`` stands for."""
    network = found.variables.get("HCLOUD_NETWORK")
    return bool(found.flags.get("--cluster-cidr")) and network is not None and network.value != ""


def _flags(found: FoundController, values: dict[str, Any]) -> Iterator[Setting]:
    for name, text in found.flags.items():
        row = FLAGS.get(name)
        if name == "--secure-port" and text not in ("0", _HEALTH_PORT) and text.isdecimal():
            values["health"] = {"port": int(text)}
            yield Setting(name, Fate.RENAMED, "health.port")
        elif name == "--leader-elect" and text == "false":
            yield Setting(name, Fate.DROPPED, _ELECTION)
        elif name == "--cluster-cidr" and has_routes(found):
            _put(values, "networking", enabled=True, clusterCIDR=text)
            yield Setting(name, Fate.RENAMED, "networking.clusterCIDR")
        elif row is not None and Command.RUN in row.commands:
            if text != str(row.default).lower():
                _put(values, "args", **{name.removeprefix("--"): text})
            yield Setting(name, Fate.SAME, f"args.{name.removeprefix('--')}")
        elif name in INSTEAD:
            yield Setting(name, Fate.DROPPED, INSTEAD[name])
        else:
            yield Setting(name, Fate.UNKNOWN, "no flag of hcloud-reconciler or of cloud controllers that is known")


def _variables(found: FoundController, values: dict[str, Any]) -> Iterator[Setting]:
    for name, each in found.variables.items():
        yield _variable(name, each, found, values)
    if "HCLOUD_TOKEN" not in found.variables and "HCLOUD_TOKEN_FILE" in found.variables:
        _put(values, "env", HCLOUD_TOKEN=None)
    if values.get("robot"):
        absent = [name for name in ("ROBOT_USER", "ROBOT_PASSWORD") if name not in found.variables]
        _put(values, "env", **dict.fromkeys(absent))


def _variable(name: str, each: FoundVariable, found: FoundController, values: dict[str, Any]) -> Setting:
    text = each.value if each.is_literal else None
    if text and (name in CHART_VARIABLES or any(passwords_in({name: text}))):
        return Setting(name, Fate.UNKNOWN, _PLAIN)
    if name == "HCLOUD_NETWORK" and has_routes(found):
        if each.given != CHART_NETWORK:
            _put(values, "networking", network=_for_chart(each.given, overrides=True))
        return Setting(name, Fate.RENAMED, "networking.network")
    if switch := _SWITCHES.get((name, bool_of(text))):
        section, is_on = switch
        _put(values, section, enabled=is_on)
        return Setting(name, Fate.RENAMED, f"{section}.enabled")
    if name == "HCLOUD_METRICS_ADDRESS" and (port := _port(text or "")):
        if port != _METRICS_PORT:
            _put(values, "monitoring", port=port)
        return Setting(name, Fate.RENAMED, "monitoring.port")
    row, file = VARIABLES.get(name), VARIABLES.get(name.removesuffix("_FILE"))
    if row is not None and not row.has_effect:
        return Setting(name, Fate.DROPPED, row.meaning)
    if row is not None or (file is not None and file.from_file) or name.upper() in _PROXIES:
        if each.given != CHART_VARIABLES.get(name):
            _put(values, "env", **{name: _for_chart(each.given, overrides=name in CHART_VARIABLES)})
        return Setting(name, Fate.SAME, f"env.{name}")
    former, unread = former_variables({name: ""}), unread_variables({name: ""})
    return Setting(name, Fate.DROPPED if former else Fate.UNKNOWN, (*former, *unread, _NOTHING_READS_IT)[0])


def _pod(found: FoundController, values: dict[str, Any]) -> Iterator[Setting]:
    pod = found.pod
    if (on_host := bool(pod.get("hostNetwork"))) is not has_routes(found):
        values["hostNetwork"] = on_host
    for name, default in _OF_THE_POD.items():
        if (given := pod.get(name, default)) != default:
            values[name] = given
    if (given := pod.get("priorityClassName", "")) != "system-cluster-critical":
        values["priorityClassName"] = given
    own = [each for each in pod.get("tolerations") or () if not _is_tolerated(each)]
    labels = {key: text for key, text in found.pod_labels.items() if key not in found.selector}
    annotations = {key: text for key, text in found.pod_annotations.items() if not key.startswith("kubectl.")}
    volumes, mounts = list(pod.get("volumes") or ()), list(found.mounts)
    names = ("additionalTolerations", "podLabels", "podAnnotations", "extraVolumes", "extraVolumeMounts")
    more = zip(names, (own, labels, annotations, volumes, mounts), strict=True)
    values |= {name: given for name, given in more if given}
    for each in pod.get("containers") or ():
        if each.get("image") == found.image:
            yield from _container(each)
        else:
            yield Setting(f"container {each.get('name')}", Fate.UNKNOWN, "the chart has one container")
    for name in sorted(pod.keys() - _LEFT_TO_THE_CHART):
        if pod[name] != _USUAL.get(name):
            yield _left_out(f"pod {name}", _PODS_OWN.get(name))


def _container(container: Mapping[str, Any]) -> Iterator[Setting]:
    """What becomes of the container's own settings."""
    for name in sorted(container.keys() - _CARRIED):
        if container[name]:
            yield _left_out(f"container {name}", _CONTAINERS_OWN.get(name))
    if container.get("resources") not in (None, {}, _RESOURCES):
        yield Setting("container resources", Fate.DROPPED, "hcloud-reconciler needs others: set resources")


def _left_out(name: str, why: str | None) -> Setting:
    """A setting that the chart has by itself, which is ``why``, or has not at all: None."""
    return Setting(name, Fate.UNKNOWN, "the chart has no value") if why is None else Setting(name, Fate.DROPPED, why)


def _is_tolerated(toleration: Mapping[str, Any]) -> bool:
    """Whether our chart's pod tolerates the same."""
    key = toleration.get("key")
    return key in _TOLERATED and _TOLERATED[key] in ("", toleration.get("effect"))


def _put(values: dict[str, Any], _section: str, /, **members: Any) -> None:
    if members:
        values[_section] = {**values.get(_section, {}), **members}


def _for_chart(given: Mapping[str, Any], *, overrides: bool) -> Mapping[str, Any]:
    """A variable as the chart takes it, which fills in templates. Where it ``overrides`` a default, Helm merges both,
    and the default's source has to be taken out."""
    if source := given.get("valueFrom"):
        return {"valueFrom": source if "secretKeyRef" in source or not overrides else {"secretKeyRef": None, **source}}
    return {"value": str(given.get("value", "")).replace("{{", '{{ "{{" }}')}


def _port(text: str) -> int:
    """The port of an address at every interface; 0 for any other."""
    try:
        host, port = parse_address(text)
    except ValueError:
        return 0
    return 0 if host else port
