"""Log lines on stderr: a constant message and key=value data, no secrets, no whole objects."""

import logging
from typing import TextIO

_FORMAT = "%(asctime)s %(levelname)-7s %(message)s"


def set_up(*, debug: bool, quiet: bool = False, stream: TextIO | None = None) -> None:
    """Log to ``stream``, stderr by default: all of this product with ``debug``, warnings with ``quiet``."""
    handler = logging.StreamHandler(stream)
    formatter = logging.Formatter(_FORMAT, datefmt="%Y-%m-%dT%H:%M:%S")
    handler.setFormatter(formatter)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("hcloud-reconciler").setLevel(
        logging.DEBUG if debug else logging.WARNING if quiet else logging.INFO
    )


def pairs(**data: object) -> str:
    """``key=value`` pairs in the order given; a value with a blank is quoted, so that a line can be split again."""
    return " ".join(f"{key}={_quoted(str(value))}" for key, value in data.items())


def _quoted(text: str) -> str:
    return repr(text) if not text or any(c.isspace() or c in "\"'=" for c in text) else text
