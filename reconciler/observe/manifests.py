"""Manifests of Kubernetes as people write them, in YAML or JSON: Services of type LoadBalancer, and annotations of ours
elsewhere.

Outside of Services every mapping with our keys is found, also in a text that is YAML. Other forms, as paths of patches,
are told and not judged.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import msgspec

from actuators.http.decoding import in_words
from actuators.wire.service import ClaimSpec, claim_of
from desired.annotations.claims import Claim
from desired.annotations.options import PREFIX, BadAnnotation
from desired.annotations.port_keys import is_ours
from desired.annotations.warnings import AnnotationWarning
from desired.model.serving import Serving
from desired.syntax.bounds import shown_text
from reconciler.observe.yaml_documents import KINDS, NotManifests, documents, text_of

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
_COPIES = ("kubectl.kubernetes.io/last-applied-configuration", "managedFields")
"""Keys of copies of an object within its manifest."""
_MOST_TEXT = 1024 * 1024
"""Characters of texts that are read in an object: the room of a ConfigMap."""
_HOSTS = r"(?:load-balancer\\*\.hetzner\\*\.cloud|hcloud-reconciler)(?:/|~1)"
_NAMED = re.compile(
    rf"""{_HOSTS}[^/\s"'=:\]\\]+ (?:\\*["']\s*[:=] | \s*:(?:\s|$) | =)
    | annotations[./][^\s/]*{_HOSTS}
    | [./]load-balancer\\*\.hetzner\\*\.cloud(?:/|~1)[^/\s]+$""",
    re.MULTILINE | re.VERBOSE,
)
"""A text that sets one of our annotations, or is a path to one, as ``helm --set`` and JSON pointers (RFC 6901) are."""
_FILLED_IN = re.compile(r"\{\{|\$\{|\$\(|\AENC\[")
"""Begin of a text that Helm, Flux, envsubst, Kustomize or SOPS replaces."""
_OUTSIDE = "names an annotation in another form than a mapping of keys to values"
_LONGEST_STEP = 80
"""Characters of a key that are repeated in a path."""


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
    path: str
    """From the top of the document; a colon is before the inside of a text, as in ``spec.valuesContent: service``."""
    annotations: Mapping[str, str] = field(default_factory=dict)
    """As they would be in quotes."""
    malformed: tuple[BadAnnotation, ...] = ()
    """Values that the API server would not take."""
    not_judged: tuple[AnnotationWarning, ...] = ()
    """Annotations of which nothing can be said offline, with the reason."""
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
        entered: dict[int, Any] = {}
        for item, manifest in _unlisted(document, {}):
            service = _service(manifest, number, item, serving)
            if service is not None:
                yield service
                continue
            kind, namespace, name = _identity(manifest)
            for path, found in _places(manifest, entered):
                where = (number, item, kind, namespace, name, path)
                if isinstance(found, str):
                    why = AnnotationWarning(path, f"not checked: {path or 'the text'} {found}")
                    yield FoundAnnotations(*where, not_judged=(why,))
                else:
                    yield FoundAnnotations(*where, *_sorted_out(found), _unread(manifest, path))


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
    if _are_labels(key):
        return AnnotationWarning(key, f"{key} has no effect: annotations alone are read, not labels", is_unread=True)
    if kind in _UNREAD and key.endswith("metadata.annotations") and ": " not in key:
        text = f"{key} has no effect: the object is of kind {kind}, and those of Services alone are read"
        return AnnotationWarning(key, text, is_unread=True)
    spec = manifest.get("spec") if kind == "Service" and key == "metadata.annotations" else None
    if not isinstance(spec, Mapping) or manifest.get("apiVersion", "v1") != "v1":
        return None
    if isinstance(given := spec.get("loadBalancerClass"), str):
        text = f"{key} has no effect here: spec.loadBalancerClass is {shown_text(given)}, another controller's"
        return AnnotationWarning(key, text)
    if isinstance(given := spec.get("type"), str) and given != "LoadBalancer":
        text = f"{key} has no effect: spec.type is {shown_text(given)}, and only LoadBalancer has a load balancer"
        return AnnotationWarning(key, text, is_unread=True)
    return None


def _places(manifest: Any, entered: dict[int, Any]) -> Iterator[tuple[str, Mapping[str, object] | str]]:
    """Path of each mapping with annotations of ours → these, and of each text that is not read → the reason.

    Each part is entered once, however its parts contain each other: ``entered`` keeps those that were, by their id.
    """
    ahead: list[tuple[_Place | None, Any]] = [(None, manifest)] if isinstance(manifest, Mapping | list | str) else []
    text_left = _MOST_TEXT
    while ahead:
        place, value = ahead.pop()
        if id(value) in entered:
            continue
        entered[id(value)] = value
        below: list[tuple[_Place | None, Any]] = []
        if isinstance(value, Mapping):
            found, below = _in_mapping(place, value)
            yield from found
        elif isinstance(value, list | tuple):
            below = [(_Place(place, f"[{index}]"), each) for index, each in enumerate(value)]
        elif _NAMED.search(value):
            text_left -= len(value)
            inside, why = _inside(value) if text_left >= 0 else ([], "is too long")
            yield from [(_shown(place), why)] if why else []
            below = [(_Place(place, ": "), each) for each in inside if not isinstance(each, str)]
        ahead += [each for each in reversed(below) if isinstance(each[1], Mapping | list | tuple | str)]


def _in_mapping(
    place: "_Place | None", values: Mapping[Any, Any]
) -> tuple[list[tuple[str, Mapping[str, object] | str]], list[tuple["_Place | None", Any]]]:
    """The findings of a mapping itself, and its parts."""
    ours = {key: each for key, each in values.items() if isinstance(key, str) and is_ours(key)}
    others = {key: each for key, each in values.items() if key not in ours and key not in _COPIES}
    told = [key for key in others if isinstance(key, str) and _NAMED.search(key)]
    found: list[tuple[str, Mapping[str, object] | str]] = []
    if any(key.startswith(PREFIX) for key in ours) or (ours and not (place and _are_labels(place.step))):
        found.append((_shown(place), ours))
    found += [(_shown(_Place(place, _step(key))), _OUTSIDE) for key in told]
    return found, [(_Place(place, _step(key)), each) for key, each in others.items() if key not in told]


def _inside(text: str) -> tuple[list[Any], str | None]:
    """The documents in a text, and the reason why they are not all, or nothing but text; None without one."""
    found: list[Any] = []
    try:
        found.extend(each for _, each in documents(text))
    except NotManifests as error:
        return found, "is a template that is not rendered" if _FILLED_IN.search(text) else str(error)
    return found, _OUTSIDE if str in map(type, found) else None


def _are_labels(path: str) -> bool:
    return path.lower().endswith("labels")


class _Place(NamedTuple):
    """A place in a document."""

    around: "_Place | None"
    step: str


def _step(key: object) -> str:
    """The step to the value of a key."""
    shown = key[:_LONGEST_STEP] if isinstance(key, str) else type(key).__name__
    return f'["{shown}"]' if "." in shown or not isinstance(key, str) else f".{shown}"


def _shown(place: _Place | None) -> str:
    """The path to a place from the top of its document."""
    steps: list[str] = []
    while place is not None:
        steps.append(place.step)
        place = place.around
    return "".join(reversed(steps)).replace(": .", ": ").strip(": ").removeprefix(".")


def _sorted_out(
    values: Mapping[str, object], *, is_service: bool = False
) -> tuple[Mapping[str, str], tuple[BadAnnotation, ...], tuple[AnnotationWarning, ...]]:
    """Annotations with the values that they have in YAML: as texts, malformed ones, and those that are filled in later.
    Outside of a Service one without a value, or with a mapping, is not set."""
    texts: dict[str, str] = {}
    malformed: list[BadAnnotation] = []
    later: list[AnnotationWarning] = []
    for key, value in values.items():
        given = next((each for each in (key, value) if isinstance(each, str) and _FILLED_IN.search(each)), None)
        if is_ours(key) and given is not None:
            later.append(AnnotationWarning(key, f"not checked: {key} is filled in later: {shown_text(given)}"))
            continue
        if not is_service and (value is None or isinstance(value, dict | list)):
            kind = KINDS[type(value)]
            later.append(AnnotationWarning(key, f"not checked: {key} has {kind} as its value, and is not set"))
            continue
        text, problem = text_of(key, value)
        malformed += [] if problem is None else [problem]
        texts |= {} if text is None else {key: text}
    return texts, tuple(malformed), tuple(later)


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
        none = () if given is None else (BadAnnotation(what, f"{what} is no mapping of keys to texts"),)
        return replace(found, namespace=service.metadata.namespace, claim=claim_of(service.spec, {}), malformed=none)
    texts, malformed, later = _sorted_out(
        {key: value for key, value in given.items() if isinstance(key, str)}, is_service=True
    )
    claim = claim_of(service.spec, texts)
    return replace(found, namespace=service.metadata.namespace, claim=claim, malformed=malformed, not_judged=later)
