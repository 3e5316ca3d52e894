"""What scripts/dev says, asks and refuses. Everything goes to stderr but what a command is asked for."""

import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress


class Problem(Exception):
    """The command cannot go on. The text is one line that names the thing and the remedy."""


def one_line(text: str) -> str:
    """What others wrote, so that it can stand in a line of ours: without control characters, and not long."""
    return " ".join("".join(each if each.isprintable() else " " for each in text).split())[:200]


def say(text: str) -> None:
    """A line of progress."""
    print(f"dev: {text}", file=sys.stderr, flush=True)


def confirm(question: str, *, answered: bool) -> None:
    """Return when the person agrees, or has agreed by ``--yes``. Raises Problem when not, or without a terminal."""
    if answered:
        return
    if not sys.stdin.isatty():
        raise Problem("no terminal to prompt on; pass --yes")
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    with suppress(EOFError):
        if input().strip().lower() in ("y", "yes"):
            return
    raise Problem("nothing was changed: it was not agreed to")


def wait_until(condition: Callable[[], bool], what: str, *, deadline_s: float, every_s: float = 2.0) -> None:
    """Return as soon as the condition holds. Raises Problem with ``what`` after the deadline."""
    pause = threading.Event()
    until = time.monotonic() + deadline_s
    while not condition():
        if time.monotonic() >= until:
            raise Problem(f"{what}, after {deadline_s:.0f} s")
        pause.wait(every_s)
