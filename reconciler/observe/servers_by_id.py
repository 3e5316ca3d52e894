"""Confirmation of absent servers: a GET by id for each one that the list lacks and a removal depends on, a few at a
time."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import TypeVar

from actuators.concurrency import Concurrency
from actuators.http.errors import ApiError, NotFound
from actuators.http.hetzner import HetznerReader
from actuators.http.robot import RobotReader
from actuators.wire.robot import observe_robot_server
from actuators.wire.server import SERVERS, selector_text
from desired.model.snapshot import Server, Snapshot
from desired.section import Absent, Section, Unknown
from desired.syntax.provider_id import Provider
from desired.syntax.selector import Selector

MOST_AT_ONCE = 10
"""Requests in a pass at most, whatever the number of missing servers: a chain of passes removes what depends on
thirty, and the loop continues after five seconds."""
_FIRST_PAUSE = timedelta(seconds=30)
_LONGEST_PAUSE = timedelta(hours=1)
_LONGEST_DOUBT = timedelta(minutes=10)
"""The longest pause after an answer that proves nothing: a Node waits for another one."""

_Answer = Absent | Unknown | Server
K = TypeVar("K", bound=int | str)
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class _Asked:
    answer: _Answer
    asked_at: datetime
    pause: timedelta
    """From one question to the next."""

    def is_settled(self, now: datetime) -> bool:
        """Whether it is too early to ask again. Not if the API server's clock was put back."""
        return self.asked_at <= now < self.asked_at + self.pause


def observe_servers(reader: HetznerReader, selector: Selector | None) -> tuple[Section[int, Server], ApiError | None]:
    """The servers of Hetzner Cloud, or those that the selector selects, and the error that made the list incomplete."""
    section, error = SERVERS.observe(reader, selector_text(selector))
    return (section if selector is None else replace(section, read_by_key=frozenset())), error


def read_by_id(reader: HetznerReader, section: Section[int, Server], server_ids: Sequence[int]) -> Section[int, Server]:
    """``section``, which a selector has narrowed, with these servers, asked for one by one. Never raises an ApiError: a
    server that could not be read is unknown."""
    answers = ask_each(server_ids, partial(SERVERS.one, reader), reader.concurrency)
    found = {key: answer for key, answer in answers.items() if isinstance(answer, Server)}
    unread = {key: answer.why for key, answer in answers.items() if isinstance(answer, Unknown)}
    return replace(
        section,
        items={**section.items, **found},
        unreadable={**section.unreadable, **unread},
        read_by_key=(section.read_by_key or frozenset()) | answers.keys(),
    )


def ask_each(
    asked: Sequence[K], read: Callable[[K], Absent | V], concurrency: Concurrency
) -> Mapping[K, Absent | Unknown | V]:
    """Each of ``asked``, such as an id → what ``read`` says of it, at the same time. Never raises an ApiError."""

    def answer(each: K) -> Absent | Unknown | V:
        try:
            return read(each)
        except NotFound:
            return Absent()
        except ApiError as error:
            return Unknown(str(error))

    if not asked:
        return {}
    with concurrency.pool(min(len(asked), MOST_AT_ONCE), "ask") as pool:
        return dict(zip(asked, pool.map(answer, asked), strict=True))


class Confirmer:
    """Asks for servers, and remembers the answers as long as they are needed: an answer that does not change costs one
    request, then one after 30 s, after a minute, and so on up to an hour."""

    def __init__(self, reader: HetznerReader | RobotReader) -> None:
        """Asks the provider whose reader this is."""
        self._reader = reader
        self.provider = Provider.ROBOT if isinstance(reader, RobotReader) else Provider.CLOUD
        self._asked: dict[int, _Asked] = {}
        self._in_own_project = False

    def forget(self) -> None:
        """Forget all answers. Those to another token do not concern this project. May be called from any thread."""
        self._asked = {}

    def confirm(self, snapshot: Snapshot, wanted: Collection[int], most: int, *, in_own_project: bool) -> Snapshot:
        """``snapshot`` with what is known by id of the servers that are ``wanted``, of which ``most`` are asked for, in
        this order. ``in_own_project``: the project, or the account, may be this cluster's.

        When a server is found although the list lacks it, the list was incomplete: nothing is concluded from what else
        it lacks. Never raises an ApiError.
        """
        now = snapshot.taken_at
        if snapshot.servers_of(self.provider).complete:  # one with a gap does not tell who is wanted, nor whose it is
            # Another project has none of our servers, and a token may be changed without a word to us.
            if wanted and in_own_project != self._in_own_project:
                self.forget()
                self._in_own_project = in_own_project
            self._asked = {key: asked for key, asked in self._asked.items() if key in wanted}
        todo = [key for key in wanted if key not in self._asked or not self._asked[key].is_settled(now)]
        todo.sort(key=lambda key: key in self._asked)  # what was never asked goes first; the sort keeps the order
        for key, answer in ask_each(todo[:most], self._read, self._reader.concurrency).items():
            before, longest = self._asked.get(key), _LONGEST_PAUSE if isinstance(answer, Absent) else _LONGEST_DOUBT
            pause = min(longest, before.pause * 2) if before else _FIRST_PAUSE
            self._asked[key] = _Asked(answer, now, pause)
        return self._noted(snapshot)

    def _read(self, server_id: int) -> Absent | Server:
        if isinstance(self._reader, RobotReader):
            return observe_robot_server(self._reader, server_id)
        return SERVERS.one(self._reader, server_id)

    def _noted(self, snapshot: Snapshot) -> Snapshot:
        answers = {key: asked.answer for key, asked in self._asked.items()}
        found = {key: answer for key, answer in answers.items() if isinstance(answer, Server)}
        missing = {key: answer for key, answer in answers.items() if not isinstance(answer, Server)}
        servers = snapshot.servers_of(self.provider)
        if found and servers.complete:
            missed = ", ".join(str(key) for key in sorted(found))
            why = f"it lacks server {missed}, which a GET by its id finds"
            servers = replace(servers, complete=False, why_incomplete=why)
        if self.provider is Provider.CLOUD:
            return replace(snapshot, servers=servers, confirmations=missing)
        account = snapshot.robot and replace(snapshot.robot, servers=servers, confirmations=missing)
        return replace(snapshot, robot=account)
