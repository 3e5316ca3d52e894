"""What decided on plans before: its form in the ConfigMap, and what differs by now."""

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from ipaddress import IPv4Network
from typing import Any

import pytest

from desired.annotations.choices import Algorithm
from desired.annotations.options import Options
from desired.model.former_settings import (
    SETTINGS,
    FormerSettings,
    PendingChange,
    shown_setting,
    values_of,
)
from desired.model.record import Stamp
from desired.model.settings import AddressFamily, Controller, Policy, Settings
from desired.syntax.selector import parse_selector
from tests.builders import CLUSTER_UID, NOW
from tests.support.rows import rows

RICH = Settings(
    address_family=AddressFamily.DUALSTACK,
    zone_labels=False,
    network="private",
    routes=True,
    cluster_cidr=IPv4Network("10.244.0.0/16"),
    controllers=frozenset({Controller.NODE, Controller.SERVICE, Controller.ROUTE}),
    ignore_nodes=parse_selector("pool=edge"),
    mirror_labels="hcloud",
    keep_internal_ips=True,
    lifecycle_conditions=True,
    robot=True,
    forward_internal_ips=False,
    balancer_defaults=Options(
        type="lb21",
        location="fsn1",
        algorithm_type=Algorithm.LEAST_CONNECTIONS,
        disable_public_network=True,
        use_private_ip=True,
        private_subnet_ip_range=IPv4Network("10.0.0.0/24"),
        uses_proxyprotocol=False,
        health_check_interval=20,
    ),
)
ORIGIN = Stamp(CLUSTER_UID, "ccm-0", NOW)


def former(settings: Settings = RICH, **overrides: Any) -> FormerSettings:
    return replace(FormerSettings(values_of(settings), 7, "1.0.0"), **overrides)


@rows("settings", {"defaults": Settings(), "rich": RICH})
def test_what_is_written_is_read_again(settings: Settings) -> None:
    """Written, read, and applied to any other settings, it is what it was."""
    pending = PendingChange({"HCLOUD_NETWORK": None}, NOW - timedelta(hours=1), accepted=True)
    written = former(settings, change=pending)
    read = SETTINGS.read(SETTINGS.write(written, ORIGIN), CLUSTER_UID)
    assert read == written
    assert read.differing(settings) == {}
    for other in (Settings(policy=Policy.UPSERT), replace(RICH, policy=Policy.UPSERT)):
        assert read.under(other) == replace(settings, policy=Policy.UPSERT)


@rows("parts missing", {
    "all parts": (set(Controller), set()),
    "no Services": ({Controller.NODE, Controller.ROUTE}, {"HCLOUD_LOAD_BALANCERS_USE_PRIVATE_IP"}),
    "no routes": ({Controller.NODE, Controller.SERVICE}, {"--cluster-cidr"}),
})  # fmt: skip
def test_what_decides_for_a_part_that_is_off_is_no_difference(parts: set[Controller], missing: set[str]) -> None:
    """A run of other parts neither compares nor replaces what is remembered of it."""
    before, now = former(), replace(RICH, controllers=frozenset(parts), cluster_cidr=None, balancer_defaults=Options())
    values = values_of(now)
    assert missing.isdisjoint(values)
    assert missing.isdisjoint(before.differing(now))
    assert {"--cluster-cidr", "HCLOUD_LOAD_BALANCERS_USE_PRIVATE_IP"} - missing <= before.differing(now).keys()


def _with(**fields: Any) -> str:
    return json.dumps({**json.loads(SETTINGS.write(former(), ORIGIN)), **fields})


@pytest.mark.parametrize("text", [
    None,
    "",
    "[]",
    "null",
    "[" * 70_000,
    "[" * 50_000,
    _with(cluster="another"),
    _with(version=2),
    _with(network_id="7"),
    _with(network_id=0),
    _with(written_at="2026-11-25T04:50:00"),
    _with(settings=[]),
    _with(settings={f"X{number}": 1 for number in range(101)}),
    _with(change={"settings": {}, "since": "now", "accepted": False}),
    _with(tool_version="a\nb"),
])  # fmt: skip
def test_what_we_would_not_write_is_not_remembered(text: str | None) -> None:
    """Whoever may write there may write anything."""
    assert SETTINGS.read(text, CLUSTER_UID) is None


@pytest.mark.parametrize(("name", "value"), [
    ("HCLOUD_NETWORK", 7),
    ("HCLOUD_NETWORK", "a\nb"),
    ("HCLOUD_INSTANCES_ADDRESS_FAMILY", "ipx"),
    ("--cluster-cidr", "10.0.0.0/99"),
    ("--controllers", "everything"),
    ("--ignore-nodes", "(("),
    ("ROBOT_ENABLED", 1),
    ("HCLOUD_LOAD_BALANCERS_TYPE", True),
    ("HCLOUD_LOAD_BALANCERS_DISABLE_PUBLIC_NETWORK", "yes"),
    ("HCLOUD_LOAD_BALANCERS_HEALTH_CHECK_INTERVAL", "15s"),
    ("HCLOUD_LOAD_BALANCERS_HEALTH_CHECK_RETRIES", True),
    ("HCLOUD_LOAD_BALANCERS_ALGORITHM_TYPE", "random"),
])  # fmt: skip
def test_a_value_that_cannot_be_is_as_if_it_were_not_remembered(name: str, value: Any) -> None:
    """It differs from nothing; the others are as they were."""
    settings = {**values_of(RICH), name: value}
    read = SETTINGS.read(_with(settings=settings), CLUSTER_UID)
    assert read is not None
    assert name not in read.values
    assert read.under(RICH) == RICH


def test_a_name_of_another_version_is_kept_and_ignored() -> None:
    """Two versions take turns, and neither undoes what the other remembers."""
    read = SETTINGS.read(_with(settings={**values_of(RICH), "HCLOUD_OF_TOMORROW": "on"}), CLUSTER_UID)
    assert read is not None
    assert read.values["HCLOUD_OF_TOMORROW"] == "on"
    assert read.differing(RICH) == {}
    assert read.under(RICH) == RICH


@rows("settings differing", {
    "not-what-lets-through": (replace(RICH, policy=Policy.OBSERVE, only=("node/a",)), {}),
    "a-network-takes-its-routes-along": (replace(RICH, network=None, routes=False),
        {"HCLOUD_NETWORK": ("private", "(unset)")}),
    "routes-alone": (replace(RICH, routes=False), {"HCLOUD_NETWORK_ROUTES_ENABLED": ("true", "false")}),
    "seconds": (replace(RICH, balancer_defaults=replace(RICH.balancer_defaults, health_check_interval=15)),
        {"HCLOUD_LOAD_BALANCERS_HEALTH_CHECK_INTERVAL": ("20s", "15s")}),
})  # fmt: skip
def test_what_differs(settings: Settings, differing: Mapping[str, tuple[str, str]]) -> None:
    """By the names that people set."""
    found = former().differing(settings)
    assert {
        name: (shown_setting(name, was), shown_setting(name, now)) for name, (was, now) in found.items()
    } == differing
