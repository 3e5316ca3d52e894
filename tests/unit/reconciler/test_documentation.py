"""Documents that follow from tables of the code, so that they cannot drift. ``UPDATE_DOCS=1`` writes them anew."""

import os
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from textwrap import fill

import pytest

from desired.annotations.options import ANNOTATIONS, OF_PORTS, OPTIONS, PREFIX, Option
from desired.model.key import ObjectKind
from desired.plan.change import GuardName
from desired.plan.notes import NOTES, NoteKind, NoteRow
from desired.rules.rule import Rule
from reconciler.config.environment import VARIABLES, Variable
from reconciler.config.hccm_flags import INSTEAD
from reconciler.config.options import FLAGS, Command, Flag
from tests.support.rules import rules_by_table

ROOT = Path(__file__).resolve().parents[3]
DOCS = ROOT / "docs"
SOURCES_OF_REASONS = (
    "reconciler/telemetry/announcements.py",
    "reconciler/telemetry/conditions.py",
    "desired/load_balancers/conditions.py",
    "desired/plan/notes.py",
)

INTRODUCTION = """\
# Configuration

Made from the tables in `reconciler/config/options.py` and `reconciler/config/environment.py`.

Booleans are written as Go writes them (`1 t T TRUE true True 0 f F FALSE false False`), durations as `30s`, `1m30s` or
`500ms`. All problems are reported together. An unknown `RECONCILER_*` name, and a name that nothing reads and that
begins or is spelt like one of the second table, is an error that offers the right one.

## Flags

The first table is of `plan`, `apply` and `run`, where nothing else is said; `--dry-run` and `--once` are older
spellings, of the command without a name, and a command wins over their variables. A flag on the command line wins over
its variable. `--yes` and `--delete` have none: they are given each time that they are meant.
`reconcile validate` takes all flags of the first table, and those without effect, to check them. In the name of a flag
an underscore counts as a dash, as in Kubernetes' programs; an empty `--cluster-cidr=` is none, as for HCCM.
"""

VARIABLES_INTRODUCTION = """
## Variables of hcloud-cloud-controller-manager

They keep their names and grammar. Where "file" is said, `<NAME>_FILE` may name a file with the value; the plain
variable wins, even when it is empty. A variable that is set to nothing counts as not set, except where "not empty" is
said. A name that HCCM once had, as `HCLOUD_SERVER_CACHE_TTL`, is told of in a warning.

`HCLOUD_NETWORK` together with `--cluster-cidr` switches pod routes on, unless `HCLOUD_NETWORK_ROUTES_ENABLED` is false,
as it has to be together with `ROBOT_ENABLED`. Where that is true and there is no network, a warning says that it has no
effect; where there is no `--cluster-cidr`, a note of the plan does. Of `--cluster-cidr` the IPv4 range counts, given
alone or with an IPv6 one in any order. IPv6 alone is an error while routes are on, as private networks do not have it.
"""


ANNOTATIONS_INTRODUCTION = """\
# Annotations of Services

Made from `desired/annotations/options.py`; `reconcile validate FILE` checks manifests against it.

An annotation wins over its variable, and the variable over what holds when neither is set. A value that cannot be read
is an error, and never the default. All errors of a Service are reported together, before anything is created for it;
its deletion needs no annotation to be right. A load balancer that is there keeps what nobody asks for, also when an
annotation is removed, unless the table says otherwise; with a variable that is set, removing goes back to that one.

- Values are texts: put `true` and numbers in quotes.
- A boolean is one of `1 t T TRUE true True 0 f F FALSE false False`.
- A duration has a unit, such as `30s`, `1m30s` or `3500ms`, and counts in whole seconds; `10` alone is an error.
- Words of a choice may be in capitals. Items of a list are separated by commas, and blanks around them do not count.
- Where "empty: not set" is said, an empty value means that nothing is set, whatever the variable says.

The keys below stand behind `load-balancer.hetzner.cloud/`, save those that are written in full.
"""
ANNOTATIONS_OF_PORTS = """
## Of single ports

`port-443.hcloud-reconciler/protocol` is `load-balancer.hetzner.cloud/protocol` for port 443 of a Service
alone ([options per port](../load-balancers.md#options-per-port)). The port is the Service's, as a number; the value has
the grammar of the table. It wins over the Service's annotation, and that over the variable. These keys may stand behind
`port-PORT.hcloud-reconciler/`:

"""


def _annotation(row: Option) -> str:
    key = row.key if row.prefix == PREFIX else row.full_key
    grammar = row.grammar.name + ("; empty: not set" if row.clears else "")
    variable = f"`{row.variable}`" if row.variable else ""
    return f"| `{key}` | {grammar} | {row.when_unset} | {variable} | {row.when_changed} | {row.removal} |"


def annotations() -> str:
    columns = ("key", "value", "when not set", "variable", "when changed", "when removed")
    head = f"\n| {' | '.join(columns)} |\n|{'---|' * len(columns)}\n"
    table = "".join(f"{_annotation(row)}\n" for row in ANNOTATIONS.values())
    of_ports = fill(", ".join(f"`{OPTIONS[name].key}`" for name in OF_PORTS), 120, break_on_hyphens=False)
    return f"{ANNOTATIONS_INTRODUCTION}{head}{table}{ANNOTATIONS_OF_PORTS}{of_ports}\n"


def _flag(row: Flag) -> str:
    verbs = {Command.PLAN, Command.APPLY, Command.RUN}
    others = row.commands - {Command.BARE, Command.VALIDATE} - (verbs if verbs <= row.commands else set())
    named = ", ".join(f"`{command}`" for command in Command if command in others)
    where = f" ({'of' if others & verbs else 'also'} {named})" if named and Command.BARE in row.commands else ""
    value = f" {row.metavar}" if row.metavar else ""
    return f"| `{row.name}{value}` | `{row.variable}` | {row.meaning}{where} |"


def _shown(default: object) -> str:
    """A default as it would be written; "" for what is not set, which is what 0 says of a duration or a number."""
    match default:
        case bool():
            return str(default).lower()
        case float():
            return f"{default:g}s" if default else ""
        case (_, port):
            return f":{port}"
    return str(default or "")


def _variable(row: Variable) -> str:
    traits = ["file"] * row.from_file + ["not empty"] * (not row.empty_is_unset)
    traits += [f"only with `{row.needs}`"] * (row.needs is not None)
    shown = _shown(row.default)
    return f"| `{row.name}` | {f'`{shown}`' if shown else ''} | {row.meaning} | {', '.join(traits)} |"


def configuration() -> str:
    run = [row for row in FLAGS.values() if Command.BARE in row.commands]
    capture = [row for row in FLAGS.values() if row.commands == {Command.CAPTURE}]
    plan = [row for row in FLAGS.values() if row.commands == {Command.PLAN}]
    apply = [row for row in FLAGS.values() if row.commands == {Command.APPLY}]
    orphans = [row for row in FLAGS.values() if row.commands == {Command.ORPHANS}]
    sandbox = [row for row in FLAGS.values() if Command.SANDBOX in row.commands]
    head = "\n| flag | variable | meaning |\n|---|---|---|\n"
    return (
        INTRODUCTION
        + head
        + "".join(f"{_flag(row)}\n" for row in run)
        + "\nOf `reconcile plan` alone:\n"
        + head
        + "".join(f"| `{row.name} {row.metavar}` | none | {row.meaning} |\n" for row in plan)
        + "\nOf `reconcile apply` alone:\n"
        + head
        + "".join(f"| `{row.name}` | none | {row.meaning} |\n" for row in apply)
        + "\nOf `reconcile capture`:\n"
        + head
        + "".join(f"{_flag(row)}\n" for row in capture)
        + "\nOf `reconcile orphans`:\n"
        + head
        + "".join(f"| `{row.name}` | none | {row.meaning} |\n" for row in orphans)
        + "\nOf `reconcile sandbox`:\n"
        + head
        + "".join(f"{_flag(row)}\n" for row in sandbox)
        + "\nFlags of hcloud-cloud-controller-manager that are accepted, told of at the start, and have no effect:\n"
        + "\n| flags | what there is instead |\n|---|---|\n"
        + "".join(
            f"| {', '.join(f'`{flag}`' for flag, instead in INSTEAD.items() if instead == why)} | {why} |\n"
            for why in dict.fromkeys(INSTEAD.values())
        )
        + VARIABLES_INTRODUCTION
        + "\n| variable | default | meaning | |\n|---|---|---|---|\n"
        + "".join(f"{_variable(row)}\n" for row in VARIABLES.values())
    )


def test_events_and_conditions_are_documented() -> None:
    """The page of Nodes or that of load balancers names every reason of an event or a condition."""
    written = "".join((ROOT / source).read_text() for source in SOURCES_OF_REASONS)
    word = r"Synced|Ambiguous|Held|Limit|Refused|Unknown|Waiting|[A-Z][A-Za-z]*[a-z][A-Z][A-Za-z]*"
    reasons = set(re.findall(rf'"({word})"', written))
    assert {"Synced", "ClusterCIDRMisconfigured", "InvalidProviderID", "DeletedLoadBalancer", "NoAddress"} < reasons

    pages = "".join((DOCS / name).read_text() for name in ("nodes.md", "load-balancers.md", "routes.md"))

    assert {reason for reason in reasons if f"`{reason}`" not in pages} == set()


NOTES_INTRODUCTION = """\
# Notes of a plan

Made from the table in `desired/plan/notes.py`.

A note says what a person should know though nothing is done. Its text names the object, what was found, and what to do
about it. This page says what is concluded from each kind: whether a person is needed (then `plan` and the page name the
object, and `--once` ends with 3), what the result is, whatever is planned besides, and which Event and which reason of
the condition `LoadBalancerInSync` an object with the note gets.

| note | means | remedy | needs a person | result | Event | condition |
|---|---|---|---|---|---|---|
"""


def _note_row(kind: NoteKind, row: NoteRow) -> str:
    events = [f"Node: `{row.node_event.reason}`"] if row.node_event else []
    events += [f"Service: `{row.service_event}`"] * bool(row.service_event)
    needing = ", ".join(sorted({ObjectKind.NODE: "Node", ObjectKind.SERVICE: "Service"}[k] for k in row.needs_a_person))
    result = "`blocked`" if row.is_finding else "`incomplete`" if row.is_undecided else ""
    condition = f"`{row.condition}`" if row.condition else ""
    return f"| `{kind}` | {row.means} | {row.remedy} | {needing} | {result} | {'; '.join(events)} | {condition} |\n"


def notes() -> str:
    return NOTES_INTRODUCTION + "".join(_note_row(kind, row) for kind, row in NOTES.items())


RULES_INTRODUCTION = """\
# Rules

Made from the tables in `desired/rules`.

Each row is one sentence that a plan, a note, a hold or an explanation says, with what a person does about it. Words in
angle brackets stand for what was found. The last column is the [note](notes.md), the [guard](../safety.md#guards) or
the kind of change whose sentence it is, and what a guard makes of the changes; where it is empty, `reconcile explain`
alone says it. Rows of guards stand under the name of the guard, and say in which note the same is told where nothing is
withheld.
"""
_TITLES = {
    "guards": "Guards",
    "filters": "What is left out, and what waits for it",
    "load_balancers": "Load balancers",
    "load_balancer_changes": "Changes of load balancers",
    "nodes": "Nodes",
    "routes": "Routes",
    "explanations": "Explanations",
}


def _shown_template(template: str) -> str:
    return re.sub(r"\{(\w+)(?:![a-z])?\}", r"&lt;\1&gt;", template).replace("|", "\\|")


def _rule_row(row: Rule) -> str:
    noted = f", note `{row.noted}`" if row.noted else ""
    said_by = f"`{row.of}`" + (f": {row.verdict}" if row.verdict else "") + noted if row.of else row.verdict or ""
    return f"| `{row.name}` | {_shown_template(row.says)} | {_shown_template(row.remedy)} | {said_by} |\n"


def rules() -> str:
    tables = {table: [row for row in rows if not row.verdict] for table, rows in rules_by_table().items()}
    assert tables.keys() == _TITLES.keys()
    return RULES_INTRODUCTION + "".join(
        f"\n## {title}\n" + ("".join(_by_guard()) if table == "guards" else _rule_table(tables[table]))
        for table, title in _TITLES.items()
    )


def _by_guard() -> Iterator[str]:
    """The rows of each guard, whichever table has them, and the notes that only guards make."""
    groups: dict[str, list[Rule]] = {name: [] for name in GuardName}
    for table, rows in rules_by_table().items():
        for row in rows:
            if table == "guards" or row.verdict:
                groups.setdefault(row.of or "any guard", []).append(row)
    for name, found in groups.items():
        if found:
            yield f"\n### {name}\n{_rule_table(found)}"


def _rule_table(rows: Iterable[Rule]) -> str:
    return "\n| rule | sentence | remedy | said by |\n|---|---|---|---|\n" + "".join(map(_rule_row, rows))


PAGES = {
    "configuration.md": configuration,
    "reference/notes.md": notes,
    "reference/rules.md": rules,
    "reference/annotations.md": annotations,
}
"""Page below docs → its text, by the tables."""


@pytest.mark.parametrize(("name", "text"), PAGES.items(), ids=PAGES)
def test_pages_say_what_the_tables_say(name: str, text: Callable[[], str]) -> None:
    page = DOCS / name
    if os.environ.get("UPDATE_DOCS"):
        page.write_text(text())

    assert page.read_text() == text()


def test_no_cell_breaks_the_table() -> None:
    lines = [line for line in annotations().splitlines() if line.startswith("| `")]

    assert [line.count("|") for line in lines] == [7] * len(ANNOTATIONS)
