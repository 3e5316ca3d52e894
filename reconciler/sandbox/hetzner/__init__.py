"""The Hetzner Cloud API, simulated: servers, networks, load balancers, certificates, actions and catalogues.

The rules are those of reference/hetzner-api.md (its section 15 is the contract); every answer is valid against the
vendor's API document. Each module lists where it knowingly differs from the real service.

Not simulated: everything that answers ``unsupported_error`` with "the simulator does not simulate ... yet" (metrics,
images, volumes, firewalls, Primary IPs and the like), and traffic itself.
"""

from reconciler.sandbox.hetzner.options import HetznerOptions
from reconciler.sandbox.hetzner.simulator import HetznerSimulator

__all__ = ["HetznerOptions", "HetznerSimulator"]
