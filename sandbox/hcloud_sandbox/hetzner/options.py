"""Settings of one simulated Hetzner Cloud project."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Busy = Literal["conflict", "locked"]


@dataclass(frozen=True, slots=True)
class HetznerOptions:
    """Times, limits, and choices where Hetzner's documentation is silent. Raises ValueError for impossible ones."""

    action_s: float = 0.3
    """How long an action stays ``running``. 0: it is finished in the answer that announces it."""
    action_s_by_command: Mapping[str, float] = field(default_factory=dict)
    """The same for single commands: ``{"attach_to_network": 2.0}``."""
    jitter_s: float = 0.0
    """Up to so many seconds are added to each action, drawn with ``seed``."""
    rate_limit: int = 3600
    """Requests per hour, and the size of the burst."""
    visible_late_s: float = 0.0
    """Reads show the effect of a finished action this much later."""
    network_busy_code: Busy = "conflict"
    """What a network answers to a second change while one runs; both have been seen."""
    network_attachment_limit: int = 100
    """How many servers and load balancers a network takes; for worlds larger than the real service would allow."""
    load_balancer_busy_code: Busy = "conflict"
    """What a load balancer answers to a second change while one runs; both have been seen."""
    load_balancer_limit: int = 20
    """The quota of load balancers; a world may start with more."""
    load_balancer_types_end: Mapping[str, str] = field(default_factory=dict)
    """Deprecated types of load balancers, and until when they can be ordered: ``{"lb11": "2026-12-31T00:00:00Z"}``."""
    server_as_two_targets: Literal["refused", "accepted"] = "refused"
    """A server that is a target already, by another address than the one asked for."""
    private_targets_at_creation: Literal["accepted", "refused"] = "accepted"
    """Targets by private IP in the request that creates their load balancer, in a network."""
    services_at_creation: Literal["accepted", "complete", "refused"] = "accepted"
    """Services in the request that creates their load balancer: ``complete`` refuses those that lack a member of
    ``http`` that the API's document requires there, and ``refused`` all."""
    https_left_behind: Literal["dropped", "refused"] = "dropped"
    """Certificates and the redirect of a service that stops speaking https: without a word they go, or are refused."""
    private_targets_at_detachment: Literal["refused", "dropped"] = "refused"
    """What happens to a load balancer's targets by private IP when it is detached from their network."""
    pending_certificates: Literal["accepted", "refused"] = "accepted"
    """A service with a managed certificate that is not issued (yet)."""
    certificate_in_use_code: Literal["service_error", "resource_in_use"] = "service_error"
    """What deleting a certificate that a service uses is refused with; the first has been seen."""
    issuance_errors: Mapping[str, str] = field(default_factory=dict)
    """Domains that no managed certificate is issued for: ``{"a.example.com": "dns_zone_not_found"}``."""
    foreign_addresses: tuple[str, ...] = ()
    """Public addresses and ranges that belong to somebody else. All others that are not of this project's own servers
    and load balancers count as those of the owner's dedicated servers."""
    seed: int = 0
    """For jitter and correlation ids."""

    def __post_init__(self) -> None:
        times, limits = ("action_s", "jitter_s", "visible_late_s"), ("network_attachment_limit", "load_balancer_limit")
        given = {name: getattr(self, name) for name in (*times, *limits)}
        given |= {f"action_s_by_command[{command}]": seconds for command, seconds in self.action_s_by_command.items()}
        for name, number in given.items():
            if not number >= 0:  # NaN is not
                raise ValueError(f"{name} is {number}: give 0 or more")
        if self.rate_limit < 1:
            raise ValueError(f"rate_limit is {self.rate_limit}: give at least 1 request per hour")

    def seconds_of(self, command: str) -> float:
        """How long an action with this command runs, without jitter."""
        return self.action_s_by_command.get(command, self.action_s)

    def busy_code(self, kind: str) -> Busy:
        """What an object of this kind (``servers``) answers to a second change while one runs."""
        codes: dict[str, Busy] = {
            "servers": "locked",
            "networks": self.network_busy_code,
            "load_balancers": self.load_balancer_busy_code,
        }
        return codes.get(kind, "conflict")
