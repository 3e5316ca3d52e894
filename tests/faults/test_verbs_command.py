"""The verbs of the command at a terminal and without one: plan, apply, run, and the name alone."""

import signal
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest

from tests.support.objects import joining_node, server
from tests.support.stage import Stage, clean_environment, killed_at_the_end, wait_for
from tests.support.terminals import Terminal


@contextmanager
def at_a_terminal(stage: Stage, *arguments: str, has_stdin: bool = True) -> Iterator[Terminal]:
    command = [sys.executable, "-m", "reconciler", *arguments]
    environment = {**clean_environment(), **stage.environment, "TERM": "xterm", "NO_COLOR": "1"}
    without_stdin = ["sh", "-c", 'exec "$0" "$@" <&-', *command]
    with closing(Terminal(command if has_stdin else without_stdin, environment, stage.folder)) as terminal:
        yield terminal


@pytest.fixture
def joining(stage: Stage) -> Stage:
    """A cluster in which one Node joins, and a Lease that writers take."""
    stage.environment["RECONCILER_LEADER_ELECT"] = "true"
    stage.have_servers(server(1, "web-1"))
    stage.register(joining_node("web-1"))
    return stage


def assert_untouched(stage: Stage) -> None:
    """Nothing was written, not even the Lease."""
    assert stage.writes() == []
    assert stage.written_to_hetzner() == []


def provider_id(stage: Stage) -> str | None:
    found: str | None = stage.nodes()["web-1"]["spec"].get("providerID")
    return found


def test_a_plan_touches_nothing(joining: Stage) -> None:
    """Whatever was left in the environment."""
    ran = joining.reconcile("plan", RECONCILER_ONCE="true")
    assert ran.code == 0
    assert "initialized as server 1" in ran.stdout
    assert joining.writes() == []


def test_apply_shows_the_plan_and_asks(joining: Stage) -> None:
    """And does what was shown."""
    with at_a_terminal(joining, "apply") as terminal:
        terminal.read_until("Apply 1 change? [y/N] ")
        assert "initialized as server 1" in terminal.shown
        assert provider_id(joining) is None
        terminal.type("y\n")
        assert terminal.end() == 0, terminal.shown
    assert "Applied 1 change" in terminal.shown
    assert provider_id(joining) == "hcloud://1"


@pytest.mark.parametrize("answer", ["n\n", "\n", "yess\n", "\x04"], ids=["no", "Enter", "a typing error", "the end"])
def test_no_answer_is_no_yes(joining: Stage, answer: str) -> None:
    """Nothing is applied, and the exit code says so."""
    with at_a_terminal(joining, "apply") as terminal:
        terminal.read_until("[y/N] ")
        terminal.type(answer)
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


def test_nobody_is_asked_about_nothing(stage: Stage) -> None:
    """A plan without changes is the end."""
    with at_a_terminal(stage, "apply") as terminal:
        assert terminal.end() == 0
    assert "[y/N]" not in terminal.shown


def test_what_is_typed_before_the_question_is_no_answer(joining: Stage) -> None:
    """Nobody has seen anything yet."""
    with at_a_terminal(joining, "apply") as terminal:
        terminal.type("y\n")
        terminal.read_until("[y/N] ")
        terminal.type("n\n")
        assert terminal.end() == 1
    assert_untouched(joining)


def test_what_was_not_shown_is_not_applied(joining: Stage) -> None:
    """A Node that joins while the person reads is in no plan that they have seen."""
    with at_a_terminal(joining, "apply") as terminal:
        terminal.read_until("[y/N] ")
        joining.have_servers(server(1, "web-1"), server(2, "web-2"))
        joining.register(joining_node("web-2"))
        terminal.type("y\n")
        assert terminal.end() == 0
    assert "not in the plan that was shown" in terminal.shown
    assert provider_id(joining) == "hcloud://1"
    assert "providerID" not in joining.nodes()["web-2"]["spec"]


@pytest.mark.parametrize("how", ["a document", "no stdin"])
def test_who_cannot_be_asked(joining: Stage, how: str) -> None:
    """Is bad usage, without a question and without a trace."""
    arguments = ("--output", "json") if how == "a document" else ()
    with at_a_terminal(joining, "apply", *arguments, has_stdin=how != "no stdin") as terminal:
        assert terminal.end() == 64
    assert "pass --yes" in terminal.shown
    assert_untouched(joining)


def test_apply_without_a_terminal_needs_a_yes(joining: Stage) -> None:
    """A script that nobody watches has to say so."""
    refused = joining.reconcile("apply")
    assert (refused.code, provider_id(joining)) == (64, None)
    assert "no terminal to prompt on; pass --yes" in refused.stderr
    assert joining.reconcile("apply", "--yes").code == 0
    assert provider_id(joining) == "hcloud://1"


FIRST_WORDS = "usage: reconcile COMMAND [flags]"
IN_A_POD = {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}
OF_HCCM = ("--cloud-provider=hcloud", "--leader-elect=false", "--allow-untagged-cloud")
"""What a manifest of HCCM has for arguments."""


def test_the_name_alone_starts_no_writer_at_a_terminal(joining: Stage) -> None:
    """It shows what there is, and a script learns that nothing was done."""
    with at_a_terminal(joining) as terminal:
        assert terminal.end() == 64

    assert terminal.shown.startswith(FIRST_WORDS)
    assert_untouched(joining)


@pytest.mark.parametrize("place", [{}, IN_A_POD, {"RECONCILER_INTERVAL": "1s"}], ids=["laptop", "pod", "variable"])
def test_the_name_alone_starts_no_writer_in_a_script(joining: Stage, place: dict[str, str]) -> None:
    """A script started a controller that way, unnoticed, and ten Nodes whose hold ran out were deleted."""
    ran = joining.reconcile(**place)

    assert (ran.code, ran.stderr) == (64, "")
    assert ran.stdout.startswith(FIRST_WORDS)
    assert_untouched(joining)


def test_flags_alone_start_no_writer_at_a_terminal(joining: Stage) -> None:
    """They say what a controller would do, not that one is meant to start. In a pod of HCCM they are all there is."""
    with at_a_terminal(joining, "--interval", "30s", "--dry-run=false") as terminal:
        assert terminal.end() == 64
    said = "reconcile: a command is missing: 'reconcile run --interval 30s' starts the controller"
    assert terminal.shown.split() == said.split(), "whatever the lines"
    assert_untouched(joining)


@pytest.mark.parametrize("place", [{}, IN_A_POD], ids=["a laptop", "a job in a pod"])
def test_flags_alone_start_no_writer_with_a_kubeconfig(joining: Stage, place: dict[str, str]) -> None:
    """Who has one runs a script, and means some cluster."""
    ran = joining.reconcile("--interval=30s", **place)

    said = "reconcile: a command is missing: 'reconcile run --interval=30s' starts the controller\n"
    assert (ran.code, ran.stdout, ran.stderr) == (64, "", said)
    assert_untouched(joining)


def test_flags_alone_start_no_writer_in_a_pod_of_anything_else(joining: Stage) -> None:
    """A script of a CI runner, which is a pod of the cluster, with an account that may write."""
    ran = joining.reconcile("--interval=30s", KUBECONFIG=None, **IN_A_POD)

    assert (ran.code, ran.stdout) == (64, "")
    assert "a command is missing: 'reconcile run --interval=30s'" in ran.stderr
    assert_untouched(joining)


def test_flags_alone_are_the_controller_in_a_pod_of_hccm(joining: Stage) -> None:
    """Of whose manifest only the image was replaced: it goes on, to its own cluster, which this test has none of."""
    ran = joining.reconcile(*OF_HCCM, KUBECONFIG=None, **IN_A_POD)

    assert ran.code == 1
    assert "the pod's service account cannot be used" in ran.stderr


def test_flags_alone_are_a_controller_as_run_is(joining: Stage) -> None:
    """Where the control plane is in another cluster, HCCM has its kubeconfig as a flag."""
    flags = (*OF_HCCM, "--kubeconfig", joining.environment["KUBECONFIG"])
    with killed_at_the_end(joining.start(*flags, KUBECONFIG=None, HCLOUD_METRICS_ENABLED="false", **IN_A_POD)):
        wait_for(lambda: provider_id(joining) == "hcloud://1", "the Node")


def test_flags_alone_start_no_writer_at_a_terminal_in_a_pod(joining: Stage) -> None:
    """``kubectl exec -it`` is one."""
    joining.environment |= {**IN_A_POD, "KUBECONFIG": ""}
    with at_a_terminal(joining, *OF_HCCM) as terminal:
        assert terminal.end() == 64

    assert "a command is missing: 'reconcile run --cloud-provider=hcloud" in " ".join(terminal.shown.split())
    assert_untouched(joining)


def test_flags_that_name_what_is_to_be_done(joining: Stage) -> None:
    """Older spellings need no command at a terminal either."""
    with at_a_terminal(joining, "--dry-run", "--color", "never") as terminal:
        assert terminal.end() == 0
    assert "initialized as server 1" in terminal.shown
    assert joining.writes() == []
