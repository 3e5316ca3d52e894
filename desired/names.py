"""Keys that are persisted in other people's clusters and projects, or read by other software.

Changing a value here orphans what earlier versions wrote. Sources: the well-known labels, annotations and taints of
Kubernetes 1.36, and hcloud-cloud-controller-manager 1.35 (HCCM), whose keys are kept.
"""

PROVIDER_ID_CLOUD = "hcloud://"
"""Prefix of a Hetzner Cloud server's providerID. The API server lets no one change it once it is set."""
PROVIDER_ID_ROBOT = "hrobot://"
"""Prefix of a Robot (dedicated) server's providerID."""
PROVIDER_ID_ROBOT_LEGACY = "hcloud://bm-"
"""Prefix that a fork of HCCM wrote for Robot servers; read, never written."""

TAINT_UNINITIALIZED = "node.cloudprovider.kubernetes.io/uninitialized"
"""Set by a kubelet with ``--cloud-provider=external``; keeps pods away until the Node is initialized."""
TAINT_SHUTDOWN = "node.cloudprovider.kubernetes.io/shutdown"
"""On a Node whose server is switched off, effect NoSchedule, no value; kube-controller-manager's cloud loop and HCCM
know it."""
TAINT_OUT_OF_SERVICE = "node.kubernetes.io/out-of-service"
"""On a Node whose machine is off for good, effect NoExecute: Kubernetes then deletes its pods and detaches its volumes
without waiting for the kubelet (KEP-2268). Any value works, and is set by people as well."""
OUT_OF_SERVICE_DELETED = "hcloud-server-deleted"
"""The value by which we know ours: the server was deleted."""
TAINT_CLUSTER_AUTOSCALER = "ToBeDeletedByClusterAutoscaler"
"""Set by the cluster autoscaler before it removes the server."""
TAINT_KARPENTER_DISRUPTED = "karpenter.sh/disrupted"
"""Set by Karpenter before it removes the server."""
TAINTS_OF_AUTOSCALERS = frozenset({TAINT_CLUSTER_AUTOSCALER, TAINT_KARPENTER_DISRUPTED})
"""Set before a server goes away, with any value and effect."""

ANNOTATION_PROVIDED_NODE_IP = "alpha.kubernetes.io/provided-node-ip"
"""The kubelet's ``--node-ip``: one address, or two of different families separated by a comma."""

LABEL_INSTANCE_TYPE = ("beta.kubernetes.io/instance-type", "node.kubernetes.io/instance-type")
LABEL_ZONE = ("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone")
LABEL_REGION = ("failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region")
"""Each pair is the deprecated key and the stable one; HCCM writes both, and so do we."""
LABEL_PROVIDED_BY = "instance.hetzner.cloud/provided-by"
"""``cloud`` or ``robot``."""
LABEL_CONTROL_PLANE = ("node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master")
"""Either of them, with any value, marks a Node of the control plane; the second is the name before Kubernetes 1.20."""

LABEL_EXCLUDE_FROM_BALANCERS = "node.kubernetes.io/exclude-from-external-load-balancers"
"""On a Node that is never a target, unless its value is a boolean false."""

FINALIZER_BALANCER = "service.kubernetes.io/load-balancer-cleanup"
"""Kubernetes' own: a Service that has it keeps existing until its load balancer is gone. HCCM cleans up for whatever
Service bears it."""
FINALIZER_OWN_CLASS = "hcloud-reconciler/load-balancer-cleanup"
"""The same on Services of the class ``OWN_CLASS``; of any other the class stands behind it (``Serving.finalizer``)."""
OWN_CLASS = "hcloud-reconciler/load-balancer"
"""The class with a finalizer that names none."""
CONDITION_NODE_IN_SYNC = "hcloud-reconciler/NodeInSync"
"""On a Node, with ``--node-conditions``: labels, addresses and routes are as they should be. It has a domain as it is
none of Kubernetes' own; node readiness rules name it."""
CONDITION_READY = "LoadBalancerReady"
CONDITION_IN_SYNC = "LoadBalancerInSync"
CONDITION_HEALTHY = "LoadBalancerHealthy"
CONDITIONS = frozenset({CONDITION_READY, CONDITION_IN_SYNC, CONDITION_HEALTHY})

LABEL_SERVICE_UID = "hcloud-ccm/service-uid"
"""At Hetzner: HCCM's label that names the owner of a load balancer or certificate."""
LABEL_OWN_CLASS_UID = "hcloud-reconciler/service-uid"
"""At Hetzner: the same on load balancers of Services of a class, which HCCM does not know."""
LABEL_CLASS = "hcloud-reconciler/load-balancer-class"
"""At Hetzner, beside it: the class (``Serving.class_label``), as several processes may serve one cluster."""
LABEL_CLUSTER_UID = "hcloud-reconciler/cluster-uid"
"""At Hetzner: the cluster, by the UID of its namespace kube-system."""
LABEL_RELEASED = "hcloud-reconciler/released"
"""At Hetzner: when a load balancer was released with its addresses, ``20261122T101500Z``."""
LABEL_ADOPTED = "hcloud-reconciler/adopted"
"""At Hetzner, ``true``: the load balancer was unowned when a Service adopted it. It outlives that Service."""
LABEL_FORMER = "hcloud-reconciler/service"
"""At Hetzner: ``NAMESPACE.NAME`` of the former Service, a digest if that is too long for a label."""
LABEL_DELETE_AFTER = "hcloud-reconciler/delete-after"
"""At Hetzner, from earlier versions: the load balancer was released. Read, never written."""
LABEL_STAGING_CA = "HC-Use-Staging-CA"
"""On a certificate, ``true``: the vendor has it issued by the CA's test environment."""

APPLICATION = "hcloud-reconciler"
"""The product's name: of its ``User-Agent``, and by that of what it writes (``metadata.managedFields``)."""
CONFIG_MAP = "hcloud-reconciler"
"""The controller's ConfigMap, beside the Lease: its record, and the status that the holder of the Lease publishes."""
APPROVALS_CONFIG_MAP = "hcloud-reconciler-approvals"
"""That of people: approvals of holds. The controller only reads it."""
LEASE = "cloud-controller-manager"
"""HCCM's Lease, so that the two never lead at once."""
LEASE_NAMESPACE = "kube-system"
IDENTITY_NAMESPACE = "kube-system"
"""The namespace whose UID is the cluster's identity: it exists from the first second and is never deleted."""
