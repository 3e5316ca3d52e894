"""Creating, replacing and deleting objects: the order of checks, the fields the server owns, finalizers, versions."""

from collections.abc import Mapping
from typing import Any

from hcloud_sandbox.clock import SimulatedClock
from kubernetes_double.decoding import format_time
from kubernetes_double.defaults import admit_new_node, fill_in
from kubernetes_double.managers import Writer, managed_fields
from kubernetes_double.resources import NAMESPACES, NODES, Resource
from kubernetes_double.status import (
    Cause,
    already_exists,
    bad_request,
    broken,
    failed_precondition,
    forbidden,
    invalid,
    modified_meanwhile,
    not_found,
    version_required,
    wrong_uid,
)
from kubernetes_double.store import Key, Store
from kubernetes_double.validation import causes_against, causes_against_write

ETERNAL_NAMESPACES = ("default", "kube-system")
_OWNED_BY_SERVER = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation")

_MANAGED = "managedFields"


class Lifecycle:
    """The rules by which objects come, change and go. With ``dry_run`` everything is checked and nothing is stored."""

    def __init__(self, store: Store, clock: SimulatedClock) -> None:
        self._store = store
        self._clock = clock

    def create(self, resource: Resource, namespace: str, sent: dict[str, Any], *, dry_run: bool) -> dict[str, Any]:
        """Store a decoded object and answer it."""
        metadata = sent["metadata"]
        if metadata.get("resourceVersion"):
            raise broken("resourceVersion should not be set on objects to be created")
        if not metadata.get("name") and metadata.get("generateName"):
            metadata["name"] = self._store.generated_name(metadata["generateName"])
        name = metadata.get("name", "")
        if not name:
            raise invalid(resource, "", [Cause.required("metadata.name", "name or generateName is required")])
        key = self._key(resource, namespace, name, metadata)
        self._admit(key)
        for field in (*_OWNED_BY_SERVER, _MANAGED):
            metadata.pop(field, None)
        metadata["uid"] = self._store.uid("created", self._store.version, *key[1:])
        metadata["creationTimestamp"] = format_time(self._clock.now())
        if resource.has_status and not resource.keeps_status_on_create:
            sent.pop("status", None)
        fill_in(resource, sent, None, self._store.all(resource))
        if resource == NODES:
            admit_new_node(sent)
        self._validate(key, sent, None)
        if self._store.get(key) is not None:
            raise already_exists(resource, name)
        return sent if dry_run else self._store.put(key, sent)

    def replace(
        self, key: Key, new: dict[str, Any], writer: Writer, *, is_put: bool, dry_run: bool
    ) -> tuple[dict[str, Any], bool]:
        """Store a decoded object in place of another. Answers it, and whether it was created by that."""
        old = self._store.get(key)
        _check_name(key, new["metadata"])
        self._key(key.resource, key.namespace, key.name, new["metadata"])
        if is_put:
            _check_uid(key, new["metadata"], old)
        if old is None:
            if not key.resource.put_creates or writer.subresource:
                raise not_found(key.resource, key.name)
            new["metadata"].pop("resourceVersion", None)
            return self.create(key.resource, key.namespace, new, dry_run=dry_run), True
        _check_version(key, new["metadata"], old["metadata"])
        new["metadata"] = _kept_metadata(new["metadata"], old["metadata"])
        if key.resource.has_status:
            _split(new, old, "spec" if writer.subresource else "status")
        if key.resource == NAMESPACES:
            new["spec"] = old["spec"]
        fill_in(key.resource, new, old, self._store.all(key.resource))
        self._validate(key, new, old)
        if new == old or dry_run:
            return new, False
        if managed := managed_fields(old, new, writer, format_time(self._clock.now())):
            new["metadata"]["managedFields"] = managed
        else:
            new["metadata"].pop("managedFields", None)
        if "deletionTimestamp" in new["metadata"] and not _is_held_back(new):
            self._store.remove(key)
            return new, False
        return self._store.put(key, new), False

    def delete(self, key: Key, preconditions: Mapping[str, Any], *, dry_run: bool) -> dict[str, Any] | None:
        """The object if it lingers for a finalizer or its kind answers so; None when it is simply gone."""
        if key.resource == NAMESPACES and key.name in ETERNAL_NAMESPACES:
            raise forbidden(key.resource, key.name, "this namespace may not be deleted")
        found = self._store.get(key)
        if found is None:
            raise not_found(key.resource, key.name)
        metadata = found["metadata"]
        for field in ("uid", "resourceVersion"):
            wanted = preconditions.get(field)
            if wanted is not None and wanted != metadata[field]:
                raise failed_precondition(key.resource, key.name, field, wanted, metadata[field])
        if not _is_held_back(found):
            if not dry_run:
                self._store.remove(key)
            return found if key.resource.delete_answers_object else None
        if "deletionTimestamp" not in metadata:
            metadata["deletionTimestamp"] = format_time(self._clock.now())
            if key.resource != NAMESPACES:
                metadata["deletionGracePeriodSeconds"] = 0
            if metadata.get("generation"):
                metadata["generation"] += 1
            fill_in(key.resource, found, found, self._store.all(key.resource))
            found = found if dry_run else self._store.put(key, found)
        return found

    def _key(self, resource: Resource, namespace: str, name: str, metadata: dict[str, Any]) -> Key:
        if metadata.setdefault("namespace", namespace) != namespace:
            raise bad_request("the namespace of the provided object does not match the namespace sent on the request")
        if not namespace:
            del metadata["namespace"]
        return Key(resource, namespace, name)

    def _admit(self, key: Key) -> None:
        """Nothing is created in a namespace that is not there or on its way out."""
        if not key.namespace:
            return
        namespace = self._store.get(Key(NAMESPACES, "", key.namespace))
        if namespace is None:
            raise not_found(NAMESPACES, key.namespace)
        if "deletionTimestamp" in namespace["metadata"]:
            why = f"unable to create new content in namespace {key.namespace} because it is being terminated"
            message = f"namespace {key.namespace} is being terminated"
            cause = {"reason": "NamespaceTerminating", "message": message, "field": "metadata.namespace"}
            raise forbidden(key.resource, key.name, why, [cause])

    def _validate(self, key: Key, new: dict[str, Any], old: dict[str, Any] | None) -> None:
        causes = [*causes_against(key.resource, new, old), *causes_against_write(key.resource, new)]
        if causes:
            raise invalid(key.resource, key.name, causes)


def _check_name(key: Key, new: dict[str, Any]) -> None:
    if not new.get("name"):
        where = f"{key.name} based on URL"
        raise bad_request(f"the name of the object ({where}) was undeterminable: name must be provided")
    if new["name"] != key.name:
        raise bad_request(f"the name of the object ({new['name']}) does not match the name on the URL ({key.name})")


def _check_uid(key: Key, new: dict[str, Any], old: dict[str, Any] | None) -> None:
    actual = "" if old is None else old["metadata"]["uid"]
    if new.get("uid", actual) != actual:
        raise wrong_uid(key.resource, key.name, new["uid"], actual)


def _check_version(key: Key, new: dict[str, Any], old: dict[str, Any]) -> None:
    version = new.get("resourceVersion")
    if not version:
        if key.resource.put_needs_version:
            raise version_required(key.resource, key.name)
    elif not version.isdigit():
        raise broken(f'strconv.ParseUint: parsing "{version}": invalid syntax')
    elif version != old["resourceVersion"]:
        raise modified_meanwhile(key.resource, key.name)


def _kept_metadata(new: dict[str, Any], old: dict[str, Any]) -> dict[str, Any]:
    """The new metadata with what the server owns; another uid or deletion time is left in, to be refused."""
    new = {field: value for field, value in new.items() if field != _MANAGED}
    kept = {**{field: old[field] for field in (*_OWNED_BY_SERVER, _MANAGED) if field in old}, **new}
    return {**kept, "creationTimestamp": old["creationTimestamp"], "resourceVersion": old["resourceVersion"]}


def _split(new: dict[str, Any], old: dict[str, Any], kept: str) -> None:
    """Of ``spec`` and ``status``, take the one that this write may not change from the old object."""
    new.pop(kept, None)
    if kept in old:
        new[kept] = old[kept]


def _is_held_back(found: dict[str, Any]) -> bool:
    return bool(found["metadata"].get("finalizers") or (found["kind"] == "Namespace" and found["spec"]["finalizers"]))
