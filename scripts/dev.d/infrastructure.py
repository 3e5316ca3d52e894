"""Terraform or OpenTofu, at work in the cluster's own copy of ``deploy/dev/infra``."""

import json
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from home import Home, Record, write
from saying import Problem

SOURCE = Path(__file__).resolve().parents[2] / "deploy" / "dev" / "infra"
_VERSION = "1.10 or newer"
_IGNORED = ("TF_WORKSPACE", "TF_DATA_DIR", "TF_CLI_ARGS", "TF_VAR_")
"""What would lead Terraform elsewhere than this module says."""
_SUFFIXES = (".tf", ".tftpl", ".yaml", ".sh")
_KINDS = {
    "hcloud_server": "servers",
    "hcloud_firewall": "firewalls",
    "hcloud_placement_group": "placement_groups",
    "hcloud_network": "networks",
}
"""Types of resources that are objects of their own at Hetzner."""


@dataclass(frozen=True, slots=True)
class Planned:
    """What an apply would do: addresses of resources. One that is replaced is in both."""

    created: tuple[str, ...]
    destroyed: tuple[str, ...]
    is_empty: bool

    @property
    def servers(self) -> int:
        """How many are created."""
        return sum(address.startswith("hcloud_server.") for address in self.created)


@dataclass(frozen=True, slots=True)
class Outputs:
    """What the rest has to know of the infrastructure."""

    network_id: str
    control_plane_address: str
    servers: tuple[str, ...]


def find_tool() -> str:
    """The name of the tool for a new cluster. Raises Problem."""
    for name in ("terraform", "tofu"):
        if shutil.which(name):
            return name
    raise Problem(f"neither terraform nor tofu is on the PATH: install OpenTofu or Terraform, {_VERSION}")


def variables_of(record: Record, network_zone: str, ssh_key_id: int) -> dict[str, Any]:
    """The variables of deploy/dev/infra."""
    names = ("name", "cluster_id", "location", "server_type", "workers", "k3s_token", "admin_ranges")
    settings = {name: getattr(record, name) for name in names}
    return settings | {"network_zone": network_zone, "ssh_key_id": str(ssh_key_id)}


class Infrastructure:
    """The infrastructure of one cluster. ``lock`` is a descriptor that Terraform keeps open. What runs the tool raises
    Problem when that fails."""

    def __init__(self, home: Home, record: Record, token: str, lock: int) -> None:
        if not shutil.which(record.tool):
            raise Problem(f"{record.tool} has made this cluster and is not on the PATH: install it again, {_VERSION}")
        self._folder, self._tool, self._lock = home.infra, record.tool, lock
        kept = {name: value for name, value in os.environ.items() if not name.startswith(_IGNORED)}
        ours = {"HCLOUD_TOKEN": token, "HCLOUD_ENDPOINT": record.endpoint}
        self._environment = kept | ours | {"TF_IN_AUTOMATION": "1", "TF_INPUT": "0", "CHECKPOINT_DISABLE": "1"}

    def prepare(self, variables: dict[str, Any]) -> None:
        """Take the configuration of the checkout and these settings."""
        self._folder.mkdir(exist_ok=True)
        for old in self._folder.iterdir():
            if old.suffix in _SUFFIXES and not (SOURCE / old.name).exists():
                old.unlink()
        for file in SOURCE.iterdir():
            write(self._folder / file.name, file.read_text("utf-8"))
        write(self._folder / "terraform.tfvars.json", json.dumps(variables, indent=2) + "\n")
        self._output("init", "-no-color")

    def plan(self) -> Planned:
        """What is to be done; ``apply`` does exactly that."""
        self._output("plan", "-no-color", "-out=plan")
        planned = json.loads(self._output("show", "-json", "plan"))
        resources = [(each["address"], each["change"]["actions"]) for each in planned.get("resource_changes", ())]
        outputs = [each["actions"] for each in planned.get("output_changes", {}).values()]
        return Planned(
            created=tuple(address for address, actions in resources if "create" in actions),
            destroyed=tuple(address for address, actions in resources if "delete" in actions),
            is_empty=all(actions == ["no-op"] for actions in (*outputs, *(each for _, each in resources))),
        )

    def apply(self) -> None:
        """Do what was planned, before a person's eyes. Ctrl-C reaches the tool as well, which then ends what it has
        begun and writes its state: it is waited for. KeyboardInterrupt after a Ctrl-C."""
        interrupts: list[int] = []
        before = signal.signal(signal.SIGINT, lambda number, _: interrupts.append(number))
        try:
            self._run("apply", *(() if sys.stderr.isatty() else ("-no-color",)), "plan", stdout=sys.stderr)
        except Problem:
            if interrupts:
                raise KeyboardInterrupt from None
            raise
        finally:
            signal.signal(signal.SIGINT, before)

    def destroy(self) -> None:
        """Destroy what the state has."""
        self._output("plan", "-no-color", "-destroy", "-out=plan")
        self.apply()

    def known(self) -> set[tuple[str, int]]:
        """(kind, id) of each object in the state."""
        if not self._folder.exists():
            return set()
        shown = json.loads(self._output("show", "-json"))
        resources = shown.get("values", {}).get("root_module", {}).get("resources", ())
        return {(_KINDS[each["type"]], int(each["values"]["id"])) for each in resources if each["type"] in _KINDS}

    def outputs(self) -> Outputs:
        """The outputs of the last apply. Raises Problem when it was not brought to its end."""
        found = json.loads(self._output("output", "-json")) if self._folder.exists() else {}
        try:
            network, address, servers = (
                found[name]["value"] for name in ("network_id", "control_plane_address", "servers")
            )
        except KeyError:
            raise Problem("the infrastructure is not complete: run scripts/dev up again, it continues") from None
        return Outputs(network, address, tuple(servers))

    def _output(self, *arguments: str) -> str:
        return str(self._run(*arguments, stdout=subprocess.PIPE).stdout)

    def _run(self, *arguments: str, stdout: Any) -> "subprocess.CompletedProcess[str]":
        done = subprocess.run(
            [self._tool, *arguments],
            cwd=self._folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            text=True,
            pass_fds=(self._lock,),
            check=False,
        )
        if done.returncode:
            raise Problem(
                f"{self._tool} {arguments[0]} ended with {done.returncode}, as said above: mend that and run the same"
                " command again, it continues"
            )
        return done
