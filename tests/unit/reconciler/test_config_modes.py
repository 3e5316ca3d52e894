"""Which command and which mode a run has: who wins when several are asked for, and what each needs to be known."""

from collections.abc import Mapping
from datetime import timedelta

import pytest

from desired.model.settings import Settings, Waits
from reconciler.config.config import Config, ConfigurationError, Mode, load_config
from reconciler.config.options import Command, Detail, Output
from tests.support.rendering import golden
from tests.support.rows import rows

TOKEN = "T0k3n".ljust(64, "x")


def load(flags: Mapping[str, str] | None = None, /, **environ: str) -> Config:
    return load_config(Command.BARE, flags or {}, {"HCLOUD_TOKEN": TOKEN, **environ})


@rows(
    "flags environ mode",
    {
        "a dry run in a cron shell": ({"--dry-run": "true"}, {"RECONCILER_ONCE": "true"}, Mode.DRY_RUN),
        "once in a careful shell": ({"--once": "true"}, {"RECONCILER_DRY_RUN": "true"}, Mode.ONCE),
        "the environment alone": ({}, {"RECONCILER_DRY_RUN": "true"}, Mode.DRY_RUN),
        "switched off": ({"--once": "false"}, {"RECONCILER_ONCE": "true"}, Mode.LOOP),
        "a mode that is not asked for wins nothing": ({"--dry-run": "false"}, {"RECONCILER_ONCE": "true"}, Mode.ONCE),
        "both said": ({"--once": "false", "--dry-run": "true"}, {"RECONCILER_ONCE": "true"}, Mode.DRY_RUN),
    },
)
def test_the_command_lines_mode_overrules_the_environments(
    flags: dict[str, str], environ: dict[str, str], mode: Mode
) -> None:
    """Who asks for a mode gets it, whatever other mode the environment has."""
    assert load(flags, **environ).mode is mode


@pytest.mark.parametrize("output", [Output.MARKDOWN, Output.NAME])
def test_what_a_stream_of_passes_cannot_be(output: Output) -> None:
    """The command without a name takes it for a plan, and refuses to run for ever with it."""
    for mode in ("--dry-run", "--once"):
        assert load({mode: "true", "--output": output}).output is output

    instead = "a controller writes a report after each pass, in one of auto, text, json, yaml"
    line = f"output {output} goes with 'reconcile plan' and 'reconcile apply': {instead}"
    with pytest.raises(ConfigurationError) as typed:
        load({"--output": output})
    with pytest.raises(ConfigurationError) as left_behind:
        load(RECONCILER_OUTPUT=output)

    assert (typed.value.lines, typed.value.usage) == ((line,), True)
    assert (left_behind.value.lines, left_behind.value.usage) == ((line,), False)


@pytest.mark.parametrize(
    ("flags", "environ"),
    [
        pytest.param({"--dry-run": "true", "--once": "true"}, {}, id="on the command line"),
        pytest.param({}, {"RECONCILER_DRY_RUN": "true", "RECONCILER_ONCE": "true"}, id="in the environment"),
    ],
)
def test_two_modes_of_one_place_exclude_each_other(flags: dict[str, str], environ: dict[str, str]) -> None:
    with pytest.raises(ConfigurationError) as raised:
        load(flags, **environ)

    assert raised.value.lines == ("--dry-run and --once exclude each other",)


CLUSTER = {"--kubeconfig": "f", "--context": "a b"}
OPS = {"--leader-elect-resource-namespace": "ops"}
RANGE = {"--cluster-cidr": "10.0.0.0/8"}
PLAN = {"--dry-run": "true"}
TYPED: Mapping[str, Mapping[str, str]] = {
    "none": {},
    "another cluster and its context": CLUSTER,
    "quoted for the shell": {"--kubeconfig": "/my file"},
    "another namespace": OPS,
    "the default, spelt out": {"--leader-elect-resource-namespace": "kube-system"},
    "both": {**OPS, "--kubeconfig": "f"},
    "a controller that publishes": RANGE,
    "a controller that does not": {"--policy": "observe"},
    "a controller for a part": {"--only": "node/a"},
    "a run that ends": {"--once": "true", "--detailed-exitcode": "true", "--color": "never", **RANGE},
    "a plan": {**PLAN, "--kubeconfig": "f", "--controllers": "*,-route", "--request-timeout": "5s"},
    "a plan from a file": {**PLAN, "--from": "world.json"},
    "a plan of a part": {**PLAN, "--kubeconfig": "/my file", "--only": "node/a"},
    "switches": {**PLAN, "--configure-cloud-routes": "f", "--keep-internal-ips": "true"},
    "flags that only show": {**PLAN, "--output": "text", "--full": "true", "--detailed-exitcode": "true"},
}


def test_commands_that_follow() -> None:
    """Flags with which ``reconcile approve`` reaches the same ConfigMap, or computes the same plan if nothing is
    published; and the command that carries out a plan. Set UPDATE_GOLDEN to write the file anew, and read it."""
    loaded = {name: load(flags) for name, flags in TYPED.items()}
    loaded["from the environment"] = load(RECONCILER_KUBECONFIG="/some/file")
    text = "".join(f"=== {name}\n{each.approve_flags}\n{each.next_step}\n" for name, each in loaded.items())

    assert text == golden("commands.txt", text)


def test_approving_needs_no_token() -> None:
    """``approve`` talks to the cluster alone: neither the token nor any of Hetzner's variables is looked at."""
    config = load_config(
        Command.APPROVE, {"--kubeconfig": "f"}, {"HCLOUD_DEBUG": "nonsense", "RECONCILER_REQUEST_TIMEOUT": "3s"}
    )

    assert (config.kubeconfig, config.request_timeout_s, config.lease_namespace) == ("f", 3.0, "kube-system")


def test_explaining_looks_only() -> None:
    """``explain`` plans as a run of the same settings does, and never writes, whatever mode the environment has."""
    environ = {
        "HCLOUD_TOKEN": TOKEN,
        "HCLOUD_NETWORK": "net",
        "RECONCILER_ONCE": "true",
        "RECONCILER_ONLY": "node/other",
        "RECONCILER_DELETE_MIN_AGE": "5s",
    }

    config = load_config(Command.EXPLAIN, {"--output": "json"}, environ)

    assert (config.mode, config.output, config.token) == (Mode.DRY_RUN, Output.JSON, TOKEN)
    assert config.settings == Settings(network="net", routes=True, waits=Waits(age=timedelta(seconds=5)))


def test_explaining_needs_a_token() -> None:
    with pytest.raises(ConfigurationError) as raised:
        load_config(Command.EXPLAIN, {}, {})

    assert raised.value.lines[0].startswith('environment variable "HCLOUD_TOKEN" is required')


@pytest.mark.parametrize(
    ("command", "mode"), [(Command.PLAN, Mode.DRY_RUN), (Command.APPLY, Mode.ONCE), (Command.RUN, Mode.LOOP)], ids=str
)
@pytest.mark.parametrize("variable", ["RECONCILER_DRY_RUN", "RECONCILER_ONCE"])
def test_a_command_wins_over_the_environment(command: Command, mode: Mode, variable: str) -> None:
    config = load_config(command, {}, {"HCLOUD_TOKEN": TOKEN, variable: "true"})

    assert config.mode is mode


def test_apply_asks_unless_it_is_told_not_to() -> None:
    environ = {"HCLOUD_TOKEN": TOKEN}

    assert load_config(Command.APPLY, {}, environ).asks
    assert not load_config(Command.APPLY, {"--yes": "true"}, environ).asks
    assert not load_config(Command.BARE, {"--once": "true"}, environ).asks


@pytest.mark.parametrize(
    ("flags", "environ", "detail"),
    [
        pytest.param({}, {}, Detail.FOLDED, id="neither"),
        pytest.param({"--full": "true"}, {}, Detail.FULL, id="full"),
        pytest.param({"--summary": "true"}, {}, Detail.SUMMARY, id="a summary"),
        pytest.param({}, {"RECONCILER_SUMMARY": "true"}, Detail.SUMMARY, id="from the environment"),
        pytest.param({"--full": "true"}, {"RECONCILER_SUMMARY": "true"}, Detail.FULL, id="the command line wins"),
        pytest.param({"--full": "false"}, {"RECONCILER_FULL": "true"}, Detail.FOLDED, id="switched off"),
    ],
)
def test_how_much_a_text_tells(flags: dict[str, str], environ: dict[str, str], detail: Detail) -> None:
    assert load(flags, **environ).detail is detail


def test_all_and_less_exclude_each_other() -> None:
    with pytest.raises(ConfigurationError) as raised:
        load({"--full": "true", "--summary": "true"})

    assert raised.value.lines == ("--full and --summary exclude each other",)


@pytest.mark.parametrize("command", [Command.APPLY, Command.RUN], ids=str)
def test_nothing_is_applied_to_a_file_that_was_left_in_the_environment(command: Command) -> None:
    """It would be applied to the cluster instead, which nobody has seen the plan of."""
    with pytest.raises(ConfigurationError) as raised:
        load_config(command, {}, {"HCLOUD_TOKEN": TOKEN, "RECONCILER_FROM": "case.json"})

    assert "nothing can be applied to a file" in raised.value.lines[0]
