"""Commands, in one table: what each is for, the words that stand behind its name, and examples. Flags have a table of
their own, ``reconciler.config.options``. Help, completion and the manual page are made from both.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from reconciler.config.options import Command
from reconciler.config.program import program_name


@dataclass(frozen=True, slots=True)
class Operand:
    """A word that a command needs after its name, or may have there, or as many as there are."""

    name: str
    meaning: str
    choices: tuple[str, ...] = ()
    """The only words that it takes."""
    values: tuple[str, ...] = ()
    """Words that it may begin with, for completion."""
    many: bool = False
    optional: bool = False

    @property
    def metavar(self) -> str:
        """What stands for it in ``--help``."""
        return self.name.upper()

    @property
    def usage(self) -> str:
        """The same where the whole command line is shown."""
        return f"[{self.metavar}...]" if self.many else f"[{self.metavar}]" if self.optional else self.metavar


@dataclass(frozen=True, slots=True)
class CommandRow:
    """One row of the table."""

    brief: str
    """What it is for, in so few words that it has one line of the first page of help, which has 80 columns."""
    description: str
    """The same in a sentence."""
    operands: tuple[Operand, ...]
    examples: Mapping[str, str]
    """What is typed behind the program's name → what it is good for."""


COMMAND_GROUPS: Mapping[str, Mapping[Command, CommandRow]] = {
    "Look": {
        Command.PLAN: CommandRow(
            "what would change, and why; touches nothing",
            "What would change, and why; touches nothing.",
            (),
            {
                "plan": "what a run would do now",
                "plan --only service/default/web": "one Service, and what is below it",
                "plan --save plan.json": "keep it, for 'apply plan.json'",
            },
        ),
        Command.EXPLAIN: CommandRow(
            "every decision about one Node or Service",
            "Every decision about one Node or Service: where each value comes from, and what guards wait for.",
            (
                Operand(
                    "object",
                    "node or service; or by one word: node/worker-1, worker-1, shop/web",
                    values=("node", "service"),
                ),
                Operand("name", "behind node or service; NAMESPACE/NAME of a Service", optional=True),
            ),
            {
                "explain worker-1": "why a Node is as it is",
                "explain service shop/web": "why a load balancer is as it is",
                "explain node/worker-1 -o json": "the same for a program, by its key",
            },
        ),
        Command.HOLDS: CommandRow(
            "what waits for approval, and since when",
            "What waits for approval, as the controller published it, without a token; where it has published nothing,"
            " or with --plan, as a plan of its own finds it. 'holds show HASH' shows all of one.",
            (Operand("hash", "show HASH: all of one; of its hash 6 hex digits or more", many=True),),
            {
                "holds": "all that is held",
                "holds show 0123ab": "every change of one, and how to let it pass",
                "holds --plan": "computed now, whatever is published",
            },
        ),
        Command.STATUS: CommandRow(
            "the controller's last pass, in a few lines",
            "Who leads, and the controller's last pass as it was published: states, changes, holds. Ends with 0 when"
            " all is well, 3 when anything needs a person, or the leader is gone, 1 when a pass"
            " failed or nothing recent is known.",
            (),
            {
                "status": "how the controller is",
                "status -o json": "for a program",
                "status --context staging": "in another cluster of the kubeconfig",
            },
        ),
        Command.UI: CommandRow(
            "the plan, and what leads where, in a browser",
            "Serve the plan, and a map of what leads where, to a browser on this machine; touches nothing.",
            (),
            {
                "ui": "at http://localhost:8234/, until Ctrl-C",
                "ui --ui-address 127.0.0.1:9000": "on another port",
                "ui --from world.json": "of a file of 'capture', without a cluster",
            },
        ),
        Command.ORPHANS: CommandRow(
            "load balancers that no Service wants, with their cost",
            "Load balancers of this cluster that no Service wants, with their cost; deletes them on demand.",
            (Operand("id", "of load balancers; without any: all orphans", many=True),),
            {
                "orphans": "list them; deletes nothing",
                "orphans --delete": "delete all but those that are kept on purpose",
                "orphans --delete 4711": "delete this one",
            },
        ),
    },
    "Act": {
        Command.APPLY: CommandRow(
            "show the plan, ask, and make its changes",
            "Show the plan, ask, and make its changes; without a terminal it needs --yes or FILE.",
            (
                Operand(
                    "file", "a plan that 'plan --save' has written: makes its changes, and asks nothing", optional=True
                ),
            ),
            {
                "apply": "see the plan, and answer",
                "apply plan.json --exact": "what was reviewed, or nothing",
                "apply --yes --detailed-exitcode": "for a CronJob or a pipeline",
            },
        ),
        Command.APPROVE: CommandRow(
            "let one hold pass once, within the next hour",
            "Show one hold, ask, and let it pass once, within the next hour.",
            (Operand("hash", "sha256:..., as the plan shows it, or 6 hex digits of it or more"),),
            {
                "approve 0123ab": "see what it holds, and answer",
                "approve 0123ab --for 4h": "for the next window of maintenance",
                "approve 0123ab --yes --wait": "in a pipeline: until it is used",
            },
        ),
        Command.REVOKE: CommandRow(
            "take back an approval that was not used yet",
            "Take back an approval that was not used yet; ends with 1 when it was, or when there is none.",
            (Operand("hash", "sha256:..., or 6 hex digits of it or more"),),
            {
                "revoke 0123ab": "as 'holds' lists it",
                "revoke sha256:0123456789abcdef": "by its whole hash",
                "revoke 0123ab --context staging": "in another cluster of the kubeconfig",
            },
        ),
        Command.RUN: CommandRow(
            "the controller: applies all changes while it leads",
            "Run the controller, which applies all changes while it leads.",
            (),
            {
                "run": "from a machine, until Ctrl-C",
                "run --policy observe": "plan and report, write nothing",
                "run --log-format json": "as the chart's Deployment does",
            },
        ),
    },
    "Try": {
        Command.DEMO: CommandRow(
            "plan, apply and an empty plan in an embedded sandbox",
            "Plan, apply and an empty plan against an embedded sandbox: no cloud, no cluster, no token.",
            (),
            {
                "demo": "all steps, in half a minute",
                "demo | less": "page by page",
                "sandbox": "the next step: keep such a world running",
            },
        ),
        Command.SANDBOX: CommandRow(
            "simulate Hetzner, Robot and Kubernetes on this machine",
            "Simulate Hetzner, Robot and Kubernetes on 127.0.0.1; prints the environment for them.",
            (Operand("flag", "as of hcloud-sandbox, the same command: see its --help", many=True),),
            {
                "sandbox": "a small cluster, until Ctrl-C",
                "sandbox --world world.json": "another one, from a file",
                "sandbox --without robot,kubelets": "with less in it",
            },
        ),
        Command.VALIDATE: CommandRow(
            "check flags, variables and manifests, offline",
            "Check flags, variables and Services in manifests, offline: no cloud, no cluster, no token.",
            (Operand("file", "manifests in YAML or JSON, - for stdin; without any: flags and variables", many=True),),
            {
                "validate": "the variables of this shell",
                "validate web.yaml api.yaml": "the annotations of Services",
                "validate - -o json": "stdin, for a program",
            },
        ),
        Command.CAPTURE: CommandRow(
            "cluster and project as a file without secrets",
            "Cluster and project as a file without secrets: to plan from it offline, or to report a bug.",
            (),
            {
                "capture": "to stdout",
                "capture --to world.json": "to a file that only you may read",
                "capture --to world.json --force": "in place of an earlier one",
            },
        ),
    },
    "Set up": {
        Command.MIGRATE: CommandRow(
            "from HCCM: values for the chart, plan, commands",
            "Find HCCM in the cluster; print its settings as values of the chart, the plan after the switch, and the"
            " commands to switch and to go back. Reads only. HCLOUD_TOKEN of this shell wins over HCCM's.",
            (),
            {
                "migrate": "what there is, and what to type",
                "migrate -o values": "a values file for the chart; needs no token",
                "migrate --detailed-exitcode": "0 while the plan is empty",
            },
        ),
        Command.COMPLETION: CommandRow(
            "completion of commands, flags and values for your shell",
            "A script for your shell, which completes commands, flags, their values and files.",
            (Operand("shell", "bash, zsh or fish", ("bash", "zsh", "fish")),),
            {
                "completion bash": "for source <(...) in ~/.bashrc",
                "completion zsh": "for source <(...) in ~/.zshrc, behind compinit",
                "completion fish | source": "in ~/.config/fish/config.fish",
            },
        ),
    },
}
"""What people want → the commands for it: the table."""

COMMANDS: Mapping[Command, CommandRow] = {
    command: row for rows in COMMAND_GROUPS.values() for command, row in rows.items()
}
"""Command → its row; the command without a name has none."""

WORDS_OF_OTHERS: Mapping[str, Command] = {
    "preview": Command.PLAN,
    "diff": Command.PLAN,
    "dry-run": Command.PLAN,
    "show": Command.PLAN,
    "up": Command.APPLY,
    "sync": Command.APPLY,
    "push": Command.APPLY,
    "deploy": Command.APPLY,
    "once": Command.APPLY,
    "start": Command.RUN,
    "serve": Command.UI,
    "web": Command.UI,
    "dashboard": Command.UI,
    "controller": Command.RUN,
    "check": Command.VALIDATE,
    "lint": Command.VALIDATE,
    "describe": Command.EXPLAIN,
    "get": Command.EXPLAIN,
    **dict.fromkeys(("node", "nodes", "service", "services", "svc"), Command.EXPLAIN),
    "why": Command.EXPLAIN,
    "list": Command.ORPHANS,
    **dict.fromkeys(("delete", "destroy", "rm"), Command.ORPHANS),
    **dict.fromkeys(("log", "logs", "events", "history"), Command.STATUS),
    "prune": Command.ORPHANS,
    "export": Command.CAPTURE,
    "dump": Command.CAPTURE,
    "autocomplete": Command.COMPLETION,
    "import": Command.MIGRATE,
    "convert": Command.MIGRATE,
}
"""What similar tools call a command."""


def first_page() -> str:
    """The first page of help: commands by what people want, on a terminal of 24 lines of 80 columns."""
    program = program_name()
    lines = [
        f"usage: {program} COMMAND [flags], or {program} --version",
        "A cloud controller for Kubernetes on Hetzner that shows its plan before it acts.",
    ]
    for want, rows in COMMAND_GROUPS.items():
        lines += [f"{want}:", *(f"  {command:<11} {row.brief}" for command, row in rows.items())]
    lines += [
        f"'{program} COMMAND --help' has examples and flags; each is RECONCILER_<FLAG>",
        "too. Hetzner's settings are HCLOUD_* and ROBOT_* variables, as for HCCM.",
    ]
    return "".join(f"{line}\n" for line in lines)
