"""Rows of the states of Services and Nodes: what is, whatever is planned."""

from desired.rules.rule import Rule

# A Service with its load balancer.

PORTS_HEALTHY = Rule("ports-healthy", "{ports}: {healthy} of {targets} healthy")
PORTS_UNCHECKED = Rule("ports-unchecked", "{ports}: {targets} without a result of their health checks")
PORT_ABSENT = Rule("port-absent", "{ports}: not on load balancer {balancer} yet")
NO_TARGET = Rule("no-target", "load balancer {balancer} has no target")
NO_WAY = Rule("no-way-to-targets", "load balancer {balancer} reaches none of its {targets}")
NOT_PUBLISHED = Rule("not-published", "the address of load balancer {balancer} is not published")

# A Service without one.

TO_BE_CREATED = Rule("to-be-created", "its load balancer is to be created")
TO_BE_ADOPTED = Rule("to-be-adopted", "load balancer {balancer} is to be adopted")
TO_BE_RELEASED = Rule("to-be-released", "the Service goes, and its load balancer with it or back to the project")

# A Node.

AS_ITS_SERVER = Rule("node-in-sync", "{server}")
CHANGES_PLANNED = Rule("node-changes-planned", "{server}; {changes} planned")
SERVER_OFF = Rule("node-server-off", "{server} is {status}")
