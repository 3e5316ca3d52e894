"""The client of the Robot webservice: what it makes of answers, and what it never sends."""

import base64
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from actuators.http.errors import ApiError, Broken, Denied, Invalid, NotFound, OverBudget, Throttled, Transient
from actuators.http.retry import Patience, Retry
from actuators.http.robot import Refusals, RobotLogin, RobotReader
from desired.model.remembered import RefusedLogin
from hcloud_sandbox.clock import SimulatedClock
from hcloud_sandbox.proxy import FaultProxy
from hcloud_sandbox.robot import RobotSimulator
from hcloud_sandbox.serving import BackgroundLoop, SimulatorServer
from tests.support.rows import rows
from tests.support.simulators import USER_AGENT, ImpatientStop

GOOD = RobotLogin(RobotSimulator.USER, RobotSimulator.PASSWORD)
WRONG, WORSE = (RobotLogin(RobotSimulator.USER, password) for password in ("wrong", "worse"))
OVER_LIMIT = {"error": {"status": 403, "code": "RATE_LIMIT_EXCEEDED", "message": "over", "max_request": 200}}


class Webservice:
    """An account with server 321, a fault proxy before it, and its clients."""

    def __init__(self, loop: BackgroundLoop) -> None:
        self.clock = SimulatedClock(source=lambda: 1_800_000_000.0)
        self.robot = RobotSimulator(self.clock, world={"servers": [{"server_number": 321}]})
        self.server = SimulatorServer(loop, self.robot, self.clock).start()
        self.proxy = FaultProxy(loop, self.server.url).start()
        self.stop = ImpatientStop()

    def client(self, login: RobotLogin = GOOD, **how: Any) -> RobotReader:
        """A reader that never really waits."""
        return RobotReader(
            login,
            endpoint=how.pop("endpoint", self.proxy.url),
            user_agent=USER_AGENT,
            retry=Retry(self.stop, Patience(attempts=2)),
            timeout_s=how.pop("timeout_s", 5.0),
            clock=self.clock.timestamp,
            **how,
        )

    def spoil(self, kind: str, **members: Any) -> None:
        self.proxy.set_faults([{"kind": kind, **members}])

    def received(self) -> int:
        return len(self.proxy.journal.entries())

    def close(self) -> None:
        self.proxy.stop()
        self.server.stop()


@pytest.fixture
def service(background_loop: BackgroundLoop, monkeypatch: pytest.MonkeyPatch) -> Iterator[Webservice]:
    monkeypatch.setenv("NO_PROXY", "*")
    running = Webservice(background_loop)
    yield running
    running.close()


def refused(call: Callable[[], object]) -> ApiError:
    with pytest.raises(ApiError) as caught:
        call()
    return caught.value


def test_a_list_and_a_single_server(service: Webservice) -> None:
    client = service.client()
    assert client.get("/server").startswith(b'[{"server": {"server_ip"')
    assert client.get("/server/321").startswith(b'{"server": {"server_ip"')
    assert client.get("/reset/321").startswith(b'{"reset": ')
    assert client.requests.by_method() == {"GET": 3}
    assert {entry.client for entry in service.proxy.journal.entries()} == {USER_AGENT}


def test_credentials_with_any_character(service: Webservice) -> None:
    """As RFC 7617 has them in UTF-8; a colon belongs to the password."""
    service.robot.set_credentials("#ws+Ü", "pä:ss")
    assert service.client(RobotLogin("#ws+Ü", "pä:ss")).get("/server")


def test_credentials_are_never_shown() -> None:
    shown = f"{WRONG!r} {WRONG!s}"
    assert "wrong" not in shown
    assert base64.b64encode(b"wrong").decode() not in shown


def test_wrong_credentials_are_sent_once(service: Webservice) -> None:
    """Three of them would lock the address out, so no call is sent until they change."""
    client = service.client(WRONG)

    errors = [refused(lambda: client.get("/server")) for _ in range(5)]

    assert {type(error) for error in errors} == {Denied}
    assert "nothing is asked until ROBOT_USER or ROBOT_PASSWORD change" in str(errors[0])
    assert "wrong'" not in str(errors)
    assert service.received() == 1
    client.use_login(WRONG)
    assert type(refused(lambda: client.get("/server"))) is Denied
    assert service.received() == 1
    client.use_login(GOOD)
    assert client.get("/server")


def test_the_third_wrong_login_is_not_sent(service: Webservice) -> None:
    """Whatever a person tries meanwhile, until it would do no harm any more; the right one works then."""
    client = service.client(RobotLogin("#ws+sandbox", "1"))
    for password in ("2", "3", "4"):
        refused(lambda: client.get("/server"))
        client.use_login(RobotLogin("#ws+sandbox", password))
    client.use_login(GOOD)
    error = refused(lambda: client.get("/server"))
    assert (type(error), service.received()) == (OverBudget, 2)
    assert str(error).endswith("two log-ins have failed, and a third within ten minutes might lock this address out")
    service.clock.advance(600)
    assert client.get("/server")


@dataclass
class Noted:
    """A record that the processes of a test share."""

    logins: list[RefusedLogin] = field(default_factory=list)
    is_gone: bool = False
    is_garbled: bool = False
    now: datetime = datetime(2026, 11, 23, 12, tzinfo=UTC)

    def refusals(self, *, writes: bool = True) -> Refusals:
        """What a new process gets."""
        return Refusals(self.read, self.write if writes else None, lambda: self.now)

    def read(self) -> list[RefusedLogin]:
        if self.is_gone:
            raise Transient("the API server is down")
        if self.is_garbled:
            raise Broken("the record cannot be read")
        return self.logins

    def write(self, login: RefusedLogin) -> None:
        if self.is_gone:
            raise Transient("the API server is down")
        self.logins.append(login)


def test_no_process_repeats_the_refused_login_of_another(service: Webservice) -> None:
    """As a CronJob with a wrong password would, until its address is locked out."""
    noted = Noted()
    for _ in range(5):
        error = refused(lambda: service.client(WRONG, refusals=noted.refusals()).get("/server"))
        assert isinstance(error, Denied)
    assert service.received() == 1

    assert isinstance(refused(lambda: service.client(WORSE, refusals=noted.refusals()).get("/server")), Denied)
    assert isinstance(refused(lambda: service.client(GOOD, refusals=noted.refusals()).get("/server")), OverBudget)
    assert service.received() == 2
    noted.now += timedelta(minutes=10)
    assert service.client(GOOD, refusals=noted.refusals()).get("/server")
    assert [login for login in noted.logins if "wrong" in login.tag] == []
    noted.now += timedelta(hours=1)  # somebody may have made it good in Robot
    refused(lambda: service.client(WRONG, refusals=noted.refusals()).get("/server"))
    assert service.received() == 4


def test_a_dry_run_heeds_refusals_and_notes_none(service: Webservice) -> None:
    noted = Noted()
    refused(lambda: service.client(WRONG, refusals=noted.refusals(writes=False)).get("/server"))
    assert not noted.logins
    refused(lambda: service.client(WORSE, refusals=noted.refusals()).get("/server"))
    refused(lambda: service.client(WORSE, refusals=noted.refusals(writes=False)).get("/server"))
    assert service.received() == 2


def test_nothing_is_asked_while_a_record_is_there_that_cannot_be_read(service: Webservice) -> None:
    """It may have two refusals, and a third log-in would lock this address out."""
    error = refused(lambda: service.client(refusals=Noted(is_garbled=True).refusals()).get("/server"))
    assert (type(error), service.received()) == (OverBudget, 0)


def test_nobody_needs_the_config_map(service: Webservice) -> None:
    noted = Noted(is_gone=True)
    assert isinstance(refused(lambda: service.client(WRONG, refusals=noted.refusals()).get("/server")), Denied)


def test_wrong_logins_before_a_good_one_count_no_more(service: Webservice) -> None:
    """As at the webservice."""
    client = service.client(WRONG)
    refused(lambda: client.get("/server"))
    for login in (GOOD, WRONG, GOOD):
        client.use_login(login)
        if login is GOOD:
            assert client.get("/server")
        else:
            assert isinstance(refused(lambda: client.get("/server")), Denied)


@pytest.mark.parametrize("were_good", [False, True], ids=["wrong", "good until they were changed"])
@pytest.mark.parametrize("threads", [1, 8])
def test_wrong_credentials_are_one_log_in(service: Webservice, *, were_good: bool, threads: int) -> None:
    """However many ask for something else at the same moment, they do not all find out by themselves."""
    client = service.client(GOOD if were_good else WRONG)
    if were_good:
        client.get("/server")
        service.robot.set_credentials("#ws+new", "changed")
    together = threading.Barrier(threads)

    def ask(number: int) -> type:
        together.wait()
        return type(refused(lambda: client.get(f"/server/{number}")))

    with ThreadPoolExecutor(threads) as pool:
        assert set(pool.map(ask, range(threads))) == {Denied}
    assert type(refused(lambda: client.get("/server"))) is Denied
    assert service.received() == 1 + were_good


@pytest.mark.parametrize("kind", ["reset", "cut_body", "half_open"])
def test_trouble_on_the_way_passes(service: Webservice, kind: str) -> None:
    service.spoil(kind)
    assert service.client(timeout_s=1.0).get("/server").startswith(b'[{"server": ')
    assert service.received() == 2


@rows(
    "code body expected",
    {
        "no such server": (404, {"error": {"code": "SERVER_NOT_FOUND", "message": "no"}}, NotFound),
        "another 404": (404, {"error": {"code": "SOMETHING", "message": "no"}}, Invalid),
        "a word of other endpoints": (404, {"error": {"code": "NOT_FOUND", "message": "no"}}, Invalid),
        "a page that is not there": (404, "<html>", Broken),
        "a page of a gateway": (502, "<html>", Transient),
        "refused": (400, {"error": {"code": "INVALID_INPUT", "message": "no"}}, Invalid),
        "a redirection is not followed": (301, "", Broken),
        "trouble there": (500, {"error": {"code": "INTERNAL_ERROR", "message": "no"}}, Transient),
    },
)
def test_refusals(service: Webservice, code: int, body: Any, expected: type[ApiError]) -> None:
    service.spoil("status", code=code, body=body, count=None, headers={"Location": "https://198.51.100.1/"})
    error = refused(lambda: service.client().get("/server/321"))
    assert type(error) is expected
    assert f"GET /server/321 answers {code}" in str(error)


def test_a_service_without_an_answer_is_left_alone(service: Webservice) -> None:
    """For a minute, two, four, then five; an answer ends that. The other endpoint is asked."""
    service.spoil("reset", count=None)
    client = service.client()

    for received, rest_s in ((2, 60), (4, 120), (6, 240), (8, 300), (10, 300)):
        assert isinstance(refused(lambda: client.get("/server")), Transient)
        assert isinstance(refused(lambda: client.get("/server/321")), OverBudget)
        assert client.left("server") == 0
        assert service.received() == received
        service.clock.advance(rest_s)

    service.proxy.clear_faults()
    assert client.get("/server")
    service.spoil("reset", count=None)
    refused(lambda: client.get("/server"))
    service.clock.advance(60)
    assert isinstance(refused(lambda: client.get("/server")), Transient)


def test_nobody_answers() -> None:
    retry = Retry(ImpatientStop(), Patience(attempts=2))
    client = RobotReader(GOOD, endpoint="http://user:secret@127.0.0.1:9", user_agent="t", retry=retry, timeout_s=1.0)
    error = refused(lambda: client.get("/server"))
    assert type(error) is Transient
    assert "ROBOT_ENDPOINT" in str(error)
    assert "secret" not in str(error)


@pytest.mark.parametrize(
    ("interval", "chosen", "wait_s"),
    [(1800, 0, 1800), ("600", 0, 600), (None, 0, 3600), (-5, 0, 3600), (10**9, 0, 3600), (60, 120, 120)],
)
def test_a_rate_limit_stops_its_endpoint(service: Webservice, interval: Any, chosen: float, wait_s: float) -> None:
    """ROBOT_RATE_LIMIT_WAIT_TIME is waited instead of what the answer says."""
    body = {"error": {**OVER_LIMIT["error"], "interval": interval}}
    service.spoil("status", code=403, body=body)
    client = service.client(pause_s=chosen)

    first = refused(lambda: client.get("/server"))
    assert isinstance(first, Throttled)
    assert first.retry_after_s == wait_s
    assert client.get("/reset/321")
    service.clock.advance(wait_s - 1)
    assert isinstance(refused(lambda: client.get("/server/321")), OverBudget)
    assert service.received() == 2
    service.clock.advance(1)
    assert client.get("/server")


@pytest.mark.parametrize("body", ["", "<html>403</html>", {"error": {"code": "FORBIDDEN", "message": "no"}}])
def test_a_forbidden_address_asks_nothing(service: Webservice, body: Any) -> None:
    """It is locked out for ten minutes, for every endpoint."""
    service.spoil("status", code=403, body=body)
    client = service.client()

    error = refused(lambda: client.get("/server"))
    assert isinstance(error, Throttled)
    assert "locked out" in str(error)
    service.clock.advance(599)
    for path in ("/server", "/reset/321"):
        assert isinstance(refused(lambda path=path: client.get(path)), OverBudget)  # type: ignore[misc]
    assert service.received() == 1
    service.clock.advance(1)
    assert client.get("/server")


def test_no_hour_has_more_than_our_share(service: Webservice) -> None:
    """Single reads leave something to the lists; what is over is not sent, and no other client is locked out."""
    client = service.client()
    for _ in range(45):
        client.get("/server/321")

    over = refused(lambda: client.get("/server/321"))
    assert isinstance(over, OverBudget)
    assert over.retry_after_s == 3600.0
    for _ in range(15):
        client.get("/server")
    assert isinstance(refused(lambda: client.get("/server")), OverBudget)
    assert service.received() == 60
    for _ in range(150):
        client.get("/reset/321")
    assert isinstance(refused(lambda: client.get("/reset/321")), OverBudget)
    service.clock.advance(3600)
    assert client.get("/server")
