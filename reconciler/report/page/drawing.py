"""Pictures of the page as SVG: the map in four columns, and the bars of the passes. What they show stands in a table
beside them as well.

A map that is too large to read is folded: what is fine and has nothing planned gives way to one box that counts it.
"""

import unicodedata
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from desired.syntax.bounds import counted
from reconciler.report.folding import LEAST, names, natural_order, shown_values
from reconciler.report.page.markup import Html, tag
from reconciler.report.page.ring import PassRecord
from reconciler.report.page.world_map import BalancerRow, NodeRow, ServiceRow, State, TargetRow, WorldMap, worst
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
_SIGNS = {State.OK: "ok", State.BAD: "!!", State.UNKNOWN: "??", State.PLANNED: ""}
"""What says the state of a target without color."""
_ROUTES = 2
"""Routes of a Node that are drawn; of more the rest is counted."""
_LOOSE = 20
"""Likewise of those that lead to no Node."""
_ALONE = frozenset({"!", "-"})
"""What is never one of many: what is withheld, and what goes."""


_Row = TypeVar("_Row")
_REST = "nodes"
"""The box of the Nodes that are not drawn."""
_STRANGERS = "!"
"""That of the targets that are no Nodes and are not drawn."""
_NO_NODE = "no Node of the cluster"


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


def plan_drawing(world: WorldMap) -> Drawing:
    """What a map shows: five or more alike as one box, and where that is not enough only what a person should look
    at."""
    drafter = _Drafter(world)
    services, left_services = drafter.services, drafter.left_services
    rows = [(_service_box(group), _balancer_box(group)) for group in services]
    if left_services:
        rows.append((Box("services", _rest_of_services(left_services)), None))
    third = [_node_box(group, drafter.health) for group in drafter.nodes]
    third += [_stranger_box(name, state) for name, state in drafter.strangers.items()]
    if drafter.left_strangers:
        how_many = counted(len(drafter.left_strangers), "more target")
        third.append(Box(_STRANGERS, (how_many, _NO_NODE), worst(drafter.left_strangers.values())))
    if drafter.left_nodes:
        third.append(Box(_REST, _rest_of_nodes(drafter.left_nodes, drafter.health)))
    marks = {row.destination: row.mark for row in world.routes}
    states = {row.destination: row.state for row in world.routes}
    routed = [group for group in drafter.nodes if group[0].routes]
    fourth = [_routes_box(group, marks) for group in routed]
    edges = [*drafter.edges(), *(_route_edge(group, states) for group in routed)]
    loose = [row for row in world.routes if row.node is None]
    if loose:
        told = [_marked(row.mark, row.destination) for row in loose[:_LOOSE]]
        more = [f"{len(loose) - _LOOSE} more"] if len(loose) > _LOOSE else []
        fourth.append(Box("loose", ("to no Node:", *told, *more), worst(row.state for row in loose)))
    first, second = tuple(box for box, _ in rows), tuple(balancer for _, balancer in rows if balancer)
    return Drawing((first, second, tuple(third), tuple(fourth)), tuple(edges))


def _count(groups: Iterable[Sequence[object]]) -> int:
    return sum(map(len, groups))


class _Drafter:
    """Groups of what is alike, those that are drawn and those that are only counted, and what leads where."""

    def __init__(self, world: WorldMap) -> None:
        self.health: Mapping[str, State] = _worst_states(world)
        reach: dict[str, set[tuple[str, State, str]]] = {}
        for row in world.services:
            for target in _targets_of(row):
                if row.balancer and target.node is not None:
                    reach.setdefault(target.node, set()).add((row.balancer.key, target.state, target.mark))
        marks = {row.destination: row.mark for row in world.routes}
        every = _grouped(
            sorted(world.nodes, key=lambda node: natural_order(node.key)),
            lambda node: (
                frozenset(reach.get(node.key.name, ())),
                node.mark,
                node.state,
                node.is_gone,
                node.ill,
                tuple(marks.get(route, "") for route in node.routes),
            ),
            lambda node: node.mark in _ALONE or (not node.mark and _node_needs_eyes(node, self.health)),
        )
        nodes, self.left_nodes = _chosen(every, NODES, lambda group: _node_needs_eyes(group[0], self.health))
        self._box_of = {row.key.name: _node_name(group[0]) for group in nodes for row in group}
        found = _grouped(
            world.services,
            lambda row: (row.mark, row.why, row.ill, row.balancer and self._likeness(row.balancer)),
            lambda row: row.key is None or row.balancer is None or {row.mark, row.balancer.mark} & _ALONE != set(),
        )
        self.services, self.left_services = _chosen(found, SERVICES, lambda group: _needs_eyes(group[0]))
        strangers = list(_strangers(self.services).items())
        drawn, left = _chosen(strangers, NODES, lambda each: each[1] is State.BAD)
        self.strangers, self.left_strangers = dict(drawn), dict(left)
        led_to = [self._end(target) for group in self.services for target in _targets_of(group[0])]
        place = {name: number for number, name in enumerate(dict.fromkeys(led_to))}
        self.nodes = sorted(nodes, key=lambda group: place.get(_node_name(group[0]), len(place)))

    def _likeness(self, row: BalancerRow) -> object:
        ends = frozenset((self._end(target), target.state, target.mark) for target in row.targets)
        return row.type, row.place, row.mark, row.health, len(row.ports), ends

    def _end(self, target: TargetRow) -> str:
        """The box that a target is in."""
        return f"!{target.name}" if target.node is None else self._box_of.get(target.node, _REST)

    def edges(self) -> Iterator[Edge]:
        """From Services to load balancers, and from these to their targets: one for each two boxes."""
        for group in self.services:
            row = group[0]
            if row.balancer is None:
                continue
            if row.key is not None:
                yield Edge(row.key, row.balancer.key)
            ends: dict[str, list[State]] = {}
            for target in row.balancer.targets:
                end = _STRANGERS if target.name in self.left_strangers else self._end(target)
                ends.setdefault(end, []).append(target.state)
            yield from (Edge(row.balancer.key, end, worst(states)) for end, states in ends.items())


def _grouped(
    rows: Iterable[_Row], likeness: Callable[[_Row], Hashable], is_alone: Callable[[_Row], bool]
) -> list[tuple[_Row, ...]]:
    """Five or more alike as one, each other one alone, in the order of the first."""
    found: dict[Hashable, list[_Row]] = {}
    for number, row in enumerate(rows):
        found.setdefault(number if is_alone(row) else (likeness(row),), []).append(row)
    groups: list[tuple[_Row, ...]] = []
    for alike in found.values():
        groups += [tuple(alike)] if len(alike) >= LEAST else [(row,) for row in alike]
    return groups


def _targets_of(row: ServiceRow) -> tuple[TargetRow, ...]:
    return row.balancer.targets if row.balancer else ()


def _node_name(node: NodeRow) -> str:
    """The name of the box in which a Node is the first."""
    return f"node/{node.key.name}"


def draw_map(world: WorldMap) -> Html:
    """The map as SVG."""
    drawing = plan_drawing(world)
    placed: dict[str, tuple[int, int, int]] = {}
    """Box → column, upper edge and height."""
    bottom = _TOP
    for column, boxes in enumerate(drawing.columns):
        y = _TOP
        for box in boxes:
            y = max(y, _beside(box, column, drawing.edges, placed))
            placed[box.name] = (column, y, box.height)
            y += box.height + _GAP
        bottom = max(bottom, y)
    lines = [_edge(edge, placed) for edge in drawing.edges if edge.start in placed and edge.end in placed]
    drawn = [_box(box, *placed[box.name][:2]) for column in drawing.columns for box in column]
    heads = [
        tag("text", title, x=_LEFT[number], y=14, class_="column")
        for number, title in enumerate(_TITLES)
        if drawing.columns[number]
    ]
    width = _LEFT[-1] + _WIDTH[-1] + 2
    return tag(
        "svg",
        tag("title", "Map: Services, load balancers, Nodes and routes", id="map-title"),
        tag("desc", "The tables below say the same.", id="map-desc"),
        *heads,
        tag("g", *lines, class_="edges"),
        *drawn,
        role="img",
        aria_labelledby="map-title map-desc",
        width=width,
        height=bottom,
        viewBox=f"-1 0 {width} {bottom}",
        class_="map",
    )


def draw_passes(passes: Sequence[PassRecord]) -> Html:
    """The passes as bars, the latest on the right: as high as they took long."""
    height, step = 60, 5
    longest = max((record.seconds for record in passes), default=0.0) or 1.0
    bars = []
    for place, record in enumerate(reversed(passes)):
        tall = max(2, round(height * record.seconds / longest))
        bars.append(
            tag(
                "rect",
                tag("title", f"{record.result}, {record.seconds:.1f} s"),
                x=place * step,
                y=height - tall,
                width=step - 1,
                height=tall,
                class_=f"bar {tone_of(record.result)}",
            )
        )
    width = max(1, len(passes)) * step
    return tag(
        "svg",
        tag("title", "How long the passes took", id="passes-title"),
        *bars,
        role="img",
        aria_labelledby="passes-title",
        width=width,
        height=height,
        viewBox=f"0 0 {width} {height}",
        class_="bars",
    )


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


def _chosen(rows: Sequence[_Row], most: int, needs_eyes: Callable[[_Row], bool]) -> tuple[list[_Row], list[_Row]]:
    """The rows that are drawn, in their order, and the rest: first what a person should look at."""
    if len(rows) <= most:
        return list(rows), []
    ranked = sorted(range(len(rows)), key=lambda place: (not needs_eyes(rows[place]), place))
    chosen = set(ranked[:most])
    drawn = [row for place, row in enumerate(rows) if place in chosen]
    return drawn, [row for place, row in enumerate(rows) if place not in chosen]


def _needs_eyes(row: ServiceRow) -> bool:
    return bool(row.mark or row.ill or row.balancer is None or row.balancer.mark or row.balancer.state is State.BAD)


def _node_needs_eyes(node: NodeRow, health: Mapping[str, State]) -> bool:
    is_bad = node.is_gone or node.state is not State.OK or health.get(node.key.name) is State.BAD
    return bool(node.mark or node.ill or is_bad)


def _worst_states(world: WorldMap) -> Mapping[str, State]:
    """Name of a Node that is a target → the worst that load balancers say of it."""
    found: dict[str, State] = {}
    for row in world.services:
        for target in row.balancer.targets if row.balancer else ():
            if target.node is not None and (before := found.get(target.node)) is not target.state:
                found[target.node] = target.state if before is None else worst((before, target.state))
    return found


def _service_box(group: Sequence[ServiceRow]) -> Box:
    row = group[0]
    if row.key is None:
        return Box(f"no service of {row.balancer.key if row.balancer else ''}", ("no Service", "wants this one"))
    first, *more = _named(row.mark, [each.key.name for each in group if each.key], "Services")
    texts = (first, *more, *filter(None, [row.why]), *_ill(row.ill))
    return Box(row.key, texts, State.BAD if row.ill else None, row.mark)


def _balancer_box(group: Sequence[ServiceRow]) -> Box | None:
    row = group[0].balancer
    if row is None:
        return None
    named = _named(row.mark, [each.balancer.name for each in group if each.balancer], "load balancers")
    what = " ".join(filter(None, (row.type, row.place, *(row.addresses[:1] if len(group) == 1 else ()))))
    ports = ", ".join(row.ports[:2]) + (f" +{len(row.ports) - 2}" if len(row.ports) > 2 else "")
    if len(group) > 1:
        ports = f"{counted(len(row.ports), 'port')} each"
    texts = (
        *named,
        what if row.id is not None else f"planned: {what}",
        ports or "no port",
        row.health + (" each" if len(group) > 1 else ""),
    )
    return Box(row.key, texts, row.state if row.targets else None, row.mark)


def _node_box(group: Sequence[NodeRow], health: Mapping[str, State]) -> Box:
    node = group[0]
    target = health.get(node.key.name)
    ready = {State.OK: "", State.BAD: ", not Ready"}.get(node.state, ", Ready?")
    sign = f"{_SIGNS[target]} ".lstrip() if target is not None else ""
    told = [shown_server(node), *((node.type, node.location) if not node.is_gone else ())]
    if len(group) > 1:
        told = _kinds(group)
    is_settled = node.state is State.OK or node.mark == "+"  # who joins is not Ready yet
    state = target if target is not None else None if is_settled else node.state
    if node.is_gone or node.ill:
        state = State.BAD
    first, *more = _named(node.mark, [each.key.name for each in group], "Nodes")
    texts = (sign + first, *more, " ".join(filter(None, told)) + ready, *_ill(node.ill))
    return Box(_node_name(node), texts, state, node.mark)


def _ill(kind: str) -> tuple[str, ...]:
    return (f"needs a person: {kind}",) if kind else ()


def shown_server(node: NodeRow) -> str:
    """The server of a Node: ``server 102``, ``server 102 is gone``."""
    return f"{node.server} is gone" if node.is_gone else node.server or "no server"


def _kinds(group: Sequence[NodeRow]) -> list[str]:
    """The types of many servers, and where they are."""
    return [shown_values(node.type or "no server" for node in group), shown_values(node.location for node in group)]


def _named(mark: str, found: Sequence[str], what: str) -> tuple[str, ...]:
    """The first lines of a box: a name, or how many and which."""
    if len(found) == 1:
        return (_marked(mark, found[0]),)
    return _marked(mark, f"{len(found)} {what}"), names(found)


def _strangers(services: Iterable[Sequence[ServiceRow]]) -> Mapping[str, State]:
    """Name of a target that is no Node → the worst that load balancers say of it."""
    found: dict[str, list[State]] = {}
    for group in services:
        for target in _targets_of(group[0]):
            if target.node is None:
                found.setdefault(target.name, []).append(target.state)
    return {name: worst(told) for name, told in found.items()}


def _stranger_box(name: str, state: State) -> Box:
    return Box(f"!{name}", (f"{_SIGNS[state]} {name}".lstrip(), _NO_NODE), state)


def _routes_box(group: Sequence[NodeRow], marks: Mapping[str, str]) -> Box:
    every = [route for node in group for route in node.routes]
    mark = next((marks[route] for route in every if marks.get(route)), "")
    if len(group) > 1:
        texts = [_marked(mark, f"{len(every)} routes"), names(every)]
    else:
        texts = [_marked(marks.get(route, ""), route) for route in every[:_ROUTES]]
        texts += [f"{len(every) - _ROUTES} more"] if len(every) > _ROUTES else []
    return Box(f"to {group[0].key.name}", tuple(texts), mark=mark)


def _route_edge(group: Sequence[NodeRow], states: Mapping[str, State]) -> Edge:
    found = worst(states[route] for node in group for route in node.routes if route in states)
    return Edge(_node_name(group[0]), f"to {group[0].key.name}", found)


def _rest_of_services(groups: Sequence[Sequence[ServiceRow]]) -> tuple[str, ...]:
    bad = sum(_needs_eyes(row) for group in groups for row in group)
    return f"{_count(groups)} more Services", f"{bad} to look at" if bad else "nothing planned, healthy"


def _rest_of_nodes(groups: Sequence[Sequence[NodeRow]], health: Mapping[str, State]) -> tuple[str, ...]:
    counts = Counter(health[row.key.name] for group in groups for row in group if row.key.name in health)
    words = {State.BAD: "unhealthy", State.UNKNOWN: "unknown", State.OK: "healthy", State.PLANNED: "planned"}
    told = ", ".join(f"{counts[state]} {word}" for state, word in words.items() if counts[state])
    return f"{_count(groups)} more Nodes", told or "no targets"


def _marked(mark: str, name: str) -> str:
    return f"{mark} {name}" if mark else name


def _beside(box: Box, column: int, edges: Sequence[Edge], placed: Mapping[str, tuple[int, int, int]]) -> int:
    """Where a load balancer and the routes of a Node stand best: beside what leads to them."""
    if column not in (1, 3):
        return 0
    found = [placed[edge.start][1] for edge in edges if edge.end == box.name and edge.start in placed]
    return min(found, default=0)


def _box(box: Box, column: int, y: int) -> Html:
    x, width = _LEFT[column], _WIDTH[column]
    room = int((width - 2 * _PADDING) / _COLUMN)
    texts = [
        tag(
            "text",
            fitted(text, room),
            x=x + _PADDING,
            y=y + _PADDING + 9 + _LINE * number,
            class_="name" if number == 0 else "more",
        )
        for number, text in enumerate(box.texts)
    ]
    words = " ".join(filter(None, ("box", box.state, "planned" if box.mark else "")))
    frame = tag("rect", x=x, y=y, width=width, height=box.height, rx=4, class_="frame")
    return tag("g", tag("title", "; ".join(box.texts)), frame, *texts, class_=words, data_row="")


def _edge(edge: Edge, placed: Mapping[str, tuple[int, int, int]]) -> Html:
    start, y1, tall1 = placed[edge.start]
    end, y2, tall2 = placed[edge.end]
    x1, x2 = _LEFT[start] + _WIDTH[start], _LEFT[end]
    middle = (x1 + x2) // 2
    above, below = y1 + tall1 // 2, y2 + tall2 // 2
    path = f"M{x1} {above}C{middle} {above} {middle} {below} {x2} {below}"
    return tag("path", d=path, class_=f"edge {edge.state or 'plain'}")


def fitted(text: str, room: int) -> str:
    """The text, cut where it has more columns than there is room for; wide characters take two."""
    taken, kept = 0, 0
    for character in text:
        taken += 2 if unicodedata.east_asian_width(character) in "WF" else 1
        if taken > room:
            return f"{text[:kept]}…"
        kept += taken < room
    return text
