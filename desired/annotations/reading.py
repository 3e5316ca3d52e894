"""Reading of the annotations of a Service: each by itself, then with the defaults of the environment.

What a port asks for is what the Service does, with the annotations of that port laid over (``port_keys``).
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, NamedTuple

from desired.annotations.choices import Protocol
from desired.annotations.options import OF_PORTS, OPTIONS, BadAnnotation, Options, is_set
from desired.annotations.port_keys import port_key, read_port_keys
from desired.syntax.bounds import shown_text


class Spoken(NamedTuple):
    """The protocols of a port that exists, as annotations name them."""

    port: Protocol
    check: Protocol
    """Of its health check."""


class Origin(StrEnum):
    """Origin of the value of an option."""

    ANNOTATION = "annotation"
    ENVIRONMENT = "environment"
    UNSET = "unset"


@dataclass(frozen=True, slots=True)
class ReadAnnotations:
    """The annotations of one Service, each read once; what the environment says comes later (``with_defaults``)."""

    values: Mapping[str, Any]
    """Field of ``Options`` → value."""
    bad: Mapping[str, BadAnnotation]
    """Field → the reason why its annotation cannot be read."""
    unset: frozenset[str]
    """Fields whose annotation is there and empty, which beats the environment."""
    ports: Mapping[int, "ReadAnnotations"] = field(default_factory=dict)
    """Port → the same with its own annotations, of each port that has some; whether the Service has that port is not
    known here."""
    own: frozenset[str] = frozenset()
    """Fields that annotations of the port itself set; none of the Service."""
    wrong_keys: tuple[BadAnnotation, ...] = ()
    """Why some keys are none of a port, though they look like it."""


def read_annotations(annotations: Mapping[str, str]) -> ReadAnnotations:
    """The annotations of the table with their values, or why they have none. Never raises."""
    whole = _read({name: text for name, row in OPTIONS.items() if (text := annotations.get(row.full_key)) is not None})
    texts, wrong_keys = read_port_keys(annotations)
    ports = {port: _laid_over(whole, _read(own, port)) for port, own in texts.items()}
    return replace(whole, ports=ports, wrong_keys=wrong_keys)


def _read(texts: Mapping[str, str], port: int | None = None) -> ReadAnnotations:
    """Field → text, of the Service or of one port."""
    values: dict[str, Any] = {}
    bad: dict[str, BadAnnotation] = {}
    unset: set[str] = set()
    for name, text in texts.items():
        row = OPTIONS[name]
        if row.clears and not text:
            unset.add(name)
            continue
        try:
            values[name] = row.grammar.parse(text)
        except ValueError as error:
            key = row.full_key if port is None else port_key(port, name)
            why = f"{error}; correct it, or remove it"
            bad[name] = BadAnnotation(key, f"{key} is {shown_text(text)}: {why}", port)
    return ReadAnnotations(values, bad, frozenset(unset), own=frozenset() if port is None else frozenset(texts))


def _laid_over(whole: ReadAnnotations, port: ReadAnnotations) -> ReadAnnotations:
    """What a port asks for."""
    values = {name: value for name, value in whole.values.items() if name not in port.own}
    bad = {name: why for name, why in whole.bad.items() if name not in port.own}
    return replace(port, values={**values, **port.values}, bad={**bad, **port.bad}, unset=whole.unset)


@dataclass(frozen=True, slots=True)
class Requested:
    """What a Service asks of its load balancer, with the environment's defaults: decided once, and only read later."""

    options: Options
    """What cannot be read is in it as if nothing set it. Those of ports may have other ones: see ``of_port``."""
    origins: Mapping[str, Origin] = field(default_factory=dict)
    """Name of each option that something sets → what its value comes from. An annotation, even an empty one, beats the
    environment."""
    bad: Mapping[str, BadAnnotation] = field(default_factory=dict)
    """Name of an option → why its value cannot be read."""
    ports: Mapping[int, "Requested"] = field(default_factory=dict)
    """Port → what it asks for, of those ports of the Service that have annotations of their own."""
    has_plain_ports: bool = True
    """Whether some port asks for what the Service does, or there is none at all."""
    port: int | None = None
    """The port that asks for it; None is the Service."""
    own: frozenset[str] = frozenset()
    """Names of the options that annotations of this port set; none of the Service."""
    kept_check: Protocol | None = None
    """The protocol of the port's health check, if it is kept; None if options decide."""

    def of_port(self, port: int) -> "Requested":
        """What this port asks for."""
        return self.ports.get(port, self)

    @property
    def ways(self) -> tuple["Requested", ...]:
        """All that ports ask for: what the Service does, if some port does, then the ports that differ."""
        return (*((self,) if self.has_plain_ports else ()), *self.ports.values())

    def origin(self, name: str) -> Origin:
        """What the value of this option comes from."""
        return self.origins.get(name, Origin.UNSET)

    def is_annotated(self, name: str) -> bool:
        """Whether an annotation decides on the option."""
        return self.origin(name) is Origin.ANNOTATION

    def is_by_default(self, name: str) -> bool:
        """Whether a variable alone decides on the option."""
        return self.origin(name) is Origin.ENVIRONMENT

    @property
    def redirects(self) -> bool:
        """Whether http is to be redirected to the port."""
        return self.options.protocol is Protocol.HTTPS and self.options.http_redirect_http is True

    def decides(self, name: str) -> bool:
        """Whether an annotation or a default sets the option, and can be read."""
        return name in self.origins and name not in self.bad

    @property
    def decides_on_check(self) -> bool:
        """Whether the protocol of health checks is asked for: by itself, or as that of the port once something is said
        of health checks."""
        return self.decides("health_check_protocol") or (self.decides("protocol") and self.options.checks_health)

    def without(self, wrong: Collection[str]) -> "Requested":
        """The same without unreadable options, and without those that these annotations and variables set."""
        names = [name for name in self.origins if name in self.bad or not self.keys(name).isdisjoint(wrong)]
        return replace(
            self,
            options=replace(self.options, **{name: OPTIONS[name].default for name in names}),
            origins={name: origin for name, origin in self.origins.items() if name not in names},
            ports={port: way.without(wrong) for port, way in self.ports.items()},
        )

    def keys(self, name: str) -> frozenset[str | None]:
        """The annotations and variables that may set the option."""
        row = OPTIONS[name]
        return frozenset({self.key(name)} if name in self.own else {row.full_key, row.variable})

    def beside(self, there: Mapping[int, Spoken], ports: Collection[int]) -> "Requested":
        """The same for a Service with these ports. Each that is ``there`` keeps protocols that no option decides."""
        kept = {port: self._keeping(port, has) for port, has in there.items() if port in ports}
        ways = {**self.ports, **kept}
        return replace(self, ports=ways, has_plain_ports=not ports or not ways.keys() >= frozenset(ports))

    def _keeping(self, port: int, there: Spoken) -> "Requested":
        way = self.of_port(port)
        options = way.options if way.decides("protocol") else replace(way.options, protocol=there.port)
        return replace(
            way, options=options, ports={}, port=port, kept_check=None if way.decides_on_check else there.check
        )

    def key(self, name: str) -> str:
        """The annotation that decides on the option, and with which it is set for nothing else."""
        return OPTIONS[name].full_key if self.port is None or name not in OF_PORTS else port_key(self.port, name)


def with_defaults(read: ReadAnnotations, defaults: Options, ports: Collection[int] | None = None) -> Requested:
    """What the annotations ask for where the environment has these defaults, of a Service with these ``ports``; None
    where it is not known which it has."""
    own = {
        port: replace(_with_defaults(each, defaults), port=port, own=each.own)
        for port, each in read.ports.items()
        if ports is None or port in ports
    }
    is_left = not ports or not own.keys() >= frozenset(ports)
    return replace(_with_defaults(read, defaults), ports=own, has_plain_ports=is_left)


def _with_defaults(read: ReadAnnotations, defaults: Options) -> Requested:
    values: dict[str, Any] = {}
    origins: dict[str, Origin] = {}
    bad: dict[str, BadAnnotation] = {}
    for name, row in OPTIONS.items():
        if name in read.values:
            origins[name], values[name] = Origin.ANNOTATION, read.values[name]
        elif name in read.bad:
            origins[name], bad[name] = Origin.ANNOTATION, read.bad[name]
        elif name not in read.unset and is_set(defaults, name):
            origins[name], value = Origin.ENVIRONMENT, getattr(defaults, name)
            try:
                row.grammar.check(value)
                values[name] = value
            except ValueError as error:
                remedy = f"correct it, or set {row.full_key}"
                bad[name] = BadAnnotation(str(row.variable), f"{row.variable} is {value}: {error}; {remedy}")
    if "location" in values:
        values.pop("network_zone", None)  # the location takes precedence
    if "http_redirect_http" not in read.own and "protocol" in read.own and values.get("protocol") is Protocol.HTTP:
        values.pop("http_redirect_http", None)  # the Service's is for its https ports
    return Requested(Options(**values), origins, bad)
