"""How many there may be of what reports count."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from desired.model.route import MOST_ROUTES
from desired.section import Section

LIMITS: Mapping[str, int] = MappingProxyType({"routes": MOST_ROUTES})
"""Name of a section → how many of these Hetzner takes. A section that is not here has no limit that is known."""


def shown_use(name: str, section: Section[Any, Any]) -> str:
    """``7/100`` for a section with a limit, ``7`` for any other. What could not be read takes up room as well."""
    limit = LIMITS.get(name)
    return str(len(section)) if limit is None else f"{section.total}/{limit}"
