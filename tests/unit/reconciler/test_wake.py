"""What calls for the next pass, and what of it a pass that begins has seen."""

from reconciler.wake import Wake


class Watch:
    """A clock that is set by hand."""

    now = 100.0

    def __call__(self) -> float:
        """Seconds."""
        return self.now


def test_nobody_called() -> None:
    """Without an interval only a call makes it time."""
    wake = Wake(Watch())
    wake.begin(None)
    assert not wake.is_called()

    wake.call()
    assert wake.is_called()


def test_a_pass_that_begins_sees_what_it_was_called_for() -> None:
    """A call counts once."""
    wake = Wake(Watch())
    wake.call()
    wake.begin(None)

    assert not wake.is_called()


def test_a_pass_that_takes_longer_than_the_interval() -> None:
    """The next pass is due one interval after this one began, and not before."""
    watch = Watch()
    wake = Wake(watch)
    wake.begin(60.0)

    watch.now += 59.9
    assert not wake.is_called()
    watch.now += 0.1
    assert wake.is_called()

    wake.begin(60.0)
    assert not wake.is_called()
