"""Simulated faults: what the service does wrong by itself. Faults of transport are the fault proxy's.

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

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from ipaddress import ip_address, ip_network
from typing import Any

from hcloud_sandbox.hetzner.errors import known
from hcloud_sandbox.hetzner.store import Object

_LISTS = ("/v1/servers", "/v1/networks", "/v1/load_balancers", "/v1/certificates")
_OF_LISTS = ("list_shrinks", "list_lacks", "list_truncated")
_OPTIONAL: dict[str, frozenset[str]] = {
    "action_fails": frozenset({"command", "code", "message"}),
    "action_vanishes": frozenset({"command"}),
    "action_hangs": frozenset({"command"}),
    "stale_read": frozenset(),
    "visible_late": frozenset(),
    "list_shrinks": frozenset(),
    "list_lacks": frozenset({"ids"}),
    "list_truncated": frozenset(),
    "no_answer": frozenset({"status", "ports"}),
}
_REQUIRED: dict[str, frozenset[str]] = {
    "stale_read": frozenset({"path"}),
    "visible_late": frozenset({"seconds"}),
    "list_shrinks": frozenset({"path"}),
    "list_lacks": frozenset({"path"}),
    "list_truncated": frozenset({"path", "entries"}),
    "no_answer": frozenset({"ranges"}),
}
_SILENT = ("unhealthy", "unknown")


@dataclass(slots=True)
class Fault:
    """One fault that is still to happen ``count`` times, or for ever."""

    kind: str
    parameters: Mapping[str, Any]
    count: int | None


class Faults:
    """The faults that were set, oldest first; each use counts down."""

    def __init__(self) -> None:
        self._faults: list[Fault] = []
        self.families_of: Callable[[int], Collection[int]] = lambda _port: ()
        """By which versions of IP a port of the Nodes takes traffic; empty where that is not known."""

    def add(self, faults: list[dict[str, Any]]) -> None:
        """Add faults, all or none. Raises ValueError for one that is not known or not complete."""
        self._faults += [_parse_fault(fault) for fault in faults]

    def clear(self) -> None:
        """Forget all of them."""
        self._faults.clear()

    def action_fails(self, command: str) -> tuple[str, str] | None:
        """The code and message with which an action that starts now will end, None when it will succeed."""
        fault = self._take("action_fails", lambda p: p.get("command", command) == command)
        if fault is None:
            return None
        return str(fault.get("code", "action_failed")), str(fault.get("message", "simulated failure of the action"))

    def action_vanishes(self, command: str) -> bool:
        """Whether an action that starts now will never be found again."""
        return self._take("action_vanishes", lambda p: p.get("command", command) == command) is not None

    def action_hangs(self, command: str) -> bool:
        """Whether an action that starts now will never end."""
        return self._take("action_hangs", lambda p: p.get("command", command) == command) is not None

    def stale_read(self, path: str) -> bool:
        """Whether this GET answers the state before the last change."""
        return self._take("stale_read", lambda p: path.startswith(p["path"])) is not None

    def visible_late_s(self) -> float:
        """By how much readers see the action that finishes now later."""
        fault = self._take("visible_late", lambda _: True)
        return float(fault["seconds"]) if fault else 0.0

    def list_shrinks(self, path: str) -> bool:
        """Whether an object is to disappear now that page 1 of this list was served."""
        return self._take("list_shrinks", lambda p: p["path"] == path) is not None

    def listed(self, path: str, objects: list[Object]) -> tuple[list[Object], int]:
        """Which of these objects the list at this path has now, and how many it says that there are."""
        lacking = self._take("list_lacks", lambda p: p["path"] == path)
        if lacking is not None:
            ids = lacking.get("ids")
            objects = [] if ids is None else [found for found in objects if found["id"] not in ids]
        truncated = self._take("list_truncated", lambda p: p["path"] == path)
        return objects[: truncated["entries"]] if truncated is not None else objects, len(objects)

    def silence_of(self, address: str, port: int, destination_port: int) -> str | None:
        """What the health check of the listener at ``port`` says of this address, as nothing answers there at
        ``destination_port``; None when something does. It does not count down."""
        for fault in self._faults:
            ranges = fault.parameters.get("ranges", ()) if fault.kind == "no_answer" else ()
            is_checked = port in fault.parameters.get("ports", (port,))
            if is_checked and any(ip_address(address) in ip_network(silent) for silent in ranges):
                return str(fault.parameters.get("status", _SILENT[0]))
        families = self.families_of(destination_port)
        return _SILENT[0] if families and address and ip_address(address).version not in families else None

    def _take(self, kind: str, applies: Callable[[Mapping[str, Any]], bool]) -> Mapping[str, Any] | None:
        for fault in self._faults:
            if fault.kind == kind and applies(fault.parameters):
                if fault.count is not None:
                    fault.count -= 1
                if fault.count == 0:
                    self._faults.remove(fault)
                return fault.parameters
        return None


def _parse_fault(raw: dict[str, Any]) -> Fault:
    parameters = dict(raw)
    kind = parameters.pop("kind", None)
    count = parameters.pop("count", 1)
    if not isinstance(kind, str) or kind not in _OPTIONAL:
        raise ValueError(f"fault kind {kind!r} is not known; {known(sorted(_OPTIONAL))}")
    if count is not None and not _is_whole(count, least=1):
        raise ValueError(f"fault {kind}: count is {count!r}, give a whole number from 1, or null for no end")
    required = _REQUIRED.get(kind, frozenset())
    allowed = required | _OPTIONAL[kind]
    for name in sorted(parameters.keys() - allowed):
        raise ValueError(f"fault {kind}: parameter {name!r} is not known; {known([*sorted(allowed), 'count'])}")
    for name in sorted(required - parameters.keys()):
        raise ValueError(f"fault {kind}: give {name!r}")
    for name, (fits, what) in _VALUES.items():
        if name in parameters and not fits(parameters[name]):
            raise ValueError(f"fault {kind}: {name} is {parameters[name]!r}, give {what}")
    if "path" in parameters:
        parameters["path"] = _absolute(kind, parameters["path"])
    return Fault(kind, parameters, count)


def _absolute(kind: str, path: Any) -> str:
    if not isinstance(path, str) or not path.startswith("/"):
        raise ValueError(f"fault {kind}: path is {path!r}, give one like '/v1/servers'")
    absolute = path if path == "/v1" or path.startswith("/v1/") else f"/v1{path}"
    if kind in _OF_LISTS and absolute not in _LISTS:
        raise ValueError(f"fault {kind}: {path!r} is no list of objects; {known(_LISTS)}")
    return absolute


def _is_whole(value: Any, *, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _are_ids(value: Any) -> bool:
    return isinstance(value, list) and all(_is_whole(item, least=1) for item in value)


def _are_ranges(value: Any) -> bool:
    try:
        return isinstance(value, list) and bool([ip_network(item) for item in value])
    except (TypeError, ValueError):
        return False


_VALUES: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "seconds": (_is_number, "a number"),
    "ids": (_are_ids, "a list of whole numbers from 1"),
    "ports": (_are_ids, "a list of whole numbers from 1"),
    "ranges": (_are_ranges, "a list of networks like '10.0.0.0/8'"),
    "status": (lambda value: value in _SILENT, " or ".join(_SILENT)),
    "entries": (lambda value: _is_whole(value, least=0), "a whole number from 0"),
}
"""Parameter → whether a value of it is one, and what would be."""
