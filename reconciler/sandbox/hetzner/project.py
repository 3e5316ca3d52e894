"""One simulated project: the parts that every resource uses."""

from dataclasses import dataclass

from reconciler.sandbox.clock import SimulatedClock
from reconciler.sandbox.hetzner.actions import Actions, format_time
from reconciler.sandbox.hetzner.catalogue import load_balancer_types
from reconciler.sandbox.hetzner.errors import not_found
from reconciler.sandbox.hetzner.faults import Faults
from reconciler.sandbox.hetzner.options import HetznerOptions
from reconciler.sandbox.hetzner.store import Kind, Object, Store, View

SINGULAR: dict[Kind, str] = {
    "servers": "server",
    "networks": "network",
    "primary_ips": "primary_ip",
    "load_balancers": "load_balancer",
    "certificates": "certificate",
}
_IN_MESSAGES: dict[Kind, str] = {
    **SINGULAR,
    "load_balancers": "load balancer",
    "primary_ips": "primary IP",
}


@dataclass(frozen=True, slots=True)
class Project:
    """The state of a project and what changes it. A new world is a new project."""

    clock: SimulatedClock
    options: HetznerOptions
    store: Store
    faults: Faults
    actions: Actions

    @property
    def load_balancer_types(self) -> dict[str, Object]:
        """The types of load balancers by name."""
        return load_balancer_types(self.options.load_balancer_types_end)

    def now(self) -> str:
        """The present as the API writes times."""
        return format_time(self.clock.timestamp())

    def require(self, kind: Kind, object_id: int) -> Object:
        """An object as it truly is. Raises ``not_found``."""
        found = self.store.get(kind, object_id)
        if found is None:
            raise not_found(_IN_MESSAGES[kind], object_id)
        return found

    def require_seen(self, view: View, kind: Kind, object_id: int) -> Object:
        """An object as a reader sees it. Raises ``not_found``."""
        found = view.get(kind, object_id)
        if found is None:
            raise not_found(_IN_MESSAGES[kind], object_id)
        return found

    def change(self, kind: Kind, object_id: int, **fields: object) -> None:
        """Set fields of an object; nothing when it is gone by now. Inside ``store.change()`` only."""
        present = self.store.get(kind, object_id)
        if present is not None:
            self.store.put(kind, {**present, **fields})
