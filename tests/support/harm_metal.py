"""Dedicated servers in the law of harm: the Robot account as it is, and what a controller sees of it.

=====================  ========================================================================================
lie                    what it does for one run
=====================  ========================================================================================
``robot:one``          the list lacks the newest server
``robot:half``         it lacks the newer half
``robot:empty``        it is an empty list
``robot:none``         it is a 404, as for an account without servers
``robot:stale``        it is of the time when the stage was set
``robot:html``         it is a page of somebody else
``robot:cut``          the connection breaks in the middle of the list, and each other question times out
``robot:account``      all answers are those of another account
``robot:401``          somebody has changed the password, and nobody has told the controller
``robot:403``          the address is locked out
``robot:limit``        the requests of this hour are used up
``robot:503``          maintenance
``robot:gone``         a question by number is answered with ``SERVER_NOT_FOUND``, of servers that the list shows
``robot:lost``         list and question agree that the newest server is gone: all the evidence that there can be
=====================  ========================================================================================

All but the last may do no harm; of that the judge is told.
"""

import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import requests

from hcloud_sandbox.exchange import Request, Response, Simulator
from tests.support.harm_lens import BeforeTruth

Raw = dict[str, Any]
METAL = 61
"""Number of the first dedicated server, and of its Node; more than 19 there are never."""
HIDING = ("one", "half", "empty", "none", "stale", "html", "cut")
REFUSING = ("401", "403", "limit", "503")
METAL_LIES = tuple(f"robot:{how}" for how in (*HIDING, "account", *REFUSING, "gone", "lost"))


def metal(number: int, name: str) -> Raw:
    return {
        "server_number": number,
        "server_name": name,
        "server_ip": f"192.0.2.{number}",
        "server_ipv6_net": f"2001:db8:{number}::",
    }


def inside(number: int) -> str:
    """The address of a dedicated server in the vSwitch, which its kubelet alone knows."""
    return f"10.1.0.{number}"


def metal_of(node: Mapping[str, Any]) -> int | None:
    """Number of the dedicated server that the Node is, in either spelling; None when it is none."""
    provider_id = str(node["spec"].get("providerID", ""))
    for prefix in ("hrobot://", "hcloud://bm-"):
        if provider_id.startswith(prefix) and provider_id.removeprefix(prefix).isdigit():
            return int(provider_id.removeprefix(prefix))
    return None


def addresses_of_metal(server: Mapping[str, Any]) -> Iterator[str]:
    """All addresses by which a target may lead to it."""
    if server["server_ip"]:
        yield server["server_ip"]
    if server["server_ipv6_net"]:
        yield f"{server['server_ipv6_net']}1"
    yield inside(server["server_number"])


@dataclass
class MetalLens(BeforeTruth):
    """The Robot webservice as a controller sees it in one run."""

    elsewhere: Simulator
    past: Simulator
    """The account at the time when the stage was set."""
    asked: Counter[str] = field(default_factory=Counter)
    gone: set[int] = field(default_factory=set)
    """Numbers of servers that are there, and of which everything has said that they are not."""
    told: dict[int, Raw] = field(default_factory=dict)
    """Number → server, as the last list had it: a controller keeps that for minutes, and knows of no other address."""
    _lies: Collection[str] = ()

    def begin(self, lies: Collection[str]) -> None:
        """A run begins that sees this."""
        self._lies, self.asked = {lie.removeprefix("robot:") for lie in lies if lie.startswith("robot:")}, Counter()

    def handle(self, request: Request) -> Response:
        self.asked[request.path] += 1
        if refusal := self._refusal():
            return refusal
        if "account" in self._lies:
            return self.elsewhere.handle(request)
        if request.path == "/server":
            return self._list(request)
        if "cut" in self._lies:
            raise requests.exceptions.ReadTimeout("the answer is late")
        number = int(request.path.rpartition("/")[2])
        answer = self.truth.handle(request)
        is_lost = "lost" in self._lies and number == self._newest(request)
        if is_lost or ("gone" in self._lies and number in self.told):
            self.gone |= {number} if is_lost else set()
            return _not_found(f"Server with id {number} not found")
        return answer

    def _refusal(self) -> Response | None:
        if "403" in self._lies:
            return Response(403, b"<html>403 Forbidden</html>")
        if "503" in self._lies:
            return _error(503, "UNAVAILABLE", "The service is unavailable due to maintenance")
        if "limit" in self._lies:
            return _error(403, "RATE_LIMIT_EXCEEDED", "Rate limit exceeded", max_request=200, interval=600)
        return None

    def _list(self, request: Request) -> Response:
        answer = (self.past if "stale" in self._lies else self.truth).handle(request)
        if answer.status != 200:
            return answer
        if "cut" in self._lies:
            raise requests.exceptions.ChunkedEncodingError("the connection is broken")
        if "html" in self._lies:
            return Response(200, b"<html>hello</html>")
        if "none" in self._lies:
            return _not_found("No server found")
        found = json.loads(answer.encoded())
        lacking = {"empty": len(found), "half": (len(found) + 1) // 2, "one": 1, "lost": 1}
        count = max((number for how, number in lacking.items() if how in self._lies), default=0)
        found = found[: len(found) - count]
        self.told = {each["server"]["server_number"]: each["server"] for each in found}
        return Response(200, found)

    def _newest(self, request: Request) -> int | None:
        answer = self.truth.handle(Request("GET", "/server", {}, request.headers))
        return max((each["server"]["server_number"] for each in answer.body), default=None)


def _error(status: int, code: str, message: str, **details: Any) -> Response:
    return Response(status, {"error": {"status": status, "code": code, "message": message, **details}})


def _not_found(message: str) -> Response:
    return _error(404, "SERVER_NOT_FOUND", message)
