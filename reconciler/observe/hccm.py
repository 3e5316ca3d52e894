"""HCCM or a fork in a cluster: its Deployment or DaemonSet in any namespace, the HelmChart that made it, and the values
that its variables refer to. Reads only.
"""

import base64
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import msgspec

from actuators.http.decoding import decoder
from actuators.http.errors import ApiError, Denied
from actuators.http.kubernetes import ApiAnswer, KubernetesReader, segment
from actuators.wire.workload import RawContainer
from reconciler.migration.found import FoundChart, FoundController, FoundVariable
from reconciler.migration.owners import RELEASE, RELEASE_NAMESPACE

Raw = dict[str, Any]
_HELM = "/apis/helm.cattle.io/v1"
_PLURALS = {"Deployment": "deployments", "DaemonSet": "daemonsets"}
_NOT_FOUND = 404
_REFERENCES = {"secretKeyRef": "secrets", "configMapKeyRef": "configmaps"}
_SOURCES = {"secretRef": ("Secret", "secretKeyRef"), "configMapRef": ("ConfigMap", "configMapKeyRef")}


class _List(msgspec.Struct):
    items: list[Raw] = []


class _Data(msgspec.Struct):
    data: dict[str, str] | None = None


def find_controllers(reader: KubernetesReader, namespace: str, wanted: Collection[str]) -> tuple[FoundController, ...]:
    """Each workload that runs HCCM, in all namespaces, or in this one where no more may be listed; with the values of
    the variables that are ``wanted``. Raises an ApiError when not even these may be listed."""
    return tuple(
        _controller(reader, kind, raw, container, wanted)
        for kind in _PLURALS
        for raw in _listed(reader, kind, namespace)
        for container in _containers(raw)[:1]
    )


def _listed(reader: KubernetesReader, kind: str, namespace: str) -> Iterator[Raw]:
    plural = _PLURALS[kind]
    try:
        pages = reader.list_pages(f"/apis/apps/v1/{plural}", _items)
    except Denied:
        pages = reader.list_pages(f"/apis/apps/v1/namespaces/{segment(namespace)}/{plural}", _items)
    for page in pages:
        yield from page


def _items(answer: ApiAnswer) -> list[Raw]:
    """The items that run HCCM, so that no page outlives its decoding."""
    return [each for each in decoder(_List).decode(answer.body).items if _containers(each)]


def _containers(raw: Raw) -> list[Raw]:
    try:
        containers = raw["spec"]["template"]["spec"]["containers"] or []
        return [each for each in containers if msgspec.convert(each, RawContainer).value.sign]
    except (KeyError, TypeError, msgspec.ValidationError):  # another's object, and no workload
        return []


def _controller(
    reader: KubernetesReader, kind: str, raw: Raw, container: Raw, wanted: Collection[str]
) -> FoundController:
    meta, spec, status = raw["metadata"], raw["spec"], raw.get("status") or {}
    template, annotations = spec["template"], meta.get("annotations") or {}
    pod_meta = template.get("metadata") or {}
    objects = _Objects(reader, meta["namespace"])
    variables = dict(_variables(container, objects, wanted))
    release = annotations.get(RELEASE)
    chart = _chart(objects, release, annotations.get(RELEASE_NAMESPACE, "")) if release else None
    return FoundController(
        kind=kind,
        namespace=meta["namespace"],
        name=meta["name"],
        image=container["image"],
        replicas=spec.get("replicas", 1),
        ready=status.get("numberReady" if kind == "DaemonSet" else "readyReplicas", 0),
        arguments=(*(container.get("command") or ()), *(container.get("args") or ())),
        variables=variables,
        mounts=container.get("volumeMounts") or (),
        pod=template["spec"],
        pod_labels=pod_meta.get("labels") or {},
        pod_annotations=pod_meta.get("annotations") or {},
        selector=(spec.get("selector") or {}).get("matchLabels") or {},
        labels=meta.get("labels") or {},
        annotations=annotations,
        managers=frozenset(each.get("manager", "") for each in meta.get("managedFields") or ()),
        chart=chart,
        gaps=tuple(dict.fromkeys(objects.gaps)),
        unread_sources=tuple(objects.unread_sources),
    )


class _Objects:
    """Objects of one namespace, each read once, and why some could not be read."""

    def __init__(self, reader: KubernetesReader, namespace: str) -> None:
        self._reader, self._namespace = reader, namespace
        self._read: dict[tuple[str, str], Mapping[str, str] | None] = {}
        self.gaps: list[str] = []
        self.unread_sources: list[str] = []

    def data(self, reference: str, name: str) -> Mapping[str, str] | None:
        """The texts in a Secret or ConfigMap, of which there are none when it is not there; None when it could not be
        read."""
        key = (_REFERENCES[reference], name)
        if key not in self._read:
            body = self.get(f"/api/v1/namespaces/{segment(self._namespace)}/{key[0]}/{segment(name)}")
            self._read[key] = None if body is None else _texts(body, is_encoded=reference == "secretKeyRef")
        return self._read[key]

    def get(self, path: str) -> bytes | None:
        """What is there, empty where nothing is; None when it could not be read, which is a gap."""
        try:
            return self._reader.get(path).body
        except ApiError as error:
            if error.status == _NOT_FOUND:
                return b"{}"
            self.gaps.append(str(error))
            return None


def _texts(body: bytes, *, is_encoded: bool) -> Mapping[str, str]:
    found = decoder(_Data).decode(body).data or {}
    return {key: base64.b64decode(text).decode(errors="replace") if is_encoded else text for key, text in found.items()}


def _variables(container: Raw, objects: _Objects, wanted: Collection[str]) -> Iterator[tuple[str, FoundVariable]]:
    """Variables as the kubelet makes them: those of whole objects first, which single ones replace."""
    for source in container.get("envFrom") or ():
        for ref, (kind, reference) in _SOURCES.items():
            if ref in source:
                name, prefix = source[ref]["name"], source.get("prefix", "")
                if (data := objects.data(reference, name)) is None:
                    objects.unread_sources.append(f"{kind} {name}")
                for key, text in (data or {}).items():
                    yield f"{prefix}{key}", FoundVariable({"valueFrom": {reference: {"name": name, "key": key}}}, text)
    for each in container.get("env") or ():
        name, given = str(each["name"]), {key: each[key] for key in each if key != "name"}
        found = FoundVariable(given) if "valueFrom" in given else FoundVariable(given, given.get("value", ""))
        yield name, _referred(given, objects) if name in wanted and not found.is_literal else found


def _referred(given: Raw, objects: _Objects) -> FoundVariable:
    for reference in given["valueFrom"].keys() & _REFERENCES.keys():
        name, key = (given["valueFrom"][reference][part] for part in ("name", "key"))
        if (data := objects.data(reference, name)) is not None:
            return FoundVariable(given, data.get(key), is_absent=key not in data)
    return FoundVariable(given)


def _chart(objects: _Objects, release: str, namespace: str) -> FoundChart | None:
    """The HelmChart that made this release; None where there is none, or where k3s' kinds are not known."""
    for raw in decoder(_List).decode(objects.get(f"{_HELM}/helmcharts") or b"{}").items:
        meta = raw["metadata"]
        if (meta["name"], (raw.get("spec") or {}).get("targetNamespace") or meta["namespace"]) == (release, namespace):
            path = f"{_HELM}/namespaces/{segment(meta['namespace'])}/helmchartconfigs/{segment(release)}"
            return FoundChart(meta["namespace"], release, has_config=objects.get(path) not in (None, b"{}"))
    return None
