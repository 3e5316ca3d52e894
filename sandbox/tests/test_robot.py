"""The simulated Robot webservice: its answers, its log-in, its limits, and what a world file may say of it."""

import base64
import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

import pytest

from hcloud_sandbox.clock import SimulatedClock
from hcloud_sandbox.exchange import Request, Response
from hcloud_sandbox.robot import RobotSimulator

USER, PASSWORD = RobotSimulator.USER, RobotSimulator.PASSWORD
SERVER = {"server_number": 321, "server_name": "db-1"}
DETAILS = {"reset", "rescue", "vnc", "windows", "plesk", "cpanel", "wol", "hot_swap", "linked_storagebox"}


class Account:
    """One account of the webservice and its user."""

    def __init__(self, *servers: Mapping[str, Any]) -> None:
        self.clock = SimulatedClock()
        self.robot = RobotSimulator(self.clock, world={"servers": list(servers)})

    def ask(
        self, path: str, method: str = "GET", *, user: str = USER, password: str = PASSWORD, **form: str
    ) -> Response:
        """What the webservice answers to these credentials; ``form`` is the body."""
        encoded = base64.b64encode(f"{user}:{password}".encode()).decode()
        headers = {"authorization": f"Basic {encoded}", "content-type": "application/x-www-form-urlencoded"}
        return self.robot.handle(Request(method, path, {}, headers, urlencode(form).encode()))

    def refusal(self, path: str, **how: str) -> tuple[int, str]:
        """Status and code of an answer that is an error."""
        answer = self.ask(path, **how)
        assert answer.body["error"]["status"] == answer.status
        return answer.status, answer.body["error"]["code"]


@pytest.fixture
def account() -> Account:
    """An account with one server."""
    return Account(SERVER)


@pytest.mark.parametrize("number", ["9" * 5000, "\u0663", "322"])
def test_a_number_that_no_server_has(account: Account, number: str) -> None:
    """Whatever stands there."""
    assert account.refusal(f"/server/{number}") == (404, "SERVER_NOT_FOUND")


def test_a_list_has_a_wrapper_around_each_server(account: Account) -> None:
    """As the documentation of ``GET /server`` shows it."""
    answer = account.ask("/server")

    assert answer.status == 200
    (entry,) = answer.body
    assert set(entry) == {"server"}
    assert entry["server"] == {
        "server_ip": "198.51.101.65",
        "server_ipv6_net": "2001:db8:b:141::",
        "server_number": 321,
        "server_name": "db-1",
        "product": "AX41-NVMe",
        "dc": "FSN1-DC14",
        "traffic": "unlimited",
        "status": "ready",
        "cancelled": False,
        "paid_until": "2099-12-31",
        "ip": ["198.51.101.65"],
        "subnet": [{"ip": "2001:db8:b:141::", "mask": "64"}],
    }


def test_a_single_server_says_more(account: Account) -> None:
    """The functions that it has, which the list leaves out."""
    listed, single = account.ask("/server").body[0]["server"], account.ask("/server/321").body["server"]

    assert single.keys() - listed.keys() == DETAILS
    assert {name: single[name] for name in listed} == listed


@pytest.mark.parametrize("status", ["running", "shut off", "not supported"])
def test_a_reset_says_whether_the_server_is_on(status: str) -> None:
    """As the documentation of ``GET /reset/{server-number}`` shows it; a server in a tower does not tell."""
    account = Account({**SERVER, "operating_status": status})

    single = account.ask("/reset/321").body["reset"]

    assert (single["server_number"], single["operating_status"]) == (321, status)
    assert ("power" in single["type"]) is (status != "not supported")
    assert account.ask("/reset").body == [{"reset": single}]


def test_without_addresses() -> None:
    """A server without IPv4 has null there, and one without a subnet has null instead of a list."""
    fields = Account({**SERVER, "server_ip": None, "server_ipv6_net": None}).ask("/server/321").body["server"]

    assert (fields["server_ip"], fields["server_ipv6_net"], fields["ip"], fields["subnet"]) == (None, None, [], None)


@pytest.mark.parametrize(
    ("path", "code"),
    [
        pytest.param("/server", "SERVER_NOT_FOUND", id="a list of nothing is no empty list"),
        pytest.param("/server/321", "SERVER_NOT_FOUND", id="a server"),
        pytest.param("/server/0x141", "SERVER_NOT_FOUND", id="no number"),
        pytest.param("/reset", "NOT_FOUND", id="no server with a reset"),
        pytest.param("/reset/321", "SERVER_NOT_FOUND", id="its reset"),
        pytest.param("/keys", "NOT_FOUND", id="an endpoint"),
    ],
)
def test_what_is_not_there(path: str, code: str) -> None:
    """404 with the code of the endpoint."""
    assert Account().refusal(path) == (404, code)


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "/failover"), ("POST", "/vswitch"), ("POST", "/reset/321"), ("DELETE", "/server/321/cancellation")],
)
def test_what_is_not_simulated(account: Account, caplog: pytest.LogCaptureFixture, method: str, path: str) -> None:
    """No success, no 404 that looks as if nothing were there, and one line on stderr."""
    for _ in range(2):
        assert account.refusal(path, method=method) == (501, "NOT_SIMULATED")
    assert caplog.messages == [f"not simulated: {method} {path} (Robot)"]


def test_a_new_name(account: Account) -> None:
    """The one thing that can be written, as a form."""
    assert account.ask("/server/321", "POST", server_name="db-2").body["server"]["server_name"] == "db-2"
    assert account.ask("/server").body[0]["server"]["server_name"] == "db-2"
    assert account.robot.world()["robot"]["servers"][0]["server_name"] == "db-2"


@pytest.mark.parametrize("form", [{}, {"server_name": "a" * 101}, {"server_name": "dß"}])
def test_a_name_that_is_refused(account: Account, form: dict[str, str]) -> None:
    """400 with what is missing or wrong."""
    answer = account.ask("/server/321", "POST", **form)

    assert (answer.status, answer.body["error"]["code"]) == (400, "INVALID_INPUT")
    assert account.ask("/server/321").body["server"]["server_name"] == "db-1"


@pytest.mark.parametrize(
    "wrong", [{"password": "other"}, {"user": "other"}, {"password": ""}, {"user": "", "password": ""}]
)
def test_wrong_credentials(account: Account, wrong: dict[str, str]) -> None:
    """401, and no word of the servers."""
    assert account.refusal("/server", **wrong) == (401, "UNAUTHORIZED")


@pytest.mark.parametrize("header", [{}, {"authorization": "Bearer x"}, {"authorization": "Basic ???"}])
def test_no_credentials(account: Account, header: dict[str, str]) -> None:
    """401 as well."""
    assert account.robot.handle(Request("GET", "/server", {}, header)).status == 401


def test_three_wrong_logins_lock_the_address_out(account: Account) -> None:
    """For ten minutes nobody can log in from there, with whatever credentials; the answer is no JSON."""
    assert [account.ask("/server", password="no").status for _ in range(3)] == [401, 401, 401]

    locked = account.ask("/server")
    assert (locked.status, type(locked.body)) == (403, bytes)
    account.clock.advance(599)
    assert account.ask("/server").status == 403
    account.clock.advance(1)
    assert account.ask("/server").status == 200


def test_a_login_ends_the_count(account: Account) -> None:
    """Only failures in a row lock out."""
    for _ in range(3):
        assert [account.ask("/server", password="no").status for _ in range(2)] == [401, 401]
        assert account.ask("/server").status == 200


def test_credentials_that_change(account: Account) -> None:
    """From then on the old ones are wrong."""
    account.robot.set_credentials("#ws+new", "changed")

    assert account.ask("/server").status == 401
    assert account.ask("/server", user="#ws+new", password="changed").status == 200


def test_limits_are_per_endpoint_and_hour(account: Account) -> None:
    """200 reads of servers, list and single together, and 500 of resets; what is over is refused and costs nothing."""
    paths = ["/server", "/server/321"] * 100
    assert {account.ask(path).status for path in paths} == {200}

    refused = account.ask("/server")
    assert refused.status == 403
    assert refused.body["error"] == {
        "status": 403,
        "code": "RATE_LIMIT_EXCEEDED",
        "message": "Rate limit exceeded",
        "max_request": 200,
        "interval": 3600,
    }
    assert account.ask("/reset/321").status == 200
    account.clock.advance(3600)
    assert account.ask("/server").status == 200


def test_maintenance(account: Account) -> None:
    """503 as often as was said, and then service again."""
    account.robot.set_faults([{"kind": "maintenance", "count": 2}])

    assert [account.ask("/server").status for _ in range(3)] == [503, 503, 200]


@pytest.mark.parametrize(("lacking", "listed"), [({"numbers": [321]}, [322]), ({}, [])])
def test_a_list_that_lacks_servers(lacking: dict[str, Any], listed: list[int]) -> None:
    """A request by number finds them; a list of none is a 404."""
    account = Account(SERVER, {**SERVER, "server_number": 322})
    account.robot.set_faults([{"kind": "list_lacks", "count": None, **lacking}])

    answer = account.ask("/server")

    assert [entry["server"]["server_number"] for entry in answer.body if answer.status == 200] == listed
    assert answer.status == (200 if listed else 404)
    assert account.ask("/server/321").status == 200
    account.robot.clear_faults()
    assert len(account.ask("/server").body) == 2


@pytest.mark.parametrize(
    "fault", [{"kind": "weather"}, {"kind": "maintenance", "numbers": []}, {"kind": "maintenance", "count": 0}, "x"]
)
def test_faults_that_are_wrong(account: Account, fault: Any) -> None:
    """None is added."""
    with pytest.raises(ValueError, match=r"known|count|object"):
        account.robot.set_faults([{"kind": "maintenance"}, fault])

    assert account.ask("/server").status == 200


def test_the_world_is_what_it_was_made_of() -> None:
    """Written and read again, it is the same account; also from answers of the webservice, with their wrappers."""
    first = Account({**SERVER, "operating_status": "shut off", "product": "Server Auction"}, {"server_number": 7})
    second = Account()
    second.robot.replace_world(json.loads(json.dumps(first.robot.world())))
    third = Account(*first.ask("/server").body)

    assert second.robot.world() == first.robot.world()
    assert third.ask("/server").body == first.ask("/server").body


@pytest.mark.parametrize(
    ("server", "said"),
    [
        pytest.param({}, "server_number: give a number from 1, not None", id="no number"),
        pytest.param({"server_number": True}, "server_number: give a number from 1, not True", id="no number either"),
        pytest.param({"server_number": 1, "name": "x"}, r"\(1\): key 'name' is not known", id="unknown field"),
        pytest.param({"server_number": 1, "server_name": None}, "server_name: give a text, not None", id="null"),
        pytest.param({"server_number": 1, "server_ip": "198.51.100"}, "198.51.100", id="address"),
        pytest.param(
            {"server_number": 1, "server_ipv6_net": "2001:db8::1"}, "no bits set behind the prefix", id="a host"
        ),
        pytest.param(
            {"server_number": 1, "operating_status": "off"}, "operating_status: 'off' is not known", id="status"
        ),
        pytest.param("x", "give an object", id="text"),
        pytest.param({"server_number": 321}, "two have the server_number 321", id="twice"),
    ],
)
def test_worlds_that_are_wrong(account: Account, server: Any, said: str) -> None:
    """One error that names the server, and nothing is changed."""
    before = account.robot.world()

    with pytest.raises(ValueError, match=said):
        account.robot.replace_world({"robot": {"servers": [SERVER, server]}})

    assert account.robot.world() == before
