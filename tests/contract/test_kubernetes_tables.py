"""Tables, as kubectl asks for them, and what else a client may accept."""

from typing import Any

import pytest

from tests.contract.kubernetes_api import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    EVENTS,
    LEASES,
    NAMESPACES,
    NEWEST_ALONE,
    NODES,
    SERVICES,
    TABLE,
    KubernetesApi,
)

POD = {"containers": [{"name": "a", "image": "nginx"}, {"name": "b", "image": "redis:8"}]}
TEMPLATE = {"metadata": {"labels": {"app": "web"}}, "spec": POD}


def shown(table: Any) -> dict[str, Any]:
    """The only row by the names of its columns, without ages."""
    [row] = table["rows"]
    names = [column["name"] for column in table["columnDefinitions"]]
    return {k: v for k, v in zip(names, row["cells"], strict=True) if k not in ("Age", "Last Seen", "First Seen")}


NODE_CELLS = {
    "Status": "Unknown",
    "Roles": "<none>",
    "Version": "",
    "Internal-IP": "<none>",
    "External-IP": "<none>",
    "OS-Image": "<unknown>",
    "Kernel-Version": "<unknown>",
    "Container-Runtime": "<unknown>",
}
ROLES = {"node-role.kubernetes.io/worker": "", "node-role.kubernetes.io/control-plane": "", "kubernetes.io/role": "x"}
INFO = {"kubeletVersion": "v1.36.3", "kernelVersion": "6.8", "architecture": "amd64", "osImage": "Ubuntu"}


@pytest.mark.parametrize(
    ("node", "cells"),
    [
        ({}, {}),
        ({"status": {"conditions": [{"type": "Ready", "status": "True"}]}}, {"Status": "Ready"}),
        ({"status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}}, {"Status": "NotReady"}),
        ({"spec": {"unschedulable": True}}, {"Status": "Unknown,SchedulingDisabled"}),
        ({"status": {"addresses": [{"type": "InternalIP"}]}}, {"Internal-IP": ""}),
        ({"metadata": {"labels": ROLES}}, {"Roles": "control-plane,worker,x"}),
        pytest.param(
            {"status": {"nodeInfo": INFO}},
            {"Version": "v1.36.3", "Kernel-Version": "6.8 (amd64)", "OS-Image": "Ubuntu"},
            marks=NEWEST_ALONE,
        ),
        (
            {
                "status": {
                    "addresses": [
                        {"type": "InternalIP", "address": "10.0.0.2"},
                        {"type": "InternalIP", "address": "10.0.0.3"},
                        {"type": "ExternalIP", "address": "198.51.100.2"},
                    ]
                }
            },
            {"Internal-IP": "10.0.0.2", "External-IP": "198.51.100.2"},
        ),
    ],
)
def test_rows_of_nodes(api: KubernetesApi, name: str, node: Any, cells: Any) -> None:
    """What of a Node is not known is said in one of three ways."""
    api.create(NODES, {**node, "metadata": {**node.get("metadata", {}), "name": name}})
    assert shown(api.table(f"{NODES}/{name}")) == {"Name": name, **NODE_CELLS, **cells}


@pytest.mark.parametrize(
    ("spec", "ingress", "cells"),
    [
        ({"ports": [{"port": 80}]}, [], {"Type": "ClusterIP", "External-IP": "<none>", "Port(s)": "80/TCP"}),
        ({"clusterIP": "None"}, [], {"Cluster-IP": "None", "Port(s)": "<none>", "Selector": "<none>"}),
        (
            {"type": "LoadBalancer", "selector": {"b": "2", "a": "1"}, "ports": [{"port": 80, "nodePort": 31999}]},
            [],
            {"External-IP": "<pending>", "Port(s)": "80:31999/TCP", "Selector": "a=1,b=2"},
        ),
        (
            {"type": "LoadBalancer", "ports": [{"port": 80}], "externalIPs": ["198.51.100.9"]},
            [{"ip": "2001:db8::1"}, {"hostname": "lb.example.com"}, {"ip": "198.51.100.1"}],
            {"External-IP": "198.51.100.1,2001:db8::1,lb.example.com,198.51.100.9"},
        ),
        ({"type": "ExternalName", "externalName": "a.example.com"}, [], {"External-IP": "a.example.com"}),
    ],
)
def test_rows_of_services(api: KubernetesApi, name: str, spec: Any, ingress: Any, cells: Any) -> None:
    """External addresses are sorted, all of them, with those of the spec behind."""
    api.create(SERVICES, {"metadata": {"name": name}, "spec": spec})
    if ingress:
        api.merge(f"{SERVICES}/{name}/status", {"status": {"loadBalancer": {"ingress": ingress}}}).good()
    found = shown(api.table(f"{SERVICES}/{name}"))
    assert {column: found[column] for column in cells} == cells
    api.request("DELETE", f"{SERVICES}/{name}").good()


@pytest.mark.parametrize(
    ("path", "body", "cells"),
    [
        (NAMESPACES, {}, {"Status": "Active"}),
        (CONFIG_MAPS, {"data": {"a": "1"}, "binaryData": {"b": "AA=="}}, {"Data": 2}),
        (LEASES, {"spec": {"holderIdentity": "me"}}, {"Holder": "me"}),
        (
            DEPLOYMENTS,
            {"spec": {"replicas": 3, "selector": {"matchLabels": {"app": "web"}}, "template": TEMPLATE}},
            {
                "Ready": "0/3",
                "Up-to-date": 0,
                "Available": 0,
                "Containers": "a,b",
                "Images": "nginx,redis:8",
                "Selector": "app=web",
            },
        ),
        (
            EVENTS,
            {
                "involvedObject": {"kind": "Node", "name": "web-1", "namespace": "default", "fieldPath": "spec"},
                "source": {"component": "kubelet", "host": "web-1"},
                "reason": "Tested",
                "message": "it works\n",
                "type": "Normal",
                "count": 3,
            },
            {
                "Type": "Normal",
                "Reason": "Tested",
                "Object": "node/web-1",
                "Subobject": "spec",
                "Source": "kubelet, web-1",
                "Message": "it works",
                "Count": 3,
            },
        ),
    ],
)
def test_rows_of_other_kinds(api: KubernetesApi, name: str, path: str, body: Any, cells: Any) -> None:
    """Each with the columns that kubectl has always shown."""
    api.create(path, {"metadata": {"name": name}, **body})
    assert shown(api.table(f"{path}/{name}")) == {"Name": name, **cells}


@pytest.mark.parametrize(
    ("path", "narrow", "wide"),
    [
        (
            NODES,
            "Name, Status, Roles, Age, Version",
            "Internal-IP, External-IP, OS-Image, Kernel-Version, Container-Runtime",
        ),
        (SERVICES, "Name, Type, Cluster-IP, External-IP, Port(s), Age", "Selector"),
        (EVENTS, "Last Seen, Type, Reason, Object, Message", "Subobject, Source, First Seen, Count, Name"),
        (DEPLOYMENTS, "Name, Ready, Up-to-date, Available, Age", "Containers, Images, Selector"),
        (
            "/apis/apps/v1/daemonsets",
            "Name, Desired, Current, Ready, Up-to-date, Available, Node Selector, Age",
            "Containers, Images, Selector",
        ),
        ("/api/v1/pods", "Name, Ready, Status, Restarts, Age", "IP, Node, Nominated Node, Readiness Gates"),
        (NAMESPACES, "Name, Status, Age", ""),
        (CONFIG_MAPS, "Name, Data, Age", ""),
        (LEASES, "Name, Holder, Age", ""),
    ],
)
def test_columns(api: KubernetesApi, path: str, narrow: str, wide: str) -> None:
    """Which are shown, and which by ``-o wide`` alone."""
    columns = api.table(f"{path}?limit=1")["columnDefinitions"]
    named = [", ".join(c["name"] for c in columns if c["priority"] == priority) for priority in (0, 1)]
    assert named == [narrow, wide]
    assert [c["format"] for c in columns if c["name"] == "Name"] == ["name"]
    counted = ("Desired", "Current", "Ready", "Up-to-date", "Available") if path.endswith("daemonsets") else ()
    assert {c["name"] for c in columns if c["type"] == "integer"} == set(counted)


@pytest.mark.parametrize(
    ("include", "kind"),
    [("", "PartialObjectMetadata"), ("?includeObject=Object", "Node"), ("?includeObject=None", None)],
)
def test_what_a_row_has_of_its_object(api: KubernetesApi, name: str, include: str, kind: str | None) -> None:
    """Its metadata, unless asked for all or nothing."""
    api.create(NODES, {"metadata": {"name": name, "labels": {"a": "b"}}})
    table = api.table(f"{NODES}/{name}{include}")
    found = table["rows"][0].get("object")
    assert (found and found["kind"]) == kind
    if found:
        assert found["metadata"]["labels"] == {"a": "b"}
    assert (table["kind"], table["apiVersion"]) == ("Table", "meta.k8s.io/v1")


def test_a_watch_of_tables(api: KubernetesApi, name: str) -> None:
    """Each event has a table of one row."""
    version = api.create(NODES, {"metadata": {"name": name}})["metadata"]["resourceVersion"]
    query = f"resourceVersion={version}&fieldSelector=metadata.name={name}"
    with api.watching(NODES, query, accept=TABLE) as events:
        api.merge(f"{NODES}/{name}", {"spec": {"unschedulable": True}}).good()
        event = next(events)
    assert (event["type"], event["object"]["kind"]) == ("MODIFIED", "Table")
    assert event["object"]["rows"][0]["cells"][:2] == [name, "Unknown,SchedulingDisabled"]


def test_pages_of_tables(api: KubernetesApi, name: str) -> None:
    """A table continues as a list does."""
    for number in range(3):
        api.create(NODES, {"metadata": {"name": f"{name}-{number}", "labels": {"test": name}}})
    first = api.table(f"{NODES}?labelSelector=test={name}&limit=2")
    rest = api.table(f"{NODES}?labelSelector=test={name}&limit=2&continue={first['metadata']['continue']}")
    assert [row["cells"][0] for table in (first, rest) for row in table["rows"]] == [f"{name}-{n}" for n in range(3)]


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        ("application/vnd.kubernetes.protobuf, application/json", None),
        ("application/json;as=Table;v=v1;g=example.com,application/json", "NodeList"),
        ("text/html, */*;q=0.8", "NodeList"),
    ],
)
def test_what_a_client_accepts(api: KubernetesApi, accept: str, kind: str | None) -> None:
    """The first form that is served; who takes protobuf and JSON gets either."""
    answer = api.request("GET", f"{NODES}?limit=1", accept=accept)
    assert answer.status == 200
    if kind is not None:
        assert answer.body["kind"] == kind


def test_who_accepts_nothing_that_is_served(api: KubernetesApi) -> None:
    """Refused, and not surprised."""
    assert api.request("GET", NODES, accept="text/html").refusal[:2] == (406, "NotAcceptable")


def test_a_deployment_selects_its_own_pods(api: KubernetesApi, name: str) -> None:
    """One without a selector, or with one that leads elsewhere, is refused."""
    wrong = {"matchLabels": {"app": "other"}}
    for spec, field in (
        ({"template": TEMPLATE}, "spec.selector"),
        ({"template": TEMPLATE, "selector": wrong}, "spec.template.metadata.labels"),
    ):
        answer = api.request("POST", DEPLOYMENTS, {"metadata": {"name": name}, "spec": spec})
        assert answer.status == 422
        assert field in {cause[1] for cause in answer.causes}
