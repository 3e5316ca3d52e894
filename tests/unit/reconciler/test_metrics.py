"""Metrics: what a pass adds to them, under names and labels that are bounded."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from actuators.http.errors import NotFound, Throttled
from actuators.outcome import Applied, Failed, Pending, Skipped
from desired.model.snapshot import Snapshot
from desired.plan.change import GuardDecision, GuardName, Hold, Verdict
from desired.plan.notes import Note, NoteKind
from reconciler.result import Line, Report, Requests, Result
from reconciler.telemetry.metric_table import METRICS, OURS
from reconciler.telemetry.metrics import Metrics, hetzner_endpoint, kubernetes_endpoint
from reconciler.telemetry.pass_logger import Measured, Meter
from reconciler.telemetry.pass_metrics import actions
from tests.balancers import LB11, a_balancer, a_world
from tests.builders import a_change, a_server, a_settled_node, a_snapshot, incomplete, nodes_of, servers_of
from tests.routes import a_route, routes_of
from tests.support.keys import key_of
from tests.support.passes import Run
from tests.support.rendering import golden
from tests.support.scenarios import readdressed
from tests.support.simulators import Simulation

WHOLE = a_snapshot([a_settled_node()], [a_server()])
GAP = a_snapshot([a_settled_node()], servers_section=incomplete(servers_of(a_server())))
HELD = a_change(
    "node/web-2", "node.labels", before={}, after={"a": "b"}, decision=GuardDecision(Verdict.HELD, GuardName.ADOPTION)
)
INTERVAL_S = 60.0
FROM_SOURCES = ("process_", "python_")
"""Prefixes of what the client library tells of the process."""

Sample = tuple[str, tuple[tuple[str, str], ...]]


class Clock:
    """Stands until it is set."""

    now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


def make_metrics(clock: Clock | None = None) -> Metrics:
    return Metrics(version="1.2.3", policy="sync", mode="loop", lease="ccm", clock=clock or Clock())


def scraped(metrics: Metrics) -> dict[Sample, float]:
    """(name, sorted labels) → value of every sample."""
    text = generate_latest(metrics.registry)
    samples = [sample for family in text_string_to_metric_families(text.decode()) for sample in family.samples]
    return {(sample.name, tuple(sorted(sample.labels.items()))): sample.value for sample in samples}


def value(metrics: Metrics, name: str, /, **labels: str) -> float | None:
    """The value of one sample; None when there is none. Names of ours are given without their prefix."""
    found = scraped(metrics)
    return found.get((name, tuple(sorted(labels.items()))), found.get((OURS + name, tuple(sorted(labels.items())))))


def report(*lines: Line, snapshot: Snapshot | None = WHOLE, **parts: Any) -> Report:
    return Report(snapshot=snapshot, lines=lines, **parts)


def passed(metrics: Metrics, told: Report, **measured: Any) -> None:
    metrics.passed(Measured(told, **{"seconds": 1.0, **measured}), INTERVAL_S)


def test_every_row_is_served_and_nothing_else() -> None:
    metrics = make_metrics()
    families = {family.name: family for family in metrics.registry.collect()}
    ours = {name: family for name, family in families.items() if not name.startswith(FROM_SOURCES)}

    assert {name.removesuffix("_total"): row.sort for name, row in METRICS.items()} == {
        name: family.type for name, family in ours.items()
    }
    assert {row.meaning for row in METRICS.values()} == {family.documentation for family in ours.values()}
    assert {"process_cpu_seconds", "process_open_fds", "python_gc_collections", "python_info"} <= families.keys()
    assert not [name for name, _ in scraped(metrics) if name.endswith("_created")]


ENDED = tuple(Line(a_change(), outcome) for outcome in (Applied(), Failed("no"), Pending("later"), Skipped("stopped")))
ORPHAN = Note(key_of("load_balancer/#1"), NoteKind.ORPHAN, "nobody's")
SMALL = replace(LB11, max_services=5)
ROUTES = routes_of(a_route(1), a_route(2))
FULL = replace(a_world((), (a_balancer(targets=()), a_balancer(9, targets=(), type=SMALL))), routes=ROUTES)
ROUTED = replace(a_world(), routes=routes_of(a_route(1)))
MADE = Line(a_change("route/4711/10.244.1.0/24", "route.create", before=None, after={}), Applied())
REFUSED = replace(MADE, outcome=Failed("no"))
PASSES: Mapping[str, tuple[Report, str]] = {
    "nothing to do": (report(), ""),
    "one was applied": (report(Line(a_change(), Applied())), ""),
    "one of each outcome": (report(*ENDED), ""),
    "a gap": (report(snapshot=GAP), ""),
    "nothing was read": (report(snapshot=None, errors=("gone",)), ""),
    "a rule holds": (report(Line(HELD)), ""),
    "an orphan": (report(notes=(ORPHAN,)), ""),
    "left of the allowance": (report(requests=Requests(remaining=7, limit=3600)), ""),
    "limits of the network and the fullest load balancer": (report(snapshot=FULL), ""),
    "a Service that has other addresses": (readdressed("203.0.113.1", "203.0.113.9", report()), ""),
    "called by a Node": (report(), "node/web-1 changed"),
    "called by a Service": (report(), "Service shop/web"),
    "called by another thing": (report(), "a new token"),
    "routes, nothing to do": (report(snapshot=ROUTED), ""),
    "a route that no Node called for": (report(MADE, snapshot=ROUTED), ""),
    "a route": (report(MADE, snapshot=ROUTED), "node/web-1 joined"),
    "a refused route": (report(REFUSED, snapshot=ROUTED), "node/web-1 joined"),
    "a refused route beside another": (report(REFUSED, MADE, snapshot=ROUTED), ""),
    "a planned route": (report(replace(MADE, outcome=None), snapshot=ROUTED), ""),
    "something else beside routes": (report(Line(a_change(), Applied()), snapshot=ROUTED), "a new token"),
}
"""Name of a pass → its report, and what called for it. Routes are counted as Kubernetes counts them."""


def samples(told: Report, trigger: str) -> dict[str, str]:
    metrics = make_metrics()
    passed(metrics, told, trigger=trigger)
    lines = generate_latest(metrics.registry).decode().splitlines()
    shown = [line for line in lines if not line.startswith(("#", *FROM_SOURCES)) and "_bucket{" not in line]
    return dict(line.rsplit(" ", 1) for line in shown)


def test_additions_of_passes() -> None:
    """All samples of the first one, and of each other one those with another value, or with none. Set UPDATE_GOLDEN to
    write the file anew, and read it."""
    base, lines = dict[str, str](), list[str]()
    for name, (told, trigger) in PASSES.items():
        found = samples(told, trigger)
        differ = [key for key in sorted({**found, **base}) if found.get(key) != base.get(key)]
        lines += [f"=== {name}", *(f"{key} {found.get(key, 'none')}" for key in differ), ""]
        base = base or found

    assert "\n".join(lines) == golden("scraped.txt", "\n".join(lines))


def test_what_does_not_hold_any_more_is_zero() -> None:
    metrics = make_metrics()
    passed(metrics, report(Line(HELD)))
    passed(metrics, report())

    assert value(metrics, "plan_blocked", rule="adoption", verdict="held") == 0
    assert value(metrics, "plan_changes", section="nodes", action="modify") == 0


def test_a_hold_is_counted_once_while_it_lasts() -> None:
    metrics = make_metrics()
    hold = Hold("sha256:1", GuardName.ADOPTION, "2", "1", ("node/web-2",), "too many")
    for holds in ((hold,), (hold,), (), (hold,)):
        passed(metrics, report(Line(HELD), holds=holds))

    assert value(metrics, "guard_violations_total", rule="adoption") == 2


def test_success_stands_still_while_something_fails() -> None:
    clock = Clock()
    metrics = make_metrics(clock)
    began = clock.now
    steps = [
        (report(), {"nodes": 0, "servers": 0}),
        (report(snapshot=GAP), {"nodes": 60, "servers": 0}),
        (report(Line(a_change(), Failed("no"))), {"nodes": 60, "servers": 120}),
        (report(errors=("gone",)), {"nodes": 60, "servers": 120}),
        (report(errors=("wrong",), misconfigured=("wrong",)), {"nodes": 240, "servers": 240}),
        (report(snapshot=None, errors=("gone",)), {"nodes": 240, "servers": 240}),
    ]
    for number, (told, successes) in enumerate(steps):
        clock.now = began + 60 * number
        passed(metrics, told)
        for section, after in successes.items():
            assert value(metrics, "last_success_timestamp_seconds", section=section) == began + after
            assert value(metrics, "last_attempt_timestamp_seconds", section=section) == clock.now
    assert value(metrics, "snapshot_complete", section="servers") == 0


def test_leadership() -> None:
    metrics = make_metrics()
    passed(metrics, report(Line(HELD)))
    leads = iter((True, True, False, False, True, True)).__next__
    seen = [value(metrics, "leader_election_master_status", name="ccm")]
    metrics.follow(leads)
    found = [scraped(metrics) for _ in range(3)]
    seen += [samples["leader_election_master_status", (("name", "ccm"),)] for samples in found]
    held = [(f"{OURS}plan_blocked", (("rule", "adoption"), ("verdict", "held"))) in samples for samples in found]

    assert seen == [0, 1, 0, 1]
    assert held == [True, False, False], "what an earlier leader found is no alarm"


def test_the_call_budget() -> None:
    metrics = make_metrics()
    metrics.follow_budget(iter((882.0, 12.5)).__next__)

    assert [value(metrics, "call_budget_left") for _ in range(2)] == [882, 12.5]


def test_calls_to_robot(simulate: Callable[..., Simulation]) -> None:
    sim = simulate(robot=[{"server_number": 321}])
    reader, metrics = sim.robot_reader(), make_metrics()
    assert reader is not None
    assert value(metrics, "robot_calls_left", endpoint="server") is None
    reader.observe = metrics.of_robot(reader.left)
    reader.get("/server")
    for path in ("/server/321", "/reset/321", "/server/9"):
        with suppress(NotFound):
            reader.get(path)

    asked = [("200", "/server"), ("200", "/server/-"), ("404", "/server/-"), ("200", "/reset/-")]
    assert [value(metrics, "robot_requests_total", code=code, endpoint=path) for code, path in asked] == [1, 1, 1, 1]
    assert value(metrics, "robot_request_duration_seconds_count", endpoint="/server/-") == 2
    assert [value(metrics, "robot_calls_left", endpoint=name) for name in ("server", "reset")] == [57, 149]

    sim.spoil_robot("status", code=403, body="")
    with suppress(Throttled):
        reader.get("/server")
    assert [value(metrics, "robot_calls_left", endpoint=name) for name in ("server", "reset")] == [0, 0]


def test_labels_do_not_grow_with_the_cluster() -> None:
    sizes = []
    for count in (1, 1000):
        metrics = make_metrics()
        names = [f"web-{number}" for number in range(count)]
        lines = [Line(a_change(f"node/{name}", owner=f"node/{name}"), Failed(f"{name}: no")) for name in names]
        held = [Line(replace(HELD, key=key_of(f"node/{name}/labels"))) for name in names]
        notes = tuple(Note(key_of(f"node/{name}"), NoteKind.UNMATCHED, name) for name in names)
        world = replace(WHOLE, nodes=nodes_of(*(a_settled_node(name, n) for n, name in enumerate(names))))
        passed(metrics, report(*lines, *held, snapshot=world, notes=notes))
        sizes.append(len(scraped(metrics)))

    assert sizes[0] == sizes[1] < 400


def test_a_whole_pass(joining: Run) -> None:
    """Two Nodes that join: applied, with their delay by the API server's clock; each request is counted."""
    metrics = make_metrics()
    cloud = joining.readers.hetzner._connection
    cluster = joining.readers.kubernetes.connection
    cloud.observe, cluster.observe = metrics.of_hetzner(), metrics.of_kubernetes("https://api:6443/base")
    measured = Meter().end(joining.converge(), "node/web-1 joined")

    metrics.passed(measured, INTERVAL_S)

    found = scraped(metrics)
    assert measured.report.result is Result.NO_CHANGES
    assert value(metrics, "applied_total", section="nodes", action="add", result="applied") == 2
    assert value(metrics, "node_init_delay_seconds_count") == 2
    assert value(metrics, "hcloud_api_requests_total", code="200", method="get", api_endpoint="/servers")
    assert value(metrics, "kubernetes_requests_total", code="200", method="GET", endpoint="/api/v1/nodes")
    assert value(metrics, "rest_client_requests_total", code="200", method="GET", host="api:6443")
    assert value(metrics, "hcloud_api_in_flight_requests") == 0
    assert value(metrics, "cloud_ratelimit_limit") == 3600
    for requests, name in ((measured.report.requests.hetzner, "hcloud_api_requests_total"),):
        assert sum(count for (sample, _), count in found.items() if sample == name) == requests


@pytest.mark.parametrize(
    ("fault", "code"), [({"kind": "status", "code": 502, "body": "bad gateway"}, "502"), ({"kind": "reset"}, "error")]
)
def test_requests_that_fail_are_counted(simulate: Callable[..., Simulation], fault: dict[str, Any], code: str) -> None:
    sim = simulate()
    sim.hetzner_proxy.set_faults([{"count": 1, **fault}])
    connection = sim.hetzner_connection()
    metrics = make_metrics()
    connection.observe = metrics.of_hetzner()

    connection.send("GET", "/servers?page=1", repeatable=True)

    assert value(metrics, "hcloud_api_requests_total", code=code, method="get", api_endpoint="/servers") == 1
    assert value(metrics, "hcloud_api_requests_total", code="200", method="get", api_endpoint="/servers") == 1
    assert value(metrics, "hcloud_api_request_duration_seconds_count", method="get") == 2
    assert value(metrics, "hcloud_api_in_flight_requests") == 0


@pytest.mark.parametrize(
    ("path", "endpoint"),
    [
        ("/servers?page=2&per_page=50", "/servers"),
        ("/load_balancers/4711/actions/add_target", "/load_balancers/-/actions/add_target"),
        ("/networks/7", "/networks/-"),
        ("/networks/7/members", "/networks/-/members"),
        ("/actions?id=1&id=2", "/actions"),
    ],
)
def test_endpoints_of_hetzner(path: str, endpoint: str) -> None:
    assert hetzner_endpoint(path) == endpoint


@pytest.mark.parametrize(
    ("path", "endpoint"),
    [
        ("/api/v1/nodes?limit=500", "/api/v1/nodes"),
        ("/api/v1/nodes/web-1/status", "/api/v1/nodes/-/status"),
        ("/api/v1/namespaces/kube-system", "/api/v1/namespaces/-"),
        ("/api/v1/namespaces/shop/services/services/status", "/api/v1/namespaces/-/services/-/status"),
        (
            "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/ccm",
            "/apis/coordination.k8s.io/v1/namespaces/-/leases/-",
        ),
        ("/apis/apps/v1/namespaces/kube-system/deployments", "/apis/apps/v1/namespaces/-/deployments"),
        ("/version", "/version"),
        ("/api/v1", "/api/v1"),
        ("/", "/"),
        ("/healthz/deep/er", "/healthz"),
    ],
)
def test_endpoints_of_kubernetes(path: str, endpoint: str) -> None:
    assert kubernetes_endpoint(path) == endpoint


def test_actions_are_those_of_the_table_of_kinds() -> None:
    assert ("nodes", "add") in set(actions())
    assert ("certificates", "remove") not in set(actions())
    assert {section for section, _ in actions()} == {"nodes", "services", "load_balancers", "certificates", "routes"}
