"""How errors of the clients are worded: one line each, and never a secret."""

from actuators.shown import without_user_info

_LONGEST = 300


def one_line(text: object) -> str:
    """The text on one line, cut where nobody reads on, its addresses without user and password: libraries repeat what
    they were given."""
    return without_user_info(" ".join(str(text).split()))[:_LONGEST]
