"""``reconcile approve HASH``: approves one hold, once."""

import getpass
import os
import socket
import sys
from collections.abc import Mapping
from datetime import datetime

from actuators import approvals
from actuators.http.errors import ApiError
from actuators.http.kubeconfig import ConnectionProblem
from actuators.http.kubernetes import KubernetesReader, KubernetesWriter
from desired.names import CONFIG_MAP
from desired.plan.approval import LIFETIME, Approval, is_hash
from reconciler.cli.stopping import GRACE_S, stop_within
from reconciler.cli.streams import fail
from reconciler.config.command_line import BAD_USAGE
from reconciler.config.config import ConfigurationError, load_config
from reconciler.config.flags import Command
from reconciler.observe.kubernetes_lists import server_time
from reconciler.runtime import open_cluster


def approve(hold_hash: str, flags: Mapping[str, str], environ: Mapping[str, str]) -> int:
    """Record the approval beside the Lease; the exit code. The time is the API server's, so that it expires alike.

    Raises KeyboardInterrupt; what was approved until then was said.
    """
    try:
        config = load_config(Command.APPROVE, flags, environ)
    except ConfigurationError as error:
        return fail(*error.lines, code=BAD_USAGE if error.usage else 1)
    if not is_hash(hold_hash):
        return fail(
            f"{hold_hash!r} is no hash of a hold: expect sha256: and 16 hex digits, as the plan shows it",
            code=BAD_USAGE,
        )
    namespace = config.lease_namespace
    trouble = ""
    with stop_within(GRACE_S) as stop:
        try:
            connection = open_cluster(config, stop, read_only=False)
            now = server_time(KubernetesReader(connection).get("/version"))
            approvals.approve(KubernetesWriter(connection), namespace, Approval(hold_hash, _approver(), now))
            _tell(hold_hash, namespace, now + LIFETIME)
        except (ConnectionProblem, ApiError) as error:
            trouble = str(error)
    return fail(trouble, code=1) if trouble else 0


def _tell(hold_hash: str, namespace: str, until: datetime) -> None:
    sys.stdout.write(
        f"Approved {hold_hash} in ConfigMap {namespace}/{CONFIG_MAP}.\n"
        f"If a plan holds exactly these changes, the next pass lets them through, once, until {until:%H:%M} UTC;"
        " if they are others by then, they are held again.\n"
    )
    sys.stdout.flush()


def _approver() -> str:
    """The person who approves, for the record. A container may know no user name."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = f"uid {os.getuid()}"
    return f"{user}@{socket.gethostname()}"
