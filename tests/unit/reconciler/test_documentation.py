"""Documents that follow from tables of the code, so that they cannot drift. ``UPDATE_DOCS=1`` writes them anew."""

import os
from pathlib import Path

from reconciler.flags import FLAGS, Command, Flag
from reconciler.variables import VARIABLES, Variable

DOCS = Path(__file__).resolve().parents[3] / "docs"

INTRODUCTION = """\
# Configuration

Made from the tables in `reconciler/flags.py` and `reconciler/variables.py`.

Booleans are written as Go writes them (`1 t T TRUE true True 0 f F FALSE false False`), durations as `30s`, `1m30s` or
`500ms`. All problems are reported together. An unknown `RECONCILER_*` name, and one that looks like a misspelt variable
of the second table, is an error that offers the right one.

## Flags

A flag on the command line wins over its variable.
"""

VARIABLES_INTRODUCTION = """
## Variables of hcloud-cloud-controller-manager

They keep their names and grammar. Where "file" is said, `<NAME>_FILE` may name a file with the value; the plain
variable wins, even when it is empty. A variable that is set to nothing counts as not set, except where "not empty" is
said.
"""


def _flag(row: Flag) -> str:
    commands = ", ".join(
        "" if command is Command.RUN else f"`{command}`" for command in Command if command in row.commands
    )
    where = f" (also {commands.removeprefix(', ')})" if commands.startswith(", ") else ""
    value = f" {row.metavar}" if row.metavar else ""
    return f"| `{row.name}{value}` | `{row.variable}` | {row.meaning}{where} |"


def _variable(row: Variable) -> str:
    traits = ["file"] * row.from_file + ["not empty"] * (not row.empty_is_unset)
    traits += [f"only with `{row.needs}`"] * (row.needs is not None)
    default = {None: "", True: "true", False: "false", "": ""}.get(row.default, row.default)
    shown = f"`{default if not isinstance(default, tuple) else ':' + str(default[1])}`" if default != "" else ""
    return f"| `{row.name}` | {shown} | {row.meaning} | {', '.join(traits)} |"


def configuration() -> str:
    """The text of docs/configuration.md."""
    run = [row for row in FLAGS.values() if Command.RUN in row.commands]
    sandbox = [row for row in FLAGS.values() if Command.SANDBOX in row.commands]
    head = "\n| flag | variable | meaning |\n|---|---|---|\n"
    return (
        INTRODUCTION
        + head
        + "".join(f"{_flag(row)}\n" for row in run)
        + "\nOf `reconcile sandbox`:\n"
        + head
        + "".join(f"{_flag(row)}\n" for row in sandbox)
        + VARIABLES_INTRODUCTION
        + "\n| variable | default | meaning | |\n|---|---|---|---|\n"
        + "".join(f"{_variable(row)}\n" for row in VARIABLES.values())
    )


def test_configuration_is_documented_as_it_is() -> None:
    """docs/configuration.md says what the tables say."""
    page = DOCS / "configuration.md"
    if os.environ.get("UPDATE_DOCS"):
        page.write_text(configuration())

    assert page.read_text() == configuration()
