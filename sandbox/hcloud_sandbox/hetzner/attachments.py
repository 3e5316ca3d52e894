"""Servers and load balancers in networks: attaching, detaching, who has which address, the members of a network.

The one truth is ``private_net`` of the attached object. Attachments in flight hold their address, and are seen in ``GET
/networks/{id}/members`` only, as in the real service. Source: Hetzner Cloud API, actions and networks.
"""

from hcloud_sandbox.hetzner.actions import Action
from hcloud_sandbox.hetzner.addressing import allocated_address, range_of, subnet_with
from hcloud_sandbox.hetzner.balancer_backends import without_private_targets
from hcloud_sandbox.hetzner.errors import ApiError, limit_exceeded
from hcloud_sandbox.hetzner.objects import new_mac_address
from hcloud_sandbox.hetzner.project import SINGULAR, Project
from hcloud_sandbox.hetzner.rendering import attached
from hcloud_sandbox.hetzner.store import Kind, Object, View

MAX_NETWORKS_PER_SERVER = 3
MAX_ALIAS_IPS = 5
_HOLDERS: tuple[Kind, ...] = ("servers", "load_balancers")
_Key = tuple[Kind, int, int]
"""Kind and id of who is attached, and the id of the network."""


class Attachments:
    """The attachments of a project."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._attaching: dict[_Key, Object] = {}
        """Holder and network → the entry that ``private_net`` will get."""
        self._detaching: set[_Key] = set()
        self._updating: dict[_Key, list[str]] = {}
        """Server and network → the alias addresses that it will have there."""

    def plan(
        self,
        server: Object,
        network: Object,
        *,
        ip: str | None = None,
        ip_range: str | None = None,
        alias_ips: tuple[str, ...] = (),
    ) -> Object:
        """The ``private_net`` entry that attaching a server would make; its addresses are taken from now on.

        Raises ApiError when the server may not be attached. ``settle`` or ``forget`` ends the reservation.
        """
        network_id = network["id"]
        if any(entry["network"] == network_id for entry in self._entries("servers", server)):
            raise ApiError("server_already_attached", "server is already attached to the network")
        self._check_limits(server, network, alias_ips)
        zone = server["location"]["network_zone"]
        taken = self.taken(network_id)
        address = allocated_address(network, zone, taken, ip=ip, ip_range=ip_range)
        taken.add(address)
        entry = {
            "network": network_id,
            "ip": address,
            "alias_ips": _free_aliases(network, zone, taken, alias_ips),
            "mac_address": new_mac_address(self._project.store),
        }
        self._attaching["servers", server["id"], network_id] = entry
        return entry

    def plan_balancer(
        self, balancer: Object, network: Object, *, ip: str | None = None, ip_range: str | None = None
    ) -> Object:
        """The same for a load balancer, which can be in one network only."""
        if self._entries("load_balancers", balancer):
            raise ApiError("load_balancer_already_attached", "load balancer is already attached to a network")
        self._check_room(network)
        zone = balancer["location"]["network_zone"]
        address = allocated_address(network, zone, self.taken(network["id"]), ip=ip, ip_range=ip_range)
        entry = {"network": network["id"], "ip": address}
        self._attaching["load_balancers", balancer["id"], network["id"]] = entry
        return entry

    def settle(self, holder_id: int, kind: Kind = "servers") -> None:
        """Make all planned attachments of a server or load balancer real, except to networks that are gone by now."""
        store = self._project.store
        for (of, on, network_id), entry in list(self._attaching.items()):
            holder = store.get(kind, holder_id)
            if (of, on) == (kind, holder_id) and holder and store.get("networks", network_id):
                store.put(kind, {**holder, "private_net": [*holder["private_net"], entry]})
        self.forget(holder_id, kind)

    def forget(self, holder_id: int, kind: Kind = "servers") -> None:
        """Give up whatever was planned for a server or load balancer."""
        self._attaching = {key: entry for key, entry in self._attaching.items() if key[:2] != (kind, holder_id)}
        self._detaching = {key for key in self._detaching if key[:2] != (kind, holder_id)}

    def attach(self, holder: Object, network: Object, kind: Kind = "servers") -> Action:
        """Start the action for a planned attachment."""
        return self._project.actions.start(
            "attach_to_network",
            (SINGULAR[kind], holder["id"]),
            ("network", network["id"]),
            effect=lambda: self.settle(holder["id"], kind),
            on_failure=lambda: self.forget(holder["id"], kind),
        )

    def detach(self, holder: Object, network: Object, kind: Kind = "servers") -> Action:
        """Start to detach a server or load balancer. Raises ``not_found`` when it is not attached."""
        key = (kind, holder["id"], network["id"])
        if all(entry["network"] != network["id"] for entry in holder["private_net"]):
            what = SINGULAR[kind].replace("_", " ")
            raise ApiError("not_found", f"{what} is not attached to the network")
        self._detaching.add(key)

        def effect() -> None:
            self._detaching.discard(key)
            remove_entry(self._project, kind, holder["id"], network["id"])

        return self._project.actions.start(
            "detach_from_network",
            (SINGULAR[kind], holder["id"]),
            ("network", network["id"]),
            effect=effect,
            on_failure=lambda: self._detaching.discard(key),
        )

    def change_aliases(self, server: Object, network: Object, alias_ips: tuple[str, ...]) -> Action:
        """Start to give a server these alias addresses in place of those it has; they are taken from now on.

        Raises ``not_found`` when it is not attached, and ApiError when it may not have one of them.
        """
        key: _Key = ("servers", server["id"], network["id"])
        present = next((entry for entry in server["private_net"] if entry["network"] == network["id"]), None)
        if present is None:
            raise ApiError("not_found", "server is not attached to the network")
        _check_aliases(alias_ips)
        taken = self.taken(network["id"]).difference(present["alias_ips"])
        wanted = _free_aliases(network, server["location"]["network_zone"], taken, alias_ips)
        self._updating[key] = wanted

        def forget() -> None:
            self._updating.pop(key, None)

        def effect() -> None:
            forget()
            holder = self._project.require("servers", server["id"])
            entries = [
                {**entry, "alias_ips": wanted} if entry["network"] == network["id"] else entry
                for entry in holder["private_net"]
            ]
            self._project.store.put("servers", {**holder, "private_net": entries})

        return self._project.actions.start(
            "change_alias_ips",
            ("server", server["id"]),
            ("network", network["id"]),
            effect=effect,
            on_failure=forget,
        )

    def taken(self, network_id: int) -> set[str]:
        """The addresses of the network that somebody has or is about to get."""
        view = self._project.store.truth()
        entries = [entry for kind in _HOLDERS for _, entry in attached(view, kind, network_id)]
        entries += [entry for (_, _, network), entry in self._attaching.items() if network == network_id]
        promised = {alias for key, aliases in self._updating.items() if key[2] == network_id for alias in aliases}
        return promised | {address for entry in entries for address in (entry["ip"], *entry.get("alias_ips", ()))}

    def members(self, view: View, network: Object) -> list[Object]:
        """The members of the network with the state of their attachment, by id."""
        members = []
        for kind in _HOLDERS:
            for holder, entry in attached(view, kind, network["id"]):
                key = (kind, holder["id"], network["id"])
                status = "detaching" if key in self._detaching else "updating" if key in self._updating else "ok"
                members.append(self._member(network, kind, holder["id"], entry, status))
        members += [
            self._member(network, kind, holder_id, entry, "attaching")
            for (kind, holder_id, network_id), entry in self._attaching.items()
            if network_id == network["id"]
        ]
        return sorted(members, key=lambda member: (member["id"], member["type"]))

    def detach_all(self, network_id: int) -> None:
        """Take every member out of a network that is being deleted."""
        for kind in _HOLDERS:
            for holder, _ in list(attached(self._project.store.truth(), kind, network_id)):
                remove_entry(self._project, kind, holder["id"], network_id)
        self._attaching = {key: entry for key, entry in self._attaching.items() if key[2] != network_id}

    def _entries(self, kind: Kind, holder: Object) -> list[Object]:
        planned = [entry for (of, on, _), entry in self._attaching.items() if (of, on) == (kind, holder["id"])]
        return [*holder["private_net"], *planned]

    def _check_limits(self, server: Object, network: Object, alias_ips: tuple[str, ...]) -> None:
        entries = self._entries("servers", server)
        if len(entries) >= MAX_NETWORKS_PER_SERVER:
            raise limit_exceeded("server network limit exceeded", "server_network_limit")
        _check_aliases(alias_ips)
        self._check_room(network)
        for entry in entries:
            other = self._project.store.get("networks", entry["network"])
            if other and range_of(other).overlaps(range_of(network)):
                raise ApiError("networks_overlap", "network IP range overlaps with one of the server networks")

    def _check_room(self, network: Object) -> None:
        members = self.members(self._project.store.truth(), network)
        if len(members) >= self._project.options.network_attachment_limit:
            raise limit_exceeded("network attachment limit exceeded", "network_attachment_limit")

    @staticmethod
    def _member(network: Object, kind: Kind, object_id: int, entry: Object, status: str) -> Object:
        subnet = subnet_with(network, entry["ip"])
        return {
            "type": SINGULAR[kind],
            "id": object_id,
            "ip": entry["ip"],
            "status": status,
            "alias_ips": list(entry.get("alias_ips", ())),
            "subnet": subnet["ip_range"] if subnet else network["ip_range"],
        }


def _check_aliases(alias_ips: tuple[str, ...]) -> None:
    if len(alias_ips) > MAX_ALIAS_IPS:
        raise limit_exceeded("alias IP limit exceeded", "alias_ip_limit")


def _free_aliases(network: Object, zone: str, taken: set[str], wanted: tuple[str, ...]) -> list[str]:
    """The wanted addresses. Raises ApiError for one that is taken, or wanted twice."""
    aliases: list[str] = []
    for alias in wanted:
        aliases.append(allocated_address(network, zone, taken.union(aliases), ip=alias))
    return aliases


def remove_entry(project: Project, kind: Kind, object_id: int, network_id: int) -> None:
    """Take the entry for the network out of an object's ``private_net``; nothing when the object is gone.

    A load balancer loses with it the targets that it reached through the network.
    """
    holder = project.store.get(kind, object_id)
    if holder is not None:
        left = [entry for entry in holder["private_net"] if entry["network"] != network_id]
        present = without_private_targets(holder) if kind == "load_balancers" else holder
        project.store.put(kind, {**present, "private_net": left})
