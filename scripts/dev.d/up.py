"""``scripts/dev up``: what is missing of the cluster is made. Each step finds what an earlier run has left."""

from collections.abc import Mapping

import msgspec
from cluster import Cluster
from home import Record, Stage, write
from infrastructure import Infrastructure, find_tool, variables_of
from saying import Problem, confirm, one_line, say, wait_until
from session import Session

_JOIN_S = 900.0


def up(session: Session, name: str, wishes: Mapping[str, object], *, agreed: bool) -> None:
    """Make what is missing. ``wishes`` are fields of the record that were given. Raises Problem, or an ApiError."""
    record = session.record() or Record.new(name, session.endpoint, find_tool())
    if record.stage is Stage.GONE:
        raise Problem(f"cluster {name} is on its way down: run scripts/dev down to the end, then scripts/dev up")
    wished = msgspec.structs.replace(record, **wishes)
    zone = _zone(session, wished)
    infrastructure = session.infrastructure(session.home.save(record))
    key = session.key_of(record)
    if key is None:  # it is made first, as it is free, and proves later whose project it is
        say(f"cluster {name} gets the label {record.cluster_id}")
        key = session.project.add_key(name, session.home.public_key(), record.cluster_id)
    session.home.save(msgspec.structs.replace(record, stage=Stage.CLAIMED))
    wished = msgspec.structs.replace(wished, stage=Stage.CLAIMED)
    infrastructure.prepare(variables_of(wished, zone, key.id))
    _build(session, infrastructure, wished, agreed=agreed)
    servers = infrastructure.outputs().servers
    _join(_reached(session, wished), wished, set(servers))
    say(f"cluster {name} is up, with {len(servers)} Nodes")
    say(f"export KUBECONFIG={session.home.kubeconfig}")


def _zone(session: Session, record: Record) -> str:
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
    return str(location["network_zone"])


def _build(session: Session, infrastructure: Infrastructure, record: Record, *, agreed: bool) -> None:
    """Servers and network, after a question that says what they cost and what goes for them."""
    strays, planned = session.strays(record), infrastructure.plan()
    if planned.is_empty and not strays:
        say("the infrastructure is complete: nothing is bought")
        return
    lines = [f"left over from a run that was interrupted, and deleted first: {each}" for each in strays]
    lines += [f"destroyed: {address}" for address in planned.destroyed]
    if planned.servers:
        bill = session.project.bill(planned.servers, record.server_type, record.location)
        lines += ["this buys:", *bill]
    else:
        lines.append("no server is bought")
    for line in lines:
        say(line)
    confirm("Go on?", answered=agreed)
    session.home.save(record)
    session.project.delete(strays)
    infrastructure.apply()


def _reached(session: Session, record: Record) -> Cluster:
    """The cluster's API with its Secret in it."""
    home = session.home
    if session.stand_in is not None:
        say("rehearsal: no server boots; the sandbox's API stands in for the cluster's, without Secret and Cilium")
        write(home.kubeconfig, session.stand_in.read_text("utf-8"))
        return session.cluster(record, session.present(record))
    machine = session.control_plane(record)
    machine.wait_for_boot()
    write(home.kubeconfig, machine.kubeconfig(f"hcloud-reconciler-{record.name}"))
    cluster = session.cluster(record, session.present(record))
    cluster.put_secret()
    return cluster


def _join(cluster: Cluster, record: Record, servers: set[str]) -> None:
    """Nodes become ready as they are initialized and routed, which passes from here do. Raises Problem."""
    report = ["no pass was made, as not all servers have registered as Nodes"]

    def joined() -> bool:
        nonlocal report
        if not servers <= cluster.nodes().keys():
            return False
        ran = cluster.reconcile("apply", "--yes", "--detailed-exitcode")
        before, report = report, (ran.stdout + ran.stderr).strip().splitlines() or ["reconcile has said nothing"]
        if report[-1] != before[-1]:
            say(one_line(report[-1]))
        nodes = cluster.nodes()
        return ran.returncode == 0 and nodes.keys() == servers and all(map(all, nodes.values()))

    try:
        cluster.require_own_nodes(record)
    except Problem as problem:
        raise Problem(
            f"nothing is changed in the cluster: {problem}; remove the Node if it joined by hand, and in a rehearsal"
            " see where KUBECONFIG leads"
        ) from problem
    say(f"waiting for {len(servers)} Nodes; reconcile initializes them from here")
    cluster.stop_controller()
    try:
        wait_until(joined, "the Nodes are not all ready", deadline_s=_JOIN_S)
    except Problem as problem:
        say("\n".join(report))
        raise Problem(
            f"{problem}: read the last pass above, see `kubectl get nodes,pods -A`, run the command again"
        ) from None
