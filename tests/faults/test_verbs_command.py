"""The verbs of the command at a terminal and without one: plan, apply, run, and the name alone."""

import signal
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest

from tests.faults.conftest import assert_untouched
from tests.support.objects import joining_node, server
from tests.support.rows import rows
from tests.support.stage import Stage, clean_environment, killed_at_the_end, wait_for
from tests.support.terminals import Terminal


@contextmanager
def at_a_terminal(stage: Stage, *arguments: str, has_stdin: bool = True) -> Iterator[Terminal]:
    command = [sys.executable, "-m", "reconciler", *arguments]
    environment = {**clean_environment(), **stage.environment, "TERM": "xterm", "NO_COLOR": "1"}
    without_stdin = ["sh", "-c", 'exec "$0" "$@" <&-', *command]
    with closing(Terminal(command if has_stdin else without_stdin, environment, stage.folder)) as terminal:
        yield terminal


def provider_id(stage: Stage) -> str | None:
    found: str | None = stage.nodes()["web-1"]["spec"].get("providerID")
    return found


def test_apply_shows_the_plan_and_asks(joining: Stage) -> None:
    """A yes is for the plan that was shown: a Node that joins while the person reads is not in it."""
    with at_a_terminal(joining, "apply") as terminal:
        terminal.read_until("Apply 1 change? [y/N] ")
        assert "initialized as server 1" in terminal.shown
        assert provider_id(joining) is None
        joining.have_servers(server(1, "web-1"), server(2, "web-2"))
        joining.register(joining_node("web-2"))
        terminal.type("y\n")
        assert terminal.end() == 0, terminal.shown
    assert "not in the plan that was shown" in terminal.shown
    assert provider_id(joining) == "hcloud://1"
    assert "providerID" not in joining.nodes()["web-2"]["spec"]


def test_no_answer_is_no_yes(joining: Stage) -> None:
    with at_a_terminal(joining, "apply") as terminal:
        terminal.read_until("[y/N] ")
        terminal.type("\x04")
        assert terminal.end() == 1
    assert "\nreconcile: error: nothing was applied" in terminal.shown
    assert_untouched(joining)


def test_ctrl_c_ends_the_question(joining: Stage) -> None:
    """At once, with the exit code of everything that Ctrl-C ends."""
    with at_a_terminal(joining, "apply") as terminal:
        terminal.read_until("[y/N] ")
        terminal.process.send_signal(signal.SIGINT)
        assert terminal.end() == 130
    assert "\nreconcile: interrupted" in terminal.shown
    assert_untouched(joining)


def test_a_controller_at_a_terminal_writes_its_log_alone(joining: Stage) -> None:
    """A report between the lines of a log can be read by nobody; ``--output`` asks for it."""
    with at_a_terminal(joining, "run") as terminal:
        terminal.read_until("pass")
        terminal.process.send_signal(signal.SIGINT)
        terminal.end()
    assert "applied" in terminal.shown
    assert "Requests: " not in terminal.shown


def test_nobody_is_asked_about_nothing(stage: Stage) -> None:
    with at_a_terminal(stage, "apply") as terminal:
        assert terminal.end() == 0
    assert "[y/N]" not in terminal.shown


@pytest.mark.parametrize(("arguments", "has_stdin"), [(("--output", "json"), True), ((), False)])
def test_a_question_that_cannot_be_asked(joining: Stage, arguments: tuple[str, ...], has_stdin: bool) -> None:
    with at_a_terminal(joining, "apply", *arguments, has_stdin=has_stdin) as terminal:
        assert terminal.end() == 64
    assert "pass --yes" in terminal.shown
    assert_untouched(joining)


def test_apply_without_a_terminal_needs_a_yes(joining: Stage) -> None:
    refused = joining.reconcile("apply")
    assert (refused.code, provider_id(joining)) == (64, None)
    assert "no terminal to prompt on; pass --yes" in refused.stderr
    assert joining.reconcile("apply", "--yes").code == 0
    assert provider_id(joining) == "hcloud://1"


FIRST_WORDS = "usage: reconcile COMMAND [flags], or reconcile --version"
MISSING = "reconcile: a command is missing: 'reconcile run --interval=30s' starts the controller"
IN_A_POD = {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}
ALONE_IN_A_POD = {**IN_A_POD, "KUBECONFIG": ""}
OF_HCCM = ("--cloud-provider=hcloud", "--leader-elect=false", "--allow-untagged-cloud")
"""Arguments in manifests of HCCM."""


@rows("words place said", {
    "the name alone": ((), {}, FIRST_WORDS),
    "flags": (("--interval=30s", "--dry-run=false"), {}, MISSING),
    "kubectl exec -it into a pod of HCCM": (OF_HCCM, ALONE_IN_A_POD,
        "reconcile: a command is missing: 'reconcile run --cloud-provider=hcloud"),
})  # fmt: skip
def test_no_writer_starts_at_a_terminal_unasked(
    joining: Stage, words: tuple[str, ...], place: dict[str, str], said: str
) -> None:
    """The name alone shows all commands. Flags say something of a controller, not that one is meant to start."""
    joining.environment |= place
    with at_a_terminal(joining, *words) as terminal:
        assert terminal.end() == 64
    assert " ".join(terminal.shown.split()).startswith(said), "whatever the lines"
    assert_untouched(joining)


@rows("words place stdout stderr", {
    "the name alone": ((), {}, FIRST_WORDS, ""),
    "the name alone in a pod": ((), IN_A_POD, FIRST_WORDS, ""),
    "the name alone, and a variable": ((), {"RECONCILER_INTERVAL": "1s"}, FIRST_WORDS, ""),
    "flags": (("--interval=30s",), {}, "", MISSING),
    "flags of HCCM in a job with a kubeconfig": (("--interval=30s", "--cloud-provider=hcloud"), IN_A_POD, "",
        MISSING.replace("30s", "30s --cloud-provider=hcloud")),
    "flags in a pod of anything else": (("--interval=30s",), ALONE_IN_A_POD, "", MISSING),
})  # fmt: skip
def test_no_writer_starts_in_a_script_unasked(
    joining: Stage, words: tuple[str, ...], place: dict[str, str], stdout: str, stderr: str
) -> None:
    """A script started a controller that way, unnoticed, and ten Nodes whose hold ran out were deleted."""
    ran = joining.reconcile(*words, **place)
    assert (ran.code, ran.stdout.partition("\n")[0], ran.stderr.rstrip()) == (64, stdout, stderr)
    assert_untouched(joining)


def test_flags_alone_are_the_controller_in_a_pod_of_hccm(joining: Stage) -> None:
    """Of whose manifest only the image was replaced: it goes on, to its own cluster, of which this test has none. For a
    control plane in another cluster HCCM has its kubeconfig as a flag."""
    ran = joining.reconcile(*OF_HCCM, KUBECONFIG=None, **IN_A_POD)
    assert ran.code == 1
    assert "the pod's service account cannot be used" in ran.stderr

    flags = (*OF_HCCM, "--kubeconfig", joining.environment["KUBECONFIG"])
    with killed_at_the_end(joining.start(*flags, KUBECONFIG=None, HCLOUD_METRICS_ENABLED="false", **IN_A_POD)):
        wait_for(lambda: provider_id(joining) == "hcloud://1", "the Node")
