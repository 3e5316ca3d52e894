"""``reconcile migrate``: HCCM as it runs in the cluster, and what follows from that. Reads only."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from actuators.http.kubernetes import KubernetesReader
from reconciler.cli.reading import report_on
from reconciler.cli.stopping import Stop
from reconciler.config.config import Config, ConfigurationError, Mode, load_config
from reconciler.config.environment import VARIABLES
from reconciler.config.options import FLAGS, Command, Output
from reconciler.migration.carrying import carry_over
from reconciler.migration.found import FoundController, unread
from reconciler.migration.owners import Target, owner_of, switch
from reconciler.observe.hccm import find_controllers
from reconciler.passes.one_pass import plan_once
from reconciler.report.migration import MigrationReport, warnings_of
from reconciler.report.terminal import TerminalProgress
from reconciler.result import Report
from reconciler.runtime import build_runtime, open_cluster
from reconciler.telemetry import logs

_ACCESS = frozenset(
    {"HCLOUD_TOKEN", "HCLOUD_ENDPOINT", "HCLOUD_DEBUG", "ROBOT_USER", "ROBOT_PASSWORD", "ROBOT_ENDPOINT"}
)
"""Variables that say how the project is reached, and not what is wanted: this shell's win over HCCM's, so that a token
that may only read will do."""
_CLUSTER = ("--kubeconfig", "--context", "--request-timeout", "--leader-elect-resource-namespace")
_UNREAD = "{} cannot be read, and has variables of {}: use an account that may read it"
_IMAGE = "registry.example.com/hcloud-reconciler"


def migrate(_words: Sequence[str], flags: Mapping[str, str], environ: Mapping[str, str]) -> int:
    """Write what HCCM is here, its settings as values of our chart, the plan after the switch, and the commands for it;
    the exit code, which is that of a plan."""

    def read(config: Config, stop: Stop) -> MigrationReport:
        report = _found(config, stop, environ)
        found = report.found
        if found is None or config.output is Output.VALUES:
            return report
        try:
            report = replace(report, plan=_plan(found, config, stop, flags, environ))
        except ConfigurationError as error:
            report = replace(report, why_none=error.lines)
        return _with_commands(report, found, config)

    def failed(errors: tuple[str, ...]) -> MigrationReport:
        return MigrationReport(why_none=errors)

    return report_on(Command.MIGRATE, flags, environ, read, failed, answers=True)


def _found(config: Config, stop: Stop, environ: Mapping[str, str]) -> MigrationReport:
    """Without a plan. Raises ConnectionProblem and ApiError."""
    reader = KubernetesReader(open_cluster(config, stop, read_only=True))
    wanted = frozenset() if config.output is Output.VALUES else VARIABLES.keys() - _given(environ).keys()
    controllers = find_controllers(reader, config.lease_namespace, wanted)
    running = [each for each in controllers if each.ready] or controllers
    if len(running) != 1:
        names = ", ".join(each.title for each in running)
        why = (
            f"{len(running)} workloads are cloud controllers for Hetzner, which write the same objects: {names};"
            " stop all but one of them first"
            if running
            else "no Deployment or DaemonSet is HCCM or a fork by image, command, --cloud-provider=hcloud or variables"
        )
        return MigrationReport(why_none=(why,))
    (found,) = running
    if found.unread_sources:
        return MigrationReport(
            why_none=(*(_UNREAD.format(each, found.title) for each in found.unread_sources), *found.gaps)
        )
    return MigrationReport(
        found, carried=carry_over(found), warnings=warnings_of(found), is_detailed=config.detailed_exitcode
    )


def _with_commands(report: MigrationReport, found: FoundController, config: Config) -> MigrationReport:
    """With the tool that made HCCM, as far as the project tells, and the commands for it."""
    snapshot = report.plan.snapshot if report.plan else None
    owner = owner_of(found, [each.labels for each in snapshot.servers] if snapshot else ())
    target = Target(config.kubeconfig or "", config.context or "")
    return replace(report, owner=owner, switch=switch(found, owner, target, config.cluster_flags, _IMAGE))


def _plan(
    found: FoundController, config: Config, stop: Stop, flags: Mapping[str, str], environ: Mapping[str, str]
) -> Report:
    """The plan with HCCM's settings, as if HCCM did not run. Raises ConfigurationError, with what a controller that is
    given these settings would say, or with what of them is not known."""
    variables = environment_of(found, environ)
    known = FLAGS.keys() - set(_CLUSTER)
    given = {name: text for name, text in found.flags.items() if name in known and Command.RUN in FLAGS[name].commands}
    given |= {name: flags[name] for name in _CLUSTER if name in flags}
    own = replace(load_config(Command.RUN, given, variables), mode=Mode.DRY_RUN)
    logs.hide(own.token, *own.passwords)
    context = build_runtime(own, stop, TerminalProgress(config.color)).plan_context
    return plan_once(replace(context, is_alone=True))


def _given(environ: Mapping[str, str]) -> Mapping[str, str]:
    """What this shell says of how the project is reached."""
    return {name: text for name, text in environ.items() if name.removesuffix("_FILE") in _ACCESS}


def environment_of(found: FoundController, environ: Mapping[str, str]) -> Mapping[str, str]:
    """HCCM's variables, with what could not be read of them as this shell has it. Raises ConfigurationError where it
    has not."""
    own, gaps = _given(environ), unread(found)
    answered = {name.removesuffix("_FILE") for name in own}
    missing = [name for name in gaps if name not in answered and name not in environ]
    if "HCLOUD_TOKEN" not in answered | found.values.keys() | set(missing):
        missing.append("HCLOUD_TOKEN")
    if missing:
        raise ConfigurationError(
            tuple(f"{name} of {found.title} cannot be read: set it here for the plan" for name in missing)
        )
    # A token of this shell goes to no address that a workload of the cluster has chosen.
    chosen = {
        each
        for secret, each in (("HCLOUD_TOKEN", "HCLOUD_ENDPOINT"), ("ROBOT_PASSWORD", "ROBOT_ENDPOINT"))
        if secret in answered | set(gaps)
    }
    theirs = {name: text for name, text in found.values.items() if name in VARIABLES and name not in answered | chosen}
    return {**theirs, **{name: environ[name] for name in gaps if name in environ}, **own}
