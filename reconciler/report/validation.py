"""Text and JSON of the result of ``reconcile validate``. ``docs/validate.md`` shows both."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from msgspec import Struct

from desired.annotations.claims import ClaimCheck
from desired.annotations.options import BadAnnotation
from desired.annotations.warnings import AnnotationWarning
from reconciler import __version__
from reconciler.report.documents import FORMAT_VERSION, FormatVersion, to_json
from reconciler.report.escaping import json_text, visible
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


class ConfigurationDocument(Struct, frozen=True):
    """What is wrong and what is odd about flags and variables."""

    errors: tuple[str, ...]
    notes: tuple[str, ...]


class ServiceDocument(Struct, frozen=True):
    """One Service of type LoadBalancer."""

    file: str
    """As it was given; - is stdin."""
    document: int
    """Counted from 1."""
    item: int | None
    """Of a list, counted from 1; None outside of one."""
    namespace: str | None
    """None when the manifest leaves it to whoever applies it."""
    name: str
    errors: tuple[BadAnnotation, ...]
    """With any of them no load balancer is created."""
    notes: tuple[AnnotationWarning, ...]

    @classmethod
    def of(cls, service: JudgedService) -> "ServiceDocument":
        """A Service and the result of its checks."""
        place, found = service.place, service.judgement
        return cls(
            place.file, place.document, place.item, service.namespace, service.name, found.problems, found.remarks
        )


class UnreadableDocument(Struct, frozen=True):
    """A file, or what is left of it, that could not be read."""

    file: str
    document: int | None
    """The first one that is missing, counted from 1; None when nothing could be read."""
    text: str


class CountsDocument(Struct, frozen=True):
    """Numbers of what was checked and found."""

    files: int
    services: int
    errors: int
    notes: int


class ValidationDocument(Struct, frozen=True):
    """The configuration and the Services of manifests, checked without any API."""

    format_version: FormatVersion
    tool_version: str
    result: Literal["valid", "invalid"]
    configuration: ConfigurationDocument
    services: tuple[ServiceDocument, ...]
    """In the order of the files."""
    unreadable: tuple[UnreadableDocument, ...]
    summary: CountsDocument


def validation_as_json(validation: Validation) -> Mapping[str, Any]:
    """The validation in JSON values."""
    document = ValidationDocument(
        format_version=FORMAT_VERSION,
        tool_version=__version__,
        result="invalid" if validation.errors else "valid",
        configuration=ConfigurationDocument(validation.configuration_errors, validation.configuration_notes),
        services=tuple(map(ServiceDocument.of, validation.services)),
        unreadable=tuple(UnreadableDocument(it.file, it.document, it.text) for it in validation.unreadable),
        summary=CountsDocument(validation.files, len(validation.services), validation.errors, validation.notes),
    )
    found: Mapping[str, Any] = to_json(document)
    return found


def render_validation_json(validation: Validation) -> str:
    """The JSON text with a line break at its end."""
    return json_text(validation_as_json(validation))
