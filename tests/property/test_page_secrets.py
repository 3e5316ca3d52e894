"""Law of the page: of a world whose every text is a marker it has those only that a plan may show, and never a secret.

What a plan may show is what a rule reads. It is told here, and not taken from what reads or masks it elsewhere.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from ipaddress import IPv4Network
from itertools import count
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from desired.annotations.options import Options
from desired.model.settings import Settings
from hcloud_sandbox.clock import SimulatedClock
from hcloud_sandbox.demo_world import CLUSTER_CIDR
from hcloud_sandbox.exchange import Request, Response, Simulator
from hcloud_sandbox.hetzner import HetznerSimulator
from kubernetes_double import KubernetesSimulator
from reconciler.page.live import LivePage
from reconciler.page.page import document_of, page_of
from reconciler.passes.one_pass import plan_once
from reconciler.result import Report
from reconciler.telemetry import logs
from reconciler.telemetry.serving import Request as Asked
from tests.property.balancer_worlds import worlds
from tests.property.strategies import law_of_passes, some
from tests.support.direct import DirectSimulation
from tests.support.page_worlds import page_worlds
from tests.support.passes import Run
from tests.support.premises import premise
from tests.support.simulators import START

MARKER = "mArKeR"
SHOWN = re.compile(
    r"name|namespace|type|key|value|effect|providerID|podCIDR|address|ip|ip_range|gateway|destination|location"
    r"|zone|network_zone|health_status|protocol|algorithm|currency|ipMode|hostname|image|loadBalancerClass|selector|reason"
)
"""Fields whose text is shown, or is a word of which a rule knows all."""
NEEDED = re.compile(
    r"kind|apiVersion|uid|resourceVersion|creationTimestamp|deletionTimestamp|timeAdded|lastTransitionTime"
    r"|lastHeartbeatTime|status|listen_port|created|continue|externalTrafficPolicy|sessionAffinity"
    r"|price_monthly|gross|vat_rate"
)
"""Fields without whose own text there is no plan."""
WITHIN = re.compile(r"podCIDRs|alias_ips|finalizers|loadBalancerSourceRanges|prices|algorithm|domain_names|http")
"""Fields that are so with everything in them."""
READ_KEYS = re.compile(r"load-balancer\.hetzner\.cloud/|hcloud|kubernetes\.io/|instance\.hetzner\.cloud/")
"""Annotations and labels that rules read."""


class Marked:
    """A simulator whose every text that no rule reads is another marker, as are fields that nobody knows."""

    def __init__(self, simulator: Simulator, broken: Sequence[str] = ()) -> None:
        """What lies at the paths that end with ``broken`` is answered with an error that repeats the request."""
        self._simulator = simulator
        self._broken = tuple(broken)
        self._numbers = count()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._simulator, name)

    def handle(self, request: Request) -> Response:
        """The simulator's answer, marked."""
        if self._broken and request.path.endswith(self._broken):
            return Response(403, self._echoed(request))
        answer = self._simulator.handle(request)
        if answer.status >= 400 or not isinstance(answer.body, dict):
            return answer
        return Response(answer.status, self._marked(json.loads(answer.encoded())), answer.headers)

    def _echoed(self, request: Request) -> Any:
        token = request.headers["authorization"].split()[-1]
        said = f"{token} may not do this"
        return {"kind": "Status", "message": said, "error": {"code": "forbidden", "message": said}}

    def _marked(self, found: Any, name: str = "", *, is_kept: bool = False) -> Any:
        kept = is_kept or WITHIN.fullmatch(name) is not None
        if isinstance(found, list):
            return [self._marked(each, name, is_kept=kept) for each in found]
        if isinstance(found, str):
            is_known = kept or SHOWN.fullmatch(name) or NEEDED.fullmatch(name)
            return found if is_known else self._marker()
        if not isinstance(found, dict):
            return found
        if name in ("labels", "annotations"):
            texts = {key: text if READ_KEYS.search(key) else self._marker() for key, text in found.items()}
            return {**texts, f"example.com/{self._marker()}": self._marker()}
        more: dict[str, Any] = {"labels": {}, "annotations": {}} if name == "metadata" else {}
        marked = {key: self._marked(inner, key, is_kept=kept) for key, inner in {**more, **found}.items()}
        return {**marked, self._marker(): {"name": self._marker()}}

    def _marker(self) -> str:
        return f"{MARKER}{next(self._numbers)}"


@dataclass
class Pages:
    """All that a browser can be shown of one report."""

    report: Report
    texts: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        page = LivePage(rest=lambda _: None)
        page.ended(self.report)
        snapshot = self.report.snapshot
        objects = [*snapshot.nodes, *(snapshot.services or ())] if snapshot else []
        for path in ("/", *(f"/{each.key}" for each in objects), "/node/none"):
            answer = page.answer(Asked(path=path, host="localhost"))
            self.texts[path] = answer.body.decode()
            assert answer.status == (404 if path == "/node/none" and snapshot else 200), (path, answer)

    @property
    def leaks(self) -> list[tuple[str, str]]:
        """Where something is shown that is nobody's business, with what stands around it."""
        return [
            (path, text[max(0, at - 80) : at + 80])
            for path, text in self.texts.items()
            for wanted in (MARKER, *SECRETS)
            if (at := text.find(wanted)) >= 0
        ]


SECRETS = (HetznerSimulator.TOKEN, KubernetesSimulator.TOKEN)


@contextmanager
def hidden() -> Iterator[None]:
    """As every command begins."""
    before, logs._SECRETS = logs._SECRETS, logs.Redactor()
    logs.hide(*SECRETS)
    try:
        yield
    finally:
        logs._SECRETS = before


def marked(project: Mapping[str, Any], cluster: Mapping[str, Any], broken: Sequence[str], settings: Settings) -> Report:
    """The plan of a marked world."""
    clock = SimulatedClock(source=START.timestamp)
    hetzner, kubernetes = HetznerSimulator(clock, world=project), KubernetesSimulator(clock, world=cluster)
    marked = Marked(hetzner, broken), Marked(kubernetes, broken)
    sim = DirectSimulation(*marked, clock, is_judged=False)  # type: ignore[arg-type]
    return plan_once(Run(sim, settings).plan_context)


broken = st.lists(some("/nodes", "/servers", "/services", "/load_balancers", "/networks/7", "/kube-system"), max_size=2)


@law_of_passes({"a change or a note is shown": 0.4})
@given(worlds(), broken)
def test_nothing_secret_is_shown(world: Any, broken: Sequence[str]) -> None:
    """Neither on the page nor in an explanation: no unread text of the world, and no token that an API repeats."""
    settings = Settings(network="7" if world.has_network else None, balancer_defaults=Options(location="fsn1"))
    with hidden():
        report = marked(world.project, world.cluster, broken, settings)
        pages = Pages(report)
    premise("a change or a note is shown", is_met=bool(report.lines or report.notes))
    assert pages.leaks == []
    if report.snapshot is not None and "/nodes" not in broken:
        assert all(node.name in pages.texts["/"] for node in report.snapshot.nodes)


def test_nothing_secret_of_a_cluster_in_which_much_happens() -> None:
    """Every section has something to show; a file of it has no more than what is served."""
    world = page_worlds(START)["eventful"]
    settings = Settings(network="4711", routes=True, cluster_cidr=IPv4Network(CLUSTER_CIDR))
    with hidden():
        report = marked(world["hetzner"], world["kubernetes"], (), settings)
        pages = Pages(report)
    assert len(pages.texts) > 20
    assert min(len(report.lines), len(report.notes), len(report.holds)) > 0
    assert pages.leaks == []
    assert not {text for text in (MARKER, *SECRETS) if text in document_of(page_of(report)).file()}
