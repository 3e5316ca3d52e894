"""What all kinds have in common: identity, versions, locking, the split of the status."""

from typing import Any

import pytest

from tests.contract.kubernetes_api import (
    CONFIG_MAPS,
    LEASES,
    NEWEST_ALONE,
    NODES,
    SERVICES,
    KubernetesApi,
    new_name,
    without_versions,
)

MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"
NAMELESS = 'ConfigMap "" is invalid: metadata.name: Required value: name or generateName is required'
OTHER_NAMESPACE = "the namespace of the provided object does not match the namespace sent on the request"
OTHER_NAME = "the name of the object (other) does not match the name on the URL (NAME)"
OTHER_TIME = (
    'Node "NAME" is invalid: metadata.deletionTimestamp: Invalid value: "2020-01-01T00:00:00Z": field is immutable'
)
NEVER = "00000000-0000-4000-8000-000000000000"


def node(name: str, **fields: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, **fields}}


def test_the_server_fills_in_identity_and_keeps_its_own_fields(api: KubernetesApi, name: str) -> None:
    """A client cannot choose uid or times; kind and apiVersion may be left out."""
    sent = {"uid": NEVER, "creationTimestamp": "2020-01-01T00:00:00Z", "deletionTimestamp": "2020-01-01T00:00:00Z"}
    created = api.create(CONFIG_MAPS, {"metadata": {"name": name, "labels": {"a": "b"}, **sent}, "data": {"k": "v"}})
    metadata = created["metadata"]
    assert metadata["uid"] != NEVER
    assert metadata["creationTimestamp"] > "2020-01-01T00:00:00Z"
    assert "deletionTimestamp" not in metadata
    assert "generation" not in metadata
    assert without_versions(created) == {
        "kind": "ConfigMap",
        "apiVersion": "v1",
        "metadata": {"name": name, "namespace": "default", "labels": {"a": "b"}},
        "data": {"k": "v"},
    }
    assert api.get(f"{CONFIG_MAPS}/{name}").good() == created


def test_versions_grow_over_all_kinds(api: KubernetesApi, name: str) -> None:
    """One counter for the whole cluster."""
    first = api.create(CONFIG_MAPS, node(name))
    second = api.create(NODES, node(name))
    third = api.merge(f"{CONFIG_MAPS}/{name}", {"data": {"a": "b"}}).good()
    versions = [int(found["metadata"]["resourceVersion"]) for found in (first, second, third)]
    assert versions == sorted(set(versions))


def test_a_change_that_changes_nothing_takes_no_version(api: KubernetesApi, name: str) -> None:
    """A patch to what is there already is not a write."""
    created = api.create(CONFIG_MAPS, {**node(name), "data": {"a": "b"}})
    assert api.merge(f"{CONFIG_MAPS}/{name}", {"data": {"a": "b", "c": None}}).good() == created
    assert api.request("PUT", f"{CONFIG_MAPS}/{name}", created).good() == created


@pytest.mark.parametrize(
    ("change", "refusal"),
    [
        ({"name": ""}, (422, "Invalid", NAMELESS)),
        ({"resourceVersion": "5"}, (500, None, "resourceVersion should not be set on objects to be created")),
        ({"namespace": "kube-system"}, (400, "BadRequest", OTHER_NAMESPACE)),
    ],
    ids=["no name", "with a version", "other namespace"],
)
def test_creation_is_refused(api: KubernetesApi, change: dict[str, str], refusal: tuple[Any, ...]) -> None:
    """What cannot be created, and what is said about it."""
    answer = api.request("POST", CONFIG_MAPS, {"metadata": {"name": new_name(), **change}})
    assert answer.refusal == refusal


def test_a_name_is_taken_once(api: KubernetesApi, name: str) -> None:
    """The second creation is a conflict of its own kind."""
    api.create(LEASES, node(name))
    answer = api.request("POST", LEASES, node(name))
    assert answer.refusal == (409, "AlreadyExists", f'leases.coordination.k8s.io "{name}" already exists')
    assert answer.body["details"] == {"name": name, "group": "coordination.k8s.io", "kind": "leases"}


@pytest.mark.parametrize("method", ["GET", "PUT", "PATCH", "DELETE"])
def test_an_absent_object_is_not_found(api: KubernetesApi, name: str, method: str) -> None:
    """Nodes are never created by PUT; an absent object is told before anything else in a patch or precondition."""
    body = {"PUT": node(name), "PATCH": {"metadata": {"uid": NEVER, "resourceVersion": "1"}}, "GET": None}
    content_type = "application/merge-patch+json" if method == "PATCH" else None
    sent = body.get(method, {"preconditions": {"uid": NEVER}})
    answer = api.request(method, f"{NODES}/{name}", sent, content_type)
    assert answer.refusal == (404, "NotFound", f'nodes "{name}" not found')
    assert answer.body["details"] == {"name": name, "kind": "nodes"}


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
@pytest.mark.parametrize("uid", ["right", "wrong"])
def test_a_stale_version_is_a_conflict(api: KubernetesApi, name: str, method: str, uid: str) -> None:
    """Nothing is changed. With a wrong uid beside it, a PATCH speaks of the version first."""
    old = api.create(NODES, node(name))["metadata"]
    api.merge(f"{NODES}/{name}", {"metadata": {"labels": {"a": "1"}}}).good()
    sent = node(name, resourceVersion=old["resourceVersion"], labels={"a": "2"}, uid=old["uid"])
    if uid == "wrong" and method == "PATCH":
        sent["metadata"]["uid"] = NEVER
    content_type = "application/merge-patch+json" if method == "PATCH" else None
    answer = api.request(method, f"{NODES}/{name}", sent, content_type)
    assert answer.refusal == (409, "Conflict", f'Operation cannot be fulfilled on nodes "{name}": {MODIFIED}')
    assert answer.body["details"] == {"name": name, "kind": "nodes"}
    assert api.get(f"{NODES}/{name}").good()["metadata"]["labels"] == {"a": "1"}


def test_a_current_version_is_accepted(api: KubernetesApi, name: str) -> None:
    """Two writes can be chained by the version in the first answer."""
    created = api.create(NODES, node(name))["metadata"]
    version = {"resourceVersion": created["resourceVersion"], "uid": created["uid"]}
    second = api.merge(f"{NODES}/{name}/status", {"metadata": {**version, "annotations": {"a": "b"}}}).good()
    version["resourceVersion"] = second["metadata"]["resourceVersion"]
    api.merge(f"{NODES}/{name}", {"metadata": {**version, "annotations": {"a": "c"}}}).good()


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
def test_a_version_is_a_number(api: KubernetesApi, name: str, method: str) -> None:
    """Anything else is an internal error, on the real server too."""
    api.create(NODES, node(name))
    content_type = "application/merge-patch+json" if method == "PATCH" else None
    answer = api.request(method, f"{NODES}/{name}", node(name, resourceVersion="abc"), content_type)
    assert answer.refusal == (500, None, 'strconv.ParseUint: parsing "abc": invalid syntax')


def test_another_uid_in_a_patch_is_invalid(api: KubernetesApi, name: str) -> None:
    """422, not 409: a recreated object is told apart, but not by the code that one expects."""
    api.create(NODES, node(name))
    answer = api.merge(f"{NODES}/{name}", {"metadata": {"uid": NEVER}})
    text = f'Node "{name}" is invalid: metadata.uid: Invalid value: "{NEVER}": field is immutable'
    assert answer.refusal == (422, "Invalid", text)
    assert answer.causes == {("FieldValueInvalid", "metadata.uid")}


def test_another_uid_in_a_put_is_a_conflict(api: KubernetesApi, name: str) -> None:
    """Unlike in a patch."""
    uid = api.create(NODES, node(name))["metadata"]["uid"]
    code, reason, message = api.request("PUT", f"{NODES}/{name}", node(name, uid=NEVER)).refusal
    assert (code, reason) == (409, "Conflict")
    assert message.endswith(f"Precondition failed: UID in precondition: {NEVER}, UID in object meta: {uid}")


@pytest.mark.parametrize(
    ("metadata", "refusal"),
    [
        pytest.param({"name": "other"}, (400, "BadRequest", OTHER_NAME), id="name"),
        pytest.param(
            {"deletionTimestamp": "2020-01-01T00:00:00Z"},
            (422, "Invalid", OTHER_TIME),
            id="deletion time",
            marks=NEWEST_ALONE,
        ),
    ],
)
def test_a_patch_cannot_change_identity(
    api: KubernetesApi, name: str, metadata: dict[str, str], refusal: tuple[int, str, str]
) -> None:
    """The name and the time of deletion are the server's."""
    api.create(NODES, node(name))
    code, reason, message = api.merge(f"{NODES}/{name}", {"metadata": metadata}).refusal
    assert (code, reason, message.replace(name, "NAME")) == refusal


def test_a_creation_time_in_a_patch_is_ignored(api: KubernetesApi, name: str) -> None:
    """It is neither changed nor refused."""
    created = api.create(NODES, node(name))
    assert api.merge(f"{NODES}/{name}", node(name, creationTimestamp="2020-01-01T00:00:00Z")).good() == created


def test_a_put_without_a_name_is_refused(api: KubernetesApi, name: str) -> None:
    """The name in the address does not do."""
    api.create(NODES, node(name))
    text = f"the name of the object ({name} based on URL) was undeterminable: name must be provided"
    assert api.request("PUT", f"{NODES}/{name}", {"metadata": {}}).refusal == (400, "BadRequest", text)


def test_a_put_replaces_all_but_the_status(api: KubernetesApi, name: str) -> None:
    """What is left out is removed; without a version the write is unconditional."""
    api.create(NODES, {**node(name, labels={"a": "b"}), "spec": {"unschedulable": True}})
    api.merge(f"{NODES}/{name}/status", {"status": {"capacity": {"cpu": "2"}}}).good()
    replaced = api.request("PUT", f"{NODES}/{name}", node(name, labels={"c": "d"})).good()
    assert replaced["metadata"]["labels"] == {"c": "d"}
    assert replaced["spec"] == {}
    assert replaced["status"]["capacity"] == {"cpu": "2"}


@pytest.mark.parametrize("path", [NODES, SERVICES])
def test_a_write_to_the_object_leaves_the_status_alone(api: KubernetesApi, name: str, path: str) -> None:
    """Silently: the client sees it in the answer only."""
    api.create(
        path, {**node(name), "spec": {"ports": [{"port": 80}], "type": "LoadBalancer"} if path == SERVICES else {}}
    )
    conditions = [{"type": "Test", "status": "True", "reason": "Test", "message": ""}]
    patched = api.merge(
        f"{path}/{name}", {"metadata": {"labels": {"a": "b"}}, "status": {"conditions": conditions}}
    ).good()
    assert patched["metadata"]["labels"] == {"a": "b"}
    assert "conditions" not in patched["status"]


@pytest.mark.parametrize("path", [NODES, SERVICES])
def test_a_write_to_the_status_leaves_the_spec_alone_but_not_the_metadata(
    api: KubernetesApi, name: str, path: str
) -> None:
    """Labels, annotations and finalizers can be written through ``/status``."""
    spec = {"ports": [{"port": 80}], "type": "LoadBalancer"} if path == SERVICES else {"providerID": "hcloud://1"}
    created = api.create(path, {**node(name), "spec": spec})
    conditions = [{"type": "Test", "status": "True", "reason": "Test", "message": "m"}]
    metadata = {"labels": {"a": "b"}, "annotations": {"c": "d"}, "finalizers": ["example.com/test"]}
    patch = {"metadata": metadata, "spec": {"providerID": "hcloud://2", "sessionAffinity": "ClientIP"}}
    patched = api.merge(f"{path}/{name}/status", {**patch, "status": {"conditions": conditions}}).good()
    assert {field: patched["metadata"][field] for field in metadata} == metadata
    assert patched["spec"] == created["spec"]
    assert without_versions(patched["status"]["conditions"]) == conditions
    assert api.get(f"{path}/{name}/status").good() == patched
