"""Servers and load balancers in networks: attaching, detaching, who has which address, the members of a network.

The one truth is ``private_net`` of the attached object. Attachments in flight hold their address, and are seen in ``GET
/networks/{id}/members`` only, as in the real service. Source: Hetzner Cloud API, actions and networks.
"""

from collections.abc import Callable, Iterator, Mapping
from ipaddress import IPv4Address, IPv4Network
from typing import Any

from hcloud_sandbox.exchange import Response
from hcloud_sandbox.hetzner.bodies import Body
from hcloud_sandbox.hetzner.errors import ApiError, limit_exceeded
from hcloud_sandbox.hetzner.load_balancer_targets import without_private_targets
from hcloud_sandbox.hetzner.project import Project
from hcloud_sandbox.hetzner.public_addresses import new_mac_address
from hcloud_sandbox.hetzner.store import Key, Kind, Object, View, in_words, singular
from hcloud_sandbox.hetzner.subnets import allocated_address, range_of, subnet_object, subnet_with
from hcloud_sandbox.shapes import Rule, a, an_address, each, optional, shape

MAX_NETWORKS_PER_SERVER = 3
MAX_ALIAS_IPS = 5
_HOLDERS: tuple[Kind, ...] = ("servers", "load_balancers")
_ENTRY: Mapping[str, Rule] = {"network": a(int, "the id of the network"), "ip": optional(an_address)}
_Link = tuple[Kind, int, int]
"""Kind and id of who is attached, and the id of the network."""


class Attachments:
    """The attachments of a project."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._store = project.store
        self._attaching: dict[_Link, Object] = {}
        """The entries that ``private_net`` will get."""
        self._detaching: set[_Link] = set()
        self._updating: dict[_Link, list[str]] = {}
        """The alias addresses that a server will have."""

    def plan(
        self,
        kind: Kind,
        holder: Object,
        network: Object,
        *,
        ip: str | None = None,
        ip_range: str | None = None,
        alias_ips: list[str] | None = None,
    ) -> Object:
        """The ``private_net`` entry that attaching a server or load balancer would make; its addresses are taken from
        now on.

        Raises ApiError when it may not be attached. ``settle`` or ``forget`` ends the reservation.
        """
        link = (kind, holder["id"], network["id"])
        present = [*holder["private_net"], *(e for key, e in self._attaching.items() if key[:2] == link[:2])]
        self._check_limits(kind, present, network, alias_ips or [])
        zone = holder["location"]["network_zone"]
        taken = self._taken(network["id"])
        entry: Object = {
            "network": network["id"],
            "ip": allocated_address(network, zone, taken, ip=ip, ip_range=ip_range),
        }
        if kind == "servers":
            entry["alias_ips"] = _free_aliases(network, zone, taken | {entry["ip"]}, alias_ips or [])
            entry["mac_address"] = new_mac_address(self._store)
        self._attaching[link] = entry
        return entry

    def is_awaited(self, network_id: int) -> bool:
        """Whether an attachment to the network is planned."""
        return any(link[2] == network_id for link in self._attaching)

    def settle(self, kind: Kind, holder_id: int) -> None:
        """Make all planned attachments of a server or load balancer real, except to networks that are gone by now."""
        for (of, on, network_id), entry in list(self._attaching.items()):
            holder = self._store.get(kind, holder_id)
            if (of, on) == (kind, holder_id) and holder and self._store.get("networks", network_id):
                self._store.change(kind, holder_id, private_net=[*holder["private_net"], entry])
        self.forget(kind, holder_id)

    def forget(self, kind: Kind, holder_id: int) -> None:
        """Give up whatever was planned for a server or load balancer."""
        self._attaching = {link: entry for link, entry in self._attaching.items() if link[:2] != (kind, holder_id)}
        self._detaching = {link for link in self._detaching if link[:2] != (kind, holder_id)}

    def attach(self, kind: Kind, holder_id: int, body: Body) -> Response:
        """Answer ``attach_to_network``, which locks the server or load balancer and the network. Raises ApiError."""
        holder, network = self._free_pair(kind, holder_id, body)
        wanted = {"ip": body.optional_text("ip"), "ip_range": body.optional_text("ip_range")}
        self.plan(kind, holder, network, **wanted, alias_ips=body.texts("alias_ips"))
        link, key = (kind, holder_id, network["id"]), (kind, holder_id)
        return self._started("attach_to_network", link, lambda: self.settle(*key), lambda: self.forget(*key))

    def detach(self, kind: Kind, holder_id: int, body: Body) -> Response:
        """Answer ``detach_from_network``, which locks the same. Raises ``not_found`` when it is not attached."""
        holder, network = self._free_pair(kind, holder_id, body)
        _entry_of(kind, holder, network)
        link = (kind, holder_id, network["id"])
        self._detaching.add(link)

        def effect() -> None:
            self._detaching.discard(link)
            self._remove(link)

        return self._started("detach_from_network", link, effect, lambda: self._detaching.discard(link))

    def change_aliases(self, server_id: int, body: Body) -> Response:
        """Answer ``change_alias_ips``: a server's alias addresses in one network, in place of those that it has there.
        They are taken from now on.

        Raises ``not_found`` when it is not attached, and ApiError when it may not have one of them.
        """
        server, network = self._free_pair("servers", server_id, body)
        body.require("alias_ips")
        link: _Link = ("servers", server_id, network["id"])
        present, alias_ips = _entry_of("servers", server, network), body.texts("alias_ips")
        _check_aliases(alias_ips)
        taken = self._taken(network["id"]).difference(present["alias_ips"])
        wanted = _free_aliases(network, server["location"]["network_zone"], taken, alias_ips)
        self._updating[link] = wanted

        def effect() -> None:
            del self._updating[link]
            entries = self._project.require("servers", server_id)["private_net"]
            changed = [{**e, "alias_ips": wanted} if e["network"] == network["id"] else e for e in entries]
            self._store.change("servers", server_id, private_net=changed)

        return self._started("change_alias_ips", link, effect, lambda: self._updating.pop(link, None))

    def members(self, view: View, network: Object) -> list[Object]:
        """The members of the network with the state of their attachment, by id."""
        members = []
        for kind in _HOLDERS:
            for holder, entry in attached(view, kind, network["id"]):
                link = (kind, holder["id"], network["id"])
                status = "detaching" if link in self._detaching else "updating" if link in self._updating else "ok"
                members.append(_member(network, kind, holder["id"], entry, status))
        members += [
            _member(network, kind, holder_id, entry, "attaching")
            for (kind, holder_id, network_id), entry in self._attaching.items()
            if network_id == network["id"]
        ]
        return sorted(members, key=lambda member: (member["id"], member["type"]))

    def detach_all(self, network_id: int) -> None:
        """Take every member out of a network that is being deleted."""
        for kind in _HOLDERS:
            for holder, _ in list(attached(self._store.truth(), kind, network_id)):
                self._remove((kind, holder["id"], network_id))
        self._attaching = {link: entry for link, entry in self._attaching.items() if link[2] != network_id}

    def complete(self, given: Any, where: str) -> Object:
        """A ``private_net`` entry of a load balancer in a world file; an address follows in ``connect``."""
        return shape(given, {"network": None, "ip": None}, where, _ENTRY)

    def complete_of_server(self, given: Any, where: str) -> Object:
        """The same of a server."""
        template: Object = {"network": None, "ip": None, "alias_ips": [], "mac_address": None}
        entry = shape(given, template, where, {**_ENTRY, "alias_ips": each(an_address)})
        return {**entry, "mac_address": entry["mac_address"] or new_mac_address(self._store)}

    def connect(self, without_subnets: set[int]) -> None:
        """Put servers, load balancers and networks of a world in step, inside ``store.changing()``. Raises ValueError.

        Members that only the network lists are attached. Networks in ``without_subnets`` get the /24 of each attached
        address, or their first /24. Then every attachment without an address gets one.
        """
        for network in self._store.truth().all("networks"):
            self._attach_listed(network)
        entries = list(self._entries())
        for where, _, _, entry in entries:
            if self._store.get("networks", entry["network"]) is None:
                remedy = "which is not there; add the network or remove the private_net entry"
                raise ValueError(f"{where} is attached to network {entry['network']}, {remedy}")
        for network_id in sorted(without_subnets):
            members = [(holder, entry) for _, _, holder, entry in entries if entry["network"] == network_id]
            self._add_subnets(self._project.require("networks", network_id), members)
        taken: dict[tuple[int, str], str] = {}
        for where, _, _, entry in entries:
            for address in _addresses_of(entry):
                self._check_address(where, entry["network"], address)
                other = taken.setdefault((entry["network"], address), where)
                if other != where:
                    raise ValueError(f"{where} and {other} have the same address {address}; change one of them")
        for where, kind, holder, entry in entries:
            if entry["ip"] is None:
                self._allocate(where, kind, holder, entry, taken)

    def _free_pair(self, kind: Kind, holder_id: int, body: Body) -> tuple[Object, Object]:
        """A server or load balancer, and the network in the request, when no action runs on either. Raises ApiError."""
        self._project.require(kind, holder_id)
        network = self._project.require("networks", body.integer("network"))
        holder = self._project.require_free(kind, holder_id)
        self._project.actions.require_free("networks", network["id"])
        return holder, network

    def _started(
        self, command: str, link: _Link, effect: Callable[[], object], on_failure: Callable[[], object]
    ) -> Response:
        kind, holder_id, network_id = link
        resources: tuple[Key, Key] = ((kind, holder_id), ("networks", network_id))
        action = self._project.actions.start(command, *resources, effect=effect, on_failure=lambda _: on_failure())
        return self._project.answer(201, action=action)

    def _taken(self, network_id: int) -> set[str]:
        """The addresses of the network that somebody has or is about to get."""
        view = self._store.truth()
        entries = [entry for kind in _HOLDERS for _, entry in attached(view, kind, network_id)]
        entries += [entry for (_, _, network), entry in self._attaching.items() if network == network_id]
        promised = {alias for link, aliases in self._updating.items() if link[2] == network_id for alias in aliases}
        return promised | {address for entry in entries for address in _addresses_of(entry)}

    def _check_limits(self, kind: Kind, entries: list[Object], network: Object, alias_ips: list[str]) -> None:
        """Raises ApiError for a network too much: a load balancer can be in one only."""
        if kind == "load_balancers" and entries:
            raise ApiError("load_balancer_already_attached", "load balancer is already attached to a network")
        if any(entry["network"] == network["id"] for entry in entries):
            raise ApiError("server_already_attached", "server is already attached to the network")
        if len(entries) >= MAX_NETWORKS_PER_SERVER:
            raise limit_exceeded("server_network_limit")
        _check_aliases(alias_ips)
        members = self.members(self._store.truth(), network)
        if len(members) >= self._project.options.network_attachment_limit:
            raise limit_exceeded("network_attachment_limit")
        for entry in entries:
            other = self._store.get("networks", entry["network"])
            if other and range_of(other).overlaps(range_of(network)):
                raise ApiError("networks_overlap", "network IP range overlaps with one of the server networks")

    def _remove(self, link: _Link) -> None:
        """Take the entry for the network out of an object's ``private_net``; nothing when the object is gone.

        A load balancer loses with it the targets that it reached through the network.
        """
        kind, holder_id, network_id = link
        holder = self._store.get(kind, holder_id)
        if holder is not None:
            left = [entry for entry in holder["private_net"] if entry["network"] != network_id]
            present = without_private_targets(holder) if kind == "load_balancers" else holder
            self._store.put(kind, {**present, "private_net": left})

    def _attach_listed(self, network: Object) -> None:
        for kind in _HOLDERS:
            for member_id in network[kind]:
                holder, what = self._store.get(kind, member_id), in_words(kind)
                if holder is None:
                    listed = f"network {network['id']} ({network['name']}) lists {what} {member_id}"
                    raise ValueError(f"{listed}, which is not there; add the {what} or remove its id")
                if all(entry["network"] != network["id"] for entry in holder["private_net"]):
                    complete = self.complete_of_server if kind == "servers" else self.complete
                    entry = complete({"network": network["id"]}, what)
                    self._store.change(kind, member_id, private_net=[*holder["private_net"], entry])
        self._store.change("networks", network["id"], servers=[], load_balancers=[])

    def _entries(self) -> Iterator[tuple[str, Kind, Object, Object]]:
        for kind in _HOLDERS:
            for holder in self._store.truth().all(kind):
                for entry in holder["private_net"]:
                    yield f"{in_words(kind)} {holder['id']} ({holder['name']})", kind, holder, entry

    def _add_subnets(self, network: Object, members: list[tuple[Object, Object]]) -> None:
        zone = members[0][0]["location"]["network_zone"] if members else "eu-central"
        within = range_of(network)
        prefix = max(24, within.prefixlen)
        given = [address for _, entry in members for address in _addresses_of(entry)]
        wanted = {IPv4Network((int(IPv4Address(a)), prefix), strict=False) for a in given if IPv4Address(a) in within}
        ranges = sorted(wanted) or [next(within.subnets(new_prefix=prefix))]
        subnets = [subnet_object(network, "cloud", str(ip_range), zone) for ip_range in ranges]
        self._store.change("networks", network["id"], subnets=subnets)

    def _check_address(self, where: str, network_id: int, address: str) -> None:
        network = self._project.require("networks", network_id)
        if subnet_with(network, address) is None:
            missing = f"{address} is in no subnet of network {network_id} ({network['ip_range']})"
            raise ValueError(f"{where}: {missing}; add a subnet or change the address")

    def _allocate(
        self, where: str, kind: Kind, holder: Object, entry: Object, taken: dict[tuple[int, str], str]
    ) -> None:
        network = self._project.require("networks", entry["network"])
        used = {address for of, address in taken if of == network["id"]}
        try:
            address = allocated_address(network, holder["location"]["network_zone"], used)
        except ApiError as full:
            raise ValueError(f"{where}: network {network['id']}: {full.message}; add a subnet or give an ip") from None
        taken[network["id"], address] = where
        entries = self._project.require(kind, holder["id"])["private_net"]
        changed = [{**old, "ip": address} if old["network"] == network["id"] else old for old in entries]
        self._store.change(kind, holder["id"], private_net=changed)


def attached(view: View, kind: Kind, network_id: int) -> Iterator[tuple[Object, Object]]:
    """The objects of a kind in the network, each with its ``private_net`` entry."""
    for holder in view.all(kind):
        for entry in holder["private_net"]:
            if entry["network"] == network_id:
                yield holder, entry


def _entry_of(kind: Kind, holder: Object, network: Object) -> Object:
    for entry in holder["private_net"]:
        if entry["network"] == network["id"]:
            found: Object = entry
            return found
    raise ApiError("not_found", f"{in_words(kind)} is not attached to the network")


def _addresses_of(entry: Object) -> list[str]:
    return [address for address in (entry["ip"], *entry.get("alias_ips", ())) if address is not None]


def _check_aliases(alias_ips: list[str]) -> None:
    if len(alias_ips) > MAX_ALIAS_IPS:
        raise limit_exceeded("alias_ip_limit")


def _free_aliases(network: Object, zone: str, taken: set[str], wanted: list[str]) -> list[str]:
    """The wanted addresses. Raises ApiError for one that is taken, or wanted twice."""
    aliases: list[str] = []
    for alias in wanted:
        aliases.append(allocated_address(network, zone, taken.union(aliases), ip=alias))
    return aliases


def _member(network: Object, kind: Kind, object_id: int, entry: Object, status: str) -> Object:
    subnet = subnet_with(network, entry["ip"])
    return {
        "type": singular(kind),
        "id": object_id,
        "ip": entry["ip"],
        "status": status,
        "alias_ips": list(entry.get("alias_ips", ())),
        "subnet": subnet["ip_range"] if subnet else network["ip_range"],
    }
