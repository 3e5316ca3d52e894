"""Every fault that a whole pass may meet, by name: of the lead, of clocks, of the process, of its records, and of the
watch events that call for it."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from desired.names import CONFIG_MAP
from hcloud_sandbox.clock import SimulatedClock
from tests.campaign.probe import as_it_was
from tests.support.lines import Between, Handle
from tests.support.passes import just_before_the_writes
from tests.support.world import CONFIG_MAPS, to_simulator

if TYPE_CHECKING:
    from tests.campaign.running import Course

HOUR_S = 3600.0
LATE_S = 300.0
"""How late a pass may come of which no watch event has told: far more than the interval."""
PassFault = Callable[["Course"], None]
"""What happens in the place of a pass."""


def _no_lead(course: "Course") -> None:
    """The lead is lost before the pass writes anything, and another process takes over after it."""
    course.cluster.is_deposed = True
    course.cluster.converge()


def _two_leaders(course: "Course") -> None:
    """Another process has planned when this pass began, and does what it planned when the pass is over."""
    cluster = course.cluster
    then = {api: course.probe.world_of(api) for api in ("hetzner", "kubernetes")}
    cluster.converge()
    environment = {name: value for name, value in cluster.environment.items() if name != "RECONCILER_LEADER_ELECT"}
    other = replace(cluster, environment=environment, is_judged=False)
    course.probe.attach(other)
    now = {line: line.between for line in other.lines().values()}
    for api, before in then.items():
        line = other.lines()[api]
        line.between = _reading(as_it_was(cluster, api, before), line.between)
    other.start()

    def wakes(_: object) -> None:
        for line, between in now.items():
            line.between = between

    just_before_the_writes(other._process, wakes)
    other.converge()


def _reading(old: Handle, between: Between) -> Between:
    """The same, but for reads, which see what is old."""
    return lambda request, handle: between(request, old if request.method == "GET" else handle)


def _restarted(course: "Course") -> None:
    course.cluster.start()
    course.cluster.converge()


def _late(course: "Course") -> None:
    """The watch event that would have called for the pass is lost: it comes with the interval."""
    course.cluster.advance(LATE_S)
    course.cluster.converge()


def _doubled(course: "Course") -> None:
    """A watch event comes twice, or after the pass that has seen it: another pass follows at once."""
    course.cluster.converge()
    course.cluster.converge()


def _off(course: "Course", *, seconds: float, of: str) -> None:
    """The clock of the API server, of Hetzner or of this process is off for one pass."""
    world, clock, process = course.cluster, course.cluster.clock, course.cluster._process
    off = SimulatedClock(lambda: clock.timestamp() + seconds)
    line = {"cluster": world.kubernetes_line, "cloud": world.hetzner_line}.get(of)
    if line is None:
        process.readers = replace(process.readers, wall=off.timestamp)
    else:
        line._clock = off
    course.cluster.converge()
    process.readers = replace(process.readers, wall=clock.timestamp)
    if line is not None:
        line._clock = clock


def _lost(course: "Course", *, name: str) -> None:
    """Somebody deletes a ConfigMap of the product."""
    to_simulator(course.cluster.kubernetes, "DELETE", f"{CONFIG_MAPS}/{name}")
    course.cluster.converge()


def _garbled(course: "Course", *, name: str) -> None:
    """Somebody writes something else into each key of a ConfigMap of the product, or makes one that says nothing."""
    found = course.cluster.objects("configmaps").get(name)
    if found is None:
        course.cluster.to_cluster("POST", CONFIG_MAPS, {"metadata": {"name": name}, "data": {"record": "{"}})
    else:
        course.cluster.patch_config_map(name, **dict.fromkeys(found.get("data") or {}, "{a fault of the campaign"))
    course.cluster.converge()


PASS_FAULTS: Mapping[str, PassFault] = {
    "no lead": _no_lead,
    "two leaders": _two_leaders,
    "restarted": _restarted,
    "late": _late,
    "doubled": _doubled,
    **{
        f"clock of the {of} {word}": partial(_off, seconds=seconds, of=of)
        for of in ("cluster", "cloud", "process")
        for word, seconds in {"an hour ahead": HOUR_S, "an hour behind": -HOUR_S}.items()
    },
    **{
        f"{CONFIG_MAP} {word}": partial(fault, name=CONFIG_MAP)
        for word, fault in {"lost": _lost, "garbled": _garbled}.items()
    },
}
