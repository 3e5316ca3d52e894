"""Lists in pages: ``limit``, ``continue`` and what makes a token expire."""

import base64
import json
from typing import Any

from hcloud_sandbox.clock import SimulatedClock
from kubernetes_double.patch import copied
from kubernetes_double.resources import Resource
from kubernetes_double.selectors import Test
from kubernetes_double.status import bad_request, expired_token
from kubernetes_double.store import Key

TOKEN_LIFE_S = 300.0
"""How long a token is good for: the API server compacts its history every five minutes."""

_INCONSISTENT = -1
"""The version in a token that carries on, after a 410, with whatever is stored now."""

Objects = dict[Key, dict[str, Any]]


class Pages:
    """The states that pages still to be read come from."""

    def __init__(self, clock: SimulatedClock) -> None:
        self._clock = clock
        self._kept: dict[tuple[Resource, int], tuple[float, Objects]] = {}

    def forget(self) -> None:
        """Expire all tokens."""
        self._kept.clear()

    def page(
        self, key: Key, current: tuple[int, Objects], tests: list[Test], limit: int, token: str | None
    ) -> dict[str, Any]:
        """The list's ``metadata`` and ``items``. ``key`` names kind and namespace, ``current`` is the state now.

        Raises ApiError 400 for a token that cannot be read, 410 for an old one.
        """
        version, objects, after = (*current, "") if token is None else self._resume(key.resource, current, token)
        rest = sorted(
            (k for k in objects if key.namespace in ("", k.namespace) and k.sort_key > after), key=lambda k: k.sort_key
        )
        matching = [k for k in rest if all(test(objects[k]) for test in tests)]
        shown = matching[:limit] if limit else matching
        metadata: dict[str, Any] = {"resourceVersion": str(version)}
        if len(shown) < len(matching):
            self._keep(key.resource, version, objects)
            metadata["continue"] = _token(version, shown[-1].sort_key)
            if not tests:
                metadata["remainingItemCount"] = len(matching) - len(shown)
        return {"metadata": metadata, "items": [_item(objects[k]) for k in shown]}

    def _keep(self, resource: Resource, version: int, objects: Objects) -> None:
        now = self._clock.timestamp()
        self._kept = {k: entry for k, entry in self._kept.items() if entry[0] > now}
        self._kept.setdefault((resource, version), (now + TOKEN_LIFE_S, objects))

    def _resume(self, resource: Resource, current: tuple[int, Objects], token: str) -> tuple[int, Objects, str]:
        try:
            content = json.loads(base64.urlsafe_b64decode(token.encode() + b"=" * (-len(token) % 4)))
            version, after = int(content["rv"]), str(content["start"])
        except (ValueError, KeyError, TypeError) as wrong:
            raise bad_request(f"invalid continue token: continue key is not valid: {wrong}") from None
        if version == _INCONSISTENT:
            return (*current, after)
        until, objects = self._kept.get((resource, version), (0.0, {}))
        if until <= self._clock.timestamp():
            raise expired_token(_token(_INCONSISTENT, after))
        return version, objects, after


def _item(found: dict[str, Any]) -> dict[str, Any]:
    """An object in a list, which does not repeat the list's kind."""
    return copied({field: value for field, value in found.items() if field not in ("kind", "apiVersion")})


def _token(version: int, after: str) -> str:
    content = json.dumps({"v": "meta.k8s.io/v1", "rv": version, "start": after})
    return base64.urlsafe_b64encode(content.encode()).decode().rstrip("=")
