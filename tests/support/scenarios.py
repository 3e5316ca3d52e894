"""Reports that people see, by name: planned and judged as in a real pass, from worlds made of builders."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import timedelta
from ipaddress import IPv4Address
from types import MappingProxyType

from actuators.outcome import STOPPED, Applied, Failed, Outcome, Pending, Skipped
from desired.annotations.choices import Algorithm, Protocol
from desired.guards.filters import restrict
from desired.guards.judge import hold_hash
from desired.model.load_balancer import (
    KNOWN_AFTER_APPLY,
    Attachment,
    HttpOptions,
    ManagedCertificate,
    Owner,
    ServerTarget,
)
from desired.model.route import ROUTED, UNROUTED
from desired.model.service import Ingress
from desired.model.settings import Settings
from desired.model.snapshot import NodeAddress, ServerStatus, Snapshot
from desired.model.taint import Taint
from desired.names import LABEL_SERVICE_UID
from desired.plan.change import Change, Claimed, GuardDecision, GuardName, Hold, Plan, Verdict
from desired.plan.notes import Note, NoteKind
from desired.planner import compute_plan
from desired.rules import load_balancer_changes as rules
from desired.rules.filters import BLOCKED, NOT_NEEDED
from desired.rules.guards import ADOPTION_REMOVES
from desired.section import Absent, Section, Unknown
from reconciler.result import Line, Report, Requests
from tests.balancers import SERVICE_UID, a_balancer, a_listener, a_served_service, a_service, a_world, an_http_listener
from tests.builders import (
    NOW,
    SERVER_LABELS,
    UNINITIALIZED,
    a_change,
    a_joining_node,
    a_lost_node,
    a_server,
    a_settled_node,
    a_snapshot,
    incomplete,
    servers_of,
)
from tests.routes import ROUTING, WITHOUT_RANGE, a_pod_node, a_pod_server, a_route, a_routed_world, pods_of, routes_of
from tests.support.balancer_changes import (
    BALANCER,
    CLAIM,
    PUBLISH,
    SERVICE,
    a_creation,
    a_difference,
    a_part,
    a_publication,
    a_wish,
    an_adoption,
)
from tests.support.balancer_plans import fleet
from tests.support.judging import decided, judge
from tests.support.keys import key_of

_REQUESTS_OF_BALANCERS = Requests(kubernetes=3, hetzner=3, remaining=3597, limit=3600)
_ADDRESSES = (Ingress("203.0.113.200", ip_mode="VIP"), Ingress("2001:db8::200", ip_mode="VIP"))
_FLEET = fleet(1, 2, 3, private=False)


def _report(
    snapshot: Snapshot, changes: Iterable[Change] = (), notes: Iterable[Note] = (), holds: Iterable[Hold] = ()
) -> Report:
    plan = Plan(tuple(changes), tuple(notes), tuple(holds))
    lines = tuple(Line(change) for change in plan.changes)
    return decided(Report(snapshot, lines, plan.notes, plan.holds, requests=_REQUESTS_OF_BALANCERS))


def _created() -> Report:
    return _report(a_world([a_service()], **_FLEET), (CLAIM, a_creation(), PUBLISH))


def _adopted() -> Report:
    """A load balancer that somebody set up by hand, with a port and a server that the Service does not ask for."""
    snapshot = a_world([a_service()], [a_balancer(service_uid=None, cluster_uid=None, spec={"name": "shop"})], **_FLEET)
    removals = (
        a_part(
            "listener/8080",
            an_http_listener(8080, 31080),
            None,
            rules.PORT_REMOVED.text(port=8080),
            rules.PORT_CLOSED.text(port=8080),
            depends_on=(BALANCER,),
        ),
        a_part(
            "target/server:9",
            ServerTarget(9, use_private_ip=False),
            None,
            rules.TARGET_WITHOUT_NODE.text(server="server 9"),
            rules.TARGET_WITHOUT_TRAFFIC.text(target="server 9"),
            depends_on=(BALANCER,),
        ),
    )
    held = (
        an_adoption(
            Owner(None, None),
            rules.LOST_BY_ADOPTION.text(part="listener 8080"),
            rules.LOST_BY_ADOPTION.text(part="target server:9"),
            outlives=True,
        ),
        *removals,
    )
    why = ADOPTION_REMOVES.text(balancer="load balancer 42 shop", parts="listener 8080, target server:9")
    hold = Hold(
        hold_hash("adoption", held, snapshot), GuardName.ADOPTION, "2", "0", tuple(each.key for each in held), why
    )
    after_it = GuardDecision(Verdict.WAITING, GuardName.ADOPTION, BLOCKED.text(change=BALANCER, state="held"))
    changes = (
        CLAIM.ruled(replace(after_it, why=NOT_NEEDED.text(change=BALANCER, state="held"))),
        *(each.ruled(GuardDecision(Verdict.HELD, GuardName.ADOPTION, why)) for each in held),
        a_publication(*_ADDRESSES).ruled(after_it),
    )
    return _report(snapshot, changes, holds=[hold])


def _drifted_balancer() -> Report:
    """One change of every part that a load balancer may differ in."""
    there = a_listener()
    wanted = replace(a_wish(80, 30081), health_check=replace(there.health_check, port=30081, interval_s=5))
    place, other_place = (Attachment(7, IPv4Address(ip)) for ip in ("10.0.0.8", "10.0.0.9"))
    moved = {"depends_on": (f"{BALANCER}/network/7",)}
    parts = (
        a_part("type", "lb11", "lb21", rules.TYPE_CHANGED.text()),
        a_part("algorithm", Algorithm.ROUND_ROBIN, Algorithm.LEAST_CONNECTIONS, rules.ALGORITHM_CHANGED.text()),
        a_part("rdns/ipv4", "static.200.example.com", "shop.example.com", rules.REVERSE_NAME_CHANGED.text()),
        a_part(
            "network/7",
            place,
            other_place,
            rules.PRIVATE_ADDRESS_CHANGED.text(address="10.0.0.9"),
            rules.PRIVATE_TRAFFIC_STOPS.text(address="10.0.0.8"),
        ),
        a_part("public", True, False, rules.PUBLIC_OFF.text(), rules.UNREACHABLE_OUTSIDE.text()),
        a_part("listener/80", there, wanted, rules.PORT_CHANGED.text(port=80)),
        a_part(
            "target/server:1",
            ServerTarget(1, use_private_ip=False),
            ServerTarget(1, use_private_ip=True),
            rules.TARGET_ADDED.text(node="Node web-1", address="private address"),
            **moved,
        ),
        a_part(
            "target/server:2",
            None,
            ServerTarget(2, use_private_ip=True),
            rules.TARGET_ADDED.text(node="Node web-2", address="private address"),
            **moved,
        ),
        a_publication(Ingress("10.0.0.9", ip_mode="VIP"), before=_ADDRESSES, depends_on=()),
    )
    return _report(a_world([a_served_service()], [a_balancer()], **_FLEET), parts)


def _deleted() -> Report:
    present = a_balancer(listeners=(a_listener(), an_http_listener(443, 30443, protocol=Protocol.HTTPS)))
    service = a_served_service(deleted_at=NOW)
    delete = a_difference(
        BALANCER,
        "lb.delete",
        present.spec,
        None,
        rules.SERVICE_DELETED.text(),
        "loses its public addresses 203.0.113.200 and 2001:db8::200 for good",
    )
    release = a_difference(
        f"{SERVICE}/release",
        "service.release",
        Claimed("service.kubernetes.io/load-balancer-cleanup", service.ingress),
        None,
        rules.CLAIM_ENDED_WITH_BALANCER.text(done="released"),
        depends_on=(delete.key,),
    )
    return _report(a_world([service], [present], **_FLEET), (delete, release))


def _certified() -> Report:
    """After the first pass of a new https Service: all is there but the certificate, which is being issued."""
    domains = ("shop.example.com", "www.shop.example.com")
    name = f"ccm-managed-certificate-{SERVICE_UID}"
    issue = a_difference(
        "certificate/default/web",
        "certificate.create",
        None,
        ManagedCertificate(name, domains, MappingProxyType({LABEL_SERVICE_UID: SERVICE_UID})),
        rules.CERTIFICATE_CREATED.text(domains=", ".join(domains)),
    )
    why = f"certificate {name} is being issued"
    listener = a_part(
        "listener/443",
        None,
        a_wish(443, 30443, Protocol.HTTPS, HttpOptions(certificates=KNOWN_AFTER_APPLY, redirect_http=True)),
        rules.PORT_ADDED.text(port=443),
        depends_on=(issue.key,),
    ).ruled(GuardDecision(Verdict.WAITING, GuardName.CERTIFICATE_ISSUANCE, why, 30))
    snapshot = a_world([a_served_service()], [a_balancer()], certificates=[], **_FLEET)
    report = _report(
        snapshot, (listener,), [Note(key_of(SERVICE), NoteKind.CERTIFICATE, f"{why}; port 443 waits for it")]
    )
    return replace(report, lines=(Line(issue, Applied()), *report.lines))


def _foreign() -> Report:
    """Another cluster's load balancer has the name, and a load balancer of ours has lost its Service."""
    elsewhere = "99999999-8888-7777-6666-555555555555"
    decision = GuardDecision(
        Verdict.REFUSED, GuardName.FOREIGN_OWNER, f"load balancer 42 'shop' belongs to cluster {elsewhere}"
    )
    waits = GuardDecision(Verdict.WAITING, GuardName.FOREIGN_OWNER, NOT_NEEDED.text(change=BALANCER, state="refused"))
    orphan = a_balancer(43, service_uid="00000000-dead-dead-dead-000000000000", spec={"name": "left-over"})
    note = Note(orphan.key, NoteKind.ORPHAN, "load balancer 43 'left-over' is of this cluster, and no Service wants it")
    theirs = a_balancer(cluster_uid=elsewhere, spec={"name": "shop"})
    changes = (CLAIM.ruled(waits), an_adoption(Owner(elsewhere, SERVICE_UID)).ruled(decision))
    return _report(a_world([a_service()], [theirs, orphan], **_FLEET), changes, [note])


def _unread() -> Report:
    """A page of load balancers is missing, so that nothing is created."""
    why = "Hetzner API https://api.hetzner.cloud/v1: GET /load_balancers answers 429 rate_limit_exceeded"
    gap = incomplete(Section({42: a_balancer(service_uid=None)}, expected=51), why)
    waiting = Note(key_of(SERVICE), NoteKind.UNKNOWN, f"whether it has a load balancer could not be told: {why}")
    return _report(a_world([a_service()], load_balancers=gap, **_FLEET), notes=[waiting])


BALANCER_SCENARIOS: Mapping[str, Report] = {
    "balancer_created": _created(),
    "balancer_adopted": _adopted(),
    "balancer_drifted": _drifted_balancer(),
    "balancer_deleted": _deleted(),
    "balancer_certified": _certified(),
    "balancer_foreign": _foreign(),
    "balancers_settled": _report(a_world([a_served_service()], [a_balancer()], certificates=[], **_FLEET)),
    "balancers_unread": _unread(),
}
"""Name → report."""


_REQUESTS = Requests(kubernetes=2, hetzner=1, remaining=3599, limit=3600)
_USUAL = Settings()
_HOSTNAME = (NodeAddress("Hostname", "web-1"),)
_SETTLED = a_settled_node("control-1", 9)
_CONTROL = a_server(9, "control-1")
_REFUSED = (
    "Kubernetes API server https://10.0.0.1:6443 does not answer: connection refused; check that it is up and that the"
    " kubeconfig has its address"
)
_UNAVAILABLE = (
    "Hetzner API https://api.hetzner.cloud/v1: GET /servers answers 503 Service Unavailable, and not as the Hetzner"
    " API does; check HCLOUD_ENDPOINT"
)


def _report_on(
    snapshot: Snapshot,
    outcomes: Mapping[str, Outcome] | None = None,
    requests: Requests = _REQUESTS,
    settings: Settings = _USUAL,
) -> Report:
    """What a pass over this world says; the changes named in ``outcomes`` came to that end."""
    plan = restrict(judge(compute_plan(snapshot, settings), snapshot, settings), settings.only)
    lines = tuple(Line(change, (outcomes or {}).get(change.key)) for change in plan.changes)
    return decided(Report(snapshot=snapshot, lines=lines, notes=plan.notes, holds=plan.holds, requests=requests))


def _joining() -> Snapshot:
    """Two Nodes that join, with addresses that change, an old label and a taint of somebody else's; one that is
    misnamed; and one of Robot."""
    return a_snapshot(
        [
            _SETTLED,
            a_joining_node(addresses=_HOSTNAME),
            a_joining_node(
                "web-2",
                provider_id="hcloud://2",
                labels={"node.kubernetes.io/instance-type": "cx22", "example.com/team": "blue"},
                taints=(Taint("dedicated", "NoExecute"), UNINITIALIZED),
                addresses=(NodeAddress("InternalIP", "10.0.0.2"), NodeAddress("Hostname", "web-2")),
            ),
            a_joining_node("web3"),
            a_joining_node("metal-1", provider_id="hrobot://7"),
        ],
        [_CONTROL, a_server(), a_server(2, "web-2", location="nbg1"), a_server(3, "web-3")],
    )


def _elsewhere() -> Snapshot:
    """A token of another project."""
    return a_snapshot([_SETTLED, a_joining_node()], [a_server(), a_server(4, "theirs", ipv4=IPv4Address("192.0.2.4"))])


def _partly_read() -> Snapshot:
    """A page of servers is missing: one Node is known by its id, one only by its name."""
    read = replace(servers_of(_CONTROL, a_server()), expected=52)
    section = incomplete(read, _UNAVAILABLE)
    return a_snapshot(
        [_SETTLED, a_joining_node(provider_id="hcloud://1"), a_joining_node("web-2")], servers_section=section
    )


def _drifted() -> Snapshot:
    """A Node that differs from its server in all three ways: it was resized and switched off, and has another public
    address; somebody set its region, and its kubelet reported a private address."""
    labels = {**SERVER_LABELS, "topology.kubernetes.io/region": "cellar", "example.com/team": "blue"}
    del labels["failure-domain.beta.kubernetes.io/zone"]
    addresses = ("InternalIP", "10.0.0.2"), ("Hostname", "web-1"), ("ExternalIP", "192.0.2.4")
    node = a_settled_node(
        labels=labels,
        taints=(Taint("dedicated", "NoExecute"),),
        addresses=tuple(NodeAddress(kind, address) for kind, address in addresses),
    )
    return a_snapshot([_SETTLED, node], [_CONTROL, a_server(type="cpx42", status=ServerStatus.OFF)])


def _unproven() -> Snapshot:
    """Nodes whose servers are gone, each at another point of its proof: one is not Ready for eight seconds, one is
    still to be asked for by its id, asking for one failed, and one lingers."""
    cordoned = {"unschedulable": True}
    return a_snapshot(
        [
            _SETTLED,
            a_lost_node(ready_since=NOW - timedelta(seconds=8)),
            a_lost_node("web-2", 2, **cordoned),
            a_lost_node("web-3", 3, **cordoned),
            a_lost_node("web-4", 4, deleted_at=NOW - timedelta(minutes=3), finalizers=("example.com/drain",)),
        ],
        [_CONTROL],
        confirmations={3: Unknown(_UNAVAILABLE.replace("/servers ", "/servers/3 ")), 4: Absent()},
    )


def _decimated() -> Snapshot:
    """Two of three servers are gone, proven and unannounced."""
    return a_snapshot(
        [_SETTLED, a_lost_node(), a_lost_node("web-2", 2)], [_CONTROL], confirmations={1: Absent(), 2: Absent()}
    )


_VPN = a_route("10.8.0.0/24", "10.0.0.254")
"""Somebody's own, in the same network."""


def _routed(snapshot: Snapshot, settings: Settings = ROUTING, outcomes: Mapping[str, Outcome] | None = None) -> Report:
    return _report_on(snapshot, outcomes, Requests(kubernetes=2, hetzner=3, remaining=3597, limit=3600), settings)


def _drifted_routes() -> Snapshot:
    """Of five Nodes one is new, the route of one leads elsewhere, and the server of one is not in the network; the
    route to the pods of a Node that is no more leads to an address that nobody has."""
    nodes = [
        a_pod_node(1),
        a_pod_node(2, says=None),
        a_pod_node(3, says=UNROUTED),
        a_pod_node(4, pods_of(4), "fd00:10:244:4::/64"),
        a_pod_node(5, addresses=a_pod_node(5).addresses[:-1]),
    ]
    servers = [a_pod_server(number) for number in range(1, 5)] + [a_pod_server(5, private_ips=())]
    routes = [a_route(1), a_route(3, 4), a_route(4, 4), a_route(9, "10.0.0.99"), _VPN]
    return a_routed_world(nodes, servers, routes, members=[])


def _held_routes() -> Snapshot:
    """A route within the cluster CIDR leads to a server that is no Node."""
    servers = [a_pod_server(1), a_pod_server(7)]
    return a_routed_world([a_pod_node()], servers, [a_route(), a_route(7, 7)])


def _creating_routes() -> Snapshot:
    """Nobody says what the cluster CIDR is, and one destination is of IPv6."""
    section = routes_of(a_route(), _VPN, unreadable={"fd00::/64": "its destination is of IPv6"})
    return replace(a_routed_world([a_pod_node(), a_pod_node(2, says=None)]), routes=section)


_UNREACHABLE = "Hetzner POST /networks/4/actions/add_route answers 422 invalid_input: gateway not reachable"

ROUTE_SCENARIOS: Mapping[str, Report] = {
    "routes_drifted": _routed(_drifted_routes()),
    "routes_applied": _routed(
        a_routed_world([a_pod_node(1, says=None), a_pod_node(2)], routes=[]),
        outcomes={
            "route/4/10.244.1.0/24": Applied(),
            "node/web-1/network": Applied(),
            "route/4/10.244.2.0/24": Failed(_UNREACHABLE),
        },
    ),
    "routes_held": _routed(_held_routes()),
    "routes_creating": _routed(_creating_routes(), WITHOUT_RANGE),
    "routes_settled": _routed(a_routed_world([a_pod_node(number) for number in range(1, 8)])),
    "routes_off": _routed(a_routed_world([a_pod_node(says=ROUTED)]), Settings(network="private")),
}
"""Name → report."""

_FAILED: Mapping[str, Outcome] = {
    "node/web-1": Applied(),
    "node/web-2": Failed("Kubernetes API server: PATCH /api/v1/nodes/web-2 answers 403 nodes is forbidden"),
    "node/web-3": Pending("Kubernetes API server: PATCH /api/v1/nodes/web-3 answers 409 the object has been modified"),
    "node/web-4": Skipped(STOPPED),
}

SCENARIOS: Mapping[str, Report] = {
    "joining": _report_on(_joining()),
    "held_by_anchor": _report_on(_elsewhere()),
    "drifted": _report_on(_drifted()),
    "awaiting_proof": _report_on(_unproven(), requests=Requests(kubernetes=2, hetzner=3, remaining=3597, limit=3600)),
    "held_by_blast_radius": _report_on(
        _decimated(), requests=Requests(kubernetes=3, hetzner=3, remaining=3597, limit=3600)
    ),
    "empty": _report_on(a_snapshot([_SETTLED], [_CONTROL])),
    "incomplete": _report_on(_partly_read()),
    "applied": _report_on(
        a_snapshot([_SETTLED, a_joining_node()], [_CONTROL, a_server()]),
        {"node/web-1": Applied()},
        Requests(kubernetes=6, hetzner=1, remaining=3599, limit=3600),
    ),
    "failed": _report_on(
        a_snapshot(
            [_SETTLED, *(a_joining_node(f"web-{n}") for n in range(1, 5))],
            [_CONTROL, *(a_server(n, f"web-{n}") for n in range(1, 5))],
        ),
        _FAILED,
    ),
    "part": _report_on(
        a_snapshot([_SETTLED, a_joining_node()], [_CONTROL, a_server()]),
        settings=Settings(only=("node/control-1", "node/wbe-1")),
    ),
    "error": Report(errors=(_REFUSED,)),
    **BALANCER_SCENARIOS,
    **ROUTE_SCENARIOS,
}
"""Name → report."""


def readdressed(before: str, after: str, report: Report) -> Report:
    """``report`` of a pass that published ``after`` of default/web in the place of ``before``."""
    was, now = ((Ingress(address, ip_mode="VIP"),) for address in (before, after))
    owner = key_of(SERVICE)
    change = a_change(f"{SERVICE}/status", "service.status", before=was, after=KNOWN_AFTER_APPLY)
    assert report.snapshot is not None
    snapshot = replace(report.snapshot, services=Section({owner.name: a_service(ingress=now)}))
    return replace(report, snapshot=snapshot, lines=(Line(replace(change, owner=owner), Applied()),))
