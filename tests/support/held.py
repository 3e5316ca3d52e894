"""What a process holds and has used, as Linux tells it under ``/proc``."""

import os
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Held:
    """What there is at one moment."""

    memory_kb: int
    peak_kb: int
    """The most memory that it ever had."""
    threads: int
    files: int
    """Descriptors that are open, but for the connections that are counted by themselves."""
    connections: Mapping[int, int]
    """Port → how many connections there are to it; of the ports that were asked for."""


def held_by(pid: int, ports: Collection[int]) -> Held | None:
    """What the process holds, with its TCP connections to these ports of this machine; None when it has ended."""
    process = Path(f"/proc/{pid}")
    status = dict(line.split(":", 1) for line in (process / "status").read_text().splitlines())
    if "VmRSS" not in status:  # nobody has waited for its end yet
        return None
    peers = _peers(process)
    open_files = [_target(each) for each in (process / "fd").iterdir()]
    counted = Counter(port for each in open_files if (port := peers.get(each)) in ports and port is not None)
    return Held(
        memory_kb=int(status["VmRSS"].split()[0]),
        peak_kb=int(status["VmHWM"].split()[0]),
        threads=len(list((process / "task").iterdir())),
        files=len(open_files) - counted.total(),
        connections={port: counted[port] for port in ports},
    )


def cpu_s(pid: int) -> float:
    """Seconds of one processor that the process has used since it was started, in user and in kernel mode, what its
    children used left out (proc_pid_stat(5))."""
    after_the_name = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    user, kernel = after_the_name[11:13]
    return (int(user) + int(kernel)) / os.sysconf("SC_CLK_TCK")


def _peers(process: Path) -> Mapping[str, int]:
    """What the descriptor of a TCP socket points at → the port at its other end (proc_pid_net(5))."""
    return dict(_sockets((process / "net/tcp").read_text()))


def _sockets(table: str) -> Iterator[tuple[str, int]]:
    for line in table.splitlines()[1:]:
        words = line.split()
        yield f"socket:[{words[9]}]", int(words[2].rpartition(":")[2], 16)


def _target(descriptor: Path) -> str:
    """What it points at; "" when it has been closed meanwhile."""
    try:
        return str(descriptor.readlink())
    except FileNotFoundError:
        return ""
