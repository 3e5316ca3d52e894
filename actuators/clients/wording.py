"""How errors of the clients are worded: one line each, and never a secret."""

import re

_USER_INFO = re.compile(r"//[^/]*@")
_LONGEST = 300


def one_line(text: object) -> str:
    """The text on one line, cut where nobody reads on."""
    return " ".join(str(text).split())[:_LONGEST]


def without_credentials(url: str) -> str:
    """An address without the user and password that it may carry."""
    return _USER_INFO.sub("//", url)
