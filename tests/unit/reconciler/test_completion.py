"""Completion: the candidates at each place of a command line."""

import pytest
from click.shell_completion import CompletionItem, ShellComplete

from reconciler.cli.app import APP, COMPLETES
from reconciler.cli.commands import COMMANDS
from reconciler.config.options import FLAGS


def candidates(line: str) -> list[CompletionItem]:
    *before, current = line.split(" ")
    return ShellComplete(APP, {}, "reconcile", COMPLETES).get_completions(before, current)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        pytest.param("", list(COMMANDS), id="commands"),
        pytest.param("ca", ["capture"], id="the beginning of a command"),
        pytest.param("--", ["--version", "--help"], id="flags without a command"),
        pytest.param("plan --f", ["--full", "--from"], id="flags of a command"),
        pytest.param("plan --policy s", ["sync"], id="values"),
        pytest.param("plan --policy=s", ["sync"], id="values behind a sign"),
        pytest.param("plan -o n", ["name"], id="values behind a letter"),
        pytest.param("explain -o n", [], id="values that the command does not take"),
        pytest.param("--policy sync ca", ["capture"], id="a command behind a flag"),
        pytest.param("plan --full --policy u", ["upsert"], id="a switch takes no value"),
        pytest.param("plan --controllers service,r", ["service,route"], id="a list of values"),
        pytest.param("plan --only node/a,n", [], id="keys, which only the cluster knows"),
        pytest.param("explain n", ["node"], id="kinds"),
        pytest.param("explain node a", [], id="a name, which only the cluster knows"),
        pytest.param("explain pod a", [], id="an unknown kind"),
        pytest.param("explain node a b", [], id="one operand too many"),
        pytest.param("plan x", [], id="no operand at all"),
        pytest.param("orphans 4", [], id="what only a person knows"),
        pytest.param("plan --interval 3", [], id="a value that nothing lists"),
        pytest.param("plan --nonsense=3", [], id="a flag that nobody knows"),
        pytest.param("plan --yes --summ", ["--summary"], id="behind a flag of another command"),
        pytest.param("plan --kubeconfig --only ", [], id="behind a value that was forgotten"),
        pytest.param("completion ", ["bash", "zsh", "fish"], id="operands with values"),
    ],
)
def test_candidates(line: str, words: list[str]) -> None:
    assert [(item.value, item.type) for item in candidates(line)] == [(word, "plain") for word in words]


@pytest.mark.parametrize("line", ["plan --from ", "plan --from=a", "validate a b", "--kubeconfig "])
def test_files(line: str) -> None:
    assert [item.type for item in candidates(line)] == ["file"]


def test_flags_are_those_of_the_command() -> None:
    for command in COMMANDS:
        taken = [
            name for row in FLAGS.values() if command in row.commands for name in row.spellings if name[:2] == "--"
        ]
        assert [item.value for item in candidates(f"{command} --")] == [*taken, "--help"]
