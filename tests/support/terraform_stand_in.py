"""What deploy/dev/infra makes, by hcloud-python: stands in for Terraform where its provider cannot be had.

It knows the commands that scripts/dev uses, and keeps a state of its own, which it writes after each object as
Terraform does, so that a kill leaves the same traces. It reads the variables and nothing else of the configuration.
"""

import json
import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

_STATE, _PLAN = Path("terraform.tfstate"), Path("plan")
_KINDS = {
    "hcloud_network": "networks",
    "hcloud_firewall": "firewalls",
    "hcloud_placement_group": "placement_groups",
    "hcloud_server": "servers",
}


class Configuration:
    """The resources, by their addresses, in the order in which they can be made."""

    def __init__(self, client: Any, ids: dict[str, int]) -> None:
        self.variables = json.loads(Path("terraform.tfvars.json").read_text("utf-8"))
        self.labels = {"hcloud-reconciler/dev-cluster": self.variables["cluster_id"]}
        self._client = client
        self._ids = ids

    def makers(self) -> dict[str, Callable[[], int]]:
        """Address → what makes the object and returns its id."""
        name, workers = self.variables["name"], range(self.variables["workers"])
        return {
            "hcloud_network.cluster": self._network,
            "hcloud_firewall.servers": self._firewall,
            "hcloud_placement_group.servers": lambda: (
                self._client.placement_groups.create(name, "spread", labels=self.labels).placement_group.id
            ),
            "hcloud_server.control_plane": partial(self._server, f"{name}-control-plane"),
            **{
                f"hcloud_server.worker[{index}]": partial(self._server, f"{name}-worker-{index + 1}")
                for index in workers
            },
        }

    def _network(self) -> int:
        from hcloud.networks import NetworkSubnet  # noqa: PLC0415 - most commands ask nobody, and start at once

        zone = self.variables["network_zone"]
        subnet = NetworkSubnet(type="cloud", network_zone=zone, ip_range="10.0.0.0/24")
        made = self._client.networks.create(self.variables["name"], "10.0.0.0/8", subnets=[subnet], labels=self.labels)
        return int(made.id)

    def _firewall(self) -> int:
        from hcloud.firewalls import FirewallRule  # noqa: PLC0415 - see above

        rules = [FirewallRule("in", "tcp", self.variables["admin_ranges"], port=port) for port in ("22", "6443")]
        made = self._client.firewalls.create(self.variables["name"], rules, labels=self.labels)
        return int(made.firewall.id)

    def _server(self, name: str) -> int:
        from hcloud.images import Image  # noqa: PLC0415 - see above
        from hcloud.locations import Location  # noqa: PLC0415
        from hcloud.server_types import ServerType  # noqa: PLC0415
        from hcloud.ssh_keys import SSHKey  # noqa: PLC0415

        client, ids = self._client, self._ids
        made = client.servers.create(
            name,
            ServerType(name=self.variables["server_type"]),
            Image(name="ubuntu-24.04"),
            location=Location(name=self.variables["location"]),
            ssh_keys=[SSHKey(id=int(self.variables["ssh_key_id"]))],
            networks=[client.networks.get_by_id(ids["hcloud_network.cluster"])],
            firewalls=[client.firewalls.get_by_id(ids["hcloud_firewall.servers"])],
            placement_group=client.placement_groups.get_by_id(ids["hcloud_placement_group.servers"]),
            user_data="#cloud-config\n",
            labels=self.labels,
        )
        for action in (made.action, *made.next_actions):
            action.wait_until_finished()
        return int(made.server.id)


def main(command: str, *arguments: str) -> None:
    """Run one command in the working folder."""
    state: dict[str, Any] = json.loads(_STATE.read_text("utf-8")) if _STATE.exists() else {"ids": {}, "outputs": {}}
    match command:
        case "plan":
            _plan(_client(), state, destroy="-destroy" in arguments)
        case "apply":
            _apply(_client(), state)
        case "show" if "plan" in arguments:
            sys.stdout.write(_PLAN.read_text("utf-8"))
        case "show":
            resources = [
                {"type": address.partition(".")[0], "values": {"id": str(number)}}
                for address, number in state["ids"].items()
            ]
            sys.stdout.write(json.dumps({"values": {"root_module": {"resources": resources}}}))
        case "output":
            sys.stdout.write(json.dumps({name: {"value": value} for name, value in state["outputs"].items()}))


def _client() -> Any:
    from hcloud import Client  # noqa: PLC0415 - see above

    return Client(os.environ["HCLOUD_TOKEN"], api_endpoint=os.environ["HCLOUD_ENDPOINT"], poll_interval=0.05)


def _plan(client: Any, state: dict[str, Any], *, destroy: bool) -> None:
    there = {address: number for address, number in state["ids"].items() if _exists(client, address, number)}
    wanted = [] if destroy else list(Configuration(client, there).makers())
    changes = {address: ["create"] for address in wanted if address not in there}
    changes |= {address: ["delete"] for address in reversed(there) if address not in wanted}
    resources = [{"address": address, "change": {"actions": actions}} for address, actions in changes.items()]
    outputs = {} if state["outputs"] and not changes else {"all": {"actions": ["update"]}}
    _PLAN.write_text(json.dumps({"resource_changes": resources, "output_changes": outputs, "there": there}), "utf-8")


def _apply(client: Any, state: dict[str, Any]) -> None:
    planned = json.loads(_PLAN.read_text("utf-8"))
    state["ids"] = planned["there"]
    configuration = Configuration(client, state["ids"])
    makers = configuration.makers()
    for change in planned["resource_changes"]:
        address = change["address"]
        if change["change"]["actions"] == ["create"]:
            state["ids"][address] = makers[address]()
        else:
            _delete(client, address, state["ids"].pop(address))
        _save(state)
    state["outputs"] = _outputs(client, state["ids"])
    _save(state)


def _outputs(client: Any, ids: dict[str, int]) -> dict[str, Any]:
    servers = [
        client.servers.get_by_id(number) for address, number in ids.items() if address.startswith("hcloud_server")
    ]
    if not servers:
        return {}
    return {
        "network_id": str(ids["hcloud_network.cluster"]),
        "control_plane_address": servers[0].public_net.ipv4.ip,
        "servers": [server.name for server in servers],
    }


def _exists(client: Any, address: str, number: int) -> bool:
    from hcloud import APIException  # noqa: PLC0415 - see above

    try:
        getattr(client, _KINDS[address.partition(".")[0]]).get_by_id(number)
    except APIException as error:
        if error.code == "not_found":
            return False
        raise
    return True


def _delete(client: Any, address: str, number: int) -> None:
    kind = getattr(client, _KINDS[address.partition(".")[0]])
    answer = kind.delete(kind.get_by_id(number))
    if address.startswith("hcloud_server"):
        answer.wait_until_finished()


def _save(state: dict[str, Any]) -> None:
    unfinished = _STATE.with_suffix(".new")
    unfinished.write_text(json.dumps(state), "utf-8")
    unfinished.replace(_STATE)


if __name__ == "__main__":
    main(*sys.argv[1:])
