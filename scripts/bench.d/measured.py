"""Run a command and print what it cost: JSON on stdout, the command's own stdout in the file named first.

A process of its own, and a small one: a child's peak memory begins with that of the process that started it. Needs
only Python's standard library.
"""

import json
import os
import resource
import sys
import time

_ROUNDS = 400_000


def main() -> int:
    """0, whatever the command's status: that is in the JSON."""
    output, *command = sys.argv[1:]
    before_s = calibrate()
    started_at, started = time.time(), time.monotonic()
    child = os.posix_spawn(
        command[0],
        command,
        os.environ,
        file_actions=[(os.POSIX_SPAWN_OPEN, 1, output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)],
    )
    _, status, usage = os.wait4(child, 0)
    wall_s = time.monotonic() - started
    cost = {
        "exit": os.waitstatus_to_exitcode(status),
        "started_at": started_at,
        "wall_s": wall_s,
        "user_s": usage.ru_utime,
        "system_s": usage.ru_stime,
        "peak_mib": mebibytes(usage),
        "calibration_s": (before_s + calibrate()) / 2,
    }
    json.dump(cost, sys.stdout)
    return 0


def calibrate() -> float:
    """CPU seconds of a fixed piece of work of the sort that a pass is made of: what this machine is worth now."""
    started = time.process_time()
    table: dict[str, tuple[int, str]] = {}
    for number in range(_ROUNDS):
        name = f"worker-{number % 1000}"
        table[name] = (number, name.upper())
    sorted(table.values())
    return time.process_time() - started


def mebibytes(usage: resource.struct_rusage) -> float:
    """Peak memory; macOS counts bytes where Linux counts kibibytes."""
    return usage.ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)


if __name__ == "__main__":
    sys.exit(main())
