"""Laws of routes, on the simulators, whatever happens to Nodes, servers and the network between and within passes."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Network

from hypothesis import given
from hypothesis import strategies as st

from desired.model.settings import Settings
from desired.plan.change import Verdict
from hcloud_sandbox.exchange import Request, Response
from hcloud_sandbox.hetzner import HetznerOptions
from hcloud_sandbox.hetzner.options import Busy
from tests.property.route_worlds import CLUSTER_CIDR, FOREIGN, NETWORK_ID, Event, Raw, Stage, fleets, steps
from tests.property.strategies import law_of_passes, some
from tests.support.direct import DirectSimulation
from tests.support.passes import Run
from tests.support.premises import premise

codes: st.SearchStrategy[Busy] = some("conflict", "locked")
_WRITES = f"/v1/networks/{NETWORK_ID}/actions/"


@dataclass
class Witness:
    """Stands between the product and Hetzner, and sees which pods nobody reaches while another route is changed."""

    stage: Stage
    reached: set[str] = field(default_factory=set)
    """Wanted destinations that had a route at some time of this pass."""
    forgotten: list[str] = field(default_factory=list)
    """Those that had none any more when a route to something else was asked for."""
    writes: int = 0
    refused: list[str] = field(default_factory=list)
    """What was answered that the network is busy."""

    def begin(self) -> None:
        self.reached = self._there() & self.stage.wanted().keys()

    def handle(self, request: Request) -> Response:
        if request.method == "POST" and request.path.startswith(_WRITES):
            there = self._there()
            asked_for = json.loads(request.body)["destination"]
            self.reached |= there & self.stage.wanted().keys()
            self.writes += 1
            self.forgotten += sorted(self.reached - there - {asked_for})
        answer = self.stage.hetzner.handle(request)
        if answer.status in (409, 423) and request.path.startswith(_WRITES):
            self.refused.append(request.path)
        return answer

    def _there(self) -> set[str]:
        return {route["destination"] for route in self.stage.routes}


def a_run(stage: Stage, witness: Witness) -> Run[DirectSimulation]:
    settings = Settings(network=str(NETWORK_ID), routes=True, cluster_cidr=IPv4Network(CLUSTER_CIDR))
    sim = DirectSimulation(witness, stage.kubernetes, stage.clock)  # type: ignore[arg-type]
    return Run(sim, settings)


@law_of_passes({"a route is written": 0.5})
@given(fleets, steps, codes)
def test_what_happens_is_mended_in_two_passes(
    fleet: Sequence[int], happenings: Sequence[tuple[Sequence[Event], Raw | None]], busy: Busy
) -> None:
    """After the faults stop two passes leave nothing to do, and each Node that is in the network has its routes.

    Foreign routes are the same to the last byte at any time; pods are out of reach for no longer than the swap of their
    own route takes; and no change of ours is refused because of another one.
    """
    stage = Stage.of(fleet, HetznerOptions(rate_limit=1_000_000, network_busy_code=busy))
    witness = Witness(stage)
    run = a_run(stage, witness)
    met = 0
    for events, fault in happenings:
        for event in events:
            stage.happens(event)
        if fault is not None:
            stage.hetzner.set_faults([fault])
        witness.begin()
        run.converge()
        met += fault is not None and witness.writes > 0
        stage.hetzner.clear_faults()
        assert [route for route in FOREIGN if route not in stage.routes] == []

    stage.clock.advance(600)
    run.converge()
    run.converge()

    planned = [line.change for line in run.plan().lines]
    left = [change for change in planned if change.decision.verdict is Verdict.ALLOWED]
    assert [(change.key, change.reason) for change in left] == []
    # What leads to a living server that is no Node is for a person to say.
    held = {change.key.split("/", 2)[2] for change in planned if change.decision.rule == "route-blast-radius"}
    wanted = {to: by for to, by in stage.wanted().items() if to not in held}
    assert wanted.items() <= {route["destination"]: route["gateway"] for route in stage.routes}.items()
    assert [route for route in FOREIGN if route not in stage.routes] == []
    premise("a route is written", is_met=witness.writes > 0)
    assert witness.forgotten == []
    assert witness.refused == []
