"""What is served under which path: probes as components of Kubernetes answer them, and metrics."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from urllib.parse import parse_qs

from reconciler.telemetry.health import Check, Health
from reconciler.telemetry.logs import printable

_TEXT = "text/plain; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Request:
    """What a page is asked."""

    query: str = ""
    """What stands behind the question mark."""
    accept: str = ""
    """The header of that name."""


@dataclass(frozen=True, slots=True)
class Page:
    """An answer."""

    status: int
    body: bytes
    content_type: str = _TEXT


Pages = Mapping[str, Callable[[Request], Page]]
"""Path → what answers there."""

Render = Callable[[str], tuple[str, bytes]]
"""``Accept`` header → content type and text of a scrape."""


def health_pages(health: Health) -> Pages:
    """The three probes. ``/healthz`` is the old name of ``/livez``, and HCCM's."""
    return MappingProxyType(
        {
            "/livez": lambda request: _probe("livez", health.liveness(), request),
            "/readyz": lambda request: _probe("readyz", health.readiness(), request),
            "/healthz": lambda request: _probe("healthz", health.liveness(), request),
        }
    )


def metrics_pages(render: Render) -> Pages:
    """The scrape."""

    def metrics(request: Request) -> Page:
        content_type, text = render(request.accept)
        return Page(200, text, content_type)

    return MappingProxyType({"/metrics": metrics})


def _probe(name: str, checks: tuple[Check, ...], request: Request) -> Page:
    """``ok``; a line for each check when something failed, or with ``?verbose`` (Kubernetes API health endpoints)."""
    is_fine = all(check.problem is None for check in checks)
    if is_fine and "verbose" not in parse_qs(request.query, keep_blank_values=True):
        return Page(200, b"ok")
    lines = [printable(check.line) for check in checks]
    lines.append(f"{name} check {'passed' if is_fine else 'failed'}")
    return Page(200 if is_fine else 500, "".join(f"{line}\n" for line in lines).encode())
