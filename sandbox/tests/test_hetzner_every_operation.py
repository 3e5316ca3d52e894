"""Every operation of the API once: what is called simulated is answered, as the API document has it."""

from collections.abc import Iterator
from typing import Any

import pytest

from hcloud_sandbox.hetzner.operations import NO_OBJECTS, Operation
from sandbox_support.every_operation import BODIES, EveryOperation, operations
from sandbox_support.hetzner_spec import load_spec

OPERATIONS = operations()
JUDGED = {name: each for name, each in OPERATIONS.items() if load_spec().judges(each.template)}
"""Those of kinds that the document should have."""
WITH_BODY = [each for each in JUDGED.values() if each.coverage != "not" and EveryOperation.body_of(each)]


def wrong(value: Any) -> Iterator[Any]:
    """The value with one thing that is wrong, more often than not: of another type, too long, too much, missing."""
    match value:
        case dict():
            yield from ([], "text", {**value, "unknown": 1})
            for name, part in value.items():
                yield {kept: other for kept, other in value.items() if kept != name}
                yield from ({**value, name: bad} for bad in wrong(part))
        case list():
            yield from ({}, "text", [*value, {}], [*value, []])
            for number, part in enumerate(value):
                yield from ([*value[:number], bad, *value[number + 1 :]] for bad in wrong(part))
        case bool():
            yield from ("true", 1, [])
        case int():
            yield from (str(value), [value], -1, 10**7, 1.5, True)
        case _:
            yield from (7, [value], {}, "", "x" * 2000, True)


def test_all_operations_of_the_document_are_known() -> None:
    """By their ids, and no other one is of a kind that it has."""
    documented = {
        operation["operation"]: (method.upper(), template)
        for template, methods in load_spec().paths.items()
        for method, operation in methods.items()
    }

    assert {name: (operation.method, operation.template) for name, operation in JUDGED.items()} == documented


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)
def test_each_is_as_it_is_called(operation: Operation) -> None:
    """Simulated, in part or whole: a success, and the judge finds nothing. Not simulated: 501, and no other one is."""
    status = EveryOperation().answer_to(operation).status

    if operation.coverage == "not":
        assert status == 501
    elif operation.lacks == NO_OBJECTS and status == 404:
        assert "{" in operation.template
    else:
        assert status < 300


@pytest.mark.parametrize("operation", WITH_BODY, ids=[operation.name for operation in WITH_BODY])
def test_no_body_is_accepted_that_the_document_does_not_allow(operation: Operation) -> None:
    """Whatever is wrong with it: the judge raises for what the simulator accepts and the document does not have."""
    every = EveryOperation()
    for body in wrong(every.body_of(operation)):
        status = every.api.send(operation.method, every.url_of(operation), body).status
        if status < 300:
            every = EveryOperation()
        assert status < 500


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/primary_ips", {"name": "new", "type": "ipv4", "location": "fsn1", "assignee_type": "volume"}),
        ("/servers", {**BODIES["create_server"], "public_net": {"ipv4": 501, "enable_ipv4": "no"}}),
        (
            "/firewalls/2/actions/apply_to_resources",
            {"apply_to": [{"type": "label_selector", "label_selector": {"selector": "a", "unknown": 1}}]},
        ),
    ],
)
def test_what_the_rest_of_a_body_makes_pointless_is_judged(path: str, body: dict[str, Any]) -> None:
    """A type of nothing that is named, a choice that an address overrules, a field beside the selector."""
    assert EveryOperation().api.refused("POST", path, body) == (422, "invalid_input")


def test_no_body_is_of_an_unknown_operation() -> None:
    """Or of one that is not simulated."""
    assert {name for name in BODIES if OPERATIONS[name].coverage == "not"} == set()
