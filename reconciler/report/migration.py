"""Text, JSON and values of the result of ``reconcile migrate``. ``docs/migrate-from-hccm.md`` shows the text."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from desired.names import LEASE_NAMESPACE
from desired.plan.kinds import ChangeKind
from reconciler.migration.carrying import Carried, Fate, Setting
from reconciler.migration.found import FoundController, bool_of
from reconciler.migration.owners import Owner, Switch
from reconciler.report.documents import Versioned, report_as_json
from reconciler.report.escaping import visible
from reconciler.report.text import TextLine, Tone, render_lines
from reconciler.result import Report, exit_code

_BY_HAND = "HCCM compares it only when the Service or a Node changes: it was changed by hand, or is left over"
DIFFERENCES: Mapping[str, str] = {
    ChangeKind.NODE_LABELS: "HCCM writes them once, when a Node joins: a resize since then has gone by it",
    ChangeKind.NODE_ADDRESSES: "HCCM looks every five minutes, and not at the order: they are new, or sorted",
    ChangeKind.NODE_DELETE: "its server is gone; the change has the proof",
    ChangeKind.LB_LISTENER: _BY_HAND,
    ChangeKind.LB_TARGET: _BY_HAND,
    ChangeKind.ROUTE_CREATE: "HCCM has not written it, or it was removed",
    ChangeKind.ROUTE_DELETE: "it leads to a Node that is gone",
    ChangeKind.SERVICE_STATUS: "another controller has published other addresses: let one of them do so",
}
"""Kind of a change that is planned beside HCCM → why HCCM leaves things as they are."""
_SHOWN = ("kind", "namespace", "name", "image", "replicas", "ready")
_MEANT = {
    Fate.RENAMED: "renamed",
    Fate.DROPPED: "left out",
    Fate.UNKNOWN: "look at",
}


@dataclass(frozen=True, slots=True)
class MigrationReport:
    """Everything that there is to say of HCCM and the way from it."""

    found: FoundController | None = None
    """None where there is none, or nothing could be read."""
    owner: Owner | None = None
    carried: Carried = field(default_factory=Carried)
    plan: Report | None = None
    """As it would be after the switch; None where none was made."""
    switch: Switch = field(default_factory=Switch)
    warnings: tuple[str, ...] = ()
    is_detailed: bool = False
    """Whether the exit code tells the result of the plan."""
    why_none: tuple[str, ...] = ()
    """What kept it from being found, or from being planned."""

    @property
    def errors(self) -> tuple[str, ...]:
        """What went wrong, that of the plan included."""
        return (*self.why_none, *(self.plan.errors if self.plan else ()))

    @property
    def code(self) -> int:
        """The exit code: that of a plan."""
        if self.why_none:
            return 1
        return exit_code(self.plan, detailed=self.is_detailed) if self.plan else 0

    def lines(self) -> Iterator[TextLine]:
        """The text."""
        for line in _lines(self):
            yield TextLine(visible(line.text).rstrip(), line.tone, visible(line.command))

    def document(self) -> "MigrationDocument":
        """The JSON."""
        return MigrationDocument.of(self)

    def values_text(self) -> str:
        """The values alone, with what is left out in comments; nothing where nothing was found."""
        if self.found is None:
            return ""
        from reconciler.report.yaml_text import yaml_text  # noqa: PLC0415 - few ask for it

        head = [f"Values of hcloud-reconciler with the meaning of {self.found.title}, {self.found.image}"]
        told = [f"{_MEANT[fate]}: {text}" for fate, text in _told(self.carried.settings) if fate is not Fate.RENAMED]
        return "".join(f"# {visible(line)}\n" for line in (*head, *told)) + yaml_text(self.carried.values)


def _lines(report: MigrationReport) -> Iterator[TextLine]:
    found = report.found
    if found is None:
        return
    state = f"{found.ready} ready" + (f" of {found.replicas}" if found.kind == "Deployment" else "")
    yield TextLine(f"{found.title}, {state}", Tone.HEADING)
    yield TextLine(f"  image: {found.image}")
    yield TextLine(f"  made by: {report.owner.title if report.owner else 'unknown'}")
    if secrets := secrets_of(found):
        yield TextLine(f"  Secrets: {', '.join(secrets)}")
    yield TextLine("Settings", Tone.HEADING)
    same = [each.name for each in report.carried.settings if each.fate is Fate.SAME]
    if same:
        yield TextLine(f"  same: {', '.join(same)}")
    for fate, text in _told(report.carried.settings):
        yield TextLine(f"  {_MEANT[fate]}: {text}", Tone.WARNING if fate is Fate.UNKNOWN else Tone.DETAIL)
    for warning in report.warnings:
        yield TextLine(f"  warning: {warning}", Tone.WARNING)
    yield TextLine("Values ('-o values' prints them alone)", Tone.HEADING)
    yield from (TextLine(f"  {line}") for line in report.values_text().splitlines() if not line.startswith("#"))
    if report.plan is not None:
        yield TextLine("Plan after the switch", Tone.HEADING)
        # Before the switch no command finds a hold of this plan.
        yield from (TextLine(f"  {line.text}", line.tone) for line in render_lines(report.plan) if not line.command)
        yield from _differences(report.plan)
    for heading, commands in (("Switch", report.switch.to), ("Switch back", report.switch.back)):
        yield TextLine(heading, Tone.HEADING)
        yield from (TextLine(f"  {line}", Tone.PLAIN, "" if line.startswith("#") else line) for line in commands)


def _told(settings: Iterable[Setting]) -> Iterator[tuple[Fate, str]]:
    """What becomes of settings that are not the same, alike ones together, unknown ones last."""
    for fate in _MEANT:
        why: dict[str, list[str]] = {}
        for each in settings:
            if each.fate is fate:
                why.setdefault(each.becomes, []).append(each.name)
        yield from ((fate, f"{', '.join(names)}: {becomes}") for becomes, names in why.items())


def _differences(plan: Report) -> Iterator[TextLine]:
    """Why HCCM has not made these changes, each reason once."""
    why: dict[str, list[str]] = {}
    for kind in dict.fromkeys(line.change.kind for line in plan.lines):
        if text := DIFFERENCES.get(kind):
            why.setdefault(text, []).append(kind)
    yield from (TextLine(f"  {', '.join(kinds)}: {text}", Tone.DETAIL) for text, kinds in why.items())


def secrets_of(found: FoundController) -> tuple[str, ...]:
    """The Secrets that its variables name, each with its keys: ``hcloud (network, token)``."""
    keys: dict[str, set[str]] = {}
    for each in found.variables.values():
        if reference := (each.given.get("valueFrom") or {}).get("secretKeyRef"):
            keys.setdefault(reference["name"], set()).add(reference["key"])
    return tuple(f"{name} ({', '.join(sorted(keys[name]))})" for name in sorted(keys))


def warnings_of(found: FoundController) -> tuple[str, ...]:
    """What a person should know before the switch."""
    elsewhere = (
        f"it runs in {found.namespace}, and the guard other-controller looks into {LEASE_NAMESPACE} alone: see that"
        " its pods are gone before hcloud-reconciler starts"
    )
    metrics = (
        "in the Nodes' network metrics are served at 127.0.0.1 alone, where HCCM serves them at every address: set"
        " bindAddress if something scrapes them"
    )
    has_metrics = found.pod.get("hostNetwork") and bool_of(found.values.get("HCLOUD_METRICS_ENABLED")) is not False
    has = {elsewhere: found.namespace != LEASE_NAMESPACE, metrics: has_metrics}
    return (*(text for text, is_so in has.items() if is_so), *found.gaps)


class MigrationDocument(Versioned, frozen=True, kw_only=True):
    """HCCM in this cluster, and the way from it."""

    workload: Mapping[str, Any] | None
    """None when none was found."""
    owner: Owner | None
    """What made it, and undoes what is changed without it; None where that was not looked for."""
    settings: tuple[Setting, ...]
    values: Mapping[str, Any]
    """Of the chart."""
    plan: Mapping[str, Any] | None
    """As ``plan -o json`` writes it, after the switch; None when it could not be made."""
    switch: Switch
    warnings: tuple[str, ...]
    errors: tuple[str, ...]

    @classmethod
    def of(cls, report: MigrationReport) -> "MigrationDocument":
        """All that there is to say."""
        found = report.found
        return cls(
            workload=None
            if found is None
            else {name: getattr(found, name) for name in _SHOWN} | {"secrets": secrets_of(found)},
            owner=report.owner,
            settings=report.carried.settings,
            values=report.carried.values,
            plan=None if report.plan is None else report_as_json(report.plan),
            switch=report.switch,
            warnings=report.warnings,
            errors=report.errors,
        )
