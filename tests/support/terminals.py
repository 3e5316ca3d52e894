"""A terminal with a person before it: what a command shows there, and what the person types."""

import errno
import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

DEADLINE_S = 60.0


class Terminal:
    """A command at a terminal of its own, so many rows high and columns wide."""

    def __init__(
        self, command: Sequence[str], environment: Mapping[str, str], folder: Path, size: tuple[int, int] = (0, 0)
    ) -> None:
        here, there = pty.openpty()
        self._fd = here
        fcntl.ioctl(there, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))
        self.process: subprocess.Popen[bytes] = subprocess.Popen(
            command, stdin=there, stdout=there, stderr=there, env=environment, cwd=folder, start_new_session=True
        )
        os.close(there)
        self.shown = ""

    def read_until(self, text: str) -> None:
        """Read until this has been shown. Raises AssertionError at the end of the process, or after too long."""
        deadline = time.monotonic() + DEADLINE_S
        while text not in self.shown:
            assert time.monotonic() < deadline, self.shown
            more = self._read()
            assert more, self.shown
            self.shown += more

    def _read(self) -> str:
        assert select.select([self._fd], [], [], DEADLINE_S)[0], self.shown
        try:
            return os.read(self._fd, 65536).decode()
        except OSError as error:
            if error.errno == errno.EIO:  # the process has ended
                return ""
            raise

    def type(self, text: str) -> None:
        """What the person types."""
        os.write(self._fd, text.encode())

    def end(self) -> int:
        """The exit code; all that is shown until then is read."""
        while more := self._read():
            self.shown += more
        return self.process.wait(DEADLINE_S)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._fd)
