"""A function that speaks to Hetzner Cloud, and its tests: no mocks, no account, no waiting."""

import pytest
from hcloud import Client
from hcloud.actions import ActionFailedException
from hcloud.images import Image
from hcloud.server_types import ServerType

from hcloud_sandbox.pytest_plugin import HcloudSandbox


def ensure_server(client: Client, name: str) -> None:
    """Create the server unless there is one of that name."""
    if client.servers.get_by_name(name) is None:
        made = client.servers.create(name, ServerType(name="cx23"), Image(name="debian-12"))
        made.action.wait_until_finished()


@pytest.fixture
def client(hcloud_sandbox: HcloudSandbox) -> Client:
    return Client(token=hcloud_sandbox.token, api_endpoint=hcloud_sandbox.url)


def test_a_server_is_created_once(client: Client) -> None:
    ensure_server(client, "web-1")
    ensure_server(client, "web-1")
    assert [server.name for server in client.servers.get_all()] == ["web-1"]


@pytest.mark.parametrize("hcloud_world", [{"hetzner": {"servers": [{"name": "web-1"}]}}])
def test_a_server_that_is_there_is_left_alone(client: Client, hcloud_sandbox: HcloudSandbox) -> None:
    ensure_server(client, "web-1")
    assert {asked["method"] for asked in hcloud_sandbox.requests()} == {"GET"}


def test_a_creation_that_fails_is_an_error(client: Client, hcloud_sandbox: HcloudSandbox) -> None:
    hcloud_sandbox.add_fault("action_fails", command="create_server", code="server_error")
    with pytest.raises(ActionFailedException):
        ensure_server(client, "web-1")
