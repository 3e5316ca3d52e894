"""The folder of a development cluster: its record, its keys, and the state of Terraform. Only its owner can read it."""

import fcntl
import os
import re
import secrets
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path

import msgspec
from saying import Problem


class Stage(StrEnum):
    """How far a cluster has come. What it says is true before the next step begins."""

    NEW = "new"
    """Nothing of it may be in the project yet."""
    CLAIMED = "claimed"
    """Its SSH key is in the project: who cannot find it looks into another project."""
    GONE = "gone"
    """Nothing that is paid for is left."""


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """What is remembered of a cluster. It is written before anything is bought."""

    name: str
    cluster_id: str
    endpoint: str
    tool: str
    """Terraform or OpenTofu: neither goes on with what the other has begun."""
    k3s_token: str
    stage: Stage = Stage.NEW
    location: str = "fsn1"
    server_type: str = "cx23"
    workers: int = 2
    admin_ranges: tuple[str, ...] = ("0.0.0.0/0", "::/0")

    @classmethod
    def new(cls, name: str, endpoint: str, tool: str) -> "Record":
        """A cluster that nothing exists of."""
        identity, token = f"{name}-{secrets.token_hex(4)}", secrets.token_hex(24)
        return cls(name=name, cluster_id=identity, endpoint=endpoint, tool=tool, k3s_token=token)

    @property
    def control_plane(self) -> str:
        """Name of its server, and of its Node."""
        return f"{self.name}-control-plane"

    def is_server(self, name: str) -> bool:
        """Whether a server of the cluster has this name, or had it: a Node may outlive its server."""
        return name == self.control_plane or bool(re.fullmatch(rf"{re.escape(self.name)}-worker-[1-9]", name))


class Home:
    """The folder of the cluster ``name``: below DEV_HOME, else below the user's folder for state."""

    def __init__(self, name: str) -> None:
        state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
        parent = Path(os.environ.get("DEV_HOME") or Path(state) / "hcloud-reconciler" / "dev")
        self.folder = parent.absolute() / name
        self.infra = self.folder / "infra"
        """A copy of the configuration, with Terraform's state beside it."""
        self.kubeconfig = self.folder / "kubeconfig"
        self.ssh = self.folder / "ssh"
        self._record = self.folder / "cluster.json"

    @contextmanager
    def locked(self) -> Iterator[int]:
        """No other command works on this cluster meanwhile. Yields the descriptor of the lock, which Terraform
        inherits, as it may outlive this process. Raises Problem when another one has it."""
        self.folder.parent.mkdir(parents=True, exist_ok=True)
        with self.folder.with_name(f"{self.folder.name}.lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise Problem(
                    f"another scripts/dev, or the Terraform that one has left, is at work on {self.folder.name}:"
                    " wait until it has ended"
                ) from None
            yield lock.fileno()

    def record(self) -> Record | None:
        """What is remembered; None when there is no cluster. Raises Problem for a file that cannot be used."""
        try:
            return msgspec.json.decode(self._record.read_bytes(), type=Record)
        except FileNotFoundError:
            if self.folder.exists() and any(self.folder.iterdir()):
                raise Problem(
                    f"{self.folder} has files and no cluster.json: it is no cluster of scripts/dev, or was cut short;"
                    " move it away, or name another one with --name"
                ) from None
            return None
        except (OSError, ValueError) as error:
            raise Problem(f"{self._record} cannot be used: restore it, or move {self.folder} away") from error

    def save(self, record: Record) -> Record:
        """Remember; the record itself."""
        self.folder.mkdir(parents=True, exist_ok=True)
        write(self._record, msgspec.json.format(msgspec.json.encode(record)).decode() + "\n")
        return record

    def public_key(self) -> str:
        """The public half of the cluster's SSH key, which is made now if need be. Raises Problem."""
        if not self.ssh.exists():
            unfinished = self.ssh.with_name(".ssh.new")
            shutil.rmtree(unfinished, ignore_errors=True)
            unfinished.mkdir()
            command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", self.folder.name, "-f"]
            if subprocess.run(
                [*command, str(unfinished / "id_ed25519")], stdin=subprocess.DEVNULL, check=False
            ).returncode:
                raise Problem("ssh-keygen made no key, as said above")
            unfinished.rename(self.ssh)
        return (self.ssh / "id_ed25519.pub").read_text("ascii").strip()

    def forget(self) -> None:
        """Remove everything, the record last."""
        for entry in sorted(self.folder.iterdir(), key=lambda entry: entry == self._record):
            if entry.is_dir():
                shutil.rmtree(entry)
            else:
                entry.unlink()
        self.folder.rmdir()


def write(file: Path, text: str) -> None:
    """Write a file in one step."""
    unfinished = file.with_name(f".{file.name}.new")
    unfinished.write_text(text, "utf-8")
    unfinished.replace(file)
