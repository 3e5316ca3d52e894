"""Watches of a run, with the thread that judges their events."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial

from actuators.concurrency import THREADS, Concurrency, Task
from actuators.http.kubernetes import KubernetesReader
from actuators.http.watch import SILENCE_S, Watch, current_version, open_watch
from desired.model.snapshot import Snapshot
from reconciler.triggers.relevance import EventFilter, WatchedKind
from reconciler.triggers.watcher import Watcher

_GOODBYE_S = 1.0


@dataclass(frozen=True, slots=True)
class ListSource:
    """A list of the API server's that can be watched."""

    reader: KubernetesReader
    path: str
    silence_s: float = SILENCE_S
    """Seconds without a word after which a connection is taken for dead."""

    def version(self) -> str:
        """The list's version now. Raises an ApiError."""
        return current_version(self.reader, self.path)

    def open(self, version: str, lasts_s: int) -> Watch:
        """A watch of all that comes after a version. Raises an ApiError."""
        return open_watch(self.reader, self.path, version, lasts_s=lasts_s, silence_s=self.silence_s)


class Triggers:
    """Wakes the loop while it is started. ``settle`` has to be called after each pass that has observed something."""

    def __init__(
        self,
        relevance: EventFilter,
        watchers: Collection[Watcher],
        concurrency: Concurrency = THREADS,
    ) -> None:
        self._relevance = relevance
        self._watchers = watchers
        self._concurrency = concurrency
        self._stop = concurrency.event()
        self._judge: Task | None = None

    def start(self, within_s: float = 2.0) -> None:
        """Begin to watch. Returns when a pass that begins now misses nothing, or after so many seconds: then the loop
        is woken once a watch stands after all."""
        self._judge = self._concurrency.start(self._judge_on, "judge")
        for watcher in self._watchers:
            watcher.start()
        for watcher in self._watchers:
            watcher.stands(within_s)

    def settle(self, snapshot: Snapshot) -> None:
        """A pass has ended, and this is what it saw last."""
        self._relevance.settle(snapshot)

    def stop(self) -> None:
        """End all watches and threads, within about a second for each that hangs."""
        self._stop.set()
        self._relevance.interrupt()
        for watcher in self._watchers:
            watcher.stop()
        if self._judge is not None:
            self._judge.join(_GOODBYE_S)

    def _judge_on(self) -> None:
        while not self._stop.is_set():
            self._relevance.wait(self._relevance.judge())


def watch_cluster(
    reader: KubernetesReader,
    wake: Callable[[str], None],
    kinds: Collection[WatchedKind],
    *,
    silence_s: float = SILENCE_S,
) -> Triggers:
    """Watches of these kinds over the connection of ``reader``, which has to be that of the writer as well: it knows
    what we have written. Nothing is sent before ``start``."""
    concurrency = reader.connection.concurrency
    own_writes = reader.connection.own_writes
    relevance = EventFilter(wake, own_writes, clock=concurrency.clock, event=concurrency.event)
    watchers = [
        Watcher(
            f"{kind}s",
            ListSource(reader, kind.path, silence_s),
            saw=partial(relevance.saw, kind),
            wake=wake,
            concurrency=concurrency,
        )
        for kind in kinds
    ]
    return Triggers(relevance, watchers, concurrency)
