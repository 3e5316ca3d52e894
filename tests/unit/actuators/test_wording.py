"""The words of the clients' errors: one line each, no secret; and which addresses are this machine's."""

import pytest

from actuators.clients.addresses import is_loopback
from actuators.clients.wording import one_line, without_credentials


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
