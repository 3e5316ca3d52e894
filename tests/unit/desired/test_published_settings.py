"""Published settings: their texts, and the change that is told for a day."""

from dataclasses import replace
from datetime import timedelta
from ipaddress import IPv4Network

from desired.annotations.choices import Algorithm
from desired.annotations.options import Options
from desired.model.published_settings import TOLD_FOR, PublishedSettings, texts_of
from desired.model.settings import AddressFamily, Controller, Policy, Settings
from desired.syntax.selector import parse_selector
from tests.builders import NOW
from tests.support.rows import rows

RICH = Settings(
    address_family=AddressFamily.DUALSTACK,
    network="private",
    routes=True,
    cluster_cidr=IPv4Network("10.244.0.0/16"),
    controllers=frozenset(Controller),
    ignore_nodes=parse_selector("pool=edge"),
    balancer_defaults=Options(
        type="lb21",
        algorithm_type=Algorithm.LEAST_CONNECTIONS,
        disable_public_network=True,
        private_subnet_ip_range=IPv4Network("10.0.0.0/24"),
        uses_proxyprotocol=False,
        health_check_interval=20,
    ),
)
LB = "HCLOUD_LOAD_BALANCERS_"


def test_texts_are_as_people_write_them() -> None:
    texts = texts_of(RICH)
    expected = {
        "HCLOUD_INSTANCES_ADDRESS_FAMILY": "dualstack",
        "HCLOUD_NETWORK": "private",
        "HCLOUD_NETWORK_ROUTES_ENABLED": "true",
        "--cluster-cidr": "10.244.0.0/16",
        "--controllers": "cloud-node,cloud-node-lifecycle,node-route,service",
        "--ignore-nodes": "pool=edge",
        f"{LB}TYPE": "lb21",
        f"{LB}ALGORITHM_TYPE": "least_connections",
        f"{LB}DISABLE_PUBLIC_NETWORK": "true",
        f"{LB}PRIVATE_SUBNET_IP_RANGE": "10.0.0.0/24",
        f"{LB}USES_PROXYPROTOCOL": "false",
        f"{LB}HEALTH_CHECK_INTERVAL": "20s",
        f"{LB}USE_PRIVATE_IP": "",
    }
    assert {name: texts[name] for name in expected} | {"--controllers": texts["--controllers"]} == {
        **expected,
        "--controllers": ",".join(sorted(Controller)),
    }
    assert set(texts_of(Settings()).values()) >= {""}


@rows("settings said", {
    "equal": (RICH, ""),
    "what lets a plan through is none": (replace(RICH, policy=Policy.OBSERVE, only=("node/a",)), ""),
    "a network takes its routes along": (replace(RICH, network=None, routes=False),
        "HCLOUD_NETWORK private -> (unset)"),
    "another network": (replace(RICH, network="other"), "HCLOUD_NETWORK private -> other"),
    "routes alone": (replace(RICH, routes=False), "HCLOUD_NETWORK_ROUTES_ENABLED true -> false"),
    "seconds": (replace(RICH, balancer_defaults=replace(RICH.balancer_defaults, health_check_interval=15)),
        "HCLOUD_LOAD_BALANCERS_HEALTH_CHECK_INTERVAL 20s -> 15s"),
    "defaults of what is left alone": (
        replace(RICH, controllers=frozenset(Controller) - {Controller.SERVICE}, balancer_defaults=Options()),
        f"--controllers {','.join(sorted(Controller))} -> {','.join(sorted({*Controller} - {Controller.SERVICE}))}"),
})  # fmt: skip
def test_a_change_is_told_with_former_and_present_value(settings: Settings, said: str) -> None:
    found = PublishedSettings(texts_of(RICH)).followed_by(texts_of(settings), NOW)
    assert found.says.removesuffix(f", since {NOW:%Y-%m-%d %H:%M} UTC") == said
    assert found.values == texts_of(settings)


def test_a_change_is_told_for_a_day() -> None:
    values = texts_of(RICH)
    changed = PublishedSettings({**values, "HCLOUD_NETWORK": "old"}).followed_by(values, NOW)
    assert changed.followed_by(values, NOW + TOLD_FOR) == changed
    later = changed.followed_by(values, NOW + TOLD_FOR + timedelta(seconds=1))
    assert (later, later.says) == (PublishedSettings(values), "")


@rows("settings", {
    "two lines": PublishedSettings({"HCLOUD_NETWORK": "a\nb"}),
    "a former one in two lines": PublishedSettings({}, {"HCLOUD_NETWORK": "a\nb"}, NOW),
    "a long text": PublishedSettings({"HCLOUD_NETWORK": "a" * 4097}),
    "more than any version has": PublishedSettings({f"X{number}": "1" for number in range(101)}),
})  # fmt: skip
def test_settings_of_no_version_are_not_plain(settings: PublishedSettings) -> None:
    assert not settings.is_plain
    assert PublishedSettings(texts_of(RICH), {"HCLOUD_NETWORK": ""}, NOW).is_plain
