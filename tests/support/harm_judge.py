"""What a run did to the truth, and whether that was harm.

Nobody but one controller acts between the two looks, so all that differs is its work. The rules are written here once
more, and know neither plan nor guard: they ask what was lost, and whether it and the wish for it are there in truth.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from tests.support.harm_metal import addresses_of_metal, metal_of
from tests.support.harm_truth import (
    CLUSTER_LABEL,
    DELETED_SERVER,
    FORMER_LABEL,
    Cluster,
    Raw,
    Seen,
    addresses_of,
    awaiting,
    balancer_of,
    is_attached,
    is_inside,
    is_wanted,
    may_serve,
    option,
    other_targets,
    out_of_service,
    out_of_service_since,
    pods_of,
    private_ip,
    published,
    reached_servers,
    server_of,
    service_uid,
    target_addresses,
    target_servers,
    wishes,
)

DETACHED_WITHIN = timedelta(seconds=120)
"""The time that Kubernetes has for the volumes of a Node that is out of service."""


@dataclass(frozen=True)
class Deed:
    """One run of one controller, between two looks at the truth."""

    cluster: Cluster
    clusters: Mapping[str, Cluster]
    before: Seen
    after: Seen
    shown: Mapping[str, Collection[str]]
    """``nodes`` and ``services`` → names that the controller was shown."""
    approved: Collection[str] = ()
    """Keys of what a person let through, and the run used."""
    made_by_people: Collection[int] = ()
    """Ids of the load balancers that no controller created."""
    fewest: Mapping[int, int] = field(default_factory=dict)
    """Id of a load balancer → living servers that were its targets at the worst moment."""
    reads: int = 0
    writes: int = 0
    robot_reads: int = 0
    proven_gone: Collection[int] = ()
    """Numbers of dedicated servers of which everything that can be asked has said that they are gone."""
    told: Mapping[int, Raw] = field(default_factory=dict)
    """Number → dedicated server, as the list had it that the controller goes by."""
    metal_addresses: Collection[str] = ()
    """All addresses that dedicated servers ever had."""
    cut_off: Collection[str] = ()
    """Keys of targets that the run was about to lead to another way when its process died: Hetzner takes no server
    twice, so that one is out until the next run."""
    meanwhile: Collection[Seen] = ()
    """The truth each time that something had happened while the run was at work."""
    ended_at: datetime | None = None
    """When the run was over; None where nobody knows."""

    @property
    def project(self) -> str:
        return self.cluster.home

    def let(self, key: str) -> bool:
        """Whether a person let this happen, by its own key or that of something it is part of."""
        return any(key == each or key.startswith(f"{each}/") for each in self.approved)

    def let_any(self, root: str) -> bool:
        """Whether a person let anything happen to this or to part of it."""
        return any(each == root or each.startswith(f"{root}/") for each in self.approved)


def harm(deed: Deed) -> list[str]:
    """Everything that must never happen, in words."""
    return sorted(
        {
            *_lost_nodes(deed),
            *_false_nodes(deed),
            *_false_taints(deed),
            *_early_nodes(deed),
            *_lost_addresses_of_nodes(deed),
            *_foreign_project(deed),
            *_foreign_balancers(deed),
            *_lost_balancers(deed),
            *_lost_wishes(deed),
            *_lost_targets(deed),
            *_lost_listeners(deed),
            *_lost_encryption(deed),
            *_lost_publications(deed),
            *_lost_routes(deed),
            *_foreign_things(deed),
            *_costs(deed),
        }
    )


def _lost_nodes(deed: Deed) -> Iterator[str]:
    after = {node["metadata"]["uid"] for node in deed.after.nodes[deed.cluster.name].values()}
    for name, node in deed.before.nodes[deed.cluster.name].items():
        if node["metadata"]["uid"] in after or deed.let(f"node/{name}"):
            continue
        server, number = server_of(node), metal_of(node)
        if number is not None and number in deed.before.metal and number not in deed.proven_gone:
            yield f"Node {name} is deleted, and its dedicated server {number} is there"
        elif number is None and server is None:
            yield f"Node {name} of nobody's is deleted"
        elif server in deed.before.servers[deed.project]:
            yield f"Node {name} is deleted, and its server {server} is there"


def _false_nodes(deed: Deed) -> Iterator[str]:
    """Nodes that say of themselves what is not theirs."""
    before, after = deed.before.nodes[deed.cluster.name], deed.after.nodes[deed.cluster.name]
    servers = deed.after.servers[deed.project]
    has_settled = any(server_of(node) is not None for node in before.values())
    addresses = {name: _said(node) for name, node in after.items()}
    owners = {
        str(address): name
        for name, node in after.items()
        if (machine := servers.get(server_of(node) or 0)) is not None
        for address in _has(machine)
    }
    metal = deed.after.metal
    owners |= {
        address: name
        for name, node in after.items()
        if (number := metal_of(node)) in metal
        for address in addresses_of_metal(metal[number or 0])
    }
    has_metal = any(metal_of(node) is not None for node in before.values())
    for name, node in after.items():
        if node == before.get(name):
            continue
        is_named = server_of(node) != server_of(before.get(name, node)) and not deed.let_any(f"node/{name}")
        if has_settled and is_named and server_of(node) not in servers:
            yield f"Node {name} is initialized as server {server_of(node)}, which is not of its project"
        is_new = metal_of(node) != metal_of(before.get(name, node)) and not deed.let_any(f"node/{name}")
        if has_metal and is_new and metal_of(node) not in metal:
            yield f"Node {name} is initialized as dedicated server {metal_of(node)}, which is not of its account"
        for kind, address in addresses[name] - _said(before.get(name, {})):
            other = address if kind == "Hostname" and address in after else owners.get(address, name)
            if other != name and address not in _told(deed, metal_of(node)):
                yield f"Node {name} publishes {address}, which is Node {other}'s"


def _false_taints(deed: Deed) -> Iterator[str]:
    """Nodes that are said to be out of service while their server is there, so that their pods run twice; and those
    whose taint of that is another's, and is not as it was."""
    for name, node in deed.after.nodes[deed.cluster.name].items():
        found = deed.before.nodes[deed.cluster.name].get(name, node)
        before, after = out_of_service(found), out_of_service(node)
        is_there = server_of(node) in deed.before.servers[deed.project] or metal_of(node) in deed.before.metal
        if DELETED_SERVER in after - before and is_there:
            yield f"Node {name} is tainted as one of a deleted server, and its server is there"
        is_same = found["metadata"]["uid"] == node["metadata"]["uid"]
        if is_same and before - {DELETED_SERVER} != after - {DELETED_SERVER}:
            yield f"Node {name} has another out-of-service taint, which is not this controller's"


def _early_nodes(deed: Deed) -> Iterator[str]:
    """Nodes that went with their volumes before these had time to follow their pods."""
    name = deed.cluster.name
    after = {node["metadata"]["uid"] for node in deed.after.nodes[name].values()}
    for node_name, node in deed.before.nodes[name].items():
        since, cluster = out_of_service_since(node), deed.after.clusters[name]
        is_early = since is not None and deed.ended_at is not None and deed.ended_at - since < DETACHED_WITHIN
        if node["metadata"]["uid"] in after or not is_early or deed.let(f"node/{node_name}"):
            continue
        if is_attached(deed.before.clusters[name], node_name) and is_attached(cluster, node_name):
            yield f"Node {node_name} is deleted with a volume attached, soon after it was tainted for that"


def _lost_addresses_of_nodes(deed: Deed) -> Iterator[str]:
    """Addresses that servers have, and Nodes closed to pods that routes lead to: more at once than a quarter."""
    before, after = deed.before.nodes[deed.cluster.name], deed.after.nodes[deed.cluster.name]
    servers = deed.before.servers[deed.project]
    lost, closed = [], []
    for name, node in before.items():
        machine = servers.get(server_of(node) or 0)
        if machine is None or name not in after or deed.let_any(f"node/{name}"):
            continue
        private = {str(place["ip"]) for place in machine["private_net"]}
        gone = {address for kind, address in _said(node) - _said(after[name]) if kind == "InternalIP"}
        if gone & private:
            lost.append(name)
        if not _is_closed(node) and _is_closed(after[name]):
            gateway = deed.after.routes(deed.project).get((machine["private_net"] or [{}])[0].get("network", 0), "")
            routed = {key[1]: found for key, found in deed.after.routes(deed.project).items()}
            if routed.get(pods_of(node) or "") in private | {gateway}:
                closed.append(name)
    limit = max(1, len(before) // 4)
    if len(lost) > limit:
        yield f"{len(lost)} Nodes lose addresses that their servers have: {', '.join(sorted(lost))}"
    if len(closed) > limit:
        yield f"{len(closed)} Nodes are closed to pods that routes lead to: {', '.join(sorted(closed))}"


def _said(node: Mapping[str, Any]) -> set[tuple[str, str]]:
    return {(each["type"], each["address"]) for each in node.get("status", {}).get("addresses", [])}


def _has(server: Raw) -> Iterator[str]:
    public = server["public_net"]["ipv4"]
    if public:
        yield public["ip"]
    yield from (place["ip"] for place in server["private_net"])


def _is_closed(node: Mapping[str, Any]) -> bool:
    found = node["status"].get("conditions", [])
    return any(each["type"] == "NetworkUnavailable" and each["status"] == "True" for each in found)


def _foreign_project(deed: Deed) -> Iterator[str]:
    """Nothing is written where the cluster is not, once it has Nodes that say where it is, but what a person let."""
    if not any(server_of(node) is not None for node in deed.before.nodes[deed.cluster.name].values()):
        return
    for name in deed.before.projects:
        if name != deed.project and _without_let(deed, deed.before, name) != _without_let(deed, deed.after, name):
            made = deed.after.balancers[name].keys() - deed.before.balancers[name].keys()
            yield f"project {name} is changed, and the cluster is in {deed.project}" + (" (made)" if made else "")


def _without_let(deed: Deed, seen: Seen, project: str) -> Raw:
    """A project but for load balancers of Services that a person let be made or deleted, or let be changed in part, and
    but for routes that a person let lead elsewhere."""
    world = seen.projects[project]
    lasting = deed.before.balancers[project].keys() & deed.after.balancers[project].keys()
    roots = {each["metadata"]["uid"]: _key(each) for each in deed.before.services[deed.cluster.name].values()}
    balancers = [
        each
        for each in world["load_balancers"]
        if not (deed.let_any if each["id"] in lasting else deed.let)(roots.get(service_uid(each["labels"]), ""))
    ]
    routes = {
        (network, destination): gateway
        for (network, destination), gateway in seen.routes(project).items()
        if not deed.let(f"route/{network}/{destination}")
    }
    networks = [{**each, "routes": [], "load_balancers": []} for each in world["networks"]]
    parts = {"servers": _without(world["servers"]), "networks": networks, "load_balancers": balancers}
    return {**world, **parts, "routes": routes}


def _foreign_balancers(deed: Deed) -> Iterator[str]:
    """Load balancers that are another cluster's, or nobody's and in use."""
    for balancer_id, found in deed.before.balancers[deed.project].items():
        now = deed.after.balancers[deed.project].get(balancer_id)
        if now is None or _whole(now) != _whole(found):
            why = _why_foreign(deed, found)
            if why is not None:
                yield f"load balancer {balancer_id} {found['name']} is changed or gone, and it is {why}"


def _whole(balancer: Raw) -> Raw:
    """All but what the vendor says of health."""
    targets = [{key: value for key, value in each.items() if key != "health_status"} for each in balancer["targets"]]
    return {**balancer, "targets": targets}


def _why_foreign(deed: Deed, found: Raw) -> str | None:
    labels, services = found["labels"], deed.before.services[deed.cluster.name]
    uid, cluster = service_uid(labels), labels.get(CLUSTER_LABEL)
    if cluster not in (None, deed.before.uid(deed.cluster.name)):
        return "another cluster's"
    if uid in {service["metadata"]["uid"] for service in services.values()}:
        return None
    adopting = [key for key, each in services.items() if is_wanted(each) and option(each, "name") == found["name"]]
    if any(deed.let(f"load_balancer/{key}") for key in adopting):
        return None
    if uid is not None and cluster is None:
        return "a Service's of another cluster"
    targets = [
        each for each in found["targets"] if each["type"] != "label_selector"
    ]  # with which Terraform prepares one
    if cluster is None and (found["services"] or targets):
        return "nobody's of this cluster, and in use"
    return None if cluster is not None or adopting else "a stranger's"


def _lost_balancers(deed: Deed) -> Iterator[str]:
    gone = deed.before.balancers[deed.project].keys() - deed.after.balancers[deed.project].keys()
    for _, service, found in wishes(deed.before, deed.clusters, deed.project):
        if found is None or deed.let(_key(service)):
            continue
        now = deed.after.balancers[deed.project].get(found["id"])
        if now is None:
            yield f"load balancer {found['id']} is deleted, and Service {_key(service)} wants it"
        elif service_uid(now["labels"]) != service["metadata"]["uid"]:
            yield f"load balancer {found['id']} is taken from Service {_key(service)}, which wants it"
    for balancer_id in gone & set(deed.made_by_people):
        uid = service_uid(deed.before.balancers[deed.project][balancer_id]["labels"])
        owners = [each for each in deed.before.services[deed.cluster.name].values() if each["metadata"]["uid"] == uid]
        policies = {each["metadata"].get("annotations", {}).get("hcloud-reconciler/deletion-policy") for each in owners}
        if "delete" not in policies:
            yield f"load balancer {balancer_id} is deleted, and no controller had made it"
    alive = {each["metadata"]["uid"] for services in deed.before.services.values() for each in services.values()}
    for balancer_id in gone:
        uid = service_uid(deed.before.balancers[deed.project][balancer_id]["labels"])
        if uid is not None and uid not in alive and f"load_balancer/#{balancer_id}" not in deed.approved:
            yield f"load balancer {balancer_id} is deleted, and its Service vanished without releasing it"
        if uid is None and FORMER_LABEL in deed.before.balancers[deed.project][balancer_id]["labels"]:
            yield f"load balancer {balancer_id} is deleted, and was released"


def _lost_wishes(deed: Deed) -> Iterator[str]:
    """Load balancers that a Service wants, or wants back, since something has happened while the run was at work."""
    for seen in (deed.before, *deed.meanwhile):
        for owner, service, own in wishes(seen, deed.clusters, deed.project):
            for found in awaiting(seen, deed.project, service, seen.uid(owner)) if own is None else (own,):
                lets = deed.let(_key(service)) or f"load_balancer/#{found['id']}" in deed.approved
                if found["id"] not in deed.after.balancers[deed.project] and not lets:
                    yield f"load balancer {found['id']} is deleted, and Service {_key(service)} wants it by then"


def _key(service: Raw) -> str:
    return f"load_balancer/{service['metadata']['namespace']}/{service['metadata']['name']}"


def _lost_targets(deed: Deed) -> Iterator[str]:
    """Servers that are there, whose Nodes serve, and what people led to beside them."""
    project = deed.project
    for owner, service, found in wishes(deed.before, deed.clusters, project):
        now = None if found is None else deed.after.balancers[project].get(found["id"])
        if found is None or now is None:
            continue
        root = _key(service)
        serving = {
            server: name
            for name, node in deed.before.nodes[owner].items()
            if may_serve(node, service)
            and (server := server_of(node)) in reached_servers(found, deed.before.servers[project])
        }
        yield from _lost_metal(deed, owner, service, found, now)
        lost = set(serving) - target_servers(now)
        # A list of Nodes that lacks one is a wish of an earlier time: a target comes back, and as many serve as half.
        unseen = {server for server in lost if serving[server] not in deed.shown["nodes"]}
        if deed.cluster.name == owner and len(target_servers(now)) * 2 >= len(serving):
            lost -= unseen
            exchanged = {server for server in lost if f"{root}/target/server:{server}" in deed.cut_off}
            lost -= exchanged if len(exchanged) == 1 else set()
        for server in sorted(lost):
            if not _lets_target(deed, root, f"server:{server}"):
                yield f"{root} loses server {server}, which is there, and Node {serving[server]} serves"
        for other in sorted(other_targets(found) - other_targets(now) - set(deed.metal_addresses)):
            if not deed.let_any(f"{root}/network") and not _lets_target(deed, root, f"ip:{other}"):
                yield f"{root} loses {other}, which somebody led it to"
        had = len(serving) + len(_serving_metal(deed, owner, service, found))
        if had >= 2 and deed.fewest.get(found["id"], had) == 0 and not deed.let_any(root):
            yield f"{root} led nowhere for a while, and {had} servers served"


def _serving_metal(deed: Deed, owner: str, service: Raw, found: Raw) -> Mapping[int, list[str]]:
    """Number → addresses by which it gets traffic: of dedicated servers that are there, whose Nodes serve."""
    serving: dict[int, list[str]] = {}
    wanted = {metal_of(node) for node in deed.before.nodes[owner].values() if may_serve(node, service)}
    for address in sorted(target_addresses(found)):
        number = deed.before.metal_at.get(address)
        if number is not None and number in wanted:
            serving.setdefault(number, []).append(address)
    return serving


def _lost_metal(deed: Deed, owner: str, service: Raw, found: Raw, now: Raw) -> Iterator[str]:
    """Dedicated servers that are there, whose Nodes serve, and that have none of their addresses left; and those of no
    Node, which somebody led to. Their main addresses go, as cloud servers would that are no Nodes."""
    root, left = _key(service), target_addresses(now)
    serving = _serving_metal(deed, owner, service, found)
    lost = {
        number: addresses
        for number, addresses in serving.items()
        if not left & {*addresses_of_metal(deed.before.metal[number]), *_told(deed, number)}
        and number not in deed.proven_gone
    }
    seen = {metal_of(node) for name, node in deed.before.nodes[owner].items() if name in deed.shown["nodes"]}
    if deed.cluster.name == owner and (len(serving) - len(lost)) * 2 >= len(serving):  # as with cloud servers
        lost = {number: addresses for number, addresses in lost.items() if number in seen}
    for number, addresses in lost.items():
        if not any(_lets_target(deed, root, f"ip:{address}") for address in addresses):
            yield f"{root} loses {addresses} of dedicated server {number}, which is there, and whose Node serves"
    nodes = {metal_of(node) for node in deed.before.nodes[owner].values()}
    for address in sorted(target_addresses(found) - left):
        holder = deed.before.metal_at.get(address)
        is_main = address in {server["server_ip"] for server in deed.told.values()}
        if holder is not None and holder not in nodes and not is_main and not _lets_target(deed, root, f"ip:{address}"):
            yield f"{root} loses {address} of dedicated server {holder}, which is no Node, and somebody led it there"


def _told(deed: Deed, number: int | None) -> frozenset[str]:
    """The addresses of a dedicated server by the word of the account, of which some may be of an earlier time."""
    told = deed.told.get(number or 0)
    return frozenset() if told is None else frozenset(addresses_of_metal(told))


def _lets_target(deed: Deed, root: str, part: str) -> bool:
    """A person who let a load balancer move gave up what is reached through the network."""
    return deed.let(f"{root}/target/{part}") or deed.let(root) or deed.let_any(f"{root}/network")


def _lost_listeners(deed: Deed) -> Iterator[str]:
    for owner, service, found in wishes(deed.before, deed.clusters, deed.project):
        now = None if found is None else deed.after.balancers[deed.project].get(found["id"])
        if found is None or now is None:
            continue
        if deed.cluster.name == owner and "services" in deed.shown.get("stale", ()):
            continue
        ports = {each["port"]: each.get("nodePort") for each in service["spec"]["ports"]}
        had = {each["listen_port"]: each["destination_port"] for each in found["services"]}
        has = {each["listen_port"]: each["destination_port"] for each in now["services"]}
        for port, node_port in ports.items():
            root = _key(service)
            if had.get(port) == node_port and has.get(port) != node_port and not deed.let(f"{root}/listener/{port}"):
                yield f"{root} loses port {port}, which the Service has"


def _lost_encryption(deed: Deed) -> Iterator[str]:
    """TLS that somebody made in the console; no Service here says what its ports speak."""
    for _, service, found in wishes(deed.before, deed.clusters, deed.project):
        now = None if found is None else deed.after.balancers[deed.project].get(found["id"])
        if found is None or now is None:
            continue
        root, speaks = _key(service), {each["listen_port"]: each["protocol"] for each in now["services"]}
        for port in (each["listen_port"] for each in found["services"] if each["protocol"] == "https"):
            if speaks.get(port, "https") != "https":
                yield f"{root} loses TLS on port {port}, which somebody made in the console"


def _lost_publications(deed: Deed) -> Iterator[str]:
    name = deed.cluster.name
    for key, service in deed.before.services[name].items():
        now = deed.after.services[name].get(key)
        if not is_wanted(service) or now is None or now["metadata"]["uid"] != service["metadata"]["uid"]:
            continue
        had, root = published(service), f"load_balancer/{key}"
        if not had or option(service, "hostname") or deed.let_any(root) or deed.let(f"service/{key}/status"):
            continue
        found = balancer_of(deed.after, deed.project, service, deed.before.uid(name))
        has = addresses_of(found) if found is not None else frozenset()
        lost, false = (had & has) - published(now), published(now) - has
        if lost and (false or not published(now)):
            yield f"Service {key} publishes {sorted(published(now))}, and its load balancer has {sorted(has)}"


def _lost_routes(deed: Deed) -> Iterator[str]:
    project = deed.project
    before, after = deed.before.routes(project), deed.after.routes(project)
    ours = deed.before.nodes[deed.cluster.name].values()
    everybody = [
        (name, node)
        for name, cluster in deed.clusters.items()
        if cluster.home == project and not cluster.is_copy
        for node in deed.before.nodes[name].values()
    ]
    for (network, destination), gateway in before.items():
        now = after.get((network, destination))
        if now == gateway or deed.let(f"route/{network}/{destination}"):
            continue
        what = f"route {destination} by {gateway} is {'gone' if now is None else f'led to {now}'}"
        holder = next(
            (each["id"] for each in deed.before.servers[project].values() if private_ip(each, network) == gateway), None
        )
        if not is_inside(destination):
            yield f"{what}, and it is a stranger's"
        elif holder is not None:
            wanting = [(name, node) for name, node in everybody if server_of(node) == holder]
            if any(pods_of(node) == destination for _, node in wanting):
                shown = {*deed.shown["nodes"]}
                if not all(name == deed.cluster.name and _name(node) not in shown for name, node in wanting):
                    yield f"{what}, and server {holder} has these pods"
            elif holder not in {server_of(node) for node in ours}:
                yield f"{what}, and server {holder} is there and none of the cluster's"


def _name(node: Raw) -> str:
    return str(node["metadata"]["name"])


def _foreign_things(deed: Deed) -> Iterator[str]:
    """Servers and certificates are never changed, nor are Nodes, Services and clusters of others."""
    for name, world in deed.before.projects.items():
        now = deed.after.projects[name]
        if _without(world["servers"]) != _without(now["servers"]):
            yield f"servers of project {name} are changed"
        kept = {each["id"] for each in now["certificates"]}
        if any(each["id"] not in kept for each in world["certificates"]):
            yield f"a certificate of project {name} is gone"
    for name, cluster in deed.before.clusters.items():
        if name != deed.cluster.name and cluster != deed.after.clusters[name]:
            yield f"cluster {name} is changed"
    after = deed.after.services[deed.cluster.name]
    for key, service in deed.before.services[deed.cluster.name].items():
        if key not in after and "deletionTimestamp" not in service["metadata"]:
            yield f"Service {key} is gone"


def _without(servers: list[Raw]) -> list[Raw]:
    return [{key: value for key, value in each.items() if key != "load_balancers"} for each in servers]


def _costs(deed: Deed) -> Iterator[str]:
    """What a run may ask: the lists, ten servers by id, and a few calls for each thing that it writes."""
    budget = 20 + 12 * deed.writes
    if deed.reads > budget:
        yield f"{deed.reads} reads for {deed.writes} writes"
    if deed.robot_reads > 60:
        yield f"{deed.robot_reads} requests to Robot in one run"
    if deed.before.account != deed.after.account:
        yield "the Robot account is changed"
    if deed.writes > 120:
        yield f"{deed.writes} writes in one run"
