"""Reading of the annotations of a Service: each by itself, then with the defaults of the environment."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from desired.annotations.choices import DeletionPolicy
from desired.annotations.options import OPTIONS, BadAnnotation, Options, is_set
from desired.syntax.bounds import shown_text


class Origin(StrEnum):
    """Origin of the value of an option."""

    ANNOTATION = "annotation"
    ENVIRONMENT = "environment"
    UNSET = "unset"


@dataclass(frozen=True, slots=True)
class ReadAnnotations:
    """The annotations of one Service, each read once; what the environment says comes later (``with_defaults``)."""

    values: Mapping[str, Any]
    """Field of ``Options`` → value."""
    bad: Mapping[str, BadAnnotation]
    """Field → the reason why its annotation cannot be read."""
    unset: frozenset[str]
    """Fields whose annotation is there and empty, which beats the environment."""

    @property
    def deletion_policy(self) -> DeletionPolicy:
        """The deletion policy of the Service. Other annotations may be malformed: deletion does not depend on them.

        A policy that cannot be understood means ``retain``: what was kept by mistake can be deleted later, not the
        other way round.
        """
        if "deletion_policy" in self.bad:
            return DeletionPolicy.RETAIN
        return DeletionPolicy(self.values.get("deletion_policy", DeletionPolicy.DELETE))

    @property
    def asks_for_deletion(self) -> bool:
        """Whether the load balancer is said to go with the Service, which is more than saying nothing."""
        return self.values.get("deletion_policy") is DeletionPolicy.DELETE


def read_annotations(annotations: Mapping[str, str]) -> ReadAnnotations:
    """The annotations of the table with their values, or why they have none. Never raises."""
    values: dict[str, Any] = {}
    bad: dict[str, BadAnnotation] = {}
    unset: set[str] = set()
    for field, row in OPTIONS.items():
        text = annotations.get(row.full_key)
        if text is None:
            continue
        if row.clears and not text:
            unset.add(field)
            continue
        try:
            values[field] = row.grammar.parse(text)
        except ValueError as error:
            why = f"{error}; correct it, or remove it"
            bad[field] = BadAnnotation(row.full_key, f"{row.full_key} is {shown_text(text)}: {why}")
    return ReadAnnotations(values, bad, frozenset(unset))


@dataclass(frozen=True, slots=True)
class Requested:
    """What a Service asks of its load balancer, with the environment's defaults: decided once, and only read later."""

    options: Options
    """What cannot be read is in it as if nothing set it."""
    origins: Mapping[str, Origin]
    """Name of each option that something sets → what its value comes from. An annotation, even an empty one, beats the
    environment."""
    bad: Mapping[str, BadAnnotation]
    """Name of an option → why its value cannot be read."""

    def origin(self, name: str) -> Origin:
        """What the value of this option comes from."""
        return self.origins.get(name, Origin.UNSET)


def with_defaults(read: ReadAnnotations, defaults: Options) -> Requested:
    """What the annotations ask for where the environment has these defaults."""
    values: dict[str, Any] = {}
    origins: dict[str, Origin] = {}
    bad: dict[str, BadAnnotation] = {}
    for name, row in OPTIONS.items():
        if name in read.values:
            origins[name], values[name] = Origin.ANNOTATION, read.values[name]
        elif name in read.bad:
            origins[name], bad[name] = Origin.ANNOTATION, read.bad[name]
        elif name not in read.unset and is_set(defaults, name):
            origins[name], value = Origin.ENVIRONMENT, getattr(defaults, name)
            try:
                row.grammar.check(value)
                values[name] = value
            except ValueError as error:
                remedy = f"correct it, or set {row.full_key}"
                bad[name] = BadAnnotation(str(row.variable), f"{row.variable} is {value}: {error}; {remedy}")
    if "location" in values:
        values.pop("network_zone", None)  # the location takes precedence
    return Requested(Options(**values), origins, bad)
