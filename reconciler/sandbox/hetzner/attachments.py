"""Servers in networks: attaching, detaching, who has which address, and the members of a network.

The one truth is ``private_net`` of the attached object. Attachments in flight hold their address, and are seen in
``GET /networks/{id}/members`` only, as in the real service. Source: reference/hetzner-api.md sections 5 and 6.
"""

from reconciler.sandbox.hetzner.actions import Action
from reconciler.sandbox.hetzner.addressing import allocated_address, range_of, subnet_with
from reconciler.sandbox.hetzner.errors import ApiError, limit_exceeded
from reconciler.sandbox.hetzner.objects import new_mac_address
from reconciler.sandbox.hetzner.project import Project
from reconciler.sandbox.hetzner.rendering import attached
from reconciler.sandbox.hetzner.store import Kind, Object, View

MAX_ATTACHED = 100
MAX_NETWORKS_PER_SERVER = 3
MAX_ALIAS_IPS = 5
_HOLDERS: tuple[tuple[Kind, str], ...] = (("servers", "server"), ("load_balancers", "load_balancer"))


class Attachments:
    """The attachments of a project."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._attaching: dict[tuple[int, int], Object] = {}
        """(server id, network id) → the entry that ``private_net`` will get."""
        self._detaching: set[tuple[int, int]] = set()

    def plan(
        self,
        server: Object,
        network: Object,
        *,
        ip: str | None = None,
        ip_range: str | None = None,
        alias_ips: tuple[str, ...] = (),
    ) -> Object:
        """The ``private_net`` entry that attaching would make; its addresses are taken from now on.

        Raises ApiError when the server may not be attached. ``settle`` or ``forget`` ends the reservation.
        """
        server_id, network_id = server["id"], network["id"]
        if any(entry["network"] == network_id for entry in self._entries(server)):
            raise ApiError("server_already_attached", "server is already attached to the network")
        self._check_limits(server, network, alias_ips)
        zone = server["location"]["network_zone"]
        taken = self.taken(network_id)
        address = allocated_address(network, zone, taken, ip=ip, ip_range=ip_range)
        taken.add(address)
        aliases = []
        for alias in alias_ips:
            aliases.append(allocated_address(network, zone, taken, ip=alias))
            taken.add(aliases[-1])
        entry = {
            "network": network_id,
            "ip": address,
            "alias_ips": aliases,
            "mac_address": new_mac_address(self._project.store),
        }
        self._attaching[server_id, network_id] = entry
        return entry

    def settle(self, server_id: int) -> None:
        """Make all planned attachments of a server real, except to networks that are gone by now."""
        store = self._project.store
        for (of, network_id), entry in list(self._attaching.items()):
            server = store.get("servers", server_id)
            if of == server_id and server and store.get("networks", network_id):
                store.put("servers", {**server, "private_net": [*server["private_net"], entry]})
        self.forget(server_id)

    def forget(self, server_id: int) -> None:
        """Give up whatever was planned for a server."""
        self._attaching = {key: entry for key, entry in self._attaching.items() if key[0] != server_id}
        self._detaching = {key for key in self._detaching if key[0] != server_id}

    def attach(self, server: Object, network: Object) -> Action:
        """Start the action for a planned attachment."""
        return self._project.actions.start(
            "attach_to_network",
            ("server", server["id"]),
            ("network", network["id"]),
            effect=lambda: self.settle(server["id"]),
            on_failure=lambda: self.forget(server["id"]),
        )

    def detach(self, server: Object, network: Object) -> Action:
        """Start to detach a server. Raises ``not_found`` when it is not attached."""
        key = (server["id"], network["id"])
        if all(entry["network"] != network["id"] for entry in server["private_net"]):
            raise ApiError("not_found", "server is not attached to the network")
        self._detaching.add(key)

        def effect() -> None:
            self._detaching.discard(key)
            remove_entry(self._project, "servers", server["id"], network["id"])

        return self._project.actions.start(
            "detach_from_network",
            ("server", server["id"]),
            ("network", network["id"]),
            effect=effect,
            on_failure=lambda: self._detaching.discard(key),
        )

    def taken(self, network_id: int) -> set[str]:
        """The addresses of the network that somebody has or is about to get."""
        view = self._project.store.truth()
        entries = [entry for kind, _ in _HOLDERS for _, entry in attached(view, kind, network_id)]
        entries += [entry for (_, network), entry in self._attaching.items() if network == network_id]
        return {address for entry in entries for address in (entry["ip"], *entry.get("alias_ips", ()))}

    def members(self, view: View, network: Object) -> list[Object]:
        """The members of the network with the state of their attachment, by id."""
        members = [
            self._member(network, kind, holder["id"], entry, "ok")
            for plural, kind in _HOLDERS
            for holder, entry in attached(view, plural, network["id"])
        ]
        for member in members:
            if member["type"] == "server" and (member["id"], network["id"]) in self._detaching:
                member["status"] = "detaching"
        members += [
            self._member(network, "server", server_id, entry, "attaching")
            for (server_id, network_id), entry in self._attaching.items()
            if network_id == network["id"]
        ]
        return sorted(members, key=lambda member: (member["id"], member["type"]))

    def detach_all(self, network_id: int) -> None:
        """Take every member out of a network that is being deleted."""
        for plural, _ in _HOLDERS:
            for holder, _ in list(attached(self._project.store.truth(), plural, network_id)):
                remove_entry(self._project, plural, holder["id"], network_id)
        self._attaching = {key: entry for key, entry in self._attaching.items() if key[1] != network_id}

    def _entries(self, server: Object) -> list[Object]:
        planned = [entry for (of, _), entry in self._attaching.items() if of == server["id"]]
        return [*server["private_net"], *planned]

    def _check_limits(self, server: Object, network: Object, alias_ips: tuple[str, ...]) -> None:
        entries = self._entries(server)
        if len(entries) >= MAX_NETWORKS_PER_SERVER:
            raise limit_exceeded("server network limit exceeded", "server_network_limit")
        if len(alias_ips) > MAX_ALIAS_IPS:
            raise limit_exceeded("alias IP limit exceeded", "alias_ip_limit")
        if len(self.members(self._project.store.truth(), network)) >= MAX_ATTACHED:
            raise limit_exceeded("network attachment limit exceeded", "network_attachment_limit")
        for entry in entries:
            other = self._project.store.get("networks", entry["network"])
            if other and range_of(other).overlaps(range_of(network)):
                raise ApiError("networks_overlap", "network IP range overlaps with one of the server networks")

    @staticmethod
    def _member(network: Object, kind: str, object_id: int, entry: Object, status: str) -> Object:
        subnet = subnet_with(network, entry["ip"])
        return {
            "type": kind,
            "id": object_id,
            "ip": entry["ip"],
            "status": status,
            "alias_ips": list(entry.get("alias_ips", ())),
            "subnet": subnet["ip_range"] if subnet else network["ip_range"],
        }


def remove_entry(project: Project, kind: Kind, object_id: int, network_id: int) -> None:
    """Take the entry for the network out of an object's ``private_net``; nothing when the object is gone."""
    holder = project.store.get(kind, object_id)
    if holder is not None:
        left = [entry for entry in holder["private_net"] if entry["network"] != network_id]
        project.store.put(kind, {**holder, "private_net": left})
