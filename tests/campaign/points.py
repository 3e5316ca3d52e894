"""Points of a run at which a fault may happen: a request of the product, or a whole pass."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from hcloud_sandbox.exchange import Request, Response
from tests.support.direct import DirectSimulation
from tests.support.lines import Handle

if TYPE_CHECKING:
    from tests.campaign.probe import Probe


@dataclass(frozen=True, order=True)
class Point:
    """A request by its step and pass, API, method and path, and which of several like it in that pass; or, without
    these, the pass. It does not depend on the order in which threads ask."""

    step: int
    turn: int
    """Number of the pass after the step, from 0."""
    api: str = ""
    """``hetzner``, ``kubernetes`` or ``robot``; "" for a whole pass."""
    method: str = ""
    path: str = ""
    nth: int = 0
    """Which of those in this pass, from 0."""

    @property
    def is_write(self) -> bool:
        """Whether it is a request that may change something."""
        return self.method not in ("", "GET")

    def __str__(self) -> str:
        what = f"{self.method} {self.path} {self.nth}" if self.api else "pass"
        return f"{self.step}.{self.turn} {what}"


class Strike(NamedTuple):
    point: Point
    fault: str

    def __str__(self) -> str:
        return f"{self.point}, {self.fault}"


@dataclass
class Moment:
    """What the fault of a request may look at, and what it leaves."""

    point: Point
    request: Request
    handle: Handle
    world: DirectSimulation
    probe: "Probe"


Fault = Callable[[Moment], Response]
"""What becomes of one request: an answer, or an exception as the client's library raises it."""
