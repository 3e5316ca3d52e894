"""Pictures of the page, as values of which the template makes SVG: the map in four columns, and the bars of the passes.
What they show stands in a table beside them as well.

A map that is too large to read is folded as a plan is: what is fine and has nothing planned gives way to one box that
counts it.
"""

import unicodedata
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple, TypeVar

from desired.syntax.bounds import counted
from reconciler.page.map import (
    BalancerRow,
    NodeRow,
    RouteRow,
    ServiceRow,
    State,
    TargetRow,
    WorldMap,
    shown_health,
    worst,
)
from reconciler.page.ring import PassRecord
from reconciler.report.folding import LEAST, alike, names, natural_order, shown_values
from reconciler.result import Result

SERVICES = 40
"""How many boxes of Services there are at most, besides one for the rest."""
NODES = 25
"""How many of Nodes there are."""
_COLUMN = 7.3
"""Pixels of one column of text, of 12 pixels of any usual monospace font."""
_LINE, _PADDING, _GAP, _TOP = 15, 8, 14, 26
_LEFT = (0, 252, 616, 920)
_WIDTH = (214, 270, 262, 212)
_TITLES = ("Service", "load balancer", "server / Node", "route")
_SIGNS = {State.OK: "ok ", State.BAD: "!! ", State.UNKNOWN: "?? "}
"""What says the state of a target without color."""
_ROUTES = 2
"""Routes of a Node that are drawn; of more the rest is counted."""
_LOOSE = 20
"""Likewise of those that lead to no Node."""
_ALONE = frozenset({"!", "-"})
"""What is never one of many: what is withheld, and what goes."""
BAR_HEIGHT, BAR_STEP = 60, 5
_REST = "nodes"
"""The box of the Nodes that are not drawn."""
_STRANGERS = "!"
"""That of the targets that are no Nodes and are not drawn."""
_NO_NODE = "no Node of the cluster"

_Row = TypeVar("_Row")


@dataclass(frozen=True, slots=True)
class Box:
    """One box of a column."""

    name: str
    """By which edges know it."""
    texts: tuple[str, ...]
    state: State | None = None
    mark: str = ""

    @property
    def height(self) -> int:
        """In pixels."""
        return 2 * _PADDING + _LINE * len(self.texts) - 3


@dataclass(frozen=True, slots=True)
class Edge:
    """A line from one box to another."""

    start: str
    end: str
    state: State | None = None


@dataclass(frozen=True, slots=True)
class Drawing:
    """What is drawn: the boxes of each column from above, and the lines between them."""

    columns: tuple[tuple[Box, ...], ...]
    edges: tuple[Edge, ...]


def drawing_of(world: WorldMap) -> Drawing:
    """What a map shows: five or more alike as one box, and where that is not enough only what a person should look
    at."""
    drafter = _Drafter(world)
    services = [_service_box(group) for group in drafter.services]
    balancers = [box for group in drafter.services if (box := _balancer_box(group))]
    if rest := drafter.left_services:
        bad = sum(_needs_eyes(row) for row in rest)
        texts = f"{len(rest)} more Services", f"{bad} to look at" if bad else "nothing planned, healthy"
        services.append(Box("services", texts))
    nodes = [_node_box(group, drafter.health) for group in drafter.nodes]
    nodes += [
        Box(f"!{name}", (_SIGNS.get(state, "") + name, _NO_NODE), state) for name, state in drafter.strangers.items()
    ]
    if drafter.left_strangers:
        how_many = counted(len(drafter.left_strangers), "more target")
        nodes.append(Box(_STRANGERS, (how_many, _NO_NODE), worst(drafter.left_strangers.values())))
    if drafter.left_nodes:
        states = (drafter.health[row.key.name] for row in drafter.left_nodes if row.key.name in drafter.health)
        nodes.append(Box(_REST, (f"{len(drafter.left_nodes)} more Nodes", shown_health(states) or "no targets")))
    routes = {row.destination: row for row in world.routes}
    routed = [group for group in drafter.nodes if group[0].routes]
    drawn = [_routes_box(group, routes) for group in routed]
    if loose := [row for row in world.routes if row.node is None]:
        told = [_marked(row.mark, row.destination) for row in loose[:_LOOSE]]
        more = [f"{len(loose) - _LOOSE} more"] if len(loose) > _LOOSE else []
        drawn.append(Box("loose", ("to no Node:", *told, *more), worst(row.state for row in loose)))
    edges = (*drafter.edges(), *(_route_edge(group, routes) for group in routed))
    return Drawing((tuple(services), tuple(balancers), tuple(nodes), tuple(drawn)), edges)


class _Drafter:
    """Groups of what is alike, those that are drawn and the rows that are only counted, and what leads where."""

    def __init__(self, world: WorldMap) -> None:
        self.health = _worst_states((target.node, target.state) for target in _targets(world.services) if target.node)
        reach: dict[str, set[tuple[str, State, str]]] = {}
        for row in world.services:
            for target in _targets([row]):
                if row.balancer and target.node is not None:
                    reach.setdefault(target.node, set()).add((row.balancer.key, target.state, target.mark))
        marks = {row.destination: row.mark for row in world.routes}

        def node_likeness(node: NodeRow) -> Hashable:
            if node.mark in _ALONE or (not node.mark and _node_needs_eyes(node, {})):
                return None
            routes = tuple(marks.get(route, "") for route in node.routes)
            said = node.mark, node.state, node.is_gone, node.shade, node.trouble
            return frozenset(reach.get(node.key.name, ())), said, routes

        def service_likeness(row: ServiceRow) -> Hashable:
            if row.key is None or row.balancer is None or {row.mark, row.balancer.mark} & _ALONE:
                return None
            return row.mark, row.why, row.shade, row.trouble, self._likeness(row.balancer)

        groups = _folded(sorted(world.nodes, key=lambda node: natural_order(node.key)), node_likeness)
        nodes, left = _chosen(groups, NODES, lambda group: _node_needs_eyes(group[0], self.health))
        self.left_nodes = tuple(chain.from_iterable(left))
        self._box_of = {row.key.name: _node_name(group[0]) for group in nodes for row in group}
        folded = _folded(world.services, service_likeness)
        self.services, others = _chosen(folded, SERVICES, lambda group: _needs_eyes(group[0]))
        self.left_services = tuple(chain.from_iterable(others))
        led_to = list(_targets(group[0] for group in self.services))
        strangers = list(_worst_states((each.name, each.state) for each in led_to if each.node is None).items())
        drawn, more = _chosen(strangers, NODES, lambda each: each[1] is State.BAD)
        self.strangers, self.left_strangers = dict(drawn), dict(more)
        place = {name: number for number, name in enumerate(dict.fromkeys(map(self._end, led_to)))}
        self.nodes = sorted(nodes, key=lambda group: place.get(_node_name(group[0]), len(place)))

    def _likeness(self, row: BalancerRow) -> Hashable:
        ends = frozenset((self._end(target), target.state, target.mark) for target in row.targets)
        return row.type, row.place, row.mark, row.health, len(row.ports), ends

    def _end(self, target: TargetRow) -> str:
        """The box that a target is in."""
        return f"!{target.name}" if target.node is None else self._box_of.get(target.node, _REST)

    def edges(self) -> Iterator[Edge]:
        """From Services to load balancers, and from these to their targets: one for each two boxes."""
        for row, *_ in self.services:
            if row.balancer is None:
                continue
            if row.key is not None:
                yield Edge(row.key, row.balancer.key)
            ends = _worst_states(
                (_STRANGERS if target.name in self.left_strangers else self._end(target), target.state)
                for target in row.balancer.targets
            )
            yield from (Edge(row.balancer.key, end, state) for end, state in ends.items())


def _targets(rows: Iterable[ServiceRow]) -> Iterator[TargetRow]:
    return (target for row in rows if row.balancer for target in row.balancer.targets)


def _worst_states(told: Iterable[tuple[str, State]]) -> Mapping[str, State]:
    """The worst of the states that each name is told with."""
    found: dict[str, State] = {}
    for name, state in told:
        if (before := found.get(name)) is not state:
            found[name] = state if before is None else worst((before, state))
    return found


def _folded(rows: Iterable[_Row], likeness: Callable[[_Row], Hashable]) -> list[tuple[_Row, ...]]:
    """Five or more alike as one, each other one alone, in the order of the first; who has no likeness is alone."""
    numbered = ((row, number if (like := likeness(row)) is None else (like,)) for number, row in enumerate(rows))
    groups: list[tuple[_Row, ...]] = []
    for group in alike(numbered, lambda each: each[1]):
        members = tuple(row for row, _ in group)
        groups += [members] if len(members) >= LEAST else [(row,) for row in members]
    return groups


def _chosen(rows: Sequence[_Row], most: int, needs_eyes: Callable[[_Row], bool]) -> tuple[list[_Row], list[_Row]]:
    """The rows that are drawn, in their order, and the rest: first what a person should look at."""
    ranked = sorted(range(len(rows)), key=lambda place: (not needs_eyes(rows[place]), place))
    chosen = frozenset(ranked[:most])
    drawn, left = ([rows[place] for place in range(len(rows)) if (place in chosen) is is_in] for is_in in (True, False))
    return drawn, left


def _needs_eyes(row: ServiceRow) -> bool:
    is_bad = row.balancer is None or row.balancer.state is State.BAD
    return bool(row.mark or row.trouble or is_bad or (row.balancer and row.balancer.mark))


def _node_needs_eyes(node: NodeRow, health: Mapping[str, State]) -> bool:
    is_bad = node.is_gone or node.state is not State.OK or health.get(node.key.name) is State.BAD
    return bool(node.mark or node.trouble or is_bad)


def _node_name(node: NodeRow) -> str:
    """The name of the box in which a Node is the first."""
    return f"node/{node.key.name}"


def _service_box(group: Sequence[ServiceRow]) -> Box:
    row = group[0]
    if row.key is None:
        return Box(f"no service of {row.balancer.key if row.balancer else ''}", ("no Service", "wants this one"))
    named = _named(row.mark, [each.key.name for each in group if each.key], "Services")
    return Box(row.key, (*named, *filter(None, [row.trouble or row.why])), row.shade, row.mark)


def _balancer_box(group: Sequence[ServiceRow]) -> Box | None:
    service, is_one = group[0], len(group) == 1
    row = service.balancer
    if row is None:
        return None
    what = " ".join(filter(None, (row.type, row.place, *(row.addresses[:1] if is_one else ()))))
    ports = ", ".join(row.ports[:2]) + (f" +{len(row.ports) - 2}" if len(row.ports) > 2 else "")
    texts = (
        *_named(row.mark, [each.balancer.name for each in group if each.balancer], "load balancers"),
        what if row.id is not None else f"planned: {what}",
        (ports or "no port") if is_one else f"{counted(len(row.ports), 'port')} each",
        row.health + ("" if is_one else " each"),
    )
    return Box(row.key, texts, service.shade or (row.state if row.targets else None), row.mark)


def _node_box(group: Sequence[NodeRow], health: Mapping[str, State]) -> Box:
    node = group[0]
    target = health.get(node.key.name)
    ready = {State.OK: "", State.BAD: ", not Ready"}.get(node.state, ", Ready?")
    if len(group) > 1:  # the types of many servers, and where they are
        told = [shown_values(each.type or "no server" for each in group), shown_values(each.location for each in group)]
    else:
        told = [node.shown_server, *((node.type, node.location) if not node.is_gone else ())]
    is_passing = node.health is not None and node.shade is None  # who joins is not Ready yet, and who goes no longer
    shades = [each for each in (node.shade if node.health else target, None if is_passing else node.state) if each]
    first, *more = _named(node.mark, [each.key.name for each in group], "Nodes")
    sign = _SIGNS.get(target, "") if target else ""
    texts = (sign + first, *more, " ".join(filter(None, told)) + ready, *filter(None, [node.trouble]))
    return Box(_node_name(node), texts, worst(shades) if shades else None, node.mark)


def _named(mark: str, found: Sequence[str], what: str) -> tuple[str, ...]:
    """The first lines of a box: a name, or how many and which."""
    if len(found) == 1:
        return (_marked(mark, found[0]),)
    return _marked(mark, f"{len(found)} {what}"), names(found)


def _marked(mark: str, name: str) -> str:
    return f"{mark} {name}" if mark else name


def _routes_box(group: Sequence[NodeRow], routes: Mapping[str, RouteRow]) -> Box:
    every = [route for node in group for route in node.routes]
    marks = {route: routes[route].mark if route in routes else "" for route in every}
    mark = next(filter(None, marks.values()), "")
    if len(group) > 1:
        texts = [_marked(mark, f"{len(every)} routes"), names(every)]
    else:
        texts = [_marked(marks[route], route) for route in every[:_ROUTES]]
        texts += [f"{len(every) - _ROUTES} more"] if len(every) > _ROUTES else []
    return Box(f"to {group[0].key.name}", tuple(texts), mark=mark)


def _route_edge(group: Sequence[NodeRow], routes: Mapping[str, RouteRow]) -> Edge:
    found = worst(routes[route].state for node in group for route in node.routes if route in routes)
    return Edge(_node_name(group[0]), f"to {group[0].key.name}", found)


class Placed(NamedTuple):
    """A box in its place, in pixels."""

    box: Box
    column: int
    y: int

    @property
    def x(self) -> int:
        """Its left edge."""
        return _LEFT[self.column]

    @property
    def width(self) -> int:
        """How wide it is."""
        return _WIDTH[self.column]

    @property
    def middle(self) -> int:
        """Where lines meet it."""
        return self.y + self.box.height // 2

    @property
    def lines(self) -> Iterator[tuple[int, int, str]]:
        """Place and text of each line, cut to the room that there is."""
        room = int((self.width - 2 * _PADDING) / _COLUMN)
        for number, text in enumerate(self.box.texts):
            yield self.x + _PADDING, self.y + _PADDING + 9 + _LINE * number, fitted(text, room)


@dataclass(frozen=True, slots=True)
class Picture:
    """A map as it is drawn, in pixels."""

    width: int
    height: int
    heads: tuple[tuple[int, str], ...]
    """Place and title of each column that has a box."""
    edges: tuple[tuple[str, str], ...]
    """Class and path of each line."""
    boxes: tuple[Placed, ...]


def picture_of(world: WorldMap) -> Picture:
    """The picture of a map."""
    drawing = drawing_of(world)
    placed: dict[str, Placed] = {}
    bottom = _TOP
    for column, boxes in enumerate(drawing.columns):
        y = _TOP
        for box in boxes:
            y = max(y, _beside(box, column, drawing.edges, placed))
            placed[box.name] = Placed(box, column, y)
            y += box.height + _GAP
        bottom = max(bottom, y)
    return Picture(
        width=_LEFT[-1] + _WIDTH[-1] + 2,
        height=bottom,
        heads=tuple((_LEFT[number], title) for number, title in enumerate(_TITLES) if drawing.columns[number]),
        edges=tuple(
            (edge.state or "plain", _path(placed[edge.start], placed[edge.end]))
            for edge in drawing.edges
            if edge.start in placed and edge.end in placed
        ),
        boxes=tuple(placed.values()),
    )


def _beside(box: Box, column: int, edges: Sequence[Edge], placed: Mapping[str, Placed]) -> int:
    """Where a load balancer and the routes of a Node stand best: beside what leads to them."""
    if column not in (1, 3):
        return 0
    return min((placed[edge.start].y for edge in edges if edge.end == box.name and edge.start in placed), default=0)


def _path(start: Placed, end: Placed) -> str:
    x1, x2 = start.x + start.width, end.x
    bend = (x1 + x2) // 2
    return f"M{x1} {start.middle}C{bend} {start.middle} {bend} {end.middle} {x2} {end.middle}"


def fitted(text: str, room: int) -> str:
    """The text, cut where it has more columns than there is room for; wide characters take two."""
    taken, kept = 0, 0
    for character in text:
        taken += 2 if unicodedata.east_asian_width(character) in "WF" else 1
        if taken > room:
            return f"{text[:kept]}…"
        kept += taken < room
    return text


class Bar(NamedTuple):
    """One pass, as high as it took long."""

    passed: PassRecord
    x: int
    height: int


def bars_of(passes: Sequence[PassRecord]) -> list[Bar]:
    """The passes as bars, the latest on the right."""
    longest = max((each.seconds for each in passes), default=0.0) or 1.0
    return [
        Bar(each, place * BAR_STEP, max(2, round(BAR_HEIGHT * each.seconds / longest)))
        for place, each in enumerate(reversed(passes))
    ]


def tone_of(result: Result | None) -> str:
    """The class of what has this result."""
    match result:
        case Result.NO_CHANGES:
            return "good"
        case Result.CHANGES | None:
            return "plain"
        case Result.ERROR | Result.REFUSED:
            return "bad"
    return "warning"
