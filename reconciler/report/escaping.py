"""Foreign text made harmless: names and error bodies come from elsewhere, and terminals obey control characters."""


def visible(text: str) -> str:
    """``text`` with everything that is not printable written as an escape."""
    return text if text.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
