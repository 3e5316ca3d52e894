"""Whole lists of the API server: pages of one attempt that arrived whole, or an error, never something in between."""

import json
from typing import Any
from urllib.parse import parse_qs

import pytest

from actuators.http.errors import Broken, Conflict, Transient
from actuators.http.kubernetes import PAGE_SIZE, ApiAnswer
from tests.support.objects import joining_node
from tests.support.simulators import Simulate, Simulation

NODES = "/api/v1/nodes"
EXPIRED = {"kind": "Status", "reason": "Expired", "message": "The provided continue parameter is too old"}


@pytest.fixture
def large(simulate: Simulate) -> Simulation:
    """Two pages of Nodes, and one Node."""
    return simulate(nodes=[joining_node(f"web-{number:04}") for number in range(2 * PAGE_SIZE + 1)])


def whole(answer: ApiAnswer) -> ApiAnswer:
    return answer


def names(pages: list[Any]) -> list[str]:
    return [item["metadata"]["name"] for page in pages for item in json.loads(page.body)["items"]]


def queries(sim: Simulation) -> list[dict[str, list[str]]]:
    return [parse_qs(entry.query) for entry in sim.sent_to_kubernetes()]


def test_pages_of_five_hundred(large: Simulation) -> None:
    pages = large.kubernetes_reader().list_pages(NODES, whole)
    assert names(pages) == sorted(large.nodes())
    assert [query["limit"] for query in queries(large)] == [["500"]] * 3
    assert ["continue" in query for query in queries(large)] == [False, True, True]


def test_an_expired_token(large: Simulation) -> None:
    large.spoil_kubernetes("status", query="continue=", code=410, body=EXPIRED, skip=1)
    pages = large.kubernetes_reader().list_pages(NODES, whole)
    assert names(pages) == sorted(large.nodes())
    assert ["continue" in query for query in queries(large)] == [False, True, True, False, True, True]


def test_tokens_that_always_expire(large: Simulation) -> None:
    large.spoil_kubernetes("status", query="continue=", code=410, body=EXPIRED, count=None)
    with pytest.raises(Transient, match="the list expired 3 times"):
        large.kubernetes_reader().list_pages(NODES, whole)
    assert len(large.sent_to_kubernetes()) == 6


def test_gone_without_a_token(large: Simulation) -> None:
    large.spoil_kubernetes("status", code=410, body=EXPIRED, count=None)
    with pytest.raises(Conflict):
        large.kubernetes_reader().list_pages(NODES, whole)
    assert len(large.sent_to_kubernetes()) == 1


def test_a_page_that_cannot_be_had(large: Simulation) -> None:
    large.spoil_kubernetes("status", query="continue=", code=500, count=None)
    with pytest.raises(Transient):
        large.kubernetes_reader().list_pages(NODES, whole)


@pytest.mark.parametrize("body", ["<html>", {"metadata": None}, {"metadata": {"continue": 5}}], ids=repr)
def test_answers_that_are_no_list(simulate: Simulate, body: Any) -> None:
    sim = simulate()
    sim.spoil_kubernetes("status", code=200, body=body)
    with pytest.raises(Broken, match=f"^Kubernetes GET {NODES}: the answer is no list"):
        sim.kubernetes_reader().list_pages(NODES, whole)
