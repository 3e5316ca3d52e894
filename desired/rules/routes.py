"""Rows of routes: whose a route is, how it stands with the pods of each Node, and the Node's condition about it."""

from desired.plan.change import GuardName, Verdict
from desired.plan.kinds import ChangeKind
from desired.plan.notes import NoteKind
from desired.rules import load_balancers, nodes
from desired.rules.rule import Rule

REACHED = Rule("node-reached", "server {server} has address {address} in network {network}")
NODE_IGNORED = Rule("node-routes-ignored", load_balancers.TARGET_IGNORED.counted)
NODE_UNINITIALIZED = Rule("node-uninitialized", load_balancers.NOT_INITIALIZED.says)
NODE_ELSEWHERE = Rule("node-elsewhere", "its providerID names no server of Hetzner Cloud")
NODE_GONE = Rule("node-gone", "server {server} not found in the project")
NODE_UNKNOWN = Rule("node-unknown", nodes.NODE_SERVER_UNKNOWN.says)
ADDRESSES_UNKNOWN = Rule("private-addresses-unknown", "Hetzner's answer has no private addresses of server {server}")
_UNATTACHED = "server {server} is not attached to network {network}"
UNATTACHED = Rule("unattached", _UNATTACHED, of=NoteKind.UNROUTABLE)
UNATTACHED_JOINING = Rule("unattached-joining", _UNATTACHED)

OWNER_UNASKED = Rule("owner-unasked", "owner of {address} was not looked up", of=NoteKind.UNKNOWN)
OWNER_UNREADABLE = Rule("owner-unreadable", "cannot read the owner of {address}: {cause}", of=NoteKind.UNKNOWN)
OWNER_UNLISTED = Rule(
    "owner-unlisted", "server {server} has {address} but is in no list of servers", of=NoteKind.UNKNOWN
)

ROUTE_BY_DEFAULT = Rule("default-route", "default route", of=NoteKind.FOREIGN)
ROUTE_OF_NODE = Rule("route-of-node", "leads to the pods of a Node")
_OUTSIDE = "not within the cluster CIDR {cidr}"
ROUTE_OUTSIDE = Rule("route-outside", _OUTSIDE, of=NoteKind.FOREIGN)
ROUTE_OUTSIDE_OF_NODE = Rule("route-outside-of-node", _OUTSIDE)
_FREE = "gateway {owner} has no owner"
ROUTE_TO_NO_OWNER = Rule("route-to-no-owner", _FREE, of=ChangeKind.ROUTE_DELETE)
ROUTE_TO_OUR_BALANCER = Rule(
    "route-to-our-balancer",
    "gateway is {owner} of this cluster, and load balancers forward no packets",
    of=ChangeKind.ROUTE_DELETE,
)
_LEADS = "gateway is {owner}"
ROUTE_TO_OTHER = Rule("route-to-other", _LEADS, of=NoteKind.FOREIGN)
ROUTE_OF_OTHER_SIZE = Rule("route-of-other-size", _LEADS + ", and no Node's pod CIDR is a /{size}", of=NoteKind.FOREIGN)
ROUTE_WITHOUT_PODS = Rule("route-without-pods", _LEADS + ", and no Node has a pod CIDR", of=NoteKind.FOREIGN)
ROUTE_OF_UNREADABLE_NODE = Rule("route-of-unreadable-node", "may belong to {nodes} (unreadable)", of=NoteKind.UNKNOWN)
ROUTE_UNNEEDED = Rule(
    "route-unneeded", _LEADS + ", and no Node has the pod CIDR {destination}", of=ChangeKind.ROUTE_DELETE
)
ROUTE_UNREADABLE = Rule("route-unreadable", "cannot read the route: {cause}", of=NoteKind.FOREIGN)

PODS_SERVED = Rule("pods-served", "gateway {address} is an address of server {server}")
_PODS = "; pods of Node {node} are on server {server}"
PODS_MISSING = Rule(
    "pods-missing", "no route to the pods of Node {node} on server {server}", of=ChangeKind.ROUTE_CREATE
)
PODS_MISLED = Rule("pods-misled", _LEADS + _PODS, of=ChangeKind.ROUTE_REPLACE)
PODS_MISLED_TO_NO_OWNER = Rule("pods-misled-to-no-owner", _FREE + _PODS, of=ChangeKind.ROUTE_REPLACE)


def _failing(name: str, says: str, remedy: str = "", kind: NoteKind = NoteKind.UNROUTABLE) -> Rule:
    """A row for pods that no route can lead to as things are."""
    return Rule(name, says, remedy, kind)


PODS_OUTSIDE = _failing(
    "pods-outside",
    "route CIDR {destination} is not contained within cluster CIDR {cidr}",
    kind=NoteKind.CLUSTER_CIDR,
)
PODS_OF_TWO = _failing(
    "pods-of-two-nodes", "pod CIDR {destination} is also that of Node {node}", "change one of the two"
)
PODS_OVERLAP = _failing(
    "pods-overlap", "pod CIDR {destination} overlaps with {other} of Node {node}", "change one of the two"
)
PODS_NOT_PRIVATE = _failing(
    "pods-not-private",
    "pod CIDR {destination} is not a private range of RFC 1918; networks route no other",
)
PODS_RESERVED = _failing("pods-reserved", "pod CIDR {destination} contains {address}, an address reserved by Hetzner")
PODS_IN_SUBNET = _failing("pods-in-subnet", "pod CIDR {destination} overlaps with subnet {subnet} of network {network}")
PODS_TAKEN = _failing("pods-taken", "route to {destination} has gateway {owner} and is not changed")
PODS_BEHIND_OTHER = _failing(
    "pods-behind-other", "pod CIDR {destination} overlaps with the route to {other} by {gateway} (kept)"
)
PODS_OVER_LIMIT = _failing("pods-over-limit", "network has {most} of {most} routes", kind=NoteKind.LIMIT)
POD_CIDR_MALFORMED = _failing("pod-cidr-malformed", "pod CIDR {cidr} is not a range: no route")
PODS_ROUTE_UNREADABLE = Rule(
    "pods-route-unreadable", "cannot read the route to {destination}: {cause}", of=NoteKind.UNKNOWN
)
PODS_BEHIND_UNREADABLE = Rule(
    "pods-behind-unreadable",
    "pod CIDR {destination} overlaps with the unreadable route to {other}: {cause}",
    of=NoteKind.UNKNOWN,
)
PODS_BEHIND_UNKNOWN = Rule(
    "pods-behind-unknown",
    "pod CIDR {destination} overlaps with the route to {other} by {gateway}, possibly of another owner",
    of=NoteKind.UNKNOWN,
)
PODS_OF_UNREADABLE_NODE = Rule(
    "pods-of-unreadable-node",
    "route to {destination} may belong to an unreadable Node",
    of=NoteKind.UNKNOWN,
)
PODS_OF_OTHER_NODE = Rule("pods-of-other-node", "pod CIDR belongs to {nodes}")
POD_CIDR_IPV6 = Rule("pod-cidr-ipv6", "no route is needed: private networks have IPv4 only")


def _condition(name: str, says: str) -> Rule:
    """A row that decides on the condition ``NetworkUnavailable`` of a Node."""
    return Rule(name, says, of=ChangeKind.NODE_NETWORK_CONDITION)


ROUTES_THERE = _condition("routes-there", "routes exist for all IPv4 pod CIDRs")
ROUTES_COMING = _condition("routes-coming", "routes planned for all IPv4 pod CIDRs")
ROUTE_REFUSED = _condition("route-refused", "route to {destination} was refused")
PODS_IPV6_ONLY = _condition("pods-ipv6-only", "pods have IPv6 addresses only: no routes needed")
CONDITION_UNNEEDED = _condition("condition-unneeded", "routes are switched off")


def _left(name: str, says: str) -> Rule:
    """A row for what stays as it is."""
    return Rule(name, says)


NO_POD_CIDR = _left("no-pod-cidr-yet", "the Node has no pod CIDR yet")
ROUTES_OFF = _left("routes-off", "not managed: routes are switched off")
ROUTES_NETWORK_UNSET = _left("routes-network-unset", "not managed: HCLOUD_NETWORK is not set")
NETWORK_UNREAD = _left("routes-network-unread", load_balancers.PRIVATE_NETWORK_UNKNOWN.says)
NETWORK_MISSING = _left("routes-network-missing", nodes.NO_NETWORK)
CIDR_UNSET = _left("routes-cidr-unset", "not managed: --cluster-cidr is not given")
ROUTES_UNREAD = _left("routes-unread", "the routes of the network were not read")
_COVERS = (
    "--cluster-cidr {cidr} covers subnet {subnet} of network {name} ({network}): no room for pods, and routes of others"
    " would count as the cluster's"
)
_RANGE_OF_PODS = "set it to the range of the Nodes' pod CIDRs"
CIDR_COVERS_SUBNET = Rule("cidr-covers-subnet", _COVERS, _RANGE_OF_PODS)
CIDR_COVERS_SUBNET_OF_PODS = Rule(
    "cidr-covers-subnet-of-pods", _COVERS, _RANGE_OF_PODS + " (these are in {pods} so far)"
)
CIDR_MISMATCH = Rule(
    "cidr-mismatch",
    "--cluster-cidr {cidr} does not contain the pods of {nodes} (no route is removed)",
    "correct --cluster-cidr or the Nodes' pod CIDRs",
    GuardName.CLUSTER_CIDR,
    Verdict.WAITING,
    noted=NoteKind.CLUSTER_CIDR,
)
_CIDR_UNSET = "pod routes and NetworkUnavailable are not managed: --cluster-cidr is not set"
_CLOSED = ", and NetworkUnavailable=True keeps pods from being scheduled on {nodes}"
_GIVE_CIDR = "set --cluster-cidr to the cluster's pod CIDR, or HCLOUD_NETWORK_ROUTES_ENABLED=false"
CIDR_NEEDED_FOR_PODS = Rule(
    "cidr-needed-for-pods", _CIDR_UNSET + " (the Nodes' pods are in {pods})", _GIVE_CIDR, NoteKind.CLUSTER_CIDR
)
CIDR_NEEDED_TO_OPEN = Rule(
    "cidr-needed-to-open",
    _CIDR_UNSET + _CLOSED,
    _GIVE_CIDR,
    NoteKind.CLUSTER_CIDR,
)
CIDR_NEEDED_TO_OPEN_FOR_PODS = Rule(
    "cidr-needed-to-open-for-pods",
    _CIDR_UNSET + " (the Nodes' pods are in {pods})" + _CLOSED,
    _GIVE_CIDR,
    NoteKind.CLUSTER_CIDR,
)
NETWORK_NEEDED_TO_OPEN = Rule(
    "network-needed-to-open",
    "NetworkUnavailable=True of an earlier run keeps pods from being scheduled, and stays without HCLOUD_NETWORK",
    "run once with HCLOUD_NETWORK and HCLOUD_NETWORK_ROUTES_ENABLED=false",
    NoteKind.CLUSTER_CIDR,
)
NODES_WITHOUT_PODS = Rule("nodes-without-pods", "no pod CIDR yet, no route: {nodes}", of=NoteKind.NO_POD_CIDR)
NODES_OF_IPV6 = Rule(
    "nodes-of-ipv6",
    "IPv6 pod CIDRs get no routes (private networks have IPv4 only): {nodes}",
    of=NoteKind.UNSUPPORTED,
)
SWAP = Rule("route-swap", "pods of Node {node} are unreachable during the swap", of=ChangeKind.ROUTE_REPLACE)
DIVERTED = Rule("route-diverted", "traffic to {destination} no longer reaches {owner}", of=ChangeKind.ROUTE_DELETE)
