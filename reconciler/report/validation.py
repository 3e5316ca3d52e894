"""Text and JSON of the result of ``reconcile validate``. ``docs/validate.md`` shows both."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from desired.annotations.claims import ClaimCheck
from reconciler import __version__
from reconciler.report.escaping import json_text, visible
from reconciler.report.json_report import FORMAT_VERSION
from reconciler.report.text_report import TextLine, Tone


@dataclass(frozen=True, slots=True)
class FilePlace:
    """Where in which file something stands."""

    file: str
    """As it was given; ``-`` is stdin."""
    document: int
    """Counted from 1."""
    item: int | None = None
    """Of a list, counted from 1; None outside of one."""

    def __str__(self) -> str:
        where = f"{'stdin' if self.file == '-' else self.file}, document {self.document}"
        return where if self.item is None else f"{where}, item {self.item}"


@dataclass(frozen=True, slots=True)
class JudgedService:
    """A Service of type LoadBalancer and the result of its checks."""

    place: FilePlace
    namespace: str | None
    """None when the manifest leaves it to whoever applies it."""
    name: str
    judgement: ClaimCheck

    @property
    def key(self) -> str:
        """As a plan would name it, as far as it is known."""
        return f"service/{self.namespace}/{self.name}" if self.namespace else f"service/{self.name}"


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A file, or what is left of it, that could not be read."""

    file: str
    text: str
    document: int | None = None
    """The first one that is missing, counted from 1; None when nothing could be read."""

    def __str__(self) -> str:
        file = "stdin" if self.file == "-" else self.file
        return file if self.document is None else str(FilePlace(self.file, self.document))


@dataclass(frozen=True, slots=True)
class Validation:
    """Everything that was checked."""

    files: int
    configuration_errors: tuple[str, ...] = ()
    configuration_notes: tuple[str, ...] = ()
    services: tuple[JudgedService, ...] = ()
    unreadable: tuple[Unreadable, ...] = ()

    @property
    def errors(self) -> int:
        """How many there are."""
        of_services = sum(len(service.judgement.problems) for service in self.services)
        return len(self.configuration_errors) + len(self.unreadable) + of_services

    @property
    def notes(self) -> int:
        """How many there are."""
        return len(self.configuration_notes) + sum(len(service.judgement.remarks) for service in self.services)


def render_validation(validation: Validation) -> Iterator[TextLine]:
    """The lines: configuration, each Service in the order of the files, what could not be read, a summary."""
    for line in _lines(validation):
        yield TextLine(visible(line.text), line.tone)


def _lines(validation: Validation) -> Iterator[TextLine]:
    yield from _said("Configuration", validation.configuration_errors, validation.configuration_notes)
    for service in validation.services:
        problems, remarks = service.judgement.problems, service.judgement.remarks
        title = f"{service.place}: {service.key}"
        yield from _said(title, tuple(bad.text for bad in problems), tuple(remark.text for remark in remarks))
    for unreadable in validation.unreadable:
        yield from _said(str(unreadable), (unreadable.text,), ())
    yield TextLine("")
    yield TextLine(_summary(validation), Tone.BAD if validation.errors else Tone.GOOD)


def _said(title: str, errors: tuple[str, ...], notes: tuple[str, ...]) -> Iterator[TextLine]:
    yield TextLine(title if errors or notes else f"{title}  ok", Tone.HEADING)
    for text in errors:
        yield TextLine(f"  error: {text}", Tone.BAD)
    for text in notes:
        yield TextLine(f"  note: {text}", Tone.WARNING)


def _summary(validation: Validation) -> str:
    found = f"{_counted(validation.errors, 'error')}, {_counted(validation.notes, 'note')}"
    if not validation.files:
        return f"Configuration checked: {found}."
    services = _counted(len(validation.services), "Service of type LoadBalancer", "Services of type LoadBalancer")
    return f"{services} in {_counted(validation.files, 'file')}, and the configuration: {found}."


def _counted(number: int, one: str, several: str = "") -> str:
    return f"{number} {one if number == 1 else several or f'{one}s'}"


def validation_as_json(validation: Validation) -> Mapping[str, Any]:
    """The validation in JSON values, keys in the order in which people read them."""
    return {
        "format_version": FORMAT_VERSION,
        "tool_version": __version__,
        "result": "invalid" if validation.errors else "valid",
        "configuration": {
            "errors": list(validation.configuration_errors),
            "notes": list(validation.configuration_notes),
        },
        "services": [
            {
                "file": service.place.file,
                "document": service.place.document,
                "item": service.place.item,
                "namespace": service.namespace,
                "name": service.name,
                "errors": [{"key": bad.key, "text": bad.text} for bad in service.judgement.problems],
                "notes": [{"key": remark.key, "text": remark.text} for remark in service.judgement.remarks],
            }
            for service in validation.services
        ],
        "unreadable": [
            {"file": unreadable.file, "document": unreadable.document, "text": unreadable.text}
            for unreadable in validation.unreadable
        ],
        "summary": {
            "files": validation.files,
            "services": len(validation.services),
            "errors": validation.errors,
            "notes": validation.notes,
        },
    }


def render_validation_json(validation: Validation) -> str:
    """The JSON text with a line break at its end."""
    return json_text(validation_as_json(validation))
