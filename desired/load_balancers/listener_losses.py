"""Losses of clients by a change of a listener that stays: TLS, certificates, the redirect, the PROXY protocol, health
checks and sticky sessions.

| Function | Result |
|---|---|
| ``listener_losses`` | what clients lose between two states of a listener, and the options that keep it |
| ``keeping_unasked`` | the wanted listener without losses that were not asked for |
| ``may_be_passed`` | whether the health check that is there lets traffic through, so that it is worth keeping |
| ``remedy`` | the annotations that keep what would be lost |
| ``letting_go`` | the annotations that ask for the loss |

A loss is asked for where an annotation or a default sets the option that decides on it. What is unset is put back only
where unset means a value, as with HCCM: the protocol (tcp), and the protocol and port of health checks.
"""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from desired.annotations.choices import Protocol
from desired.annotations.options import CHECK, HTTP, HTTP_CHECK, OPTIONS, SETTING
from desired.annotations.port_keys import port_key
from desired.load_balancers.listeners import PLAIN_CHECK
from desired.model.load_balancer import CloudBalancer, HealthCheck, HttpCheck, HttpOptions, Listener
from desired.rules import load_balancer_changes as rows
from desired.rules.rule import Reason, Rule
from desired.section import UNMANAGED, Unmanaged
from desired.syntax.bounds import shown_text

_Part = TypeVar("_Part", HttpOptions, HttpCheck)

_MEANS_CHECKS = frozenset(SETTING[CHECK].values())
"""Options that ask for health checks; their protocol is then that of the listener (``Options.checks_health``)."""
_OF_HTTP = {field: name for field, name in SETTING[HTTP].items() if name != "http_certificates"}
"""Field of ``HttpOptions`` → the option that decides on it. Certificates have two, and stay where neither is set: other
ones are always asked for, such as the next of a rotation, and are no loss."""
_BY_KUBE_PROXY = frozenset({"path", "tls"})
"""Fields of ``HttpCheck`` that a check of kube-proxy has of its own."""


@dataclass(frozen=True, slots=True)
class Loss:
    """One thing that clients lose by a change of a listener."""

    option: str
    """Field of ``Options`` that decides on it."""
    reasons: tuple[Reason, ...]
    """All that ends with it, the gravest first."""
    keep: Mapping[str, str] = field(default_factory=dict)
    """Field of ``Options`` → the value with which nothing is lost."""
    let_go: Mapping[str, str] = field(default_factory=dict)
    """Field of ``Options`` → the value that asks for the loss; empty where none does, or only one that would have to
    follow the node port."""

    @property
    def text(self) -> str:
        """One sentence."""
        return ", ".join(reason.text for reason in self.reasons)


def listener_losses(before: Listener, after: Listener, asked: Collection[str] = ()) -> tuple[Loss, ...]:
    """The losses by the change of ``before`` into ``after``, both complete; ``asked`` are the options that are set."""
    losses = (
        *_protocol(before, after, asked),
        *_http(before, after),
        *_proxy(before, after),
        *_health_check(before, after),
    )
    return tuple(losses)


def remedy(losses: Iterable[Loss], ports: Collection[int], alone: int | None = None) -> str:
    """The annotations that keep what would be lost, for a Service with these TCP ``ports``, or for one of them
    ``alone``; empty when none does."""
    keep = {option: value for loss in losses for option, value in loss.keep.items()}
    is_taken = "http_redirect_http" in keep and 80 in ports
    said = _listed(keep, alone) + (", and remove port 80 from the Service" if is_taken else "")
    return f"{said} (for all ports of the Service)" if said and alone is None and len(ports) - is_taken > 1 else said


def letting_go(losses: Collection[Loss], ports: Collection[int], alone: int | None = None) -> str:
    """The annotations that ask for all of these losses, for a Service with these TCP ``ports``, or for one of them
    ``alone``; empty where there are none for some of them."""
    if not all(loss.let_go for loss in losses):
        return ""
    said = _listed({option: value for loss in losses for option, value in loss.let_go.items()}, alone)
    return f"{said} (for all ports of the Service)" if alone is None and len(ports) > 1 else said


def _listed(values: Mapping[str, str], alone: int | None) -> str:
    """Options with their values, as annotations of the Service, or of one port."""
    keys = {name: OPTIONS[name].full_key if alone is None else port_key(alone, name) for name in values}
    return ", ".join(f"{keys[option]}: {_quoted(value)}" for option, value in values.items())


def keeping_unasked(before: Listener, after: Listener, asked: Collection[str], *, is_passed: bool = True) -> Listener:
    """``after`` with everything of ``before`` whose loss no option in ``asked`` asks for; ``after`` itself where all is
    asked for.

    A listener that gets another node port leads to it at once, and so does the health check of that port. A health
    check is kept only if something passes it (``may_be_passed``): one that takes every target for dead guards nothing.
    """
    kept = after
    if before.protocol is not after.protocol and "protocol" not in asked:
        kept = replace(kept, protocol=before.protocol, http=before.http)
    elif before.protocol is after.protocol and before.http is not None and after.http is not None:
        kept = replace(kept, http=_kept(before.http, after.http, _OF_HTTP, asked))
    if before.proxyprotocol is not after.proxyprotocol and "uses_proxyprotocol" not in asked:
        kept = replace(kept, proxyprotocol=before.proxyprotocol)
    if is_passed:
        kept = replace(kept, health_check=_kept_check(before, after, asked))
    return kept if listener_losses(kept, after) else after


def may_be_passed(present: CloudBalancer, after: Listener) -> bool:
    """Whether some target may pass the health check that the listener has in ``present``; what is not known may well
    be. Results of a node port that the listener is about to leave say nothing of the same check of the next one."""
    there = present.spec.listeners.get(after.port)
    if there is not None and _is_of_own_port(there) and there.destination_port != after.destination_port:
        return bool(present.targets)
    return after.port not in present.unanswered and bool(present.targets)


def _kept_check(before: Listener, after: Listener, asked: Collection[str]) -> HealthCheck:
    there, wanted = before.health_check, after.health_check
    by_kube_proxy = "health_check_node_port" in asked
    by_protocol = "health_check_protocol" in asked or ("protocol" in asked and not _MEANS_CHECKS.isdisjoint(asked))
    kept = wanted
    if there.protocol is not wanted.protocol:
        if not (by_kube_proxy or by_protocol):
            kept = replace(kept, protocol=there.protocol, http=there.http)
    elif there.http is not None and wanted.http is not None:
        decided = (_BY_KUBE_PROXY if by_kube_proxy else set()) | ({"tls"} if by_protocol else set())
        own = {name: option for name, option in SETTING[HTTP_CHECK].items() if name not in decided}
        kept = replace(kept, http=_kept(there.http, wanted.http, own, asked))
    if _differs_in_port(before, after) and not (by_kube_proxy or "health_check_port" in asked):
        kept = replace(kept, port=after.destination_port if _is_of_own_port(before) else there.port)
    return kept


def _kept(there: _Part, wanted: _Part, options: Mapping[str, str], asked: Collection[str]) -> _Part:
    """``wanted`` with those fields of ``there`` that no option in ``asked`` decides on."""
    values: dict[str, Any] = {name: getattr(there, name) for name, option in options.items() if option not in asked}
    return replace(wanted, **values)


def _is_of_own_port(listener: Listener) -> bool:
    """Whether targets are checked on the port that gets the traffic: the default, which follows the node port."""
    return listener.health_check.port == listener.destination_port


def _differs_in_port(before: Listener, after: Listener) -> bool:
    return before.health_check.port != after.health_check.port and not (
        _is_of_own_port(before) and _is_of_own_port(after)
    )


def _protocol(before: Listener, after: Listener, asked: Collection[str]) -> Iterator[Loss]:
    """The loss of the protocol, with all that goes with it."""
    if before.protocol is after.protocol:
        return
    port, http = before.port, before.http
    keep = {"protocol": before.protocol.value}
    gone = [_of_protocol(before.protocol, after.protocol).because(port=port)]
    if before.protocol is Protocol.HTTPS and before.certificate_ids:
        row = rows.CERTIFICATE_TAKEN_OFF if len(before.certificate_ids) == 1 else rows.CERTIFICATES_TAKEN_OFF
        gone.append(row.because(certificates=", ".join(map(str, before.certificate_ids))))
        keep["http_certificates"] = ",".join(map(str, before.certificate_ids))
    if http is not None and http.redirect_http is True:
        gone.append(rows.REDIRECT_ENDS.because(port=port))
        keep["http_redirect_http"] = "true"
    if http is not None and http.sticky_sessions is True and after.protocol is Protocol.TCP:
        gone.append(rows.STICKINESS_ENDS.because(port=port))
        keep["http_sticky_sessions"] = "true"
    if not _MEANS_CHECKS.isdisjoint(asked):  # else checks would follow the protocol that is kept
        keep["health_check_protocol"] = _spoken(before.health_check)
    yield Loss("protocol", tuple(gone), keep, {"protocol": after.protocol.value})


def _of_protocol(before: Protocol, after: Protocol) -> Rule:
    match before, after:
        case Protocol.HTTPS, _:
            return rows.TLS_ENDS
        case _, Protocol.HTTPS:
            return rows.TLS_BEGINS
        case Protocol.TCP, _:
            return rows.HTTP_BEGINS
    return rows.FORWARDED_FOR_ENDS


def _http(before: Listener, after: Listener) -> Iterator[Loss]:
    """The losses of options of a protocol that stays."""
    there, wanted, port = before.http, after.http, before.port
    if before.protocol is not after.protocol or there is None or wanted is None:
        return
    if there.redirect_http is True and wanted.redirect_http is False:
        yield _of("http_redirect_http", rows.REDIRECT_ENDS.because(port=port), "true", "false")
    if there.sticky_sessions is True and wanted.sticky_sessions is False:
        yield _of("http_sticky_sessions", rows.STICKINESS_ENDS.because(port=port), "true", "false")
    elif there.sticky_sessions is True and _are_other(there.cookie_name, wanted.cookie_name):
        reason = rows.COOKIE_CHANGES.because(port=port, wanted=shown_text(str(wanted.cookie_name)))
        yield _of("http_cookie_name", reason, str(there.cookie_name), str(wanted.cookie_name))
    if there.sticky_sessions is True:
        lifetimes = there.cookie_lifetime_s, wanted.cookie_lifetime_s
        yield from _shorter("http_cookie_lifetime", rows.COOKIE_SHORTENED, port, *lifetimes)
    yield from _shorter("http_timeout_idle", rows.IDLE_SHORTENED, port, there.timeout_idle_s, wanted.timeout_idle_s)


def _shorter(option: str, row: Rule, port: int, present: int | Unmanaged, wanted: int | Unmanaged) -> Iterator[Loss]:
    if isinstance(present, int) and isinstance(wanted, int) and wanted < present:
        yield _of(option, row.because(port=port, wanted=wanted, present=present), f"{present}s", f"{wanted}s")


def _of(option: str, reason: Reason, there: str, wanted: str) -> Loss:
    """The loss that one option decides on, by what it is and shall be."""
    return Loss(option, (reason,), {option: there}, {option: wanted})


def _proxy(before: Listener, after: Listener) -> Iterator[Loss]:
    """The loss by the PROXY protocol, which breaks backends both ways."""
    if _are_other(before.proxyprotocol, after.proxyprotocol):
        row = rows.PROXY_BEGINS if after.proxyprotocol else rows.PROXY_ENDS
        values = (str(before.proxyprotocol).lower(), str(after.proxyprotocol).lower())
        yield _of("uses_proxyprotocol", row.because(port=before.port), *values)


def _health_check(before: Listener, after: Listener) -> Iterator[Loss]:
    """The loss of a health check for another one. How often and how patiently is asked loses nothing."""
    there, wanted = before.health_check, after.health_check
    keep, let_go = dict(_speech(there, wanted)), dict(_speech(wanted, there))
    if _differs_in_port(before, after):
        # The port alone would let the protocol follow that of the listener.
        keep = {"health_check_protocol": _spoken(there), "health_check_port": str(there.port)} | keep
        let_go = {}  # an annotation would keep the number of the node port
    has_other_answer = there.http and wanted.http and _are_other(there.http.response, wanted.http.response)
    if keep or has_other_answer:
        reason = rows.CHECK_CHANGES.because(port=before.port, wanted=_shown(wanted), present=_shown(there))
        yield Loss(next(iter(keep), "health_check_protocol"), (reason,), keep, let_go)


def _speech(there: HealthCheck, wanted: HealthCheck) -> Iterator[tuple[str, str]]:
    """Option → value for the protocol, and each part of the request, in which ``there`` differs from ``wanted``."""
    if _spoken(there) != _spoken(wanted):
        yield "health_check_protocol", _spoken(there)
    if there.http is None:
        return
    other = wanted.http or PLAIN_CHECK
    if _are_other(there.http.path, other.path):
        yield "health_check_http_path", str(there.http.path)
    if _are_other(there.http.domain, other.domain):
        yield "health_check_http_domain", str(there.http.domain)
    codes, others = there.http.status_codes, other.status_codes
    if isinstance(codes, tuple) and isinstance(others, tuple) and set(codes) != set(others):
        yield "http_status_codes", ",".join(codes)


def _spoken(check: HealthCheck) -> str:
    """The protocol of a health check as annotations name it."""
    return Protocol.HTTPS.value if check.http is not None and check.http.tls is True else check.protocol.value


def _shown(check: HealthCheck) -> str:
    """``http /ping on port 31080``; of the rest only what differs from the API's defaults."""
    if check.http is None:
        return f"{_spoken(check)} on port {check.port}"
    path = "" if check.http.path is UNMANAGED else f" {shown_text(str(check.http.path))}"
    parts = [f"{_spoken(check)}{path} on port {check.port}"]
    parts += (
        [f"host {shown_text(check.http.domain)}"] if isinstance(check.http.domain, str) and check.http.domain else []
    )
    if isinstance(check.http.status_codes, tuple) and _are_other(check.http.status_codes, PLAIN_CHECK.status_codes):
        parts.append(f"status {' or '.join(check.http.status_codes)}")
    answer = check.http.response
    parts += [f"answer {shown_text(answer)}"] if isinstance(answer, str) and answer else []
    return " and ".join([", ".join(parts[:-1]), parts[-1]]) if len(parts) > 1 else parts[0]


def _are_other(there: object, wanted: object) -> bool:
    """Whether both are known, and differ."""
    return UNMANAGED not in (there, wanted) and there != wanted


_WORD = re.compile(r"[A-Za-z/][A-Za-z0-9/._~?,=&-]*")
_NO_TEXT = frozenset({"true", "false", "yes", "no", "on", "off", "null", "y", "n"})
"""Words that YAML does not take for a text."""


def _quoted(value: str) -> str:
    """A value as a manifest has it."""
    return value if _WORD.fullmatch(value) and value.lower() not in _NO_TEXT else json.dumps(value)
