"""Uses of the page: follow links, fold, use the keyboard alone, or no script."""

from collections import Counter

import pytest
from selenium.webdriver.common.keys import Keys

from tests.support.browser import Browser
from tests.support.shown_page import ShownPage

_IN_SIGHT = """
const element = document.getElementById(decodeURIComponent(location.hash.slice(1)));
if (!element || !element.checkVisibility()) return false;
const box = element.getBoundingClientRect();
return box.bottom > 0 && box.top < innerHeight;
"""
_UNCOVERED = """
const heading = document.querySelector(`${location.hash} h2`).getBoundingClientRect();
return heading.top >= document.querySelector('nav').getBoundingClientRect().bottom - 1 && heading.bottom <= innerHeight;
"""
_FOCUSABLE = """
return [...document.querySelectorAll('a[href], summary, [tabindex="0"]')]
  .filter(each => each.checkVisibility() && !each.disabled && each.getAttribute('tabindex') !== '-1').length;
"""
_MARK_FOCUS = """
const has = document.activeElement, style = getComputedStyle(has);
const seen = has !== document.body && style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2;
const before = window.last;
window.last = has;
const follows = !before || !!(before.compareDocumentPosition(has) & Node.DOCUMENT_POSITION_FOLLOWING);
return [seen, follows, has.outerHTML.slice(0, 120)];
"""


def test_links_lead_somewhere(browser: Browser, eventful: ShownPage) -> None:
    """Each id is there once, and each link within the page leads to one."""
    ids = browser.run("return [...document.querySelectorAll('[id]')].map(each => each.id)")
    assert [each for each, count in Counter(ids).items() if count > 1] == []

    links = browser.run("return [...document.querySelectorAll('a')].map(each => each.getAttribute('href'))")
    assert {link[:1] for link in links} == {"#"}
    assert {browser.run("return decodeURIComponent(arguments[0])", link[1:]) for link in links} <= set(ids)


@pytest.mark.parametrize("width", [320, 1280])
def test_sections_are_one_click_away(browser: Browser, eventful: ShownPage, width: int) -> None:
    """From the navigation, which covers no heading even where it takes several lines."""
    browser.at_width(width)
    links = browser.driver.find_elements("css selector", "nav a")
    assert links
    for link in links:
        link.click()
        assert browser.run(_IN_SIGHT), link.text
        assert browser.run(_UNCOVERED), link.text


@pytest.mark.parametrize(
    "anchor",
    [
        pytest.param("plan/node/worker-3", id="change"),
        pytest.param("plan/node/batch-07", id="change in a fold in a fold"),
        pytest.param("node/worker-1", id="Node"),
        pytest.param("service/default/hostile", id="Service"),
        pytest.param("route/4711/10.244.3.0/24", id="route"),
    ],
)
def test_deep_links(browser: Browser, eventful: ShownPage, anchor: str) -> None:
    """They open what is folded, and bring it into sight: in a page that is opened, and in one that is open."""
    browser.open(f"{eventful.address}#{anchor}")
    assert browser.run(_IN_SIGHT)

    browser.open(eventful.address)
    browser.run("location.hash = arguments[0]", anchor)
    browser.wait_for(lambda: browser.run(_IN_SIGHT), f"{anchor} in sight")


def test_keyboard(browser: Browser, eventful: ShownPage) -> None:
    """Tab visits everything that can be used, in the order of the page, and what has the focus is seen to have it."""
    visited = []
    for _ in range(browser.run(_FOCUSABLE)):
        browser.press(Keys.TAB)
        visited.append(browser.run(_MARK_FOCUS))

    assert [html for seen, _, html in visited if not seen] == []
    assert [html for _, follows, html in visited if not follows] == []
    assert "skip" in visited[0][2]


def test_skip_link(browser: Browser, eventful: ShownPage) -> None:
    """The first Tab shows it, Enter follows it, and the next Tab is in the content."""
    browser.press(Keys.TAB)
    assert browser.focused() == "a #main"

    browser.press(Keys.ENTER)
    browser.press(Keys.TAB)
    assert browser.run("return document.querySelector('main').contains(document.activeElement)")


def test_folds_open_by_keyboard(browser: Browser, eventful: ShownPage) -> None:
    """Enter opens and closes what the focus is on."""
    browser.run("document.querySelector('#plan details:not([open]) > summary').focus()")
    is_open = "return document.activeElement.parentElement.open"

    browser.press(Keys.ENTER)
    assert browser.run(is_open)
    browser.press(Keys.ENTER)
    assert not browser.run(is_open)


def test_without_scripts(browser: Browser, eventful: ShownPage) -> None:
    """The page has none: folds open as ever, and every section says the same."""
    sections = ("#facts", "#status", "#states", "#plan", "#routes", "#holds", "#notes")
    with_scripts = [browser.texts(section) for section in sections]
    assert browser.run("return document.querySelectorAll('script, button, input').length") == 0

    browser.with_scripts(False)
    browser.open(eventful.address)
    assert [browser.texts(section) for section in sections] == with_scripts

    fold = browser.driver.find_element("css selector", "#plan details:not([open])")
    fold.find_element("css selector", "summary").click()
    assert fold.get_attribute("open")
