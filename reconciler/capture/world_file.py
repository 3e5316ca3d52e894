"""World files: raw objects of both APIs, and beside them what a plan needs and no simulator does.

Objects are kept as text: what is not used is not decoded, and only the decoders of API answers decode it.
"""

import re
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import msgspec

from actuators.http.decoding import decoder, in_words
from actuators.http.errors import ApiError, Broken, Busy, Conflict, Denied, Invalid, NotFound, Throttled, Transient
from actuators.http.kubeconfig import ConnectionProblem
from actuators.http.shown import escaped_json

FORMAT_VERSION = "1.0"
"""The version that is written; any 1.x is read."""

Objects = list[msgspec.Raw]
_ERRORS: Mapping[str, type[ApiError]] = {
    kind.__name__.lower(): kind for kind in (NotFound, Busy, Conflict, Invalid, Denied, Throttled, Transient, Broken)
}


class WorldFileProblem(ConnectionProblem):
    """A file from which no plan can be made; the text names it and the remedy."""


class MissingPart(msgspec.Struct, omit_defaults=True):
    """The reason why a list, or an object, is incomplete."""

    error: str | None = None
    """The kind of error that ended the reading; None when the list only does not add up."""
    message: str = ""
    status: int | None = None
    code: str | None = None
    retry_after_s: float | None = None
    expected: int | None = None
    """How many objects the API said there are; None when it did not say."""

    @classmethod
    def of(cls, error: ApiError | None, expected: int | None = None) -> "MissingPart":
        """The gap that ``error`` left."""
        if error is None:
            return cls(expected=expected)
        kind = next((word for word, kind in _ERRORS.items() if isinstance(error, kind)), "broken")
        retry_after_s = error.retry_after_s if isinstance(error, Throttled) else None
        return cls(kind, str(error), error.status, error.code, retry_after_s, expected)

    def as_error(self) -> ApiError:
        """The error again."""
        if self.error == Throttled.__name__.lower():
            return Throttled(self.message, retry_after_s=self.retry_after_s or 0.0, status=self.status, code=self.code)
        return _ERRORS.get(self.error or "", Broken)(self.message, status=self.status, code=self.code)


class Captured(msgspec.Struct, omit_defaults=True):
    """The data that a plan needs and the sections have no place for. Paths are those of the APIs, without a query."""

    taken_at: Annotated[datetime, msgspec.Meta(tz=True)]
    """The API server's time when the reading of the Nodes began."""
    tool_version: str = ""
    lists: dict[str, Objects] = {}
    """Path → the objects that are listed there."""
    objects: dict[str, msgspec.Raw] = {}
    """Path → an object that its list lacks."""
    gaps: dict[str, MissingPart] = {}
    """Path → why the reading of it is incomplete."""


class Cluster(msgspec.Struct):
    """The Kubernetes part."""

    nodes: Objects = []
    services: Objects = []
    namespaces: Objects = []
    configmaps: Objects = []
    deployments: Objects = []
    daemonsets: Objects = []
    volumeattachments: Objects | msgspec.UnsetType = msgspec.UNSET
    """Not there where they were not read, or could not be."""


class Project(msgspec.Struct):
    """The Hetzner part."""

    servers: Objects = []
    networks: Objects = []
    primary_ips: Objects = []
    """Those that a plan depends on."""
    load_balancers: Objects = []
    certificates: Objects = []


class Account(msgspec.Struct):
    """The Robot part."""

    servers: Objects = []
    """As the webservice has them, but without the wrapper; with ``operating_status`` where it was asked for."""


class World(msgspec.Struct, kw_only=True):
    """A whole file."""

    format_version: str = FORMAT_VERSION
    captured: Captured
    kubernetes: Cluster
    hetzner: Project
    robot: Account | msgspec.UnsetType = msgspec.UNSET
    """Not there where Robot is not read."""


class _Head(msgspec.Struct):
    format_version: Any = FORMAT_VERSION
    captured: msgspec.Raw = msgspec.field(default_factory=msgspec.Raw)
    kubernetes: msgspec.Raw = msgspec.field(default_factory=msgspec.Raw)
    hetzner: msgspec.Raw = msgspec.field(default_factory=msgspec.Raw)


def write_world(world: World) -> bytes:
    """The text of the file, as people read it, with a line break at its end."""
    return escaped_json(msgspec.json.format(msgspec.json.encode(world), indent=1).decode()).encode() + b"\n"


def read_world(file: str) -> World:
    """The world in ``file``, ``-`` for stdin. Raises WorldFileProblem with one line that names the file."""
    try:
        return _world(sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes())
    except OSError as error:
        why = f"{error.strerror or error}; give a file that 'reconcile capture' has written"
    except msgspec.ValidationError as error:
        why = f"it is no world file: {in_words(error)}; {_AGAIN}"
    except (ValueError, RecursionError) as error:
        why = f"it is no whole JSON document: {str(error).removeprefix('JSON is malformed: ')}; {_AGAIN}"
    except _Unusable as error:
        why = str(error)
    raise WorldFileProblem(f"world file {file!r} cannot be used: {why}")


_AGAIN = "write it anew with 'reconcile capture'"


class _Unusable(Exception):
    """What is wrong with a document, and the remedy."""


def _world(text: bytes) -> World:
    head = decoder(_Head).decode(text)
    version = head.format_version
    if not isinstance(version, str) or not re.fullmatch(r"1\.[0-9]+", version, re.ASCII):
        raise _Unusable(f"its format_version is {version!r}, and this version reads 1.x: use the one that wrote it")
    for part in ("kubernetes", "hetzner"):
        if not bytes(getattr(head, part)):
            raise _Unusable(f"it is no world file, as it has no {part}; {_AGAIN}")
    if not bytes(head.captured):
        raise _Unusable(
            "it does not say when it was captured; serve it with 'reconcile sandbox --world FILE' and plan there, or"
            ' add "captured": {"taken_at": "..."} with the time of the plan'
        )
    world = decoder(World).decode(text)
    parts = {"kubernetes": world.kubernetes, "hetzner": world.hetzner, "robot": world.robot or Account()}
    for part, sections in parts.items():
        for name in sections.__struct_fields__:
            _check_objects(getattr(sections, name) or (), f"{part}.{name}")
    for path, objects in world.captured.lists.items():
        _check_objects(objects, f"captured.lists[{path}]")
    return world


def _check_objects(objects: Sequence[msgspec.Raw], where: str) -> None:
    for number, found in enumerate(objects):
        if bytes(memoryview(found)[:1]) != b"{":
            raise _Unusable(f"{where}[{number}] is no object; {_AGAIN}")
