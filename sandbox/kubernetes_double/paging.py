"""Lists in pages: ``limit``, ``continue`` and what makes a token expire."""

import base64
import json
from typing import Any

from hcloud_sandbox.clock import SimulatedClock
from hcloud_sandbox.shapes import copied
from kubernetes_double.errors import bad_request, failure
from kubernetes_double.resources import Resource
from kubernetes_double.selectors import Test
from kubernetes_double.store import Key, Objects

TOKEN_LIFE_S = 300.0
"""How long a token is good for: the API server compacts its history every five minutes."""


class Pages:
    """The states that pages still to be read come from."""

    def __init__(self, clock: SimulatedClock) -> None:
        self._clock = clock
        self._kept: dict[tuple[Resource, int], tuple[float, Objects]] = {}

    def forget(self) -> None:
        """Expire all tokens."""
        self._kept.clear()

    def page(self, key: Key, current: tuple[int, Objects], test: Test, limit: int, token: str | None) -> dict[str, Any]:
        """The list's ``metadata`` and ``items``. ``key`` names kind and namespace, ``current`` version and state now.

        Raises ApiError 400 for a token that cannot be read, 410 for an old one.
        """
        version, objects, after = self._resume(key.resource, token) if token else (*current, "")
        rest = sorted(
            (k for k in objects if key.namespace in ("", k.namespace) and k.sort_key > after), key=lambda k: k.sort_key
        )
        matching = [k for k in rest if test(objects[k])]
        shown = matching[:limit] if limit else matching
        metadata: dict[str, Any] = {"resourceVersion": str(version)}
        if len(shown) < len(matching):
            now = self._clock.timestamp()
            self._kept = {k: entry for k, entry in self._kept.items() if entry[0] > now}
            self._kept.setdefault((key.resource, version), (now + TOKEN_LIFE_S, objects))
            metadata["continue"] = base64.urlsafe_b64encode(json.dumps([version, shown[-1].sort_key]).encode()).decode()
        # An item does not repeat the list's kind.
        items = [{k: v for k, v in objects[each].items() if k not in ("kind", "apiVersion")} for each in shown]
        return {"metadata": metadata, "items": copied(items)}

    def _resume(self, resource: Resource, token: str) -> tuple[int, Objects, str]:
        try:
            version, after = json.loads(base64.urlsafe_b64decode(token))
            until, objects = self._kept.get((resource, int(version)), (0.0, {}))
        except (ValueError, TypeError) as wrong:
            raise bad_request(f"invalid continue token: continue key is not valid: {wrong}") from None
        if until <= self._clock.timestamp():
            why = "The provided continue parameter is too old to display a consistent list result."
            raise failure(410, "Expired", why)
        return version, objects, after
