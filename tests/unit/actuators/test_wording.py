"""The words of the clients' errors: one line each, no secret; and which addresses are this machine's."""

import json

import pytest

from actuators.http.errors import one_line
from actuators.http.shown import escaped_json, is_loopback, without_credentials, without_user_info


@pytest.mark.parametrize(
    ("text", "line"),
    [
        pytest.param("as it is", "as it is", id="one line"),
        pytest.param("two\nlines\r\n\tand  blanks ", "two lines and blanks", id="line breaks and blanks"),
        pytest.param(ValueError("a\nb"), "a b", id="an exception"),
        pytest.param(None, "None", id="no text"),
        pytest.param("", "", id="nothing"),
        pytest.param("x" * 301, "x" * 300, id="cut"),
        pytest.param(f"{' ' * 400}end", "end", id="blanks do not count"),
    ],
)
def test_one_line(text: object, line: str) -> None:
    """Any text is one line of at most 300 characters."""
    assert one_line(text) == line


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://10.0.0.1:6443/x", "https://10.0.0.1:6443/x"),
        ("https://user:password@10.0.0.1:6443/x", "https://10.0.0.1:6443/x"),
        ("https://token@host", "https://host"),
        ("https://user:p@ss@host/a@b", "https://host/a@b"),
        ("//user:password@host", "//host"),
        ("https://user:pass word@exa mple", "https://exa mple"),
        ("no address", "no address"),
        ("", ""),
    ],
)
def test_addresses_without_credentials(url: str, shown: str) -> None:
    """User and password are taken out of an address, even of a malformed one, and nothing else is."""
    assert without_credentials(url) == shown


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://127.0.0.1:8080/v1", True),
        ("https://127.9.9.9", True),
        ("http://localhost:80", True),
        ("http://LOCALHOST", True),
        ("http://[::1]:6443", True),
        ("http://user:password@127.0.0.1", True),
        ("https://api.hetzner.cloud/v1", False),
        ("http://127.0.0.1.example.com", False),
        ("http://localhost.example.com", False),
        ("http://127.0.0.1@example.com", False),
        ("http://10.0.0.1", False),
        ("http://[::1", False),
        ("http://exa mple", False),
        ("127.0.0.1:8080", False),
        ("http://", False),
        ("", False),
    ],
)
def test_loopback_addresses(url: str, expected: bool) -> None:
    """An address leads to this machine when its host says so; what is no address leads nowhere."""
    assert is_loopback(url) is expected


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (
            "no proxy http://me:secret@proxy:3128, and none at https://h",
            "no proxy http://proxy:3128, and none at https://h",
        ),
        ("'https://me:s@cret@host/v1'", "'https://host/v1'"),
        ("https://host/a@b and me@host", "https://host/a@b and me@host"),
        ("//" * 5000, "//" * 5000),
    ],
)
def test_addresses_in_a_text(text: str, shown: str) -> None:
    """Whatever a library says, user and password are in no sentence."""
    assert without_user_info(text) == shown
    assert one_line(text) == shown[:300]


@pytest.mark.parametrize("character", "\x7f\x80\x9b\u200e\u202e\u2028\u2066\ufeff\U000e0001")
def test_json_that_a_terminal_shows(character: str) -> None:
    """What it would obey is written as JSON's escape, and decodes to the same; letters stay letters."""
    text = json.dumps({"name": f"é{character}😀"}, ensure_ascii=False)

    assert escaped_json(text).isprintable()
    assert "é" in escaped_json(text)
    assert json.loads(escaped_json(text)) == json.loads(text)
