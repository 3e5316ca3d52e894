"""What a controller sees of the truth: each list may be empty, short, of an earlier time, or of another project.

Writes are never touched, nor is what is asked by id, unless the token is another project's: then all is that one's.

===================  ============================================================================================
lie                  what it does for one run
===================  ============================================================================================
``token``            the token is that of the other project
``KIND:all``         the list of this kind is empty, and says that it is whole
``KIND:half``        it lacks the newer half
``KIND:one``         it lacks the newest
``KIND:stale``       it is of the time when the stage was set
``KIND:lag``         it is of the time when the run began: nothing that the run does shows in it
``clock``            the API server of the cluster says that it is an hour later
``network``          ``HCLOUD_NETWORK`` names another network of the same project; the loop goes on
``NAME=value``       this setting, a variable or a flag, has another value, or is lost (``NAME=``): another process
``values:lost``      all settings are lost, as where a file of values was not merged
``release``          the process is of a second release of the chart, with ConfigMaps in another namespace
``record:403``       the record cannot be read or written, as a right was lost
``record:readonly``  it cannot be written
``health:STATUS``    load balancers say this of each target, whatever they found out
``health:STATUS:1``  they say it of the first target of each
``dies:before:N``    the process dies before its write of this number, from 0 on, and all memory is lost
``dies:after:N``     it dies once that write is done, and never hears of it
===================  ============================================================================================

Kinds are ``servers``, ``networks``, ``load_balancers``, ``members`` (who is in a network) and, of the cluster,
``nodes`` and ``services``.
"""

import copy
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from desired.names import CONFIG_MAP
from hcloud_sandbox.exchange import Request, Response, Simulator

Raw = dict[str, Any]
OF_PROJECT = ("servers", "networks", "load_balancers", "members")
OF_CLUSTER = ("nodes", "services")
HOW = ("all", "half", "one", "stale", "lag")

DEATHS = ("dies:before:0", "dies:before:1", "dies:before:3", "dies:after:0", "dies:after:1", "dies:after:2")
OTHER_NAMESPACE = "other"
"""The namespace of a second release."""
_MEMBERS = re.compile(r"/v1/networks/\d+/members")


@dataclass
class BeforeTruth:
    """What stands before the simulator of an API, and is one for all but requests."""

    truth: Simulator

    def world(self) -> dict[str, Any]:
        return self.truth.world()

    def replace_world(self, world: Mapping[str, Any]) -> None:
        self.truth.replace_world(world)

    def set_faults(self, faults: list[dict[str, Any]]) -> None:
        self.truth.set_faults(faults)

    def clear_faults(self) -> None:
        self.truth.clear_faults()


@dataclass
class Lens(BeforeTruth):
    """One API as a controller sees it in one run. ``past`` has the simulators of earlier times by ``stale`` and
    ``lag``."""

    kind_of: Callable[[str], str | None]
    """Path of a list → its kind; None for what is no list."""
    past: Callable[[str], Simulator]
    after_write: Callable[[Request], None] = lambda _: None
    asked: Counter[str] = field(default_factory=Counter)
    """Method → how often it was used in this run."""
    _lies: Collection[str] = ()
    _elsewhere: Simulator | None = None
    _hidden: dict[str, frozenset[Any]] = field(default_factory=dict)
    _shadows: dict[str, Simulator] = field(default_factory=dict)

    def begin(self, lies: Collection[str], elsewhere: Simulator | None = None) -> None:
        """A run begins that sees this; ``elsewhere`` is the project whose token it has, if it is not its own."""
        self._lies, self._elsewhere = lies, elsewhere
        self.asked, self._hidden, self._shadows = Counter(), {}, {}

    def hidden(self, kind: str) -> frozenset[Any]:
        """What a list of this kind lacked in this run: ids, or uids."""
        return self._hidden.get(kind, frozenset())

    @property
    def writes(self) -> int:
        """How often something was to be changed in this run."""
        return self.asked.total() - self.asked["GET"]

    def handle(self, request: Request) -> Response:
        self.asked[request.method] += 1
        if "release" in self._lies:
            own, other = config_maps_in("kube-system"), config_maps_in(OTHER_NAMESPACE)
            request = replace(request, path=request.path.replace(own, other))
        if self._is_forbidden(request):
            body = {"kind": "Status", "status": "Failure", "reason": "Forbidden", "code": 403, "message": "forbidden"}
            return Response(403, body)
        if request.method != "GET":
            answer = self._at.handle(request)
            self.after_write(request)
            return answer
        kind = self.kind_of(request.path)
        for how in HOW:
            if kind is not None and f"{kind}:{how}" in self._lies:
                return self._unhealthy(self._untrue(request, kind, how))
        return self._unhealthy(self._at.handle(request))

    def _is_forbidden(self, request: Request) -> bool:
        """Whether the API server refuses a request for a record."""
        folder, _, name = request.path.rpartition("/")
        refused = ("record:403",) if request.method == "GET" else ("record:403", "record:readonly")
        is_of_record = name == CONFIG_MAP and folder.endswith("/configmaps")
        return is_of_record and not set(refused).isdisjoint(self._lies)

    def _unhealthy(self, answer: Response) -> Response:
        """The answer, with what is said of health."""
        said = [lie.split(":")[1:] for lie in self._lies if lie.startswith("health:")]
        if not said or answer.status != 200 or not {"load_balancer", "load_balancers"} & answer.body.keys():
            return answer
        (status, *some), body = said[0], copy.deepcopy(answer.body)
        for balancer in body["load_balancers"] if "load_balancers" in body else [body["load_balancer"]]:
            for target in balancer["targets"][: 1 if some else None]:
                for each in target.get("health_status") or []:
                    each["status"] = status
        return Response(answer.status, body, answer.headers)

    @property
    def _at(self) -> Simulator:
        return self.truth if self._elsewhere is None else self._elsewhere

    def _untrue(self, request: Request, kind: str, how: str) -> Response:
        if how in ("stale", "lag"):
            if self._elsewhere is not None:
                return self._elsewhere.handle(request)
            if how not in self._shadows:
                self._shadows[how] = self.past(how)
            return self._shadows[how].handle(request)
        answer = self._at.handle(request)
        if answer.status != 200:
            return answer
        name = "items" if "items" in answer.body else kind
        listed = answer.body[name]
        if kind not in self._hidden:
            whole = self._at.handle(replace(request, query={})).body[name]
            keys = [_key(found) for found in whole]
            count = {"all": len(keys), "half": (len(keys) + 1) // 2, "one": 1}[how]
            self._hidden[kind] = frozenset(keys[len(keys) - count :]) if keys else frozenset()
        left = [found for found in listed if _key(found) not in self._hidden[kind]]
        body = {**answer.body, name: left}
        if "meta" in body:
            pages = {"page": 1, "previous_page": None, "next_page": None, "last_page": 1, "total_entries": len(left)}
            body["meta"] = {"pagination": {**answer.body["meta"]["pagination"], **pages}}
        return Response(200, body, answer.headers)


def _key(found: Raw) -> Any:
    if "metadata" in found:
        return found["metadata"]["uid"]
    return found["id"]


def kind_in_project(path: str) -> str | None:
    if _MEMBERS.fullmatch(path):
        return "members"
    name = path.removeprefix("/v1/")
    return name if name in OF_PROJECT else None


def kind_in_cluster(path: str) -> str | None:
    return {"/api/v1/nodes": "nodes", "/api/v1/services": "services"}.get(path)


def config_maps_in(namespace: str) -> str:
    """Path of the ConfigMaps of a namespace."""
    return f"/api/v1/namespaces/{namespace}/configmaps"
