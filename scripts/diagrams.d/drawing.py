"""Boxes and arrows on a grid as SVG: the same text each time, with two color schemes and nothing from elsewhere in it.

A picture stands on paper of its own color, so that it can be read wherever a page puts it, whichever scheme that has.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from html import escape
from itertools import pairwise

BOX_WIDTH, BOX_HEIGHT = 202, 62
_COLUMN, _ROW = 290, 112
"""From one box to the next one, in pixels."""
_MARGIN = 24
_LINE = 18
TEXT_SIZE, DETAIL_SIZE = 14, 12
_FORMAT = "http://www.w3.org/2000/svg"
_NAMED = 'role="img" aria-labelledby="title says"'

Point = tuple[float, float]
"""Pixels from the left and from the top."""


class Kind(StrEnum):
    """What a box is; its color says so, and never that alone."""

    PLAIN = "plain"
    RUNTIME = "runtime"
    PLANNER = "planner"
    WRITER = "writer"
    GOOD = "good"
    STOP = "stop"


class Side(StrEnum):
    """Where an arrow leaves or reaches a box."""

    LEFT = "left"
    RIGHT = "right"
    TOP = "top"
    BOTTOM = "bottom"


@dataclass(frozen=True, slots=True)
class Box:
    """A name, and below it one smaller line; ``column`` and ``row`` may be fractions."""

    column: float
    row: float
    name: str
    detail: str = ""
    kind: Kind = Kind.PLAIN

    @property
    def left(self) -> float:
        """In pixels."""
        return _MARGIN + self.column * _COLUMN

    @property
    def top(self) -> float:
        """In pixels."""
        return _MARGIN + self.row * _ROW

    def at(self, side: Side) -> Point:
        """The middle of a side."""
        across, down = self.left + BOX_WIDTH / 2, self.top + BOX_HEIGHT / 2
        return {
            Side.LEFT: (self.left, down),
            Side.RIGHT: (self.left + BOX_WIDTH, down),
            Side.TOP: (across, self.top),
            Side.BOTTOM: (across, self.top + BOX_HEIGHT),
        }[side]


@dataclass(frozen=True, slots=True)
class Arrow:
    """From one box to another, by the names that a diagram has them under."""

    start: str
    end: str
    label: str = ""
    leaves: Side = Side.RIGHT
    reaches: Side = Side.LEFT


@dataclass(frozen=True, slots=True)
class Diagram:
    """A picture; ``says`` is its text for a screen reader."""

    title: str
    says: str
    boxes: dict[str, Box]
    arrows: tuple[Arrow, ...]


SCHEMES: dict[str, dict[str, str]] = {
    "light": {
        "paper": "#ffffff",
        "ink": "#1f2328",
        "faint": "#4b535d",
        "line": "#57606a",
        "plain": "#f1f3f5",
        "runtime": "#dcebfb",
        "planner": "#dcf5e0",
        "writer": "#fdecd3",
        "good": "#d3f1d8",
        "stop": "#fbe0de",
    },
    "dark": {
        "paper": "#14181d",
        "ink": "#eef1f4",
        "faint": "#bac3cd",
        "line": "#98a2ad",
        "plain": "#262c33",
        "runtime": "#16324f",
        "planner": "#163b22",
        "writer": "#4a3110",
        "good": "#17401f",
        "stop": "#521f1d",
    },
}


def width_of(text: str, size: int) -> float:
    """At most what a line of text takes in pixels, in whichever sans-serif font a reader has."""
    wide = sum(letter in "mwMW" for letter in text)
    narrow = sum(letter in "fijlrt .,:;'()[]/|" for letter in text)
    return size * (0.9 * wide + 0.38 * narrow + 0.61 * (len(text) - wide - narrow))


def svg(diagram: Diagram) -> str:
    """The picture as a file."""
    width = max(box.left for box in diagram.boxes.values()) + BOX_WIDTH + _MARGIN
    height = max(box.top for box in diagram.boxes.values()) + BOX_HEIGHT + _MARGIN
    size = f'width="{width:g}" height="{height:g}"'
    return "\n".join(
        [
            f'<svg xmlns="{_FORMAT}" viewBox="0 0 {width:g} {height:g}" {size} {_NAMED}>',
            f'<title id="title">{escape(diagram.title)}</title>',
            f'<desc id="says">{escape(diagram.says)}</desc>',
            _STYLE,
            _TIP,
            f'<rect class="paper" {size} rx="8"/>',
            *(_arrow(arrow, diagram.boxes) for arrow in diagram.arrows),
            *(line for box in diagram.boxes.values() for line in _box(box)),
            *(_label(arrow, diagram.boxes) for arrow in diagram.arrows if arrow.label),
            "</svg>\n",
        ]
    )


def _box(box: Box) -> Iterator[str]:
    across, down = box.left + BOX_WIDTH / 2, box.top + BOX_HEIGHT / 2
    size = f'width="{BOX_WIDTH}" height="{BOX_HEIGHT}"'
    yield f'<rect class="box {box.kind}" x="{box.left:g}" y="{box.top:g}" {size} rx="6"/>'
    first = down + 5 - (_LINE / 2 if box.detail else 0)
    yield f'<text x="{across:g}" y="{first:g}">{escape(box.name)}</text>'
    if box.detail:
        yield f'<text class="detail" x="{across:g}" y="{first + _LINE:g}">{escape(box.detail)}</text>'


def longest_part(arrow: Arrow, boxes: dict[str, Box]) -> tuple[Point, Point]:
    """Where the label of the arrow stands: the ends of the longest of its straight parts."""
    parts = pairwise(_corners(arrow, boxes))
    return max(parts, key=lambda part: abs(part[0][0] - part[1][0]) + abs(part[0][1] - part[1][1]))


def _corners(arrow: Arrow, boxes: dict[str, Box]) -> list[Point]:
    """From its start to its end: straight where these face each other, else around one corner or two."""
    start, end = boxes[arrow.start].at(arrow.leaves), boxes[arrow.end].at(arrow.reaches)
    if start[0] == end[0] or start[1] == end[1]:
        return [start, end]
    match [side in (Side.LEFT, Side.RIGHT) for side in (arrow.leaves, arrow.reaches)]:
        case [True, True]:
            middle = (start[0] + end[0]) / 2
            between = [(middle, start[1]), (middle, end[1])]
        case [False, False]:
            middle = (start[1] + end[1]) / 2
            between = [(start[0], middle), (end[0], middle)]
        case [True, False]:
            between = [(end[0], start[1])]
        case _:
            between = [(start[0], end[1])]
    return [start, *between, end]


def _arrow(arrow: Arrow, boxes: dict[str, Box]) -> str:
    corners = " ".join(f"{x:g},{y:g}" for x, y in _corners(arrow, boxes))
    return f'<polyline class="line" marker-end="url(#tip)" points="{corners}"/>'


def _label(arrow: Arrow, boxes: dict[str, Box]) -> str:
    (x1, y1), (x2, y2) = longest_part(arrow, boxes)
    return f'<text class="label" x="{(x1 + x2) / 2:g}" y="{(y1 + y2) / 2 + 4:g}">{escape(arrow.label)}</text>'


def _colors(scheme: str) -> str:
    return ";".join(f"--{name}:{color}" for name, color in SCHEMES[scheme].items())


_TIP = (
    '<marker id="tip" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto">'
    '<path class="tip" d="M0 0L10 5L0 10z"/></marker>'
)
_STYLE = f"""<style>
svg{{{_colors("light")};font-family:system-ui,sans-serif;font-size:{TEXT_SIZE}px}}
@media (prefers-color-scheme:dark){{svg{{{_colors("dark")}}}}}
text{{fill:var(--ink);text-anchor:middle}}
.detail,.label{{fill:var(--faint);font-size:{DETAIL_SIZE}px}}
.label{{paint-order:stroke;stroke:var(--paper);stroke-width:6px;stroke-linejoin:round}}
.paper{{fill:var(--paper)}}
.box,.line{{stroke:var(--line);stroke-width:1.2}}
.line{{fill:none}}
.tip{{fill:var(--line)}}
{"".join(f".{kind}{{fill:var(--{kind})}}" for kind in Kind)}
</style>"""
