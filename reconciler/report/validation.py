"""Text and JSON of the result of ``reconcile validate``. ``docs/validate.md`` shows both."""

from collections.abc import Iterable, Iterator
from typing import Literal

from msgspec import Struct

from desired.annotations.options import BadAnnotation
from desired.annotations.warnings import AnnotationWarning
from desired.syntax.bounds import counted
from reconciler.report.documents import Versioned
from reconciler.report.escaping import visible
from reconciler.report.text import TextLine, Tone


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
    """None when the manifest leaves it to its user."""
    name: str
    errors: tuple[BadAnnotation, ...]
    """Those with which no load balancer is created, and values that nothing reads."""
    notes: tuple[AnnotationWarning, ...]
    not_judged: tuple[AnnotationWarning, ...] = ()
    """Annotations that are filled in later, such as those of a template."""

    @property
    def key(self) -> str:
        """As a plan would name it, as far as it is known."""
        return f"service/{self.namespace}/{self.name}" if self.namespace else f"service/{self.name}"


class CheckedAnnotations(Struct, frozen=True):
    """Annotations in one place of a document that is no Service to judge, and the result of their checks."""

    file: str
    document: int
    """Counted from 1."""
    item: int | None
    """Of a list, counted from 1; None outside of one."""
    kind: str | None
    """None when the document is no object of Kubernetes', such as Helm's values."""
    namespace: str | None
    name: str | None
    path: str
    """From the top of the document; a colon is before what is inside of a text."""
    errors: tuple[BadAnnotation, ...]
    """Those with which a Service gets no load balancer, and values that nothing reads."""
    notes: tuple[AnnotationWarning, ...]
    not_judged: tuple[AnnotationWarning, ...] = ()
    """What nothing can be said of offline."""

    @property
    def key(self) -> str:
        """The document's object, as far as it is known, and the place in it."""
        named = "/".join(part for part in (self.kind, self.namespace, self.name) if part)
        return ": ".join(part for part in (named, self.path) if part) or "annotations"


class NotJudged(Struct, frozen=True):
    """A file that was read, and has nothing to judge."""

    file: str
    text: str


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
    annotations: tuple[CheckedAnnotations, ...] = ()
    not_judged: tuple[NotJudged, ...] = ()
    unreadable: tuple[Unreadable, ...] = ()

    def lines(self) -> Iterator[TextLine]:
        """The text: configuration, each Service in the order of the files, annotations elsewhere, files with nothing to
        judge, what could not be read, a summary."""
        return (TextLine(visible(line.text), line.tone) for line in _lines(self))

    def document(self) -> "ValidationDocument":
        """The JSON."""
        return ValidationDocument.of(self)

    @property
    def errors(self) -> int:
        """How many there are."""
        return sum(len(each.errors) for each in self._checked) + len(self.unreadable)

    @property
    def notes(self) -> int:
        """How many there are, with those on what was not judged."""
        return sum(len(each.notes) for each in self._checked) + self.unjudged

    @property
    def unjudged(self) -> int:
        """How many of the notes say that something was not judged."""
        judged: tuple[CheckedService | CheckedAnnotations, ...] = (*self.services, *self.annotations)
        return sum(len(each.not_judged) for each in judged) + len(self.not_judged)

    @property
    def _checked(self) -> tuple[CheckedConfiguration | CheckedService | CheckedAnnotations, ...]:
        return (self.configuration, *self.services, *self.annotations)


def _lines(validation: Validation) -> Iterator[TextLine]:
    yield from _said("Configuration", validation.configuration.errors, validation.configuration.notes)
    for service in validation.services:
        title = f"{_place(service.file, service.document, service.item)}: {service.key}"
        yield from _judged(title, service)
    for found in validation.annotations:
        title = f"{_place(found.file, found.document, found.item)}: {found.key}"
        yield from _judged(title, found, "keys and values ok")
    for nothing in validation.not_judged:
        yield from _said(_place(nothing.file), (), (nothing.text,))
    for unreadable in validation.unreadable:
        yield from _said(_place(unreadable.file, unreadable.document), (unreadable.text,))
    yield TextLine("")
    yield TextLine(_summary(validation), Tone.BAD if validation.errors else Tone.GOOD)


def _place(file: str, document: int | None = None, item: int | None = None) -> str:
    """Where in which file something stands."""
    numbered = (("document", document), ("item", item))
    parts = [f"{name} {number}" for name, number in numbered if number is not None]
    return ", ".join(["stdin" if file == "-" else file, *parts])


def _judged(title: str, checked: CheckedService | CheckedAnnotations, fine: str = "ok") -> Iterator[TextLine]:
    notes = (odd.text for odd in (*checked.notes, *checked.not_judged))
    yield from _said(title, (bad.text for bad in checked.errors), notes, fine)


def _said(title: str, errors: Iterable[str], notes: Iterable[str] = (), fine: str = "ok") -> Iterator[TextLine]:
    below = [TextLine(f"  error: {text}", Tone.BAD) for text in errors]
    below += [TextLine(f"  note: {text}", Tone.WARNING) for text in notes]
    yield TextLine(title if below else f"{title}  {fine}", Tone.HEADING)
    yield from below


def _summary(validation: Validation) -> str:
    found = f"{counted(validation.errors, 'error')}, {counted(validation.notes, 'note')}"
    if not validation.files:
        return f"Configuration checked: {found}."
    judged = f"{counted(len(validation.services), 'Service')} of type LoadBalancer"
    if validation.annotations:
        places = counted(len(validation.annotations), "other place")
        judged += f" and {places} with annotations (keys and values only)"
    if validation.unjudged:
        found += f" ({validation.unjudged} not checked)"
    return f"{judged} in {counted(validation.files, 'file')}, and the configuration: {found}."


class CountsDocument(Struct, frozen=True):
    """Numbers of what was checked and found."""

    files: int
    services: int
    annotations: int
    """Places with annotations outside of Services that were judged."""
    errors: int
    notes: int
    """With those on what was not judged."""
    not_judged: int
    """Notes on what was not judged."""


class ValidationDocument(Versioned, frozen=True, kw_only=True):
    """The configuration and the Services of manifests, checked without any API."""

    result: Literal["valid", "invalid"]
    configuration: CheckedConfiguration
    services: tuple[CheckedService, ...]
    """In the order of the files."""
    annotations: tuple[CheckedAnnotations, ...]
    """Those outside of Services that were judged, in the order of the files."""
    not_judged: tuple[NotJudged, ...]
    """Files without anything to judge."""
    unreadable: tuple[Unreadable, ...]
    summary: CountsDocument

    @classmethod
    def of(cls, validation: Validation) -> "ValidationDocument":
        """Everything that was checked."""
        return cls(
            result="invalid" if validation.errors else "valid",
            configuration=validation.configuration,
            services=validation.services,
            annotations=validation.annotations,
            not_judged=validation.not_judged,
            unreadable=validation.unreadable,
            summary=CountsDocument(
                files=validation.files,
                services=len(validation.services),
                annotations=len(validation.annotations),
                errors=validation.errors,
                notes=validation.notes,
                not_judged=validation.unjudged,
            ),
        )
