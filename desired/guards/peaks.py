"""Peaks: the most targets, Nodes and routes of the last hour, so that ten small steps mean what one means.

They live in the process alone: a restart forgets them, and a CronJob never has any.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from desired.guards.guard import GuardInput
from desired.load_balancers.desired import DesiredLoadBalancer
from desired.nodes.disruption import disruption_of
from desired.nodes.matching import nodes_of
from desired.plan.foresight import healthy
from desired.plan.setbacks import ANSWERING, OF_NODES, OF_PROVIDER, OF_ROUTES, Scope
from desired.routes.actions import RouteAction, RouteDecision
from desired.section import Absent
from desired.syntax.provider_id import Provider

LAST_FOR = timedelta(hours=1)
"""How long a peak counts."""


@dataclass(frozen=True, slots=True)
class Peak:
    """The most members that a population has had."""

    members: frozenset[str]
    at: datetime
    """When it last had so many, by the API server's clock."""


@dataclass(frozen=True, slots=True)
class Headcount:
    """Members of a population in one reading."""

    members: frozenset[str]
    announced: frozenset[str] = frozenset()
    """Members that were announced to go: their end does not count as a loss."""
    is_whole: bool = True
    """Whether others would be in it."""


def headcounts(view: GuardInput) -> Mapping[Scope, Headcount]:
    """Scope → members: servers behind each load balancer of a Service, Nodes of each provider whose servers are not
    lost, routes within the cluster's range that lead to a server."""
    return dict((*_of_balancers(view), *_of_nodes(view), *_of_routes(view)))


def _of_balancers(view: GuardInput) -> Iterator[tuple[Scope, Headcount]]:
    announced, is_whole = frozenset(server.name for server in view.drained), view.snapshot.nodes.is_whole
    for lb in view.desired.services.values():
        if not isinstance(lb, DesiredLoadBalancer) or (balancer := lb.present) is None:
            continue
        existing = lb.targets.candidates.existing(balancer.targets)
        for provider in Provider:
            yield (balancer.id, OF_PROVIDER, provider), Headcount(existing.names_at(provider), announced, is_whole)
        for port, targets in healthy(balancer).items():
            yield (balancer.id, ANSWERING, f"port {port}"), Headcount(existing.names_of(targets), announced, is_whole)


def _of_nodes(view: GuardInput) -> Iterator[tuple[Scope, Headcount]]:
    for provider in Provider:
        ours = {node.key: (node, server) for node, server in nodes_of(provider, view.snapshot, view.settings)}
        living = (key for key, (_, server) in ours.items() if not isinstance(view.snapshot.find(server), Absent))
        planned = (key for key, (node, _) in ours.items() if disruption_of(node, view.snapshot, view.settings))
        yield (OF_NODES, provider), Headcount(frozenset(living), frozenset(planned), view.snapshot.nodes.is_whole)


def _of_routes(view: GuardInput) -> Iterator[tuple[Scope, Headcount]]:
    if view.desired.routes.network is not None:
        within, free = frozenset(routes_within(view)), free_routes(view)
        yield (OF_ROUTES, view.desired.routes.network.id), Headcount(within - free, free)


def routes_within(view: GuardInput) -> Mapping[str, RouteDecision]:
    """Destination → decision on the existing route, within the range that is routed to pods."""
    decided, cidr = view.desired.routes.decided, view.settings.routed_range
    return {str(at): each for at, each in decided.items() if cidr is not None and at.subnet_of(cidr)}


def free_routes(view: GuardInput) -> frozenset[str]:
    """The destinations that lead nowhere, or belong to Nodes which were announced to go: their end does not count."""
    dead = (str(at) for at, each in view.desired.routes.decided.items() if each.action is RouteAction.DEAD)
    announced = (
        str(each.destination)
        for each in view.desired.routes.claims
        if disruption_of(each.endpoint.node, view.snapshot, view.settings)
    )
    return frozenset((*dead, *announced))


def peaks_after(
    before: Mapping[Scope, Peak], found: Mapping[Scope, Headcount], now: datetime, *, ages: bool = True
) -> Mapping[Scope, Peak]:
    """Scope → peak, after this reading. A peak stays for an hour, without members that were announced to go, also if
    its population is in no list; after that it is the present one, or the former while a list is not whole.
    ``ages`` is False while clocks differ."""

    def counts(peak: Peak) -> bool:
        return not ages or now - peak.at <= LAST_FOR

    peaks = {scope: peak for scope, peak in before.items() if scope not in found and counts(peak)}
    for scope, count in found.items():
        members, peak = count.members - count.announced, before.get(scope)
        most = frozenset() if peak is None else peak.members - count.announced
        stays = peak is not None and (counts(peak) or not count.is_whole)
        peaks[scope] = Peak(most, peak.at) if peak and stays and len(members) < len(most) else Peak(members, now)
    return peaks
