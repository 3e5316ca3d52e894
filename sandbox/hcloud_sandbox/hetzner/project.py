"""One simulated project: the parts that every resource uses."""

from dataclasses import dataclass

from hcloud_sandbox.clock import SimulatedClock
from hcloud_sandbox.exchange import Response
from hcloud_sandbox.hetzner.actions import Action, Actions, format_time
from hcloud_sandbox.hetzner.catalogue import load_balancer_types
from hcloud_sandbox.hetzner.errors import name_taken, not_found
from hcloud_sandbox.hetzner.faults import Faults
from hcloud_sandbox.hetzner.options import HetznerOptions
from hcloud_sandbox.hetzner.rendering import Renderer
from hcloud_sandbox.hetzner.store import Kind, Object, Store, View

SINGULAR: dict[Kind, str] = {
    "servers": "server",
    "networks": "network",
    "primary_ips": "primary_ip",
    "load_balancers": "load_balancer",
    "certificates": "certificate",
    "ssh_keys": "ssh_key",
    "placement_groups": "placement_group",
    "firewalls": "firewall",
    "volumes": "volume",
    "images": "image",
}
_IN_MESSAGES: dict[Kind, str] = {
    **SINGULAR,
    "load_balancers": "load balancer",
    "primary_ips": "primary IP",
    "ssh_keys": "SSH key",
    "placement_groups": "placement group",
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

    def require_free(self, kind: Kind, object_id: int) -> Object:
        """An object as it truly is, when no action runs on it. Raises ``not_found``, or ``conflict`` or ``locked``."""
        found = self.require(kind, object_id)
        self.actions.require_free(SINGULAR[kind], object_id)
        return found

    def require_seen(self, view: View, kind: Kind, object_id: int) -> Object:
        """An object as a reader sees it. Raises ``not_found``."""
        found = view.get(kind, object_id)
        if found is None:
            raise not_found(_IN_MESSAGES[kind], object_id)
        return found

    def require_unused(self, kind: Kind, name: str, own_id: int | None, message: str = "name is already used") -> None:
        """Raises ``uniqueness_error`` when another object of the kind has the name."""
        if any(found["name"] == name and found["id"] != own_id for found in self.store.truth().all(kind)):
            raise name_taken(message)

    def shown(self, kind: Kind, stored: Object) -> Object:
        """An object as a write answers it."""
        return Renderer(self.store.truth(), self.actions).render(kind, stored)

    def started(self, action: Action) -> Response:
        """The answer of a request that did nothing but start an action."""
        return Response(201, {"action": self.actions.render(action)})

    def change(self, kind: Kind, object_id: int, **fields: object) -> None:
        """Set fields of an object; nothing when it is gone by now. Inside ``store.change()`` only."""
        present = self.store.get(kind, object_id)
        if present is not None:
            self.store.put(kind, {**present, **fields})
