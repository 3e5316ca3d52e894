"""The real API server of the tests is what the other tests take it for."""

import re

import pytest
from urllib3.exceptions import HTTPError

from tests.support.apiserver import KUBERNETES, ApiServer

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"


def test_it_is_the_version_that_was_asked_for(api_server: ApiServer) -> None:
    """The stamp is right, so clients that look at the version behave as with a released server."""
    status, version = api_server.request("GET", "/version")
    assert (status, f"{version['major']}.{version['minor']}") == (200, KUBERNETES)
    assert re.fullmatch(rf"v{KUBERNETES}\.\d+", version["gitVersion"])


def test_a_restart_keeps_address_tokens_and_data(api_server: ApiServer) -> None:
    """A crash and a new start look to clients like an outage, not like another cluster."""
    before = api_server.url, api_server.admin_token, api_server.ca_file.read_bytes()
    created = api_server.request("POST", CONFIG_MAPS, {"metadata": {"name": "kept"}})[1]
    api_server.kill()
    with pytest.raises(HTTPError, match="refused"):
        api_server.request("GET", CONFIG_MAPS)
    api_server.restart()
    after = api_server.url, api_server.admin_token, api_server.ca_file.read_bytes()
    status, found = api_server.request("GET", f"{CONFIG_MAPS}/kept")
    assert (status, found["metadata"]["uid"], after) == (200, created["metadata"]["uid"], before)
