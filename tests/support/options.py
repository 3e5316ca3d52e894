"""Annotations as they are read by themselves, without the rest of a Service."""

from collections.abc import Mapping

from desired.annotations.options import BadAnnotation, Options
from desired.annotations.reading import read_annotations, with_defaults
from desired.annotations.rules import ALWAYS, broken


def parse_options(annotations: Mapping[str, str], defaults: Options) -> Options | tuple[BadAnnotation, ...]:
    """The options of these annotations; or all errors, in the order of the table."""
    found = with_defaults(read_annotations(annotations), defaults)
    return (*found.bad.values(), *broken(ALWAYS, found.options, found.bad)) or found.options
