"""Pictures of the page: for the documentation, or all that is to be looked at before a release."""

import argparse
import sys
import tempfile
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hcloud_sandbox.demo_world import demo_world
from hcloud_sandbox.running import Sandbox, SandboxOptions
from tests.support.assets import folder_of
from tests.support.browser import SCHEMES, WIDTHS, Browser, Scheme
from tests.support.page_worlds import page_worlds, settled_world
from tests.support.shown_page import Person, page_in_a_file, page_of_the_command

_DOCS = Path(__file__).resolve().parents[2] / "docs" / "images"
_LONGEST_S = 60.0
_LATENCY_S = 0.03
"""What a request to Hetzner takes from a server there."""
_TALLEST = 12_000
"""Pixels of a picture of a whole page: what is below is more of the same."""


@dataclass(frozen=True, slots=True)
class Shot:
    """One picture of the documentation."""

    name: str
    scheme: Scheme
    width: int
    height: int
    world: Mapping[str, Any] | None = None
    """None: the demo's, in which something is held."""


def _shots(now: datetime) -> tuple[Shot, ...]:
    down = settled_world(now, nodes=6, services=3, is_down=True)
    return (
        Shot("fresh", "light", 1280, 960, demo_world(now)),
        Shot("well", "dark", 1280, 860, settled_world(now, nodes=6, services=3)),
        Shot("down", "light", 1280, 960, down),
        Shot("held", "light", 1280, 960),
        Shot("large", "dark", 1280, 1100, settled_world(now, nodes=100, services=20, is_down=True)),
        Shot("narrow", "dark", 400, 860, down),
    )


def main() -> int:
    """0, or 1 when there is no browser."""
    parser = argparse.ArgumentParser(prog="scripts/screenshots", description=__doc__)
    parser.add_argument("--all", metavar="FOLDER", type=Path, help="every page of the tests, whole, into this folder")
    folder = parser.parse_args().all
    try:
        assets = folder_of("browser")
    except RuntimeError as missing:
        print(missing, file=sys.stderr)
        return 1
    with closing(Browser(assets)) as browser:
        for written in of_everything(browser, folder) if folder else for_the_documentation(browser):
            print(written)
    return 0


def for_the_documentation(browser: Browser) -> Iterator[Path]:
    """Pictures of six worlds."""
    _DOCS.mkdir(parents=True, exist_ok=True)
    for shot in _shots(datetime.now(UTC)):
        file = _DOCS / f"page-{shot.name}.png"
        with tempfile.TemporaryDirectory() as folder, closing(_shown(browser, shot, Path(folder))) as addresses:
            browser.reset()
            browser.in_scheme(shot.scheme)
            browser.at_width(shot.width, shot.height)
            browser.open(next(addresses))
            browser.picture(file)
        yield file


def _shown(browser: Browser, shot: Shot, folder: Path) -> Generator[str, None, None]:
    """The address of a page of its world, as long as that is wanted. In the demo's a person has deleted a second
    server: the deletions that follow are held."""
    if shot.world is not None:
        yield page_in_a_file(shot.world, folder / "page.html").address
        return
    options = SandboxOptions(world=demo_world(datetime.now(UTC)), latency_s=_LATENCY_S, action_s=0.0)
    with Sandbox(options) as sandbox, page_of_the_command(sandbox, folder) as address:
        person = Person(sandbox)
        person.hcloud("DELETE", "/servers/103")
        person.silence("worker-2")

        def is_held() -> bool:
            browser.open(address)
            return bool(browser.texts("#holds"))

        browser.wait_for(is_held, "hold", _LONGEST_S)
        yield address


def of_everything(browser: Browser, folder: Path) -> Iterator[Path]:
    """Whole pages: each world of the tests, with each scheme and width."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as pages:
        for name, world in page_worlds(datetime.now(UTC)).items():
            page = page_in_a_file(world, Path(pages) / f"{name}.html")
            for scheme in SCHEMES:
                for width in WIDTHS:
                    browser.reset()
                    browser.in_scheme(scheme)
                    browser.at_width(width)
                    browser.open(page.address)
                    tall = int(browser.run("return document.documentElement.scrollHeight"))
                    browser.at_width(width, min(tall, _TALLEST))
                    file = folder / f"{name}-{scheme}-{width}.png"
                    browser.picture(file)
                    yield file


if __name__ == "__main__":
    sys.exit(main())
