"""Files that commands write: whole or not at all, and never half of one in the place of another. And files that they
read, of which they wait for none.

What is there already stays until all of the new content is written. Devices and pipes take what they can.
"""

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PRIVATE = 0o600
"""Mode of a file that only its owner may read."""
SHARED = 0o666
"""Mode of a file that others may read as far as the umask allows."""


def write_file(content: bytes, file: str, *, mode: int = PRIVATE) -> None:
    """Replace what is in ``file``, which may be a link, a device or a pipe with a reader.

    Raises OSError, and leaves what was there before where there is no room for all of it.
    """
    if _is_stream(file):
        _write_stream(content, file)
        return
    place = Path(file).resolve()
    with _temporary(place, mode) as written:
        with written.open("wb") as opened:
            opened.write(content)
        written.replace(place)


def read_file(file: str, most: int) -> bytes:
    """The content of ``file``, which may be a link to one. Raises OSError, also for what is no file, such as a pipe,
    for which no process waits, and for more than ``most`` bytes, of which none is kept."""
    _require_file(os.stat(file))  # before it is opened, which some devices notice  # noqa: PTH116
    handle = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    with os.fdopen(handle, "rb") as opened:
        found = os.fstat(handle)
        _require_file(found)
        content = opened.read(most + 1) if found.st_size <= most else b""
    if found.st_size > most or len(content) > most:
        raise OSError(errno.EFBIG, f"it has more than {most} bytes")
    return content


def _require_file(found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, "it is no regular file")


def check_file(file: str) -> None:
    """Raise the OSError that would keep ``write_file`` from writing, as far as that can be known before. Nothing is
    left behind, and what is there is not touched."""
    if _is_stream(file):
        if not os.access(file, os.W_OK):
            raise PermissionError(None, "Permission denied")
        return
    place = Path(file).resolve()
    if place.is_dir():
        raise IsADirectoryError(None, "Is a directory")
    with _temporary(place, PRIVATE):
        pass


def _is_stream(file: str) -> bool:
    """Whether ``file`` takes what is written to it and keeps nothing: that cannot be replaced."""
    try:
        mode = Path(file).stat().st_mode
    except FileNotFoundError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _write_stream(content: bytes, file: str) -> None:
    """A pipe without a reader is an error: opened in the usual way it would wait for a reader for ever."""
    handle = os.open(file, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(handle, "wb") as opened:
        os.set_blocking(handle, True)
        opened.write(content)


@contextmanager
def _temporary(place: Path, mode: int) -> Iterator[Path]:
    """A new, empty file beside ``place``. It goes at the end unless it was moved there."""
    written = place.parent / f".reconcile-{secrets.token_hex(8)}"
    os.close(os.open(written, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode))
    try:
        yield written
    finally:
        written.unlink(missing_ok=True)
