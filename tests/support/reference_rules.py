"""The rules of the reference, nodes-and-routes.md: which of them have cases in ``tests/unit/desired``, and why not.

A test says which rules it is a case of, ``@covers("W-13", "4.5")``. ``test_reference_rules`` holds these marks against
the two tables here, so that no rule about Nodes and routes is forgotten and none is claimed that does not exist.
"""

from collections.abc import Mapping

from tests.support.rule_marks import Rules, mark

covers = mark
"""A mark on a test: it is a case of these rules about Nodes and their routes."""

HERE: Mapping[str, str] = {
    "1.1": "controllers are switched on and off one by one",
    "2.1": "the grammar of providerIDs",
    "2.2": "which server a Node is, by providerID or by name",
    "3.1": "labels derived from a server",
    "3.2": "addresses of a cloud server",
    "4.2": "tainted Nodes are initialised, others are not",
    "4.3": "what initialisation changes",
    "4.4": "labels at initialisation",
    "4.5": "deprecated and stable label keys are kept in step",
    "4.6": "how --node-ip orders and narrows addresses, and when they count as changed",
    "4.7": "addresses are kept true, and never dropped for want of knowledge",
    "5.1": "what readiness has to say",
    "5.2": "a Node without a server is deleted, once",
    "5.3": "the shutdown taint among other taints",
    "5.4": "which states of a server are shut down",
    "6.3": "which routes there should be, and which go",
    "6.4": "what keeps a route from being made",
    "6.6": "what a Node is told of its routes",
    "6.7": "what a network takes, and how much of it",
    "I-1": "a Node without a known server waits",
    "I-2": "a Node always gets a providerID",
    "I-3": "--node-ip is validated before anything is applied",
    "I-4": "providerID, labels and taints change together",
    "I-5": "addresses belong to the initialisation",
    "G-1": "no subset of providerID, labels and taint removal is ever planned",
    "G-3": "a Node goes only when its server is proven absent and it is not Ready",
    "G-4": "what is outside the cluster CIDR is left alone",
    "G-6": "the routes of a Node go with its server, and when only the Node goes by a person's word",
    "G-7": "a Node that is off or not Ready keeps its routes",
    "W-1": "a Node without a providerID of ours is never deleted",
    "W-2": "the wrong project, or many losses at once, need a person",
    "W-3": "absence is confirmed by a look-up by id",
    "W-4": "no wait, however short, makes a server absent",
    "W-5": "nothing is absent from part of a list",
    "W-6": "a route is a Node's by its server and never by a name",
    "W-7": "what is not as it should be is planned in every pass, and left-overs make room",
    "W-8": "IPv6 needs no routes, and takes no Node out of service",
    "W-9": "what is about to come is no failure",
    "W-10": "another gateway is one swap of one route",
    "W-11": "routes of people inside the pod range are theirs",
    "W-12": "addresses come with the initialisation and not after it",
    "W-13": "labels follow the server for ever",
    "W-14": "addresses are compared exactly, in their order",
    "W-15": "a Node that cannot join is told why",
    "W-16": "a --node-ip that fits nothing is told with its cause",
    "W-17": "an InternalIP that goes away is told, or kept when asked",
    "W-23": "a deletion is of one Node in one state",
    "W-26": "only a server on which a deletion hangs is asked for by id",
    "W-27": "the shutdown taint follows the server both ways",
    "W-28": "a malformed providerID is never an absent server",
    "W-29": "there are no routes to pods outside the cluster CIDR",
    "W-32": "what was said of routes goes when they are switched off",
}
"""Rules about cloud servers' Nodes and their routes that the core decides, or has a share in: each has a case."""

ELSEWHERE: Mapping[str, str] = {
    "ST-1": "process: tests/unit/reconciler/test_flags.py",
    "ST-2": "process: tests/unit/reconciler/test_config.py",
    "ST-3": "process: metrics",
    "ST-4": "reading: tests/unit/reconciler/test_observe_hetzner.py",
    "ST-5": "attachments are read from the servers: tests/unit/desired/routes/test_places.py",
    "ST-6": "process: no check at the start, see tests/unit/reconciler/test_cycle_trouble.py",
    "ST-7": "process: the cluster has an id, that of kube-system",
    "ST-8": "process: leader election",
    "ST-9": "process: health",
    "ST-10": "process: leader election",
    "ST-11": "process: tests/unit/reconciler/test_config.py",
    "I-6": "events: tests/unit/reconciler/test_announcements.py",
    "SC-1": "no cache: one list a pass, see tests/unit/reconciler/test_cycle.py",
    "SC-2": "no cache",
    "SC-3": "no cache",
    "SC-4": "no cache",
    "SC-5": "no cache",
    "SC-6": "no cache",
    "SC-7": "no cache: tests/unit/reconciler/test_cycle_trouble.py",
    "SC-8": "no cache",
    "G-2": "turned round, addresses go first: tests/unit/actuators/test_nodes.py",
    "G-5": "lanes: tests/unit/actuators/test_apply.py",
    "W-18": "no cache: one list a pass, see tests/unit/reconciler/test_cycle.py",
    "W-19": "client: tests/unit/actuators/test_retry.py",
    "W-20": "Robot",
    "W-21": "Robot",
    "W-22": "Robot",
    "W-24": "Robot; addresses of the cloud: tests/unit/reconciler/test_observe_hetzner.py",
    "W-25": "Robot",
    "W-30": "process: tests/unit/reconciler/test_stopping.py",
    "W-31": "process: health",
}
"""Every other rule, with the reason why it has no case in ``tests/unit/desired``."""

NODE_RULES = Rules("covers", HERE, ELSEWHERE)
"""All of them."""
