"""Logs: formats, levels, and the masking of secrets in every line, of any logger. The author of an error text cannot
know every way in which a library repeats what it was given."""

import json
import logging
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TextIO
from urllib.parse import quote, quote_plus

from actuators.http.shown import escaped_json, with_shown_addresses
from reconciler.config.options import LogFormat

_log = logging.getLogger("hcloud-reconciler.logs")

HIDDEN = "***"
_SHORTEST = 4
"""Shorter ones are no secrets, and are part of every other word."""
_CREDENTIALS = re.compile(
    r"(?P<what>\b(?:proxy-)?authorization\b['\"]?\s*[:=]\s*['\"]?(?:(?:bearer|basic)\s+)?|\b(?:bearer|basic)\s+)"
    r"(?!\*\*\*)[^\s'\",;]+",
    re.IGNORECASE,
)


class Redactor:
    """Masks secrets. Safe to use from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._forms: tuple[str, ...] = ()

    def add(self, *secrets: str) -> None:
        """Mask these from now on, besides those masked already: an old token may still be valid."""
        found = {form for secret in secrets if len(secret) >= _SHORTEST for form in _forms(secret)}
        with self._lock:
            self._forms = tuple(sorted({*self._forms, *found}, key=lambda form: (-len(form), form)))

    def masked(self, text: str) -> str:
        """``text`` without the secrets, and without what stands where credentials do."""
        for form in self._forms:
            text = text.replace(form, HIDDEN)
        return _CREDENTIALS.sub(lambda match: match["what"] + HIDDEN, with_shown_addresses(text))


def _forms(secret: str) -> set[str]:
    """The forms in which a secret may appear in a text: as it is, or escaped for an address, for JSON, or by Python."""
    plain = {secret, quote(secret), quote(secret, safe=""), quote_plus(secret)}
    escaped = {form for text in plain for form in (repr(text)[1:-1], ascii(text)[1:-1], json.dumps(text)[1:-1])}
    # repr chooses its quotes by what is in the whole text: then the quotes inside are escaped, or not.
    return plain | escaped | {form.replace("'", "\\'") for form in escaped} | {secret.encode().hex()}


_FORMAT = "%(asctime)s %(levelname)-7s %(message)s"

_SECRETS = Redactor()


class Pairs(str):
    """``key=value`` pairs as text, with the values as they were."""

    __slots__ = ("data",)

    data: Mapping[str, object]


SINGLE_REQUESTS = ("hcloud-reconciler.retry", "hcloud-reconciler.clients")
"""Loggers of single requests: a pass has dozens, and while an API is unreachable each is tried several times."""


def set_up(
    *,
    debug: bool,
    quiet: bool = False,
    brief: bool = False,
    stream: TextIO | None = None,
    log_format: LogFormat = LogFormat.TEXT,
    wrapped: Callable[[str], str] = str,
) -> None:
    """Log to ``stream``, stderr by default: all of this product with ``debug``, warnings with ``quiet``, and with
    ``brief``, for a run that lasts for months, what happens but not the result of single requests. ``wrapped`` makes a
    line of text as wide as the stream."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(_JsonLines() if log_format is LogFormat.JSON else _TextLines(wrapped))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("hcloud-reconciler").setLevel(
        logging.DEBUG if debug else logging.WARNING if quiet else logging.INFO
    )
    for name in SINGLE_REQUESTS:
        logging.getLogger(name).setLevel(logging.WARNING if brief and not debug else logging.NOTSET)


def hide(*secrets: str) -> None:
    """Mask these in every line from now on: tokens, passwords. To be called again when one is replaced."""
    _SECRETS.add(*secrets)


def masked(text: str) -> str:
    """``text`` without secrets."""
    return _SECRETS.masked(text)


def pairs(**data: object) -> Pairs:
    """``key=value`` pairs in the order given; a value with a blank is quoted, so that a line can be split again. Lines
    in JSON have them as members of their own."""
    text = Pairs(" ".join(f"{key}={_quoted(str(value))}" for key, value in data.items()))
    text.data = data
    return text


@contextmanager
def harmless(what: str) -> Iterator[None]:
    """Logs a bug in what accompanies passes, which ends none."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 - nothing but the pass itself is worth its report, or a restart
        _log.warning("internal error beside a pass %s", pairs(what=what, error=f"{type(error).__name__}: {error}"))
        _log.debug("internal error", exc_info=True)


def printable(text: str) -> str:
    """``text`` on one line, with everything that is not printable written as an escape."""
    return text if text.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def _quoted(text: str) -> str:
    return repr(text) if not text or any(c.isspace() or c in "\"'=" for c in text) else text


class _TextLines(logging.Formatter):
    """Lines for people. What others put into a message neither breaks a line nor steers a terminal."""

    def __init__(self, wrapped: Callable[[str], str]) -> None:
        super().__init__(_FORMAT)
        self._wrapped = wrapped

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:  # noqa: ARG002, N802
        """UTC, RFC 3339 with milliseconds, as in JSON."""
        return _time(record).replace("+00:00", "Z")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - as the base class has it
        """The first line. A secret is masked before a line could end within it."""
        return self._wrapped(_SECRETS.masked(printable(super().formatMessage(record))))

    def format(self, record: logging.LogRecord) -> str:
        """The line, or several with a traceback."""
        return _SECRETS.masked(super().format(record))


class _JsonLines(logging.Formatter):
    """One object a line: ``time`` (UTC, RFC 3339), ``level``, ``logger``, ``message``, and the pairs of the message."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        args = record.args if isinstance(record.args, tuple) else (record.args,)
        found = [arg for arg in args if isinstance(arg, Pairs)]
        message = record.getMessage()
        line: dict[str, object] = {
            "time": _time(record),
            "level": record.levelname.lower(),
            "logger": record.name,
        }
        for pair in found:
            message = message.replace(pair, "").strip()
            line |= {key: _plain(value) for key, value in pair.data.items() if key not in line}
        line["message"] = _SECRETS.masked(message)
        if record.exc_info:
            line["traceback"] = _SECRETS.masked(self.formatException(record.exc_info))
        return escaped_json(json.dumps(line, ensure_ascii=False))


def _time(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")


def _plain(value: object) -> object:
    """A value as JSON has it: numbers and booleans as they are, lists of these, and all else as text."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return _SECRETS.masked(str(value))
