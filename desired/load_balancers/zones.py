"""Network zones: where a load balancer is or goes, and which servers it cannot have as targets for that.

A load balancer and its targets are in one network zone (Hetzner Cloud API: ``add_target`` of a server of another one is
``unsupported_error``). A zone that is not known is not another one: Hetzner itself then refuses what it must.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from desired.annotations.choices import ZONE_OF_LOCATION
from desired.annotations.options import Options
from desired.model.load_balancer import CloudBalancer, ServerTarget
from desired.model.snapshot import Server, Snapshot
from desired.rules.load_balancers import IN_ANOTHER_ZONE
from desired.rules.rule import Reason
from desired.section import Present, Unmanaged


@dataclass(frozen=True, slots=True)
class Place:
    """Where a load balancer is, as far as that decides on its targets."""

    zone: str = ""
    """Its network zone, where some servers are in another one; "" where that excludes none."""
    accepted: frozenset[int] = frozenset()
    """Ids of servers of other zones that are targets by the API's own word: they stay what they are."""
    addresses: frozenset[str] = frozenset()
    """Its private addresses of dedicated servers, which Hetzner has taken: they stay what they are."""


def zones_of_locations(snapshot: Snapshot) -> Mapping[str, str]:
    """Location → network zone: what was read of servers and load balancers, and for other locations what Hetzner's
    documentation says."""
    read = {server.location: server.network_zone for server in snapshot.servers if server.network_zone}
    there = (balancer.spec for balancer in snapshot.load_balancers or ())
    return {**ZONE_OF_LOCATION, **read, **{spec.location: spec.zone for spec in there if spec.location and spec.zone}}


def zone_of(options: Options, location: str | None, present: CloudBalancer | None, zones: Mapping[str, str]) -> str:
    """The network zone of the load balancer ``present``, or of the one to create, which goes to ``location`` if that is
    not None; "" when it is not known."""
    if present is not None:
        return present.spec.zone or zones.get(present.spec.location or "", "")
    asked = options.location if location is None else location
    if not isinstance(asked, Unmanaged):
        return zones.get(asked, "")
    return "" if isinstance(options.network_zone, Unmanaged) else options.network_zone


def place_of(
    zone: str, present: CloudBalancer | None, snapshot: Snapshot, server_zones: frozenset[str]
) -> Place | None:
    """The zone with what it depends on; None where no server is known to be in another one. ``server_zones`` are those
    of all servers."""
    if not zone or server_zones <= {zone, ""}:
        return None
    targets = () if present is None else present.targets
    servers = (snapshot.servers.find(target.server_id) for target in targets if isinstance(target, ServerTarget))
    return Place(
        zone,
        frozenset(
            found.value.id
            for found in servers
            if isinstance(found, Present) and found.value.network_zone not in ("", zone)
        ),
    )


def why_out_of_zone(server: Server, place: Place | None) -> Reason | None:
    """The reason why the server cannot be a target there; None when it can, or that is not known."""
    if place is None or not place.zone or server.network_zone in ("", place.zone) or server.id in place.accepted:
        return None
    return IN_ANOTHER_ZONE.because(location=server.location, zone=server.network_zone, place=place.zone)
