"""Saved plans: the files of ``reconcile plan --save`` and ``reconcile apply FILE``.

A file has a digest for each change, the texts of the settings, and the cluster and time of the plan. Any person may
have written it: it can permit a change, and cannot ask for one.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from actuators.http.decoding import decoder
from desired.annotations.options import VARIABLES
from desired.model.published_settings import text_of, texts_of
from desired.model.set_by import Admits
from desired.model.settings import SET_BY, Settings
from desired.plan.grants import LIFETIME, Grant, Source
from desired.section import Present
from desired.syntax.bounds import listed, shown_text
from reconciler import __version__
from reconciler.config.config import shown_file
from reconciler.passes.agreement import Agreement
from reconciler.report.escaping import json_text
from reconciler.result import Report, Result

FORMAT_VERSION = "2.0"
MOST_BYTES = 8 * 2**20
"""The size of the largest file that is written or read: 15,000 changes, as of 5,000 Nodes that join, take 2 MB."""
_NAMED = 5
"""How many settings that differ an error names."""
_ADMITTING: Mapping[str, str] = {
    path: name for path, name in SET_BY.items() if isinstance(name, Admits) and path != "only"
}
"""Field of ``Settings`` → flag of a setting that admits changes, and is not published."""
_KNOWN = frozenset({*SET_BY.values(), *VARIABLES})


class SavedPlanProblem(Exception):
    """A plan that cannot be saved, or a file that cannot be applied; the text says why, and the remedy."""


class _Head(msgspec.Struct):
    format_version: Any = None
    tool_version: Any = None
    permissions: Any = None
    plan_hash: Any = None
    """Of format 1."""


class _Document(msgspec.Struct, kw_only=True):
    """The content of a file."""

    format_version: str = FORMAT_VERSION
    tool_version: str = __version__
    cluster: Annotated[str, Meta(min_length=1, max_length=256)]
    taken_at: Annotated[datetime, Meta(tz=True)]
    settings: dict[str, str]
    """Flag or variable → its text."""
    only: tuple[str, ...]
    permissions: dict[Annotated[str, Meta(pattern="^sha256:[0-9a-f]{64}$")], Annotated[str, Meta(max_length=1024)]]
    """Digest of a change → its key."""


@dataclass(frozen=True, slots=True)
class SavedPlan:
    """A file that was read."""

    file: str
    settings: Mapping[str, str]
    """Flag or variable → its text."""
    agreement: Agreement
    """The changes that it permits to a run with these settings."""

    def fits(self, settings: Settings) -> bool:
        """Whether it was made with these settings."""
        return self.settings == _texts(settings)

    def check(self, settings: Settings) -> None:
        """Raise SavedPlanProblem that names the settings that the run has otherwise."""
        self._check(_texts(settings), "set")

    def check_published(self, published: Mapping[str, str]) -> None:
        """The same for the texts that a controller publishes."""
        unpublished = {name: text for name, text in self.settings.items() if name in _ADMITTING.values()}
        self._check({**unpublished, **published}, "published")

    def _check(self, others: Mapping[str, str], how: str) -> None:
        differing = sorted({name for name, _ in self.settings.items() ^ others.items()})
        if differing:
            names = listed([name if name in _KNOWN else shown_text(name) for name in differing], _NAMED)
            verb = "is" if len(differing) == 1 else "are"
            raise _unusable(self.file, f"{names} {verb} {how} otherwise than when it was made")


def save_plan(report: Report, settings: Settings) -> bytes:
    """The file of the plan that ``report`` shows, made with these settings. Raises SavedPlanProblem for an error, and
    if the cluster is unknown. An incomplete plan can be saved: it permits what it has, and no more."""
    snapshot = report.snapshot
    if snapshot is None or report.result is Result.ERROR:
        raise SavedPlanProblem("the plan ended with an error: correct that first")
    if not isinstance(snapshot.cluster_uid, Present):
        raise SavedPlanProblem(f"cannot determine the plan's cluster: {snapshot.cluster_uid.why}")
    document = _Document(
        cluster=snapshot.cluster_uid.value,
        taken_at=snapshot.taken_at,
        settings=dict(_texts(settings)),
        only=settings.only,
        permissions={line.change.digest: str(line.change.key) for line in report.lines},
    )
    content = json_text(document).encode()
    if len(content) > MOST_BYTES:
        raise SavedPlanProblem(f"it has {len(content)} bytes, more than {MOST_BYTES}: plan a part of it with --only")
    return content


def read_plan(content: bytes, file: str, *, is_exact: bool = False) -> SavedPlan:
    """The saved plan in ``file``. Raises SavedPlanProblem for a file that is none, is damaged, or was made by another
    version, and never any other error. Its cluster and time are terms of the agreement: a run has to look at these."""
    try:
        head = decoder(_Head).decode(content)
    except ValueError:
        raise _unusable(file, "it is no JSON document of a saved plan") from None
    if head.format_version != FORMAT_VERSION:
        was = shown_text(str(head.format_version))
        raise _unusable(file, f"its format_version is {was}, and this version reads {FORMAT_VERSION!r}")
    if head.tool_version != __version__:
        was = shown_text(str(head.tool_version))
        raise _unusable(file, f"it is of version {was}, and this is {__version__!r}")
    try:
        found = decoder(_Document).decode(content)
        expires_at = found.taken_at + LIFETIME
    except (ValueError, OverflowError) as error:
        raise _unusable(file, f"it is damaged: {error}") from error
    grant = Grant(
        Source.PLAN,
        f"saved plan {shown_text(file)}",
        approved_at=found.taken_at,
        expires_at=expires_at,
        cluster=found.cluster,
        again=_again(file),
    )
    return SavedPlan(file, found.settings, Agreement(found.permissions, found.only, grant, is_exact))


def is_saved_plan(content: bytes) -> bool:
    """Whether a plan was saved there, whether or not it can still be applied."""
    try:
        head = decoder(_Head).decode(content)
    except ValueError:
        return False
    return isinstance(head.format_version, str) and (head.permissions or head.plan_hash) is not None


def _texts(settings: Settings) -> Mapping[str, str]:
    """Flag or variable → text of each setting that decides on a plan or admits its changes."""
    return {**texts_of(settings), **{name: text_of(attrgetter(path)(settings)) for path, name in _ADMITTING.items()}}


def _again(file: str) -> str:
    return f"plan again with 'reconcile plan --save {shown_file(file)}'"


def _unusable(file: str, why: str) -> SavedPlanProblem:
    return SavedPlanProblem(f"saved plan {shown_text(file)} cannot be applied: {why}; {_again(file)}")
