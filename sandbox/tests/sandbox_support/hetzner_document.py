"""The schemas of requests and answers in Hetzner's OpenAPI document, without its prose."""

import json
import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

_PROSE = {"default", "deprecated", "description", "example", "examples", "externalDocs", "summary", "title"}
_ID_OR_NAME = {"image", "iso", "load_balancer_type", "location", "server_type"}
_WORTH = 80
"""Characters of JSON from which on a schema that occurs twice has a place of its own."""


def _without_prose(schema: Any, *, is_named: bool = False) -> Any:
    """A schema with what decides whether a value is valid; ``is_named``: its keys are names of properties."""
    if isinstance(schema, dict):
        kept = {key: part for key, part in schema.items() if is_named or (key not in _PROSE and key[:2] != "x-")}
        return {key: _without_prose(part, is_named=key == "properties" and not is_named) for key, part in kept.items()}
    return [_without_prose(part) for part in schema] if isinstance(schema, list) else schema


def _without_required(schema: Any) -> Any:
    if isinstance(schema, dict):
        return {key: _without_required(part) for key, part in schema.items() if key != "required"}
    return [_without_required(part) for part in schema] if isinstance(schema, list) else schema


def _with_ids(schema: Any) -> Any:
    """What the document calls "ID or name" as text or number."""
    for name, part in schema.get("properties", {}).items():
        if name in _ID_OR_NAME:
            part["type"] = ["string", "integer"]
        if name == "ssh_keys":
            part["items"]["type"] = ["string", "integer"]
    return schema


def _amend(paths: Mapping[str, Any]) -> None:
    """Correct what the schemas say and the service is known not to do.

    - A service of a load balancer needs few of its members. Clients leave out the others: hcloud-go sends none that is
      not set, and the vendor's tests against the live API add a service without health check.
    - Where an ID or a name may stand, as the document says in words, hcloud-python sends an ID as a number.
    - hcloud-go sorts and pages ``GET /actions`` as other lists of actions.
    """
    of_balancers, actions = "/load_balancers/{id}/actions", paths.get("/actions")
    for path in (f"{of_balancers}/add_service", f"{of_balancers}/update_service"):
        paths[path]["post"]["request"] = _without_required(paths[path]["post"]["request"])
    services = paths["/load_balancers"]["post"]["request"]["properties"]
    services["services"] = _without_required(services["services"])
    for methods in paths.values():
        for operation in methods.values():
            _with_ids(operation["request"] or {})
    if actions:
        actions["get"]["query"] = {**paths["/servers/actions"]["get"]["query"], **actions["get"]["query"]}


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


def _errors(description: str) -> dict[str, int]:
    """The codes in a table of errors, with their statuses; 0 where it has none."""
    rows = re.findall(r"^\| *(?:`(\d{3})`)? *\| *`([a-z]\w+)` *\|", description, re.MULTILINE)
    return {code: int(status or 0) for status, code in rows}


def _json_schema(content: Mapping[str, Any]) -> Any:
    """The schema of a body, None when it has none."""
    schema = content.get("content", {}).get("application/json", {}).get("schema")
    return None if schema is None else _without_prose(schema)


def schemas_of(document: Mapping[str, Any], date: str) -> dict[str, Any]:
    """``paths``: template → method → ``operation`` (id), ``tag``, ``errors`` (code → status, 0 for none), ``request``
    (schema, None for no body), ``query`` (name → schema) and ``answers`` (status → schema, None for no body);
    ``errors`` of any operation; ``$defs``: what occurs more than once, kept once; ``date``.
    """
    paths: dict[str, Any] = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            given = [parameter for parameter in operation.get("parameters", ()) if parameter["in"] == "query"]
            paths.setdefault(path, {})[method] = {
                "operation": operation["operationId"],
                "tag": operation["tags"][0],
                "errors": _errors(operation.get("description", "")),
                "request": _json_schema(operation.get("requestBody", {})),
                "query": {parameter["name"]: _without_prose(parameter["schema"]) for parameter in given},
                "answers": {status: _json_schema(answer) for status, answer in operation["responses"].items()},
            }
    _amend(paths)
    counts: Counter[str] = Counter()
    _counted(paths, counts)
    places: dict[str, tuple[str, Any]] = {}
    paths = _shared(paths, counts, places)
    errors = _errors(document["info"]["description"])
    return {"date": date, "errors": errors, "$defs": dict(places.values()), "paths": paths}


def written(schemas: Mapping[str, Any]) -> str:
    """The file that is kept: a schema a line."""
    parts = (
        f'"{part}": {{\n'
        + ",\n".join(f'"{name}": {_text_of(schema)}' for name, schema in schemas[part].items())
        + "\n}"
        for part in ("$defs", "paths")
    )
    head = f'{{"date": "{schemas["date"]}",\n"errors": {_text_of(schemas["errors"])},\n'
    return head + ",\n".join(parts) + "}\n"
