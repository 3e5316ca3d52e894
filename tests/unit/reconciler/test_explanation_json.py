"""What machines read of one Node or Service: one shape whatever there is to say, valid against the published schema."""

import copy
import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from desired.annotations.parsing import Origin
from desired.explain.fact import Rule
from desired.explain.service_stage import ServiceStage
from desired.explain.stage import Stage
from desired.load_balancers.targets import Membership
from desired.model.load_balancer import Health
from desired.plan.kinds import Verb
from desired.routes.actions import RouteAction
from desired.routes.claims import RouteStatus
from reconciler import __version__
from reconciler.report.explanation_json import explanation_schema, render_explanation_json
from reconciler.report.json_report import schema
from tests.support.explanations import EXPLANATIONS
from tests.support.rendering import golden, invalid
from tests.support.route_explanations import ROUTED_WORLDS
from tests.support.service_explanations import SERVICE_EXPLANATIONS

ALL = {**EXPLANATIONS, **SERVICE_EXPLANATIONS}
PROPERTIES = explanation_schema()["properties"]
DEFINITIONS = explanation_schema()["$defs"]


def document(name: str) -> Any:
    """The explanation as a machine reads it."""
    return json.loads(render_explanation_json(ALL[name]))


def described(kind: str) -> dict[str, Any]:
    """Member → its schema, of a document on a ``node`` or ``service``."""
    return {**PROPERTIES, **DEFINITIONS[kind]["properties"]}


def resolved(description: Any) -> Any:
    """A schema, or what it refers to."""
    return DEFINITIONS[description["$ref"].rpartition("/")[2]] if "$ref" in description else description


def test_the_schema_is_one() -> None:
    """The published schema is itself valid."""
    Draft202012Validator.check_schema(dict(explanation_schema()))


@pytest.mark.parametrize("name", ALL)
def test_golden_explanations(name: str) -> None:
    """Each is exactly its golden file; set UPDATE_GOLDEN to write the files anew, and read them."""
    text = render_explanation_json(ALL[name]).replace(f'"{__version__}"', '"0.0.0"')

    assert text == golden(f"explain_{name}.json", text)


@pytest.mark.parametrize("name", ALL)
def test_valid_against_the_schema(name: str) -> None:
    """Every explanation is valid against the schema, and has exactly the members that it describes."""
    found = document(name)

    assert invalid(found, explanation_schema()) == []
    members = described(found["kind"])
    assert found.keys() == members.keys()
    for part, description in members.items():
        for row in found[part] if description.get("type") == "array" and part != "errors" else ():
            assert row.keys() == resolved(description["items"])["properties"].keys()


@pytest.mark.parametrize("name", SERVICE_EXPLANATIONS)
def test_a_load_balancer_has_the_members_of_the_schema(name: str) -> None:
    """What is told of a load balancer is exactly what the schema describes."""
    found = document(name)["load_balancer"]
    _, description = DEFINITIONS["service"]["properties"]["load_balancer"]["oneOf"]
    if found is None:
        assert document(name)["errors"]
        return

    assert found.keys() == description["properties"].keys()
    for seen in (found["found"], found["other"]):
        assert seen is None or seen.keys() == DEFINITIONS["load_balancer"]["properties"].keys()


@pytest.mark.parametrize("name", EXPLANATIONS)
def test_routes_have_the_members_of_the_schema(name: str) -> None:
    """What is told of routes is exactly what the schema describes; nothing is, where there are none."""
    found = document(name)["routes"]
    _, description = DEFINITIONS["node"]["properties"]["routes"]["oneOf"]

    assert (found is not None) is (name in ROUTED_WORLDS)
    if found is not None:
        assert found.keys() == description["properties"].keys()
        for row in found["destinations"]:
            assert row.keys() == description["properties"]["destinations"]["items"]["properties"].keys()


@pytest.mark.parametrize("part", ["changes", "notes", "errors", "requests", "cluster", "taken_at", "format_version"])
def test_the_shape_of_a_report(part: str) -> None:
    """What reports have as well is described in the same words, so that one reader does for both."""
    assert PROPERTIES[part] == schema()["properties"][part]


def test_a_hold_has_the_shape_of_a_report() -> None:
    """The hold of a guard is described as those of a report are."""
    hold = PROPERTIES["guards"]["items"]["properties"]["hold"]

    assert hold["oneOf"] == [{"type": "null"}, schema()["properties"]["holds"]["items"]]


def test_the_schema_names_all_words() -> None:
    """Each word that an explanation may have is one that the schema knows."""
    service = described("service")
    members = service["targets"]["items"]["properties"]
    route = described("node")["routes"]["oneOf"][1]["properties"]["destinations"]["items"]["properties"]

    assert route["standing"]["enum"] == [*RouteStatus, None]
    assert route["fate"]["enum"] == [*RouteAction, None]
    assert described("node")["stage"]["enum"] == [*Stage, None]
    assert service["stage"]["enum"] == [*ServiceStage, None]
    assert DEFINITIONS["fact"]["properties"]["rule"]["enum"] == list(Rule)
    assert members["membership"]["enum"] == [*Membership, None]
    assert members["health"]["enum"] == [*(health.value for health in Health), None]
    assert service["options"]["items"]["properties"]["origin"]["enum"] == list(Origin)
    assert service["listeners"]["items"]["properties"]["planned"]["enum"] == [*Verb, None]


@pytest.mark.parametrize(
    ("name", "path", "value"),
    [
        ("settled", ("format_version",), "2.0"),
        ("settled", ("kind",), "pod"),
        ("settled", ("stage",), "fine"),
        ("settled", ("match", "by"), "luck"),
        ("settled", ("match", "server"), {"id": 0}),
        ("settled", ("labels", 0, "rule"), "whim"),
        ("settled", ("labels", 0, "value"), 5),
        ("settled", ("guards", 0, "verdict"), "maybe"),
        ("settled", ("guards", 0, "concerns"), "all"),
        ("settled", ("anchor", "found"), -1),
        ("routed", ("routes", "used"), -1),
        ("routed", ("routes", "destinations", 0, "standing"), "lost"),
        ("routed", ("routes", "destinations", 0, "fate"), "sealed"),
        ("service_served", ("stage",), "settled"),
        ("service_served", ("load_balancer", "by"), "luck"),
        ("service_served", ("load_balancer", "found", "id"), 0),
        ("service_served", ("load_balancer", "owner", 0, "rule"), "whim"),
        ("service_served", ("options", 0, "origin"), "guess"),
        ("service_served", ("options", 0, "problems"), None),
        ("service_served", ("targets", 0, "membership"), "friend"),
        ("service_served", ("targets", 0, "health"), "fine"),
        ("service_served", ("listeners", 0, "planned"), "replace"),
        ("service_served", ("status", 0, "subject"), None),
        ("service_certified", ("certificates", 0, "ports"), ["443"]),
        ("service_certified", ("pending", 0, "due_in_s"), "soon"),
    ],
)
def test_the_schema_refuses_other_documents(name: str, path: tuple[str | int, ...], value: object) -> None:
    """The schema is not so wide that everything fits."""
    found = copy.deepcopy(document(name))
    place = found
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value

    assert len(invalid(found, explanation_schema())) >= 1


def test_one_kind_is_not_the_other() -> None:
    """A document on a Node is none on a Service, and the other way round."""
    for name, kind in (("settled", "service"), ("service_served", "node")):
        assert invalid({**document(name), "kind": kind}, explanation_schema()) != []


def test_readers_ignore_what_they_do_not_know() -> None:
    """A member of a later minor version does not make a document invalid."""
    found = document("settled")
    found["news"] = found["labels"][0]["news"] = "later"

    assert invalid(found, explanation_schema()) == []


@pytest.mark.parametrize("name", ["missing", "no_api", "service_missing", "service_no_api"])
def test_nothing_to_explain(name: str) -> None:
    """A document without an explanation has all the same members, empty, and says why."""
    found = document(name)
    members = found.keys() - PROPERTIES.keys() | {"why", "conditions", "changes", "guards", "anchor", "notes"}

    assert all(found[member] in (None, []) for member in members)
    assert len(found["errors"]) == 1


def test_a_hold_with_its_command() -> None:
    """A hold is there with what to type; what it would say of a deletion that is not planned is no hold to approve."""
    (held,) = (word for word in document("held")["guards"] if word["verdict"] == "held")
    supposed = [word for word in document("ambiguous")["guards"] if word["verdict"] == "held"]

    assert held["hold"]["approve"] == f"reconcile approve {held['hold']['hash']}"
    assert (held["concerns"], held["approved"]) == ("changes", False)
    assert [(word["concerns"], word["hold"]) for word in supposed] == [("deletion", None)]


def test_an_approved_hold() -> None:
    """What was approved lets pass, and can be told from what never held."""
    approved = [word["rule"] for word in document("approved")["guards"] if word["approved"]]

    assert approved == ["node-blast-radius"]
    assert all(word["verdict"] == "allowed" for word in document("approved")["guards"])
