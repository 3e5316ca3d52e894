"""The rules of the reference, load-balancers.md: which of them have cases below ``tests/unit/desired``, and why not.

A test says which rules it is a case of, ``@balancer_covers("W-1", "PORT-6")``. ``test_balancer_rules`` holds these
marks against the two tables here. The mark is not the one of nodes-and-routes.md, where ``W-1`` is another rule.
"""

from collections.abc import Mapping

from tests.support.rule_marks import Rules, mark

balancer_covers = mark
"""A mark on a test: it is a case of these rules about load balancers."""

HERE: Mapping[str, str] = {
    "SVC-1": "which Services want a load balancer",
    "SVC-2": "which Services need a cleanup",
    "SVC-3": "a Service is served or let go of",
    "SVC-4": "claimed, then given a load balancer, then told its addresses",
    "SVC-5": "the load balancer goes before the finalizer and the addresses do",
    "SVC-7": "another type is as a deletion",
    "SVC-8": "a Service made anew is another one",
    "SVC-9": "what a Service left behind is said to be there",
    "SVC-10": "a deletion touches nothing but the load balancer",
    "TRG-3": "what Hetzner cannot do changes nothing",
    "NODE-1": "a Node that is being deleted is no target",
    "NODE-2": "the label that excludes a Node",
    "NODE-3": "the autoscaler's taint excludes a Node",
    "NODE-4": "the Service's selector excludes a Node",
    "NODE-5": "a Node without a server of ours is no target",
    "ID-1": "the name of a load balancer",
    "ID-2": "found by label, then by name",
    "ID-4": "deleted by label alone",
    "ID-5": "adopted by name",
    "ID-6": "what a creation asks for",
    "ID-7": "location and zone",
    "ID-8": "the label is part of the creation",
    "ID-9": "renamed by annotation, and never back",
    "ID-10": "a protected load balancer stays",
    "ID-11": "reserved annotations mean nothing",
    "LB-1": "reverse names",
    "LB-2": "types, up and down",
    "LB-3": "which networks are left",
    "LB-4": "how a network is joined",
    "LB-6": "the public interface",
    "LB-7": "private targets are lost with the network",
    "PORT-1": "one listener for each TCP port",
    "PORT-2": "other protocols are left out",
    "PORT-3": "a port without a node port",
    "PORT-4": "ports are added, changed and removed by difference",
    "PORT-5": "what is said of a port",
    "PORT-6": "when health checks are configured",
    "PORT-7": "options of health checks over HTTP",
    "PORT-8": "health checks over HTTPS",
    "PORT-9": "options that a protocol does not have",
    "PORT-10": "externalTrafficPolicy changes nothing",
    "CERT-1": "the name and the domains of a managed certificate",
    "CERT-2": "a managed certificate is asked for once",
    "CERT-3": "its issuance is never waited for",
    "CERT-4": "it is found by its label",
    "CERT-5": "it is never changed",
    "CERT-6": "what is in the way of another one is said",
    "TGT-1": "servers as targets, by one address",
    "TGT-2": "private addresses need a network",
    "TGT-3": "label selectors are left alone",
    "TGT-4": "addresses are left alone as long as no Robot server is read",
    "TGT-9": "the limit of targets",
    "TGT-12": "a full load balancer swaps its targets",
    "ST-1": "a hostname replaces all addresses",
    "ST-2": "which addresses are published",
    "ST-3": "the mode follows the proxy protocol",
    "ST-4": "no ports in the status, and no empty list",
    "ST-5": "published only when it differs",
    "ST-6": "deletion builds no status",
    "W-1": "interface, network and targets change in the order that the API accepts",
    "W-2": "a private address is checked before anything is left for it",
    "W-3": "what nobody asks for stays, or is reset; the status follows what is there",
    "W-4": "who is a target is decided in each pass",
    "W-5": "what was changed by hand is put back",
    "W-6": "one change of a load balancer at a time",
    "W-7": "managed certificates are told of and not retried",
    "W-8": "one bad Node blocks no other, and limits choose no one at random",
    "W-9": "nobody takes a load balancer from a living owner",
    "W-10": "nothing for what is equal; what collides, and what makes room, goes first",
    "W-11": "a type out of sale is looked after",
    "W-12": "a class makes a Service another controller's",
    "W-13": "https health checks are http with TLS",
    "W-14": "one server is one target",
    "W-15": "deletion needs no valid annotation",
    "W-16": "defaults are read as annotations are",
    "W-17": "an empty name is none",
    "W-19": "an adoption says what it takes away",
    "W-20": "health checks can ask kube-proxy",
}
"""Rules that the core decides, or has a share in: each has a case."""

ELSEWHERE: Mapping[str, str] = {
    "SVC-6": "writes: tests/unit/actuators/test_services.py",
    "TRG-1": "no cache: each pass looks at everything, see tests/unit/reconciler/test_cycle_balancers.py",
    "TRG-2": "no cache: each pass looks at everything",
    "ID-3": "no update of targets alone: each pass looks at everything",
    "LB-5": "actuator: tests/unit/actuators/test_load_balancer_network.py",
    "TGT-5": "Robot",
    "TGT-6": "Robot",
    "TGT-7": "Robot",
    "TGT-8": "Robot",
    "TGT-10": "actuator: tests/unit/actuators/test_load_balancer_targets.py",
    "TGT-11": "Robot",
    "RT-1": "process: tests/unit/reconciler/test_loop.py",
    "RT-2": "lanes: tests/unit/actuators/test_apply.py",
    "RT-3": "client: tests/unit/actuators/test_retry.py",
    "RT-4": "client: tests/unit/actuators/test_retry.py",
    "RT-5": "client: tests/unit/actuators/test_hetzner_client.py",
    "W-18": "events: tests/unit/reconciler/test_service_events.py, tests/unit/reconciler/test_announcements.py",
}
"""Every other rule, with the reason why it has no case below ``tests/unit/desired``."""

BALANCER_RULES = Rules("balancer_covers", HERE, ELSEWHERE)
"""All of them."""
