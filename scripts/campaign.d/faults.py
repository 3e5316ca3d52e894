"""Single faults and pairs of them, on all cores."""

import argparse
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from telling import all_cores, tell

from tests.campaign.cases import Case, Verdict, cases_of, judged
from tests.campaign.oracles import EXEMPTIONS
from tests.campaign.pairs import drawn_pairs
from tests.campaign.workloads import WORKLOADS
from tests.property.strategies import SEED


def try_faults(given: argparse.Namespace) -> int:
    """How many single faults have changed anything that they must not, and in a whole run how many exemptions none has
    made use of."""
    names = [name for name in WORKLOADS if not given.workload or any(each in name for each in given.workload)]
    every = (case for name in names for case in cases_of(name))
    happened, used = Counter[tuple[str, str]](), set[tuple[int, str]]()

    def note(verdict: Verdict) -> None:
        happened[verdict.case.workload, verdict.case.strikes[0].fault] += verdict.has_happened
        used.update(verdict.exempt)

    failed = _try("faults", (case for case in every if _is_asked(case, given)), given, note)
    if given.page:
        write_table(given.page, happened)
    every = {(number, pattern) for number, each in enumerate(EXEMPTIONS) for pattern in each.differences}
    unused = [] if given.workload or given.fault else sorted(every - used)
    for number, pattern in unused:
        print(f"exemption not needed: {pattern!r} of {EXEMPTIONS[number]}")
    return failed + len(unused)


def _is_asked(case: Case, given: argparse.Namespace) -> bool:
    return not given.fault or any(strike.fault in given.fault for strike in case.strikes)


def try_pairs(given: argparse.Namespace) -> int:
    """How many of the pairs that are drawn have changed anything that they must not."""
    seed = SEED if given.seed is None else given.seed
    print(f"pairs: --budget {given.budget} --seed {seed}")
    return _try("pairs of faults", drawn_pairs(given.budget, str(seed)), given)


def _try(
    what: str, cases: Iterable[Case], given: argparse.Namespace, note: Callable[[Verdict], object] = lambda _: None
) -> int:
    """How many cases differ, each of which is told."""
    began, happened, failed = time.monotonic(), 0, 0
    with all_cores() as pool:
        for verdict in pool.map(judged, [*cases], chunksize=16):
            note(verdict)
            happened += verdict.has_happened
            failed += tell(str(verdict.case), verdict.differences, given.failures)
    seconds = time.monotonic() - began
    print(f"{happened} {what}, {failed} differences, {seconds / 60:.1f} min, {happened / seconds:.1f} a second")
    return failed


BEGIN, END = "<!-- campaign: begin -->", "<!-- campaign: end -->"
GROUPS: Mapping[str, tuple[str, ...]] = {
    "process dies": ("dies", "restarted"),
    "no answer": ("times out", "reset"),
    "refused": ("4", "5"),
    "old read": ("as ", "page 2"),
    "wrong read": ("first", "last", "lacks"),
    "action fails or hangs": ("action",),
    "lead": ("loses", "no lead", "two leaders"),
    "clock": ("clock",),
    "records": ("hcloud-reconciler",),
    "watch event": ("late", "doubled"),
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
