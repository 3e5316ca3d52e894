"""scripts/dev and Hetzner's API: whom it shows the token to, and answers that are not what they should be."""

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import project
import pytest
import requests
from cost import bill, items
from project import SSH_KEYS, Project
from requests.adapters import HTTPAdapter
from saying import Problem

_ENDPOINT = "https://api.example.com/v1"


def _answering(monkeypatch: pytest.MonkeyPatch, body: bytes) -> tuple[Project, list[requests.PreparedRequest]]:
    """A project whose API answers everything with this body, and what it was sent."""
    sent: list[requests.PreparedRequest] = []

    class Endpoint(HTTPAdapter):
        def send(self, request: requests.PreparedRequest, *_: object, **__: object) -> requests.Response:
            sent.append(request)
            answer = requests.Response()
            answer.status_code, answer._content = 200, body
            return answer

    monkeypatch.setattr(project, "HTTPAdapter", Endpoint)
    return Project(_ENDPOINT, "a-token"), sent


@pytest.mark.parametrize("body", [b"<html>log in first</html>", b"[]", b"{}", b'{"pricing": 7, "ssh_keys": []}'])
@pytest.mark.parametrize(
    "ask",
    [
        pytest.param(Project.pricing, id="pricing"),
        pytest.param(lambda of: of.all(SSH_KEYS), id="list"),
        pytest.param(lambda of: of.add_key("dev", "ssh-ed25519 AAAA", "dev-1"), id="new key"),
    ],
)
def test_an_answer_of_somebody_else_is_one_line(
    monkeypatch: pytest.MonkeyPatch, body: bytes, ask: Callable[[Project], object]
) -> None:
    """Such as the page of a hotel's network. Without a price list nothing is bought."""
    with pytest.raises(
        Problem, match=r"^api\.example\.com answers (GET|POST) /\w+ with something that is not Hetzner's: "
    ):
        ask(_answering(monkeypatch, body)[0])


def test_the_token_is_the_one_that_was_given(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Not what ``~/.netrc`` has for this host, which ``requests`` would take instead."""
    netrc = tmp_path / "netrc"
    netrc.write_text("machine api.example.com login somebody password else\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    of, sent = _answering(monkeypatch, b'{"pricing": {}}')

    of.pricing()

    assert [request.headers["Authorization"] for request in sent] == ["Bearer a-token"]


@pytest.mark.parametrize(
    "server_types",
    [
        None,
        ["cx23"],
        [{"name": "cx23", "prices": [{"location": "fsn1"}]}],
        [{"name": "cx23", "prices": [{"location": "fsn1", "price_hourly": {"gross": "NaN"}}]}],
    ],
)
def test_a_price_that_cannot_be_read_is_unknown(server_types: Any) -> None:
    """The others are still told, and that the sum is not all of it."""
    ipv4 = {"type": "ipv4", "prices": [{"location": "fsn1", "price_hourly": {"gross": "0.0010"}}]}
    pricing = {"currency": "EUR\n", "server_types": server_types, "primary_ips": [ipv4]}

    bought = items(pricing, servers=1, server_type="cx23", location="fsn1")

    assert [item.each for item in bought] == [None, Decimal("0.0010")]
    assert bill(pricing, bought, "fsn1")[2].startswith(
        "together 0.0010 EUR an hour, 0.73 EUR a month if it stays, with"
    )
