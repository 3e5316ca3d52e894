"""How the page holds up: for people who see, read and move otherwise, at each width, and by its own policy."""

import pytest

from tests.support.browser import SCHEMES, WIDTHS, Browser, Scheme
from tests.support.shown_page import ShownPage


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("world", ["eventful", "down", "empty"])
def test_accessible(browser: Browser, pages: dict[str, ShownPage], world: str, scheme: Scheme) -> None:
    """With every fold open: nothing is found, the contrast of colors included."""
    browser.in_scheme(scheme)
    browser.open(pages[world].address)
    browser.unfold()

    assert browser.accessibility() == []


@pytest.mark.parametrize("world", ["demo", "eventful", "large", "down", "empty"])
def test_fits_the_window(browser: Browser, pages: dict[str, ShownPage], world: str) -> None:
    """At each width nobody scrolls sideways, with closed and with open folds."""
    browser.open(pages[world].address)

    for opened in ("some folds", "all folds"):
        for width in WIDTHS:
            browser.at_width(width)
            assert browser.beyond_the_right() == [], (opened, width)
        browser.unfold()


@pytest.mark.parametrize("world", ["well", "down"])
def test_100_nodes_and_20_services_take_two_screens(browser: Browser, pages: dict[str, ShownPage], world: str) -> None:
    """Of a laptop, whether all is well or a Service with 30 ports is down."""
    browser.open(pages[world].address)

    assert browser.run("return document.documentElement.scrollHeight") <= 1800


@pytest.mark.parametrize(("width", "shown"), [(400, "block"), (1280, "table-row")])
def test_tables_that_fit(browser: Browser, pages: dict[str, ShownPage], width: int, shown: str) -> None:
    """Services and Nodes with all that is folded are tables on a laptop and cards on a telephone: neither scrolls
    sideways, and every cell says what it has."""
    browser.at_width(width)
    browser.open(pages["down"].address)
    browser.unfold()

    assert browser.run("return getComputedStyle(document.querySelector('.cards tbody tr')).display") == shown
    sideways = (
        "return [...document.querySelectorAll('#states .scroll')].filter(e => e.scrollWidth > e.clientWidth).length"
    )
    assert browser.run(sideways) == 0
    said = "return getComputedStyle(document.querySelector('.cards td'), '::before').content"
    assert browser.run(said) == ('"state"' if shown == "block" else "none")


def test_names_of_fields_are_whole(browser: Browser, pages: dict[str, ShownPage]) -> None:
    """Labels begin alike, so that cut off one could not be told from the other."""
    browser.open(pages["demo"].address)
    browser.unfold()
    cut = (
        "return [...document.querySelectorAll('#plan th .key')].filter(each => each.scrollWidth > each.clientWidth + 1)"
    )

    for width in WIDTHS:
        browser.at_width(width)
        whole = browser.run(f"{cut}.filter(each => getComputedStyle(each).overflow !== 'visible').length")
        assert whole == 0, width


@pytest.mark.parametrize("world", ["demo", "eventful", "large", "empty"])
def test_asks_for_nothing_and_says_nothing(browser: Browser, pages: dict[str, ShownPage], world: str) -> None:
    """One request, for the file; no message in the console, which would tell of violations of the policy as well."""
    browser.open(pages[world].address)
    browser.unfold()
    assert browser.requests() == [pages[world].address]
    assert browser.console() == []
