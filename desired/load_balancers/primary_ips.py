"""Primary IPs as public addresses of load balancers: at creation, afterwards, and at deletion.

A load balancer gets its addresses at creation, for its whole life (Hetzner Cloud API, creation of load balancers): none
is replaced for another address, and no address is taken from something else. Primary IPs are never created, changed or
deleted here.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from ipaddress import IPv4Address, IPv6Address

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
    """The dependant of a Primary IP, the most urgent first."""

    DELETION = 0
    """Of the load balancer that has it: does it stay?"""
    CREATION = 1
    """Of a load balancer that is to have it."""
    UPKEEP = 2
    """Only notes."""


def asked_primary_ips(
    snapshot: Snapshot, settings: Settings, matches: Mapping[str, BalancerMatch]
) -> Mapping[int | str, Purpose]:
    """Id or name of each Primary IP that something depends on → the purpose, the most urgent first. Empty unless a
    Service asks for one, or a load balancer that is about to go has one."""
    services, balancers = snapshot.services, snapshot.load_balancers
    if services is None or balancers is None:
        return {}
    asked: list[tuple[Purpose, int | str]] = []
    for key, match in matches.items():
        service = services.items[key]
        wanted = _asked(service, settings) if settings.serving.wants(service) else None
        match match:
            case Owned(balancer) if wanted is None:
                asked += ((Purpose.DELETION, held) for held in balancer.spec.primary_ips)
            case Owned(balancer) | Adoptable(balancer) if wanted:
                held_by = {field: held for field, _, held in _public_addresses(balancer) if held is not None}
                asked += (
                    (Purpose.UPKEEP, each)
                    for field, each in wanted.items()
                    if field in held_by and (isinstance(each, str) or each == held_by[field])
                )
            case Missing() if wanted:
                asked += ((Purpose.CREATION, each) for each in wanted.values())
    are_held = any(balancer.spec.primary_ips for balancer in balancers)
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


def _public_addresses(balancer: CloudBalancer) -> Iterator[tuple[str, IPv4Address | IPv6Address | None, int | None]]:
    """Each field of ``Options`` with the public address of the load balancer, None if it has none, and the id of its
    Primary IP, None if Hetzner manages the address."""
    spec = balancer.spec
    held = (spec.primary_ipv4, spec.primary_ipv6)
    for field, address, number in zip(_VERSIONS, (balancer.ipv4, balancer.ipv6), held, strict=True):
        yield field, address, number if isinstance(number, int) else None


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
    """The location that they demand; None without them, and if the Service asks for a location itself."""

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

    They have to exist, to be of the right version, not blocked, and in the load balancer's location (Hetzner Cloud API,
    creation of load balancers). If only a network zone is asked for, their location is taken. Guard ``address-in-use``
    decides whether something else has one.
    """
    by_field: dict[str, PrimaryIp] = {}
    problems: list[BadAnnotation] = []
    unknown: list[Reason] = []
    place, zone = (None if isinstance(at, Unmanaged) else at for at in (options.location, options.network_zone))
    for field, version in _VERSIONS.items():
        asked, key = getattr(options, field), OPTIONS[field].full_key
        if isinstance(asked, Unmanaged):
            continue
        match snapshot.primary_ips.get(asked, Unknown("it was not looked up yet")):
            case Unknown(why):
                unknown.append(rows.PRIMARY_IP_UNKNOWN.because(option=key, wanted=asked, cause=why))
            case Absent():
                problems.append(BadAnnotation(key, rows.PRIMARY_IP_MISSING.text(option=key, wanted=asked)))
            case PrimaryIp() as found if wrong := _why_not(found, version, place, zone):
                text = wrong.text(
                    option=key,
                    wanted=asked,
                    address=found.shown,
                    version=found.version,
                    needed=version,
                    location=found.location or "",
                    zone=found.zone or "",
                    place=place or zone or "",
                )
                problems.append(BadAnnotation(key, text))
            case PrimaryIp() as found:
                by_field[field] = found
                place = place or found.location
    moved = place if isinstance(options.location, Unmanaged) and by_field else None
    return PrimaryIpChoice(by_field, tuple(problems), tuple(unknown), moved)


def _why_not(found: PrimaryIp, version: int, place: str | None, zone: str | None) -> Rule | None:
    """The reason why a load balancer in this place, or somewhere in this zone, cannot have it; None if it can."""
    if found.version != version:
        return rows.PRIMARY_IP_OF_ANOTHER_VERSION
    if found.is_blocked:
        return rows.PRIMARY_IP_BLOCKED
    if place is not None:
        return rows.PRIMARY_IP_ELSEWHERE if found.location not in (None, place) else None
    return rows.PRIMARY_IP_IN_ANOTHER_ZONE if zone is not None and found.zone not in (None, zone) else None


def holder_of(found: PrimaryIp, snapshot: Snapshot) -> CloudBalancer | None:
    """The load balancer that has the Primary IP, by the word of either; None if none is known to have it."""
    balancers, said = snapshot.load_balancers or Section(), _balancer_of(found)
    named = None if said is None else balancers.items.get(said)
    return next((balancer for balancer in balancers if found.id in balancer.spec.primary_ips), named)


def is_outdated(found: PrimaryIp, snapshot: Snapshot) -> bool:
    """Whether the list of load balancers, which is read anew in each pass, contradicts: another one has the Primary IP,
    or the one that had it is gone."""
    holder = holder_of(found, snapshot)
    return _balancer_of(found) != (None if holder is None else holder.id)


def _balancer_of(found: PrimaryIp) -> int | None:
    """Id of the load balancer that has the Primary IP, by its own word; None if it names none."""
    return found.assignee_id if found.assignee_type == "load_balancer" else None


def notes_on_choice(service: Service, choice: PrimaryIpChoice) -> Iterator[Note]:
    """Unknown Primary IPs of a new load balancer, and those that will not outlive it."""
    for why in choice.unknown:
        yield why.note(service.key)
    for found in choice.by_field.values():
        if found.auto_delete:
            yield rows.PRIMARY_IP_GOES_ALONG.note(service.key, address=found.shown, primary_ip=found.id)


def notes_on_primary_ips(
    service: Service, options: Options, bad: Mapping[str, BadAnnotation], present: CloudBalancer, snapshot: Snapshot
) -> Iterator[Note]:
    """Addresses that an existing load balancer keeps though others are asked for, and those that will not outlive it.
    ``bad`` are the options that cannot be read. Nothing is said of a Primary IP that could not be looked up."""
    for field, address, held in _public_addresses(present):
        asked, option = getattr(options, field), OPTIONS[field].full_key
        kind = "an address that Hetzner manages" if held is None else f"Primary IP {held}"
        keeps: Mapping[str, Plain] = {"balancer": present.id, "address": f"{address}, {kind}" if address else kind}
        if field in bad:
            yield rows.PRIMARY_IP_UNREADABLE.note(service.key, problem=bad[field].text, **keeps)
        if isinstance(asked, Unmanaged):
            continue
        found = snapshot.primary_ips.get(asked)
        if held is None or _differs(asked, held, found):
            yield rows.PRIMARY_IP_NOT_TAKEN.note(service.key, option=option, wanted=asked, **keeps)
        elif isinstance(found, PrimaryIp) and found.auto_delete:
            yield rows.PRIMARY_IP_GOES_ALONG.note(service.key, address=found.shown, primary_ip=found.id)


def _differs(asked: int | str, held: int, found: PrimaryIp | Absent | Unknown | None) -> bool:
    """Whether the Primary IP that is asked for is certainly not the one with the id ``held``."""
    if isinstance(asked, int):
        return asked != held
    return isinstance(found, Absent) or (isinstance(found, PrimaryIp) and found.id != held)


def addresses_at_deletion(balancer: CloudBalancer, snapshot: Snapshot) -> tuple[str, ...]:
    """The fate of the load balancer's public addresses when it is deleted: one sentence for each kind of them."""
    found = [*_fates(balancer, snapshot)]
    managed = [address for address, held, _ in found if held is None]
    lost = f"address{'es' if len(managed) > 1 else ''} {' and '.join(managed)}"
    by_fate = {None: rows.PRIMARY_IP_MAY_GO, True: rows.PRIMARY_IP_STAYS, False: rows.PRIMARY_IP_GOES}
    others = (by_fate[survives].text(primary_ip=held, address=at) for at, held, survives in found if held is not None)
    return (*((rows.ADDRESSES_GO.text(addresses=lost),) if managed else ()), *others)


def _fates(balancer: CloudBalancer, snapshot: Snapshot) -> Iterator[tuple[str, int | None, bool | None]]:
    """Each public address of the load balancer, the id of its Primary IP, None if Hetzner manages it, and whether it
    outlives the load balancer, None if that is not known."""
    for _, address, held in _public_addresses(balancer):
        found = None if held is None else snapshot.primary_ips.get(held)
        survives = not found.auto_delete if isinstance(found, PrimaryIp) else None
        if address is not None:
            yield str(address), held, False if held is None else survives
