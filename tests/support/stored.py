"""A ConfigMap of the product without an API server, for what reads and writes it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from actuators.http.errors import ApiError


@dataclass
class Stored:
    """The ConfigMap, and what was asked of it."""

    data: Mapping[str, str] | None = field(default_factory=dict)
    trouble: ApiError | None = None
    asked: list[str] = field(default_factory=list)

    def read(self) -> Mapping[str, str] | None:
        """What is there."""
        self.ask("read")
        return self.data

    def write(self, values: Mapping[str, str | None]) -> None:
        """Something else is there."""
        self.ask("write")
        self.data = {**(self.data or {}), **{key: text for key, text in values.items() if text is not None}}

    def ask(self, what: str) -> None:
        """Note what was asked. Raises the trouble that there is."""
        self.asked.append(what)
        if self.trouble is not None:
            raise self.trouble
