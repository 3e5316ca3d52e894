"""Reading of a cluster and its project for a capture, masked: everything that a pass may read, whatever the settings
are.

Costs one GET for each page of a list, one each for the cluster's identity, approvals and the currency, and up to ten
for servers that the list lacks though a removal may depend on them, and for Primary IPs that Services ask for.
VolumeAttachments are listed where a Node is out of service, or would be with ``--out-of-service deleted``. Of
Robot, where that is read, one for the list, up to ten for servers that it lacks, and as many for the reset status of
silent Nodes' ones.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from ipaddress import IPv4Address
from itertools import count, islice
from typing import Any

import msgspec
from msgspec import UNSET

from actuators.http.decoding import Decoded, decoder
from actuators.http.errors import ApiError, Broken, NotFound, broken_unless_readable
from actuators.http.hetzner import HetznerReader
from actuators.http.kubernetes import KubernetesReader, segment
from actuators.http.lists import read_list
from actuators.http.robot import RobotReader
from actuators.wire.objects import server_time
from actuators.wire.robot import decode_robot_servers
from actuators.wire.volume_attachment import VOLUME_ATTACHMENTS
from desired.guards.absence import missing_servers, servers_to_confirm
from desired.load_balancers.matching import match_balancers
from desired.load_balancers.primary_ips import asked_primary_ips
from desired.model.settings import ServerLoss, Settings, Waits
from desired.model.snapshot import Snapshot
from desired.names import APPROVALS_CONFIG_MAP, CONFIG_MAP, IDENTITY_NAMESPACE
from desired.nodes.out_of_service import needs_attachments
from desired.planner import compute_plan
from desired.section import Present
from desired.syntax.provider_id import Provider
from reconciler import __version__
from reconciler.capture import masks
from reconciler.capture.masks import Mask
from reconciler.capture.offline import readers_of
from reconciler.capture.world_file import Account, Captured, Cluster, MissingPart, Objects, Project, World
from reconciler.observe.caches import QUICK_S
from reconciler.observe.primary_ips import MOST_AT_ONCE as MOST_PRIMARY_IPS
from reconciler.observe.servers_by_id import MOST_AT_ONCE
from reconciler.observe.world import observe_world, silent_robot_servers

_PARALLEL = 6
_TYPES = "/load_balancer_types"
_PRICING = "/pricing"
_ROBOT = "/server"
_LISTS = {
    "/servers": masks.SERVER,
    "/networks": masks.NETWORK,
    "/load_balancers": masks.LOAD_BALANCER,
    "/certificates": masks.CERTIFICATE,
    _TYPES: masks.BALANCER_TYPE,
}
_AT_ONCE = Waits(timedelta(0), timedelta(0))
"""So that servers are asked for that any other wait would make a plan ask for."""


@dataclass(frozen=True, slots=True)
class _Found:
    """What was read of a path, and why that is incomplete."""

    objects: Objects
    gap: MissingPart | None = None
    read_at: datetime | None = None
    """The API server's time; None of Hetzner, and of what could not be read."""


def capture_world(
    cluster: KubernetesReader,
    project: HetznerReader,
    network: str | None,
    namespace: str,
    robot: RobotReader | None = None,
) -> World:
    """Read everything that a plan can depend on. ``network`` is ``HCLOUD_NETWORK``, ``namespace`` that of the Lease;
    ``robot`` is None where Robot is not read.

    What cannot be read is a gap in the file, as it is in a plan. Raises an ApiError when the Nodes or the servers
    cannot be read, as there is nothing to plan from then.
    """
    identity = f"/api/v1/namespaces/{IDENTITY_NAMESPACE}"
    beside = f"/api/v1/namespaces/{segment(namespace)}/configmaps"
    stored = [f"{beside}/{name}" for name in (CONFIG_MAP, APPROVALS_CONFIG_MAP)]
    workloads = [f"/apis/apps/v1/namespaces/{segment(namespace)}/{kind}" for kind in ("deployments", "daemonsets")]
    with project.concurrency.pool(_PARALLEL, "capture") as pool:
        reads = {
            "/api/v1/nodes": pool.submit(_listed, cluster, "/api/v1/nodes", masks.NODE),
            "/api/v1/services": pool.submit(_listed, cluster, "/api/v1/services", masks.SERVICE),
            **{path: pool.submit(_listed, cluster, path, masks.WORKLOAD) for path in workloads},
            identity: pool.submit(_single, cluster, identity, masks.NAMESPACE),
            **{path: pool.submit(_single, cluster, path, masks.CONFIG_MAP) for path in stored},
            **{path: pool.submit(_pages, project, path, mask) for path, mask in _LISTS.items()},
            _PRICING: pool.submit(_pricing, project),
            **({_ROBOT: pool.submit(_account, robot)} if robot else {}),
        }
    found = {path: read.result() for path, read in reads.items()}
    nodes, servers = found["/api/v1/nodes"], found["/servers"]
    for needed in (nodes, servers):
        if needed.gap is not None and needed.gap.error is not None and not needed.objects:
            raise needed.gap.as_error()
    if nodes.read_at is None:
        raise Broken("the API server did not say what time it is")
    world = World(
        captured=Captured(
            nodes.read_at,
            __version__,
            lists={_TYPES: found[_TYPES].objects},
            objects=dict(zip([_PRICING], found[_PRICING].objects, strict=False)),
            gaps={path: read.gap for path, read in found.items() if read.gap is not None},
        ),
        kubernetes=Cluster(
            nodes.objects,
            found["/api/v1/services"].objects,
            found[identity].objects,
            [each for path in stored for each in found[path].objects],
            *(found[path].objects for path in workloads),
        ),
        hetzner=Project(
            **{name: found[f"/{name}"].objects for name in Project.__struct_fields__ if f"/{name}" in found}
        ),
        robot=Account(found[_ROBOT].objects) if robot else UNSET,
    )
    snapshot = _look_closer(world.captured, project, world, network)
    _look_at_volumes(world, cluster, snapshot)
    if robot is not None and world.robot:
        _look_closer_at_robot(world.captured, robot, world.robot, snapshot)
    return world


def _look_closer(captured: Captured, project: HetznerReader, world: World, network: str | None) -> Snapshot:
    """Add what follows from what was read: the members of the network, the servers that are only found by their ids,
    and the Primary IPs that something depends on. Returns what a pass would see."""
    settings = Settings(network=network, waits=_AT_ONCE, robot=bool(world.robot))
    snapshot = observe_world(readers_of(world), settings).snapshot
    wanted = snapshot.network.value if isinstance(snapshot.network, Present) else None
    if wanted is not None:
        path = f"/networks/{wanted.id}/members"
        members = _pages(project, path, masks.MEMBER, _address_of)
        captured.lists[path] = members.objects
        if members.gap is not None:
            captured.gaps[path] = members.gap
        snapshot = observe_world(readers_of(world), settings).snapshot
    wanted_by_id = servers_to_confirm(compute_plan(snapshot, settings), snapshot, settings, Provider.CLOUD)
    asked = dict.fromkeys((*wanted_by_id, *missing_servers(snapshot)))
    _single_servers(captured, project, "/servers", asked, masks.SERVER)
    needed = asked_primary_ips(snapshot, settings, match_balancers(snapshot))
    world.hetzner.primary_ips += _primary_ips(captured, project, needed)
    return snapshot


def _look_at_volumes(world: World, cluster: KubernetesReader, snapshot: Snapshot) -> None:
    """Add the VolumeAttachments, where a Node is out of service, or may be about to be with any settings."""
    if not needs_attachments(snapshot, Settings(out_of_service=frozenset(ServerLoss))):
        return
    found = _listed(cluster, VOLUME_ATTACHMENTS.path, masks.VOLUME_ATTACHMENT)
    if found.gap is None:
        world.kubernetes.volumeattachments = found.objects
    else:
        world.captured.gaps[VOLUME_ATTACHMENTS.path] = found.gap


def _pricing(project: HetznerReader) -> _Found:
    """The currency of all prices. Without it a plan is the same: that is no gap."""
    try:
        found = _decoded(project.get_once(_PRICING, QUICK_S), _PRICING).get("pricing")
    except ApiError:
        return _Found([])
    return _Found([_raw(found, masks.PRICING)])


def _single_servers(
    captured: Captured, reader: HetznerReader | RobotReader, listed: str, numbers: Iterable[int], mask: Mask
) -> None:
    """Add what the API says of single servers of a list, as many as a pass asks for."""
    for number in islice(numbers, MOST_AT_ONCE):
        path = f"{listed}/{number}"
        try:
            captured.objects[path] = _raw(_decoded(reader.get(path), path).get("server"), mask)
        except NotFound:
            continue
        except ApiError as error:
            captured.gaps[path] = MissingPart.of(error)


def _account(robot: RobotReader) -> _Found:
    try:
        body = robot.get(_ROBOT)
        decode_robot_servers(body)
    except ApiError as error:
        return _Found([], MissingPart.of(error))
    entries = decoder(list[Any]).decode(body)
    return _Found(
        [_raw(entry.get("server") if isinstance(entry, dict) else {}, masks.ROBOT_SERVER) for entry in entries]
    )


def _look_closer_at_robot(captured: Captured, robot: RobotReader, account: Account, snapshot: Snapshot) -> None:
    """Add the Robot servers that are only found by their numbers, and whether those of silent Nodes are on."""
    settings = Settings(waits=_AT_ONCE, robot=True)
    asked = servers_to_confirm(compute_plan(snapshot, settings), snapshot, settings, Provider.ROBOT)
    _single_servers(captured, robot, _ROBOT, asked, masks.ROBOT_SERVER)
    listed = snapshot.servers_of(Provider.ROBOT).items
    statuses: dict[int, Any] = {}
    for number in islice(sorted(silent_robot_servers(snapshot, settings) & listed.keys()), MOST_AT_ONCE):
        path = f"/reset/{number}"
        try:
            reset = _decoded(robot.get(path), path).get("reset")
            statuses[number] = masks.value(reset.get("operating_status") if isinstance(reset, dict) else reset)
        except ApiError as error:
            captured.gaps[path] = MissingPart.of(error)
    for place, raw in enumerate(account.servers):
        found = _decoded(bytes(raw), _ROBOT)
        if found.get("server_number") in statuses:
            whole = {**found, "operating_status": statuses[found["server_number"]]}
            account.servers[place] = msgspec.Raw(msgspec.json.encode(whole))


def _primary_ips(captured: Captured, project: HetznerReader, asked: Iterable[int | str]) -> Objects:
    """The Primary IPs that are ``asked`` for, by id or name, each once; those that are not there are left out."""
    found: dict[Any, msgspec.Raw] = {}
    for each in islice(asked, MOST_PRIMARY_IPS):
        path = f"/primary_ips/{each}" if isinstance(each, int) else "/primary_ips"
        query = "" if isinstance(each, int) else f"?name={segment(each)}"
        try:
            answer = _decoded(project.get(path + query), path)
        except NotFound:
            continue
        except ApiError as error:
            captured.gaps[path] = MissingPart.of(error)
            continue
        listed = [answer.get("primary_ip")] if isinstance(each, int) else answer.get("primary_ips")
        for raw in filter(lambda raw: isinstance(raw, dict), listed or ()):
            found[raw.get("id")] = _raw(raw, masks.PRIMARY_IP)
    return list(found.values())


def _listed(cluster: KubernetesReader, path: str, mask: Mask) -> _Found:
    def decode(body: bytes) -> Objects:
        page = _decoded(body, path)
        if not str(page.get("kind")).endswith("List"):
            raise Broken(f"Kubernetes GET {path}: the answer is no list")
        return [_raw(item, mask) for item in page.get("items") or ()]

    try:
        pages = cluster.list_pages(path, lambda answer: (decode(answer.body), server_time(answer)))
    except ApiError as error:
        return _Found([], MissingPart.of(error))
    return _Found([raw for page, _ in pages for raw in page], read_at=pages[0][1])


def _single(cluster: KubernetesReader, path: str, mask: Mask) -> _Found:
    try:
        return _Found([_raw(_decoded(cluster.get(path).body, path), mask)])
    except NotFound:
        return _Found([])
    except ApiError as error:
        return _Found([], MissingPart.of(error))


def _id_of(found: Any) -> int:
    return int(found["id"])


def _address_of(found: Any) -> int:
    """Members of a network have no id of their own."""
    return int(IPv4Address(found["ip"]))


def _pages(project: HetznerReader, path: str, mask: Mask, key: Callable[[Any], int] = _id_of) -> _Found:
    """The objects of a list, each once. What makes it incomplete does so in the file."""
    nameless = count(-1, -1)
    name = path.rpartition("/")[2]

    def decode(body: bytes) -> Decoded[int, msgspec.Raw]:
        listed = _decoded(body, path).get(name)
        if not isinstance(listed, list):
            raise Broken(f"Hetzner GET {path}: the answer is no list of {name}")
        items: dict[int, msgspec.Raw] = {}
        for found in listed:
            try:
                number = key(found)
            except (KeyError, TypeError, ValueError):  # as unreadable in the file as it is here
                number = next(nameless)
            items[number] = _raw(found, mask)
        return Decoded(items, {})

    section, error = read_list(project, path, decode)
    objects = list(section)
    if section.complete:
        return _Found(objects)
    expected = section.expected
    # Pages may differ in how many objects they say there are: then none of these numbers is what was read.
    return _Found(objects, MissingPart.of(error, len(objects) + 1 if expected == len(objects) else expected))


def _decoded(body: bytes, path: str) -> dict[str, Any]:
    with broken_unless_readable(f"GET {path}: the answer is no JSON object"):
        return decoder(dict[str, Any]).decode(body)


def _raw(found: Any, mask: Mask) -> msgspec.Raw:
    """The object, masked, as text: a tenth of what its values would take."""
    return msgspec.Raw(msgspec.json.encode(mask(found if isinstance(found, dict) else {})))
