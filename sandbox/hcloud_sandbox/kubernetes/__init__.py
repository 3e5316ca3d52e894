"""A real Kubernetes API server beside the simulated cloud, for what needs all of Kubernetes' API: kubectl in full,
informers, other cloud controllers.

It is the API server alone: kubelets are simulated, and no controllers run, so nothing makes Pods of a Deployment.
"""

from hcloud_sandbox.kubernetes.api_server import ApiServer
from hcloud_sandbox.kubernetes.cluster import Cluster

__all__ = ["ApiServer", "Cluster"]
