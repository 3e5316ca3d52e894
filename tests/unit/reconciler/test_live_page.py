"""The live page: what is answered to whom, when it is made, and what a pass pays for it."""

import gzip
import re
import socket
import threading
import time
import weakref
from collections import Counter
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from html import unescape
from urllib.parse import urldefrag, urljoin

import pytest

from actuators.outcome import Failed
from reconciler.config.config import ConfigurationError
from reconciler.page.live import HEADERS, LivePage
from reconciler.result import Line, Report, Requests
from reconciler.telemetry import logs
from reconciler.telemetry.serving import Limits, Request, ServedPage, serve_page
from tests.balancers import a_balancer, a_served_service, a_world
from tests.builders import a_change, a_server, a_settled_node, a_snapshot, incomplete
from tests.support.judging import decided
from tests.support.pages import Element, read_page
from tests.unit.reconciler.test_serving import send

HERE = ("127.0.0.1", 0)
REPORT = decided(
    Report(
        snapshot=a_world([a_served_service()], [a_balancer()], nodes=[a_settled_node()], servers=[a_server()]),
        requests=Requests(2, 3),
    )
)


@dataclass
class Stage:
    """A live page whose time only the test moves."""

    now: float = 1000.0
    rested: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page = LivePage(("page.example.com",), clock=lambda: self.now, rest=self.rested.append)

    def ask(self, path: str = "/", host: str = "127.0.0.1:8234", **more: str) -> ServedPage:
        return self.page.answer(Request(path=path, host=host, **more))

    def shown(self, path: str = "/") -> Element:
        answer = self.ask(path)
        assert answer.status == 200, answer
        return read_page(answer.body.decode())


OURS = (
    "127.0.0.1 127.0.0.1:8234 [::1]:8234 10.1.2.3:80 localhost:8234 LOCALHOST. page.example.com "
    "Page.Example.com:443 [fe80::1%25eth0]:8234"
)
OTHERS = (
    "evil.example evil.example:8234 page.example.com.evil.example 127.0.0.1.evil.example localhost.evil.example "
    "evil.example:port 127.0.0.1@evil.example 127.0.0.1%evil.example [::1]evil.example [127.0.0.1] :8234 [::1"
)


@pytest.mark.parametrize(
    ("host", "status"),
    [
        *((host, 200) for host in OURS.split()),
        *((host, 421) for host in ["", "evil.example, a.localhost", *OTHERS.split()]),
    ],
)
def test_hosts(host: str, status: int) -> None:
    """A page of another name that leads here gets nothing, be it by a name that a stranger's DNS gives this address."""
    assert Stage().ask(host=host).status == status


FOUND = "/ /node/web-1 /service/default/web"
NOWHERE = (
    "/node/other /node/web-1/ /node/.. /../node/web-1 /node/%2e%2e /node/default%2Fweb /service/default%2Fweb "
    "/service/web /route/4/10.0.0.0 /main /livez"
)


@pytest.mark.parametrize(
    ("path", "status"),
    [
        *((path, 200) for path in FOUND.split()),
        *((path, 404) for path in [*NOWHERE.split(), f"/node/{'x' * 5000}"]),
        ("/favicon.ico", 204),
    ],
)
def test_paths(path: str, status: int) -> None:
    """The page, and the explanation of an object that exists."""
    stage = Stage()
    stage.page.ended(REPORT)

    assert stage.ask(path).status == status


def test_a_page_before_there_is_a_plan() -> None:
    """It says so, and has its sections when the first pass has ended."""
    stage = Stage()
    stage.page.began()
    before = stage.shown()
    stage.page.ended(REPORT)
    after = stage.shown()

    assert before.by_id("status").text == "No plan here: no pass has ended yet: this page follows"
    assert [section.attributes["id"] for section in before.by_id("main").named("section")] == []
    assert after.by_id("status").text.startswith("no_changes")


def test_the_age_of_the_last_pass() -> None:
    """Passes that end no more must not look like a world at rest."""
    stage = Stage()
    assert "The last pass ended" not in stage.shown().text
    stage.page.ended(REPORT)
    assert "The last pass ended less than a minute ago." in stage.shown().text
    stage.now += 3 * 3600
    assert "The last pass ended 3 h ago." in stage.shown().text


def test_a_standby_names_the_leader() -> None:
    stage = Stage()
    stage.page.ended(REPORT)
    stage.page.stands_by("kube-2 leads")
    assert "kube-2 leads" in stage.shown().by_id("status").text

    stage.page.leads("kube-1")
    stage.page.ended(REPORT)

    assert "kube-1" in stage.shown().by_id("facts").text
    assert "kube-2" not in stage.shown().by_id("status").text


def test_who_leads_is_told_of_every_pass() -> None:
    """Also when nobody has looked before, or for long, and in between."""
    stage = Stage()
    stage.page.leads("kube-1")
    for _ in range(2):
        stage.page.began()
        assert "kube-1" in stage.shown().by_id("facts").text
        stage.page.ended(REPORT)
        assert "kube-1" in stage.shown().by_id("facts").text
        stage.now += 500


@pytest.mark.parametrize("path", ["/", "/node/web-1"])
def test_it_is_loaded_again_until_that_is_stopped(path: str) -> None:
    """The choice is in the address, so that nothing needs a script. A refresh without an address does nothing on a page
    with a fragment."""
    stage = Stage()
    stage.page.ended(REPORT)
    again, still = stage.shown(path), read_page(stage.ask(path, query="still").body.decode())

    assert [meta.attributes["content"] for meta in again.named("meta") if "http-equiv" in meta.attributes] == [
        "30; url=?"
    ]
    assert [meta for meta in still.named("meta") if "http-equiv" in meta.attributes] == []
    assert [link for link in _links(again) if link and link.startswith("?")] == ["?still"]
    assert [link for link in _links(still) if link and link.startswith("?")] == ["?"]


@pytest.mark.parametrize(
    ("accepted", "is_small"),
    [
        ("gzip, deflate, br", True),
        ("br;q=1.0, gzip;q=0.5", True),
        ("*", True),
        ("gzip;q=0", False),
        ("br", False),
        ("", False),
    ],
)
def test_compression(accepted: str, is_small: bool) -> None:
    stage = Stage()
    stage.page.ended(REPORT)
    plain, answer = stage.ask(), stage.ask(accept_encoding=accepted)

    assert answer.headers.get("Content-Encoding") == ("gzip" if is_small else None)
    assert (gzip.decompress(answer.body) if is_small else answer.body) == plain.body


def test_it_is_made_once_for_all_who_ask() -> None:
    """Until the next pass has ended; and then not before a rest, so that nobody keeps the process busy by asking."""
    stage = Stage()
    ticks = iter(range(10_000))
    page = LivePage(clock=lambda: float(next(ticks)), rest=stage.rested.append)
    page.ended(REPORT)
    bodies = {page.answer(Request(host="localhost")).body for _ in range(20)}
    assert (len(bodies), stage.rested) == (1, [])

    page.ended(REPORT)
    page.answer(Request(host="localhost"))
    for _ in range(3):
        page.answer(Request(host="localhost", path="/node/web-1"))

    assert all(wait_s > 0 for wait_s in stage.rested)


def test_what_is_not_there_costs_as_much() -> None:
    """Whoever asks on and on for objects that do not exist keeps the process no busier."""
    ticks, rested = iter(range(10_000)), list[float]()
    page = LivePage(clock=lambda: float(next(ticks)), rest=rested.append)
    page.ended(REPORT)

    for number in range(5):
        assert page.answer(Request(host="localhost", path=f"/node/none-{number}")).status == 404

    assert len(rested) == 4


def test_what_is_made_already_waits_for_nothing() -> None:
    """While something else is being made; and of those who wait for that, there are only so many."""
    making, goes_on, statuses = threading.Event(), threading.Event(), list[int]()

    def rest(_: float) -> None:
        making.set()
        goes_on.wait(20)

    ticks = iter(range(10_000))
    page = LivePage(clock=lambda: float(next(ticks)), rest=rest)
    page.ended(REPORT)
    page.answer(Request(host="localhost"))
    ask = partial(page.answer, Request(host="localhost", path="/node/web-1"))
    readers = [threading.Thread(target=lambda: statuses.append(ask().status), daemon=True) for _ in range(200)]
    for reader in readers:
        reader.start()
    assert making.wait(20)

    assert page.answer(Request(host="localhost")).status == 200
    assert ask().headers["Refresh"] == "5"

    goes_on.set()
    for reader in readers:
        reader.join(20)
    assert Counter(statuses) == {200: 8, 503: 192}


def test_a_pass_waits_for_no_reader() -> None:
    making, goes_on = threading.Event(), threading.Event()

    def rest(_: float) -> None:
        making.set()
        goes_on.wait(20)

    ticks = iter(range(10_000))
    page = LivePage(clock=lambda: float(next(ticks)), rest=rest)
    page.ended(REPORT)
    page.answer(Request(host="localhost"))
    page.ended(REPORT)
    reader = threading.Thread(target=lambda: page.answer(Request(host="localhost")), daemon=True)
    reader.start()
    assert making.wait(20)

    page.began()
    page.ended(REPORT)

    goes_on.set()
    reader.join(20)
    assert not reader.is_alive()


def test_a_pass_that_ends_while_a_page_waits_to_be_made() -> None:
    """The page is then the newer one, as a whole."""
    ticks = iter(range(10_000))

    def rest(_: float) -> None:
        page.ended(Report(errors=("no answer",)))

    page = LivePage(clock=lambda: float(next(ticks)), rest=rest)
    page.ended(REPORT)
    page.answer(Request(host="localhost"))
    page.ended(REPORT)
    answer = page.answer(Request(host="localhost"))

    shown = read_page(answer.body.decode())
    assert "no answer" in shown.by_id("status").text
    assert page.answer(Request(host="localhost")).body == answer.body


def test_a_standby_keeps_no_world() -> None:
    """What it saw while it led is of no use to it any more."""

    class Seen(Report):
        """A report of which is known whether it is there."""

    stage, report = Stage(), Seen(snapshot=REPORT.snapshot)
    stage.page.ended(report)
    stage.shown()
    seen = weakref.ref(report)
    del report
    stage.page.stands_by("kube-2 leads")

    assert seen() is None


def test_what_nobody_looks_at_is_let_go_of() -> None:
    """When a pass begins, its world is not kept beside the last one's, unless somebody looks."""
    stage = Stage()
    stage.page.ended(REPORT)
    stage.page.began()
    assert "a pass is running" in stage.shown().by_id("status").text

    stage.page.ended(REPORT)
    stage.shown()
    stage.now += 100
    stage.page.began()
    assert stage.shown().by_id("status").text.startswith("no_changes")

    stage.now += 121
    stage.page.began()
    assert "a pass is running" in stage.shown().by_id("status").text


def test_the_explanation_of_an_object() -> None:
    """In the words of the command, with a link back to where the object stands."""
    stage = Stage()
    stage.page.ended(REPORT)
    page = stage.shown("/service/default/web")

    assert "load balancer" in page.by_id("main").text.lower()
    assert "../../#service/default/web" in _links(page)
    assert "./service/default/web" in _links(stage.shown())


@pytest.mark.parametrize("path", ["/", "/node/web-1", "/service/default/web"])
def test_below_a_path_that_a_proxy_takes_away(path: str) -> None:
    """A link is found from the page, not from the root."""
    stage, below = Stage(), "http://proxy.example/hetzner/prod"
    stage.page.ended(REPORT)
    page = stage.shown(path)

    for link in filter(None, _links(page)):
        address = urldefrag(urljoin(f"{below}{path}", link)).url
        assert address.startswith(f"{below}/")
        assert stage.ask(address.removeprefix(below).partition("?")[0]).status == 200


def test_no_secret_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """An API or a proxy may repeat what it was sent: in an error, in the outcome of a change, in why a list is not
    whole. Everything else stays as it is."""
    monkeypatch.setattr(logs, "_SECRETS", logs.Redactor())
    logs.hide("t0ken-of-hetzner", "pass<&word")
    said = "it said <b> t0ken-of-hetzner"
    node = incomplete(a_snapshot([a_settled_node()]).nodes, f"{said}, pass<&word, Authorization: Bearer abcdef")
    report = Report(snapshot=replace(a_snapshot(), nodes=node), errors=(said,), lines=(Line(a_change(), Failed(said)),))
    stage = Stage()
    stage.page.ended(decided(report))

    for path in ("/", "/node/web-1", "/node/web-2"):
        shown = unescape(stage.ask(path).body.decode())
        assert not re.search("t0ken|pass<&|abcdef", shown), path
    assert stage.shown().by_id("status").text.count("it said <b> ***") == 2
    assert stage.shown().by_id("plan").text.count("it said <b> ***") == 1


def _links(page: Element) -> list[str | None]:
    return [link.attributes["href"] for link in page.with_attribute("href")]


def asked(port: int, *lines: str) -> tuple[str, dict[str, str], bytes]:
    head, _, body = send(
        port, "\r\n".join((*lines, "Connection: close", "", "")).encode(), until_closed=True
    ).partition(b"\r\n\r\n")
    status, *rest = head.decode().split("\r\n")
    return status.split(" ", 1)[1], dict(line.split(": ", 1) for line in rest), body


@pytest.mark.parametrize(
    ("lines", "status"),
    [
        (("GET / HTTP/1.1", "Host: localhost"), "200 OK"),
        (("HEAD / HTTP/1.1", "Host: localhost"), "200 OK"),
        (("GET /none HTTP/1.1", "Host: localhost"), "404 Not Found"),
        (("GET / HTTP/1.1", "Host: evil.example"), "421 Misdirected Request"),
        (("GET / HTTP/1.1", "Host: localhost", "Host: localhost"), "421 Misdirected Request"),
        (("GET / HTTP/1.1",), "421 Misdirected Request"),
        (("GET http://evil.example/ HTTP/1.1", "Host: localhost"), "404 Not Found"),
        (("POST / HTTP/1.1", "Host: localhost"), "405 Method Not Allowed"),
        (("OPTIONS / HTTP/1.1", "Host: localhost", "Origin: http://evil.example"), "405 Method Not Allowed"),
        (("GET / HTTP/1.1", f"Host: {'x' * 20_000}"), "431 Request Header Fields Too Large"),
    ],
)
def test_on_the_wire(lines: tuple[str, ...], status: str) -> None:
    """Every answer, refusals included, has the headers that keep other origins out, and is stored by nobody."""
    page = LivePage()
    page.ended(REPORT)
    with closing(serve_page(page.answer, HERE, HEADERS)) as server:
        found, headers, body = asked(server.ports()[0], *lines)

    assert found == status
    assert HEADERS.items() <= headers.items()
    assert not [name for name in headers if name.lower().startswith("access-control")]
    assert headers["Cache-Control"] == "no-store"
    assert (not body) == lines[0].startswith("HEAD")


def test_many_who_ask_and_do_not_read() -> None:
    """Neither the next one who asks waits for them, nor a pass."""
    page = LivePage(rest=lambda _: None)
    page.ended(REPORT)
    with closing(serve_page(page.answer, HERE, HEADERS)) as server, ExitStack() as idle:
        (port,) = server.ports()
        for _ in range(200):
            connection = idle.enter_context(socket.create_connection(("127.0.0.1", port), timeout=20))
            connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        page.began()
        page.ended(REPORT)

        status, _, body = asked(port, "GET / HTTP/1.1", "Host: localhost")

    assert status == "200 OK"
    assert body.endswith(b"</html>\n")


def test_a_slow_reader_is_given_up() -> None:
    """Who takes the answer byte by byte gets no more time than who takes it at once."""
    long = ServedPage(200, b"x" * 32_000_000)
    limits = Limits(patience_s=0.2)
    with closing(serve_page(lambda _: long, HERE, HEADERS, limits)) as server, socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.settimeout(20)
        connection.connect(("127.0.0.1", server.ports()[0]))
        connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        began, found = time.monotonic(), 0
        while time.monotonic() - began < 0.4:
            found += len(connection.recv(1))
        with suppress(ConnectionResetError):
            while more := len(connection.recv(1_000_000)):
                found += more

    assert 0 < found < len(long.body)


def test_of_many_requests_that_come_together_two_are_answered() -> None:
    """Hundreds fit into one packet: with an answer to each, who reads none of them fills the memory."""
    asked: list[str] = []

    def answer(request: Request) -> ServedPage:
        asked.append(request.path)
        return ServedPage(200, b"x" * 100_000)

    with closing(serve_page(answer, HERE, HEADERS, Limits(patience_s=5))) as server, socket.socket() as connection:
        connection.settimeout(20)
        connection.connect(("127.0.0.1", server.ports()[0]))
        connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" * 150)
        found = b""
        with suppress(ConnectionResetError):
            while more := connection.recv(1_000_000):
                found += more

    assert asked == ["/"] * 2
    assert found.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"Connection: close\r\n" in found


def test_the_policy() -> None:
    """Nothing is allowed but one style by its hash, and no frame stands around it."""
    told = dict(rule.split(" ", 1) for rule in HEADERS["Content-Security-Policy"].split("; "))
    style = told.pop("style-src")

    assert told == {
        "default-src": "'none'",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
    }
    assert style.startswith("'sha256-")


def test_an_address_that_is_taken() -> None:
    with (
        closing(serve_page(LivePage().answer, HERE, HEADERS)) as server,
        pytest.raises(ConfigurationError, match="the port is taken; free it, or name another one with --ui-address"),
    ):
        serve_page(LivePage().answer, ("127.0.0.1", server.ports()[0]), HEADERS)
