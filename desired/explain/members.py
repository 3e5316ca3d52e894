"""Explanation of targets: what every Node is to a Service's load balancer, and the targets that are no Node's."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from desired.explain.fact import if_withheld
from desired.load_balancers.attachment import network_id
from desired.load_balancers.desired import DesiredLoadBalancer
from desired.load_balancers.release import LoadBalancerRelease
from desired.load_balancers.targets import Membership, NodeTarget
from desired.model.load_balancer import CloudBalancer, Health, LoadBalancer, ServerTarget, Target
from desired.model.settings import Settings
from desired.model.snapshot import Snapshot
from desired.nodes.ownership import cloud_nodes
from desired.plan.change import Change

_Targets = tuple[Target, ...]
"""Those of one name: a server may be a target twice, by its public and by its private address."""


@dataclass(frozen=True, slots=True)
class MemberFact:
    """One Node, or one target that is no Node's."""

    subject: str
    """The Node's name; else what the target is called in plans, ``server:7``."""
    membership: Membership | None
    """None for what is no Node's, and once nobody asks who should be a target."""
    server_id: int | None
    value: str | None
    """The address by which it gets traffic now, or both; what it is called, where the address is not known. None: it
    gets none."""
    wanted: str | None
    """The same once the planned changes are made."""
    why: str
    health: Health | None = None
    """What the load balancer says of it; None where it is no target."""


def explain_members(
    wish: DesiredLoadBalancer | LoadBalancerRelease | None,
    balancer: CloudBalancer | None,
    changes: Collection[Change],
    snapshot: Snapshot,
    settings: Settings,
) -> tuple[MemberFact, ...]:
    """Each Node in the order of names, then the targets of ``balancer`` that are no Node's."""
    members = _Members(balancer, _by_name(changes), _created(changes), snapshot)
    match wish:
        case DesiredLoadBalancer():
            nodes = tuple(members.of_node(member) for member in wish.targets.members)
            claimed = {member.server_id for member in wish.targets.members}
            return (*nodes, *members.of_nobody(claimed))
        case LoadBalancerRelease():
            names = {server_id: node.name for node, server_id in cloud_nodes(snapshot, settings)}
            return tuple(members.that_go(wish, names))
    return ()


def _by_name(changes: Collection[Change]) -> Mapping[str, Change]:
    """Name of a target → its change."""
    return {change.key.parts[-1]: change for change in changes if change.kind == "lb.target"}


def _created(changes: Collection[Change]) -> Change | None:
    return next((change for change in changes if change.kind == "lb.create"), None)


@dataclass(frozen=True, slots=True)
class _Members:
    """Present targets, and planned changes of them."""

    balancer: CloudBalancer | None
    changes: Mapping[str, Change]
    create: Change | None
    snapshot: Snapshot

    def of_node(self, member: NodeTarget) -> MemberFact:
        name = "" if member.server_id is None else ServerTarget(member.server_id, use_private_ip=False).name
        before = tuple(target for target in self._there() if target.name == name)
        after, withheld = self._after(name, before)
        if member.membership is Membership.TARGET and before == after == ():
            withheld = "; nothing is planned as things are"
        return self._fact(member.node, member, before, after, member.why + withheld)

    def of_nobody(self, claimed: Collection[int | None]) -> Iterator[MemberFact]:
        for name in dict.fromkeys(target.name for target in self._there()):
            before = tuple(target for target in self._there() if target.name == name)
            server_id = _server_id(before)
            if server_id is not None and server_id in claimed:
                continue
            after, withheld = self._after(name, before)
            change = self.changes.get(name)
            left = "not ours, left as it is" if server_id is None else f"no Node is server {server_id}; left as it is"
            why = left if change is None else change.reason + withheld
            yield self._fact(name, None, before, after, why)

    def that_go(self, wish: LoadBalancerRelease, names: Mapping[int, str]) -> Iterator[MemberFact]:
        goes = wish.retained is None
        why = "goes with the load balancer" if goes else "stays with the load balancer, which is let go"
        for name in dict.fromkeys(target.name for target in self._there()):
            before = tuple(target for target in self._there() if target.name == name)
            shown = names.get(_server_id(before) or 0, name)
            yield self._fact(shown, None, before, () if goes else before, why)

    def _fact(self, subject: str, member: NodeTarget | None, before: _Targets, after: _Targets, why: str) -> MemberFact:
        return MemberFact(
            subject=subject,
            membership=member.membership if member else None,
            server_id=member.server_id if member else _server_id(before),
            value=self._shown(before),
            wanted=self._shown(after),
            why=why,
            health=self._health(before),
        )

    def _there(self) -> tuple[Target, ...]:
        return self.balancer.targets if self.balancer else ()

    def _after(self, name: str, before: _Targets) -> tuple[_Targets, str]:
        """The future targets of this name, and what withholds that, in words."""
        change = self.changes.get(name)
        if change is not None:
            kept = tuple(target for target in before if target not in (change.before, change.after))
            return (*kept, change.after) if isinstance(change.after, Target) else kept, if_withheld(change)
        if self.create is None or not isinstance(self.create.after, LoadBalancer):
            return before, ""
        created = self.create.after.targets
        targets = created if isinstance(created, frozenset) else ()
        return tuple(target for target in targets if target.name == name), if_withheld(self.create)

    def _shown(self, targets: _Targets) -> str | None:
        return ", ".join(map(self._address, targets)) or None

    def _address(self, target: Target) -> str:
        """The address of a target; what it is called, where that is not known."""
        if not isinstance(target, ServerTarget):
            return target.name
        server = self.snapshot.servers.items.get(target.server_id)
        address = None
        if server is not None and target.use_private_ip:
            place = network_id(self.snapshot)
            address = next((ip for network, ip in server.private_ips if network == place), None)
        elif server is not None:
            address = server.ipv4
        kind = "private" if target.use_private_ip else "public"
        return f"its {kind} address" if address is None else str(address)

    def _health(self, targets: _Targets) -> Health | None:
        """The worst that is said of them by any listener; None when nothing is."""
        checks = self.balancer.checks if self.balancer else {}
        said = {health for target in targets for health in checks.get(target, {}).values()}
        return next((health for health in (Health.UNHEALTHY, Health.UNKNOWN, Health.HEALTHY) if health in said), None)


def _server_id(targets: _Targets) -> int | None:
    return next((target.server_id for target in targets if isinstance(target, ServerTarget)), None)
