"""What is remembered from pass to pass of load balancers that were let go for a while."""

from desired.load_balancers.matching import left_behind
from desired.snapshot import Snapshot


class LeftBehind:
    """Whether load balancers have to be listed though no Service has or wants one: some may wait for their Service, or
    for their end. A list once at the start of a controller, and after each time that another one led, finds them."""

    def __init__(self, *, looks_first: bool = False) -> None:
        """``looks_first``: whether nothing is known at first, so that one list is worth its call. A run that ends by
        itself lists them where the operator has set a window, and else only for the sake of Services."""
        self._looks_first = self._may_be = looks_first

    @property
    def may_be(self) -> bool:
        """Whether there may be any."""
        return self._may_be

    def saw(self, snapshot: Snapshot) -> None:
        """Take note of a reading. What was not read, or not whole, says nothing."""
        balancers = snapshot.load_balancers
        if balancers is None:
            return
        if left_behind(snapshot):
            self._may_be = True
        elif balancers.complete and not balancers.unreadable:
            self._may_be = False

    def forget(self) -> None:
        """Somebody else was in charge meanwhile, and may have let some go."""
        self._may_be = self._looks_first
