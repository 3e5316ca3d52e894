"""Secrets that are given as files, read again while the process runs: they are rotated under it (operations O-1)."""

import logging
import re
from collections.abc import Callable
from pathlib import Path

from reconciler.telemetry.logs import hide, pairs

_log = logging.getLogger("hcloud-reconciler.secrets")

_TOKEN = re.compile(r"[\x21-\x7e]+")


class RotatingToken:
    """A token in a file. What cannot be read, or is no token, changes nothing: half a file is not a new secret."""

    def __init__(self, path: Path, token: str, use: Callable[[str], object]) -> None:
        """``token`` is the one in use; ``use`` is given each new one."""
        self._path = path
        self._token = token
        self._use = use
        self._trouble: str | None = None

    def refresh(self) -> bool:
        """Read the file; whether there is a new token in use now.

        To be called between passes alone: each pass then proves by what it sees of the project that the token is not
        another project's before it writes with it (design section 6, ``project-anchor``).
        """
        try:
            token = self._path.read_text("utf-8").strip()
        except (OSError, UnicodeError) as error:
            self._complain(type(error).__name__)
            return False
        if not _TOKEN.fullmatch(token):
            self._complain("it is empty" if not token else "it has a character that no token has")
            return False
        self._trouble = None
        if token == self._token:
            return False
        self._token = token
        hide(token)
        self._use(token)
        _log.info("a new token is in use %s", pairs(file=str(self._path)))
        return True

    def _complain(self, trouble: str) -> None:
        """Once for each kind of trouble, and never with what is in the file."""
        if trouble != self._trouble:
            self._trouble = trouble
            why = pairs(file=str(self._path), why=trouble)
            _log.warning("the token cannot be read again, the old one stays %s", why)
