"""Watches: which events they have, where they begin, how they are refused."""

import json
import queue
import threading

import pytest

from actuators.http.kubernetes import KubernetesReader, KubernetesWriter
from actuators.http.watch import WatchEvent, current_version, open_watch
from tests.contract.kubernetes_api import (
    CONFIG_MAPS,
    NAMESPACES,
    NODES,
    SERVICES,
    KubernetesApi,
    connected,
    without_versions,
)
from tests.support.rows import rows


def version_of(api: KubernetesApi, path: str) -> str:
    return str(api.get(f"{path}?limit=1").good()["metadata"]["resourceVersion"])


@pytest.fixture
def place(api: KubernetesApi, name: str) -> str:
    """The configmaps of a namespace of its own."""
    api.create(NAMESPACES, {"metadata": {"name": name}})
    return f"{NAMESPACES}/{name}/configmaps"


def test_a_life_in_events(api: KubernetesApi, place: str) -> None:
    """Whole objects with their kind; the deletion takes a version of its own and has the object as it was."""
    version = version_of(api, place)
    created = api.create(place, {"metadata": {"name": "a"}})
    changed = api.merge(f"{place}/a", {"data": {"k": "v"}}).good()
    api.merge(f"{place}/a", {"data": {"k": "v"}}).good()
    api.request("DELETE", f"{place}/a").good()
    with api.watching(place, f"resourceVersion={version}") as events:
        added, modified, deleted = events
    assert (added["type"], modified["type"], deleted["type"]) == ("ADDED", "MODIFIED", "DELETED")
    assert (added["object"], modified["object"]) == (created, changed)
    assert without_versions(deleted["object"]) == without_versions(changed)
    versions = [int(event["object"]["metadata"]["resourceVersion"]) for event in (added, modified, deleted)]
    assert versions == sorted(set(versions))


def test_a_watch_goes_on_from_a_version(api: KubernetesApi, place: str) -> None:
    """Exactly after it: nothing twice, nothing lost; and while the watch is open, events come at once."""
    first = api.create(place, {"metadata": {"name": "a"}})
    api.create(place, {"metadata": {"name": "b"}})
    with api.watching(place, f"resourceVersion={first['metadata']['resourceVersion']}") as events:
        assert next(events)["object"]["metadata"]["name"] == "b"
        api.create(place, {"metadata": {"name": "c"}})
        assert next(events)["object"]["metadata"]["name"] == "c"


def test_the_last_finalizer_ends_a_life(api: KubernetesApi, name: str) -> None:
    """Its removal is no modification, and the answer to it says that nothing holds the object any more."""
    service = {"metadata": {"name": name, "finalizers": ["example.com/test"]}, "spec": {"ports": [{"port": 80}]}}
    version = api.create(SERVICES, service)["metadata"]["resourceVersion"]
    api.request("DELETE", f"{SERVICES}/{name}").good()
    answer = api.merge(f"{SERVICES}/{name}", {"metadata": {"finalizers": None}}).good()
    assert "deletionTimestamp" in answer["metadata"]
    assert not answer["metadata"].get("finalizers")
    query = f"resourceVersion={version}&fieldSelector=metadata.name%3D{name}"
    with api.watching(SERVICES, query) as events:
        heard = [(event["type"], event["object"]["metadata"].get("finalizers")) for event in events]
    assert heard == [("MODIFIED", ["example.com/test"]), ("DELETED", ["example.com/test"])]


def test_one_object_cannot_be_watched_by_its_path(api: KubernetesApi, name: str) -> None:
    api.create(CONFIG_MAPS, {"metadata": {"name": name}})
    assert api.get(f"{CONFIG_MAPS}/{name}?watch=true").good()["kind"] == "ConfigMap"


VERSION_ABC = 'resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid'


@rows("query status text", {
    "version": ("resourceVersion=abc", 500, VERSION_ABC),
    "seconds": ("timeoutSeconds=abc", 400, 'strconv.ParseInt: parsing "abc": invalid syntax'),
    "selector": ("labelSelector=a+b", 400, ""),
})  # fmt: skip
def test_a_query_that_cannot_be_read(api: KubernetesApi, query: str, status: int, text: str) -> None:
    answer = api.get(f"{NODES}?watch=true&{query}")
    assert (answer.refusal[0], answer.refusal[2][: len(text)]) == (status, text)


def test_the_products_own_watch(api: KubernetesApi, name: str) -> None:
    """It hears of a write in the version that the answer said, and ends at once when another thread closes it."""
    connection = connected(api)
    reader, writer = KubernetesReader(connection), KubernetesWriter(connection)
    watch = open_watch(reader, NODES, current_version(reader, NODES), lasts_s=60)
    heard: queue.Queue[WatchEvent | None] = queue.Queue()

    def follow() -> None:
        for event in watch:
            heard.put(event)
        heard.put(None)

    reading = threading.Thread(target=follow)
    reading.start()
    written = json.loads(writer.create(NODES, {"metadata": {"name": name}}).body)["metadata"]
    events = iter(lambda: heard.get(timeout=10), None)
    event = next(event for event in events if event.uid == written["uid"])
    assert (event.type, event.version) == ("ADDED", written["resourceVersion"])
    assert connection.own_writes.has(event.uid, event.version)

    writer.delete(f"{NODES}/{name}", uid=event.uid, version=event.version)
    event = next(event for event in events if event.uid == written["uid"])
    assert event.type == "DELETED"
    assert connection.own_writes.removed(event.uid)

    watch.close()
    reading.join(1.0)
    assert not reading.is_alive()
