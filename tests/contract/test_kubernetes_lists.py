"""Lists: their form, pages, selectors."""

import pytest

from tests.contract.kubernetes_api import (
    CONFIG_MAPS,
    EVENTS,
    LEASES,
    NAMESPACES,
    NODES,
    SERVICES,
    VOLUME_ATTACHMENTS,
    KubernetesApi,
)
from tests.support.rows import rows


@pytest.fixture
def numbered(api: KubernetesApi, name: str) -> str:
    """A namespace of its own with the configmaps c0 to c4."""
    api.create(NAMESPACES, {"metadata": {"name": name}})
    path = f"{NAMESPACES}/{name}/configmaps"
    for number in (3, 1, 4, 0, 2):
        api.create(path, {"metadata": {"name": f"c{number}"}})
    return path


def names(listed: dict[str, list[dict[str, dict[str, str]]]]) -> list[str]:
    return [item["metadata"]["name"] for item in listed["items"]]


def test_a_list_says_its_kind_once(api: KubernetesApi, name: str) -> None:
    api.create(NODES, {"metadata": {"name": name}})
    listed = api.get(f"{NODES}?fieldSelector=metadata.name={name}").good()
    assert (listed["kind"], listed["apiVersion"]) == ("NodeList", "v1")
    assert int(listed["metadata"]["resourceVersion"]) > 0
    (item,) = listed["items"]
    assert not {"kind", "apiVersion"} & set(item)
    assert {"metadata", "spec", "status"} <= set(item)
    empty = api.get(f"{LEASES}?fieldSelector=metadata.name={name}").good()
    assert (empty["kind"], empty["apiVersion"], empty["items"]) == ("LeaseList", "coordination.k8s.io/v1", [])
    assert api.get(f"{NAMESPACES}/{name}-absent/services").good()["items"] == []


def test_volume_attachments_name_their_node(api: KubernetesApi, name: str) -> None:
    """They belong to the cluster, and outlive their Node: the name is all that they know of it."""
    api.create(NODES, {"metadata": {"name": name}})
    spec = {"attacher": "csi.example.com", "nodeName": name, "source": {"persistentVolumeName": name}}
    api.create(VOLUME_ATTACHMENTS, {"metadata": {"name": name}, "spec": spec})
    api.request("DELETE", f"{NODES}/{name}").good()
    listed = api.get(f"{VOLUME_ATTACHMENTS}?limit=500").good()
    assert (listed["kind"], listed["apiVersion"]) == ("VolumeAttachmentList", "storage.k8s.io/v1")
    (item,) = [each for each in listed["items"] if each["metadata"]["name"] == name]
    assert item["spec"] == spec
    api.request("DELETE", f"{VOLUME_ATTACHMENTS}/{name}").good()
    assert name not in names(api.get(VOLUME_ATTACHMENTS).good())


def test_a_list_is_sorted_by_name(api: KubernetesApi, numbered: str) -> None:
    """As the keys in etcd are."""
    assert names(api.get(numbered).good()) == ["c0", "c1", "c2", "c3", "c4"]


def test_pages_are_of_one_moment(api: KubernetesApi, numbered: str) -> None:
    """What is deleted meanwhile is still there, what is created is not; all pages have the first one's version."""
    first = api.get(f"{numbered}?limit=2").good()
    api.request("DELETE", f"{numbered}/c3").good()
    api.create(numbered, {"metadata": {"name": "c10"}})
    second = api.get(f"{numbered}?limit=2&continue={first['metadata']['continue']}").good()
    third = api.get(f"{numbered}?limit=2&continue={second['metadata']['continue']}").good()
    assert [names(page) for page in (first, second, third)] == [["c0", "c1"], ["c2", "c3"], ["c4"]]
    assert {page["metadata"]["resourceVersion"] for page in (first, second, third)} == {
        first["metadata"]["resourceVersion"]
    }
    assert "continue" not in third["metadata"]


@rows("query", {
    "limit": f"{CONFIG_MAPS}?limit=many",
    "a field without a value": f"{NODES}?fieldSelector=metadata.name",
    **{f"another field of {path}": f"{path}?fieldSelector=spec.x=1" for path in (CONFIG_MAPS, LEASES, NODES, SERVICES)},
    "another field of events": f"{EVENTS}?fieldSelector=spec.x=1",
})  # fmt: skip
def test_an_unreadable_query_is_a_bad_request(api: KubernetesApi, query: str) -> None:
    """It is not ignored either."""
    assert api.get(query).refusal[:2] == (400, "BadRequest")


def test_an_unreadable_token_is_a_bad_request(api: KubernetesApi, numbered: str) -> None:
    code, reason, message = api.get(f"{numbered}?continue=!").refusal
    assert (code, reason) == (400, "BadRequest")
    assert message.startswith("invalid continue token: continue key is not valid: ")
    token = api.get(f"{numbered}?limit=2").good()["metadata"]["continue"]
    text = "specifying resource version is not allowed when using continue"
    assert api.get(f"{numbered}?resourceVersion=1&continue={token}").refusal == (400, "BadRequest", text)


def test_names_select(api: KubernetesApi, numbered: str) -> None:
    found = {
        "metadata.name=c1": ["c1"],
        "metadata.name!=c1,metadata.name!=c2": ["c0", "c3", "c4"],
        "metadata.name=c1,metadata.namespace=default": [],
    }
    assert {selector: names(api.get(f"{numbered}?fieldSelector={selector}").good()) for selector in found} == found


def test_events_are_selected_by_their_object(api: KubernetesApi, name: str) -> None:
    """As ``kubectl describe`` does."""
    selected = {
        f"involvedObject.kind=Node,involvedObject.uid={name},involvedObject.name={name}": [name],
        f"involvedObject.name={name},involvedObject.namespace=": [name],
        f"involvedObject.name={name},reason=Tested,type=Normal": [name],
        f"involvedObject.name={name},type=Warning": [],
        f"involvedObject.name={name},involvedObject.apiVersion=v1": [],
    }
    about = {"kind": "Node", "name": name, "uid": name}
    details = {"reason": "Tested", "type": "Normal", "source": {"component": "tester"}}
    api.create(EVENTS, {"metadata": {"name": name}, "involvedObject": about, **details})
    assert {each: names(api.get(f"{EVENTS}?fieldSelector={each}").good()) for each in selected} == selected
