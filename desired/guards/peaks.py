"""Peaks: the most targets that a load balancer has had within the last hour, so that ten small steps mean what one
means.

Where nothing answers at a port, who answered there within that hour may again: checks that fail for all at once may be
wrong for a moment.
"""

from collections.abc import Collection, Mapping
from datetime import timedelta

from desired.guards.guard import GuardInput
from desired.model.load_balancer import CloudBalancer, ServerTarget
from desired.model.settings import Settings
from desired.model.snapshot import Snapshot
from desired.nodes.disruption import drained_servers
from desired.plan.foresight import has_way, healthy, is_down
from desired.plan.setbacks import Peak
from desired.syntax.provider_id import Provider, ServerKey

LAST_FOR = timedelta(hours=1)
"""How long a peak counts."""
ANSWERING, OF_PROVIDER = "answering", "provider"
"""The populations that have peaks: targets that answer at a port, and targets at a provider."""


def scope_of_peak(balancer: CloudBalancer, population: str, scope: str) -> str:
    """The name under which a peak is remembered."""
    return f"{balancer.id}/{population}/{scope}"


def peaks_of(world: Snapshot, settings: Settings, before: Mapping[str, Peak]) -> Mapping[str, Peak]:
    """Scope → peak, with what there is in this world: servers of Hetzner Cloud that are reported healthy, and that are
    targets. A member whose Node was announced to go since counts no more. What a list lacks keeps its peak."""
    if world.load_balancers is None:
        return before
    now, drained = world.taken_at, drained_servers(world, settings)
    gone = {ServerTarget(each.id, use_private_ip=False).name for each in drained if each.provider is Provider.CLOUD}
    found: dict[str, Peak] = {} if world.load_balancers.is_whole else dict(before)
    for balancer in world.load_balancers:
        servers = [target for target in balancer.targets if isinstance(target, ServerTarget)]
        there = {scope_of_peak(balancer, OF_PROVIDER, Provider.CLOUD): servers}
        for port, answering in healthy(balancer).items():
            there[scope_of_peak(balancer, ANSWERING, f"port {port}")] = [each for each in servers if each in answering]
        for scope, targets in there.items():
            members, peak = frozenset(target.name for target in targets) - gone, before.get(scope)
            stays = peak is not None and now - peak.at <= LAST_FOR and len(members) < len(peak.members - gone)
            found[scope] = Peak(peak.members - gone, peak.at) if peak and stays else Peak(members, now)
    return found


def without_balancers(peaks: Mapping[str, Peak], ids: Collection[int]) -> Mapping[str, Peak]:
    """The peaks of other load balancers than these: what a person let go of is no loss afterwards."""
    prefixes = tuple(f"{number}/" for number in ids)
    return {scope: peak for scope, peak in peaks.items() if not scope.startswith(prefixes)} if ids else peaks


def quiet_ports(balancer: CloudBalancer, view: GuardInput) -> Mapping[int, frozenset[str]]:
    """Port at which nothing answers → the names of the targets that did within the last hour, as far as a loop
    remembers; without ports of which it remembers none. All of them while what is stored cannot be read."""
    quiet = [port for port, there in healthy(balancer).items() if not there]
    if view.setbacks.peaks_unread:
        return dict.fromkeys(quiet, frozenset(target.name for target in balancer.targets))
    peaks = {port: view.setbacks.peaks.get(scope_of_peak(balancer, ANSWERING, f"port {port}")) for port in quiet}
    return {port: peak for port, peak in peaks.items() if peak}


def answered_lately(
    balancer: CloudBalancer, quiet: Mapping[int, frozenset[str]], view: GuardInput
) -> Mapping[int, frozenset[ServerTarget]]:
    """Port that was ``quiet`` (``quiet_ports``) → the targets that answered there within the last hour, and whose
    servers and Nodes are up: they may answer again the next moment."""
    up = [
        target
        for target in (balancer.targets if quiet else ())
        if isinstance(target, ServerTarget) and has_way(target, balancer)
        if not is_down(ServerKey(Provider.CLOUD, target.server_id), view.snapshot, view.readiness)
    ]
    return {port: frozenset(each for each in up if each.name in peak) for port, peak in quiet.items()}
