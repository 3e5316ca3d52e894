"""Guard ``address-in-use``: no Primary IP is taken from what has it, and of several Services one gets it."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from desired.model.load_balancer import CloudBalancer, PrimaryIp
from desired.model.service import Service
from desired.names import LABEL_DELETE_AFTER, LABEL_FORMER, LABEL_RELEASED, LABEL_SERVICE_UID
from desired.plan.change import GuardName, Plan, Verdict
from desired.plan.kinds import ChangeKind
from desired.planner import compute_plan
from desired.rules import guards as rows
from desired.rules.rule import Rule
from tests.balancers import (
    DEFAULT_NAME,
    LOCATED,
    a_balancer,
    a_claim,
    a_primary_ip,
    a_primary_ipv6,
    a_served_service,
    a_service,
    a_world,
    annotated,
)
from tests.builders import CLUSTER_UID, NOW
from tests.support.judging import judge
from tests.support.rows import rows as cases

UID = "1f2e3d4c-5b6a-7980-aabb-ccddeeff0022"
OTHER_UID = "1f2e3d4c-5b6a-7980-aabb-ccddeeff0033"


def asking(name: str = "api", uid: str = UID, *, age_s: int = 0, **options: str) -> Service:
    """A Service without a load balancer that asks for Primary IPs."""
    claim = a_claim(annotations=annotated(**options or {"public_net_ipv4": "7"}))
    return a_service(name, uid=uid, claim=claim, created_at=NOW - timedelta(seconds=age_s))


def holding(labels: dict[str, str]) -> CloudBalancer:
    return a_balancer(43, spec={"name": "theirs", "labels": labels, "primary_ipv4": 7})


HOLDING_42 = a_balancer(spec={"primary_ipv4": 7})


def a_holder(number: int, kind: str) -> dict[str, Any]:
    return {"assignee_id": number, "assignee_type": kind}


def judged(services: list[Service], *balancers: CloudBalancer, found: Mapping[int | str, PrimaryIp]) -> Plan:
    world = a_world(services, balancers, primary_ips=found)
    return judge(compute_plan(world, LOCATED), world, LOCATED)


def creations(plan: Plan) -> dict[str, tuple[Verdict, str | None]]:
    """Service → what becomes of the creation of its load balancer."""
    made = (change for change in plan.changes if change.kind is ChangeKind.LB_CREATE)
    return {change.owner.name: (change.decision.verdict, change.decision.rule) for change in made}


HAD: dict[str, Any] = {"assignee_id": 43, "assignee_type": "load_balancer"}
OURS = {"hcloud-reconciler/cluster-uid": CLUSTER_UID}
IN_WINDOW = {**OURS, LABEL_FORMER: "default.gone", LABEL_DELETE_AFTER: "20991231T235959Z"}
RELEASED = {**OURS, LABEL_FORMER: "default.gone", LABEL_RELEASED: "20200101T000000Z"}
ABROAD = {**IN_WINDOW, "hcloud-reconciler/cluster-uid": "other"}
OF_OTHER = {**OURS, LABEL_SERVICE_UID: OTHER_UID}
THEIRS, MINE = {"assignee": "load balancer 43 theirs"}, {"assignee": f"load balancer 42 {DEFAULT_NAME}"}
ASSIGNED = rows.ADDRESS_ASSIGNED
RELEASING, BY_42 = rows.ADDRESS_OF_RELEASING, {**HAD, "assignee_id": 42}


@cases("assigned there row found", {
    "free": ({}, (), None, {}),
    "in use by the list": ({}, (holding({}),), ASSIGNED, THEIRS),
    "another Service of this cluster has it": ({}, (holding(OF_OTHER),), ASSIGNED, THEIRS),
    "a server has it": (a_holder(9, "server"), (), ASSIGNED, {"assignee": "server 9"}),
    "a new kind has it": (a_holder(9, "toaster"), (), ASSIGNED, {"assignee": "toaster 9"}),
    "an unknown kind has it": (a_holder(9, ""), (), ASSIGNED, {"assignee": "resource 9"}),
    "one without an owner has it": (HAD, (holding({}),), ASSIGNED, THEIRS),
    "one has it that is not listed": (HAD, (), ASSIGNED, {"assignee": "load balancer 43"}),
    "another cluster has released it": (HAD, (holding(ABROAD),), ASSIGNED, THEIRS),
    "undo window": (HAD, (holding(IN_WINDOW),), rows.ADDRESS_OF_KEPT, {**THEIRS, "id": 43}),
    "released": (HAD, (holding(RELEASED),), rows.ADDRESS_OF_KEPT, {**THEIRS, "id": 43}),
    "being deleted": (BY_42, (HOLDING_42,), RELEASING, {**MINE, "service": "default/web"}),
})  # fmt: skip
def test_no_address_is_taken_from_anything(
    assigned: dict[str, Any], there: tuple[CloudBalancer, ...], row: Rule | None, found: dict[str, Any]
) -> None:
    """The creation waits for what goes anyway, and is refused where something else has the address."""
    others = [a_served_service(deleted_at=NOW, ingress=()), a_service("other", uid=OTHER_UID)]
    plan = judged([asking(), *others], *there, found={7: a_primary_ip(**assigned)})
    decision = next(change.decision for change in plan.changes if change.key == "load_balancer/default/api")
    why = row.text(address="Primary IP 7 web-7 (198.51.100.7)", **found) if row else ""
    expected = (Verdict.ALLOWED, None) if row is None else (row.verdict, GuardName.ADDRESS_IN_USE)
    assert ((decision.verdict, decision.rule), decision.why) == (expected, why)
    assert plan.holds == ()


def test_of_several_services_the_oldest_gets_it() -> None:
    """A newcomer keeps nobody from his address, and gets none of the two that it asks for half."""
    services = [
        asking("new", UID, public_net_ipv4="7", public_net_ipv6="six"),
        asking("old", "0" * 36, age_s=60),
        asking("other", "f" * 36, age_s=30, public_net_ipv4="web-7"),
    ]
    found: dict[int | str, PrimaryIp] = {7: a_primary_ip(), "web-7": a_primary_ip(), "six": a_primary_ipv6()}

    refused = (Verdict.REFUSED, GuardName.ADDRESS_IN_USE)
    assert creations(judged(services, found=found)) == {
        "default/old": (Verdict.ALLOWED, None),
        "default/other": refused,
        "default/new": refused,
    }
