"""World files: what is written is read again, and what is none is refused with its name and a remedy."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from actuators.http.errors import (
    ApiError,
    Broken,
    Busy,
    Conflict,
    Denied,
    Invalid,
    NotFound,
    Stopped,
    Throttled,
    Transient,
)
from hcloud_sandbox import worlds
from reconciler.capture.world_file import (
    FORMAT_VERSION,
    Account,
    Captured,
    Cluster,
    MissingPart,
    Project,
    World,
    WorldFileProblem,
    read_world,
    write_world,
)
from tests.support.rendering import golden
from tests.support.rows import rows

TIME = datetime(2027, 1, 15, 8, 0, tzinfo=UTC)
EMPTY: dict[str, Any] = {"captured": {"taken_at": "2027-01-15T08:00:00Z"}, "kubernetes": {}, "hetzner": {}}


def text(**members: Any) -> bytes:
    """A file with these top-level members in place of an empty one's; None takes one out."""
    return msgspec.json.encode({name: value for name, value in {**EMPTY, **members}.items() if value is not None})


def test_what_is_written_is_read(tmp_path: Path) -> None:
    raw = [msgspec.Raw(b'{"a":1}'), msgspec.Raw('{"b":"ü"}'.encode())]
    world = World(
        captured=Captured(
            TIME, "1.2.3", {"/a": raw}, {"/b": raw[0]}, {"/c": MissingPart("denied", "no", 403, "forbidden")}
        ),
        kubernetes=Cluster(raw, [], raw[:1], raw[1:], volumeattachments=raw[:1]),
        hetzner=Project([], raw, raw[:1], raw[1:]),
        robot=Account(raw),
    )
    file = tmp_path / "world.json"
    file.write_bytes(write_world(world))

    again = read_world(str(file))

    assert msgspec.json.decode(msgspec.json.encode(again)) == msgspec.json.decode(msgspec.json.encode(world))
    assert (again.captured.taken_at, again.format_version) == (TIME, FORMAT_VERSION)
    assert write_world(again) == file.read_bytes()


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(text(), id="empty"),
        pytest.param(text(format_version="1.7", robot={"servers": []}, more={}), id="a later minor version"),
        pytest.param(text(kubernetes={"nodes": [{"no": "Node"}], "leases": []}), id="objects are not looked into"),
        pytest.param(b"\n " + text().replace(b'":', b'" :\n'), id="spaced"),
    ],
)
def test_good_files(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "world.json"
    file.write_bytes(content)

    assert read_world(str(file)).captured.taken_at == TIME


BAD: Mapping[str, bytes] = {
    "truncated": text()[:-1],
    "YAML": b"nodes: []",
    "deep and cut off": b'{"x":' * 100_000,
    "a list": b"[]",
    "no cluster": text(kubernetes=None),
    "another major version": text(format_version="2.0"),
    "no version, before anything else": text(format_version=1, kubernetes=5),
    "written by hand": text(captured=None),
    "a time of some zone": text(captured={"taken_at": "2027-01-15T08:00:00"}),
    "a section that is no list": text(kubernetes={"nodes": {}}),
    "no object": text(hetzner={"servers": [{}, 5]}),
    "no VolumeAttachment": text(kubernetes={"volumeattachments": [5]}),
    "no object of a list": text(captured={**EMPTY["captured"], "lists": {"/a": [[]]}}),
}


def test_bad_files(tmp_path: Path) -> None:
    """One line names the file, what is wrong, and a remedy. Set UPDATE_GOLDEN to write the file anew, and read it."""
    file, said = tmp_path / "world.json", []
    for name, content in BAD.items():
        file.write_bytes(content)
        with pytest.raises(WorldFileProblem) as raised:
            read_world(str(file))
        said.append(f"{name}: {str(raised.value).replace(str(tmp_path), '')}\n")

    assert "".join(said) == golden("bad_worlds.txt", "".join(said))


@rows("name why", {"missing": ("missing", "No such file or directory"), "folder": ("", "Is a directory")})
def test_no_files(tmp_path: Path, name: str, why: str) -> None:
    path = str(tmp_path / name)

    with pytest.raises(WorldFileProblem) as raised:
        read_world(path)

    assert str(raised.value) == (
        f"world file {path!r} cannot be used: {why}; give a file that 'reconcile capture' has written"
    )


@pytest.mark.parametrize(
    "error",
    [
        *(kind("it said no", status=499, code="c") for kind in (NotFound, Busy, Conflict, Invalid, Denied, Transient)),
        Broken("garbage"),
        Throttled("too many", retry_after_s=2.5, status=429),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_return(error: ApiError) -> None:
    gap = msgspec.json.decode(msgspec.json.encode(MissingPart.of(error, 7)), type=MissingPart)

    again = gap.as_error()

    assert (type(again), str(again), again.status, again.code) == (type(error), str(error), error.status, error.code)
    assert getattr(again, "retry_after_s", None) == getattr(error, "retry_after_s", None)
    assert gap.expected == 7


@pytest.mark.parametrize(
    ("gap", "kind"),
    [
        pytest.param(MissingPart.of(Stopped("stopped")), Transient, id="a kind that is a special case of another"),
        pytest.param(MissingPart("unheard of", "?"), Broken, id="a kind of a later version"),
    ],
)
def test_other_errors(gap: MissingPart, kind: type[ApiError]) -> None:
    assert type(gap.as_error()) is kind


def test_the_sandbox_takes_what_is_beside_objects() -> None:
    """Its reader and this one know the same format, and share no code."""
    assert worlds.FORMAT_VERSION == FORMAT_VERSION
    assert set(Cluster.__struct_fields__) <= set(worlds.SECTIONS["kubernetes"])
    assert set(Project.__struct_fields__) <= set(worlds.SECTIONS["hetzner"])
    worlds.check_file({"format_version": FORMAT_VERSION, "captured": {"anything": 1}})
