"""A ConfigMap of the product without an API server, for what reads and writes it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from actuators.http.errors import ApiError
from reconciler.passes.keeper import ConfigMap


@dataclass
class Stored:
    data: Mapping[str, str] | None = field(default_factory=dict)
    trouble: ApiError | None = None
    asked: list[str] = field(default_factory=list)

    def read(self) -> Mapping[str, str] | None:
        self.ask("read")
        return self.data

    def write(self, values: Mapping[str, str | None]) -> None:
        self.ask("take away" if set(values.values()) == {None} else "write")
        there = {**(self.data or {}), **values}
        self.data = {key: text for key, text in there.items() if text is not None}

    def config_map(self, by: str = "ccm-0", *, writes: bool = True) -> ConfigMap:
        """It, as a process with this name sees it."""
        return ConfigMap("hcloud-reconciler", self.read, self.write if writes else None, by)

    def ask(self, what: str) -> None:
        """Note what was asked. Raises the trouble that there is."""
        self.asked.append(what)
        if self.trouble is not None:
            raise self.trouble
