"""The diagrams in docs/images are what scripts/diagrams makes; ``UPDATE_DOCS=1`` writes them anew. They can
be read."""

import os
import re
from itertools import combinations, product
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from diagrams import DIAGRAMS
from drawing import (
    BOX_HEIGHT,
    BOX_WIDTH,
    DETAIL_SIZE,
    SCHEMES,
    TEXT_SIZE,
    Arrow,
    Box,
    Kind,
    longest_part,
    svg,
    width_of,
)

_IMAGES = Path(__file__).resolve().parents[2] / "docs" / "images"
_CONTRAST = 4.5
"""What WCAG asks of text of this size."""


@pytest.mark.parametrize("name", DIAGRAMS)
def test_the_file_is_what_the_script_makes(name: str) -> None:
    """Byte by byte."""
    file = _IMAGES / f"{name}.svg"
    if os.environ.get("UPDATE_DOCS"):
        file.write_text(svg(DIAGRAMS[name]), "utf-8")

    assert file.read_text("utf-8") == svg(DIAGRAMS[name])


def test_no_file_is_left_over() -> None:
    """Each picture of this form has its description here."""
    assert {file.stem for file in _IMAGES.glob("*.svg")} == set(DIAGRAMS)


@pytest.mark.parametrize("name", DIAGRAMS)
def test_nothing_of_it_is_elsewhere(name: str) -> None:
    """It is well-formed, has words for who does not see it, and fetches and runs nothing."""
    root = ET.fromstring(svg(DIAGRAMS[name]))  # made here
    elements = [element.tag.rpartition("}")[2] for element in root.iter()]

    assert elements[:3] == ["svg", "title", "desc"]
    assert {"script", "image", "use", "foreignObject", "a"} & set(elements) == set()
    assert re.findall(r"@import|url\((?!#)|href|src=|https?:(?!//www\.w3\.org/2000/svg)", svg(DIAGRAMS[name])) == []


@pytest.mark.parametrize("name", DIAGRAMS)
def test_words_fit(name: str) -> None:
    """Those in a box between its sides, those on an arrow between its ends; and no box stands on another one."""
    boxes = DIAGRAMS[name].boxes
    named = [(box.name, width_of(box.name, TEXT_SIZE)) for box in boxes.values()]
    detailed = [(box.detail, width_of(box.detail, DETAIL_SIZE)) for box in boxes.values()]
    labelled = [
        (arrow.label, width_of(arrow.label, DETAIL_SIZE), _room(arrow, boxes)) for arrow in DIAGRAMS[name].arrows
    ]

    assert [text for text, width in (*named, *detailed) if width > BOX_WIDTH - 8] == []
    assert [text for text, width, room in labelled if width > room - 12] == []
    assert [pair for pair in combinations(boxes.values(), 2) if _overlap(*pair)] == []


@pytest.mark.parametrize(("scheme", "ink", "ground"), [*product(SCHEMES, ("ink", "faint"), ("paper", *Kind))])
def test_words_stand_out(scheme: str, ink: str, ground: str) -> None:
    """In both color schemes, on the paper and on each kind of box."""
    dark, light = sorted((_luminance(SCHEMES[scheme][ink]), _luminance(SCHEMES[scheme][ground])))

    assert (light + 0.05) / (dark + 0.05) >= _CONTRAST


def _room(arrow: Arrow, boxes: dict[str, Box]) -> float:
    """Pixels for the label of an arrow: without end where that stands beside a line that goes down."""
    (x1, y1), (x2, y2) = longest_part(arrow, boxes)
    return abs(x1 - x2) if y1 == y2 else float("inf")


def _overlap(one: Box, other: Box) -> bool:
    return abs(one.left - other.left) < BOX_WIDTH and abs(one.top - other.top) < BOX_HEIGHT


def _luminance(color: str) -> float:
    """Relative luminance as WCAG defines it."""
    parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
