"""Manifests of Kubernetes as people write them: reads the Services of type LoadBalancer in YAML or JSON."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import msgspec
import yaml
from yaml.reader import ReaderError

from actuators.http.decoding import in_words
from desired.annotations.claims import Claim
from desired.annotations.options import BadAnnotation
from reconciler.observe.services import ClaimSpec, claim_of

_KINDS: Mapping[type, str] = MappingProxyType(
    {
        type(None): "nothing",
        bool: "a boolean",
        int: "a number",
        float: "a number",
        list: "a list",
        dict: "a mapping",
        bytes: "binary data",
    }
)
"""Type of a value in YAML → the word for it. Others are dates and times."""
_DEEPEST = 2
"""How deeply lists may be nested; with aliases YAML can say so much that reading it would not end."""


class NotManifests(Exception):
    """The text, or the rest of it, is neither YAML nor JSON. ``document`` is the first one that is missing."""

    def __init__(self, document: int, why: str) -> None:
        super().__init__(why)
        self.document = document


@dataclass(frozen=True, slots=True)
class FoundService:
    """A Service of type LoadBalancer that no other controller owns."""

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


class _Meta(msgspec.Struct):
    name: str | None = None
    namespace: str | None = None


class _Service(msgspec.Struct):
    spec: ClaimSpec
    metadata: _Meta = msgspec.field(default_factory=_Meta)


def read_services(data: bytes) -> Iterator[FoundService]:
    """The Services in a text of one or several documents, in their order; everything else is passed over.

    Raises NotManifests where the text ends to be readable; what came before has been yielded then.
    """
    for number, document in _documents(data):
        for item, manifest in _unlisted(document):
            if (found := _service(manifest, number, item)) is not None:
                yield found


def _documents(data: bytes) -> Iterator[tuple[int, Any]]:
    if data.lstrip()[:1] in (b"{", b"["):
        try:
            yield 1, json.loads(data)
        except (ValueError, RecursionError):
            pass  # flow style is YAML too, and YAML's complaint has the better words
        else:
            return
    number = 1
    try:
        for document in yaml.safe_load_all(data):  # libyaml would be faster, and dies of too much depth
            yield number, document
            number += 1
    except yaml.YAMLError as error:
        raise NotManifests(number, _complaint(error)) from error
    except RecursionError as error:
        raise NotManifests(number, "cannot be read as YAML: it is nested too deeply") from error
    except (ValueError, TypeError, LookupError, AttributeError) as error:  # what a tag says and its value is not
        raise NotManifests(number, f"cannot be read as YAML: {_bad_value(error)}") from error


def _bad_value(error: Exception) -> str:
    """What is wrong with a value: what the calendar says of a date has words for people, other complaints have not."""
    is_date = isinstance(error, ValueError) and "literal" not in str(error) and "convert" not in str(error)
    return str(error) if is_date else "a value is not what its tag says"


def _complaint(error: yaml.YAMLError) -> str:
    if isinstance(error, ReaderError):
        return "cannot be read as YAML: it has bytes or characters that are no text in UTF-8"
    mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
    if problem == "found unhashable key":
        problem = "a key is a list or a mapping, as in a template that is not rendered"
    if mark is None or not problem:
        return f"cannot be read as YAML: {' '.join(str(error).split())}"
    return f"cannot be read as YAML: line {mark.line + 1}, column {mark.column + 1}: {problem}"


def _unlisted(document: Any, depth: int = 0) -> Iterator[tuple[int | None, Any]]:
    """The manifest itself, or those in a list of them with their number."""
    is_list = isinstance(document, Mapping) and document.get("kind") in ("List", "ServiceList")
    items = document.get("items") if is_list else None
    if not isinstance(items, list):
        yield None, document
        return
    typed = document.get("kind") == "ServiceList"
    for number, item in enumerate(items, 1):
        if typed and isinstance(item, Mapping):
            yield number, {"kind": "Service", **item}
        elif depth < _DEEPEST:
            for _, manifest in _unlisted(item, depth + 1):
                yield number, manifest


def _service(manifest: Any, document: int, item: int | None) -> FoundService | None:
    """The Service; None when it is none, or needs no load balancer of ours."""
    if not isinstance(manifest, Mapping) or manifest.get("kind") != "Service":
        return None
    spec = manifest.get("spec")
    if manifest.get("apiVersion", "v1") != "v1" or not isinstance(spec, Mapping):
        return None
    if spec.get("type") != "LoadBalancer" or spec.get("loadBalancerClass") is not None:
        return None
    metadata = manifest.get("metadata")
    name = metadata.get("name") if isinstance(metadata, Mapping) else None
    found = FoundService(document, item, None, str(name or "(no name)"), None)
    try:
        service = msgspec.convert(manifest, _Service)
    except msgspec.ValidationError as error:
        return replace(found, malformed=(BadAnnotation("manifest", f"the manifest is no Service: {in_words(error)}"),))
    annotations, malformed = _annotations(metadata)
    claim = claim_of(service.spec, annotations)
    return replace(found, namespace=service.metadata.namespace, claim=claim, malformed=malformed)


def _annotations(metadata: Any) -> tuple[Mapping[str, str], tuple[BadAnnotation, ...]]:
    """Annotations as they would be if every value were quoted, and what is not."""
    given = metadata.get("annotations") if isinstance(metadata, Mapping) else None
    if given is None:
        return {}, ()
    if not isinstance(given, Mapping):
        return {}, (BadAnnotation("metadata.annotations", "metadata.annotations is no mapping of keys to texts"),)
    texts: dict[str, str] = {}
    malformed = []
    for key, value in given.items():
        if isinstance(value, str):
            texts[str(key)] = value
            continue
        text = "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
        what, remedy = _KINDS.get(type(value), "a time"), f'put it in quotes, as in "{text[:80]}"'
        if isinstance(value, Mapping | list):
            remedy = "write one text in quotes"
        malformed.append(BadAnnotation(str(key), f"{key} is {what} and no text: {remedy}"))
        if isinstance(value, bool | int | float):
            texts[str(key)] = text
    return texts, tuple(malformed)
