"""One simulated project: the state that every kind of object uses, and the answers that they share."""

from dataclasses import dataclass

from hcloud_sandbox.clock import SimulatedClock
from hcloud_sandbox.exchange import Request, Response
from hcloud_sandbox.hetzner.actions import Action, Actions, format_time
from hcloud_sandbox.hetzner.errors import not_found
from hcloud_sandbox.hetzner.faults import Faults
from hcloud_sandbox.hetzner.options import HetznerOptions
from hcloud_sandbox.hetzner.public_addresses import PublicAddresses
from hcloud_sandbox.hetzner.store import Kind, Object, Store, View


@dataclass(frozen=True, slots=True)
class Project:
    """The state of a project and what changes it. A new world is a new project."""

    clock: SimulatedClock
    options: HetznerOptions
    store: Store
    faults: Faults
    actions: Actions
    addresses: PublicAddresses

    def now(self) -> str:
        """The present as the API writes times."""
        return format_time(self.clock.timestamp())

    def view(self, request: Request) -> View:
        """What a ``GET`` sees now."""
        stale = self.faults.stale_read(request.path)
        return self.store.view(self.clock.timestamp(), before_last_change=stale)

    def require(self, kind: Kind, object_id: int, view: View | None = None) -> Object:
        """An object as it truly is, or as a reader sees it. Raises ``not_found``."""
        found = (view or self.store).get(kind, object_id)
        if found is None:
            raise not_found(kind, object_id)
        return found

    def require_free(self, kind: Kind, object_id: int) -> Object:
        """An object as it truly is, when no action runs on it. Raises ``not_found``, or ``conflict`` or ``locked``."""
        found = self.require(kind, object_id)
        self.actions.require_free(kind, object_id)
        return found

    def answer(self, status: int, **parts: object) -> Response:
        """An answer with these parts, of which actions are shown as they are now."""
        return Response(status, {name: self._shown(part) for name, part in parts.items()})

    def _shown(self, part: object) -> object:
        if isinstance(part, list):
            return [self._shown(item) for item in part]
        return self.actions.render(part) if isinstance(part, Action) else part
