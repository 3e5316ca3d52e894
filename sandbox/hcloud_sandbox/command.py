"""``hcloud-sandbox``: the simulators, or the fault proxy, until Ctrl-C; and ``advance``, for one that runs."""

import argparse
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any, NoReturn

from hcloud_sandbox import __version__
from hcloud_sandbox.control import Control, seconds_in
from hcloud_sandbox.flags import DEFAULTS, FLAGS, contradictions

PROGRAM = "hcloud-sandbox"
INTERRUPTED = 130
"""Exit code of a run that Ctrl-C ended: 128 and the number of SIGINT, as shells have it."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run ``hcloud-sandbox``; its exit code. Raises SystemExit for ``--help``, ``--version`` and bad usage."""
    parser = _parser()
    given = vars(parser.parse_args(argv))
    logging.basicConfig(format=f"{PROGRAM}: %(message)s")
    try:
        (_advance if "duration" in given else _serve)(given, parser.error)
    except KeyboardInterrupt:
        sys.stderr.write(f"{PROGRAM}: interrupted\n")
        return INTERRUPTED
    except BrokenPipeError:  # a reader that has gone away, as head does, is no trouble
        pass
    except (ValueError, OSError) as error:
        sys.stderr.write(f"{PROGRAM}: error: {error}\n")
        return 1
    return 0


def _serve(given: Mapping[str, Any], refuse: Callable[[str], NoReturn]) -> None:
    flags = {**DEFAULTS, **given}
    if wrong := contradictions(flags, given):
        refuse("; ".join(wrong))
    from hcloud_sandbox.session import serve  # noqa: PLC0415 - it takes time, in which Ctrl-C is one line as well

    serve(flags, os.environ, stop_on_signals)


def _advance(given: Mapping[str, Any], refuse: Callable[[str], NoReturn]) -> None:
    if of_a_start := given.keys() & DEFAULTS.keys():
        refuse(f"advance starts no sandbox: it does not go with {', '.join(sorted(of_a_start))}")
    endpoint = given["endpoint"] if "endpoint" in given else os.environ.get("HCLOUD_ENDPOINT") or None
    if endpoint is None:
        refuse("HCLOUD_ENDPOINT is not set: read what hcloud-sandbox has printed, or give --endpoint URL")
    now = Control(endpoint).advance(given["duration"])
    sys.stdout.write(f"advanced by {given['duration']}: it is {now:%Y-%m-%d %H:%M:%S} UTC in the sandbox\n")


@contextmanager
def stop_on_signals() -> Iterator[threading.Event]:
    """An event that SIGTERM or SIGINT sets; the next one ends the process. Raises KeyboardInterrupt at the end of the
    block if it was SIGINT. What is ignored stays so, as SIGINT is in the background of a shell."""
    stop = threading.Event()
    heard: list[int] = []
    before: dict[int, Any] = {
        number: handler
        for number in (signal.SIGTERM, signal.SIGINT)
        if (handler := signal.getsignal(number)) is not signal.SIG_IGN
    }

    def hear(number: int, _frame: FrameType | None) -> None:
        heard.append(number)
        for each in before:
            signal.signal(each, signal.SIG_DFL)
        # In a thread: this one may hold the event's lock at the very moment.
        threading.Thread(target=stop.set, daemon=True).start()

    for number in before:
        signal.signal(number, hear)
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if signal.SIGINT in heard:
            raise KeyboardInterrupt


class _Parser(argparse.ArgumentParser):
    """Wrong usage is one line, not a page with the error at its end."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{PROGRAM}: error: {message}\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog=PROGRAM,
        description="Simulate Hetzner, Robot and Kubernetes on 127.0.0.1; prints the environment for their clients.",
        argument_default=argparse.SUPPRESS,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"{PROGRAM} {__version__}")
    for name, flag in FLAGS.items():
        parser.add_argument(
            name,
            dest=name,
            metavar=flag.metavar,
            help=flag.meaning.format(flag.default),
            type={"PORT": _port, "N": _number}.get(flag.metavar, str),
            action=_AddUp if flag.metavar == "LIST" else "store",
        )
    commands = parser.add_subparsers(title="commands", metavar="[COMMAND]")
    told = "let time pass in a sandbox that runs"
    advance = commands.add_parser("advance", help=told, description=f"{told.capitalize()}.", allow_abbrev=False)
    advance.add_argument("duration", metavar="DURATION", type=_duration, help="such as 90s, 2m or 1h30m")
    told = "its address; default: HCLOUD_ENDPOINT of the environment"
    advance.add_argument("--endpoint", metavar="URL", help=told, default=argparse.SUPPRESS)
    return parser


class _AddUp(argparse.Action):
    """A list that is given several times is one list: an image or an alias may have begun it."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,  # noqa: ARG002
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,  # noqa: ARG002
    ) -> None:
        before = getattr(namespace, self.dest, None)
        setattr(namespace, self.dest, values if before is None else f"{before},{values}")


def _duration(text: str) -> str:
    """Raises ArgumentTypeError unless it is one."""
    try:
        seconds_in(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text


def _number(text: str) -> int:
    """Raises ArgumentTypeError unless it is one of 0 or more."""
    if not (text.isascii() and text.isdecimal()):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of 0 or more")
    return int(text)


def _port(text: str) -> int:
    """Raises ArgumentTypeError unless it is one; 0 is any free one."""
    if not (text.isascii() and text.isdecimal() and int(text) < 65536):
        raise argparse.ArgumentTypeError(f"{text!r} is no port, 0 to 65535; 0 is any free one")
    return int(text)
