"""The settings of the election: what HCCM takes is taken, and what nobody could keep is refused."""

import pytest

from desired.syntax.bounds import shown_text
from reconciler.config.config import Config, ConfigurationError, load_config
from reconciler.config.options import Command
from reconciler.leader_election.leadership import Timings

TOKEN = "t" * 64
DURATION, DEADLINE, PERIOD = (f"--leader-elect-{name}" for name in ("lease-duration", "renew-deadline", "retry-period"))
NAME, NAMESPACE = "--leader-elect-resource-name", "--leader-elect-resource-namespace"
TOO_SHORT = "--leader-elect-lease-duration has to be more than --leader-elect-renew-deadline: lengthen it"
TOO_FEW = (
    "--leader-elect-renew-deadline has to be more than 1.2 times --leader-elect-retry-period: lengthen it, or shorten"
    " that one"
)


def load(flags: dict[str, str], command: Command = Command.BARE, **environ: str) -> Config:
    return load_config(command, flags, {"HCLOUD_TOKEN": TOKEN, **environ})


def test_defaults() -> None:
    config = load({})

    assert (config.leader_elect, config.lease_namespace, config.lease_name) == (
        True,
        "kube-system",
        "cloud-controller-manager",
    )
    assert config.timings == Timings(15.0, 10.0, 2.0)


def test_all_set() -> None:
    flags = {DURATION: "137s", DEADLINE: "107s", PERIOD: "26s", NAME: "ccm.example.com", NAMESPACE: "ops"}

    config = load(flags, RECONCILER_LEADER_ELECT="false")

    assert (config.leader_elect, config.lease_namespace, config.lease_name) == (False, "ops", "ccm.example.com")
    assert config.timings == Timings(137.0, 107.0, 26.0)


@pytest.mark.parametrize("command", [Command.BARE, Command.VALIDATE])
@pytest.mark.parametrize(
    ("flags", "lines"),
    [
        pytest.param({DURATION: "10s"}, (TOO_SHORT,), id="a Lease as long as its deadline"),
        pytest.param({DEADLINE: "20s"}, (TOO_SHORT,), id="a deadline beyond the Lease"),
        pytest.param({PERIOD: "10s"}, (TOO_FEW,), id="one try alone"),
        pytest.param({PERIOD: "9s"}, (TOO_FEW,), id="hardly two"),
        pytest.param({DURATION: "1s", DEADLINE: "2s", PERIOD: "3s"}, (TOO_SHORT, TOO_FEW), id="the wrong way round"),
    ],
)
def test_durations_that_do_not_go_together(command: Command, flags: dict[str, str], lines: tuple[str, ...]) -> None:
    with pytest.raises(ConfigurationError) as raised:
        load(flags, command)

    assert raised.value.lines == lines


def test_durations_of_a_lease_that_nobody_takes() -> None:
    assert not load({DURATION: "1s", "--leader-elect": "false"}).leader_elect


@pytest.mark.parametrize("flag", [NAME, NAMESPACE])
@pytest.mark.parametrize("name", ["", "Upper", "a/b", "a b", "-a", "a-", "a..b", "a\n", "é", "x" * 254])
def test_names_that_are_none(flag: str, name: str) -> None:
    """They would be refused by the API server again and again, or lead to another path."""
    with pytest.raises(ConfigurationError) as raised:
        load({flag: name})

    assert raised.value.lines == (
        f"{flag} is {shown_text(name)}: expect the name of a Kubernetes object, such as cloud-controller-manager",
    )
    assert raised.value.usage


def test_what_follows_from_the_durations() -> None:
    """A call that hangs does not outlast a try, tries come no later than they should, and no Lease is cut short."""
    timings = Timings(1.5, 1.0, 0.5)

    assert timings.call_timeout_s < timings.retry_period_s
    assert (timings.period_s(0.0), timings.period_s(1.0)) == (0.5, 0.45)
    assert (timings.written_duration_s, Timings().written_duration_s) == (2, 15)
