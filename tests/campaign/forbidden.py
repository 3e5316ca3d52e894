"""What must never be allowed in a small world: a second statement of safety, as a table that plans are held to.

A row looks at the world as it is drawn, and not at what the product makes of it. It says which changes may not pass
without a person's word, or whatever a person says. A row bites where such a change is planned, or is planned in a world
that is like this but for one thing.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from types import MappingProxyType
from typing import Any

from desired.guards.guard import GuardInput, GuardResult
from desired.guards.judge import ask_guards, judge
from desired.guards.table import GUARDS
from desired.model.settings import Controller
from desired.plan.change import Change, GuardName, Plan, Verdict
from desired.plan.kinds import KINDS, ChangeKind, Verb
from desired.plan.setbacks import NO_SETBACKS
from desired.planner import compute_desired, diff
from tests.campaign.small_worlds import BALANCERS, CIRCUMSTANCES, Given, Machine, Pair, World, given, worlds_of
from tests.routes import pods_of

Kinds = frozenset[tuple[ChangeKind, Verb]]


@dataclass(frozen=True, slots=True)
class Case:
    """A change of a world: for whom it is, and of which machine."""

    world: World
    owner: str
    number: int | None

    @property
    def it(self) -> Machine | None:
        """The machine; None for a change of none."""
        return None if self.number is None else self.world.machines[self.number - 1]

    @property
    def other(self) -> Machine | None:
        """The other machine; None for a change of none."""
        return None if self.number is None else self.world.machines[2 - self.number]

    def but(self, facets: Mapping[str, str]) -> "Case":
        """The same change in the world in which this is otherwise: of the machine, or of the whole."""
        world, (first, second) = self.world, self.world.machines
        for name, state in facets.items():
            parts: dict[str, Any] = {name: state}
            if name in ("balancer", "circumstance"):
                world = replace(world, **parts)
            elif self.number is not None:
                pair = (replace(first, **parts), second) if self.number == 1 else (first, replace(second, **parts))
                world = replace(world, machines=pair)
        return replace(self, world=world)


@dataclass(frozen=True, slots=True)
class Row:
    """Changes of which none may pass in a world like this."""

    name: str
    when: Callable[[Case], bool]
    kinds: Kinds
    is_final: bool = False
    """Whether it may not pass either when a person has approved all that is held."""
    may_pass: Callable[[World], int] = lambda _: 0
    """How many of them may pass all the same."""
    beside: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """What makes a world like this of one in which such a change is planned; empty where it is planned here."""


def _of(*names: str, verbs: Iterable[Verb] = Verb) -> Kinds:
    """The kinds whose names begin so, with these verbs."""
    return frozenset((kind.name, verb) for kind, verb in product(KINDS.values(), verbs) if kind.name.startswith(names))


def _where(condition: Callable[[ChangeKind], bool], verbs: Iterable[Verb] = Verb) -> Kinds:
    return frozenset((kind, verb) for kind, verb in product(ChangeKind, verbs) if condition(kind))


_TAINT, _TAINT_OFF = (_of("node.out_of_service_taint", verbs=[verb]) for verb in (Verb.REMOVE, Verb.MODIFY))
_DELETION = _of("node.delete") | _TAINT
_TARGET_LOSS, _ROUTE_LOSS = _of("lb.target", verbs=[Verb.REMOVE]), _of("route.delete", "route.replace")
_BALANCER_LOSS = _of("lb.delete")
_WRITES_CLOUD = _where(lambda kind: KINDS[kind].writes_cloud)
_CHANGES_CLOUD = _where(lambda kind: KINDS[kind].writes_cloud, [Verb.MODIFY, Verb.REMOVE])
_OF_SERVICES = _where(lambda kind: KINDS[kind].controller is Controller.SERVICE)
_CREATION_OR_LOSS = _of("lb.create", "certificate") | _of("lb", verbs=[Verb.REMOVE])
_MOVES = _of("node.addresses", "lb.network") | _of("lb.target", verbs=[Verb.MODIFY])
_EVERYTHING = _where(lambda _: True)


def _is_of(check: Callable[[Machine], bool]) -> Callable[[Case], bool]:
    """Of a machine like this."""
    return lambda case: case.it is not None and check(case.it)


def _balancer(*states: str) -> Callable[[Case], bool]:
    assert {*states} <= BALANCERS.keys()
    return lambda case: case.world.balancer in states


def _circumstance(*names: str) -> Callable[[Case], bool]:
    assert {*names} <= CIRCUMSTANCES.keys()
    return lambda case: case.world.circumstance in names


def _is_short_of_servers(case: Case) -> bool:
    """Whether the list in which its server would be is known not to be whole."""
    it, other = case.it, case.other
    if it is None or other is None:
        return False
    is_cut_off = not it.is_dedicated and case.world.circumstance == "the list of servers is cut off"
    return is_cut_off or (other.server == "hidden" and other.is_dedicated == it.is_dedicated)


def _is_allowed_to_go(case: Case) -> bool:
    """Whether its loss was allowed with our out-of-service taint."""
    return case.it is not None and not case.it.is_dedicated and case.world.circumstance.endswith(", Nodes are tainted")


def _is_last_of_control_plane(case: Case) -> bool:
    it, other = case.it, case.other
    return not _is_allowed_to_go(case) and bool(
        it and other and it.is_control_plane and not (other.is_control_plane and other.is_read)
    )


def _is_lost_with_others(case: Case) -> bool:
    """Whether neither it nor another Node of its provider is known to have a server, and neither loss was announced."""
    it, other = case.it, case.other
    if it is None or other is None or it.node != "silent" or _is_allowed_to_go(case):
        return False
    may_be_lost = other.server in (*_NOT_LISTED, "unreadable") and other.node == "silent"
    return other.is_dedicated != it.is_dedicated or may_be_lost


_NOT_LISTED = ("gone", "unasked")


def _is_another_project(case: Case, *, dedicated: bool) -> bool:
    """Whether Nodes are Ready whose servers the provider does not have, and none whose server it has."""
    ready = [each for each in case.world.machines if each.node == "ready" and each.is_dedicated is dedicated]
    return bool(ready) and all(each.server in _NOT_LISTED for each in ready)


def _is_silent(case: Case) -> bool:
    machines = case.world.machines
    return not any(each.is_up for each in machines) and any(
        each.server == "there" and not each.is_dedicated for each in machines
    )


def _are_in_order(case: Case) -> bool:
    """Whether all machines are servers of Hetzner Cloud that the list has."""
    return all(each.is_read and not each.is_dedicated for each in case.world.machines)


def _is_in_order_and_stays(case: Case) -> bool:
    """Whether that is so, and the departure of its own machine was not announced."""
    return _are_in_order(case) and case.it is not None and case.it.node != "announced"


def _is_undecided(case: Case) -> bool:
    """Whether nothing is known of its server, and nothing was said of its Node."""
    it = case.it
    return bool(it and it.server in ("hidden", "unreadable", "unasked") and it.node != "announced")


ROWS: Sequence[Row] = (
    # Nodes.
    Row(
        "a Node whose server answers by its id is not deleted",
        _is_of(lambda it: it.server in ("there", "hidden")),
        _DELETION,
        is_final=True,
        beside={"server": "hidden"},
    ),
    Row(
        "a Node whose server is off is not deleted",
        _is_of(lambda it: it.server == "off"),
        _DELETION,
        is_final=True,
        beside={"server": "off"},
    ),
    Row(
        "a Node whose server cannot be read is not deleted",
        _is_of(lambda it: it.server == "unreadable"),
        _DELETION,
        is_final=True,
        beside={"server": "unreadable"},
    ),
    Row(
        "a Node whose server was not asked for by its id is not deleted",
        _is_of(lambda it: it.server == "unasked"),
        _DELETION,
        is_final=True,
    ),
    Row(
        "a Node that is Ready is not deleted",
        _is_of(lambda it: it.is_up),
        _DELETION,
        is_final=True,
        beside={"node": "ready"},
    ),
    Row(
        "no Node, target or route goes while the list of its servers is short",
        _is_short_of_servers,
        _DELETION | _TARGET_LOSS | _ROUTE_LOSS,
        is_final=True,
        beside={"circumstance": "the list of servers is cut off"},
    ),
    Row(
        "no Node, target or route goes while the list of Nodes is short",
        _circumstance("the list of Nodes is cut off"),
        _DELETION | _TARGET_LOSS | _ROUTE_LOSS,
        is_final=True,
    ),
    Row(
        "no Node is said to be out of service whose server is not known to be deleted",
        _is_of(lambda it: it.server != "gone" or it.is_dedicated),
        _TAINT,
        is_final=True,
        beside={"server": "hidden"},
    ),
    Row(
        "a Node that was tainted a minute ago is not deleted while a volume is attached to it",
        lambda case: (
            _is_of(lambda it: not it.is_dedicated)(case)
            and _circumstance("volumes are attached, Nodes are tainted")(case)
        ),
        _DELETION,
        is_final=True,
    ),
    Row(
        "a Node is out of service while its server does not run, or a volume is attached",
        lambda case: _is_of(lambda it: it.server != "there")(case) or "are attached" in case.world.circumstance,
        _TAINT_OFF,
        is_final=True,
        beside={"server": "off"},
    ),
    Row(
        "the taint of another stays as it is, and gets none of ours beside it",
        _circumstance("volumes are attached, another tainted Nodes"),
        _TAINT | _TAINT_OFF,
        is_final=True,
        beside={"circumstance": "volumes are attached, another tainted Nodes"},
    ),
    Row("no Node goes while clocks differ", _circumstance("clocks differ"), _DELETION, is_final=True),
    Row("the last Node of the control plane stays", _is_last_of_control_plane, _DELETION),
    Row("Nodes of a provider are not all lost at once", _is_lost_with_others, _DELETION),
    # Whose project it is, and who acts.
    Row(
        "nothing is written for a cluster whose Ready Nodes are not in the project",
        lambda case: _is_another_project(case, dedicated=False),
        _WRITES_CLOUD | _OF_SERVICES,
    ),
    Row(
        "no Node of Robot goes while the account lacks the Ready ones",
        lambda case: bool(case.it and case.it.is_dedicated) and _is_another_project(case, dedicated=True),
        _DELETION | _TARGET_LOSS,
    ),
    Row("nothing in the cloud is changed or taken by a cluster that is silent", _is_silent, _CHANGES_CLOUD),
    Row("nothing is written beside another controller", _circumstance("another controller runs"), _EVERYTHING),
    Row(
        "nothing is written while another controller may run",
        _circumstance("another controller may run"),
        _EVERYTHING,
        is_final=True,
    ),
    Row(
        "nothing is created, taken over or deleted by a cluster that does not know who it is",
        _circumstance("the cluster is unread"),
        _of("lb.create", "lb.adopt", "lb.delete"),
        is_final=True,
    ),
    # Load balancers.
    Row(
        "a load balancer of another cluster or Service is not written to",
        lambda case: "of another" in case.world.balancer and case.owner != "service/default/db",
        _of("lb") - _of("lb.create"),
        is_final=True,
    ),
    Row(
        "what a person made of a port stays where it is used",
        lambda case: "by hand" in case.world.balancer and any(each.answers for each in case.world.machines),
        _of("lb.listener"),
    ),
    Row("a load balancer of nobody that is in use stays as it is", _balancer("by name, in use"), _of("lb")),
    Row(
        "a protected load balancer is not deleted",
        _balancer("protected, to be deleted", "protected, its Service vanished"),
        _BALANCER_LOSS,
        is_final=True,
        beside={"balancer": "protected, its Service vanished"},
    ),
    Row("a load balancer whose Service vanished stays", _balancer("ours, its Service vanished"), _BALANCER_LOSS),
    Row(
        "a load balancer that a Service wants is not deleted",
        lambda case: (wanted := BALANCERS[case.world.balancer].service) is not None and wanted.deleted_at is None,
        _BALANCER_LOSS,
        beside={"balancer": "ours"},
    ),
    Row(
        "a released load balancer is not deleted",
        _balancer("released", "released by an earlier version"),
        _BALANCER_LOSS,
        is_final=True,
    ),
    Row(
        "no load balancer or part of one is made or goes while Services or load balancers may be unread",
        _circumstance("the list of Services is cut off", "the list of load balancers is cut off"),
        _CREATION_OR_LOSS,
        is_final=True,
    ),
    # Targets.
    Row(
        "a target that answers stays where nothing says that it goes",
        lambda case: bool(case.it and case.it.answers and case.it.node == "ready"),
        _TARGET_LOSS,
        beside={"node": "ready"},
    ),
    Row(
        "one of the targets that answer stays",
        _is_of(lambda it: it.answers),
        _TARGET_LOSS,
        may_pass=lambda world: sum(each.answers for each in world.machines) - 1,
    ),
    Row(
        "a target stays of whose server nothing is known",
        _is_undecided,
        _TARGET_LOSS,
        is_final=True,
    ),
    # Routes.
    Row(
        "a route to a server that is there stays", _is_of(lambda it: it.exists), _ROUTE_LOSS, beside={"server": "there"}
    ),
    Row(
        "a route to a server that is no Node stays",
        lambda case: case.number is None and case.world.circumstance == "a route leads to a server that is no Node",
        _ROUTE_LOSS,
    ),
    Row(
        "a route stays of whose server nothing is known",
        _is_of(lambda it: it.server == "unasked"),
        _ROUTE_LOSS,
        is_final=True,
    ),
    Row(
        "no route goes while the list of routes is short",
        _circumstance("the list of routes is cut off"),
        _ROUTE_LOSS,
        is_final=True,
    ),
    Row(
        "no route goes by a cluster CIDR that has none of the pods",
        _circumstance("the cluster CIDR is mistaken"),
        _ROUTE_LOSS,
        is_final=True,
    ),
    # Settings.
    Row(
        "settings that vanish take no address and no target",
        lambda case: _are_in_order(case) and case.world.circumstance == "settings vanished",
        _MOVES,
    ),
    Row(
        "Nodes do not all lose their addresses at once",
        lambda case: _are_in_order(case) and case.world.circumstance == "no network",
        _of("node.addresses"),
    ),
)


UNDRAWN: Mapping[GuardName, str] = {
    GuardName.ADDRESS_IN_USE: "no Service asks for a Primary IP",
    GuardName.EXPOSURE: "no load balancer is internal",
    GuardName.CERTIFICATE_ISSUANCE: "no port speaks HTTPS",
    GuardName.FLAPPING: "nothing is remembered of passes before",
    GuardName.BACK_OFF: "nothing is remembered of passes before",
    GuardName.QUOTA: "nothing is remembered of passes before",
    GuardName.POLICY: "it says itself what passes",
}
"""Guards that no row notices, and why no small world asks them."""


def unkept(tally: "Tally") -> list[str]:
    """What is wrong with these worlds: what has passed, and what of the table says nothing of them."""
    toothless = [row.name for row in ROWS if not tally.planned[row.name] + tally.beside[row.name]]
    noticed = {guard for guard, _ in tally.noticed}
    return [
        *tally.broken,
        *(f"nothing is like that: {name}" for name in toothless),
        *(f"no row notices a guard missing: {name}" for name in GUARDS if name not in {*noticed, *UNDRAWN}),
        *(f"a row notices the guard after all: {name}" for name in UNDRAWN if name in noticed),
    ]


# Plans.


@dataclass
class Tally:
    """What was found in some worlds."""

    worlds: int = 0
    plans: int = 0
    """Worlds in which something is planned."""
    allowed: Counter[str] = field(default_factory=Counter)
    """Kind → changes that pass."""
    withheld: Counter[str] = field(default_factory=Counter)
    planned: Counter[str] = field(default_factory=Counter)
    """Row → worlds like that in which such a change is planned."""
    beside: Counter[str] = field(default_factory=Counter)
    """Row → worlds in which such a change is planned, and that its premise turns into one like that."""
    noticed: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Guard and row → worlds in which the row does not hold without the guard."""
    broken: list[str] = field(default_factory=list)
    """What has passed that must not."""

    def add(self, other: "Tally") -> None:
        self.worlds, self.plans = self.worlds + other.worlds, self.plans + other.plans
        for name in ("allowed", "withheld", "planned", "beside", "noticed"):
            getattr(self, name).update(getattr(other, name))
        self.broken += other.broken


def tally_of_pair(pair: Pair) -> Tally:
    """That of all worlds with these two Nodes."""
    return tally_of(worlds_of(pair))


def tally_of(worlds: Iterable[World]) -> Tally:
    """Plan and judge each world, hold it against the table, and see what holds without each guard that speaks."""
    tally = Tally()
    for world in worlds:
        view = view_of(world)
        tally.worlds += 1
        if view.plan.changes:
            tally.plans += 1
            _try(world, view, tally)
    return tally


def view_of(world: World) -> GuardInput:
    """The plan of a world, with all that guards look at."""
    return viewed(given(world))


def viewed(found: Given) -> GuardInput:
    """The same of a world as values."""
    snapshot, settings = found.snapshot, found.settings
    desired = compute_desired(snapshot, settings)
    plan = diff(snapshot, desired, settings)
    return GuardInput(plan, snapshot, settings, desired, NO_SETBACKS)


def _try(world: World, view: GuardInput, tally: Tally) -> None:
    cases = {str(change.key): Case(world, str(change.owner), _number_of(change)) for change in view.plan.changes}
    forbidden: dict[str, set[str]] = {}
    for name, row in _BY_NAME.items():
        keys = [str(change.key) for change in view.plan.changes if (change.kind, change.verb) in row.kinds]
        here = {key for key in keys if row.when(cases[key])}
        if here:
            forbidden[name] = here
            tally.planned[name] += 1
        elif keys and row.beside:
            tally.beside[name] += any(row.when(cases[key].but(row.beside)) for key in keys)
    results = ask_guards(view)
    judged = _judged(view, results, forbidden)
    for change in judged[0].changes:
        passes = change.decision.verdict is Verdict.ALLOWED
        (tally.allowed if passes else tally.withheld)[change.kind] += 1
    tally.broken += [f"{world}: {name}" for name in _broken(world, forbidden, judged)]
    withheld = frozenset[str]().union(*forbidden.values())
    named = {change.decision.rule for plan in judged for change in plan.changes if change.key in withheld} - {None}
    for guard in named:  # without any other guard these are withheld as before
        others = [result for result in results if result.guard is not guard]
        tally.noticed.update((str(guard), name) for name in _broken(world, forbidden, _judged(view, others, forbidden)))


def _judged(view: GuardInput, results: Sequence[GuardResult], rows: Iterable[str]) -> tuple[Plan, Plan]:
    """The judged plan, and the same when a person has approved all that is held, where one of these rows asks."""
    plan = judge(view, (), results)
    if not plan.holds or _FINAL.isdisjoint(rows):
        return plan, plan
    return plan, judge(view, {hold.hash for hold in plan.holds}, results)


_BY_NAME = {row.name: row for row in ROWS}
_FINAL = frozenset(row.name for row in ROWS if row.is_final)


def _broken(world: World, forbidden: Mapping[str, set[str]], judged: tuple[Plan, Plan]) -> Iterator[str]:
    """Names of the rows that do not hold."""
    for name, keys in forbidden.items():
        passed = keys.intersection(change.key for change in judged[name in _FINAL].allowed)
        if len(passed) > _BY_NAME[name].may_pass(world):
            yield name


def _number_of(change: Change) -> int | None:
    text = str(change.key)
    return next((n for n in (1, 2) if str(change.owner) == f"node/web-{n}" or text.endswith(_ENDS[n])), None)


_ENDS = {n: (f"/server:{n}", f"/ip:192.0.2.{n}", f"/ip:10.1.0.{n}", f"/{pods_of(n)}") for n in (1, 2)}
