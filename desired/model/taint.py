"""Taints of Nodes, and those of them that this product writes."""

from dataclasses import dataclass
from datetime import UTC, datetime

from desired.model.clocks import parse_moment
from desired.names import OUT_OF_SERVICE_DELETED, TAINT_OUT_OF_SERVICE, TAINT_SHUTDOWN


@dataclass(frozen=True, slots=True)
class Taint:
    """One entry of ``spec.taints``. ``time_added`` is carried along untouched, as the API server wrote it."""

    key: str
    effect: str
    value: str | None = None
    time_added: str | None = None

    @property
    def added_at(self) -> datetime | None:
        """``time_added`` in UTC; None where it is not there, or is no time."""
        try:
            return parse_moment(self.time_added or "")
        except (ValueError, OverflowError):
            return None


_NO_SCHEDULE, _NO_EXECUTE = "NoSchedule", "NoExecute"


def has_shutdown_taint(taints: tuple[Taint, ...]) -> bool:
    """Whether the taint is there, with any value: its key with another effect is another owner's."""
    return any(_is_shutdown(taint) for taint in taints)


def with_shutdown_taint(taints: tuple[Taint, ...], *, wanted: bool) -> tuple[Taint, ...]:
    """The whole list of taints with or without it; all others as they are."""
    others = tuple(taint for taint in taints if not _is_shutdown(taint))
    return (*others, Taint(TAINT_SHUTDOWN, _NO_SCHEDULE)) if wanted else others


def _is_shutdown(taint: Taint) -> bool:
    return taint.key == TAINT_SHUTDOWN and taint.effect == _NO_SCHEDULE


def out_of_service_taint(taints: tuple[Taint, ...]) -> Taint | None:
    """The out-of-service taint that is ours; None where there is none, or only one with another value."""
    return next((taint for taint in taints if _is_ours(taint)), None)


def is_out_of_service(taints: tuple[Taint, ...]) -> bool:
    """Whether the taint is there with any value and effect: Kubernetes looks at its key alone."""
    return any(taint.key == TAINT_OUT_OF_SERVICE for taint in taints)


def with_out_of_service_taint(taints: tuple[Taint, ...], since: datetime | None = None) -> tuple[Taint, ...]:
    """The whole list of taints with ours, added at ``since``: no API server writes that time by itself."""
    added = None if since is None else f"{since.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
    ours = Taint(TAINT_OUT_OF_SERVICE, _NO_EXECUTE, OUT_OF_SERVICE_DELETED, added)
    return (*without_out_of_service_taint(taints), ours)


def without_out_of_service_taint(taints: tuple[Taint, ...]) -> tuple[Taint, ...]:
    """The whole list of taints without ours; all others as they are."""
    return tuple(taint for taint in taints if not _is_ours(taint))


def _is_ours(taint: Taint) -> bool:
    return (taint.key, taint.value, taint.effect) == (TAINT_OUT_OF_SERVICE, OUT_OF_SERVICE_DELETED, _NO_EXECUTE)
