"""Style and script of the page, and the policy that lets nothing else in."""

import base64
import hashlib
from functools import cache
from importlib.resources import files


@cache
def asset(name: str) -> str:
    """The text of ``style.css`` or ``script.js``."""
    return (files(__package__) / name).read_text("utf-8")


def policy(*, is_live: bool) -> str:
    """The Content-Security-Policy: nothing but the one style and the one script. What only a header may say is left out
    of a file, and so is that a live page asks its own server for what is new."""
    told = ["default-src 'none'", f"style-src '{_hash('style.css')}'", f"script-src '{_hash('script.js')}'"]
    told += ["connect-src 'self'"] if is_live else []
    told += ["base-uri 'none'", "form-action 'none'"]
    return "; ".join([*told, *(["frame-ancestors 'none'"] if is_live else [])])


def _hash(name: str) -> str:
    digest = hashlib.sha256(asset(name).encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"
