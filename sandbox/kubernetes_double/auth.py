"""Authentication and authorization: bearer tokens mapped to verbs. Roles and bindings do not exist."""

import base64
import binascii
from collections.abc import Collection, Mapping
from typing import Any

from hcloud_sandbox.exchange import Request
from kubernetes_double.errors import failure, forbidden
from kubernetes_double.store import Key

SELF_REVIEWS = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
REVIEWS = (SELF_REVIEWS, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews")
"""Paths of the questions that everybody with a token may ask about himself."""


class Tokens:
    """The known tokens. Their owners are called ``sandbox-0``, ``sandbox-1`` and so on, in the order given."""

    def __init__(self, tokens: Mapping[str, Collection[str] | None]) -> None:
        self._verbs = {token: None if verbs is None else frozenset(verbs) for token, verbs in tokens.items()}

    def authenticate(self, request: Request) -> str | None:
        """The request's token, or None for an anonymous one. Raises ApiError 401 for an unknown token."""
        kind, _, credentials = request.headers.get("authorization", "").partition(" ")
        if not kind:
            return None
        token = _password(credentials.strip()) if kind.lower() == "basic" else credentials.strip()
        if token not in self._verbs:
            raise failure(401, "Unauthorized", "Unauthorized")
        return token

    def authorize(self, token: str | None, verb: str, key: Key, subresource: str) -> None:
        """Raises ApiError 403 unless the token's owner may do that to the object (or the collection)."""
        if self._may(token, verb):
            return
        what = f"{key.resource.plural}/{subresource}" if subresource else key.resource.plural
        where = f'in the namespace "{key.namespace}"' if key.namespace else "at the cluster scope"
        why = f'User "{self._owner(token)}" cannot {verb} resource "{what}" in API group "{key.resource.group}" {where}'
        raise forbidden(key.resource, key.name, why)

    def review(self, token: str | None, path: str, asked: Any) -> dict[str, Any]:
        """The answer to one of ``REVIEWS``: whether the token's owner may do something, or what he is called."""
        status: dict[str, Any] = {"userInfo": {"username": self._owner(token), "groups": ["system:authenticated"]}}
        if path != SELF_REVIEWS:
            status = {"allowed": self._may(token, _member(_member(asked, "spec"), "resourceAttributes").get("verb"))}
        return {**(asked if isinstance(asked, dict) else {}), "status": status}

    def _may(self, token: str | None, verb: Any) -> bool:
        verbs = frozenset() if token is None else self._verbs[token]
        return verbs is None or verb in verbs

    def _owner(self, token: str | None) -> str:
        return "system:anonymous" if token is None else f"sandbox-{list(self._verbs).index(token)}"


def _password(credentials: str) -> str:
    """kubectl sends no bearer token over plain HTTP; it does send the password in the server's URL."""
    try:
        return base64.b64decode(credentials, validate=True).decode().partition(":")[2]
    except (binascii.Error, UnicodeDecodeError):
        return ""


def _member(of: Any, name: str) -> dict[str, Any]:
    """An object in what a client sent; an empty one where it sent something else."""
    found = of.get(name) if isinstance(of, dict) else None
    return found if isinstance(found, dict) else {}
