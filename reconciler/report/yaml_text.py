"""YAML of the documents that there are in JSON. Imported only where it is asked for.

Every reader decodes it to the same, be it of YAML 1.1 or 1.2, and it cannot control a terminal: a text that is more
than a plain word stands in quotes, and what is not ASCII is an escape.
"""

import re
from typing import TYPE_CHECKING

import yaml

if TYPE_CHECKING:
    from yaml import SafeDumper as _Base
else:  # the one that is written in C is not in every build, and the other takes ten times as long
    _Base = getattr(yaml, "CSafeDumper", yaml.SafeDumper)

_UNBROKEN = 1 << 30
"""A width at which no line is broken."""
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:[-./][A-Za-z0-9_]+)*")
_OTHERS = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf"})
"""Words that some reader takes for no text, in lower case."""


class _Dumper(_Base):
    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002 - a value that occurs twice is written twice
        return True


def _represent(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    is_plain = _PLAIN.fullmatch(text) is not None and text.lower() not in _OTHERS
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=None if is_plain else '"')


_Dumper.add_representer(str, _represent)


def yaml_text(value: object, *, is_one_of_many: bool = False) -> str:
    """Values of JSON as one YAML document, behind the mark of its beginning when it ``is_one_of_many``."""
    text: str = yaml.dump(value, Dumper=_Dumper, sort_keys=False, width=_UNBROKEN, explicit_start=is_one_of_many)
    return text
