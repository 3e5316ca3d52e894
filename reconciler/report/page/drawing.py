"""Pictures of the page as SVG: the map in four columns, and the bars of the passes. What they show stands in a table
beside them as well.

A map that nobody could read is folded: what is fine and has nothing planned gives way to one box that counts it.
"""

import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from desired.syntax.bounds import counted
from reconciler.report.page.markup import Html, tag
from reconciler.report.page.ring import PassRecord
from reconciler.report.page.world_map import BalancerRow, NodeRow, ServiceRow, State, TargetRow, WorldMap, worst
from reconciler.result import Result

SERVICES = 40
"""How many Services are drawn one by one."""
NODES = 25
"""How many Nodes are."""
_COLUMN = 7.3
"""Pixels of one column of text, of 12 pixels of any usual monospace font."""
_LINE, _PADDING, _GAP, _TOP = 15, 8, 14, 26
_LEFT = (0, 262, 590, 892)
_WIDTH = (220, 286, 260, 188)
_TITLES = ("Service", "load balancer", "server / Node", "route")
_SIGNS = {State.OK: "ok", State.BAD: "!!", State.UNKNOWN: "??", State.PLANNED: ""}
"""What says the state of a target without color."""
_ROUTES = 2
"""Routes of a Node that are drawn; of more the rest is counted."""


_Row = TypeVar("_Row")
_REST = "nodes"
"""The box of the Nodes that are not drawn."""


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
    folded_services: int = 0
    folded_nodes: int = 0


def plan_drawing(world: WorldMap) -> Drawing:
    """What a map shows, folded where it is large."""
    services, left_services = _chosen(world.services, SERVICES, _needs_eyes)
    health = _worst_states(world)
    nodes, left_nodes = _chosen(world.nodes, NODES, lambda node: _node_needs_eyes(node, health))
    place = {name: number for number, name in enumerate(_in_order_of_balancers(services))}
    nodes = sorted(nodes, key=lambda node: (place.get(node.key.name, len(place)), node.key))
    shown = {node.key.name for node in nodes}
    edges: dict[tuple[str, str], Edge] = {}
    rows: list[tuple[Box, Box | None]] = []
    for row in services:
        box, balancer = _service_box(row), row.balancer and _balancer_box(row.balancer)
        rows.append((box, balancer or None))
        if row.balancer is None:
            continue
        if row.key is not None:
            edges[box.name, row.balancer.key] = Edge(box.name, row.balancer.key)
        for target in row.balancer.targets:
            end = f"node/{target.node}" if target.node in shown else _REST if target.node else f"!{target.name}"
            known = edges.get((row.balancer.key, end))
            state = target.state if known is None or known.state is None else worst((known.state, target.state))
            edges[row.balancer.key, end] = Edge(row.balancer.key, end, state)
    if left_services:
        rows.append((Box("services", _rest_of_services(left_services)), None))
    others = _targets_that_are_no_nodes(services)
    third = [*(_node_box(node, health.get(node.key.name)) for node in nodes), *others]
    if left_nodes:
        third.append(Box(_REST, _rest_of_nodes(left_nodes, health)))
    routes = [_routes_box(node, world) for node in nodes if node.routes]
    edges |= {
        (f"node/{node.key.name}", f"to {node.key.name}"): _route_edge(node, world) for node in nodes if node.routes
    }
    loose = [row for row in world.routes if row.node is None]
    if loose:
        names = [f"{row.mark} {row.destination}".lstrip() for row in loose[:NODES]]
        more = [f"{len(loose) - NODES} more"] if len(loose) > NODES else []
        routes.append(Box("loose", ("to no Node:", *names, *more), worst(row.state for row in loose)))
    first = tuple(box for box, _ in rows)
    second = tuple(balancer for _, balancer in rows if balancer)
    return Drawing(
        (first, second, tuple(third), tuple(routes)), tuple(edges.values()), len(left_services), len(left_nodes)
    )


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
        tag("title", f"{counted(len(passes), 'pass')}: the longest took {longest:.1f} s", id="passes-title"),
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
    """The rows that are drawn, in their order, and the rest: first what somebody should look at."""
    if len(rows) <= most:
        return list(rows), []
    ranked = sorted(range(len(rows)), key=lambda place: (not needs_eyes(rows[place]), place))
    chosen = set(ranked[:most])
    drawn = [row for place, row in enumerate(rows) if place in chosen]
    return drawn, [row for place, row in enumerate(rows) if place not in chosen]


def _needs_eyes(row: ServiceRow) -> bool:
    return bool(row.mark or row.balancer is None or row.balancer.mark or row.balancer.state is State.BAD)


def _node_needs_eyes(node: NodeRow, health: Mapping[str, State]) -> bool:
    return bool(node.mark or node.state is not State.OK or health.get(node.key.name) is State.BAD)


def _worst_states(world: WorldMap) -> Mapping[str, State]:
    """Name of a Node that is a target → the worst that load balancers say of it."""
    found: dict[str, State] = {}
    for row in world.services:
        for target in row.balancer.targets if row.balancer else ():
            if target.node is not None:
                found[target.node] = worst((found.get(target.node, target.state), target.state))
    return found


def _in_order_of_balancers(services: Iterable[ServiceRow]) -> Iterator[str]:
    """Names of Nodes in the order in which load balancers lead to them, so that few lines cross."""
    seen = dict.fromkeys(
        target.node for row in services if row.balancer for target in row.balancer.targets if target.node
    )
    return iter(seen)


def _service_box(row: ServiceRow) -> Box:
    if row.key is None:
        return Box(f"no service of {row.balancer.key if row.balancer else ''}", ("no Service", "wants this one"))
    texts = (_marked(row.mark, row.key.name), *filter(None, [row.why]))
    return Box(row.key, texts, mark=row.mark)


def _balancer_box(row: BalancerRow) -> Box:
    what = " ".join(filter(None, (row.type, row.place, *row.addresses[:1])))
    ports = ", ".join(row.ports[:2]) + (f" +{len(row.ports) - 2}" if len(row.ports) > 2 else "")
    texts = (
        _marked(row.mark, row.name),
        what if row.id is not None else f"planned: {what}",
        ports or "no port",
        row.health,
    )
    return Box(row.key, texts, row.state if row.targets else None, row.mark)


def _node_box(node: NodeRow, target: State | None) -> Box:
    ready = "" if node.state is State.OK else f", {'not Ready' if node.state is State.BAD else 'Ready unknown'}"
    sign = f"{_SIGNS[target]} ".lstrip() if target is not None else ""
    what = " ".join(filter(None, (node.server or "no server", node.type, node.location)))
    state = target if target is not None else node.state if node.state is not State.OK else None
    return Box(f"node/{node.key.name}", (sign + _marked(node.mark, node.key.name), what + ready), state, node.mark)


def _targets_that_are_no_nodes(services: Iterable[ServiceRow]) -> list[Box]:
    found: dict[str, list[TargetRow]] = {}
    for row in services:
        for target in row.balancer.targets if row.balancer else ():
            if target.node is None:
                found.setdefault(target.name, []).append(target)
    shown = list(found.items())[:NODES]
    states = {name: worst(row.state for row in rows) for name, rows in shown}
    return [
        Box(f"!{name}", (f"{_SIGNS[state]} {name}".lstrip(), "no Node of the cluster"), state)
        for name, state in states.items()
    ]


def _routes_box(node: NodeRow, world: WorldMap) -> Box:
    marks = {row.destination: row.mark for row in world.routes} if node.routes else {}
    texts = [_marked(marks.get(route, ""), route) for route in node.routes[:_ROUTES]]
    if len(node.routes) > _ROUTES:
        texts.append(f"{len(node.routes) - _ROUTES} more")
    mark = next((marks[route] for route in node.routes if marks.get(route)), "")
    return Box(f"to {node.key.name}", tuple(texts), mark=mark)


def _route_edge(node: NodeRow, world: WorldMap) -> Edge:
    states = {row.state for row in world.routes if row.node == node.key.name}
    return Edge(f"node/{node.key.name}", f"to {node.key.name}", worst(states))


def _rest_of_services(rows: Sequence[ServiceRow]) -> tuple[str, ...]:
    bad = sum(_needs_eyes(row) for row in rows)
    return f"{len(rows)} more Services", f"{bad} to look at" if bad else "nothing planned, healthy"


def _rest_of_nodes(rows: Sequence[NodeRow], health: Mapping[str, State]) -> tuple[str, ...]:
    counts = Counter(health[row.key.name] for row in rows if row.key.name in health)
    words = {State.BAD: "unhealthy", State.UNKNOWN: "unknown", State.OK: "healthy", State.PLANNED: "planned"}
    told = ", ".join(f"{counts[state]} {word}" for state, word in words.items() if counts[state])
    return f"{len(rows)} more Nodes", told or "no targets"


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
