"""Annotations by the names of their options, and as they are read by themselves, without the rest of a Service."""

from collections.abc import Mapping

from desired.annotations.combinations import Circumstances, bad_combinations
from desired.annotations.options import OPTIONS, BadAnnotation, Options
from desired.annotations.port_keys import port_key
from desired.annotations.reading import read_annotations, with_defaults


def key_of_option(name: str) -> str:
    """The annotation of an option, or of the option of a port: ``protocol``, ``port_443_protocol``."""
    if not name.startswith("port_"):
        return OPTIONS[name].full_key
    _, port, option = name.split("_", 2)
    return port_key(int(port), option)


def parse_options(annotations: Mapping[str, str], defaults: Options) -> Options | tuple[BadAnnotation, ...]:
    """The options of these annotations; or all errors, in the order of the table."""
    found = with_defaults(read_annotations(annotations), defaults)
    return (
        *found.bad.values(),
        *bad_combinations(found, found.bad, Circumstances(is_created=False)),
    ) or found.options
