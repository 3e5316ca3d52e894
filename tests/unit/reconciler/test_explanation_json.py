"""What machines read of one Node: one shape whatever there is to say, valid against the published schema."""

import copy
import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from desired.explanation.fact import Rule
from desired.explanation.stage import Stage
from reconciler import __version__
from reconciler.report.explanation_json import explanation_schema, render_explanation_json
from reconciler.report.json_report import schema
from tests.support.explanations import EXPLANATIONS
from tests.support.rendering import golden, invalid

PROPERTIES = explanation_schema()["properties"]


def document(name: str) -> Any:
    """The explanation as a machine reads it."""
    return json.loads(render_explanation_json(EXPLANATIONS[name]))


def test_the_schema_is_one() -> None:
    """The published schema is itself valid."""
    Draft202012Validator.check_schema(dict(explanation_schema()))


@pytest.mark.parametrize("name", EXPLANATIONS)
def test_golden_explanations(name: str) -> None:
    """Each is exactly its golden file; set UPDATE_GOLDEN to write the files anew, and read them."""
    text = render_explanation_json(EXPLANATIONS[name]).replace(f'"{__version__}"', '"0.0.0"')

    assert text == golden(f"explain_{name}.json", text)


@pytest.mark.parametrize("name", EXPLANATIONS)
def test_valid_against_the_schema(name: str) -> None:
    """Every explanation is valid against the schema, and has exactly the members that it describes."""
    found = document(name)

    assert invalid(found, explanation_schema()) == []
    assert found.keys() == PROPERTIES.keys()
    for part in ("labels", "addresses", "taints", "conditions", "changes", "guards", "notes"):
        for row in found[part]:
            assert row.keys() == PROPERTIES[part]["items"]["properties"].keys()


@pytest.mark.parametrize("part", ["changes", "notes", "errors", "requests", "cluster", "taken_at", "format_version"])
def test_the_shape_of_a_report(part: str) -> None:
    """What reports have as well is described in the same words, so that one reader does for both."""
    assert PROPERTIES[part] == schema()["properties"][part]


def test_a_hold_has_the_shape_of_a_report() -> None:
    """The hold of a guard is described as those of a report are."""
    hold = PROPERTIES["guards"]["items"]["properties"]["hold"]

    assert hold["oneOf"] == [{"type": "null"}, schema()["properties"]["holds"]["items"]]


def test_the_schema_names_all_words() -> None:
    """Each stage and each rule that an explanation may have is one that the schema knows."""
    assert set(PROPERTIES["stage"]["enum"]) == {*(stage.value for stage in Stage), None}
    for part in ("labels", "addresses", "taints", "conditions"):
        assert PROPERTIES[part]["items"]["properties"]["rule"]["enum"] == [rule.value for rule in Rule]


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("format_version",), "2.0"),
        (("kind",), "service"),
        (("stage",), "fine"),
        (("match", "by"), "luck"),
        (("match", "server"), {"id": 0}),
        (("labels", 0, "rule"), "whim"),
        (("labels", 0, "value"), 5),
        (("guards", 0, "verdict"), "maybe"),
        (("guards", 0, "concerns"), "all"),
        (("anchor", "found"), -1),
    ],
)
def test_the_schema_refuses_other_documents(path: tuple[str | int, ...], value: object) -> None:
    """The schema is not so wide that everything fits."""
    found = copy.deepcopy(document("settled"))
    place = found
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value

    assert len(invalid(found, explanation_schema())) == 1


def test_readers_ignore_what_they_do_not_know() -> None:
    """A member of a later minor version does not make a document invalid."""
    found = document("settled")
    found["news"] = found["labels"][0]["news"] = "later"

    assert invalid(found, explanation_schema()) == []


@pytest.mark.parametrize("name", ["missing", "no_api"])
def test_nothing_to_explain(name: str) -> None:
    """A document without an explanation has all the same members, empty, and says why."""
    found = document(name)

    assert (found["stage"], found["why"], found["match"], found["labels"]) == (None, None, None, [])
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
