"""Saved plans: the files of ``reconcile plan --save`` and ``reconcile apply FILE``.

A file is the JSON report of the plan, with what says for which cluster, settings and hour it was made. It is read as
what a stranger may have written: it can permit something, and can ask for nothing.
"""

import hashlib
import json
import re
from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from operator import attrgetter
from typing import Annotated, Any

import msgspec

from actuators.http.decoding import decoder
from desired.annotations.options import variables_of
from desired.model.set_by import Reads
from desired.model.settings import SET_BY, Settings
from desired.model.to_builtins import digest
from desired.plan.change import Verdict
from desired.plan.grants import Grant, Source
from desired.plan.kinds import KINDS
from desired.section import Present
from desired.syntax.bounds import listed, shown_text
from reconciler import __version__
from reconciler.config.config import shown_file
from reconciler.passes.agreement import Agreement, Permission
from reconciler.report.documents import SavedPart, report_as_json
from reconciler.report.escaping import json_text
from reconciler.result import Report, Result

LIFETIME = timedelta(hours=1)
"""How long a saved plan may be applied, as long as an approval counts: a review and a merge fit into it."""
MOST_BYTES = 32 * 2**20
"""The size of the largest file that is written or read: 15,000 changes, as of 5,000 Nodes that join, take 25 MB."""
_NAMED = 5
"""How many settings that differ an error names."""

_COMPARED: Mapping[str, str] = {
    path: name for path, name in SET_BY.items() if path != "only" and not isinstance(name, Reads)
}
"""Path of a field of ``Settings`` → what people set. ``only`` is none: it restricts a plan, and a saved one says to
what. Nor is what is only read: it is seen in the changes."""


class SavedPlanProblem(Exception):
    """A plan that cannot be saved, or a file that cannot be applied; the text says why, and the remedy."""


class _Cluster(msgspec.Struct):
    uid: Annotated[str, msgspec.Meta(max_length=256)]


class _Change(msgspec.Struct):
    key: Annotated[str, msgspec.Meta(min_length=1, max_length=1024)]
    kind: str
    before: Any
    after: Any
    verdict: Verdict


class _SavedPlan(msgspec.Struct):
    """What is read of a file. Other members are for people."""

    cluster: _Cluster
    taken_at: Annotated[datetime, msgspec.Meta(tz=True)]
    expires_at: Annotated[datetime, msgspec.Meta(tz=True)]
    settings: dict[str, str]
    only: list[str]
    changes: list[_Change]
    plan_hash: str


def save_plan(report: Report, settings: Settings) -> bytes:
    """The file of the plan that ``report`` shows, made with these settings. Raises SavedPlanProblem for what is only
    an error, or of an unknown cluster. An incomplete plan can be saved: it permits what it has, and no more."""
    snapshot = report.snapshot
    if snapshot is None or report.result is Result.ERROR:
        raise SavedPlanProblem("the plan ended with an error: correct that first")
    if not isinstance(snapshot.cluster_uid, Present):
        raise SavedPlanProblem(f"cannot determine the plan's cluster: {snapshot.cluster_uid.why}")
    uid, digests = snapshot.cluster_uid.value, setting_digests(settings)
    permissions = [Permission.of(line.change) for line in report.lines]
    saved = SavedPart(
        _hash_of(uid, digests, permissions), snapshot.taken_at + LIFETIME, digests, tuple(map(str, settings.only))
    )
    content = json_text(report_as_json(report, saved)).encode()
    if len(content) > MOST_BYTES:
        raise SavedPlanProblem(f"it has {len(content)} bytes, more than {MOST_BYTES}: plan a part of it with --only")
    return content


def read_plan(content: bytes, file: str, settings: Settings, *, is_exact: bool = False) -> Agreement:
    """What the saved plan in ``file`` permits to a run with these settings. Raises SavedPlanProblem for what is none,
    is damaged, or was made by another version or with other settings; never any other error.

    For which cluster it is, and until when, only the terms of the agreement can say: that takes a look at the cluster.
    """
    again = f"plan again with 'reconcile plan --save {shown_file(file)}'"
    try:
        found = _decoded(content)
        permissions = _permissions(found)
        _check_settings(found.settings, setting_digests(settings))
    except _Unusable as error:
        why = str(error)
    except msgspec.ValidationError as error:
        why = f"it is damaged: {error}"
    except RecursionError:
        why = "it is damaged: it is nested too deeply"
    except ValueError as error:
        why = f"it is no whole JSON document: {str(error).removeprefix('JSON is malformed: ')}"
    else:
        name, cluster = f"saved plan {shown_text(file)}", found.cluster.uid
        grant = Grant(
            Source.PLAN, name, approved_at=found.taken_at, expires_at=found.expires_at, cluster=cluster, again=again
        )
        return Agreement(permissions, tuple(found.only), grant, is_exact)
    raise SavedPlanProblem(f"saved plan {shown_text(file)} cannot be applied: {why}; {again}")


class _Unusable(Exception):
    """What is wrong with a document."""


def _decoded(content: bytes) -> _SavedPlan:
    """The document. Raises ValueError, RecursionError or _Unusable."""
    document = _document(content)
    if document is None:
        raise _Unusable("it is no saved plan, as it has no plan_hash")
    version, tool = document["format_version"], document.get("tool_version")
    if not isinstance(version, str) or not re.fullmatch(r"1\.[0-9]+", version, re.ASCII):
        raise _Unusable(f"its format_version is {shown_text(str(version))}, and this version reads 1.x")
    if tool != __version__:
        raise _Unusable(f"it is of version {shown_text(str(tool))}, and this is {__version__!r}")
    return decoder(_SavedPlan).decode(content)


def _document(content: bytes) -> dict[str, Any] | None:
    """The JSON object, if it is marked as a saved plan. Raises ValueError, RecursionError or _Unusable."""
    document = json.loads(content, object_pairs_hook=_without_repetition)
    return document if isinstance(document, dict) and {"format_version", "plan_hash"} <= document.keys() else None


def _without_repetition(members: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of the document, of which every reader has to see the same."""
    found = dict(members)
    if len(found) < len(members):
        raise _Unusable("it is damaged: an object in it has a member twice")
    return found


def _permissions(found: _SavedPlan) -> Mapping[tuple[str, str], Permission]:
    """Identity → what the document permits. Raises _Unusable where it is not as it was written."""
    permissions = [Permission(each.key, each.kind, each.before, each.after, each.verdict) for each in found.changes]
    if unknown := next((each.kind for each in permissions if each.kind not in KINDS), None):
        raise _Unusable(f"it is damaged: there is no kind of change {shown_text(unknown)}")
    if len({each.key for each in permissions}) < len(permissions):
        raise _Unusable("it is damaged: it has a change twice")
    if found.plan_hash != _hash_of(found.cluster.uid, found.settings, permissions):
        raise _Unusable("it is damaged: its plan_hash is that of other changes")
    if found.expires_at - found.taken_at != LIFETIME:
        raise _Unusable("it is damaged: it does not expire one hour after it was taken")
    return {each.identity: each for each in permissions}


def _check_settings(theirs: Mapping[str, str], ours: Mapping[str, str]) -> None:
    """Raises _Unusable that names the settings which are others than when the plan was made."""
    differing = sorted(name for name in theirs.keys() | ours.keys() if theirs.get(name) != ours.get(name))
    if differing:
        named = listed([name if name in ours else shown_text(name) for name in differing], _NAMED)
        verb = "is" if len(differing) == 1 else "are"
        raise _Unusable(f"{named} {verb} set otherwise than when it was made")


def is_saved_plan(content: bytes) -> bool:
    """Whether a plan was saved there, whether or not it can still be applied."""
    try:
        return _document(content) is not None
    except (ValueError, RecursionError, _Unusable):
        return False


def setting_digests(settings: Settings) -> Mapping[str, str]:
    """Flag or variable → digest of its value: enough to name what differs, and nothing that tells what it is."""
    values = {name: attrgetter(path)(settings) for path, name in _COMPARED.items()}
    values |= variables_of(settings.balancer_defaults)
    return {name: digest(_plain_value(values[name])) for name in sorted(values)}


def _plain_value(value: object) -> object:
    return value.total_seconds() if isinstance(value, timedelta) else value


def _hash_of(uid: str, settings: Mapping[str, str], permissions: Collection[Permission]) -> str:
    """The digest of all that may be done, where, and with which settings. It finds damage, and no forgery: who
    forges a plan can compute it, and gets nothing by it that is not planned anyway."""
    changes = [[each.kind, each.key, each.before, each.after, each.verdict] for each in permissions]
    changes.sort(key=lambda row: row[:2])
    canonical = json.dumps([uid, settings, changes], sort_keys=True, separators=(",", ":"))
    return f"sha256:{hashlib.sha256(canonical.encode()).hexdigest()}"
