"""Files that commands write: replaced whole, or left as they were; pipes and devices take what they can."""

import os
import stat
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from reconciler.cli.files import PRIVATE, SHARED, check_file, write_file


@pytest.mark.parametrize(("mode", "expected"), [(PRIVATE, 0o600), (SHARED, 0o640)])
def test_a_new_file_has_its_mode(tmp_path: Path, mode: int, expected: int) -> None:
    before = os.umask(0o027)
    try:
        write_file(b"new", str(tmp_path / "file"), mode=mode)
    finally:
        os.umask(before)

    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == expected


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    """What it leads to is replaced, and nothing else is left in either folder."""
    target, link = tmp_path / "there" / "file", tmp_path / "link"
    target.parent.mkdir()
    target.write_text("old")
    link.symlink_to(target)

    check_file(str(link))
    assert target.read_text() == "old"
    write_file(b"new", str(link))

    assert (link.is_symlink(), target.read_text()) == (True, "new")
    assert sorted(tmp_path.rglob("*")) == [link, target.parent, target]


def test_a_pipe_with_a_reader(tmp_path: Path) -> None:
    """All of it arrives, also what the pipe alone could not hold. A check sends the reader nothing."""
    pipe, heard = tmp_path / "pipe", list[bytes]()
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: heard.append(pipe.read_bytes()))
    reader.start()
    check_file(str(pipe))
    content = b"x" * 1_000_000
    while reader.is_alive():
        with suppress(OSError):  # the reader may not have opened it yet
            write_file(content, str(pipe))
            break
    reader.join(timeout=10)

    assert heard == [content]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_pipe_by_its_descriptor() -> None:
    """As a shell gives it for ``>(command)``; it has no place in any folder."""
    reading, writing = os.pipe()
    try:
        check_file(f"/dev/fd/{writing}")
        write_file(b"new", f"/dev/fd/{writing}")
        assert os.read(reading, 10) == b"new"
    finally:
        os.close(reading)
        os.close(writing)


def test_a_pipe_that_nobody_reads(tmp_path: Path) -> None:
    """An error: nobody would come, and the command would never end."""
    os.mkfifo(tmp_path / "pipe")

    with pytest.raises(OSError, match="No such device or address"):
        write_file(b"new", str(tmp_path / "pipe"))


@pytest.mark.parametrize(
    ("place", "error"),
    [
        pytest.param("", IsADirectoryError, id="a folder"),
        pytest.param("/", OSError, id="the root"),
        pytest.param("none/file", FileNotFoundError, id="no folder"),
        pytest.param("file/file", NotADirectoryError, id="below a file"),
        pytest.param("x" * 300, OSError, id="a long name"),
        pytest.param("loop", OSError, id="a loop of links"),
        pytest.param("/proc/file", OSError, id="a folder that takes none"),
    ],
)
def test_what_cannot_be_written_is_known_before(tmp_path: Path, place: str, error: type[OSError]) -> None:
    (tmp_path / "file").write_text("old")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    file = str(tmp_path / place)
    before = sorted(tmp_path.rglob("*"))

    with pytest.raises(error):
        check_file(file)
    with pytest.raises(error):
        write_file(b"new", file)

    assert sorted(tmp_path.rglob("*")) == before
    assert (tmp_path / "file").read_text() == "old"
