"""Manifests of Kubernetes as people write them, in YAML or JSON: the Services of type LoadBalancer, and the annotations
that other documents have for one."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from actuators.http.decoding import in_words
from actuators.wire.service import ClaimSpec, claim_of
from desired.annotations.claims import Claim
from desired.annotations.options import BadAnnotation
from desired.annotations.warnings import AnnotationWarning
from desired.model.serving import Serving
from desired.syntax.bounds import shown_text
from reconciler.observe.carried_annotations import Carried, Walk, sorted_out
from reconciler.observe.yaml_documents import documents

_DEEPEST = 2
"""How deeply lists may be nested; with aliases YAML can say so much that reading it would not end."""
_UNREAD = (
    "ConfigMap",
    "CronJob",
    "DaemonSet",
    "Deployment",
    "Ingress",
    "IngressClass",
    "Job",
    "Namespace",
    "Node",
    "Pod",
    "Secret",
    "StatefulSet",
)
"""Kinds of Kubernetes of which no Service is made, so that nothing reads their own annotations."""


@dataclass(frozen=True, slots=True)
class FoundService:
    """A Service of type LoadBalancer that is served here."""

    document: int
    """Counted from 1."""
    item: int | None
    """Of a list, counted from 1; None outside of one."""
    namespace: str | None
    name: str
    claim: Claim | None
    """None when nothing can be said of it, because what it is in cannot be decoded."""
    malformed: tuple[BadAnnotation, ...] = ()
    """What the API server would not take."""
    not_judged: tuple[AnnotationWarning, ...] = ()
    """Annotations that are filled in later, and are not in ``claim``."""


@dataclass(frozen=True, slots=True)
class FoundAnnotations:
    """Annotations of ours in one place of a document that is no Service to judge."""

    document: int
    """Counted from 1."""
    item: int | None
    """Of a list, counted from 1; None outside of one."""
    kind: str | None
    """None when the document is no object of Kubernetes', such as Helm's values."""
    namespace: str | None
    name: str | None
    carried: Carried
    unread: AnnotationWarning | None = None
    """The reason why nothing reads them; None when a Service may get them."""


class _Meta(msgspec.Struct):
    name: str | None = None
    namespace: str | None = None


class _Service(msgspec.Struct):
    spec: ClaimSpec
    metadata: _Meta = msgspec.field(default_factory=_Meta)


def read_manifests(data: bytes, serving: Serving) -> Iterator[FoundService | FoundAnnotations]:
    """The Services in a text of one or several documents of this class, or without one, and the annotations of ours
    that its other documents have, in their order; everything else is passed over.

    Raises NotManifests where the text ends to be readable; what came before has been yielded then.
    """
    for number, document in documents(data):
        walk = Walk()
        for item, manifest in _unlisted(document, {}):
            service = _service(manifest, number, item, serving)
            if service is not None:
                yield service
                continue
            kind, namespace, name = _identity(manifest)
            for carried in walk.carried(manifest):
                yield FoundAnnotations(number, item, kind, namespace, name, carried, _unread(manifest, carried.path))


def _identity(manifest: Any) -> tuple[str | None, str | None, str | None]:
    """Kind, namespace and name of an object, each None when it has none."""
    if not isinstance(manifest, Mapping) or not isinstance(manifest.get("kind"), str):
        return None, None, None
    metadata = manifest.get("metadata")
    named = metadata if isinstance(metadata, Mapping) else {}
    namespace, name = (given if isinstance(given := named.get(key), str) else None for key in ("namespace", "name"))
    return manifest["kind"], namespace, name


def _unread(manifest: Any, key: str) -> AnnotationWarning | None:
    """The reason why nothing reads the annotations at the path ``key``; None when something may: a patch of a Service
    has no type, and what operators do with those of their objects is not known."""
    kind = manifest.get("kind") if isinstance(manifest, Mapping) else None
    if kind in _UNREAD and key.endswith("metadata.annotations") and ": " not in key:
        text = f"{key} has no effect: the object is of kind {kind}, and those of Services alone are read"
        return AnnotationWarning(key, text)
    spec = manifest.get("spec") if kind == "Service" and key == "metadata.annotations" else None
    if not isinstance(spec, Mapping) or manifest.get("apiVersion", "v1") != "v1":
        return None
    if isinstance(given := spec.get("loadBalancerClass"), str):
        text = f"{key} has no effect here: spec.loadBalancerClass is {shown_text(given)}, another controller's"
        return AnnotationWarning(key, text)
    if isinstance(given := spec.get("type"), str) and given != "LoadBalancer":
        text = f"{key} has no effect: spec.type is {shown_text(given)}, and only LoadBalancer has a load balancer"
        return AnnotationWarning(key, text)
    return None


def _unlisted(document: Any, entered: dict[int, Any], depth: int = 0) -> Iterator[tuple[int | None, Any]]:
    """The manifest itself, or those in a list of them with their number; of a list in ``entered`` none once more."""
    is_list = isinstance(document, Mapping) and document.get("kind") in ("List", "ServiceList")
    items = document.get("items") if is_list else None
    if not isinstance(items, list) or depth >= _DEEPEST:
        yield None, document
        return
    if id(document) in entered:
        return
    entered[id(document)] = document
    typed = document.get("kind") == "ServiceList"
    for number, item in enumerate(items, 1):
        if typed and isinstance(item, Mapping):
            yield number, {"kind": "Service", **item}
        else:
            for _, manifest in _unlisted(item, entered, depth + 1):
                yield number, manifest


def _service(manifest: Any, document: int, item: int | None, serving: Serving) -> FoundService | None:
    """The Service; None when it is none, or needs no load balancer of ours."""
    if not isinstance(manifest, Mapping) or manifest.get("kind") != "Service":
        return None
    spec = manifest.get("spec")
    if not isinstance(spec, Mapping) or manifest.get("apiVersion", "v1") != "v1":
        return None
    if spec.get("type") != "LoadBalancer" or spec.get("loadBalancerClass") != serving.balancer_class:
        return None
    metadata = manifest.get("metadata")
    name = metadata.get("name") if isinstance(metadata, Mapping) else None
    name = name if isinstance(name, str) and name else "(no name)"
    found = FoundService(document, item, None, name, None)
    try:
        service = msgspec.convert(manifest, _Service)
    except msgspec.ValidationError as error:
        return replace(found, malformed=(BadAnnotation("manifest", f"the manifest is no Service: {in_words(error)}"),))
    given = metadata.get("annotations") if isinstance(metadata, Mapping) else None
    if not isinstance(given, Mapping):
        what = "metadata.annotations"
        malformed = () if given is None else (BadAnnotation(what, f"{what} is no mapping of keys to texts"),)
        claim = claim_of(service.spec, {})
        return replace(found, namespace=service.metadata.namespace, claim=claim, malformed=malformed)
    sorted_ = sorted_out({key: value for key, value in given.items() if isinstance(key, str)})
    return replace(
        found,
        namespace=service.metadata.namespace,
        claim=claim_of(service.spec, sorted_.annotations),
        malformed=sorted_.malformed,
        not_judged=sorted_.not_judged,
    )
