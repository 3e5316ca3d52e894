"""Dispatch: the command line to the command. Commands are imported when they are called, so that ``--help`` loads no
client library and production no simulator."""

import os
import shlex
import sys
from collections.abc import Mapping, Sequence

from desired.syntax.go import parse_bool
from reconciler.config.command_line import parse_command_line
from reconciler.config.commands import Command
from reconciler.config.flags import FLAGS
from reconciler.config.help import root_help
from reconciler.config.program import BAD_USAGE, program_name

_COMPLETE = "__complete"
"""What completion scripts ask, and no person."""
_MODES = ("--dry-run", "--once")


def dispatch(argv: Sequence[str]) -> int:
    """The exit code of the command that ``argv`` names. Raises SystemExit for ``--help`` and bad usage,
    KeyboardInterrupt, and OSError where stdout cannot be written, BrokenPipeError without a reader."""
    if argv[:1] == [_COMPLETE]:
        from reconciler.cli.names import print_names  # noqa: PLC0415 - see the module's docstring

        return print_names(argv[1:], os.environ)
    command, flags, arguments = parse_command_line(argv)
    if command is Command.COMPLETION:  # each new shell waits for it, and not for more imports
        return _called(command, flags, arguments)
    from reconciler.cli.streams import is_attended, prepare_streams, say  # noqa: PLC0415 - see the module's docstring

    prepare_streams()
    # A person who typed the name of the program alone at a terminal starts no controller.
    if command is Command.BARE and is_attended() and not _names_a_mode(flags):
        if not flags:
            sys.stdout.write(root_help())
            return 0
        typed = shlex.join(word for word in argv if not word.startswith(_MODES))
        say(f"a command is missing: '{program_name()} run {typed}' starts the controller")
        return BAD_USAGE
    return _called(command, flags, arguments)


def _names_a_mode(flags: Mapping[str, str]) -> bool:
    """Whether a flag or its variable says what is to be done, so that no command has to."""
    return any(_is_on(flags.get(name, os.environ.get(FLAGS[name].variable, ""))) for name in _MODES)


def _is_on(text: str) -> bool:
    """Whether a variable switches something on, or is wrong, of which the command then tells."""
    try:
        return parse_bool(text or "false")
    except ValueError:
        return True


def _called(command: Command, flags: Mapping[str, str], arguments: tuple[str, ...]) -> int:  # noqa: C901 - a table
    match command:
        case Command.BARE | Command.RUN | Command.PLAN | Command.APPLY:
            from reconciler.cli.run import run  # noqa: PLC0415

            return run(flags, os.environ, command=command, file=next(iter(arguments), None))
        case Command.HOLDS | Command.STATUS | Command.APPROVE | Command.REVOKE:
            return _called_about_holds(command, flags, arguments)
        case Command.EXPLAIN:
            from reconciler.cli.explain import explain  # noqa: PLC0415

            return explain(arguments[0], arguments[1], flags, os.environ)
        case Command.UI:
            from reconciler.cli.ui import ui  # noqa: PLC0415

            return ui(flags, os.environ)
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
        case Command.COMPLETION:
            from reconciler.cli.completion_scripts import script  # noqa: PLC0415

            print(script(arguments[0]), end="")  # noqa: T201
            return 0


def _called_about_holds(command: Command, flags: Mapping[str, str], arguments: tuple[str, ...]) -> int:
    match command:
        case Command.HOLDS:
            from reconciler.cli.holds import holds  # noqa: PLC0415

            return holds(arguments, flags, os.environ)
        case Command.STATUS:
            from reconciler.cli.status import status  # noqa: PLC0415

            return status(flags, os.environ)
        case Command.APPROVE:
            from reconciler.cli.approve import approve  # noqa: PLC0415

            return approve(arguments[0], flags, os.environ)
        case _:
            from reconciler.cli.approve import revoke  # noqa: PLC0415

            return revoke(arguments[0], flags, os.environ)
