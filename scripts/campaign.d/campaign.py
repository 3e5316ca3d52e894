"""The campaign on all cores: single faults, paths of wishes, guards, planted faults, and a year."""

import argparse
import logging
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from depth import go_deep
from guards import switch_guards_off
from planted import plant
from worlds import try_worlds
from year import pass_year

from tests.campaign.cases import cases_of, judged
from tests.campaign.faults import FAULTS
from tests.campaign.paths import differing, paths
from tests.campaign.workloads import WORKLOADS


def main() -> int:
    """1 when anything differs that must not."""
    parser = argparse.ArgumentParser(prog="scripts/campaign", description=__doc__)
    parser.add_argument(
        "part",
        nargs="*",
        choices=[*PARTS, []],
        metavar="PART",
        help=f"{', '.join(PARTS)}; by default {' and '.join(USUAL)}",
    )
    parser.add_argument(
        "--workload", action="append", metavar="TEXT", help="faults: only those with this in their name"
    )
    parser.add_argument("--fault", action="append", metavar="NAME", choices=[*FAULTS], help="faults: only this one")
    parser.add_argument("--named", metavar="TEXT", help="guards, planted: only those with this in their name")
    parser.add_argument("--failures", type=Path, metavar="FOLDER", help="leave a file a failure there")
    parser.add_argument("--page", type=Path, metavar="FILE", help="write the table between the marks of this page")
    parser.add_argument("--depth", type=int, default=8, help="depth: steps from the world that is in order")
    parser.add_argument("--seed", type=int, help="year: what happens; by default PROPERTY_SEED")
    parser.add_argument("--days", type=int, default=365, help="year: how many of them")
    given = parser.parse_args()
    logging.disable(logging.CRITICAL)
    failed = sum(PARTS[part](given) for part in given.part or USUAL)
    return 1 if failed else 0


def try_faults(given: argparse.Namespace) -> int:
    """How many single faults have changed anything that they must not."""
    names = [name for name in WORKLOADS if not given.workload or any(each in name for each in given.workload)]
    todo = [case for name in names for case in cases_of(name) if not given.fault or case.fault in given.fault]
    began, happened, failed = time.monotonic(), Counter[tuple[str, str]](), 0
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for verdict in pool.map(judged, todo, chunksize=16):
            happened[verdict.case.workload, verdict.case.fault] += verdict.has_happened
            failed += tell(str(verdict.case), verdict.differences, given.failures)
    minutes = (time.monotonic() - began) / 60
    print(f"{happened.total()} faults in {len(names)} workloads, {failed} differences, {minutes:.1f} min")
    if given.page:
        write_table(given.page, happened)
    return failed


def try_paths(given: argparse.Namespace) -> int:
    """How many paths end elsewhere than their last wish."""
    began, every, failed = time.monotonic(), [*paths()], 0
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for path, found in zip(every, pool.map(differing, every, chunksize=16), strict=True):
            failed += tell(str(path), found, given.failures)
    print(f"{len(every)} paths, {failed} differences, {(time.monotonic() - began) / 60:.1f} min")
    return failed


def tell(name: str, differences: Sequence[str], folder: Path | None) -> bool:
    """Print a failure, leave its file, and say whether it is one."""
    if not differences:
        return False
    text = "\n    ".join([f"{name}:", *differences])
    print(text, flush=True)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{len([*folder.iterdir()]) + 1:05}.txt").write_text(f"{text}\n", "utf-8")
    return True


BEGIN, END = "<!-- campaign: begin -->", "<!-- campaign: end -->"
GROUPS: Mapping[str, tuple[str, ...]] = {
    "process dies": ("dies",),
    "no answer": ("times out", "reset"),
    "refused": ("4", "5"),
    "old or wrong read": ("as ", "first", "last", "a field"),
    "action fails": ("action",),
}


def write_table(page: Path, happened: Mapping[tuple[str, str], int]) -> None:
    """The counts by workload and group of faults, between the marks of the page."""
    lines = [f"| workload | {' | '.join(GROUPS)} |", "|---" * (len(GROUPS) + 1) + "|"]
    for workload in dict.fromkeys(name for name, _ in happened):
        of = {fault: count for (name, fault), count in happened.items() if name == workload}
        counts = [sum(n for fault, n in of.items() if fault.startswith(starts)) for starts in GROUPS.values()]
        lines.append(f"| {workload} | {' | '.join(map(str, counts))} |")
    text = page.read_text("utf-8")
    before, after = text.partition(BEGIN)[0], text.partition(END)[2]
    page.write_text(f"{before}{BEGIN}\n\n" + "\n".join(lines) + f"\n\n{END}{after}", "utf-8")


Part = Callable[[argparse.Namespace], int]
"""A part of the campaign: given the options, how many differences it found, each of which it has told."""
PARTS: Mapping[str, Part] = {
    "faults": try_faults,
    "paths": try_paths,
    "guards": switch_guards_off,
    "planted": plant,
    "worlds": try_worlds,
    "depth": go_deep,
    "year": pass_year,
}
USUAL = ("faults", "paths")


if __name__ == "__main__":
    sys.exit(main())
