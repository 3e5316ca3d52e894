"""Rows of the states of Services and Nodes: what is, whatever is planned."""

from desired.rules.rule import Rule

# A Service with its load balancer.

PORTS_HEALTHY = Rule("ports-healthy", "{ports}: {healthy} of {targets} healthy")
PORTS_UNCHECKED = Rule("ports-unchecked", "{ports}: {targets} not checked yet")
PORT_ABSENT = Rule("port-absent", "{ports}: not on load balancer {balancer} yet")
PORT_LEFT_OUT = Rule("port-left-out", "{ports}: not on load balancer {balancer}: {why}")
NO_TARGET = Rule("no-target", "load balancer {balancer} has no target{cause}")
NO_WAY = Rule("no-way-to-targets", "load balancer {balancer} reaches 0 of {targets} targets")
NOT_PUBLISHED = Rule("not-published", "the address of load balancer {balancer} is not published")

# Its condition.

HEALTH_ALL = Rule("health-all", "every port has a healthy target, and no target that should answer fails")
HEALTH_SOME = Rule("health-some", "every port has a healthy target, and some targets are unhealthy")
HEALTH_NONE = Rule("health-none", "a port has no healthy target")
HEALTH_PENDING = Rule("health-pending", "a port has no healthy target yet, and not all of its targets are checked")
HEALTH_NO_TARGETS = Rule("health-no-targets", "the load balancer has no targets")

# A Service without one.

TO_BE_CREATED = Rule("to-be-created", "its load balancer does not exist yet")
TO_BE_ADOPTED = Rule("to-be-adopted", "load balancer {balancer} is not adopted yet")
TO_BE_RELEASED = Rule("to-be-released", "its load balancer is about to be deleted or released")

# A Node.

AS_ITS_SERVER = Rule("node-in-sync", "{server}")
CHANGES_PLANNED = Rule("node-changes-planned", "{server}; {changes} planned")
CHANGES_LEFT = Rule("node-changes-left-out", "{server}; {changes} planned, and not made: {why}")

# Its condition.

NODE_READY_TO_USE = Rule("node-ready-to-use", "labels, addresses and routes are as they should be")
NODE_CHANGE_FAILED = Rule("node-change-failed", "{change} failed: {error}")
NODE_CHANGE_WITHHELD = Rule("node-change-withheld", "{change} is {verdict}: {why}")

# Its server.

SERVER_OFF = Rule("node-server-off", "{server} is {status}")
