"""Flags and environment together: one frozen configuration, or every problem at once, and never a secret."""

from base64 import b64encode
from collections.abc import Mapping
from datetime import timedelta
from ipaddress import IPv4Network
from pathlib import Path

import pytest

from actuators.http.robot import RobotLogin
from desired.annotations.options import Options
from desired.model.published_settings import texts_of
from desired.model.settings import AddressFamily, Controller, Policy, Settings, Waits
from desired.syntax.selector import parse_selector
from reconciler.config.config import Config, ConfigurationError, Mode, load_config, variables_for
from reconciler.config.options import Command, Output
from tests.support.rendering import golden
from tests.support.rows import rows

TOKEN = "T0k3n".ljust(64, "x")
HASH = "sha256:0123456789abcdef"
REQUIRED = 'environment variable "HCLOUD_TOKEN" is required: set it, or HCLOUD_TOKEN_FILE to a file with it'
MALFORMED = "HCLOUD_TOKEN has a blank, a line break or another character that no token has: copy it again"
SECRET = "p4ssw0rd"
LB = "HCLOUD_LOAD_BALANCERS"
PODS = IPv4Network("10.244.0.0/16")
NETWORK = {"HCLOUD_NETWORK": "net"}
OFF = {**NETWORK, "HCLOUD_NETWORK_ROUTES_ENABLED": "false"}


def load(flags: Mapping[str, str] | None = None, /, **environ: str) -> Config:
    return load_config(Command.BARE, flags or {}, {"HCLOUD_TOKEN": TOKEN, **environ})


def refused(flags: Mapping[str, str] | None = None, /, **environ: str) -> ConfigurationError:
    """What is said of a wrong configuration; the environment has nothing but what is given."""
    with pytest.raises(ConfigurationError) as raised:
        load_config(Command.BARE, flags or {}, environ)
    return raised.value


def test_defaults() -> None:
    assert load() == Config(
        settings=Settings(),
        mode=Mode.LOOP,
        output=Output.AUTO,
        detailed_exitcode=False,
        approved=(),
        kubeconfig=None,
        interval_s=None,
        request_timeout_s=15.0,
        lease_namespace="kube-system",
        beside=lambda _: load(),
        token=TOKEN,
        endpoint="https://api.hetzner.cloud/v1",
        robot_endpoint="https://robot-ws.your-server.de",
    )


def test_everything_set() -> None:
    flags = {
        "--once": "true",
        "--output": "json",
        "--detailed-exitcode": "true",
        "--approve": HASH,
        "--only": "node/web-1",
        "--controllers": "cloud-node",
        "--cluster-cidr": "10.244.0.0/16",
        "--kubeconfig": "/some/file",
        "--context": "prod",
        "--interval": "2m",
        "--policy": "upsert",
        "--ignore-nodes": "team=x",
        "--mirror-labels": "servers.example.com",
        "--keep-internal-ips": "true",
        "--delete-not-ready-for": "1s",
        "--delete-min-age": "2s",
        "--given-up-after": "3s",
        "--request-timeout": "5s",
        "--leader-elect-resource-namespace": "ops",
    }

    config = load(
        flags,
        HCLOUD_ENDPOINT="http://127.0.0.1:8080/v1//",
        HCLOUD_NETWORK="net",
        HCLOUD_DEBUG="true",
        HCLOUD_INSTANCES_ADDRESS_FAMILY="dualstack",
        HCLOUD_INSTANCES_ZONE_LABEL_ENABLED="false",
        HCLOUD_LOAD_BALANCERS_LOCATION="hel1",
        HCLOUD_LOAD_BALANCERS_USES_PROXYPROTOCOL="false",
        HCLOUD_LOAD_BALANCERS_HEALTH_CHECK_INTERVAL="5s",
    )

    assert config == Config(
        settings=Settings(
            address_family=AddressFamily.DUALSTACK,
            zone_labels=False,
            network="net",
            routes=True,
            cluster_cidr=PODS,
            policy=Policy.UPSERT,
            controllers=frozenset({Controller.NODE}),
            ignore_nodes=parse_selector("team=x"),
            mirror_labels="servers.example.com",
            keep_internal_ips=True,
            waits=Waits(timedelta(seconds=1), timedelta(seconds=2), timedelta(seconds=3)),
            balancer_defaults=Options(location="hel1", uses_proxyprotocol=False, health_check_interval=5),
            only=("node/web-1",),
        ),
        mode=Mode.ONCE,
        output=Output.JSON,
        detailed_exitcode=True,
        approved=(HASH,),
        kubeconfig="/some/file",
        interval_s=120.0,
        request_timeout_s=5.0,
        lease_namespace="ops",
        beside=lambda _: load(),
        token=TOKEN,
        endpoint="http://127.0.0.1:8080/v1",
        robot_endpoint="https://robot-ws.your-server.de",
        context="prod",
        debug=True,
        deciding="--only node/web-1 --controllers cloud-node --policy upsert --ignore-nodes team=x"
        " --cluster-cidr 10.244.0.0/16 --mirror-labels servers.example.com --keep-internal-ips"
        " --delete-not-ready-for 1s --delete-min-age 2s --given-up-after 3s",
    )


@pytest.mark.parametrize(
    ("controllers", "enabled", "left"),
    [
        pytest.param("*", "true", frozenset(Controller), id="on"),
        pytest.param("*", "false", frozenset(Controller) - {Controller.SERVICE}, id="off"),
        pytest.param("service", "false", frozenset(), id="off, and nothing else asked for"),
        pytest.param("cloud-node", "false", frozenset({Controller.NODE}), id="off, and not asked for"),
        pytest.param("cloud-node", "true", frozenset({Controller.NODE}), id="on, and not asked for"),
    ],
)
def test_load_balancers_switched_off(controllers: str, enabled: str, left: frozenset[Controller]) -> None:
    """HCCM's switch takes the part that looks after Services away, whatever ``--controllers`` says."""
    config = load({"--controllers": controllers}, HCLOUD_LOAD_BALANCERS_ENABLED=enabled)

    assert config.settings.controllers == left


@pytest.mark.parametrize(
    ("environ", "on"),
    [
        pytest.param({}, False, id="no network"),
        pytest.param({"HCLOUD_NETWORK": ""}, False, id="empty network"),
        pytest.param({"HCLOUD_NETWORK_ROUTES_ENABLED": "true"}, False, id="asked for without a network"),
        pytest.param(NETWORK, True, id="a network"),
        pytest.param({**NETWORK, "HCLOUD_NETWORK_ROUTES_ENABLED": "true"}, True, id="asked for"),
        pytest.param(OFF, False, id="switched off"),
        pytest.param({**NETWORK, "HCLOUD_NETWORK_DISABLE_ATTACHED_CHECK": "true"}, True, id="HCCM's check is off"),
    ],
)
@pytest.mark.parametrize("command", [Command.BARE, Command.EXPLAIN, Command.VALIDATE, Command.ORPHANS])
def test_routes(environ: dict[str, str], on: bool, command: Command) -> None:
    assert load_config(command, {}, {"HCLOUD_TOKEN": TOKEN, **environ}).settings.routes is on


@pytest.mark.parametrize(
    ("text", "cluster_cidr"),
    [
        pytest.param("10.244.0.0/16", PODS, id="IPv4"),
        pytest.param("10.244.0.0/16,fd00::/48", PODS, id="IPv4 first"),
        pytest.param("fd00::/48,10.244.0.0/16", PODS, id="IPv6 first"),
        pytest.param("100.64.0.0/10", IPv4Network("100.64.0.0/10"), id="outside of RFC 1918"),
    ],
)
@pytest.mark.parametrize("command", [Command.BARE, Command.EXPLAIN, Command.VALIDATE])
def test_the_cluster_cidr(text: str, cluster_cidr: IPv4Network, command: Command) -> None:
    """The IPv4 range counts, in whatever place; a flag and its variable mean the same to all that plan."""
    flag = load_config(command, {"--cluster-cidr": text}, {"HCLOUD_TOKEN": TOKEN, **NETWORK})
    variable = load_config(command, {}, {"HCLOUD_TOKEN": TOKEN, **NETWORK, "RECONCILER_CLUSTER_CIDR": text})

    assert flag.settings.cluster_cidr == variable.settings.cluster_cidr == cluster_cidr


@pytest.mark.parametrize("command", [Command.BARE, Command.EXPLAIN, Command.VALIDATE])
def test_routes_that_nobody_could_make(command: Command) -> None:
    with pytest.raises(ConfigurationError) as raised:
        load_config(command, {"--cluster-cidr": "fd00::/48"}, {"HCLOUD_TOKEN": TOKEN, **NETWORK})

    assert str(raised.value) == (
        "--cluster-cidr is fd00::/48 alone, and pod routes are for IPv4: add the pods' IPv4 range, or set"
        " HCLOUD_NETWORK_ROUTES_ENABLED=false"
    )
    assert not raised.value.usage


@rows(
    "controllers environ",
    {"switched off": ("*", OFF), "no network": ("*", {}), "not among the controllers": ("*,-route", NETWORK)},
)
def test_ipv6_alone_without_routes(controllers: str, environ: dict[str, str]) -> None:
    config = load({"--cluster-cidr": "fd00::/48", "--controllers": controllers}, **environ)

    assert config.settings.cluster_cidr is None


ROBOT = {"ROBOT_ENABLED": "true"}
ROUTES = "HCLOUD_NETWORK_ROUTES_ENABLED"
OF_SECRET = f"me:{SECRET}@host"
WITHOUT_TOKEN: Mapping[str, Mapping[str, str]] = {
    "no token": {},
    "empty name of the token's file": {"HCLOUD_TOKEN_FILE": ""},
    "the plain variable wins": {"HCLOUD_TOKEN": "", "HCLOUD_TOKEN_FILE": __file__},
    "token with a line break": {"HCLOUD_TOKEN": f"{TOKEN}\n"},
    "token with a blank": {"HCLOUD_TOKEN": f"{SECRET} {SECRET}"},
    "short token": {"HCLOUD_TOKEN": "short"},
    "misspelt token": {"HCLOUD_TOKN": SECRET},
}
WITH_TOKEN: Mapping[str, Mapping[str, str]] = {
    "endpoint without scheme": {"HCLOUD_ENDPOINT": "api.hetzner.cloud"},
    "endpoint without encryption": {"HCLOUD_ENDPOINT": f"http://{OF_SECRET}/v1"},
    "endpoint with a password": {"HCLOUD_ENDPOINT": f"https://{OF_SECRET}"},
    "bad endpoint with a password": {"HCLOUD_ENDPOINT": OF_SECRET},
    "empty endpoint": {"HCLOUD_ENDPOINT": ""},
    "this machine without encryption": {"HCLOUD_ENDPOINT": "http://127.0.0.1:8080/v1"},
    "proxy with a password": {"https_proxy": f"http://{OF_SECRET}"},
    "location and zone": {f"{LB}_LOCATION": "fsn1", f"{LB}_NETWORK_ZONE": "eu-central"},
    "Robot user alone": {**ROBOT, "ROBOT_USER": "u"},
    "Robot password alone": {**ROBOT, "ROBOT_PASSWORD": SECRET},
    "one of two, and Robot off": {"ROBOT_USER": "u"},
    "Robot with both": {**ROBOT, "ROBOT_USER": "u", "ROBOT_PASSWORD": SECRET},
    "Robot without credentials": ROBOT,
    "Robot with routes": {**ROBOT, **NETWORK},
    "Robot with a network and without routes": {**ROBOT, **OFF},
    "Robot credentials that no header can have": {**ROBOT, "ROBOT_USER": f"u:{SECRET}", "ROBOT_PASSWORD": "a\nb"},
    "Robot endpoint without scheme": {**ROBOT, "ROBOT_ENDPOINT": "robot-ws.your-server.de"},
    "bad Robot endpoint with a password": {**ROBOT, "ROBOT_ENDPOINT": OF_SECRET},
    "misspelt Robot password": {"ROBOT_PASWORD": SECRET},
    "routes without a network": {ROUTES: "true"},
    "no routes and no network": {ROUTES: "false"},
    "not even parsed without a network": {ROUTES: "yes"},
    "HCCM's caches": {"HCLOUD_SERVER_CACHE_MODE": "off", "HCLOUD_SERVER_CACHE_MAX_AGE": "1m"},
    "a name that HCCM had once": {"HCLOUD_SERVER_CACHE_TTL": "sometimes"},
    "names of others": {"HCLOUD_CONTEXT": "prod", "HCLOUD_CSI_SERVICE_HOST": "10.0.0.1"},
    "family in capitals": {"HCLOUD_INSTANCES_ADDRESS_FAMILY": "IPv4"},
    "no mode of a cache": {"HCLOUD_SERVER_CACHE_MODE": "none"},
    "empty mode of a cache": {"HCLOUD_SERVER_CACHE_MODE": ""},
    "empty age of a cache": {"HCLOUD_SERVER_CACHE_MAX_AGE": ""},
    "age without a unit": {"HCLOUD_SERVER_CACHE_MAX_AGE": "10"},
    "a port alone": {"HCLOUD_METRICS_ADDRESS": "8233"},
    "no algorithm": {f"{LB}_ALGORITHM_TYPE": "random"},
    "an address for a range": {f"{LB}_PRIVATE_SUBNET_IP_RANGE": "10.0.1.0"},
    "fewer than no retries": {f"{LB}_HEALTH_CHECK_RETRIES": "-1"},
    "no policy": {f"{LB}_DELETION_POLICY": "keep"},
    "unknown variable": {"RECONCILER_DRYRUN": "true"},
    "unknown variable with a secret": {"RECONCILER_TOKEN": SECRET},
}


def told(environ: Mapping[str, str]) -> list[str]:
    """Errors or warnings, and neither a token nor a password in them, nor in what a debugger shows."""
    try:
        found = load_config(Command.BARE, {}, environ)
    except ConfigurationError as error:
        word = "usage" if error.usage else "error"
        shown, lines = f"{error} {error!r}", [f"{word}: {line}" for line in error.lines]
    else:
        shown, lines = f"{found} {found!r}", [f"warning: {line}" for line in found.warnings]
    assert not any(secret in text for text in (shown, *lines) for secret in (SECRET, TOKEN))
    return lines


def test_environments() -> None:
    """In HCCM's words where it has any; the command line is not to blame. Set UPDATE_GOLDEN to write the file anew, and
    read it."""
    environs = {**WITHOUT_TOKEN, **{name: {"HCLOUD_TOKEN": TOKEN, **each} for name, each in WITH_TOKEN.items()}}
    text = "".join("\n".join([f"=== {name}", *told(environ), "", ""]) for name, environ in environs.items())

    assert text == golden("environments.txt", text)


@rows(
    "flags lines",
    {
        "approving in the loop": (
            {"--approve": HASH},
            ["--approve goes with 'reconcile apply'; for a running controller use 'reconcile approve HASH'"],
        ),
        "approving in a dry run": (
            {"--approve": HASH, "--dry-run": "true"},
            ["--approve goes with 'reconcile apply'; for a running controller use 'reconcile approve HASH'"],
        ),
    },
)
def test_bad_usage(flags: dict[str, str], lines: list[str]) -> None:
    """When only the command line is wrong, that is said, so that the exit code can tell."""
    error = refused(flags, HCLOUD_TOKEN=TOKEN)

    assert error.lines == tuple(lines)
    assert error.usage


def test_all_problems_at_once() -> None:
    error = refused(
        {"--output": "xml", "--interval": "5"},
        RECONCILER_POLICY="all",
        RECONCILER_X_Y_Z="1",
        HCLOUD_DEBUG="",
        HCLOUD_NETWROK="net",
        ROBOT_ENABLED="yes",
    )

    assert error.lines == (
        "--output is 'xml': expect one of auto, text, json, yaml, markdown, name, html",
        "--interval is '5': expect a duration with a unit, such as 30s, 1m30s or 500ms",
        "RECONCILER_POLICY is 'all': expect one of observe, upsert, sync",
        "unknown variable RECONCILER_X_Y_Z",
        "HCLOUD_DEBUG is '': expect one of 1, t, T, TRUE, true, True, 0, f, F, FALSE, false, False",
        "ROBOT_ENABLED is 'yes': expect one of 1, t, T, TRUE, true, True, 0, f, F, FALSE, false, False",
        "unknown variable HCLOUD_NETWROK: did you mean HCLOUD_NETWORK?",
        REQUIRED,
    )
    assert str(error) == "\n".join(error.lines)
    assert not error.usage


def test_a_missing_token_file_is_one_problem() -> None:
    error = refused(HCLOUD_TOKEN_FILE="/no/such/file")

    assert error.lines == ("HCLOUD_TOKEN_FILE: '/no/such/file' cannot be read: No such file or directory",)


@pytest.mark.parametrize("names", [("ROBOT_USER", "ROBOT_PASSWORD"), ("ROBOT_PASSWORD",)], ids=", ".join)
def test_robot_credentials_from_files(tmp_path: Path, names: tuple[str, ...]) -> None:
    """They are known to be read again, and masked as they are and as they are sent."""
    texts = {"ROBOT_USER": "#ws+u", "ROBOT_PASSWORD": SECRET}
    for name in names:
        (tmp_path / name).write_text(f"{texts[name]}\n")
    files = {name: tmp_path / name for name in names}
    given = {f"{name}_FILE": str(path) for name, path in files.items()}

    config = load(ROBOT_ENABLED="true", **{k: v for k, v in texts.items() if k not in names}, **given)

    assert config.robot_login == RobotLogin("#ws+u", SECRET)
    assert config.robot_files == files
    assert {SECRET, b64encode(f"#ws+u:{SECRET}".encode()).decode()} <= set(config.passwords)
    assert load(**given).robot_files == {}  # while Robot is off


def test_a_file_with_a_wrong_secret_is_not_quoted(tmp_path: Path) -> None:
    (tmp_path / "token").write_text(f"{SECRET}\n{SECRET}")

    error = refused(HCLOUD_TOKEN_FILE=str(tmp_path / "token"))

    assert error.lines == (MALFORMED,)


@pytest.mark.parametrize(
    ("given", "rate_limit", "reads", "expected"),
    [
        pytest.param({}, 3600, 3, 60.0, id="a minute"),
        pytest.param({}, 3600, 15, 60.0, id="exactly a quarter of the allowance"),
        pytest.param({}, 3600, 100, 400.0, id="a large project"),
        pytest.param({}, 360, 10, 400.0, id="a small allowance"),
        pytest.param({}, 0, 1, 14400.0, id="no allowance is read as one request an hour"),
        pytest.param({}, None, 100, 400.0, id="Hetzner has not said"),
        pytest.param({"--interval": "10s"}, 3600, 1000, 10.0, id="as given"),
    ],
)
def test_interval(given: dict[str, str], rate_limit: int | None, reads: int, expected: float) -> None:
    assert load(given).interval_for(rate_limit, reads) == pytest.approx(expected)


def test_a_selector_of_servers_excludes_robot() -> None:
    """An address of a dedicated server may be another server's, and only the whole list tells."""
    with pytest.raises(ConfigurationError) as caught:
        load({"--server-selector": "cluster=a"}, ROBOT_ENABLED="true")

    assert caught.value.lines == ("--server-selector and ROBOT_ENABLED exclude each other: unset one of them",)


ALL_DEFAULTS = {
    f"{LB}_TYPE": "lb31",
    f"{LB}_NETWORK_ZONE": "us-east",
    f"{LB}_ALGORITHM_TYPE": "round_robin",
    f"{LB}_DISABLE_PUBLIC_NETWORK": "false",
    f"{LB}_DISABLE_PRIVATE_INGRESS": "true",
    f"{LB}_DISABLE_IPV6": "true",
    f"{LB}_USE_PRIVATE_IP": "true",
    f"{LB}_PRIVATE_SUBNET_IP_RANGE": "10.0.0.0/16",
    f"{LB}_USES_PROXYPROTOCOL": "true",
    f"{LB}_HEALTH_CHECK_INTERVAL": "1m",
    f"{LB}_HEALTH_CHECK_TIMEOUT": "5s",
    f"{LB}_HEALTH_CHECK_RETRIES": "2",
}


@rows(
    "flags environ",
    {
        "none": ({}, {}),
        "of load balancers": ({}, ALL_DEFAULTS),
        "of a location": ({}, {f"{LB}_LOCATION": "nbg1"}),
        "of Nodes": (
            {
                "--controllers": "*,-route",
                "--ignore-nodes": "pool in (a, b),!c",
                "--mirror-labels": "servers.example.com/",
                "--keep-internal-ips": "true",
            },
            {"HCLOUD_INSTANCES_ADDRESS_FAMILY": "ipv6", "HCLOUD_INSTANCES_ZONE_LABEL_ENABLED": "false"},
        ),
        "of routes": ({"--cluster-cidr": "10.244.0.0/16,fd00::/48"}, NETWORK),
        "of no routes": ({"--configure-cloud-routes": "false"}, NETWORK),
        "of Robot": ({}, {"ROBOT_ENABLED": "true", "ROBOT_FORWARD_INTERNAL_IPS": "false"}),
        "without load balancers": ({}, {f"{LB}_ENABLED": "false"}),
    },
)
def test_texts_of_settings_give_the_same_settings(flags: Mapping[str, str], environ: Mapping[str, str]) -> None:
    settings = load(flags, **environ).settings
    assert load(**variables_for(texts_of(settings))).settings == settings


def test_a_text_sets_nothing_but_settings() -> None:
    """Any client may have written it: the token would go to its endpoint."""
    forged = {"HCLOUD_ENDPOINT": "https://example.com/v1", "HCLOUD_TOKEN": "x", "--policy": "sync", "PATH": "/tmp"}
    assert variables_for({**forged, "HCLOUD_NETWORK": "net"}) == NETWORK
