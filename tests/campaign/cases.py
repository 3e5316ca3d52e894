"""All single faults: a case is a workload with the faults that it meets, and its name replays it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from tests.campaign.faults import faults_at
from tests.campaign.fields import NOTHING_READ
from tests.campaign.oracles import differences
from tests.campaign.pass_faults import PASS_FAULTS
from tests.campaign.points import Point, Strike
from tests.campaign.running import Outcome, play
from tests.campaign.workloads import WORKLOADS


@dataclass(frozen=True, order=True)
class Case:
    """Faults that a workload meets."""

    workload: str
    strikes: tuple[Strike, ...]

    @classmethod
    def of(cls, workload: str, point: Point, fault: str) -> "Case":
        """A single fault."""
        return cls(workload, (Strike(point, fault),))

    def __str__(self) -> str:
        return f"{self.workload}, {' and '.join(map(str, self.strikes))}"


@dataclass(frozen=True)
class Verdict:
    """What became of a case."""

    case: Case
    differences: Sequence[str]
    has_happened: bool
    """Whether all that the case tells of came; without it the case says nothing."""
    exempt: frozenset[tuple[int, str]] = frozenset()
    """Which exemptions it made use of, and of which of their differences."""


@cache
def undisturbed(workload: str) -> Outcome:
    return play(WORKLOADS[workload])


def cases_of(workload: str) -> Iterator[Case]:
    """Every fault at every request, and every fault of every pass."""
    reference = undisturbed(workload)
    for point in dict.fromkeys(reference.points):
        for fault in faults_at(point, reference.reads.get(point, NOTHING_READ)):
            yield Case.of(workload, point, fault)
    for point in reference.passes:
        for fault in PASS_FAULTS:
            yield Case.of(workload, point, fault)


def case_of_name(name: str) -> Case:
    """The single fault, or the pair, that is called so. Raises KeyError, with what there is, where there is none."""
    workload = next((each for each in WORKLOADS if name.startswith(f"{each}, ")), None)
    if workload is None:
        raise KeyError(f"no workload is called as {name!r} begins; there are\n  " + "\n  ".join(WORKLOADS))
    strikes = {str(strike): strike for case in cases_of(workload) for strike in case.strikes}
    said = name.removeprefix(f"{workload}, ")
    for first, strike in strikes.items():
        if said == first:
            return Case(workload, (strike,))
        second = strikes.get(said.removeprefix(f"{first} and "))
        if second is not None and said.startswith(f"{first} and "):
            return Case(workload, (strike, second))
    raise KeyError(f"{said!r} is none of the {len(strikes)} faults of {workload!r}, such as {next(iter(strikes))!r}")


def judged(case: Case) -> Verdict:
    """Carry the case out. Whatever the product does not handle is a difference as well."""
    try:
        found = play(WORKLOADS[case.workload], *case.strikes)
    except Exception as error:  # noqa: BLE001 - what is raised is what is looked for
        return Verdict(case, (f"raises {error!r}",), has_happened=True)
    told, exempt = differences(case.workload, case.strikes, found, undisturbed(case.workload))
    return Verdict(case, told, {strike.point for strike in case.strikes} <= found.happened, exempt)
