"""All small worlds on all cores, held against the table of what must never be allowed."""

import argparse

from telling import Told, all_cores, tell

from tests.campaign.forbidden import ROWS, Tally, tally_of_pair, unkept
from tests.campaign.small_worlds import pairs


def try_worlds(given: argparse.Namespace) -> Told:
    """How much has passed that must not, or is said by the table of no world."""
    tally = Tally()
    with all_cores() as pool:
        for found in pool.map(tally_of_pair, pairs(), chunksize=8):
            tally.add(found)
    for kind in sorted({*tally.allowed, *tally.withheld}):
        print(f"  {kind:24} {tally.allowed[kind]:8} allowed {tally.withheld[kind]:8} withheld")
    for row in ROWS:
        noticed = ", ".join(f"{guard} {count}" for (guard, name), count in tally.noticed.items() if name == row.name)
        print(f"  {row.name}: {tally.planned[row.name]} planned, {tally.beside[row.name]} beside; {noticed or '-'}")
    wrong = unkept(tally)
    tell("worlds", wrong, given.failures, ["worlds"])
    return Told(f"{tally.worlds} worlds, {tally.plans} plans", len(wrong))
