"""Simulated faults of the Hetzner Cloud API.

==================  ==============================  ===============================================================
kind                parameters                      what happens, ``count`` times (default 1, None: until cleared)
==================  ==============================  ===============================================================
``action_fails``    ``command``, ``code``,          the next action (with that command) ends in an error and
                    ``message``, all optional       changes nothing
``action_vanishes`` ``command``, optional           the next action is announced but never found again; its change
                                                    happens all the same
``action_hangs``    ``command``, optional           the next action never ends, and its objects stay locked
``stale_read``      ``path``: prefix, ``/v1/...``   a GET answers the state before the last change
``visible_late``    ``seconds``                     readers see the effect of the next finished action later
``list_shrinks``    ``path`` of a list              after page 1 of several was served, its first object is gone
``list_lacks``      ``path`` of a list, ``ids``     a page of the list is made as if these objects, or all if there are
                    optional                        no ``ids``, were not there; a GET by id finds them
``list_truncated``  ``path`` of a list,             a page of the list is made as if it ended after so many objects,
                    ``entries``                     and ``total_entries`` counts them all
``no_answer``       ``ranges``, ``status`` and      health checks of targets in these ranges get no answer until it is
                    ``ports`` optional              cleared: ``unhealthy``, or ``unknown``; by the listeners at
                                                    ``ports``, or by all
==================  ==============================  ===============================================================
"""

from collections.abc import Callable, Collection
from ipaddress import ip_address, ip_network
from typing import Any

from hcloud_sandbox.faults import Kinds, Parameter, ServiceFaults, a_duration, numbers, one_of, whole
from hcloud_sandbox.hetzner.store import KINDS as OBJECT_KINDS
from hcloud_sandbox.hetzner.store import Object

Families = Callable[[int], Collection[int]]
_LISTS = tuple(f"/v1/{kind}" for kind in OBJECT_KINDS)
_SHRINKING = tuple(path for path in _LISTS if path not in {"/v1/images", "/v1/primary_ips"})
"""Not lists whose objects may follow from others, or from the catalog, which nothing takes away."""
_SILENT = ("unhealthy", "unknown")


def _path(value: Any) -> str:
    if not isinstance(value, str) or not value.startswith("/"):
        raise ValueError("give one like '/v1/servers'")
    return value if value == "/v1" or value.startswith("/v1/") else f"/v1{value}"


def _path_of(*lists: str) -> Parameter:
    def read(value: Any) -> str:
        path = _path(value)
        if path not in lists:
            raise ValueError(f"which is no such list of objects; known: {', '.join(lists)}")
        return path

    return read


def _ranges(value: Any) -> list[Any]:
    try:
        ranges = [ip_network(item) for item in value] if isinstance(value, list) else []
    except ValueError:
        ranges = []
    if not ranges:
        raise ValueError("give a list of networks like '10.0.0.0/8'")
    return ranges


KINDS: Kinds = {
    "action_fails": {"command?": str, "code?": str, "message?": str},
    "action_vanishes": {"command?": str},
    "action_hangs": {"command?": str},
    "stale_read": {"path": _path},
    "visible_late": {"seconds": a_duration},
    "list_shrinks": {"path": _path_of(*_SHRINKING)},
    "list_lacks": {"path": _path_of(*_LISTS), "ids?": numbers},
    "list_truncated": {"path": _path_of(*_LISTS), "entries": whole(0)},
    "no_answer": {"ranges": _ranges, "status?": one_of(*_SILENT), "ports?": numbers},
}


class Faults(ServiceFaults):
    """The faults of a project, as the simulator asks for them."""

    def __init__(self) -> None:
        super().__init__(KINDS)
        self.families_of: Families = lambda _port: ()
        """By which versions of IP a port of the Nodes takes traffic; empty where that is not known."""

    def action_fails(self, command: str) -> Object | None:
        """The error with which an action that starts now will end, None when it will succeed."""
        fault = self.take("action_fails", lambda p: p.get("command", command) == command)
        error = {"code": "action_failed", "message": "simulated failure of the action"}
        return None if fault is None else {name: fault.get(name, default) for name, default in error.items()}

    def action_vanishes(self, command: str) -> bool:
        """Whether an action that starts now will never be found again."""
        return self.take("action_vanishes", lambda p: p.get("command", command) == command) is not None

    def action_hangs(self, command: str) -> bool:
        """Whether an action that starts now will never end."""
        return self.take("action_hangs", lambda p: p.get("command", command) == command) is not None

    def stale_read(self, path: str) -> bool:
        """Whether this GET answers the state before the last change."""
        return self.take("stale_read", lambda p: path.startswith(p["path"])) is not None

    def visible_late_s(self) -> float:
        """By how much readers see the action that finishes now later."""
        fault = self.take("visible_late")
        return float(fault["seconds"]) if fault else 0.0

    def list_shrinks(self, path: str) -> bool:
        """Whether an object is to disappear now that page 1 of this list was served."""
        return self.take("list_shrinks", lambda p: p["path"] == path) is not None

    def listed(self, path: str, objects: list[Object]) -> tuple[list[Object], int]:
        """Which of these objects the list at this path has now, and how many it says that there are."""
        lacking = self.take("list_lacks", lambda p: p["path"] == path)
        if lacking is not None:
            ids = lacking.get("ids")
            objects = [] if ids is None else [found for found in objects if found["id"] not in ids]
        truncated = self.take("list_truncated", lambda p: p["path"] == path)
        return objects[: truncated["entries"]] if truncated is not None else objects, len(objects)

    def silence_of(self, address: str, port: int, destination_port: int) -> str | None:
        """What the health check of the listener at ``port`` says of this address, as nothing answers there at
        ``destination_port``; None when something does. It does not count down."""
        for fault in self.pending("no_answer"):
            is_checked = port in fault.get("ports", (port,))
            if is_checked and any(ip_address(address) in silent for silent in fault["ranges"]):
                return str(fault.get("status", _SILENT[0]))
        families = self.families_of(destination_port)
        return _SILENT[0] if families and address and ip_address(address).version not in families else None
