"""Text and JSON of the result of ``reconcile validate``. ``docs/validate.md`` shows both."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

from msgspec import Struct

from desired.annotations.options import BadAnnotation
from desired.annotations.warnings import AnnotationWarning
from desired.syntax.bounds import counted
from reconciler import __version__
from reconciler.report.documents import FORMAT_VERSION, FormatVersion, to_json
from reconciler.report.escaping import visible
from reconciler.report.text_report import TextLine, Tone


class CheckedConfiguration(Struct, frozen=True):
    """What is wrong and what is odd about flags and variables."""

    errors: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class CheckedService(Struct, frozen=True):
    """A Service of type LoadBalancer and the result of its checks."""

    file: str
    """As it was given; ``-`` is stdin."""
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

    @property
    def key(self) -> str:
        """As a plan would name it, as far as it is known."""
        return f"service/{self.namespace}/{self.name}" if self.namespace else f"service/{self.name}"


class Unreadable(Struct, frozen=True):
    """A file, or what is left of it, that could not be read."""

    file: str
    document: int | None
    """The first one that is missing, counted from 1; None when nothing could be read."""
    text: str


class Validation(Struct, frozen=True):
    """Everything that was checked."""

    files: int
    configuration: CheckedConfiguration = CheckedConfiguration()
    services: tuple[CheckedService, ...] = ()
    unreadable: tuple[Unreadable, ...] = ()

    @property
    def errors(self) -> int:
        """How many there are."""
        return self._number("errors") + len(self.unreadable)

    @property
    def notes(self) -> int:
        """How many there are."""
        return self._number("notes")

    def _number(self, of: str) -> int:
        return sum(len(getattr(checked, of)) for checked in (self.configuration, *self.services))


def render_validation(validation: Validation) -> Iterator[TextLine]:
    """The lines: configuration, each Service in the order of the files, what could not be read, a summary."""
    for line in _lines(validation):
        yield TextLine(visible(line.text), line.tone)


def _lines(validation: Validation) -> Iterator[TextLine]:
    yield from _said("Configuration", validation.configuration.errors, validation.configuration.notes)
    for service in validation.services:
        title = f"{_place(service.file, service.document, service.item)}: {service.key}"
        yield from _said(title, (bad.text for bad in service.errors), (odd.text for odd in service.notes))
    for unreadable in validation.unreadable:
        yield from _said(_place(unreadable.file, unreadable.document), (unreadable.text,))
    yield TextLine("")
    yield TextLine(_summary(validation), Tone.BAD if validation.errors else Tone.GOOD)


def _place(file: str, document: int | None, item: int | None = None) -> str:
    """Where in which file something stands."""
    numbered = (("document", document), ("item", item))
    parts = [f"{name} {number}" for name, number in numbered if number is not None]
    return ", ".join(["stdin" if file == "-" else file, *parts])


def _said(title: str, errors: Iterable[str], notes: Iterable[str] = ()) -> Iterator[TextLine]:
    below = [TextLine(f"  error: {text}", Tone.BAD) for text in errors]
    below += [TextLine(f"  note: {text}", Tone.WARNING) for text in notes]
    yield TextLine(title if below else f"{title}  ok", Tone.HEADING)
    yield from below


def _summary(validation: Validation) -> str:
    found = f"{counted(validation.errors, 'error')}, {counted(validation.notes, 'note')}"
    if not validation.files:
        return f"Configuration checked: {found}."
    services = f"{counted(len(validation.services), 'Service')} of type LoadBalancer"
    return f"{services} in {counted(validation.files, 'file')}, and the configuration: {found}."


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
    configuration: CheckedConfiguration
    services: tuple[CheckedService, ...]
    """In the order of the files."""
    unreadable: tuple[Unreadable, ...]
    summary: CountsDocument


def validation_as_json(validation: Validation) -> Mapping[str, Any]:
    """The validation in JSON values."""
    document = ValidationDocument(
        format_version=FORMAT_VERSION,
        tool_version=__version__,
        result="invalid" if validation.errors else "valid",
        configuration=validation.configuration,
        services=validation.services,
        unreadable=validation.unreadable,
        summary=CountsDocument(validation.files, len(validation.services), validation.errors, validation.notes),
    )
    found: Mapping[str, Any] = to_json(document)
    return found
