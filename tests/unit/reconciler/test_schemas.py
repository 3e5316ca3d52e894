"""Documents and their published schemas: both follow from types, and say exactly the same."""

import copy
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from importlib.resources import files
from ipaddress import IPv4Address
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from jsonschema import Draft202012Validator
from msgspec import UNSET, Meta, UnsetType

from desired.plan.kinds import KINDS
from desired.section import UNMANAGED, Unmanaged
from reconciler.report.documents import report_as_json, to_json
from reconciler.report.explanation import explanation_as_json
from reconciler.result import Explained, Report
from tests.support.explanations import EXPLANATIONS
from tests.support.rendering import invalid
from tests.support.scenarios import SCENARIOS
from tests.support.schemas import SIDES, Definitions, closed, made, published
from tests.support.service_explanations import SERVICE_EXPLANATIONS

FILES = ("schema.json", "explanation.schema.json", "orphans.schema.json", "validation.schema.json")
REPORT, EXPLANATION = FILES[:2]


SITUATIONS: Mapping[str, Report | Explained] = {
    **SCENARIOS,
    **{f"explain_{name}": explained for name, explained in {**EXPLANATIONS, **SERVICE_EXPLANATIONS}.items()},
}


def told(name: str) -> tuple[Any, Mapping[str, Any]]:
    """The document of a situation, and its schema."""
    match SITUATIONS[name]:
        case Report() as report:
            return report_as_json(report), published(REPORT)
        case Explained() as explained:
            return explanation_as_json(explained), published(EXPLANATION)


@pytest.mark.parametrize("file", FILES)
def test_schemas_are_current(file: str) -> None:
    """Each schema that is shipped is the one that the types give; ``UPDATE_DOCS=1`` writes it anew."""
    text = json.dumps(made()[file], indent=2) + "\n"
    path = Path(str(files("reconciler.report").joinpath(file)))
    if os.environ.get("UPDATE_DOCS"):
        path.write_text(text, "utf-8")

    assert path.read_text("utf-8") == text
    Draft202012Validator.check_schema(made()[file])


def test_every_schema_is_made() -> None:
    """No schema is written by hand, and none is forgotten here."""
    shipped = {path.name for path in Path(str(files("reconciler.report"))).glob("*.json")}

    assert shipped == made().keys() == set(FILES)


def test_every_kind_of_change_has_its_sides() -> None:
    """What the two sides of a change may be is known of every kind."""
    assert SIDES.keys() == KINDS.keys()


def test_documents_are_valid() -> None:
    """Everything that people can be told is valid, and none of it has the core's own mark of what is not managed."""
    for name in SITUATIONS:
        document, schema = told(name)
        assert invalid(document, schema) == [], name
        assert '"unmanaged"' not in json.dumps(document), name


@pytest.mark.parametrize("file", FILES)
def test_no_member_more(file: str) -> None:
    objects = [each for each in every(published(file)) if "object" in each.get("type", ())]

    assert [each for each in objects if each["additionalProperties"] in (True, {})] == []


def test_a_later_version_may_say_more() -> None:
    """For readers the schemas are open: a member that they do not know is no error within a major version."""
    for file in FILES:
        schema = json.loads(files("reconciler.report").joinpath(file).read_text("utf-8"))
        assert not [each for each in every(schema) if each.get("additionalProperties") is False], file


def every(schema: Any) -> Iterator[Mapping[str, Any]]:
    """Every object inside of a schema."""
    if isinstance(schema, Mapping):
        yield schema
    for part in schema.values() if isinstance(schema, Mapping) else schema if isinstance(schema, list) else ():
        yield from every(part)


@pytest.mark.parametrize(
    ("name", "path", "value"),
    [
        ("joining", ("format_version",), "2.0"),
        ("joining", ("result",), "fine"),
        ("joining", ("sections", "pods"), {"complete": True, "count": 0, "expected": None, "why_incomplete": None}),
        ("joining", ("changes", 0, "key"), "Node"),
        ("joining", ("changes", 0, "outcome"), {"state": "done"}),
        ("joining", ("changes", 0, "after"), "10.0.0.1"),
        ("joining", ("changes", 0, "fields", 0, "after"), {"a": "b"}),
        ("joining", ("changes", 0, "fields", 0, "before"), [["a"]]),
        ("joining", ("summary", "add"), -1),
        ("held_by_anchor", ("holds", 0, "hash"), "sha256:1"),
        ("routes_drifted", ("changes", "route/4/10.244.3.0/24", "key"), "route/private/10.244.3.0/24"),
        ("routes_drifted", ("changes", "route/4/10.244.3.0/24", "before"), 5),
        ("routes_drifted", ("changes", "route/4/10.244.3.0/24", "after"), "10.0.0"),
        ("routes_drifted", ("changes", "node/web-2/network", "key"), "node/web-2"),
        ("routes_drifted", ("changes", "node/web-2/network", "after"), {"status": "Maybe", "reason": "RouteCreated"}),
        ("explain_settled", ("format_version",), "1.0"),
        ("explain_settled", ("kind",), "pod"),
        ("explain_settled", ("decisions", 0, "part"), "luck"),
        ("explain_settled", ("decisions", 0, "value"), 1),
        ("explain_settled", ("decisions", 0, "wanted"), ["server 1"]),
        ("explain_settled", ("decisions", 0, "remedy"), None),
        ("explain_held", ("holds", 0, "hash"), "sha256:1"),
    ],
)
def test_schemas_refuse_other_documents(name: str, path: tuple[str | int, ...], value: object) -> None:
    document, schema = told(name)
    spoiled = place = copy.deepcopy(document)
    for step in path[:-1]:
        by_key = isinstance(place, list) and isinstance(step, str)
        place = next(each for each in place if each["key"] == step) if by_key else place[step]
    place[path[-1]] = value

    assert invalid(document, schema) == []
    assert invalid(spoiled, schema) != []


def test_a_schema_has_the_words_of_the_types() -> None:
    """Classes, fields and enums are described as their docstrings say."""
    found = published(EXPLANATION)["$defs"]

    assert found["Row"]["properties"]["wanted"]["description"] == (
        "As it is once the planned changes are made; null if it is not there then. Of a guard the limit."
    )
    assert "stuck: It stays as it is until a person acts." in found["NodeState"]["description"]
    assert all(each.get("description") for each in found.values())


class Color(StrEnum):
    """A color."""

    RED = "red"
    """Stop."""
    GREEN = "green"


@dataclass(frozen=True, slots=True)
class Lamp:
    """One lamp."""

    color: Color
    number: int


@dataclass(frozen=True, slots=True)
class Bulb:
    """What is shown in place of a number of watts."""

    watts: int


class Watts(int):
    """A type that is no document."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One of everything."""

    class_: Color | None
    """``red`` or None."""
    lamps: tuple[Lamp, ...]
    names: Mapping[str, int]
    at: datetime
    address: IPv4Address | None
    code: Annotated[str, Meta(pattern="^a")]
    state: Literal["on", "off"] | None = None
    limit: int | UnsetType = UNSET
    asked: str | Unmanaged | None = UNMANAGED
    secret: str = field(default="x", compare=False)


FULL = Sample(
    Color.RED,
    (Lamp(Color.GREEN, 2),),
    {"b": 1, "a": 2},
    datetime(2026, 7, 1, tzinfo=UTC),
    IPv4Address("10.0.0.1"),
    "a1",
    "on",
    5,
    "please",
)
BARE = Sample(None, (), {}, datetime(2026, 7, 1, tzinfo=UTC), None, "a")


def test_the_encoder() -> None:
    """Members stand in the order of the fields; what is not there is left out, and what is nothing is null."""
    full, bare = to_json(FULL), to_json(BARE)

    assert list(full) == ["class", "lamps", "names", "at", "address", "code", "state", "limit", "asked"]
    assert (full["class"], full["lamps"], list(full["names"])) == ("red", [{"color": "green", "number": 2}], ["a", "b"])
    assert (full["at"], full["address"]) == ("2026-07-01T00:00:00+00:00", "10.0.0.1")
    assert list(bare) == ["class", "lamps", "names", "at", "address", "code", "state"]
    assert (bare["class"], bare["lamps"], bare["address"], bare["state"]) == (None, [], None, None)


def test_what_is_shown_in_the_place_of_another() -> None:
    """What is no document is shown as one, however deep it is."""
    assert to_json({"a": [Watts(40)]}, {Watts: lambda watts: Bulb(int(watts))}) == {"a": [{"watts": 40}]}


def test_a_schema_is_what_the_encoder_writes() -> None:
    """Each type has the schema of what is written of it, with the words of its docstrings."""
    definitions = Definitions()
    schema = definitions.members(Sample)
    whole = closed({**schema, "$defs": definitions.found})

    assert [invalid(to_json(each), whole) for each in (FULL, BARE)] == [[], []]
    assert schema["required"] == ["class", "lamps", "names", "at", "address", "code", "state"]
    assert schema["description"] == "One of everything."
    assert schema["properties"]["class"]["description"] == "red or null."
    assert definitions.found["Color"] == {"description": "A color. red: Stop.", "enum": ["red", "green"]}
    for name, value in (
        ("class", "blue"),
        ("lamps", None),
        ("lamps", [{"color": "red"}]),
        ("lamps", [{"color": "red", "number": 1, "more": 1}]),
        ("names", {"a": "b"}),
        ("at", 5),
        ("address", "10.0.0"),
        ("code", "b"),
        ("state", "dim"),
        ("limit", -1),
        ("limit", None),
        ("asked", 5),
        ("secret", "x"),
    ):
        assert invalid({**to_json(FULL), name: value}, whole) != [], name
