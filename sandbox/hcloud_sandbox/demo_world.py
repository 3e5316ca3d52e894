"""World of a demo, and of a sandbox without a world file: a small cluster with drift, in ``demo_world.json``.

Of four Nodes that ran, one server (worker-1) was resized and one (worker-3) deleted; two Nodes have just joined, and
one has a name that no server has. One Service has just been created, and from the load balancer of another somebody
removed a target (worker-2, 103). The network has routes to the pods of the Nodes that ran: the route to the deleted
server leads nowhere by now, for its address is one that nothing else gets. The joining Nodes have none yet, and one
route, to an office, is somebody else's. The two ConfigMaps are those that an installation brings.

With a dedicated server, a Node on it has just joined as well: a database, which gets no traffic from load balancers,
and whose address no API of Hetzner's knows. Such a cluster has no pod routes, which Hetzner's controllers refuse beside
Robot.
"""

import json
import re
from datetime import datetime, timedelta
from importlib.resources import files
from typing import Any

CLUSTER_CIDR = "10.244.0.0/16"
"""What ``--cluster-cidr`` has to be for this cluster."""
_AGO = re.compile(r'"(\d+) (seconds|minutes|days) ago"')


def demo_world(now: datetime, *, dedicated: bool = False) -> dict[str, Any]:
    """A world file's content, with a dedicated server or without. ``now`` is the simulated time; the cluster is three
    days old."""

    def moment(ago: re.Match[str]) -> str:
        return (now - timedelta(**{ago[2]: int(ago[1])})).strftime('"%Y-%m-%dT%H:%M:%SZ"')

    text = files(__package__).joinpath("demo_world.json").read_text("utf-8")
    world: dict[str, Any] = json.loads(_AGO.sub(moment, text))
    nodes = world["kubernetes"]["nodes"]
    if not dedicated:
        del world["robot"], nodes[-1]
        return world
    network = world["hetzner"]["networks"][0]
    network["routes"] = [route for route in network["routes"] if not route["destination"].startswith("10.244.")]
    for node in nodes:
        conditions = node["status"]["conditions"]
        node["status"]["conditions"] = [each for each in conditions if each["type"] != "NetworkUnavailable"]
    return world
