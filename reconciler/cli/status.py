"""``reconcile status``: the controller's last pass in a few lines, from what the leader published. Needs no token."""

from collections.abc import Mapping
from dataclasses import replace

from actuators.http.errors import ApiError
from actuators.http.kubeconfig import ConnectionProblem
from actuators.http.kubernetes import KubernetesReader
from actuators.wire.lease import read_lease
from reconciler.cli.holds import read_holds, reader_of
from reconciler.cli.run import internal_error
from reconciler.cli.stopping import READING_GRACE_S, Stop, stop_within
from reconciler.cli.streams import begin, fail, publish
from reconciler.config.config import Config, ConfigurationError, load_config
from reconciler.config.options import Command
from reconciler.report.status import StatusReport
from reconciler.report.terminal import Writer


def status(flags: Mapping[str, str], environ: Mapping[str, str]) -> int:
    """Show the status; the exit code: 0 when the last pass went well, 3 when something is held or refused, 1 when it
    went wrong, or nothing recent is known."""
    try:
        config = load_config(Command.STATUS, flags, environ)
    except ConfigurationError as error:
        return fail(*error.lines, code=error.code)
    begin(config)
    with stop_within(READING_GRACE_S) as stop:
        report = _report(config, stop)
    written = publish(Writer(config.output, color=config.color), report)
    return fail(*report.errors, code=report.code if written else 1)


def _report(config: Config, stop: Stop) -> StatusReport:
    try:
        reader = reader_of(config, stop)
        found = read_holds(reader, config)
        return _with_leader(StatusReport(found.now, found.published, errors=found.errors), reader, config)
    except (ConnectionProblem, ApiError) as error:
        return StatusReport(errors=(str(error),))
    except Exception as error:  # noqa: BLE001 - a bug of ours is told in one line, as everywhere
        return StatusReport(errors=(internal_error(error),))


def _with_leader(report: StatusReport, reader: KubernetesReader, config: Config) -> StatusReport:
    """Who leads, as far as that may be read: without it the rest is worth knowing as well."""
    try:
        lease = read_lease(reader, config.lease_namespace, config.lease_name)
    except ApiError:
        return report
    name = f"{config.lease_namespace}/{config.lease_name}"
    if lease is None:
        return replace(report, lease=name, leader="")
    leader = "" if lease.claim.holder == "" else lease.claim.shown
    return replace(report, lease=name, leader=leader, renewed=lease.claim.renewed)
