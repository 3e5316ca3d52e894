"""Labels and label selectors of the Hetzner simulator."""

import pytest

from hcloud_sandbox.hetzner.errors import ApiError
from hcloud_sandbox.hetzner.selectors import check_labels, parse_selector

LABELS = {"env": "prod", "type": "web", "example.com/my": "label", "just-a-key": ""}


@pytest.mark.parametrize(
    ("selector", "holds"),
    [
        ("", True),
        ("env=prod", True),
        ("env==prod", True),
        ("env=test", False),
        ("env=", False),
        ("env!=prod", False),
        ("env!=test", True),
        ("absent!=anything", True),
        ("env", True),
        ("absent", False),
        ("!env", False),
        ("!absent", True),
        ("just-a-key", True),
        ("just-a-key=", True),
        ("example.com/my=label", True),
        ("env in (prod,test)", True),
        ("env in (test, prod)", True),
        ("env in(prod)", True),
        ("env in (test)", False),
        ("absent in (test)", False),
        ("env notin (prod,test)", False),
        ("env notin (test)", True),
        ("absent notin (test)", True),
        ("env=prod,type=web", True),
        ("env=prod, type=web", True),
        ("env=prod,type!=web", False),
        ("env in (prod,test),!absent", True),
        ("type==web,!env", False),
    ],
)
def test_selector(selector: str, holds: bool) -> None:
    """All requirements of a selector must hold."""
    assert parse_selector(selector)(LABELS) is holds


@pytest.mark.parametrize(
    "selector",
    [
        "=prod",
        ",",
        "env=prod,",
        "env in prod",
        "env in (a",
        "env in (a b)",
        "env = prod",
        "a b",
        "!!a",
        "env=a:b",
    ],
)
def test_malformed_selector(selector: str) -> None:
    """A malformed selector is invalid input."""
    with pytest.raises(ApiError) as refused:
        parse_selector(selector)

    assert (refused.value.status, refused.value.code) == (422, "invalid_input")


@pytest.mark.parametrize(
    "labels",
    [
        {},
        {"key": ""},
        {"a": "b"},
        {"hcloud-ccm/service-uid": "9b7f2f0e-6f5f-4c38-b7a0-8f4df3a5f9c4"},
        {"example.com/key_with.all-signs": "Value_with.all-signs"},
        {"k" * 63: "v" * 63},
        {"foo.hetzner.cloud/key": "v"},
    ],
)
def test_valid_labels(labels: dict[str, str]) -> None:
    """Labels within the grammar are kept as they are."""
    assert check_labels(labels) == labels


@pytest.mark.parametrize(
    "labels",
    [
        [],
        {"": "v"},
        {"-key": "v"},
        {"key-": "v"},
        {"k" * 64: "v"},
        {"a/b/c": "v"},
        {"Upper.Case/key": "v"},
        {f"{'a' * 254}/key": "v"},
        {"hetzner.cloud/key": "v"},
        {"key": "hcloud://42"},
        {"key": "v" * 64},
        {"key": "-v"},
        {"key": 1},
        {"key": None},
    ],
)
def test_invalid_labels(labels: object) -> None:
    """Labels outside of the grammar are invalid input in the field labels."""
    with pytest.raises(ApiError) as refused:
        check_labels(labels)

    assert refused.value.details == {"fields": [{"name": "labels", "messages": [str(refused.value).split(": ", 1)[1]]}]}
