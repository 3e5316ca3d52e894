"""Deployments and DaemonSets, and the signs by which one is another cloud controller for Hetzner."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from desired.model.key import Key, ObjectKind

IMAGE = "hcloud-cloud-controller-manager"
"""The name of HCCM's images, in whatever registry and under whatever prefix."""
OURS = "hcloud-reconciler"
"""The name of our image, and of the container in our chart."""
_NAMES = re.compile(
    r"(?:hcloud|hetzner)[\w.-]*?cloud[-_]controller[-_]manager"
    r"|(?:hcloud|hetzner)[\w.-]*?[-_.]ccm(?![a-z0-9]|-exporter|-metrics)"
    r"|(?<![a-z0-9])(?:cloud[-_]controller[-_]manager|ccm)[\w.:-]*?(?:hcloud|hetzner)"
)
"""HCCM and its forks, as images and programs have them: ``hetzner-cloud-controller-manager``, ``ccm-hetzner``."""
PROVIDER, PROVIDER_NAME = "--cloud-provider", "hcloud"
"""HCCM's name for its cloud. The cluster autoscaler has ``--cloud-provider=hetzner``."""
_FLAG = re.compile(rf"""{PROVIDER}[=\s]["']?{PROVIDER_NAME}(?![\w-])""")
_VARIABLES = re.compile(r"HCLOUD_(?:LOAD_BALANCERS_|INSTANCES_|NETWORK_ROUTES_|USE_HROBOT_)\w+")
"""Variables that a cloud controller alone reads. CSI driver and autoscaler share HCLOUD_TOKEN and HCLOUD_NETWORK."""
_PROGRAMS = frozenset({"reconcile", "reconciler"})
"""Our program, and our module behind ``python -m``."""
_WRAPPERS = re.compile(r"(?:ba|da|a)?sh|exec|env|tini|dumb-init|python[\d.]*|\w+=\S*|-.*")
"""Words before a program: shells, other starters, variables, and their options."""
_OUR_VARIABLE = "RECONCILER_"
"""The beginning of variables that this controller alone reads."""


@dataclass(frozen=True, slots=True)
class Container:
    """One container of a pod."""

    image: str
    words: tuple[str, ...] = ()
    """Its command, then its arguments."""
    variables: tuple[str, ...] = ()
    """The names alone."""
    name: str = ""
    """``hcloud-reconciler``, or "" for any other."""

    @property
    def sign(self) -> str:
        """The part that only a cloud controller for Hetzner has; "" for any other container, and for ours. HCCM's image
        or program counts, whatever the container is called."""
        return next(self._signs(), "")

    @property
    def _is_ours(self) -> bool:
        names_us = OURS in _last(self.image) or self.name == OURS or _program(self.words) in _PROGRAMS
        return names_us or any(name.startswith(_OUR_VARIABLE) for name in self.variables)

    def _signs(self) -> Iterator[str]:
        if IMAGE in self.image and OURS not in _last(self.image):
            yield IMAGE
        for text in (_last(self.image), _program(self.words)):
            if found := _NAMES.search(text):
                yield found[0]
        if self._is_ours:
            return
        if _FLAG.search(" ".join(self.words).replace("_", "-")):
            yield f"{PROVIDER}={PROVIDER_NAME}"
        yield from filter(_VARIABLES.fullmatch, self.variables)


@dataclass(frozen=True, slots=True)
class Workload:
    """A Deployment or a DaemonSet."""

    kind: str
    """``Deployment`` or ``DaemonSet``."""
    namespace: str
    name: str
    ready: int
    """How many of its pods are ready (``readyReplicas``, ``numberReady``)."""
    containers: tuple[Container, ...]
    """Those that only run before these are left out."""

    @property
    def key(self) -> Key:
        """In the snapshot and in notes: ``deployment/NAMESPACE/NAME``."""
        return Key(ObjectKind(self.kind.lower()), f"{self.namespace}/{self.name}")


def sign_of_another(workload: Workload) -> str:
    """The sign that its ready pods are another cloud controller; "" without one, and without ready pods."""
    return next(filter(None, (each.sign for each in workload.containers)), "") if workload.ready > 0 else ""


def told_part(text: str) -> str:
    """The part of an image, command or variable that ``Container.sign`` looks at, for captures; "" if there is none."""
    if text in {PROVIDER, PROVIDER_NAME} or text.startswith(_OUR_VARIABLE) or _VARIABLES.fullmatch(text):
        return text
    program = _program([text])
    if found := _NAMES.search(program) or _FLAG.search(text):
        return found[0]
    if OURS in _last(text):
        return OURS
    return "reconcile" if program in _PROGRAMS else ""


def _program(words: Sequence[str]) -> str:
    """The name of the program that a command starts, without folders; "" without one."""
    names = (_last(word) for word in " ".join(words).split() if not word.startswith("-"))
    return next((name for name in names if not _WRAPPERS.fullmatch(name)), "")


def _last(path: str) -> str:
    return path.rpartition("/")[2]
