"""HTTP over ``requests``: sessions without credentials of this machine, and what fails on the way as ApiErrors."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from actuators.http.errors import Broken, Transient, cause

if TYPE_CHECKING:
    import requests

_POOL_SIZE = 32
"""Connections that are kept: one for each change in flight, and those that read beside them."""
_CONNECT_TIMEOUT_S = 3.0


def prepare(session: "requests.Session") -> "requests.Session":
    """The session, with a pool for all threads, and without the credentials that ``requests`` takes from ~/.netrc."""
    from requests.adapters import HTTPAdapter  # noqa: PLC0415 - 0.1 s that --help need not pay

    for scheme in ("http://", "https://"):
        session.mount(scheme, HTTPAdapter(pool_maxsize=_POOL_SIZE))
    session.auth = lambda request: request
    return session


def time_outs(timeout_s: float) -> tuple[float, float]:
    """Seconds for the connection, and for each wait of the answer, of a call that may take so long."""
    return min(_CONNECT_TIMEOUT_S, timeout_s), timeout_s


@contextmanager
def failures_as_errors(api: str, *, remedy: str, header: str) -> Iterator[None]:
    """What ``requests`` raises inside becomes an ApiError about ``api``: Transient where an answer may still come, and
    Broken where none can. ``remedy`` is what to check when nothing answers; ``header`` names the secret that is sent.
    """
    import requests  # noqa: PLC0415 - 0.1 s that --help need not pay

    try:
        yield
    except requests.exceptions.SSLError as error:
        raise Broken(f"{api}: no trusted encryption ({cause(error)})") from error
    except (requests.exceptions.ConnectionError, requests.exceptions.Timeout) as error:
        raise Transient(f"{api} does not answer: {cause(error)}; {remedy}") from error
    except (requests.exceptions.ChunkedEncodingError, requests.exceptions.ContentDecodingError) as error:
        raise Transient(f"{api}: the answer was cut off ({cause(error)})") from error
    except (requests.exceptions.InvalidHeader, UnicodeError):  # the error's text holds the secret: not chained
        raise Broken(f"{api} cannot be called: the {header} has a forbidden character") from None
    except (requests.exceptions.InvalidURL, requests.exceptions.InvalidSchema, requests.exceptions.MissingSchema):
        # The error's text has all of the address, so it is not chained.
        raise Broken(f"{api} cannot be called: the address, or that of a proxy, is malformed; {remedy}") from None
    except (requests.exceptions.RequestException, ValueError) as error:
        raise Broken(f"{api} cannot be called: {cause(error)}") from error
