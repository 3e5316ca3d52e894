"""Every single fault, on all cores, and a table of workloads and faults."""

import argparse
import logging
import os
import sys
import time
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from tests.campaign.cases import Verdict, cases_of, judged
from tests.campaign.faults import FAULTS
from tests.campaign.workloads import WORKLOADS


def main() -> int:
    """1 when a fault has changed anything that it must not."""
    parser = argparse.ArgumentParser(prog="scripts/campaign", description=__doc__)
    parser.add_argument("--workload", action="append", metavar="TEXT", help="only those with this in their name")
    parser.add_argument("--fault", action="append", metavar="NAME", choices=[*FAULTS], help="only this fault")
    parser.add_argument("--failures", type=Path, metavar="FOLDER", help="leave a file a failure there")
    parser.add_argument("--page", type=Path, metavar="FILE", help="write the table between the marks of this page")
    given = parser.parse_args()
    logging.disable(logging.CRITICAL)
    names = [name for name in WORKLOADS if not given.workload or any(each in name for each in given.workload)]
    todo = [case for name in names for case in cases_of(name) if not given.fault or case.fault in given.fault]
    began, happened, failed = time.monotonic(), Counter[tuple[str, str]](), 0
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for verdict in pool.map(judged, todo, chunksize=16):
            happened[verdict.case.workload, verdict.case.fault] += verdict.has_happened
            if verdict.differences:
                failed += 1
                tell(verdict, failed, given.failures)
    minutes = (time.monotonic() - began) / 60
    print(f"{happened.total()} faults in {len(names)} workloads, {failed} differences, {minutes:.1f} min")
    if given.page:
        write_table(given.page, happened)
    return 1 if failed else 0


def tell(verdict: Verdict, number: int, folder: Path | None) -> None:
    """A failure, and its file."""
    text = "\n    ".join([f"{verdict.case}:", *verdict.differences])
    print(text, flush=True)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{number:05}.txt").write_text(f"{text}\n", "utf-8")


BEGIN, END = "<!-- campaign: begin -->", "<!-- campaign: end -->"


def write_table(page: Path, happened: Mapping[tuple[str, str], int]) -> None:
    """The counts by workload and group of faults, between the marks of the page."""
    groups = {
        "process dies": "dies",
        "no answer": "times out|reset",
        "refused": "4|5",
        "old or wrong read": "as|first|last|a f",
    }
    lines = [f"| workload | {' | '.join(groups)} | action fails |", "|---" * (len(groups) + 2) + "|"]
    for workload in dict.fromkeys(name for name, _ in happened):
        of = {fault: count for (name, fault), count in happened.items() if name == workload}
        counts = [
            sum(count for fault, count in of.items() if fault.startswith(tuple(starts.split("|"))))
            for starts in groups.values()
        ]
        lines.append(f"| {workload} | {' | '.join(map(str, counts))} | {of.get('action fails', 0)} |")
    text = page.read_text("utf-8")
    before, after = text.partition(BEGIN)[0], text.partition(END)[2]
    page.write_text(f"{before}{BEGIN}\n\n" + "\n".join(lines) + f"\n\n{END}{after}", "utf-8")


if __name__ == "__main__":
    sys.exit(main())
