"""Rows of the changes of load balancers: why each is planned, and what is lost by it."""

from desired.annotations.options import OPTIONS
from desired.names import LABEL_CLASS
from desired.plan.kinds import ChangeKind
from desired.rules.rule import Rule


def _row(of: ChangeKind, name: str, says: str, remedy: str = "") -> Rule:
    return Rule(name, says, remedy, of)


# The load balancer as a whole.

CLAIMED = _row(ChangeKind.SERVICE_CLAIM, "claimed", "keeps the Service until its load balancer is deleted")
FINALIZER_LOST = Rule(
    "finalizer-lost",
    "the finalizer was removed by another controller that shares it: deleted without it, the Service would leave its"
    " load balancer behind",
    "k3s: --disable servicelb, others: spec.loadBalancerClass",
    ChangeKind.SERVICE_CLAIM,
)
CREATED = _row(ChangeKind.LB_CREATE, "created", "Service {service} has no load balancer yet")
CERTIFICATE_CREATED = _row(
    ChangeKind.CERTIFICATE_CREATE,
    "certificate-created",
    "the Service requests a managed certificate for {domains}; none exists yet",
)
ADDRESSES_CHANGE = _row(
    ChangeKind.LB_CREATE, "addresses-change", "the Service loses {addresses} and gets other addresses"
)
ADDRESSES_LIKELY_CHANGE = _row(
    ChangeKind.LB_CREATE,
    "addresses-likely-change",
    "the Service loses {addresses}, likely of a deleted load balancer, and gets other addresses",
)
GIVEN_BACK = _row(
    ChangeKind.LB_ADOPT,
    "given-back",
    "load balancer {balancer} was released with Service {service} and is returned to it; kept after it",
)
ADOPTED_AS_PUBLISHED = _row(
    ChangeKind.LB_ADOPT,
    "adopted-as-published",
    "load balancer {balancer} has an address that the Service publishes, but lost its label and name{kept}",
)
ADOPTED_BY_NAME = _row(
    ChangeKind.LB_ADOPT,
    "adopted-by-name",
    "load balancer {balancer} has the name {name} that the Service requests{kept}",
)
LOST_BY_ADOPTION = _row(
    ChangeKind.LB_ADOPT, "lost-by-adoption", "{part} is removed from it: not requested by the Service"
)
CLASS_RESTORED = _row(
    ChangeKind.LB_IDENTITY, "class-restored", f"label {LABEL_CLASS} was removed; the Service is of this class"
)
RENAMED = _row(ChangeKind.LB_IDENTITY, "renamed", "the Service requests another name")
TYPE_CHANGED = _row(ChangeKind.LB_TYPE, "type-changed", "the Service requests another type")
ALGORITHM_CHANGED = _row(ChangeKind.LB_ALGORITHM, "algorithm-changed", "the Service requests another algorithm")
REVERSE_NAME_CHANGED = _row(ChangeKind.LB_RDNS, "reverse-name-changed", "the Service requests another reverse DNS name")

# Its end.

SERVICE_DELETED = _row(ChangeKind.LB_DELETE, "service-deleted", "the Service is being deleted")
SERVICE_WANTS_NONE = _row(ChangeKind.LB_DELETE, "service-wants-none", "the Service no longer needs a load balancer")
RETAINED = _row(
    ChangeKind.LB_RETAIN,
    "retained",
    "{going}; its load balancer is retained, with the time of release instead of its owner label: {cause}",
)
RETAINED_UNLABELLED = _row(
    ChangeKind.LB_RETAIN,
    "retained-unlabelled",
    "{going}; {cause}",
    "to delete it: reconcile orphans --delete {balancer}",
)
STAYS_PAID = _row(ChangeKind.LB_RETAIN, "stays-paid", "load balancer {balancer} {name} is kept and still billed")
CLAIM_ENDED = _row(ChangeKind.SERVICE_RELEASE, "claim-ended", "{going}; no load balancer exists")
CLAIM_ENDED_WITH_BALANCER = _row(ChangeKind.SERVICE_RELEASE, "claim-ended-with-balancer", "its load balancer is {done}")

# The status of the Service.

PUBLISHED_NEW = _row(ChangeKind.SERVICE_STATUS, "published-new", "publishes the addresses of the new load balancer")
PUBLISHED_NEW_HOSTNAME = _row(
    ChangeKind.SERVICE_STATUS, "published-new-hostname", "publishes {hostname} once the load balancer exists"
)
PUBLISHED_AS_IS = _row(
    ChangeKind.SERVICE_STATUS, "published-as-is", "publishes the current addresses of load balancer {balancer}"
)
PUBLISHED_AFTERWARDS = _row(
    ChangeKind.SERVICE_STATUS,
    "published-afterwards",
    "publishes the addresses of load balancer {balancer} after its changes",
)
UNPUBLISHED = _row(
    ChangeKind.SERVICE_STATUS,
    "unpublished",
    "load balancer {balancer} has no public interface, and its private addresses are not published",
)
PUBLISHED_NOWHERE = _row(ChangeKind.SERVICE_STATUS, "published-nowhere", "the Service publishes no address")

# Ports.

PORT_ADDED = _row(ChangeKind.LB_LISTENER, "port-added", "the Service has port {port}")
PORT_CHANGED = _row(ChangeKind.LB_LISTENER, "port-changed", "settings of port {port} differ from the Service")
PORT_REMOVED = _row(ChangeKind.LB_LISTENER, "port-removed", "the Service has no TCP port {port}")
PORT_CLOSED = _row(ChangeKind.LB_LISTENER, "port-closed", "clients cannot connect to port {port} any more")
CERTIFICATE_TAKEN_OFF = _row(
    ChangeKind.LB_LISTENER,
    "certificate-taken-off",
    "port {port} loses certificate {certificates}",
    f"if that is not intended, name it in {OPTIONS['http_certificates'].full_key}",
)

# Interface and networks.

PUBLIC_ON = _row(ChangeKind.LB_PUBLIC_INTERFACE, "public-on", "the Service requests a public interface")
PUBLIC_OFF = _row(ChangeKind.LB_PUBLIC_INTERFACE, "public-off", "the Service requests no public interface")
UNREACHABLE_OUTSIDE = _row(
    ChangeKind.LB_PUBLIC_INTERFACE,
    "unreachable-outside",
    "no longer reachable at its public addresses",
)
NETWORK_ADDED = _row(ChangeKind.LB_NETWORK, "network-added", "HCLOUD_NETWORK names this network")
NETWORK_REPLACED = _row(ChangeKind.LB_NETWORK, "network-replaced", "HCLOUD_NETWORK names another network")
PRIVATE_ADDRESS_CHANGED = _row(
    ChangeKind.LB_NETWORK, "private-address-changed", "the Service requests the private address {address}"
)
PRIVATE_ADDRESS_LOST = _row(ChangeKind.LB_NETWORK, "private-address-lost", "its private address {address} is lost")
PRIVATE_TRAFFIC_STOPS = _row(
    ChangeKind.LB_NETWORK,
    "private-traffic-stops",
    "its private address {address} is lost, and traffic to private targets is interrupted",
)

# Targets.

TARGET_ADDED = _row(ChangeKind.LB_TARGET, "target-added", "{node} gets traffic at its {address}")
TARGET_RETURNS = _row(
    ChangeKind.LB_TARGET, "target-returns", "{target} is added again: removed with the attachment to the network"
)
TARGET_LEFT_BEHIND = _row(
    ChangeKind.LB_TARGET,
    "target-left-behind",
    "{target} is unreachable once the load balancer is detached from the network",
)
TARGET_WITHOUT_TRAFFIC = _row(ChangeKind.LB_TARGET, "target-without-traffic", "{target} gets no traffic any more")
TARGET_GONE = _row(ChangeKind.LB_TARGET, "target-gone", "{server} no longer exists")
TARGET_WITHOUT_NODE = _row(ChangeKind.LB_TARGET, "target-without-node", "{server} belongs to no Node")
TARGET_TWICE = _row(ChangeKind.LB_TARGET, "target-twice", "{server} is also a target at its other address")
TARGET_EXCLUDED = _row(ChangeKind.LB_TARGET, "target-excluded", "Node {node} is not a target: {cause}")
