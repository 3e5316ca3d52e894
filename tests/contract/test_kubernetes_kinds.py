"""What is particular to a kind: defaults, validation, admission."""

from typing import Any

import pytest

from tests.contract.kubernetes_api import (
    CONFIG_MAPS,
    EVENTS,
    LEASES,
    NAMESPACES,
    NEWEST_ALONE,
    NODES,
    SERVICES,
    KubernetesApi,
    without_versions,
)
from tests.support.rows import rows

LABEL_VALUE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
NODE_INFO = (
    "machineID systemUUID bootID kernelVersion osImage containerRuntimeVersion kubeletVersion kubeProxyVersion "
    "operatingSystem architecture"
)
NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
UNINITIALIZED = {"key": "node.cloudprovider.kubernetes.io/uninitialized", "value": "true", "effect": "NoSchedule"}


# --- metadata of any kind ---


@rows("metadata field", {
    "name": ({"name": "Upper"}, "name"),
    "long label value": ({"labels": {"a": "x" * 64}}, "labels"),
    "label key": ({"labels": {"-a": "b"}}, "labels"),
    "label prefix": ({"labels": {"UP/a": "b"}}, "labels"),
    "annotation key": ({"annotations": {"a b": "c"}}, "annotations"),
    "finalizer": ({"finalizers": ["plain"]}, "finalizers[0]"),
})  # fmt: skip
def test_metadata_is_validated(api: KubernetesApi, name: str, metadata: Any, field: str) -> None:
    """On creation, and in a patch wherever the field can be patched."""
    answer = api.request("POST", NODES, {"metadata": {"name": name, **metadata}})
    causes = {("FieldValueInvalid", f"metadata.{field}")}
    assert (answer.refusal[:2], answer.causes) == ((422, "Invalid"), causes)
    if "name" not in metadata:
        api.create(NODES, {"metadata": {"name": name}})
        assert api.merge(f"{NODES}/{name}", {"metadata": metadata}).causes == causes


NO_PORTS, FAR_PORT = {"type": "LoadBalancer", "ports": None}, {"ports": [{"port": 70000, "targetPort": 1}]}


@rows("path body cause", {
    "a hash as a key": (CONFIG_MAPS, {"data": {"sha256:00": "x"}}, ("FieldValueInvalid", "data[sha256:00]")),
    "no ports": (SERVICES, {"spec": NO_PORTS}, ("FieldValueRequired", "spec.ports")),
    "port": (SERVICES, {"spec": FAR_PORT}, ("FieldValueInvalid", "spec.ports[0].port")),
    "a dot in the name": (SERVICES, {"metadata": {"name": "a.b"}, "spec": {"ports": [{"port": 80}]}},
        ("FieldValueInvalid", "metadata.name")),
    "an event of elsewhere": (EVENTS, {"involvedObject": {"kind": "Service", "namespace": "kube-system"}},
        ("FieldValueInvalid", "involvedObject.namespace")),
})  # fmt: skip
def test_objects_are_validated(api: KubernetesApi, name: str, path: str, body: Any, cause: tuple[str, str]) -> None:
    answer = api.request("POST", path, {"metadata": {"name": name}, **body})
    assert (answer.refusal[:2], answer.causes) == ((422, "Invalid"), {cause})


def test_an_invalid_label_value_is_explained(api: KubernetesApi, name: str) -> None:
    """The whole sentence, for whoever shows it to a person."""
    answer = api.request("POST", NODES, {"metadata": {"name": name, "labels": {"a": "b c"}}})
    text = f'Node "{name}" is invalid: metadata.labels: Invalid value: "b c": {LABEL_VALUE}'
    assert answer.refusal == (422, "Invalid", text)
    assert {k: v for k, v in answer.body["details"].items() if k != "causes"} == {"name": name, "kind": "Node"}


@rows("body", {
    "number for text": {"metadata": {"labels": {"a": 1}}},
    "text for a map": {"metadata": {"labels": "a"}},
    "map for a list": {"metadata": {}, "spec": {"taints": {}}},
    "another kind": {"metadata": {}, "kind": "Service", "apiVersion": "v1"},
    "a list": [],
    "no JSON": b"{a",
    "nothing": b"",
})  # fmt: skip
def test_a_body_that_is_no_such_object_is_a_bad_request(api: KubernetesApi, name: str, body: Any) -> None:
    """Before any validation."""
    if isinstance(body, dict):
        body["metadata"] = {"name": name, **body["metadata"]}
    assert api.request("POST", NODES, body).refusal[:2] == (400, "BadRequest")


def test_nulls_and_empty_values_are_left_out(api: KubernetesApi, name: str) -> None:
    """But a null in a map of strings is an empty string."""
    metadata = {"name": name, "annotations": {}, "finalizers": [], "labels": {"a": None}}
    created = api.create(CONFIG_MAPS, {"metadata": metadata, "data": {"k": None}, "immutable": None})
    assert without_versions(created) == {
        "kind": "ConfigMap",
        "apiVersion": "v1",
        "metadata": {"name": name, "namespace": "default", "labels": {"a": ""}},
        "data": {"k": ""},
    }


def test_unknown_body_types_are_unsupported(api: KubernetesApi, name: str) -> None:
    answer = api.request("POST", NODES, {"metadata": {"name": name}}, "text/plain")
    accepted = "application/json, application/yaml, application/vnd.kubernetes.protobuf"
    text = f"the body of the request was in an unknown format - accepted media types include: {accepted}"
    assert answer.refusal == (415, "UnsupportedMediaType", text)


# --- nodes ---


def test_a_new_node_keeps_its_status_and_gets_a_taint(api: KubernetesApi, name: str) -> None:
    """A kubelet registers with a status; admission adds not-ready; empty values are left out."""
    status = {"addresses": [{"type": "Hostname", "address": name}]}
    sent = {"spec": {"providerID": "", "taints": [UNINITIALIZED]}, "status": status}
    created = api.create(NODES, {"metadata": {"name": name}, **sent})
    assert without_versions(created) == {
        "kind": "Node",
        "apiVersion": "v1",
        "metadata": {"name": name},
        "spec": {"taints": [UNINITIALIZED, NOT_READY]},
        "status": {
            **status,
            "daemonEndpoints": {"kubeletEndpoint": {"Port": 0}},
            "nodeInfo": dict.fromkeys(NODE_INFO.split(), ""),
        },
    }


def test_a_provider_id_is_set_once(api: KubernetesApi, name: str) -> None:
    api.create(NODES, {"metadata": {"name": name}})
    api.merge(f"{NODES}/{name}", {"spec": {"providerID": "hcloud://1"}}).good()
    api.merge(f"{NODES}/{name}", {"spec": {"providerID": "hcloud://1"}}).good()
    why = 'Forbidden: node updates may not change providerID except from "" to valid'
    for value in ("hcloud://2", None):
        answer = api.merge(f"{NODES}/{name}", {"spec": {"providerID": value}})
        assert answer.refusal == (422, "Invalid", f'Node "{name}" is invalid: spec.providerID: {why}')
        assert answer.causes == {("FieldValueForbidden", "spec.providerID")}


@NEWEST_ALONE
def test_an_address_is_there_once(api: KubernetesApi, name: str) -> None:
    api.create(NODES, {"metadata": {"name": name}})
    twice = [{"type": "InternalIP", "address": "10.0.0.1"}] * 2
    answer = api.merge(f"{NODES}/{name}/status", {"status": {"addresses": twice}})
    why = 'Duplicate value: {"Type":"InternalIP","Address":"10.0.0.1"}'
    assert answer.refusal == (422, "Invalid", f'Node "{name}" is invalid: status.addresses[1]: {why}')


def test_times_are_kept_in_seconds_and_utc(api: KubernetesApi, name: str) -> None:
    """Fractions are cut off; a malformed time makes the patch invalid."""
    api.create(NODES, {"metadata": {"name": name}})
    moment = {"type": "Ready", "status": "True", "lastHeartbeatTime": "2026-01-01T00:30:00.9+01:00"}
    patched = api.strategic(f"{NODES}/{name}/status", {"status": {"conditions": [moment]}}).good()
    assert patched["status"]["conditions"][0]["lastHeartbeatTime"] == "2025-12-31T23:30:00Z"
    wrong = {"status": {"conditions": [{**moment, "lastHeartbeatTime": "yesterday"}]}}
    assert api.strategic(f"{NODES}/{name}/status", wrong).causes == {("FieldValueInvalid", "patch")}


# --- namespaces ---


def test_a_namespace_is_labelled_with_its_name_and_active(api: KubernetesApi, name: str) -> None:
    created = api.create(NAMESPACES, {"metadata": {"name": name}})
    label = {"kubernetes.io/metadata.name": name}
    assert created["metadata"]["labels"] == label
    assert (created["spec"], created["status"]) == ({"finalizers": ["kubernetes"]}, {"phase": "Active"})
    patched = api.merge(f"{NAMESPACES}/{name}", {"metadata": {"labels": {**dict.fromkeys(label), "a": "b"}}}).good()
    assert patched["metadata"]["labels"] == {**label, "a": "b"}


def test_nothing_is_created_in_an_absent_namespace(api: KubernetesApi, name: str) -> None:
    answer = api.request("POST", f"{NAMESPACES}/{name}/configmaps", {"metadata": {"name": "a"}})
    assert answer.refusal == (404, "NotFound", f'namespaces "{name}" not found')


# --- configmaps, leases, events ---


MOMENT = "2026-01-01T00:00:00"


def test_a_lease_keeps_micro_times(api: KubernetesApi, name: str) -> None:
    """In UTC; an empty holder is kept, so that a lease can be given back."""
    spec = {"holderIdentity": "", "renewTime": f"{MOMENT}.123456+01:00", "acquireTime": None, "leaseTransitions": 0}
    created = api.create(LEASES, {"metadata": {"name": name}, "spec": spec})
    expected = {"holderIdentity": "", "renewTime": "2025-12-31T23:00:00.123456Z", "leaseTransitions": 0}
    assert created["spec"] == expected


@pytest.mark.parametrize("value", [f"{MOMENT}Z", f"{MOMENT}.1234567Z", f"{MOMENT}.123456", "", 5])
def test_a_micro_time_has_six_digits(api: KubernetesApi, name: str, value: Any) -> None:
    version = api.create(LEASES, {"metadata": {"name": name}})["metadata"]["resourceVersion"]
    body = {"metadata": {"name": name, "resourceVersion": version}, "spec": {"renewTime": value}}
    assert api.request("PUT", f"{LEASES}/{name}", body).refusal[:2] == (400, "BadRequest")
    assert api.merge(f"{LEASES}/{name}", {"spec": {"renewTime": value}}).refusal[:2] == (422, "Invalid")
    body["metadata"] = {"name": f"{name}-2"}
    assert api.request("POST", LEASES, body).refusal[:2] == (400, "BadRequest")


def test_an_event_is_kept_as_sent(api: KubernetesApi, name: str) -> None:
    """Times of the old form are seconds; empty fields are filled in; a patch counts up."""
    about = {"kind": "Node", "name": name, "uid": name}
    times = {"firstTimestamp": f"{MOMENT}Z", "lastTimestamp": f"{MOMENT}.9Z"}
    details = {"reason": "Tested", "message": "m", "type": "Normal", "source": {"component": "tester"}, "count": 1}
    created = api.create(EVENTS, {"metadata": {"name": name}, "involvedObject": about, **times, **details})
    del about["uid"]
    assert without_versions(created) == {
        "kind": "Event",
        "apiVersion": "v1",
        "metadata": {"name": name, "namespace": "default"},
        "involvedObject": about,
        **details,
        **dict.fromkeys(times, f"{MOMENT}Z"),
        "reportingComponent": "",
        "reportingInstance": "",
    }
    assert api.merge(f"{EVENTS}/{name}", {"count": 2}).good()["count"] == 2


@pytest.mark.parametrize(("involved", "status"), [(None, 422), ("kube-system", 201)])
def test_an_event_is_in_the_namespace_of_its_object(
    api: KubernetesApi, name: str, involved: str | None, status: int
) -> None:
    """Those about Nodes are in ``default``."""
    about = {"kind": "Service", "name": name, "namespace": involved}
    path = f"{NAMESPACES}/kube-system/events"
    assert api.request("POST", path, {"metadata": {"name": name}, "involvedObject": about}).status == status
