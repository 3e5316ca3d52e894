"""The commands ``holds``, ``status``, ``approve`` and ``revoke`` against the simulators: what they show, what they
refuse, and what they write."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from actuators.approvals import reviewed_name
from actuators.config_maps import read_data
from actuators.http.kubernetes import KubernetesWriter
from desired.names import APPROVALS_CONFIG_MAP
from desired.plan.grants import Grant, Here
from hcloud_sandbox.hetzner import HetznerSimulator
from reconciler.cli import approve as approving
from reconciler.cli import main
from reconciler.observe.approvals import observe_approvals
from reconciler.observe.kubernetes import observe_cluster_uid
from reconciler.report.status import StatusReport
from tests.support.objects import server, settled_node
from tests.support.passes import NAMESPACE, Run, records_in
from tests.support.records import put, uses_of
from tests.support.rows import rows
from tests.support.said import CommandLine, Said
from tests.support.simulators import Simulation, ago

OTHER = "sha256:0000000000000000"
CONFIG_MAPS = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
VIEWER = "viewer"
START = datetime(2026, 11, 23, 12, tzinfo=UTC)
FORBIDDEN = {"kind": "Status", "reason": "Forbidden", "message": "you may not"}


@dataclass
class World:
    """A cluster in which two of three servers are gone, what its controller published, and a person at a shell."""

    sim: Simulation
    monkeypatch: pytest.MonkeyPatch
    capsys: pytest.CaptureFixture[str]
    run: Run = field(init=False)
    hash: str = field(init=False)
    token: str = "admin"
    variables: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.run = Run(self.sim)
        writer = self.sim.kubernetes_writer()
        writer.create(CONFIG_MAPS, {"metadata": {"name": "hcloud-reconciler"}})
        self.publish()

    def publish(self) -> None:
        records_in(self.sim, self.run.settings).status.keep(report := self.run.converge(), 0.5)
        self.hash = next((hold.hash for hold in report.holds), "")

    def type(self, *words: str) -> Said:
        run = CommandLine(self.monkeypatch, self.capsys, self.variables)
        return run(*words, "--kubeconfig", str(self.sim.kubeconfig(self.token)))

    @property
    def approvals(self) -> tuple[Grant, ...]:
        return observe_approvals(self.sim.kubernetes_reader(), NAMESPACE).grants

    def be_a_laptop(self) -> None:
        """No controller has ever published; the shell has what a plan needs."""
        known = self.sim.kubernetes.world()["kubernetes"]
        self.sim.kubernetes.replace_world({**known, "configmaps": []})
        self.sim.forget()
        self.variables = {"HCLOUD_TOKEN": HetznerSimulator.TOKEN, "HCLOUD_ENDPOINT": self.sim.endpoint}

    def answer(self, text: str | None) -> list[str]:
        """What a person at a terminal answers; None: there is no terminal. Returns what will be asked."""
        asked: list[str] = []

        def answered(question: str, _stop: threading.Event) -> bool:
            asked.append(question)
            assert "provider_id: hcloud://11 -> (none)" in self.capsys.readouterr().out
            assert self.approvals == ()
            return text == "y"

        self.monkeypatch.setattr("reconciler.cli.approve.is_attended", lambda: text is not None)
        self.monkeypatch.setattr("reconciler.cli.approve.is_agreed", answered)
        return asked

    def wait(self, happens: Callable[[], object] = lambda: None) -> tuple[int, float]:
        """Approve and wait for 5 s, in each of which this happens; the exit code, and how long it took."""
        waits: list[float] = []

        def sleep(_stop: threading.Event, seconds: float) -> None:
            waits.append(seconds)
            self.sim.clock.advance(seconds)
            happens()

        flags = {"--kubeconfig": str(self.sim.kubeconfig()), "--wait": "5s"}
        return approving.approve([self.hash], flags, {}, sleep=sleep), sum(waits)

    def use(self) -> None:
        here = Here(self.sim.clock.now(), observe_cluster_uid(self.sim.kubernetes_reader()))
        uses = uses_of(self.sim.kubernetes_reader(), self.sim.kubernetes_writer())
        uses.use_up([each for each in self.approvals if each.of == self.hash], here)


@pytest.fixture
def world(
    simulate: Callable[..., Simulation], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> World:
    lost = [settled_node(f"worker-{i}", 10 + i, "Unknown", since=ago(360)) for i in (1, 2)]
    sim = simulate(
        nodes=[settled_node("web-1", 1), *lost],
        project={"servers": [server(1, "web-1")]},
        kubernetes_tokens={"admin": None, VIEWER: {"get", "list"}},
    )

    @contextmanager
    def without_signals(_grace_s: float) -> Iterator[threading.Event]:
        sim.stop.is_interrupted = False  # type: ignore[attr-defined]
        yield sim.stop

    for module in ("approve", "reading"):
        monkeypatch.setattr(f"reconciler.cli.{module}.stop_within", without_signals)
    return World(sim, monkeypatch, capsys)


def test_the_list(world: World) -> None:
    said = world.type("holds")
    digits = world.hash.removeprefix("sha256:")

    lines = said.stdout.splitlines()
    assert said.code == 0
    assert lines[0].startswith("Published by ccm-0 at 2027-01-15 08:00 UTC, just now")
    assert lines[2:6] == [
        f"{digits}  node-blast-radius  2        2027-01-15 08:00 UTC",
        "    2 of 3 Nodes lost their servers without a drain (limit 1)",
        "    node/worker-1, node/worker-2",
        "    ends by itself at 2027-01-15 08:24 UTC, in 24 min, if both stay NotReady; its changes are then made",
    ]
    assert world.type("approve", digits[:6], "--for", "15m", "--reason", "they are\nsold").code == 0
    assert "    approved by sandbox-0 (" in world.type("holds").stdout
    assert "until 2027-01-15 08:15 UTC: they are sold" in world.type("holds").stdout


def test_one_of_them(world: World) -> None:
    """Every field of every change, by any beginning of its hash that is long enough and no other's."""
    digits = world.hash.removeprefix("sha256:")
    for prefix in (digits[:6], f"sha256:{digits}", digits):
        said = world.type("holds", "show", prefix)
        assert said.code == 0
        assert "  - node/worker-1  node.delete\n      why: server 11 not found in the project\n" in said.stdout
        assert "      provider_id: hcloud://11 -> (none)\n" in said.stdout
        assert f"  approve: reconcile approve {world.hash} --kubeconfig " in said.stdout
    for wrong, code in ((digits[:5], 64), ("sha256:xyz", 64), ("ffffff", 1)):
        said = world.type("holds", "show", wrong)
        assert (said.code, len(said.stderr.splitlines())) == (code, 1)


def test_a_prefix_of_two(world: World) -> None:
    text = (read_data(world.sim.kubernetes_reader(), NAMESPACE) or {})["status"]
    status = json.loads(text)
    twin = world.hash[:13] + ("0" if world.hash[13] != "0" else "1") + world.hash[14:]
    status["holds"].append({**status["holds"][0], "hash": twin})
    put(world.sim.kubernetes_reader(), world.sim.kubernetes_writer(), {"status": json.dumps(status)})

    said = world.type("approve", world.hash[:13])

    assert said.code == 1
    assert said.stderr.count("\n") == 1
    assert world.hash in said.stderr
    assert twin in said.stderr
    assert world.approvals == ()


def test_machines_get_it_too(world: World) -> None:
    world.type("approve", world.hash)

    found = world.type("holds", "--output", "json").document

    assert (found["by"], [each["hold"]["hash"] for each in found["holds"]]) == ("ccm-0", [world.hash])
    assert [(each["approver"], each["why_void"]) for each in found["holds"][0]["approvals"]] == [("sandbox-0", None)]
    assert world.type("status", "--output", "json").document["last_pass"]["result"] == "blocked"


def test_a_plan_of_ones_own(world: World) -> None:
    """With a token the holds are computed, whatever is published; and without being asked for where nothing is."""
    expected = world.type("holds", "show", world.hash).stdout.split("\n", 2)[2]
    assert "provider_id: hcloud://11 -> (none)" in expected
    world.be_a_laptop()

    for words in (("holds", "--plan"), ("holds",), ("holds", "--only", "node/worker-1,node/worker-2")):
        said = world.type(*words)
        assert (said.code, world.hash.removeprefix("sha256:") in said.stdout) == (0, True)
    assert world.type("holds", "show", world.hash[7:13]).stdout.split("\n", 1)[1] == expected
    assert world.type("holds", "show", "ffffff").refusal.endswith("' lists them")
    assert world.sim.written() == []


def test_what_no_controller_has_published(world: World) -> None:
    world.be_a_laptop()
    world.variables = {}
    no_map = "ConfigMap kube-system/hcloud-reconciler is not there, in which a controller publishes"
    remedy = 'to compute here what is held: environment variable "HCLOUD_TOKEN" is required: set it'

    for words in (("holds",), ("holds", "show", world.hash), ("approve", world.hash), ("approve", "abcdef")):
        said = world.type(*words)
        assert (said.code, no_map in said.refusal, remedy in said.refusal) == (1, True, True), words
    assert "reconcile plan --kubeconfig " in world.type("status").stderr
    assert world.approvals == ()


@rows(
    "words answer code",
    {
        "yes": ((), "y", 0),
        "no": ((), "n", 1),
        "not asked": (("--yes",), "n", 0),
        "no terminal": ((), None, 64),
        "no terminal, not asked": (("--yes",), None, 0),
    },
)
def test_approving_on_a_laptop(world: World, words: tuple[str, ...], answer: str | None, code: int) -> None:
    """Where no controller has published, the plan of this run says what is approved, which a person sees and is asked
    about; the ConfigMap is made, and the next run lets it pass."""
    world.be_a_laptop()
    asked = world.answer(answer)

    said = world.type("approve", world.hash[7:13], *words)

    assert (said.code, len(world.approvals)) == (code, code == 0)
    assert asked == ["Approve it for 1 h?"] * (answer is not None and not words)
    assert ("no terminal to prompt on" in said.stderr, "pass --yes" in said.stderr) == (code == 64, code == 64)
    assert world.type("apply", "--yes").code == (0 if code == 0 else 3)
    assert set(world.sim.nodes()) == {"web-1"} | ({"worker-1", "worker-2"} if code else set())


def test_a_hold_that_is_not_among_the_published(world: World) -> None:
    """What came after the last pass, or is held under other settings than the controller's, is found by a plan."""
    known = world.sim.kubernetes.world()["kubernetes"]
    third = settled_node("worker-3", 13, "Unknown", since=ago(360))
    world.sim.kubernetes.replace_world({**known, "nodes": [*known["nodes"], third]})
    world.variables = {"HCLOUD_TOKEN": HetznerSimulator.TOKEN, "HCLOUD_ENDPOINT": world.sim.endpoint}
    (hold,) = world.type("holds", "--plan", "-o", "json").document["holds"]

    assert hold["hold"]["hash"] != world.hash
    assert world.type("approve", hold["hold"]["hash"], "--yes").code == 0
    assert [each.of for each in world.approvals] == [hold["hold"]["hash"]]
    assert world.type("approve", OTHER).refusal.endswith("or give --unseen to approve it all the same")


def test_a_config_map_that_may_not_be_made(world: World) -> None:
    """One error has the command for who may."""
    world.be_a_laptop()
    world.token = VIEWER

    said = world.type("approve", world.hash, "--yes")

    *_, line = said.stderr.splitlines()
    assert (said.code, "kubectl -n kube-system create configmap hcloud-reconciler" in line) == (1, True)


def test_the_status(world: World) -> None:
    said = world.type("status")
    assert said.code == 3
    assert "Result:    blocked, took 0.5 s\n" in said.stdout
    assert f"Held:      1 hold: reconcile holds --kubeconfig {world.sim.kubeconfig()}\n" in said.stdout
    held = "2 of 3 Nodes lost their servers without a drain (limit 1); 2 changes, since "
    assert f"  ! node-blast-radius: {held}" in said.stdout
    ends = "ends by itself at 2027-01-15 08:24 UTC, in 24 min, if both stay NotReady; its changes are then made"
    assert f"      {ends}\n" in said.stdout
    assert len(said.stdout.splitlines()) <= 12

    world.sim.kubernetes.replace_world(
        {**world.sim.kubernetes.world()["kubernetes"], "nodes": [settled_node("web-1", 1)]}
    )
    world.sim.clock.advance(60)
    world.publish()
    assert (world.type("status").code, world.hash) == (0, "")

    world.sim.clock.advance(3600)
    late = world.type("status")
    assert (late.code, "the controller does not run, or" in late.stdout) == (1, True)


@pytest.mark.parametrize(
    ("renewed", "told"),
    [
        pytest.param(START - timedelta(minutes=3), ", renewed 3 min ago", id="a time"),
        pytest.param("soon\n", r", renewed at soon\n", id="no time"),
        pytest.param("", "", id="never"),
    ],
)
def test_who_leads(renewed: datetime | str, told: str) -> None:
    """A Lease says when it was renewed; what somebody else wrote there is shown as it is."""
    written = renewed if isinstance(renewed, str) else renewed.isoformat()
    report = StatusReport(now=START, leader="kube-1", lease="kube-system/ccm", renewed=written)
    assert [line.text for line in report.lines()] == [f"Leader:    kube-1 (Lease kube-system/ccm){told}"]


def test_what_nobody_published_is_not_approved(world: World) -> None:
    for words in (("approve", OTHER), ("approve", "abcdef")):
        said = world.type(*words)
        assert (said.code, said.stderr.count("\n"), world.approvals) == (1, 1, ())
    assert "give --unseen" in world.type("approve", OTHER).stderr

    assert world.type("approve", OTHER, "--unseen").code == 0
    assert [each.of for each in world.approvals] == [OTHER]


def test_it_shows_what_it_approves(world: World) -> None:
    """And records the API server's name for the person, with this machine's beside it."""
    said = world.type("approve", world.hash)

    assert said.code == 0
    assert said.stdout.index("provider_id: hcloud://11 -> (none)") < said.stdout.index("Approved sha256:")
    (approval,) = world.approvals
    assert (approval.approver, "@" in approval.via) == ("sandbox-0", True)
    assert approval.approved_at is not None
    assert approval.until == approval.approved_at + timedelta(hours=1)
    data = read_data(world.sim.kubernetes_reader(), NAMESPACE, APPROVALS_CONFIG_MAP) or {}
    assert data[f"{world.hash.replace(':', '.')}.by"] == "sandbox-0"


@rows("words answer code", {"yes": ((), "y", 0), "no": ((), "n", 1), "not asked": (("--yes",), "n", 0)})
def test_at_a_terminal(world: World, words: tuple[str, ...], answer: str, code: int) -> None:
    """The hold is shown, then the question comes; nothing is written before it is answered with yes."""
    asked = world.answer(answer)

    assert world.type("approve", world.hash, "--for", "15m", *words).code == code
    assert asked == ["Approve it for 15 min?"] * (not words)
    assert len(world.approvals) == (code == 0)


def test_a_name_that_the_api_server_does_not_tell(world: World) -> None:
    """Before Kubernetes 1.28: it is a claim, which is said, and stands where no policy looks."""
    world.sim.spoil_kubernetes("status", method="POST", code=404, body="404 page not found")

    said = world.type("approve", world.hash)

    assert (said.code, "a claim of this machine" in said.stderr) == (0, True)
    assert "@" in world.approvals[0].approver
    data = read_data(world.sim.kubernetes_reader(), NAMESPACE, APPROVALS_CONFIG_MAP) or {}
    assert not [key for key in data if key.endswith(".by")]


def test_approving_what_is_approved(world: World) -> None:
    """It stands as it is, is extended where that is longer, and what was used is approved anew: that is said."""
    first = world.type("approve", world.hash).stdout
    stands = world.type("approve", world.hash, "--for", "15m").stdout
    longer = world.type("approve", world.hash, "--for", "2h").stdout
    world.use()
    again = world.type("approve", world.hash).stdout

    assert "Nothing to do" not in first
    assert "Nothing to do: it is approved by sandbox-0 (" in stands
    assert "It is longer now." in longer
    assert "and was used at 2027-01-15 08:00 UTC. This is a new approval: the hold passes once more." in again
    assert world.approvals[0].used_at is None


@pytest.mark.parametrize("reason", ["ü" * 512, "\U0001f600" * 512])
def test_a_reason_in_any_language(world: World, reason: str) -> None:
    """As long as it may be, it does not make the approval one that is too long to be read again, nor does its end."""
    assert world.type("approve", world.hash, "--reason", reason).code == 0
    assert [each.reason for each in world.approvals] == [reason]
    assert world.type("revoke", world.hash).code == 0
    assert world.approvals[0].revoked_at is not None


@pytest.mark.parametrize("reason", ["\x1b[2J", "\udcff", "x" * 513])
def test_a_reason_that_is_no_sentence(world: World, reason: str) -> None:
    said = world.type("approve", world.hash, "--reason", reason)
    assert (said.code, said.stderr.count("\n"), world.approvals) == (64, 1, ())


def test_revoking(world: World) -> None:
    """It is void from then on, and by whom; once more is no trouble; what was used, or nobody approved, cannot be."""
    assert world.type("revoke", world.hash).code == 1
    world.type("approve", world.hash)

    said = world.type("revoke", world.hash[:13])

    assert (said.code, "as sandbox-0: it lets nothing pass" in said.stdout) == (0, True)
    assert world.approvals[0].revoked_by == "sandbox-0"
    assert world.run.converge().holds != ()
    assert world.type("revoke", world.hash).code == 0

    world.type("approve", world.hash)
    world.use()
    used = world.type("revoke", world.hash)
    assert used.code == 1
    assert "was used at 2027-01-15 08:00 UTC: what it let through cannot be taken back" in used.stderr


def test_revoking_what_git_approves(world: World) -> None:
    """A key beside the entry: Git keeps what it has, and it counts no more."""
    now = world.sim.clock.now()
    entry = {"approver": "team", "approved_at": now.isoformat(), "expires_at": (now + timedelta(days=1)).isoformat()}
    data = {world.hash.replace(":", "."): json.dumps(entry)}
    world.sim.kubernetes_writer().create(CONFIG_MAPS, {"metadata": {"name": APPROVALS_CONFIG_MAP}, "data": data})
    assert "approved by team at 2027-01-15 08:00 UTC, until" in world.type("holds").stdout

    said = world.type("revoke", world.hash)

    assert (said.code, "it lets nothing pass" in said.stdout) == (0, True)
    assert world.run.plan().holds != ()


@pytest.mark.parametrize(
    ("happens", "code", "told"),
    [
        pytest.param("used", 0, "Used at 2027-01-15 08:00 UTC", id="used"),
        pytest.param("gone", 0, "The hold is gone, and the approval was not used.", id="gone"),
        pytest.param("revoked", 1, "was revoked at", id="revoked"),
        pytest.param("nothing", 1, "was not used within that time", id="nothing happens"),
    ],
)
def test_waiting(world: World, happens: str, code: int, told: str) -> None:
    """It ends when the approval is used or the hold is gone, and no later than it was told to."""

    def happen() -> None:
        match happens:
            case "used":
                world.use()
            case "revoked":
                world.sim.kubernetes_proxy.journal.clear()
                assert main(["revoke", world.hash, "--kubeconfig", str(world.sim.kubeconfig())]) == 0
            case "gone":
                put(world.sim.kubernetes_reader(), world.sim.kubernetes_writer(), {"status": None})
                world.sim.kubernetes.replace_world(
                    {**world.sim.kubernetes.world()["kubernetes"], "nodes": [settled_node("web-1", 1)]}
                )
                world.publish()

    ended, waited_s = world.wait(happen)

    said = world.capsys.readouterr()
    assert (ended, told in said.out + said.err) == (code, True)
    assert waited_s <= 6


def test_without_the_right_to_approve(world: World) -> None:
    """Who may only look can list holds, and is told which right is missing."""
    world.sim.kubernetes_writer().create(CONFIG_MAPS, {"metadata": {"name": APPROVALS_CONFIG_MAP}})
    world.token = VIEWER
    assert world.type("holds").code == 0
    said = world.type("approve", world.hash)
    assert (said.code, said.stderr.count("\n"), world.approvals) == (1, 1, ())
    assert 'cannot patch resource "configmaps"' in said.stderr


def test_revoking_what_is_used_at_that_very_moment(world: World) -> None:
    """It says that it was used, and does not end as if nothing had happened."""
    world.type("approve", world.hash)

    def use_before(writer: KubernetesWriter) -> str:
        world.use()
        return reviewed_name(writer)

    world.monkeypatch.setattr("actuators.approvals.reviewed_name", use_before)
    said = world.type("revoke", world.hash)

    assert said.code == 1
    assert "was used at 2027-01-15 08:00 UTC: what it let through cannot be taken back" in said.stderr
    assert not world.approvals[0].passes(Here(world.sim.clock.now()))


def test_revoking_without_the_right_to_look(world: World) -> None:
    """The missing right is told, and not that nobody has approved it."""
    world.type("approve", world.hash)
    path = f".*configmaps/{APPROVALS_CONFIG_MAP}"
    world.sim.spoil_kubernetes("status", method="GET", path=path, code=403, body=FORBIDDEN)

    said = world.type("revoke", world.hash)

    assert (said.code, said.stderr.count("\n")) == (1, 1)
    assert "approvals cannot be read: " in said.stderr


def test_revoking_what_is_dated_in_the_future(world: World) -> None:
    """A clock was ahead, or a year mistyped: it does not count later either, and can be approved anew now."""
    at = (world.sim.clock.now() + timedelta(hours=20)).isoformat()
    data = {world.hash.replace(":", "."): json.dumps({"approver": "team", "approved_at": at})}
    world.sim.kubernetes_writer().create(CONFIG_MAPS, {"metadata": {"name": APPROVALS_CONFIG_MAP}, "data": data})

    assert "it lets nothing pass" in world.type("revoke", world.hash).stdout
    assert world.approvals[0].revoked_at is not None
    assert world.type("approve", world.hash).code == 0
    assert world.approvals[0].counts(Here(world.sim.clock.now()))


def test_approving_while_the_record_cannot_be_read(world: World) -> None:
    world.type("approve", OTHER, "--unseen")
    put(world.sim.kubernetes_reader(), world.sim.kubernetes_writer(), {"record": "{"})
    said = world.type("approve", world.hash)
    assert (said.code, "no approval counts for now: the record cannot be read" in said.stderr) == (0, True)


def test_revoking_does_not_need_the_record(world: World) -> None:
    world.type("approve", world.hash)
    path = ".*configmaps/hcloud-reconciler$"
    world.sim.spoil_kubernetes("status", method="GET", path=path, code=403, body=FORBIDDEN, count=None)
    assert world.type("revoke", world.hash).code == 0
    world.sim.kubernetes_proxy.clear_faults()
    assert world.approvals[0].revoked_by == "sandbox-0"


def test_waiting_for_what_was_approved_before(world: World) -> None:
    """The wait begins now, and not with the approval that stands."""
    assert world.type("approve", world.hash).code == 0
    world.sim.clock.advance(50 * 60)
    assert world.wait() == (1, 6)


@pytest.mark.parametrize(
    "members",
    [
        pytest.param({"more_holds": 1}, id="it may be among those that found no room"),
        pytest.param({"result": "incomplete"}, id="part of the cluster was not read"),
    ],
)
def test_what_is_not_published_may_be_held_all_the_same(world: World, members: dict[str, object]) -> None:
    """Nobody is told that it is gone, or that nothing is held."""
    data = read_data(world.sim.kubernetes_reader(), NAMESPACE) or {}

    def publish() -> None:
        status = {**json.loads(data["status"]), **members}
        status["holds"][0]["hash"] = OTHER
        status["last_pass"] |= {"at": world.sim.clock.now().isoformat(), **members}
        put(world.sim.kubernetes_reader(), world.sim.kubernetes_writer(), {"status": json.dumps(status)})

    assert world.wait(publish)[0] == 1
    assert "was not used within that time" in world.capsys.readouterr().err


def test_a_list_that_may_lack_something(world: World) -> None:
    """After a pass that could not read everything nobody is told that nothing is held."""
    data = read_data(world.sim.kubernetes_reader(), NAMESPACE) or {}
    status = json.loads(data["status"])
    status["holds"], status["last_pass"]["result"] = [], "incomplete"
    put(world.sim.kubernetes_reader(), world.sim.kubernetes_writer(), {"status": json.dumps(status)})

    said = world.type("holds").stdout
    assert ("Nothing is held" in said, "More may be held: the pass ended with incomplete" in said) == (False, True)
    assert "incomplete" in world.type("holds", "--output", "json").document["why_incomplete"]


def test_approving_unseen_without_the_right_to_look(world: World) -> None:
    """Who has the role of an older version may approve what they have seen elsewhere, as they could."""
    path = ".*configmaps/hcloud-reconciler$"
    world.sim.spoil_kubernetes("status", method="GET", path=path, code=403, body=FORBIDDEN, count=None)

    refused = world.type("approve", world.hash)
    assert (refused.code, "give --unseen" in refused.stderr, world.approvals) == (1, True, ())
    assert world.type("approve", world.hash, "--unseen").code == 0
    assert [each.of for each in world.approvals] == [world.hash]


def test_what_git_approves_in_vain(world: World) -> None:
    """An entry without a zone, the most likely mistake, is named with the remedy, in `holds show` and in the plan."""
    entry = {"approver": "team", "approved_at": "2026-01-15T18:00:00"}
    data = {world.hash.replace(":", "."): json.dumps(entry)}
    world.sim.kubernetes_writer().create(CONFIG_MAPS, {"metadata": {"name": APPROVALS_CONFIG_MAP}, "data": data})
    why = "cannot be read: expect JSON with approver and approved_at, which needs a zone"

    assert why in world.type("holds", "show", world.hash).stdout
    assert [note.text for note in world.run.plan().notes if why in note.text] != []


def test_a_part_is_not_published_as_the_whole(world: World, tmp_path: Path) -> None:
    """What a plan of ``--only`` leaves out is held all the same, also where the plan was saved."""
    world.variables = {"HCLOUD_TOKEN": HetznerSimulator.TOKEN, "HCLOUD_ENDPOINT": world.sim.endpoint}
    file = str(tmp_path / "plan.json")
    assert world.type("plan", "--only", "node/web-1", "--save", file).code == 0
    put(world.sim.kubernetes_reader(), world.sim.kubernetes_writer(), {"status": None})

    assert world.type("apply", file).code == 0
    assert world.type("status").code == 1
    assert world.type("apply", "--yes").code == 3
    assert world.type("status").code == 3
