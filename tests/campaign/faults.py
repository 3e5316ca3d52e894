"""Every fault that one request may meet, by name."""

import random
from collections.abc import Callable, Mapping
from typing import Any, cast
from zlib import crc32

import requests
from urllib3.exceptions import IncompleteRead, ProtocolError, ReadTimeoutError

from reconciler.sandbox.exchange import Response, Simulator
from reconciler.sandbox.kubernetes import KubernetesSimulator
from tests.campaign.cluster import a_project
from tests.campaign.points import Fault, Moment, Point
from tests.support.direct import death


def _timeout(api: str) -> Exception:
    if api == "kubernetes":
        return ReadTimeoutError(cast("Any", None), "/", "a fault of the campaign")
    return requests.ReadTimeout("a fault of the campaign")


def _reset(api: str) -> Exception:
    if api == "kubernetes":
        return ProtocolError("a fault of the campaign", IncompleteRead(1, 2))
    return requests.exceptions.ChunkedEncodingError("a fault of the campaign")


def _dies_before(moment: Moment) -> Response:
    moment.probe.is_dead = True
    raise death(moment.point.api)


def _dies_after(moment: Moment) -> Response:
    moment.handle(moment.request)
    return _dies_before(moment)


def _times_out_before(moment: Moment) -> Response:
    raise _timeout(moment.point.api)


def _times_out_after(moment: Moment) -> Response:
    moment.handle(moment.request)
    raise _timeout(moment.point.api)


def _is_reset(moment: Moment) -> Response:
    moment.handle(moment.request)
    raise _reset(moment.point.api)


_REASONS = {409: "Conflict", 423: "Locked", 429: "TooManyRequests", 500: "InternalError", 503: "ServiceUnavailable"}
_CODES = {409: "conflict", 423: "locked", 429: "rate_limit_exceeded", 500: "server_error", 503: "unavailable"}


def _refused(status: int) -> Fault:
    def refuse(moment: Moment) -> Response:
        headers = {"Retry-After": "1"} if status == 429 else {}
        if moment.point.api != "kubernetes":
            return Response(status, {"error": {"code": _CODES[status], "message": "a fault of the campaign"}}, headers)
        body = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": _REASONS[status], "code": status}
        return Response(status, {**body, "message": "a fault of the campaign"}, headers)

    return refuse


def _action_fails(moment: Moment) -> Response:
    """The action fails after it has taken effect."""
    answer = moment.handle(moment.request)
    action = answer.body.get("action") if isinstance(answer.body, dict) else None
    if action is not None:
        moment.probe.failing_actions.add(action["id"])
    return answer


def _as_it_was(writes: int) -> Fault:
    """A read shows the world as it was so many writes ago."""

    def read(moment: Moment) -> Response:
        is_cloud = moment.point.api == "hetzner"
        past = moment.probe.hetzner_past if is_cloud else moment.probe.kubernetes_past
        if not past:
            return moment.handle(moment.request)
        before = past[max(0, len(past) - writes)]
        old: Simulator
        if is_cloud:
            old = a_project(moment.world.clock)
            old.replace_world(before["hetzner"])
        else:
            old = KubernetesSimulator(moment.world.clock)
            old.replace_world(before["kubernetes"])
        return old.handle(moment.request)

    return read


def _listed(answer: Response) -> tuple[str, list[Any]] | None:
    """The name and the objects of a list."""
    if answer.status != 200 or not isinstance(answer.body, dict):
        return None
    return next(((name, part) for name, part in answer.body.items() if isinstance(part, list) and part), None)


def _with_list(change: Callable[[list[Any]], list[Any]]) -> Fault:
    def read(moment: Moment) -> Response:
        answer = moment.handle(moment.request)
        if isinstance(answer.body, list):  # Robot's
            return Response(answer.status, change(answer.body), answer.headers)
        found = _listed(answer)
        if found is None:
            return answer
        name, objects = found
        body = {**answer.body, name: change(objects)}
        if "meta" in body:
            pages = {**answer.body["meta"]["pagination"], "total_entries": len(body[name])}
            body["meta"] = {"pagination": pages}
        return Response(answer.status, body, answer.headers)

    return read


def _lacks_a_field(moment: Moment) -> Response:
    """One object of the answer lacks one of its fields, another one at each point."""
    answer = moment.handle(moment.request)
    rng = random.Random(crc32(str(moment.point).encode()))
    found = _listed(answer)
    if found is None:
        return answer
    name, objects = found
    number = rng.randrange(len(objects))
    lacking = objects[number]
    if not isinstance(lacking, dict):
        return answer
    gone = rng.choice(sorted(lacking))
    spoilt = {key: part for key, part in lacking.items() if key != gone}
    body = {**answer.body, name: [*objects[:number], spoilt, *objects[number + 1 :]]}
    return Response(answer.status, body, answer.headers)


def _says(status: int, code: str, **details: Any) -> Response:
    """An error of Robot's."""
    error = {"status": status, "code": code, "message": "a fault of the campaign", **details}
    return Response(status, {"error": error})


OF_ANY: Mapping[str, Fault] = {
    "dies before": _dies_before,
    "times out before": _times_out_before,
    "429": _refused(429),
    "503": _refused(503),
    "reset": _is_reset,
}
OF_WRITES: Mapping[str, Fault] = {
    "dies after": _dies_after,
    "times out after": _times_out_after,
    "409": _refused(409),
    "500": _refused(500),
}
OF_CLOUD_WRITES: Mapping[str, Fault] = {"423": _refused(423), "action fails": _action_fails}
OF_READS: Mapping[str, Fault] = {
    "as one write ago": _as_it_was(1),
    "as two writes ago": _as_it_was(2),
    "as three writes ago": _as_it_was(3),
    "first hidden": _with_list(lambda objects: objects[1:]),
    "last hidden": _with_list(lambda objects: objects[:-1]),
    "last twice": _with_list(lambda objects: [*objects, objects[-1]]),
    "a field missing": _lacks_a_field,
}
OF_ROBOT: Mapping[str, Fault] = {
    "rate limit": lambda _: _says(403, "RATE_LIMIT_EXCEEDED", max_request=200, interval=300),
    "nothing there": lambda _: _says(404, "SERVER_NOT_FOUND"),
    "a page": lambda _: Response(200, b"<html>hello</html>"),
    **{name: OF_READS[name] for name in ("first hidden", "last hidden", "last twice")},
    **{name: fault for name, fault in OF_ANY.items() if name != "429"},
}
"""Robot is only read, and refuses in words of its own. A log-in that it refuses is not tried again before people change
it, so that it is no single fault."""
FAULTS = {**OF_ANY, **OF_WRITES, **OF_CLOUD_WRITES, **OF_READS, **OF_ROBOT}


def faults_at(point: Point) -> tuple[str, ...]:
    """Names of the faults that a request may meet."""
    if point.api == "robot":
        return tuple(OF_ROBOT)
    if point.method == "GET":
        return (*OF_ANY, *OF_READS)
    return (*OF_ANY, *OF_WRITES, *(OF_CLOUD_WRITES if point.api == "hetzner" else ()))
