"""``scripts/dev down``: everything that is paid for goes, what the controller made first, and then it is looked for."""

import json
import sys

from cluster import Cluster
from home import Record, Stage
from infrastructure import Infrastructure
from project import Found, network_of
from saying import Problem, confirm, say, wait_until
from session import Session

_RELEASE_S = 300.0
_REMEDY = (
    "mend it and run the command again, or, where the cluster is beyond repair, scripts/dev down --abandon deletes the"
    " load balancers in its network without it"
)


def down(session: Session, name: str, *, agreed: bool, abandon: bool) -> None:
    """Take the cluster down. Raises Problem."""
    record = session.record()
    if record is None:
        say(f"there is no cluster {name} here: nothing to take down")
        return
    infrastructure = session.infrastructure()
    key = session.key_of(record)
    if record.stage is not Stage.GONE:
        _take_down(session, infrastructure, record, agreed=agreed, abandon=abandon)
        session.home.at(record, Stage.GONE)
    if key is not None:
        session.project.delete([key])
    session.home.forget()
    say(f"cluster {name} is gone: nothing of it is left to pay")


def _take_down(
    session: Session, infrastructure: Infrastructure, record: Record, *, agreed: bool, abandon: bool
) -> None:
    present = session.present(record)
    for each in [*present, *session.balancers(present)]:
        say(f"goes: {each}")
    if present:
        confirm(f"Take cluster {record.name} down?", answered=agreed)
    _release_balancers(session, record, present, abandon=abandon)
    session.project.delete(session.strays(record, infrastructure))  # they may need what Terraform is to destroy
    if infrastructure.known():
        infrastructure.destroy()
    if left := session.present(record):
        raise Problem(f"{', '.join(map(str, left))} is still there: run scripts/dev down again")


def _release_balancers(session: Session, record: Record, present: list[Found], *, abandon: bool) -> None:
    """No load balancer is in the cluster's network afterwards: it would be paid for, and the network could not go."""
    servers = {each.name for each in present if each.kind == "servers"}
    if record.control_plane in servers and session.home.kubeconfig.exists():
        try:
            _release_services(session.cluster(record, network_of(present)), record)
        except Problem as problem:
            if not abandon:
                raise Problem(f"the cluster cannot release its load balancers: {problem}; {_REMEDY}") from problem
            say(f"abandoned: {problem}")
    if left := session.balancers(present):
        if not abandon:
            raise Problem(f"{', '.join(map(str, left))} in the cluster's network is of no Service of it: {_REMEDY}")
        session.project.delete(left)


def _release_services(cluster: Cluster, record: Record) -> None:
    """Services of type LoadBalancer go, and what others have left behind. Raises Problem."""
    cluster.require_own_nodes(record)
    cluster.stop_controller()
    last = [""]

    def released() -> bool:
        services = cluster.balancer_services()
        for namespace, name in services:
            say(f"deleting Service {namespace}/{name}")
            cluster.delete_service(namespace, name)
        if services:
            ran = cluster.reconcile("apply", "--yes")  # what it holds back may be of no importance here
            last.append(ran.stdout + ran.stderr)
        return not cluster.balancer_services()

    try:
        wait_until(released, "Services of type LoadBalancer stay, see the last pass above", deadline_s=_RELEASE_S)
    except Problem:
        sys.stderr.write(last[-1])
        raise
    _delete_orphans(cluster)


def _delete_orphans(cluster: Cluster) -> None:
    """Named by their ids: what was released on purpose, or may be asked for again, goes as well."""
    listed = cluster.reconcile("orphans", "-o", "json")
    if listed.returncode:
        sys.stderr.write(listed.stderr)
        raise Problem(f"reconcile orphans ended with {listed.returncode}, as said above")
    if ids := [str(orphan["id"]) for orphan in json.loads(listed.stdout)["orphans"]]:
        deleted = cluster.reconcile("orphans", "--delete", *ids)
        sys.stderr.write(deleted.stdout + deleted.stderr)
        if deleted.returncode:
            raise Problem(f"reconcile orphans --delete ended with {deleted.returncode}, as said above")
