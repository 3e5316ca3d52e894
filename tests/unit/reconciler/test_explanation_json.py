"""JSON of one Node or Service: its members and their order, whatever there is to say."""

import json
from dataclasses import replace
from typing import Any

import pytest

from reconciler import __version__
from reconciler.config.options import Output
from tests.support.explanations import EXPLANATIONS
from tests.support.rendering import golden, written
from tests.support.service_explanations import SERVICE_EXPLANATIONS

ALL = {**EXPLANATIONS, **SERVICE_EXPLANATIONS}


def document(name: str) -> Any:
    """The explanation as a machine reads it."""
    return json.loads(written(ALL[name], Output.JSON))


@pytest.mark.parametrize("name", ["rerouted", "service_served"])
def test_golden_explanations(name: str) -> None:
    """A Node and a Service, member by member; set UPDATE_GOLDEN to write the files anew, and read them."""
    text = written(ALL[name], Output.JSON).replace(f'"{__version__}"', '"0.0.0"')

    assert text == golden(f"explain_{name}.json", text)


@pytest.mark.parametrize(
    ("name", "like"),
    [
        ("missing", "rerouted"),
        ("no_api", "rerouted"),
        ("service_missing", "service_served"),
        ("service_no_api", "service_served"),
    ],
)
def test_nothing_to_explain(name: str, like: str) -> None:
    """A document without an explanation has all the same members in the same order, empty, and says why."""
    found, explained = document(name), document(like)
    head = ("format_version", "tool_version", "kind", "key", "taken_at", "cluster")
    members = found.keys() - {*head, "errors", "requests"}

    assert list(found) == list(explained)
    assert {member: found[member] for member in members} == {
        member: [] if isinstance(explained[member], list) else None for member in members
    }
    assert len(found["errors"]) == 1


def test_a_hold_with_its_command() -> None:
    """A hold is there with what to type, for the cluster of this run; what it would say of a deletion that is not
    planned is no hold to approve."""
    report = replace(ALL["held"].report, approve_flags="--kubeconfig f")
    flagged = json.loads(written(replace(ALL["held"], report=report), Output.JSON))
    (held,) = (fact for fact in flagged["guards"] if fact["verdict"] == "held")
    supposed = [fact for fact in document("ambiguous")["guards"] if fact["verdict"] == "held"]

    assert held["hold"]["approve"] == f"reconcile approve {held['hold']['hash']} --kubeconfig f"
    assert (held["concerns"], held["approved"]) == ("changes", False)
    assert [(fact["concerns"], fact["hold"]) for fact in supposed] == [("deletion", None)]
