"""Hetzner's API, as far as Terraform does not speak to it: what is there, what it costs, and what was left over."""

import json
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode

from saying import Problem, one_line, say, wait_until

from actuators.http.errors import ApiError, Busy, Conflict, NotFound
from actuators.http.hetzner import HetznerReader, HetznerWriter, connect
from actuators.http.retry import Patience, Retry
from reconciler import __version__

LABEL = "hcloud-reconciler/dev-cluster"
"""Its value is the id of the cluster that an object belongs to. deploy/dev/infra sets it too."""
SSH_KEYS = "ssh_keys"
KINDS = {
    "servers": "server",
    "firewalls": "firewall",
    "placement_groups": "placement group",
    "networks": "network",
    SSH_KEYS: "SSH key",
}
"""Kinds that have the label, in the order in which they can be deleted, and what they are called."""
_DELETION_S = 180.0
_HOURS_A_MONTH = 730

Object = Mapping[str, Any]


@dataclass(frozen=True, slots=True, order=True)
class Found:
    """An object of the project."""

    kind: str
    id: int
    name: str

    def __str__(self) -> str:
        return f"{KINDS.get(self.kind, 'load balancer')} {one_line(self.name)} ({self.id})"


class Project:
    """The project of a token. Its methods raise an ApiError, which is one line."""

    def __init__(self, endpoint: str, token: str) -> None:
        connection = connect(
            token,
            endpoint.rstrip("/"),
            application=("hcloud-reconciler-dev", __version__),
            retry=Retry(threading.Event(), Patience(deadline_s=30)),
            timeout_s=20,
            read_only=False,
        )
        self._reader, self._writer = HetznerReader(connection), HetznerWriter(connection)

    def all(self, kind: str, **query: str) -> list[Object]:
        """All objects of a kind, of all pages."""
        found: list[Object] = []
        page: int | None = 1
        while page is not None:
            answer = self._get(f"/{kind}?{urlencode(query | {'page': page, 'per_page': 50})}")
            found += answer[kind]
            page = answer["meta"]["pagination"]["next_page"]
        return found

    def named(self, kind: str, name: str) -> Object | None:
        """The entry of a catalog with exactly this name; None when there is none."""
        return next((entry for entry in self.all(kind, name=name) if entry["name"] == name), None)

    def labelled(self, cluster_id: str) -> list[Found]:
        """What has the label of the cluster."""
        return [
            Found(kind, entry["id"], entry["name"])
            for kind in KINDS
            for entry in self.all(kind, label_selector=f"{LABEL}={cluster_id}")
        ]

    def balancers_in(self, present: Iterable[Found]) -> list[Found]:
        """Load balancers that are attached to a network among what is ``present``."""
        networks = {each.id for each in present if each.kind == "networks"}
        return [
            Found("load_balancers", each["id"], each["name"])
            for each in self.all("load_balancers")
            if networks & {attached["network"] for attached in each["private_net"]}
        ]

    def bill(self, servers: int, server_type: str, location: str) -> list[str]:
        """What so many servers cost, gross, each with its IPv4 address, and what may come on top: lines for a person.
        Raises Problem when a price cannot be read: nothing is bought blindly."""
        pricing = self._get("/pricing")["pricing"]
        currency = one_line(str(pricing["currency"]))

        def hourly(kind: str, name: str) -> Decimal:
            """Primary IPs go by ``type``, all others by ``name``."""
            (entry,) = (each for each in pricing[kind] if name in (each.get("name"), each.get("type")))
            (price,) = (each for each in entry["prices"] if each["location"] == location)
            return Decimal(price["price_hourly"]["gross"])

        try:
            bought = {
                f"server {server_type} in {location}": hourly("server_types", server_type),
                "IPv4 address": hourly("primary_ips", "ipv4"),
            }
            balancer = hourly("load_balancer_types", "lb11")
        except (KeyError, TypeError, ValueError, ArithmeticError):
            raise Problem(f"Hetzner's price list has no price of {server_type}, IPv4 or lb11 in {location}") from None
        total = servers * sum(bought.values(), Decimal(0))
        items = [f"    {servers} x {what}: {each:.4f} {currency} an hour each" for what, each in bought.items()]
        month = f"{total * _HOURS_A_MONTH:.2f} {currency} a month if it stays (gross)"
        rule = "a started hour is paid whole, and a server that is off as one that runs"
        more = "each Service of type LoadBalancer adds a load balancer, lb11 by default"
        together = f"together {total:.4f} {currency} an hour, {month}; {rule}"
        return [*items, together, f"{more}: {balancer:.4f} {currency} an hour"]

    def add_key(self, name: str, public_key: str, cluster_id: str) -> Found:
        """A new SSH key. Raises Problem when another cluster has the name."""
        body = {"name": name, "public_key": public_key, "labels": {LABEL: cluster_id}}
        try:
            key = json.loads(self._writer.post(f"/{SSH_KEYS}", body))["ssh_key"]
        except Conflict as error:
            raise Problem(
                f"the project has an SSH key {name}, as of a cluster {name} of another checkout: choose another --name,"
                " or take that one down where it was made"
            ) from error
        return Found(SSH_KEYS, key["id"], name)

    def delete(self, found: Sequence[Found]) -> None:
        """Delete these and return when they are gone. What another one of them still needs is tried again. Raises
        Problem."""
        for kind in ("load_balancers", *KINDS):
            for each in (one for one in found if one.kind == kind):
                say(f"deleting {each}")
                wait_until(
                    lambda each=each: self._is_gone(each),  # type: ignore[misc]
                    f"{each} cannot be deleted: look at it in Hetzner's console, then run the command again",
                    deadline_s=_DELETION_S,
                    every_s=0.5,
                )

    def _is_gone(self, each: Found) -> bool:
        """Whether the object is gone; it is asked to go each time."""
        path = f"/{each.kind}/{each.id}"
        try:
            self._writer.delete(path)
            self._get(path)
        except NotFound:
            return True
        except Busy:
            return False
        except ApiError as error:
            if error.status != HTTPStatus.CONFLICT:
                raise
        return False

    def _get(self, path: str) -> Any:
        return json.loads(self._reader.get(path))
