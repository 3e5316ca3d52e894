"""The campaign on all cores: faults, paths of wishes, guards, planted faults, and a year."""

import argparse
import logging
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from depth import go_deep
from faults import try_faults, try_pairs
from guards import switch_guards_off
from planted import plant
from telling import all_cores, tell
from worlds import try_worlds
from year import pass_year

from tests.campaign.paths import differing, paths


def main() -> int:
    """1 when anything differs that must not."""
    parser = argparse.ArgumentParser(prog="scripts/campaign", description=__doc__)
    parser.add_argument(
        "part",
        nargs="*",
        choices=[*PARTS, []],
        metavar="PART",
        help=f"{', '.join(PARTS)}; by default {', '.join(USUAL)}",
    )
    parser.add_argument(
        "--workload", action="append", metavar="TEXT", help="faults: only those with this in their name"
    )
    parser.add_argument("--fault", action="append", metavar="NAME", help="faults: only this one")
    parser.add_argument("--named", metavar="TEXT", help="guards, planted: only those with this in their name")
    parser.add_argument("--failures", type=Path, metavar="FOLDER", help="leave a file a failure there")
    parser.add_argument("--page", type=Path, metavar="FILE", help="write the table between the marks of this page")
    parser.add_argument("--depth", type=int, default=8, help="depth: steps from the world that is in order")
    parser.add_argument("--seed", type=int, help="pairs: which, and year: what happens; by default PROPERTY_SEED")
    parser.add_argument("--budget", type=int, default=2000, metavar="N", help="pairs: how many; by default 2000")
    parser.add_argument("--days", type=int, default=365, help="year: how many of them")
    given = parser.parse_args()
    logging.disable(logging.CRITICAL)
    failed = sum(PARTS[part](given) for part in given.part or USUAL)
    return 1 if failed else 0


def try_paths(given: argparse.Namespace) -> int:
    """How many paths end elsewhere than their last wish."""
    began, every, failed = time.monotonic(), [*paths()], 0
    with all_cores() as pool:
        for path, found in zip(every, pool.map(differing, every, chunksize=16), strict=True):
            failed += tell(str(path), found, given.failures)
    print(f"{len(every)} paths, {failed} differences, {(time.monotonic() - began) / 60:.1f} min")
    return failed


Part = Callable[[argparse.Namespace], int]
"""A part of the campaign: given the options, how many differences it found, each of which it has told."""
PARTS: Mapping[str, Part] = {
    "faults": try_faults,
    "pairs": try_pairs,
    "paths": try_paths,
    "guards": switch_guards_off,
    "planted": plant,
    "worlds": try_worlds,
    "depth": go_deep,
    "year": pass_year,
}
USUAL = ("faults", "pairs", "paths", "worlds", "depth", "year")
"""Those that try the product; ``guards`` and ``planted`` try the campaign."""


if __name__ == "__main__":
    sys.exit(main())
