"""Dispatch: the command line to the command. Commands are imported when they are called, so that ``--help`` loads no
client library and production no simulator."""

import os
import sys
from collections.abc import Mapping, Sequence

from desired.syntax.go import parse_bool
from reconciler.config.command_line import parse_command_line
from reconciler.config.flags import FLAGS, Command
from reconciler.config.help import root_help

_MODES = frozenset(FLAGS[name].variable for name in ("--dry-run", "--once"))


def _asks_for_nothing() -> bool:
    """Whether somebody just typed the name of the program: that starts no controller at a terminal."""
    is_attended = sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()
    return is_attended and not any(_is_on(os.environ.get(variable, "")) for variable in _MODES)


def _is_on(text: str) -> bool:
    """Whether a variable switches something on, or is wrong, of which the command then tells."""
    try:
        return parse_bool(text or "false")
    except ValueError:
        return True


def dispatch(argv: Sequence[str] | None) -> int:
    """The exit code of the command that ``argv`` names, None for the arguments of the process. Never raises but
    SystemExit for ``--help`` and bad usage, and KeyboardInterrupt."""
    command, flags, arguments = parse_command_line(sys.argv[1:] if argv is None else argv)
    from reconciler.cli.streams import prepare_streams, swallow_stdout  # noqa: PLC0415 - see the module's docstring

    prepare_streams()
    if command is Command.BARE and not flags and _asks_for_nothing():
        sys.stdout.write(root_help())
        return 0
    try:
        return _called(command, flags, arguments)
    except BrokenPipeError:
        swallow_stdout()
        return 0


def _called(command: Command, flags: Mapping[str, str], arguments: tuple[str, ...]) -> int:
    match command:
        case Command.BARE | Command.RUN | Command.PLAN | Command.APPLY:
            from reconciler.cli.run import run  # noqa: PLC0415

            return run(flags, os.environ, command=command, file=next(iter(arguments), None))
        case Command.APPROVE:
            from reconciler.cli.approve import approve  # noqa: PLC0415

            return approve(arguments[0], flags, os.environ)
        case Command.EXPLAIN:
            from reconciler.cli.explain import explain  # noqa: PLC0415

            return explain(arguments[0], arguments[1], flags, os.environ)
        case Command.ORPHANS:
            from reconciler.cli.orphans import orphans  # noqa: PLC0415

            return orphans(arguments, flags, os.environ)
        case Command.CAPTURE:
            from reconciler.cli.capture import capture  # noqa: PLC0415

            return capture(flags, os.environ)
        case Command.VALIDATE:
            from reconciler.cli.validate import validate  # noqa: PLC0415

            return validate(arguments, flags, os.environ)
        case Command.SANDBOX:
            from reconciler.cli.sandbox import sandbox  # noqa: PLC0415

            return sandbox(flags, os.environ)
        case Command.DEMO:
            from reconciler.cli.demo import demo  # noqa: PLC0415

            return demo(os.environ)
