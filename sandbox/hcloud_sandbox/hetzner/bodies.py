"""Request bodies: typed access to the fields of a JSON object, with the API's errors.

Known differences: which of several wrong fields the real service names first is not known; here it is the first that
the handler asks for.
"""

import json
from collections.abc import Sequence
from ipaddress import ip_address
from typing import Any, TypeVar

from hcloud_sandbox.exchange import Request
from hcloud_sandbox.hetzner.errors import ApiError, invalid_field, known
from hcloud_sandbox.hetzner.selectors import check_labels

T = TypeVar("T")
_MISSING = "is missing"


class Body:
    """The fields of a request. Each getter raises ``invalid_input`` for a wrong type; null counts as left out."""

    def __init__(self, fields: dict[str, Any], where: str = "") -> None:
        self._fields = fields
        self._where = where

    @classmethod
    def of(cls, request: Request) -> "Body":
        """The request's body; none at all counts as ``{}``. Raises ``json_error``."""
        try:
            fields = json.loads(request.body) if request.body.strip() else {}
        except ValueError:
            raise ApiError("json_error", "invalid JSON input in your request") from None
        if not isinstance(fields, dict):
            raise ApiError("json_error", "the request body must be a JSON object")
        return cls(fields)

    def only(self, *known: str) -> "Body":
        """This body, when it has no other fields. For requests whose schema allows no additional properties."""
        for name in self._fields:
            if name not in known:
                raise self.wrong(name, "unknown field")
        return self

    def has(self, name: str) -> bool:
        """Whether the field was sent, and not as null."""
        return self._fields.get(name) is not None

    def sent(self, name: str) -> bool:
        """Whether the field was sent, be it as null."""
        return name in self._fields

    def text(self, name: str) -> str:
        """A required text."""
        return self._required(name, str, "must be a string")

    def optional_text(self, name: str) -> str | None:
        """A text or None."""
        return self._typed(name, str, "must be a string")

    def id_or_name(self, name: str) -> str | None:
        """A text or a number, as text; None when left out."""
        value = self._fields.get(name)
        if isinstance(value, bool) or not isinstance(value, str | int | None):
            raise self.wrong(name, "must be an ID or a name")
        return None if value is None else str(value)

    def integer(self, name: str) -> int:
        """A required whole number."""
        return self._required(name, int, "must be an integer")

    def number(self, name: str, allowed: range, default: int | None) -> int:
        """A whole number that is allowed, or the default when left out; without a default it is required."""
        value = self._typed(name, int, "must be an integer")
        if value is None:
            return self.integer(name) if default is None else default
        if value not in allowed:
            raise self.wrong(name, f"must be from {allowed.start} to {allowed.stop - 1}")
        return value

    def limited_text(self, name: str, lengths: range, default: str | None) -> str:
        """A text of an allowed length, or the default when left out; without a default it is required."""
        value = self._typed(name, str, "must be a string")
        if value is None:
            return self.text(name) if default is None else default
        if len(value) not in lengths:
            raise self.wrong(name, f"must have {lengths.start} to {lengths.stop - 1} characters")
        return value

    def choice(self, name: str, options: Sequence[str], default: str | None) -> str:
        """One of the options, or the default when left out; without a default it is required."""
        value = self._typed(name, str, "must be a string")
        if value is None:
            return self.text(name) if default is None else default
        if value not in options:
            raise self.wrong(name, known(options))
        return value

    def address(self, name: str) -> str:
        """A required IP address in its usual spelling."""
        try:
            return str(ip_address(self.text(name)))
        except ValueError:
            raise self.wrong(name, "must be an IP address") from None

    def boolean(self, name: str, default: bool) -> bool:
        """A truth value, or the default when left out."""
        value = self._typed(name, bool, "must be a boolean")
        return default if value is None else value

    def integers(self, name: str) -> list[int]:
        """A list of whole numbers, empty when left out."""
        return self._list(name, int, "must be a list of integers")

    def texts(self, name: str) -> list[str]:
        """A list of texts, empty when left out."""
        return self._list(name, str, "must be a list of strings")

    def ids_or_names(self, name: str) -> list[str]:
        """A list of texts and numbers, as texts; empty when left out."""
        values: list[Any] = self._typed(name, list, "must be a list") or []
        if not all(_is_a(value, str) or _is_a(value, int) for value in values):
            raise self.wrong(name, "must be a list of IDs and names")
        return [str(value) for value in values]

    def objects(self, name: str) -> list["Body"]:
        """A list of objects, empty when left out."""
        listed = self._list(name, dict, "must be a list of objects")
        return [Body(fields, f"{self._where}{name}.") for fields in listed]

    def object(self, name: str) -> "Body":
        """A nested object, empty when left out."""
        return Body(self._typed(name, dict, "must be an object") or {}, f"{self._where}{name}.")

    def wrong(self, name: str, problem: str) -> ApiError:
        """``invalid_input`` about a field of this body, to be raised."""
        return invalid_field(self._where + name, problem)

    def labels(self) -> dict[str, str] | None:
        """The labels; None when left out."""
        return check_labels(self._fields["labels"]) if self.has("labels") else None

    def _required(self, name: str, kind: type[T], problem: str) -> T:
        value = self._typed(name, kind, problem)
        if value is None:
            raise self.wrong(name, _MISSING)
        return value

    def _typed(self, name: str, kind: type[T], problem: str) -> T | None:
        value = self._fields.get(name)
        if value is not None and not _is_a(value, kind):
            raise self.wrong(name, problem)
        return value

    def _list(self, name: str, kind: type[T], problem: str) -> list[T]:
        values: list[Any] = self._typed(name, list, problem) or []
        if not all(_is_a(value, kind) for value in values):
            raise self.wrong(name, problem)
        return values


def _is_a(value: Any, kind: type) -> bool:
    """``isinstance``, but a truth value is no number."""
    return isinstance(value, kind) and not (kind is int and isinstance(value, bool))
