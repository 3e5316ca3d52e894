"""Plans for one Service, ``default/web``, and its load balancer 42, from what a test says of the two."""

from collections.abc import Iterable
from ipaddress import IPv4Address
from typing import Any

from desired.annotations.claims import ClaimedPort
from desired.model.load_balancer import Attachment, CloudBalancer, ServerTarget
from desired.model.service import Service
from desired.model.settings import Settings
from desired.plan.change import Change, Plan
from desired.plan.notes import NoteKind
from desired.plan.ordering import in_order
from desired.planner import compute_plan
from desired.section import Present
from tests.balancers import IN_NETWORK, LOCATED, NETWORK, a_claim, a_served_service, a_service, a_world, annotated
from tests.builders import a_server, a_settled_node
from tests.support.balancer_changes import BALANCER

HERE = Attachment(7, IPv4Address("10.0.0.200"))
"""Where a load balancer is that got some address of the network."""
INSIDE: dict[str, Any] = {"settings": IN_NETWORK, "network": Present(NETWORK)}
"""What a plan takes besides, with a private network."""


def asking(*ports: ClaimedPort, **options: str) -> Service:
    """The Service, which has its load balancer, with these annotations."""
    return a_served_service(claim=a_claim(*ports, annotations=annotated(**options)))


def new(*ports: ClaimedPort, **options: str) -> Service:
    """The Service before it has anything."""
    return a_service(claim=a_claim(*ports, annotations=annotated(**options)))


def plan_of(
    service: Service,
    *balancers: CloudBalancer,
    settings: Settings = LOCATED,
    others: Iterable[Service] = (),
    **world: Any,
) -> Plan:
    """The plan of a world with this Service, the ``others``, and these load balancers."""
    return compute_plan(a_world([service, *others], balancers, **world), settings)


def steps(plan: Plan) -> list[Change]:
    """The changes of the load balancer, in the order in which they are carried out."""
    return [change for change in in_order(plan.changes) if f"{change.key}/".startswith(f"{BALANCER}/")]


def in_turn(plan: Plan) -> list[str]:
    """What these are changes of, ``target/server:1``; their kind where it is the load balancer itself."""
    return [change.kind if change.key == BALANCER else part_of(change) for change in steps(plan)]


def part_of(change: Change) -> str:
    """What is changed of the load balancer."""
    return change.key.removeprefix(f"{BALANCER}/")


def said(plan: Plan, *kinds: NoteKind) -> list[str]:
    """The texts of the notes on the Service, of these kinds or of all."""
    return [note.text for note in plan.notes if note.key == "service/default/web" and note.kind in (kinds or NoteKind)]


def fleet(*ids: int, private: bool = True) -> dict[str, Any]:
    """Nodes with their servers, which are in network 7 unless told otherwise."""
    nodes = [a_settled_node(f"web-{number}", number) for number in ids]
    servers = [
        a_server(number, f"web-{number}", private_ips=((7, IPv4Address(f"10.0.0.{number}")),) if private else ())
        for number in ids
    ]
    return {"nodes": nodes, "servers": servers}


def public(*ids: int) -> list[ServerTarget]:
    return [ServerTarget(number, use_private_ip=False) for number in ids]


def private(*ids: int) -> list[ServerTarget]:
    return [ServerTarget(number, use_private_ip=True) for number in ids]
