"""Operations of the API: each is known by its name, and one that is not simulated says so."""

import logging

import pytest

from hcloud_sandbox.hetzner.operations import LACKS, operation_name
from sandbox_support.hetzner_spec import HetznerApi


@pytest.mark.parametrize(
    ("method", "path", "operation"),
    [
        ("POST", "/floating_ips", "create_floating_ip"),
        ("POST", "/servers/1/actions/request_console", "request_server_console"),
        ("DELETE", "/zones/example.com", "delete_zone"),
        ("PUT", "/zones/7", "update_zone"),
        ("POST", "/zones/example.com/rrsets/@/A/actions/add_records", "add_zone_rrset_records"),
        ("POST", "/storage_boxes", "create_storage_box"),
        ("POST", "/storage_boxes/1/actions/reset_password", "reset_storage_box_password"),
    ],
)
def test_what_is_not_simulated_says_so(
    method: str, path: str, operation: str, caplog: pytest.LogCaptureFixture
) -> None:
    """501 with the operation's name, also in the log, and there once."""
    api = HetznerApi()
    with caplog.at_level(logging.WARNING):
        responses = [api.send(method, path, {}) for _ in range(2)]

    error = responses[0].body["error"]
    assert [response.status for response in responses] == [501, 501]
    assert (error["code"], error["details"]) == ("not_simulated", {"operation": operation})
    assert error["message"].startswith(f"{operation} is not simulated: ")
    assert caplog.messages == [f"not simulated: {method} /v1{path} ({operation})"]


@pytest.mark.parametrize(
    ("path", "answer"),
    [
        ("/zones", "zones"),
        ("/zones/actions", "actions"),
        ("/zones/example.com", "zone with ID 'example.com' not found"),
        ("/zones/example.com/rrsets/www/A", "zone with ID 'example.com' not found"),
        ("/floating_ips/actions", "actions"),
        ("/storage_boxes/7/snapshots", "storage box with ID '7' not found"),
    ],
)
def test_reads_of_what_is_never_there(path: str, answer: str) -> None:
    """As in a project that has none, so that ``hcloud all list`` and a data source of Terraform work."""
    response = HetznerApi().send("GET", path)

    assert answer in (response.body if response.status == 200 else response.body["error"]["message"])


@pytest.mark.parametrize(
    ("method", "template", "name"),
    [
        ("GET", "/actions", "get_actions"),
        ("GET", "/servers/actions", "list_servers_actions"),
        ("GET", "/servers/actions/{id}", "get_servers_action"),
        ("GET", "/servers/{id}/actions", "list_server_actions"),
        ("GET", "/servers/{id}/metrics", "get_server_metrics"),
        ("POST", "/load_balancers", "create_load_balancer"),
        ("POST", "/firewalls/{id}/actions/set_rules", "set_firewall_rules"),
        ("GET", "/zones/{id_or_name}/zonefile", "get_zone_zonefile"),
        ("POST", "/storage_boxes/{id}/subaccounts", "create_storage_box_subaccount"),
    ],
)
def test_names(method: str, template: str, name: str) -> None:
    """As the API document has them."""
    assert operation_name(method, template) == name


def test_no_lack_is_of_an_unknown_operation() -> None:
    """And one that is not simulated at all lacks nothing beside."""
    listed = list(HetznerApi().simulator.operations())
    operations = {operation.name: operation for operation in listed}

    assert len(operations) == len(listed)
    assert {name for name in LACKS if operations[name].coverage != "partly"} == set()
