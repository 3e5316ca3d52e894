"""Escaping and limits of foreign text: names and error bodies come from elsewhere, and terminals obey them."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import msgspec

from actuators.http.shown import escaped_json
from desired.model.route import MOST_ROUTES
from desired.section import Section


def visible(text: str) -> str:
    """``text`` with everything that is not printable written as an escape."""
    return text if text.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def json_text(value: object, *, compact: bool = False) -> str:
    """A value as JSON that may be shown on a terminal, with a line break at its end; on one line when ``compact``."""
    text = msgspec.json.encode(value)
    return escaped_json((text if compact else msgspec.json.format(text, indent=2)).decode()) + "\n"


LIMITS: Mapping[str, int] = MappingProxyType({"routes": MOST_ROUTES})
"""Name of a section → how many of these Hetzner allows. A section that is not here has no known limit."""


def shown_use(name: str, section: Section[Any, Any]) -> str:
    """``7/100`` for a section with a limit, ``7`` for any other. What could not be read takes up room as well."""
    limit = LIMITS.get(name)
    return str(len(section)) if limit is None else f"{section.total}/{limit}"
