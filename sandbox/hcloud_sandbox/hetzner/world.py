"""World files: the Hetzner part, from partial raw objects to the objects of a project and back.

It has sections, ids and names. What each kind leaves out is filled in by its ``Resource``. Known differences: nothing
is checked against the rules for requests but what the simulator itself depends on, so a world may hold more than the
real service would allow (more than 100 attachments, overlapping routes, servers of one name), as captured worlds and
tests need it.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from hcloud_sandbox.hetzner.api import Api
from hcloud_sandbox.hetzner.catalogue import IMAGES
from hcloud_sandbox.hetzner.load_balancer_targets import connect_targets
from hcloud_sandbox.hetzner.public_addresses import FAMILIES
from hcloud_sandbox.hetzner.store import KINDS, Kind, Object, Store, in_words
from hcloud_sandbox.shapes import a, an_object
from hcloud_sandbox.worlds import FORMAT_VERSION, part_of

Given = Mapping[Kind, list[Object]]
"""The objects of a world by id, as they were given."""
_MAY_SHARE_NAMES: frozenset[Kind] = frozenset({"servers", "images"})
"""Kinds whose names need not differ in a world: the API never has two servers of one name, and clients have to cope all
the same; images that were made have none."""


def given_objects(world: Mapping[str, Any]) -> Given:
    """The objects of a world, each with an id. Raises ValueError."""
    inner = part_of(world, "hetzner")
    # A copy, so that a caller who goes on with his world does not change ours; JSON is all that it may hold.
    sections = json.loads(json.dumps({kind: inner.get(kind, []) for kind in KINDS}))
    return {kind: _identified(kind, sections[kind]) for kind in KINDS}


def public_addresses(given: Given) -> Iterator[str]:
    """The addresses that a world gives."""
    yield from (raw["ip"] for raw in (*given["primary_ips"], *_held(given)) if isinstance(raw.get("ip"), str))


def _held(given: Given) -> Iterator[Object]:
    """What servers and load balancers of a world have as addresses."""
    for raw in (*given["servers"], *given["load_balancers"]):
        public_net = raw.get("public_net")
        for family in FAMILIES:
            address = public_net.get(family) if isinstance(public_net, dict) else None
            if isinstance(address, dict):
                yield address


def load_world(api: Api, store: Store, given: Given) -> None:
    """Fill an empty project with the objects of a world. Raises ValueError naming the object and the remedy."""
    store.reserve_id("images", max(image["id"] for image in IMAGES))
    for raw in (*given["primary_ips"], *_held(given)):  # before others are given ids of theirs
        if isinstance(raw.get("id"), int):
            store.reserve_id("primary_ips", raw["id"])
    with store.changing():
        for kind in KINDS:
            names: dict[str, int] = {}
            for raw in given[kind]:
                made = api.resources[kind].complete(raw, _where(kind, raw))
                other = names.setdefault(made["name"], made["id"])
                if other != made["id"] and kind not in _MAY_SHARE_NAMES:
                    raise ValueError(f"{_where(kind, raw)} and {other} have the same name; rename one of them")
                store.put(kind, made)
        api.attachments.connect({raw["id"] for raw in given["networks"] if "subnets" not in raw})
        api.servers.connect()
        connect_targets(store)
    store.forget_last_change()


def dump_world(api: Api, store: Store) -> dict[str, Any]:
    """The world file of a project, with raw objects; actions that still run are left out."""
    return {"format_version": FORMAT_VERSION, "hetzner": {kind: dump_section(api, store, kind) for kind in KINDS}}


def dump_section(api: Api, store: Store, kind: Kind) -> list[Any]:
    """One section of the world file."""
    view = store.truth()
    return [api.resources[kind].render(view, stored, live=False) for stored in view.all(kind)]


def _identified(kind: Kind, section: list[Any]) -> list[Object]:
    """The objects of a section by id; those without one get the next free."""
    seen: set[int] = set()
    for number, raw in enumerate(section):
        where = f"world {kind}[{number}]"
        if "id" not in an_object(raw, where):
            continue
        if a(int, "a whole number as id")(raw["id"], where) < 1:
            raise ValueError(f"{where}: id is {raw['id']}; give a number from 1")
        if raw["id"] in seen:
            raise ValueError(f"{_where(kind, raw)}: another {in_words(kind)} has the same id; change one of them")
        seen.add(raw["id"])
    last = max(seen, default=0)
    numbered = []
    for raw in section:
        if "id" not in raw:
            last += 1
        numbered.append(raw if "id" in raw else {"id": last, **raw})
    return sorted(numbered, key=lambda raw: int(raw["id"]))


def _where(kind: Kind, raw: Object) -> str:
    named = f" ({raw['name']})" if "name" in raw else ""
    return f"{in_words(kind)} {raw['id']}{named}"
