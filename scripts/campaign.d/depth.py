"""Breadth first through a small world on all cores, to a depth."""

import argparse
from functools import partial

from telling import Told, all_cores, tell

from tests.campaign.breadth import explore


def go_deep(given: argparse.Namespace) -> Told:
    """How many ways lead to harm, or to a state that does not come to rest in time."""
    with all_cores() as pool:
        found = explore(given.depth, partial(pool.map, chunksize=4))
    tell("depth", found.wrong, given.failures, ["depth", f"--depth={given.depth}"])
    print(f"  new states by depth: {', '.join(map(str, found.by_depth))}")
    print(f"  passes to rest: {', '.join(f'{passes}: {count}' for passes, count in sorted(found.to_rest.items()))}")
    return Told(f"{found.states} states, {found.edges} edges", len(found.wrong))
