"""The manual page reconcile(1), made from the tables of commands, flags and variables; the wheel has it below
``share/man``. Set UPDATE_DOCS to write it anew."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from reconciler import __version__
from reconciler.cli.commands import COMMAND_GROUPS, COMMANDS
from reconciler.config.environment import VARIABLES
from reconciler.config.options import FLAG_GROUPS, FLAGS, Command, Flag
from tests.support.assets import lacking

PAGE = Path(__file__).resolve().parents[3] / "docs" / "man" / "reconcile.1"
ABOUT = (
    "A cloud controller for Kubernetes on Hetzner that shows its plan before it acts. The name alone shows its"
    " commands and ends with 64; flags alone are the controller only in a pod, as the manifests of HCCM have them."
)
EXITS = {
    "0": "nothing to do, or all is done, or only waits; of a plan: whatever it shows",
    "1": "an error, a change that failed, or data that is incomplete",
    "3": "a guard stands in the way",
    "64": "the command line cannot be understood",
    "130": "interrupted",
}
"""Exit code → what it tells without --detailed-exitcode."""


def _text(words: str) -> str:
    escaped = words.replace("\\", r"\e").replace("-", r"\-")
    return rf"\&{escaped}" if escaped.startswith((".", "'")) else escaped


def _item(typed: str, meaning: str) -> Iterator[str]:
    yield from (".TP", rf"\fB{_text(typed)}\fR", _text(meaning))


def _flag(flag: Flag) -> Iterator[str]:
    named = [command for command in Command if command and command in flag.commands]
    where = f" (of {', '.join(named)})" if named else " (without a command)"
    variable = "" if flag.is_typed else f"; {flag.variable}"
    yield from _item(f"{', '.join(flag.spellings)} {flag.metavar}".strip(), f"{flag.meaning}{where}{variable}")


def _lines() -> Iterator[str]:
    yield f'.TH RECONCILE 1 "" "hcloud\\-reconciler {__version__}"'
    yield from (".SH NAME", r"reconcile \- a cloud controller for Kubernetes on Hetzner")
    yield from (".SH SYNOPSIS", r"\fBreconcile\fR \fICOMMAND\fR [\fIflags\fR]")
    yield from (".SH DESCRIPTION", _text(ABOUT), ".SH COMMANDS")
    for want, rows in COMMAND_GROUPS.items():
        yield f'.SS "{want}"'
        for command, row in rows.items():
            yield from _item(" ".join((command, *(each.usage for each in row.operands))), row.description)
            for operand in row.operands:
                yield from (".br", rf"\fI{operand.metavar}\fR: {_text(operand.meaning)}")
    yield from (
        ".SH FLAGS",
        _text("A switch may be written --flag=false. A variable that is named may be set instead."),
    )
    for heading, flags in FLAG_GROUPS.items():
        yield f'.SS "{heading}"'
        for flag in flags:
            yield from _flag(flag)
    yield ".SH ENVIRONMENT"
    for variable in VARIABLES.values():
        yield from _item(variable.name, variable.meaning)
    yield from _item("NO_COLOR", "set and not empty: no colors, whatever else says so")
    yield from _item("FORCE_COLOR, CLICOLOR_FORCE", "not empty and not 0: colors in a pipe as well")
    yield ".SH EXIT STATUS"
    for code, meaning in EXITS.items():
        yield from _item(code, meaning)
    yield ".SH EXAMPLES"
    for row in COMMANDS.values():
        for typed, meaning in row.examples.items():
            yield from _item(f"reconcile {typed}", meaning)
    yield from (".SH SEE ALSO", r"\fBkubectl\fR(1)")


def test_the_page_says_what_the_tables_say() -> None:
    page = "\n".join(_lines()) + "\n"
    if os.environ.get("UPDATE_DOCS"):
        PAGE.write_text(page, "utf-8")

    assert PAGE.read_text("utf-8") == page


def mandoc(*arguments: str) -> str:
    if shutil.which("mandoc") is None:
        lacking("mandoc", "scripts/shells installs it")
    return subprocess.run(["mandoc", *arguments, PAGE], capture_output=True, text=True, check=False).stdout


def test_what_a_person_reads() -> None:
    """No word is lost on the way, and mandoc has nothing to warn of but that there is no date."""
    said = " ".join(re.sub(".\x08", "", mandoc("-T", "ascii", "-O", "width=1000")).split())

    assert [name for name, row in FLAGS.items() if name not in said or row.meaning not in said] == []
    assert [name for name, row in COMMANDS.items() if f"{name} " not in said or row.description not in said] == []
    assert [name for name, row in VARIABLES.items() if name not in said or row.meaning not in said] == []
    warnings = mandoc("-T", "lint", "-W", "warning").splitlines()
    assert [line for line in warnings if "missing date" not in line] == []
