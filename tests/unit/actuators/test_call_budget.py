"""How many calls may go out: a burst, then half the allowance an hour; the last of them for reading."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest

from actuators.http.call_budget import DEFAULT_LIMIT, CallBudget, SharedAllowance
from actuators.http.errors import OverBudget
from tests.support.rows import rows


class Bucket:
    """A budget on a clock that only the test moves."""

    def __init__(self, limit: int = DEFAULT_LIMIT) -> None:
        self.now = 0.0
        self.budget = CallBudget(lambda: self.now)
        self.budget.allow(limit)

    def spend(self, calls: int) -> None:
        for _ in range(calls):
            self.budget.spend()

    def change(self, calls: int = 5) -> None:
        """A change begins, and ends without a call."""
        with self.budget.begin_change(calls):
            pass

    def spend_all(self) -> int:
        spent = 0
        while True:
            try:
                self.budget.spend()
            except OverBudget:
                return spent
            spent += 1


@pytest.mark.parametrize("limit", [240, 1000, 3600, 36_000])
def test_the_busiest_hour(limit: int) -> None:
    """A full bucket, and all that flows in: less than three quarters."""
    bucket = Bucket(limit)
    spent = 0
    for _ in range(3600):
        spent += bucket.spend_all()
        bucket.now += 1.0
    assert limit / 2 < spent < limit * 3 / 4


def test_a_greater_allowance_is_known_from_the_first_answer() -> None:
    bucket = Bucket()
    bucket.spend(10)
    bucket.budget.allow(36_000)
    for _ in range(3):
        bucket.change()
    assert bucket.spend_all() == 8810


def test_an_allowance_that_shrinks_is_used_up_by_former_calls() -> None:
    """And no more than that: it flows in again at once, and when the greater one is back the bucket is not full."""
    bucket = Bucket(36_000)
    bucket.spend(2000)
    bucket.budget.allow(3600)
    assert bucket.spend_all() == 0
    bucket.budget.allow(36_000)
    assert 0 < bucket.spend_all() <= 8820 - 882


def test_a_call_that_is_not_sent_says_when() -> None:
    bucket = Bucket()
    bucket.spend_all()
    with pytest.raises(OverBudget) as caught:
        bucket.budget.spend()
    bucket.now += caught.value.retry_after_s + 0.001
    assert 1.0 < caught.value.retry_after_s <= 2.0
    assert bucket.spend_all() == 1


def test_one_change_a_pass_when_little_is_left() -> None:
    bucket = Bucket()
    bucket.spend(700)
    bucket.budget.begin_pass()
    bucket.change()

    with pytest.raises(OverBudget) as caught:
        bucket.change()
    assert caught.value.retry_after_s == pytest.approx((882 / 3 - 182) / 0.5)
    bucket.budget.begin_pass()
    bucket.change()
    bucket.now += caught.value.retry_after_s
    bucket.change()


def test_a_change_is_paid_for_when_it_begins() -> None:
    """What others send meanwhile cannot take it away; what it does not need comes back."""
    bucket = Bucket()
    with bucket.budget.begin_change(20):
        assert bucket.budget.left() == 862
        bucket.spend(5)
        assert bucket.budget.left() == 862
    assert bucket.budget.left() == 877


@pytest.mark.parametrize(
    ("left", "calls", "begins"),
    [(300, 20, True), (20, 20, True), (19, 20, False), (383, 95, False), (384, 95, True), (582, 301, False)],
)
def test_a_change_begins_with_room_for_all_of_it(left: int, calls: int, *, begins: bool) -> None:
    """And for reading beside it, but for a small one a pass. One that does not begin leaves its turn to a smaller one
    of the same pass."""
    bucket = Bucket()
    bucket.spend(882 - left)
    if not begins:
        with pytest.raises(OverBudget):
            bucket.change(calls)
    bucket.change(calls if begins else 5)


@rows(
    "left calls promised has_room",
    {
        "reading goes on after it": (394, 100, 0, True),
        "one call less": (393, 100, 0, False),
        "as much as there may ever be": (588, 5000, 0, True),
        "beside another approval": (394, 50, 50, True),
        "which was promised too much": (394, 50, 51, False),
    },
)
def test_room_for_approved_changes(left: int, calls: int, promised: int, *, has_room: bool) -> None:
    bucket = Bucket()
    bucket.spend(882 - left)
    assert bucket.budget.has_room(calls, promised=promised) is has_room


@pytest.mark.parametrize(("reads", "calls"), [(6, 5), (13, 5), (25, 95), (40, 5000)])
def test_a_change_that_waits_for_room_gets_it(reads: int, calls: int) -> None:
    """Though something calls for a pass whenever one may begin, and each has one small change: passes are so far apart
    while anything waits that the bucket fills."""
    bucket = Bucket()
    bucket.spend(588)
    for _ in range(200):
        bucket.budget.begin_pass()
        bucket.spend(reads)
        if bucket.budget.has_room(calls):
            return
        with suppress(OverBudget), bucket.budget.begin_change(5):
            for _ in range(5):
                bucket.budget.spend()
        bucket.now += max(5.0, bucket.budget.gap_s(reads))
    pytest.fail("it waits for ever")


def test_a_change_that_has_begun_is_never_cut() -> None:
    """It overdraws what it lacks, other threads do not, and it is repaid before they may send again."""
    bucket = Bucket()
    with bucket.budget.begin_change(5), ThreadPoolExecutor(1) as another:
        another.submit(bucket.spend_all).result()
        bucket.spend(25)
        assert another.submit(bucket.spend_all).result() == 0
        assert bucket.budget.left() == 0
    bucket.budget.allow(DEFAULT_LIMIT)  # as each answer says

    assert bucket.spend_all() == 0
    bucket.now += 39.0
    assert bucket.spend_all() == 0
    bucket.now += 4.0
    assert bucket.spend_all() == 1


def test_a_change_that_takes_more_than_the_bucket_has_for_changes() -> None:
    """It begins with a third, and leaves one to read with: it would never begin otherwise."""
    bucket = Bucket(240)
    with bucket.budget.begin_change(1000):
        assert bucket.budget.left() == pytest.approx(240 * 0.245 - 19)


def test_passes_keep_a_gap_when_little_is_left() -> None:
    bucket = Bucket()
    assert bucket.budget.gap_s(reads=4) == 0.0
    bucket.spend_all()
    assert bucket.budget.gap_s(reads=4) == pytest.approx(18.0)


@pytest.mark.parametrize("limit", [-1, 0, 1])
def test_an_impossible_allowance(limit: int) -> None:
    """What is too little to look even once is Hetzner's to refuse."""
    assert Bucket(limit).spend_all() >= 50


@rows(
    "known waits_s",
    {
        "Hetzner has not said": (None, None),
        "enough is left": ((3600, 1080), None),
        "one call less": ((3600, 1079), 1.0),
        "nothing is left": ((36_000, 0), 1080.0),
        "too little to share out": ((200, 0), None),
    },
)
def test_runs_that_end_leave_a_quarter(known: tuple[int, int] | None, waits_s: float | None) -> None:
    """Of what Hetzner says is left, as they know nothing of each other."""
    allowance = SharedAllowance(lambda: known)
    assert allowance.has_room(5) is (waits_s is None)
    if waits_s is None:
        with allowance.begin_change(5):
            pass
    else:
        with pytest.raises(OverBudget) as caught, allowance.begin_change(5):
            pass
        assert caught.value.retry_after_s == pytest.approx(waits_s)
