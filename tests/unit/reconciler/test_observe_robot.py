"""Robot servers as they are read: what each field becomes, what is isolated, and how often the list is asked for."""

import json
from collections.abc import Iterator
from datetime import timedelta
from ipaddress import IPv4Address, IPv6Network
from typing import Any

import pytest

from actuators.http.errors import Broken, Denied, NotFound
from actuators.http.retry import Patience, Retry
from actuators.http.robot import RobotLogin, RobotReader
from actuators.wire.robot import decode_robot_servers, observe_power, observe_robot_server, observe_robot_servers
from desired.model.snapshot import Server, ServerStatus
from desired.section import Absent, Present, Unknown
from desired.syntax.provider_id import Provider, ServerKey
from hcloud_sandbox.clock import SimulatedClock
from hcloud_sandbox.proxy import FaultProxy
from hcloud_sandbox.robot import RobotSimulator
from hcloud_sandbox.serving import BackgroundLoop, SimulatorServer
from reconciler.observe.robot import RobotCache
from tests.support.robot_bodies import LISTED
from tests.support.rows import rows
from tests.support.simulators import USER_AGENT, ImpatientStop

WHOLE = Server(
    id=321,
    name="db-1",
    status=ServerStatus.UNKNOWN,
    type="AX41-NVMe",
    location="fsn1",
    ipv4=IPv4Address("203.0.113.7"),
    ipv6=IPv6Network("2001:db8:7::/64"),
    provider=Provider.ROBOT,
    zone="fsn1-dc14",
)


class Account:
    """An account with server 321, and one reader of it."""

    def __init__(self, loop: BackgroundLoop) -> None:
        self.clock = SimulatedClock(source=lambda: 1_800_000_000.0)
        self.robot = RobotSimulator(self.clock, world={"servers": [LISTED]})
        self.server = SimulatorServer(loop, self.robot, self.clock).start()
        self.proxy = FaultProxy(loop, self.server.url).start()
        retry = Retry(ImpatientStop(), Patience(attempts=2))
        self.reader = RobotReader(
            RobotLogin(RobotSimulator.USER, RobotSimulator.PASSWORD),
            endpoint=self.proxy.url,
            user_agent=USER_AGENT,
            retry=retry,
            timeout_s=5.0,
            clock=self.clock.timestamp,
        )

    def cache(self) -> RobotCache:
        return RobotCache(self.reader, timedelta(minutes=5), self.clock.timestamp)

    def asked(self) -> int:
        return len(self.server.journal.entries())


@pytest.fixture
def account(background_loop: BackgroundLoop, monkeypatch: pytest.MonkeyPatch) -> Iterator[Account]:
    monkeypatch.setenv("NO_PROXY", "*")
    running = Account(background_loop)
    yield running
    running.proxy.stop()
    running.proxy.stop()
    running.server.stop()


def listed(*servers: Any) -> bytes:
    """The answer to ``GET /server``."""
    return json.dumps([{"server": server} for server in servers]).encode()


def test_a_real_server() -> None:
    """Everything that some rule looks at arrives; its key is no cloud server's."""
    section = decode_robot_servers(listed(LISTED))

    assert section.items == {321: WHOLE}
    assert section.complete
    assert section.items[321].key == ServerKey(Provider.ROBOT, 321)


@rows(
    "changed expected",
    {
        "IPv6 alone": ({"server_ip": None}, {"ipv4": None}),
        "an empty address": ({"server_ip": ""}, {"ipv4": None}),
        "no address": ({"server_ip": "0.0.0.0"}, {"ipv4": None}),
        "IPv4 alone": ({"server_ipv6_net": None}, {"ipv6": None}),
        "an empty network": ({"server_ipv6_net": ""}, {"ipv6": None}),
        "no address at all": ({"server_ip": None, "server_ipv6_net": None}, {"ipv4": None, "ipv6": None}),
        "no subnets": ({"subnet": None}, {"ipv6": IPv6Network("2001:db8:7::/64")}),
        "several subnets": (
            {"subnet": [{"ip": f"2001:db8:{n}::", "mask": "64"} for n in (6, 7)] + [{"ip": "192.0.2.8", "mask": "29"}]},
            {"ipv4": IPv4Address("203.0.113.7"), "ipv6": IPv6Network("2001:db8:7::/64")},
        ),
        "several addresses": ({"ip": ["203.0.113.7", "203.0.113.8"]}, {"ipv4": IPv4Address("203.0.113.7")}),
        "no name": ({"server_name": ""}, {"name": ""}),
        "any product": ({"product": "Robot Server™ 1"}, {"type": "Robot Server™ 1"}),
        "a product of 70 characters": ({"product": "x" * 70}, {"type": "x" * 70}),
        "a name in capitals": ({"server_name": "DB-1"}, {"name": "DB-1"}),
        "several dashes": ({"dc": "HEL1-DC2-x"}, {"location": "hel1", "zone": "hel1-dc2-x"}),
        "no data center": ({"dc": ""}, {"location": "", "zone": ""}),
        "nulls": ({"server_name": None, "product": None, "dc": None}, {"name": "", "type": "", "zone": ""}),
        "cancelled, and there until it is taken away": ({"cancelled": True}, {"id": 321, "name": "db-1"}),
        "cancelled in other words": ({"status": "cancelled"}, {"id": 321, "name": "db-1"}),
        "being set up": ({"status": "in process"}, {"id": 321, "name": "db-1"}),
        "a new field": ({"invented": [1]}, {}),
    },
)
def test_fields(changed: dict[str, Any], expected: dict[str, Any]) -> None:
    (server,) = decode_robot_servers(listed({**LISTED, **changed}))

    assert {name: getattr(server, name) for name in expected} == expected


@pytest.mark.parametrize(
    "changed",
    [
        {"server_ip": "203.0.113"},
        {"server_ip": "2001:db8::1"},
        {"server_ipv6_net": "203.0.113.0"},
        {"product": 41},
        {"dc": 14},
    ],
)
def test_a_server_that_cannot_be_read(changed: dict[str, Any]) -> None:
    section = decode_robot_servers(listed({**LISTED, **changed}, {**LISTED, "server_number": 7}))

    assert isinstance(section.find(321), Unknown)
    assert section.unreadable_names == {321: "db-1"}
    assert isinstance(section.find(7), Present)
    assert isinstance(section.find(8), Absent)


@pytest.mark.parametrize("entry", [{}, {"server": {}}, {"server": {"server_number": "x"}}, "x", None])
def test_a_server_without_a_number(entry: Any) -> None:
    section = decode_robot_servers(json.dumps([{"server": LISTED}, entry]).encode())

    assert isinstance(section.find(321), Present)
    assert isinstance(section.find(8), Unknown)


def test_a_thousand_servers() -> None:
    """Robot has no pages: all are in one answer, two of one name and some that are cancelled included."""
    section = decode_robot_servers(
        listed(*({**LISTED, "server_number": n, "server_name": f"db-{n // 2}"} for n in range(1, 1001)))
    )

    assert section.complete
    assert sorted(section.items) == list(range(1, 1001))


@pytest.mark.parametrize("body", [b"<html>", b"{}", b"", b'{"error": {}}', b"null", b"\xff", b'[{"server": {"server_n'])
def test_no_list(body: bytes) -> None:
    with pytest.raises(Broken, match="no list of servers"):
        decode_robot_servers(body)


@pytest.mark.parametrize("answer", [None, "[]"])
def test_an_account_without_servers(account: Account, answer: str | None) -> None:
    """It is somebody else's, or its list lacks all: none of our servers is absent for that, however it is told."""
    account.robot.replace_world({"servers": []})
    if answer is not None:
        account.proxy.set_faults([{"kind": "status", "code": 200, "body": answer}])

    section, error = observe_robot_servers(account.reader)

    assert isinstance(section.find(321), Unknown)
    assert "the Robot account has no servers; check ROBOT_USER" in str(error)


def test_a_single_server(account: Account) -> None:
    assert observe_robot_server(account.reader, 321) == WHOLE
    with pytest.raises(NotFound):
        observe_robot_server(account.reader, 8)


@pytest.mark.parametrize(
    ("said", "expected"),
    [("running", ServerStatus.RUNNING), ("shut off", ServerStatus.OFF), ("not supported", ServerStatus.OTHER)],
)
def test_power(account: Account, said: str, expected: ServerStatus) -> None:
    """By the reset status; a machine in a tower cannot tell."""
    account.robot.replace_world({"servers": [{**LISTED, "operating_status": said}]})

    assert observe_power(account.reader, 321) is expected


def test_the_list_is_read_every_five_minutes(account: Account) -> None:
    """Twelve times an hour, whatever many passes there are; its age is told."""
    cache = account.cache()
    ages = set()
    for _ in range(60):
        ages.add(cache.read().account.age)
        account.clock.advance(60)

    assert account.asked() == 12
    assert ages == {timedelta(minutes=minutes) for minutes in range(5)}


def test_a_fresh_list(account: Account) -> None:
    cache = account.cache()
    cache.read()
    account.clock.advance(60)

    assert cache.read(timedelta(seconds=30)).account.age == timedelta(0)
    assert cache.read().account.age == timedelta(0)
    assert account.asked() == 2


def test_a_list_that_fails_is_asked_for_less_and_less(account: Account) -> None:
    """It is unknown as soon as it is too old, and read again with pauses; an hour costs no more than one that works."""
    cache = account.cache()
    assert cache.read().account.servers.complete
    account.robot.set_faults([{"kind": "maintenance", "count": None}])
    account.clock.advance(300)
    readings = []
    for _ in range(60):
        readings.append(cache.read())
        account.clock.advance(60)

    assert {reading.account.servers.complete for reading in readings} == {False}
    assert {type(reading.error).__name__ for reading in readings} == {"Transient"}
    assert {reading.account.last_names for reading in readings} == {frozenset({LISTED["server_name"]})}
    assert account.asked() <= 1 + 2 * 15  # each is tried twice
    account.robot.clear_faults()
    account.clock.advance(300)
    assert cache.read().account.servers.complete
    assert not cache.read().account.last_names


def test_wrong_credentials(account: Account) -> None:
    """They are asked for once, however long it lasts, and at once when there are others."""
    account.robot.set_credentials("#ws+new", "changed")
    cache = account.cache()
    for _ in range(60):
        assert isinstance(cache.read().error, Denied)
        account.clock.advance(60)
    assert account.asked() == 1

    cache.use_login(RobotLogin("#ws+new", "changed"))
    assert cache.read().account.servers.complete


def test_power_is_asked_for_less_and_less(account: Account) -> None:
    """Of silent Nodes' servers alone: at once, after a minute, two, four, and then every ten minutes; anew when it
    changes."""
    account.robot.replace_world({"servers": [{**LISTED, "operating_status": "shut off"}]})
    cache = account.cache()
    listed = cache.read().account
    before = account.asked()
    moments = []
    for minute in range(61):
        asked = account.asked()
        found = cache.with_power(listed, {321})
        assert found.servers.items[321].status is ServerStatus.OFF
        moments += [minute] if account.asked() > asked else []
        account.clock.advance(60)
    assert moments == [0, 1, 3, 7, 15, 25, 35, 45, 55]
    assert account.asked() - before == len(moments)

    assert cache.with_power(listed, ()).servers.items[321].status is ServerStatus.UNKNOWN
    account.robot.replace_world({"servers": [LISTED]})
    assert cache.with_power(listed, {321, 7}).servers.items[321].status is ServerStatus.RUNNING


def test_a_list_ages_between_the_rounds_of_a_pass(account: Account) -> None:
    """What proved an absence at the beginning of a chain may be too old for its third pass."""
    cache = account.cache()
    listed = cache.read().account
    account.clock.advance(150)
    assert cache.aged(listed).age == timedelta(seconds=150)


def test_power_that_cannot_be_told(account: Account) -> None:
    """An outage says nothing: a taint stays, and none comes."""
    cache = account.cache()
    listed = cache.read().account
    account.robot.set_faults([{"kind": "maintenance", "count": None}])

    assert cache.with_power(listed, {321}).servers.items[321].status is ServerStatus.UNKNOWN


def test_power_of_many_at_once(account: Account) -> None:
    """Ten in a pass, so that a room without electricity is no burst of requests."""
    account.robot.replace_world({"servers": [{**LISTED, "server_number": number} for number in range(1, 31)]})
    cache = account.cache()
    listed = cache.read().account
    before = account.asked()

    known = [
        sum(server.status is not ServerStatus.UNKNOWN for server in cache.with_power(listed, range(1, 31)).servers)
        for _ in range(3)
    ]

    assert known == [10, 20, 30]
    assert account.asked() - before == 30
