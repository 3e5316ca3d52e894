"""Actuators of load balancers: one function for each kind of change, by what it changes.

``lookup`` reads a load balancer just before a write; ``creation``, ``ownership``, ``network``, ``targets`` and
``parts`` write.
"""

from collections.abc import Callable, Mapping

from actuators.load_balancers.creation import create
from actuators.load_balancers.network import write_attachment
from actuators.load_balancers.ownership import adopt, delete, retain, write_identity
from actuators.load_balancers.parts import write_part
from actuators.load_balancers.targets import write_target
from actuators.writers import Writers
from desired.model.snapshot import Snapshot
from desired.plan.change import Change
from desired.plan.kinds import ChangeKind

BALANCER_ACTUATORS: Mapping[str, Callable[[Writers, Change, Snapshot], None]] = {
    ChangeKind.LB_CREATE: create,
    ChangeKind.LB_ADOPT: adopt,
    ChangeKind.LB_IDENTITY: write_identity,
    ChangeKind.LB_TYPE: write_part,
    ChangeKind.LB_ALGORITHM: write_part,
    ChangeKind.LB_RDNS: write_part,
    ChangeKind.LB_NETWORK: write_attachment,
    ChangeKind.LB_PUBLIC_INTERFACE: write_part,
    ChangeKind.LB_LISTENER: write_part,
    ChangeKind.LB_TARGET: write_target,
    ChangeKind.LB_RETAIN: retain,
    ChangeKind.LB_DELETE: delete,
}
"""Kind → its actuator, in the order of the table of kinds. Each raises an ApiError when it could not, TypeError for
sides that are not of its kind, and KeyError for a load balancer that was not observed."""
