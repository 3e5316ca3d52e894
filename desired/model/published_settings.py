"""Settings that decide on plans, as texts in the published status. They are shown, ``apply FILE`` takes those of a
saved plan if the same are published, and a laptop takes them for those that it lacks. They decide nothing else.

No secret is among them. Any client that may write into the ConfigMap can have a change told that there was not.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from desired.annotations.grammars import ValueKind
from desired.annotations.options import VARIABLES, variables_of
from desired.model.clocks import shown_moment
from desired.model.settings import DECIDING, Controller, Settings
from desired.section import Unmanaged
from desired.syntax.selector import Selector

TOLD_FOR = timedelta(days=1)
"""How long former values stay beside the others."""
_NETWORK, _ROUTES = DECIDING["network"], DECIDING["routes"]
_LONGEST_VALUE = 4096
_MOST = 100


@dataclass(frozen=True, slots=True)
class PublishedSettings:
    """The settings of the last pass."""

    values: Mapping[str, str] = field(default_factory=dict)
    """Name of the flag or variable → its value as people write it; "" if it is not set."""
    former: Mapping[str, str] = field(default_factory=dict)
    """The former values of the last change."""
    since: datetime | None = None
    """When a pass met that change first; None without one."""

    def followed_by(self, values: Mapping[str, str], now: datetime) -> "PublishedSettings":
        """The same once a pass has these ``values``: former values stand beside them for a day."""
        was = {name: self.values[name] for name in values if self.values.get(name, values[name]) != values[name]}
        if _NETWORK in was and "" in (was[_NETWORK], values[_NETWORK]):
            was.pop(_ROUTES, None)  # a network that comes or goes takes them along
        if was:
            return PublishedSettings(values, was, now)
        is_old = self.since is None or abs(now - self.since) > TOLD_FOR
        return PublishedSettings(values) if is_old else replace(self, values=values)

    @property
    def is_plain(self) -> bool:
        """Whether it has no more than any version writes, and each text is one line."""
        texts = [text for each in (self.values, self.former) for pair in each.items() for text in pair]
        is_text = all(len(text) <= _LONGEST_VALUE and text.isprintable() for text in texts)
        return is_text and max(len(self.values), len(self.former)) <= _MOST

    @property
    def says(self) -> str:
        """The last change, ``HCLOUD_NETWORK k3s -> (unset), since 2026-11-27 15:40 UTC``; "" without one."""
        if self.since is None or not self.former:
            return ""
        pairs = (
            f"{name} {_said(was)} -> {_said(self.values.get(name, ''))}" for name, was in sorted(self.former.items())
        )
        return f"{', '.join(pairs)}, since {shown_moment(self.since)}"


NO_SETTINGS = PublishedSettings()
"""Those of a status without any."""


def _said(text: str) -> str:
    return text or "(unset)"


def texts_of(settings: Settings) -> Mapping[str, str]:
    """Name → value of each setting that decides on a plan, "" for one that is not set. The defaults of load balancers
    are not among them while these are left alone."""
    values = {name: text_of(getattr(settings, field)) for field, name in DECIDING.items()}
    if Controller.SERVICE not in settings.controllers:
        return values
    defaults = variables_of(settings.balancer_defaults)
    times = {name for name in defaults if VARIABLES[name].grammar.kind is ValueKind.DURATION}
    texts = {name: text_of(value) for name, value in defaults.items()}
    return values | {name: f"{text}s" if text and name in times else text for name, text in texts.items()}


def text_of(value: object) -> str:
    """The value as people write it, in one line; "" if it is not set."""
    match value:
        case None | Unmanaged():
            return ""
        case bool():
            return str(value).lower()
        case Selector():
            return _in_one_line(value.text)
        case frozenset():
            return ",".join(sorted(map(str, value)))
    return _in_one_line(str(value))


def _in_one_line(text: str) -> str:
    return " ".join(text.split())[:_LONGEST_VALUE]
