"""What a run with a fault has to have in common with the undisturbed one."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.campaign.points import Strike
from tests.campaign.running import Outcome

MORE_CALLS = 120
"""Requests that a fault may cost: three passes that only read, and tries; or four minutes of polls."""


@dataclass(frozen=True)
class Exemption:
    """A difference that a fault may make, and why that is right."""

    fault: str
    path: str
    differences: Sequence[str]
    """Patterns of whole differences."""
    reason: str
    of: str = ".*"
    """Workloads."""


_AGAIN = (
    "(add|remove)_target .*: 2 times, not 1",
    "(attach_to|detach_from)_network .*: 2 times, not 1",
    "attach_to_network .* ip 10.0.0.2 network 7: 1 times, not 0",
)
_CLOSED_AGAIN = ("POST .*/disable_public_interface: 2 times, not 1",)
_OUT_AND_IN = (
    "remove_target .*: (1 times, not 0|2 times, not 1)",
    "add_target .*: (1 times, not 0|2 times, not 1)",
    ".* lost 1 more targets for a while",
)
"""One target less for a pass, on each load balancer."""
_NOT_ANY_MORE = ("(add_target|add_service|attach_to_network) .*: 0 times, not 1",)
_NODES, _SERVICES = "/api/v1/nodes", "/api/v1/services"
_HIDDEN = "(first|last) hidden"
_SPOILT = "lacks .*|first is .*"
EXEMPTIONS = (
    Exemption(
        "reset|times out after",
        "/load_balancers/.*/disable_public_interface",
        _CLOSED_AGAIN,
        "a setting whose answer was lost is sent again, which changes nothing",
    ),
    Exemption("two leaders", "", _CLOSED_AGAIN, "the second process had planned it as well, and it changes nothing"),
    Exemption(
        "(page 2 )?as (one|two|three) writes? ago",
        "/load_balancers",
        _CLOSED_AGAIN,
        "a list of the time before shows an interface that is open: it is closed again, which changes nothing",
    ),
    Exemption(
        "(page 2 )?as (one|two|three) writes? ago",
        f"/load_balancers|{_SERVICES}",
        ("held by ip-loss",),
        "a list of the time before shows a load balancer of no Service: its deletion is held until the next list",
        of="a Service .*goes.*|a deletion is .*|a saved plan is applied",
    ),
    Exemption(
        "last hidden",
        _NODES,
        ("routes: .*",),
        "the server has left the network, so that its route leads nowhere: out of sight of its Node it goes for good",
        of="a server leaves the network",
    ),
    Exemption(
        "dies (before|after)|loses the lead|action hangs",
        "/load_balancers/.*_target",
        ("(add|remove)_target .*: 2 times, not 1",),
        "a switch that was cut short after a removal: its target comes back as most are reached, and is switched again",
        of="settings have all targets private",
    ),
    Exemption(
        f"dies (before|after)|loses the lead|action (fails|hangs)|{_SPOILT}",
        "/(networks|load_balancers)/.*",
        _AGAIN,
        "what was removed for a move that was cut short comes back as it was, until the move is approved again",
        of="a private address is chosen",
    ),
    Exemption(
        _HIDDEN,
        f"{_SERVICES}|/load_balancers",
        ("balancers: .* targets: .*", "remove_target .* ip .*: 0 times, not 1"),
        "neither API sends a list without what is there. Once the Node has gone nothing tells whose the address was:"
        " the target stays, with a note",
        of="a dedicated server is given back",
    ),
    Exemption(
        "lacks status.addresses",
        _NODES,
        ("nodes: db-1: .*", "balancers: .* targets: 192.0.2.1: .*", "add_target .* ip .*192.0.2.1.*: 1 times, not 0"),
        "a Node without addresses gets that of Robot: the API server sends no Node without those that it has",
        of="a dedicated server .*",
    ),
    Exemption(
        f"{_HIDDEN}|{_SPOILT}",
        f"/servers|/networks|{_NODES}|{_SERVICES}",
        _NOT_ANY_MORE,
        "the load balancer goes before what was not seen is seen again",
        of="a Service goes while its load balancer is made",
    ),
    Exemption(
        "as (one|two|three) writes? ago",
        "/load_balancers/[^/]*",
        (
            "ends with blocked, not no_changes",
            "balancers: .*",
            "DELETE /load_balancers/.*: 0 times, not 1",
            "held by ip-loss",
        ),
        "a look from before it was made shows none, so that its Service is released: it is nobody's then, and is held",
        of="a Service goes while its load balancer is made",
    ),
    Exemption(
        f"{_HIDDEN}|lacks (spec|status).*",
        "/apis/apps/v1/.*",
        ("services: .*",),
        "where HCCM is out of sight nothing is held, so that there is nothing to tell of a Service",
        of="HCCM ends",
    ),
    Exemption(
        f"first hidden|{_SPOILT}",
        "/apis/storage.k8s.io/v1/volumeattachments",
        (
            "DELETE /api/v1/nodes/web-3: 1 times, not 0",
            "harm: Node web-3 is deleted with a volume attached, soon after it was tainted for that",
        ),
        "what cannot be read of volumes keeps no Node, and a list without the attachment is that of a Node without"
        " volumes: it goes as it would without the flag, and comes back once its kubelet registers",
        of="a server with a volume is lost.*",
    ),
    Exemption(
        "action hangs",
        "/networks/.*/delete_route",
        ("DELETE /api/v1/nodes/web-3: 1 times, not 0",),
        "the two minutes for its volume are over before Hetzner has ended the action, and the server is back only then",
        of="a server with a volume is lost and comes back",
    ),
    Exemption(
        "late",
        "",
        ("DELETE /api/v1/nodes/web-3: 1 times, not 0",),
        "the two minutes for its volume are over when the pass comes, and the server is back only after it",
        of="a server with a volume is lost and comes back",
    ),
    Exemption(
        _SPOILT,
        "/api/v1/nodes/web-3",
        ("DELETE /api/v1/nodes/web-3: 1 times, not 0",),
        "no taint is written to a Node that cannot be read at that moment: it goes as it would without the flag, and"
        " comes back once its kubelet registers",
        of="a server with a volume is lost and comes back",
    ),
    Exemption(
        "action hangs",
        "/load_balancers",
        ("attach_to_network .*: 0 times, not 1",),
        "the load balancer goes before it is in the network",
        of="a Service goes while its load balancer is made",
    ),
    Exemption(
        "action hangs",
        "/certificates",
        (
            "ends with changes, not no_changes",
            "services: shop: .*",
            "balancers: .* (ports|proxy): .*",
            "certificates: .* issuance: .*",
            "add_service .*: 0 times, not 1",
        ),
        "the port waits for a certificate that is not issued, and says so",
        of="a Service with a managed certificate comes",
    ),
    Exemption(
        "clock of .* an hour .*",
        "",
        ("held by node-blast-radius",),
        "while clocks differ no silence counts as an announcement, so that the deletions are held",
        of="two of six Nodes go",
    ),
    Exemption(
        r"lacks (status|status\.loadBalancer.*)",
        _SERVICES,
        ("services: .*",),
        "a status that is not told is written, and a Service of HCCM's has no conditions until something was written",
        of="a cluster of HCCM .*|HCCM ends",
    ),
    Exemption(
        r"lacks status(\.conditions)?",
        _SERVICES,
        ("services: db: .*",),
        "conditions that are not told are not taken back: the API server sends no Service without those that it has",
        of="a Service turns into another type",
    ),
    Exemption(
        _HIDDEN,
        "/certificates",
        (
            "services: shop: .*",
            "balancers: .*",
            "certificates: second: .*",
            "POST /certificates second: 1 times, not 0",
        ),
        "Hetzner sends no list without a certificate that is there: without it and by its new name there is none yet",
        of="domains of a managed certificate change",
    ),
    Exemption(
        "first hidden",
        f"/server|{_NODES}",
        ("held by project-anchor",),
        "with one dedicated server gone and the other one out of sight the account is another's: removals are held",
        of="a dedicated server is given back",
    ),
    Exemption(
        _HIDDEN,
        _SERVICES,
        ("services: mail: .*",),
        "a Service claims a load balancer that seems to be free, and its finalizer goes when it is deleted",
        of="two Services ask for one name",
    ),
    Exemption(
        _SPOILT,
        _NODES,
        ("held by (route-blast-radius|target-floor|project-anchor|silent-cluster|node-blast-radius)",),
        "a Node that cannot be read counts as lost: what is taken beside it is held until it can",
    ),
    Exemption(
        f"{_HIDDEN}|{_SPOILT}",
        _NODES,
        ("held by adoption",),
        "a target whose Node is not told may be somebody else's: what lost its label is taken up by the next list",
        of="a load balancer loses its label",
    ),
    Exemption(
        _HIDDEN,
        _SERVICES,
        ("held by ip-loss",),
        "a list without the Service is what a Service that vanished leaves: the deletion of its load balancer is held",
    ),
    Exemption(
        _HIDDEN,
        _NODES,
        (*_OUT_AND_IN, "(add|delete)_route .*", "held by (route-blast-radius|target-floor|silent-cluster)"),
        "a list without a Node is what its deletion leaves: the API server never sends one while the Node is there, and"
        " no more go than may at once",
    ),
    Exemption(
        r"lacks spec\.providerID",
        _NODES,
        _OUT_AND_IN,
        "a Node without it was never initialized: the API server lets nobody take it away, and no more go than may at"
        " once",
    ),
    Exemption(
        "lacks .*",
        "/servers",
        ("held by address-blast-radius",),
        "a server that cannot be read may be gone: what is taken beside it is held until it can",
    ),
    Exemption(
        r"lacks metadata\.annotations",
        _SERVICES,
        (
            "(add|remove)_target .*",
            ".* lost [1-9] more targets for a while",
            "balancers: .*",
            "(DELETE|POST) /load_balancers.*",
            "services: (api|db): .*",
            "add_service .*",
            "(attach_to|detach_from)_network .*",
        ),
        "a Service without annotations asks for the defaults: the API server has no other way to say so",
    ),
)


def differences(
    workload: str, strikes: Sequence[Strike], found: Outcome, undisturbed: Outcome
) -> tuple[list[str], frozenset[tuple[int, str]]]:
    """What faults have changed that they must not, in words; and for what they may the numbers of the exemptions, each
    with its pattern."""
    every = (
        *of_state(found, undisturbed),
        *_of_effects(found, undisturbed),
        *_of_course(found, undisturbed, len(strikes)),
    )
    exempt = {each: [*_exempting(workload, strikes, each)] for each in every}
    return [each for each in every if not exempt[each]], frozenset(n for some in exempt.values() for n in some)


def _exempting(workload: str, strikes: Sequence[Strike], difference: str) -> Iterator[tuple[int, str]]:
    for number, each in enumerate(EXEMPTIONS):
        if re.fullmatch(each.of, workload) and any(
            re.fullmatch(each.fault, fault) and re.fullmatch(each.path, point.path) for point, fault in strikes
        ):
            yield from ((number, pattern) for pattern in each.differences if re.fullmatch(pattern, difference))


def of_state(found: Outcome, undisturbed: Outcome) -> Iterator[str]:
    """What is not at the end as it was to be, a line each: the result of the last pass, what one more has written, and
    what there is."""
    if found.result is not undisturbed.result:
        yield f"ends with {found.result}, not {undisturbed.result}"
    if found.idle_writes:
        yield f"{found.idle_writes} writes of a pass that has nothing to do"
    yield from _unequal(found.found, undisturbed.found)


def _unequal(found: Any, wanted: Any) -> Iterator[str]:
    """One line for each thing that is not as it was to be, with the way there."""
    if isinstance(found, Mapping) and isinstance(wanted, Mapping):
        for key in {**found, **wanted}:
            yield from (f"{key}: {each}" for each in _unequal(found.get(key), wanted.get(key)))
    elif found != wanted:
        yield f"{found}, not {wanted}"


def _of_effects(found: Outcome, undisturbed: Outcome) -> Iterator[str]:
    """Each thing is created, deleted, attached and detached as often: a loss that mends itself is one all the same."""
    for effect in sorted({*found.effects, *undisturbed.effects}):
        count, wanted = found.effects[effect], undisturbed.effects[effect]
        if count != wanted:
            yield f"{effect}: {count} times, not {wanted}"


def _of_course(found: Outcome, undisturbed: Outcome, faults: int) -> Iterator[str]:
    for place, drop in found.drops.items():
        if drop > undisturbed.drops.get(place, 0):
            yield f"{place} lost {drop - undisturbed.drops.get(place, 0)} more targets for a while"
    yield from (f"harm: {each}" for each in found.harm if each not in undisturbed.harm)
    yield from (f"{each} is dark for a while" for each in sorted(found.dark - undisturbed.dark))
    yield from (f"held by {rule}" for rule in sorted(found.holds - undisturbed.holds))
    if found.calls > undisturbed.calls + MORE_CALLS * faults:
        yield f"{found.calls} calls, {undisturbed.calls} without the fault"
