"""Clients for the actuators of Hetzner objects, and the way back from a change that is refused half-way."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from actuators.http.actions import Actions
from actuators.http.errors import ApiError, Conflict, Invalid, Transient
from actuators.http.hetzner import HetznerReader, HetznerWriter
from actuators.http.kubernetes import KubernetesReader


@dataclass(frozen=True, slots=True)
class Writers:
    """A reader, a writer, and the one poller of all actions; and a reader of the cluster, whose Services may want what
    is about to go."""

    reader: HetznerReader
    writer: HetznerWriter
    actions: Actions
    cluster: KubernetesReader

    def act(
        self, path: str, body: Mapping[str, Any] | None, what: str, happened: Callable[[], bool] = lambda: False
    ) -> None:
        """Have something done that may be done twice, and wait for its end. Raises an ApiError.

        ``what`` names it in messages: "change of the type of load balancer web". When it is not known how it ended
        ``happened`` looks once: done if it says so.
        """
        asked_at = self.actions.now
        self._wait(self.writer.post(path, body, repeatable=True), what, asked_at, happened)

    def act_once(self, path: str, body: Mapping[str, Any] | None, what: str, happened: Callable[[], bool]) -> None:
        """Have something done that must not be done twice, and wait for its end. Raises an ApiError.

        When nothing is known of a try, ``happened`` looks whether it was carried out before it is sent once more: the
        answer may have been lost on its way.
        """
        asked_at = self.actions.now
        try:
            answer = self.writer.post(path, body)
        except Transient:
            if self.actions.is_stopped:
                raise
            if happened():
                return
            again = self._again(path, body, happened)
            if again is None:
                return
            answer = again
        self._wait(answer, what, asked_at, happened)

    def _wait(self, answer: bytes, what: str, asked_at: float, happened: Callable[[], bool]) -> None:
        try:
            self.actions.wait(answer, what, asked_at=asked_at)
        except Transient:
            if self.actions.is_stopped or not happened():
                raise

    def _again(self, path: str, body: Mapping[str, Any] | None, happened: Callable[[], bool]) -> bytes | None:
        """The answer to the second try; None when it was refused, since the first one was carried out after all."""
        try:
            return self.writer.post(path, body)
        except (Conflict, Invalid, Transient):
            if self.actions.is_stopped or not happened():
                raise
            return None


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
