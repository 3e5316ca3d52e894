"""Annotations as they are read by themselves, without the rest of a Service."""

from collections.abc import Mapping

from desired.annotations.combinations import Circumstances, bad_combinations
from desired.annotations.options import BadAnnotation, Options
from desired.annotations.reading import read_annotations, with_defaults


def parse_options(annotations: Mapping[str, str], defaults: Options) -> Options | tuple[BadAnnotation, ...]:
    """The options of these annotations; or all errors, in the order of the table."""
    found = with_defaults(read_annotations(annotations), defaults)
    return (
        *found.bad.values(),
        *bad_combinations(found, found.bad, Circumstances(is_created=False)),
    ) or found.options
