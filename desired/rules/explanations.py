"""Rows that explanations alone say: why a load balancer is the Service's, whom labels name, where values come from."""

from desired.rules.rule import Rule

LEFT_ALONE = Rule("left-alone", "not managed here")
EXCLUDED = Rule("not-among-only", "not changed: excluded by --only")
NOTHING_PLANNED = Rule("nothing-planned", "no change is planned")

# The load balancer of a Service, and the reason why it is the one.

OWN_BY_LABEL = Rule("own-by-label", "its label names this Service")
FOUND_BY_FORMER = Rule("found-by-former", "its label names this Service as the one that it was released with")
FOUND_BY_NAME = Rule("found-by-name", "has the name that the Service requests, and no other owner")
FOUND_BY_ADDRESS = Rule("found-by-address", "the Service publishes its address, and it has no other owner")
DELETED_WITH = Rule("deleted-with-service", "deleted with the Service")
NONE_LABELLED = Rule("none-labelled", "no load balancer of the project has the label {label} with this Service's UID")
NONE_NAMED = Rule("none-named", f"{NONE_LABELLED.says}, and none is named {{name!r}}")
FINALIZERS = Rule("waits-for-finalizers", "the Service is there until their owners remove them")

# Whom the labels of a load balancer name.

OF_NO_SERVICE = Rule("label-of-no-service", "no Service label")
OF_THIS_SERVICE = Rule("label-of-this-service", "this Service")
OF_SERVICE = Rule("label-of-service", "Service {service}")
OF_SERVICE_GONE = Rule("label-of-service-gone", "a Service that no longer exists")
OF_SERVICE_ELSEWHERE = Rule("label-of-service-elsewhere", "a Service of another cluster")
OF_NO_CLUSTER = Rule("label-of-no-cluster", "no cluster label (optional)")
OF_A_CLUSTER = Rule("label-of-a-cluster", "a cluster; the UID of this one could not be read")
OF_THIS_CLUSTER = Rule("label-of-this-cluster", "this cluster")
OF_OTHER_CLUSTER = Rule("label-of-other-cluster", "another cluster")
CLASS_SERVED = Rule("class-served", "the class that is served here (--load-balancer-class)")
FINALIZER_OF_CLASS = Rule("finalizer-of-class", "keeps the Service until its load balancer is deleted; unknown to HCCM")
SAYS_CLASS = Rule("label-of-class", "the loadBalancerClass that it is for")
SAYS_RELEASED = Rule("label-of-release", "when it was released")
SAYS_ADOPTED = Rule("label-of-adoption", "adopted (kept when its Service is deleted)")
SAYS_FORMER = Rule("label-of-former-service", "former Service")

# Where an address that a Service publishes comes from.

PUBLIC_ADDRESS = Rule("address-public", "the public {family} address of load balancer {balancer}")
PRIVATE_ADDRESS = Rule("address-private", "the address of load balancer {balancer} in network {network}")
STRANGE_ADDRESS = Rule("address-strange", "no address of load balancer {balancer}")
ADDRESS_OF_NONE = Rule("address-of-none", "of a load balancer that does not exist or is unknown")
ADDRESS_ASKED = Rule("address-asked", "{annotation}")

# Ports and targets.

COMES_WITH = Rule("comes-with-balancer", "created with the load balancer")
GOES_WITH = Rule("goes-with-balancer", "deleted with the load balancer")
STAYS_WITH = Rule("stays-with-balancer", "kept with the released load balancer")
TARGET_LEFT = Rule("target-left", "{server} belongs to no Node; not managed here")

# Annotations.

OPTION_ASKED = Rule("option-asked", "set on the Service")
OPTION_BY_VARIABLE = Rule("option-by-variable", "default from {variable}")
OPTION_UNSET = Rule("option-unset", "not set: {default}")
