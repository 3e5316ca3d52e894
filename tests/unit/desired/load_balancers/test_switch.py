"""Targets that are switched to their other addresses: one goes first, and the others once it answers (D32)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from typing import Any

import pytest

from desired.annotations.choices import Protocol
from desired.load_balancers.switch import RETRY_AFTER, Trial, look_again_s, patience_s, trial_of
from desired.model.clocks import NO_OTHER_CLOCKS, Clocks
from desired.model.load_balancer import Attachment, CloudBalancer, Health, HealthCheck, Identity, Listener, ServerTarget
from desired.model.snapshot import ServerStatus
from desired.names import LABEL_SWITCH
from desired.plan.change import Change, Plan, Verdict
from desired.section import UNMANAGED, Present
from tests.balancers import DEFAULT_NAME, IN_NETWORK, LOCATED, NETWORK, a_balancer, a_listener, a_world
from tests.builders import NOW
from tests.support.balancer_plans import asking, fleet, private, public
from tests.support.balancer_verdicts import judged

HERE = Attachment(7, IPv4Address("10.0.0.200"))
BALANCER = "load_balancer/default/web"
LABEL = f"{BALANCER}/labels/switch"
LIMIT_S = (3 + 2) * 15 + 10
H, U, X = Health.HEALTHY, Health.UNKNOWN, Health.UNHEALTHY


@pytest.mark.parametrize(
    ("checks", "expected", "again"),
    [
        pytest.param([], 85, 15, id="no listener"),
        pytest.param([(15, 10, 3)], 85, 15, id="as Hetzner has it"),
        pytest.param([(3, 2, 1)], 11, 3, id="quick"),
        pytest.param([(60, 60, 5)], 480, 60, id="slow"),
        pytest.param([(3, 2, 1), (15, 10, 3)], 85, 3, id="the slowest of two"),
        pytest.param([(UNMANAGED, UNMANAGED, UNMANAGED)], 85, 15, id="not said"),
    ],
)
def test_how_long_a_target_may_take(checks: list[Any], expected: int, again: int) -> None:
    """Two rounds of health checks more than are configured."""
    listeners: list[Listener] = [a_listener(health_check=HealthCheck(Protocol.TCP, 30080, *each)) for each in checks]
    assert (patience_s(listeners), look_again_s(listeners)) == (expected, again)


AT = datetime(2026, 11, 22, 10, 15, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "trial"),
    [
        ("private.20261122T101500Z.3.4.2.9", Trial(True, AT, 3, 4, 2, 9)),
        ("public.20261122T101500Z.1.1.1.0", Trial(False, AT, 1, 1, 1)),
        ("private.20261122T101500Z.failed", Trial(True, AT)),
    ],
)
def test_what_the_label_says(text: str, trial: Trial) -> None:
    assert trial_of({LABEL_SWITCH: text}) == trial
    assert str(trial) == text
    assert trial.has_failed is ("failed" in text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "private",
        "private.20261122T101500Z",
        "private.20261399T101500Z.failed",
        "private.20261122T101500Z.1.1",
        "private.20261122T101500Z.1.1.1",
        "private.20261122T101500Z.1.1.1.1.1",
        "private.20261122T101500Z.-1.1.1.0",
        "x" * 10_000,
        "private.\u0662\u0660\u0662\u0666\u0661\u0661\u0662\u0662T101500Z.failed",
    ],
)
def test_labels_that_say_nothing(text: str) -> None:
    assert trial_of({LABEL_SWITCH: text}) is None


@dataclass(frozen=True)
class Seen:
    """What a plan does of a switch, by the numbers of servers."""

    go: frozenset[int] = frozenset()
    wait: frozenset[int] = frozenset()
    held: frozenset[int] = frozenset()
    back: frozenset[int] = frozenset()
    label: str | None = None
    """What the label becomes; None when nothing is planned for it."""
    done: Verdict | None = None
    """What is said of that."""


def some(*numbers: int) -> frozenset[int]:
    return frozenset(numbers)


def switching(
    old: Mapping[int, Health | Mapping[int, Health]],
    new: Mapping[int, Health | Mapping[int, Health]] = {},
    label: str | None = None,
    *,
    down: Iterable[int] = (),
    to_private: bool = True,
    approved: Iterable[str] = (),
    clocks: Clocks = NO_OTHER_CLOCKS,
    place: Attachment = HERE,
    **options: str,
) -> Plan:
    """The plan for a load balancer that leads to ``old`` by the addresses that are left, and to ``new`` by others."""
    ways = {(server, not to_private): health for server, health in old.items()}
    ways |= {(server, to_private): health for server, health in new.items()}
    health = {ServerTarget(*way): said for way, said in ways.items()}
    spec = {"labels": {**a_balancer().spec.labels, **({LABEL_SWITCH: label} if label else {})}}
    balancer = a_balancer(attachments=(place,), targets=health, health=health, spec=spec)
    service = asking(**({"use_private_ip": "true"} if to_private else {}), **options)
    nodes = fleet(*sorted({*old, *new}))
    for number in down:
        nodes["servers"][number - 1] = replace(nodes["servers"][number - 1], status=ServerStatus.OFF)
    world = a_world([service], [balancer], network=Present(NETWORK), clocks=clocks, **nodes)
    return judged(world, IN_NETWORK, tuple(approved))


def seen(plan: Plan, *, to_private: bool = True) -> Seen:
    found: dict[Any, set[int]] = {}
    for change in plan.changes:
        if change.kind == "lb.target" and isinstance(change.after, ServerTarget):
            way = change.decision.verdict if change.after.use_private_ip is to_private else "back"
            found.setdefault(way, set()).add(change.after.server_id)
            assert way != "back" or change.decision.verdict is Verdict.ALLOWED
    label = plan.by_key.get(LABEL)
    said = label.after.labels.get(LABEL_SWITCH, "") if label and isinstance(label.after, Identity) else None
    return Seen(
        go=frozenset(found.get(Verdict.ALLOWED, ())),
        wait=frozenset(found.get(Verdict.WAITING, ())),
        held=frozenset(found.get(Verdict.HELD, ())),
        back=frozenset(found.get("back", ())),
        label=said,
        done=label.decision.verdict if label else None,
    )


def said(expected: int, total: int, batch: int, ago_s: float = 0, way: str = "private", left: int = 0) -> str:
    """The label of a batch that was begun so long ago."""
    return str(Trial(way == "private", NOW - timedelta(seconds=ago_s), expected, total, batch, left))


def failed(ago_s: float = 0) -> str:
    """The label of a switch to private addresses that failed so long ago."""
    return str(Trial(True, NOW - timedelta(seconds=ago_s)))


OK, WAITS, HOLDS = Verdict.ALLOWED, Verdict.WAITING, Verdict.HELD


@pytest.mark.parametrize(
    ("old", "new", "label", "expected"),
    [
        pytest.param(
            {1: H, 2: H, 3: H},
            {},
            None,
            Seen(some(1), some(2, 3), label=said(1, 1, 1, left=2), done=OK),
            id="the canary",
        ),
        pytest.param(
            {1: X, 2: H, 3: H},
            {},
            None,
            Seen(some(2), some(1, 3), label=said(1, 1, 1, left=1), done=OK),
            id="the canary answers",
        ),
        pytest.param({1: X, 2: X, 3: X}, {}, None, Seen(some(1, 2, 3)), id="nobody answered before"),
        pytest.param(
            {1: U, 2: U, 3: X}, {}, None, Seen(wait=some(1, 2, 3), label=said(0, 0, 1), done=OK), id="not checked yet"
        ),
        pytest.param({1: U, 2: X}, {}, said(0, 0, 1, 20), Seen(wait=some(1, 2)), id="still not checked"),
        pytest.param(
            {1: H, 2: U, 3: X},
            {},
            said(0, 0, 1, 20),
            Seen(some(1), some(2, 3), label=said(1, 1, 1), done=OK),
            id="checked, and one answers",
        ),
        pytest.param(
            {1: X, 2: X}, {}, said(0, 0, 1, 20), Seen(some(1, 2), label="", done=OK), id="checked, and nobody answers"
        ),
        pytest.param(
            {1: U, 2: U}, {}, said(0, 0, 1, LIMIT_S), Seen(some(1, 2), label="", done=OK), id="never checked in time"
        ),
        pytest.param({1: H}, {}, None, Seen(some(1)), id="the only target"),
        pytest.param(
            {1: H},
            {2: U},
            None,
            Seen(some(1), label=said(1, 2, 1), done=OK),
            id="a Node that joined by the new address",
        ),
        pytest.param({2: H, 3: H}, {1: U}, said(1, 1, 1, 20), Seen(wait=some(2, 3)), id="not looked at yet"),
        pytest.param({2: H, 3: H}, {1: X}, said(1, 1, 1, 20), Seen(wait=some(2, 3)), id="unhealthy, and there is time"),
        pytest.param(
            {2: H, 3: H, 4: H, 5: H},
            {1: H},
            said(1, 1, 1, 20),
            Seen(some(2, 3), some(4, 5), label=said(3, 3, 2, left=2), done=OK),
            id="the next two",
        ),
        pytest.param(
            dict.fromkeys(range(4, 10), H),
            {1: H, 2: H, 3: H},
            said(3, 3, 2, 20),
            Seen(some(4, 5, 6, 7), some(8, 9), label=said(7, 7, 4, left=2), done=OK),
            id="the next four",
        ),
        pytest.param(
            dict.fromkeys(range(4, 10), H),
            {1: H, 2: H, 3: U},
            said(3, 3, 2, 20),
            Seen(wait=some(4, 5, 6, 7, 8, 9)),
            id="one of a batch does not answer yet",
        ),
        pytest.param(
            {2: X, 3: X},
            {1: H},
            said(1, 1, 1, 20),
            Seen(some(2, 3), label="", done=OK),
            id="only who does not answer is left",
        ),
        pytest.param(
            {2: X, 3: U}, {1: H}, said(1, 1, 1, 20), Seen(wait=some(2, 3)), id="of one that is left nothing is known"
        ),
        pytest.param({}, {1: H, 2: H}, said(2, 2, 1, 20), Seen(label="", done=OK), id="the end"),
        pytest.param({}, {1: H, 2: U}, said(2, 2, 1, 20), Seen(label="", done=WAITS), id="the last one is looked at"),
        pytest.param(
            {},
            {1: H, 2: X},
            said(2, 2, 1, LIMIT_S),
            Seen(back=some(2), label=failed(), done=OK),
            id="the last one fails",
        ),
        pytest.param({}, {1: H, 2: X}, None, Seen(), id="nothing is under way"),
        pytest.param(
            {2: H, 3: H},
            {1: X},
            said(1, 1, 1, LIMIT_S),
            Seen(held=some(2, 3), back=some(1), label=failed(), done=OK),
            id="the canary fails",
        ),
        pytest.param(
            {2: H, 3: H},
            {1: U},
            said(1, 1, 1, LIMIT_S),
            Seen(held=some(2, 3), back=some(1), label=failed(), done=OK),
            id="nothing is said of the canary in time",
        ),
        pytest.param(
            {4: H, 5: H},
            {1: H, 2: X, 3: H},
            said(3, 3, 2, LIMIT_S),
            Seen(held=some(4, 5), back=some(2), label=failed(), done=OK),
            id="one of a batch fails",
        ),
        pytest.param(
            {2: X, 3: X}, {1: X}, said(1, 1, 1, LIMIT_S, left=2), Seen(wait=some(2, 3)), id="nobody answers any more"
        ),
        pytest.param(
            {2: X, 3: X},
            {1: X},
            said(1, 1, 1, LIMIT_S),
            Seen(held=some(2, 3), back=some(1), label=failed(), done=OK),
            id="who alone answered does not any more",
        ),
        pytest.param(
            {1: U, 2: H, 3: H}, {}, failed(20), Seen(held=some(1, 2, 3), label="", done=HOLDS), id="it has failed"
        ),
        pytest.param(
            {1: U, 2: U, 3: U},
            {},
            failed(20),
            Seen(held=some(1, 2, 3), label="", done=HOLDS),
            id="it has failed, and nobody answers yet",
        ),
        pytest.param(
            {2: H, 3: H},
            {1: X},
            failed(20),
            Seen(held=some(2, 3), back=some(1), label="", done=HOLDS),
            id="the way back was not finished",
        ),
        pytest.param(
            {1: H, 2: H},
            {},
            failed(RETRY_AFTER.total_seconds() + 1),
            Seen(some(1), some(2), label=said(1, 1, 1, left=1), done=OK),
            id="long ago",
        ),
        pytest.param({1: H, 2: H, 3: H}, {}, said(1, 1, 1, 20), Seen(some(1), some(2, 3)), id="begun and not done"),
        pytest.param(
            {1: H, 2: H, 3: H},
            {},
            said(1, 1, 1, 999),
            Seen(some(1), some(2, 3), label=said(1, 1, 1, left=2), done=OK),
            id="begun long ago and not done",
        ),
        pytest.param(
            {2: H, 3: H},
            {1: X},
            said(1, 1, 1, -3600),
            Seen(some(2), some(3), label=said(1, 2, 1, left=1), done=OK),
            id="from the future",
        ),
        pytest.param(
            {1: H, 2: H},
            {},
            said(1, 1, 1, 20, "public"),
            Seen(some(1), some(2), label=said(1, 1, 1, left=1), done=OK),
            id="of the switch to where it came from",
        ),
        pytest.param(
            {4: H},
            {1: H, 2: X, 3: X},
            said(1, 1, 1, LIMIT_S),
            Seen(some(4), label=said(2, 4, 1), done=OK),
            id="Nodes that joined and have no pod",
        ),
        pytest.param(
            {3: H},
            {1: H},
            said(2, 2, 2, LIMIT_S),
            Seen(some(3), label=said(2, 2, 2), done=OK),
            id="one that was switched is gone",
        ),
        pytest.param(
            {}, {1: H}, said(2, 2, 2, LIMIT_S), Seen(label="", done=OK), id="one that was switched last is gone"
        ),
    ],
)
def test_switching(old: dict[int, Health], new: dict[int, Health], label: str | None, expected: Seen) -> None:
    """Who goes, who waits, who is held and who goes back."""
    assert seen(switching(old, new, label)) == expected


BOTH, ONE, OTHER, NONE = {80: H, 443: H}, {80: H, 443: X}, {80: X, 443: H}, {80: X, 443: X}


@pytest.mark.parametrize(
    ("old", "new", "label", "expected"),
    [
        pytest.param(
            {1: ONE, 2: ONE},
            {},
            None,
            Seen(some(1), some(2), label=said(1, 1, 1, left=1), done=OK),
            id="a port that never answers: the canary",
        ),
        pytest.param(
            {2: ONE}, {1: ONE}, said(1, 1, 1, 20), Seen(some(2), label=said(2, 2, 1), done=OK), id="and it answers"
        ),
        pytest.param({2: ONE}, {1: NONE}, said(1, 1, 1, 20), Seen(wait=some(2)), id="and it does not"),
        pytest.param({2: BOTH}, {1: ONE}, said(2, 1, 1, 20), Seen(wait=some(2)), id="one of two ports is lost"),
        pytest.param(
            {2: BOTH},
            {1: ONE},
            said(2, 1, 1, LIMIT_S),
            Seen(held=some(2), back=some(1), label=failed(), done=OK),
            id="one of two ports is lost for good",
        ),
        pytest.param(
            {1: BOTH, 2: ONE, 3: OTHER},
            {},
            None,
            Seen(some(1), some(2, 3), label=said(2, 1, 1, left=2), done=OK),
            id="others answer at both of its ports",
        ),
        pytest.param(
            {1: BOTH, 2: ONE, 3: ONE},
            {},
            None,
            Seen(some(2), some(1, 3), label=said(1, 1, 1, left=3), done=OK),
            id="who alone answers at a port is no canary",
        ),
    ],
)
def test_each_port_for_itself(
    old: dict[int, dict[int, Health]], new: dict[int, dict[int, Health]], label: str | None, expected: Seen
) -> None:
    """What never answered is not waited for, and what did is, whatever else answers."""
    assert seen(switching(old, new, label)) == expected


@pytest.mark.parametrize(
    ("old", "new", "label", "expected"),
    [
        pytest.param(
            {2: H, 3: H},
            {1: X},
            said(1, 1, 1, 20),
            Seen(some(2), some(3), label=said(1, 2, 1, left=1), done=OK),
            id="the canary: another one",
        ),
        pytest.param(
            {3: H, 4: H},
            {1: X, 2: H},
            said(2, 2, 1, 20),
            Seen(some(3, 4), label=said(3, 4, 2), done=OK),
            id="one of a batch: the next",
        ),
        pytest.param({}, {1: X, 2: H}, said(2, 2, 1, LIMIT_S), Seen(label="", done=OK), id="the last one: the end"),
    ],
)
def test_who_is_down_fails_no_switch(
    old: dict[int, Health], new: dict[int, Health], label: str | None, expected: Seen
) -> None:
    """A server that is rebooted meanwhile answers nobody, and says nothing of its address."""
    assert seen(switching(old, new, label, down=(1,))) == expected


@pytest.mark.parametrize(
    ("old", "new", "label", "expected"),
    [
        pytest.param({1: H, 2: H}, {}, None, Seen(wait=some(1, 2)), id="nothing is begun"),
        pytest.param({1: U, 2: U}, {}, None, Seen(wait=some(1, 2)), id="nothing is waited for by the clock"),
        pytest.param({2: H}, {1: X}, said(1, 1, 1, LIMIT_S), Seen(wait=some(2)), id="no time is over"),
        pytest.param({3: H}, {1: H}, said(1, 1, 1, 20), Seen(wait=some(3)), id="no other batch"),
        pytest.param({2: H}, {1: X}, said(1, 1, 1, -3600), Seen(wait=some(2)), id="no time is to come"),
        pytest.param({}, {1: H, 2: H}, said(2, 2, 1, 20), Seen(label="", done=OK), id="what ends, ends"),
    ],
)
def test_while_clocks_disagree(
    old: dict[int, Health], new: dict[int, Health], label: str | None, expected: Seen
) -> None:
    """A clock that jumps ahead lets no canary fail."""
    assert seen(switching(old, new, label, clocks=Clocks(hetzner=timedelta(hours=-1)))) == expected


def test_back_to_public_addresses() -> None:
    """The same in the other direction."""
    found = seen(switching({1: H, 2: H}, to_private=False), to_private=False)
    assert found == Seen(some(1), some(2), label=said(1, 1, 1, way="public", left=1), done=OK)


def test_what_is_said_of_a_failure() -> None:
    """What to look at; and an approval switches all at once and forgets the failure."""
    plan = switching({1: U, 2: H, 3: H}, label=failed(20))
    (hold,) = plan.holds
    assert hold.rule == "target-health"
    assert all(
        word in hold.why for word in ("firewall", "externalTrafficPolicy", "node ports", "health-check-node-port")
    )
    approved = switching({1: U, 2: H, 3: H}, label=failed(20), approved=[hold.hash])
    assert seen(approved) == Seen(some(1, 2, 3), label="", done=OK)
    assert all(LABEL in c.depends_on for c in approved.changes if c.kind == "lb.target")


def test_waiting_says_until_when() -> None:
    """Another look after a health check, or when the time is over."""
    for ago_s, due in ((20, 15), (80, 6)):
        plan = switching({2: H}, {1: U}, said(1, 1, 1, ago_s))
        assert plan.by_key[f"{BALANCER}/target/server:2"].decision.due_in_s == due


@pytest.mark.parametrize(
    ("old", "new", "label", "verdict"),
    [
        pytest.param({1: H, 2: H}, {}, None, WAITS, id="one goes"),
        pytest.param({}, {1: H, 2: U}, said(2, 2, 1, 20), WAITS, id="the last one is looked at"),
        pytest.param({1: H, 2: H}, {}, failed(20), WAITS, id="it has failed"),
        pytest.param({}, {1: H, 2: H}, said(2, 2, 1, 20), OK, id="the end"),
        pytest.param({1: X, 2: X}, {}, None, OK, id="nobody answered before"),
        pytest.param({1: U, 2: U}, {}, None, WAITS, id="not checked yet"),
    ],
)
def test_the_way_back_stays_open(
    old: dict[int, Health], new: dict[int, Health], label: str | None, verdict: Verdict
) -> None:
    """The public interface goes only once nothing has to go back to it."""
    plan = switching(old, new, label, disable_public_network="true")
    assert plan.by_key[f"{BALANCER}/public"].decision.verdict is verdict


@pytest.mark.parametrize(
    ("old", "new", "label", "to_private", "verdict"),
    [
        pytest.param({1: H, 2: H}, {}, None, True, OK, id="to private, one goes"),
        pytest.param({2: H, 3: H}, {1: H}, said(1, 1, 1, 20), True, OK, id="to private, in the middle of it"),
        pytest.param({1: H, 2: H}, {}, failed(20), True, OK, id="to private, it has failed"),
        pytest.param({1: H, 2: H}, {}, None, False, WAITS, id="to public, one goes"),
        pytest.param({2: H}, {1: H}, said(1, 1, 1, 20, "public"), False, WAITS, id="to public, in the middle of it"),
    ],
)
def test_another_network_meanwhile(
    old: dict[int, Health], new: dict[int, Health], label: str | None, to_private: bool, verdict: Verdict
) -> None:
    """The old one is the way back only of who leaves private addresses; the others need the new one to go on."""
    plan = switching(old, new, label, to_private=to_private, place=Attachment(5, IPv4Address("10.5.0.9")))
    assert plan.by_key[f"{BALANCER}/network/5"].decision.verdict is verdict


def test_what_cannot_go_back_stays() -> None:
    """A server without a public address is reached by its private one, or not at all."""
    plan = switching({2: H}, {1: X}, said(1, 1, 1, LIMIT_S))
    assert seen(plan).back == some(1)
    health = {ServerTarget(1, True): X, ServerTarget(2, False): H}
    spec = {"labels": {**a_balancer().spec.labels, LABEL_SWITCH: said(1, 1, 1, LIMIT_S)}}
    balancer: CloudBalancer = a_balancer(attachments=(HERE,), targets=health, health=health, spec=spec)
    world = fleet(1, 2)
    world["servers"][0] = replace(world["servers"][0], ipv4=None)
    snapshot = a_world([asking(use_private_ip="true")], [balancer], network=Present(NETWORK), **world)
    found = seen(judged(snapshot, IN_NETWORK))
    assert (found.back, found.held) == (some(), some(2))


def test_nothing_but_switches_is_looked_at() -> None:
    """Nodes that come and go are nobody's canary, and no label is written for them."""
    health: dict[ServerTarget, Health] = dict.fromkeys(public(1, 2, 3), H)
    balancer = a_balancer(targets=health, health=health)
    plan = judged(a_world([asking()], [balancer], **fleet(1, 2, 4)), LOCATED)
    changes: list[Change] = [change for change in plan.changes if change.owner == "service/default/web"]
    assert {change.key.rpartition(":")[2] for change in changes} == {"3", "4"}
    assert "target-health" not in {change.decision.rule for change in changes}


def test_names_of_labels_are_not_taken_for_an_identity() -> None:
    """The label alone is written: a name that somebody changes meanwhile is none of its business."""
    change = switching(dict.fromkeys((1, 2), H)).by_key[LABEL]
    assert change.before == Identity(DEFAULT_NAME, {})
    assert change.after == Identity(DEFAULT_NAME, {LABEL_SWITCH: said(1, 1, 1, left=1)})
    assert private(1)[0].name == "server:1"
