"""Flags by their names, such as ``--world``: what they mean, and what cannot be meant together.

Loads nothing that takes time.
"""

import re
from collections.abc import Collection, Mapping
from ipaddress import ip_address
from typing import Any, NamedTuple
from urllib.parse import urlsplit

PARTS = ("kubelets", "kubernetes", "robot")
"""What can be left out."""
KINDS_OF_KUBERNETES = ("auto", "double")
"""``auto`` is a real API server where its programs are at hand."""


class Flag(NamedTuple):
    """What holds where a flag is not given, what stands for its value in ``--help``, and what it means; there the
    default stands for ``{}``."""

    default: Any
    metavar: str
    meaning: str


_ANY_PORT = Flag(0, "PORT", "default: any free port")
OF_SIMULATORS: Mapping[str, Flag] = {
    "--world": Flag(None, "FILE", "world file to start from; default: a small cluster"),
    "--hetzner-port": _ANY_PORT,
    "--kubernetes-port": _ANY_PORT,
    "--robot-port": _ANY_PORT,
    "--kubernetes": Flag(
        "double", "KIND", "auto: the API server of KUBEBUILDER_ASSETS, if set; default {}, a small one"
    ),
    "--without": Flag("", "LIST", f"what to leave out: {', '.join(PARTS)}"),
    "--action-ms": Flag(300, "N", "how long a Hetzner action takes; default {}"),
    "--latency-ms": Flag(0, "N", "delay of each answer; default {}"),
    "--rate-limit": Flag(3600, "N", "Hetzner requests an hour; default {}"),
    "--join-ms": Flag(5000, "N", "time from the start of a server to its Node; default {}"),
    "--node-grace-ms": Flag(10000, "N", "silence after which a Node is Unknown; default {}"),
    "--network-attachments": Flag(100, "N", "attachments per network; default {}"),
}
OF_THE_PROXY: Mapping[str, Flag] = {
    "--proxy-ca-file": Flag(None, "FILE", "certificate authority of the address of --proxy"),
    "--proxy-port": _ANY_PORT,
}
"""Those that go with ``--proxy``."""
FLAGS: Mapping[str, Flag] = {
    **OF_SIMULATORS,
    "--proxy": Flag(None, "URL", "start a fault proxy in front of this address instead"),
    **OF_THE_PROXY,
    "--listen": Flag("127.0.0.1", "ADDRESS", "where to listen, 0.0.0.0 for everywhere; default {}"),
}
DEFAULTS: Mapping[str, Any] = {name: flag.default for name, flag in FLAGS.items()}


def contradictions(flags: Mapping[str, Any], given: Collection[str], *, proxy: str = "--proxy") -> list[str]:
    """Errors in combinations of flags, and in values that are wrong whatever their type. ``given`` has the names of
    those that were typed, and ``proxy`` is the name of what gave the address for a proxy."""
    lines = []
    if parts_in(flags) - {*PARTS}:
        lines.append(f"--without is {flags['--without']!r}: expect a list of {', '.join(PARTS)}")
    if flags["--kubernetes"] not in KINDS_OF_KUBERNETES:
        lines.append(f"--kubernetes is {flags['--kubernetes']!r}: expect {' or '.join(KINDS_OF_KUBERNETES)}")
    if not flags["--rate-limit"]:
        lines.append("--rate-limit is '0': expect a number of 1 or more")
    if not _is_ip(flags["--listen"]):
        lines.append(f"--listen is {flags['--listen']!r}: expect an IP address of this machine, such as 0.0.0.0")
    if flags["--proxy"] is None:
        return lines + [f"{name} goes with --proxy" for name in OF_THE_PROXY if name in given]
    if not _is_address(flags["--proxy"]):
        lines.append(f"{proxy} is {flags['--proxy']!r}: expect an address such as https://127.0.0.1:6443")
    if pointless := [name for name in OF_SIMULATORS if name in given]:
        lines.append(f"--proxy starts no simulators: it does not go with {', '.join(pointless)}")
    return lines


def parts_in(flags: Mapping[str, Any]) -> set[str]:
    """What is to be left out, whether or not it can be."""
    return {part.strip() for part in flags["--without"].split(",") if part.strip()}


def _is_ip(text: str) -> bool:
    try:
        return bool(ip_address(text))
    except ValueError:
        return False


def _is_address(text: str) -> bool:
    """Whether requests can be sent there: scheme, host, and perhaps a port and the start of a path."""
    if not re.fullmatch(r"https?://[^\s?#]+", text):
        return False
    try:
        parts = urlsplit(text)
        return bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
