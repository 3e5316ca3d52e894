"""The year of whole controllers on virtual time, as a part of the campaign."""

import argparse

from telling import Told, tell

from tests.campaign.year import Year
from tests.support.sampling import SEED


def pass_year(given: argparse.Namespace) -> Told:
    """How many differences a year from this seed ended with."""
    seed = SEED if given.seed is None else given.seed
    told = Year(seed).pass_days(given.days, lambda days: print(f"year {seed}: {days} of {given.days} days", flush=True))
    again = ["year", f"--seed={seed}", f"--days={given.days}"]
    tell(f"year {seed}", told.differences, given.failures, again, told.log)
    for name, count in sorted(told.faults.items()):
        print(f"  {name:40} {count:6}")
    print(f"  {', '.join(f'{name}: {count}' for name, count in sorted(told.happened.items()))}")
    return Told(
        f"year {seed}, {told.days} days, {sum(told.faults.values())} faults, {told.passes} passes, {told.calls} calls,"
        f" {told.most_calls_an_hour} in the busiest hour of one API, log {told.digest[:16]}",
        len(told.differences),
    )
