"""The command line: a group of click, whose commands, flags and pages of help follow from two tables, ``COMMANDS`` and
``FLAGS``. Commands are imported when they are called, and completion when a shell asks, so that help loads no client
library and production no simulator.

click splits the line, once ``_words_for_click`` has spelled its flags as the table does. Values are texts here;
``read_flags`` knows what they mean.
"""

import os
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from importlib import import_module
from importlib.util import find_spec
from textwrap import wrap
from typing import Any, NoReturn

import click

from desired.syntax.bounds import shown_text
from desired.syntax.go import parse_bool
from reconciler import __version__
from reconciler.cli.commands import COMMANDS, WORDS_OF_OTHERS, Operand, first_page
from reconciler.config.hccm_flags import INSTEAD, SWITCHES
from reconciler.config.options import FLAG_GROUPS, FLAGS, FORMER, SPELLINGS, Command
from reconciler.config.program import BAD_USAGE, program_name

Call = Callable[[Sequence[str], Mapping[str, str], Mapping[str, str]], int]
"""A command: its operands, flag → its text, the environment → the exit code."""
Typed = tuple[Command, Mapping[str, str], tuple[str, ...]]
"""A command line: the command, flag → its text for each flag that was given, and the command's operands."""

_HELP = "help"
"""What is typed before a command for its page of help, as ``--help`` behind it."""
COMPLETES = "_RECONCILE_COMPLETE"
"""The variable in which a script of a shell says what it wants: ``zsh_complete``."""
_MODES = ("--dry-run", "--once")
_MODULES = {
    Command.EXPLAIN: "reading",
    Command.HOLDS: "reading",
    Command.STATUS: "reading",
    Command.REVOKE: "approve",
}
_SIMULATED = frozenset({Command.DEMO, Command.SANDBOX})
"""What needs the simulators, which are a distribution of their own."""
_OF_HCCM = frozenset({Command.BARE, Command.RUN, Command.VALIDATE})
"""The commands that take the flags of HCCM which mean nothing here: what a run takes can be validated."""
_LETTERS = {"--v": "-v"}
"""Flags of HCCM that have a spelling of one letter."""
_SWITCHES = {spelling for spelling, row in SPELLINGS.items() if not row.metavar} | SWITCHES
_VALUED = {*SPELLINGS, *INSTEAD, *_LETTERS.values()} - _SWITCHES
"""Flags whose value may be the next word."""
_LOGS_MORE = "HCLOUD_DEBUG=true logs every request"
_INSTEAD_OF = {**FORMER, "-v": _LOGS_MORE, "--v": _LOGS_MORE, "--verbose": _LOGS_MORE}
"""Flag that a command does not take → what there is instead."""
_TYPED = [*COMMANDS, _HELP, "--version"]
"""What may stand in the place of a command."""
_HELPS = {"help_option_names": ["-h", "--help"]}
_LEFT = 28
"""Columns of what is typed, in a page of help. What is longer stands on a line of its own."""


def run_command_line(argv: Sequence[str]) -> int:
    """The exit code of the command that ``argv`` names. Raises SystemExit for ``--help`` and bad usage,
    KeyboardInterrupt, and OSError where stdout cannot be written, BrokenPipeError without a reader."""
    if instruction := os.environ.get(COMPLETES):
        return _complete(instruction)
    command, flags, operands = parse_command_line(argv)
    if command is Command.COMPLETION:  # each new shell waits for it, and not for more imports
        return _complete(f"{operands[0]}_source")
    from reconciler.cli.streams import prepare_streams, say  # noqa: PLC0415 - see the module's docstring

    prepare_streams()
    if command is Command.BARE and not (any(map(_is_on, _modes(flags))) or _is_started_by_manifest(flags)):
        if not flags:
            sys.stdout.write(first_page())
            return BAD_USAGE
        if flags.get("--v") in COMMANDS:  # verbose, as other tools have it
            reject(f"--v has no effect: {_LOGS_MORE}")
        typed = shlex.join(word for word in argv if not word.startswith(_MODES))
        say(f"a command is missing: '{program_name()} run {typed}' starts the controller")
        return BAD_USAGE
    return _called(command, flags, operands)


def _complete(instruction: str) -> int:
    """Print candidates (``zsh_complete``) or the script of a shell (``zsh_source``), both as click has them."""
    from click.shell_completion import shell_complete  # noqa: PLC0415 - see the module's docstring

    return shell_complete(APP, {}, program_name(), COMPLETES, instruction)


def _is_started_by_manifest(flags: Mapping[str, str]) -> bool:
    """Whether this is a pod of HCCM of which only the image was replaced: its manifests have flags and no command, and
    among these one that every cloud controller demands and that means nothing here. Who types, and a script with a
    kubeconfig or in a pod of its own, has to name what is to be started."""
    is_pod = "KUBERNETES_SERVICE_HOST" in os.environ and not os.environ.get("KUBECONFIG")
    streams = filter(None, (sys.stdin, sys.stdout, sys.stderr))
    return "--cloud-provider" in flags and is_pod and not any(stream.isatty() for stream in streams)


def _modes(flags: Mapping[str, str]) -> Iterator[str]:
    """What flags, or their variables, say of what is to be done, so that no command has to."""
    return (flags.get(name, os.environ.get(FLAGS[name].variable, "")) for name in _MODES)


def _is_on(text: str) -> bool:
    """Whether a variable switches something on, or is wrong, of which the command then tells."""
    try:
        return parse_bool(text or "false")
    except ValueError:
        return True


def _called(command: Command, flags: Mapping[str, str], operands: tuple[str, ...]) -> int:
    if command in (Command.BARE, Command.PLAN, Command.APPLY, Command.RUN):
        from reconciler.cli.run import run  # noqa: PLC0415 - see the module's docstring

        return run(flags, os.environ, command=command, file=next(iter(operands), None))
    if command in _SIMULATED and find_spec("hcloud_sandbox") is None:
        from reconciler.cli.streams import fail  # noqa: PLC0415 - see the module's docstring

        return fail("the sandbox is not installed: type pip install 'hcloud-reconciler[sandbox]'", code=1)
    return function_of(command)(operands, flags, os.environ)


def function_of(command: Command) -> Call:
    """The function that has the command's name, in the module that has it as well, unless it stands with others."""
    found: Call = getattr(import_module(f"reconciler.cli.{_MODULES.get(command, command)}"), command)
    return found


def parse_command_line(argv: Sequence[str]) -> Typed:
    """What was typed. Exits with BAD_USAGE and two lines on stderr when the command line cannot be split, and with 0
    after a page of help."""
    if list(argv[:1]) == [_HELP]:
        argv = [*argv[1:2], "--help"]
    try:
        with APP.make_context(program_name(), list(argv)) as context:
            typed: Typed = APP.invoke(context)
            return typed
    except click.exceptions.Exit as end:
        sys.exit(end.exit_code)
    except click.UsageError as error:
        reject(_sentence(error))


def reject(why: str) -> NoReturn:
    """Say what is wrong with a command line, and exit with BAD_USAGE."""
    from reconciler.cli.streams import for_stderr  # noqa: PLC0415 - see the module's docstring

    with suppress(AttributeError, OSError):  # stderr may be closed, or gone
        told = for_stderr(f"{program_name()}: {why}")
        sys.stderr.write(f"{told}\nTry '{program_name()} --help'.\n")
    sys.exit(BAD_USAGE)


def _sentence(error: click.UsageError) -> str:
    """What is wrong, with one remedy for a flag that the command does not take."""
    match error:
        case click.NoSuchOption(option_name=name) | click.BadOptionUsage(option_name=name) if name in _INSTEAD_OF:
            remedy = _INSTEAD_OF[name]
        case click.NoSuchOption(option_name=name) if name in SPELLINGS or name in INSTEAD:
            takers = SPELLINGS[name].commands if name in SPELLINGS else _OF_HCCM
            remedy = f"it goes with {', '.join(each for each in COMMANDS if each in takers - {Command.VALIDATE})}"
        case click.NoSuchOption(possibilities=[near, *_]):
            remedy = f"did you mean {near}?"
        case _:
            return error.format_message()
    return f"{error.message.rstrip('.')}: {remedy}"


def _typed(**_texts: object) -> Typed:
    """What was typed before the name of the command and behind it."""
    context = click.get_current_context()
    command = Command(context.info_name or "") if context.parent else Command.BARE
    operands = (context.params[each.name] for each in context.command.params if isinstance(each, click.Argument))
    words = tuple(word for found in operands for word in (found if isinstance(found, tuple) else (found,)))
    return command, _given_flags(context), tuple(word for word in words if word is not None)


def _words_for_click(argv: Sequence[str]) -> Iterator[str]:
    """The words with flags as in the table: an underscore in a name is a dash, as in Kubernetes' programs, and a switch
    has its value behind a sign. Raises UsageError for a flag in the place of a value, which was forgotten."""
    words = iter(argv)
    for word in words:
        name, sign, value = word.partition("=")
        name = name.replace("_", "-") if name.startswith("--") else name
        if name in _SWITCHES and not sign:
            yield f"{name}=true"
        elif name in _VALUED and not sign:
            following = next(words, "--")
            if following.startswith("--"):
                raise click.BadOptionUsage(name, f"Option {name!r} requires an argument.")
            yield from (name, following)
        elif name in _VALUED and not name.startswith("--"):  # -o=json
            yield from (name, value)
        else:
            yield f"{name}{sign}{value}" if name.startswith("--") else word
        if word == "--":
            yield from words


def _given_flags(context: click.Context) -> Mapping[str, str]:
    """Flag → its text, of those that were given before the name of the command and behind it. One that takes a list may
    be given several times; of any other the last one counts."""
    given: dict[str, str] = {}
    for each in filter(None, (context.parent, context)):
        for option in each.command.params:
            texts = each.params.get(option.name or "") if isinstance(option, click.Option) else None
            name = option.opts[-1]
            separator = FLAGS[name].separator if name in FLAGS else ""
            for text in texts or ():
                given[name] = f"{given[name]}{separator}{text}" if separator and name in given else text
    return given


class _Page(click.Command):
    """A command and its page of help."""

    def __init__(self, command: Command) -> None:
        row = COMMANDS[command]
        super().__init__(
            command,
            params=[*map(_operand, row.operands), *_options(command)],
            callback=_typed,
            short_help=row.brief,
            context_settings=_HELPS | {"ignore_unknown_options": command is Command.SANDBOX},
        )
        self._row = row

    def format_help(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        program, row = program_name(), self._row
        usage = " ".join((*(each.usage for each in row.operands), "[flags]"))
        formatter.write_usage(f"{program} {self.name}", usage, prefix="usage: ")
        formatter.write_paragraph()
        formatter.write_text(row.description)
        if row.operands:
            with formatter.section("Arguments"):
                _write(formatter, ((each.metavar, each.meaning) for each in row.operands))
        with formatter.section("Examples"):
            _write(formatter, ((f"{program} {typed}", meaning) for typed, meaning in row.examples.items()))
        for heading, flags in FLAG_GROUPS.items():
            if own := [flag for flag in flags if self.name in flag.commands]:
                with formatter.section(heading):
                    _write(formatter, ((f"{', '.join(each.spellings)} {each.metavar}", each.meaning) for each in own))
        with formatter.section("Help"):
            _write(formatter, [("-h, --help", "show this page")])


class _App(click.Group):
    """The command without a name, which takes all flags of a run; its page of help shows the commands, whose pages show
    flags."""

    def __init__(self) -> None:
        version = click.Option(["--version"], is_flag=True, is_eager=True, expose_value=False, callback=_show_version)
        super().__init__(
            params=[*_options(Command.BARE), version],
            callback=_typed,
            invoke_without_command=True,
            context_settings=_HELPS,
        )

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        try:
            args = list(_words_for_click(args))
        except click.UsageError:  # a value is missing
            if not extra.get("resilient_parsing"):
                raise
        return super().make_context(info_name, args, parent, **extra)

    def list_commands(self, _ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, _ctx: click.Context, cmd_name: str) -> click.Command | None:
        return _Page(Command(cmd_name)) if cmd_name in COMMANDS else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        word = args[0]
        if word not in COMMANDS and not ctx.resilient_parsing:
            near = WORDS_OF_OTHERS.get(word) or next(iter(get_close_matches(word, _TYPED, n=1)), None)
            hint = f" (did you mean {near}?)" if near else f": expect one of {', '.join(COMMANDS)}"
            raise click.UsageError(f"{shown_text(word)} is no command{hint}")
        return super().resolve_command(ctx, args)

    def format_help(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write(first_page())


def _show_version(ctx: click.Context, _param: click.Parameter, is_asked: bool) -> None:
    if is_asked and not ctx.resilient_parsing:
        click.echo(f"hcloud-reconciler {__version__}")
        ctx.exit()


def _write(formatter: click.HelpFormatter, rows: Iterable[tuple[str, str]]) -> None:
    """Lines with what is typed on the left and its meaning on the right, or below it; all of a page in line. No word is
    broken, also not behind a hyphen."""
    width, indent = max(formatter.width - _LEFT - 4, 10), " " * formatter.current_indent
    for typed, meaning in rows:
        first, *rest = wrap(meaning, width, break_long_words=False, break_on_hyphens=False)
        left = f"{indent}{typed.strip():<{_LEFT}}"
        right = f"\n{indent}{'':<{_LEFT}}  "
        formatter.write(f"{left}{'  ' if len(typed.strip()) <= _LEFT else right}{right.join((first, *rest))}\n")


def _options(command: Command) -> Iterator[click.Option]:
    """The flags that a command takes, each with all of its texts. Those of HCCM without a meaning are in no page."""
    for row in FLAGS.values():
        if command in row.commands:
            complete = _complete_by(row.metavar, row.values_for(command), takes_list=row.takes_list)
            is_hidden = command is Command.BARE
            yield click.Option(
                row.spellings, multiple=True, help=row.meaning, hidden=is_hidden, shell_complete=complete
            )
    for name in INSTEAD if command in _OF_HCCM else ():
        yield click.Option(tuple(filter(None, (_LETTERS.get(name), name))), multiple=True, hidden=True)


def _complete_by(metavar: str, values: Sequence[str], *, takes_list: bool = False) -> Callable[..., Any]:
    def complete(_context: click.Context, _param: click.Parameter, typed: str) -> Any:
        from reconciler.cli.completion import candidates  # noqa: PLC0415 - see the module's docstring

        return candidates(metavar, values, typed, takes_list=takes_list)

    return complete


def _operand(row: Operand) -> click.Argument:
    return click.Argument(
        [row.name],
        metavar=row.metavar,
        type=click.Choice(row.choices) if row.choices else None,
        nargs=-1 if row.many else 1,
        required=not (row.many or row.optional),
        shell_complete=None if row.choices else _complete_by(row.metavar, row.values),
    )


APP = _App()
"""The program."""
