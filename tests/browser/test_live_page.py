"""The page that is served: it follows what people change by hand, and leaves alone what its reader is at."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from hcloud_sandbox.demo_world import demo_world
from hcloud_sandbox.running import Sandbox, SandboxOptions
from tests.support.browser import SCHEMES, WIDTHS, Browser, Scheme, origin
from tests.support.shown_page import Person, ShownPage, WatchedPage, page_of_the_command, watched_page

_TWO_POLLS_S = 10.0
_ANSWERS_S = 5.0
"""How long an answer may take on a machine that is busy."""
_TARGET = {"type": "server", "server": {"id": 102}}
_NOW = "document.dispatchEvent(new Event('visibilitychange', {bubbles: true}))"
"""What makes the page ask at once: its reader has come back to it."""


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


_SILENCE = """
const given = new AbortController();
AbortSignal.timeout = () => given.signal;
window.asked = 0;
window.give_up = () => given.abort();
window.fetch = (_, how) => new Promise((_, fail) => {
  window.asked += 1;
  how.signal.addEventListener('abort', () => fail(how.signal.reason));
});
"""


_LOGIN = "window.fetch = async () => new Response('<title>Log in</title><form></form>', {headers: {ETag: 'login'}})"


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
    return set(browser.run("return [...document.querySelectorAll('#plan [data-key]')].map(each => each.dataset.key)"))


def test_follows_the_command(browser: Browser, tmp_path: Path) -> None:
    """``reconcile ui`` beside a sandbox: somebody deletes a Service, and takes a target from a load balancer. Two polls
    later both are on the page, which nobody has loaded again. When the command has ended, the page says that it is
    old, and keeps what it shows."""
    shop = "load_balancer/default/shop"
    world = demo_world(datetime.now(UTC))
    with Sandbox(SandboxOptions(world=world)) as sandbox, page_of_the_command(sandbox, tmp_path) as address:
        browser.open(address)
        browser.wait_for(lambda: browser.run(_NOW) or shop in _keys(browser), "plan of the first pass")
        browser.run("window.loaded = 'once'")

        person = Person(sandbox)
        person.kubectl("DELETE", "/api/v1/namespaces/default/services/shop")
        person.hcloud("POST", "/load_balancers/901/actions/remove_target", _TARGET)

        def follows() -> bool:
            keys = _keys(browser)
            return shop not in keys and "load_balancer/default/api/target/server:102" in keys

        browser.wait_for(follows, "what was changed by hand", _TWO_POLLS_S + _ANSWERS_S)
        assert browser.run("return window.loaded") == "once"

    left = _keys(browser)
    browser.run(_NOW)
    browser.wait_for(lambda: "What you see is older" in browser.texts("#trouble")[0], "word that nobody answers")
    assert browser.driver.find_element("id", "trouble").is_displayed()
    assert _keys(browser) == left


def test_keeps_what_the_reader_is_at(browser: Browser, seen: WatchedPage) -> None:
    """Focus, scroll, what is open and closed, and the filter, while the plan around them changes."""
    browser.at_width(800)
    browser.run("document.getElementById('plan/node/worker-4').open = true")
    browser.run("document.getElementById('states/Node/in%20sync').open = true")
    browser.run("document.querySelector('#plan\\\\/route\\\\/4711\\\\/10\\\\.244\\\\.3\\\\.0\\\\/24 summary').focus()")
    browser.run("document.getElementById('map/picture').scrollLeft = 120; scrollTo(0, 300)")
    browser.run(
        "const f = document.getElementById('filter'); f.value = 'worker-4'; f.dispatchEvent(new Event('input'))"
    )
    at = "return [scrollY, document.getElementById('map/picture').scrollLeft]"
    before, focus = browser.run(at), browser.focused()
    assert before[0] > 0
    assert before[1] > 0

    seen.person.kubectl("DELETE", "/api/v1/namespaces/default/services/shop")
    seen.look("watch")
    browser.run(_NOW)
    browser.wait_for(lambda: "service/default/shop/finalizer" not in _keys(browser), "the next pass")

    assert _keys(browser) == {each["key"] for each in seen.report["changes"]}
    assert browser.run("return document.getElementById('plan/node/worker-4').open")
    assert browser.run("return document.getElementById('states/Node/in%20sync').open")
    assert browser.focused() == focus
    assert browser.run(at) == before
    left = browser.run(
        "return [...document.querySelectorAll('#plan [data-row]')].filter(each => !each.hidden)"
        ".map(each => each.textContent.includes('worker-4'))"
    )
    assert all(left)
    assert 0 < len(left) < len(seen.report["changes"])


def test_asks_only_its_own_server(browser: Browser, seen: WatchedPage) -> None:
    """What is new is asked for with the tag of what is there; the console stays empty, whatever the page does."""
    browser.run("document.querySelector('main').firstElementChild.mark = 'the same'")
    browser.run(_NOW)
    browser.wait_for(lambda: f"{seen.address}main/" in browser.requests(), "poll")

    assert browser.run("return document.querySelector('main').firstElementChild.mark") == "the same"
    seen.look()
    browser.run(_NOW)
    browser.wait_for(lambda: "2, took" in browser.texts("#facts")[0], "the next pass")
    assert browser.console() == []
    assert {origin(address) for address in browser.requests()} == {origin(seen.address)}


def test_a_server_that_says_nothing(browser: Browser, seen: WatchedPage) -> None:
    """It is asked once, and not again until that is given up; then the page says so. So a dead ``port-forward`` neither
    goes unnoticed nor fills the connections of the browser."""
    browser.run(_SILENCE)
    for _ in range(3):
        browser.run(_NOW)
    assert browser.run("return window.asked") == 1

    browser.run("window.give_up()")
    browser.wait_for(lambda: "Nothing answers any more" in browser.texts("#trouble")[0], "word that nobody answers")


def test_a_proxy_that_asks_to_log_in_again(browser: Browser, seen: WatchedPage) -> None:
    """Its answer is no page: what stands there stays, with word that it is old."""
    title, shown = browser.driver.title, browser.texts("main")
    browser.run(_LOGIN)
    browser.run(_NOW)

    browser.wait_for(lambda: "Something else answers" in browser.texts("#trouble")[0], "word of another's answer")
    assert (browser.driver.title, browser.texts("main")) == (title, shown)


def test_what_stays_is_not_said_again(browser: Browser, seen: WatchedPage) -> None:
    """A pass that changes nothing leaves the line of the result alone, which screen readers say when it changes."""
    assert browser.texts("#status button")
    browser.run("document.querySelector('#status').firstElementChild.mark = 'the same'")
    seen.look()
    browser.run(_NOW)
    browser.wait_for(lambda: "2, took" in browser.texts("#facts")[0], "the next pass")

    assert browser.run("return document.querySelector('#status').firstElementChild.mark") == "the same"


def test_a_link_to_what_comes_with_the_first_pass(browser: Browser, watched: WatchedPage) -> None:
    """It leads there as soon as it is there."""
    browser.open(f"{watched.address}#node/worker-5")
    watched.look()
    browser.run(_NOW)
    browser.wait_for(lambda: browser.texts("main table"), "the plan")

    assert browser.run("return scrollY") > 0


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


def test_passes_are_shown(browser: Browser, seen: WatchedPage) -> None:
    """Each with a bar and a row of numbers, the latest first."""
    for trigger in ("watch", "", "a change of Node worker-4"):
        seen.look(trigger)
    browser.open(seen.address)

    rows = browser.rows("#passes tbody tr")
    heads = browser.texts("#passes thead th")
    told = [dict(zip(heads, row, strict=True)) for row in rows]
    assert [row["pass"] for row in told] == ["4", "3", "2", "1"]
    assert [row["called by"] for row in told] == ["a change of Node worker-4", "the interval", "watch", "the interval"]
    assert {row["changes"] for row in told} == {str(len(seen.report["changes"]))}
    assert {row["result"] for row in told} == {seen.report["result"]}
    assert browser.run("return document.querySelectorAll('#passes svg rect.bar').length") == 4


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
    """What only a served page has: passes, explanations, and the page before the first pass."""
    browser.in_scheme(scheme)
    for path in ("", "node/worker-1"):
        browser.open(f"{seen.address}{path}")
        assert browser.accessibility() == []


def test_says_how_old_it_is(browser: Browser, seen: WatchedPage) -> None:
    """Also while nothing is new: passes that do not end any more must not look like a world that is still."""
    shown = browser.texts("#facts")[0]
    assert re.search(r"UTC \(\d+ s ago\)", shown)

    browser.run("document.querySelector('#facts time').dateTime = new Date(Date.now() - 3 * 3600e3).toISOString()")

    browser.wait_for(lambda: "(3 h ago)" in browser.texts("#facts")[0], "the age")


def test_before_the_first_pass(browser: Browser, watched: WatchedPage) -> None:
    """It says so, and shows the plan as soon as there is one."""
    browser.open(watched.address)
    assert "no pass has ended yet" in browser.texts("#status")[0]
    assert browser.accessibility() == []

    watched.look()
    browser.run(_NOW)
    browser.wait_for(lambda: _keys(browser) == {each["key"] for each in watched.report["changes"]}, "plan")
    assert browser.run("return document.querySelector('nav a').getAttribute('href')") == "#states"


def test_a_token_that_was_revoked(browser: Browser, seen: WatchedPage) -> None:
    """The page says what the report says, and offers no command that would fail as well."""
    assert "reconcile apply" in browser.texts("#status")[0]
    seen.lose_the_token()
    seen.look()
    browser.run(_NOW)
    browser.wait_for(lambda: seen.report["result"] in browser.texts("#status")[0], "the error")

    (status,) = browser.texts("#status")
    assert seen.report["result"] != "changes"
    gaps = [each["why_incomplete"] for each in seen.report["sections"].values() if not each["complete"]]
    assert seen.report["errors"] or gaps
    for said in (*seen.report["errors"], *gaps):
        assert said in status
    assert "reconcile apply" not in status
    assert browser.console() == []


def test_without_scripts(browser: Browser, seen: WatchedPage) -> None:
    """The browser loads it again by itself, twice a minute."""
    browser.with_scripts(False)
    browser.open(seen.address)

    assert browser.run("return document.querySelector('meta[http-equiv=refresh]').content") == "30"
    assert _keys(browser) == {each["key"] for each in seen.report["changes"]}
