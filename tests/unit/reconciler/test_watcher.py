"""Every way in which a watch can end or fail, and how often the API server is asked all the same."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from actuators.concurrency import Concurrency
from actuators.http.errors import ApiError, Broken, Conflict, Denied, Throttled, Transient
from actuators.http.watch import WatchEvent
from reconciler.triggers.watcher import Watcher
from tests.support.leases import Timeline
from tests.support.rows import rows

GONE = Conflict("too old resource version", status=410)
RESET = Transient("connection reset")
REFUSED = Transient("connection refused")
SILENT = Transient("read timed out")
GARBAGE = Broken("sends what is no event")
FORBIDDEN = Denied("cannot watch", status=403)
BUSY = Throttled("too many requests", retry_after_s=45.0, status=429)
FOR_EVER = Throttled("too many requests", retry_after_s=float("inf"), status=429)


def event(version: str, kind: str = "MODIFIED") -> WatchEvent:
    return WatchEvent(kind, b"{}", version, "uid")


@dataclass
class Life:
    """One connection: refused, or open for so long, with these events, until it ends or breaks."""

    events: tuple[WatchEvent, ...] = ()
    lasts_s: float = 0.0
    ends: Exception | None = None
    refused: ApiError | None = None
    version: ApiError | None = None
    """What the list answers when it is asked for a version just before."""


@dataclass
class Server:
    """Lives one after another, the last of them again and again; ``asked`` is what was asked of it, and when."""

    clock: Timeline
    lives: list[Life]
    asked: list[tuple[float, str]] = field(default_factory=list)
    watcher: Watcher | None = None
    until: int = 0
    """How many requests are answered before the watcher is stopped."""
    _lists: int = 0

    def version(self) -> str:
        self._note("list")
        error = self.lives[0].version
        if error is not None:
            self._next()
            raise error
        self._lists += 1
        return f"list-{self._lists}"

    def open(self, version: str, lasts_s: int) -> "Life | Connection":
        assert 240 <= lasts_s <= 300
        self._note(version)
        life = self._next()
        if life.refused is not None:
            raise life.refused
        return Connection(self.clock, life)

    def _next(self) -> Life:
        return self.lives.pop(0) if len(self.lives) > 1 else self.lives[0]

    def _note(self, what: str) -> None:
        self.asked.append((self.clock.now, what))
        if self.watcher is not None and len(self.asked) >= self.until:
            self.watcher.stop()

    @property
    def versions(self) -> list[str]:
        return [what for _, what in self.asked]


class Connection:
    def __init__(self, clock: Timeline, life: Life) -> None:
        self._clock = clock
        self._life = life

    def __iter__(self) -> Iterator[WatchEvent]:
        yield from self._life.events
        self._clock.now += self._life.lasts_s
        if self._life.ends is not None:
            raise self._life.ends

    def close(self) -> None:
        """Nothing to end."""


@dataclass
class Stage:
    """A watcher and what it did."""

    server: Server
    watcher: Watcher
    clock: Timeline
    seen: list[WatchEvent]
    woken: list[str]


def watch(*lives: Life, requests: int, drawn: float = 0.0, saw: Callable[[WatchEvent], None] | None = None) -> Stage:
    clock = Timeline(0.0)
    server = Server(clock, list(lives), until=requests)
    seen: list[WatchEvent] = []
    woken: list[str] = []
    watcher = Watcher(
        "nodes",
        server,  # type: ignore[arg-type]
        saw=saw or seen.append,
        wake=woken.append,
        concurrency=Concurrency(clock=clock.clock, event=clock.event),
        draw=lambda: drawn,
    )
    server.watcher = watcher
    watcher.run()
    return Stage(server, watcher, clock, seen, woken)


GOOD = Life(lasts_s=270.0)


@rows(
    "lives versions woken",
    {
        "a clean end is resumed": ([Life((event("5"), event("6")), 270.0), GOOD], ["list", "list-1", "6"], 0),
        "bookmarks count": ([Life((event("9", "BOOKMARK"),), 270.0), GOOD], ["list", "list-1", "9"], 0),
        "no event at all": ([GOOD], ["list", "list-1", "list-1"], 0),
        "an event without a version": ([Life((event(""),), 270.0), GOOD], ["list", "list-1", "list-1"], 0),
        "410 in the stream": ([Life((event("5"),), 20.0, GONE), GOOD], ["list", "list-1", "list", "list-2"], 1),
        "410 as status": (
            [Life((event("5"),), 20.0), Life(refused=GONE), GOOD],
            ["list", "list-1", "5", "list", "list-2"],
            1,
        ),
        "a garbage line": ([Life((event("5"),), 20.0, GARBAGE), GOOD], ["list", "list-1", "list", "list-2"], 1),
        "a reset is resumed": ([Life((event("5"),), 20.0, RESET), GOOD], ["list", "list-1", "5"], 0),
        "a half-open one is resumed": ([Life((event("5"),), 90.0, SILENT), GOOD], ["list", "list-1", "5"], 0),
        "two failures": (
            [Life((event("5"),), 20.0, RESET), Life(refused=REFUSED), GOOD],
            ["list", "list-1", "5", "5"],
            0,
        ),
        "three failures": (
            [Life((event("5"),), 20.0, RESET), Life(refused=REFUSED), Life(refused=REFUSED), GOOD],
            ["list", "list-1", "5", "5", "list", "list-2"],
            1,
        ),
        "a server that never answers": (
            [Life(lasts_s=90.0, ends=SILENT)] * 3 + [GOOD],
            ["list", *["list-1"] * 3, "list", "list-2"],
            1,
        ),
        "an API server that is gone for a while": (
            [Life((event("5"),), 20.0, GONE), Life(version=REFUSED), Life(version=REFUSED), GOOD],
            ["list", "list-1", "list", "list", "list", "list-2"],
            1,
        ),
        "no right to watch": ([Life(refused=FORBIDDEN)], ["list", *["list-1"] * 3, "list", "list-2"], 0),
        "no right to list": ([Life(version=FORBIDDEN)], ["list"] * 4, 0),
        "a bug": ([Life((event("5"),), 20.0, RecursionError("deep")), GOOD], ["list", "list-1", "list", "list-2"], 1),
    },
)
def test_what_follows(lives: list[Life], versions: list[str], woken: int) -> None:
    """From where the next connection begins, and whether the loop is woken because something was missed."""
    stage = watch(*lives, requests=len(versions))

    assert stage.server.versions == versions
    assert stage.woken == ["the watch of nodes began anew"] * woken


def test_objects_are_handed_on_and_bookmarks_are_not() -> None:
    life = Life((event("5"), event("6", "BOOKMARK"), event("7", "DELETED")), 270.0)
    stage = watch(life, GOOD, requests=3)

    assert [found.version for found in stage.seen] == ["5", "7"]


def test_what_goes_wrong_with_an_event_does_not_end_the_watch() -> None:

    def saw(_event: WatchEvent) -> None:
        raise RecursionError("deep")

    stage = watch(Life((event("5"),), 20.0), GOOD, requests=4, saw=saw)

    assert stage.server.versions == ["list", "list-1", "list", "list-2"]
    assert len(stage.woken) == 1


@pytest.mark.parametrize(
    "life",
    [
        pytest.param(Life(), id="closes at once"),
        pytest.param(Life((event("5"),)), id="closes after an event"),
        pytest.param(Life((event("5", "BOOKMARK"),)), id="closes after a bookmark"),
        pytest.param(Life(ends=RESET), id="resets at once"),
        pytest.param(Life((event("5"),), ends=RESET), id="resets after an event"),
        pytest.param(Life(ends=GONE), id="410 in the stream each time"),
        pytest.param(Life(refused=GONE), id="410 each time"),
        pytest.param(Life(ends=GARBAGE), id="garbage each time"),
        pytest.param(Life(refused=REFUSED), id="refuses"),
        pytest.param(Life(refused=FORBIDDEN), id="forbids"),
        pytest.param(Life(version=REFUSED), id="is gone"),
        pytest.param(Life(refused=BUSY), id="is busy"),
        pytest.param(Life(refused=FOR_EVER), id="is busy for ever"),
        pytest.param(Life(lasts_s=9.9), id="closes before ten seconds"),
        pytest.param(Life(lasts_s=10.1, ends=RESET), id="resets after ten seconds"),
        pytest.param(Life(lasts_s=10.1, ends=GONE), id="410 after ten seconds"),
        pytest.param(Life(lasts_s=10.1), id="closes after ten seconds"),
    ],
)
def test_a_server_that_misbehaves_a_thousand_times(life: Life) -> None:
    """It is asked less than twice a second from the start on, and hardly at all in the long run."""
    stage = watch(life, requests=1000)

    moments = [moment for moment, _ in stage.server.asked]
    for first in range(1000):
        # Two watches are run side by side, so each has half of the two requests a second, over any ten.
        within = [moment for moment in moments[first : first + 20] if moment < moments[first] + 10.0]
        assert len(within) <= 10
    assert len(moments) / moments[-1] < 0.25
    assert len(stage.woken) <= 500


@pytest.mark.parametrize(
    ("drawn", "waits"),
    [
        pytest.param(0.0, [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0], id="at least"),
        pytest.param(1.0, [0.75, 1.5, 3.0, 6.0, 12.0, 24.0, 30.0, 30.0], id="at most"),
    ],
)
def test_the_wait_doubles_up_to_half_a_minute(drawn: float, waits: list[float]) -> None:
    """With jitter on top, as long as no connection lives."""
    assert watch(Life(), requests=9, drawn=drawn).clock.waits[:8] == waits


def test_a_good_connection_makes_the_next_wait_short() -> None:
    lives = [Life(), Life(), Life(lasts_s=11.0, ends=RESET), Life(lasts_s=11.0), Life(), GOOD]
    assert watch(*lives, requests=7).clock.waits == [0.5, 1.0, 0.5, 0.5]


def test_the_server_may_ask_for_a_longer_wait() -> None:
    assert watch(Life(refused=BUSY), GOOD, requests=3).clock.waits == [45.0]
    assert watch(Life(refused=FOR_EVER), GOOD, requests=3).clock.waits == [300.0]


def test_trouble_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    watch(*[Life(refused=REFUSED)] * 20, Life((event("5"),), 270.0), GOOD, requests=30)

    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"]
    assert "connection refused" in caplog.records[0].message
    assert caplog.records[1].message == "the watch of nodes works again"


def test_a_first_version_that_comes_too_late() -> None:
    """The pass that did not wait for it may have missed something: the loop is woken once the watch stands."""
    clock, woken = Timeline(0.0), list[str]()
    server = Server(clock, [GOOD], until=3)
    arguments: dict[str, Any] = {
        "saw": lambda _event: None,
        "wake": woken.append,
        "concurrency": Concurrency(clock=clock.clock, event=clock.event),
    }
    late = Watcher("nodes", server, **arguments)  # type: ignore[arg-type]
    server.watcher = late

    assert not late.stands(0.0)
    late.run()

    assert woken == ["the watch of nodes began anew"]
    assert late.stands(0.0)


def test_a_watch_that_breaks_off_at_once_does_not_wake_each_time() -> None:
    """Passes begin at the interval until one lasts: else a server that sends garbage would have the clouds read twice a
    minute for each watch."""
    stage = watch(Life(ends=GARBAGE), requests=200)

    assert len(stage.woken) < 3


def test_what_was_missed_meanwhile_wakes_when_a_watch_lasts() -> None:
    stage = watch(*[Life(ends=GARBAGE)] * 10, GOOD, requests=25)

    assert len(stage.woken) == 3
