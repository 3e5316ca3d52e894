"""Creating, replacing and deleting objects: the order of checks, the fields the server owns, finalizers, versions."""

from collections.abc import Mapping
from typing import Any

from hcloud_sandbox.clock import SimulatedClock
from kubernetes_double import errors
from kubernetes_double.decoding import format_time
from kubernetes_double.defaults import admit_new_node, fill_in
from kubernetes_double.errors import Cause
from kubernetes_double.resources import NAMESPACES, NODES, SERVICES, Resource
from kubernetes_double.store import Key, Store
from kubernetes_double.validation import causes_against

ETERNAL_NAMESPACES = ("default", "kube-system")
_MANAGED = "managedFields"
_OWNED_BY_SERVER = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation")


class Lifecycle:
    """The rules by which objects come, change and go."""

    def __init__(self, store: Store, clock: SimulatedClock) -> None:
        self._store = store
        self._clock = clock

    def create(self, resource: Resource, namespace: str, sent: dict[str, Any]) -> dict[str, Any]:
        """Store a decoded object and answer it."""
        metadata = sent["metadata"]
        if metadata.get("resourceVersion"):
            raise errors.broken("resourceVersion should not be set on objects to be created")
        name = metadata.get("name", "")
        if not name:
            required = Cause("metadata.name", "Required", "name or generateName is required")
            raise errors.invalid(resource, "", [required])
        key = Key(resource, namespace, name)
        _check_namespace(key, metadata)
        if namespace and self._store.get(Key(NAMESPACES, "", namespace)) is None:
            raise errors.not_found(NAMESPACES, namespace)
        for field in (*_OWNED_BY_SERVER, _MANAGED):
            metadata.pop(field, None)
        metadata["uid"] = self._store.uid("created", self._store.version, *key[1:])
        metadata["creationTimestamp"] = format_time(self._clock.now())
        if resource.has_status and resource != NODES:  # a kubelet registers its Node with a status
            sent.pop("status", None)
        fill_in(resource, sent, None, self._store.all(resource))
        if resource == NODES:
            admit_new_node(sent)
        if causes := causes_against(resource, sent, None):
            raise errors.invalid(resource, name, causes)
        if self._store.get(key) is not None:
            raise errors.already_exists(resource, name)
        return self._store.put(key, sent)

    def put(self, key: Key, new: dict[str, Any], manager: str, subresource: str) -> dict[str, Any]:
        """Store a decoded object in place of another, and answer it."""
        old = self._store.get(key)
        actual = "" if old is None else old["metadata"]["uid"]
        if new["metadata"].get("uid", actual) != actual:
            wanted = new["metadata"]["uid"]
            why = f"Precondition failed: UID in precondition: {wanted}, UID in object meta: {actual}"
            raise errors.conflict(key.resource, key.name, why)
        if old is None:
            raise errors.not_found(key.resource, key.name)
        return self.replace(key, new, old, manager, subresource)

    def replace(
        self, key: Key, new: dict[str, Any], old: dict[str, Any], manager: str, subresource: str
    ) -> dict[str, Any]:
        """Store a decoded object in place of ``old``, the stored one, and answer it. ``manager`` is who writes, and
        ``subresource`` through what: empty for the object itself."""
        _check_identity(key, new["metadata"])
        version = new["metadata"].get("resourceVersion") or old["metadata"]["resourceVersion"]
        if not version.isdigit():
            raise errors.broken(errors.not_a_number(version))
        if version != old["metadata"]["resourceVersion"]:
            why = "the object has been modified; please apply your changes to the latest version and try again"
            raise errors.conflict(key.resource, key.name, why)
        new["metadata"] = _kept_metadata(new["metadata"], old["metadata"])
        if key.resource.has_status:  # a write to one of them leaves the other alone
            kept = "spec" if subresource else "status"
            new.pop(kept, None)
            new |= {kept: old[kept]} if kept in old else {}
        if key.resource == NAMESPACES:
            new["spec"] = old["spec"]
        fill_in(key.resource, new, old, self._store.all(key.resource))
        if causes := causes_against(key.resource, new, old):
            raise errors.invalid(key.resource, key.name, causes)
        if new == old:
            return new
        if "deletionTimestamp" in new["metadata"] and not new["metadata"].get("finalizers"):
            self._store.remove(key)
            return new
        if key.resource == SERVICES:
            _note_manager(new, old, manager, subresource, format_time(self._clock.now()))
        return self._store.put(key, new)

    def delete(self, key: Key, preconditions: Mapping[str, Any]) -> tuple[dict[str, Any], bool]:
        """The object, and whether it lingers for a finalizer."""
        found = self._store.get(key)
        if found is None:
            raise errors.not_found(key.resource, key.name)
        metadata = found["metadata"]
        for field in ("uid", "resourceVersion"):
            wanted = preconditions.get(field)
            if wanted is not None and wanted != metadata[field]:
                raise errors.failed_precondition(key.resource, key.name, field, wanted, metadata[field])
        if not metadata.get("finalizers"):
            self._store.remove(key)
            return found, False
        if "deletionTimestamp" not in metadata:
            metadata["deletionTimestamp"] = format_time(self._clock.now())
            metadata["deletionGracePeriodSeconds"] = 0
            found = self._store.put(key, found)
        return found, True


def _check_namespace(key: Key, metadata: dict[str, Any]) -> None:
    if metadata.setdefault("namespace", key.namespace) != key.namespace:
        raise errors.bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    if not key.namespace:
        del metadata["namespace"]


def _check_identity(key: Key, new: dict[str, Any]) -> None:
    if not new.get("name"):
        why = f"the name of the object ({key.name} based on URL) was undeterminable: name must be provided"
        raise errors.bad_request(why)
    if new["name"] != key.name:
        why = f"the name of the object ({new['name']}) does not match the name on the URL ({key.name})"
        raise errors.bad_request(why)
    _check_namespace(key, new)


def _kept_metadata(new: dict[str, Any], old: dict[str, Any]) -> dict[str, Any]:
    """The new metadata with what the server owns; another uid or deletion time is left in, to be refused."""
    new = {field: value for field, value in new.items() if field != _MANAGED}
    kept = {**{field: old[field] for field in (*_OWNED_BY_SERVER, _MANAGED) if field in old}, **new}
    return {**kept, "creationTimestamp": old["creationTimestamp"], "resourceVersion": old["resourceVersion"]}


def _note_manager(new: dict[str, Any], old: dict[str, Any], manager: str, subresource: str, time: str) -> None:
    """Say who wrote a Service's addresses last, in ``managedFields``: of all fields those alone have a manager here.

    Addresses are one field, as their list has no merge key (Kubernetes, server-side apply, merge strategy); whoever
    changes them through the status has them alone, and nobody has what is not there.
    """
    before, after = (each["status"]["loadBalancer"].get("ingress") for each in (old, new))
    if before == after:
        return
    fields: dict[str, Any] = {"f:status": {"f:loadBalancer": {"f:ingress": {}}}}
    entries = [entry for entry in old["metadata"].get(_MANAGED, ()) if entry.get("fieldsV1") != fields]
    if after and subresource:
        head = {"manager": manager, "operation": "Update", "apiVersion": "v1", "time": time}
        entries.append({**head, "fieldsType": "FieldsV1", "fieldsV1": fields, "subresource": subresource})
    new["metadata"][_MANAGED] = entries
    if not entries:
        del new["metadata"][_MANAGED]
