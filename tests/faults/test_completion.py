"""Completion in the shells that people use, against a cluster: commands, flags, values, names and files, and nothing
that a name could run."""

import json
import os
import shutil
import subprocess
import sys
from contextlib import closing

import pytest

from tests.support.assets import lacking
from tests.support.objects import joining_node
from tests.support.stage import Stage, clean_environment
from tests.support.terminals import Terminal

ASKED = {
    "reconcile ": ("completion", "plan"),
    "reconcile plan --f": ("--from", "--full"),
    "reconcile plan -o json --policy ": ("observe", "upsert"),
    "reconcile explain node web-": ("web-1", "web-2"),
    "reconcile plan --only=node/none,node/web-": ("node/web-1", "node/web-2"),
    "reconcile validate ./manifest-": ("manifest-1.yaml", "manifest-2.yaml"),
}
"""What is typed before Tab → what is shown then, among others."""
HOSTILE = ("web-$(touch ran)", "web-`touch ran`", "web-;touch ran", "web-'$(touch ran)'", "node/web-$(touch ran)")
"""What the program never says."""
TYPED = {
    "bash": "bind 'set show-all-if-ambiguous on' 'set enable-bracketed-paste off'; source <(reconcile completion bash)",
    "zsh": "autoload -Uz compinit; compinit -u -D; setopt no_list_ambiguous; source <(reconcile completion zsh)",
}
"""Shell → what has to be typed first."""
STARTED = {"bash": ("bash", "--norc", "--noprofile", "-i"), "zsh": ("zsh", "-f", "-i")}
"""Shell → how it is started with nobody's settings."""
ERASE = "\x15"


@pytest.fixture
def world(stage: Stage) -> Stage:
    """A cluster with three Nodes, two files, and the command on the path, which names more than the cluster has."""
    stage.register(*map(joining_node, ("web-1", "web-2", "db-1")))
    for name in ("manifest-1.yaml", "manifest-2.yaml"):
        (stage.folder / name).touch()
    (stage.folder / "hostile").write_text("".join(f"plain\t{name}\t\n" for name in HOSTILE))
    program = stage.folder / "bin" / "reconcile"
    program.parent.mkdir()
    lies = f'[ -z "$_RECONCILE_COMPLETE" ] || cat {stage.folder}/hostile\n'
    program.write_text(f'#!/bin/sh\n{sys.executable} -m reconciler "$@"\n{lies}')
    program.chmod(0o755)
    return stage


def environment(stage: Stage) -> dict[str, str]:
    path = f"{stage.folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    ours = {"PATH": path, "HOME": str(stage.folder), "TERM": "dumb", "PS1": "$ "}
    return {**clean_environment(), "KUBECONFIG": stage.environment["KUBECONFIG"], **ours}


def shell(name: str) -> str:
    if shutil.which(name) is None:
        lacking(name, "scripts/shells installs it")
    return name


@pytest.mark.parametrize("name", ["bash", "zsh"])
def test_at_a_terminal(world: Stage, name: str) -> None:
    """Tab shows what may stand there. A busy machine may need more than the second that the cluster has: then again."""
    with closing(Terminal(STARTED[shell(name)], environment(world), world.folder, (200, 200))) as terminal:
        terminal.type(f"{TYPED[name]}; echo rea''dy\n")
        terminal.read_until("ready")
        for typed, shown in ASKED.items():
            terminal.shown = ""
            terminal.type(f"{ERASE}{typed}\t")
            for word in shown:
                terminal.read_until(word)
    assert not (world.folder / "ran").exists()


def test_in_fish(world: Stage) -> None:
    """fish says by itself what it would show."""
    lines = "".join(f"complete -C '{line}'\necho\n" for line in ASKED)
    asked = f"reconcile completion fish | source\n{lines}"
    command = [shell("fish"), "--no-config", "-c", asked]
    ran = subprocess.run(
        command, env=environment(world), cwd=world.folder, capture_output=True, text=True, check=True, timeout=60
    )
    for shown, expected in zip(ran.stdout.split("\n\n"), ASKED.values(), strict=False):
        assert [word for word in expected if word not in shown] == []
    assert not (world.folder / "ran").exists()
    assert ran.stderr == ""


def kubectl(stage: Stage, *words: str, **variables: str) -> tuple[int, str, str]:
    """What kubectl is told when this is typed behind the plugin's name."""
    code = "import sys; from reconciler.cli import complete_for_kubectl; sys.exit(complete_for_kubectl())"
    command = [sys.executable, "-c", code, *words]
    ran = subprocess.run(
        command,
        env={**environment(stage), **variables},
        cwd=stage.folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return ran.returncode, ran.stdout, ran.stderr


def test_for_kubectl(world: Stage) -> None:
    """A candidate a line with its meaning behind a tab, and at the end whether files are welcome."""
    assert kubectl(world, "pl") == (0, "plan\twhat would change, and why; touches nothing\n:4\n", "")
    assert kubectl(world, "explain", "node", "web-") == (0, "web-1\nweb-2\n:4\n", "")
    assert kubectl(world, "plan", "--from", "") == (0, ":0\n", "")
    assert kubectl(world) == kubectl(world, "")
    assert kubectl(world, "approve", "--kubeconfig", "--yes", "") == (0, ":4\n", "")


@pytest.mark.parametrize("trouble", ["no kubeconfig", "no cluster", "silence", "a plugin that asks", "no words"])
def test_trouble_is_silent(world: Stage, trouble: str) -> None:
    """Somebody is typing: nothing is shown, nothing is asked, and nobody waits."""
    arguments = ["__complete", "node", "", "reconcile", "explain", "node"]
    match trouble:
        case "no kubeconfig":
            arguments += ["--kubeconfig", "/nowhere"]
        case "no cluster":
            world.proxy.stop()
        case "silence":
            world.proxy.set_faults([{"kind": "hang", "count": None}])
        case "a plugin that asks":
            plugin = {"command": "sh", "args": ["-c", "echo no >&2; cat"], "interactiveMode": "IfAvailable"}
            user = {"exec": {"apiVersion": "client.authentication.k8s.io/v1", **plugin}}
            asking = {
                "current-context": "x",
                "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
                "clusters": [{"name": "c", "cluster": {"server": world.proxy.url}}],
                "users": [{"name": "u", "user": user}],
            }
            (world.folder / "asking").write_text(json.dumps(asking))
            arguments += ["--kubeconfig", str(world.folder / "asking")]
        case "no words":
            arguments = ["__complete"]

    ran = world.reconcile(*arguments)

    assert (ran.code, ran.stdout, ran.stderr) == (0, "", "")
