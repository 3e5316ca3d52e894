"""The corpus: worlds that tests have met, as captures, each with its settings and the plan that was made of it.

A world is kept as what the APIs answered, and its settings as flags and variables, so that both outlive every type of
the planner. A plan is kept without its sentences: what is done, in which order, and what each rule decided.
"""

import lzma
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from desired.plan.setbacks import Setbacks
from reconciler.capture.offline import readers_of
from reconciler.capture.world_file import World
from reconciler.config.config import load_config
from reconciler.config.options import Command
from reconciler.observe.world import Readers
from reconciler.passes.context import PlanContext
from reconciler.passes.history import History
from reconciler.passes.one_pass import plan_once
from reconciler.report.documents import report_as_json

FILE = Path(__file__).resolve().parents[1] / "property" / "corpus.json.xz"
NAMESPACE = "kube-system"
_LONGEST = 240
"""Characters of a difference that are shown."""
_SENTENCES = ("message", "text", "why")
"""Members of a change's two sides that are read by people alone."""
_OF_A_CHANGE = ("kind", "class", "before", "after", "owner", "depends_on", "verdict", "rule", "due_in_s", "cost")
_OF_A_HOLD = ("rule", "value", "limit", "keys")
Plan = dict[str, Any]


class Entry(msgspec.Struct, omit_defaults=True):
    """A world, what it is planned with, and its plan."""

    world: msgspec.Raw
    flags: dict[str, str] = {}
    variables: dict[str, str] = {}
    setbacks: dict[str, Any] = {}
    """What a loop remembered: the fields of ``Setbacks``."""
    plan: Plan = {}


def read() -> dict[str, Entry]:
    found: dict[str, Entry] = msgspec.json.decode(lzma.decompress(FILE.read_bytes()), type=dict[str, Entry])
    return found


def write(entries: Mapping[str, Entry]) -> None:
    text = msgspec.json.encode({name: entries[name] for name in sorted(entries)})
    FILE.write_bytes(lzma.compress(text, preset=9 | lzma.PRESET_EXTREME))


class _Remembered(History):
    """History that a capture has the setbacks of."""

    def __init__(self, found: Setbacks) -> None:
        super().__init__()
        self._found = found

    def setbacks(self) -> Setbacks:
        return self._found


def _report_of(entry: Entry, read_by: Callable[[World], Readers] = readers_of) -> Mapping[str, Any]:
    """The report on the plan that is made of it now."""
    readers = read_by(msgspec.json.decode(entry.world, type=World))
    settings = load_config(Command.PLAN, {"--from": "-", **entry.flags}, entry.variables).settings
    history = _Remembered(msgspec.convert(entry.setbacks, Setbacks))
    return report_as_json(plan_once(PlanContext(readers, settings, NAMESPACE, history=history)))


def sentences_of(entry: Entry) -> Iterator[str]:
    """What the plan that is made of it now says of changes, holds and other objects."""
    report = _report_of(entry)
    yield from (text for change in report["changes"] for text in (change["reason"], change["why"]) if text)
    yield from (note["text"] for note in report["notes"])


def plan_of(entry: Entry, read_by: Callable[[World], Readers] = readers_of) -> Plan:
    """The plan that is made of it now, without sentences, of what was ``read_by`` these readers."""
    report = _report_of(entry, read_by)
    return {
        "result": report["result"],
        "errors": len(report["errors"]),
        "order": [change["key"] for change in report["changes"]],
        "changes": {
            change["key"]: _without_sentences({name: change[name] for name in _OF_A_CHANGE})
            for change in report["changes"]
        },
        "notes": sorted(f"{note['kind']} {note['key']}" for note in report["notes"]),
        "holds": [{name: hold[name] for name in _OF_A_HOLD} for hold in report["holds"]],
    }


def _without_sentences(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_sentences(found) for name, found in value.items() if name not in _SENTENCES}
    return [_without_sentences(found) for found in value] if isinstance(value, list) else value


def differences(before: Plan, after: Plan) -> Iterator[str]:
    """What the plan ``after`` has otherwise, a line each: ``node/a delete: verdict allowed -> held``."""
    for name in ("result", "errors"):
        if before[name] != after[name]:
            yield f"{name} {before[name]} -> {after[name]}"
    old, new = before["changes"], after["changes"]
    for key in sorted(old.keys() - new.keys()):
        yield f"- {_told(old, key)}"
    for key in sorted(new.keys() - old.keys()):
        yield f"+ {_told(new, key)}"
    for key in sorted(old.keys() & new.keys()):
        members = old[key].keys() | new[key].keys()
        for name in sorted(members):
            was, now = old[key].get(name), new[key].get(name)
            if was != now:
                yield f"{_told(new, key, '')}: {name} {was} -> {now}"
    if old.keys() == new.keys() and before["order"] != after["order"]:
        yield "the order of the changes"
    for name in ("notes", "holds"):
        was, now = (list(map(_line, plan[name])) for plan in (before, after))
        yield from (f"- {name}: {each}" for each in was if each not in now)
        yield from (f"+ {name}: {each}" for each in now if each not in was)


def _told(changes: Mapping[str, Any], key: str, suffix: str = " {verdict} {rule}") -> str:
    change = changes[key]
    return f"{key} {change['kind']} {change['class']}{suffix.format(**change)}"


def _line(found: Any) -> str:
    return found if isinstance(found, str) else " ".join(map(str, found.values()))


def all_differences(entries: Mapping[str, Entry]) -> Mapping[str, Sequence[str]]:
    """Name of each world whose plan is another one now → the differences; the ``entries`` have the new plans then."""
    found: dict[str, Sequence[str]] = {}
    for name, entry in entries.items():
        before, entry.plan = entry.plan, plan_of(entry)
        if before != entry.plan:
            found[name] = tuple(differences(before, entry.plan))
    return found


def summary(found: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """The differences without names and numbers, the most frequent first, each with how many worlds have it and one of
    these in full."""
    alike: dict[str, dict[str, str]] = {}
    for name, lines in found.items():
        for line in lines:
            alike.setdefault(_without_names(line), {}).setdefault(name, line)
    if found:
        yield f"{len(found)} plans differ:"
    for worlds in sorted(alike.values(), key=len, reverse=True):
        name, line = next(iter(worlds.items()))
        yield f"  {len(worlds)} x {line[:_LONGEST]}"
        yield f"      {name}"


def _without_names(line: str) -> str:
    return re.sub(r"[0-9]+(\.[0-9]+)*", "0", re.sub(r"(?<=[a-z_])/\S+", "/...", line))
