"""Laws of grammars: what is too long to be meant is refused unseen, and what is short enough costs little.

No time is measured. A text that claims to be longer than it is would be read if anything but its length were looked at.
"""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desired.annotations.options import OPTIONS, PREFIX, Option, Options
from desired.annotations.reading import read_annotations, with_defaults
from desired.annotations.warnings import warnings_on
from desired.nodes.addresses import parse_node_ips
from desired.plan.approvals import is_hash, parse_approvals
from desired.routes.endpoints import parse_pod_cidr
from desired.syntax import bounds
from desired.syntax.go import parse_bool, parse_cidr, parse_duration
from desired.syntax.provider_id import MalformedID, parse_provider_id
from desired.syntax.selector import is_label_key, is_label_value, parse_selector
from reconciler.config import options
from tests.property.strategies import law
from tests.support.options import parse_options
from tests.support.premises import ALWAYS, premise

HUGE = 10**9
KIB = 1024


class Endless(str):
    """A text whose length is a claim: whoever reads it all the same finds something that is well written."""

    def __len__(self) -> int:
        return HUGE


_WELL_WRITTEN: dict[str, str] = {
    "name": "web",
    "type": "lb11",
    "location": "fsn1",
    "network_zone": "eu-central",
    "algorithm_type": "round_robin",
    "private_ipv4": "10.0.0.5",
    "private_subnet_ip_range": "10.0.0.0/24",
    "ipv4_rdns": "example.com",
    "ipv6_rdns": "example.com",
    "hostname": "example.com",
    "node_selector": "a=b",
    "protocol": "http",
    "http_cookie_name": "a",
    "http_cookie_lifetime": "30s",
    "http_timeout_idle": "30s",
    "http_certificates": "1,two",
    "certificate_type": "managed",
    "http_managed_certificate_name": "web",
    "http_managed_certificate_domains": "example.com",
    "health_check_protocol": "tcp",
    "health_check_port": "80",
    "health_check_interval": "3s",
    "health_check_timeout": "3s",
    "health_check_retries": "3",
    "health_check_http_domain": "example.com",
    "health_check_http_path": "/",
    "http_status_codes": "200",
    "deletion_policy": "retain",
}
"""Field → a value that is fine; of what is not here, ``true`` is."""

_PARSERS: tuple[tuple[Callable[[str], Any], str], ...] = (
    (parse_bool, "true"),
    (parse_duration, "1s"),
    (parse_cidr, "10.0.0.0/8"),
    (parse_selector, "a=b"),
    (options.parse_positive_duration, "1s"),
    (options.parse_wait, "1s"),
    (options.parse_positive_wait, "1s"),
    (options.parse_label_prefix, "servers.example.com"),
    (options.parse_object_name, "web"),
    (options.parse_int, "1"),
    (options.parse_cidrs, "10.0.0.0/8"),
    (options.parse_controllers, "*"),
    (options.parse_keys, "node/web-1"),
    (options.parse_hashes, f"sha256:{'0' * 16}"),
    (options.parse_address, ":80"),
)
_ALPHABETS = (
    "9", "9.", "1h", "1ns", "-", "a,", ",", "(", ")", "a in (", "a in (b),", "!a,", "a.", "a-", " ", "a/", "*.", "0",
    "::", "1.", "10.0.0.0/8,", "2??,", "٣", "\x1b", "sha256:", "_SERVICE_PORT_", "{", "[", '"\\',
)  # fmt: skip
"""What the grammars are made of, and what made one of them take minutes."""


@pytest.mark.parametrize("row", OPTIONS.values(), ids=lambda row: row.key)
def test_an_annotation_without_end_is_refused_unseen(row: Option) -> None:
    """The value is fine but for its length, and that alone is looked at."""
    value = _WELL_WRITTEN.get(row.name, "true")
    row.grammar.parse(value)
    with pytest.raises(ValueError, match=rf" at most {row.grammar.longest.most} characters, and this has {HUGE}: "):
        row.grammar.parse(Endless(value))


@pytest.mark.parametrize(("parse", "value"), _PARSERS, ids=lambda it: getattr(it, "__name__", ""))
def test_a_value_without_end_is_refused_unseen(parse: Callable[[str], Any], value: str) -> None:
    """Flags and variables as well."""
    parse(value)
    with pytest.raises(ValueError, match=r"."):
        parse(Endless(value))


def test_what_is_no_error_is_not_looked_at_either() -> None:
    """Where nothing raises, what is without end is nothing of ours."""
    assert isinstance(parse_provider_id(Endless("hcloud://1")), MalformedID)
    assert isinstance(parse_node_ips(Endless("10.0.0.1")), tuple) is False
    assert parse_pod_cidr(Endless("10.0.0.0/24")) is None
    assert not is_label_key(Endless("a"))
    assert not is_label_value(Endless("a"))
    assert not is_hash(Endless(f"sha256:{'0' * 16}"))
    assert not options.is_service_link(Endless("WEB_SERVICE_HOST"))
    approval = '{"approver": "me", "approved_at": "2026-07-01T12:00:00+00:00"}'
    assert [bool(each.damage) for each in parse_approvals({f"sha256.{'0' * 16}": approval})] == [False]
    assert [bool(each.damage) for each in parse_approvals({f"sha256.{'0' * 16}": Endless(approval)})] == [True]


def test_no_bound_is_so_generous_that_it_is_none() -> None:
    """A value of a flag is short, and what stands in an object of the cluster is a fraction of what it may hold."""
    every = [bound for bound in vars(bounds).values() if isinstance(bound, bounds.Bound)]
    assert len(every) > 10
    assert all(bound.most <= 32 * KIB for bound in every if bound is not bounds.LONGEST_ARGUMENT)
    assert bounds.LONGEST_ARGUMENT.most <= 256 * KIB


@law(ALWAYS)
@given(st.lists(st.sampled_from(_ALPHABETS), min_size=1, max_size=3), st.integers(1, 200_000))
def test_any_text_ends_in_a_value_or_in_one_short_error(pieces: list[str], length: int) -> None:
    """However it is put together, and however long it is: each annotation and each flag ends, and says little."""
    text = ("".join(pieces) * (length // len("".join(pieces)) + 1))[:length]
    found = parse_options({row.full_key: text for row in OPTIONS.values()}, Options())
    assert isinstance(found, Options) or all(len(bad.text) <= KIB for bad in found)
    assert all(len(_refusal(parse, text)) <= KIB for parse, _ in _PARSERS)
    parsed = parse_provider_id(text)
    assert not isinstance(parsed, MalformedID) or len(parsed.why) <= KIB
    node_ips = parse_node_ips(text)
    assert isinstance(node_ips, tuple) or len(node_ips.text) <= KIB
    assert len(bounds.shown_text(text)) <= KIB


def _refusal(parse: Callable[[str], Any], text: str) -> str:
    """What is said of the text; "" when it means something."""
    try:
        parse(text)
    except ValueError as error:
        return str(error)
    return ""


@law({"more of them than are told": 0.6})
@given(st.integers(0, 5_000), st.text("abcdefghijklmnopqrstuvwxyz-", min_size=1, max_size=20))
def test_few_unknown_annotations_are_told(count: int, name: str) -> None:
    """Only those are compared with what may have been meant; of the others their number is told."""
    premise("more of them than are told", is_met=count > 10)
    annotations = {f"{PREFIX}{name}-{number}": "" for number in range(count)}
    remarks = warnings_on(annotations, with_defaults(read_annotations(annotations), Options()), {})
    assert len(remarks) == min(count, 10) + (count > 10)
    assert count <= 10 or any(f" {count - 10} more unknown key" in remark.text for remark in remarks)
