"""Errors of a pass: what of a reading keeps it from applying anything, and what it is an error to go on without."""

from actuators.http.errors import Denied, Throttled
from desired.plan.change import Plan
from desired.plan.notes import NoteKind
from desired.section import Absent
from reconciler.observe.world import Observation

_NEEDED = ("servers", "network")
"""Parts of an observation that every decision needs. Where another part is missing, only what is decided from that
waits."""
_PROOF = "members"
"""A part that is read only to prove that something may be removed: without it that stays, and nothing is wrong."""
_OF_CLUSTER = "services"
"""The part that is not read from Hetzner."""
_OF_ROBOT = "robot"
"""The part that has credentials of its own: without it, all that concerns Hetzner Cloud goes on."""


def fatal_errors(observation: Observation, plan: Plan) -> tuple[str, ...]:
    """The reason why nothing should be applied at all: wrong credentials, an unreachable API, a missing network.

    Empty for trouble that leaves part of the snapshot: the guards judge what depends on it. A network that is missing
    from what seems to be another project is no second error: the anchor reports that already.
    """
    failures = {part: observation.failures[part] for part in _NEEDED if part in observation.failures}
    errors = [
        str(error)
        for part, error in failures.items()
        if isinstance(error, Denied)
        or (part == "servers" and not observation.snapshot.servers and not isinstance(error, Throttled))
    ][:1]  # all parts are of one API: what keeps one from being read keeps the others
    if isinstance(observation.snapshot.network, Absent) and not any(n.kind is NoteKind.ANCHOR for n in plan.notes):
        errors.append(str(observation.failures["network"]))
    return tuple(errors)


def all_errors(observation: Observation, plan: Plan) -> tuple[str, ...]:
    """The reason why the run is an error: all that is fatal, and a missing permission to read.

    The latter stops only what would be decided from that part: Nodes are initialized without the permission to list
    Services.
    """
    failures = {part: error for part, error in observation.failures.items() if part not in (_PROOF, _OF_ROBOT)}
    denied = {part: str(error) for part, error in failures.items() if isinstance(error, Denied)}
    of_cluster = tuple(error for part, error in denied.items() if part == _OF_CLUSTER)
    of_cloud = tuple(error for part, error in denied.items() if part != _OF_CLUSTER)
    return (*(fatal_errors(observation, plan) or of_cloud[:1]), *of_cluster)


def robot_errors(observation: Observation) -> tuple[str, ...]:
    """The error of credentials that Robot refuses: a person has to act, as nothing is asked with them any more."""
    error = observation.failures.get(_OF_ROBOT)
    return (str(error),) if isinstance(error, Denied) else ()


def is_reachable(observation: Observation) -> bool:
    """Whether nothing that is read from Hetzner has just failed."""
    return observation.failures.keys() <= {_OF_CLUSTER, _OF_ROBOT}
