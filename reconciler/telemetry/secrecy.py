"""Keeps secrets out of what is logged, whoever logs it: the one who words an error cannot know every way in which a
library repeats what it was given."""

import json
import re
import threading
from urllib.parse import quote, quote_plus

from actuators.shown import without_user_info

HIDDEN = "***"
_SHORTEST = 4
"""Shorter ones are no secrets, and are part of every other word."""
_CREDENTIALS = re.compile(
    r"(?P<what>\b(?:proxy-)?authorization\b['\"]?\s*[:=]\s*['\"]?(?:(?:bearer|basic)\s+)?|\b(?:bearer|basic)\s+)"
    r"(?!\*\*\*)[^\s'\",;]+",
    re.IGNORECASE,
)


class Secrets:
    """What is never to be seen. Safe to use from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._forms: tuple[str, ...] = ()

    def add(self, *secrets: str) -> None:
        """Hide these from now on, besides what is hidden already: an old token is still somebody's."""
        found = {form for secret in secrets if len(secret) >= _SHORTEST for form in _forms(secret)}
        with self._lock:
            self._forms = tuple(sorted({*self._forms, *found}, key=lambda form: (-len(form), form)))

    def masked(self, text: str) -> str:
        """``text`` without them, and without what stands where credentials do."""
        for form in self._forms:
            text = text.replace(form, HIDDEN)
        return _CREDENTIALS.sub(lambda match: match["what"] + HIDDEN, without_user_info(text))


def _forms(secret: str) -> set[str]:
    """How a secret may look in a text: as it is, or escaped for an address, for JSON, or by Python."""
    plain = {secret, quote(secret), quote(secret, safe=""), quote_plus(secret)}
    escaped = {form for text in plain for form in (repr(text)[1:-1], ascii(text)[1:-1], json.dumps(text)[1:-1])}
    # repr chooses its quotes by what is in the whole text: then the quotes inside are escaped, or not.
    return plain | escaped | {form.replace("'", "\\'") for form in escaped} | {secret.encode().hex()}
