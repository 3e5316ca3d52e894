"""Clients for the actuators of Hetzner objects, and the way back from a change that is refused half-way."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from actuators.http.actions import Actions
from actuators.http.errors import ApiError, Conflict, Invalid, Transient
from actuators.http.hetzner import HetznerReader, HetznerWriter
from actuators.http.kubernetes import KubernetesReader
from actuators.unlisted import UnlistedBalancers


@dataclass(frozen=True, slots=True)
class Writers:
    """Clients for Hetzner, the one poller of all actions, and a reader of Services."""

    reader: HetznerReader
    writer: HetznerWriter
    actions: Actions
    cluster: KubernetesReader
    unlisted: UnlistedBalancers = field(default_factory=UnlistedBalancers)

    def act(
        self,
        path: str,
        body: Mapping[str, Any] | None,
        what: str,
        happened: Callable[[], bool] = lambda: False,
        *,
        is_once: bool = False,
    ) -> None:
        """Have something done, and wait for its end. Raises an ApiError.

        ``what`` names it in messages: "change of the type of load balancer web". When it is not known how it ended
        ``happened`` looks once: done if it says so. ``is_once``: it must not be done twice, as in ``send_once``.
        """
        asked_at = self.actions.now
        answer = self.send_once(path, body, happened) if is_once else self.writer.post(path, body, repeatable=True)
        if answer is None:
            return
        try:
            self.actions.wait(answer, what, asked_at=asked_at)
        except Transient:
            if not self._has(happened):
                raise

    def send_once(self, path: str, body: Mapping[str, Any] | None, happened: Callable[[], bool]) -> bytes | None:
        """POST what must not be carried out twice; the body of the answer. Raises an ApiError.

        When nothing is known of a try, ``happened`` looks whether it was carried out before it is sent once more: the
        answer may have been lost on its way. None when it was, also when the second try is refused for that.
        """
        try:
            return self.writer.post(path, body)
        except Transient:
            if self.actions.is_stopped:
                raise
            if happened():
                return None
        try:
            return self.writer.post(path, body)
        except (Conflict, Invalid, Transient):
            if not self._has(happened):
                raise
            return None

    def _has(self, happened: Callable[[], bool]) -> bool:
        """Whether a look tells that it happened; once the run is stopped nothing is looked up."""
        return not self.actions.is_stopped and happened()


@contextmanager
def put_back_by(put_back: Callable[[], None], *, unless: tuple[type[ApiError], ...] = (Transient,)) -> Iterator[None]:
    """Call ``put_back`` when something inside the block is refused, and raise the refusal.

    After a Transient it may have happened, and nothing can be said by way of the same API: the next plan sees what is
    missing, as it does after each other error in ``unless``.
    """
    try:
        yield
    except unless:
        raise
    except ApiError:
        put_back()
        raise
