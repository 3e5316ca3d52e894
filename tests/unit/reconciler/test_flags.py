"""The command line and its variables: how they are split, read, refused, and compared with what is known."""

import shlex
import sys
from datetime import timedelta
from ipaddress import ip_network
from typing import Any

import pytest

from desired.model.settings import Controller, Policy
from desired.syntax.selector import parse_selector
from reconciler import __version__
from reconciler.cli.app import function_of, parse_command_line
from reconciler.cli.commands import COMMANDS
from reconciler.cli.reading import object_of
from reconciler.config.options import FLAGS, Command, LogFormat, Output, read_flags, unknown_variables
from reconciler.config.program import BAD_USAGE
from tests.support.rows import rows

HASH = "sha256:0123456789abcdef"
OTHER = "sha256:fedcba9876543210"
SWITCHES = [name for name, row in FLAGS.items() if not row.metavar and Command.BARE in row.commands]


def read(*words: str, **environ: str) -> tuple[dict[str, Any], list[str], list[str]]:
    command, given, _ = parse_command_line(words)
    usage: list[str] = []
    errors: list[str] = []
    return dict(read_flags(command, given, environ, usage, errors)), usage, errors


RESET_IS_GONE = "it is gone: notes of kind kept name what nothing asks for; set these annotations"


@pytest.mark.parametrize(
    ("words", "flag", "value"),
    [
        (["--dry-run"], "--dry-run", True),
        (["--once", "--once=0"], "--once", False),
        (["--output", "json"], "--output", Output.JSON),
        (["--output=text", "--output=json"], "--output", Output.JSON),
        (["-o", "yaml"], "--output", Output.YAML),
        (["-oname", "--output=markdown"], "--output", Output.MARKDOWN),
        (["--approve", HASH, "--approve", OTHER], "--approve", (HASH, OTHER)),
        (["--only", "node/a", "--only", "node/b"], "--only", ("node/a", "node/b")),
        (["--controllers=*", "--controllers=-route"], "--controllers", frozenset(Controller) - {Controller.ROUTE}),
        (["--cluster_cidr", "10.244.0.0/16"], "--cluster-cidr", (ip_network("10.244.0.0/16"),)),
        (["--leader_elect-resource_name=a"], "--leader-elect-resource-name", "a"),
        (["--kubeconfig=/some/my_file"], "--kubeconfig", "/some/my_file"),
        (["--dry_run"], "--dry-run", True),
        (
            ["--cluster-cidr", "fd00::/48", "--cluster-cidr", "10.244.0.0/16"],
            "--cluster-cidr",
            (ip_network("fd00::/48"), ip_network("10.244.0.0/16")),
        ),
        (["--health-address", "127.0.0.1:0"], "--health-address", ("127.0.0.1", 0)),
        (["--ui-address", "[::1]:8234"], "--ui-address", ("::1", 8234)),
        (["--ui-address", ""], "--ui-address", None),
        (["--ui-hosts", "Page.example.com., page.lan"], "--ui-hosts", ("page.example.com", "page.lan")),
        (["--log-format=json"], "--log-format", LogFormat.JSON),
        (["--ignore-nodes", "a=b", "--ignore-nodes", "c"], "--ignore-nodes", parse_selector("c")),
        (["--server-selector", "cluster in (a,b)"], "--server-selector", parse_selector("cluster in (a,b)")),
        (["--policy", "observe", "plan", "--policy", "upsert"], "--policy", Policy.UPSERT),
        (["-o=yaml"], "--output", Output.YAML),
        (["plan", "--from", "-"], "--from", "-"),
    ],
)
def test_command_line(words: list[str], flag: str, value: Any) -> None:
    values, usage, errors = read(*words)

    assert (values[flag], usage, errors) == (value, [], [])


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (
            ["--dry-run=yes"],
            "--dry-run is 'yes': expect one of 1, t, T, TRUE, true, True, 0, f, F, FALSE, false, False",
        ),
        (
            ["--ui-hosts", "http://page.lan"],
            "--ui-hosts is 'http://page.lan': 'http://page.lan' is no host name: give it without scheme, port and path",
        ),
        (["--output", "xml"], "--output is 'xml': expect one of auto, text, json, yaml, markdown, name, html"),
        (
            ["--leader-elect-resource-lock", "configmaps"],
            "--leader-elect-resource-lock is 'configmaps': expect leases: nothing else is supported as a lock",
        ),
        (
            ["--server-selector", "cpus>4"],
            "--server-selector is 'cpus>4': Hetzner does not know >: expect key in (a,b) instead",
        ),
        (["--given-up-after", "0s"], "--given-up-after is '0s': expect a duration of more than 0"),
    ],
)
def test_values_that_cannot_be_read(words: list[str], line: str) -> None:
    _, usage, errors = read(*words)

    assert (usage, errors) == ([line], [])


PLAN_FLAGS: list[tuple[str, str, str, Any]] = [
    ("--ignore-nodes", "RECONCILER_IGNORE_NODES", "team=x", parse_selector("team=x")),
    ("--mirror-labels", "RECONCILER_MIRROR_LABELS", "servers.example.com", "servers.example.com"),
    ("--keep-internal-ips", "RECONCILER_KEEP_INTERNAL_IPS", "true", True),
    ("--delete-not-ready-for", "RECONCILER_DELETE_NOT_READY_FOR", "5s", timedelta(seconds=5)),
    ("--delete-min-age", "RECONCILER_DELETE_MIN_AGE", "5s", timedelta(seconds=5)),
    ("--given-up-after", "RECONCILER_GIVEN_UP_AFTER", "5s", timedelta(seconds=5)),
]
"""Flag of the rules, its variable, a text, and what that means."""


@pytest.mark.parametrize(("flag", "variable", "text", "value"), PLAN_FLAGS)
def test_what_decides_is_of_every_plan(flag: str, variable: str, text: str, value: Any) -> None:
    """A flag without which a plan would be another one is known to ``explain`` and ``approve``, and has no meaning for
    ``revoke``."""
    for words in ([], ["explain", "node", "web-1"]):
        by_flag, usage, errors = read(*words, f"{flag}={text}")
        by_variable, _, _ = read(*words, **{variable: text})
        assert (by_flag[flag], by_variable[flag], usage, errors) == (value, value, [], [])

    values, usage, _ = read(f"{flag}={text}", "revoke", HASH, **{variable: text})
    assert (values[flag], usage) == (FLAGS[flag].usual, [f"{flag} has no meaning for 'reconcile revoke'"])


def test_variables() -> None:
    values, usage, errors = read(
        "--output", "text", RECONCILER_OUTPUT="json", RECONCILER_DRY_RUN="true", RECONCILER_INTERVAL="2m"
    )

    assert (usage, errors) == ([], [])
    assert (values["--output"], values["--dry-run"], values["--interval"]) == (Output.TEXT, True, 120.0)


def test_empty_variables() -> None:
    """A variable that is set to nothing is not set, but for a switch, where it is an error as everywhere."""
    values, usage, errors = read(RECONCILER_OUTPUT="", RECONCILER_INTERVAL="", RECONCILER_ONCE="")

    assert (values["--output"], values["--interval"], usage) == (Output.AUTO, None, [])
    assert errors == ["RECONCILER_ONCE is '': expect one of 1, t, T, TRUE, true, True, 0, f, F, FALSE, false, False"]


def test_wrong_variables_are_no_bad_usage() -> None:
    _, usage, errors = read("--policy", "x", RECONCILER_OUTPUT="y")

    assert usage == ["--policy is 'x': expect one of observe, upsert, sync"]
    assert errors == ["RECONCILER_OUTPUT is 'y': expect one of auto, text, json, yaml, markdown, name, html"]


@pytest.mark.parametrize("command", [Command.EXPLAIN, Command.ORPHANS, Command.VALIDATE, Command.RUN], ids=str)
@pytest.mark.parametrize("output", ["markdown", "name"])
def test_what_only_a_plan_can_be_shown_as(command: Command, output: str) -> None:
    usage: list[str] = []

    read_flags(command, {"--output": output}, {}, usage, [])

    assert usage == [f"--output is '{output}': expect one of auto, text, json, yaml"]


@pytest.mark.parametrize("name", SWITCHES)
def test_switches(name: str) -> None:
    assert parse_command_line([name])[1] == {name: "true"}
    assert parse_command_line([f"{name}=f"])[1] == {name: "f"}


@pytest.mark.parametrize(
    ("words", "command", "flags", "arguments"),
    [
        ([], Command.BARE, {}, ()),
        (["--once"], Command.BARE, {"--once": "true"}, ()),
        (["sandbox", "--hetzner-port", "1"], Command.SANDBOX, {}, ("--hetzner-port", "1")),
        (["approve", "--kubeconfig", "f", HASH], Command.APPROVE, {"--kubeconfig": "f"}, (HASH,)),
        (["--kubeconfig", "f", "approve", HASH], Command.APPROVE, {"--kubeconfig": "f"}, (HASH,)),
        (["explain", "node", "web-1"], Command.EXPLAIN, {}, ("node", "web-1")),
        (["explain", "--output", "json", "service/a/b"], Command.EXPLAIN, {"--output": "json"}, ("service/a/b",)),
        (["explain", "service", "node/web"], Command.EXPLAIN, {}, ("service", "node/web")),
        (["validate", "a.yaml", "-"], Command.VALIDATE, {}, ("a.yaml", "-")),
        (["validate", "a.yaml", "--once", "b.yaml"], Command.VALIDATE, {"--once": "true"}, ("a.yaml", "b.yaml")),
        (["orphans", "4", "--delete", "5"], Command.ORPHANS, {"--delete": "true"}, ("4", "5")),
        (["--", "plan"], Command.PLAN, {}, ()),
        (["approve", HASH, "--reason", "- as agreed"], Command.APPROVE, {"--reason": "- as agreed"}, (HASH,)),
        (["approve", "--wait", HASH], Command.APPROVE, {"--wait": "true"}, (HASH,)),
        (["apply", "--auto-approve"], Command.APPLY, {"--yes": "true"}, ()),
        (["apply", "--auto_approve=false"], Command.APPLY, {"--yes": "false"}, ()),
    ],
)
def test_commands(words: list[str], command: Command, flags: dict[str, str], arguments: tuple[str, ...]) -> None:
    assert parse_command_line(words) == (command, flags, arguments)


@rows(
    "typed meant",
    {
        "a kind and a name": ("node web-1", ("node", "web-1")),
        "a key": ("node/web-1", ("node", "web-1")),
        "a key of a Service": ("service/a/b", ("service", "a/b")),
        "a name": ("web-1", ("any", "web-1")),
        "a name in a namespace": ("shop/web", ("service", "shop/web")),
        "kubectl's spelling": ("svc web", ("service", "web")),
        "a kind and a key": ("service node/web", ("service", "node/web")),
        "any kind": ("any web-1", ("any", "web-1")),
    },
)
def test_what_is_explained(typed: str, meant: tuple[str, str]) -> None:
    assert object_of(typed.split()) == meant


@rows(
    "typed why",
    {
        "a kind alone": ("node", "the name of a node is missing: explain node NAME"),
        "a key without a name": ("svc/", "the name of a service is missing: explain service NAME"),
        "another kind": ("pod web", "'pod' cannot be explained: expect node or service"),
    },
)
def test_what_cannot_be_explained(typed: str, why: str) -> None:
    with pytest.raises(ValueError, match=f"^{why}$"):
        object_of(typed.split())


_NO_COMMAND = "expect one of plan, explain, holds, status, ui, orphans, apply, approve, revoke, run, demo, sandbox, "
REFUSED = {
    "--dryrun": "No such option '--dryrun': did you mean --dry-run?",
    "--dry": "No such option '--dry': did you mean --dry-run?",
    "--cluster-cdir 10.244.0.0/16": "No such option '--cluster-cdir': did you mean --cluster-cidr?",
    "--cluster-cdir=10.0.0.0/16 --once": "No such option '--cluster-cdir': did you mean --cluster-cidr?",
    "--cluster_cdir=my_net": "No such option '--cluster-cdir': did you mean --cluster-cidr?",
    "explain node -1 --kubeconfig": "Option '--kubeconfig' requires an argument.",
    "--allow-untaged-cloud": "No such option '--allow-untaged-cloud': did you mean --allow-untagged-cloud?",
    "--cloud-providr=hcloud": "No such option '--cloud-providr': did you mean --cloud-provider?",
    "explain --polcy sync node a": "No such option '--polcy': did you mean --policy?",
    "--xyzzy 1 --onse": "No such option '--xyzzy'.",
    "apply --save-plan f": "No such option '--save-plan'.",
    "revoke --wait-for": "No such option '--wait-for'.",
    "plan --versio": "No such option '--versio'.",
    "plan --load-balancers-reset-unset=true": f"No such option '--load-balancers-reset-unset': {RESET_IS_GONE}",
    "-x": "No such option '-x'.",
    "plan -xyz": "No such option '-x'.",
    "apply --save f": "No such option '--save': it goes with plan",
    "apply --auto-aprove": "No such option '--auto-aprove': did you mean --auto-approve?",
    "plan --auto-approve": "No such option '--auto-approve': it goes with apply, approve",
    "plan --yes": "No such option '--yes': it goes with apply, approve",
    "plan --allocate-node-cidrs": "No such option '--allocate-node-cidrs': it goes with run",
    "explain node a --secure-port=0": "No such option '--secure-port': it goes with run",
    "status --interval 3s --only=node/a": "No such option '--interval': it goes with ui, run",
    "--save f": "No such option '--save': it goes with plan",
    "plan --wait f": "No such option '--wait': it goes with approve",
    "apply --dry-run": "No such option '--dry-run': it goes with run",
    f"approve --dry-run {HASH}": "No such option '--dry-run': it goes with run",
    "explain --once node web-1": "No such option '--once': it goes with run",
    "apply -- a --b": "Got unexpected extra argument (--b)",
    "plan f": "Got unexpected extra argument (f)",
    "plan f g": "Got unexpected extra arguments (f g)",
    "demo extra": "Got unexpected extra argument (extra)",
    f"approve {HASH} {OTHER}": f"Got unexpected extra argument ({OTHER})",
    "explain node web-1 web-2": "Got unexpected extra argument (web-2)",
    "--output": "Option '--output' requires an argument.",
    "plan --kubeconfig --only=node/a": "Option '--kubeconfig' requires an argument.",
    "run -v": "Option '-v' requires an argument: HCLOUD_DEBUG=true logs every request",
    "approve": "Missing argument 'HASH'.",
    "explain": "Missing argument 'OBJECT'.",
    "completion ksh": "Invalid value for 'SHELL': 'ksh' is not one of 'bash', 'zsh', 'fish'.",
    "aply": "'aply' is no command (did you mean apply?)",
    "diff": "'diff' is no command (did you mean plan?)",
    "sync": "'sync' is no command (did you mean apply?)",
    "destroy": "'destroy' is no command (did you mean orphans?)",
    "version": "'version' is no command (did you mean --version?)",
    "hepl": "'hepl' is no command (did you mean help?)",
    "xyzzy": f"'xyzzy' is no command: {_NO_COMMAND}validate, capture, migrate, completion",
    "--dry-run false": f"'false' is no command: {_NO_COMMAND}validate, capture, migrate, completion",
}
"""Command line → what is said of it."""


@pytest.mark.parametrize(("line", "said"), REFUSED.items(), ids=REFUSED)
def test_bad_usage(line: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A command line that cannot be split ends with exit code 64 and two lines on stderr, and abbreviates nothing."""
    with pytest.raises(SystemExit) as left:
        parse_command_line(line.split())

    output = capsys.readouterr()
    assert left.value.code == BAD_USAGE == 64
    assert (output.out, output.err) == ("", f"reconcile: {said}\nTry 'reconcile --help'.\n")


def test_a_word_without_end(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse_command_line(["x" * 5000])

    assert len(capsys.readouterr().err) < 1000


@pytest.mark.parametrize(
    ("started_as", "name"),
    [
        ("/opt/bin/reconcile", "reconcile"),
        ("/opt/bin/hcloud-reconciler", "hcloud-reconciler"),
        ("/opt/bin/kubectl-hcloud_reconciler", "kubectl hcloud-reconciler"),
        ("/opt/hcloud_reconciler/__main__.py", "reconcile"),
        ("-c", "reconcile"),
        ("", "reconcile"),
    ],
)
def test_usage_has_the_name_that_was_typed(
    started_as: str, name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A plugin of kubectl is typed as two words, and so are its commands; what has no name is ``reconcile``."""
    monkeypatch.setattr(sys, "argv", [started_as])
    for words in (["--help"], ["demo", "--help"], ["--nonsense"]):
        with pytest.raises(SystemExit):
            parse_command_line(words)

    said = capsys.readouterr()
    assert said.out.startswith(f"usage: {name} COMMAND [flags]")
    assert f"\nusage: {name} demo [flags]\n" in said.out
    assert said.err.startswith(f"{name}: No such option")
    assert said.err.endswith(f"\nTry '{name} --help'.\n")


def test_what_comes_after_two_dashes_is_no_flag() -> None:
    assert parse_command_line(["validate", "--", "--odd.yaml", "--my_file"])[2] == ("--odd.yaml", "--my_file")


def test_a_flag_of_another_command() -> None:
    _, usage, _ = read("--dry-run", "demo")

    assert usage == ["--dry-run has no meaning for 'reconcile demo'"]


def page_of(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    with pytest.raises(SystemExit) as left:
        parse_command_line(words)
    assert left.value.code == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("command", COMMANDS, ids=str)
@pytest.mark.parametrize("width", ["80", "60"])
def test_help_of_a_command(
    command: Command, width: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", width)

    text = page_of(capsys, command, "--help")

    said, row = " ".join(text.split()), COMMANDS[command]
    named = [line.split()[0] for line in text.splitlines() if line.startswith("  ") and line[2] != " "]
    taken = [flag for flag in FLAGS.values() if command in flag.commands]
    assert row.description in said
    assert named == [
        *(operand.metavar for operand in row.operands),
        *("reconcile" for _ in row.examples),
        *(", ".join(flag.spellings).split()[0] for flag in taken),
        "-h,",
    ]
    assert [typed for typed, meaning in row.examples.items() if f"reconcile {typed} {meaning}" not in said] == []
    assert all(flag.meaning in said for flag in taken)
    too_wide = [line for line in text.splitlines() if len(line) > int(width) and not line.startswith("usage: ")]
    assert [line for line in too_wide if line.startswith(" " * 30) or "  " in line.strip()] == []


@pytest.mark.parametrize("command", COMMANDS, ids=str)
def test_examples_can_be_typed(command: Command) -> None:
    examples = [shlex.split(typed.partition("|")[0]) for typed in COMMANDS[command].examples]

    assert len(examples) == 3
    for words in examples:
        values, usage, errors = read(*words)
        assert (words[0] in (command, "sandbox"), usage, errors) == (True, [], [])
        assert values["--output"] in Output


@pytest.mark.parametrize(
    ("words", "page"),
    [
        pytest.param(["help"], "", id="all"),
        pytest.param(["help", "plan"], "plan", id="of a command"),
        pytest.param(["plan", "--help"], "plan", id="by the flag"),
        pytest.param(["help", "plan", "--only"], "plan", id="what follows does not matter"),
        pytest.param(["--policy", "sync", "explain", "-h"], "explain", id="behind a flag"),
    ],
)
def test_pages_of_help(words: list[str], page: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert page_of(capsys, *words) == page_of(capsys, *filter(None, [page]), "--help")


def test_every_command_is_a_function() -> None:
    others = {Command.PLAN, Command.APPLY, Command.RUN, Command.COMPLETION}
    assert all(callable(function_of(command)) for command in COMMANDS.keys() - others)


def test_values_for_completion_can_be_read() -> None:
    for row in FLAGS.values():
        assert [row.read(text, command) for command in row.commands for text in row.values_for(command)].count(
            None
        ) == 0


def test_what_a_run_takes_can_be_validated() -> None:
    assert all((Command.BARE in row.commands) is (Command.VALIDATE in row.commands) for row in FLAGS.values())


def test_the_first_page_of_help(capsys: pytest.CaptureFixture[str]) -> None:
    """It names each command once, by what people want, on one screen."""
    lines = page_of(capsys, "--help").splitlines()

    named = [line.split()[0] for line in lines if line.startswith("  ")]
    assert sorted(named) == sorted(command for command in Command if command is not Command.BARE)
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse_command_line(["--version"])

    assert capsys.readouterr().out == f"hcloud-reconciler {__version__}\n"


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("RECONCILER_DRYRUN", "unknown variable RECONCILER_DRYRUN: did you mean RECONCILER_DRY_RUN?"),
        ("RECONCILER_INTERVALL", "unknown variable RECONCILER_INTERVALL: did you mean RECONCILER_INTERVAL?"),
        ("RECONCILER_", "unknown variable RECONCILER_"),
        (
            "RECONCILER_LOAD_BALANCERS_RESET_UNSET",
            f"unknown variable RECONCILER_LOAD_BALANCERS_RESET_UNSET: {RESET_IS_GONE}",
        ),
        (
            "RECONCILER_DELETE",
            "RECONCILER_DELETE is no variable: give --delete on the command line, each time that it is meant",
        ),
    ],
)
def test_unknown_variables(name: str, line: str) -> None:
    assert unknown_variables({name: "x"}) == [line]


def test_known_variables() -> None:
    known = {row.variable: "" for row in FLAGS.values() if not row.is_typed}
    assert unknown_variables(known | {"PATH": "x", "RECONCILERS": "x"}) == []
    assert FLAGS["--leader-elect-lease-duration"].variable == "RECONCILER_LEADER_ELECT_LEASE_DURATION"


@pytest.mark.parametrize(
    "rest", ["SERVICE_HOST", "SERVICE_PORT", "PORT", "PORT_443_TCP_ADDR", "METRICS_SERVICE_PORT_HTTP"]
)
def test_service_links_are_not_ours(rest: str) -> None:
    """A Service named ``reconciler`` puts such variables into every container of its namespace: no reason to stop."""
    assert unknown_variables({f"RECONCILER_{rest}": "10.0.0.1"}) == []
