"""Hetzner's API, as far as Terraform does not speak to it: what is there, what it costs, and what was left over."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import requests
from requests.adapters import HTTPAdapter
from saying import Problem, one_line, say, wait_until
from urllib3.util.retry import Retry

from actuators.http.connection import prepare
from actuators.http.shown import is_loopback

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
_BUSY = (409, 423)
_TIMEOUT_S = (5, 30)
_DELETION_S = 180.0

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
    """The project of a token."""

    def __init__(self, endpoint: str, token: str) -> None:
        self.endpoint = endpoint.rstrip("/")
        retry = Retry(
            total=5,
            connect=2,
            backoff_factor=0.5,
            status_forcelist=[429, 500, 502, 503, 504],
            allowed_methods=["GET", "DELETE"],
            raise_on_status=False,
        )
        self._session = prepare(requests.Session())
        self._session.headers["Authorization"] = f"Bearer {token}"
        self._session.headers["User-Agent"] = "hcloud-reconciler-dev"
        if is_loopback(self.endpoint):
            self._session.trust_env = False  # no proxy leads to this machine
        for scheme in ("https://", "http://"):
            self._session.mount(scheme, HTTPAdapter(max_retries=retry))

    def get(self, path: str, **query: str) -> Any:
        """The answer to a GET. Raises Problem."""
        return self._decoded(self._asked("GET", path, query), f"GET /{path}")

    def all(self, kind: str, **query: str) -> list[Object]:
        """All objects of a kind, of all pages. Raises Problem."""
        found: list[Object] = []
        page: int | None = 1
        while page is not None:
            answer = self.get(kind, **query, page=str(page), per_page="50")
            try:
                found += answer[kind]
                page = answer["meta"]["pagination"]["next_page"]
            except (KeyError, TypeError):
                raise self._misunderstood(f"GET /{kind}") from None
        return found

    def pricing(self) -> Object:
        """The price list. Raises Problem when it cannot be read: nothing is bought blindly."""
        answer = self.get("pricing")
        try:
            found: Object = dict(answer["pricing"])
        except (KeyError, TypeError, ValueError):
            raise self._misunderstood("GET /pricing") from None
        return found

    def named(self, kind: str, name: str) -> Object | None:
        """The entry of a catalog with exactly this name; None when there is none. Raises Problem."""
        return next((entry for entry in self.all(kind, name=name) if entry["name"] == name), None)

    def labelled(self, cluster_id: str) -> list[Found]:
        """What has the label of the cluster. Raises Problem."""
        selector = f"{LABEL}={cluster_id}"
        return [
            Found(kind, entry["id"], entry["name"])
            for kind in KINDS
            for entry in self.all(kind, label_selector=selector)
        ]

    def namesakes(self, name: str, cluster_id: str) -> set[str]:
        """Ids of other clusters of this name. Raises Problem."""
        ids = {key["labels"][LABEL] for key in self.all(SSH_KEYS, label_selector=LABEL)}
        return {each for each in ids if each != cluster_id and each.rpartition("-")[0] == name}

    def others_servers(self) -> list[Found]:
        """The servers of the project that are of no development cluster. Raises Problem."""
        return [Found("servers", each["id"], each["name"]) for each in self.all("servers", label_selector=f"!{LABEL}")]

    def balancers_in(self, networks: Iterable[int]) -> list[Found]:
        """Load balancers that are attached to one of these networks. Raises Problem."""
        wanted = set(networks)
        return [
            Found("load_balancers", each["id"], each["name"])
            for each in self.all("load_balancers")
            if wanted & {attached["network"] for attached in each["private_net"]}
        ]

    def add_key(self, name: str, public_key: str, cluster_id: str) -> int:
        """The id of a new SSH key. Raises Problem."""
        body = {"name": name, "public_key": public_key, "labels": {LABEL: cluster_id}}
        asked = f"POST /{SSH_KEYS}"
        answer = self._decoded(self._asked("POST", SSH_KEYS, body=body), asked)
        try:
            key: int = answer["ssh_key"]["id"]
        except (KeyError, TypeError):
            raise self._misunderstood(asked) from None
        return key

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
        answer = self._asked("DELETE", f"{each.kind}/{each.id}", allowed=(404, *_BUSY))
        if answer.status_code in _BUSY:
            return False
        return self._asked("GET", f"{each.kind}/{each.id}", allowed=(404,)).status_code == 404

    def _asked(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        *,
        body: Any = None,
        allowed: Sequence[int] = (),
    ) -> requests.Response:
        url = f"{self.endpoint}/{path}"
        try:
            answer = self._session.request(method, url, params=query, json=body, timeout=_TIMEOUT_S)
        except requests.RequestException as error:
            raise Problem(
                f"{urlsplit(url).hostname} does not answer: check the network, and HCLOUD_ENDPOINT if it is set"
            ) from error
        if answer.ok or answer.status_code in allowed:
            return answer
        if answer.status_code == 401:
            raise Problem(
                "Hetzner does not know HCLOUD_TOKEN: create a token in the console, in a project for this alone"
            )
        raise Problem(f"Hetzner answers {method} /{path} with {answer.status_code} {_said(answer)}")

    def _decoded(self, answer: requests.Response, asked: str) -> Any:
        try:
            return answer.json()
        except ValueError:
            raise self._misunderstood(asked) from None

    def _misunderstood(self, asked: str) -> Problem:
        return Problem(
            f"{urlsplit(self.endpoint).hostname} answers {asked} with something that is not Hetzner's: check"
            " HCLOUD_ENDPOINT if it is set, and the proxy if there is one"
        )


def network_of(present: Iterable[Found]) -> str:
    """The id of the network among what is ``present``; "" where there is none."""
    return next((str(each.id) for each in present if each.kind == "networks"), "")


def _said(answer: requests.Response) -> str:
    """Code and message of an error, on one line."""
    try:
        error = answer.json()["error"]
        text = f"{error['message']} ({error['code']})"
    except (ValueError, KeyError, TypeError):
        text = answer.reason
    return one_line(text)
