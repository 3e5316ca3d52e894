"""Every fault that one request may meet, by name."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from hcloud_sandbox.exchange import Request, Response
from tests.campaign.cluster import Cluster
from tests.campaign.effects import effects_of
from tests.campaign.fields import NOTHING_READ, Read, first_is, listed, without
from tests.campaign.points import Fault, Moment, Point
from tests.campaign.refusals import SAID, refusal, reset, timeout
from tests.support.direct import death


def _dies_before(moment: Moment) -> Response:
    moment.probe.is_dead = True
    raise death(moment.point.api)


def _dies_after(moment: Moment) -> Response:
    moment.handle(moment.request)
    return _dies_before(moment)


def _times_out_before(moment: Moment) -> Response:
    raise timeout(moment.point.api)


def _times_out_after(moment: Moment) -> Response:
    moment.handle(moment.request)
    raise timeout(moment.point.api)


def _is_reset(moment: Moment) -> Response:
    moment.handle(moment.request)
    raise reset(moment.point.api)


def _refused(status: int) -> Fault:
    headers = {"Retry-After": "1"} if status == 429 else {}
    return lambda moment: Response(status, refusal(moment.point.api, status), headers)


def _loses_the_lead(moment: Moment) -> Response:
    """Once this write is done another process may lead: nothing more is written in this pass."""
    answer = moment.handle(moment.request)
    assert isinstance(moment.world, Cluster), "only a cluster of the campaign has a lead"
    moment.world.is_deposed = True
    return answer


def _action_is(**said: Any) -> Fault:
    """The action has taken effect, and every answer says something else of it."""

    def act(moment: Moment) -> Response:
        answer = moment.handle(moment.request)
        action = answer.body.get("action") if isinstance(answer.body, dict) else None
        if action is None:
            return answer
        moment.probe.actions[action["id"]] = said
        return Response(answer.status, {**answer.body, "action": action | said}, answer.headers)

    return act


def _action_hangs(moment: Moment) -> Response:
    """The action has no effect, and locks what it is about, until Hetzner gives it up."""
    hetzner = moment.world.hetzner
    hetzner.set_faults([{"kind": "action_hangs"}])
    answer = moment.handle(moment.request)
    hetzner.clear_faults()
    moment.probe.hang()
    if answer.status < 300:
        is_creation = moment.request.method == "POST" and "/actions/" not in moment.point.path
        undone = effects_of(moment.point.path, "hetzner", moment.request)
        of_creation = ("attach_to_network",)  # the rest of what is created is there before its action ends
        moment.probe.effects.subtract(e for e in undone if not is_creation or e.startswith(of_creation))
    return answer


def _as_it_was(writes: int) -> Fault:
    """A read shows the world as it was so many writes ago."""
    return lambda moment: moment.probe.then(moment.point.api, writes)(moment.request)


def _second_page_as_it_was(writes: int) -> Fault:
    """A list has two pages, and the second one is as it was so many writes ago."""

    def read(moment: Moment) -> Response:
        whole = moment.handle(moment.request)
        name = listed(whole.body)
        size = -(-len(whole.body[name]) // 2) if name and "meta" in whole.body else 0
        if not size or moment.request.first("page") != "1":
            return whole
        then = moment.probe.then("hetzner", writes)
        moment.probe.second_pages[moment.point.path] = lambda request: then(_small(request, size))
        return moment.handle(_small(moment.request, size))

    return read


def _small(request: Request, size: int) -> Request:
    """The same request for pages of so many objects."""
    query = {**request.query, "per_page": (str(size),)}
    return Request(request.method, request.path, query, request.headers, request.body)


def _with_list(change: Callable[[list[Any]], list[Any]]) -> Fault:
    def read(moment: Moment) -> Response:
        answer = moment.handle(moment.request)
        if isinstance(answer.body, list):  # Robot's
            return Response(answer.status, change(answer.body), answer.headers)
        name = listed(answer.body) if answer.status == 200 else None
        if name is None:
            return answer
        body = {**answer.body, name: change(answer.body[name])}
        if "meta" in body:
            pages = {**answer.body["meta"]["pagination"], "total_entries": len(body[name])}
            body["meta"] = {"pagination": pages}
        return Response(answer.status, body, answer.headers)

    return read


def _with_first(value: Any) -> Fault:
    return lambda moment: first_is(moment.handle(moment.request), value)


def _says(status: int, code: str, **details: Any) -> Response:
    """An error of Robot's."""
    error = {"status": status, "code": code, "message": SAID, **details}
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
    "loses the lead": _loses_the_lead,
}
OF_CLOUD_WRITES: Mapping[str, Fault] = {
    "423": _refused(423),
    "action fails": _action_is(status="error", progress=100, error={"code": "action_failed", "message": SAID}),
    "action runs for ever": _action_is(status="running", progress=50, finished=None),
    "action hangs": _action_hangs,
}
OF_READS: Mapping[str, Fault] = {
    "as one write ago": _as_it_was(1),
    "as two writes ago": _as_it_was(2),
    "as three writes ago": _as_it_was(3),
    "first hidden": _with_list(lambda objects: objects[1:]),
    "last hidden": _with_list(lambda objects: objects[:-1]),
    "last twice": _with_list(lambda objects: [*objects, objects[-1]]),
    "first is null": _with_first(None),
    "first is a text": _with_first(SAID),
}
OF_CLOUD_READS: Mapping[str, Fault] = {
    "page 2 as one write ago": _second_page_as_it_was(1),
    "page 2 as two writes ago": _second_page_as_it_was(2),
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
FAULTS: Mapping[str, Fault] = {**OF_ANY, **OF_WRITES, **OF_CLOUD_WRITES, **OF_READS, **OF_CLOUD_READS, **OF_ROBOT}
_LACKS = "lacks "
PAST = re.compile(r".*as (one|two|three) writes? ago")
"""Faults for which the past has to be kept."""


def fault_of(name: str) -> Fault:
    """What a fault of this name does. Raises KeyError for one that there is not."""
    if not name.startswith(_LACKS):
        return FAULTS[name]
    field = name.removeprefix(_LACKS)
    return lambda moment: without(moment.handle(moment.request), field)


def is_lie(name: str) -> bool:
    """Whether a read is answered, with something that is not so."""
    return name.startswith(_LACKS) or name in _TAKES


_TAKES: Mapping[str, Callable[[Read], bool]] = {
    "as one write ago": lambda read: read.writes >= 1,
    "as two writes ago": lambda read: read.writes >= 2,
    "as three writes ago": lambda read: read.writes >= 3,
    "page 2 as one write ago": lambda read: read.is_paged and read.objects >= 2 and read.writes >= 1,
    "page 2 as two writes ago": lambda read: read.is_paged and read.objects >= 2 and read.writes >= 2,
    "first hidden": lambda read: read.objects >= 1,
    "last hidden": lambda read: read.objects >= 2,
    "last twice": lambda read: read.objects >= 1,
    "first is null": lambda read: bool(read.fields),
    "first is a text": lambda read: bool(read.fields),
}
"""Lie → whether it differs from what a read is told."""


def faults_at(point: Point, read: Read = NOTHING_READ) -> Iterator[str]:
    """Names of the faults that a request may meet; ``read`` is what is known of a GET."""
    is_cloud = point.api == "hetzner"
    if point.api == "robot":
        yield from (name for name in OF_ROBOT if _TAKES.get(name, _always)(read))
        return
    yield from OF_ANY
    if point.method == "GET":
        lies = (*OF_READS, *(OF_CLOUD_READS if is_cloud else ()))
        yield from (name for name in lies if _TAKES[name](read))
        yield from (f"{_LACKS}{field}" for field in read.fields)
    else:
        yield from (*OF_WRITES, *(OF_CLOUD_WRITES if is_cloud else ()))


def _always(_: Read) -> bool:
    return True
