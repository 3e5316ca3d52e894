"""What the checks of this lane find: each of them in a page that has the fault, and in none that has not."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.browser import Browser

_SOUND = "<main><h1>Sound</h1><p>A page without a fault.</p></main>"


@pytest.fixture
def show(browser: Browser, tmp_path: Path) -> Callable[[str], Browser]:
    """Opens a page with this body from a file."""

    def shown(body: str) -> Browser:
        file = tmp_path / "page.html"
        head = '<meta charset="utf-8"><title>Checks</title>'
        file.write_text(f'<!doctype html><html lang="en"><head>{head}</head><body>{body}</body></html>', "utf-8")
        browser.open(file.as_uri())
        return browser

    return shown


def test_nothing(show: Callable[[str], Browser]) -> None:
    """A sound page."""
    browser = show(_SOUND)

    assert browser.accessibility() == []
    assert browser.beyond_the_right() == []
    assert browser.console() == []
    assert len(browser.requests()) == 1


def test_accessibility(show: Callable[[str], Browser]) -> None:
    """Grey on grey, in a fold that is open."""
    browser = show(
        _SOUND.replace("<p>", '<details><summary>More</summary><p style="color:#aaa">').replace(
            "</p>", "</p></details>"
        )
    )

    assert browser.accessibility() == []
    browser.unfold()
    assert [finding.rule for finding in browser.accessibility()] == ["color-contrast"]


@pytest.mark.parametrize(
    ("width", "too_wide"),
    [pytest.param(320, ["div#wide", "i#hidden"], id="narrow"), pytest.param(1280, [], id="wide")],
)
def test_sideways_scroll(show: Callable[[str], Browser], width: int, too_wide: list[str]) -> None:
    """A box of 600 pixels, and a text for screen readers only that escapes from one. What scrolls in a box of its own
    is no fault."""
    wide = '<div id="{}" style="width:600px">x</div>'
    escaping = '<i id="hidden" style="position:absolute;left:400px">y</i>'
    scrolled = f'<div style="overflow:auto">{wide.format("other")}{escaping}</div>'
    browser = show(wide.format("wide") + scrolled)
    browser.at_width(width)

    assert browser.beyond_the_right() == too_wide


def test_console_and_requests(show: Callable[[str], Browser]) -> None:
    """A message, and a picture from elsewhere that the policy forbids."""
    elsewhere = "http://127.0.0.1:9/picture.png"
    policy = '<meta http-equiv="Content-Security-Policy" content="img-src \'none\'">'
    browser = show(f'{policy}<img src="{elsewhere}" alt=""><script>console.debug("said")</script>')

    said = browser.console()
    assert any("said" in line for line in said)
    assert any("Content Security Policy" in line for line in said)
    assert elsewhere in browser.requests()


def test_scripts_and_schemes(show: Callable[[str], Browser]) -> None:
    """Scripts off, and the color that is preferred."""
    browser = show('<p id="p">untouched</p><script>p.textContent = "run"</script>')
    assert browser.texts("p") == ["run"]

    browser.with_scripts(False)
    browser.in_scheme("dark")
    browser.driver.refresh()
    assert browser.texts("p") == ["untouched"]
    assert browser.run("return matchMedia('(prefers-color-scheme: dark)').matches")
