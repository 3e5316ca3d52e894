"""A selector of servers decides on nothing: with any of them a world is planned as without one."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs

import msgspec
import pytest

from hcloud_sandbox.hetzner.selectors import parse_selector
from reconciler.capture.offline import FiledProject, readers_of
from reconciler.capture.world_file import World
from reconciler.observe.servers_by_id import Confirmer
from reconciler.observe.world import Readers
from tests.support import corpus
from tests.support.sampling import sample

SELECTORS = ("cluster=prod", "!cluster", "role in (worker,gpu)", "hcloud/node-group!=pool")
WORLDS = corpus.read()


class _Labelled(msgspec.Struct):
    id: int = 0
    labels: dict[str, str] | None = None


def _is_of_one_mind(entry: corpus.Entry) -> bool:
    """Whether Hetzner tells the same by a list of servers and by their ids. Where it does not, what is read by id
    decides otherwise with a selector, and rightly so: who is found is there, and who cannot be read is unknown."""
    world = msgspec.json.decode(entry.world, type=World)
    listed = {f"/servers/{msgspec.json.decode(raw, type=_Labelled).id}" for raw in world.hetzner.servers}
    found = {path for path in world.captured.objects if path.startswith("/servers/")}
    return found <= listed and not any(path.startswith("/servers") for path in world.captured.gaps)


def _selected(entry: corpus.Entry) -> bool:
    return entry.variables.get("ROBOT_ENABLED") != "true" and _is_of_one_mind(entry)


SELECTED = sorted(name for name, entry in WORLDS.items() if _selected(entry))


class Project(FiledProject):
    """The project of a file, which selects as Hetzner does."""

    def get(self, path: str) -> bytes:
        place, _, text = path.partition("?")
        selector = parse_qs(text).get("label_selector")
        if selector is None:
            return super().get(path)
        whole, matches = self._lists, parse_selector(selector[0])
        self._lists = {**whole, place: [raw for raw in whole[place] if matches(_labels(raw))]}
        try:
            return super().get(path)
        finally:
            self._lists = whole


def _labels(raw: msgspec.Raw) -> Mapping[str, str]:
    try:
        return msgspec.json.decode(raw, type=_Labelled).labels or {}
    except ValueError:
        return {}


def _readers(world: World) -> Readers:
    project = Project(world)
    return replace(readers_of(world), hetzner=project, confirmer=Confirmer(project))


def plan_of(entry: corpus.Entry, selector: str) -> dict[str, Any]:
    flags = {**entry.flags, "--server-selector": selector}
    plan = corpus.plan_of(msgspec.structs.replace(entry, flags=flags), _readers)
    return {**plan, "notes": [note for note in plan["notes"] if not note.startswith("unselected ")]}


@pytest.mark.parametrize("selector", SELECTORS)
@pytest.mark.parametrize("name", sample(SELECTED, "selected worlds", least=16))
def test_a_selector_decides_on_nothing(name: str, selector: str) -> None:
    entry = WORLDS[name]

    assert list(corpus.differences(entry.plan, plan_of(entry, selector))) == []
