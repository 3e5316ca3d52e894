"""HCCM as it was found in a cluster, and the parts of its command line."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from desired.syntax.go import parse_bool
from reconciler.config.environment import VARIABLES
from reconciler.config.hccm_flags import SWITCHES
from reconciler.config.options import FLAGS

_SHORT = {"-v": "--v"}


@dataclass(frozen=True, slots=True)
class FoundVariable:
    """One environment variable of the container."""

    given: Mapping[str, Any]
    """``value`` or ``valueFrom``, as the container has it."""
    value: str | None = None
    """None where it is not known."""
    is_absent: bool = False
    """Whether what it refers to is not there, so that the container has no such variable."""

    @property
    def is_literal(self) -> bool:
        """Whether the value stands in the workload itself."""
        return "valueFrom" not in self.given


@dataclass(frozen=True, slots=True)
class FoundChart:
    """The HelmChart (helm.cattle.io) from which k3s made the release."""

    namespace: str
    name: str
    has_config: bool = False
    """Whether there is a HelmChartConfig for it already."""


@dataclass(frozen=True, slots=True)
class FoundController:
    """The Deployment or DaemonSet that runs HCCM."""

    kind: str
    namespace: str
    name: str
    image: str
    replicas: int = 1
    """Of a Deployment: how many are asked for."""
    ready: int = 0
    arguments: tuple[str, ...] = ()
    """Of the container: what follows its program."""
    variables: Mapping[str, FoundVariable] = field(default_factory=dict)
    mounts: Sequence[Any] = ()
    """The container's volumeMounts."""
    pod: Mapping[str, Any] = field(default_factory=dict)
    """The pod's spec."""
    pod_labels: Mapping[str, str] = field(default_factory=dict)
    pod_annotations: Mapping[str, str] = field(default_factory=dict)
    selector: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    managers: frozenset[str] = frozenset()
    """Who wrote its fields (``metadata.managedFields``)."""
    chart: FoundChart | None = None
    """None where no HelmChart made it."""
    gaps: tuple[str, ...] = ()
    """A sentence on each thing that could not be read."""
    unread_sources: tuple[str, ...] = ()
    """Those of them that are whole objects of variables (``envFrom``): nobody knows which variables are missing."""

    @property
    def title(self) -> str:
        """``Deployment kube-system/hcloud-cloud-controller-manager``."""
        return f"{self.kind} {self.namespace}/{self.name}"

    @property
    def values(self) -> Mapping[str, str]:
        """Variable → value, of those that are known."""
        return {name: each.value for name, each in self.variables.items() if each.value is not None}

    @property
    def flags(self) -> Mapping[str, str]:
        """Flag → its text."""
        return dict(_flags(self.arguments))


def _flags(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The last one of a name counts. A switch has no value in the next word, and a flag that nobody knows has one where
    that is no flag."""
    for place, word in enumerate(words):
        name, sign, text = word.partition("=")
        name = _SHORT.get(name, name.replace("_", "-"))
        if not name.startswith("--") or name == "--":
            continue
        following = words[place + 1] if place + 1 < len(words) else "-"
        if not sign:
            text = "true" if following.startswith("-") or _is_switch(name) else following
        yield name, text


def _is_switch(name: str) -> bool:
    row = FLAGS.get(name)
    return name in SWITCHES or (row is not None and not row.metavar)


def unread(found: FoundController) -> tuple[str, ...]:
    """The variables with a meaning here that the controller has, from an object or a file that could not be read; those
    of Robot only where that is on."""
    is_robot_on = bool_of(found.values.get("ROBOT_ENABLED"))
    return tuple(
        name
        for name in VARIABLES
        if (is_robot_on or not name.startswith("ROBOT_") or name == "ROBOT_ENABLED") and _is_unread(found, name)
    )


def _is_unread(found: FoundController, name: str) -> bool:
    each = found.variables.get(name)
    return f"{name}_FILE" in found.variables if each is None else each.value is None and not each.is_absent


def bool_of(text: str | None) -> bool | None:
    """What a switch says; None where there is none, or where nobody could tell."""
    try:
        return None if text is None else parse_bool(text)
    except ValueError:
        return None
