"""Log lines: text or JSON, one line each, and never a secret."""

import io
import json
import logging
import urllib.parse
from typing import Any

import pytest

from reconciler.config.options import LogFormat
from reconciler.telemetry import logs
from reconciler.telemetry.logs import HIDDEN, Redactor, harmless, pairs
from tests.support.rows import rows

LOG = logging.getLogger("hcloud-reconciler.test")
TOKEN = "jEheVytlAoFl7F8MqUQ7jAo2hOXASztX" * 2


@pytest.fixture(autouse=True)
def _no_secrets_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "_SECRETS", Redactor())


def logged(log_format: LogFormat, *args: Any, debug: bool = False, **more: Any) -> str:
    """What one call writes."""
    stream = io.StringIO()
    logs.set_up(debug=debug, stream=stream, log_format=log_format)
    LOG.warning(*args, **more)
    return stream.getvalue()


def parsed(*args: Any, **more: Any) -> dict[str, Any]:
    """The members of a line in JSON, its time left out."""
    line = logged(LogFormat.JSON, *args, **more)
    assert line.count("\n") == 1
    assert line.endswith("\n")
    found = json.loads(line)
    assert isinstance(found, dict)
    assert found.pop("time").endswith("+00:00")
    return found


def test_text() -> None:
    line = logged(LogFormat.TEXT, "applied %s", pairs(key="node/web-1", duration_s=1.5, why="two words"))

    assert line.partition(" ")[2] == "WARNING applied key=node/web-1 duration_s=1.5 why='two words'\n"


def test_a_line_is_as_wide_as_its_reader() -> None:
    """What makes it so has no secret to break in two, and JSON stays a line."""
    stream = io.StringIO()
    logs.hide("two words")
    logs.set_up(debug=False, stream=stream, wrapped=lambda line: line.replace(" ", "\n"))
    LOG.warning("applied %s", pairs(key="node/web-1", why="two words"))
    assert stream.getvalue().split("\n")[1:] == ["WARNING", "applied", "key=node/web-1", "why='***'", ""]

    stream = io.StringIO()
    logs.set_up(debug=False, stream=stream, log_format=LogFormat.JSON, wrapped=lambda line: line.replace(" ", "\n"))
    LOG.warning("applied %s", pairs(key="node/web-1"))
    assert stream.getvalue().count("\n") == 1


@rows("args members", {
    "a message": (("plain",), {"message": "plain"}),
    "pairs are members": (("applied %s", pairs(key="node/web-1", duration_s=1.5, ids=(1, 2), none=None, flag=True)),
        {"message": "applied", "key": "node/web-1", "duration_s": 1.5, "ids": [1, 2], "none": None, "flag": True}),
    "pairs among others": (("%s of %d: %s", "one", 2, pairs(a="b c")), {"message": "one of 2:", "a": "b c"}),
    "pairs replace nothing": (("x %s", pairs(level="high", message="other", logger=1)), {"message": "x"}),
    "a mapping": (("%s", {"a": 1}), {"message": "{'a': 1}"}),
    "odd characters": (("a\nb\x1b[2J ä \U0001f600",), {"message": "a\nb\x1b[2J ä \U0001f600"}),
})  # fmt: skip
def test_json(args: tuple[Any, ...], members: dict[str, Any]) -> None:
    assert parsed(*args) == {"level": "warning", "logger": LOG.name} | members


def test_a_traceback_is_one_member() -> None:
    logs.hide(TOKEN)

    found = parsed("bug", exc_info=ValueError(f"with {TOKEN}"))

    assert "ValueError: with ***" in found["traceback"]


def test_text_is_one_line_whatever_an_api_says() -> None:
    """What others put into a message adds no line of its own, and steers no terminal."""
    line = logged(LogFormat.TEXT, "refused: %s", "no\n2027-01-01T00:00:00 INFO applied key=x\x1b[2J")

    assert line.count("\n") == 1
    assert "\x1b" not in line


ODD_TOKENS = [
    pytest.param(TOKEN, id="a real one"),
    pytest.param("a.b*c[d](e)+f?g^h$i|j\\k{2}", id="of an expression"),
    pytest.param("it's \"quoted\" and 'quoted'", id="quotes"),
    pytest.param("only'one", id="one quote"),
    pytest.param('only"one', id="the other quote"),
    pytest.param("back\\slash\\", id="backslashes"),
    pytest.param("line\nbreak\ttab", id="line break"),
    pytest.param("ümläut-töken-\U0001f600", id="not ASCII"),
    pytest.param("per%20cent+and/slash=&?", id="of an address"),
    pytest.param("%s%d{}{0}", id="of a format"),
    pytest.param("abcd", id="short"),
    pytest.param("***a***", id="with the mask in it"),
    pytest.param("message", id="the name of a member"),
]


@pytest.mark.parametrize("token", ODD_TOKENS)
@pytest.mark.parametrize("log_format", LogFormat)
def test_no_secret_is_shown(log_format: LogFormat, token: str) -> None:
    """However it came into a line: by itself, repeated by a library, quoted, escaped, in a header, in a traceback."""
    logs.hide(token)
    ways = (
        token,
        repr(token),
        ascii(token),
        json.dumps(token),
        json.dumps({"token": token}, ensure_ascii=False),
        repr({"headers": {"Authorization": f"Bearer {token}"}}),
        urllib.parse.quote(token),
        urllib.parse.quote(token, safe=""),
        urllib.parse.quote_plus(token),
        f"/?token={urllib.parse.quote_plus(token)}&x=1",
        str(ValueError(f"bad header {token!r}")),
    )
    for way in ways:
        lines = logged(log_format, "%s and %s", way, pairs(value=way), exc_info=ValueError(way))
        texts = [lines] if log_format is LogFormat.TEXT else _texts(json.loads(lines))
        for form in (token, repr(token)[1:-1], json.dumps(token)[1:-1]):
            assert not any(form in text.replace(HIDDEN, "").replace("message", "") for text in texts), way
        assert HIDDEN in lines


def _texts(line: dict[str, Any]) -> list[str]:
    return [value for value in line.values() if isinstance(value, str)]


@pytest.mark.parametrize(("text", "shown"), [
    ("Authorization: Bearer abc.def", "Authorization: Bearer ***"),
    ("{'Authorization': 'Bearer abc'}", "{'Authorization': 'Bearer ***'}"),
    ('{"authorization": "Basic dXNlcjpwYXNz"}', '{"authorization": "Basic ***"}'),
    ("authorization=abcdef next", "authorization=*** next"),
    ("Proxy-Authorization: Basic eA==", "Proxy-Authorization: Basic ***"),
    ("bearer xyz", "bearer ***"),
    ("no authorization for this", "no authorization for this"),
])  # fmt: skip
def test_credentials_that_nobody_named(text: str, shown: str) -> None:
    """What stands where credentials stand is hidden, whatever it is."""
    assert Redactor().masked(text) == shown


def test_a_replaced_token_stays_hidden() -> None:
    """The old one is still somebody's; nothing and very short texts hide nothing."""
    secrets = Redactor()
    secrets.add("first-token")
    secrets.add("second-token", "", "abc")

    assert secrets.masked("first-token second-token abc") == f"{HIDDEN} {HIDDEN} abc"


def test_the_longer_one_is_hidden_whole() -> None:
    secrets = Redactor()
    secrets.add("token", "token-and-more")

    assert secrets.masked("token-and-more") == HIDDEN


def test_a_bug_beside_a_pass_is_told_and_ends_nothing() -> None:
    """What only accompanies a pass, such as publishing its status, loses no report of what was applied."""
    stream = io.StringIO()
    logs.set_up(debug=False, stream=stream, log_format=LogFormat.JSON)
    with harmless("status"):
        raise ValueError("no such hold")
    said = json.loads(stream.getvalue())
    assert (said["level"], said["what"], said["error"]) == ("warning", "status", "ValueError: no such hold")
