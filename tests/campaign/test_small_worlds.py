"""A sample of the small worlds; ``scripts/campaign worlds`` tries all."""

import random

from tests.campaign import class_worlds
from tests.campaign.forbidden import tally_of
from tests.campaign.small_worlds import BALANCERS, CIRCUMSTANCES, Machine, World, pairs
from tests.support.sampling import SEED

PAIRS = 3
CLASS_WORLDS = 250
IN_ORDER = Machine("there", "ready")


def test_nothing_passes_that_must_not() -> None:
    """In each state of ownership and each circumstance, some pairs of Nodes. Whether each row of the table bites, and
    notices its guard, all worlds together tell (``scripts/campaign worlds``)."""
    rng, every = random.Random(SEED), pairs()
    drawn = [
        World(pair, balancer, circumstance)
        for balancer in BALANCERS
        for circumstance in CIRCUMSTANCES
        for pair in rng.sample(every, PAIRS)
    ]
    assert tally_of(drawn).broken == []


def test_nothing_of_another_class_passes() -> None:
    """Of one Service and its load balancer in every state of class, finalizers and labels, some worlds. Whether each
    row has a world that it is about, all worlds together tell (``scripts/campaign worlds``)."""
    drawn = random.Random(SEED).sample([*class_worlds.worlds()], CLASS_WORLDS)
    assert class_worlds.tally_of(drawn).broken == []


def test_a_world_that_is_in_order_is_left_alone() -> None:
    """Otherwise the worlds are not what their names say."""
    metal = Machine("there", "ready", is_dedicated=True)
    assert tally_of(World(pair) for pair in ((IN_ORDER, IN_ORDER), (IN_ORDER, metal), (metal, metal))).plans == 0
