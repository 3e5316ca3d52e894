"""The network and the public interface of a load balancer.

Source: Hetzner Cloud API, load balancer actions. Known differences: a load balancer may lose its network while its
public interface is off, which leaves it without any address in use.
"""

from hcloud_sandbox.exchange import Request, Response
from hcloud_sandbox.hetzner.attachments import Attachments
from hcloud_sandbox.hetzner.balancer_backends import is_private
from hcloud_sandbox.hetzner.balancer_changes import BalancerChanges
from hcloud_sandbox.hetzner.bodies import Body
from hcloud_sandbox.hetzner.errors import ApiError
from hcloud_sandbox.hetzner.project import Project
from hcloud_sandbox.hetzner.store import Object


class BalancerNetwork:
    """The actions that change how a load balancer is reached."""

    def __init__(self, project: Project, attachments: Attachments, changes: BalancerChanges) -> None:
        self._project = project
        self._attachments = attachments
        self._changes = changes

    def attach(self, request: Request, balancer_id: int) -> Response:
        """``attach_to_network``: locks the load balancer and the network."""
        body = Body.of(request)
        balancer, network = self._balancer_and_network(body, balancer_id)
        self._attachments.plan_balancer(
            balancer, network, ip=body.optional_text("ip"), ip_range=body.optional_text("ip_range")
        )
        return self._changes.started(self._attachments.attach(balancer, network, "load_balancers"))

    def detach(self, request: Request, balancer_id: int) -> Response:
        """``detach_from_network``: locks the load balancer and the network."""
        balancer, network = self._balancer_and_network(Body.of(request), balancer_id)
        refused = self._project.options.private_targets_at_detachment == "refused"
        if refused and any(is_private(target) for target in balancer["targets"]):
            raise ApiError("service_error", "load balancer has targets that use the private IP")
        return self._changes.started(self._attachments.detach(balancer, network, "load_balancers"))

    def enable_public_interface(self, _request: Request, balancer_id: int) -> Response:
        """``enable_public_interface``, also when it is enabled."""
        return self._changes.start("enable_public_interface", balancer_id, lambda now: _with_public(now, enabled=True))

    def disable_public_interface(self, _request: Request, balancer_id: int) -> Response:
        """``disable_public_interface``: the addresses stay, but no target may need them."""

        def change(now: Object) -> Object:
            if not now["private_net"]:
                message = "load balancer is not attached to a network"
                raise ApiError("load_balancer_not_attached_to_network", message)
            if not all(is_private(target) for target in now["targets"]):
                message = "load balancer has targets that use the public IP instead of the private IP"
                raise ApiError("targets_without_use_private_ip", message)
            return _with_public(now, enabled=False)

        return self._changes.start("disable_public_interface", balancer_id, change)

    def _balancer_and_network(self, body: Body, balancer_id: int) -> tuple[Object, Object]:
        self._project.require("load_balancers", balancer_id)
        network = self._project.require("networks", body.integer("network"))
        balancer = self._changes.free(balancer_id)
        self._project.actions.require_free("network", network["id"])
        return balancer, network


def _with_public(balancer: Object, *, enabled: bool) -> Object:
    return {**balancer, "public_net": {**balancer["public_net"], "enabled": enabled}}
