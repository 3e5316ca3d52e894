"""How objects go: preconditions, finalizers, and what is answered."""

from typing import Any

import pytest

from tests.contract.kubernetes_api import NODES, SERVICES, Answer, KubernetesApi, without_versions

OTHER_UID = (
    "the UID in the precondition ({wanted}) does not match the UID in record ({actual}). "
    "The object might have been deleted and then recreated"
)
OTHER_VERSION = (
    "the ResourceVersion in the precondition ({wanted}) does not match the ResourceVersion in record ({actual}). "
    "The object might have been modified"
)
NEVER = "00000000-0000-4000-8000-000000000000"


def node(name: str, **fields: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, **fields}}


def deleted_as_read(api: KubernetesApi, name: str, metadata: dict[str, Any], **others: str) -> Answer:
    """The answer to the deletion of exactly this Node, as the product words it; ``others`` are wrong preconditions."""
    preconditions = {field: metadata[field] for field in ("uid", "resourceVersion")} | others
    body = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": preconditions}
    return api.request("DELETE", f"{NODES}/{name}", body)


def test_answers_to_deletions(api: KubernetesApi, name: str) -> None:
    """A Node's is a Status, with the uid of the deleted one, other kinds' is the object."""
    uid = api.create(NODES, node(name))["metadata"]["uid"]
    service = api.create(SERVICES, {**node(name), "spec": {"ports": [{"port": 80}]}})
    details = {"name": name, "kind": "nodes", "uid": uid}
    expected = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}
    assert api.request("DELETE", f"{NODES}/{name}", {"preconditions": {"uid": uid}}).good() == expected
    assert api.get(f"{NODES}/{name}").status == 404
    assert without_versions(api.request("DELETE", f"{SERVICES}/{name}").good()) == without_versions(service)


@pytest.mark.parametrize("finalizers", [[], ["example.com/test"]], ids=["free", "with finalizer"])
@pytest.mark.parametrize(
    ("wanted", "text"), [({"uid": NEVER}, OTHER_UID), ({"resourceVersion": "1"}, OTHER_VERSION)], ids=["uid", "version"]
)
def test_deletion_has_preconditions(
    api: KubernetesApi, name: str, finalizers: list[str], wanted: dict[str, str], text: str
) -> None:
    """The message names the kind, not the path, unlike all other conflicts."""
    metadata = api.create(NODES, node(name, finalizers=finalizers))["metadata"]
    answer = api.request("DELETE", f"{NODES}/{name}", {"preconditions": wanted})
    ((field, value),) = wanted.items()
    why = text.format(wanted=value, actual=metadata[field])
    assert answer.refusal == (409, "Conflict", f'Operation cannot be fulfilled on Node "{name}": {why}')
    assert answer.body["details"] == {"name": name, "kind": "Node"}
    assert "deletionTimestamp" not in api.get(f"{NODES}/{name}").good()["metadata"]


def test_a_node_as_it_was_read_is_deleted(api: KubernetesApi, name: str) -> None:
    """With uid and version both right, also of a Node that was written since it was created."""
    api.create(NODES, node(name))
    metadata = api.merge(f"{NODES}/{name}", {"metadata": {"labels": {"a": "b"}}}).good()["metadata"]
    assert deleted_as_read(api, name, metadata).good()["details"]["uid"] == metadata["uid"]
    assert deleted_as_read(api, name, metadata).refusal == (404, "NotFound", f'nodes "{name}" not found')


def test_a_node_that_registered_again_under_the_name_stays(api: KubernetesApi, name: str) -> None:
    """Of two wrong preconditions the uid is spoken of; and a right version does not make up for a wrong uid."""
    read = api.create(NODES, node(name))["metadata"]
    api.request("DELETE", f"{NODES}/{name}").good()
    other = api.create(NODES, node(name))["metadata"]

    answers = [
        deleted_as_read(api, name, read),
        deleted_as_read(api, name, read, resourceVersion=other["resourceVersion"]),
    ]

    why = OTHER_UID.format(wanted=read["uid"], actual=other["uid"])
    message = f'Operation cannot be fulfilled on Node "{name}": {why}'
    assert [answer.refusal for answer in answers] == [(409, "Conflict", message)] * 2
    assert api.get(f"{NODES}/{name}").good()["metadata"] == other


def test_a_node_with_a_finalizer_is_deleted_once(api: KubernetesApi, name: str) -> None:
    """It lingers with another version: a second deletion as it was read is a conflict, one as it is now is fine."""
    read = api.create(NODES, node(name, finalizers=["example.com/test"]))["metadata"]

    lingering = deleted_as_read(api, name, read).good()

    metadata = lingering["metadata"]
    assert (lingering["kind"], metadata["uid"], metadata["name"]) == ("Node", read["uid"], name)
    assert metadata["deletionTimestamp"] >= metadata["creationTimestamp"]
    assert int(metadata["resourceVersion"]) > int(read["resourceVersion"])
    assert api.get(f"{NODES}/{name}").good() == lingering
    why = OTHER_VERSION.format(wanted=read["resourceVersion"], actual=metadata["resourceVersion"])
    message = f'Operation cannot be fulfilled on Node "{name}": {why}'
    assert deleted_as_read(api, name, read).refusal == (409, "Conflict", message)
    assert deleted_as_read(api, name, metadata).good() == lingering
    assert deleted_as_read(api, name, metadata, uid=NEVER).status == 409


def test_an_object_lingers_until_its_finalizers_are_gone(api: KubernetesApi, name: str) -> None:
    """It can still be changed, but not gain finalizers or live on."""
    api.create(NODES, node(name, finalizers=["example.com/a", "example.com/b"]))
    deleted = api.request("DELETE", f"{NODES}/{name}", {"propagationPolicy": "Background"}).good()
    assert deleted["metadata"]["deletionGracePeriodSeconds"] == 0
    assert api.request("DELETE", f"{NODES}/{name}").good() == deleted
    changed = api.merge(f"{NODES}/{name}", {"metadata": {"labels": {"a": "b"}, "deletionTimestamp": None}}).good()
    assert changed["metadata"]["deletionTimestamp"] == deleted["metadata"]["deletionTimestamp"]
    more = api.merge(f"{NODES}/{name}", {"metadata": {"finalizers": ["example.com/a", "example.com/c"]}})
    found = 'found new finalizers []string{"example.com/c"}'
    why = f"Forbidden: no new finalizers can be added if the object is being deleted, {found}"
    assert more.refusal == (422, "Invalid", f'Node "{name}" is invalid: metadata.finalizers: {why}')
    api.merge(f"{NODES}/{name}", {"metadata": {"finalizers": ["example.com/b"]}}).good()
    last = api.merge(f"{NODES}/{name}/status", {"metadata": {"finalizers": None}}).good()
    assert "finalizers" not in last["metadata"]
    assert api.get(f"{NODES}/{name}").status == 404
