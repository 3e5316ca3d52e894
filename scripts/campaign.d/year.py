"""The year of whole controllers on virtual time, as a part of the campaign."""

import argparse
import time

from telling import tell

from tests.campaign.year import Year
from tests.property.strategies import SEED


def pass_year(given: argparse.Namespace) -> int:
    """How many differences a year from this seed ended with."""
    seed, began = SEED if given.seed is None else given.seed, time.monotonic()
    told = Year(seed).pass_days(given.days, lambda days: print(f"year {seed}: {days} of {given.days} days", flush=True))
    tell(f"year {seed}", told.differences, given.failures, told.log)
    for name, count in sorted(told.faults.items()):
        print(f"  {name:40} {count:6}")
    print(f"  {', '.join(f'{name}: {count}' for name, count in sorted(told.happened.items()))}")
    print(
        f"year {seed}: {told.days} days, {sum(told.faults.values())} faults, {told.passes} passes, {told.calls} calls,"
        f" {told.most_calls_an_hour} in the busiest hour of one API, {len(told.differences)} differences,"
        f" {(time.monotonic() - began) / 60:.1f} min, log {told.digest[:16]}"
    )
    return len(told.differences)
