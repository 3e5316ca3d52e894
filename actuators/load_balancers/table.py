"""Table of the actuators of load balancers: each kind of change and the function that carries it out."""

from collections.abc import Callable, Mapping

from actuators.load_balancers.creation import create
from actuators.load_balancers.network import write_attachment
from actuators.load_balancers.ownership import adopt, delete, retain, write_identity
from actuators.load_balancers.parts import (
    change_algorithm,
    change_rdns,
    change_type,
    switch_public_interface,
    write_listener,
)
from actuators.load_balancers.targets import write_target
from actuators.writers import Writers
from desired.model.snapshot import Snapshot
from desired.plan.change import Change

BALANCER_ACTUATORS: Mapping[str, Callable[[Writers, Change, Snapshot], None]] = {
    "lb.create": create,
    "lb.adopt": adopt,
    "lb.identity": write_identity,
    "lb.type": change_type,
    "lb.algorithm": change_algorithm,
    "lb.rdns": change_rdns,
    "lb.network": write_attachment,
    "lb.public_interface": switch_public_interface,
    "lb.listener": write_listener,
    "lb.target": write_target,
    "lb.retain": retain,
    "lb.delete": delete,
}
"""Kind → its actuator, in the order of the table of kinds. Each raises an ApiError when it could not, TypeError for
sides that are not of its kind, and KeyError for a load balancer that was not observed."""
