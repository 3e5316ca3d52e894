"""Taints of Nodes, and those of them that this product writes."""

from dataclasses import dataclass

from desired.names import TAINT_SHUTDOWN


@dataclass(frozen=True, slots=True)
class Taint:
    """One entry of ``spec.taints``. ``time_added`` is carried along untouched, as the API server wrote it."""

    key: str
    effect: str
    value: str | None = None
    time_added: str | None = None


_NO_SCHEDULE = "NoSchedule"


def has_shutdown_taint(taints: tuple[Taint, ...]) -> bool:
    """Whether the taint is there, with any value: its key with another effect is another owner's."""
    return any(_is_shutdown(taint) for taint in taints)


def with_shutdown_taint(taints: tuple[Taint, ...], *, wanted: bool) -> tuple[Taint, ...]:
    """The whole list of taints with or without it; all others as they are."""
    others = tuple(taint for taint in taints if not _is_shutdown(taint))
    return (*others, Taint(TAINT_SHUTDOWN, _NO_SCHEDULE)) if wanted else others


def _is_shutdown(taint: Taint) -> bool:
    return taint.key == TAINT_SHUTDOWN and taint.effect == _NO_SCHEDULE
