"""The shutdown taint: a Node whose server is switched off takes no pods (nodes-and-routes 5.3, 5.4, W-27)."""

from desired.names import TAINT_SHUTDOWN
from desired.section import UNMANAGED, Unmanaged
from desired.snapshot import Server, ServerStatus, Taint

_EFFECT = "NoSchedule"


def is_shut_down(server: Server) -> bool | Unmanaged:
    """Whether the server's Node should have the taint; UNMANAGED while the server is on its way between on and off."""
    match server.status:
        case ServerStatus.OFF:
            return True
        case ServerStatus.RUNNING:
            return False
    return UNMANAGED


def has_shutdown_taint(taints: tuple[Taint, ...]) -> bool:
    """Whether the taint is there, with any value: its key with another effect is somebody else's."""
    return any(_is_shutdown(taint) for taint in taints)


def with_shutdown_taint(taints: tuple[Taint, ...], *, wanted: bool) -> tuple[Taint, ...]:
    """The whole list of taints with or without it; all others as they are."""
    others = tuple(taint for taint in taints if not _is_shutdown(taint))
    return (*others, Taint(TAINT_SHUTDOWN, _EFFECT)) if wanted else others


def _is_shutdown(taint: Taint) -> bool:
    return taint.key == TAINT_SHUTDOWN and taint.effect == _EFFECT
