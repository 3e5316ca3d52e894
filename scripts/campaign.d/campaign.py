"""The campaign on all cores: each part tells what differs, and ends with a line of its own."""

import argparse
import logging
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from depth import go_deep
from faults import try_again, try_faults, try_pairs
from guards import switch_guards_off
from paths import try_paths
from planted import plant
from telling import NotThereError, Told
from worlds import try_worlds
from year import pass_year


def main() -> int:
    """1 when anything differs that must not, 2 when an option names what there is not."""
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
    parser.add_argument("--named", action="append", metavar="TEXT", help="guards, planted: the same")
    parser.add_argument("--case", metavar="NAME", help="only this fault, pair or path, as its failure is called")
    parser.add_argument("--failures", type=Path, metavar="FOLDER", help="leave a file a failure there")
    parser.add_argument("--page", type=Path, metavar="FILE", help="write the table between the marks of this page")
    parser.add_argument("--depth", type=int, default=8, help="depth: steps from the world that is in order")
    parser.add_argument("--seed", type=int, help="pairs: which, and year: what happens; by default PROPERTY_SEED")
    parser.add_argument("--budget", type=int, default=2000, metavar="N", help="pairs: how many; by default 2000")
    parser.add_argument("--days", type=int, default=365, help="year: how many of them")
    given = parser.parse_args()
    logging.disable(logging.CRITICAL)
    try:
        failed = try_again(given.case) if given.case else sum(_tried(part, given) for part in given.part or USUAL)
    except NotThereError as error:
        print(f"scripts/campaign: error: argument {error}", file=sys.stderr)
        return 2
    return 1 if failed else 0


def _tried(part: str, given: argparse.Namespace) -> int:
    began = time.monotonic()
    told = PARTS[part](given)
    minutes = (time.monotonic() - began) / 60
    print(f"{part}: {told.tried}, {told.differences} differences, {minutes:.1f} min", flush=True)
    return told.differences


Part = Callable[[argparse.Namespace], Told]
"""A part of the campaign, given the options."""
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
