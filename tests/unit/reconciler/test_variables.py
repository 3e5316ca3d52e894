"""Every variable of HCCM: what is taken, what is refused, what empty means, and which names are somebody else's."""

from pathlib import Path
from typing import Any

import pytest

from reconciler.config.environment import VARIABLES, passwords_in, read_variables, unread_variables

LB = "HCLOUD_LOAD_BALANCERS"
BAD_BOOL = "expect one of 1, t, T, TRUE, true, True, 0, f, F, FALSE, false, False"
BAD_DURATION = "expect a duration with a unit, such as 30s, 1m30s or 500ms"
BOOLEANS = [
    "HCLOUD_DEBUG",
    "HCLOUD_NETWORK_DISABLE_ATTACHED_CHECK",
    "HCLOUD_INSTANCES_ZONE_LABEL_ENABLED",
    "HCLOUD_METRICS_ENABLED",
    f"{LB}_ENABLED",
    f"{LB}_DISABLE_PUBLIC_NETWORK",
    f"{LB}_DISABLE_PRIVATE_INGRESS",
    f"{LB}_DISABLE_IPV6",
    f"{LB}_USE_PRIVATE_IP",
    f"{LB}_USES_PROXYPROTOCOL",
    "ROBOT_ENABLED",
    "ROBOT_FORWARD_INTERNAL_IPS",
]
TEXTS = ["HCLOUD_TOKEN", "HCLOUD_NETWORK", f"{LB}_LOCATION", f"{LB}_NETWORK_ZONE", f"{LB}_TYPE", "ROBOT_USER"]
DURATIONS = [
    f"{LB}_HEALTH_CHECK_INTERVAL",
    f"{LB}_HEALTH_CHECK_TIMEOUT",
    "ROBOT_CACHE_TIMEOUT",
    "ROBOT_RATE_LIMIT_WAIT_TIME",
]


def read(name: str, text: str, **others: str) -> Any:
    """The value of one variable; AssertionError when there is any problem."""
    errors: list[str] = []
    values = read_variables({name: text, **others}, errors)
    assert errors == []
    return values[name]


def problems(**environ: str) -> list[str]:
    errors: list[str] = []
    read_variables(environ, errors)
    return errors


def test_defaults() -> None:
    """HCCM's, which docs/configuration.md lists. Routes need a network."""
    errors: list[str] = []
    expected = {name: row.default for name, row in VARIABLES.items()} | {"HCLOUD_NETWORK_ROUTES_ENABLED": False}

    assert (read_variables({}, errors), errors) == (expected, [])


@pytest.mark.parametrize("name", BOOLEANS)
def test_booleans(name: str) -> None:
    assert read(name, "true") is True
    assert read(name, "F") is False
    assert problems(**{name: "yes"}) == [f"{name} is 'yes': {BAD_BOOL}"]
    assert problems(**{name: ""}) == [f"{name} is '': {BAD_BOOL}"]


@pytest.mark.parametrize("name", TEXTS)
def test_texts(name: str) -> None:
    assert read(name, " as it is ") == " as it is "
    assert read(name, "") == VARIABLES[name].default


@pytest.mark.parametrize("name", DURATIONS)
def test_durations(name: str) -> None:
    assert read(name, "1m30s") == 90.0
    assert read(name, "0") == 0.0
    assert read(name, "") == VARIABLES[name].default
    assert problems(**{name: "10"}) == [f"{name} is '10': {BAD_DURATION}"]


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("HCLOUD_ENDPOINT", "http://127.0.0.1:8080/v1/", "http://127.0.0.1:8080/v1/"),
        ("HCLOUD_ENDPOINT", "", "https://api.hetzner.cloud/v1"),
        ("HCLOUD_INSTANCES_ADDRESS_FAMILY", "ipv6", "ipv6"),
        ("HCLOUD_INSTANCES_ADDRESS_FAMILY", "dualstack", "dualstack"),
        ("HCLOUD_INSTANCES_ADDRESS_FAMILY", "", "ipv4"),
        ("HCLOUD_SERVER_CACHE_MODE", "one", "one"),
        ("HCLOUD_SERVER_CACHE_MODE", "off", "off"),
        ("HCLOUD_SERVER_CACHE_MAX_AGE", "1m", 60.0),
        ("HCLOUD_METRICS_ADDRESS", "127.0.0.1:9000", ("127.0.0.1", 9000)),
        ("HCLOUD_METRICS_ADDRESS", "", ("", 8233)),
        (f"{LB}_ALGORITHM_TYPE", " Least_Connections ", "least_connections"),
        (f"{LB}_ALGORITHM_TYPE", "round_robin", "round_robin"),
        (f"{LB}_ALGORITHM_TYPE", "", None),
        (f"{LB}_PRIVATE_SUBNET_IP_RANGE", "10.0.1.0/24", "10.0.1.0/24"),
        (f"{LB}_PRIVATE_SUBNET_IP_RANGE", "10.0.1.7/24", "10.0.1.7/24"),
        (f"{LB}_PRIVATE_SUBNET_IP_RANGE", "", None),
        (f"{LB}_HEALTH_CHECK_RETRIES", "3", 3),
        (f"{LB}_HEALTH_CHECK_RETRIES", "", 0),
        (f"{LB}_DELETION_POLICY", "Retain", "retain"),
        (f"{LB}_DELETION_POLICY", "", None),
    ],
)
def test_values(name: str, text: str, value: Any) -> None:
    assert read(name, text) == value


def test_routes_are_parsed_with_a_network() -> None:
    assert problems(HCLOUD_NETWORK="net", HCLOUD_NETWORK_ROUTES_ENABLED="") == [
        f"HCLOUD_NETWORK_ROUTES_ENABLED is '': {BAD_BOOL}"
    ]


@pytest.mark.parametrize("name", ["HCLOUD_TOKEN", "ROBOT_USER", "ROBOT_PASSWORD"])
def test_values_from_files(tmp_path: Path, name: str) -> None:
    """A secret may stand in a file, whose surrounding blanks do not count; the plain variable wins, even empty."""
    file = tmp_path / "secret"
    file.write_text("\n  from file \n")
    errors: list[str] = []

    assert read_variables({f"{name}_FILE": str(file)}, errors)[name] == "from file"
    assert read_variables({f"{name}_FILE": str(file), name: "plain"}, errors)[name] == "plain"
    assert read_variables({f"{name}_FILE": str(file), name: ""}, errors)[name] is None
    assert read_variables({f"{name}_FILE": "/no/such/file", name: "plain"}, errors)[name] == "plain"
    assert read_variables({f"{name}_FILE": ""}, errors)[name] is None
    assert errors == []


def test_unusable_files(tmp_path: Path) -> None:
    (tmp_path / "empty").write_text(" \n")
    (tmp_path / "binary").write_bytes(b"secret\xff\xfe")
    problem = "HCLOUD_TOKEN_FILE: '{}' {}"

    for file, why in [
        (tmp_path / "missing", "cannot be read: No such file or directory"),
        (tmp_path, "cannot be read: Is a directory"),
        (tmp_path / "empty", "is empty"),
        (tmp_path / "binary", "is no text in UTF-8"),
    ]:
        assert problems(HCLOUD_TOKEN_FILE=str(file)) == [problem.format(file, why)]


def test_values_that_are_no_text() -> None:
    """What a shell passes on as bytes is an error that names the variable, be it a token."""
    for name in ("HCLOUD_TOKEN", "HCLOUD_NETWORK", "ROBOT_USER"):
        assert problems(**{name: "a\udcff"}) == [f"{name} is no text in UTF-8: set it again"]


def test_other_variables_have_no_file(tmp_path: Path) -> None:
    (tmp_path / "network").write_text("net")
    errors: list[str] = []

    values = read_variables({"HCLOUD_NETWORK_FILE": str(tmp_path / "network")}, errors)

    assert values["HCLOUD_NETWORK"] is None


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("HCLOUD_TOKENS", "HCLOUD_TOKEN"),
        ("HCLOUD_TOKEN_FIL", "HCLOUD_TOKEN_FILE"),
        ("HCLOUD_NETWORKS", "HCLOUD_NETWORK"),
        ("HCLOUD_INSTANCE_ADDRESS_FAMILY", "HCLOUD_INSTANCES_ADDRESS_FAMILY"),
        ("HCLOUD_LOAD_BALANCER_LOCATION", "HCLOUD_LOAD_BALANCERS_LOCATION"),
        ("ROBOT_PASWORD", "ROBOT_PASSWORD"),
        (f"{LB}_DEFAULT_LOCATION", f"{LB}_LOCATION"),
        (f"{LB}_DEFAULT_TYPE", f"{LB}_TYPE"),
        (f"{LB}_REGION", f"{LB}_LOCATION"),
        (f"{LB}_PRIVATE_IP", f"{LB}_USE_PRIVATE_IP"),
        (f"{LB}_PROXY_PROTOCOL", f"{LB}_USES_PROXYPROTOCOL"),
        (f"{LB}_SUBNET_IP_RANGE", f"{LB}_PRIVATE_SUBNET_IP_RANGE"),
        ("HCLOUD_LOADBALANCER_TYPE", f"{LB}_TYPE"),
        ("HCLOUD_NETWORK_ID", "HCLOUD_NETWORK"),
        ("HCLOUD_NETWORK_NAME", "HCLOUD_NETWORK"),
        ("HCLOUD_NETWORK_ROUTES", "HCLOUD_NETWORK_ROUTES_ENABLED"),
        ("HCLOUD_ROUTES_ENABLED", "HCLOUD_NETWORK_ROUTES_ENABLED"),
        ("HCLOUD_ROBOT_ENABLED", "ROBOT_ENABLED"),
        ("ROBOT_USERNAME", "ROBOT_USER"),
        ("ROBOT_PASS", "ROBOT_PASSWORD"),
    ],
)
def test_unread_variables(name: str, meant: str) -> None:
    assert unread_variables({name: "x"}) == [f"unknown variable {name}: did you mean {meant}?"]


@pytest.mark.parametrize(
    "name", ["HCLOUD_LB_LOCATION", "HCLOUD_INSTANCES_COLOR", f"{LB}_FREE_OF_CHARGE", "ROBOT_COLOR"]
)
def test_names_like_no_other(name: str) -> None:
    """What begins as ours do is an error all the same: a setting that nothing reads protects nothing."""
    assert unread_variables({name: "x"}) == [f"unknown variable {name}: nothing reads it; unset it"]


OF_OTHERS = (
    "HCLOUD_CONTEXT HCLOUD_SERVER_CACHE_TTL HCLOUD_CONFIG HCLOUD_CSI_SERVICE_HOST HCLOUD_TOKEN_SERVICE_PORT "
    "HCLOUD_NETWORK_PORT HCLOUD_NETWORK_PORT_80_TCP_ADDR HCLOUD_NETWORK_SERVICE_PORT_HTTP "
    "HCLOUD_CLOUD_CONTROLLER_MANAGER_SERVICE_HOST HCLOUD_CLOUD_INIT ROBOT_OPTIONS HCLOUD_VOLUME_DEFAULT_LOCATION "
    "hcloud_token TF_VAR_hcloud_token"
)


@pytest.mark.parametrize("name", OF_OTHERS.split())
def test_names_of_others(name: str) -> None:
    """Service links, the hcloud command's variables, other software's, and what HCCM once had, are no mistakes."""
    assert unread_variables({name: "x"}) == []


@pytest.mark.parametrize(
    ("name", "text", "hidden"),
    [
        ("ROBOT_PASSWORD", "secret", {"secret"}),
        ("HCLOUD_ENDPOINT", "https://me:secret@host/v1", {"me:secret", "secret"}),
        ("HCLOUD_ENDPOINT", "https://me:se%2Fcret@host/v1", {"me:se%2Fcret", "se%2Fcret", "se/cret"}),
        ("HCLOUD_ENDPOINT", "https://secret@host", {"secret"}),
        ("ROBOT_ENDPOINT", "https://me:secret@host", {"me:secret", "secret"}),
        ("HCLOUD_ENDPOINT", "me:se@cret@host", {"me:se@cret", "se@cret"}),
        ("HCLOUD_ENDPOINT", "https://host/v1?token=secret", {"token=secret"}),
        ("ROBOT_ENDPOINT", "https://host?a=b&token=secret#s3", {"a=b&token=secret", "a=b", "token=secret", "s3"}),
        ("https_proxy", "http://me:secret@host:3128", {"me:secret", "secret"}),
        ("HTTP_PROXY", "http://host:3128", set()),
        ("HCLOUD_NETWORK", "a@b", set()),
    ],
)
def test_passwords(name: str, text: str, hidden: set[str]) -> None:
    assert set(passwords_in({name: text})) == hidden
