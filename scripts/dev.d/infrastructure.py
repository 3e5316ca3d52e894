"""Terraform or OpenTofu, at work in the cluster's own copy of ``deploy/dev/infra``."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from home import Home, Record
from saying import Problem

SOURCE = Path(__file__).resolve().parents[2] / "deploy" / "dev" / "infra"
_TOOLS = ("terraform", "tofu")
_VERSION = "1.10 or newer"
_REMEMBERED = "tool"
"""File with the name of the one in use."""
_IGNORED = ("TF_WORKSPACE", "TF_DATA_DIR", "TF_CLI_ARGS", "TF_VAR_")
"""What would lead Terraform elsewhere than this module says."""
_COLOR = () if sys.stderr.isatty() else ("-no-color",)
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

    def count(self, of_type: str) -> int:
        """How many of a type are created."""
        return sum(address.startswith(f"{of_type}.") for address in self.created)


@dataclass(frozen=True, slots=True)
class Outputs:
    """What the rest has to know of the infrastructure."""

    network_id: str
    control_plane_address: str
    servers: tuple[str, ...]


def find_tool(home: Home) -> str:
    """Path of the tool that has made the infrastructure, as neither goes on with what the other has begun; of the first
    that is there, where none has. Raises Problem."""
    file = home.infra / _REMEMBERED
    used = file.read_text("utf-8") if file.exists() else None
    for name in _TOOLS if used is None else (used,):
        if found := shutil.which(name):
            return found
    if used is not None:
        raise Problem(f"{used} has made this cluster and is not on the PATH: install it again, {_VERSION}")
    raise Problem(f"neither terraform nor tofu is on the PATH: install OpenTofu or Terraform, {_VERSION}")


def variables_of(record: Record, network_zone: str, ssh_key_id: int) -> dict[str, Any]:
    """The variables of deploy/dev/infra."""
    return {
        "name": record.name,
        "cluster_id": record.cluster_id,
        "location": record.location,
        "network_zone": network_zone,
        "server_type": record.server_type,
        "workers": record.workers,
        "ssh_key_id": str(ssh_key_id),
        "k3s_token": record.k3s_token,
        "admin_ranges": list(record.admin_ranges),
    }


class Infrastructure:
    """The infrastructure of one cluster. ``lock`` is a descriptor that Terraform keeps open."""

    def __init__(self, home: Home, token: str, endpoint: str, lock: int) -> None:
        self._home = home
        self._tool = find_tool(home)
        self._lock = lock
        kept = {name: value for name, value in os.environ.items() if not name.startswith(_IGNORED)}
        self._environment = {
            **kept,
            "HCLOUD_TOKEN": token,
            "HCLOUD_ENDPOINT": endpoint,
            "TF_IN_AUTOMATION": "1",
            "TF_INPUT": "0",
            "CHECKPOINT_DISABLE": "1",
        }

    def prepare(self, record: Record, network_zone: str, ssh_key_id: int) -> None:
        """Take the configuration of the checkout and the settings of the record. Raises Problem."""
        self._home.infra.mkdir(exist_ok=True, mode=0o700)
        self._home.write(self._home.infra / _REMEMBERED, Path(self._tool).name)
        for file in SOURCE.iterdir():
            self._home.write(self._home.infra / file.name, file.read_text("utf-8"))
        for old in self._home.infra.iterdir():
            if old.suffix in _SUFFIXES and not (SOURCE / old.name).exists():
                old.unlink()
        variables = variables_of(record, network_zone, ssh_key_id)
        self._home.write(self._home.infra / "terraform.tfvars.json", json.dumps(variables, indent=2) + "\n")
        self._quietly("init", "-no-color")

    def plan(self) -> Planned:
        """What is to be done; ``apply`` does exactly that. Raises Problem."""
        self._quietly("plan", "-no-color", "-out=plan")
        planned = self._json("show", "-json", "plan")
        resources = [(each["address"], each["change"]["actions"]) for each in planned.get("resource_changes", ())]
        outputs = [each["actions"] for each in planned.get("output_changes", {}).values()]
        return Planned(
            created=tuple(address for address, actions in resources if "create" in actions),
            destroyed=tuple(address for address, actions in resources if "delete" in actions),
            is_empty=all(actions == ["no-op"] for actions in (*outputs, *(each for _, each in resources))),
        )

    def apply(self) -> None:
        """Do what was planned. Raises Problem."""
        self._openly("apply", *_COLOR, "plan")

    def destroy(self) -> None:
        """Destroy what the state has. Raises Problem."""
        self._quietly("plan", "-no-color", "-destroy", "-out=plan")
        self._openly("apply", *_COLOR, "plan")

    def known(self) -> set[tuple[str, int]]:
        """(kind, id) of each object in the state. Raises Problem."""
        if not self._home.infra.exists():
            return set()
        resources = self._json("show", "-json").get("values", {}).get("root_module", {}).get("resources", ())
        return {(_KINDS[each["type"]], int(each["values"]["id"])) for each in resources if each["type"] in _KINDS}

    def outputs(self) -> Outputs:
        """The outputs of the last apply. Raises Problem when it was not brought to its end."""
        found = self._json("output", "-json")
        try:
            return Outputs(
                found["network_id"]["value"],
                found["control_plane_address"]["value"],
                tuple(found["servers"]["value"]),
            )
        except KeyError:
            raise Problem("the infrastructure is not complete: run scripts/dev up again, it continues") from None

    def _json(self, *arguments: str) -> Mapping[str, Any]:
        answer: Mapping[str, Any] = json.loads(self._quietly(*arguments))
        return answer

    def _quietly(self, *arguments: str) -> str:
        """The output, which is shown only when the tool fails. Raises Problem."""
        process = self._started(arguments, subprocess.PIPE, subprocess.PIPE)
        stdout, stderr = process.communicate()
        if process.returncode:
            sys.stderr.write(stderr)
            raise self._failed(arguments[0], process.returncode)
        return str(stdout)

    def _openly(self, *arguments: str) -> None:
        """A person sees what it does. Ctrl-C reaches the tool as well, which then ends what it has begun and writes its
        state: it is waited for. Raises Problem; KeyboardInterrupt after a Ctrl-C."""
        interrupted = False

        def interrupt(*_: object) -> None:
            nonlocal interrupted
            interrupted = True

        before = signal.signal(signal.SIGINT, interrupt)
        try:
            status = self._started(arguments, sys.stderr, sys.stderr).wait()
        finally:
            signal.signal(signal.SIGINT, before)
        if interrupted:
            raise KeyboardInterrupt
        if status:
            raise self._failed(arguments[0], status)

    def _started(self, arguments: tuple[str, ...], stdout: Any, stderr: Any) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [self._tool, *arguments],
            cwd=self._home.infra,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            text=True,
            pass_fds=(self._lock,),
        )

    def _failed(self, command: str, status: int) -> Problem:
        return Problem(
            f"{Path(self._tool).name} {command} ended with {status}, as said above: mend that and run the same command"
            " again, it continues"
        )
