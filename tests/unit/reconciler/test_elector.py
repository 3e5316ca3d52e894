"""The lead by a Lease: when it is taken, for how long it is had, and how it is lost. Nobody really waits."""

import threading
from collections.abc import Callable
from dataclasses import replace

import pytest

from actuators.http.errors import ApiError, Broken, Denied, NotLeader, Stopped, Transient
from actuators.wire.lease import NOBODY, LeaseClaim
from reconciler.leader_election.elector import Elector, new_identity
from reconciler.leader_election.leadership import (
    Leadership,
    LeadershipStatus,
    LeadResult,
    LeaseSight,
    NoElection,
    Timings,
)
from tests.support.leases import NAME, OTHER, THEIRS, LeaseInMemory, Replica, Timeline, nothing
from tests.support.rows import rows

START = 1000.0


def stage(claim: LeaseClaim | None = None, timings: Timings | None = None) -> tuple[LeaseInMemory, Timeline, Replica]:
    leases, timeline = LeaseInMemory(claim), Timeline()
    return leases, timeline, Replica(leases, timeline, timings=timings)


def leading(timings: Timings | None = None) -> tuple[LeaseInMemory, Timeline, Replica]:
    leases, timeline, replica = stage(timings=timings)
    assert replica.leads()
    leases.calls.clear()
    return leases, timeline, replica


def failing(error: ApiError, *calls: str) -> Callable[[str], None]:
    """What answers these calls with an error; all when none are named."""

    def answer(call: str) -> None:
        if not calls or call in calls:
            raise error

    return answer


# --- taking it ---


def test_a_lease_is_made_where_there_is_none() -> None:
    leases, timeline, replica = stage()

    assert replica.leads()

    assert (timeline.now, leases.calls) == (START, ["read", "create"])
    assert leases.claim == LeaseClaim("me", 15, "2027-01-15T00:16:40.000000Z", "2027-01-15T00:16:40.000000Z", 0)
    replica.elector.may_write()


@pytest.mark.parametrize(
    ("claim", "waited_s"),
    [
        pytest.param(replace(THEIRS, holder=NOBODY, duration_s=1), 0.0, id="given back"),
        pytest.param(replace(THEIRS, holder="me"), 0.0, id="ours, from before"),
        pytest.param(THEIRS, 15.0, id="held by another"),
        pytest.param(replace(THEIRS, duration_s=137), 137.0, id="held for longer than ours would be"),
        pytest.param(replace(THEIRS, duration_s=None), 15.0, id="held for nobody knows how long"),
        pytest.param(replace(THEIRS, holder=None), 15.0, id="held by nobody knows whom"),
        pytest.param(LeaseClaim(None, None, "?", "?", 0), 15.0, id="garbage"),
        pytest.param(replace(THEIRS, renewed="1970-01-01T00:00:00.000000Z"), 15.0, id="long expired by its own times"),
        pytest.param(replace(THEIRS, renewed="9999-01-01T00:00:00.000000Z"), 15.0, id="in the future by its own times"),
    ],
)
def test_when_a_lease_is_taken(claim: LeaseClaim, waited_s: float) -> None:
    """When it is free, or was not renewed for as long as it says itself; whatever its times are."""
    leases, timeline, replica = stage(claim)

    assert replica.leads()

    assert timeline.now - START == pytest.approx(waited_s)
    assert leases.claim.holder == "me"
    assert leases.claim.duration_s == 15
    assert leases.claim.transitions == claim.transitions + (claim.holder != "me")


def test_standing_by_while_another_is_alive() -> None:
    """As long as it renews, whatever else it writes; then for as long as the Lease lasts, and no longer."""
    leases, timeline, replica = stage(THEIRS)
    timeline.every(2.0, 50, leases.renew)

    assert replica.leads()

    assert 15.0 <= timeline.now - START - 100.0 <= 15.0 + 2.0
    assert leases.calls.count("read") <= 80
    assert leases.calls.count("update") == 1


def test_a_lease_that_vanished_was_not_given_back() -> None:
    leases, timeline, replica = stage(THEIRS)
    timeline.after(5.0, leases.delete)

    assert replica.leads()

    assert timeline.now == START + 15.0
    assert leases.claim.transitions == 0


def test_of_two_that_try_at_once_one_leads() -> None:
    leases, timeline, replica = stage()
    leases.after = lambda call: None if call != "read" or leases.lease else (leases.put(THEIRS), None)[1]
    timeline.every(2.0, 5, leases.renew)
    timeline.after(11.0, replica.stop.set)

    assert not replica.leads()

    assert leases.claim.holder == OTHER
    assert leases.calls[:3] == ["read", "create", "read"]


@pytest.mark.parametrize("call", ["read", "create"])
@pytest.mark.parametrize(
    "error", [Transient("no answer"), Broken("garbage"), Denied("no right"), RuntimeError("a bug")]
)
def test_trouble_does_not_end_the_wait(call: str, error: Exception) -> None:
    leases, timeline, replica = stage()

    def answer(asked: str) -> None:
        if asked == call:
            raise error

    leases.before = answer
    timeline.after(60.0, lambda: setattr(leases, "before", nothing))

    assert replica.leads()

    assert timeline.now == START + 60.0
    assert leases.calls.count("read") == 31


@rows(
    "claim error look",
    {
        "held by another": (THEIRS, None, LeaseSight(holder="other-host_1")),
        "held by nobody knows whom": (replace(THEIRS, holder=None), None, LeaseSight(holder="somebody")),
        "taken": (None, None, LeaseSight()),
        "not read": (
            THEIRS,
            Transient("no answer"),
            LeaseSight(trouble=f"the Lease {NAME} could not be acquired: no answer"),
        ),
    },
)
@pytest.mark.parametrize("before", [THEIRS, None], ids=["after another's", "the first"])
def test_what_the_last_look_has_shown(
    claim: LeaseClaim | None, error: ApiError | None, look: LeaseSight, before: LeaseClaim | None
) -> None:
    """Only what it has shown, whatever was seen before: nothing of a Lease that was taken, and is lost."""
    leases, timeline, replica = stage(before)
    sights: list[LeaseSight] = []
    if before is None:
        leases.before = failing(Transient("trouble before"))
    timeline.after(1.0, lambda: setattr(leases, "before", nothing if error is None else failing(error)))
    timeline.after(1.0, lambda: leases.delete() if claim is None else leases.put(claim))
    timeline.after(60.0 if claim is None else 3.5, replica.stop.set)

    if replica.elector.wait(replica.stop, sights.append):
        replica.threads[-1].is_running = True
        timeline.advance(15.0)
        assert not replica.elector.wait(replica.stop, sights.append)

    assert sights[-1] == look


def test_a_stop_ends_the_wait() -> None:
    leases, timeline, replica = stage(THEIRS)
    timeline.after(5.0, replica.stop.set)

    assert not replica.leads()
    assert not replica.leads()

    assert leases.calls == ["read"] * 4
    assert leases.claim == THEIRS


def test_whoever_leads_need_not_wait() -> None:
    leases, _, replica = leading()

    assert replica.leads()

    assert (leases.calls, len(replica.threads)) == ([], 1)


# --- keeping it ---


def test_it_is_renewed_each_retry_period() -> None:
    leases, timeline, replica = leading()
    first = leases.claim
    timeline.after(61.0, replica.closing.set)

    replica.keep()

    assert leases.calls == ["update"] * 30
    assert leases.claim == replace(first, renewed="2027-01-15T00:17:40.000000Z")
    assert replica.lost == []


def test_the_lead_lasts_until_the_renew_deadline() -> None:
    """Counted from the start of the last renewal that succeeded, not from its answer."""
    leases, timeline, replica = leading()

    def slow_at_first(_call: str) -> None:
        timeline.advance(1.0)
        leases.before = failing(Transient("no answer"))

    leases.before = slow_at_first
    seen: list[bool] = []
    for seconds in (11.9, 12.1):
        timeline.after(seconds, lambda: seen.append(replica.elector.is_leader()))

    replica.keep()

    assert replica.lost == [START + 2.0 + 10.0]
    assert not replica.elector.is_leader()
    timeline.advance(1.0)
    assert seen == [True, False]


def test_the_lead_is_had_back_when_the_api_is() -> None:
    """At once, if nobody took it meanwhile: it was nobody's but ours."""
    leases, _, replica = leading()
    leases.before = failing(Transient("no answer"))
    replica.keep()
    leases.before = nothing

    assert replica.leads()

    assert replica.elector.is_leader()
    assert leases.claim.transitions == 0
    assert len(replica.threads) == 2


def test_whoever_wakes_up_does_not_write() -> None:
    """Neither before it looked at the Lease nor after, when another one has it."""
    leases, timeline, replica = leading()
    timeline.now += 3600.0
    leases.put(THEIRS)

    with pytest.raises(NotLeader, match=NAME):
        replica.elector.may_write()
    replica.keep()

    assert not replica.elector.is_leader()
    assert replica.lost == [timeline.now]


@pytest.mark.parametrize(
    ("happens", "transitions"),
    [
        pytest.param(lambda leases: leases.put(THEIRS), 4, id="taken over"),
        pytest.param(lambda leases: leases.put(LeaseClaim(None, None, "", "", 0)), 1, id="garbage"),
        pytest.param(lambda leases: leases.put(replace(THEIRS, holder=NOBODY)), 4, id="given back by another"),
        pytest.param(lambda leases: leases.delete(), 0, id="deleted"),
        pytest.param(lambda leases: (leases.delete(), leases.put(THEIRS)), 4, id="deleted and taken"),
    ],
)
def test_it_is_lost_with_the_next_renewal(happens: Callable[[LeaseInMemory], object], transitions: int) -> None:
    """The owner hears of it at once, nothing is written any more, and the process stands by."""
    leases, timeline, replica = leading()
    timeline.after(1.0, lambda: happens(leases))

    replica.keep()

    assert replica.lost == [START + 2.0]
    assert not replica.elector.is_leader()
    assert leases.calls == ["update", "read"]
    assert replica.leads()
    assert (leases.claim.holder, leases.claim.transitions) == ("me", transitions)


def test_a_renewal_of_which_the_answer_is_lost() -> None:
    leases, timeline, replica = leading()
    leases.after = failing(Transient("executed, then reset"), "update")
    timeline.after(3.0, lambda: setattr(leases, "after", nothing))
    timeline.after(5.0, replica.closing.set)

    replica.keep()

    assert leases.calls == ["update", "read", "update"]
    assert (replica.lost, leases.claim.transitions) == ([], 0)


def test_a_write_of_somebody_who_is_no_holder() -> None:
    """A label, say: the Lease has another version, and is still ours."""
    leases, timeline, replica = leading()
    timeline.after(1.0, lambda: leases.put(leases.claim))
    timeline.after(3.0, replica.closing.set)

    replica.keep()

    assert leases.calls == ["update", "read", "update"]
    assert replica.lost == []


def test_an_answer_after_the_deadline() -> None:
    """The lead pauses, and goes on: nobody else had it in between."""
    leases, timeline, replica = leading()
    seen = []

    def slow(_call: str) -> None:
        timeline.advance(8.5)
        seen.append(replica.elector.is_leader())
        leases.before = nothing

    leases.before = slow
    timeline.after(11.0, replica.closing.set)

    replica.keep()

    assert seen == [False]
    assert replica.lost == []


def test_while_a_renewal_hangs_nothing_else_is_tried() -> None:
    """Whoever waits for the lead meanwhile leaves the Lease to the thread that has it."""
    leases, timeline, replica = leading()
    replica.threads[0].is_running = True
    timeline.advance(20.0)
    timeline.after(7.0, lambda: setattr(replica.threads[0], "is_running", False))

    assert replica.leads()

    assert timeline.now == START + 20.0 + 8.0
    assert leases.calls == ["read", "update"]


def test_a_bug_does_not_end_the_thread() -> None:
    """The owner hears that the lead is lost, whatever the renewal came to."""
    leases, _, replica = leading()

    def broken(_call: str) -> None:
        raise RuntimeError("a bug")

    leases.before = broken

    replica.keep()

    assert replica.lost == [START + 10.0]


def test_trouble_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "hcloud-reconciler.leadership")
    leases, timeline, replica = leading(Timings(60.0, 50.0, 2.0))
    leases.before = failing(Transient("no answer"))
    timeline.after(30.0, lambda: setattr(leases, "before", nothing))
    timeline.after(40.0, replica.closing.set)

    replica.keep()

    held = f"leading: the Lease {NAME} is held as me"
    assert caplog.messages == [held, f"the Lease {NAME} could not be renewed: no answer", held]


def test_a_loss_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    """As a loss, and not as a renewal that failed as well."""
    caplog.set_level("WARNING", "hcloud-reconciler.leadership")
    leases, _, replica = leading()
    leases.put(THEIRS)

    replica.keep()

    (told,) = caplog.messages
    assert told.startswith("no longer leading: ")


# --- giving it back ---


def test_it_is_given_back() -> None:
    leases, timeline, replica = leading()
    timeline.after(3.0, replica.elector.close)

    replica.keep()

    at = "2027-01-15T00:16:43.000000Z"
    assert leases.claim == LeaseClaim(NOBODY, 1, at, at, 0)
    assert not replica.elector.is_leader()
    other = Replica(leases, timeline, "other")
    assert other.leads()
    assert leases.claim.transitions == 1


@pytest.mark.parametrize(
    ("happens", "calls"),
    [
        pytest.param(lambda leases: leases.put(THEIRS), ["update"], id="taken over"),
        pytest.param(lambda leases: leases.delete(), ["update"], id="deleted"),
        pytest.param(lambda leases: setattr(leases, "before", failing(Transient("no"))), ["update"], id="no answer"),
    ],
)
def test_what_is_not_ours_is_not_given_back(happens: Callable[[LeaseInMemory], object], calls: list[str]) -> None:
    leases, timeline, replica = leading()
    timeline.after(1.0, lambda: happens(leases))
    timeline.after(1.0, replica.elector.close)
    before = leases.claim

    replica.keep()

    assert leases.calls == calls
    assert leases.lease is None or leases.claim in (THEIRS, before)
    assert replica.threads[0].joined == [2.0]


def test_it_is_given_back_after_a_renewal_of_which_the_answer_is_lost() -> None:
    leases, timeline, replica = leading()
    leases.after = failing(Transient("executed, then reset"), "update")
    timeline.after(3.0, lambda: setattr(leases, "after", nothing))
    timeline.after(3.0, replica.elector.close)

    replica.keep()

    assert leases.calls == ["update", "read", "update"]
    assert leases.claim.holder == NOBODY


def test_it_is_not_given_back_while_writes_are_under_way() -> None:
    leases, _, replica = leading()
    replica.elector.close(release=False)

    replica.keep()

    assert (leases.calls, leases.claim.holder) == ([], "me")
    with pytest.raises(NotLeader):
        replica.elector.may_write()


def test_nothing_is_taken_after_the_end() -> None:
    leases, _, replica = stage(THEIRS)
    replica.elector.close()

    assert not replica.leads()

    assert (leases.calls, leases.claim) == ([], THEIRS)


def test_in_a_thread_of_its_own() -> None:
    """As it is shipped: nobody has to wait for the next renewal when it ends."""
    leases = LeaseInMemory()
    elector = Elector(leases, Timings())

    assert elector.wait(threading.Event())
    assert [thread.daemon for thread in threading.enumerate() if thread.name == "lease"] == [True]
    elector.close()

    assert not [thread for thread in threading.enumerate() if thread.name == "lease"]
    assert leases.claim.holder == NOBODY


# --- a single run ---


def test_a_single_run_takes_what_is_free() -> None:
    _, timeline, replica = stage()

    assert replica.elector.wait_until_leader(replica.stop) == LeadResult(LeadershipStatus.LEADING)
    assert timeline.now == START


def test_a_single_run_outlasts_a_dead_holder() -> None:
    _, timeline, replica = stage(THEIRS)

    assert replica.elector.wait_until_leader(replica.stop) == LeadResult(LeadershipStatus.LEADING)
    assert timeline.now == START + 15.0


@pytest.mark.parametrize(
    ("at_s", "happens", "known_at_s"),
    [
        pytest.param(0.5, lambda leases: leases.renew(), 1.5, id="renewed"),
        pytest.param(13.9, lambda leases: leases.renew(), 15.0, id="renewed late"),
        pytest.param(5.0, lambda leases: leases.put(replace(THEIRS, holder="third")), 6.0, id="taken by a third"),
    ],
)
def test_a_single_run_gives_way_to_the_living(
    at_s: float, happens: Callable[[LeaseInMemory], object], known_at_s: float
) -> None:
    leases, timeline, replica = stage(THEIRS)
    timeline.after(at_s, lambda: happens(leases))

    outcome = replica.elector.wait_until_leader(replica.stop)

    assert outcome.standing is LeadershipStatus.NOT_LEADER
    assert outcome.why == f"the Lease {NAME} was renewed meanwhile by {leases.claim.holder}"
    assert timeline.now == START + known_at_s
    assert "update" not in leases.calls


def test_a_single_run_takes_what_is_given_back_meanwhile() -> None:
    leases, timeline, replica = stage(THEIRS)
    timeline.after(5.0, lambda: leases.put(replace(THEIRS, holder=NOBODY, duration_s=1)))

    assert replica.elector.wait_until_leader(replica.stop) == LeadResult(LeadershipStatus.LEADING)
    assert timeline.now == START + 6.0


@rows(
    "claim error calls waited_s why",
    {
        "no right": (None, Denied("no right"), (), 0.0, "cannot be acquired: no right"),
        "no answer": (None, Transient("no answer"), (), 20.0, "could not be acquired in 20 s: no answer"),
        "seen, and not to be had": (THEIRS, Transient("no"), ("update",), 21.0, "could not be acquired in 20 s: no"),
        "one that lasts longer": (
            replace(THEIRS, duration_s=40),
            Transient("no"),
            ("update",),
            46.0,
            "could not be acquired in 45 s: no",
        ),
    },
)
def test_a_single_run_gives_up(
    claim: LeaseClaim | None, error: ApiError, calls: tuple[str, ...], waited_s: float, why: str
) -> None:
    """At once when waiting does not help, else after 5 s more than the Lease lasts."""
    leases, timeline, replica = stage(claim)
    leases.before = failing(error, *calls)

    outcome = replica.elector.wait_until_leader(replica.stop)

    assert outcome == LeadResult(LeadershipStatus.FAILED, f"the Lease {NAME} {why}")
    assert timeline.now - START <= waited_s


def test_a_single_run_is_stopped() -> None:
    _, timeline, replica = stage(THEIRS)
    timeline.after(3.0, replica.stop.set)

    assert replica.elector.wait_until_leader(replica.stop).standing is LeadershipStatus.STOPPED


# --- around it ---


def test_identities() -> None:
    """The host and something random, as HCCM has it; the gate's error counts as a stop, not as a failure."""
    first, second = new_identity(), new_identity()

    host, _, unique = first.rpartition("_")
    assert (bool(host), len(unique), unique.count("-")) == (True, 36, 4)
    assert first != second
    assert issubclass(NotLeader, Stopped)


def test_without_an_election() -> None:
    alone: Leadership = NoElection()
    stop = threading.Event()

    assert alone.wait(stop)
    assert alone.wait_until_leader(stop) == LeadResult(LeadershipStatus.LEADING)
    assert alone.is_leader()
    alone.may_write()
    alone.when_lost(lambda: None)
    alone.close()
    stop.set()
    assert not alone.wait(stop)
    assert alone.wait_until_leader(stop).standing is LeadershipStatus.STOPPED
