"""A development cluster at Hetzner: k3s and Cilium, by Terraform, with reconcile from this checkout as its controller.

It costs money from `up` until `down`. Both can be interrupted anywhere and run again.
"""

import argparse
import ipaddress
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from cluster import RECONCILE
from down import down
from home import Home
from machine import REGISTRY
from saying import Problem, one_line, say
from session import Session, open_session
from up import up

from actuators.http.errors import ApiError
from actuators.http.kubeconfig import ConnectionProblem

_ROOT = Path(__file__).resolve().parents[2]
_NAME = re.compile(r"[a-z]([a-z0-9-]{0,28}[a-z0-9])?")
_WRITING = ("apply", "run")
_TOOLS = {
    "up": {"ssh": "OpenSSH's client", "ssh-keygen": "OpenSSH's client"},
    "image": {
        "ssh": "OpenSSH's client",
        "skaffold": "Skaffold 2.17 or newer",
        "docker": "Docker or another builder that Skaffold knows",
        "helm": "Helm",
        "kubectl": "kubectl",
    },
}


def main(arguments: Sequence[str]) -> int:
    """Exit status: 0, 1 with one line of error, 64 for a command line that cannot be understood, 130 after Ctrl-C."""
    given = _parser().parse_args(arguments)
    before = os.umask(0o077)  # keys and state are for the owner alone
    try:
        _check_tools(given.command)
        home = Home(given.name)
        with home.locked() as lock:
            return _run(given, open_session(home, lock))
    except (Problem, ApiError, ConnectionProblem) as problem:
        print(f"dev: error: {problem}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"dev: error: {error.filename or 'the system'}: {error.strerror or error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"dev: interrupted: scripts/dev {given.command} continues when it is run again", file=sys.stderr)
        return 130
    finally:
        os.umask(before)


def _check_tools(command: str) -> None:
    for tool, what in _TOOLS.get(command, {}).items():
        if shutil.which(tool) is None:
            raise Problem(f"{tool} is not on the PATH: install {what}")


def _run(given: argparse.Namespace, session: Session) -> int:
    match given.command:
        case "up":
            names = ("location", "server_type", "workers", "admin_ranges")
            wishes = {name: getattr(given, name) for name in names if getattr(given, name) is not None}
            up(session, given.name, wishes, agreed=given.yes)
        case "down":
            down(session, given.name, agreed=given.yes, abandon=given.abandon)
        case "status":
            _status(session, given.name)
        case "reconcile":
            return _reconcile(session, given.arguments)
        case _:
            return _image(session, given.arguments)
    return 0


def _status(session: Session, name: str) -> None:
    """What there is and what it costs, on stdout."""
    if session.record() is None:
        print(f"There is no cluster {name} here.")
        return
    record = session.existing()
    present = session.project.labelled(record.cluster_id)
    print(f"Cluster {name}, label {record.cluster_id}, files in {session.home.folder}")
    for each in [*present, *session.project.balancers_in(present)]:
        print(f"    {each}")
    servers = sum(each.kind == "servers" for each in present)
    print("\n".join(session.project.bill(servers, record.server_type, record.location)))
    if not session.home.kubeconfig.exists():
        return
    try:
        for node, (is_ready, is_initialized) in sorted(session.cluster(record, present).nodes().items()):
            ready, initialized = "" if is_ready else "not ", "" if is_initialized else "not "
            print(f"    Node {one_line(node)}: {ready}ready, {initialized}initialized")
    except (ApiError, ConnectionProblem) as problem:
        print(f"    Nodes are not known: {problem}")
    print(f"export KUBECONFIG={session.home.kubeconfig}")


def _reconcile(session: Session, arguments: Sequence[str]) -> int:
    """The controller of this checkout instead of the cluster's own, until it ends."""
    record = session.existing()
    cluster = session.cluster(record, session.present(record))
    if arguments and arguments[0] in _WRITING:
        cluster.stop_controller()
    signal.signal(signal.SIGINT, lambda *_: None)  # Ctrl-C is for the controller, which ends in order
    return subprocess.run([*RECONCILE, *arguments], env=cluster.environment, check=False).returncode


def _image(session: Session, arguments: Sequence[str]) -> int:
    """Skaffold, with the cluster's registry at hand."""
    if session.stand_in is not None:
        raise Problem("a sandbox runs no image: scripts/dev image needs a cluster at Hetzner")
    machine = session.control_plane(session.existing())
    environment = {**os.environ, "KUBECONFIG": str(session.home.kubeconfig)}
    repository = f"--default-repo=localhost:{REGISTRY.rpartition(':')[2]}"
    command = ["skaffold", *(arguments or ["run"]), f"--filename={_ROOT}/deploy/dev/skaffold.yaml", repository]
    with machine.registry():
        say("the registry of the cluster is at " + REGISTRY)
        return subprocess.run(command, env=environment, check=False).returncode


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> "None":  # type: ignore[override]
        """As the product does: one line, and 64."""
        print(f"dev: error: {message}; scripts/dev --help lists all", file=sys.stderr)
        raise SystemExit(64)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="scripts/dev", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--name",
        type=_name,
        default=os.environ.get("DEV_CLUSTER") or "dev",
        help="which cluster; default: DEV_CLUSTER, else dev",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    make = commands.add_parser("up", help="make what is missing, after saying what it costs")
    make.add_argument("--location", help="of new servers; default: fsn1")
    make.add_argument("--server-type", help="of all servers; default: cx23")
    make.add_argument("--workers", type=int, choices=range(10), metavar="N", help="0 to 9; default: 2")
    make.add_argument(
        "--admin-ranges",
        type=_ranges,
        metavar="LIST",
        help="who reaches SSH and the Kubernetes API; default: everyone",
    )
    take = commands.add_parser("down", help="release load balancers, then delete everything")
    take.add_argument(
        "--abandon",
        action="store_true",
        help="delete the load balancers in its network when the cluster cannot release them itself",
    )
    for command in (make, take):
        command.add_argument("--yes", action="store_true", help="do not ask")
    commands.add_parser("status", help="what there is, and what it costs")
    run = commands.add_parser("reconcile", help="run reconcile from this checkout against the cluster")
    image = commands.add_parser("image", help="build the image and install the chart, with Skaffold")
    for command in (run, image):
        command.add_argument("arguments", nargs=argparse.REMAINDER, help="go to the program")
    return parser


def _name(text: str) -> str:
    if not _NAME.fullmatch(text):
        raise argparse.ArgumentTypeError(
            f"{text!r} is no name: expect 1 to 30 lower-case letters, digits and dashes, first a letter"
        )
    return text


def _ranges(text: str) -> tuple[str, ...]:
    try:
        return tuple(str(ipaddress.ip_network(each.strip())) for each in text.split(","))
    except ValueError as error:
        raise argparse.ArgumentTypeError(
            f"{error}: expect ranges such as 203.0.113.7/32, separated by commas"
        ) from None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
