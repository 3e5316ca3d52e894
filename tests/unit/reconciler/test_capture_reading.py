"""What an observation sees of a file is what it saw of both APIs, whatever was wrong with them."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from actuators.http.errors import ApiError, Broken, Denied, NotFound, Transient
from actuators.http.hetzner import HetznerReader
from actuators.http.kubernetes import ApiAnswer, KubernetesReader
from desired.annotations.options import PREFIX
from desired.model.service import Service
from desired.model.settings import ServerLoss, Settings
from desired.model.snapshot import Snapshot
from desired.model.workload import IMAGE, Container
from desired.plan.setbacks import Setbacks
from hcloud_sandbox.robot import RobotSimulator
from reconciler.capture.offline import FiledCluster, FiledProject, readers_of
from reconciler.capture.reading import capture_world
from reconciler.capture.world_file import Captured, Cluster, Project, World, read_world, write_world
from reconciler.observe.servers_by_id import Confirmer
from reconciler.observe.world import Observation, Readers, look
from reconciler.passes.context import PlanContext
from reconciler.passes.judging import judge_world
from tests.support.capture_command import a_world
from tests.support.objects import joining_node, server, settled_node
from tests.support.passes import NAMESPACE
from tests.support.rows import rows
from tests.support.simulators import Simulation

SETTINGS = Settings(network="net", out_of_service=frozenset(ServerLoss))
VOLUMES = "/apis/storage.k8s.io/v1/volumeattachments"
Body = Callable[[Any], Any]


def refusal(error: ApiError) -> Body:
    def refuse(_body: Any) -> Any:
        raise error

    return refuse


class _Project(HetznerReader):
    """Hetzner, but for the answers at some paths, from the page of this number on."""

    def __init__(self, reader: HetznerReader, changes: Mapping[str, Body]) -> None:
        super().__init__(reader._connection)
        self._changes = changes

    def get(self, path: str) -> bytes:
        """The answer as somebody has changed it."""
        body = super().get(path)
        change = self._changes.get(path.partition("&")[0], self._changes.get(path.partition("?")[0]))
        return json.dumps(change(json.loads(body))).encode() if change else body


class _Cluster(KubernetesReader):
    """The API server, but for the answers at some paths."""

    def __init__(self, reader: KubernetesReader, changes: Mapping[str, Body]) -> None:
        super().__init__(reader.connection)
        self._changes = changes

    def get(self, path: str) -> ApiAnswer:
        """The answer as somebody has changed it."""
        answer = super().get(path)
        change = self._changes.get(path.partition("?")[0])
        return replace(answer, body=json.dumps(change(json.loads(answer.body))).encode()) if change else answer


@pytest.fixture
def sim(simulate: Callable[..., Simulation]) -> Simulation:
    return a_world(simulate)


def both(sim: Simulation, changes: Mapping[str, Body], file: Path) -> tuple[Snapshot, Snapshot]:
    cluster = _Cluster(sim.kubernetes_reader(), changes)
    project = _Project(sim.hetzner_reader(), changes)
    world = capture_world(cluster, project, SETTINGS.network, NAMESPACE, sim.robot_reader())
    file.write_bytes(write_world(world))
    readers = Readers(cluster, project, Confirmer(project), robot=sim.robot_readers())
    online, offline = observed(readers), observed(readers_of(read_world(str(file))))
    assert {part: (type(error), str(error)) for part, error in offline.failures.items()} == {
        part: (type(error), str(error)) for part, error in online.failures.items()
    }
    return planned_from(online.snapshot), offline.snapshot


def observed(readers: Readers) -> Observation:
    seen = look(readers, SETTINGS, NAMESPACE)
    return judge_world(PlanContext(readers, SETTINGS, NAMESPACE), seen, Setbacks()).observation


def planned_from(snapshot: Snapshot) -> Snapshot:
    """The snapshot without what no rule looks at: annotations of others, and images but for what they are asked."""

    def theirs_left_out(service: Service) -> Service:
        ours = {key: text for key, text in service.claim.annotations.items() if key.startswith(PREFIX)}
        return replace(service, claim=replace(service.claim, annotations=ours))

    services, controllers = snapshot.services, snapshot.controllers
    assert services is not None
    assert controllers is not None
    kept = {key: theirs_left_out(service) for key, service in services.items.items()}
    reduced = {key: replace(found, containers=(Container(IMAGE),)) for key, found in controllers.items.items()}
    return replace(snapshot, services=replace(services, items=kept), controllers=replace(controllers, items=reduced))


def items(change: Callable[[list[Any]], list[Any]], name: str = "items") -> Body:
    return lambda body: {**body, name: change(body[name])}


def total(number: int | None) -> Body:
    return lambda body: {**body, "meta": {"pagination": {"last_page": 1, "total_entries": number}}}


TROUBLE: Mapping[str, Mapping[str, Body]] = {
    "none": {},
    "Services may not be listed": {"/api/v1/services": refusal(Denied("no", status=403, code="Forbidden"))},
    "no identity": {"/api/v1/namespaces/kube-system": refusal(Transient("down"))},
    "Deployments may not be listed": {
        f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments": refusal(Denied("no", status=403))
    },
    "VolumeAttachments may not be listed": {VOLUMES: refusal(Denied("no", status=403, code="Forbidden"))},
    "no VolumeAttachments": {VOLUMES: refusal(Transient("down", status=503))},
    "unreadable VolumeAttachments": {VOLUMES: items(lambda listed: [{}, {**listed[0], "spec": 5}, *listed[1:]])},
    "no load balancers": {"/load_balancers": refusal(Transient("down", status=503))},
    "no types": {"/load_balancer_types": refusal(Transient("down", status=503))},
    "no members": {"/networks/7/members": refusal(Transient("down", status=503))},
    "garbage": {"/certificates": lambda _: ["garbage"], "/load_balancers": lambda _: {}},
    "null for a list": {"/api/v1/services": lambda body: {**body, "items": None}},
    "no count": {"/servers": total(None)},
    "a count that does not add up": {"/servers": total(3), "/networks/7/members": total(1)},
    "an object twice": {"/servers": items(lambda listed: [*listed[:1], *listed[:1]], "servers")},
    "an object without an id": {"/servers": items(lambda listed: [listed[0], {"name": "web-2"}], "servers")},
    "members without an address": {"/networks/7/members": items(lambda listed: [{}, *listed[1:]], "members")},
    "unreadable objects": {
        "/servers": items(lambda listed: [listed[0], {**listed[1], "status": {"a": 1}}], "servers"),
        "/load_balancers": items(lambda listed: [{**listed[0], "targets": {"a": 1}}], "load_balancers"),
        "/api/v1/services": items(lambda listed: [{**item, "spec": [1]} for item in listed]),
        "/api/v1/nodes": items(lambda listed: [{}, *listed[1:]]),
    },
}


@pytest.mark.parametrize("changes", TROUBLE.values(), ids=TROUBLE)
def test_the_same_snapshot(sim: Simulation, tmp_path: Path, changes: Mapping[str, Body]) -> None:
    online, offline = both(sim, changes, tmp_path / "world.json")

    assert offline == online


@pytest.mark.parametrize("page", [1, 2, 3])
def test_a_page_that_did_not_arrive(simulate: Callable[..., Simulation], tmp_path: Path, page: int) -> None:
    """What came before, and after, is in the file, and the list ends with the same error."""
    sim = a_world(simulate, more=105)

    online, offline = both(sim, {f"/load_balancers?page={page}": refusal(Transient("cut", status=502))}, tmp_path / "w")

    assert online.load_balancers is not None
    assert offline == online


def test_servers_that_only_answer_to_their_ids(sim: Simulation, tmp_path: Path) -> None:
    """They are in the file, so that the list is doubted in a plan from it as well; and so are errors."""
    sim.hetzner.set_faults([{"kind": "list_lacks", "path": "/servers", "ids": [1], "count": None}])
    changes = {"/servers/8": refusal(Transient("down", status=503))}
    nodes = sim.nodes()
    nodes["web-1"]["status"]["conditions"][0]["status"] = "Unknown"
    sim.kubernetes.replace_world({**sim.kubernetes.world()["kubernetes"], "nodes": list(nodes.values())})

    online, offline = both(sim, changes, tmp_path / "world.json")

    assert "it lacks server 1, which a GET by its id finds" in str(online.servers.why_incomplete)
    assert offline == online


def robot_world(simulate: Callable[..., Simulation]) -> Simulation:
    """Five Nodes on Robot servers of which one is gone and two are silent, one that joins, and one of the cloud."""
    nodes = [
        settled_node(f"db-{number}", number, "Unknown" if number in (1, 2, 9) else "True") for number in (1, 2, 3, 4, 9)
    ]
    for node in nodes:
        node["spec"]["providerID"] = node["spec"]["providerID"].replace("hcloud", "hrobot")
    return simulate(
        nodes=[*nodes, joining_node("db-5"), settled_node("web-1", 1)],
        project={"servers": [server(1, "web-1")]},
        robot=[
            {"server_number": 1, "server_name": "db-1", "operating_status": "shut off"},
            {"server_number": 2, "server_name": "db-2", "server_ip": None, "operating_status": "not supported"},
            *({"server_number": number, "server_name": f"db-{number}"} for number in (3, 4, 5)),
        ],
    )


OF_ROBOT: Mapping[str, Callable[[Simulation, RobotSimulator], object]] = {
    "nothing": lambda *_: None,
    "no servers": lambda _, robot: robot.replace_world({"servers": []}),
    "a server that the list lacks": lambda _, robot: robot.set_faults(
        [{"kind": "list_lacks", "numbers": [1], "count": None}]
    ),
    "wrong password": lambda _, robot: robot.set_credentials("#ws+other", "other"),
    "maintenance": lambda sim, _: sim.spoil_robot("status", code=503, body="", count=None),
    "another service": lambda sim, _: sim.spoil_robot("status", code=200, body="<html>", count=None),
    "half a list": lambda sim, _: sim.spoil_robot(
        "status", path="/server$", code=200, body=[{"server": {"server_number": 1}}, {}, 5, {"server": []}], count=None
    ),
    "no reset": lambda sim, _: sim.spoil_robot("status", path="/reset", code=503, body="", count=None),
    "garbage for a reset": lambda sim, _: sim.spoil_robot(
        "status", path="/reset", code=200, body={"reset": 1}, count=None
    ),
    "no single server": lambda sim, _: sim.spoil_robot("status", path="/server/9", code=503, body="", count=None),
}


@pytest.mark.parametrize("spoil", OF_ROBOT.values(), ids=OF_ROBOT)
def test_the_same_robot_account(
    simulate: Callable[..., Simulation], tmp_path: Path, spoil: Callable[[Simulation, RobotSimulator], object]
) -> None:
    sim = robot_world(simulate)
    assert sim.robot is not None
    spoil(sim, sim.robot)

    online, offline = both(sim, {}, tmp_path / "world.json")

    assert online.robot is not None
    assert offline.robot == replace(online.robot, age=timedelta(0))
    assert offline == replace(online, robot=offline.robot)
    text = (tmp_path / "world.json").read_text()
    assert [secret for secret in (RobotSimulator.USER, RobotSimulator.PASSWORD, "paid_until") if secret in text] == []


def test_whether_robot_servers_are_on(simulate: Callable[..., Simulation], tmp_path: Path) -> None:
    """Of silent Nodes' servers it is in the file, where the webservice can tell; nothing is asked of others."""
    _, offline = both(robot_world(simulate), {}, tmp_path / "world.json")

    assert offline.robot is not None
    found = {number: server.status.value for number, server in offline.robot.servers.items.items()}
    assert found == {1: "off", 2: "other", 3: "unknown", 4: "unknown", 5: "unknown"}


def test_large_worlds(simulate: Callable[..., Simulation], tmp_path: Path) -> None:
    sim = a_world(simulate, more=510)

    online, offline = both(sim, {}, tmp_path / "world.json")

    assert (len(online.nodes), len(online.servers)) == (514, 512)
    assert list(offline.nodes) == list(online.nodes)
    assert offline == online


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        pytest.param({"/api/v1/nodes": refusal(Denied("no", status=403))}, Denied, id="no Nodes"),
        pytest.param({"/api/v1/nodes": lambda _: []}, Broken, id="garbage for Nodes"),
        pytest.param({"/servers": refusal(Denied("no", status=401))}, Denied, id="no servers"),
        pytest.param({"/servers": lambda _: {"servers": 5}}, Broken, id="garbage for servers"),
    ],
)
def test_nothing_to_plan_from(sim: Simulation, changes: Mapping[str, Body], kind: type[ApiError]) -> None:
    cluster, project = _Cluster(sim.kubernetes_reader(), changes), _Project(sim.hetzner_reader(), changes)

    with pytest.raises(kind):
        capture_world(cluster, project, None, NAMESPACE)


@rows(
    "ask what",
    {
        "a server": (lambda world: FiledProject(world).get("/servers/1"), "/servers/1"),
        "a network": (lambda world: FiledProject(world).get("/networks/7"), "/networks/7"),
        "prices": (lambda world: FiledProject(world).get("/pricing"), "/pricing"),
        "members": (lambda world: FiledProject(world).get("/networks/7/members?page=1"), "/networks/7/members"),
        "VolumeAttachments": (lambda world: FiledCluster(world).get(f"{VOLUMES}?limit=500"), "VolumeAttachments"),
        "a Node": (lambda world: FiledCluster(world).get("/api/v1/nodes/a"), "/api/v1/nodes/a"),
    },
)
def test_what_a_file_lacks(sim: Simulation, ask: Callable[[World], object], what: str) -> None:
    taken_at = sim.clock.now()

    with pytest.raises(NotFound, match=what):
        ask(World(captured=Captured(taken_at), kubernetes=Cluster(), hetzner=Project()))


def test_nobody_is_asked(sim: Simulation) -> None:
    world = World(captured=Captured(sim.clock.now()), kubernetes=Cluster(), hetzner=Project())
    readers = readers_of(world)
    readers.hetzner.get("/servers?page=1")
    readers.kubernetes.get("/api/v1/nodes?limit=500")

    assert (readers.hetzner.requests.total, readers.kubernetes.requests.total) == (0, 0)
    assert (readers.hetzner.rate_limit, readers.kubernetes.host) == (None, "the world file")
