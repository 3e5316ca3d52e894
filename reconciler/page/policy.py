"""Style of the page, and the policy that lets nothing else in."""

import base64
import hashlib
from functools import cache
from importlib.resources import files


@cache
def asset(name: str) -> str:
    """The text of ``style.css`` or ``page.html``."""
    return (files(__package__) / name).read_text("utf-8")


def policy(*, is_live: bool) -> str:
    """The Content-Security-Policy: nothing but the one style. A file lacks the rule that only a header may have."""
    digest = base64.b64encode(hashlib.sha256(asset("style.css").encode()).digest()).decode()
    told = ("default-src 'none'", f"style-src 'sha256-{digest}'", "base-uri 'none'", "form-action 'none'")
    return "; ".join([*told, *(["frame-ancestors 'none'"] if is_live else [])])
