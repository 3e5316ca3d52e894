"""``scripts/dev up``: what is missing of the cluster is made. Each step finds what an earlier run has left."""

from dataclasses import dataclass, replace
from typing import Any

from cluster import Cluster
from cost import bill, items
from home import Home, Record, Stage
from infrastructure import Infrastructure, Outputs, Planned
from project import SSH_KEYS, Found
from saying import Problem, confirm, one_line, say, wait_until
from session import Session

_JOIN_S = 900.0
_DEFAULTS = {"location": "fsn1", "server_type": "cx23", "workers": 2, "admin_ranges": ("0.0.0.0/0", "::/0")}


@dataclass(frozen=True, slots=True)
class Wishes:
    """Settings that were given; None keeps what the cluster has, or the default."""

    location: str | None
    server_type: str | None
    workers: int | None
    admin_ranges: tuple[str, ...] | None

    def given(self) -> dict[str, Any]:
        """Name of a field of the record → value, of those that were given."""
        fields = {name: getattr(self, name) for name in _DEFAULTS}
        return {name: value for name, value in fields.items() if value is not None}


def up(session: Session, name: str, wishes: Wishes, *, agreed: bool) -> None:
    """Make what is missing. Raises Problem."""
    infrastructure = session.infrastructure()
    record = _recorded(session, name)
    wished = replace(record, **wishes.given())
    zone = _checked_zone(session, wished)
    key = _claimed(session, session.home.save(record))
    wished = replace(wished, stage=Stage.CLAIMED)
    infrastructure.prepare(wished, zone, key.id)
    _build(session, infrastructure, wished, agreed=agreed)
    outputs = infrastructure.outputs()
    cluster = _reached(session, record, outputs)
    _join(cluster, record, outputs)
    say(f"cluster {name} is up, with {len(outputs.servers)} Nodes")
    say(f"export KUBECONFIG={session.home.kubeconfig}")


def _recorded(session: Session, name: str) -> Record:
    """The record, a new one where there is none. Raises Problem for another's cluster of this name."""
    record = session.record()
    if record is not None and record.stage is Stage.GONE:
        raise Problem(f"cluster {name} is on its way down: run scripts/dev down to the end, then scripts/dev up")
    if record is None:
        record = Record.new(name, session.project.endpoint, **_DEFAULTS)
    if others := session.project.namesakes(name, record.cluster_id):
        raise Problem(
            f"the project has a cluster {name} of another checkout (label {min(others)}): choose another --name, or"
            " take that one down where it was made"
        )
    return record


def _checked_zone(session: Session, record: Record) -> str:
    """The network zone of the record's location. Raises Problem for a location or type that cannot be had."""
    location = session.project.named("locations", record.location)
    if location is None:
        known = ", ".join(sorted(each["name"] for each in session.project.all("locations")))
        raise Problem(f"there is no location {record.location}: choose one of {known} with --location")
    server_type = session.project.named("server_types", record.server_type)
    if server_type is None:
        raise Problem(
            f"there is no server type {record.server_type}: choose one with --server-type, such as cx23 or cax11"
        )
    if record.location not in {price["location"] for price in server_type["prices"]}:
        raise Problem(
            f"server type {record.server_type} is not sold in {record.location}: choose another --server-type"
            " or --location"
        )
    zone: str = location["network_zone"]
    return zone


def _claimed(session: Session, record: Record) -> Found:
    """The cluster's SSH key at Hetzner, made now if need be: it is free, and proves later whose project it is."""
    public = session.home.public_key()
    key = session.key_of(record)
    if key is None:
        say(f"cluster {record.name} gets the label {record.cluster_id}")
        key = Found(SSH_KEYS, session.project.add_key(record.name, public, record.cluster_id), record.name)
    session.home.at(record, Stage.CLAIMED)
    return key


def _build(session: Session, infrastructure: Infrastructure, record: Record, *, agreed: bool) -> None:
    """Servers and network, after a question that says what they cost and what goes for them."""
    strays = session.strays(record, infrastructure)
    planned = infrastructure.plan()
    if planned.is_empty and not strays:
        say("the infrastructure is complete: nothing is bought")
        return
    for line in _announced(session, record, planned, strays):
        say(line)
    confirm("Go on?", answered=agreed)
    session.home.save(record)
    session.project.delete(strays)
    infrastructure.apply()


def _announced(session: Session, record: Record, planned: Planned, strays: list[Found]) -> list[str]:
    lines = [f"left over from a run that was interrupted, and deleted first: {each}" for each in strays]
    lines += [f"destroyed: {address}" for address in planned.destroyed]
    if servers := planned.count("hcloud_server"):
        if others := session.project.others_servers():
            lines.append(
                f"the project has other servers as well, such as {one_line(min(others).name)}: they are left alone, but"
                " see whether HCLOUD_TOKEN is of the project that is meant"
            )
        pricing = session.project.pricing()
        bought = items(pricing, servers=servers, server_type=record.server_type, location=record.location)
        return [*lines, "this buys:", *bill(pricing, bought, record.location)]
    return [*lines, "no server is bought"]


def _reached(session: Session, record: Record, outputs: Outputs) -> Cluster:
    """The cluster's API with its Secret in it. Raises Problem."""
    home: Home = session.home
    if session.stand_in is not None:
        say("rehearsal: no server boots; the sandbox's API stands in for the cluster's, without Secret and Cilium")
        home.write(home.kubeconfig, session.stand_in.read_text("utf-8"))
        return session.cluster(record, outputs.network_id)
    machine = session.control_plane(outputs)
    machine.wait_for_boot()
    home.write(home.kubeconfig, machine.kubeconfig(f"hcloud-reconciler-{record.name}"))
    cluster = session.cluster(record, outputs.network_id)
    cluster.put_secret()
    return cluster


def _join(cluster: Cluster, record: Record, outputs: Outputs) -> None:
    """Nodes become ready as they are initialized and routed, which passes from here do. Raises Problem."""

    report = ["no pass was made, as not all servers have registered as Nodes"]

    def joined() -> bool:
        nonlocal report
        nodes = cluster.nodes()
        if not set(outputs.servers) <= nodes.keys():
            return False
        ran = cluster.reconcile("apply", "--yes", "--detailed-exitcode")
        before, report = report, (ran.stdout + ran.stderr).strip().splitlines() or ["reconcile has said nothing"]
        if report[-1] != before[-1]:
            say(one_line(report[-1]))
        nodes = cluster.nodes()
        are_well = all(node.is_ready and node.is_initialized for node in nodes.values())
        return ran.returncode == 0 and are_well and nodes.keys() == set(outputs.servers)

    try:
        cluster.require_own_nodes(record)
    except Problem as problem:
        raise Problem(
            f"nothing is changed in the cluster: {problem}; remove the Node if it joined by hand, and in a rehearsal"
            " see where KUBECONFIG leads"
        ) from problem
    say(f"waiting for {len(outputs.servers)} Nodes; reconcile initializes them from here")
    cluster.stop_controller()
    try:
        wait_until(joined, "the Nodes are not all ready", deadline_s=_JOIN_S)
    except Problem as problem:
        say("\n".join(report))
        raise Problem(
            f"{problem}: read the last pass above, see `kubectl get nodes,pods -A`, run the command again"
        ) from None
