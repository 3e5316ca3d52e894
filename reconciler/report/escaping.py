"""Foreign text made harmless: names and error bodies come from elsewhere, and terminals obey control characters."""

import msgspec

from actuators.http.shown import escaped_json


def visible(text: str) -> str:
    """``text`` with everything that is not printable written as an escape."""
    return text if text.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def json_text(value: object, *, compact: bool = False) -> str:
    """A value as JSON that may be shown on a terminal, with a line break at its end; on one line when ``compact``."""
    text = msgspec.json.encode(value)
    return escaped_json((text if compact else msgspec.json.format(text, indent=2)).decode()) + "\n"
