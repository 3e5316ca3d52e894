"""Artifacts: what a run writes to files beside its report, ``--also FORMAT=FILE``. One reading, several forms of it."""

import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

from reconciler.cli.files import SHARED, check_file, write_file
from reconciler.cli.streams import rendered
from reconciler.config.config import Config
from reconciler.config.options import Artifact, Output
from reconciler.result import Report


def unwritable(config: Config) -> Iterator[tuple[Artifact, str]]:
    """The artifacts that cannot be written, as far as that can be known before anything is read, each with the line
    that says why."""
    for artifact in config.also:
        try:
            if _is_stdout(artifact.file):
                yield artifact, f"--also {artifact.text!r} is where the report goes: give another file"
            elif _is_summary(artifact, config):
                Path(artifact.file).open("ab").close()
            else:
                check_file(artifact.file)
        except OSError as error:
            yield artifact, _problem(artifact, error)


def write_artifacts(report: Report, config: Config) -> Iterator[str]:
    """Write the report to each file; a line for each that could not be written."""
    for artifact in config.also:
        try:
            if _is_summary(artifact, config):
                _append(report, artifact)
            else:
                write_file(_content(rendered(report, artifact.format)), artifact.file, mode=SHARED)
        except OSError as error:
            yield _problem(artifact, error)


def _append(report: Report, artifact: Artifact) -> None:
    """To the summary of a step, which may have something already: GitHub shows all of it, or nothing if that is too
    much."""
    with Path(artifact.file).open("ab") as summary:
        used = summary.tell()
        if artifact.format is Output.MARKDOWN:
            from reconciler.report.markdown import render_markdown, step_summary  # noqa: PLC0415 - few ask for it

            text = render_markdown(report, step_summary(used))
        else:
            text = rendered(report, artifact.format)
        summary.write(_content(("\n" if used else "") + text))


def _content(text: str) -> bytes:
    return text.encode(errors="backslashreplace")


def _problem(artifact: Artifact, error: OSError) -> str:
    return f"--also {artifact.text!r} cannot be written: {error.strerror or error}"


def _is_summary(artifact: Artifact, config: Config) -> bool:
    """Whether it is the summary of the step of a GitHub workflow, to which others write as well."""
    summary = config.step_summary
    return bool(summary) and os.path.realpath(artifact.file) == os.path.realpath(summary)


def _is_stdout(file: str) -> bool:
    """Whether the file is the one into which stdout goes. A pipe or a device takes both."""
    try:
        found, taken = Path(file).stat(), os.fstat(sys.stdout.fileno())
    except (OSError, ValueError):
        return False
    return stat.S_ISREG(found.st_mode) and os.path.samestat(found, taken)
