"""The rows of the table: which world each begins with, what is run in it, and what it has to send."""

import argparse
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from dedicated_worlds import full_dedicated_world, joining_dedicated_world
from processes import SandboxProcess
from route_worlds import routed_world, unrouted_world
from runs import run_further, run_once
from served_worlds import full_world, growing_world, new_services_world, served_world
from worlds import joining_world, resized_world, settled_world

LARGE = 2000
"""From this many Nodes on, one repetition is enough unless more are asked for."""


_FULL = 2
"""Services whose load balancers dedicated servers fill."""
_TOLD_NODES = 5
"""Nodes without room that get an Event each, however many there are."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """One row of the table."""

    name: str
    nodes: int
    world: Callable[[], dict[str, Any]]
    run: Callable[[SandboxProcess, Path], dict[str, Any]]
    repetitions: int
    services: int = 0
    events: int = 0
    """How many Events a pass has to say; they may be lost without harm, so that fewer are no problem."""
    writes: Mapping[str, int] = field(default_factory=dict)
    """All that a pass changes at Hetzner: ``POST /v1/load_balancers`` → how often."""
    beside: str | None = None
    """The name of the row that this one is compared with; None: of no one."""
    is_watched: bool = False
    """Whether to note when all Services were served; looking at them costs the sandbox a little."""


def scenarios(options: argparse.Namespace) -> Iterator[Scenario]:
    """The rows that the command line asks for."""
    join, resize, idle = ([5], [5], [100]) if options.quick else (options.join, options.resize, options.idle)
    for nodes in join:
        again = _repetitions(options, nodes)
        yield Scenario("join", nodes, partial(joining_world, nodes), run_once, again, events=nodes)
    for nodes in resize:
        yield Scenario("resize", nodes, partial(resized_world, nodes), run_once, _repetitions(options, nodes))
    for nodes in idle:
        again = _repetitions(options, nodes)
        yield Scenario("idle", nodes, partial(settled_world, nodes), run_once, again)
        yield Scenario("further pass", nodes, partial(settled_world, nodes), run_further, again)
    yield from _of_services(options)
    yield from _of_routes(options)
    yield from _of_dedicated_servers(options)


def name_of_creation(services: int, *, network: bool) -> str:
    """The name of the row where so many Services are new."""
    return f"{services} new Services{' in a network' if network else ''}"


def name_of_full(services: int) -> str:
    """The name of the row where load balancers have no room for all Nodes."""
    return f"idle with {services} full Services"


def name_of_joining(services: int = 0) -> str:
    """The name of the row where Nodes join that are to get routes, while so many Services are new."""
    return f"join with routes{f' and {services} new Services' if services else ''}"


def _of_services(options: argparse.Namespace) -> Iterator[Scenario]:
    for nodes, services in [(160, 2)] if options.quick else options.full:
        world, again = partial(full_world, nodes, services), _repetitions(options, nodes)
        yield Scenario(name_of_full(services), nodes, world, run_once, again, services, events=services + _TOLD_NODES)
    if options.quick:
        yield _created(options, 5, 2, network=False)
        yield _growing(options, 5, 2)
        return
    for nodes, services in options.services:
        yield _created(options, nodes, services, network=True)
        yield _created(options, nodes, services, network=False)
    for nodes, services in options.served:
        yield _growing(options, nodes, services)
        yield Scenario(
            f"idle with {services} Services",
            nodes,
            partial(served_world, nodes, services),
            run_once,
            _repetitions(options, nodes),
            services,
        )


def _of_routes(options: argparse.Namespace) -> Iterator[Scenario]:
    joining = [*((nodes, 0) for nodes in options.routes), *options.routes_and_services]
    for nodes, services in [(5, 0), (5, 2)] if options.quick else joining:
        yield _routed(options, nodes, services)
    for nodes in [100] if options.quick else options.routed:
        again = _repetitions(options, nodes)
        yield Scenario("idle with routes", nodes, partial(routed_world, nodes), partial(run_once, routes=True), again)


def _of_dedicated_servers(options: argparse.Namespace) -> Iterator[Scenario]:
    """Each row beside the same one with cloud servers, which is measured here where the table has none of this size."""
    for nodes in [5] if options.quick else options.dedicated:
        again = _repetitions(options, nodes)
        if not options.quick and nodes not in options.join:
            yield Scenario("join", nodes, partial(joining_world, nodes), run_once, again, events=nodes)
        joining = partial(joining_dedicated_world, nodes)
        yield Scenario(_on_robot("join"), nodes, joining, run_once, again, events=nodes, beside="join")
    for nodes in [160] if options.quick else options.dedicated:
        again, idle, events = _repetitions(options, nodes), name_of_full(_FULL), _FULL + _TOLD_NODES
        if not options.quick and (nodes, _FULL) not in options.full:
            yield Scenario(idle, nodes, partial(full_world, nodes, _FULL), run_once, again, _FULL, events)
        dedicated = partial(full_dedicated_world, nodes, _FULL)
        yield Scenario(_on_robot(idle), nodes, dedicated, run_once, again, _FULL, events, beside=idle)


def _on_robot(name: str) -> str:
    """The name of the row that is ``name`` with dedicated servers in the place of cloud servers."""
    return f"{name} on Robot servers"


def _routed(options: argparse.Namespace, nodes: int, services: int) -> Scenario:
    """From Nodes registered to all of them initialized, all routes there and all conditions written; and to all
    statuses published."""
    creations = {"POST /v1/load_balancers": services} if services else {}
    return Scenario(
        name_of_joining(services),
        nodes,
        partial(unrouted_world, nodes, services),
        partial(run_once, routes=True),
        _repetitions(options, nodes),
        services,
        events=nodes + services,
        writes={"POST /v1/networks/*/actions/add_route": nodes, **creations},
        is_watched=services > 0,
    )


def _created(options: argparse.Namespace, nodes: int, services: int, *, network: bool) -> Scenario:
    """From Services created to all statuses published."""
    return Scenario(
        name_of_creation(services, network=network),
        nodes,
        partial(new_services_world, nodes, services, network=network),
        partial(run_once, network=network),
        _repetitions(options, nodes),
        services,
        events=services,
        writes={"POST /v1/load_balancers": services},
    )


def _growing(options: argparse.Namespace, nodes: int, services: int) -> Scenario:
    """One Node more becomes a target of every load balancer."""
    return Scenario(
        f"one more for {services} Services",
        nodes,
        partial(growing_world, nodes, services),
        run_once,
        _repetitions(options, nodes),
        services,
        events=1 + services,
        writes={"POST /v1/load_balancers/*/actions/add_target": services},
    )


def _repetitions(options: argparse.Namespace, nodes: int) -> int:
    if options.quick:
        return 1
    return int(options.repetitions or (1 if nodes >= LARGE else 3))
