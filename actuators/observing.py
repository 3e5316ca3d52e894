"""Lets somebody watch the requests of a connection go out and come back: for metrics, and without a word about them."""

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

Ended = Callable[[int | None], None]
"""Called once with the HTTP status of the answer; None when none came."""
Observe = Callable[[str, str], Ended]
"""Called with method and path just before a request goes out, each try anew; returns what is to hear of its end. Called
from several threads. The path is as it is sent: with ids, names and query."""


def ignore(_method: str, _path: str) -> Ended:
    """Watch nothing."""
    return _forget


def _forget(_status: int | None) -> None:
    return


def observed(ended: Ended, send: Callable[[], T], status_of: Callable[[T], int]) -> T:
    """What ``send`` returns. ``ended`` is told the status of that, or that there is none, whatever happens."""
    status: int | None = None
    try:
        answer = send()
        status = status_of(answer)
        return answer
    finally:
        ended(status)
