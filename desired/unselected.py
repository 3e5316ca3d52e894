"""Servers that the list of ``--server-selector`` lacks, and on which something depends all the same.

A list that a selector narrows says nothing of other servers: they are unknown to it (``Section.find``). So that nothing
is decided otherwise than without a selector, what the list lacks is read besides:

| what depends on a server | how it is read |
|---|---|
| a Node names it by its providerID, or a load balancer of ours has it as a target | by its id, a few of them a pass |
| the same, of more than a few | the whole list |
| a joining Node has its name, and no listed server has it | the whole list |
| a Node keeps an address that its own server does not have | the whole list |
| a route to pods leads to an address that no listed server has | the whole list |

So a selector that is wrong, or that nothing matches, costs requests, and loses nothing.
"""

from collections.abc import Iterator
from itertools import chain

from desired.load_balancers.matching import Adoptable, match_balancers
from desired.load_balancers.ownership import Ownership, ownership
from desired.model.load_balancer import CloudBalancer, ServerTarget
from desired.model.settings import Settings
from desired.model.snapshot import Node, Snapshot
from desired.nodes.addresses import reports_strange_address
from desired.nodes.matching import cloud_nodes, is_ignored
from desired.nodes.node import is_uninitialized
from desired.plan.notes import Note
from desired.routes.owners import asks_for_members
from desired.rules import nodes as rows
from desired.section import Present

MOST_BY_ID = 10
"""Servers that are read by their ids in a pass: more than these cost less as a list."""


def servers_beyond_selector(snapshot: Snapshot, settings: Settings) -> frozenset[int] | None:
    """Ids of the servers to read besides those that were listed and read; empty where these are enough. None: only the
    whole list tells. The list of servers is a complete one, narrowed by a selector."""
    servers = snapshot.servers
    read = servers.read_by_key or frozenset()
    named = {server_id for _, server_id in cloud_nodes(snapshot, settings)}
    for balancer in _our_balancers(snapshot):
        named |= {target.server_id for target in balancer.targets if isinstance(target, ServerTarget)}
    lacking = named - servers.items.keys() - servers.unreadable.keys() - read
    if len(lacking | read) > MOST_BY_ID or _is_name_missing(snapshot, settings):
        return None
    if lacking:
        return frozenset(lacking)
    is_any_in_question = asks_for_members(snapshot, settings) or _is_strange_address_kept(snapshot, settings)
    return None if is_any_in_question else frozenset()


def _our_balancers(snapshot: Snapshot) -> Iterator[CloudBalancer]:
    """Those that a label of this cluster or of a Service names, and those that may become a Service's."""
    matches = match_balancers(snapshot).values()
    adoptable = {match.balancer.id for match in matches if isinstance(match, Adoptable)}
    uids = {service.uid for service in snapshot.services or ()}
    for balancer in snapshot.load_balancers or ():
        is_ours = ownership(balancer.owner.cluster_uid, snapshot) is Ownership.OURS
        if is_ours or balancer.owner.uid in uids or balancer.id in adoptable:
            yield balancer


def _is_name_missing(snapshot: Snapshot, settings: Settings) -> bool:
    """Whether a Node that joins has the name of no server that was read."""
    joining = {node.name for node in _joining(snapshot, settings)}
    return bool(joining - {server.name for server in snapshot.servers})


def _joining(snapshot: Snapshot, settings: Settings) -> Iterator[Node]:
    """The Nodes that are found by their names."""
    for node in snapshot.nodes:
        if node.provider_id is None and is_uninitialized(node) and not is_ignored(node, settings):
            yield node


def _is_strange_address_kept(snapshot: Snapshot, settings: Settings) -> bool:
    """Whether a Node is to keep an InternalIP that its server does not have: it may be that of any other server."""
    if not settings.keep_internal_ips or settings.network is not None:
        return False
    servers = snapshot.servers.items
    names = {server.name: server for server in servers.values()}
    on_servers = chain(
        ((node, servers.get(server_id)) for node, server_id in cloud_nodes(snapshot, settings)),
        ((node, names.get(node.name)) for node in _joining(snapshot, settings)),
    )
    return any(server is not None and reports_strange_address(node, server) for node, server in on_servers)


def notes_on_unselected(snapshot: Snapshot, settings: Settings) -> Iterator[Note]:
    """A note on each Node whose server ``--server-selector`` does not select."""
    selector = settings.server_selector
    if selector is None:
        return
    for node, server_id in cloud_nodes(snapshot, settings):
        found = snapshot.servers.find(server_id)
        if not isinstance(found, Present) or "labels" in found.value.missing:
            continue
        if not selector.matches(found.value.labels):
            yield rows.SERVER_UNSELECTED.note(node.key, server=found.value.key.name, selector=selector.text)
