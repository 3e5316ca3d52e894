"""Changes of a load balancer: one at a time, checked when it is requested and once more when it happens.

A change is a function from the load balancer as it is to the load balancer as it shall be, which raises ApiError when
the rules forbid it. It runs twice: on the request, whose result is thrown away, and when the action ends, because the
world may have moved on by then: then the action fails. Source: Hetzner Cloud API, actions.
"""

from collections.abc import Callable

from hcloud_sandbox.exchange import Response
from hcloud_sandbox.hetzner.actions import Action
from hcloud_sandbox.hetzner.project import Project
from hcloud_sandbox.hetzner.store import Object

Change = Callable[[Object], Object]


class BalancerChanges:
    """The changes of load balancers that are actions."""

    def __init__(self, project: Project) -> None:
        self._project = project

    def free(self, balancer_id: int) -> Object:
        """The load balancer, when no action runs on it. Raises ``not_found``, or ``conflict`` or ``locked``."""
        return self._project.require_free("load_balancers", balancer_id)

    def start(self, command: str, balancer_id: int, change: Change) -> Response:
        """Check the change, start the action after which it has happened, and answer it."""
        change(self.free(balancer_id))

        def effect() -> None:
            # A list that shrinks takes objects away whatever runs on them.
            present = self._project.store.get("load_balancers", balancer_id)
            if present is not None:
                self._project.store.put("load_balancers", change(present))

        return self.started(self._project.actions.start(command, ("load_balancer", balancer_id), effect=effect))

    def started(self, action: Action) -> Response:
        """The answer that announces an action."""
        return Response(201, {"action": self._project.actions.render(action)})
