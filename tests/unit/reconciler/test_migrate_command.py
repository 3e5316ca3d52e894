"""The command ``reconcile migrate`` against both simulators: what it finds, plans and says, and what it only reads."""

import base64
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest
import yaml

from reconciler.cli.migrate import environment_of
from reconciler.migration.found import FoundController, FoundVariable
from tests.builders import CLUSTER_UID
from tests.support.hccm import (
    ARGUMENTS,
    IMAGE,
    NETWORK,
    OF_ROBOT,
    ROUTES,
    TOKEN,
    from_secret,
    literal,
    of_helm,
    raw_hccm,
)
from tests.support.objects import server, settled_node
from tests.support.said import CommandLine, Said
from tests.support.simulators import READ_ONLY_TOKEN, Simulation, ago

VIEWER = "viewer"
SECRETS = "/api/v1/namespaces/kube-system/secrets"
CHARTS = "/apis/helm.cattle.io/v1/helmcharts"
FORBIDDEN = {"kind": "Status", "reason": "Forbidden", "message": "may not look"}
PRIVATE = {"id": 7, "name": "private", "ip_range": "10.0.0.0/8"}

Migrate = Callable[..., Said]


def cluster(sim: Simulation, *workloads: dict[str, Any], **answers: Any) -> None:
    """Let the cluster have these workloads, a settled Node, and answer so at a path of what is not simulated."""
    sim.kubernetes.replace_world(
        {
            "namespaces": [{"metadata": {"name": "kube-system", "uid": CLUSTER_UID}}],
            "nodes": [settled_node("web-1", 1)],
            "deployments": [each for each in workloads if each["kind"] == "Deployment"],
            "daemonsets": [each for each in workloads if each["kind"] == "DaemonSet"],
        }
    )
    answer(sim, answers)


def answer(sim: Simulation, answers: Mapping[str, tuple[int, Any]]) -> None:
    sim.kubernetes_proxy.set_faults(
        [{"kind": "status", "path": path, "code": code, "body": body} for path, (code, body) in answers.items()]
    )


def secret(**texts: str) -> tuple[int, Any]:
    return 200, {"data": {key: base64.b64encode(text.encode()).decode() for key, text in texts.items()}}


@pytest.fixture
def world(simulate: Callable[..., Simulation]) -> Simulation:
    return simulate(
        project={"servers": [server(1, "web-1")], "networks": [PRIVATE]},
        kubernetes_tokens={"admin": None, VIEWER: ["get", "list"]},
    )


@pytest.fixture
def migrate(world: Simulation, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Migrate:
    @contextmanager
    def without_waiting(_grace_s: float) -> Iterator[threading.Event]:
        yield world.stop

    monkeypatch.setattr("reconciler.cli.reading.stop_within", without_waiting)
    usual = {"HCLOUD_TOKEN": READ_ONLY_TOKEN, "HCLOUD_ENDPOINT": world.endpoint}

    def run(*words: str, **variables: str) -> Said:
        command = CommandLine(monkeypatch, capsys, usual)
        return command("migrate", "--kubeconfig", str(world.kubeconfig(VIEWER)), *words, **variables)

    return run


def test_the_good_case(world: Simulation, migrate: Migrate) -> None:
    """HCCM of its own chart, ready and at work: its values say nothing, the plan is empty and nothing in it is held,
    and each request is a read."""
    cluster(world, raw_hccm(metadata=of_helm()))

    said = migrate("--detailed-exitcode", "-o", "json")

    assert (said.code, said.document["errors"]) == (0, [])
    assert said.document["plan"]["result"] == "no_changes"
    assert {note["kind"] for note in said.document["plan"]["notes"]} <= {"clock-skew"}, "and no other-controller"
    assert said.document["values"] == {}
    assert said.document["owner"] == {"tool": "Helm release", "namespace": "kube-system", "name": "hccm"}
    assert said.document["workload"]["image"] == IMAGE
    assert {entry.method for entry in (*world.sent_to_kubernetes(), *world.sent_to_hetzner())} == {"GET"}


def test_a_token_of_this_shell_goes_to_no_address_that_a_workload_has_chosen() -> None:
    """Who may make a Deployment with HCCM's image would be sent it; a token of the workload goes where it says."""
    theirs = {"HCLOUD_ENDPOINT": "https://example.com/v1", "ROBOT_ENDPOINT": "https://example.com"}
    variables = {
        name: FoundVariable({"value": text}, text) for name, text in {**theirs, "HCLOUD_TOKEN": "theirs"}.items()
    }
    found = FoundController("Deployment", "a", "b", IMAGE, variables=variables)

    given = environment_of(found, {"HCLOUD_TOKEN": "ours", "ROBOT_PASSWORD": "ours"})

    assert given == {"HCLOUD_TOKEN": "ours", "ROBOT_PASSWORD": "ours"}
    assert environment_of(found, {}) == found.values


def test_the_text(world: Simulation, migrate: Migrate) -> None:
    env = [TOKEN, *literal(HCLOUD_LOAD_BALANCERS_LOCATION="fsn1", GODEBUG="x")]
    cluster(world, raw_hccm(*ARGUMENTS, env=env, metadata=of_helm()))

    said = migrate()

    lines = said.stdout.splitlines()
    assert said.code == 0
    assert lines[:4] == [
        "Deployment kube-system/hcloud-cloud-controller-manager, 1 ready of 1",
        f"  image: {IMAGE}",
        "  made by: Helm release kube-system/hccm",
        "  Secrets: hcloud (token)",
    ]
    order = ["Settings", "Values ('-o values' prints them alone)", "Plan after the switch", "Switch", "Switch back"]
    assert [line for line in lines if line in order] == order
    assert "  same: HCLOUD_TOKEN, HCLOUD_LOAD_BALANCERS_LOCATION" in lines
    assert "  look at: GODEBUG: hcloud-reconciler does not read it" in lines
    assert "  left out: --allow-untagged-cloud, --cloud-provider: this controller has no other cloud" in lines
    assert lines[-1] == f"  helm --kubeconfig {world.kubeconfig(VIEWER)} rollback hccm -n kube-system"


def test_a_hold_of_the_plan_after_the_switch(world: Simulation, migrate: Migrate) -> None:
    """Until then no command finds it, and so none is printed."""
    cluster(world, raw_hccm())
    lost = [settled_node(f"worker-{i}", 10 + i, "Unknown", since=ago(360)) for i in (1, 2)]
    known = world.kubernetes.world()["kubernetes"]
    world.kubernetes.replace_world({**known, "nodes": [*known["nodes"], *lost]})

    text = migrate().stdout

    assert "! node-blast-radius holds 2 changes" in text
    assert ("holds show" in text, "reconcile approve" in text) == (False, False)


def test_settings_of_hccm_make_the_plan(world: Simulation, migrate: Migrate) -> None:
    """The plan is made with HCCM's settings, read from its Secret, and not with those of the shell: the Node gets its
    private address. The difference is explained."""
    attached = {"private_net": [{"network": 7, "ip": "10.0.1.1"}]}
    world.hetzner.replace_world({"servers": [server(1, "web-1", **attached)], "networks": [PRIVATE]})
    workload = raw_hccm(*ARGUMENTS, *ROUTES, env=[TOKEN, NETWORK, *OF_ROBOT], pod={"hostNetwork": True})
    cluster(world, workload, **{f"{SECRETS}/hcloud": secret(token="theirs", network="private")})

    said = migrate("--detailed-exitcode", HCLOUD_NETWORK="another", RECONCILER_CLUSTER_CIDR="10.0.0.0/8")

    assert "  warning: in the Nodes' network metrics are served at 127.0.0.1 alone" in said.stdout
    assert "node/web-1/addresses" in said.stdout
    assert "  node.addresses: HCCM looks every five minutes" in said.stdout
    assert "theirs" not in said.stdout + said.stderr
    assert said.code == 2


def test_the_values_alone(world: Simulation, migrate: Migrate) -> None:
    cluster(world, raw_hccm(*ARGUMENTS, *ROUTES, env=[TOKEN, NETWORK], pod={"hostNetwork": True}))

    said = migrate("-o", "values", HCLOUD_TOKEN="")

    assert (said.code, said.stderr) == (0, "")
    assert said.stdout.startswith("# Values of hcloud-reconciler with the meaning of Deployment kube-system/hcloud-")
    assert yaml.safe_load(said.stdout) == {"networking": {"enabled": True, "clusterCIDR": "10.244.0.0/16"}}
    assert world.sent_to_hetzner() == []
    assert [entry.path for entry in world.sent_to_kubernetes() if "secrets" in entry.path] == []


def test_what_may_not_be_read_is_asked_for(world: Simulation, migrate: Migrate) -> None:
    """Without a right to read the Secret nothing is planned with wrong settings: the variable is named, and the shell
    may say what it is."""
    cluster(world, raw_hccm(*ROUTES, env=[TOKEN, NETWORK, *OF_ROBOT]), **{SECRETS: (403, FORBIDDEN)})

    said = migrate("-o", "json")

    title = "Deployment kube-system/hcloud-cloud-controller-manager"
    assert said.code == 1
    assert said.document["plan"] is None
    assert said.document["errors"] == [f"HCLOUD_NETWORK of {title} cannot be read: set it here for the plan"]
    assert "may not look" in said.document["warnings"][0]
    assert migrate(HCLOUD_NETWORK="private").code == 0


@pytest.mark.parametrize(
    ("variables", "missing"),
    [
        pytest.param({"HCLOUD_TOKEN_FILE": "/t"}, [], id="the token is this shell's"),
        pytest.param({"ROBOT_USER_FILE": "/u"}, [], id="Robot is off"),
        pytest.param({"ROBOT_USER_FILE": "/u", "ROBOT_ENABLED": "1"}, ["ROBOT_USER"], id="a file of the pod"),
    ],
)
def test_files_of_the_pod(world: Simulation, migrate: Migrate, variables: dict[str, str], missing: list[str]) -> None:
    """What HCCM has from a file is not known here."""
    cluster(world, raw_hccm(env=[TOKEN, *literal(**variables)]))

    errors = migrate("-o", "json").document["errors"]

    assert [error.partition(" ")[0] for error in errors] == missing


def test_in_any_namespace(world: Simulation, migrate: Migrate) -> None:
    cluster(world, raw_hccm(kind="DaemonSet", namespace="infra"))

    document = migrate("-o", "json").document

    assert document["workload"]["kind"] == "DaemonSet"
    (warning,) = document["warnings"]
    assert warning.startswith("it runs in infra, and the guard other-controller looks into kube-system alone")


def test_of_k3s(world: Simulation, migrate: Migrate) -> None:
    """A release of k3s' helm controller has the name of its HelmChart."""
    of_another = {"metadata": {"name": "traefik", "namespace": "kube-system"}, "spec": {}}
    chart = {"metadata": {"name": "hccm", "namespace": "kube-system"}, "spec": {"targetNamespace": "kube-system"}}
    cluster(world, raw_hccm(metadata=of_helm()), **{f"{CHARTS}$": (200, {"items": [of_another, chart]})})

    assert migrate("-o", "json").document["owner"]["tool"] == "k3s HelmChart"


@pytest.mark.parametrize(
    ("workloads", "error"),
    [
        pytest.param([], "no Deployment or DaemonSet is HCCM or a fork", id="none"),
        pytest.param(
            [raw_hccm(), raw_hccm(kind="DaemonSet", namespace="infra")],
            "2 workloads are cloud controllers for Hetzner, which write the same objects",
            id="two",
        ),
    ],
)
def test_nothing_to_migrate(world: Simulation, migrate: Migrate, workloads: list[dict[str, Any]], error: str) -> None:
    cluster(world, *workloads)

    said = migrate("-o", "values")

    assert said.code == 1
    assert error in said.refusal


def test_one_that_was_stopped_is_found(world: Simulation, migrate: Migrate) -> None:
    """One without pods, as after the switch; beside one that runs it is none."""
    cluster(world, raw_hccm(ready=0))
    assert migrate("-o", "json").document["workload"]["ready"] == 0

    cluster(world, raw_hccm(ready=0), raw_hccm(kind="DaemonSet", namespace="infra"))
    assert migrate("-o", "json").document["workload"]["namespace"] == "infra"


def test_variables_of_whole_objects(world: Simulation, migrate: Migrate) -> None:
    workload = raw_hccm(
        env=[TOKEN, *literal(HCLOUD_LOAD_BALANCERS_TYPE="lb21")], envFrom=[{"configMapRef": {"name": "hccm"}}]
    )
    cluster(world, workload)
    meta = {"name": "hccm", "namespace": "kube-system"}
    given = {"HCLOUD_LOAD_BALANCERS_LOCATION": "hel1", "HCLOUD_LOAD_BALANCERS_TYPE": "lb11"}
    world.kubernetes.replace_world({"deployments": [workload], "configmaps": [{"metadata": meta, "data": given}]})

    reference = {"configMapKeyRef": {"name": "hccm", "key": "HCLOUD_LOAD_BALANCERS_LOCATION"}}
    assert yaml.safe_load(migrate("-o", "values").stdout)["env"] == {
        "HCLOUD_LOAD_BALANCERS_LOCATION": {"valueFrom": reference},
        "HCLOUD_LOAD_BALANCERS_TYPE": {"value": "lb21"},
    }


@pytest.mark.parametrize("words", [(), ("-o", "values")], ids=["plan", "values"])
def test_a_whole_secret_that_cannot_be_read(world: Simulation, migrate: Migrate, words: tuple[str, ...]) -> None:
    """HCLOUD_NETWORK may be in it: no plan and no values tell of it as unset."""
    cluster(
        world,
        raw_hccm(env=[TOKEN], envFrom=[{"secretRef": {"name": "hccm"}}]),
        **{f"{SECRETS}/hccm": (403, FORBIDDEN)},
    )

    said = migrate(*words)

    title = "Deployment kube-system/hcloud-cloud-controller-manager"
    assert (said.code, said.stdout) == (1, "")
    first, second = said.stderr.splitlines()
    why = f"Secret hccm cannot be read, and has variables of {title}: use an account that may read it"
    assert first == f"reconcile: error: {why}"
    assert "may not look" in second


def test_settings_that_cannot_work(world: Simulation, migrate: Migrate) -> None:
    """What this product refuses of HCCM's settings is the error that its controller would end with."""
    env = [TOKEN, *literal(HCLOUD_LOAD_BALANCERS_LOCATION="a", HCLOUD_LOAD_BALANCERS_NETWORK_ZONE="b")]
    cluster(world, raw_hccm(env=env))

    said = migrate()

    assert said.code == 1
    assert "HCLOUD_LOAD_BALANCERS_LOCATION and HCLOUD_LOAD_BALANCERS_NETWORK_ZONE exclude each other" in said.stderr


def test_no_secret_is_shown(world: Simulation, migrate: Migrate) -> None:
    env = [*literal(HCLOUD_TOKEN="t0ken-in-the-open"), from_secret("ROBOT_PASSWORD", "robot-password")]
    cluster(world, raw_hccm(env=env), **{f"{SECRETS}/hcloud": secret(**{"robot-password": "pa55word"})})

    for words in ((), ("-o", "json"), ("-o", "values")):
        said = migrate(*words)
        assert "t0ken" not in json.dumps([said.stdout, said.stderr])
        assert "pa55word" not in json.dumps([said.stdout, said.stderr])
