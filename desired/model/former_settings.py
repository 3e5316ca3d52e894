"""Former settings: what decided on plans when a pass last ended well, by the names of flags and variables.

No secret is among them. Any client that may write into the ConfigMap can have changes held, or a hold left out that the
same person may approve. A value that we would not write is not remembered; a name that this version does not know is
kept as it is.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from ipaddress import IPv4Network
from typing import Any, NamedTuple, get_type_hints

from desired.annotations.grammars import Grammar, ValueKind
from desired.annotations.options import VARIABLES, Options, defaults_of, variables_of
from desired.model.clocks import parse_moment
from desired.model.record import Format
from desired.model.settings import DECIDING, AddressFamily, Controller, Settings
from desired.section import UNMANAGED
from desired.syntax.selector import Selector, parse_selector

Value = bool | int | str | None
"""Of one setting; None when it is not set."""
NETWORK, _ROUTES = DECIDING["network"], DECIDING["routes"]
_LONGEST_VALUE = 4096
_MOST = 100
_LARGEST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class PendingChange:
    """Settings that differ from the former ones, and wait for what follows from that to be done."""

    values: Mapping[str, Value]
    """Name → the new value."""
    since: datetime
    """When a pass met them first."""
    accepted: bool = False
    """Whether a person has approved what follows."""


@dataclass(frozen=True, slots=True)
class FormerSettings:
    """The settings with which a pass last ended well."""

    values: Mapping[str, Value]
    """Name → value, also of names that this version does not know."""
    network_id: int | None
    """Id of the network that ``HCLOUD_NETWORK`` named; None when it named none."""
    tool_version: str
    change: PendingChange | None = None
    """What differs by now, as far as a pass has noted it."""

    def differing(self, settings: Settings) -> Mapping[str, tuple[Value, Value]]:
        """Name → former and present value of what differs, but for what decides for parts alone that are off: nothing
        follows from it now. A network that comes or goes switches routes as well: that is one difference."""
        now = values_of(settings)
        both = {name: (self.values[name], value) for name, value in now.items() if name in self.values}
        found = {name: pair for name, pair in both.items() if pair[0] != pair[1]}
        if None in found.get(NETWORK, ()):
            found.pop(_ROUTES, None)
        return found

    def under(self, settings: Settings) -> Settings:
        """``settings`` as they were. What is not remembered is as it is now."""
        former, defaults = settings, {**_defaults(settings.balancer_defaults)}
        for name, value in self.values.items():
            if name in _BY_NAME:
                former = replace(former, **{_BY_NAME[name]: _FORM_OF[_BY_NAME[name]].read(value)})
            elif name in VARIABLES:
                defaults[name] = value
        return replace(former, balancer_defaults=defaults_of(defaults))


_BY_NAME = {name: field for field, name in DECIDING.items()}


def _bool(value: Value) -> bool:
    if value is True or value is False:
        return value
    raise ValueError(f"{value!r} is no boolean")


def _text(value: Value) -> str:
    if not isinstance(value, str) or not value.isprintable() or len(value) > _LONGEST_VALUE:
        raise ValueError("it is no text in one line")
    return value


class _Form(NamedTuple):
    """How values of one type are remembered."""

    write: Callable[[Any], Value]
    read: Callable[[Value], Any]
    """Raises ValueError."""


def _or_none(write: Callable[[Any], Value], read: Callable[[str], Any]) -> _Form:
    return _Form(
        lambda value: None if value is None else write(value),
        lambda value: None if value is None else read(_text(value)),
    )


_FORMS: Mapping[Any, _Form] = {
    bool: _Form(bool, _bool),
    str | None: _or_none(str, str),
    AddressFamily: _Form(str, lambda value: AddressFamily(_text(value))),
    IPv4Network | None: _or_none(str, IPv4Network),
    Selector | None: _or_none(lambda selector: selector.text, parse_selector),
    frozenset[Controller]: _Form(
        lambda controllers: ",".join(sorted(controllers)),
        lambda value: frozenset(map(Controller, filter(None, _text(value).split(",")))),
    ),
}
"""Type of a setting that decides → its form."""
_FORM_OF: Mapping[str, _Form] = {
    field: _FORMS[kind] for field, kind in get_type_hints(Settings).items() if field in DECIDING
}


def values_of(settings: Settings) -> Mapping[str, Value]:
    """Name → value of each setting that decides on a plan. What decides for a part alone that is off is not among
    them: what it did before stays as it is, and is compared when the part is on again."""
    values: dict[str, Value] = {
        name: _FORM_OF[field].write(getattr(settings, field))
        for field, name in DECIDING.items()
        if field != "cluster_cidr" or Controller.ROUTE in settings.controllers
    }
    defaults = _defaults(settings.balancer_defaults) if Controller.SERVICE in settings.controllers else {}
    return {**values, **defaults}


def _defaults(defaults: Options) -> Mapping[str, Value]:
    return {variable: _plain(value) for variable, value in variables_of(defaults).items()}


def _plain(value: object) -> Value:
    """A default as JSON has it."""
    if isinstance(value, bool | int):
        return value
    return None if value is UNMANAGED else str(value)


def shown_setting(name: str, value: Value) -> str:
    """A value as people write it."""
    if value is None or value == "":
        return "(unset)"
    if isinstance(value, bool):
        return str(value).lower()
    is_time = name in VARIABLES and VARIABLES[name].grammar.kind is ValueKind.DURATION
    return f"{value}s" if is_time else str(value)


def _fields(former: FormerSettings) -> Mapping[str, object]:
    change = former.change
    return {
        "tool_version": former.tool_version,
        "network_id": former.network_id,
        "settings": dict(former.values),
        "change": None
        if change is None
        else {"settings": dict(change.values), "since": change.since.isoformat(), "accepted": change.accepted},
    }


def _former(fields: Mapping[str, Any]) -> FormerSettings:
    network_id, change = fields["network_id"], fields.get("change")
    if network_id is not None and not (type(network_id) is int and 0 < network_id <= _LARGEST):
        raise ValueError(f"{network_id!r} is no id")
    return FormerSettings(
        dict(_checked(fields["settings"])),
        network_id,
        _text(fields["tool_version"]),
        None if change is None else _pending(change),
    )


def _pending(fields: Mapping[str, Any]) -> PendingChange:
    since = parse_moment(_text(fields["since"]))
    return PendingChange(dict(_checked(fields["settings"])), since, _bool(fields["accepted"]))


def _checked(values: Mapping[str, Any]) -> Iterator[tuple[str, Value]]:
    """The values that can be what they are of; of a name that is not known any plain one. Raises ValueError."""
    if len(values) > _MOST:
        raise ValueError("there are more settings than any version has")
    for name, value in values.items():
        try:
            if name in _BY_NAME:
                _FORM_OF[_BY_NAME[name]].read(value)
            elif name in VARIABLES:
                _check_default(VARIABLES[name].grammar, value)
            elif value is not None and not isinstance(value, bool | int):
                _text(value)
        except ValueError:
            continue
        yield _text(name), value


def _check_default(grammar: Grammar[Any], value: Any) -> None:
    """Raises ValueError for what a default of this grammar never is."""
    match grammar.kind:
        case _ if value is None:
            return
        case ValueKind.BOOLEAN:
            _bool(value)
        case ValueKind.DURATION | ValueKind.NUMBER:
            if type(value) is not int or not 0 <= value <= _LARGEST:
                raise ValueError(f"{value!r} is no number")
        case ValueKind.TEXT:
            grammar.read(_text(value))


SETTINGS = Format("settings", 65_536, _fields, _former)
