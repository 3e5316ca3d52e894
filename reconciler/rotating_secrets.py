"""Secrets in files, which may be replaced under the running process: the token, and the Robot login."""

import logging
import re
from collections.abc import Callable, Mapping
from pathlib import Path

from actuators.http.robot import RobotLogin
from reconciler.config.config import ROBOT_TEXTS
from reconciler.telemetry.logs import hide, pairs

_log = logging.getLogger("hcloud-reconciler.secrets")

_TOKEN = "HCLOUD_TOKEN"  # noqa: S105 - its variable
_PATTERNS: Mapping[str, re.Pattern[str]] = {_TOKEN: re.compile(r"[\x21-\x7e]+"), **ROBOT_TEXTS}
_WORDS = {_TOKEN: "token", "ROBOT_USER": "Robot user", "ROBOT_PASSWORD": "Robot password"}


class RotatingSecret:
    """A secret of which files have all or a part. If one cannot be read, nothing changes: half a file is not a new
    secret, and half a login would be a wrong one."""

    def __init__(
        self,
        files: Mapping[str, Path],
        in_use: Mapping[str, str],
        use: Callable[[Mapping[str, str]], object],
        news: str,
    ) -> None:
        """``files`` and the texts ``in_use`` are by the variable that they stand for. ``use`` is given all texts if one
        is new, and then ``news`` is logged."""
        self._files = files
        self._in_use = in_use
        self._use = use
        self._news = news
        self._troubles: dict[str, str] = {}

    def refresh(self) -> bool:
        """Read the files; whether there is a new secret in use now.

        To be called between passes alone: each pass then proves by what it sees of the project that the token is not
        another project's before it writes with it (``project-anchor``). Files that are replaced while they are read
        wait for the next time: a new user and an old password are wrong.
        """
        texts = self._read()
        if texts is None or texts == self._in_use or texts != self._read():
            return False
        self._in_use = texts
        self._use(texts)
        _log.info("%s in use %s", self._news, pairs(file=", ".join(map(str, self._files.values()))))
        return True

    def _read(self) -> Mapping[str, str] | None:
        """All texts, with those that no file has; None if a file has none, which is logged once for each kind of
        trouble, and never with what is in the file."""
        found: dict[str, str] = {}
        for name, path in self._files.items():
            text, trouble = _look(path, name)
            if trouble and trouble != self._troubles.get(name):
                why = pairs(file=str(path), why=trouble)
                _log.warning("the %s cannot be read again, the old one stays %s", _WORDS[name], why)
            self._troubles[name] = trouble
            found[name] = text
        return None if any(self._troubles.values()) else {**self._in_use, **found}


def _look(path: Path, name: str) -> tuple[str, str]:
    """The text in a file, and why that is not what this variable may hold; "" if it is."""
    try:
        text = path.read_text("utf-8").strip()
    except (OSError, UnicodeError) as error:
        return "", str(error.strerror) if isinstance(error, OSError) else "it is no text in UTF-8"
    if _PATTERNS[name].fullmatch(text):
        return text, ""
    return text, f"it has a character that no {_WORDS[name]} has" if text else "it is empty"


def rotating_token(path: Path, token: str, use: Callable[[str], object]) -> RotatingSecret:
    """The token in a file; ``token`` is the one in use."""

    def take(texts: Mapping[str, str]) -> None:
        hide(texts[_TOKEN])
        use(texts[_TOKEN])

    return RotatingSecret({_TOKEN: path}, {_TOKEN: token}, take, "a new token is")


def rotating_login(files: Mapping[str, Path], login: RobotLogin, use: Callable[[RobotLogin], object]) -> RotatingSecret:
    """User and password of the Robot webservice, of which ``files`` by variable have one or both; ``login`` is the one
    in use."""

    def take(texts: Mapping[str, str]) -> None:
        new = RobotLogin(texts["ROBOT_USER"], texts["ROBOT_PASSWORD"])
        hide(*new.secrets)
        use(new)

    in_use = {"ROBOT_USER": login.user, "ROBOT_PASSWORD": login.password}
    return RotatingSecret(files, in_use, take, "new Robot credentials are")
