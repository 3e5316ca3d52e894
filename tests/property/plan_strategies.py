"""Plans of any kinds of change, whether or not a rule plans them, and approvals of their holds, as strategies."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC

from hypothesis import strategies as st

from desired.model.settings import Settings
from desired.model.snapshot import Snapshot
from desired.plan.change import Change, LostNode, NodeIdentity, OutOfService, Plan, State
from desired.plan.evidence import AbsenceProof
from desired.plan.grants import Grant, Source
from desired.plan.kinds import KINDS, Verb
from desired.planner import compute_plan
from desired.section import Section
from tests.builders import a_settled_node, in_cloud
from tests.property.strategies import addresses, labels, provider_ids, some, taints
from tests.property.worlds import choices, deciding, losing, lost_nodes, snapshots
from tests.support.keys import key_of

identities = st.builds(
    NodeIdentity, provider_ids, some({}, {"topology.kubernetes.io/region": "fsn1"}), taints, st.just(())
)
losses = st.builds(
    lambda identity, node, server_id: LostNode(identity, AbsenceProof.of(node, in_cloud(server_id))),
    identities,
    lost_nodes,
    some(1, 4, 5),
)
roots = some(
    "node/web-1", "node/lost-4", "node/a", "load_balancer/ns/a", "load_balancer/ns/b", "route/4/a", "service/ns/a"
)
keys = st.builds(str.__add__, roots, some("", "", "/labels", "/x"))

nothing: st.SearchStrategy[State | None] = st.none()
anything: st.SearchStrategy[State | None] = st.one_of(st.none(), identities, labels, addresses, st.booleans())
_OF_KIND: Mapping[str, tuple[st.SearchStrategy[State | None], st.SearchStrategy[State | None]]] = {
    "node.initialise": (identities, identities),
    "node.labels": (labels, labels),
    "node.addresses": (addresses, addresses),
    "node.shutdown_taint": (st.booleans(), st.booleans()),
    "node.out_of_service_taint": (nothing, st.builds(lambda loss: OutOfService(loss.proof), losses)),
    "node.delete": (losses | identities, nothing),
}
"""Both sides of a change of these kinds. No rule plans the others yet, so that they may have any."""


@st.composite
def changes(draw: st.DrawFn) -> Change:
    """A change of any kind, the planned ones more often, with sides that fit it."""
    kind = KINDS[draw(some(*KINDS) | some(*_OF_KIND, "node.delete"))]
    verb = draw(some(*(verb for verb in Verb if verb in kind.verbs)))
    sides = st.tuples(*_OF_KIND.get(kind.name, (anything, anything)))
    before, after = draw(sides.filter(lambda pair: pair[0] != pair[1]))
    key = draw(keys)
    owner = "/".join(key.split("/")[:2])
    depends_on = tuple(draw(st.lists(keys, max_size=2)))
    return Change(key_of(key), kind.name, verb, before, after, "a law wants it", key_of(owner), depends_on=depends_on)


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """Some of these, of which some come after one another."""
    found = draw(st.lists(changes(), min_size=1, max_size=5, unique_by=lambda change: change.key))
    for place in range(1, len(found)):
        if draw(st.booleans()):
            before = found[place - 1].key
            found[place] = replace(found[place], depends_on=(*found[place].depends_on, before))
    return Plan(tuple(found))


Case = tuple[Plan, Snapshot, Settings]
_planned = st.tuples(losing, deciding).map(lambda pair: (compute_plan(*pair), *pair))
cases: st.SearchStrategy[Case] = st.one_of(st.tuples(plans(), snapshots, choices), _planned, _planned)
"""Plans to be judged: any, and those that rules make of a reading."""


@st.composite
def restrictions(draw: st.DrawFn) -> tuple[Case, tuple[str, ...]]:
    """A case, and what a person names of it with ``--only``, and what is not in it."""
    case = draw(cases)
    there = st.sampled_from([*case[0].by_key, "node"])
    return case, tuple(draw(st.lists(there | there | keys, max_size=2)))


hashes = st.from_regex(r"sha256:[0-9a-f]{16}", fullmatch=True)
times = st.datetimes(timezones=st.just(UTC))
names = st.text(min_size=1, max_size=10).filter(str.strip)
approvals = st.builds(Grant, st.just(Source.CLUSTER), hashes, names, times, expires_at=st.none() | times)


def _astray(snapshot: Snapshot) -> Snapshot:
    node = a_settled_node("ready", 1)
    items = {**snapshot.nodes.items, node.name: node}
    return replace(snapshot, nodes=replace(snapshot.nodes, items=items), servers=Section())


astray = snapshots.map(_astray)
"""Readings with the token of an empty project."""
