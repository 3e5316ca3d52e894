"""What a write creates, deletes, attaches or detaches, by the names of things."""

from collections.abc import Iterator, Mapping
from typing import Any

from hcloud_sandbox.exchange import Request, readable_body

_STRUCTURE = (
    "add_target",
    "remove_target",
    "add_service",
    "delete_service",
    "attach_to_network",
    "detach_from_network",
    "add_route",
    "delete_route",
    "enable_public_interface",
    "disable_public_interface",
)
_PASSING = ("/events", "/leases/", "/configmaps")


def effects_of(path: str, api: str, request: Request) -> Iterator[str]:
    """What a write creates, deletes, attaches or detaches; nothing of one that sets something. What comes with a load
    balancer that is created counts as if it had come after it."""
    body, last = readable_body(request.body), path.rpartition("/")[2]
    if request.method not in ("POST", "DELETE") or any(each in path for each in _PASSING):
        return
    if request.method == "DELETE" or api == "kubernetes" or not isinstance(body, dict):
        yield f"{request.method} {path}"
    elif "/actions/" in path and last in _STRUCTURE:
        yield f"{last} {path.split('/')[2]} {_what(body)}"
    elif "/actions/" not in path:
        name = body.get("name")
        yield f"POST {path} {name}"
        yield from (f"add_target {name} {_what(each)}" for each in body.get("targets", ()))
        yield from (f"add_service {name} {_what(each)}" for each in body.get("services", ()))
        if "network" in body:
            yield f"attach_to_network {name} {_what(body)}"


def _what(body: Mapping[str, Any]) -> str:
    kept = ("server", "ip", "listen_port", "network", "destination")
    return " ".join(f"{key} {body[key]}" for key in kept if key in body)
