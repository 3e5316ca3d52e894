"""Authentication and authorization: bearer tokens mapped to verbs. Roles and bindings do not exist."""

import base64
import binascii
from collections.abc import Collection, Mapping
from typing import Any

from hcloud_sandbox.exchange import Request
from kubernetes_double.status import ApiError, failure, forbidden, unauthorized
from kubernetes_double.store import Key

REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
"""Path of SelfSubjectAccessReviews."""
SELF_REVIEWS = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
"""Path of SelfSubjectReviews."""
RULES_REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"
"""Path of SelfSubjectRulesReviews."""
_PUBLIC_PATHS = ("/healthz", "/livez", "/readyz", "/version")
_ANONYMOUS = "system:anonymous"


class Tokens:
    """The known tokens. Their owners are called ``sandbox-0``, ``sandbox-1`` and so on, in the order given."""

    def __init__(self, tokens: Mapping[str, Collection[str] | None]) -> None:
        self._verbs = {token: None if verbs is None else frozenset(verbs) for token, verbs in tokens.items()}

    def authenticate(self, request: Request) -> str | None:
        """The request's token, or None for an anonymous one. Raises ApiError 401 for an unknown token."""
        kind, _, credentials = request.headers.get("authorization", "").partition(" ")
        if not kind:
            return None
        token = credentials.strip()
        if kind.lower() == "basic":
            token = _password(token)
        if token not in self._verbs:
            raise unauthorized()
        return token

    def authorize(self, token: str | None, verb: str, key: Key, subresource: str) -> None:
        """Raises ApiError 403 unless the token's owner may do that to the object (or the collection)."""
        if token is not None and self._may(token, verb):
            return
        what = f"{key.resource.plural}/{subresource}" if subresource else key.resource.plural
        where = f'in the namespace "{key.namespace}"' if key.namespace else "at the cluster scope"
        why = f'User "{self._owner(token)}" cannot {verb} resource "{what}" in API group "{key.resource.group}" {where}'
        raise forbidden(key.resource, key.name, why)

    def authorize_path(self, token: str | None, path: str) -> None:
        """Raises ApiError 403 for an anonymous request of a path that is not public."""
        if token is None and not path.startswith(_PUBLIC_PATHS):
            raise _forbidden_path(path)

    def review(self, token: str, asked: Any) -> dict[str, Any]:
        """The answer to a SelfSubjectAccessReview, which everybody with a token may ask for."""
        spec = _member(asked, "spec")
        attributes = _member(spec, "resourceAttributes") or _member(spec, "nonResourceAttributes")
        return {
            "kind": "SelfSubjectAccessReview",
            "apiVersion": "authorization.k8s.io/v1",
            "metadata": {},
            "spec": spec,
            "status": {"allowed": self._may(token, str(attributes.get("verb", "")))},
        }

    def review_rules(self, token: str, asked: Any) -> dict[str, Any]:
        """The answer to a SelfSubjectRulesReview: all that its owner may do, which is the same in every namespace."""
        verbs = self._verbs[token]
        allowed = ["*"] if verbs is None else sorted(verbs)
        everything = [{"verbs": allowed, "apiGroups": ["*"], "resources": ["*"]}] if allowed else []
        paths = [{"verbs": allowed, "nonResourceURLs": ["*"]}] if allowed else []
        return {
            "kind": "SelfSubjectRulesReview",
            "apiVersion": "authorization.k8s.io/v1",
            "metadata": {},
            "spec": _member(asked, "spec"),
            "status": {"resourceRules": everything, "nonResourceRules": paths, "incomplete": False},
        }

    def review_self(self, token: str) -> dict[str, Any]:
        """The answer to a SelfSubjectReview: who asks."""
        user = {"username": self._owner(token), "groups": ["system:authenticated"]}
        return {
            "kind": "SelfSubjectReview",
            "apiVersion": "authentication.k8s.io/v1",
            "metadata": {},
            "status": {"userInfo": user},
        }

    def _may(self, token: str, verb: str) -> bool:
        verbs = self._verbs[token]
        return verbs is None or verb in verbs

    def _owner(self, token: str | None) -> str:
        return _ANONYMOUS if token is None else f"sandbox-{list(self._verbs).index(token)}"


def _password(credentials: str) -> str:
    """kubectl sends no bearer token over plain HTTP; it does send the password in the server's URL."""
    try:
        return base64.b64decode(credentials, validate=True).decode().partition(":")[2]
    except (binascii.Error, UnicodeDecodeError):
        return ""


def _forbidden_path(path: str) -> ApiError:
    return failure(403, "Forbidden", f'forbidden: User "{_ANONYMOUS}" cannot get path "{path}"', details={})


def _member(of: Any, name: str) -> dict[str, Any]:
    """An object in what a client sent; an empty one where it sent something else."""
    found = of.get(name) if isinstance(of, dict) else None
    return found if isinstance(found, dict) else {}
