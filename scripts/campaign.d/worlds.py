"""All small worlds on all cores, held against the table of what must never be allowed."""

import argparse

from telling import Told, all_cores, tell

from tests.campaign import class_worlds
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
    classes = class_worlds.tally_of(class_worlds.worlds())
    for each in class_worlds.ROWS:
        print(f"  {each.name}: {classes.here[each.name]} worlds, passes in {classes.elsewhere[each.name]} others")
    wrong = [*unkept(tally), *class_worlds.unkept(classes)]
    tell("worlds", wrong, given.failures, ["worlds"])
    return Told(f"{tally.worlds + classes.worlds} worlds, {tally.plans + classes.plans} plans", len(wrong))
