"""Explanation of one Service, as plain values: its load balancer, options, targets, ports, and the decisions of guards.

Nothing is decided here. The desired state comes from the same functions that a plan is made with, so that an
explanation cannot differ from what a pass does.
"""

from dataclasses import dataclass
from difflib import get_close_matches

from desired.annotations.warnings import AnnotationWarning
from desired.explain.fact import Fact
from desired.explain.guards import Word, guard_words
from desired.explain.listeners import CertificateFact, ListenerFact, explain_certificates, explain_listeners
from desired.explain.load_balancer import (
    FoundBalancer,
    explain_balancer,
    explain_conditions_of,
    explain_status,
    found_balancer,
)
from desired.explain.members import MemberFact, explain_members
from desired.explain.options import OptionFact, explain_options, explain_remarks
from desired.explain.service_stage import (
    ServiceStage,
    Wait,
    explain_pending,
    stage_of_service,
    why_in_stage,
    why_undecided,
)
from desired.guards.anchor import Anchor, anchor_of_cloud
from desired.guards.facts import Facts
from desired.guards.judge import conditions_of, restrict
from desired.load_balancers.desired import DesiredLoadBalancer
from desired.load_balancers.ownership import former_by_name, left_behind, owner_of
from desired.load_balancers.release import due_of, shown_time
from desired.model.service import Service
from desired.model.settings import Controller, Settings
from desired.model.snapshot import Snapshot
from desired.plan.change import Change, Note, NoteKind, Plan
from desired.planner import DesiredState


@dataclass(frozen=True, slots=True)
class ServiceExplanation:
    """Explanation of one Service."""

    key: str
    stage: ServiceStage
    why: str
    """One sentence."""
    balancer: FoundBalancer
    options: tuple[OptionFact, ...]
    """Every annotation of the table; nothing for a Service of which none counts."""
    remarks: tuple[AnnotationWarning, ...]
    """Other warnings about its annotations and spec."""
    targets: tuple[MemberFact, ...]
    listeners: tuple[ListenerFact, ...]
    certificates: tuple[CertificateFact, ...]
    status: tuple[Fact, ...]
    """The addresses that it publishes."""
    conditions: tuple[Fact, ...]
    pending: tuple[Wait, ...]
    changes: tuple[Change, ...]
    """As in the judged plan."""
    guards: tuple[Word, ...]
    """On these changes; empty when there is none."""
    anchor: Anchor
    notes: tuple[Note, ...]
    """On this Service and its load balancer, and those that explain verdicts wherever they stand."""


def explain_service(
    service: Service, snapshot: Snapshot, settings: Settings, plan: Plan, desired: DesiredState
) -> ServiceExplanation:
    """Explain ``service``, which is of ``snapshot``. ``plan`` is the judged plan of the same snapshot, made
    from ``desired``."""
    facts = Facts(plan, snapshot, settings, desired)
    wish = desired.services.get(service.id)
    changes = facts.by_owner.get(service.key, ())
    roots = service.keys
    part = restrict(plan, roots, roots)
    notes = tuple(note for note in part.notes if note.kind is not NoteKind.PARTIAL)
    balancer = found_balancer(wish, snapshot)
    words = guard_words(service.key, facts, part.holds)
    said = explain_remarks(wish, settings)
    conditions = conditions_of(service.key, changes, facts) if isinstance(wish, DesiredLoadBalancer) else ()
    return ServiceExplanation(
        key=service.key,
        stage=stage_of_service(service, wish),
        why=why_in_stage(service, wish, changes),
        balancer=explain_balancer(service, wish, changes, snapshot, why_undecided(service)),
        options=explain_options(wish, balancer, settings),
        remarks=said,
        targets=explain_members(wish, balancer, changes, snapshot, settings),
        listeners=explain_listeners(wish, balancer, changes, said, notes),
        certificates=explain_certificates(wish, balancer, snapshot),
        status=explain_status(service, balancer, changes),
        conditions=explain_conditions_of(service, conditions, changes),
        pending=explain_pending(wish, changes, words),
        changes=changes,
        guards=words,
        anchor=anchor_of_cloud(snapshot, settings),
        notes=notes,
    )


def why_no_service(name: str, snapshot: Snapshot, settings: Settings) -> str:
    """The reason why there is no Service of this ``NAMESPACE/NAME`` to explain, and which ones come near."""
    services = snapshot.services
    if Controller.SERVICE not in settings.controllers:
        return f"Service {name!r} cannot be explained: --controllers leaves {Controller.SERVICE} out"
    if services is None:
        return f"Service {name!r} cannot be explained: the Services were not read"
    if name in services.unreadable:
        return f"Service {name!r} cannot be explained: {services.unreadable[name]}"
    namespace, _, short = name.partition("/")
    namesakes = [service.id for service in services if service.name == short]
    beside = [service.name for service in services if service.namespace == namespace]
    near = (*namesakes, *(f"{namespace}/{close}" for close in get_close_matches(short, beside, n=3)))[:3]
    hint = f"; nearest: {', '.join(near)}" if near else ""
    if not services.complete:
        return f"Service {name!r} is not among the {len(services)} that were read: {services.why_incomplete}{hint}"
    left = left_behind(snapshot).get(former_by_name(namespace, short))
    due_at = None if left is None else due_of(owner_of(left.spec.labels))
    if left is not None:
        end = "" if due_at is None else f", and is deleted after {shown_time(due_at)}"
        hint = f"; load balancer {left.id} {left.spec.name} goes back to it when it is created again{end}"
    return f"the cluster has no Service {name!r}{hint}"
