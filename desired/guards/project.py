"""Guard ``project-anchor``: changes derived from a project or account wait until that is known to be the cluster's.

The evidence is in ``anchor``.
"""

from collections.abc import Collection, Iterator

from desired.guards.anchor import Anchor, AnchorState, is_served_elsewhere
from desired.guards.blast_radius import provider_behind
from desired.guards.guard import GuardInput, GuardResult
from desired.model.key import Key, ObjectKind
from desired.model.load_balancer import IpTarget
from desired.model.settings import Controller
from desired.model.snapshot import Snapshot
from desired.plan.change import Change, Verdict
from desired.plan.kinds import ChangeKind, Verb
from desired.plan.notes import Note
from desired.rules import guards as rows
from desired.rules.rule import Reason
from desired.section import Unknown
from desired.syntax.bounds import counted
from desired.syntax.provider_id import Provider


def project_anchor(view: GuardInput) -> Iterator[GuardResult]:
    """Writes derived from a provider are held while it seems to be that of another cluster, each by its own Nodes.

    In Hetzner Cloud removals always need a witness if no Node is Ready. So does everything if Services publish
    addresses that are not in the project, and no Node identifies it. Without credentials nothing is derived from Robot:
    addresses of targets are those that Nodes report.
    """
    anchor, changes, snapshot = view.anchor, view.plan.changes, view.snapshot
    derived = [change for change in changes if _provider(change, snapshot) is Provider.CLOUD]
    keys, removals = [c.key for c in derived], [c.key for c in derived if c.verb is Verb.REMOVE]
    if anchor.unreadable and not anchor.is_certain:
        yield GuardResult.of(rows.REMOVALS_UNVERIFIED, removals, {"nodes": counted(anchor.unreadable, "Node")})
    if doubt := _doubt(view, Provider.CLOUD):
        yield _withheld(doubt, keys, anchor, of="project")
    elif anchor.state is AnchorState.NONE and not view.witnesses:
        if is_served_elsewhere(snapshot):
            yield GuardResult.of(rows.SERVED_ELSEWHERE, keys, value=0, limit=1)
        elif removals:
            yield GuardResult.of(rows.PROJECT_EMPTY, removals, value=0, limit=1)
    if snapshot.robot is not None and (doubt := _doubt(view, Provider.ROBOT)):
        of_robot = [change.key for change in changes if _depends_on_robot(change, snapshot)]
        yield _withheld(doubt, of_robot, view.robot_anchor, of="account")


_PLACES = {Provider.CLOUD: "the project of HCLOUD_TOKEN", Provider.ROBOT: "the account of ROBOT_USER"}


def _doubt(view: GuardInput, provider: Provider) -> Reason | None:
    """The reason why the project, or the account of Robot, may be another cluster's: too few servers of our Ready Nodes
    were found or, with none Ready, none of our Nodes' and no witness. Robot has none but servers. None without doubt.
    """
    anchor, remembered = view.anchor_in(provider), view.snapshot.remembered
    found, needed = anchor.found, anchor.needed or 1
    needs_witness = anchor.state is AnchorState.UNFOUND and provider is Provider.CLOUD
    if anchor.state in (AnchorState.HOLDS, AnchorState.NONE) or (needs_witness and view.witnesses):
        return None
    if anchor.state is AnchorState.UNDETERMINED or anchor.hidden:
        place, unread = _PLACES[provider], anchor.unknown or anchor.hidden
        return rows.PROJECT_UNVERIFIED.because(project=place, found=found, needed=needed, unread=unread)
    if needs_witness and isinstance(remembered, Unknown):
        return rows.PROJECT_IDS_UNREAD.because(error=remembered.why)
    mismatch = rows.ROBOT_MISMATCH if provider is Provider.ROBOT else rows.PROJECT_MISMATCH
    row = rows.PROJECT_UNKNOWN if needs_witness else mismatch
    return row.because(found=found, most=anchor.total or anchor.nodes, needed=needed)


def _withheld(doubt: Reason, keys: Collection[str], anchor: Anchor, of: str) -> GuardResult:
    """The result on changes derived from the project or account (``of``)."""
    if doubt.rule.verdict is not Verdict.HELD:
        return GuardResult.of(doubt.rule, keys, doubt.facts)
    held = GuardResult.of(doubt.rule, keys, doubt.facts, value=anchor.found, limit=anchor.needed or 1)
    return held if doubt.rule is rows.PROJECT_UNKNOWN else held.leaving(anchor.found, of=of)


def anchor_notes(view: GuardInput, provider: Provider) -> tuple[Note, ...]:
    """The note that the project, or the account of Robot, seems to be another one, also if nothing is held. Empty
    without doubt, and while servers cannot be read."""
    doubt = _doubt(view, provider)
    key = Key(ObjectKind.PROJECT, provider.lower())
    return (doubt.note(key),) if doubt and doubt.rule.noted else ()


def _depends_on_robot(change: Change, snapshot: Snapshot) -> bool:
    """Whether a change is derived from Robot: of a Node there, or of a target that is an address. A target that comes
    back after a move to another network was one before, whatever Robot says."""
    sides = (change.before, change.after) if change.kind == ChangeKind.LB_TARGET else ()
    is_address = any(isinstance(side, IpTarget) for side in sides)
    return (is_address and not _comes_back(change, snapshot)) or _provider(change, snapshot) is Provider.ROBOT


def _comes_back(change: Change, snapshot: Snapshot) -> bool:
    present = snapshot.load_balancers and snapshot.load_balancers.items.get(change.cloud_id or 0)
    return bool(present and change.before is None and change.after in present.targets)


def _provider(change: Change, snapshot: Snapshot) -> Provider | None:
    """The provider from whose data a change is derived; None for one that depends on no cloud.

    Changes of a Service, its finalizer and status included, follow from load balancers, and a Node's condition about
    its routes, whether or not it has a providerID yet, from the network: both are Hetzner Cloud's.
    """
    if change.row.writes_cloud or change.row.controller in (Controller.SERVICE, Controller.ROUTE):
        return Provider.CLOUD
    return provider_behind(change, snapshot)
