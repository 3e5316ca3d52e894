"""The words of the clients' errors: one line each, no secret; and which addresses are this machine's."""

import json

import pytest

from actuators.http.errors import cause, one_line
from actuators.http.shown import escaped_json, is_loopback, shown_address, with_shown_addresses
from tests.support.rows import rows


@rows(
    "text line",
    {
        "one line": ("as it is", "as it is"),
        "line breaks and blanks": ("two\nlines\r\n\tand  blanks ", "two lines and blanks"),
        "an exception": (ValueError("a\nb"), "a b"),
        "no text": (None, "None"),
        "nothing": ("", ""),
        "cut": ("x" * 301, "x" * 300),
        "blanks do not count": (f"{' ' * 400}end", "end"),
    },
)
def test_one_line(text: object, line: str) -> None:
    assert one_line(text) == line


REFUSED = "HTTPConnection(host='h', port=80): Failed to establish a new connection: [Errno 111] Connection refused"
SILENT = "HTTPSConnectionPool(host='10.0.0.1', port=443): Read timed out. (read timeout=4.9895651260012528)"
UNREACHED = "<urllib3.connection.HTTPSConnection object at 0x7f00>, 'Connection to h timed out. (connect timeout=3.0)'"


@rows(
    "error line",
    {
        "the system's": (OSError(104, "Connection reset by peer"), "Connection reset by peer"),
        "inner": (OSError(OSError(REFUSED)), "Failed to establish a new connection: Connection refused"),
        "a time-out": (SILENT, "timed out after 5 s"),
        "a connection that is not made": (UNREACHED, "'no connection within 3 s'"),
        "the rest of a time-out": (SILENT.replace("4.98", "0.08"), "timed out after 1 s"),
        "a proxy": (
            OSError("Unable to connect to proxy", OSError(REFUSED)),
            "Unable to connect to proxy: Failed to establish a new connection: Connection refused",
        ),
        "cut off": (
            OSError("Connection broken: 3", ValueError("IncompleteRead(3 bytes read, 5 more expected)")),
            "Connection broken: closed after 3 bytes, 5 more expected",
        ),
        "TLS": ("SSLError\n[SSL: WRONG_VERSION_NUMBER] wrong version number (_ssl.c:1006)", "wrong version number"),
    },
)
def test_causes(error: object, line: str) -> None:
    assert cause(error) == line


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://10.0.0.1:6443/x", "https://10.0.0.1:6443/x"),
        ("https://user:password@10.0.0.1:6443/x", "https://10.0.0.1:6443/x"),
        ("https://user:p@ss@host/a@b", "https://host/a@b"),
        ("//user:password@host", "//host"),
        ("https://host?token=secret#secret", "https://host"),
        ("https://[fd00::1]:6443/x#secret", "https://[fd00::1]:6443/x"),
        ("https://user:pass?word@host", "https://..."),
        ("https://user:pass/word@host", "https://..."),
        ("user:pass//word@host", "..."),
        ("user:password@host/v1", "host/v1"),
        ("host:6443", "host:6443"),
        ("", ""),
    ],
)
def test_shown_parts_of_an_address(url: str, shown: str) -> None:
    """Scheme, host, port and path, even of a malformed one; where they cannot be told from a password, none of them."""
    assert shown_address(url) == shown


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://127.0.0.1:8080/v1", True),
        ("http://localhost:80", True),
        ("http://[::1]:6443", True),
        ("http://user:password@127.0.0.1", True),
        ("https://api.hetzner.cloud/v1", False),
        ("http://127.0.0.1.example.com", False),
        ("http://127.0.0.1@example.com", False),
        ("http://[::1", False),
        ("127.0.0.1:8080", False),
        ("", False),
    ],
)
def test_loopback_addresses(url: str, expected: bool) -> None:
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
        ("Failed to parse: 'https://me@host/v1?token=secret'", "Failed to parse: 'https://host/v1'"),
        ("see https://host/v1?a=b#c for more?", "see https://host/v1 for more?"),
        ("//" * 5000, "//" * 5000),
    ],
)
def test_addresses_in_a_text(text: str, shown: str) -> None:
    """Whatever a library says, no sentence has more of an address than may be shown."""
    assert with_shown_addresses(text) == shown
    assert one_line(text) == shown[:300]


@pytest.mark.parametrize("character", "\x7f\x80\x9b\u200e\u202e\u2028\u2066\ufeff\U000e0001")
def test_json_that_a_terminal_shows(character: str) -> None:
    """What it would obey is written as JSON's escape, and decodes to the same; letters stay letters."""
    text = json.dumps({"name": f"é{character}😀"}, ensure_ascii=False)
    assert escaped_json(text).isprintable()
    assert "é" in escaped_json(text)
    assert json.loads(escaped_json(text)) == json.loads(text)
