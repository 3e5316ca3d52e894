"""``reconcile orphans [--delete] [ID...]``: load balancers of this cluster that no Service wants."""

import sys
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from actuators.balancer_task import BalancerTask
from actuators.http.actions import Actions
from actuators.http.errors import ApiError
from actuators.http.hetzner import HetznerConnection, HetznerReader, HetznerWriter
from actuators.http.kubernetes import KubernetesReader
from actuators.load_balancers import BALANCER_ACTUATORS
from actuators.outcome import STOPPED, Applied, Failed, Outcome, Skipped
from actuators.wire.load_balancer import BALANCERS
from actuators.writers import Writers
from desired.guards.orphans import judge_deletions, why_no_orphans
from desired.load_balancers.orphans import Orphan, stray_addresses, unlabelled
from desired.load_balancers.prices import price_of
from desired.model.settings import Controller, Settings
from desired.model.snapshot import Snapshot
from desired.plan.change import Change, Plan, Verdict
from desired.plan.notes import NoteKind
from desired.planner import compute_desired
from desired.section import Present
from reconciler.cli.reading import report_on
from reconciler.cli.streams import say
from reconciler.config.config import Config, Mode
from reconciler.config.options import Command
from reconciler.observe.servers_by_id import Confirmer
from reconciler.observe.world import Readers, look
from reconciler.passes.judging import with_memory
from reconciler.report.orphans import OrphanReport, shown_orphan
from reconciler.report.terminal import is_terminal
from reconciler.runtime import config_map, open_cloud, open_cluster, open_robot, robot_readers


def orphans(words: Sequence[str], flags: Mapping[str, str], environ: Mapping[str, str]) -> int:
    """List orphans, with ``--delete`` delete them; ``words`` are the ids of those that are meant, none means all. The
    exit code. Raises KeyboardInterrupt; what was deleted until then was said."""
    return report_on(
        Command.ORPHANS,
        flags,
        environ,
        lambda config, stop: _read(frozenset(map(int, words)), config, stop),
        lambda errors: OrphanReport(errors=errors),
        wrong=[f"{word!r} is no id of a load balancer: expect a number" for word in words if not _is_id(word)],
        answers=True,
        is_told_anyway=lambda report: report.outcomes,  # what was deleted is told even to who interrupts it
    )


def _is_id(word: str) -> bool:
    return word.isascii() and word.isdecimal()


def _read(ids: frozenset[int], config: Config, stop: threading.Event) -> OrphanReport:
    """The orphans, and what was done about them. Raises ConnectionProblem and ApiError."""
    cluster = KubernetesReader(open_cluster(config, stop, read_only=True))
    cloud = open_cloud(config, stop, read_only=config.mode is Mode.DRY_RUN)
    reader = HetznerReader(cloud)
    account = open_robot(config, stop, config_map(config, cluster))
    readers = Readers(cluster, reader, Confirmer(reader), robot=robot_readers(config, account))
    return _listed_and_deleted(ids, config, readers, cloud, stop)


def _listed_and_deleted(
    ids: frozenset[int], config: Config, readers: Readers, cloud: HetznerConnection, stop: threading.Event
) -> OrphanReport:
    """Raises an ApiError when the Nodes cannot be listed."""
    reader, settings = readers.hetzner, replace(config.settings, controllers=frozenset(Controller))
    snapshot = _observe(readers, settings, config.lease_namespace)
    desired = compute_desired(snapshot, settings)
    found = sorted((*desired.orphans, *unlabelled(snapshot, desired.matches)), key=lambda each: each.balancer.id)
    chosen = tuple(orphan for orphan in found if not ids or orphan.balancer.id in ids)
    plan = judge_deletions(chosen, snapshot, settings, desired)
    obstacle = _obstacle(plan)
    asked = {each.balancer.id for each in chosen if each.kept is None and (ids or not each.needs_its_id)}
    uid = snapshot.cluster_uid
    report = OrphanReport(
        taken_at=snapshot.taken_at,
        cluster_uid=uid.value if isinstance(uid, Present) else None,
        orphans=chosen,
        stray=() if ids else stray_addresses(snapshot, desired.matches),
        currency=_currency(chosen, readers, snapshot),
        errors=tuple(_errors(snapshot, found, ids)),
        flags=config.approve_flags,
    )
    if config.mode is Mode.DRY_RUN:
        return replace(report, obstacle=obstacle)
    if report.errors or obstacle is not None:
        refusal = () if report.errors or obstacle is None else (f"nothing is deleted: {obstacle}",)
        return replace(report, errors=(*report.errors, *refusal))
    writers = Writers(reader, HetznerWriter(cloud), Actions(reader, stop), readers.kubernetes)
    kept = {orphan.balancer.id: Skipped(orphan.kept) for orphan in chosen if ids and orphan.kept is not None}
    return replace(report, outcomes={**kept, **_delete(plan, asked, snapshot, chosen, writers, stop)})


def _currency(chosen: Collection[Orphan], readers: Readers, snapshot: Snapshot) -> str | None:
    """The currency of the prices that are shown; None where there are none, or it is not known."""
    if not any(price_of(orphan.balancer) for orphan in chosen):
        return None
    return readers.currency.look_up(readers.hetzner, snapshot.taken_at)


def _obstacle(plan: Plan) -> str | None:
    """The reason why none of the deletions would be allowed now; None when one would. Where there is no orphan it is
    what the plan says of the project: there may be orphans in the right one."""
    if plan.allowed:
        return None
    if not plan.changes:
        return next((note.text for note in plan.notes if note.kind is NoteKind.ANCHOR), None)
    return _withheld(plan.changes[0])


def _withheld(change: Change) -> str:
    """The reason why this deletion is withheld."""
    held = ". No approval counts for deletions of orphans: mend the cause first"
    return change.decision.why + (held if change.decision.verdict is Verdict.HELD else "")


def _observe(readers: Readers, settings: Settings, namespace: str) -> Snapshot:
    """Observe everything, and load balancers even where no Service wants any. Raises an ApiError."""
    snapshot = look(readers, settings, namespace).snapshot
    if snapshot.load_balancers is None:
        snapshot = replace(snapshot, load_balancers=BALANCERS.observe(readers.hetzner)[0])
    return with_memory(readers, settings, snapshot, namespace)


def _errors(snapshot: Snapshot, found: Collection[Orphan], ids: frozenset[int]) -> Iterator[str]:
    """The reason why what is listed is not all of it, or not what was asked for."""
    unknown = why_no_orphans(snapshot)
    balancers = snapshot.load_balancers
    if unknown is not None:
        yield f"cannot determine which load balancers are orphaned: {unknown}"
        return
    if balancers is not None and not balancers.complete:
        yield f"the list of load balancers is not whole: {balancers.why_incomplete}"
        return
    alive = {service.uid: service.id for service in snapshot.services or ()}
    for balancer_id in sorted(ids - {orphan.balancer.id for orphan in found}):
        balancer = None if balancers is None else balancers.items.get(balancer_id)
        unreadable = None if balancers is None else balancers.unreadable.get(balancer_id)
        if balancer is not None:
            owner = alive.get(balancer.owner.uid or "")
            whose = f": it has the label of Service {owner}" if owner else ""
            yield f"load balancer {balancer_id} {balancer.spec.name} is no orphan of this cluster{whose}"
        else:
            yield unreadable or f"the project has no load balancer {balancer_id}"


def _delete(
    plan: Plan,
    asked: Collection[int],
    snapshot: Snapshot,
    chosen: Sequence[Orphan],
    writers: Writers,
    stop: threading.Event,
) -> Mapping[int, Outcome]:
    """Id → how the deletion ended, one after another; those that a guard withholds are skipped with its reason. What
    was not ``asked`` for stays."""
    if is_terminal(sys.stderr):
        going = {change.cloud_id for change in plan.allowed if change.cloud_id in asked}
        for orphan in chosen:
            if orphan.balancer.id in going:
                say(f"deleting {shown_orphan(orphan)}")
    return {
        change.cloud_id: _delete_one(change, snapshot, writers, stop)
        for change in plan.changes
        if change.cloud_id is not None and change.cloud_id in asked
    }


def _delete_one(change: Change, snapshot: Snapshot, writers: Writers, stop: threading.Event) -> Outcome:
    if change.decision.verdict is not Verdict.ALLOWED:
        return Skipped(_withheld(change))
    if stop.is_set():
        return Skipped(STOPPED)
    try:
        BALANCER_ACTUATORS[change.kind](BalancerTask(writers, change, snapshot))
    except ApiError as error:
        return Failed(str(error))
    return Applied()
