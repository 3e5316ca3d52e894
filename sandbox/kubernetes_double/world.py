"""World files: from partial objects, as a person writes them, to complete stored ones, and back."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from hcloud_sandbox.shapes import copied
from hcloud_sandbox.worlds import FORMAT_VERSION, part_of
from kubernetes_double.decoding import DecodeError, decoded, format_time
from kubernetes_double.defaults import fill_in
from kubernetes_double.lifecycle import ETERNAL_NAMESPACES
from kubernetes_double.resources import NAMESPACES, NODES, PODS, RESOURCES, SERVICES, Resource
from kubernetes_double.store import Key, Objects, Store
from kubernetes_double.validation import causes_against

AGE_OF_A_WORLD = timedelta(hours=1)
"""How old an object is that does not say so."""

_KEPT = tuple(resource for resource in RESOURCES if resource is not PODS)


def save(store: Store) -> dict[str, Any]:
    """The cluster's part of a world file."""
    parts = {}
    for resource in _KEPT:
        objects = store.snapshot(resource)
        ordered = [copied(objects[key]) for key in sorted(objects, key=lambda key: key.sort_key)]
        if ordered or resource in (NODES, SERVICES, NAMESPACES):
            parts[resource.plural] = ordered
    return {"format_version": FORMAT_VERSION, "kubernetes": parts}


def load(store: Store, world: Mapping[str, Any], now: datetime) -> None:
    """Put a world in place of all that is stored. Raises ValueError that names the object and what to do about it."""
    part = part_of(world, "kubernetes")
    created = format_time(now - AGE_OF_A_WORLD)
    objects: Objects = {}
    for resource in _KEPT:
        for number, sent in enumerate(part.get(resource.plural, [])):
            where = f"kubernetes.{resource.plural}[{number}]"
            key, found = _read(resource, sent, where)
            if resource is NODES and "captured" in world:
                for condition in found.get("status", {}).get("conditions", ()):
                    condition.pop("lastHeartbeatTime", None)  # the clock goes on, and nobody would refresh it
            _add(store, objects, key, found, created, where)
    needed = {*ETERNAL_NAMESPACES, *(key.namespace for key in objects if key.namespace)}
    for name in sorted(needed - {key.name for key in objects if key.resource is NAMESPACES}):
        key, found = _read(NAMESPACES, {"metadata": {"name": name}}, name)
        _add(store, objects, key, found, created, name)
    version = max([store.version, *(int(found["metadata"].get("resourceVersion", 0)) for found in objects.values())])
    for key in sorted(objects, key=lambda key: (key.resource.plural, key.sort_key)):
        if "resourceVersion" not in objects[key]["metadata"]:  # it gets one, above all that are there
            version += 1
            objects[key]["metadata"]["resourceVersion"] = str(version)
    store.load(objects)


def _read(resource: Resource, sent: Any, where: str) -> tuple[Key, dict[str, Any]]:
    try:
        found = decoded(resource, sent)
    except DecodeError as wrong:
        raise ValueError(f"{where}: {wrong}") from None
    metadata = found["metadata"]
    if not metadata.get("name"):
        raise ValueError(f"{where} has no metadata.name: give it one")
    if resource.namespaced:
        metadata.setdefault("namespace", "default")
    elif "namespace" in metadata:
        raise ValueError(f"{where}: a {resource.kind} has no namespace: remove metadata.namespace")
    return Key(resource, metadata.get("namespace", ""), metadata["name"]), found


def _add(store: Store, objects: Objects, key: Key, found: dict[str, Any], created: str, where: str) -> None:
    """Complete one object, all but its version, and check it."""
    metadata, resource = found["metadata"], key.resource
    shown = f"{resource.kind.lower()} {key.sort_key.lstrip('/')}"
    if key in objects:
        raise ValueError(f"{where}: {shown} is there twice: remove or rename one of them")
    if not metadata.get("resourceVersion", "0").isdigit():
        raise ValueError(f"{where}: resourceVersion of {shown} is not a number: correct it or leave it out")
    metadata.setdefault("uid", store.uid("world", resource.plural, key.namespace, key.name))
    metadata.setdefault("creationTimestamp", created)
    fill_in(resource, found, None, (other for key, other in objects.items() if key.resource is resource))
    if causes := causes_against(resource, found, None):
        listed = "; ".join(f"{cause.path}: {cause.text}" for cause in causes)
        raise ValueError(f"{where}: {shown} is invalid: {listed}")
    objects[key] = found
