"""Annotations and defaults → options, or everything that is wrong with them."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from desired.annotations.choices import DeletionPolicy
from desired.annotations.contradictions import contradictions
from desired.annotations.options import BadAnnotation, Defaults, Options
from desired.annotations.table import BY_FIELD, Annotation
from desired.bounds import shown_text
from desired.section import UNMANAGED


class Origin(StrEnum):
    """Where the value of an option comes from."""

    ANNOTATION = "annotation"
    ENVIRONMENT = "environment"
    UNSET = "unset"


def parse_options(annotations: Mapping[str, str], defaults: Defaults) -> Options | tuple[BadAnnotation, ...]:
    """What a Service with these annotations asks for; or all that is wrong, in the order of the table.

    An annotation wins over the environment, and a default that it overrules is not looked at. Never raises.
    """
    options, bad = read_options(annotations, defaults)
    problems = (*bad.values(), *contradictions(options, bad))
    return problems or options


def read_options(annotations: Mapping[str, str], defaults: Defaults) -> tuple[Options, Mapping[str, BadAnnotation]]:
    """The options that can be read, the others as if nobody had set them; and field → why it cannot be read."""
    values: dict[str, Any] = {}
    bad: dict[str, BadAnnotation] = {}
    for field, row in BY_FIELD.items():
        try:
            match origin_of(row, annotations, defaults):
                case Origin.ANNOTATION:
                    values[field] = row.grammar.parse(annotations[row.full_key])
                case Origin.ENVIRONMENT:
                    values[field] = _checked(row, getattr(defaults, field))
        except ValueError as error:
            bad[field] = _problem(row, annotations, defaults, error)
    if "location" in values:
        values.pop("network_zone", None)  # ID-7
    return Options(**values), bad


def origin_of(row: Annotation, annotations: Mapping[str, str], defaults: Defaults) -> Origin:
    """Where the row's value comes from."""
    text = annotations.get(row.full_key)
    if text is not None:
        return Origin.UNSET if row.empty_unsets and not text else Origin.ANNOTATION
    is_set = row.variable is not None and row.field is not None and getattr(defaults, row.field) is not UNMANAGED
    return Origin.ENVIRONMENT if is_set else Origin.UNSET


def deletion_policy(annotations: Mapping[str, str]) -> DeletionPolicy:
    """What becomes of the load balancer of a Service that goes, whatever its annotations look like (W-15).

    A policy that cannot be understood retains: what was kept by mistake can be deleted later, not the other way round.
    """
    row = BY_FIELD["deletion_policy"]
    text = annotations.get(row.full_key, "")
    try:
        return DeletionPolicy(row.grammar.parse(text)) if text else DeletionPolicy.DELETE
    except ValueError:
        return DeletionPolicy.RETAIN


def is_deletion_asked_for(annotations: Mapping[str, str]) -> bool:
    """Whether somebody wrote that the load balancer goes with the Service, which is more than not saying anything."""
    is_said = bool(annotations.get(BY_FIELD["deletion_policy"].full_key))
    return is_said and deletion_policy(annotations) is DeletionPolicy.DELETE


def _checked(row: Annotation, value: object) -> object:
    row.grammar.check(value)
    return value


def _problem(row: Annotation, annotations: Mapping[str, str], defaults: Defaults, error: ValueError) -> BadAnnotation:
    text = annotations.get(row.full_key)
    if text is None and row.variable and row.field:
        value = getattr(defaults, row.field)
        remedy = f"correct it, or set {row.full_key}"
        return BadAnnotation(row.variable, f"{row.variable} is {value}: {error}; {remedy}")
    why = f"{error}; correct it, or remove it"
    return BadAnnotation(row.full_key, f"{row.full_key} is {shown_text(text or '')}: {why}")
