"""The command ``reconcile explain service NAMESPACE/NAME`` against both simulators: what it says and what it sends."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from desired.names import LABEL_EXCLUDE_FROM_BALANCERS
from reconciler.cli.reading import key_of
from tests.balancers import LOCATED
from tests.support.explain_command import TOKENS, ExplainCommand
from tests.support.objects import NETWORK, joining_node, server, settled_node
from tests.support.passes import Run, load_balancer_service
from tests.support.services import of_type, raw_service, set_services
from tests.support.simulators import Simulation
from tests.support.world import SERVICES

FORBIDDEN = {"kind": "Status", "reason": "Forbidden", "message": "may not list services"}


@pytest.fixture
def world(simulate: Callable[..., Simulation]) -> Simulation:
    """A Service that is served, one that is to be, one with a bad annotation, one that goes, and two of other kinds."""
    excluded = settled_node("control-1", 3)
    excluded["metadata"]["labels"][LABEL_EXCLUDE_FROM_BALANCERS] = ""
    sim = simulate(
        nodes=[settled_node("web-1", 1), joining_node("web-2"), excluded],
        project={"servers": [server(1, "web-1"), server(2, "web-2"), server(3, "control-1")], "networks": [NETWORK]},
        kubernetes_tokens=TOKENS,
    )
    sim.kubernetes_writer().create(SERVICES, load_balancer_service())
    Run(sim, LOCATED).converge()
    served = sim.objects("services")["web"]
    set_services(
        sim,
        served,
        raw_service("new"),
        raw_service("bad", protocol="udp"),
        raw_service("going", claimed=True, going=True),
        of_type("ClusterIP", "inside"),
        of_type("LoadBalancer", "elsewhere", loadBalancerClass="tailscale"),
    )
    sim.kubernetes_proxy.journal.clear()
    sim.hetzner_proxy.journal.clear()
    return sim


@pytest.fixture
def explain(world: Simulation, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> ExplainCommand:
    """Runs the command on Services with rights to read only, where load balancers are made in Falkenstein."""
    return ExplainCommand("service", world, monkeypatch, capsys, {"HCLOUD_LOAD_BALANCERS_LOCATION": "fsn1"})


def test_explaining_only_looks(explain: ExplainCommand, world: Simulation) -> None:
    """Every Service is explained with rights to read only, and nothing but reads is sent."""
    before = world.objects("services"), world.hetzner.world()
    names = ("web", "new", "bad", "going", "inside", "elsewhere")
    matches = [explain.state(f"default/{name}") for name in names]

    assert matches == ["owned", "missing", "missing", "missing", "unclaimed", "foreign"]
    assert {entry.method for entry in (*world.sent_to_kubernetes(), *world.sent_to_hetzner())} == {"GET"}
    assert (world.objects("services"), world.hetzner.world()) == before


def test_the_plan_says_the_same(explain: ExplainCommand, world: Simulation) -> None:
    """What is told to change is what a dry run of the same settings plans for the Service, with its verdicts."""
    planned = [line.change for line in Run(world, LOCATED).plan().lines if line.change.owner == "service/default/new"]
    found = explain.document("default/new")

    assert [change["key"] for change in found["changes"]] == [change.key for change in planned]
    assert [change["verdict"] for change in found["changes"]] == [change.decision.verdict for change in planned]


def test_a_name_alone_is_found(explain: ExplainCommand) -> None:
    """A Node's first, then the only Service's; kinds have kubectl's spellings."""
    for kind, name, key in (
        ("any", "web", "service/default/web"),
        ("any", "web-1", "node/web-1"),
        ("any", "default/web", "service/default/web"),
        ("svc", "web", "service/default/web"),
        ("no", "web-1", "node/web-1"),
        ("any", "nobody", "node/nobody"),
    ):
        said = replace(explain, kind=kind)(name, "--output", "json")
        assert said.document["key"] == key
        assert said.code == (1 if name == "nobody" else 0)


@pytest.mark.parametrize(("kind", "name", "key"), [
    ("node", "web-1", "node/web-1"),
    ("node", "node/web-1", "node/web-1"),
    ("service", "web", "service/default/web"),
    ("service", "service/shop/web", "service/shop/web"),
    ("service", "service/service/web", "service/service/web"),
    ("service", "a/b/c", "service/a/b/c"),
    ("service", "", "service/default/"),
    ("service", "\udcff", "service/default/\\udcff"),
])  # fmt: skip
def test_keys(kind: str, name: str, key: str) -> None:
    """What is typed becomes a key of a plan: a namespace may have any name, also that of a kind."""
    assert key_of(kind, name) == key


def test_no_such_service(explain: ExplainCommand) -> None:
    """A name that no Service has is an error with what comes near, and JSON is a document all the same."""
    said = explain("shop/web", "--output", "json")
    why = "the cluster has no Service 'shop/web'; nearest: default/web"

    assert (said.code, said.stderr) == (1, f"reconcile: error: {why}\n")
    assert (said.document["kind"], said.document["decisions"], said.document["errors"]) == ("service", [], [why])


def test_services_that_are_switched_off(explain: ExplainCommand, world: Simulation) -> None:
    """Where the part that looks after Services is off, that is the answer, and no load balancer is read for it."""
    said = explain("web", "--output", "json", "--controllers", "*,-service")

    assert said.code == 1
    assert said.document["errors"] == ["Service 'default/web' cannot be explained: --controllers leaves service out"]
    assert "/v1/load_balancers" not in {entry.path for entry in world.sent_to_hetzner()}


def test_services_that_may_not_be_listed(explain: ExplainCommand, world: Simulation) -> None:
    """Without the list nothing can be said of a Service, but why."""
    world.spoil_kubernetes("status", path="/api/v1/services", code=403, body=FORBIDDEN, count=None)
    said = explain("web", "--output", "json")

    assert said.code == 1
    assert said.document["decisions"] == []
    assert any(
        error.startswith("Service 'default/web' is not among the 0 that were read: ") and "403" in error
        for error in said.document["errors"]
    )
