"""The Hetzner Cloud API, simulated: servers, networks, load balancers, certificates, actions and catalogs.

The rules are those of the Hetzner Cloud API's documentation, of its clients, and of the live API where it was observed;
every answer is valid against the vendor's OpenAPI document. Each module lists where it knowingly differs from the real
service.

What is not simulated answers 501 with the operation's name, and the log says so. ``operations`` has the list.
"""

from hcloud_sandbox.hetzner.options import HetznerOptions
from hcloud_sandbox.hetzner.simulator import HetznerSimulator

__all__ = ["HetznerOptions", "HetznerSimulator"]
