"""Primary IPs as public addresses of load balancers: which ones are asked for, whether a new load balancer can have
them, and what becomes of them when it goes.

| Function | Result |
|---|---|
| ``asked_primary_ips`` | the Primary IPs that something depends on, to be looked up |
| ``chosen_primary_ips`` | those that a new load balancer gets, or why it cannot have them |
| ``holder_of``, ``is_outdated`` | which load balancer has one, and whether the list of load balancers says otherwise |
| ``notes_on_primary_ips`` | notes on those that an existing load balancer has, or does not have |
| ``addresses_at_deletion``, ``lost_with`` | what becomes of its addresses when it is deleted |

A load balancer gets its addresses at creation, for its whole life (Hetzner Cloud API, creation of load balancers): none
is replaced for another address, and no address is taken from something else. Nor is a Primary IP ever created, changed
or deleted here.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum

from desired.annotations.options import OPTIONS, BadAnnotation, Options
from desired.load_balancers.matching import Adoptable, BalancerMatch, Missing, Owned
from desired.load_balancers.orphans import orphans
from desired.model.load_balancer import CloudBalancer, PrimaryIp
from desired.model.service import Service
from desired.model.settings import Settings
from desired.model.snapshot import Snapshot
from desired.plan.notes import Note
from desired.rules import load_balancers as rows
from desired.rules.rule import Plain, Reason, Rule
from desired.section import Absent, Section, Unknown, Unmanaged

_VERSIONS: Mapping[str, int] = {"public_net_ipv4": 4, "public_net_ipv6": 6}
"""Field of ``Options`` → version of the address."""
AT_CREATION: frozenset[str] = frozenset(OPTIONS[field].full_key for field in _VERSIONS)
"""Annotations that an existing load balancer does not read: whatever they say, it is kept in sync."""


class Purpose(IntEnum):
    """What depends on a Primary IP, the most urgent first."""

    DELETION = 0
    """Of the load balancer that has it: does it stay?"""
    CREATION = 1
    """Of a load balancer that is to have it."""
    UPKEEP = 2
    """Only notes."""


def asked_primary_ips(
    snapshot: Snapshot, settings: Settings, matches: Mapping[str, BalancerMatch]
) -> Mapping[int | str, Purpose]:
    """Id or name of each Primary IP that something depends on → what for, the most urgent first. Empty unless a Service
    asks for one, or a load balancer that is about to go has one."""
    balancers = snapshot.load_balancers
    if snapshot.services is None or balancers is None:
        return {}
    asking = {service.id: _asked(service, settings) for service in snapshot.services if settings.serving.wants(service)}
    are_held = any(balancer.spec.primary_ips for balancer in balancers)
    if not any(asking.values()) and not are_held:
        return {}
    asked: list[tuple[Purpose, int | str]] = []
    for key, match in matches.items():
        wanted = asking.get(key)
        match match:
            case Owned(balancer) if wanted is None:
                asked += ((Purpose.DELETION, held) for held in balancer.spec.primary_ips)
            case Owned(balancer) | Adoptable(balancer) if wanted:
                there = {field: _id_of(balancer, field) for field in wanted}
                asked += (
                    (Purpose.UPKEEP, each)
                    for field, each in wanted.items()
                    if there[field] is not None and (isinstance(each, str) or each == there[field])
                )
            case Missing() if wanted:
                asked += ((Purpose.CREATION, each) for each in wanted.values())
    for orphan in orphans(snapshot, matches, settings.balancer_defaults) if are_held else ():
        asked += ((Purpose.DELETION, held) for held in orphan.balancer.spec.primary_ips if orphan.is_vanished)
    found: dict[int | str, Purpose] = {}
    for purpose, each in sorted(asked, key=lambda pair: (pair[0], str(pair[1]))):
        found.setdefault(each, purpose)
    return found


def _asked(service: Service, settings: Settings) -> Mapping[str, int | str]:
    """Field → the Primary IP that the Service asks for."""
    options = service.claim.requested(settings.balancer_defaults).options
    values = {field: getattr(options, field) for field in _VERSIONS}
    return {field: value for field, value in values.items() if not isinstance(value, Unmanaged)}


def _id_of(balancer: CloudBalancer, field: str) -> int | None:
    held = balancer.spec.primary_ipv4 if _VERSIONS[field] == 4 else balancer.spec.primary_ipv6
    return None if isinstance(held, Unmanaged) else held


@dataclass(frozen=True, slots=True)
class PrimaryIpChoice:
    """The Primary IPs that a new load balancer gets."""

    by_field: Mapping[str, PrimaryIp]
    """Field of ``Options`` → Primary IP; without those that were not asked for, and those that cannot be had."""
    problems: tuple[BadAnnotation, ...] = ()
    """Why it cannot have one that was asked for: then none is created."""
    unknown: tuple[Reason, ...] = ()
    """Why it is not known whether it can: then it waits."""
    location: str | None = None
    """Where it has to be created for them; None where nothing says so, or the Service says it itself."""

    @property
    def ipv4(self) -> PrimaryIp | None:
        """The IPv4 address; None: Hetzner chooses it."""
        return self.by_field.get("public_net_ipv4")

    @property
    def ipv6(self) -> PrimaryIp | None:
        """The IPv6 address; None: Hetzner chooses it."""
        return self.by_field.get("public_net_ipv6")


NO_CHOICE = PrimaryIpChoice({})
"""Nothing was asked for."""


def chosen_primary_ips(options: Options, snapshot: Snapshot) -> PrimaryIpChoice:
    """The Primary IPs that the load balancer of these ``options`` gets when it is created.

    They have to exist, to be of the right version, not blocked, and where the load balancer goes (Hetzner Cloud API,
    creation of load balancers). Where only a network zone is asked for, the load balancer goes where they are. Whether
    something else has one is decided by the guard ``address-in-use``.
    """
    by_field: dict[str, PrimaryIp] = {}
    problems: list[BadAnnotation] = []
    unknown: list[Reason] = []
    place = None if isinstance(options.location, Unmanaged) else options.location
    for field in _VERSIONS:
        asked, key = getattr(options, field), OPTIONS[field].full_key
        if isinstance(asked, Unmanaged):
            continue
        match snapshot.primary_ips.get(asked, Unknown("it was not looked up yet")):
            case Unknown(why):
                unknown.append(rows.PRIMARY_IP_UNKNOWN.because(option=key, wanted=asked, cause=why))
            case Absent():
                problems.append(BadAnnotation(key, rows.PRIMARY_IP_MISSING.text(option=key, wanted=asked)))
            case PrimaryIp() as found:
                wrong = _why_not(found, field, options, place)
                if wrong is not None:
                    row, facts = wrong
                    named = {"option": key, "wanted": asked, "address": found.shown, "location": found.location or ""}
                    problems.append(BadAnnotation(key, row.text(**named, **facts)))
                    continue
                by_field[field] = found
                place = place or found.location
    moved = place if isinstance(options.location, Unmanaged) and by_field else None
    return PrimaryIpChoice(by_field, tuple(problems), tuple(unknown), moved)


def _why_not(
    found: PrimaryIp, field: str, options: Options, place: str | None
) -> tuple[Rule, Mapping[str, Plain]] | None:
    """The row that says why the load balancer cannot have it, with facts of its own; None when it can."""
    if found.version != _VERSIONS[field]:
        return rows.PRIMARY_IP_OF_ANOTHER_VERSION, {"version": found.version, "needed": _VERSIONS[field]}
    if found.is_blocked:
        return rows.PRIMARY_IP_BLOCKED, {}
    if place is not None and found.location is not None and found.location != place:
        return rows.PRIMARY_IP_ELSEWHERE, {"place": place}
    zone = options.network_zone
    if place is None and not isinstance(zone, Unmanaged) and found.zone is not None and found.zone != zone:
        return rows.PRIMARY_IP_IN_ANOTHER_ZONE, {"zone": found.zone, "place": zone}
    return None


def holder_of(found: PrimaryIp, snapshot: Snapshot) -> CloudBalancer | None:
    """The load balancer that has the Primary IP, by the word of either; None where none is known to have it."""
    balancers, said = snapshot.load_balancers or Section(), _balancer_of(found)
    named = None if said is None else balancers.items.get(said)
    return next((balancer for balancer in balancers if found.id in balancer.spec.primary_ips), named)


def is_outdated(found: PrimaryIp, snapshot: Snapshot) -> bool:
    """Whether the list of load balancers, which is read anew in each pass, says otherwise: another one has the Primary
    IP, or the one that had it is gone."""
    holder = holder_of(found, snapshot)
    return _balancer_of(found) != (None if holder is None else holder.id)


def _balancer_of(found: PrimaryIp) -> int | None:
    """Id of the load balancer that has the Primary IP, by its own word; None where it names none."""
    return found.assignee_id if found.assignee_type == "load_balancer" else None


def notes_on_choice(service: Service, choice: PrimaryIpChoice) -> Iterator[Note]:
    """What is not known of the Primary IPs of a new load balancer, and which of them will not outlive it."""
    for why in choice.unknown:
        yield why.note(service.key)
    for found in choice.by_field.values():
        if found.auto_delete:
            yield rows.PRIMARY_IP_GOES_ALONG.note(service.key, address=found.shown, primary_ip=found.id)


def notes_on_primary_ips(
    service: Service, options: Options, bad: Mapping[str, BadAnnotation], present: CloudBalancer, snapshot: Snapshot
) -> Iterator[Note]:
    """An existing load balancer keeps its addresses: what differs from what is asked for, and what will not outlive it.

    ``bad`` are the options that cannot be read. Nothing is said of a Primary IP that could not be looked up.
    """
    for field in _VERSIONS:
        asked, held, row = getattr(options, field), _id_of(present, field), OPTIONS[field]
        address = present.ipv4 if _VERSIONS[field] == 4 else present.ipv6
        keeps: Mapping[str, Plain] = {"balancer": present.id, "address": _address_and_kind(address, held)}
        if field in bad:
            yield rows.PRIMARY_IP_UNREADABLE.note(service.key, problem=bad[field].text, **keeps)
        if isinstance(asked, Unmanaged):
            continue
        found = snapshot.primary_ips.get(asked)
        if held is None or _differs(asked, held, found):
            yield rows.PRIMARY_IP_NOT_TAKEN.note(service.key, option=row.full_key, wanted=asked, **keeps)
        elif isinstance(found, PrimaryIp) and found.auto_delete:
            yield rows.PRIMARY_IP_GOES_ALONG.note(service.key, address=found.shown, primary_ip=found.id)


def _differs(asked: int | str, held: int, found: PrimaryIp | Absent | Unknown | None) -> bool:
    """Whether the Primary IP that is asked for is certainly not the one with the id ``held``."""
    if isinstance(asked, int):
        return asked != held
    return isinstance(found, Absent) or (isinstance(found, PrimaryIp) and found.id != held)


def _address_and_kind(address: object, held: int | None) -> str:
    kind = "an address that Hetzner manages" if held is None else f"Primary IP {held}"
    return kind if address is None else f"{address}, {kind}"


def lost_with(balancer: CloudBalancer, snapshot: Snapshot) -> tuple[str, ...]:
    """The public addresses that are gone for good with the load balancer, as far as that is known."""
    return tuple(address for address, _, survives in _addresses(balancer, snapshot) if survives is False)


def addresses_at_deletion(balancer: CloudBalancer, snapshot: Snapshot) -> tuple[str, ...]:
    """What becomes of the load balancer's public addresses when it is deleted: one sentence for each kind of them."""
    found = list(_addresses(balancer, snapshot))
    managed = [address for address, held, _ in found if held is None]
    lost = f"address{'es' if len(managed) > 1 else ''} {' and '.join(managed)}"
    by_fate = {None: rows.PRIMARY_IP_MAY_GO, True: rows.PRIMARY_IP_STAYS, False: rows.PRIMARY_IP_GOES}
    others = (by_fate[survives].text(primary_ip=held, address=at) for at, held, survives in found if held is not None)
    return (*((rows.ADDRESSES_GO.text(addresses=lost),) if managed else ()), *others)


def _addresses(balancer: CloudBalancer, snapshot: Snapshot) -> Iterator[tuple[str, int | None, bool | None]]:
    """Each public address of the load balancer, with the id of its Primary IP, None where Hetzner manages it, and
    whether it outlives the load balancer, None where that is not known: nothing asked, or got an answer."""
    for field, address in zip(_VERSIONS, (balancer.ipv4, balancer.ipv6), strict=True):
        held = _id_of(balancer, field)
        found = None if held is None else snapshot.primary_ips.get(held)
        survives = not found.auto_delete if isinstance(found, PrimaryIp) else None
        if address is not None:
            yield str(address), held, False if held is None else survives
