"""Single faults and pairs of them, on all cores."""

import argparse
import operator
import subprocess
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from telling import NotThereError, Told, all_cores, chosen, tell

from tests.campaign.cases import Case, Verdict, case_of_name, cases_of, judged
from tests.campaign.oracles import EXEMPTIONS
from tests.campaign.pairs import drawn_pairs
from tests.campaign.paths import differing, paths
from tests.campaign.workloads import WORKLOADS
from tests.support.sampling import SEED


def try_faults(given: argparse.Namespace) -> Told:
    """How many single faults have changed anything that they must not, and in a whole run how many exemptions none has
    made use of."""
    every = [case for name in chosen("--workload", given.workload, WORKLOADS) for case in cases_of(name)]
    asked = {*chosen("--fault", given.fault, {case.strikes[0].fault: None for case in every}, operator.eq)}
    happened, used = Counter[tuple[str, str]](), set[tuple[int, str]]()

    def note(verdict: Verdict) -> None:
        happened[verdict.case.workload, verdict.case.strikes[0].fault] += verdict.has_happened
        used.update(verdict.exempt)

    told = _try("faults", [case for case in every if case.strikes[0].fault in asked], given, note)
    if given.page:
        write_table(given.page, happened)
    needed = {(number, pattern) for number, each in enumerate(EXEMPTIONS) for pattern in each.differences}
    unused = [] if given.workload or given.fault else sorted(needed - used)
    for number, pattern in unused:
        print(f"exemption not needed: {pattern!r} of {EXEMPTIONS[number]}")
    return told._replace(differences=told.differences + len(unused))


def try_pairs(given: argparse.Namespace) -> Told:
    """How many of the pairs that are drawn have changed anything that they must not."""
    seed = SEED if given.seed is None else given.seed
    print(f"pairs: --budget {given.budget} --seed {seed}")
    return _try("pairs of faults", [*drawn_pairs(given.budget, str(seed))], given)


def try_again(name: str) -> int:
    """The same for the one case, or the one path of wishes, of this name. Raises NotThereError where there is none."""
    path = next((path for path in paths() if str(path) == name), None)
    if path is not None:
        told: Sequence[str] = differing(path)
    else:
        try:
            verdict = judged(case_of_name(name))
        except KeyError as error:
            raise NotThereError(f"--case: {error.args[0]}") from None
        told = verdict.differences
        if not verdict.has_happened:
            print("not all of it has happened")
    tell(name, told, None, ())
    if not told:
        print("no difference")
    return len(told)


def _try(
    what: str, cases: Sequence[Case], given: argparse.Namespace, note: Callable[[Verdict], object] = lambda _: None
) -> Told:
    """How many cases differ, each of which is told."""
    happened, failed = 0, 0
    with all_cores() as pool:
        for verdict in pool.map(judged, cases, chunksize=16):
            note(verdict)
            happened += verdict.has_happened
            failed += tell(str(verdict.case), verdict.differences, given.failures, ["--case", str(verdict.case)])
    return Told(f"{happened} {what}", failed)


BEGIN, END = "<!-- campaign: begin -->", "<!-- campaign: end -->"
GROUPS: Mapping[str, tuple[str, ...]] = {
    "process dies": ("dies", "restarted"),
    "no answer": ("times out", "reset"),
    "refused": ("4", "5", "rate limit", "nothing there", "a page"),
    "old read": ("as ", "page 2"),
    "wrong read": ("first", "last", "lacks"),
    "action fails or hangs": ("action",),
    "lead": ("loses", "no lead", "two leaders"),
    "clock": ("clock",),
    "records": ("hcloud-reconciler",),
    "call of a pass": ("late", "doubled"),
}


def write_table(page: Path, happened: Mapping[tuple[str, str], int]) -> None:
    """The counts by workload and group of faults, and of which version and when, between the marks of the page. Raises
    ValueError for a fault that is in no group."""
    counts = Counter[tuple[str, str]]()
    for (workload, fault), count in happened.items():
        (group,) = (group for group, starts in GROUPS.items() if fault.startswith(starts))
        counts[workload, group] += count
    version = subprocess.run(
        ["git", "rev-parse", "--short=8", "HEAD"], capture_output=True, text=True, check=True
    ).stdout
    today = datetime.now(UTC).date()
    lines = [
        f"Version {version.strip()}, {today}: {counts.total():,} runs.",
        "",
        f"| workload | {' | '.join(GROUPS)} |",
        "|---" * (len(GROUPS) + 1) + "|",
        *(
            f"| {workload} | {' | '.join(str(counts[workload, group]) for group in GROUPS)} |"
            for workload in dict.fromkeys(name for name, _ in happened)
        ),
    ]
    text = page.read_text("utf-8")
    before, after = text.partition(BEGIN)[0], text.partition(END)[2]
    page.write_text(f"{before}{BEGIN}\n\n" + "\n".join(lines) + f"\n\n{END}{after}", "utf-8")
