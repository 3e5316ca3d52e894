"""Label selectors in Kubernetes' grammar: what ``kubectl -l`` takes (``labels.Parse`` of k8s.io/apimachinery)."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import assert_never

from desired.syntax import bounds
from desired.syntax.bounds import shown_text

_NAME = r"[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
_DOMAIN = r"(?=[-a-z0-9.]{1,253}/)[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*"
_KEY = rf"(?:{_DOMAIN}/)?{_NAME}"
_LABEL_KEY = re.compile(_KEY, re.ASCII)
_LABEL_VALUE = re.compile(rf"(?:{_NAME})?", re.ASCII)
_IN = re.compile(rf"(?P<key>{_KEY})\s+(?P<word>in|notin)\s*\((?P<values>[^()]*)\)", re.ASCII)
_EQUALS = re.compile(rf"(?P<key>{_KEY})\s*(?P<sign>==|=|!=)\s*(?P<value>[^\s,=!()]*)", re.ASCII)
_COMPARES = re.compile(rf"(?P<key>{_KEY})\s*(?P<sign>[<>])\s*(?P<value>[^\s,=!()<>]*)", re.ASCII)
_EXISTS = re.compile(rf"(?P<absent>!?)\s*(?P<key>{_KEY})", re.ASCII)
_VALUES_OR_COMMA = re.compile(r"\([^()]*+\)|,")
_INTEGER = re.compile(r"[0-9]{1,63}", re.ASCII)
"""What of a label's value can be a number: such a value has no sign in front."""
_LARGEST = 2**63 - 1


def is_label_key(text: str) -> bool:
    """Whether the API server takes ``text`` as a label's key."""
    return not bounds.LONGEST_LABEL_KEY.is_exceeded(text) and _LABEL_KEY.fullmatch(text) is not None


def is_label_value(text: str) -> bool:
    """Whether the API server takes ``text`` as a label's value: at most 63 characters, alphanumeric at both ends."""
    return not bounds.LONGEST_LABEL_VALUE.is_exceeded(text) and _LABEL_VALUE.fullmatch(text) is not None


class Operator(Enum):
    """Operator of a requirement on a label. As in Kubernetes, the negative ones hold when the key is missing, and
    comparisons hold only of integers."""

    IN = "in"
    NOT_IN = "notin"
    EXISTS = "exists"
    MISSING = "!"
    GREATER = ">"
    LESS = "<"


@dataclass(frozen=True, slots=True)
class Requirement:
    """One condition on one label. ``values`` is empty for EXISTS and MISSING, and one integer for GREATER and LESS."""

    key: str
    operator: Operator
    values: frozenset[str] = frozenset()

    def holds(self, labels: Mapping[str, str]) -> bool:
        """Whether these labels meet it."""
        match self.operator:
            case Operator.IN:
                return labels.get(self.key) in self.values
            case Operator.NOT_IN:
                return labels.get(self.key) not in self.values
            case Operator.EXISTS:
                return self.key in labels
            case Operator.MISSING:
                return self.key not in labels
            case Operator.GREATER | Operator.LESS:
                return self._compares(_integer(labels.get(self.key, "")))
            case _:
                assert_never(self.operator)

    def _compares(self, found: int | None) -> bool:
        (bound,) = map(int, self.values)
        if found is None:
            return False
        return found > bound if self.operator is Operator.GREATER else found < bound


@dataclass(frozen=True, slots=True)
class Selector:
    """Requirements that all have to hold. ``text`` is what a person wrote."""

    text: str
    requirements: tuple[Requirement, ...]

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether it selects an object with these labels."""
        for requirement in self.requirements:  # noqa: SIM110 - asked of thousands of Nodes: a generator costs more
            if not requirement.holds(labels):
                return False
        return True


def parse_selector(text: str) -> Selector:
    """The selector that ``text`` means: requirements separated by commas, at least one.

    Raises ValueError that names the part which is none. An empty text would select everything, and is refused; so is
    one that asks more of each Node than is ever meant.
    """
    bounds.LONGEST_SELECTOR.check(text)
    parts = tuple(_parts(text))
    if len(parts) > bounds.MOST_SELECTOR_PARTS:
        many = f"{len(parts)} requirements"
        raise ValueError(f"a label selector has at most {bounds.MOST_SELECTOR_PARTS} requirements, and this has {many}")
    return Selector(text, tuple(map(_requirement, parts)))


def _parts(text: str) -> Iterator[str]:
    """The texts between the commas that are in no parentheses."""
    start = 0
    for found in _VALUES_OR_COMMA.finditer(text):
        if found[0] == ",":
            yield text[start : found.start()].strip()
            start = found.end()
    yield text[start:].strip()


def _requirement(part: str) -> Requirement:
    if found := _IN.fullmatch(part):
        values = frozenset(value.strip() for value in found["values"].split(","))
        return _checked(part, Requirement(found["key"], Operator(found["word"]), values))
    if found := _EQUALS.fullmatch(part):
        operator = Operator.NOT_IN if found["sign"] == "!=" else Operator.IN
        return _checked(part, Requirement(found["key"], operator, frozenset({found["value"]})))
    if found := _COMPARES.fullmatch(part):
        compared = _checked(part, Requirement(found["key"], Operator(found["sign"]), frozenset({found["value"]})))
        if _integer(found["value"]) is None:
            raise ValueError(f"{shown_text(part)}: {shown_text(found['value'])} is no integer of 64 bits")
        return compared
    if found := _EXISTS.fullmatch(part):
        return Requirement(found["key"], Operator.MISSING if found["absent"] else Operator.EXISTS)
    expected = "expect key, !key, key=value, key!=value, key in (a,b), key>1"
    raise ValueError(f"{shown_text(part)} is no requirement: {expected}")


def _integer(value: str) -> int | None:
    """The number that a label's value is; None when it is none that Kubernetes would compare (strconv.ParseInt)."""
    number = int(value) if _INTEGER.fullmatch(value) else None
    return None if number is None or number > _LARGEST else number


def _checked(part: str, requirement: Requirement) -> Requirement:
    wrong = sorted(value for value in requirement.values if not is_label_value(value))
    if wrong:
        raise ValueError(f"{shown_text(part)}: {shown_text(wrong[0])} can be no label's value")
    return requirement
