"""Map and routes on the page, each with the table that says the same as the picture."""

from collections.abc import Callable, Sequence
from functools import cache, partial

from desired.syntax.bounds import counted
from reconciler.config.program import PROGRAM
from reconciler.report.folding import names
from reconciler.report.page.drawing import draw_map, shown_server
from reconciler.report.page.elements import OPEN, TALL, Explain, anchor, scroll_box, scrolling_table, shown_key, sign_of
from reconciler.report.page.markup import Html, foreign, join, tag
from reconciler.report.page.world_map import BalancerRow, NodeRow, RouteRow, ServiceRow, WorldMap

_RANGES = 20
"""How many names, or ranges of names, stand for the targets of a load balancer at most."""

_Ranges = Callable[[tuple[str, ...]], str]
"""Names → the text that stands for them."""


def map_section(world: WorldMap, explain: Explain) -> Html:
    """The picture, and below it the tables of Services and of Nodes that say the same."""
    if not world.services and not world.nodes:
        return tag("p", "Nothing was read that could be drawn.")
    ranges = cache(partial(names, most=_RANGES))  # most load balancers lead to the same Nodes
    services = [_service(service, explain, ranges) for service in world.services]
    nodes = [_node(node, explain) for node in world.nodes]
    why = ("explain",) if explain else ()  # beside the name, where it is seen without scrolling
    legend = "ok: healthy; !!: unhealthy; ??: health unknown; + ~ - ! ?: planned, as in the plan"
    return join(
        tag("p", legend, class_="dim"),
        None
        if explain
        else tag("p", "Why one of them is as it is: ", tag("code", f"{PROGRAM} explain KEY"), class_="dim"),
        scroll_box(draw_map(world), "map", "map/picture"),
        _folding(
            f"{counted(len(world.services), 'Service')} and load balancers",
            scrolling_table(
                "Services and their load balancers",
                ("Service", *why, "load balancer", "targets", "type", "addresses", "ports"),
                services,
                name="map/services/table",
                tall=len(services) > TALL,
            ),
            "map/services",
        )
        if services
        else None,
        _folding(
            counted(len(world.nodes), "Node"),
            scrolling_table(
                "Nodes",
                ("Node", *why, "Ready", "server", "type", "location", "addresses", "routes"),
                nodes,
                name="map/nodes/table",
                tall=len(nodes) > TALL,
            ),
            "map/nodes",
        )
        if nodes
        else None,
    )


def _folding(title: str, body: Html, name: str) -> Html:
    return tag("details", tag("summary", title), body, id=name, open=True)


def _service(row: ServiceRow, explain: Explain, ranges: _Ranges) -> Html:
    key, balancer = row.key, row.balancer
    service = join(sign_of(row.mark), shown_key(key), _ill(row.ill)) if key else "no Service"
    cells = _balancer_cells(balancer, ranges) if balancer else (tag("td", foreign(row.why), colspan=5, class_="wrap"),)
    return tag(
        "tr",
        tag("th", service, scope="row", id=anchor(key) if key else None),
        tag("td", explain(key) if key else None) if explain else None,
        cells,
        data_row="",
        data_key=key,
    )


def _ill(kind: str) -> Html | None:
    return tag("div", f"needs a person: {kind}", class_="bad") if kind else None


def _balancer_cells(row: BalancerRow, ranges: _Ranges) -> tuple[Html, ...]:
    name = join(sign_of(row.mark), tag("bdi", row.name), f" {row.id}" if row.id is not None else " (planned)")
    return (
        tag("td", name, id=anchor(row.key)),
        tag("td", _targets(row, ranges), class_="long"),
        tag("td", " ".join(filter(None, (row.type, row.place)))),
        tag("td", _lines(row.addresses, "known after apply" if row.id is None else "none")),
        tag("td", _lines(row.ports, "none")),
    )


def _lines(entries: Sequence[str], otherwise: str) -> Html:
    """Each entry on a line of its own."""
    return join(*(tag("div", entry) for entry in entries)) if entries else join(otherwise)


def _targets(row: BalancerRow, ranges: _Ranges) -> Html:
    """The targets; of many those of the same health together, by ranges of their names."""
    if not row.targets:
        return join("none")
    each: list[tuple[str, tuple[str, ...], str]]
    if len(row.targets) <= OPEN:
        each = [(target.mark, (target.shown,), target.health) for target in row.targets]
    else:
        alike: dict[tuple[str, str], list[str]] = {}
        for target in row.targets:
            alike.setdefault((target.mark, target.health), []).append(target.shown)
        each = [(mark, tuple(shown), f"{len(shown)} {health}") for (mark, health), shown in alike.items()]
    return tag(
        "ul",
        *(
            tag("li", sign_of(mark) if mark else None, foreign(ranges(shown)), f": {health}")
            for mark, shown, health in each
        ),
    )


def _node(row: NodeRow, explain: Explain) -> Html:
    return tag(
        "tr",
        tag("th", sign_of(row.mark), shown_key(row.key), _ill(row.ill), scope="row", id=anchor(row.key)),
        tag("td", explain(row.key)) if explain else None,
        tag("td", row.ready, class_=None if row.state == "ok" else "warning"),
        tag("td", shown_server(row), class_="bad" if row.is_gone else None),
        tag("td", foreign(row.type)),
        tag("td", row.location),
        tag("td", foreign(", ".join(row.addresses))),
        tag("td", ", ".join(row.routes) or "none"),
        data_row="",
        data_key=row.key,
    )


def routes_section(world: WorldMap) -> Html:
    """How many routes are used of how many, and where each leads."""
    used, limit = world.routes_used or 0, world.routes_limit
    use = tag("p", f"{counted(used, 'route')}. ")
    if limit:
        meter = tag("meter", f"{used}/{limit}", min=0, max=limit, value=min(used, limit), aria_label="routes used")
        use = tag("p", f"{used} of {limit} routes are used. ", meter)
    if not world.routes:
        return use
    columns = ("route", "destination", "gateway", "leads to")
    rows = [_route(row) for row in world.routes]
    return join(use, scrolling_table("Routes", columns, rows, name="routes/table", tall=len(rows) > TALL))


def _route(row: RouteRow) -> Html:
    return tag(
        "tr",
        tag("th", sign_of(row.mark), shown_key(row.key), scope="row", id=anchor(row.key)),
        tag("td", foreign(row.destination)),
        tag("td", row.gateway or "unknown"),
        tag("td", foreign(row.leads_to), class_={"bad": "bad", "unknown": "dim"}.get(row.state)),
        data_row="",
        data_key=row.key,
    )
