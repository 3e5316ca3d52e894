"""YAML and JSON as people write them: the documents of a text, and values that should be texts."""

import json
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

import yaml
from yaml.constructor import ConstructorError
from yaml.reader import ReaderError

from desired.annotations.options import BadAnnotation

KINDS: Mapping[type, str] = MappingProxyType(
    {
        type(None): "nothing",
        bool: "a boolean",
        int: "a number",
        float: "a number",
        list: "a list",
        set: "a set",
        dict: "a mapping",
        bytes: "binary data",
    }
)
"""Type of a value in YAML → the word for it. Others are dates and times."""
_WIDEST = 80
"""Characters of a value that a remedy repeats."""
_MOST_MERGED = 200_000
"""Entries that the merge keys (``<<``) of a document may copy. Each may copy all that came before."""
_MOST_BITS = 64
"""Of a number that is written out: one of YAML may have millions of digits."""


class NotManifests(Exception):
    """The text, or the rest of it, is neither YAML nor JSON. ``document`` is the first one that is missing."""

    def __init__(self, document: int, why: str) -> None:
        super().__init__(why)
        self.document = document


def documents(text: bytes | str) -> Iterator[tuple[int, Any]]:
    """The documents with their numbers, from 1. Containers may be shared and contain themselves, as aliases do.

    Raises NotManifests where the text ends to be readable; what came before has been yielded then.
    """
    begin = text.lstrip()[:1]
    if begin in (b"{", b"[", "{", "["):
        try:
            yield 1, json.loads(text)
        except (ValueError, RecursionError):
            pass  # flow style is YAML too, and YAML's complaint has the better words
        else:
            return
    number = 1
    try:
        for document in yaml.load_all(text, _Loader):
            yield number, document
            number += 1
    except yaml.YAMLError as error:
        is_template = b"{{" in text if isinstance(text, bytes) else "{{" in text
        remedy = "; render the template first, as with helm template" if is_template else ""
        raise NotManifests(number, f"{_complaint(error)}{remedy}") from error
    except RecursionError as error:
        raise NotManifests(number, "cannot be read as YAML: it is nested too deeply") from error
    except (ValueError, TypeError, LookupError, AttributeError) as error:  # what a tag says and its value is not
        raise NotManifests(number, f"cannot be read as YAML: {_bad_value(error)}") from error


def text_of(key: str, value: object) -> tuple[str | None, BadAnnotation | None]:
    """The value of an annotation as it would be in quotes, None where it would have none; and what is wrong with it
    when it is no text, which is all that the API server takes."""
    if isinstance(value, str):
        return value, None
    what = KINDS.get(type(value), "a time")
    if isinstance(value, list | dict | set | tuple):
        return None, BadAnnotation(key, f"{key} is {what} and no text: write one text in quotes")
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        return None, BadAnnotation(key, f"{key} is {what} and no text: put it in quotes")
    text = "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
    problem = BadAnnotation(key, f'{key} is {what} and no text: put it in quotes, as in "{text[:_WIDEST]}"')
    return (text if isinstance(value, bool | int | float) else None), problem


class _Loader(yaml.SafeLoader):  # libyaml would be faster, and dies of too much depth
    """Reads what is harmless, and no document that merge keys blow up beyond all measure."""

    _merged = 0

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """Merges as YAML 1.1 says. Raises ConstructorError when it is too much."""
        for key, value in node.value:
            if key.tag == "tag:yaml.org,2002:merge":
                for merged in value.value if isinstance(value, yaml.SequenceNode) else (value,):
                    if isinstance(merged, yaml.MappingNode):
                        self.flatten_mapping(merged)
                        self._merged += len(merged.value)
                    if self._merged > _MOST_MERGED:
                        raise ConstructorError(None, None, "its merge keys (<<) copy too much", node.start_mark)
        super().flatten_mapping(node)


def _bad_value(error: Exception) -> str:
    """What is wrong with a value: what the calendar says of a date has words for people, other complaints have not."""
    is_date = isinstance(error, ValueError) and "literal" not in str(error) and "convert" not in str(error)
    return str(error) if is_date else "a value is not what its tag says"


def _complaint(error: yaml.YAMLError) -> str:
    if isinstance(error, ReaderError):
        return "cannot be read as YAML: it has bytes or characters that are no text in UTF-8"
    mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
    if problem == "found unhashable key":
        problem = "a key is a list or a mapping, as in a template that is not rendered"
    if mark is None or not problem:
        return f"cannot be read as YAML: {' '.join(str(error).split())}"
    return f"cannot be read as YAML: line {mark.line + 1}, column {mark.column + 1}: {problem}"
