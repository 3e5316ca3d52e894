"""The page that is served: it follows changes by hand, and keeps all others out."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from hcloud_sandbox.demo_world import demo_world
from hcloud_sandbox.running import Sandbox, SandboxOptions
from tests.support.browser import SCHEMES, WIDTHS, Browser, Scheme, origin
from tests.support.shown_page import Person, ShownPage, WatchedPage, page_of_the_command, watched_page

_TARGET = {"type": "server", "server": {"id": 102}}


_SMUGGLE = """
const add = (name, set) => document.body.append(Object.assign(document.createElement(name), set));
add('script', {textContent: 'window.ran = true'});
add('style', {textContent: 'body { color: rgb(1, 2, 3) }'});
add('img', {src: 'http://127.0.0.1:9/picture.png'});
add('iframe', {src: 'http://127.0.0.1:9/'});
document.body.setAttribute('onclick', 'window.ran = true');
document.body.click();
document.body.setAttribute('style', 'color: rgb(1, 2, 3)');
fetch('http://127.0.0.1:9/').catch(() => { window.refused = true; });
"""


_REACH = """
const refused = () => 'refused', asked = ['cors', 'no-cors'].map(mode => fetch(arguments[0], {mode}));
Promise.all(asked.map(each => each.then(() => 'answered', refused))).then(all => { window.got = all; });
"""


@pytest.fixture
def watched() -> Iterator[WatchedPage]:
    """The page of the demo's world, before the first pass."""
    with watched_page(demo_world(datetime.now(UTC))) as page:
        yield page


@pytest.fixture
def seen(browser: Browser, watched: WatchedPage) -> WatchedPage:
    """The page after the first pass, which the browser shows."""
    watched.look()
    browser.open(watched.address)
    return watched


def _keys(browser: Browser) -> set[str]:
    return set(
        browser.run(
            "return [...document.querySelectorAll(':is(#plan, #holds) [data-key]')].map(each => each.dataset.key)"
        )
    )


def test_follows_the_command(browser: Browser, tmp_path: Path) -> None:
    """``reconcile ui`` beside a sandbox: somebody deletes a Service, and takes a target from a load balancer. The page
    that is loaded again has both, and asks no other server."""
    shop = "load_balancer/default/shop"
    world = demo_world(datetime.now(UTC))
    with Sandbox(SandboxOptions(world=world)) as sandbox, page_of_the_command(sandbox, tmp_path) as address:

        def keys() -> set[str]:
            browser.open(address)
            return _keys(browser)

        browser.wait_for(lambda: shop in keys(), "plan of the first pass")
        person = Person(sandbox)
        person.kubectl("DELETE", "/api/v1/namespaces/default/services/shop")
        person.hcloud("POST", "/load_balancers/901/actions/remove_target", _TARGET)

        def follows() -> bool:
            found = keys()
            return shop not in found and "load_balancer/default/api/target/server:102" in found

        browser.wait_for(follows, "changes by hand")
        assert {origin(each) for each in browser.requests()} == {origin(address)}


def test_it_stands_still_on_demand(browser: Browser, seen: WatchedPage) -> None:
    """A reader needs more than half a minute at times."""
    refresh = "return document.querySelectorAll('meta[http-equiv=refresh]').length"
    assert browser.run(refresh) == 1
    browser.driver.find_element("link text", "stop").click()
    browser.wait_for(lambda: browser.run(refresh) == 0, "page without a refresh")
    browser.driver.find_element("link text", "go on").click()
    browser.wait_for(lambda: browser.run(refresh) == 1, "page with a refresh")


def test_what_is_smuggled_in_does_nothing(browser: Browser, seen: WatchedPage, pages: dict[str, ShownPage]) -> None:
    """Served and in a file, the policy stops scripts, styles, pictures, frames and requests that are not the page's."""
    for address in (seen.address, pages["demo"].address):
        browser.open(address)
        assert browser.console() == []
        browser.run(_SMUGGLE)
        browser.wait_for(lambda: browser.run("return window.refused"), "refusal of a request")

        assert not browser.run("return window.ran")
        assert browser.run("return getComputedStyle(document.body).color") != "rgb(1, 2, 3)"
        stopped = " ".join(browser.console())
        for directive in ("script-src", "style-src", "connect-src", "img-src", "frame-src"):
            assert directive in stopped, (address, directive)


def test_no_other_page_gets_at_it(browser: Browser, watched: WatchedPage, tmp_path: Path) -> None:
    """A page from elsewhere, which its reader has open as well, can neither fetch nor frame it."""
    watched.look()
    elsewhere = tmp_path / "elsewhere.html"
    elsewhere.write_text(f'<!doctype html><title>Elsewhere</title><iframe src="{watched.address}"></iframe>', "utf-8")
    browser.open(elsewhere.as_uri())
    browser.run(_REACH, watched.address)

    got = browser.wait_for(lambda: browser.run("return window.got"), "answers")
    assert got == ["refused", "refused"]
    assert any("frame-ancestors" in said for said in browser.console())


def test_an_object_is_explained_one_click_away(browser: Browser, seen: WatchedPage) -> None:
    """As ``reconcile explain`` does it, and the way back leads to where the object stands. Nobody has to scroll aside
    to find the link."""
    right = "return document.querySelector('tr[data-key=\"node/worker-1\"] a').getBoundingClientRect().right"
    for width in WIDTHS:
        browser.at_width(width)
        assert browser.run(right) <= width
    browser.run("document.querySelector('tr[data-key=\"node/worker-1\"] a').click()")
    browser.wait_for(lambda: browser.driver.current_url == f"{seen.address}node/worker-1", "explanation")

    (said,) = browser.texts("main .explained")
    assert "node/worker-1" in browser.texts("main h2")[0]
    assert "cpx32 -> cpx42" in said
    assert browser.beyond_the_right() == []
    browser.driver.find_element("link text", "the whole page").click()
    browser.wait_for(lambda: browser.driver.current_url.endswith("#node/worker-1"), "the way back")


@pytest.mark.parametrize("scheme", SCHEMES)
def test_accessible(browser: Browser, seen: WatchedPage, scheme: Scheme) -> None:
    """The page and an explanation. The rule against a refresh does not know that a reader can stop it (WCAG 2.2.1)."""
    browser.in_scheme(scheme)
    for path in ("?still", "node/worker-1?still"):
        browser.open(f"{seen.address}{path}")
        assert browser.accessibility() == []


def test_before_the_first_pass(browser: Browser, watched: WatchedPage) -> None:
    """It says so, and shows the plan as soon as there is one."""
    browser.open(watched.address)
    assert "no pass has ended yet" in browser.texts("#status")[0]

    watched.look()
    browser.open(watched.address)
    assert _keys(browser) == {each["key"] for each in watched.report["changes"]}
    assert browser.run("return document.querySelector('nav a').getAttribute('href')") == "#states"


def test_a_token_that_was_revoked(browser: Browser, seen: WatchedPage) -> None:
    """The page says what the report says, and offers no command that would fail as well."""
    assert "reconcile apply" in browser.texts("#status")[0]
    seen.lose_the_token()
    seen.look()
    browser.open(seen.address)

    assert seen.report["result"] in browser.texts("#status")[0]
    (status,) = browser.texts("#status")
    assert seen.report["result"] != "changes"
    gaps = [each["why_incomplete"] for each in seen.report["sections"].values() if not each["complete"]]
    assert seen.report["errors"] or gaps
    for said in (*seen.report["errors"], *gaps):
        assert said in status
    assert "reconcile apply" not in status
    assert browser.console() == []
