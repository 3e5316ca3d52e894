"""What all kinds have in common: identity, versions, locking, the split of the status."""

from typing import Any

import pytest

from tests.contract.kubernetes_api import (
    CONFIG_MAPS,
    LEASES,
    MERGE,
    NEWEST_ALONE,
    NODES,
    SERVICES,
    Answer,
    KubernetesApi,
    new_name,
    without_versions,
)
from tests.support.rows import rows

MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"
NAMELESS = 'ConfigMap "" is invalid: metadata.name: Required value: name or generateName is required'
OTHER_NAMESPACE = "the namespace of the provided object does not match the namespace sent on the request"
OTHER_NAME = "the name of the object (other) does not match the name on the URL (NAME)"
NO_NAME = "the name of the object (NAME based on URL) was undeterminable: name must be provided"
LONG_AGO = "2020-01-01T00:00:00Z"
NEVER = "00000000-0000-4000-8000-000000000000"
OTHER_TIME, OTHER_UID = (
    (422, "Invalid", f'Node "NAME" is invalid: metadata.{field}: Invalid value: "{value}": field is immutable')
    for field, value in (("deletionTimestamp", LONG_AGO), ("uid", NEVER))
)


def node(name: str, **fields: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, **fields}}


def send(api: KubernetesApi, method: str, name: str, body: Any) -> Answer:
    """A request to one Node; a patch is a merge patch."""
    return api.request(method, f"{NODES}/{name}", body, MERGE if method == "PATCH" else None)


def test_the_server_fills_in_identity_and_keeps_its_own_fields(api: KubernetesApi, name: str) -> None:
    """A client cannot choose uid or times; kind and apiVersion may be left out."""
    sent = {"uid": NEVER, "creationTimestamp": LONG_AGO, "deletionTimestamp": LONG_AGO}
    created = api.create(CONFIG_MAPS, {"metadata": {"name": name, "labels": {"a": "b"}, **sent}, "data": {"k": "v"}})
    metadata = created["metadata"]
    assert metadata["uid"] != NEVER
    assert metadata["creationTimestamp"] > LONG_AGO
    assert not {"deletionTimestamp", "generation"} & set(metadata)
    assert without_versions(created) == {
        "kind": "ConfigMap",
        "apiVersion": "v1",
        "metadata": {"name": name, "namespace": "default", "labels": {"a": "b"}},
        "data": {"k": "v"},
    }
    assert api.get(f"{CONFIG_MAPS}/{name}").good() == created


def test_versions_grow_over_all_kinds(api: KubernetesApi, name: str) -> None:
    first = api.create(CONFIG_MAPS, node(name))
    second = api.create(NODES, node(name))
    third = api.merge(f"{CONFIG_MAPS}/{name}", {"data": {"a": "b"}}).good()
    versions = [int(found["metadata"]["resourceVersion"]) for found in (first, second, third)]
    assert versions == sorted(set(versions))


def test_a_change_that_changes_nothing_takes_no_version(api: KubernetesApi, name: str) -> None:
    created = api.create(CONFIG_MAPS, {**node(name), "data": {"a": "b"}})
    assert api.merge(f"{CONFIG_MAPS}/{name}", {"data": {"a": "b", "c": None}}).good() == created
    assert api.request("PUT", f"{CONFIG_MAPS}/{name}", created).good() == created


@rows("change refusal", {
    "no name": ({"name": ""}, (422, "Invalid", NAMELESS)),
    "a version": ({"resourceVersion": "5"}, (500, None, "resourceVersion should not be set on objects to be created")),
    "other namespace": ({"namespace": "kube-system"}, (400, "BadRequest", OTHER_NAMESPACE)),
})  # fmt: skip
def test_creation_is_refused(api: KubernetesApi, change: dict[str, str], refusal: tuple[Any, ...]) -> None:
    answer = api.request("POST", CONFIG_MAPS, {"metadata": {"name": new_name(), **change}})
    assert answer.refusal == refusal


def test_a_name_is_taken_once(api: KubernetesApi, name: str) -> None:
    api.create(LEASES, node(name))
    answer = api.request("POST", LEASES, node(name))
    assert answer.refusal == (409, "AlreadyExists", f'leases.coordination.k8s.io "{name}" already exists')
    assert answer.body["details"] == {"name": name, "group": "coordination.k8s.io", "kind": "leases"}


@pytest.mark.parametrize("method", ["GET", "PUT", "PATCH", "DELETE"])
def test_an_absent_object_is_not_found(api: KubernetesApi, name: str, method: str) -> None:
    """Nodes are never created by PUT; an absent object is told before anything else in a patch or precondition."""
    body = {"PUT": node(name), "PATCH": {"metadata": {"uid": NEVER, "resourceVersion": "1"}}, "GET": None}
    answer = send(api, method, name, body.get(method, {"preconditions": {"uid": NEVER}}))
    assert answer.refusal == (404, "NotFound", f'nodes "{name}" not found')
    assert answer.body["details"] == {"name": name, "kind": "nodes"}


@pytest.mark.parametrize(("method", "uid"), [("PUT", "right"), ("PATCH", "right"), ("PATCH", "wrong")])
def test_a_stale_version_is_a_conflict(api: KubernetesApi, name: str, method: str, uid: str) -> None:
    """Nothing is changed. With a wrong uid beside it, a PATCH speaks of the version first."""
    old = api.create(NODES, node(name))["metadata"]
    api.merge(f"{NODES}/{name}", {"metadata": {"labels": {"a": "1"}}}).good()
    sent = node(name, resourceVersion=old["resourceVersion"], labels={"a": "2"}, uid=old["uid"])
    if uid == "wrong":
        sent["metadata"]["uid"] = NEVER
    answer = send(api, method, name, sent)
    assert answer.refusal == (409, "Conflict", f'Operation cannot be fulfilled on nodes "{name}": {MODIFIED}')
    assert answer.body["details"] == {"name": name, "kind": "nodes"}
    assert api.get(f"{NODES}/{name}").good()["metadata"]["labels"] == {"a": "1"}


def test_a_current_version_is_accepted(api: KubernetesApi, name: str) -> None:
    """Two writes can be chained by the version in the first answer."""
    written = api.create(NODES, node(name))
    for path, text in ((f"{NODES}/{name}/status", "b"), (f"{NODES}/{name}", "c")):
        read = {field: written["metadata"][field] for field in ("resourceVersion", "uid")}
        written = api.merge(path, {"metadata": {**read, "annotations": {"a": text}}}).good()


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
def test_a_version_is_a_number(api: KubernetesApi, name: str, method: str) -> None:
    """Anything else is an internal error, on the real server too."""
    api.create(NODES, node(name))
    answer = send(api, method, name, node(name, resourceVersion="abc"))
    assert answer.refusal == (500, None, 'strconv.ParseUint: parsing "abc": invalid syntax')


def test_another_uid_in_a_put_is_a_conflict(api: KubernetesApi, name: str) -> None:
    uid = api.create(NODES, node(name))["metadata"]["uid"]
    code, reason, message = api.request("PUT", f"{NODES}/{name}", node(name, uid=NEVER)).refusal
    assert (code, reason) == (409, "Conflict")
    assert message.endswith(f"Precondition failed: UID in precondition: {NEVER}, UID in object meta: {uid}")


@pytest.mark.parametrize(
    ("method", "metadata", "refusal"),
    [
        pytest.param("PATCH", {"name": "other"}, (400, "BadRequest", OTHER_NAME), id="another name"),
        pytest.param("PATCH", {"deletionTimestamp": LONG_AGO}, OTHER_TIME, id="deletion time", marks=NEWEST_ALONE),
        pytest.param("PATCH", {"uid": NEVER}, OTHER_UID, id="another uid"),
        pytest.param("PUT", {}, (400, "BadRequest", NO_NAME), id="no name"),
    ],
)
def test_identity_cannot_be_changed(
    api: KubernetesApi, name: str, method: str, metadata: dict[str, str], refusal: tuple[int, str, str]
) -> None:
    """Name, uid and time of deletion are the server's. A recreated object is told apart, but not by the code 409 that
    one expects. The time of creation is ignored."""
    created = api.create(NODES, node(name))
    answer = send(api, method, name, {"metadata": metadata})
    code, reason, message = answer.refusal
    assert (code, reason, message.replace(name, "NAME")) == refusal
    if code == 422:
        assert answer.causes == {("FieldValueInvalid", f"metadata.{field}") for field in metadata}
    assert api.merge(f"{NODES}/{name}", node(name, creationTimestamp=LONG_AGO)).good() == created


def test_a_put_replaces_all_but_the_status(api: KubernetesApi, name: str) -> None:
    """What is left out is removed; without a version the write is unconditional."""
    api.create(NODES, {**node(name, labels={"a": "b"}), "spec": {"unschedulable": True}})
    api.merge(f"{NODES}/{name}/status", {"status": {"capacity": {"cpu": "2"}}}).good()
    replaced = api.request("PUT", f"{NODES}/{name}", node(name, labels={"c": "d"})).good()
    assert replaced["metadata"]["labels"] == {"c": "d"}
    assert replaced["spec"] == {}
    assert replaced["status"]["capacity"] == {"cpu": "2"}


@pytest.mark.parametrize("path", [NODES, SERVICES])
def test_object_and_status_are_written_apart_but_the_metadata(api: KubernetesApi, name: str, path: str) -> None:
    """Silently: the client sees it in the answer only. Labels, annotations and finalizers can be written through
    ``/status``."""
    spec = {"ports": [{"port": 80}], "type": "LoadBalancer"} if path == SERVICES else {"providerID": "hcloud://1"}
    created = api.create(path, {**node(name), "spec": spec})
    conditions = [{"type": "Test", "status": "True", "reason": "Test", "message": "m"}]
    patch: Any = {"metadata": {"labels": {"e": "f"}}, "status": {"conditions": conditions}}
    patched = api.merge(f"{path}/{name}", patch).good()
    assert patched["metadata"]["labels"] == {"e": "f"}
    assert "conditions" not in patched["status"]
    metadata = {"labels": {"a": "b", "e": None}, "annotations": {"c": "d"}, "finalizers": ["example.com/test"]}
    patch = {"metadata": metadata, "spec": {"providerID": "hcloud://2", "sessionAffinity": "ClientIP"}}
    patched = api.merge(f"{path}/{name}/status", {**patch, "status": {"conditions": conditions}}).good()
    assert {field: patched["metadata"][field] for field in metadata} == {**metadata, "labels": {"a": "b"}}
    assert patched["spec"] == created["spec"]
    assert without_versions(patched["status"]["conditions"]) == conditions
    assert api.get(f"{path}/{name}/status").good() == patched
