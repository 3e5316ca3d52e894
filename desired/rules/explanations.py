"""Rows that explanations alone say: what the next pass does, whom labels name, where addresses come from."""

from collections.abc import Mapping
from types import MappingProxyType

from desired.plan.kinds import ChangeKind
from desired.rules.rule import Basis, Rule

LEFT_ALONE = Rule("left-alone", "not managed here", basis=Basis.FOREIGN)
EXCLUDED = Rule("not-among-only", "not changed: excluded by --only", basis=Basis.UNTOUCHED)

# What comes next.

NEXT: Mapping[ChangeKind, tuple[str, str]] = MappingProxyType(
    {
        ChangeKind.NODE_INITIALISE: ("the next pass does it", "that"),
        ChangeKind.NODE_OUT_OF_SERVICE_TAINT: (
            "the next pass taints the Node, and a later one deletes it",
            "its out-of-service taint",
        ),
        ChangeKind.NODE_DELETE: ("the next pass deletes the Node", "the Node's deletion"),
        ChangeKind.LB_CREATE: ("the next pass creates it", "its creation"),
        ChangeKind.LB_ADOPT: ("the next pass adopts it", "that"),
        ChangeKind.LB_DELETE: ("the next pass deletes it", "its deletion"),
        ChangeKind.LB_RETAIN: ("the next pass releases it", "that"),
        ChangeKind.SERVICE_RELEASE: ("the next pass releases it", "its release"),
    }
)
"""Kind of change → what the next pass does with it, and what it is called where a guard withholds it."""
WITHHELD = Rule("next-withheld", "{change} is {decision}")

# Whom the labels of a load balancer name.

OF_NO_SERVICE = Rule("label-of-no-service", "no Service label", basis=Basis.OWNER)
OF_THIS_SERVICE = Rule("label-of-this-service", "this Service", basis=Basis.OWNER)
OF_SERVICE = Rule("label-of-service", "Service {service}", basis=Basis.OWNER)
OF_SERVICE_GONE = Rule("label-of-service-gone", "a Service that no longer exists", basis=Basis.OWNER)
OF_SERVICE_ELSEWHERE = Rule("label-of-service-elsewhere", "a Service of another cluster", basis=Basis.OWNER)
OF_NO_CLUSTER = Rule("label-of-no-cluster", "no cluster label (optional)", basis=Basis.OWNER)
OF_A_CLUSTER = Rule("label-of-a-cluster", "a cluster; the UID of this one could not be read", basis=Basis.OWNER)
OF_THIS_CLUSTER = Rule("label-of-this-cluster", "this cluster", basis=Basis.OWNER)
OF_OTHER_CLUSTER = Rule("label-of-other-cluster", "another cluster", basis=Basis.OWNER)
CLASS_SERVED = Rule("class-served", "the class that is served here (--load-balancer-class)", basis=Basis.OWNER)
FINALIZER_OF_CLASS = Rule(
    "finalizer-of-class", "keeps the Service until its load balancer is deleted; unknown to HCCM", basis=Basis.OWNER
)
SAYS_CLASS = Rule("label-of-class", "the loadBalancerClass that it is for", basis=Basis.OWNER)
SAYS_RELEASED = Rule("label-of-release", "when it was released", basis=Basis.OWNER)
SAYS_ADOPTED = Rule("label-of-adoption", "adopted (kept when its Service is deleted)", basis=Basis.OWNER)
SAYS_FORMER = Rule("label-of-former-service", "former Service", basis=Basis.OWNER)
BECOMES = Rule("label-becomes", "set to {wanted}", basis=Basis.OWNER)
GOES = Rule("label-goes", "{value}; removed", basis=Basis.OWNER)
BECOMES_INSTEAD = Rule("label-becomes-instead", "{value}; set to {wanted}", basis=Basis.OWNER)
NONE_LABELLED = Rule("none-labelled", "no load balancer of the project has the label {label} with this Service's UID")
NONE_NAMED = Rule("none-named", f"{NONE_LABELLED.says}, and none is named {{name!r}}")

# Where an address that a Service publishes comes from.

PUBLIC_ADDRESS = Rule("address-public", "the public {family} address of load balancer {balancer}", basis=Basis.BALANCER)
PRIVATE_ADDRESS = Rule(
    "address-private", "the address of load balancer {balancer} in network {network}", basis=Basis.BALANCER
)
STRANGE_ADDRESS = Rule("address-strange", "no address of load balancer {balancer}", basis=Basis.BALANCER)
ADDRESS_OF_NONE = Rule("address-of-none", "of a load balancer that does not exist or is unknown", basis=Basis.BALANCER)
ADDRESS_ASKED = Rule("address-asked", "{annotation}", basis=Basis.ASKED)
ADDRESS_GOES = Rule("address-goes", "removed: {source}", basis=Basis.BALANCER)
CONDITION_LACKING = Rule("condition-lacking", "not set (optional)", basis=Basis.BALANCER)
CONDITION_DUE = Rule("condition-due", "{present}; would be {wanted}: {cause}", basis=Basis.BALANCER)

# Ports and targets.

COMES_WITH = Rule("comes-with-balancer", "created with the load balancer")
GOES_WITH = Rule("goes-with-balancer", "deleted with the load balancer")
STAYS_WITH = Rule("stays-with-balancer", "kept with the released load balancer")
TARGET_LEFT = Rule("target-left", "{server} belongs to no Node; not managed here")
TARGET_UNPLANNED = Rule("target-unplanned", "{target}; no change is planned")

# What is waited for.

WAITS_FOR_APPROVAL = Rule("waits-for-approval", "needs approval: {cause}")
NODE_PORT = Rule("waits-for-node-port", "the API server has not assigned its node port yet")
FINALIZERS = Rule("waits-for-finalizers", "the Service has other finalizers: {finalizers}")
WAITS_FOR_ADDRESSES = Rule("waits-for-addresses", "the addresses are known once the load balancer exists")
