"""World files: the Hetzner part, from partial raw objects to a store and back.

It has sections, ids and names. What each kind leaves out is filled in by ``world_servers``, ``world_networks`` and
``world_balancers``. Known differences: nothing is checked against the rules for requests but what the simulator itself
depends on, so a world may hold more than the real service would allow (more than 100 attachments, overlapping routes,
servers of one name), as captured worlds and tests need it.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from hcloud_sandbox.hetzner.catalogue import IMAGES
from hcloud_sandbox.hetzner.completing import check_type
from hcloud_sandbox.hetzner.firewalls import complete_firewall
from hcloud_sandbox.hetzner.images import complete_image
from hcloud_sandbox.hetzner.objects import PublicAddresses
from hcloud_sandbox.hetzner.placement_groups import complete_placement_group
from hcloud_sandbox.hetzner.project import SINGULAR
from hcloud_sandbox.hetzner.rendering import Renderer
from hcloud_sandbox.hetzner.ssh_keys import complete_ssh_key
from hcloud_sandbox.hetzner.store import KINDS, Kind, Object, Store
from hcloud_sandbox.hetzner.volumes import complete_volume
from hcloud_sandbox.hetzner.world_balancers import (
    complete_certificate,
    complete_load_balancer,
    complete_primary_ip,
    complete_targets,
)
from hcloud_sandbox.hetzner.world_networks import complete_network, connect
from hcloud_sandbox.hetzner.world_servers import complete_server, connect_servers
from hcloud_sandbox.worlds import FORMAT_VERSION, part_of

_CREATED = "2026-01-01T00:00:00Z"
"""When objects that do not say so were created: fixed, so that a world reads the same on every day."""
_MAY_SHARE_NAMES: frozenset[Kind] = frozenset({"servers", "images"})
"""Kinds whose names need not differ in a world: the API never has two servers of one name, and clients have to cope all
the same; images that were made have none."""


def load_world(world: Mapping[str, Any]) -> Store:
    """A store with the objects of a world. Raises ValueError naming the object and the remedy."""
    given = {kind: _identified(kind, section) for kind, section in _sections(world).items()}
    store = Store()
    store.reserve_id("images", max(image["id"] for image in IMAGES))
    for raw in given["primary_ips"]:  # before servers are given ids of theirs
        store.reserve_id("primary_ips", raw["id"])
    addresses = PublicAddresses(store, _public_addresses(given))
    complete: dict[Kind, Callable[[Object, str], Object]] = {
        "servers": lambda raw, where: complete_server(raw, _CREATED, where, store, addresses),
        "networks": lambda raw, where: complete_network(raw, _CREATED, where),
        "primary_ips": lambda raw, where: complete_primary_ip(raw, _CREATED, where, addresses),
        "load_balancers": lambda raw, where: complete_load_balancer(raw, _CREATED, where, store, addresses),
        "certificates": lambda raw, where: complete_certificate(raw, _CREATED, where),
        "ssh_keys": lambda raw, where: complete_ssh_key(raw, _CREATED, where),
        "placement_groups": lambda raw, where: complete_placement_group(raw, _CREATED, where),
        "firewalls": lambda raw, where: complete_firewall(raw, _CREATED, where),
        "volumes": lambda raw, where: complete_volume(raw, _CREATED, where),
        "images": lambda raw, where: complete_image(raw, _CREATED, where),
    }
    with store.change():
        for kind in KINDS:
            names: dict[str, int] = {}
            for raw in given[kind]:
                made = complete[kind](raw, _where(kind, raw))
                if kind != "images":  # what was made of servers has a description alone
                    check_type(made["name"], str, "a text as name", _where(kind, raw))
                other = names.setdefault(made["name"], made["id"])
                if other != made["id"] and kind not in _MAY_SHARE_NAMES:
                    raise ValueError(f"{_where(kind, raw)} and {other} have the same name; rename one of them")
                store.put(kind, made)
        connect(store, {raw["id"] for raw in given["networks"] if "subnets" not in raw})
        connect_servers(store)
        complete_targets(store)
    store.forget_last_change()
    return store


def dump_world(store: Store) -> dict[str, Any]:
    """The world file of a store, with raw objects; actions that still run are left out."""
    return {"format_version": FORMAT_VERSION, "hetzner": {kind: dump_section(store, kind) for kind in KINDS}}


def dump_section(store: Store, kind: Kind) -> list[Any]:
    """One section of the world file."""
    view = store.truth()
    renderer = Renderer(view, None)
    return [renderer.render(kind, stored) for stored in view.all(kind)]


def _sections(world: Mapping[str, Any]) -> dict[Kind, list[Any]]:
    inner = part_of(world, "hetzner")
    sections = {kind: inner.get(kind, []) for kind in KINDS}
    # A copy, so that a caller who goes on with his world does not change ours; JSON is all that it may hold.
    copied: dict[Kind, list[Any]] = json.loads(json.dumps(sections))
    return copied


def _identified(kind: Kind, section: list[Any]) -> list[Object]:
    """The objects of a section by id; those without one get the next free."""
    seen: set[int] = set()
    for number, raw in enumerate(section):
        check_type(raw, dict, "an object", f"world {kind}[{number}]")
        if "id" not in raw:
            continue
        check_type(raw["id"], int, "a whole number as id", f"world {kind}[{number}]")
        if raw["id"] < 1:
            raise ValueError(f"world {kind}[{number}]: id is {raw['id']}; give a number from 1")
        if raw["id"] in seen:
            raise ValueError(f"{_where(kind, raw)}: another {SINGULAR[kind]} has the same id; change one of them")
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
    return f"{SINGULAR[kind].replace('_', ' ')} {raw['id']}{named}"


def _public_addresses(given: dict[Kind, list[Object]]) -> Iterator[str]:
    yield from (raw["ip"] for raw in given["primary_ips"] if isinstance(raw.get("ip"), str))
    for kind in ("servers", "load_balancers"):
        for raw in given[kind]:
            public_net = raw.get("public_net")
            for family in ("ipv4", "ipv6"):
                address = public_net.get(family) if isinstance(public_net, dict) else None
                if isinstance(address, dict) and isinstance(address.get("ip"), str):
                    yield address["ip"]
