"""Every command that the product prints is one that works as it is printed, in the shell of whoever reads it: beside a
controller that publishes, beside runs of cron, and on a laptop where nothing was ever published."""

import logging
import re
import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from desired.names import CONFIG_MAP
from hcloud_sandbox.hetzner import HetznerSimulator
from reconciler.cli.app import parse_command_line
from reconciler.config.options import Command, Output
from reconciler.telemetry.pass_logger import PassLogger
from tests.routes import CLUSTER_CIDR
from tests.support.assets import ROOT
from tests.support.hccm import literal, raw_hccm
from tests.support.objects import joining_node, server, settled_node
from tests.support.passes import NAMESPACE, Run, records_in
from tests.support.rendering import written
from tests.support.said import CommandLine, Said
from tests.support.simulators import Simulation, ago

_HINT = re.compile(r"(['`]?)\breconcile ((?:plan|holds|approve|apply|status|explain|migrate|orphans|capture)\b[^\n]*)")
_ENDS = re.compile(r"   \(|\"|\\n| > ")
"""Where a command ends that is not quoted: at a remark, with the text of a document, or where a shell goes on."""
ROUTED = ("--cluster-cidr", str(CLUSTER_CIDR[0]) if isinstance(CLUSTER_CIDR, tuple) else str(CLUSTER_CIDR))


def hints(text: str) -> list[str]:
    """The commands in a text: to the quote, or to the end of what a line says of it."""
    return [
        rest.partition(quote)[0] if quote else _ENDS.split(rest)[0].rstrip(" .") for quote, rest in _HINT.findall(text)
    ]


_NEEDS_A_PERSON = 3


@dataclass
class Cluster:
    """A cluster, and the shell of a person, who answers each question with yes."""

    sim: Simulation
    shell: CommandLine

    def type(self, *words: str, **variables: str) -> Said:
        return self.shell(*words, **variables)

    def have_config_map(self) -> None:
        self.add("configmaps", {"metadata": {"name": CONFIG_MAP, "namespace": NAMESPACE}})

    def add(self, kind: str, raw: Mapping[str, Any]) -> None:
        known = self.sim.kubernetes.world()["kubernetes"]
        self.sim.kubernetes.replace_world({**known, kind: [*known.get(kind, ()), raw]})

    def follow(self, texts: Iterable[str], **variables: str) -> set[Command]:
        """Type what these texts name, and what that names in turn; the commands that were typed, of which all worked.
        A Node without a server needs a person afterwards.
        What approves comes after all that only looks, and what applies comes last."""
        typed, todo = dict[str, Command](), [hint for text in texts for hint in hints(text)]
        while todo:
            todo.sort(key=lambda hint: (hint.startswith("apply"), hint.startswith("approve")))
            line = todo.pop(0)
            if line not in typed:
                words = shlex.split(line)
                typed[line] = parse_command_line(words)[0]
                said = self.type(*words, **variables)
                assert said.code == 0 or (line.startswith("apply") and said.code == _NEEDS_A_PERSON), (line, said)
                todo += hints(said.stdout + said.stderr)
        return set(typed.values())


@pytest.fixture
def cluster(
    simulate: Callable[..., Simulation], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Cluster:
    """Two of three servers are gone, which is held; in a network, so that what is planned depends on flags."""
    lost = [settled_node(f"worker-{i}", 10 + i, "Unknown", since=ago(360)) for i in (1, 2)]
    alive = settled_node("web-1", 1)
    alive["spec"]["podCIDRs"] = ["10.244.1.0/24"]
    sim = simulate(
        nodes=[alive, *lost],
        project={
            "servers": [server(1, "web-1", private_net=[{"network": 7, "ip": "10.0.0.2"}])],
            "networks": [
                {
                    "id": 7,
                    "name": "net",
                    "ip_range": "10.0.0.0/16",
                    "routes": [{"destination": "10.244.1.0/24", "gateway": "10.0.0.2"}],
                }
            ],
        },
    )
    for module in ("approve", "run"):
        monkeypatch.setattr(f"reconciler.cli.{module}.is_attended", lambda: True)
        monkeypatch.setattr(f"reconciler.cli.{module}.is_agreed", lambda *_: True)
    kubeconfig = {"KUBECONFIG": str(sim.kubeconfig())}
    return Cluster(sim, CommandLine(monkeypatch, capsys, kubeconfig))


def test_of_a_controller(cluster: Cluster, caplog: pytest.LogCaptureFixture) -> None:
    """Its reports, Events and log, read where there is a kubeconfig and no token."""
    caplog.set_level(logging.INFO)
    cluster.have_config_map()
    run = Run(cluster.sim)
    report = run.converge()
    records_in(cluster.sim, run.settings).status.keep(report, 0.5)
    PassLogger().look(report)

    of_report = (written(report, output) for output in (Output.TEXT, Output.MARKDOWN, Output.JSON))
    events = (event.message for event in run.ears.events)
    typed = cluster.follow([*of_report, caplog.text, *events, cluster.type("status").stdout])

    assert typed == {Command.HOLDS, Command.APPROVE}
    assert hints(caplog.text)
    run.converge()
    assert set(cluster.sim.nodes()) == {"web-1"}


@pytest.mark.parametrize("publishes", [True, False])
def test_of_a_cronjob(cluster: Cluster, *, publishes: bool) -> None:
    """Where its ConfigMaps are there, who reads its log needs no token, and else its settings."""
    settings = {
        "HCLOUD_TOKEN": HetznerSimulator.TOKEN,
        "HCLOUD_ENDPOINT": cluster.sim.endpoint,
        "HCLOUD_NETWORK": "net",
    }
    cron = ("apply", "--yes", *ROUTED)
    if publishes:
        cluster.have_config_map()
    ran = cluster.type(*cron, **settings)
    assert (ran.code, "! node-blast-radius holds " in ran.stdout) == (3, True)

    typed = cluster.follow([ran.stdout + ran.stderr], **({} if publishes else settings))

    assert typed == {Command.HOLDS, Command.APPROVE}
    assert cluster.type(*cron, **settings).code == 0
    assert set(cluster.sim.nodes()) == {"web-1"}


def test_of_a_laptop(cluster: Cluster) -> None:
    """Beside HCCM, where nothing was ever published, with flags on which it depends what is held."""
    cluster.add("deployments", raw_hccm())
    cluster.add("nodes", joining_node("web-2"))
    settings = {
        "HCLOUD_TOKEN": HetznerSimulator.TOKEN,
        "HCLOUD_ENDPOINT": cluster.sim.endpoint,
        "HCLOUD_NETWORK": "net",
    }
    reach = ("--kubeconfig", cluster.shell.variables["KUBECONFIG"], *ROUTED)
    texts = [cluster.type("plan", *reach, "-o", output, **settings).stdout for output in ("text", "markdown", "json")]
    texts.append(cluster.type("explain", "node", "worker-1", *reach, **settings).stdout)
    texts.append(cluster.type("status", "--kubeconfig", reach[1], **settings).stderr)

    typed = cluster.follow(texts, **settings, KUBECONFIG="/nowhere")

    assert typed == {Command.PLAN, Command.HOLDS, Command.APPROVE, Command.EXPLAIN}
    approved = cluster.type("plan", *reach, **settings).stdout
    assert cluster.follow([approved], **settings, KUBECONFIG="/nowhere") == {Command.APPLY, Command.EXPLAIN}
    assert set(cluster.sim.nodes()) == {"web-1", "web-2"}


def test_of_a_migration(cluster: Cluster) -> None:
    """Those of the product itself: the values at once, the status when a controller has published it."""
    cluster.add("deployments", raw_hccm(env=literal(HCLOUD_NETWORK="net")))
    reach = ("--kubeconfig", cluster.shell.variables["KUBECONFIG"])
    settings = {"HCLOUD_TOKEN": HetznerSimulator.TOKEN, "HCLOUD_ENDPOINT": cluster.sim.endpoint}
    said = cluster.type("migrate", *reach, **settings)
    values, status = hints(said.stdout)

    assert (said.code, values.startswith("migrate -o values ")) == (0, True)
    assert cluster.type(*shlex.split(values), KUBECONFIG="/nowhere").stdout.startswith("# Values of hcloud-reconciler")
    cluster.have_config_map()
    run = Run(cluster.sim)
    records_in(cluster.sim, run.settings).status.keep(run.converge(), 0.5)
    assert cluster.type(*shlex.split(status), KUBECONFIG="/nowhere").code == 3


def test_of_the_pages() -> None:
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    shown = [re.findall(r"^(?:    )?reconcile ([^\n]*)$", page.read_text("utf-8"), re.MULTILINE) for page in pages]
    lines = [re.split("[|>&#]", line)[0] for lines in shown for line in lines]

    assert len(lines) > 20
    for line in lines:
        parse_command_line(shlex.split(line.replace("...", "0123456789abcdef")))
