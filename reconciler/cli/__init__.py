"""Command line. The only package that writes to stdout.

``app`` finds the command and runs it. Importing this package loads nothing that takes time, so that Ctrl-C is
answered in order from the very start.
"""

import gc
import os
import signal
import sys
from collections.abc import Sequence
from types import FrameType

from reconciler import __version__
from reconciler.config.program import program_name

INTERRUPTED = 130
"""Exit code of a run that Ctrl-C ended: 128 and the number of SIGINT, as shells have it."""

_FIRST_PAGE = (["--help"], ["-h"], ["help"])
_OBJECTS_PER_COLLECTION = 10_000
"""By default Python looks for garbage after each 700 to 2,000 new objects, and imports make a hundred thousand that
stay: a tenth of the CPU until the first request. In a world of 5,000 Nodes too nothing is garbage until a pass ends."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run ``reconcile`` and return its exit code. Never raises but SystemExit for ``--help`` and bad usage.

    Without ``argv`` the process is ours: Ctrl-C ends it with one line, at once until a command says how it comes to
    its end. ``stop_on_signals`` then raises KeyboardInterrupt where that end is reached.
    """
    if argv is None:
        gc.set_threshold(_OBJECTS_PER_COLLECTION)
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # nohup and & ignore it
            signal.signal(signal.SIGINT, _end_at_once)
    try:
        try:
            return _run(sys.argv[1:] if argv is None else argv)
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()  # a page of help as well: the interpreter would complain at its end
    except KeyboardInterrupt:
        from reconciler.cli.streams import say  # noqa: PLC0415

        say("interrupted")
        return INTERRUPTED
    except OSError as error:
        from reconciler.cli.streams import fail, swallow_stdout  # noqa: PLC0415

        swallow_stdout()
        if isinstance(error, BrokenPipeError):  # a reader that has gone away, as head does, is no trouble
            return 0
        return fail(f"stdout cannot be written: {error.strerror or error}", code=1)


def _run(argv: Sequence[str]) -> int:
    """As ``run_command_line``. The version and the first page of help, for which people wait who look around, load no
    library."""
    if list(argv) == ["--version"]:
        print(f"hcloud-reconciler {__version__}")  # noqa: T201
        return 0
    if list(argv) in _FIRST_PAGE:
        from reconciler.cli.commands import first_page  # noqa: PLC0415 - see the module's docstring

        print(first_page(), end="")  # noqa: T201
        return 0
    from reconciler.cli.app import run_command_line  # noqa: PLC0415

    return run_command_line(argv)


def complete_for_kubectl() -> int:
    """Tell kubectl what may stand behind ``kubectl hcloud-reconciler``; the exit code of that process."""
    from reconciler.cli.app import APP, COMPLETES  # noqa: PLC0415 - see the module's docstring
    from reconciler.cli.completion import Kubectl  # noqa: PLC0415

    sys.stdout.write(Kubectl(APP, {}, program_name(), COMPLETES).complete())
    return 0


def _end_at_once(_number: int, _frame: FrameType | None) -> None:
    """Handles SIGINT while there is nothing to bring to an end. An exception would not do: in the middle of an import
    there are places where it cannot be caught, and the interpreter prints a traceback of its own."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a stderr without a reader must not keep the process for ever
    try:
        os.write(2, f"{program_name()}: interrupted\n".encode())
    finally:
        os._exit(INTERRUPTED)
