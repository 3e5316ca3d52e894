"""The law of harm as an oracle: what a run did is judged by the truth before and after.

A pass that meets a fault is judged together with those after it, until one meets none: a process that ends between two
writes leaves the second one to the next. What was done and undone meanwhile, the counts of effects tell.
"""

from collections.abc import Collection, Mapping

from desired.plan.change import Hold
from hcloud_sandbox.robot import RobotSimulator
from tests.campaign.cluster import Cluster
from tests.support import harm_truth
from tests.support.harm_judge import Deed, harm
from tests.support.harm_truth import Seen, Truth

HOME, CLUSTER = "home", "a"


class Judge:
    """What the passes of a run have done that must never be done."""

    def __init__(self, world: Cluster) -> None:
        self.found: list[str] = []
        account = world.robot if isinstance(world.robot, RobotSimulator) else None
        self._truth = Truth(world.clock, {HOME: world.hetzner}, {}, account)
        self._cluster = harm_truth.Cluster(CLUSTER, HOME, world.kubernetes, world.hetzner, world.clock)
        self._truth.add(self._cluster)
        self._let: dict[str, tuple[str, ...]] = {}
        self._people = {each["id"] for each in world.balancers() if "made-by" in each["labels"]}
        self._before: Seen | None = None
        self._shown: set[str] | None = None

    def let(self, holds: Collection[Hold]) -> None:
        """A person may approve these."""
        self._let.update((hold.hash, hold.keys) for hold in holds)

    def begin(self) -> None:
        """A pass begins, of which those that came before have been judged or not."""
        if self._before is None:
            self._truth.changed()
            self._before, self._shown = self._truth.seen(), None

    def see(self, nodes: Collection[str] | None) -> None:
        """These Nodes were in every list that a pass has read; None where it has read none."""
        if nodes is not None:
            self._shown = {*nodes} if self._shown is None else self._shown & {*nodes}

    def end(self, *, is_stale: bool) -> None:
        """Judge what was done since the beginning; ``is_stale``: whether a list of Services has lied."""
        assert self._before is not None
        self._truth.changed()
        before, after = self._before, self._truth.seen()
        used = {of for of, _ in after.approvals_used(CLUSTER) - before.approvals_used(CLUSTER)}
        lists: Mapping[str, Collection[str]] = {
            "nodes": before.nodes[CLUSTER].keys() if self._shown is None else self._shown,
            "stale": ("services",) if is_stale else (),
        }
        deed = Deed(
            self._cluster,
            self._truth.clusters,
            before,
            after,
            lists,
            [key for each in used for key in self._let.get(each, ())],
            self._people,
            ended_at=self._truth.clock.now(),
        )
        self.found += harm(deed)
        self._before = None
