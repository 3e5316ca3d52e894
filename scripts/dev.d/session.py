"""What a command of scripts/dev works with: the cluster's folder, the project of the token, whether it rehearses."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml
from cluster import Cluster
from home import Home, Record, Stage
from infrastructure import Infrastructure
from machine import Machine
from project import SSH_KEYS, Found, Project
from saying import Problem

from actuators.http.shown import is_loopback, shown_address

_ENDPOINT = "https://api.hetzner.cloud/v1"
_SANDBOX = "set both to what `reconcile sandbox` prints"


@dataclass(frozen=True, slots=True)
class Session:
    """``stand_in`` is the kubeconfig of the sandbox, whose API stands in for the cluster's in a rehearsal: there is no
    machine then that could be reached by SSH. None at Hetzner. Its methods raise Problem."""

    home: Home
    project: Project
    endpoint: str
    token: str
    lock: int
    stand_in: Path | None

    def record(self) -> Record | None:
        """The record of the cluster; None when there is none. Raises Problem when it was made elsewhere."""
        record = self.home.record()
        if record is not None and record.endpoint != self.endpoint:
            raise Problem(
                f"cluster {record.name} was made at {shown_address(record.endpoint)}, and HCLOUD_ENDPOINT leads to"
                f" {shown_address(self.endpoint)}: set it to that, or choose another --name; where that API is gone for"
                f" good, as a sandbox is, remove {self.home.folder}"
            )
        return record

    def existing(self) -> Record:
        """The record of a cluster that there is, in this project."""
        record = self.record()
        if record is None:
            raise Problem(f"there is no cluster {self.home.folder.name} here: run scripts/dev up")
        self.key_of(record)  # in another project everything would seem to be gone, and to cost nothing
        return record

    def key_of(self, record: Record) -> Found | None:
        """The cluster's SSH key in the project, which proves that the token is the right project's; None when it has
        none yet, or none any more. Raises Problem when it has to be there and is not."""
        keys = [each for each in self.project.labelled(record.cluster_id) if each.kind == SSH_KEYS]
        if not keys and record.stage is Stage.CLAIMED:
            raise Problem(
                f"the project of HCLOUD_TOKEN has no SSH key of cluster {record.name}: take the token of the project"
                " that the cluster is in; if the key was deleted by hand, see in Hetzner's console that nothing with"
                f" label {record.cluster_id} is left, and remove {self.home.folder}"
            )
        return keys[0] if keys else None

    def present(self, record: Record) -> list[Found]:
        """What the project has of the cluster, but for its SSH key."""
        return [each for each in self.project.labelled(record.cluster_id) if each.kind != SSH_KEYS]

    def strays(self, record: Record) -> list[Found]:
        """What Terraform made and could not write down, as it was killed in between."""
        known = self.infrastructure(record).known()
        return [each for each in self.present(record) if (each.kind, each.id) not in known]

    def infrastructure(self, record: Record) -> Infrastructure:
        """Terraform for this cluster."""
        return Infrastructure(self.home, record, self.token, self.lock)

    def control_plane(self, record: Record) -> Machine:
        """The control plane, to be reached by SSH. Raises Problem when it is gone."""
        server = self.project.named("servers", record.control_plane)
        if server is None:
            raise Problem(f"server {record.control_plane} is gone: run scripts/dev up again")
        return Machine(self.home, self.infrastructure(record).outputs().control_plane_address, server["id"])

    def cluster(self, record: Record, present: Sequence[Found]) -> Cluster:
        """The cluster, by the kubeconfig that ``up`` has written, with the network among what is ``present``."""
        if not self.home.kubeconfig.exists():
            raise Problem(f"cluster {record.name} has no kubeconfig yet: run scripts/dev up")
        network = next((str(each.id) for each in present if each.kind == "networks"), "")
        return Cluster(
            self.home.kubeconfig,
            endpoint=self.endpoint,
            token=self.token,
            network_id=network,
            location=record.location,
        )


def open_session(home: Home, lock: int) -> Session:
    """A session by the environment. Raises Problem."""
    token = os.environ.get("HCLOUD_TOKEN", "").strip()
    if not token:
        raise Problem(
            "HCLOUD_TOKEN is not set: create a token that may read and write in Hetzner's console, in a project for"
            " this alone, and export it"
        )
    endpoint = (os.environ.get("HCLOUD_ENDPOINT") or _ENDPOINT).rstrip("/")
    stand_in = _stand_in() if is_loopback(endpoint) else None
    return Session(home, Project(endpoint, token), endpoint, token, lock, stand_in)


def _stand_in() -> Path:
    """The sandbox's kubeconfig. A rehearsal deletes Services as well: no cluster but one of this machine will do."""
    named = os.environ.get("KUBECONFIG", "")
    try:
        clusters = yaml.safe_load(Path(named).read_text("utf-8"))["clusters"]
        is_here = all(is_loopback(each["cluster"]["server"]) for each in clusters)
    except (OSError, ValueError, yaml.YAMLError, TypeError, KeyError):
        raise Problem(f"HCLOUD_ENDPOINT is a sandbox's, and KUBECONFIG names no kubeconfig: {_SANDBOX}") from None
    if not is_here:
        raise Problem(f"HCLOUD_ENDPOINT is a sandbox's, and KUBECONFIG {named} leads to another machine: {_SANDBOX}")
    return Path(named)
