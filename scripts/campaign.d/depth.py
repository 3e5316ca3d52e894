"""Breadth first through a small world on all cores, to a depth."""

import argparse
import time
from functools import partial

from telling import all_cores

from tests.campaign.breadth import explore


def go_deep(given: argparse.Namespace) -> int:
    """How many ways lead to harm, or to a state that does not come to rest in time."""
    began = time.monotonic()
    with all_cores() as pool:
        found = explore(given.depth, partial(pool.map, chunksize=4))
    for text in found.wrong:
        print(text)
    print(f"  new states by depth: {', '.join(map(str, found.by_depth))}")
    print(f"  passes to rest: {', '.join(f'{passes}: {count}' for passes, count in sorted(found.to_rest.items()))}")
    seconds = time.monotonic() - began
    print(f"{found.states} states, {found.edges} edges, {len(found.wrong)} differences, {seconds:.0f} s")
    return len(found.wrong)
