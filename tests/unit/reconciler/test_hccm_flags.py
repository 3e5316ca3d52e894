"""Flags that a Helm values file of HCCM may carry: none of them ends the process, none is passed over in silence."""

import pytest

from desired.model.settings import Controller
from reconciler.cli.app import parse_command_line
from reconciler.config.config import Config, load_config
from reconciler.config.hccm_flags import INSTEAD, SWITCHES, without_effect
from reconciler.config.options import FLAGS

TOKEN = {"HCLOUD_TOKEN": "a" * 64}


def named(names: str) -> frozenset[str]:
    return frozenset(names.split())


NEED_NO_VALUE = named(
    """
    --allocate-node-cidrs --allow-untagged-cloud --authentication-skip-lookup --authentication-tolerate-lookup-failure
    --contention-profiling --disable-http2-serving --enable-leader-migration --log-json-split-stream
    --log-text-split-stream --permit-address-sharing --permit-port-sharing --profiling
    --use-service-account-credentials --webhook-disable-http2-serving
    """
)
"""Switches of HCCM without a meaning here; docs/configuration.md lists them with the other flags."""
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
    command, given, _ = parse_command_line(words)
    return load_config(command, given, TOKEN | variables)


@pytest.mark.parametrize("flag", sorted(INSTEAD))
def test_each_is_accepted_and_told_of(flag: str) -> None:
    forms = [[f"{flag}=x"], [flag] if flag in NEED_NO_VALUE else [flag, "x"]]
    for words in forms:
        (line,) = [warning for warning in loaded(*words).warnings if flag in warning]
        assert line == f"{flag} has no effect: {INSTEAD[flag]}"


def test_what_is_told_of_has_its_own_name() -> None:
    (line,) = loaded("--use_service_account_credentials").warnings
    assert line.startswith("--use-service-account-credentials has no effect: ")


def test_what_a_run_takes_can_be_validated() -> None:
    command, given, files = parse_command_line(["validate", *OF_THE_CHART, "-v", "3", "web.yaml"])

    warnings = load_config(command, given, {"HCLOUD_NETWORK": "private"}).warnings
    assert files == ("web.yaml",)
    assert {*warnings} >= {*loaded(*OF_THE_CHART, "-v", "3", HCLOUD_NETWORK="private").warnings}


def test_no_range_of_pods() -> None:
    """The chart of HCCM may give the flag without a value: that is none, and ends nothing."""
    assert loaded("--cluster-cidr=", HCLOUD_NETWORK="private").settings.cluster_cidr is None


def test_what_the_chart_of_hccm_gives() -> None:
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
    assert loaded(*words).warnings == ("--v has no effect: --log-format and HCLOUD_DEBUG set what is logged",)


def test_a_value_may_have_blanks() -> None:
    """As in a manifest of HCCM's that has only its image replaced."""
    words = ["--cluster-name=my cluster", "--authorization-always-allow-paths=/healthz, /readyz"]
    assert len(loaded(*words).warnings) > 0
    assert loaded(*words).settings == loaded().settings


def test_what_has_a_meaning_is_in_the_table_of_the_product() -> None:
    assert not FLAGS.keys() & INSTEAD.keys()
    assert SWITCHES == NEED_NO_VALUE
    assert list(without_effect({"--dry-run": "true"})) == []
