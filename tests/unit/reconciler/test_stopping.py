"""Signals: the first asks for a stop, the second would end the process, and afterwards all is as before."""

import os
import signal

import pytest

from reconciler.cli.stopping import stop_on_signals

SIGNALS = [signal.SIGTERM, signal.SIGINT]


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_asks_for_a_stop(number: signal.Signals) -> None:
    """The first signal sets the event, and the process goes on."""
    with stop_on_signals() as stop:
        assert not stop.is_set()
        os.kill(os.getpid(), number)
        assert stop.wait(5)


@pytest.mark.parametrize("number", SIGNALS)
def test_a_second_signal_is_not_caught(number: signal.Signals) -> None:
    """After the first signal both do what they do by default: the next one ends the process at once."""
    with stop_on_signals() as stop:
        os.kill(os.getpid(), number)
        assert stop.wait(5)
        assert [signal.getsignal(each) for each in SIGNALS] == [signal.SIG_DFL, signal.SIG_DFL]


@pytest.mark.parametrize("signalled", [False, True])
def test_handlers_are_put_back(signalled: bool) -> None:
    """At the end signals are handled as they were before, even when the block raised."""
    before = [signal.getsignal(number) for number in SIGNALS]

    def interrupted() -> None:
        with stop_on_signals():
            if signalled:
                os.kill(os.getpid(), signal.SIGTERM)
            raise ValueError("anything")

    with pytest.raises(ValueError, match="anything"):
        interrupted()

    assert [signal.getsignal(number) for number in SIGNALS] == before


def test_nobody_signals() -> None:
    """Without a signal nothing stops."""
    with stop_on_signals() as stop:
        pass

    assert not stop.is_set()
