"""Table of the environment variables that HCCM reads: name, grammar, default, meaning.

A cluster that was run by HCCM brings its variables along, so all of them are understood, and checked, here.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from desired.annotations.choices import Algorithm, DeletionPolicy
from desired.annotations.grammars import ValueKind
from desired.annotations.options import VARIABLES as OPTION_VARIABLES
from desired.annotations.options import Option
from desired.model.settings import AddressFamily
from desired.section import UNMANAGED
from desired.syntax.bounds import LONGEST_VARIABLE, shown_text
from desired.syntax.go import parse_bool, parse_cidr, parse_duration
from reconciler.config.options import is_service_link, parse_address, parse_int


class _FileProblem(ValueError):
    """The file that a variable names holds nothing usable; its content is never part of a message."""


@dataclass(frozen=True, slots=True)
class Variable:
    """One row of the table."""

    name: str
    parse: Callable[[str], Any]
    default: Any
    meaning: str
    empty_is_unset: bool = True
    """Whether a variable that is set to nothing counts as not set (HCCM: not for booleans and the caches)."""
    from_file: bool = False
    """Whether ``<NAME>_FILE`` may name a file that holds the value."""
    needs: str | None = None
    """A variable without which this one is off, and not even parsed, as HCCM has it."""
    has_effect: bool = True
    """Whether anything is done or served because of it, or left alone."""


def _choice(name: str, *choices: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text not in choices:
            raise ValueError(f'invalid value for "{name}", expect one of: {",".join(choices)}')
        return text

    return parse


def _cidr(text: str) -> str:
    parse_cidr(text, strict=False)
    return text


def _bool(name: str, default: bool | None, meaning: str, needs: str | None = None) -> Variable:
    return Variable(name, parse_bool, default, meaning, empty_is_unset=False, needs=needs)


def _default(option: Option) -> Variable:
    """The default of an annotation for all Services. Ranges are checked where a Service would get the value."""
    name, meaning = str(option.variable), f"default of the annotation {option.key}"
    match option.grammar.kind:
        case ValueKind.BOOLEAN:
            return _bool(name, None if option.default is UNMANAGED else option.default, meaning)
        case ValueKind.DURATION:
            return Variable(name, parse_duration, 0.0, meaning)
        case ValueKind.NUMBER:
            return Variable(name, parse_int, 0, meaning)
        case ValueKind.TEXT:
            return Variable(name, _TEXTS.get(option.name, str), None, meaning)


_FAMILY = "HCLOUD_INSTANCES_ADDRESS_FAMILY"
_CACHE = "HCLOUD_SERVER_CACHE_MODE"
_ALGORITHM = "HCLOUD_LOAD_BALANCERS_ALGORITHM_TYPE"
_DELETION_POLICY = "HCLOUD_LOAD_BALANCERS_DELETION_POLICY"
_TEXTS: Mapping[str, Callable[[str], str]] = {
    "algorithm_type": lambda text: _choice(_ALGORITHM, *Algorithm)(text.strip().lower()),
    "private_subnet_ip_range": _cidr,
    "deletion_policy": lambda text: _choice(_DELETION_POLICY, *DeletionPolicy)(text.lower()),
}
"""Option → what parses its variable, where not every text will do."""

_NO_CACHE = "accepted, without effect: there is no cache here"
_ATTACHED = "accepted, without effect: each pass reads what is attached"
_ROWS = (
    Variable("HCLOUD_TOKEN", str, None, "API token of the cluster's project", from_file=True),
    Variable("HCLOUD_ENDPOINT", str, "https://api.hetzner.cloud/v1", "base address of the Hetzner Cloud API"),
    _bool("HCLOUD_DEBUG", False, "log every request"),
    Variable("HCLOUD_NETWORK", str, None, "id or name of the private network of the Nodes"),
    replace(_bool("HCLOUD_NETWORK_DISABLE_ATTACHED_CHECK", False, _ATTACHED), has_effect=False),
    _bool("HCLOUD_NETWORK_ROUTES_ENABLED", True, "pod routes in the private network", "HCLOUD_NETWORK"),
    Variable(
        _FAMILY,
        lambda text: AddressFamily(_choice(_FAMILY, *AddressFamily)(text)),
        AddressFamily.IPV4,
        "public addresses that a Node gets: ipv4, ipv6 or dualstack",
    ),
    _bool("HCLOUD_INSTANCES_ZONE_LABEL_ENABLED", True, "zone labels on Nodes"),
    Variable(_CACHE, _choice(_CACHE, "all", "one", "off"), "all", _NO_CACHE, empty_is_unset=False, has_effect=False),
    Variable("HCLOUD_SERVER_CACHE_MAX_AGE", parse_duration, 10.0, _NO_CACHE, empty_is_unset=False, has_effect=False),
    _bool("HCLOUD_METRICS_ENABLED", True, "serve metrics"),
    Variable("HCLOUD_METRICS_ADDRESS", parse_address, ("", 8233), "address of the metrics"),
    _bool("HCLOUD_LOAD_BALANCERS_ENABLED", True, "load balancers for Services"),
    *map(_default, OPTION_VARIABLES.values()),
    _bool("ROBOT_ENABLED", False, "Robot (dedicated) servers"),
    Variable("ROBOT_USER", str, None, "user of the Robot webservice", from_file=True),
    Variable("ROBOT_PASSWORD", str, None, "password of the Robot webservice", from_file=True),
    Variable("ROBOT_ENDPOINT", str, "https://robot-ws.your-server.de", "address of the Robot webservice"),
    Variable("ROBOT_CACHE_TIMEOUT", parse_duration, 300.0, "age up to which a Robot list is used"),
    Variable("ROBOT_RATE_LIMIT_WAIT_TIME", parse_duration, 0.0, "pause after a Robot rate limit"),
    _bool("ROBOT_FORWARD_INTERNAL_IPS", True, "keep InternalIPs of Robot Nodes"),
)

VARIABLES: Mapping[str, Variable] = {row.name: row for row in _ROWS}
"""Name → row, in the order in which people read about them."""

_FORMER = {
    "HCLOUD_SERVER_CACHE_TTL": "it is HCLOUD_SERVER_CACHE_MAX_AGE since HCCM 1.33, and there is no cache here",
    "HCLOUD_ALLOW_ARBITRARY_LENGTH_TOKEN": "a token of another length is taken, with a warning",
}
"""Names that HCCM once had → what there is instead. HCCM ignores them silently now."""


_ALIKE, _THE_SAME = 0.78, 0.9
"""How like a known name one has to be, of 1, to be taken for it."""
_PREFIXES = (
    "HCLOUD_CCM_",
    "HCLOUD_INSTANCE",
    "HCLOUD_LB_",
    "HCLOUD_LOADBALANCER",
    "HCLOUD_LOAD_BALANCER",
    "HCLOUD_METRICS",
    "HCLOUD_NETWORK",
    "HCLOUD_ROBOT",
    "HCLOUD_ROUTES",
    "HCLOUD_SERVER_CACHE",
    "ROBOT_",
)
"""How the names of settings of a cloud controller begin, in HCCM and in what is taken for HCCM."""

_OF_OTHERS = frozenset(("ROBOT_INTERNAL_TRACES", "ROBOT_OPTIONS", "ROBOT_SYSLOG_FILE", "ROBOT_SYSLOG_LEVEL"))
"""Names of other software that begin as ours do: those of Robot Framework. What else there is begins otherwise:
``HCLOUD_CONTEXT`` of the command hcloud, ``HCLOUD_VOLUME_*`` of the CSI driver, ``HCLOUD_CLOUD_INIT`` of the cluster
autoscaler."""


def read_variables(environ: Mapping[str, str], errors: list[str]) -> Mapping[str, Any]:
    """Name → parsed value of each variable of the table, its default where it is not set.

    Every problem is appended to ``errors`` as one line that names the variable; its value is then the default.
    """
    values: dict[str, Any] = {}
    for row in VARIABLES.values():
        values[row.name] = row.default
        if row.needs and not environ.get(row.needs):
            values[row.name] = False
            continue
        try:
            text = _text_of(row, environ)
            if text is not None:
                text.encode()  # bytes that are no text are an error here, and not where they are sent
                values[row.name] = row.parse(text)
        except (ValueError, OSError) as error:
            errors.append(_problem(row, environ, error))
    errors += unread_variables(environ)
    return values


def unread_variables(environ: Mapping[str, str]) -> list[str]:
    """A line for each name that nothing reads although it begins or is spelt as one of HCCM's, with the one that was
    probably meant.

    Names that belong to other software of Hetzner's users, and service links, are passed over.
    """
    known = sorted({*VARIABLES, *(f"{name}_FILE" for name, row in VARIABLES.items() if row.from_file)})
    lines = []
    for name in sorted(environ):
        if not name.startswith(("HCLOUD_", "ROBOT_")) or name in {*known, *_FORMER, *_OF_OTHERS}:
            continue
        if LONGEST_VARIABLE.is_exceeded(name) or is_service_link(name):
            continue
        is_like_ours = name.startswith(_PREFIXES)
        if near := get_close_matches(name, known, n=1, cutoff=_ALIKE if is_like_ours else _THE_SAME):
            lines.append(f"unknown variable {name}: did you mean {near[0]}?")
        elif is_like_ours:
            lines.append(f"unknown variable {name}: nothing reads it; unset it")
    return lines


def former_variables(environ: Mapping[str, str]) -> list[str]:
    """A line for each name that HCCM once had, with what there is instead: as for HCCM it is no error."""
    return [f"{name} has no effect: {instead}" for name, instead in _FORMER.items() if name in environ]


def _text_of(row: Variable, environ: Mapping[str, str]) -> str | None:
    """The variable's text; None when it is not set. The plain variable wins over its ``_FILE``, even when empty."""
    if row.name in environ:
        text = environ[row.name]
        return None if not text and row.empty_is_unset else text
    path = environ.get(f"{row.name}_FILE") if row.from_file else None
    if not path:
        return None
    text = Path(path).read_text(encoding="utf-8").strip()
    if not text:
        raise _FileProblem("is empty")
    return text


def _problem(row: Variable, environ: Mapping[str, str], error: Exception) -> str:
    if isinstance(error, UnicodeEncodeError):
        return f"{row.name} is no text in UTF-8: set it again"
    if isinstance(error, OSError | UnicodeDecodeError | _FileProblem):
        reason = f"cannot be read: {error.strerror}" if isinstance(error, OSError) else str(error)
        reason = "is no text in UTF-8" if isinstance(error, UnicodeDecodeError) else reason
        return f"{row.name}_FILE: {environ[f'{row.name}_FILE']!r} {reason}"
    if str(error).startswith("invalid value for"):
        return str(error)
    return f"{row.name} is {shown_text(environ.get(row.name, ''))}: {error}"


_WITH_ADDRESSES = ("HCLOUD_ENDPOINT", "ROBOT_ENDPOINT", "_PROXY")
"""Ends of the names of variables that hold addresses, in upper case."""
_WITH_PASSWORDS = ("ROBOT_PASSWORD",)


def passwords_in(environ: Mapping[str, str]) -> Iterator[str]:
    """The values of the environment to be masked besides the token: passwords, also those in addresses, and what such
    an address asks for, however these are written."""
    for name, text in environ.items():
        if name in _WITH_PASSWORDS:
            yield text
        elif name.upper().endswith(_WITH_ADDRESSES):
            yield from _secrets_in(text)


def _secrets_in(address: str) -> Iterator[str]:
    if "@" in address:
        user_info = address.partition("//")[2].rpartition("@")[0] or address.rpartition("@")[0]
        password = user_info.partition(":")[2] or user_info
        yield from (user_info, password, unquote(password))
    for asked in re.split("[?#]", address)[1:]:
        yield asked
        yield from (pair for pair in asked.split("&") if "=" in pair)
