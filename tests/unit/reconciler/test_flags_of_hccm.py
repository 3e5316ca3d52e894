"""Flags that a Helm values file of HCCM may carry: none of them ends the process, none is passed over in silence."""

import pytest

from desired.settings import Controller
from reconciler.config import Config, load_config
from reconciler.flags import FLAGS, parse_command_line
from reconciler.flags.of_hccm import INSTEAD, SWITCHES, without_effect

TOKEN = {"HCLOUD_TOKEN": "a" * 64}
OF_THE_CHART = [
    "--allow-untagged-cloud",
    "--cloud-provider=hcloud",
    "--route-reconciliation-period=30s",
    "--webhook-secure-port=0",
    "--feature-gates=CloudControllerManagerWatchBasedRoutesReconciliation=true",
    "--leader-elect=false",
    "--allocate-node-cidrs=true",
    "--cluster-cidr=10.244.0.0/16",
]


def loaded(*words: str, **variables: str) -> Config:
    """What a run with these words is configured to do."""
    command, given, _ = parse_command_line(words)
    return load_config(command, given, TOKEN | variables)


@pytest.mark.parametrize("flag", sorted(INSTEAD))
def test_each_is_accepted_and_told_of(flag: str) -> None:
    """With a value, and without one where HCCM needs none."""
    forms = [[f"{flag}=x"], [flag] if flag in SWITCHES else [flag, "x"]]
    for words in forms:
        (line,) = [warning for warning in loaded(*words).warnings if flag in warning]
        assert line == f"{flag} has no effect: {INSTEAD[flag]}"


def test_what_the_chart_of_hccm_gives() -> None:
    """It starts, and says in one line for each kind of flags what there is instead."""
    config = loaded(*OF_THE_CHART, HCLOUD_NETWORK="private")

    assert str(config.settings.cluster_cidr) == "10.244.0.0/16"
    assert [warning.partition(":")[0] for warning in config.warnings] == [
        "--cloud-provider, --allow-untagged-cloud have no effect",
        "--allocate-node-cidrs has no effect",
        "--route-reconciliation-period has no effect",
        "--webhook-secure-port has no effect",
        "--feature-gates has no effect",
    ]


@pytest.mark.parametrize(("words", "routes"), [((), True), (("--configure-cloud-routes=false",), False)])
def test_routes_can_be_switched_off_as_with_hccm(words: tuple[str, ...], routes: bool) -> None:
    """The controller stays on, so that conditions that are ours are taken back."""
    settings = loaded(*words, HCLOUD_NETWORK="private").settings

    assert (settings.routes, Controller.ROUTE in settings.controllers) == (routes, True)


@pytest.mark.parametrize("words", [["-v=4"], ["-v", "4"], ["--v=4"], ["--v", "4"]])
def test_verbosity_has_two_names(words: list[str]) -> None:
    """As with every program of Kubernetes."""
    assert loaded(*words).warnings == ("--v has no effect: --log-format and HCLOUD_DEBUG set what is logged",)


def test_what_has_a_meaning_is_in_the_table_of_the_product() -> None:
    """No flag is in both."""
    assert not FLAGS.keys() & INSTEAD.keys()
    assert set(SWITCHES) <= INSTEAD.keys()
    assert list(without_effect({"--dry-run": "true"})) == []


def test_an_unknown_flag_is_still_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """A misspelt one is nobody's."""
    with pytest.raises(SystemExit) as ended:
        parse_command_line(["--cloud-providr=hcloud"])

    assert ended.value.code == 64
    assert "--cloud-providr" in capsys.readouterr().err


def test_commands_have_nothing_to_do_with_them(capsys: pytest.CaptureFixture[str]) -> None:
    """They are for the controller."""
    with pytest.raises(SystemExit):
        parse_command_line(["explain", "node", "a", "--secure-port=0"])

    assert "--secure-port" in capsys.readouterr().err
