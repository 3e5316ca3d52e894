"""Annotations of a Service that something else makes: what charts, patches and operators' objects carry for it.

They are found by their keys, wherever a document has them: in a mapping, in a list of names with values (parameters of
Argo CD) or of operations on paths (JSON 6902), and in texts that are YAML or JSON themselves.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from desired.annotations.options import OWN_PREFIX, PREFIX, BadAnnotation
from desired.annotations.port_keys import is_of_port, is_ours
from desired.annotations.warnings import AnnotationWarning
from desired.syntax.bounds import LONGEST_LABEL_KEY, shown_text
from reconciler.observe.yaml_documents import KINDS, NotManifests, documents, text_of

_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
"""What kubectl remembers of an object, which stands in its manifest a second time."""
_MOST_TEXT = 1024 * 1024
"""Characters of texts within a document that are read: as much as a ConfigMap has room for."""
_DEEPEST = 3
"""How deeply texts may be in texts."""
_LONGEST_PATH = 1024
"""Characters of a text that may be the path to a key, or that are repeated of a place."""
_HOSTS = rf"(?:{re.escape(PREFIX[:-1])}|(?:port-\w*\.)?{re.escape(OWN_PREFIX[:-1])})".replace(r"\.", r"\\*\.")
"""What is before the slash of our keys, of those of ports as well; Helm's paths have backslashes before its dots."""
_MENTIONED = re.compile(rf"{_HOSTS}(?:/|~1)")
_KEY_AT_END = re.compile(
    rf"""(?P<before>|\S*?[.'"\[])(?P<host>{_HOSTS})/(?P<name>[^/'"\[\]=:\s]+)(?P<after>['"\]]*)""", re.DOTALL
)
"""A key, alone or as the last of a path that has dots, as ``helm --set`` and ``fieldPaths`` write it."""
_POINTER_AT_END = re.compile(rf"(?P<before>/.*/|/)(?P<host>{_HOSTS})~1(?P<name>[^/\s]+)", re.DOTALL)
"""A key as the last of a JSON pointer (RFC 6901)."""
_ASSIGNED = re.compile(
    rf"""^(?![ \t]*\#).*?(?P<key>
    (?<![^\s'".\[]) {_HOSTS}/[^/\s'"=:\]\\]{{1,63}} (?=['"\]\\]{{0,4}} (?:=|:(?:\s|$)))
    | {_HOSTS}~1\S{{1,63}}
    )""",
    re.MULTILINE | re.VERBOSE,
)
"""A line that gives a key a value, in whatever language, and is no comment of YAML's or a shell's."""
_FILLED_IN = re.compile(r"\{\{|\$\{|\$\(|\AENC\[")
"""Begin of what Helm, Flux, envsubst, Kustomize or SOPS put something else for."""
_PLAIN = re.compile(r"[\w-]+", re.ASCII)


class NamedKey(NamedTuple):
    """A key of ours, and the path that leads to it in a text."""

    before: str
    key: str


@dataclass(frozen=True, slots=True)
class Carried:
    """The annotations of one place."""

    path: str
    """From the top of the document, as in ``spec.valuesContent: controller.service.annotations``: a colon is before
    what is inside of a text. Empty at the top."""
    annotations: Mapping[str, str] = field(default_factory=dict)
    """As they would be if every value were in quotes. Without those in ``not_judged``."""
    malformed: tuple[BadAnnotation, ...] = ()
    """What the API server would not take."""
    not_judged: tuple[AnnotationWarning, ...] = ()
    """What nothing can be said of offline, with the reason."""


class Walk:
    """A walk through one document, which ends however its parts contain each other: each is entered once."""

    def __init__(self) -> None:
        self._entered: dict[int, Any] = {}  # kept, so that no id is given twice
        self._text_left = _MOST_TEXT

    def carried(self, manifest: object) -> Iterator[Carried]:
        """The places of ``manifest`` that have annotations of ours, in their order."""
        ahead = [_Spot(manifest, None, 0)]
        while ahead:
            spot = ahead.pop()
            if id(spot.value) in self._entered:
                continue
            self._entered[id(spot.value)] = spot.value
            if isinstance(spot.value, str):
                found, below = self._in_text(spot)
            elif isinstance(spot.value, Mapping):
                found, below = _in_mapping(spot)
            elif isinstance(spot.value, list | tuple):
                found, below = _in_list(spot)
            else:
                continue
            yield from found
            ahead += reversed(below)

    def _in_text(self, spot: "_Spot") -> tuple[list[Carried], list["_Spot"]]:
        text: str = spot.value
        if len(text) > self._text_left or spot.depth >= _DEEPEST:
            return _unread(spot, "is too long, or too deep in other texts"), []
        self._text_left -= len(text)
        structured: list[_Spot] = []
        why = "is not YAML, as a script"
        try:
            for _, document in documents(text):
                if isinstance(document, Mapping | list):
                    structured.append(_Spot(document, (spot.place, ": "), spot.depth + 1))
        except NotManifests as error:
            why = "is a template that is not rendered" if _FILLED_IN.search(text) else str(error)
            return _unread(spot, why), structured
        return [] if structured else _unread(spot, why), structured


class _Spot(NamedTuple):
    """A part of a document that is still to be entered."""

    value: Any
    place: Any
    """None at the top; else the place around it, and the step from there as text."""
    depth: int
    """In how many texts it is."""


def sorted_out(values: Mapping[str, object], path: str = "") -> Carried:
    """Annotations with the values that they have in YAML, by what can be said of them."""
    texts: dict[str, str] = {}
    malformed: list[BadAnnotation] = []
    not_judged: list[AnnotationWarning] = []
    for key, value in values.items():
        if is_ours(key) and (why := _filled_in(key, value)) is not None:
            not_judged.append(AnnotationWarning(key, f"not checked: {why}"))
            continue
        text, problem = text_of(key, value)
        if problem is not None:
            malformed.append(problem)
        if text is not None:
            texts[key] = text
    return Carried(path, texts, tuple(malformed), tuple(not_judged))


def _filled_in(key: str, value: object) -> str | None:
    """The reason why the annotation is not known before a template is rendered; None when it is."""
    if _FILLED_IN.search(key):
        return f"{shown_text(key)} is filled in later"
    if isinstance(value, str) and _FILLED_IN.search(value):
        return f"{key} is {shown_text(value)}, which is filled in later"
    return None


def named_key(text: str) -> NamedKey | None:
    """The key of ours at the end of a text that is a path, or the key alone; None when it is none."""
    if text.startswith((PREFIX, OWN_PREFIX)) or (is_of_port(text) and "\\" not in text):
        return NamedKey("", text)
    if len(text) > _LONGEST_PATH or not _MENTIONED.search(text):
        return None
    found = _KEY_AT_END.fullmatch(text) or _POINTER_AT_END.fullmatch(text)
    if found is None:
        return None
    host, name = found["host"].replace("\\", ""), found["name"].replace("~1", "/").replace("~0", "~")
    return NamedKey(found["before"].rstrip("./[\"'"), f"{host}/{name}")


def _in_mapping(spot: _Spot) -> tuple[list[Carried], list[_Spot]]:
    groups: defaultdict[str, dict[str, object]] = defaultdict(dict)
    below = []
    for key, value in spot.value.items():
        named = named_key(key) if isinstance(key, str) else None
        if named is not None:
            groups[named.before][named.key] = value
        elif key != _APPLIED and _is_entered(value):
            below.append(_Spot(value, (spot.place, _step(key)), spot.depth))
    return _groups(spot, groups), below


def _in_list(spot: _Spot) -> tuple[list[Carried], list[_Spot]]:
    groups: defaultdict[str, dict[str, object]] = defaultdict(dict)
    below = []
    for index, value in enumerate(spot.value):
        named = _of_entry(value) if isinstance(value, Mapping) else None
        if named is None and _is_entered(value):
            below.append(_Spot(value, (spot.place, f"[{index}]"), spot.depth))
        elif named is not None and "value" in value and value.get("op") not in ("remove", "test"):
            groups[named.before][named.key] = value["value"]
    return _groups(spot, groups), below


def _of_entry(entry: Mapping[Any, Any]) -> NamedKey | None:
    """The key that an operation of a JSON patch, or a name with its value, is about."""
    name = entry.get("path") if "op" in entry else entry.get("name", entry.get("key")) if "value" in entry else None
    return named_key(name) if isinstance(name, str) else None


def _groups(spot: _Spot, groups: Mapping[str, Mapping[str, object]]) -> list[Carried]:
    """What a mapping or a list has of ours, by the path that the keys name besides."""
    found = []
    for before, values in groups.items():
        known: dict[str, object] = {}
        not_judged = []
        for key, value in values.items():
            if (why := _no_annotation(spot, key, value)) is None:
                known[key] = value
            elif why:
                not_judged.append(AnnotationWarning(key, f"not checked: {key} {why}"))
        place = _shown_place((spot.place, f": {before}") if before else spot.place)
        carried = sorted_out(known, place)
        if known or not_judged:
            found.append(replace(carried, not_judged=(*carried.not_judged, *not_judged)))
    return found


def _no_annotation(spot: _Spot, key: str, value: object) -> str | None:
    """The reason why the key sets no annotation where it stands; "" when there is nothing to say of it. None when it
    does set one."""
    if spot.place is not None and spot.place[1].lower().endswith("labels"):
        return "is a label here, and read as an annotation alone" if key.startswith(PREFIX) else ""
    if value is None:
        return "has no value: it is removed where values are merged, as by Helm and patches"
    return f"is {KINDS[type(value)]} here, and not set" if isinstance(value, dict | list) else None


def _unread(spot: _Spot, why: str) -> list[Carried]:
    """A text that is not read, and yet names or sets an annotation of ours; nothing when it only mentions one."""
    path = _shown_place(spot.place)
    named = named_key(spot.value.strip())
    if named is not None and named.before:
        text = f"not checked: {path or 'the text'} leads to {named.key}, whose value is elsewhere"
        return [Carried(path, not_judged=(AnnotationWarning(named.key, text),))]
    assigned = _ASSIGNED.search(spot.value)
    if assigned is None:
        return []
    key = assigned["key"].replace("\\", "").replace("~1", "/")
    text = f"not checked: {path or 'the text'} sets {key}, and {why}"
    return [Carried(path, not_judged=(AnnotationWarning(key, text),))]


def _is_entered(value: object) -> bool:
    return isinstance(value, Mapping | list | tuple) or (isinstance(value, str) and bool(_MENTIONED.search(value)))


def _step(key: object) -> str:
    """The step to the value of a key."""
    if isinstance(key, str):
        shown = key if len(key) <= LONGEST_LABEL_KEY.most else f"{key[: LONGEST_LABEL_KEY.most]}..."
        return f".{key}" if _PLAIN.fullmatch(shown) else f'["{shown}"]'
    return f"[{key}]" if isinstance(key, bool) or key is None else f"[{type(key).__name__}]"


def _shown_place(place: Any) -> str:
    """The path to a place; of one that is too long the end."""
    steps: list[str] = []
    length = 0
    while place is not None and length <= _LONGEST_PATH:
        place, step = place
        steps.append(step)
        length += len(step)
    path = (
        "".join(reversed(steps))
        .replace(": .", ": ")
        .replace(": : ", ": ")
        .removeprefix(".")
        .removeprefix(": ")
        .removesuffix(": ")
    )
    return path if place is None and length <= _LONGEST_PATH else f"...{path[-_LONGEST_PATH:]}"
