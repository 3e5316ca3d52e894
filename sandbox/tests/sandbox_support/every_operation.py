"""One request for each operation of the API, in a world that has an object of each kind."""

import base64
import re
from collections.abc import Mapping
from functools import cache
from typing import Any
from urllib.parse import urlencode

from hcloud_sandbox.exchange import Response
from hcloud_sandbox.hetzner.operations import NO_OBJECTS, Operation, operation_name
from sandbox_support.certificates import CERTIFICATE, PRIVATE_KEY
from sandbox_support.hetzner_spec import HetznerApi

_CREATED = "2023-01-01T00:00:00Z"
_FAILED = {"issuance": "failed", "error": {"code": "dns_zone_not_found", "message": "no zone"}}
_KEYS = [base64.b64encode((11).to_bytes(4, "big") + b"ssh-ed25519" + text * 36).decode() for text in (b"a", b"b")]
_LISTENER = {"protocol": "http", "listen_port": 80, "destination_port": 30080}
_TARGET = {"type": "server", "server": {"id": 1}, "use_private_ip": True}
_RULE = {"direction": "in", "protocol": "tcp", "port": "22", "source_ips": ["0.0.0.0/0"]}
_HOUR = {"start": "2023-11-14T20:00:00Z", "end": "2023-11-14T21:00:00Z"}

WORLD: Mapping[str, Any] = {
    "networks": [
        {
            "id": 1,
            "name": "one",
            "ip_range": "10.0.0.0/16",
            "subnets": [{"type": "cloud", "network_zone": "eu-central", "ip_range": "10.0.0.0/24"}],
            "routes": [{"destination": "10.100.0.0/24", "gateway": "10.0.0.2"}],
        },
        {
            "id": 2,
            "name": "two",
            "ip_range": "10.1.0.0/16",
            "subnets": [{"type": "cloud", "network_zone": "eu-central", "ip_range": "10.1.0.0/24"}],
        },
    ],
    "servers": [
        {
            "id": 1,
            "name": "web-1",
            "created": _CREATED,
            "private_net": [{"network": 1, "ip": "10.0.0.2"}],
            "public_net": {"ipv4": {"id": 503, "ip": "198.18.0.9"}},
            "placement_group": 1,
            "volumes": [2],
        },
        {
            "id": 2,
            "name": "web-2",
            "status": "off",
            "public_net": {"ipv4": None, "ipv6": {"id": 502, "ip": "2001:db8:7::/64"}},
        },
    ],
    "load_balancers": [
        {
            "id": 1,
            "name": "lb-1",
            "created": _CREATED,
            "load_balancer_type": "lb11",
            "private_net": [{"network": 1}],
            "public_net": {"ipv4": {"ip": "198.18.0.7"}},
            "services": [_LISTENER],
            "targets": [_TARGET],
        },
        {"id": 2, "name": "lb-2"},
        {"id": 3, "name": "lb-3", "private_net": [{"network": 1}]},
    ],
    "certificates": [{"id": 1, "name": "c-1", "type": "managed", "status": _FAILED}],
    "ssh_keys": [{"id": 1, "name": "key", "public_key": f"ssh-ed25519 {_KEYS[0]}"}],
    "placement_groups": [{"id": 1, "name": "spread"}, {"id": 2, "name": "empty"}],
    "firewalls": [{"id": 1, "name": "fw-1", "applied_to": [{"type": "server", "server": {"id": 1}}]}, {"id": 2}],
    "volumes": [{"id": 1, "name": "v-1", "location": "fsn1"}, {"id": 2, "name": "v-2", "location": "fsn1"}],
    "primary_ips": [{"id": 501, "name": "p-1", "ip": "198.18.7.7"}],
    "images": [{"id": 1, "type": "snapshot"}],
}

BODIES: Mapping[str, Mapping[str, Any]] = {
    "add_load_balancer_service": {**_LISTENER, "listen_port": 81, "health_check": {"protocol": "tcp", "port": 81}},
    "add_load_balancer_target": {"type": "server", "server": {"id": 1}},
    "add_network_route": {"destination": "10.100.1.0/24", "gateway": "10.0.0.2"},
    "add_network_subnet": {"type": "cloud", "network_zone": "eu-central", "ip_range": "10.0.2.0/24"},
    "add_server_to_placement_group": {"placement_group": 2},
    "apply_firewall_to_resources": {"apply_to": [{"type": "server", "server": {"id": 2}}]},
    "assign_primary_ip": {"assignee_type": "server", "assignee_id": 2},
    "attach_load_balancer_to_network": {"network": 1, "ip": "10.0.0.9"},
    "attach_server_iso": {"iso": "netboot.xyz.iso"},
    "attach_server_to_network": {"network": 2, "ip": "10.1.0.9", "alias_ips": ["10.1.0.10"]},
    "attach_volume": {"server": 1, "automount": False},
    "change_image_protection": {"delete": True},
    "change_load_balancer_algorithm": {"type": "least_connections"},
    "change_load_balancer_dns_ptr": {"ip": "198.18.0.7", "dns_ptr": "lb.example.com"},
    "change_load_balancer_protection": {"delete": True},
    "change_load_balancer_type": {"load_balancer_type": "lb21"},
    "change_network_ip_range": {"ip_range": "10.0.0.0/12"},
    "change_network_protection": {"delete": True},
    "change_primary_ip_dns_ptr": {"ip": "198.18.7.7", "dns_ptr": "p.example.com"},
    "change_primary_ip_protection": {"delete": True},
    "change_server_alias_ips": {"network": 1, "alias_ips": ["10.0.0.20"]},
    "change_server_dns_ptr": {"ip": "198.18.0.9", "dns_ptr": "web.example.com"},
    "change_server_protection": {"delete": True, "rebuild": True},
    "change_server_type": {"server_type": "cpx32", "upgrade_disk": False},
    "change_volume_protection": {"delete": True},
    "create_certificate": {"name": "new", "type": "uploaded", "certificate": CERTIFICATE, "private_key": PRIVATE_KEY},
    "create_firewall": {"name": "new", "rules": [_RULE], "apply_to": [{"type": "server", "server": {"id": 2}}]},
    "create_load_balancer": {
        "name": "new",
        "load_balancer_type": "lb11",
        "location": "fsn1",
        "algorithm": {"type": "round_robin"},
        "network": 1,
        "services": [_LISTENER],
        "targets": [_TARGET],
        "labels": {"a": "b"},
        "public_interface": True,
    },
    "create_network": {
        "name": "new",
        "ip_range": "10.2.0.0/16",
        "subnets": [{"type": "cloud", "network_zone": "eu-central", "ip_range": "10.2.0.0/24"}],
        "routes": [{"destination": "10.100.2.0/24", "gateway": "10.2.0.2"}],
        "labels": {"a": "b"},
    },
    "create_placement_group": {"name": "new", "type": "spread", "labels": {}},
    "create_primary_ip": {"name": "new", "type": "ipv4", "location": "fsn1", "auto_delete": False},
    "create_server": {
        "name": "new",
        "server_type": "cpx22",
        "image": "debian-12",
        "location": "fsn1",
        "networks": [1],
        "ssh_keys": ["key"],
        "volumes": [1],
        "firewalls": [{"firewall": 1}],
        "placement_group": 1,
        "user_data": "#cloud-config\n",
        "start_after_create": True,
        "automount": False,
        "labels": {"a": "b"},
        "public_net": {"enable_ipv4": True, "enable_ipv6": False},
    },
    "create_server_image": {"type": "snapshot", "description": "before", "labels": {"a": "b"}},
    "create_ssh_key": {"name": "new", "public_key": f"ssh-ed25519 {_KEYS[1]}"},
    "create_volume": {"name": "new", "size": 10, "location": "fsn1", "format": "ext4", "automount": False},
    "delete_load_balancer_service": {"listen_port": 80},
    "delete_network_route": {"destination": "10.100.0.0/24", "gateway": "10.0.0.2"},
    "delete_network_subnet": {"ip_range": "10.1.0.0/24"},
    "detach_load_balancer_from_network": {"network": 1},
    "detach_server_from_network": {"network": 1},
    "enable_server_rescue": {"type": "linux64", "ssh_keys": [1]},
    "rebuild_server": {"image": "debian-12", "user_data": "#cloud-config\n"},
    "remove_firewall_from_resources": {"remove_from": [{"type": "server", "server": {"id": 1}}]},
    "remove_load_balancer_target": {"type": "server", "server": {"id": 1}},
    "resize_volume": {"size": 20},
    "set_firewall_rules": {"rules": [_RULE]},
    "update_image": {"description": "after", "type": "snapshot", "labels": {"a": "b"}},
    "update_load_balancer_service": {"listen_port": 80, "health_check": {"protocol": "tcp", "port": 81}},
    "update_network": {"name": "new", "labels": {"a": "b"}, "expose_routes_to_vswitch": False},
    "update_primary_ip": {"name": "new", "auto_delete": True, "labels": {"a": "b"}},
}
"""Operation → the body that it is tried with; an update without a row gets a name and labels."""
_IDS = {
    "add_load_balancer_target": 2,
    "add_server_to_placement_group": 2,
    "assign_primary_ip": 501,
    "attach_load_balancer_to_network": 2,
    "change_server_type": 2,
    "delete_firewall": 2,
    "delete_network_subnet": 2,
    "delete_placement_group": 2,
    "detach_load_balancer_from_network": 3,
    "detach_volume": 2,
    "unassign_primary_ip": 502,
}
"""Operation → which object it is tried on, other than the first."""
_FIRST_IDS = {"primary_ips": 501, "server_types": 109, "isos": 98332}
_STARTS = {
    "certificates": "retry_certificate",
    "firewalls": "set_firewall_rules",
    "actions": "change_server_protection",
}
"""Kind → the operation that starts an action of it, where that is not the change of its protection."""


@cache
def operations() -> Mapping[str, Operation]:
    """All operations of the API, by name."""
    return {operation.name: operation for operation in HetznerApi().simulator.operations()}


class EveryOperation:
    """A fresh project with the requests for it."""

    def __init__(self) -> None:
        self.api = HetznerApi(WORLD)

    def url_of(self, operation: Operation) -> str:
        """The path and the query of a request, for which an action may have to be started."""
        kind, name = operation.template.split("/")[1], operation.name
        own_id = _IDS.get(name, _FIRST_IDS.get(kind, 1))
        actions = "/actions" in operation.template and operation.method == "GET" and operation.lacks != NO_OBJECTS
        action_id = self._started(kind) if actions else 1
        names = {"id": own_id, "id_or_name": "example.com", "rr_name": "www", "rr_type": "A"}
        template = re.sub(r"(?<=actions/)\{\w+\}", str(action_id), operation.template)
        path = re.sub(r"\{(\w+)\}", lambda found: str(names.get(found[1], own_id)), template)
        return f"{path}?{urlencode(self._query(name, action_id))}".removesuffix("?")

    @staticmethod
    def body_of(operation: Operation) -> Mapping[str, Any] | None:
        """What is sent with it, None for nothing."""
        named = {"name": "new", "labels": {"a": "b"}} if operation.method == "PUT" else None
        return BODIES.get(operation.name, named)

    def answer_to(self, operation: Operation) -> Response:
        """The answer, which is judged, and the request as well."""
        return self.api.send(operation.method, self.url_of(operation), self.body_of(operation))

    def _started(self, kind: str) -> int:
        singular = operation_name("GET", f"/{kind}/{{id}}").removeprefix("get_")
        started = operations()[_STARTS.get(kind, f"change_{singular}_protection")]
        answer = self.answer_to(started).body
        action_id: int = (answer.get("action") or answer["actions"][0])["id"]
        return action_id

    @staticmethod
    def _query(name: str, action_id: int) -> Mapping[str, Any]:
        match name:
            case "get_actions":
                return {"id": action_id}
            case "get_server_metrics":
                return {"type": "cpu,disk,network", **_HOUR}
            case "get_load_balancer_metrics":
                return {"type": "bandwidth", **_HOUR}
            case _:
                return {}
