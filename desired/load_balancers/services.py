"""What each Service should have of Hetzner: those that want a load balancer, and those that let go of one."""

from collections.abc import Iterable, Mapping

from desired.annotations.options import Options
from desired.annotations.parsing import read_options
from desired.bounds import NOBODY, Several, several
from desired.change import Note, NoteKind
from desired.load_balancers.attaching import network_id
from desired.load_balancers.leaving import Leaving, let_go
from desired.load_balancers.matching import match_balancers
from desired.load_balancers.orphans import orphans
from desired.load_balancers.serving import Serving, serve
from desired.load_balancers.targets import Roster, a_roster, node_targets
from desired.load_balancers.undo import Parting, partings
from desired.load_balancers.wanted import wants_balancer
from desired.nodes import DesiredNode
from desired.section import Unmanaged
from desired.service import Service
from desired.settings import Settings
from desired.snapshot import Snapshot


def desired_services(
    snapshot: Snapshot, settings: Settings, nodes: Mapping[str, DesiredNode]
) -> tuple[Mapping[str, Serving | Leaving], tuple[Parting, ...], tuple[Note, ...]]:
    """Id of each Service that is looked after → what it should have; what was let go and has nobody any more; and notes
    on what is left alone.

    ``nodes`` is what the Nodes will be: a target is planned from the providerID that a Node will have.
    """
    if snapshot.services is None:
        return {}, (), ()
    desired: dict[str, Serving | Leaving] = {}
    unreadable = snapshot.services.unreadable
    notes = [Note(f"service/{key}", NoteKind.UNREADABLE, why) for key, why in unreadable.items()]
    matches = match_balancers(snapshot, settings)
    asked = _private_addresses(snapshot.services, settings)
    known: dict[object, Roster] = {}

    def members_of(options: Options) -> Roster:
        """Services that ask for the same Nodes in the same way share the answer: there may be thousands of Nodes."""
        asked = (options.use_private_ip, options.node_selector)
        if asked not in known:
            known[asked] = a_roster(node_targets(options, network_id(snapshot), snapshot, nodes, settings))
        return known[asked]

    for key, match in matches.items():
        service = snapshot.services.items[key]
        wish = (
            serve(service, match, snapshot, settings, members_of, asked.get(service.id, NOBODY).besides(service.id))
            if wants_balancer(service)
            else let_go(service, match, snapshot, settings)
        )
        desired[key] = wish
        notes += wish.notes
    parting = partings(snapshot, matches)
    planned = {each.balancer.id for each in parting}
    for orphan in orphans(snapshot, matches):
        balancer = orphan.balancer
        if balancer.id in planned:
            continue
        text = f"load balancer {balancer.id} {balancer.spec.name} is nobody's: {orphan.why}; see reconcile orphans"
        notes.append(Note(balancer.key, NoteKind.ORPHAN, text))
    return desired, parting, tuple(notes)


def _private_addresses(services: Iterable[Service], settings: Settings) -> Mapping[str, Several]:
    """Id of each Service that asks for a private address → all who ask for that one."""
    asked: dict[object, list[str]] = {}
    for service in services:
        if wants_balancer(service):
            options, _ = read_options(service.claim.annotations, settings.balancer_defaults)
            if not isinstance(options.private_ipv4, Unmanaged):
                asked.setdefault(options.private_ipv4, []).append(service.id)
    together = map(several, asked.values())
    return {key: asking for asking in together for key in asking.everybody}
