"""``reconcile sandbox`` and ``reconcile demo`` beside a distribution of its own, which has the simulators."""

import sys

import pytest

from tests.support.said import CommandLine


def test_its_words_are_those_of_the_sandboxs_own_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Flags in both forms, and a command."""
    given: list[object] = []

    def main(words: object) -> int:
        given.append(words)
        return 0

    monkeypatch.setattr("reconciler.cli.sandbox.main", main)
    words = ("--world", "w.json", "--without=robot", "--kubernetes", "auto", "advance", "2m")

    assert CommandLine(monkeypatch, capsys)("sandbox", *words).code == 0
    assert given == [words]


def test_a_wrong_flag_is_bad_usage(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    said = CommandLine(monkeypatch, capsys)("sandbox", "--rate-limit=0")

    assert (said.code, said.stdout) == (64, "")
    assert said.stderr == "hcloud-sandbox: error: --rate-limit is '0': expect a number of 1 or more\n"


@pytest.mark.parametrize("command", ["demo", "sandbox"])
def test_without_the_sandbox_there_is_a_command_to_type(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One sentence and 1, no traceback."""
    monkeypatch.setitem(sys.modules, "hcloud_sandbox", None)

    ran = CommandLine(monkeypatch, capsys)(command)

    said = "reconcile: error: the sandbox is not installed: type pip install 'hcloud-reconciler[sandbox]'"
    assert (ran.code, ran.refusal) == (1, said)


@pytest.mark.parametrize("command", ["demo", "sandbox"])
def test_without_the_sandbox_help_is_whole(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What could be done is told in any case."""
    monkeypatch.setitem(sys.modules, "hcloud_sandbox", None)

    ran = CommandLine(monkeypatch, capsys)(command, "--help")

    assert (ran.code, f"usage: reconcile {command} " in ran.stdout) == (0, True)
