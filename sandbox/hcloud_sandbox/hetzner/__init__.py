"""The Hetzner Cloud API, simulated: servers, networks, load balancers, certificates, actions and catalogs.

The rules are those of the Hetzner Cloud API's documentation, of its clients, and of the live API where it was observed;
every answer is valid against the vendor's OpenAPI document. Each module lists where it knowingly differs from the real
service.

Not simulated: everything that answers ``unsupported_error`` with "the simulator does not simulate ... yet" (metrics,
and whatever would create floating IPs, zones and storage boxes), and traffic itself.
"""

from hcloud_sandbox.hetzner.options import HetznerOptions
from hcloud_sandbox.hetzner.simulator import HetznerSimulator

__all__ = ["HetznerOptions", "HetznerSimulator"]
