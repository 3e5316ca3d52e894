"""Which Nodes a load balancer leaves out, whatever their servers are (NODE-1 to NODE-4).

Decided anew in each pass, the Service's selector included (W-4). Whether a Node is Ready, cordoned or of the control
plane has no say: health checks look after the first two, and kubeadm labels the third.
"""

from desired.annotations.options import Options
from desired.annotations.table import BY_FIELD
from desired.grammar import parse_bool
from desired.names import LABEL_EXCLUDE_FROM_BALANCERS, TAINT_CLUSTER_AUTOSCALER
from desired.section import Unmanaged
from desired.snapshot import Node


def why_excluded(node: Node, options: Options) -> str | None:
    """Which rule keeps traffic from the Node, in words; None when it may get some."""
    if node.deleted_at is not None:
        return "it is being deleted"
    if _is_labelled_out(node):
        return f"it has the label {LABEL_EXCLUDE_FROM_BALANCERS}"
    if any(taint.key == TAINT_CLUSTER_AUTOSCALER for taint in node.taints):
        return f"it has the taint {TAINT_CLUSTER_AUTOSCALER}"
    selector = options.node_selector
    if not isinstance(selector, Unmanaged) and not selector.matches(node.labels):
        return f"{BY_FIELD['node_selector'].full_key} is {selector.text!r}, and its labels do not match"
    return None


def _is_labelled_out(node: Node) -> bool:
    """The label alone does it; only a boolean false takes it back (NODE-2)."""
    value = node.labels.get(LABEL_EXCLUDE_FROM_BALANCERS)
    if value is None:
        return False
    try:
        return parse_bool(value)
    except ValueError:
        return True
