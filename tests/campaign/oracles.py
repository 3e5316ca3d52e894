"""What a run with a fault has to have in common with the undisturbed one."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.campaign.points import Strike
from tests.campaign.running import Outcome

MORE_CALLS = 100
"""Requests that a fault may cost: three passes that only read, and tries; or three minutes of polls."""


@dataclass(frozen=True)
class Exemption:
    """A difference that a fault may make, and why that is right."""

    fault: str
    path: str
    difference: str
    reason: str
    of: str = ".*"
    """Workloads."""


_AGAIN = (
    "(add|remove)_target .*: 2 times|(attach_to|detach_from)_network .*: 2 times"
    "|attach_to_network .* ip 10.0.0.2 network 7: 1 times"
)
_NODES, _SERVICES = "/api/v1/nodes", "/api/v1/services"
EXEMPTIONS = (
    Exemption(
        "reset|times out after",
        "/load_balancers/.*/disable_public_interface",
        "POST .*/disable_public_interface: 2 times",
        "a setting whose answer was lost is sent again, which changes nothing",
    ),
    Exemption(
        "two leaders",
        "",
        "POST .*/disable_public_interface: 2 times",
        "the second process had planned it as well, and it changes nothing",
    ),
    Exemption(
        "(page 2 )?as (one|two|three) writes? ago",
        "/load_balancers",
        "POST .*/disable_public_interface: 2 times",
        "a list of the time before shows an interface that is open: it is closed again, which changes nothing",
    ),
    Exemption(
        "(page 2 )?as (one|two|three) writes? ago",
        f"/load_balancers|{_SERVICES}",
        "holds: ip-loss$",
        "a list of the time before shows a load balancer of no Service: its deletion is held until the next list",
        of="a Service .*goes.*|a deletion is .*|a saved plan is applied",
    ),
    Exemption(
        "last hidden",
        _NODES,
        "routes: ",
        "the server has left the network, so that its route leads nowhere: out of sight of its Node it goes for good",
        of="a server leaves the network",
    ),
    Exemption(
        "dies (before|after)|loses the lead|action (fails|hangs)|lacks .*|first is .*",
        "/(networks|load_balancers)/.*",
        _AGAIN,
        "what was removed for a move that was cut short comes back as it was, until the move is approved again",
        of="a private address is chosen",
    ),
    Exemption(
        "(first|last) hidden",
        f"{_SERVICES}|/load_balancers",
        "balancers: .* targets: |remove_target .* ip .*: 0 times",
        "neither API sends a list without what is there. Once the Node has gone nothing tells whose the address was:"
        " the target stays, with a note",
        of="a dedicated server is given back",
    ),
    Exemption(
        "(first|last) hidden|lacks .*|first is .*",
        "/servers|/api/v1/nodes",
        "add_target .*: 0 times",
        "the load balancer goes before the server, or its Node, is seen again",
        of="a Service goes while its load balancer is made",
    ),
    Exemption(
        "as (one|two|three) writes? ago",
        "/load_balancers/[^/]*",
        "ends with refused|balancers: |DELETE /load_balancers/.*: 0 times|holds: ip-loss$",
        "a look from before it was made shows none, so that its Service is released: it is nobody's then, and is held",
        of="a Service goes while its load balancer is made",
    ),
    Exemption(
        "(first|last) hidden|lacks status.*",
        "/apis/apps/v1/.*",
        "services: ",
        "where HCCM is out of sight nothing is held, so that there is nothing to tell of a Service",
        of="HCCM ends",
    ),
    Exemption(
        "action hangs",
        "/load_balancers",
        "attach_to_network .*: 0 times",
        "the load balancer goes before it is in the network",
        of="a Service goes while its load balancer is made",
    ),
    Exemption(
        "action hangs",
        "/certificates",
        "ends with changes|services: shop: |balancers: .* ports: |certificates: .* issuance: |add_service .*: 0 times",
        "the port waits for a certificate that is not issued, and says so",
        of="a Service with a managed certificate comes",
    ),
    Exemption(
        "clock of .* an hour .*",
        "",
        "holds: node-blast-radius$",
        "while clocks differ no silence counts as an announcement, so that the deletions are held",
        of="two of six Nodes go",
    ),
    Exemption(
        r"lacks (status|status\.loadBalancer.*)",
        _SERVICES,
        "services: ",
        "a status that is not told is written, and a Service of HCCM's has no conditions until something was written",
        of="a cluster of HCCM .*|HCCM ends",
    ),
    Exemption(
        r"lacks status(\.conditions)?",
        _SERVICES,
        "services: db: ",
        "conditions that are not told are not taken back: the API server sends no Service without those that it has",
        of="a Service turns into another type",
    ),
    Exemption(
        "(first|last) hidden",
        "/certificates",
        "services: shop: |balancers: .*|certificates: second: |POST /certificates second: 1 times",
        "Hetzner sends no list without a certificate that is there: without it and by its new name there is none yet",
        of="domains of a managed certificate change",
    ),
    Exemption(
        "first hidden",
        "/server",
        "holds: project-anchor$",
        "with one dedicated server gone and the other one out of sight the account is another's: removals are held",
        of="a dedicated server is given back",
    ),
    Exemption(
        "(first|last) hidden",
        _SERVICES,
        "services: mail: ",
        "a Service claims a load balancer that seems to be free, and its finalizer goes when it is deleted",
        of="two Services ask for one name",
    ),
    Exemption(
        "lacks (metadata|spec|status).*|first is .*",
        _NODES,
        "holds: ",
        "a Node that cannot be read counts as lost: what is taken beside it is held until it can",
    ),
    Exemption(
        "(first|last) hidden",
        _SERVICES,
        "holds: ip-loss$",
        "a list without the Service is what a Service that vanished leaves: the deletion of its load balancer is held",
    ),
    Exemption(
        "(first|last) hidden",
        _NODES,
        "(remove|add)_target .* times|.* targets for a while|(add|delete)_route .* times|holds: ",
        "a list without a Node is what its deletion leaves: the API server never sends one while the Node is there, and"
        " no more go than may at once",
    ),
    Exemption(
        r"lacks spec\.providerID",
        _NODES,
        "(remove|add)_target .* times|.* targets for a while|holds: ",
        "a Node without it was never initialized: the API server lets nobody take it away, and no more go than may at"
        " once",
    ),
    Exemption(
        "lacks .*",
        "/servers",
        "holds: ",
        "a server that cannot be read may be gone: what is taken beside it is held until it can",
    ),
    Exemption(
        r"lacks metadata\.annotations",
        _SERVICES,
        "(remove|add)_target .*|.* targets for a while|balancers: |(DELETE|POST) /load_balancers"
        "|services: api: |add_service .*|attach_to_network .*|holds: ",
        "a Service without annotations asks for the defaults: the API server has no other way to say so",
    ),
)


def differences(
    workload: str, strikes: Sequence[Strike], found: Outcome, undisturbed: Outcome
) -> tuple[list[str], frozenset[int]]:
    """What faults have changed that they must not, in words; and the numbers of the exemptions for what they may."""
    every = (
        *_of_state(found, undisturbed),
        *_of_effects(found, undisturbed),
        *_of_course(found, undisturbed, len(strikes)),
    )
    exempt = {each: [*_exempting(workload, strikes, each)] for each in every}
    return [each for each in every if not exempt[each]], frozenset(n for some in exempt.values() for n in some)


def _exempting(workload: str, strikes: Sequence[Strike], difference: str) -> Iterator[int]:
    for number, each in enumerate(EXEMPTIONS):
        if (
            re.fullmatch(each.of, workload)
            and re.match(each.difference, difference)
            and any(re.fullmatch(each.fault, fault) and re.fullmatch(each.path, point.path) for point, fault in strikes)
        ):
            yield number


def _of_state(found: Outcome, undisturbed: Outcome) -> Iterator[str]:
    if found.result is not undisturbed.result:
        yield f"ends with {found.result}, not {undisturbed.result}"
    if found.idle_writes:
        yield f"{found.idle_writes} writes of a pass that has nothing to do"
    for part, wanted in undisturbed.found.items():
        if found.found[part] != wanted:
            yield f"{part}: {_shown(found.found[part], wanted)}"


def _shown(found: Any, wanted: Any) -> str:
    if isinstance(found, Mapping) and isinstance(wanted, Mapping):
        keys = [key for key in {**found, **wanted} if found.get(key) != wanted.get(key)]
        return ", ".join(f"{key}: {_shown(found.get(key), wanted.get(key))}" for key in keys)
    return f"{found}, not {wanted}"


def _of_effects(found: Outcome, undisturbed: Outcome) -> Iterator[str]:
    """Each thing is created, deleted, attached and detached as often: a loss that mends itself is one all the same."""
    for effect in sorted({*found.effects, *undisturbed.effects}):
        count, wanted = found.effects[effect], undisturbed.effects[effect]
        if count != wanted:
            yield f"{effect}: {count} times, not {wanted}"


def _of_course(found: Outcome, undisturbed: Outcome, faults: int) -> Iterator[str]:
    for place, drop in found.drops.items():
        if drop > undisturbed.drops.get(place, 0):
            yield f"{place} lost {drop} targets for a while, not {undisturbed.drops.get(place, 0)}"
    yield from (f"harm: {each}" for each in found.harm if each not in undisturbed.harm)
    if extra := found.holds - undisturbed.holds:
        yield f"holds: {', '.join(sorted(extra))}"
    if found.calls > undisturbed.calls + MORE_CALLS * faults:
        yield f"{found.calls} calls, {undisturbed.calls} without the fault"
