"""The response schemas in Hetzner's OpenAPI document, without its prose."""

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

_PROSE = {"default", "deprecated", "description", "example", "examples", "externalDocs", "summary", "title"}
_WORTH = 80
"""Characters of JSON from which on a schema that occurs twice has a place of its own."""


def _without_prose(schema: Any, *, is_named: bool = False) -> Any:
    """A schema with what decides whether an answer is valid; ``is_named``: its keys are names of properties."""
    if isinstance(schema, dict):
        kept = {key: part for key, part in schema.items() if is_named or (key not in _PROSE and key[:2] != "x-")}
        return {key: _without_prose(part, is_named=key == "properties" and not is_named) for key, part in kept.items()}
    return [_without_prose(part) for part in schema] if isinstance(schema, list) else schema


def _text_of(schema: Any) -> str:
    return json.dumps(schema, sort_keys=True)


def _is_schema(found: Any) -> bool:
    """Whether this is a schema, and not properties of which one is named type."""
    return isinstance(found, dict) and isinstance(found.get("type"), str | list)


def _counted(schema: Any, counts: Counter[str]) -> None:
    if _is_schema(schema):
        counts[_text_of(schema)] += 1
    for part in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ():
        _counted(part, counts)


def _shared(schema: Any, counts: Counter[str], places: dict[str, tuple[str, Any]]) -> Any:
    """A schema in which those that occur more than once are references; ``places``: text → name and schema."""
    if isinstance(schema, list):
        return [_shared(part, counts, places) for part in schema]
    if not isinstance(schema, dict):
        return schema
    text = _text_of(schema)
    if text in places:
        return {"$ref": f"urn:hetzner#/$defs/{places[text][0]}"}
    whole = {key: _shared(part, counts, places) for key, part in schema.items()}
    if not _is_schema(schema) or counts[text] < 2 or len(text) < _WORTH:
        return whole
    places[text] = (str(len(places) + 1), whole)
    return {"$ref": f"urn:hetzner#/$defs/{places[text][0]}"}


def schemas_of(document: Mapping[str, Any], date: str) -> dict[str, Any]:
    """``paths``: template → method → status → schema, None for an answer without a body; ``$defs``: what occurs more
    than once, kept once; ``date``."""
    paths: dict[str, Any] = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            answers = paths.setdefault(path, {}).setdefault(method, {})
            for status, answer in operation["responses"].items():
                schema = answer.get("content", {}).get("application/json", {}).get("schema")
                answers[status] = None if schema is None else _without_prose(schema)
    counts: Counter[str] = Counter()
    _counted(paths, counts)
    places: dict[str, tuple[str, Any]] = {}
    paths = _shared(paths, counts, places)
    return {"date": date, "$defs": dict(places.values()), "paths": paths}


def written(schemas: Mapping[str, Any]) -> str:
    """The file that is kept: a schema a line."""
    parts = (
        f'"{part}": {{\n'
        + ",\n".join(f'"{name}": {_text_of(schema)}' for name, schema in schemas[part].items())
        + "\n}"
        for part in ("$defs", "paths")
    )
    return f'{{"date": "{schemas["date"]}",\n' + ",\n".join(parts) + "}\n"
