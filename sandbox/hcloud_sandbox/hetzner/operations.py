"""Operations of the API: their names, those that are not simulated, and what the others lack.

``docs/reference/sandbox-coverage.md`` is made from these tables and the routes. What holds for every operation is no
lack of one: nothing runs behind a simulated object, so there is no traffic, no disk and no log-in.

Source: Hetzner Cloud API, paths and operation ids; those of storage boxes are on a host of their own, and have the same
rule.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from hcloud_sandbox.hetzner.store import singular

Coverage = Literal["simulated", "partly", "not"]
_SINGLE = frozenset({"actions", "metrics", "pricing", "zonefile"})
"""Paths that end so answer one thing; of ``/actions`` only the operation id says it."""


@dataclass(frozen=True, slots=True)
class Operation:
    """A method of a path template, which is without ``/v1``. ``lacks``: what is missing where only a part is there."""

    method: str
    template: str
    coverage: Coverage
    lacks: str = ""

    @property
    def name(self) -> str:
        """Its operation id: ``add_load_balancer_target``."""
        return operation_name(self.method, self.template)


@dataclass(frozen=True, slots=True)
class Absent:
    """A kind of which no project has an object: lists are empty, and what would need or make one is not simulated."""

    instead: str
    """The remedy that a refusal names."""
    objects: Mapping[str, tuple[str, tuple[str, ...]]]
    """Path of a collection → what an object's path adds to it, and the object's actions."""
    reads: tuple[str, ...] = ()
    """Templates that can only be read."""

    def templates(self) -> Iterator[tuple[str, str]]:
        """Each template with its methods, separated by spaces."""
        for collection, (parameters, actions) in self.objects.items():
            one = f"{collection}/{parameters}"
            yield collection, "GET POST"
            yield one, "GET PUT DELETE"
            if actions and "{" not in collection:
                yield from ((f"{collection}/actions", "GET"), (f"{collection}/actions/{{id}}", "GET"))
                yield from ((f"{one}/actions", "GET"), (f"{one}/actions/{{action_id}}", "GET"))
            yield from ((f"{one}/actions/{action}", "POST") for action in actions)
        yield from ((template, "GET") for template in self.reads)


_BOX = ("change_protection", "change_type", "disable_snapshot_plan", "enable_snapshot_plan", "reset_password")
_RECORDS = ("change_protection", "change_ttl", "set_records", "add_records", "remove_records", "update_records")
_NO_BOX = "leave storage boxes out of what runs against the sandbox"

ABSENT: Mapping[str, Absent] = {
    "floating_ips": Absent(
        "use a Primary IP",
        {"/floating_ips": ("{id}", ("assign", "unassign", "change_dns_ptr", "change_protection"))},
    ),
    "zones": Absent(
        "leave DNS out of what runs against the sandbox",
        {
            "/zones": (
                "{id_or_name}",
                ("change_primary_nameservers", "change_protection", "change_ttl", "import_zonefile"),
            ),
            "/zones/{id_or_name}/rrsets": ("{rr_name}/{rr_type}", _RECORDS),
        },
        ("/zones/{id_or_name}/zonefile",),
    ),
    "storage_boxes": Absent(
        _NO_BOX,
        {
            "/storage_boxes": (
                "{id}",
                (*_BOX, "rollback_snapshot", "update_access_settings"),
            ),
            "/storage_boxes/{id}/snapshots": ("{snapshot_id}", ()),
            "/storage_boxes/{id}/subaccounts": (
                "{subaccount_id}",
                ("change_home_directory", "reset_subaccount_password", "update_access_settings"),
            ),
        },
        ("/storage_boxes/{id}/folders",),
    ),
    "storage_box_types": Absent(_NO_BOX, {}, ("/storage_box_types", "/storage_box_types/{id}")),
}
NO_OBJECTS = "there are none"
"""What reads of the absent kinds lack."""

_INSTANT = "no `starting` or `stopping` in between"
_VSWITCH = "no vSwitch can be coupled"
_SERVERS_ONLY = "to and from servers only; a load balancer gets its Primary IPs when it is created"
_SIZES = "the families cx, cpx, cax and ccx; placeholder prices"
_MADE_UP = "made-up values, which follow nothing but the state of the object"
_ISOS = "a few made-up ones"

LACKS: Mapping[str, str] = {
    "add_network_subnet": _VSWITCH,
    "assign_primary_ip": _SERVERS_ONLY,
    "create_certificate": "managed ones are not renewed; a private key is not compared with its certificate",
    "create_network": _VSWITCH,
    "create_primary_ip": _SERVERS_ONLY,
    "enable_server_backup": "no backup is made by itself; `create_image` makes one",
    "get_iso": _ISOS,
    "get_load_balancer_metrics": _MADE_UP,
    "get_pricing": "placeholder prices",
    "get_server_metrics": _MADE_UP,
    "get_server_type": _SIZES,
    "list_isos": _ISOS,
    "list_server_types": _SIZES,
    "poweroff_server": _INSTANT,
    "poweron_server": _INSTANT,
    "shutdown_server": f"{_INSTANT}; it always succeeds",
    "unassign_primary_ip": _SERVERS_ONLY,
}
"""Name of an operation that is simulated in part → what is missing."""


def operation_name(method: str, template: str) -> str:
    """The operation id that the API document has for this method and path template: an action is its verb, the object
    and the rest, a list has the plural, everything else the singular."""
    parts = template.strip("/").split("/")
    if method == "POST" and parts[-2:-1] == ["actions"]:
        verb, _, rest = parts[-1].partition("_")
        owner = _noun(parts[:-2])
        rest = rest.removeprefix(f"{owner.rpartition('_')[2]}_")  # the password of a subaccount is called so twice
        return "_".join(filter(None, (verb, owner, rest)))
    reads_one = parts[-1].startswith("{") or template.strip("/") in _SINGLE or parts[-1] in _SINGLE - {"actions"}
    verb = {"POST": "create", "PUT": "update", "DELETE": "delete"}.get(method, "get" if reads_one else "list")
    return f"{verb}_{_noun([*parts, '{id}'] if verb == 'create' else parts)}"


def _noun(parts: list[str]) -> str:
    """What the parts of a path name: in the singular what a parameter chooses, else in the plural."""
    named = (
        singular(part) if after.startswith("{") else part
        for part, after in zip(parts, [*parts[1:], ""], strict=True)
        if not part.startswith("{")
    )
    return "_".join(named)
