"""Stored objects as the API answers them: with the fields that follow from other objects.

A network's ``servers`` and ``load_balancers``, a server's ``load_balancers`` and ``locked``, the health of targets,
what label selectors find, a certificate's ``used_by``, the load balancer that has a Primary IP and the Primary IPs of
servers are not stored, so they cannot be out of step.
"""

from collections import defaultdict
from collections.abc import Iterator

from reconciler.sandbox.hetzner.actions import Actions
from reconciler.sandbox.hetzner.balancer_backends import target_servers
from reconciler.sandbox.hetzner.balancer_health import shown_targets
from reconciler.sandbox.hetzner.objects import fresh_copy, primary_ip_template
from reconciler.sandbox.hetzner.store import Kind, Object, View


class Renderer:
    """Renders the objects of one answer; what is derived for all of them is computed once."""

    def __init__(self, view: View, actions: Actions | None) -> None:
        self._view = view
        self._actions = actions
        """None leaves ``locked`` as it is stored: a world file has no running actions."""
        self._balancers_of: dict[int, list[int]] | None = None

    def render(self, kind: Kind, stored: Object) -> Object:
        """One object, safe for the caller to change."""
        if kind == "load_balancers":
            silence = self._actions.faults.silence_of if self._actions else _answered
            return fresh_copy({**stored, "targets": shown_targets(self._view, stored, silence)})
        rendered = fresh_copy(stored)
        if kind == "servers":
            busy = self._actions is not None and self._actions.is_busy(("server", stored["id"]))
            rendered["locked"] = stored["locked"] or busy
            rendered["load_balancers"] = self._load_balancers_of(stored["id"])
        if kind == "networks":
            rendered["servers"] = [server["id"] for server, _ in attached(self._view, "servers", stored["id"])]
            balancers = attached(self._view, "load_balancers", stored["id"])
            rendered["load_balancers"] = [balancer["id"] for balancer, _ in balancers]
        if kind == "primary_ips" and (holder := holder_of(self._view, stored["id"])) is not None:
            rendered |= {"assignee_id": holder["id"], "assignee_type": "load_balancer"}
        if kind == "certificates":
            rendered["used_by"] = users_of(self._view, stored["id"])
        return rendered

    def _load_balancers_of(self, server_id: int) -> list[int]:
        if self._balancers_of is None:
            self._balancers_of = defaultdict(list)
            for balancer in self._view.all("load_balancers"):
                for target_id in target_servers(self._view, balancer):
                    self._balancers_of[target_id].append(balancer["id"])
        return list(self._balancers_of.get(server_id, ()))


def _answered(_address: str, _port: int) -> None:
    """A world file has no faults: something answers everywhere."""


def attached(view: View, kind: Kind, network_id: int) -> Iterator[tuple[Object, Object]]:
    """The objects of a kind in the network, each with its ``private_net`` entry."""
    for holder in view.all(kind):
        for entry in holder["private_net"]:
            if entry["network"] == network_id:
                yield holder, entry


def holder_of(view: View, primary_ip_id: int) -> Object | None:
    """The load balancer that has the Primary IP; None when none has."""
    for balancer in view.all("load_balancers"):
        if primary_ip_id in (balancer["public_net"][family]["id"] for family in ("ipv4", "ipv6")):
            return balancer
    return None


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
