"""``scripts/dev down``: everything that is paid for goes, what the controller made first, and then it is looked for."""

import json
import sys

import msgspec
from cluster import Cluster
from home import Record, Stage
from project import Found
from saying import Problem, confirm, say, wait_until
from session import Session

from actuators.http.errors import ApiError
from actuators.http.kubeconfig import ConnectionProblem

_RELEASE_S = 300.0
_REMEDY = (
    "mend it and run the command again, or, where the cluster is beyond repair, scripts/dev down --abandon deletes the"
    " load balancers in its network without it"
)


def down(session: Session, name: str, *, agreed: bool, abandon: bool) -> None:
    """Take the cluster down. Raises Problem, or an ApiError."""
    record = session.record()
    if record is None:
        say(f"there is no cluster {name} here: nothing to take down")
        return
    key = session.key_of(record)
    if record.stage is not Stage.GONE:
        _take_down(session, record, agreed=agreed, abandon=abandon)
        session.home.save(msgspec.structs.replace(record, stage=Stage.GONE))
    if key is not None:
        session.project.delete([key])
    session.home.forget()
    say(f"cluster {name} is gone: nothing of it is left to pay")


def _take_down(session: Session, record: Record, *, agreed: bool, abandon: bool) -> None:
    infrastructure, present = session.infrastructure(record), session.present(record)
    for each in [*present, *session.project.balancers_in(present)]:
        say(f"goes: {each}")
    if present:
        confirm(f"Take cluster {record.name} down?", answered=agreed)
    _release_balancers(session, record, present, abandon=abandon)
    session.project.delete(session.strays(record))  # they may need what Terraform is to destroy
    if infrastructure.known():
        infrastructure.destroy()
    if left := session.present(record):
        raise Problem(f"{', '.join(map(str, left))} is still there: run scripts/dev down again")


def _release_balancers(session: Session, record: Record, present: list[Found], *, abandon: bool) -> None:
    """No load balancer is in the cluster's network afterwards: it would be paid for, and the network could not go."""
    if record.control_plane in {each.name for each in present} and session.home.kubeconfig.exists():
        try:
            _release_services(session.cluster(record, present), record)
        except (Problem, ApiError, ConnectionProblem) as problem:
            if not abandon:
                raise Problem(f"the cluster cannot release its load balancers: {problem}; {_REMEDY}") from problem
            say(f"abandoned: {problem}")
    if left := session.project.balancers_in(present):
        if not abandon:
            raise Problem(f"{', '.join(map(str, left))} in the cluster's network is of no Service of it: {_REMEDY}")
        session.project.delete(left)


def _release_services(cluster: Cluster, record: Record) -> None:
    """Services of type LoadBalancer go, and what others have left behind."""
    cluster.require_own_nodes(record)
    cluster.stop_controller()
    last = ""

    def released() -> bool:
        nonlocal last
        for namespace, name in cluster.balancer_services():
            say(f"deleting Service {namespace}/{name}")
            cluster.delete_service(namespace, name)
            ran = cluster.reconcile("apply", "--yes")  # what it holds back may be of no importance here
            last = ran.stdout + ran.stderr
        return not cluster.balancer_services()

    try:
        wait_until(released, "Services of type LoadBalancer stay, see the last pass above", deadline_s=_RELEASE_S)
    except Problem:
        sys.stderr.write(last)
        raise
    orphans = json.loads(_reconcile(cluster, "orphans", "-o", "json"))["orphans"]
    if ids := [str(orphan["id"]) for orphan in orphans]:  # what was released on purpose goes as well
        sys.stderr.write(_reconcile(cluster, "orphans", "--delete", *ids))


def _reconcile(cluster: Cluster, *arguments: str) -> str:
    """Its output. Raises Problem when it fails."""
    ran = cluster.reconcile(*arguments)
    if ran.returncode:
        sys.stderr.write(ran.stderr)
        raise Problem(f"reconcile {' '.join(arguments)} ended with {ran.returncode}, as said above")
    return ran.stdout
