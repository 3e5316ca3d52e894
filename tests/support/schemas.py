"""The published JSON schemas: made from the types of the documents, with the words of their docstrings, and read.

A schema describes what this version writes, and no member more. What the types of documents cannot say is in two
tables: which sides a change of each kind has, and what else is known of some of them.
"""

import ast
import inspect
import json
import re
import sys
from collections.abc import Iterator, Mapping
from datetime import datetime
from enum import Enum
from functools import cache
from importlib.resources import files
from ipaddress import IPv4Address, IPv4Network, IPv6Address
from itertools import pairwise
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from msgspec import Meta, UnsetType

from desired.annotations.choices import Algorithm
from desired.model.key import Key
from desired.model.load_balancer import (
    KNOWN_AFTER_APPLY,
    Attachment,
    Identity,
    KnownAfterApply,
    Listener,
    LoadBalancer,
    ManagedCertificate,
    Owner,
    Target,
)
from desired.model.route import ROUTED, UNROUTED, NetworkCondition
from desired.model.service import Ingress
from desired.model.snapshot import NodeAddress
from desired.plan.change import Claimed, LostNode, NodeIdentity, OutOfService
from desired.plan.notes import NOTES, NoteKind
from desired.section import Unmanaged
from reconciler.report.documents import SHOWN, ChangeDocument, ReportDocument, members_of, to_json
from reconciler.report.explanation import ExplanationDocument
from reconciler.report.orphans import OrphansDocument
from reconciler.report.validation import ValidationDocument

Schema = dict[str, Any]

SIDES: Mapping[str, Any] = {
    "node.initialise": NodeIdentity,
    "node.addresses": tuple[NodeAddress, ...],
    "node.labels": Mapping[str, str],
    "node.shutdown_taint": bool,
    "node.out_of_service_taint": OutOfService | bool,
    "node.network_condition": NetworkCondition,
    "node.delete": LostNode,
    "service.claim": bool,
    "service.status": tuple[Ingress, ...] | KnownAfterApply,
    "service.release": Claimed,
    "lb.create": LoadBalancer,
    "lb.adopt": Owner,
    "lb.identity": Identity,
    "lb.type": str,
    "lb.algorithm": Algorithm,
    "lb.rdns": str | KnownAfterApply,
    "lb.network": Attachment,
    "lb.public_interface": bool,
    "lb.listener": Listener,
    "lb.target": Target,
    "lb.retain": Owner,
    "lb.delete": LoadBalancer,
    "certificate.create": ManagedCertificate,
    "route.create": IPv4Address,
    "route.replace": IPv4Address,
    "route.delete": IPv4Address,
}
"""Kind of a change → the type of both of its sides; either may be null."""
_ROUTE: Schema = {"key": {"pattern": "^route/[0-9]+/[0-9.]+/[0-9]+$", "description": "route/NETWORK/DESTINATION."}}
_NARROWER: Mapping[str, Schema] = {
    "node.network_condition": {
        "key": {"pattern": "^node/.+/network$"},
        "after": {"enum": [to_json(ROUTED), to_json(UNROUTED), None]},
    },
    "route.create": _ROUTE,
    "route.replace": _ROUTE,
    "route.delete": _ROUTE,
}
"""Kind of a change → what is known of its members besides."""
_COMPATIBLE = (
    "It says what this version writes. Later versions may have more members: readers ignore those that they do not know"
    " within a major version of format_version."
)
_FORMATS: Mapping[type, Schema] = {
    bool: {"type": "boolean"},
    int: {"type": "integer", "minimum": 0},
    float: {"type": "number"},
    str: {"type": "string"},
    Key: {"type": "string"},
    datetime: {"type": "string", "format": "date-time"},
    IPv4Address: {"type": "string", "format": "ipv4"},
    IPv6Address: {"type": "string", "format": "ipv6"},
    IPv4Network: {"type": "string"},
    NoneType: {"type": "null"},
}
"""Type → its schema. Numbers are ids, ports and counts, and none of these is negative."""


def made() -> Mapping[str, Schema]:
    """File beside ``reconciler/report`` → the schema that follows from the types."""
    return {
        "schema.json": _schema("Plan or report of hcloud-reconciler", ReportDocument),
        "explanation.schema.json": _schema("Explanation of hcloud-reconciler", ExplanationDocument),
        "orphans.schema.json": _schema("Orphans that hcloud-reconciler found", OrphansDocument),
        "validation.schema.json": _schema("Validation by hcloud-reconciler", ValidationDocument),
    }


@cache
def published(file: str) -> Mapping[str, Any]:
    """The schema in a file that the package ships, closed: tests accept no member that it does not know, as what is
    written has to be described. For readers it is open, so that a later version may say more."""
    found: Mapping[str, Any] = closed(json.loads(files("reconciler.report").joinpath(file).read_text("utf-8")))
    return found


def closed(schema: Any) -> Any:
    """The same schema, which accepts no member of an object that it does not name."""
    if isinstance(schema, list):
        return [closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    members = {name: closed(part) for name, part in schema.items()}
    is_open = "properties" in members and "additionalProperties" not in members and members.get("type") == "object"
    return {**members, "additionalProperties": False} if is_open else members


def _schema(title: str, document: type) -> Schema:
    definitions = Definitions()
    return _whole(title, definitions.members(document), definitions)


def _whole(title: str, body: Schema, definitions: "Definitions") -> Schema:
    description = f"{body.pop('description')} {_COMPATIBLE}"
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title, "description": description}
    return {**head, **body, "$defs": dict(sorted(definitions.found.items()))}


class Definitions:
    """The schemas of types, with those that have a name of their own gathered on the way."""

    def __init__(self) -> None:
        self.found: dict[str, Schema] = {}

    def of(self, hint: Any) -> Schema:
        """The schema of a type."""
        hint = SHOWN.get(hint, hint) if isinstance(hint, type) else hint
        origin, arguments = get_origin(hint), get_args(hint)
        if origin is Annotated:
            return self._annotated(*arguments)
        if origin in (Union, UnionType):
            return _any_of([self.of(each) for each in arguments if each not in (UnsetType, Unmanaged)])
        if origin is Literal:
            return {"enum": list(arguments)}
        if origin in (tuple, list, frozenset):
            return {"type": "array", "items": self.of(arguments[0])}
        if isinstance(origin, type) and issubclass(origin, Mapping):
            return {"type": "object", "additionalProperties": self.of(arguments[1])}
        if members_of(hint) or (isinstance(hint, type) and issubclass(hint, Enum)):
            return self._named(hint)
        return _FORMATS[hint]

    def members(self, document: Any) -> Schema:
        """The schema of a dataclass as an object."""
        hints, told = get_type_hints(document, include_extras=True), _docstrings(document)
        properties: Schema = {}
        required = []
        for part, name in members_of(document).items():
            hint = hints[part]
            described = {"description": told[part]} if part in told else {}
            properties[name] = self.of(hint) | described
            if not {UnsetType, Unmanaged} & set(get_args(hint)):
                required.append(name)
        if document is ChangeDocument:
            properties |= {side: {"description": told[side]} for side in ("before", "after")}
        return {
            "description": told[""],
            "type": "object",
            "required": required,
            "properties": properties,
            **({"allOf": list(self._sides())} if document is ChangeDocument else {}),
        }

    def _annotated(self, base: Any, meta: Meta) -> Schema:
        limits = {"pattern": meta.pattern, **(meta.extra_json_schema or {})}
        return {"type": _FORMATS[base]["type"]} | {name: limit for name, limit in limits.items() if limit is not None}

    def _named(self, hint: Any) -> Schema:
        name = hint.__name__
        if name not in self.found:
            self.found[name] = {}
            self.found[name] = _enum(hint) if issubclass(hint, Enum) else self.members(hint)
        return {"$ref": f"#/$defs/{name}"}

    def _sides(self) -> Iterator[Schema]:
        """What the sides of a change are, by its kind."""
        for kind, hint in SIDES.items():
            sides = dict.fromkeys(("before", "after"), self.of(hint | None))
            yield {
                "if": {"properties": {"kind": {"const": kind}}},
                "then": {"properties": sides | _NARROWER.get(kind, {})},
            }


def _any_of(options: list[Schema]) -> Schema:
    """One of several; plain types are joined."""
    plain = [option["type"] for option in options if option.keys() == {"type"}]
    others = [option for option in options if option.keys() != {"type"}]
    joined = [{"type": plain[0] if len(plain) == 1 else plain}] if plain else []
    if len(others) == 1 and plain == ["null"]:
        if "enum" in others[0]:
            return {"enum": [*others[0]["enum"], None]}
        if "type" in others[0]:
            return {**others[0], "type": [others[0]["type"], "null"]}
    return (others + joined)[0] if len(others + joined) == 1 else {"anyOf": others + joined}


def _enum(hint: type[Enum]) -> Schema:
    told = {**_docstrings(hint), **({each.name: NOTES[each].means for each in hint} if hint is NoteKind else {})}
    words = [f"{each.value}: {told[each.name]}" for each in hint if each.name in told]
    return {"description": " ".join([told[""], *words]), "enum": [each.value for each in hint]}


@cache
def _docstrings(cls: Any) -> Mapping[str, str]:
    """Name of an attribute → its docstring, for readers of JSON; "" → that of the class."""
    tree = ast.parse(inspect.getsource(sys.modules[cls.__module__]))
    (body,) = (node.body for node in tree.body if isinstance(node, ast.ClassDef) and node.name == cls.__name__)
    told = {"": cls.__doc__ or ""}
    for node, after in pairwise(body):
        if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
            match node:
                case ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]):
                    told[name] = str(after.value.value)
    return {name: _for_readers(text) for name, text in told.items()}


_WORDS = {"None": "null", "UNMANAGED": "left out", "KNOWN_AFTER_APPLY": f"'{KNOWN_AFTER_APPLY.value}'"}


def _for_readers(text: str) -> str:
    """A docstring in the words of JSON."""
    return re.sub(
        rf"\b({'|'.join(_WORDS)})\b", lambda found: _WORDS[found[0]], " ".join(text.replace("``", "").split())
    )
