"""Annotations of single ports of a Service: ``port-443.hcloud-reconciler/protocol`` stands for HCCM's
``load-balancer.hetzner.cloud/protocol`` at port 443, with its grammar, and wins over it there.

HCCM knows options of whole Services alone, and ignores these.
"""

import re
from collections.abc import Mapping
from difflib import get_close_matches
from heapq import nsmallest

from desired.annotations.options import OF_PORTS, OPTIONS, OWN_PREFIX, PREFIX, BadAnnotation
from desired.syntax.bounds import LONGEST_LABEL_KEY, counted, shown_text

_KEY = re.compile(rf"port-(?P<port>[^/]*)\.{re.escape(OWN_PREFIX)}(?P<name>.*)", re.DOTALL)
_NUMBER = re.compile(r"[1-9][0-9]{0,4}", re.ASCII)
_LAST_PORT = 65535
_BY_KEY = {row.key: row for row in OPTIONS.values()}
_TOLD = 10
"""Wrong keys of one Service that are told one by one."""


def port_key(port: int, option: str) -> str:
    """The annotation by which a port sets an option of ``OF_PORTS``."""
    return f"port-{port}.{OWN_PREFIX}{OPTIONS[option].key}"


def is_ours(key: str) -> bool:
    """Whether an annotation of this key is one that the product reads, or looks like one."""
    prefix, _, name = key.lower().partition("/")
    if key.startswith((PREFIX, OWN_PREFIX)) or prefix.endswith(f".{OWN_PREFIX[:-1]}"):
        return True
    return name in _BY_KEY and "\\" not in prefix and _is_nearly_ours(prefix)  # Helm's paths are no keys


def _is_nearly_ours(prefix: str) -> bool:
    """Whether a prefix is ours with mistakes: Hetzner's other programs have prefixes of their own."""
    names_hetzner = ("hetzner" in prefix or "hcloud" in prefix) and not prefix.startswith(_OF_OTHERS)
    return names_hetzner or bool(get_close_matches(prefix, (PREFIX[:-1], OWN_PREFIX[:-1]), cutoff=_NEAR))


_NEAR = 0.75
"""How like ours a prefix is that does not name Hetzner: ``load-balancer.hetzer.cloud``."""
_OF_OTHERS = ("csi.", "instance.", "node.", "robot.", "caph.", "external-dns.")


def is_of_port(key: str) -> bool:
    """Whether the key is one of a port, or looks like one: Kubernetes keeps the case that a person wrote."""
    return _KEY.fullmatch(key.lower()) is not None


def option_of(key: str) -> str | None:
    """The option that a port sets by this key, whichever port it is; None for all other keys."""
    found = _KEY.fullmatch(key)
    row = _BY_KEY.get(found["name"]) if found else None
    return row.name if row is not None and row.name in OF_PORTS else None


def read_port_keys(annotations: Mapping[str, str]) -> tuple[Mapping[int, Mapping[str, str]], tuple[BadAnnotation, ...]]:
    """Port → option → text, of the annotations of single ports; and why others of them are none."""
    ports: dict[int, dict[str, str]] = {}
    wrong: list[str] = []
    for key in filter(is_of_port, annotations):
        port, option = _number(key), option_of(key)
        if port is None or option is None:
            wrong.append(key)
        else:
            ports.setdefault(port, {})[option] = annotations[key]
    return dict(sorted(ports.items())), told([_wrong(key) for key in nsmallest(_TOLD, wrong)], len(wrong))


def told(problems: list[BadAnnotation], count: int | None = None) -> tuple[BadAnnotation, ...]:
    """The first of these problems of keys of ports, and one for all the others; there are ``count``, or as many as are
    given."""
    left = (len(problems) if count is None else count) - _TOLD
    if left <= 0:
        return tuple(problems)
    where = "metadata.annotations"
    text = f"{where} has {counted(left, 'more wrong key')} of ports; correct them, or remove them"
    return (*problems[:_TOLD], BadAnnotation(where, text))


def _number(key: str) -> int | None:
    """The port of a key; None where that is no number of one."""
    found = _KEY.fullmatch(key)
    if found is None or not _NUMBER.fullmatch(found["port"]) or int(found["port"]) > _LAST_PORT:
        return None
    return int(found["port"])


def _wrong(key: str) -> BadAnnotation:
    """Why a key is no option of a port."""
    shown = shown_text(key) if LONGEST_LABEL_KEY.is_exceeded(key) else key
    port, found = _number(key), _KEY.fullmatch(key)
    if found is None:
        return BadAnnotation(key, f"{shown} has capitals before the slash; write it in lower case")
    if port is None:
        return BadAnnotation(key, f"{shown} names no port; write its number after port-, 1 to {_LAST_PORT}")
    row = _BY_KEY.get(found["name"])
    if row is not None:
        text = f"{shown} is no option of a port, but of the whole load balancer; set {row.full_key}, and remove it"
        return BadAnnotation(key, text, port)
    near = get_close_matches(found["name"][:_LONGEST_NAME], [OPTIONS[name].key for name in OF_PORTS], n=1, cutoff=0.7)
    meant = f"did you mean port-{port}.{OWN_PREFIX}{near[0]}?" if near else "no option of a port has this name"
    return BadAnnotation(key, f"{shown} is unknown: {meant}; correct it, or remove it", port)


_LONGEST_NAME = 63
"""Characters of the name of an annotation (Kubernetes, qualified names)."""
