"""What each row of the guards says. Wording is asserted here, and nowhere else."""

import re

import pytest

from desired.rules.rule import Plain, Rule
from tests.support.rules import facts_of, rules_by_table

SENTENCES = """
cluster-unread: cannot read the UID of the cluster (nothing is written to Hetzner): 503
list-incomplete: list of servers is incomplete: 503
project-unverified: cannot verify the project of HCLOUD_TOKEN: 1 of 2 required servers found, 3 unreadable
removals-unverified: cannot verify the project of HCLOUD_TOKEN for removals: 2 Nodes unreadable
project-ids-unread: cannot read the recorded ids of the project: 503
adoption-unclear: cannot determine what adoption removes from load balancer 7 web: 503
controller-runs: another cloud controller (hcloud-cloud-controller-manager) is running: Deployment kube-system/ccm;
    scale it to 0 or delete it
controller-unknown: cannot determine whether another cloud controller is running: 503
project-mismatch: 1 of 4 Ready Nodes have their server in the project of HCLOUD_TOKEN (at least 2 needed); check the
    token, or approve if the servers were deleted
robot-mismatch: 1 of 4 Nodes have their server in the account of ROBOT_USER (at least 2 needed); check ROBOT_USER, or
    approve if the servers were returned to Hetzner
project-unknown: no Node is Ready; 0 of 4 servers and no other object of the cluster found in the project of
    HCLOUD_TOKEN; check the token, or approve if all servers were deleted or replaced
served-elsewhere: no load balancer in the project of HCLOUD_TOKEN has an address that Services publish; check the token,
    or approve if the load balancers were deleted
project-empty: no Node is Ready; no object of the cluster found in the project of HCLOUD_TOKEN; check the token, or
    approve if all objects were deleted
not-reporting: 3 of 4 Nodes stopped reporting (at least 3 must report); their servers are running; approve if no other
    cluster uses these servers (this may be a copy, such as a restored backup)
heartbeats-stale: 3 of 4 Nodes stopped reporting (at least 3 must report), 2 of them Ready with a heartbeat older than
    100 minutes; their servers are running; approve if no other cluster uses these servers (this may be a copy, such as
    a restored backup), or have kubelets report more often (nodeStatusReportFrequency)
none-ready: 0 of 4 Nodes are Ready, although 3 of their servers run; approve if no other cluster uses these servers
    (this may be a copy, such as a restored backup)
none-fresh: 0 of 4 Nodes are Ready with a heartbeat within 100 minutes, although 3 of their servers run; approve if no
    other cluster uses these servers (this may be a copy, such as a restored backup), or have kubelets report more often
    (nodeStatusReportFrequency)
targets-without-nodes: 3 of 4 servers stopped reporting, 2 of them without a Node (at least 3 must report); approve if
    no other cluster uses these servers (this may be a copy, such as a restored backup), or have kubelets report more
    often (nodeStatusReportFrequency)
only-targets-run: 0 of 4 Nodes are Ready; 2 running targets without a Node; approve if no other cluster uses these
    servers (this may be a copy, such as a restored backup), or have kubelets report more often
    (nodeStatusReportFrequency)
additions-wait: 0 of 4 Nodes report; the cluster may be a copy, such as a restored backup
absence-unproven: no proof that the server is gone
servers-incomplete: list of servers is incomplete: 503
server-exists: server 12 exists
server-unknown: cannot determine whether server 12 exists: 503
lookup-failed: lookup of server 12 by id failed: 503
lookup-pending: lookup of server 12 by id is pending
list-too-old: list of Robot servers is too old to prove that server 12 is gone
not-ready-too-short: Node must be NotReady for 20 minutes
node-too-young: Node must be older than 20 minutes
clocks-differ: clock of Kubernetes is about 60 minutes ahead of Hetzner and this machine; deletions by age wait and
    approvals in the ConfigMap do not count; synchronize the machines by NTP, the control plane first
api-servers-differ: clocks of the API servers differ by about 10 days; deletions by age wait and approvals in the
    ConfigMap do not count; synchronize the machines by NTP, the control plane first
machine-clock-off: clock of this machine is about 60 minutes ahead of Kubernetes and Hetzner; no change waits for it;
    synchronize the machine by NTP
heartbeats-uncertain: heartbeats of most Nodes are too old if the clock that is about 60 minutes ahead is right;
    synchronize the machines by NTP, the control plane first
nodes-lost: 2 of 4 Nodes lost their servers without a drain (limit 1); cordon Nodes before deleting their servers (Nodes
    that are NotReady for 20 minutes count as planned removals), or approve if intended
nodes-lost-or-unread: 2 of 4 Nodes lost their servers without a drain or cannot be read (limit 1); cordon Nodes before
    deleting their servers (Nodes that are NotReady for 20 minutes count as planned removals), or approve if intended
nodes-and-control-plane-lost: 2 of 4 Nodes lost their servers without a drain (limit 1), and no Node of the control
    plane is known to remain; cordon Nodes before deleting their servers, or approve if intended
control-plane-lost: no Node of the control plane is known to remain; approve if intended
network-remembered: HCLOUD_NETWORK is 'private', and the project has no network of that name or id; network 7 backbone
    stays in use; correct HCLOUD_NETWORK
settings-changed: changed settings: HCLOUD_NETWORK 7 -> 8
by-default: HCLOUD_NETWORK alone would interrupt, expose, reduce or republish node/web-1; restore the setting, decide by
    an annotation, or approve if intended
addresses-lost: 2 of 4 Nodes would lack an address (limit 1); check HCLOUD_NETWORK and HCLOUD_INSTANCES_ADDRESS_FAMILY,
    or approve if intended
closed-to-pods: 2 of 4 Nodes would be closed to pods by NetworkUnavailable (limit 1); check HCLOUD_NETWORK and the
    servers' attachments to it, or approve if intended
adoption-removes: adoption of load balancer 7 web would remove listener 8080, target server:9; approve to adopt it
adoption-in-doubt: load balancer 7 web may be another owner's: labeled with unknown Service UID uid-1; approve to
    adopt it
published-address-lost: Service default/web would stop publishing the address of load balancer 7 web, still in use (1
    listener and 2 targets); to keep it, label it for the Service: hcloud load-balancer add-label --overwrite 7
    hcloud-ccm/service-uid=uid-1
wanted-addresses-lost: Service default/web still uses this load balancer and would lose its addresses; approve if
    intended
unreleased-deleted: load balancer 7 web was not released by its deleted Service (UID uid-1) and may be in use; approve
    its deletion, or protect it against deletion
ended-without-finalizer: load balancer 7 web is not needed by Service default/web by its label hcloud-ccm/service-uid,
    but the Service lacks finalizer service.kubernetes.io/load-balancer-cleanup; approve its end, or take the label off
    to keep it
address-assigned: Primary IP 7 web (198.51.100.7) is assigned to server 9; unassign it there, or name another one
address-of-older-service: Primary IP 7 web (198.51.100.7) goes to the older Service default/web; name another one
address-of-unreleased: Primary IP 7 web (198.51.100.7) is assigned to load balancer 7 web until its deletion is approved
    (ip-loss)
address-of-releasing: Primary IP 7 web (198.51.100.7) is assigned to load balancer 7 web (being released with Service
    default/web)
address-of-kept: Primary IP 7 web (198.51.100.7) is assigned to load balancer 7 web (released and kept); delete it to
    free the address (reconcile orphans, 7)
too-few-answer: load balancer 7 web would have 1 of 4 healthy targets at port 80 (at least 2 needed): Node web-1 is not
    a target; check the Nodes and settings, or approve if an outage is acceptable
too-few-answer-meanwhile: load balancer 7 web would have 1 of 4 healthy targets at port 80 during the changes (at least
    2 needed): Node web-1 is not a target; check the Nodes and settings, or approve if an outage is acceptable
too-few-of-provider: load balancer 7 web would keep 1 of 4 targets at Hetzner cloud (at least 2 needed): Node web-1 is
    not a target; check the Nodes and settings, or approve if an outage is acceptable
none-answers: load balancer 7 web would have 0 of 4 healthy targets: Node web-1 is not a target; check the Nodes and
    settings, or approve if an outage is acceptable
no-target-left: load balancer 7 web would keep 0 of 4 targets with existing servers: Node web-1 is not a target; check
    the Nodes and settings, or approve if an outage is acceptable
targets-of-others: load balancer 7 web would lose 2 targets of other owners: Node web-1 is not a target; check the Nodes
    and settings, or approve if an outage is acceptable
targets-of-others-meanwhile: load balancer 7 web would lose 2 targets of other owners during the changes: Node web-1 is
    not a target; check the Nodes and settings, or approve if an outage is acceptable
targets-not-added: load balancer 7 web would have too few targets until load_balancer/default/web/target/server:2 can be
    added
newcomers-unhealthy: load balancer 7 web keeps 2 former targets, as new targets are unhealthy (2 targets); check
    firewalls (of Hetzner and on the servers), node ports, externalTrafficPolicy and the private network, or approve to
    remove all former targets at once
newcomers-unchecked: new targets of load balancer 7 web are not healthy yet
way-in-use: some targets of load balancer 7 web still depend on this connection
new-balancer-public: 2 of 3 other load balancers are internal, and the new one of Service default/web would be public by
    default; set load-balancer.hetzner.cloud/disable-public-network on Service default/web to true or false
new-balancer-exposed: Service default/web publishes private addresses only, and its new load balancer would be public;
    set load-balancer.hetzner.cloud/disable-public-network on Service default/web to true or false
routes-lost: 2 of the 4 routes of the last hour within 10.244.0.0/16 would be gone (limit 1); check --cluster-cidr and
    the Nodes' pod CIDRs, or approve if intended
route-of-server: route 10.244.3.0/24 leads to server 12, and no Node has that pod CIDR; approve if the route is unused
route-of-wrong-server: route 10.244.3.0/24 leads to server 12, and Node web-1 has that pod CIDR; approve if the route is
    unused
reverted: reverted 3 times since 2026-07-01 12:00 UTC; find the other writer
service-reverted: reverted 3 times since 2026-07-01 12:00 UTC; disable the other writer (Cilium
    defaultLBServiceIPAM=none, k3s --disable servicelb) or set loadBalancerClass
service-reverted-by: also written by 'cilium-operator', reverted 3 times since 2026-07-01 12:00 UTC; disable the other
    writer (Cilium defaultLBServiceIPAM=none, k3s --disable servicelb) or set loadBalancerClass
condition-reverted: reverted 3 times since 2026-07-01 12:00 UTC; set HCLOUD_NETWORK_ROUTES_ENABLED=false if the network
    plug-in creates the routes
condition-reverted-by: also written by 'cilium-operator', reverted 3 times since 2026-07-01 12:00 UTC; set
    HCLOUD_NETWORK_ROUTES_ENABLED=false if the network plug-in creates the routes
failed: failed: 503
failed-again: failed 3 times in a row, last with: 503
not-visible: applied 3 times; not yet visible in the API
kind-refused: Hetzner refused another change of this kind; retried one at a time: 503
volumes-attached: 2 volumes still attached to the Node; deleted once detached, at most 20 minutes after the
    out-of-service taint
volumes-unread: cannot determine whether volumes are attached to the Node: 503; deleted 20 minutes after the
    out-of-service taint
excluded-by-policy: excluded by --policy observe
withheld-before: withheld at the start of this pass; the next pass decides again
pace: passes are further apart than usual, as less than a fifth of the project's 3600 requests an hour is left; slow
    down the client that sends the most, or give each cluster a project of its own
excluded-by-only: excluded by --only node/a, node/b
not-agreed: not in saved plan 'plan.json'; skipped
agreed-part: 2 changes skipped, not in saved plan 'plan.json': node/a, node/b
unneeded: 2 changes of saved plan 'plan.json' no longer needed: node/a, node/b
only-part: limited to node/a, node/b by --only; 1 other change left out
unknown-key: --only node/x: no such object
unknown-key-near: --only node/x: no such object; nearest: node/a, node/b
blocked: blocked by node/a (held)
not-needed: not needed until node/a is allowed (held)
made-together: made together with node/a (held)
"""
"""A row's name with its whole sentence, the remedy last."""
FACTS: dict[str, Plain] = {
    "added": "load_balancer/default/web/target/server:2",
    "address": "Primary IP 7 web (198.51.100.7)",
    "age": "100 minutes",
    "annotation": "load-balancer.hetzner.cloud/disable-public-network",
    "apart": "about 60 minutes ahead of",
    "assignee": "load balancer 7 web",
    "balancer": "load balancer 7 web",
    "by": "ccm-0",
    "cause": "Node web-1 is not a target",
    "change": "node/a",
    "changes": "1 other change",
    "cidr": "10.244.0.0/16",
    "closed": 2,
    "clock": "Kubernetes",
    "command": "hcloud load-balancer add-label --overwrite 7 hcloud-ccm/service-uid=uid-1",
    "counted": 4,
    "destination": "10.244.3.0/24",
    "doubt": "labeled with unknown Service UID uid-1",
    "enough": 3,
    "error": "503",
    "factor": 6,
    "finalizer": "service.kubernetes.io/load-balancer-cleanup",
    "found": 1,
    "guard": "back-off",
    "id": 7,
    "image": "hcloud-cloud-controller-manager",
    "kept": "2 former targets",
    "key": "node/x",
    "keys": "node/a, node/b",
    "label": "hcloud-ccm/service-uid",
    "least": 2,
    "left": 1,
    "limit": 1,
    "list": "servers",
    "lost": 2,
    "most": 4,
    "needed": 2,
    "node": "web-1",
    "nodes": 4,
    "not_reporting": 3,
    "object": "node/web-1",
    "objects": 2,
    "others": "Hetzner and this machine",
    "own": 40,
    "parts": "listener 8080, target server:9",
    "plan": "saved plan 'plan.json'",
    "policy": "observe",
    "port": 443,
    "project": "the project of HCLOUD_TOKEN",
    "running": 3,
    "scope": "port 80",
    "server": "server 12",
    "service": "default/web",
    "setting": "HCLOUD_NETWORK",
    "settings": "HCLOUD_NETWORK 7 -> 8",
    "since": "2026-07-01 12:00 UTC",
    "stale": 2,
    "state": "held",
    "targets": "2 targets",
    "time": "2026-07-01 12:10 UTC",
    "times": "3 times",
    "total": 4000,
    "uid": "uid-1",
    "unread": 3,
    "until": "2026-07-01 13:00 UTC",
    "use": "1 listener and 2 targets",
    "volumes": "2 volumes",
    "wait": "20 minutes",
    "why": "failed: 503",
    "without_node": 2,
    "workloads": "Deployment kube-system/ccm",
    "writer": "'cilium-operator'",
}
"""The example of each fact."""
OTHERS: dict[str, dict[str, Plain]] = {
    "agreed-part": {"changes": "2 changes"},
    "unneeded": {"changes": "2 changes"},
    "only-targets-run": {"targets": "2 running targets"},
    "removals-unverified": {"nodes": "2 Nodes"},
    "machine-clock-off": {"others": "Kubernetes and Hetzner"},
    "api-servers-differ": {"apart": "about 10 days"},
    "heartbeats-uncertain": {"apart": "about 60 minutes"},
    "addresses-lost": {"nodes": "Nodes"},
    "network-remembered": {"wanted": "'private'", "name": "backbone"},
    "by-default": {"settings": "HCLOUD_NETWORK", "objects": "node/web-1"},
    "new-balancer-public": {"counted": 3},
    "address-assigned": {"assignee": "server 9"},
    "pace": {"limit": 3600},
    "too-few-of-provider": {"scope": "cloud"},
}
"""A row's name with those of its facts that are others."""
ROWS = rules_by_table()["guards"] + rules_by_table()["filters"]
SAID = dict(line.split(": ", 1) for line in re.sub(r"\n +", " ", SENTENCES).splitlines() if line)


def test_each_row_has_a_sentence() -> None:
    """In the order of the tables."""
    assert list(SAID) == [row.name for row in ROWS]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_what_a_row_says(row: Rule) -> None:
    """By the facts that its templates name."""
    facts = FACTS | OTHERS.get(row.name, {})
    assert row.text(**{name: facts[name] for name in facts_of(row)}) == SAID[row.name]
