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


def test_a_bound_role_gives_its_rights_and_no_others(api_server: ApiServer) -> None:
    """RBAC is evaluated, for the users of the token file as for any other."""
    rules = [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["list"]}]
    roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
    bindings = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
    name = {"metadata": {"name": "apiserver-itself"}}
    assert api_server.request("POST", roles, {**name, "rules": rules})[0] == 201
    binding = {
        **name,
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "apiserver-itself"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "apiserver-itself"}],
    }
    assert api_server.request("POST", bindings, binding)[0] == 201
    review = {"spec": {"user": "apiserver-itself", "resourceAttributes": {"verb": "list", "resource": "nodes"}}}
    reviews = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    _, allowed = api_server.request("POST", reviews, review)
    review["spec"]["resourceAttributes"] = {"verb": "delete", "resource": "nodes"}
    _, refused = api_server.request("POST", reviews, review)
    assert (allowed["status"]["allowed"], refused["status"]["allowed"]) == (True, False)


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
