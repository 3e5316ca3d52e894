"""The command ``reconcile explain node NAME`` against both simulators: what it says, what it sends, how it ends."""

from collections.abc import Callable
from typing import Any

import pytest

from actuators.approvals import approve
from desired.plan.grants import Grant, Source
from hcloud_sandbox.hetzner import HetznerSimulator
from reconciler.cli import reading as command
from reconciler.passes.one_pass import explain_once
from tests.support.explain_command import TOKENS, ExplainCommand, guards_in
from tests.support.objects import joining_node, server, settled_node
from tests.support.passes import NAMESPACE, Run
from tests.support.records import begin_record
from tests.support.rows import rows
from tests.support.simulators import Simulation


@pytest.fixture
def world(simulate: Callable[..., Simulation]) -> Simulation:
    """A settled Node, one that joins, one with a mistyped name, one of another cloud, and two without servers."""
    foreign = settled_node("away-1", 1)
    foreign["spec"]["providerID"] = "aws:///eu-central-1a/i-1"
    return simulate(
        nodes=[
            settled_node("web-1", 1),
            joining_node("web-2"),
            joining_node("web3"),
            foreign,
            settled_node("lost-1", 11, "Unknown", since="2027-01-15T07:59:00Z"),
            settled_node("lost-2", 12, "Unknown", since="2027-01-15T07:59:00Z"),
        ],
        project={"servers": [server(1, "web-1"), server(2, "web-2"), server(3, "web-3")]},
        kubernetes_tokens=TOKENS,
    )


@pytest.fixture
def explain(world: Simulation, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> ExplainCommand:
    """Runs the command on Nodes with rights to read only."""
    return ExplainCommand("node", world, monkeypatch, capsys)


def test_explaining_only_looks(explain: ExplainCommand, world: Simulation) -> None:
    """Every Node is explained with rights to read only, and nothing but reads is sent."""
    before = world.nodes()
    stages = [explain.state(name) for name in ("web-1", "web-2", "web3", "away-1", "lost-1")]

    assert stages == ["settled", "joining", "unmatched", "foreign", "departing"]
    assert {entry.method for entry in (*world.sent_to_kubernetes(), *world.sent_to_hetzner())} == {"GET"}
    assert world.nodes() == before


def test_text_is_the_default(explain: ExplainCommand) -> None:
    """Without ``--output`` a pipe gets text, and nothing is on stderr."""
    said = explain("web-1")

    assert (said.code, said.stderr) == (0, "")
    assert said.stdout.startswith("node/web-1  in sync: server 1\n\nCluster ")


def test_the_cost(explain: ExplainCommand, world: Simulation) -> None:
    """It costs what a plan costs: Nodes, Services, namespace, what runs beside us, servers, load balancers that may be
    left over, the settings of the last pass as something is planned, approvals and those from Git as something is held,
    and a GET for each of the two servers that deletions depend on. One more looks for a controller's settings."""
    found = explain.document("web-1")

    assert found["requests"] == {"kubernetes": 8, "hetzner": 4, "hetzner_left": 3596, "hetzner_limit": 3600}
    assert len(world.sent_to_kubernetes()) == 9


def test_the_settings_are_those_of_a_plan(explain: ExplainCommand) -> None:
    assert explain.state("web-1", "--policy", "observe", RECONCILER_IGNORE_NODES="example.com/team=blue") == "ignored"

    found = explain.document("web-2", "--policy", "observe", RECONCILER_IGNORE_NODES="example.com/team=red")
    assert guards_in(found)["policy"] == "waiting"


def test_a_hold_can_be_approved(explain: ExplainCommand, world: Simulation) -> None:
    """The hash that is shown is that of the hold: once it is approved the guard lets pass, and the plan too."""
    found = explain.document("lost-1")
    (held,) = found["holds"]
    assert guards_in(found)["node-blast-radius"] == "held"
    assert held["keys"] == ["node/lost-1", "node/lost-2"]
    assert held["approve"].startswith(f"reconcile approve {held['hash']} --kubeconfig ")

    now = world.clock.now()
    approval = Grant(Source.CLUSTER, held["hash"], "somebody", now)
    begin_record(world.kubernetes_reader(), world.kubernetes_writer())
    approve(world.kubernetes_reader(), world.kubernetes_writer(), NAMESPACE, approval, now)

    found = explain.document("lost-1")
    assert guards_in(found)["node-blast-radius"] == "approved"
    assert [change["verdict"] for change in found["changes"]] == ["allowed"]
    assert [line.change.decision.verdict for line in Run(world).plan().lines if line.change.key == "node/lost-1"] == [
        "allowed"
    ]


def test_no_such_node(explain: ExplainCommand) -> None:
    """A name that no Node has is an error with what comes near, and JSON is a document all the same."""
    said, why = explain("web-4", "--output", "json"), "the cluster has no Node 'web-4'; nearest: web-2, web-1, web3"

    assert (said.code, said.stderr) == (1, f"reconcile: error: {why}\n")
    assert (said.document["key"], said.document["decisions"], said.document["errors"]) == ("node/web-4", [], [why])


def test_no_such_node_beside_a_list_that_was_not_read(explain: ExplainCommand, world: Simulation) -> None:
    """That the name is wrong does not say why the servers are missing."""
    world.spoil_hetzner("status", path="/v1/servers", code=429, count=None)

    said = explain("gpu", "--request-timeout", "1s")

    assert said.stderr.endswith("reconcile: error: the cluster has no Node 'gpu'\n")
    (line,) = (line for line in said.stdout.splitlines() if "INCOMPLETE" in line)
    assert "GET /servers answers 429" in line


@pytest.mark.parametrize("name", ["a\nb", "\udcff", "\x1b[31m", "x" * 300, "../web-1"])
def test_a_name_that_no_node_can_have(explain: ExplainCommand, name: str) -> None:
    """Whatever is asked for, the answer is one line that no terminal obeys, and a valid document."""
    text, json = (explain(name, "--output", output) for output in ("text", "json"))

    for said in (text, json):
        assert (said.code, said.stderr.count("\n")) == (1, 1)
        assert "\x1b" not in said.stdout + said.stderr
    assert json.document["decisions"] == []


def test_an_api_server_that_refuses(explain: ExplainCommand, world: Simulation) -> None:
    world.spoil_kubernetes("status", code=401, body="Unauthorized", count=None)
    said = explain("web-1", "--output", "json")

    (error,) = said.document["errors"]
    assert "401" in error
    assert (said.code, said.stderr) == (1, f"reconcile: error: {error}\n")
    assert (said.document["taken_at"], said.document["decisions"]) == (None, [])


@rows("flags variables stage errors", {
    "Hetzner refuses: it is explained as far as it goes": ((), {"HCLOUD_TOKEN": "x" * 64}, "unknown", 1),
    "a cluster that cannot be addressed": (("--kubeconfig", "/nowhere/config"), {}, None, 1),
    "a wrong configuration, told together": ((), {"HCLOUD_TOKEN": "", "RECONCILER_POLICY": "maybe"}, None, 2),
})  # fmt: skip
def test_errors(
    explain: ExplainCommand, flags: tuple[str, ...], variables: dict[str, str], stage: str | None, errors: int
) -> None:
    """Each error is a line on stderr, and stands in the document."""
    said = explain("web-1", "--output", "json", *flags, **variables)

    stages = [row["state"] for row in said.document["decisions"][:1]]
    assert (said.code, stages, len(said.document["errors"])) == (1, [stage] if stage else [], errors)
    assert [f"reconcile: error: {error}" for error in said.document["errors"]] == said.stderr.splitlines()


def test_a_bug_is_one_error(explain: ExplainCommand, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bug of ours is a line that says what it was and what to do."""

    def stumble(*arguments: Any, **more: Any) -> None:
        explain_once(*arguments, **more)
        raise KeyError("web-1")

    monkeypatch.setattr(command, "explain_once", stumble)
    said = explain("web-1")

    assert said.code == 1
    assert said.stderr == (
        "reconcile: error: internal error, KeyError: 'web-1'; set HCLOUD_DEBUG=true for details, and please report it\n"
    )


def test_warnings_are_on_stderr(explain: ExplainCommand, world: Simulation) -> None:
    """What is odd about the configuration is said, and changes nothing of the end."""
    world.hetzner.replace_world({"servers": [server(1, "web-1")]})
    said = explain(
        "web-1", HCLOUD_TOKEN=HetznerSimulator.TOKEN, ROBOT_ENABLED="true", HCLOUD_NETWORK_ROUTES_ENABLED="false"
    )

    assert said.code == 0
    assert said.stderr.startswith("reconcile: warning: ")
