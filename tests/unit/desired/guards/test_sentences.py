"""What each row of the guards says, with examples of its facts. Wording is asserted here, and nowhere else."""

from collections.abc import Mapping

import pytest

from desired.rules import filters
from desired.rules import guards as rows
from desired.rules.rule import Plain, Rule
from tests.support.rules import facts_of, rules_by_table

EXAMPLES: tuple[tuple[Rule, Mapping[str, Plain], str], ...] = (
    (rows.CLUSTER_UNREAD, {"error": "503"}, "cannot read the UID of the cluster: 503"),
    (rows.LIST_INCOMPLETE, {"error": "503", "list": "servers"}, "list of servers is incomplete: 503"),
    (
        rows.PROJECT_UNVERIFIED,
        {"found": 1, "needed": 2, "project": "the project of HCLOUD_TOKEN", "unread": 3},
        "cannot verify the project of HCLOUD_TOKEN: 1 of 2 required servers found, 3 unreadable",
    ),
    (
        rows.REMOVALS_UNVERIFIED,
        {"nodes": "2 Nodes"},
        "cannot verify the project of HCLOUD_TOKEN for removals: 2 Nodes unreadable",
    ),
    (rows.PROJECT_IDS_UNREAD, {"error": "503"}, "cannot read the recorded ids of the project: 503"),
    (
        rows.ADOPTION_UNCLEAR,
        {"balancer": "load balancer 7 web", "error": "503"},
        "cannot determine what adoption removes from load balancer 7 web: 503",
    ),
    (
        rows.CONTROLLER_RUNS,
        {"image": "hcloud-cloud-controller-manager", "workloads": "Deployment kube-system/ccm"},
        (
            "another cloud controller (hcloud-cloud-controller-manager) is running: Deployment kube-system/ccm; "
            "scale it to 0 or delete it"
        ),
    ),
    (rows.CONTROLLER_UNKNOWN, {"error": "503"}, "cannot determine whether another cloud controller is running: 503"),
    (
        rows.PROJECT_MISMATCH,
        {"found": 1, "most": 4},
        (
            "1 of 4 Ready Nodes have their server in the project of HCLOUD_TOKEN; check the token, or approve if "
            "the servers were deleted"
        ),
    ),
    (
        rows.ROBOT_MISMATCH,
        {"found": 1, "most": 4},
        (
            "1 of 4 Nodes have their server in the account of ROBOT_USER; check ROBOT_USER, or approve if the "
            "servers were returned to Hetzner"
        ),
    ),
    (
        rows.PROJECT_UNKNOWN,
        {"most": 4},
        (
            "no Node is Ready; 0 of 4 servers and no other object of the cluster found in the project of "
            "HCLOUD_TOKEN; check the token, or approve if all servers were deleted or replaced"
        ),
    ),
    (
        rows.SERVED_ELSEWHERE,
        {},
        (
            "no load balancer in the project of HCLOUD_TOKEN has an address that Services publish; check the "
            "token, or approve if the load balancers were deleted"
        ),
    ),
    (
        rows.PROJECT_EMPTY,
        {},
        (
            "no Node is Ready; no object of the cluster found in the project of HCLOUD_TOKEN; check the token, or "
            "approve if all objects were deleted"
        ),
    ),
    (
        rows.NOT_REPORTING,
        {"counted": 4, "not_reporting": 3},
        (
            "3 of 4 Nodes stopped reporting; their servers are running; approve if no other cluster uses these "
            "servers (this may be a copy, such as a restored backup)"
        ),
    ),
    (
        rows.HEARTBEATS_STALE,
        {"age": "100 minutes", "counted": 4, "not_reporting": 3, "stale": 2},
        (
            "3 of 4 Nodes stopped reporting, 2 of them Ready with a heartbeat older than 100 minutes; their "
            "servers are running; approve if no other cluster uses these servers (this may be a copy, such as a "
            "restored backup), or have kubelets report more often (nodeStatusReportFrequency)"
        ),
    ),
    (
        rows.NONE_READY,
        {"nodes": 4, "running": 3},
        (
            "0 of 4 Nodes are Ready; 3 of their servers are running; approve if no other cluster uses these "
            "servers (this may be a copy, such as a restored backup)"
        ),
    ),
    (
        rows.NONE_FRESH,
        {"age": "100 minutes", "nodes": 4, "running": 3},
        (
            "0 of 4 Nodes are Ready with a heartbeat within 100 minutes; 3 of their servers are running; approve "
            "if no other cluster uses these servers (this may be a copy, such as a restored backup), or have "
            "kubelets report more often (nodeStatusReportFrequency)"
        ),
    ),
    (
        rows.TARGETS_WITHOUT_NODES,
        {"counted": 4, "not_reporting": 3, "without_node": 2},
        (
            "3 of 4 servers do not report, 2 of them load balancer targets without a Node; approve if no other "
            "cluster uses these servers (this may be a copy, such as a restored backup), or have kubelets report "
            "more often (nodeStatusReportFrequency)"
        ),
    ),
    (
        rows.ONLY_TARGETS_RUN,
        {"nodes": 4, "without_node": 2},
        (
            "0 of 4 Nodes are Ready; 2 running load balancer targets have no Node; approve if no other cluster "
            "uses these servers (this may be a copy, such as a restored backup), or have kubelets report more "
            "often (nodeStatusReportFrequency)"
        ),
    ),
    (rows.ADDITIONS_WAIT, {"nodes": 4}, "0 of 4 Nodes report; the cluster may be a copy, such as a restored backup"),
    (rows.ABSENCE_UNPROVEN, {}, "no proof that the server is gone"),
    (rows.SERVERS_INCOMPLETE, {"error": "503"}, "list of servers is incomplete: 503"),
    (rows.SERVER_EXISTS, {"server": "server 12"}, "server 12 exists"),
    (rows.SERVER_UNKNOWN, {"error": "503", "server": "server 12"}, "cannot determine whether server 12 exists: 503"),
    (rows.LOOKUP_FAILED, {"error": "503", "server": "server 12"}, "lookup of server 12 by id failed: 503"),
    (rows.LOOKUP_PENDING, {"server": "server 12"}, "lookup of server 12 by id is pending"),
    (rows.LIST_TOO_OLD, {"server": "server 12"}, "list of Robot servers is too old to prove that server 12 is gone"),
    (rows.NOT_READY_TOO_SHORT, {"wait": "20 s"}, "Node must be NotReady for 20 s"),
    (rows.NODE_TOO_YOUNG, {"wait": "120 s"}, "Node must be older than 120 s"),
    (
        rows.CLOCKS_DIFFER,
        {"apart": "about 60 minutes ahead of", "clock": "Kubernetes", "others": "Hetzner and this machine"},
        (
            "clock of Kubernetes is about 60 minutes ahead of Hetzner and this machine; deletions by age wait and "
            "approvals in the ConfigMap do not count; synchronize the machines by NTP, the control plane first"
        ),
    ),
    (
        rows.API_SERVERS_DIFFER,
        {"apart": "about 10 days"},
        (
            "clocks of the API servers differ by about 10 days; deletions by age wait and approvals in the "
            "ConfigMap do not count; synchronize the machines by NTP, the control plane first"
        ),
    ),
    (
        rows.MACHINE_CLOCK_OFF,
        {"apart": "about 60 minutes ahead of", "others": "Kubernetes and Hetzner"},
        (
            "clock of this machine is about 60 minutes ahead of Kubernetes and Hetzner; nothing waits for it; "
            "synchronize the machine by NTP"
        ),
    ),
    (
        rows.HEARTBEATS_UNCERTAIN,
        {"apart": "about 60 minutes"},
        (
            "heartbeats of most Nodes are too old if the clock that is about 60 minutes ahead is right; synchronize "
            "the machines by NTP, the control plane first"
        ),
    ),
    (
        rows.NODES_LOST,
        {"lost": 2, "most": 4, "wait": "30 minutes"},
        (
            "2 of 4 Nodes lost their servers without a drain; cordon Nodes before deleting their servers (Nodes "
            "that are NotReady for 30 minutes count as planned removals), or approve if intended"
        ),
    ),
    (
        rows.NODES_LOST_OR_UNREAD,
        {"lost": 2, "most": 4, "wait": "30 minutes"},
        (
            "2 of 4 Nodes lost their servers without a drain or cannot be read; cordon Nodes before deleting "
            "their servers (Nodes that are NotReady for 30 minutes count as planned removals), or approve if "
            "intended"
        ),
    ),
    (
        rows.NODES_AND_CONTROL_PLANE_LOST,
        {"lost": 2, "most": 4},
        (
            "2 of 4 Nodes lost their servers without a drain, and no Node of the control plane would remain; "
            "cordon Nodes before deleting their servers, or approve if intended"
        ),
    ),
    (rows.CONTROL_PLANE_LOST, {}, "no Node of the control plane would remain; approve if intended"),
    (rows.FORMER_SETTINGS_UNREAD, {"error": "503"}, "cannot read the former settings: 503"),
    (
        rows.SETTINGS_TAKE,
        {"objects": 2, "settings": "HCLOUD_NETWORK 7 -> 8"},
        (
            "2 objects would be interrupted, reduced or made public by changed settings: HCLOUD_NETWORK 7 -> 8; "
            "restore the settings, or approve if the change was intended"
        ),
    ),
    (
        rows.SETTINGS_INTERRUPT,
        {"object": "node/web-1", "settings": "HCLOUD_NETWORK 7 -> 8"},
        (
            "node/web-1 would briefly have no healthy target by changed settings: HCLOUD_NETWORK 7 -> 8; restore "
            "the settings, or approve if the change was intended"
        ),
    ),
    (rows.SETTINGS_DIFFER, {"settings": "HCLOUD_NETWORK 7 -> 8"}, "changed settings: HCLOUD_NETWORK 7 -> 8"),
    (
        rows.ADDRESSES_LOST,
        {"lost": 2, "most": 4, "nodes": "Nodes", "setting": "HCLOUD_NETWORK"},
        (
            "2 of 4 Nodes would lack an address; check HCLOUD_NETWORK and HCLOUD_INSTANCES_ADDRESS_FAMILY, or "
            "approve if intended"
        ),
    ),
    (
        rows.CLOSED_TO_PODS,
        {"lost": 2, "most": 4},
        (
            "2 of 4 Nodes would be closed to pods (NetworkUnavailable); check HCLOUD_NETWORK and the servers' "
            "attachments to it, or approve if intended"
        ),
    ),
    (
        rows.ADOPTION_REMOVES,
        {"balancer": "load balancer 7 web", "parts": "listener 8080, target server:9"},
        "adoption of load balancer 7 web would remove listener 8080, target server:9; approve to adopt it",
    ),
    (
        rows.ADOPTION_OF_UNKNOWN_REMOVES,
        {"balancer": "load balancer 7 web", "parts": "listener 8080, target server:9", "uid": "uid-1"},
        (
            "adoption of load balancer 7 web, labeled with unknown Service UID uid-1, would remove listener 8080, "
            "target server:9; approve to adopt it"
        ),
    ),
    (
        rows.ADOPTION_OF_RESERVED_REMOVES,
        {"balancer": "load balancer 7 web", "former": "Service prod/shop", "parts": "listener 8080, target server:9"},
        (
            "adoption of load balancer 7 web, reserved for Service prod/shop, would remove listener 8080, target "
            "server:9; approve to adopt it"
        ),
    ),
    (
        rows.BALANCER_OF_UNKNOWN,
        {"balancer": "load balancer 7 web", "uid": "uid-1"},
        "load balancer 7 web is labeled with unknown Service UID uid-1; approve to adopt it",
    ),
    (
        rows.BALANCER_RESERVED,
        {"balancer": "load balancer 7 web", "former": "Service prod/shop"},
        "load balancer 7 web is reserved for Service prod/shop; approve to adopt it",
    ),
    (
        rows.BALANCER_RESERVED_UNTIL,
        {"balancer": "load balancer 7 web", "former": "Service prod/shop", "time": "2026-07-01 12:10:00 UTC"},
        "load balancer 7 web is reserved for Service prod/shop until 2026-07-01 12:10:00 UTC; approve to adopt it",
    ),
    (
        rows.BALANCER_IN_USE,
        {"balancer": "load balancer 7 web", "use": "1 listener and 2 targets"},
        "load balancer 7 web is in use (1 listener and 2 targets) and has no owner label; approve to adopt it",
    ),
    (
        rows.BALANCER_IN_USE_RELEASED,
        {"balancer": "load balancer 7 web", "former": "Service prod/shop", "use": "1 listener and 2 targets"},
        (
            "load balancer 7 web is in use (1 listener and 2 targets) and was released with Service prod/shop; "
            "approve to adopt it"
        ),
    ),
    (
        rows.RETAINED,
        {"time": "2026-07-01 12:10:00 UTC"},
        "kept until 2026-07-01 12:10:00 UTC for a Service of the same namespace and name",
    ),
    (rows.CLAIMANT_UNREAD, {"error": "503"}, "cannot read a Service that may claim it: 503"),
    (
        rows.PUBLISHED_ADDRESS_LOST,
        {
            "balancer": "load balancer 7 web",
            "command": "hcloud load-balancer add-label --overwrite 7 hcloud-ccm/service-uid=uid-1",
            "service": "default/web",
            "use": "1 listener and 2 targets",
        },
        (
            "Service default/web would stop publishing the address of load balancer 7 web, which is in use (1 "
            "listener and 2 targets); to keep it, label it for the Service: hcloud load-balancer add-label "
            "--overwrite 7 hcloud-ccm/service-uid=uid-1"
        ),
    ),
    (
        rows.WANTED_ADDRESSES_LOST,
        {"service": "default/web"},
        "Service default/web still uses this load balancer and would lose its addresses; approve if intended",
    ),
    (
        rows.RETURNED_ADDRESSES_LOST,
        {"service": "default/web"},
        (
            "Service default/web was created again and would lose the addresses of its former load balancer; "
            "delete its new load balancer to get the former one back, or approve"
        ),
    ),
    (
        rows.UNRELEASED_DELETED,
        {"balancer": "load balancer 7 web", "uid": "uid-1"},
        (
            "load balancer 7 web was not released by its deleted Service (UID uid-1) and may be in use; approve "
            "its deletion, or protect it against deletion"
        ),
    ),
    (
        rows.ADDRESS_ASSIGNED,
        {"address": "Primary IP 7 web (198.51.100.7)", "assignee": "server 9"},
        "Primary IP 7 web (198.51.100.7) is assigned to server 9; unassign it there, or name another one",
    ),
    (
        rows.ADDRESS_OF_OLDER_SERVICE,
        {"address": "Primary IP 7 web (198.51.100.7)", "service": "default/web"},
        "Primary IP 7 web (198.51.100.7) goes to the older Service default/web; name another one",
    ),
    (
        rows.ADDRESS_OF_UNRELEASED,
        {"address": "Primary IP 7 web (198.51.100.7)", "assignee": "load balancer 7 web"},
        "Primary IP 7 web (198.51.100.7) is assigned to load balancer 7 web, whose deletion needs approval (ip-loss)",
    ),
    (
        rows.ADDRESS_OF_RETAINED,
        {
            "address": "Primary IP 7 web (198.51.100.7)",
            "assignee": "load balancer 7 web",
            "time": "2026-07-01 12:10:00 UTC",
        },
        (
            "Primary IP 7 web (198.51.100.7) is assigned to load balancer 7 web, which is deleted after "
            "2026-07-01 12:10:00 UTC"
        ),
    ),
    (
        rows.ADDRESS_OF_RELEASING,
        {"address": "Primary IP 7 web (198.51.100.7)", "assignee": "load balancer 7 web", "service": "default/web"},
        (
            "Primary IP 7 web (198.51.100.7) is assigned to load balancer 7 web, which is being released with "
            "Service default/web"
        ),
    ),
    (
        rows.ADDRESS_OF_KEPT,
        {"address": "Primary IP 7 web (198.51.100.7)", "assignee": "load balancer 7 web", "id": 7},
        (
            "Primary IP 7 web (198.51.100.7) is assigned to load balancer 7 web, which was released and stays; "
            "delete it to free the address (reconcile orphans, 7)"
        ),
    ),
    (
        rows.LISTENER_LOSS,
        {
            "balancer": "load balancer 7 web",
            "drop": "protocol: tcp",
            "keep": "protocol: https",
            "losses": "clients get no TLS",
            "port": 443,
            "service": "default/web",
        },
        (
            "Service default/web does not ask for this change of port 443 of load balancer 7 web: clients get no "
            "TLS; set protocol: https to keep it, or set protocol: tcp or approve to drop it"
        ),
    ),
    (
        rows.LISTENER_LOSS_TO_KEEP,
        {
            "balancer": "load balancer 7 web",
            "keep": "protocol: https",
            "losses": "clients get no TLS",
            "port": 443,
            "service": "default/web",
        },
        (
            "Service default/web does not ask for this change of port 443 of load balancer 7 web: clients get no "
            "TLS; set protocol: https to keep it, or approve to drop it"
        ),
    ),
    (
        rows.LISTENER_LOSS_TO_DROP,
        {
            "balancer": "load balancer 7 web",
            "drop": "protocol: tcp",
            "losses": "clients get no TLS",
            "port": 443,
            "service": "default/web",
        },
        (
            "Service default/web does not ask for this change of port 443 of load balancer 7 web: clients get no "
            "TLS; set protocol: tcp or approve to drop it"
        ),
    ),
    (
        rows.LISTENER_LOSS_TO_APPROVE,
        {"balancer": "load balancer 7 web", "losses": "clients get no TLS", "port": 443, "service": "default/web"},
        (
            "Service default/web does not ask for this change of port 443 of load balancer 7 web: clients get no "
            "TLS; approve to drop it"
        ),
    ),
    (
        rows.TOO_FEW_ANSWER,
        {
            "balancer": "load balancer 7 web",
            "cause": "Node web-1 is not a target",
            "left": 1,
            "most": 4,
            "scope": "port 80",
        },
        (
            "load balancer 7 web would have 1 of 4 healthy targets at port 80: Node web-1 is not a target; check "
            "the Nodes and settings, or approve if an outage is acceptable"
        ),
    ),
    (
        rows.TOO_FEW_ANSWER_MEANWHILE,
        {
            "balancer": "load balancer 7 web",
            "cause": "Node web-1 is not a target",
            "left": 1,
            "most": 4,
            "scope": "port 80",
        },
        (
            "load balancer 7 web would have 1 of 4 healthy targets at port 80 during the changes: Node web-1 is "
            "not a target; check the Nodes and settings, or approve if an outage is acceptable"
        ),
    ),
    (
        rows.TOO_FEW_OF_PROVIDER,
        {
            "balancer": "load balancer 7 web",
            "cause": "Node web-1 is not a target",
            "left": 1,
            "most": 4,
            "scope": "cloud",
        },
        (
            "load balancer 7 web would keep 1 of 4 targets at Hetzner cloud: Node web-1 is not a target; check "
            "the Nodes and settings, or approve if an outage is acceptable"
        ),
    ),
    (
        rows.NONE_ANSWERS,
        {"balancer": "load balancer 7 web", "cause": "Node web-1 is not a target", "most": 4},
        (
            "load balancer 7 web would have 0 of 4 healthy targets: Node web-1 is not a target; check the Nodes "
            "and settings, or approve if an outage is acceptable"
        ),
    ),
    (
        rows.NO_TARGET_LEFT,
        {"balancer": "load balancer 7 web", "cause": "Node web-1 is not a target", "most": 4},
        (
            "load balancer 7 web would keep 0 of 4 targets with existing servers: Node web-1 is not a target; "
            "check the Nodes and settings, or approve if an outage is acceptable"
        ),
    ),
    (
        rows.TARGETS_OF_OTHERS,
        {"balancer": "load balancer 7 web", "cause": "Node web-1 is not a target", "targets": "2 targets"},
        (
            "load balancer 7 web would lose 2 targets of other owners: Node web-1 is not a target; check the "
            "Nodes and settings, or approve if an outage is acceptable"
        ),
    ),
    (
        rows.TARGETS_OF_OTHERS_MEANWHILE,
        {"balancer": "load balancer 7 web", "cause": "Node web-1 is not a target", "targets": "2 targets"},
        (
            "load balancer 7 web would lose 2 targets of other owners during the changes: Node web-1 is not a "
            "target; check the Nodes and settings, or approve if an outage is acceptable"
        ),
    ),
    (
        rows.TARGETS_NOT_ADDED,
        {"added": "load_balancer/default/web/target/server:2", "balancer": "load balancer 7 web"},
        "load balancer 7 web would have too few targets until load_balancer/default/web/target/server:2 can be added",
    ),
    (
        rows.NEWCOMERS_UNHEALTHY,
        {"balancer": "load balancer 7 web", "kept": 2, "targets": "server:1, server:2"},
        (
            "load balancer 7 web has unhealthy new targets (server:1, server:2); 2 former targets stay; check "
            "firewalls (of Hetzner and on the servers), node ports, externalTrafficPolicy and the private "
            "network, or approve to remove all former targets at once"
        ),
    ),
    (
        rows.NEWCOMERS_UNCHECKED,
        {"balancer": "load balancer 7 web"},
        "new targets of load balancer 7 web are not healthy yet",
    ),
    (
        rows.WAY_IN_USE,
        {"balancer": "load balancer 7 web"},
        "some targets of load balancer 7 web still depend on this connection",
    ),
    (
        rows.BALANCER_EXPOSED,
        {
            "annotation": "load-balancer.hetzner.cloud/disable-public-network",
            "balancer": "load balancer 7 web",
            "service": "default/web",
        },
        (
            "load balancer 7 web is internal and would become public; set "
            "load-balancer.hetzner.cloud/disable-public-network on Service default/web to true or false"
        ),
    ),
    (
        rows.NEW_BALANCER_EXPOSED,
        {"annotation": "load-balancer.hetzner.cloud/disable-public-network", "service": "default/web"},
        (
            "Service default/web publishes private addresses only, and its new load balancer would be public; set "
            "load-balancer.hetzner.cloud/disable-public-network on Service default/web to true or false"
        ),
    ),
    (
        rows.ROUTES_LOST,
        {"cidr": "10.244.0.0/16", "lost": 2, "most": 4},
        (
            "2 of 4 routes within 10.244.0.0/16 would be removed while their servers exist; check --cluster-cidr "
            "and the Nodes' pod CIDRs, or approve if intended"
        ),
    ),
    (
        rows.ROUTE_OF_SERVER,
        {"destination": "10.244.3.0/24", "server": "server 12"},
        "route 10.244.3.0/24 leads to server 12, and no Node has that pod CIDR; approve if the route is unused",
    ),
    (
        rows.ROUTE_OF_WRONG_SERVER,
        {"destination": "10.244.3.0/24", "node": "web-1", "server": "server 12"},
        "route 10.244.3.0/24 leads to server 12, and Node web-1 has that pod CIDR; approve if the route is unused",
    ),
    (
        rows.REVERTED,
        {"since": "12:00:00 UTC", "times": 3, "wait": "60 minutes", "window": "10 minutes"},
        "reverted 3 times in 10 minutes (first at 12:00:00 UTC); suspended for 60 minutes; find the other writer",
    ),
    (
        rows.SERVICE_REVERTED,
        {"since": "12:00:00 UTC", "times": 3, "wait": "60 minutes", "window": "10 minutes"},
        (
            "reverted 3 times in 10 minutes (first at 12:00:00 UTC); suspended for 60 minutes; disable the other "
            "writer (Cilium defaultLBServiceIPAM=none, k3s --disable servicelb) or set loadBalancerClass"
        ),
    ),
    (
        rows.SERVICE_REVERTED_BY,
        {
            "since": "12:00:00 UTC",
            "times": 3,
            "wait": "60 minutes",
            "window": "10 minutes",
            "writer": "'cilium-operator'",
        },
        (
            "also written by 'cilium-operator', reverted 3 times in 10 minutes (first at 12:00:00 UTC); suspended "
            "for 60 minutes; disable the other writer (Cilium defaultLBServiceIPAM=none, k3s --disable servicelb) "
            "or set loadBalancerClass"
        ),
    ),
    (
        rows.CONDITION_REVERTED,
        {"since": "12:00:00 UTC", "times": 3, "wait": "60 minutes", "window": "10 minutes"},
        (
            "reverted 3 times in 10 minutes (first at 12:00:00 UTC); suspended for 60 minutes; set "
            "HCLOUD_NETWORK_ROUTES_ENABLED=false if the network plug-in creates the routes"
        ),
    ),
    (
        rows.CONDITION_REVERTED_BY,
        {
            "since": "12:00:00 UTC",
            "times": 3,
            "wait": "60 minutes",
            "window": "10 minutes",
            "writer": "'cilium-operator'",
        },
        (
            "also written by 'cilium-operator', reverted 3 times in 10 minutes (first at 12:00:00 UTC); suspended "
            "for 60 minutes; set HCLOUD_NETWORK_ROUTES_ENABLED=false if the network plug-in creates the routes"
        ),
    ),
    (rows.FAILED, {"error": "503"}, "failed: 503"),
    (rows.FAILED_AGAIN, {"error": "503", "times": 3}, "failed 3 times in a row, last with: 503"),
    (rows.NOT_VISIBLE, {"times": 3}, "applied 3 times; not yet visible in the API"),
    (rows.KIND_REFUSED, {"error": "503"}, "Hetzner refused another change of this kind; retried one at a time: 503"),
    (
        rows.SUSPENDED_ELSEWHERE,
        {"by": "ccm-0", "guard": "back-off", "since": "1 Jul 11:51 UTC", "why": "failed: 503"},
        "suspended by the running controller (ccm-0) since 1 Jul 11:51 UTC: back-off, failed: 503",
    ),
    (
        rows.SUSPENDED_ELSEWHERE_UNTIL,
        {"by": "ccm-0", "guard": "quota", "since": "1 Jul 11:51 UTC", "until": "1 Jul 12:51 UTC", "why": "failed: 503"},
        "suspended by the running controller (ccm-0) since 1 Jul 11:51 UTC, until 1 Jul 12:51 UTC: quota, failed: 503",
    ),
    (rows.EXCLUDED_BY_POLICY, {"policy": "observe"}, "excluded by --policy observe"),
    (rows.WITHHELD_BEFORE, {}, "withheld at the start of this pass; the next pass decides again"),
    (filters.EXCLUDED_BY_ONLY, {"keys": "node/a"}, "excluded by --only node/a"),
    (
        filters.ONLY_PART,
        {"changes": "1 other change", "keys": "node/a, node/b"},
        "limited to node/a, node/b by --only; 1 other change left out",
    ),
    (filters.UNKNOWN_KEY, {"key": "node/x"}, "--only node/x: no such object"),
    (
        filters.UNKNOWN_KEY_NEAR,
        {"key": "node/x", "keys": "node/a, node/b"},
        "--only node/x: no such object; nearest: node/a, node/b",
    ),
    (filters.BLOCKED, {"change": "node/a", "state": "held"}, "blocked by node/a (held)"),
    (filters.NOT_NEEDED, {"change": "node/a", "state": "held"}, "not needed until node/a is allowed (held)"),
    (filters.MADE_TOGETHER, {"change": "node/a", "state": "waiting"}, "made together with node/a (waiting)"),
    (filters.OUTLIVES, {"change": "node/a", "state": "left out"}, "kept until node/a is applied (left out)"),
)


@pytest.mark.parametrize(("row", "facts", "sentence"), EXAMPLES, ids=[row.name for row, _, _ in EXAMPLES])
def test_what_a_row_says(row: Rule, facts: Mapping[str, Plain], sentence: str) -> None:
    """The whole sentence, the remedy last, and no fact that it does not name."""
    assert row.text(**facts) == sentence
    assert facts.keys() == facts_of(row)


def test_each_row_has_an_example() -> None:
    """In the order of the tables."""
    tables = rules_by_table()
    assert tuple(row for row, _, _ in EXAMPLES) == tables["guards"] + tables["filters"]
