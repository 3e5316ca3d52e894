"""Flags by their names, such as ``--world``: what holds where they are not given, and what cannot be meant together.

Loads nothing that takes time.
"""

import re
from collections.abc import Collection, Mapping
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

OF_SIMULATORS: Mapping[str, Any] = {
    "--world": None,
    "--hetzner-port": 0,
    "--kubernetes-port": 0,
    "--robot-port": 0,
    "--kubernetes": "double",
    "--without": "",
    "--action-ms": 300,
    "--latency-ms": 0,
    "--rate-limit": 3600,
    "--join-ms": 5000,
    "--node-grace-ms": 10000,
    "--network-attachments": 100,
}
"""Flag → its value where it is not given."""
OF_THE_PROXY: Mapping[str, Any] = {"--proxy-port": 0, "--proxy-ca-file": None}
"""The same, of those that go with ``--proxy``."""
DEFAULTS: Mapping[str, Any] = {**OF_SIMULATORS, "--proxy": None, **OF_THE_PROXY, "--listen": "127.0.0.1"}
"""All of them."""
PARTS = ("kubelets", "kubernetes", "robot")
"""What can be left out."""
KINDS_OF_KUBERNETES = ("auto", "double")
"""``auto`` is a real API server where its programs are at hand."""


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
