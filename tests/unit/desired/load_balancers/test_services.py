"""All Services together: some are looked after, none stands in the way of another, and some wait in vain."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from desired.guards.statuses import conditions_of
from desired.load_balancers.desired import desired_load_balancers
from desired.load_balancers.lifecycle import LoadBalancerRelease
from desired.model.load_balancer import CloudBalancer, ServerTarget
from desired.model.service import Service
from desired.model.settings import Controller
from desired.model.snapshot import Snapshot
from desired.names import FINALIZER_BALANCER, LABEL_ADOPTED
from desired.nodes.node import desired_nodes
from desired.plan.change import Verdict
from desired.plan.notes import NoteKind
from desired.planner import compute_plan
from desired.section import Section
from tests.balancers import LOCATED, a_balancer, a_claim, a_served_service, a_service, a_world, annotated
from tests.builders import NOW, a_settled_node, a_snapshot, a_workload, incomplete, workloads_of
from tests.support.balancer_plans import INSIDE, fleet, new, plan_of, said
from tests.support.judging import facts_of, judge
from tests.support.rows import rows

CLAIMED = (FINALIZER_BALANCER,)


def called(service: str, **options: str) -> Service:
    """A Service that has its load balancer: its UID is ``uid-`` and its name."""
    return a_served_service(service, uid=f"uid-{service}", claim=a_claim(annotations=annotated(**options)))


def balancer_of(name: str, number: int, **fields: Any) -> CloudBalancer:
    return a_balancer(number, service_uid=f"uid-{name}", spec={"name": name} | fields.pop("spec", {}), **fields)


@rows("service kind", {
    "goes": ({"deleted_at": NOW, "finalizers": CLAIMED}, LoadBalancerRelease),
    "wants-none-any-more": ({"type": "NodePort", "finalizers": CLAIMED}, LoadBalancerRelease),
    "of-another-class": ({"load_balancer_class": "other", "finalizers": CLAIMED}, None),
    "of-a-class-and-goes": ({"load_balancer_class": "other", "finalizers": CLAIMED, "deleted_at": NOW}, None),
})  # fmt: skip
def test_services_that_are_looked_after(service: dict[str, Any], kind: type | None) -> None:
    world = a_world([a_service(**service)], [])
    desired = desired_load_balancers(world, LOCATED, desired_nodes(world, LOCATED)[0]).services
    assert [type(wish) for wish in desired.values()] == ([] if kind is None else [kind])
    if kind is None:
        assert compute_plan(world, LOCATED).changes == ()


def test_one_bad_service_stops_no_other() -> None:
    """Annotations of one, a name that two ask for, and one that has two load balancers, are their own trouble."""
    services = [
        called("bad", health_check_port="0"),
        called("a", name="shop"),
        called("b", name="shop"),
        called("twice"),
        called("fine", algorithm_type="least_connections"),
    ]
    balancers = [balancer_of("bad", 1), balancer_of("twice", 2), balancer_of("twice", 3), balancer_of("fine", 4)]
    plan = compute_plan(a_world(services, balancers), LOCATED)
    done = [change.key for change in plan.changes if change.kind != "lb.create"]
    assert done == ["load_balancer/default/fine/algorithm", "service/default/a/status", "service/default/b/status"]
    assert {note.key for note in plan.notes} == {f"service/default/{name}" for name in ("bad", "a", "b", "twice")}


@rows("options expected", {
    "alike": ({"a": {}, "b": {}}, {"a": [1, 2], "b": [1, 2]}),
    "selectors": ({"a": {"node_selector": "pool=x"}, "b": {"node_selector": "pool=y"}}, {"a": [1], "b": [2]}),
    "all": ({"a": {"node_selector": ""}, "b": {"node_selector": "pool=y"}}, {"a": [1, 2], "b": [2]}),
})  # fmt: skip
def test_who_gets_whose_traffic(options: dict[str, dict[str, str]], expected: dict[str, list[int]]) -> None:
    """Answers that Services share are those to the same question."""
    nodes = [a_settled_node("web-1", 1, labels={"pool": "x"}), a_settled_node("web-2", 2, labels={"pool": "y"})]
    services = [called(name, **asked) for name, asked in options.items()]
    balancers = [balancer_of(name, number, targets=()) for number, name in enumerate(options)]
    plan = compute_plan(a_world(services, balancers, nodes=nodes, servers=fleet(1, 2)["servers"]), LOCATED)
    added = [change.after for change in plan.changes if change.owner == "service/default/a"]
    assert added != []
    for name, ids in expected.items():
        found = [c.after for c in plan.changes if c.owner == f"service/default/{name}" and c.kind == "lb.target"]
        assert found == [ServerTarget(number, use_private_ip=False) for number in ids]


def test_two_services_ask_for_one_private_address() -> None:
    other = called("db", private_ipv4="10.0.0.9")
    plan = plan_of(new(private_ipv4="10.0.0.9"), others=[other], **INSIDE)
    assert plan.changes == ()
    (text,) = said(plan, NoteKind.MALFORMED)
    assert "10.0.0.9: also requested by Service default/db" in text
    others = [
        called("c", private_ipv4="10.0.0.8"),
        a_served_service("d", uid="uid-d", type="ClusterIP", finalizers=(), claim=other.claim),
    ]
    plan = plan_of(new(private_ipv4="10.0.0.9"), others=others, **INSIDE)
    assert said(plan) == []


def test_orphans_are_said_to_be_there() -> None:
    """One whose Service is gone, and which somebody has protected, is for a person to delete."""
    foreign = a_balancer(7, cluster_uid="another", spec={"name": "theirs"})
    kept = a_balancer(6, service_uid="gone", spec={"name": "old"}, is_protected=True)
    plan = plan_of(new(), kept, foreign)
    orphans = [note for note in plan.notes if note.kind is NoteKind.ORPHAN]
    assert [note.key for note in orphans] == ["load_balancer/#6"]
    assert orphans[0].text == (
        "load balancer 6 old is orphaned: its Service (UID gone) no longer exists; to delete it: reconcile"
        " orphans --delete 6"
    )


VANISHED = a_balancer(6, service_uid="gone", spec={"name": "old"})


@rows("balancer services held", {
    "no Service is left": (VANISHED, Section({}), True),
    "its Service may be unread": (VANISHED, incomplete(Section({"default/web": new()})), False),
    "a Service is unreadable": (VANISHED, Section({}, unreadable={"default/x": "bad"}), False),
    "a Service asks for it by its name": (VANISHED, Section({"default/web": new(name="old")}), False),
    "another cluster's": (a_balancer(6, service_uid="gone", cluster_uid="another"), Section({}), False),
    "it was not made for its Service": (a_balancer(6, service_uid="gone",
        spec={"labels": {**VANISHED.spec.labels, LABEL_ADOPTED: "true"}}), Section({}), False),
    "no cluster's": (a_balancer(6, service_uid="gone", cluster_uid=None), Section({}), False),
    "somebody has protected it": (a_balancer(6, service_uid="gone", is_protected=True), Section({}), False),
})  # fmt: skip
def test_a_vanished_service(balancer: CloudBalancer, services: Section[str, Service], held: bool) -> None:
    """Nobody has said what is to become of it: its deletion is planned, and held. What may be unread plans nothing."""
    world = replace(a_world([], [balancer]), services=services)
    plan = judge(compute_plan(world, LOCATED), world, LOCATED)
    found = {
        (change.key, change.decision.verdict, change.decision.rule)
        for change in plan.changes
        if change.kind == "lb.delete"
    }
    assert found == ({("load_balancer/#6", Verdict.HELD, "ip-loss")} if held else set())


def test_a_plan_of_many_services_with_one_name_grows_with_their_number() -> None:
    """Five thousand of them took 3.2 GiB and the process: the note of each named all the others, three times over."""

    def size(count: int) -> int:
        crowd = [replace(called(f"web-{number:04}", name="shared"), finalizers=()) for number in range(count)]
        plan = judge(compute_plan(a_world(crowd, []), LOCATED), a_world(crowd, []), LOCATED)
        return sum(len(note.text) for note in plan.notes) + sum(len(change.decision.why) for change in plan.changes)

    assert 0 < size(120) <= 2 * size(60) + 1000


class Counted(dict[str, str]):
    """Annotations that count how often each of them is asked for."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        super().__init__(texts)
        self.asked: Counter[str] = Counter()

    def get(self, key: str, default: Any = None) -> Any:
        """The value, as of any dict."""
        self.asked[key] += 1
        return super().get(key, default)


@rows("service", {"its load balancer is created": a_service, "nothing is to be done": a_served_service})
def test_the_annotations_of_a_service_are_read_once(service: Callable[..., Service]) -> None:
    """Desired state, plan, guards and conditions share what was read."""
    texts = Counted(annotated(type="lb21", protocol="http", algorithm_type="least_connections"))
    world = a_world([service(claim=replace(a_claim(), annotations=texts))])
    plan = judge(compute_plan(world, LOCATED), world, LOCATED)
    for found in world.services or ():
        conditions_of(found.key, plan.changes, facts_of(plan, world, LOCATED))
    assert {texts.asked[key] for key in texts} == {1}


OFF = replace(LOCATED, controllers=frozenset(Controller) - {Controller.SERVICE})
STUCK: dict[str, Any] = {"deleted_at": NOW, "finalizers": ("example.com/x", FINALIZER_BALANCER)}


def unserved(*services: Service, **fields: Any) -> Snapshot:
    return replace(a_snapshot(), unserved=Section({service.id: service for service in services}), **fields)


@rows("service is_stuck", {
    "goes, and has our finalizer": (STUCK, True),
    "of another type by now": (STUCK | {"type": "ClusterIP"}, True),
    "stays": ({"finalizers": (FINALIZER_BALANCER,)}, False),
    "waits for somebody else alone": ({"deleted_at": NOW, "finalizers": ("example.com/x",)}, False),
    "of another class": (STUCK | {"load_balancer_class": "other"}, False),
})  # fmt: skip
def test_stuck_services(service: dict[str, Any], is_stuck: bool) -> None:
    plan = compute_plan(unserved(a_service(**service)), OFF)
    assert plan.changes == ()
    assert [(note.key, note.kind) for note in plan.notes] == [("service/default/web", NoteKind.STUCK)] * is_stuck


def test_the_remedies() -> None:
    """Both who could release it; the last resort, which leaks a load balancer, is in the documentation."""
    (note,) = compute_plan(unserved(a_service(**STUCK)), OFF).notes
    assert "HCLOUD_LOAD_BALANCERS_ENABLED, --controllers" in note.text
    assert "let hcloud-cloud-controller-manager delete it" in note.text


def test_another_controller_lets_go() -> None:
    """Where HCCM runs, it looks after Services: this is how one migrates, or goes back."""
    seen = unserved(a_service(**STUCK), controllers=workloads_of(a_workload()))
    assert NoteKind.STUCK not in {note.kind for note in compute_plan(seen, OFF).notes}
