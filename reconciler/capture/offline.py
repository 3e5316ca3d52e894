"""Readers of all APIs that answer from a world file each GET of an observation, as the APIs would.

They are the clients' own readers with another source, so that a plan from a file is made in the same way as any other.
There is no connection behind them, and so nothing that could be written to.
"""

from collections.abc import Mapping
from datetime import UTC, timedelta
from email.utils import format_datetime
from typing import Any
from urllib.parse import parse_qs

import msgspec
from msgspec import UNSET

from actuators.http.connection import Dates, RequestCount
from actuators.http.decoding import decoder
from actuators.http.errors import NotFound
from actuators.http.hetzner import HetznerReader, RateLimit
from actuators.http.kubernetes import PAGE_SIZE, ApiAnswer, KubernetesReader, segment
from actuators.http.lists import PAGE_SIZE as HETZNER_PAGE_SIZE
from actuators.http.robot import RobotReader
from actuators.wire.volume_attachment import VOLUME_ATTACHMENTS
from reconciler.capture.world_file import Account, World
from reconciler.observe.robot import RobotCache
from reconciler.observe.servers_by_id import Confirmer
from reconciler.observe.world import Readers, Robot


class _Named(msgspec.Struct):
    name: str = ""
    namespace: str = ""


class _Identity(msgspec.Struct):
    """The identity of an object of any API, and whether Robot said that it is on."""

    id: Any = None
    name: Any = None
    server_number: Any = None
    operating_status: Any = None
    metadata: _Named = msgspec.field(default_factory=_Named)


_IDENTITY = decoder(_Identity)


def readers_of(world: World) -> Readers:
    """Readers of ``world`` for a pass."""
    project = FiledProject(world)
    account = FiledAccount(world, world.robot) if world.robot else None
    robot = Robot(RobotCache(account, timedelta.max), Confirmer(account)) if account else None
    return Readers(FiledCluster(world), project, Confirmer(project), robot=robot)


class FiledCluster(KubernetesReader):
    """The API server of the file."""

    def __init__(self, world: World) -> None:
        captured, cluster = world.captured, world.kubernetes
        self._lists = {"/api/v1/nodes": cluster.nodes, "/api/v1/services": cluster.services}
        for kind in ("deployments", "daemonsets"):
            for raw in getattr(cluster, kind):
                path = f"/apis/apps/v1/namespaces/{segment(_identity(raw).metadata.namespace)}/{kind}"
                self._lists.setdefault(path, []).append(raw)
        if cluster.volumeattachments is not UNSET:
            self._lists[VOLUME_ATTACHMENTS.path] = cluster.volumeattachments
        self._objects = {
            f"/api/v1/namespaces/{segment(_identity(raw).metadata.name)}": raw for raw in cluster.namespaces
        }
        for raw in cluster.configmaps:
            named = _identity(raw).metadata
            self._objects[f"/api/v1/namespaces/{segment(named.namespace)}/configmaps/{segment(named.name)}"] = raw
        self._gaps = captured.gaps
        self._headers = {"date": format_datetime(captured.taken_at.astimezone(UTC), usegmt=True)}
        self.host = "the world file"
        self.requests = RequestCount()
        self.dates = Dates()
        """A file has no clock but the time at which it was written."""

    def get(self, path: str) -> ApiAnswer:
        """The answer of the API server that was captured, as of then. Raises the ApiError that it answered with,
        NotFound for an object that the file lacks, and for VolumeAttachments that were not read; another list that it
        lacks is empty."""
        place, _, text = path.partition("?")
        query = parse_qs(text)
        if place in self._gaps:
            raise self._gaps[place].as_error()
        if place == VOLUME_ATTACHMENTS.path and place not in self._lists:
            raise NotFound("the world file has no VolumeAttachments")
        if "limit" not in query:
            return ApiAnswer(_found(self._objects, place), self._headers)
        objects = self._lists.get(place, [])
        start = int(query.get("continue", ["0"])[0])
        end = start + PAGE_SIZE
        token = b"%d" % end if end < len(objects) else b""
        head = b'{"kind":"List","metadata":{"resourceVersion":"1","continue":"%s"},"items":[' % token
        return ApiAnswer(head + b",".join(objects[start:end]) + b"]}", self._headers)


class FiledProject(HetznerReader):
    """The Hetzner project of the file."""

    def __init__(self, world: World) -> None:
        captured, project = world.captured, world.hetzner
        self._lists = captured.lists | {f"/{name}": getattr(project, name) for name in project.__struct_fields__}
        self._objects = captured.objects
        self._gaps = captured.gaps
        self.requests = RequestCount()
        self.dates = Dates()

    @property
    def rate_limit(self) -> RateLimit | None:
        """None: nothing is used up."""
        return None

    def get(self, path: str) -> bytes:
        """The body of the answer that the API gave, or would have given, when the file was written. Raises the
        ApiError that it answered with, NotFound for what the file lacks."""
        place, _, text = path.partition("?")
        query = parse_qs(text)
        if place not in self._lists:
            return self._single(place)
        if "page" in query:
            return self._page(place, int(query["page"][0]))
        self._check(place)
        named = [raw for raw in self._lists[place] if _identity(raw).name in query.get("name", [])]
        return b'{"%s":[%s]}' % (_last(place), b",".join(named))

    def get_once(self, path: str, timeout_s: float) -> bytes:  # noqa: ARG002 - as its base has it
        """The same: a file is not waited for."""
        return self.get(path)

    def _single(self, place: str) -> bytes:
        """``{"server": {...}}`` of ``/servers/1``: from the list, or as it was asked for alone. Prices have no list."""
        self._check(place)
        listed, _, wanted = place.rpartition("/")
        name = _last(listed).removesuffix(b"s") or wanted.encode()
        for raw in self._lists.get(listed, ()):
            if str(_identity(raw).id) == wanted:
                return b'{"%s":%s}' % (name, bytes(raw))
        self._check(listed)
        return b'{"%s":%s}' % (name, _found(self._objects, place))

    def _page(self, place: str, number: int) -> bytes:
        """A page of a list. What ended the reading of the list ends it again, behind the objects that had arrived."""
        objects, gap = self._lists[place], self._gaps.get(place)
        is_cut = gap is not None and gap.error is not None
        start = (number - 1) * HETZNER_PAGE_SIZE
        if start >= len(objects):
            self._check(place)
        pagination = {
            "last_page": max(1, -(-len(objects) // HETZNER_PAGE_SIZE) + is_cut),
            "total_entries": gap.expected if gap is not None else len(objects),
        }
        meta = msgspec.json.encode({"pagination": pagination})
        shown = b",".join(objects[start : start + HETZNER_PAGE_SIZE])
        return b'{"meta":%s,"%s":[%s]}' % (meta, _last(place), shown)

    def _check(self, place: str) -> None:
        """Raises the error with which the reading of this path ended."""
        gap = self._gaps.get(place)
        if gap is not None and gap.error is not None:
            raise gap.as_error()


class FiledAccount(RobotReader):
    """The Robot account of the file."""

    def __init__(self, world: World, account: Account) -> None:
        self._servers = account.servers
        self._objects = world.captured.objects
        self._gaps = world.captured.gaps
        self.requests = RequestCount()

    def get(self, path: str) -> bytes:
        """The body of the answer that the webservice gave, or would have given, when the file was written. Raises the
        ApiError that it answered with, NotFound for what the file lacks."""
        if path in self._gaps:
            raise self._gaps[path].as_error()
        if path == "/server":
            return b"[%s]" % b",".join(b'{"server":%s}' % bytes(raw) for raw in self._servers)
        kind, number = path.strip("/").split("/")
        listed = (raw for raw in self._servers if str(_identity(raw).server_number) == number)
        found = next(listed, None) or self._objects.get(f"/server/{number}")
        if found is None or (kind == "reset" and _identity(found).operating_status is None):
            raise NotFound(f"the world file has nothing at {path}")
        return b'{"%s":%s}' % (kind.encode(), bytes(found))


def _last(place: str) -> bytes:
    """The last part of a path, which is what a list is called."""
    return place.rpartition("/")[2].encode()


def _found(objects: Mapping[str, msgspec.Raw], place: str) -> bytes:
    if place not in objects:
        raise NotFound(f"the world file has nothing at {place}")
    return bytes(objects[place])


def _identity(raw: msgspec.Raw) -> _Identity:
    """The identity of an object; empty where that cannot be read."""
    try:
        return _IDENTITY.decode(raw)
    except ValueError:
        return _Identity()
