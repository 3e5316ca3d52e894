"""The out-of-service taint: which Nodes get it, how long their deletion waits for their volumes, and when it goes.

Kubernetes detaches the volumes of a Node at once only while the Node is there and tainted (KEP-2268): of a Node that is
deleted first they stay for six minutes, and a Node that is deleted a second after the taint has got nothing from it.
So the taint comes first, under all that a deletion needs, and the deletion waits for the volumes.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from desired.model.settings import Controller, ServerLoss, Settings
from desired.model.snapshot import Node, Server, ServerStatus, Snapshot
from desired.model.taint import Taint, is_out_of_service, out_of_service_taint
from desired.nodes.disruption import is_going_away
from desired.nodes.matching import nodes_of
from desired.rules import nodes as rules
from desired.rules.rule import Decided, Plain, Rule
from desired.section import UNMANAGED, Absent, Unknown, Unmanaged
from desired.syntax.bounds import counted
from desired.syntax.provider_id import Provider, ServerKey

DETACH_WAIT = timedelta(seconds=120)
"""How long after the taint a deletion waits for volumes. Kubernetes takes about 15 seconds."""
EFFECT_WAIT = timedelta(seconds=60)
"""How old the taint is before it goes: what acts on it reads the Node from a cache."""

InService = Decided[bool | Unmanaged]
"""False: the out-of-service taint goes; UNMANAGED: it stays, and a note says why."""


@dataclass(frozen=True, slots=True)
class Detachment:
    """How a Node that is to be deleted gets rid of its volumes."""

    attached: int | Unknown
    """How many VolumeAttachments name it."""
    taint: Taint | None
    """Our taint, if the Node has it."""

    @property
    def needs_taint(self) -> bool:
        """Whether it gets the taint: only if a volume is known to be attached."""
        return self.taint is None and isinstance(self.attached, int) and self.attached > 0

    def left(self, now: datetime) -> timedelta:
        """How long the deletion of the tainted Node waits at most; not above 0 if it does not. Volumes that could not
        be read count as attached, and none is waited for longer than the taint's own time says."""
        if self.taint is None or self.attached == 0:
            return timedelta(0)
        return left_of(DETACH_WAIT, self.taint, now)


def left_of(wait: timedelta, taint: Taint, now: datetime) -> timedelta:
    """The rest of a wait since the taint was added; not above 0 if it is over. A taint without a usable time, or with
    one further in the future than clocks are apart, is waited for no longer: other clients write taints as well."""
    added = taint.added_at
    left = timedelta(0) if added is None else wait - (now - added)
    return left if left <= 2 * wait else timedelta(0)


def needs_attachments(snapshot: Snapshot, settings: Settings) -> bool:
    """Whether something depends on VolumeAttachments: a Node of ours has our taint, or may be about to get it."""
    if Controller.LIFECYCLE not in settings.controllers:
        return False
    return any(
        out_of_service_taint(node.taints) or _may_get_it(node, server, snapshot, settings)
        for node, server in nodes_of(Provider.CLOUD, snapshot, settings)
    )


def _may_get_it(node: Node, server: ServerKey, snapshot: Snapshot, settings: Settings) -> bool:
    is_asked_for = ServerLoss.DELETED in settings.out_of_service and not is_out_of_service(node.taints)
    return is_asked_for and is_going_away(node) and isinstance(snapshot.find(server), Absent)


def detachment_of(node: Node, server: ServerKey, snapshot: Snapshot, settings: Settings) -> Detachment | None:
    """The volumes for which the deletion of this Node waits; None if it waits for none, and no taint comes. Not for
    Robot: a dedicated server that an account no longer has may run on, and a taint would let its pods run twice."""
    taint = out_of_service_taint(node.taints)
    if server.provider is not Provider.CLOUD:
        return None
    if taint is None and not _may_get_it(node, server, snapshot, settings):
        return None
    return Detachment(_attached_to(node, snapshot), taint)


def _attached_to(node: Node, snapshot: Snapshot) -> int | Unknown:
    """How many VolumeAttachments name the Node; Unknown if none is known to, and some could not be read."""
    found = snapshot.volume_attachments
    if found is None:
        return Unknown("VolumeAttachments were not read")
    attached = sum(attachment.node == node.name for attachment in found)
    if attached or found.is_whole:
        return attached
    return Unknown(found.why_incomplete or next(iter(found.unreadable.values())))


def in_service(node: Node, server: Server, snapshot: Snapshot, settings: Settings) -> InService | None:
    """Whether our taint goes from a Node whose server exists; None if it has none, and on Robot, as we set none there.

    That does not wait for the Node to be Ready: the pods of the network and of volumes do not tolerate the taint. Nor
    does it depend on ``--out-of-service``, which may have been switched off since.
    """
    taint = out_of_service_taint(node.taints)
    is_ours = server.provider is Provider.CLOUD and Controller.LIFECYCLE in settings.controllers
    if taint is None or not is_ours:
        return None
    facts: dict[str, Plain] = {"server": server.key.name, "status": server.status}
    if server.status is not ServerStatus.RUNNING:
        return _stays(rules.TAINT_STAYS_POWER, node, facts)
    if server.is_locked:
        return _stays(rules.TAINT_STAYS_LOCKED, node, facts)
    if left_of(EFFECT_WAIT, taint, snapshot.taken_at) > timedelta(0):
        return _stays(rules.TAINT_STAYS_YOUNG, node, {"wait": f"{EFFECT_WAIT.total_seconds():g} s"})
    match _attached_to(node, snapshot):
        case 0:
            return Decided(False, rules.BACK_IN_SERVICE, facts)
        case Unknown(why):
            return _stays(rules.TAINT_STAYS_UNREAD, node, {"error": why})
        case attached:
            return _stays(rules.TAINT_STAYS_ATTACHED, node, {"volumes": counted(attached, "volume")})


def still_out_of_service(node: Node) -> InService | None:
    """The same for a Node that stays as it is, although it is neither deleted nor on a server that is known."""
    taint = out_of_service_taint(node.taints)
    return None if taint is None else _stays(rules.TAINT_STAYS_UNMATCHED, node, {})


def _stays(row: Rule, node: Node, facts: dict[str, Plain]) -> InService:
    return Decided(UNMANAGED, row, {**facts, "node": node.name})
