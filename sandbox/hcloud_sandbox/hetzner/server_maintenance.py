"""Server actions by which people look after a machine: rescue system, backups, ISO, rebuild, password, reverse names.

Source: Hetzner Cloud API, server actions. Known differences: no machine runs, so passwords open nothing, the rescue
system is left by the next start, and a console is refused. Which refusal a password of a stopped server gets is not
established, here it is ``service_error``; nor whether a reverse name waits for other actions, here it does not.
"""

from collections.abc import Callable
from ipaddress import IPv6Network, ip_address

from hcloud_sandbox.exchange import Request, Response
from hcloud_sandbox.hetzner.bodies import Body
from hcloud_sandbox.hetzner.catalogue import ISOS, find_entry
from hcloud_sandbox.hetzner.errors import ApiError
from hcloud_sandbox.hetzner.images import remove_backups
from hcloud_sandbox.hetzner.ordering import checked_user_data, wanted_image
from hcloud_sandbox.hetzner.project import Project
from hcloud_sandbox.hetzner.ssh_keys import wanted_ssh_keys
from hcloud_sandbox.hetzner.store import Object

ROOT_PASSWORD = "simulated-root-password"  # noqa: S105 - it opens nothing
_BACKUP_WINDOW = "22-02"


class ServerMaintenance:
    """The handlers of these actions."""

    def __init__(self, project: Project) -> None:
        self._project = project

    def enable_rescue(self, request: Request, server_id: int) -> Response:
        """``enable_rescue``: from the next start."""
        self._project.require_free("servers", server_id)
        body = Body.of(request)
        body.choice("type", ("linux64",), "linux64")
        wanted_ssh_keys(self._project, body)
        return self._started("enable_rescue", server_id, {"rescue_enabled": True}, {"root_password": ROOT_PASSWORD})

    def disable_rescue(self, _request: Request, server_id: int) -> Response:
        """``disable_rescue``."""
        self._project.require_free("servers", server_id)
        return self._started("disable_rescue", server_id, {"rescue_enabled": False})

    def enable_backup(self, _request: Request, server_id: int) -> Response:
        """``enable_backup``: the window is the service's choice."""
        self._project.require_free("servers", server_id)
        return self._started("enable_backup", server_id, {"backup_window": _BACKUP_WINDOW})

    def disable_backup(self, _request: Request, server_id: int) -> Response:
        """``disable_backup``: existing backups go with it."""
        self._project.require_free("servers", server_id)

        def also() -> None:
            remove_backups(self._project, server_id)

        return self._started("disable_backup", server_id, {"backup_window": None}, also=also)

    def attach_iso(self, request: Request, server_id: int) -> Response:
        """``attach_iso``: in place of the one that is attached."""
        self._project.require_free("servers", server_id)
        iso = find_entry(ISOS, Body.of(request).id_or_name("iso") or "")
        if iso is None:
            raise ApiError("not_found", "ISO not found")
        return self._started("attach_iso", server_id, {"iso": iso})

    def detach_iso(self, _request: Request, server_id: int) -> Response:
        """``detach_iso``."""
        self._project.require_free("servers", server_id)
        return self._started("detach_iso", server_id, {"iso": None})

    def rebuild(self, request: Request, server_id: int) -> Response:
        """``rebuild``: everything stays but the disk; the server runs afterwards."""
        server = self._project.require_free("servers", server_id)
        if server["protection"]["rebuild"]:
            raise ApiError("protected", "server is rebuild protected")
        body = Body.of(request)
        checked_user_data(body)
        image = wanted_image(body, self._project.store.truth(), server["server_type"])
        changes = {"image": image, "status": "running", "rescue_enabled": False}
        self._project.change("servers", server_id, status="rebuilding")
        return self._started(
            "rebuild_server",
            server_id,
            changes,
            {"root_password": ROOT_PASSWORD},
            on_failure=lambda: self._project.change("servers", server_id, status=server["status"]),
        )

    def reset_password(self, _request: Request, server_id: int) -> Response:
        """``reset_password``: of a running server."""
        if self._project.require_free("servers", server_id)["status"] != "running":
            raise ApiError("service_error", "server must be running to reset its password")
        return self._started("reset_password", server_id, {}, {"root_password": ROOT_PASSWORD})

    def request_console(self, _request: Request, server_id: int) -> Response:
        """``request_console``: refused, for want of a screen."""
        self._project.require_free("servers", server_id)
        raise ApiError("unsupported_error", "a simulated server has no console: nothing runs on it")

    def change_dns_ptr(self, request: Request, server_id: int) -> Response:
        """``change_dns_ptr``: of the IPv4 address, or of one in the IPv6 network; the server may be busy."""
        body = Body.of(request)
        address, dns_ptr = body.address("ip"), body.optional_text("dns_ptr")
        with_dns_ptr(self._project.require("servers", server_id), address, dns_ptr)

        def effect() -> None:
            present = self._project.require("servers", server_id)
            self._project.change("servers", server_id, public_net=with_dns_ptr(present, address, dns_ptr))

        action = self._project.actions.start("change_dns_ptr", ("server", server_id), effect=effect, locks=False)
        return self._project.started(action)

    def _started(
        self,
        command: str,
        server_id: int,
        changes: Object,
        more: Object | None = None,
        *,
        also: Callable[[], None] = lambda: None,
        on_failure: Callable[[], None] = lambda: None,
    ) -> Response:
        """Start an action that ends with these changes; the answer has it and ``more``."""

        def effect() -> None:
            self._project.change("servers", server_id, **changes)
            also()

        action = self._project.actions.start(command, ("server", server_id), effect=effect, on_failure=on_failure)
        return Response(201, {**(more or {}), "action": self._project.actions.render(action)})


def with_dns_ptr(server: Object, address: str, dns_ptr: str | None) -> Object:
    """``public_net`` with another reverse name; None resets it. Raises ``ip_not_assigned_to_server``."""
    public_net: Object = server["public_net"]
    ipv4, ipv6 = public_net["ipv4"], public_net["ipv6"]
    if ipv4 is not None and ipv4["ip"] == address:
        return {**public_net, "ipv4": {**ipv4, "dns_ptr": dns_ptr or server["name"]}}
    if ipv6 is not None and ":" in address and ip_address(address) in IPv6Network(ipv6["ip"]):
        kept = [entry for entry in ipv6["dns_ptr"] or () if entry["ip"] != address]
        named = [] if dns_ptr is None else [{"ip": address, "dns_ptr": dns_ptr}]
        return {**public_net, "ipv6": {**ipv6, "dns_ptr": [*kept, *named]}}
    message = "the specified IP is neither the primary IPv4 address nor in the IPv6 subnet of the given server"
    raise ApiError("ip_not_assigned_to_server", message)
