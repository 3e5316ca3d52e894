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


class Body:
    """The fields of a request. Each getter raises ``invalid_input`` for a wrong value; null counts as left out.

    Where a getter takes a ``default``, None means that the field is required.
    """

    def __init__(self, fields: dict[str, Any], where: str = "") -> None:
        self._fields = fields
        self._where = where

    @classmethod
    def of(cls, request: Request) -> "Body":
        """The request's body; none at all counts as ``{}``. Raises ``json_error``."""
        try:
            fields = json.loads(request.body) if request.body.strip() else {}
        except (ValueError, RecursionError):
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

    def require(self, *names: str) -> "Body":
        """This body; raises ``invalid_input`` for the first field that was not sent, or sent as null."""
        for name in names:
            if not self.has(name):
                raise self.wrong(name, "is missing")
        return self

    def text(self, name: str, lengths: range | None = None, default: str | None = None) -> str:
        """A text of an allowed length."""
        return self._or_default(name, self.optional_text(name, lengths), default)

    def optional_text(self, name: str, lengths: range | None = None) -> str | None:
        """The same; None when left out."""
        value = self._typed(name, str, "must be a string")
        if value is not None and lengths is not None and len(value) not in lengths:
            raise self.wrong(name, f"must have {lengths.start} to {lengths.stop - 1} characters")
        return value

    def choice(self, name: str, options: Sequence[str], default: str | None = None) -> str:
        """One of the options."""
        value = self.optional_text(name)
        if value is not None and value not in options:
            raise self.wrong(name, known(options))
        return self._or_default(name, value, default)

    def id_or_name(self, name: str) -> str | None:
        """A text or a number, as text; None when left out."""
        value = self._fields.get(name)
        if isinstance(value, bool) or not isinstance(value, str | int | None):
            raise self.wrong(name, "must be an ID or a name")
        return None if value is None else str(value)

    def integer(self, name: str, allowed: range | None = None, default: int | None = None) -> int:
        """A whole number that is allowed."""
        value = self.optional_integer(name)
        if value is not None and allowed is not None and value not in allowed:
            raise self.wrong(name, f"must be from {allowed.start} to {allowed.stop - 1}")
        return self._or_default(name, value, default)

    def optional_integer(self, name: str) -> int | None:
        """A whole number; None when left out."""
        return self._typed(name, int, "must be an integer")

    def address(self, name: str) -> str:
        """A required IP address in its usual spelling."""
        try:
            return str(ip_address(self.text(name)))
        except ValueError:
            raise self.wrong(name, "must be an IP address") from None

    def boolean(self, name: str, *, default: bool = False) -> bool:
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
        return [str(value) for value in self._list(name, (str, int), "must be a list of IDs and names")]

    def objects(self, name: str) -> list["Body"]:
        """A list of objects, empty when left out."""
        listed = self._list(name, dict, "must be a list of objects")
        return [Body(fields, f"{self._where}{name}.") for fields in listed]

    def object(self, name: str) -> "Body":
        """A nested object, empty when left out."""
        return Body(self._typed(name, dict, "must be an object") or {}, f"{self._where}{name}.")

    def labels(self) -> dict[str, str]:
        """The labels, empty when left out."""
        return check_labels(self._fields["labels"]) if self.has("labels") else {}

    def wrong(self, name: str, problem: str) -> ApiError:
        """``invalid_input`` about a field of this body, to be raised."""
        return invalid_field(self._where + name, problem)

    def _or_default(self, name: str, value: T | None, default: T | None) -> T:
        if value is None and default is None:
            raise self.wrong(name, "is missing")
        chosen: Any = default if value is None else value
        found: T = chosen
        return found

    def _typed(self, name: str, kind: type[T], problem: str) -> T | None:
        value = self._fields.get(name)
        if value is not None and not _is_a(value, kind):
            raise self.wrong(name, problem)
        return value

    def _list(self, name: str, kind: type | tuple[type, ...], problem: str) -> list[Any]:
        values: list[Any] = self._typed(name, list, problem) or []
        if not all(_is_a(value, kind) for value in values):
            raise self.wrong(name, problem)
        return values


def _is_a(value: Any, kind: type | tuple[type, ...]) -> bool:
    """``isinstance``, but a truth value is no number."""
    return isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
