"""All small worlds on all cores, held against the table of what must never be allowed."""

import argparse
import time

from telling import all_cores

from tests.campaign.forbidden import ROWS, Tally, tally_of_pair, unkept
from tests.campaign.small_worlds import pairs


def try_worlds(_: argparse.Namespace) -> int:
    """How much has passed that must not, or is said by the table of no world."""
    began, tally = time.monotonic(), Tally()
    with all_cores() as pool:
        for found in pool.map(tally_of_pair, pairs(), chunksize=8):
            tally.add(found)
    for kind in sorted({*tally.allowed, *tally.withheld}):
        print(f"  {kind:24} {tally.allowed[kind]:8} allowed {tally.withheld[kind]:8} withheld")
    for row in ROWS:
        noticed = ", ".join(f"{guard} {count}" for (guard, name), count in tally.noticed.items() if name == row.name)
        print(f"  {row.name}: {tally.planned[row.name]} planned, {tally.beside[row.name]} beside; {noticed or '-'}")
    wrong = unkept(tally)
    for text in wrong:
        print(text)
    minutes = (time.monotonic() - began) / 60
    print(f"{tally.worlds} worlds, {tally.plans} plans, {len(wrong)} differences, {minutes:.1f} min")
    return len(wrong)
