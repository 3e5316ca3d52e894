"""Stored objects as the API answers them: with the fields that follow from other objects.

A network's ``servers`` and ``load_balancers``, what a server has (load balancers, firewalls, volumes, its placement
group) and its ``locked``, the health of targets, what label selectors find, a certificate's ``used_by``, a placement
group's ``servers``, who has a Primary IP and the Primary IPs of servers are not stored, so they cannot be out of step.
"""

from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

from hcloud_sandbox.hetzner.actions import Actions
from hcloud_sandbox.hetzner.balancer_backends import target_servers
from hcloud_sandbox.hetzner.balancer_health import shown_targets
from hcloud_sandbox.hetzner.objects import fresh_copy, primary_ip_template
from hcloud_sandbox.hetzner.selectors import parse_selector
from hcloud_sandbox.hetzner.store import Kind, Object, View


class Renderer:
    """Renders the objects of one answer; what is derived for all of them is computed once."""

    def __init__(self, view: View, actions: Actions | None) -> None:
        self._view = view
        self._actions = actions
        """None leaves ``locked`` as it is stored: a world file has no running actions."""

    def render(self, kind: Kind, stored: Object) -> Object:
        """One object, safe for the caller to change."""
        match kind:
            case "load_balancers":
                silence = self._actions.faults.silence_of if self._actions else _answered
                return fresh_copy({**stored, "targets": shown_targets(self._view, stored, silence)})
            case "servers":
                return fresh_copy(stored) | self._of_server(stored)
            case "networks":
                servers = [server["id"] for server, _ in attached(self._view, "servers", stored["id"])]
                balancers = [found["id"] for found, _ in attached(self._view, "load_balancers", stored["id"])]
                return fresh_copy(stored) | {"servers": servers, "load_balancers": balancers}
            case "primary_ips":
                return fresh_copy(stored) | self._of_primary_ip(stored)
            case "certificates":
                return fresh_copy(stored) | {"used_by": users_of(self._view, stored["id"])}
            case "placement_groups":
                return fresh_copy(stored) | {"servers": members_of_group(self._view, stored["id"])}
            case "firewalls":
                return fresh_copy(stored) | {"applied_to": [self._applied(entry) for entry in stored["applied_to"]]}
            case _:
                return fresh_copy(stored)

    def _of_server(self, server: Object) -> Object:
        busy = self._actions is not None and self._actions.is_busy(("server", server["id"]))
        group = server["placement_group"] and self._view.get("placement_groups", server["placement_group"])
        firewalls = [found["id"] for found in self._firewalls if is_behind(found, server)]
        return {
            "locked": server["locked"] or busy,
            "load_balancers": list(self._balancers_of.get(server["id"], ())),
            "volumes": list(self._volumes_of.get(server["id"], ())),
            "placement_group": self.render("placement_groups", group) if group else None,
            "public_net": {
                **fresh_copy(server["public_net"]),
                "firewalls": [{"id": firewall_id, "status": "applied"} for firewall_id in firewalls],
            },
        }

    def _of_primary_ip(self, primary_ip: Object) -> Object:
        holder = self._holders.get(primary_ip["id"])
        if holder is None:
            return {}
        assignee = {"assignee_id": holder.object["id"], "assignee_type": holder.type}
        if holder.type != "server":
            return assignee
        family = primary_ip["type"]
        return {**assignee, "dns_ptr": dns_ptr_of(family, holder.object["public_net"][family])}

    def _applied(self, entry: Object) -> Object:
        if entry["type"] == "server":
            return fresh_copy(entry)
        matches = parse_selector(entry["label_selector"]["selector"])
        found = [server["id"] for server in self._view.all("servers") if matches(server["labels"])]
        resources = [{"type": "server", "server": {"id": server_id}} for server_id in found]
        return {**fresh_copy(entry), "applied_to_resources": resources}

    @cached_property
    def _balancers_of(self) -> dict[int, list[int]]:
        found: dict[int, list[int]] = defaultdict(list)
        for balancer in self._view.all("load_balancers"):
            for target_id in target_servers(self._view, balancer):
                found[target_id].append(balancer["id"])
        return found

    @cached_property
    def _volumes_of(self) -> dict[int, list[int]]:
        found: dict[int, list[int]] = defaultdict(list)
        for volume in self._view.all("volumes"):
            found[volume["server"]].append(volume["id"])
        return found

    @cached_property
    def _firewalls(self) -> list[Object]:
        return self._view.all("firewalls")

    @cached_property
    def _holders(self) -> "dict[int, Holder]":
        return holders_of_primary_ips(self._view)


def _answered(_address: str, _port: int, _destination_port: int) -> None:
    """A world file has no faults: something answers everywhere."""


def attached(view: View, kind: Kind, network_id: int) -> Iterator[tuple[Object, Object]]:
    """The objects of a kind in the network, each with its ``private_net`` entry."""
    for holder in view.all(kind):
        for entry in holder["private_net"]:
            if entry["network"] == network_id:
                yield holder, entry


class Holder(NamedTuple):
    """Who has a Primary IP: ``type`` is that of an action's resource."""

    type: str
    object: Object


def holders_of_primary_ips(view: View) -> dict[int, Holder]:
    """Who has which Primary IP, by its id; those that nothing has are left out."""
    kinds: tuple[tuple[Kind, str], ...] = (("servers", "server"), ("load_balancers", "load_balancer"))
    return {
        held["id"]: Holder(singular, holder)
        for kind, singular in kinds
        for holder in view.all(kind)
        for held in (holder["public_net"]["ipv4"], holder["public_net"]["ipv6"])
        if held is not None and held["id"] is not None
    }


def dns_ptr_of(family: str, held: Object) -> list[Object]:
    """The reverse names of an address of a server or load balancer, as a Primary IP has them."""
    if isinstance(held["dns_ptr"], list):
        return list(held["dns_ptr"])
    return [{"ip": held["ip"], "dns_ptr": held["dns_ptr"]}] if held["dns_ptr"] and family == "ipv4" else []


def is_behind(firewall: Object, server: Object) -> bool:
    """Whether the firewall is applied to the server, by name or by a label selector."""
    return any(
        entry["server"]["id"] == server["id"]
        if entry["type"] == "server"
        else parse_selector(entry["label_selector"]["selector"])(server["labels"])
        for entry in firewall["applied_to"]
    )


def members_of_group(view: View, group_id: int) -> list[int]:
    """The ids of the servers in a placement group."""
    return [server["id"] for server in view.all("servers") if server["placement_group"] == group_id]


def primary_ips(view: View) -> list[Object]:
    """All Primary IPs by their ids, those of servers among them."""
    found = {primary_ip["id"]: primary_ip for primary_ip in view.all("primary_ips")}
    for server in view.all("servers"):
        for family in ("ipv4", "ipv6"):
            held = server["public_net"][family]
            if held is not None:
                blank = primary_ip_template(held["id"], server["created"])
                assigned = {"assignee_id": server["id"], "assignee_type": "server", "auto_delete": True}
                place = {"ip": held["ip"], "location": server["location"], "blocked": held["blocked"]}
                found.setdefault(held["id"], {**blank, "type": family, **assigned, **place})
    return [found[primary_ip_id] for primary_ip_id in sorted(found)]


def users_of(view: View, certificate_id: int) -> list[Object]:
    """The load balancers with a service that has the certificate, as in a certificate's ``used_by``."""
    return [
        {"id": balancer["id"], "type": "load_balancer"}
        for balancer in view.all("load_balancers")
        if certificate_id in assigned_certificates(balancer)
    ]


def assigned_certificates(load_balancer: Object) -> set[int]:
    """The ids of the certificates that the load balancer's services have."""
    listed = (service["http"]["certificates"] for service in load_balancer["services"] if "http" in service)
    return {certificate_id for certificates in listed for certificate_id in certificates}
