"""``reconcile capture``, and plans from its file: what is written, what is asked, and how it ends."""

import io
import json
import os
import re
import resource
import signal
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from actuators.http import hetzner, kubernetes
from hcloud_sandbox.robot import RobotSimulator
from hcloud_sandbox.running import read_world as read_for_sandbox
from reconciler.cli import capture as command
from reconciler.cli.stopping import Stop
from tests.support.capture_command import FLAGS, SECRETS, Shell, a_world
from tests.support.explain_command import VIEWER
from tests.support.rendering import golden
from tests.support.rows import rows
from tests.support.simulators import Simulation

_FROM = re.compile(r' --from [^\s"]+')
PLAN = ("--dry-run", "--output", "json", *FLAGS)
OUT_OF_SERVICE = ("--out-of-service", "deleted")
SUMMARY = (
    "reconcile: captured 4 Nodes, 3 Services, 2 servers and 1 load balancer as of 2027-01-15 08:00:00 UTC;"
    " docs/capture.md says what is in the file\n"
)


@pytest.fixture
def sim(simulate: Callable[..., Simulation]) -> Simulation:
    return a_world(simulate)


@pytest.fixture
def shell(sim: Simulation, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(sim, monkeypatch, capsys)


def without_cost(document: str) -> dict[str, Any]:
    """A report, but for what it cost, for the clock of the machine that it was made on, which no file has, and for the
    file in commands that are printed."""
    found = json.loads(_FROM.sub("", document))
    report = {name: value for name, value in found.items() if name != "requests"}
    return {**report, "notes": [note for note in report["notes"] if note["kind"] != "clock-skew"]}


def without_surroundings(text: str) -> dict[str, Any]:
    """An explanation, but for what it cost, the clock of the machine and the file."""
    document = json.loads(_FROM.sub("", text))
    decisions = [row for row in document["decisions"] if row["rule"] != "clock-skew"]
    return {**document, "decisions": decisions, "requests": None}


@pytest.mark.parametrize("more", [(), OUT_OF_SERVICE], ids=["as it is", "volumes"])
def test_the_same_plan_from_both(
    sim: Simulation, shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: Sequence[str]
) -> None:
    """What the file is planned from needs neither a token nor a cluster, and makes no connection."""
    file = str(tmp_path / "world.json")
    assert shell("capture", "--to", file).stderr == SUMMARY
    online = shell(*PLAN, *more)
    sim.hetzner_proxy.journal.clear()
    sim.kubernetes_proxy.journal.clear()

    def refuse(*_arguments: object, **_more: object) -> None:
        raise AssertionError("a connection in a plan from a file")

    monkeypatch.setattr(hetzner, "connect", refuse)
    monkeypatch.setattr(kubernetes, "connect", refuse)
    offline = shell.offline(*PLAN, *more, "--from", file)

    assert without_cost(offline.stdout) == without_cost(online.stdout)
    assert ("node.out_of_service_taint" in offline.stdout) is (more == OUT_OF_SERVICE)
    assert json.loads(offline.stdout)["requests"] == {"kubernetes": 0, "hetzner": 0}
    assert (offline.code, offline.stderr) == (online.code, online.stderr)
    assert (sim.sent_to_hetzner(), sim.sent_to_kubernetes()) == ([], [])


def test_the_same_plan_with_robot_servers(
    simulate: Callable[..., Simulation],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    """The file needs no credentials of Robot, and has none; its servers are there for the sandbox too."""
    sim = a_world(simulate, robot=[{"server_number": 1, "server_name": "db-1"}])
    shell, file = Shell(sim, monkeypatch, capsys), str(tmp_path / "world.json")
    assert sim.robot_proxy is not None
    switched_on = {"ROBOT_ENABLED": "true", "HCLOUD_NETWORK_ROUTES_ENABLED": "false"}
    login = {"ROBOT_USER": RobotSimulator.USER, "ROBOT_PASSWORD": RobotSimulator.PASSWORD}
    reach = {**switched_on, **login, "ROBOT_ENDPOINT": sim.robot_proxy.url}

    captured = shell("capture", "--to", file, **reach)
    online = shell(*PLAN[:-2], **reach)
    sim.robot_proxy.journal.clear()
    offline = shell.offline(*PLAN[:-2], "--from", file, **switched_on)

    assert "2 servers, 1 Robot server and 1 load balancer" in captured.stderr
    assert "node/db-1" in {change["key"] for change in json.loads(online.stdout)["changes"]}
    assert without_cost(offline.stdout) == without_cost(online.stdout)
    assert (offline.code, offline.stderr, sim.sent_to_robot()) == (online.code, online.stderr, [])
    text = Path(file).read_text()
    assert [secret for secret in (*SECRETS, *login.values()) if secret in text] == []
    assert [each["server_number"] for each in read_for_sandbox(file)["robot"]["servers"]] == [1]


@pytest.mark.parametrize(
    "words", [("node", "web-1"), ("node", "lost-8"), ("service", "shop/web"), ("service", "shop/db")]
)
def test_the_same_explanation_from_both(shell: Shell, tmp_path: Path, words: tuple[str, str]) -> None:
    file = str(tmp_path / "world.json")
    shell("capture", "--to", file)

    online = shell("explain", *words, *FLAGS, "--output", "json")
    offline = shell.offline("explain", *words, *FLAGS, "--output", "json", "--from", file)

    assert without_surroundings(offline.stdout) == without_surroundings(online.stdout)
    assert (offline.code, offline.stderr) == (online.code, online.stderr)


def test_golden_file(shell: Shell) -> None:
    """What is in a file, and what is not; set UPDATE_GOLDEN to write it anew, and read it."""
    captured = shell("capture")
    text = captured.stdout

    assert captured.stderr == SUMMARY
    assert [secret for secret in SECRETS if secret in text] == []
    comparable = json.loads(text)
    comparable["captured"]["tool_version"] = "(of the day)"
    del comparable["captured"]["lists"]["/load_balancer_types"]  # long, and nobody's secret
    text = json.dumps(comparable, indent=1, ensure_ascii=False) + "\n"
    assert text == golden("captured.json", text)


def test_only_reads_are_sent(sim: Simulation, shell: Shell) -> None:
    """One GET for each page and for what is alone; of the servers that the list lacks each is asked for."""
    shell("capture")

    assert sorted((entry.method, entry.path) for entry in sim.sent_to_kubernetes()) == [
        ("GET", path)
        for path in (
            "/api/v1/namespaces/kube-system",
            "/api/v1/namespaces/kube-system/configmaps/hcloud-reconciler",
            "/api/v1/namespaces/kube-system/configmaps/hcloud-reconciler-approvals",
            "/api/v1/nodes",
            "/api/v1/services",
            "/apis/apps/v1/namespaces/kube-system/daemonsets",
            "/apis/apps/v1/namespaces/kube-system/deployments",
            "/apis/storage.k8s.io/v1/volumeattachments",
        )
    ]
    assert sorted((entry.method, entry.path) for entry in sim.sent_to_hetzner()) == [
        ("GET", f"/v1/{path}")
        for path in (
            "certificates",
            "load_balancer_types",
            "load_balancers",
            "networks",
            "networks/7/members",
            "pricing",
            "primary_ips",
            "servers",
            "servers/8",
            "servers/9",
        )
    ]


def test_volume_attachments_of_a_cluster_without_losses(sim: Simulation, shell: Shell) -> None:
    """No plan needs them: nothing is asked, and the file says nothing of them."""
    nodes = [node for node in sim.nodes().values() if not node["metadata"]["name"].startswith("lost")]
    sim.kubernetes.replace_world({**sim.kubernetes.world()["kubernetes"], "nodes": nodes})

    captured = json.loads(shell("capture").stdout)

    assert "volumeattachments" not in captured["kubernetes"]
    assert [entry.path for entry in sim.sent_to_kubernetes() if "volumeattachments" in entry.path] == []


def test_the_file_is_a_world_for_the_sandbox(shell: Shell, tmp_path: Path) -> None:
    """It can be served as it is, and read by its owner alone."""
    file = tmp_path / "world.json"
    before = os.umask(0)
    try:
        shell("capture", "--to", str(file))
    finally:
        os.umask(before)

    assert len(read_for_sandbox(file)["kubernetes"]["nodes"]) == 4
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_gaps_are_said(
    simulate: Callable[..., Simulation], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sim = a_world(simulate, {"admin": None, VIEWER: ["list"]})
    shell = Shell(sim, monkeypatch, capsys)

    captured = shell("capture")

    warned, words = captured.stderr.splitlines()[0], "GET /api/v1/namespaces/kube-system answers 403"
    assert captured.code == 0
    assert warned.startswith("reconcile: warning: /api/v1/namespaces/kube-system is not whole in the file: ")
    assert words in warned
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(captured.stdout.encode())))
    offline = shell.offline(*PLAN, "--from", "-")
    assert without_cost(offline.stdout) == without_cost(shell(*PLAN).stdout)


@rows(
    "words variables line",
    {
        "no folder": (("--to", "/nowhere/x"), {}, "--to '/nowhere/x' cannot be written: No such file or directory"),
        "full": (("--to", "/dev/full"), {}, "--to '/dev/full' cannot be written: No space left on device"),
        "no cluster": (
            ("--kubeconfig", "/nowhere"),
            {},
            (
                "kubeconfig /nowhere cannot be used: no such file; give another with"
                " --kubeconfig or KUBECONFIG, or correct it"
            ),
        ),
        "a misspelt variable": (("--kubeconfig=x", "--to=y"), {"RECONCILER_TOO": "z"}, None),
    },
)
def test_trouble(shell: Shell, words: tuple[str, ...], variables: dict[str, str], line: str | None) -> None:
    said = shell("capture", *words, **variables)

    expected = line or "unknown variable RECONCILER_TOO: did you mean RECONCILER_TO?"
    assert (said.code, said.stdout, said.stderr) == (1, "", f"reconcile: error: {expected}\n")


def test_a_file_that_is_there_stays(shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "world.json"
    file.write_text("precious")

    said = shell("capture", "--to", str(file), "--kubeconfig", "/nowhere")

    why = "is there already: give another name, or --force to overwrite it"
    assert (said.code, said.stderr) == (1, f"reconcile: error: --to {str(file)!r} {why}\n")
    assert file.read_text() == "precious"
    assert shell("capture", "--to", str(file), "--force").stderr == SUMMARY
    assert "precious" not in file.read_text()
    file.write_text("")
    assert shell("capture", "--to", str(file)).stderr == SUMMARY
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_full_disk_leaves_no_half_file(shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "captured" / "world.json"
    file.parent.mkdir()
    file.write_text("precious")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        said = shell("capture", "--to", str(file), "--force")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, before)

    assert (said.code, said.stderr) == (1, f"reconcile: error: --to {str(file)!r} cannot be written: File too large\n")
    assert [(path.name, path.read_text()) for path in file.parent.iterdir()] == [("world.json", "precious")]


@rows(
    "token words",
    {"the project's": ("x" * 64, "GET /servers answers 401"), "the cluster's": (None, "GET /api/v1/nodes answers 403")},
)
def test_nothing_to_plan_from(
    simulate: Callable[..., Simulation],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    token: str | None,
    words: str,
) -> None:
    sim = a_world(simulate, {"admin": None, VIEWER: ["get", "list"] if token else ["get"]})
    file = tmp_path / "world.json"
    shell = Shell(sim, monkeypatch, capsys)
    if token:
        monkeypatch.setattr("tests.support.capture_command.READ_ONLY_TOKEN", token)

    said = shell("capture", "--to", str(file))

    assert (said.code, said.stdout, len(said.stderr.splitlines())) == (1, "", 1)
    assert words in said.stderr
    assert not file.exists()


def test_a_signal_leaves_no_file(shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was read until then is not all, and is not taken for it."""

    @contextmanager
    def stopped(_grace_s: float) -> Iterator[Stop]:
        stop = Stop()
        yield stop

    def read(_config: object, stop: Stop) -> object:
        stop.set()
        return object()

    monkeypatch.setattr(command, "stop_within", stopped)
    monkeypatch.setattr(command, "_read", read)
    file = tmp_path / "world.json"

    said = shell("capture", "--to", str(file))

    stop_line = "reconcile: error: stopped before everything was read: nothing is written\n"
    assert (said.code, said.stderr, file.exists()) == (1, stop_line, False)


@rows(
    "words lines",
    {
        "once": (
            ("--once", "--from", "f"),
            ["--from goes with 'reconcile plan', 'explain', 'holds' and 'ui': nothing can be applied to a file"],
        ),
        "a cluster as well": (
            ("--dry-run", "--from", "f", "--kubeconfig", "k"),
            ["--from and --kubeconfig exclude each other: a plan from a file asks no cluster"],
        ),
        "an explanation with a cluster": (
            ("explain", "node", "a", "--from", "f", "--kubeconfig", "k"),
            ["--from and --kubeconfig exclude each other: a plan from a file asks no cluster"],
        ),
        "a context as well": (
            ("--dry-run", "--from", "f", "--context", "c"),
            ["--from and --context exclude each other: a plan from a file asks no cluster"],
        ),
    },
)
def test_usage(shell: Shell, words: tuple[str, ...], lines: list[str]) -> None:
    said = shell.offline(*words)

    assert (said.code, said.stderr.splitlines()) == (64, [f"reconcile: error: {line}" for line in lines])


def test_a_bad_file_is_one_error(shell: Shell, tmp_path: Path) -> None:
    file = str(tmp_path / "missing")
    why = "No such file or directory; give a file that 'reconcile capture' has written"
    line = f"world file {file!r} cannot be used: {why}"

    plan = shell.offline(*PLAN, "--from", file)
    explanation = shell.offline("explain", "node", "a", "--from", file)

    assert (plan.code, plan.stderr) == (1, f"reconcile: error: {line}\n")
    assert (json.loads(plan.stdout)["result"], json.loads(plan.stdout)["errors"]) == ("error", [line])
    assert (explanation.code, explanation.stderr) == (1, f"reconcile: error: {line}\n")
