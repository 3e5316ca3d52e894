"""World files: from partial objects, as a person writes them, to complete stored ones, and back."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from hcloud_sandbox.worlds import FORMAT_VERSION, part_of
from kubernetes_double.decoding import DecodeError, decoded, format_time
from kubernetes_double.defaults import fill_in
from kubernetes_double.lifecycle import ETERNAL_NAMESPACES
from kubernetes_double.patch import copied
from kubernetes_double.resources import (
    CONFIG_MAPS,
    DAEMON_SETS,
    DEPLOYMENTS,
    EVENTS,
    LEASES,
    NAMESPACES,
    NODES,
    SERVICES,
    Resource,
)
from kubernetes_double.store import Key, Store
from kubernetes_double.validation import causes_against

AGE_OF_A_WORLD = timedelta(hours=1)
"""How old an object is that does not say so."""

_KEPT: tuple[Resource, ...] = (
    NODES,
    SERVICES,
    NAMESPACES,
    EVENTS,
    LEASES,
    CONFIG_MAPS,
    DEPLOYMENTS,
    DAEMON_SETS,
)


def save(store: Store) -> dict[str, Any]:
    """The cluster's part of a world file."""
    parts = {}
    for resource in _KEPT:
        _, objects = store.snapshot(resource, {})
        ordered = [copied(objects[key]) for key in sorted(objects, key=lambda key: key.sort_key)]
        if ordered or resource in (NODES, SERVICES, NAMESPACES):
            parts[resource.plural] = ordered
    return {"format_version": FORMAT_VERSION, "kubernetes": parts}


def load(store: Store, world: Mapping[str, Any], now: datetime) -> None:
    """Put a world in place of all that is stored. Raises ValueError that names the object and what to do about it."""
    part = part_of(world, "kubernetes")
    loading = _Loading(store, now, has_kubelets="captured" not in world)
    for resource in _KEPT:
        for number, sent in enumerate(part.get(resource.plural, [])):
            loading.add(resource, sent, f"kubernetes.{resource.plural}[{number}]")
    loading.add_missing_namespaces()
    store.load(loading.complete())


class _Loading:
    """The objects of one world on their way into the store."""

    def __init__(self, store: Store, now: datetime, *, has_kubelets: bool) -> None:
        self._store = store
        self._has_kubelets = has_kubelets
        self._created = format_time(now - AGE_OF_A_WORLD)
        self._objects: dict[Key, dict[str, Any]] = {}
        self._of_kind: dict[Resource, list[dict[str, Any]]] = {resource: [] for resource in _KEPT}

    def add(self, resource: Resource, sent: Any, where: str) -> None:
        """Complete one object, all but its version, and check it."""
        try:
            found = decoded(resource, sent)
        except DecodeError as wrong:
            raise ValueError(f"{where}: {wrong}") from None
        if resource is NODES and not self._has_kubelets:
            for condition in found.get("status", {}).get("conditions") or ():
                condition.pop("lastHeartbeatTime", None)  # the clock goes on, and nobody would refresh it
        metadata = found["metadata"]
        name = metadata.get("name")
        if not isinstance(name, str) or not name:
            raise ValueError(f"{where} has no metadata.name: give it one")
        namespace = str(metadata.get("namespace", "default")) if resource.namespaced else ""
        if namespace:
            metadata["namespace"] = namespace
        elif "namespace" in metadata:
            raise ValueError(f"{where}: a {resource.kind} has no namespace: remove metadata.namespace")
        key = Key(resource, namespace, name)
        shown = f"{resource.singular} {key.sort_key.lstrip('/')}"
        if key in self._objects:
            raise ValueError(f"{where}: {shown} is there twice: remove or rename one of them")
        if not str(metadata.get("resourceVersion", "0")).isdigit():
            raise ValueError(f"{where}: resourceVersion of {shown} is not a number: correct it or leave it out")
        metadata.setdefault("uid", self._store.uid("world", resource.plural, namespace, name))
        metadata.setdefault("creationTimestamp", self._created)
        fill_in(resource, found, None, self._of_kind[resource])
        if causes := causes_against(resource, found, None):
            listed = "; ".join(f"{cause.path}: {cause.text}" for cause in causes)
            raise ValueError(f"{where}: {shown} is invalid: {listed}")
        self._objects[key] = found
        self._of_kind[resource].append(found)

    def add_missing_namespaces(self) -> None:
        """The eternal namespaces, and those that objects are in."""
        for name in sorted({*ETERNAL_NAMESPACES, *(key.namespace for key in self._objects if key.namespace)}):
            if Key(NAMESPACES, "", name) not in self._objects:
                self.add(NAMESPACES, {"metadata": {"name": name}}, "")

    def complete(self) -> dict[Key, dict[str, Any]]:
        """All objects; those without a version get one each, above all that are there."""
        given = [int(found["metadata"].get("resourceVersion", 0)) for found in self._objects.values()]
        version = max([self._store.version, *given])
        for key in sorted(self._objects, key=lambda key: (key.resource.plural, key.sort_key)):
            metadata = self._objects[key]["metadata"]
            if "resourceVersion" not in metadata:
                version += 1
                metadata["resourceVersion"] = str(version)
        return self._objects
