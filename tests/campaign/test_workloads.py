"""What the campaign compares with: workloads whose undisturbed run has something to show."""

from hcloud_sandbox.hetzner import HetznerSimulator
from tests.campaign.cluster import NEW_TOKEN, OTHER_TOKEN, Cluster, Step
from tests.campaign.running import play
from tests.campaign.workloads import WORKLOADS, Workload, use_token
from tests.support.rows import rows


@rows(
    "steps",
    {
        "what HCCM has left": WORKLOADS["a cluster of HCCM is taken over"].steps[:1],
        "a token of another project": tuple(map(use_token, (OTHER_TOKEN, HetznerSimulator.TOKEN))),
        "a token that is refused": (Cluster.revoke_token, use_token(NEW_TOKEN)),
        "another process": (Cluster.take_over,),
    },
)
def test_what_leads_to_nothing(steps: tuple[Step, ...]) -> None:
    """Nothing is made, lost or told otherwise: the cluster is as if nothing had happened."""
    found, nothing = play(Workload("", steps)), play(Workload("", (lambda _: None,)))
    assert found.effects == nothing.effects
    for part in ("nodes", "routes", "certificates", "said"):
        assert found.found[part] == nothing.found[part]


def test_an_exact_plan_writes_nothing_to_a_world_that_changed() -> None:
    """Not even what it has."""
    name = "an exact plan is applied to more than it has"
    found = play(Workload(name, WORKLOADS[name].steps[:1]))
    assert not found.effects


def test_the_lead_is_lost_once() -> None:
    """What the process that led before has still to do is done by the next one, and once."""
    found = play(WORKLOADS["the lead is lost within a pass"])
    assert found.effects
    assert {*found.effects.values()} == {1}
