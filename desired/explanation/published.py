"""What a Service publishes: its addresses and its conditions, each with the rule behind it."""

from collections.abc import Collection

from desired.annotations.table import BY_FIELD
from desired.explanation.fact import NOT_OURS, Fact, Rule
from desired.explanation.fate import if_withheld
from desired.model.load_balancer import KNOWN_AFTER_APPLY, CloudBalancer
from desired.model.service import Ingress, Service, ServiceCondition
from desired.names import CONDITION_IN_SYNC, CONDITION_READY
from desired.plan.change import Change, Verdict

_OURS = (CONDITION_READY, CONDITION_IN_SYNC)


def explain_status(service: Service, balancer: CloudBalancer | None, changes: Collection[Change]) -> tuple[Fact, ...]:
    """The Service's addresses in their order, those that go away among them, and after these the ones that come."""
    change = next((change for change in changes if change.kind in ("service.status", "service.release")), None)
    if change is None:
        return tuple(_fact(entry, _shown(entry), _shown(entry), balancer) for entry in service.ingress)
    withheld = if_withheld(change)
    wanted = [entry for entry in change.after if isinstance(entry, Ingress)] if isinstance(change.after, tuple) else []
    facts = [
        _fact(entry, _shown(entry), _shown(entry) if entry in wanted else None, balancer, withheld)
        for entry in service.ingress
    ]
    facts += [_fact(entry, None, _shown(entry), balancer, withheld) for entry in wanted if entry not in service.ingress]
    if change.after is KNOWN_AFTER_APPLY:
        facts.append(Fact("IP", None, KNOWN_AFTER_APPLY.value, Rule.BALANCER, change.reason + withheld))
    return tuple(facts)


def _fact(
    entry: Ingress, value: str | None, wanted: str | None, balancer: CloudBalancer | None, withheld: str = ""
) -> Fact:
    rule, source = _source(entry, balancer)
    changes = value != wanted
    if changes and wanted is None:
        source = f"goes away: {source}"
    subject = "Hostname" if entry.ip is None else "IP"
    return Fact(subject, value, wanted, rule, source + (withheld if changes else ""))


def _shown(entry: Ingress) -> str:
    """The address or name, with what a client has to know of it."""
    mode = f" ({entry.ip_mode})" if entry.ip_mode else ""
    ports = ", with ports" if entry.has_ports else ""
    return f"{entry.ip if entry.ip is not None else entry.hostname or ''}{mode}{ports}"


def _source(entry: Ingress, balancer: CloudBalancer | None) -> tuple[Rule, str]:
    if entry.ip is None:
        return Rule.ASKED, BY_FIELD["hostname"].full_key
    if balancer is None:
        return Rule.BALANCER, "of a load balancer that is not there, or not known"
    if entry.ip == str(balancer.ipv4):
        return Rule.BALANCER, f"the public IPv4 address of load balancer {balancer.id}"
    if entry.ip == str(balancer.ipv6):
        return Rule.BALANCER, f"the public IPv6 address of load balancer {balancer.id}"
    for place in balancer.attachments:
        if entry.ip == str(place.ip):
            return Rule.BALANCER, f"the address of load balancer {balancer.id} in network {place.network_id}"
    return Rule.BALANCER, f"no address of load balancer {balancer.id}"


def explain_conditions_of(
    service: Service, wanted: Collection[ServiceCondition], changes: Collection[Change]
) -> tuple[Fact, ...]:
    """The Service's conditions in their order, then those of ours that are not there. ``wanted`` is what ours should
    say, empty where nothing is said of the Service.

    They ride on other writes (design section 4): only with such a one among ``changes`` it is certain that they change.
    """
    ours = {condition.type: condition for condition in wanted}
    written = any(map(_carries, changes))
    there = {condition.type for condition in service.conditions}
    facts = [_condition(found, ours.get(found.type), written=written) for found in service.conditions]
    facts += [_missing(condition, written=written) for condition in wanted if condition.type not in there]
    return tuple(facts)


def _carries(change: Change) -> bool:
    """Whether a write takes conditions along, and is made now."""
    return bool(change.rides) and change.is_known and change.ruling.verdict is Verdict.ALLOWED


def _condition(found: ServiceCondition, wanted: ServiceCondition | None, *, written: bool) -> Fact:
    value = _said(found)
    since = f", since {found.since:%Y-%m-%d %H:%M:%S} UTC" if found.since else ""
    if found.type not in _OURS:
        return Fact(found.type, value, value, Rule.FOREIGN, NOT_OURS)
    if wanted is None or _said(wanted) == value:
        return Fact(found.type, value, value, Rule.BALANCER, (wanted or found).message + since)
    if written:
        return Fact(found.type, value, _said(wanted), Rule.BALANCER, wanted.message)
    return Fact(found.type, value, value, Rule.BALANCER, f"{found.message}{since}; {_now(wanted)}")


def _missing(wanted: ServiceCondition, *, written: bool) -> Fact:
    if written:
        return Fact(wanted.type, None, _said(wanted), Rule.BALANCER, wanted.message)
    return Fact(wanted.type, None, None, Rule.BALANCER, f"not there, which is no difference; {_now(wanted)}")


def _now(wanted: ServiceCondition) -> str:
    return f"would be {_said(wanted)}: {wanted.message}"


def _said(condition: ServiceCondition) -> str:
    return f"{condition.status} {condition.reason}".rstrip()
