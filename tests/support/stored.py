"""A ConfigMap of the product without an API server, for what reads and writes it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from actuators.config_maps import ConfigMap
from actuators.http.errors import ApiError, NotFound


@dataclass
class Stored:
    data: Mapping[str, str] | None = field(default_factory=dict)
    trouble: ApiError | None = None
    asked: list[str] = field(default_factory=list)

    def read(self) -> Mapping[str, str] | None:
        self.ask("read")
        return self.data

    def change(self, choose: Callable[[Mapping[str, str]], Mapping[str, str | None]], *, creates: bool = False) -> None:
        data = self.read()
        if data is None and not creates:
            raise NotFound("ConfigMap is not there")
        if values := choose(data or {}):
            self.ask("write")
            there = {**(data or {}), **values}
            self.data = {key: text for key, text in there.items() if text is not None}

    def config_map(self, by: str = "ccm-0", *, writes: bool = True) -> ConfigMap:
        """It, as a process with this name sees it."""
        return ConfigMap(self.read, self.change if writes else None, by)

    def ask(self, what: str) -> None:
        """Note what was asked. Raises the trouble that there is."""
        self.asked.append(what)
        if self.trouble is not None:
            raise self.trouble
