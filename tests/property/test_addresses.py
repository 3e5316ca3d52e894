"""Law of addresses: of an endpoint nothing is said but scheme, host, port and path, whatever fails, and wherever."""

from collections.abc import Callable, Iterator
from typing import Any

import requests
from hypothesis import given
from hypothesis import strategies as st
from kubernetes.client import ApiClient, Configuration
from requests.adapters import BaseAdapter
from urllib3.connectionpool import HTTPConnectionPool
from urllib3.exceptions import LocationValueError, MaxRetryError

from actuators.http.errors import ApiError, one_line
from actuators.http.hetzner import connect
from actuators.http.kubeconfig import ConnectionProblem, _check_address
from actuators.http.kubernetes import KubernetesConnection
from actuators.http.retry import NO_PATIENCE, Retry
from actuators.http.robot import RobotLogin, RobotReader
from actuators.http.shown import shown_address, with_shown_addresses
from reconciler.config.config import ConfigurationError, load_config
from reconciler.config.options import Command
from tests.property.strategies import law, some
from tests.support.premises import premise
from tests.support.simulators import ImpatientStop

SECRET = "s3cr3t"
_schemes = some("https://", "http://", "HTTPS://", "//", "ftp://", "")
_users = some(
    "", f"{SECRET}@", f"me:{SECRET}@", f"me:{SECRET}?x@", f"me:a/{SECRET}@", f"me:{SECRET}#@", f"me:@{SECRET}@"
)
_places = some("host", "10.0.0.1:8443", "[fd00::1]", "[fd00::1]:443", "ho st", "", "host:port")
_paths = some("", "/", "/v1", "/v1/a@b", "/v1//")
_queries = some(
    "", f"?token={SECRET}", f"?{SECRET}", f"?a=b&token={SECRET}", f"?a@b={SECRET}", f"?a b={SECRET}", f"?/{SECRET}"
)
_fragments = some("", f"#{SECRET}", f"#/{SECRET}?{SECRET}")
addresses = st.tuples(_schemes, _users, _places, _paths, _queries, _fragments).map("".join)


class Failing(BaseAdapter):
    """A line on which each request fails in another way, and the error repeats what was asked."""

    def __init__(self, how: str) -> None:
        super().__init__()
        self._how = how

    def send(self, request: requests.PreparedRequest, *_args: Any, **_options: Any) -> requests.Response:
        if self._how == "silent":
            raise requests.ConnectionError(f"Max retries exceeded with url: {request.url}")
        if self._how == "malformed":
            raise requests.exceptions.InvalidURL(f"Failed to parse: {request.url}")
        answer = requests.Response()
        answer.status_code, answer.reason = int(self._how), "Refused"
        answer._content = f"nothing at {request.url}".encode()
        answer.request, answer.url = request, str(request.url)
        return answer


class FailingPool:
    """The same for the API server."""

    def __init__(self, how: str) -> None:
        self._how = how

    def request(self, _method: str, url: str, **_options: Any) -> None:
        if self._how == "silent":
            raise MaxRetryError(HTTPConnectionPool("host"), url, OSError("refused"))
        raise LocationValueError(f"Failed to parse: {url}")


def said_by_hetzner(address: str, how: str) -> str:
    retry = Retry(ImpatientStop(), NO_PATIENCE)
    connection = connect("t" * 64, address, application=("tests", "1"), retry=retry, timeout_s=1.0, read_only=True)
    for scheme in ("http://", "https://"):
        connection._opened().mount(scheme, Failing(how))
    return _error_of(lambda: connection.send("GET", "/servers?page=1", repeatable=True))


def said_by_robot(address: str, how: str) -> str:
    retry = Retry(ImpatientStop(), NO_PATIENCE)
    reader = RobotReader(RobotLogin("me", "x"), endpoint=address, user_agent="tests/1", retry=retry, timeout_s=1.0)
    for scheme in ("http://", "https://"):
        reader._opened().mount(scheme, Failing(how))
    return _error_of(lambda: reader.get("/server"))


def said_by_kubernetes(address: str, how: str) -> str:
    configuration = Configuration()
    configuration.host = address
    client = ApiClient(configuration)
    client.rest_client.pool_manager = FailingPool(how)  # type: ignore[assignment]
    retry = Retry(ImpatientStop(), NO_PATIENCE)
    connection = KubernetesConnection(client, user_agent="tests/1", retry=retry, timeout_s=1.0, read_only=True)
    return _error_of(lambda: connection.send("GET", "/api/v1/nodes?limit=1"))


def _error_of(call: Callable[[], object]) -> str:
    try:
        call()
    except ApiError as error:
        return str(error)
    raise AssertionError("the call did not fail")


def said_of_settings(address: str) -> Iterator[str]:
    """What is said of the configuration, and of the kubeconfig, with this address."""
    robot = {"ROBOT_ENABLED": "true", "HCLOUD_NETWORK_ROUTES_ENABLED": "false"}
    for name in ("HCLOUD_ENDPOINT", "ROBOT_ENDPOINT"):
        try:
            config = load_config(Command.BARE, {}, {"HCLOUD_TOKEN": "t" * 64, **robot, name: address})
            yield f"{config!r} {config.warnings}"
        except ConfigurationError as error:
            yield f"{error} {error.lines}"
    try:
        _check_address("kubeconfig", address)
    except ConnectionProblem as error:
        yield str(error)


@law({"a secret in the address": 0.6})
@given(addresses, some("silent", "malformed", "404", "500"))
def test_no_error_has_more_of_an_endpoint_than_may_be_shown(address: str, how: str) -> None:
    """Whatever a library repeats: of both APIs and of Robot, of settings, of the kubeconfig."""
    premise("a secret in the address", is_met=SECRET in address)
    asked = (said_by_hetzner, said_by_robot, said_by_kubernetes)
    said = [*(say(address, how) for say in asked), *said_of_settings(address)]
    assert [text for text in said if SECRET in text] == []


@law({"a secret in the address": 0.6})
@given(addresses)
def test_nothing_is_left_of_an_address_but_what_may_be_shown(address: str) -> None:
    """And what may be shown stays as it is, alone and in a sentence."""
    premise("a secret in the address", is_met=SECRET in address)
    shown = shown_address(address)
    assert SECRET not in shown
    assert shown_address(shown) == shown
    if address.startswith(("http", "HTTP", "ftp", "//")) and " " not in address:
        for text in (f"cannot parse {address}", f"cannot parse '{address}'.", f'{{"url": "{address}"}}'):
            assert SECRET not in with_shown_addresses(text) + one_line(text)
