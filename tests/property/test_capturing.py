"""Laws of world files: a plan from what was captured is the plan that was made of the world itself."""

import json
from collections.abc import Collection, Mapping, Sequence
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actuators.http.hetzner import HetznerReader
from desired.annotations.options import Options
from desired.model.settings import ServerLoss, Settings
from hcloud_sandbox.clock import SimulatedClock
from hcloud_sandbox.hetzner import HetznerOptions, HetznerSimulator
from kubernetes_double import KubernetesSimulator
from reconciler.capture.offline import readers_of
from reconciler.capture.reading import capture_world
from reconciler.capture.world_file import read_world, write_world
from reconciler.observe.servers_by_id import Confirmer
from reconciler.observe.world import Readers
from reconciler.passes.context import PlanContext
from reconciler.passes.one_pass import explain_once, plan_once
from reconciler.report.documents import report_as_json
from reconciler.report.explanation import explanation_as_json
from tests.property.balancer_worlds import SERVICES, World, worlds
from tests.property.route_worlds import CLUSTER_CIDR, NETWORK_ID, Event, Raw, Stage, fleets, steps
from tests.property.strategies import law_of_passes, some
from tests.support.capture_command import an_attachment
from tests.support.direct import DirectSimulation
from tests.support.keys import key_of
from tests.support.passes import NAMESPACE
from tests.support.premises import premise
from tests.support.simulators import START

FAULTS: tuple[Raw, ...] = (
    {"kind": "list_lacks", "path": "/servers", "ids": [100, 102, 2]},
    {"kind": "list_lacks", "path": "/servers"},
    {"kind": "list_truncated", "path": "/servers", "entries": 1},
    {"kind": "list_truncated", "path": "/load_balancers", "entries": 1},
    {"kind": "list_lacks", "path": "/certificates", "ids": [5]},
)
"""Lists that are not whole, for as long as anybody asks."""
faults = st.lists(some(*FAULTS), max_size=2)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where worlds are written, one after another."""
    return tmp_path_factory.mktemp("worlds") / "world.json"


def readers(sim: DirectSimulation) -> Readers:
    reader = HetznerReader(sim.hetzner_connection())
    return Readers(sim.kubernetes_reader(), reader, Confirmer(reader))


def captured(sim: DirectSimulation, settings: Settings, file: Path) -> Readers:
    online = readers(sim)
    file.write_bytes(write_world(capture_world(online.kubernetes, online.hetzner, settings.network, NAMESPACE)))
    return readers_of(read_world(str(file)))


def told(readers: Readers, settings: Settings, names: Collection[str]) -> Sequence[Mapping[str, Any]]:
    """The plan, and all that is explained of these objects; all but what it cost."""
    plan_context = PlanContext(readers, settings, NAMESPACE)
    documents = [
        report_as_json(plan_once(plan_context)),
        *(explanation_as_json(explain_once(plan_context, key_of(key))) for key in names),
    ]
    return [{name: value for name, value in found.items() if name != "requests"} for found in documents]


@law_of_passes({"a change is planned": 0.4})
@given(worlds(), faults)
def test_services_are_planned_alike(file: Path, world: World, faults: list[Raw]) -> None:
    """Whatever Services, load balancers and servers there are."""
    clock = SimulatedClock(source=START.timestamp)
    settings = Settings(network="7" if world.has_network else None, balancer_defaults=Options(location="fsn1"))
    names = [f"service/default/{name}" for name in SERVICES]
    sim = DirectSimulation(
        HetznerSimulator(clock, world=world.project), KubernetesSimulator(clock, world=world.cluster), clock
    )
    sim.hetzner.set_faults([{**fault, "count": None} for fault in faults])

    online = told(readers(sim), settings, names)
    offline = told(captured(sim, settings, file), settings, names)

    premise("a change is planned", is_met=bool(online[0]["changes"]))
    assert offline == online


@law_of_passes({"a change is planned": 0.4})
@given(fleets, steps, faults)
def test_nodes_and_routes_are_planned_alike(
    file: Path, fleet: Sequence[int], happenings: Sequence[tuple[Sequence[Event], Raw | None]], faults: list[Raw]
) -> None:
    """Whatever has happened to Nodes, servers and routes; a volume is attached to each Node."""
    stage = Stage.of(fleet, HetznerOptions(rate_limit=1_000_000))
    for events, _ in happenings:
        for event in events:
            stage.happens(event)
    stage.clock.advance(600)
    settings = Settings(
        network=str(NETWORK_ID),
        routes=True,
        cluster_cidr=IPv4Network(CLUSTER_CIDR),
        out_of_service=frozenset(ServerLoss),
    )
    attached = [an_attachment(f"csi-{node['metadata']['name']}", node["metadata"]["name"]) for node in stage.nodes]
    cluster = {**stage.kubernetes.world()["kubernetes"], "volumeattachments": attached}
    stage.kubernetes.replace_world({"kubernetes": cluster})
    sim = DirectSimulation(stage.hetzner, stage.kubernetes, stage.clock)
    stage.hetzner.set_faults([{**fault, "count": None} for fault in faults])
    names = [f"node/{node['metadata']['name']}" for node in stage.nodes]

    online = told(readers(sim), settings, names)
    offline = told(captured(sim, settings, file), settings, names)

    premise("a change is planned", is_met=bool(online[0]["changes"]))
    assert offline == online


@law_of_passes({"a change is planned": 0.3})
@given(worlds())
def test_a_file_is_a_world_for_the_sandbox(file: Path, world: World) -> None:
    """Simulators that start from the file are planned for as the world was that was captured."""
    clock = SimulatedClock(source=START.timestamp)
    settings = Settings(network="7" if world.has_network else None, balancer_defaults=Options(location="fsn1"))
    sim = DirectSimulation(
        HetznerSimulator(clock, world=world.project), KubernetesSimulator(clock, world=world.cluster), clock
    )

    online = told(captured(sim, settings, file), settings, ())
    premise("a change is planned", is_met=bool(online[0]["changes"]))
    whole = json.loads(file.read_bytes())
    apis = HetznerSimulator(clock, world=whole), KubernetesSimulator(clock, world=whole)
    again = DirectSimulation(*apis, clock, is_judged=False)  # prices are captured as far as they are read

    assert told(readers(again), settings, ()) == online
