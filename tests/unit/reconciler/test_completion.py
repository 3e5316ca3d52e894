"""Completion: the candidates at each place of a command line, and the names that a cluster may put there."""

import json
import os
from collections.abc import Callable, Iterable
from typing import Any

import click
import pytest
from click.shell_completion import CompletionItem

from reconciler.cli.app import APP, COMPLETES
from reconciler.cli.commands import COMMANDS
from reconciler.cli.completion import Completion
from reconciler.cli.names import _read
from reconciler.cli.words import WordSource
from reconciler.config.options import FLAGS
from tests.support.objects import joining_node
from tests.support.passes import load_balancer_service
from tests.support.simulators import Simulation


def names(source: WordSource, prefix: str, _context: click.Context) -> Iterable[str]:
    """What a cluster would say, marked with what it was asked for."""
    return (f"{prefix}<{source}>",)


def candidates(line: str) -> list[CompletionItem]:
    """What may stand at the end of a line."""
    *before, current = line.split(" ")
    return Completion(APP, {"obj": names}, "reconcile", COMPLETES).get_completions(before, current)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        pytest.param("", list(COMMANDS), id="commands"),
        pytest.param("ca", ["capture"], id="the beginning of a command"),
        pytest.param("-", ["--version", "--help"], id="flags without a command"),
        pytest.param("plan --f", ["--full", "--from"], id="flags of a command"),
        pytest.param("plan --policy s", ["sync"], id="values"),
        pytest.param("plan --policy=s", ["sync"], id="values behind a sign"),
        pytest.param("plan -o n", ["name"], id="values behind a letter"),
        pytest.param("explain -o n", [], id="values that the command does not take"),
        pytest.param("--policy sync ca", ["capture"], id="a command behind a flag"),
        pytest.param("plan --full --policy u", ["upsert"], id="a switch takes no value"),
        pytest.param("plan --controllers service,r", ["service,route"], id="a list of values"),
        pytest.param("plan --only node/a,n", ["node/a,n<key>"], id="a list of keys"),
        pytest.param("apply --approve sh", ["sh<hold>"], id="holds of a flag"),
        pytest.param("approve sh", ["sh<hold>"], id="holds of a command"),
        pytest.param("plan --context x", ["x<context>"], id="contexts"),
        pytest.param("explain n", ["node"], id="kinds"),
        pytest.param("explain node/a", ["node/a<key>"], id="keys instead of kinds"),
        pytest.param("explain node a", ["a<node>"], id="Nodes"),
        pytest.param("explain --output json service a", ["a<service>"], id="Services"),
        pytest.param("explain pod a", [], id="an unknown kind"),
        pytest.param("explain node a b", [], id="one operand too many"),
        pytest.param("plan x", [], id="no operand at all"),
        pytest.param("orphans 4", [], id="what only a person knows"),
        pytest.param("plan --interval 3", [], id="a value that nothing lists"),
        pytest.param("plan --nonsense=3", [], id="a flag that nobody knows"),
        pytest.param("plan --yes --summ", ["--summary"], id="behind a flag of another command"),
        pytest.param("plan --kubeconfig --only ", [], id="behind a value that was forgotten"),
        pytest.param("completion ", ["bash", "zsh", "fish"], id="operands with values"),
    ],
)
def test_candidates(line: str, words: list[str]) -> None:
    assert [(item.value, item.type) for item in candidates(line)] == [(word, "plain") for word in words]


@pytest.mark.parametrize("line", ["plan --from ", "plan --from=a", "validate a b", "--kubeconfig "])
def test_files(line: str) -> None:
    assert [item.type for item in candidates(line)] == ["file"]


def test_flags_are_those_of_the_command() -> None:
    """Each flag that a command takes, and none that is only accepted because HCCM has it."""
    for command in COMMANDS:
        taken = ["--help", *(name for name, row in FLAGS.items() if command in row.commands)]
        assert [item.value for item in candidates(f"{command} --")] == taken


def hostile(name: str) -> dict[str, Any]:
    """A Node or Service whose name no API server would store."""
    return {"metadata": {"name": name, "namespace": "shop"}, "spec": {"type": "LoadBalancer"}}


@pytest.fixture
def cluster(simulate: Callable[..., Simulation]) -> Simulation:
    """Three Nodes, two Services that want load balancers, one that does not, and a published hold."""
    sim = simulate()
    published = json.dumps({"holds": [{"hash": "sha256:0123456789abcdef", "rule": "x"}, {"hash": "sha256:`x`"}]})
    internal = load_balancer_service("internal")
    internal["spec"]["type"] = "ClusterIP"
    config_map = {"metadata": {"name": "hcloud-reconciler", "namespace": "kube-system"}}
    sim.kubernetes.replace_world(
        {
            "nodes": [joining_node(name) for name in ("web-2", "web-1", "db-1")],
            "services": [load_balancer_service("web"), load_balancer_service("api"), internal],
            "configmaps": [{**config_map, "data": {"status": published}}],
        }
    )
    return sim


@pytest.mark.parametrize(
    ("source", "prefix", "found"),
    [
        (WordSource.NODE, "", ["db-1", "web-1", "web-2"]),
        (WordSource.NODE, "web-", ["web-1", "web-2"]),
        (WordSource.SERVICE, "", ["default/api", "default/web"]),
        (WordSource.KEY, "no", ["node/db-1", "node/web-1", "node/web-2"]),
        (WordSource.KEY, "service/default/w", ["service/default/web"]),
        (WordSource.HOLD, "sha256:0", ["sha256:0123456789abcdef"]),
        (WordSource.CONTEXT, "", ["sandbox"]),
    ],
)
def test_names_from_the_cluster(cluster: Simulation, source: WordSource, prefix: str, found: list[str]) -> None:
    """By the kubeconfig that the command line names, and no token; only what begins alike, in order."""
    kubeconfig = str(cluster.kubeconfig())

    assert _read(source, prefix, {"--kubeconfig": kubeconfig}, {}) == found
    assert _read(source, prefix, {}, {"RECONCILER_KUBECONFIG": kubeconfig}) == found
    assert cluster.sent_to_hetzner() == []


@pytest.mark.parametrize("source", [WordSource.NODE, WordSource.SERVICE, WordSource.KEY])
def test_names_that_no_cluster_has(cluster: Simulation, source: WordSource) -> None:
    """What an API server says is foreign: nothing but names gets into a shell, and of these no endless list."""
    evil = ("$(x)", "`x`", "a;x", "a b", "a\nb", "--yes", "-a", "a'", 'a"', "a\\b", "a\x1b[2J", "ä", "", "a" * 254)
    many = [f"n-{number}" for number in range(1_500)]
    body = {"kind": "List", "metadata": {}, "items": [hostile(name) for name in (*evil, *many)]}
    cluster.spoil_kubernetes("status", method="GET", code=200, body=body, count=None)

    found = _read(source, "", {"--kubeconfig": str(cluster.kubeconfig())}, dict(os.environ))

    assert len(found) == 1_000
    assert {name.rpartition("/")[2] for name in found} <= set(many)
