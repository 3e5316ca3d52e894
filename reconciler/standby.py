"""Standby of a controller: waits for the lead, and shows meanwhile whether its settings would do."""

import logging
import threading
from collections.abc import Callable

from actuators.http.errors import ApiError
from reconciler.leader_election.leadership import Leadership, LeaseSight
from reconciler.observe.networks import observe_network
from reconciler.page.live import LivePage
from reconciler.passes.context import PlanContext
from reconciler.telemetry.health import LoopHealth
from reconciler.telemetry.logs import harmless, pairs

_log = logging.getLogger("hcloud-reconciler.controller")

_ASK_AGAIN_S = 60.0


class Standby:
    """Waits for the lead, and reports after each try whether another process has it."""

    def __init__(
        self, leader: Leadership, health: LoopHealth, page: LivePage | None, check: Callable[[], object]
    ) -> None:
        """``check`` is called whenever another process is seen to lead: it has the settings checked once."""
        self._leader = leader
        self._health = health
        self._page = page
        self._check = check

    def wait(self, stop: threading.Event) -> bool:
        """Wait until this process leads. False: ``stop`` was set first."""
        if not self._leader.is_leader():
            if not self._leader.wait(stop, self._saw):
                return False
            if self._page is not None:
                self._page.leads(self._leader.identity)
        return not stop.is_set()

    def _saw(self, sight: LeaseSight) -> None:
        """Tell the health why this process does not lead, and the page why it has no plan, and which one has it."""
        if sight.holder:
            self._health.standby()
            self._check()
            why = (
                f"this process stands by, and {sight.holder} leads; to see its page: kubectl port-forward, in the"
                f" namespace of the controller, to its pod on {sight.holder.partition('_')[0]}"
            )
        else:
            self._health.leaderless(sight.trouble)
            why = sight.trouble or "this process waits to lead"
        if self._page is not None:
            self._page.stands_by(why)


class SettingsCheck:
    """Asks Hetzner for the network that the settings name, or for one server where they name none, every minute until
    the answer is there: so a process that stands by shows that its settings and its token would do. The leader's passes
    show that by themselves."""

    def __init__(
        self,
        context: PlanContext,
        health: LoopHealth,
        leader: Leadership,
        stop: threading.Event,
        start: Callable[[Callable[[], object], str], object],
    ) -> None:
        """``start`` starts a thread."""
        self._context = context
        self._health = health
        self._leader = leader
        self._stop = stop
        self._start = start
        self._goes_on = self._is_settled = False

    def begin(self, renew_secrets: Callable[[], object]) -> None:
        """Begin, unless it goes on, or has come to an answer. Until then ``renew_secrets`` is called each time: a wrong
        token may be replaced while no pass runs that would read it again."""
        if self._is_settled:
            return
        renew_secrets()
        if not self._goes_on:
            self._goes_on = True
            self._start(self._ask, "settings")

    def _ask(self) -> None:
        told = ""
        with harmless("settings"):
            while not (self._stop.is_set() or self._leader.is_leader()):
                error = self._error()
                self._health.checked(str(error or ""))
                if error is None:
                    self._is_settled = True
                    break
                if str(error) != told:
                    told = str(error)
                    _log.warning("settings cannot be used %s", pairs(why=error))
                self._stop.wait(_ASK_AGAIN_S)
        self._goes_on = False

    def _error(self) -> ApiError | None:
        reader, wanted = self._context.readers.hetzner, self._context.settings.network
        try:
            if wanted is None:
                reader.try_token()
            return observe_network(reader, wanted).error
        except ApiError as refused:
            return refused
