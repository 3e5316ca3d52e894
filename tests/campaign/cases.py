"""All single faults: a case is a workload, a point and a fault, and its name replays it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from tests.campaign.faults import faults_at
from tests.campaign.oracles import differences
from tests.campaign.points import Point
from tests.campaign.running import Outcome, play
from tests.campaign.workloads import WORKLOADS


@dataclass(frozen=True, order=True)
class Case:
    """A fault at a request of a workload."""

    workload: str
    point: Point
    fault: str

    def __str__(self) -> str:
        return f"{self.workload}, {self.point}, {self.fault}"


@dataclass(frozen=True)
class Verdict:
    """What became of a case."""

    case: Case
    differences: Sequence[str]
    has_happened: bool
    """Whether the request came; without it the case says nothing."""


@cache
def undisturbed(workload: str) -> Outcome:
    """The workload without a fault."""
    return play(WORKLOADS[workload])


def cases_of(workload: str) -> Iterator[Case]:
    """Every fault at every point."""
    for point in dict.fromkeys(undisturbed(workload).points):
        for fault in faults_at(point):
            yield Case(workload, point, fault)


def judged(case: Case) -> Verdict:
    """Carry the case out. Whatever the product does not handle is a difference as well."""
    try:
        found = play(WORKLOADS[case.workload], case.point, case.fault)
    except Exception as error:  # noqa: BLE001 - what is raised is what is looked for
        return Verdict(case, (f"raises {error!r}",), has_happened=True)
    return Verdict(
        case, differences(case.workload, case.point, case.fault, found, undisturbed(case.workload)), found.has_happened
    )
