"""What answers in truth: machines behind each port of each Service, by the ways that are open to them.

The second half of the judge of the law of harm. It counts what serves, whatever the changes were that a run made and
whatever reason each of them had: nothing that answers is taken to zero, nor to fewer than half, at once or bit by bit.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from ipaddress import ip_address, ip_network

from tests.support.harm_truth import (
    Cluster,
    Raw,
    Seen,
    addresses_of,
    balancer_of,
    id_of,
    machine_of,
    may_serve,
    option,
    published,
    wishes,
)

Port = tuple[str, str, int]
"""Cluster, UID of a Service, and a port of it."""
Answers = Mapping[Port, frozenset[str]]
"""Port → machines that answer there: ``server:3``, ``metal:61``, ``ip:10.1.0.5``."""
HOUR_S = 3600.0
_PRIVATE = tuple(map(ip_network, ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")))
"""What networks of Hetzner Cloud are made of (RFC 1918)."""
VARIABLES: Mapping[str, str] = {
    "use-private-ip": "HCLOUD_LOAD_BALANCERS_USE_PRIVATE_IP",
    "disable-public-network": "HCLOUD_LOAD_BALANCERS_DISABLE_PUBLIC_NETWORK",
    "uses-proxyprotocol": "HCLOUD_LOAD_BALANCERS_USES_PROXYPROTOCOL",
}
"""Annotation → what stands in for it on Services without it."""


def asked(service: Raw, environment: Mapping[str, str], name: str) -> str | None:
    """What people ask for: by the Service's annotation, or else by the environment; None when by neither."""
    return option(service, name) or environment.get(VARIABLES[name])


def asked_of_port(service: Raw, name: str, port: int) -> str | None:
    """What an annotation of one port asks for; None without one."""
    own = service["metadata"].get("annotations", {}).get(f"port-{port}.hcloud-reconciler/{name}")
    return None if own is None else str(own)


def machine_names(seen: Seen, balancer: Raw) -> frozenset[str]:
    return frozenset(name for name, _ in _targets(seen, balancer))


def _targets(seen: Seen, balancer: Raw) -> Iterator[tuple[str, Raw]]:
    for target in balancer["targets"]:
        for each in target["targets"] if target["type"] == "label_selector" else [target]:
            if each["type"] == "server":
                yield f"server:{each['server']['id']}", each
            else:
                number = seen.metal_at.get(each["ip"]["ip"])
                yield f"ip:{each['ip']['ip']}" if number is None else f"metal:{number}", each


def lives(seen: Seen, project: str, name: str) -> bool:
    """Whether the machine is there, runs and answers to those who reach it."""
    kind, _, number = name.partition(":")
    if kind == "ip":
        return True
    if int(number) in seen.deaf:
        return False
    if kind == "metal":
        return int(number) in seen.metal
    machine = seen.servers[project].get(int(number))
    return machine is not None and machine["status"] == "running"


def _is_reached(seen: Seen, project: str, balancer: Raw, target: Raw) -> bool:
    """Whether the way to the target is open: by the public interface, or by a network of the load balancer."""
    networks = {place["network"] for place in balancer["private_net"]}
    if target["type"] == "ip":
        # not ``is_private``: that holds for the addresses of documentation as well, which stand for public ones here
        if any(ip_address(target["ip"]["ip"]) in each for each in _PRIVATE):
            return bool(networks)
        return bool(balancer["public_net"]["enabled"])
    if not target["use_private_ip"]:
        return bool(balancer["public_net"]["enabled"])
    machine = seen.servers[project].get(target["server"]["id"])
    return machine is not None and any(place["network"] in networks for place in machine["private_net"])


def answering(seen: Seen, project: str, balancer: Raw) -> frozenset[str]:
    return frozenset(
        name
        for name, target in _targets(seen, balancer)
        if lives(seen, project, name) and _is_reached(seen, project, balancer, target)
    )


def answers(seen: Seen, clusters: Mapping[str, Cluster], wanted: Seen | None = None) -> Answers:
    """What answers at each port that people want, by the Services of ``wanted``, or of ``seen``."""
    found: dict[Port, frozenset[str]] = {}
    services = seen if wanted is None else replace(wanted, projects=seen.projects)
    for project in seen.projects:
        for owner, service, balancer in wishes(services, clusters, project):
            if balancer is not None:
                found.update(_at_ports(seen, project, owner, service, balancer))
    return found


def answers_where_published(seen: Seen, clusters: Mapping[str, Cluster], project: str) -> Answers:
    """What answers at each port of the load balancers whose addresses Services publish, whatever their labels say:
    clients come that way until the Service publishes another one."""
    found: dict[Port, frozenset[str]] = {}
    for owner, service, _ in wishes(seen, clusters, project):
        for balancer in seen.balancers[project].values():
            if addresses_of(balancer) & published(service):
                found.update(_at_ports(seen, project, owner, service, balancer))
    return found


def _at_ports(seen: Seen, project: str, owner: str, service: Raw, balancer: Raw) -> Answers:
    led = {each["listen_port"]: each["destination_port"] for each in balancer["services"]}
    answer = answering(seen, project, balancer)
    return {
        (owner, service["metadata"]["uid"], port["port"]): answer
        if led.get(port["port"]) == port.get("nodePort")
        else frozenset()
        for port in service["spec"]["ports"]
    }


@dataclass
class Answered:
    """What answered when, as far as one process remembers."""

    moments: list[tuple[float, Answers]] = field(default_factory=list)

    def note(self, at: float, found: Answers) -> None:
        """Remember what answers now."""
        self.moments = [each for each in self.moments if at - each[0] <= HOUR_S]
        self.moments.append((at, found))

    def forget(self, uids: Collection[str]) -> None:
        """What a person let happen to the load balancers of these Services is no loss afterwards."""
        kept = ((at, {key: value for key, value in found.items() if key[1] not in uids}) for at, found in self.moments)
        self.moments = list(kept)

    def most(self) -> Answers:
        """The most that answered at each port."""
        best: dict[Port, frozenset[str]] = {}
        for _, found in self.moments:
            for key, value in found.items():
                if len(value) >= len(best.get(key, ())):
                    best[key] = value
        return best


@dataclass(frozen=True)
class Served:
    """What one run did to what answers. Ports as in ``Answers``."""

    project: str
    clusters: Mapping[str, Cluster]
    before: Seen
    after: Seen
    environment: Mapping[str, str]
    """What people want the controllers to be configured with."""
    most: Answers
    """The most that answered within the last hour, as far as anybody could see it: nothing of a port at which nobody
    could."""
    worst: Answers
    """The least that answered while the run wrote; left out where it never wrote."""
    announced: Collection[int] = ()
    """Machines that were cordoned, or marked by an autoscaler, before they went."""
    approved: Collection[str] = ()
    """Keys of what a person let through, and the run used."""
    stale: Collection[str] = ()
    """Clusters whose Services the controller saw as they were before."""
    is_blind: bool = False
    """Whether health checks lied: then what answered is known as far as ``most`` has it."""
    told_healthy: bool = False
    """Whether the load balancers said that all answer."""
    initialized_after_s: Mapping[str, float] = field(default_factory=dict)
    """Node → seconds after which the run had initialized it."""

    def let(self, root: str) -> bool:
        """Whether a person let anything happen to this load balancer or to part of it."""
        return any(each == root or each.startswith(f"{root}/") for each in self.approved)


def losses(served: Served) -> list[str]:
    """What answered and does not any more, what was shown to the world, and who waited for others, in words."""
    found, shut = {*_waits(served)}, dict[str, list[str]]()
    for owner, service, balancer in wishes(served.before, served.clusters, served.project):
        root = f"load_balancer/{id_of(service)}"
        if balancer is not None and not served.let(root):
            now = balancer_of(served.after, served.project, service, served.before.uid(owner))
            found.update(f"{root} {what}" for what in _lost(served, owner, service, balancer, now))
            found.update(f"{root} {what}" for what in _opened(served, owner, service, balancer))
            shut[root] = [f"{root} {what}" for what in _shut(served, owner, service, balancer)]
    if sum(map(bool, shut.values())) > 1:  # what a setting takes from one object alone, docs/safety.md lets pass
        found.update(*shut.values())
    return sorted(found)


def _lost(served: Served, owner: str, service: Raw, balancer: Raw, now: Raw | None) -> Iterator[str]:
    """Ports that lose what answers there, whatever the reasons."""
    seen, uid = served.before, service["metadata"]["uid"]
    at_first, at_last = answers(seen, served.clusters), answers(served.after, served.clusters, seen)
    targets = frozenset() if now is None else machine_names(seen, now)
    announced = {f"{kind}:{number}" for kind in ("server", "metal") for number in served.announced}
    are_all_to_go = not any(
        may_serve(node, service)
        and not node["spec"].get("unschedulable")
        and machine_of(node) not in served.announced
        and machine_of(node) in {*seen.servers[served.project], *seen.metal}
        for node in seen.nodes[owner].values()
    )
    for port in service["spec"]["ports"]:
        key = (owner, uid, port["port"])
        before, after = at_first.get(key, frozenset()), at_last.get(key, frozenset())
        if served.is_blind:
            before &= served.most.get(key, frozenset())
        wanted = (port["port"], port.get("nodePort"))
        is_led = now is not None and wanted in {(s["listen_port"], s["destination_port"]) for s in now["services"]}
        if owner in served.stale and not is_led:  # a port that Services did not have, or led elsewhere, at that time
            continue
        if served.told_healthy:
            after |= targets
        least = served.worst.get(key, before)
        if before and not (before <= announced and are_all_to_go):
            if not after:
                yield f"has nothing that answers at port {port['port']}, where {_few(before)} answered"
            elif not least and len(before) > 1:
                yield f"had nothing that answers at port {port['port']} for a while, where {_few(before)} answered"
        best = {each for each in served.most.get(key, ()) if lives(seen, served.project, each)} - announced
        left = after | (best & targets if is_led else set())
        went = (before | (best & machine_names(seen, balancer))) - left
        if went & best and after and len(left) * 2 < len(best):
            yield f"has {len(left)} of {len(best)} that answered at port {port['port']} within the last hour"
        staying = {each for each in before if lives(seen, served.project, each)} - announced
        if len(staying) > 1 and 0 < len(least) * 2 < len(staying):
            yield f"had {len(least)} of {len(staying)} that answered at port {port['port']} for a while"


def _few(names: Collection[str]) -> str:
    return ", ".join(sorted(names))


def _opened(served: Served, owner: str, service: Raw, balancer: Raw) -> Iterator[str]:
    """Nobody is let in where it was closed."""
    now = served.after.balancers[served.project].get(balancer["id"])
    closed = asked(service, served.environment, "disable-public-network")
    if now is None or owner in served.stale or balancer["public_net"]["enabled"]:
        return
    if now["public_net"]["enabled"] and closed != "false":
        yield "becomes public, and nobody has asked for that"
    networks, wanted = {each["network"] for each in balancer["private_net"]}, served.environment.get("HCLOUD_NETWORK")
    is_elsewhere = networks.isdisjoint(each["network"] for each in now["private_net"])
    names = {str(each["id"]): each["name"] for each in served.before.projects[served.project]["networks"]}
    is_right = wanted is not None and bool({str(each) for each in networks} & {wanted, *_ids_of(wanted, names)})
    if networks and is_elsewhere and is_right:
        yield "leaves the network in which alone it is reached, and nobody has asked for that"


def _shut(served: Served, owner: str, service: Raw, balancer: Raw) -> Iterator[str]:
    """Nobody is locked out of what was open."""
    now = served.after.balancers[served.project].get(balancer["id"])
    if now is None or owner in served.stale:
        return
    closed = asked(service, served.environment, "disable-public-network")
    if balancer["public_net"]["enabled"] and not now["public_net"]["enabled"] and closed != "true":
        yield "loses its public interface, and nobody has asked for that"
    spoke = {each["listen_port"]: each["proxyprotocol"] for each in balancer["services"]}
    for each in now["services"]:
        port, speaks = each["listen_port"], each["proxyprotocol"]
        wish = asked_of_port(service, "uses-proxyprotocol", port) or asked(
            service, served.environment, "uses-proxyprotocol"
        )
        if spoke.get(port, speaks) != speaks and wish != str(speaks).lower():
            yield f"{'speaks' if speaks else 'no longer speaks'} the PROXY protocol at port {port}, and nobody asked"


def _ids_of(wanted: str, names: Mapping[str, str]) -> Iterator[str]:
    return (number for number, name in names.items() if name == wanted)


def _waits(served: Served) -> Iterator[str]:
    for name, seconds in served.initialized_after_s.items():
        if seconds > 10:
            yield f"Node {name} waited {seconds:.0f} s until it was initialized"
