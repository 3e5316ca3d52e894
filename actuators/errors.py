"""Everything that a call to one of the APIs can come back with, sorted once, at the client.

    ApiError
    ├── NotFound       the object is not there, and the API itself says so
    ├── Conflict       the object has moved on: plan again, never resend
    │   └── Busy       another change runs on the object, and nothing was done: wait a little, send again
    ├── Invalid        the API refuses the content, now and later
    ├── Denied         no or not enough permission
    ├── Throttled      too many requests; says how long to wait
    ├── Transient      may work in a moment: no connection, time-out, 5xx
    │   └── Stopped    the run was told to stop while it waited for an answer
    │       └── NotLeader   this process does not lead: nothing was sent
    └── Broken         an answer that is none: not JSON, wrong shape, untrusted certificate

Nobody outside ``actuators.clients`` sees an exception of a client library. The text of an error is one line that names
the API, the call and what it said; it never holds a token.
"""


class ApiError(Exception):
    """A call failed. ``status`` is the HTTP status, None when there was no answer; ``code`` is the API's own word."""

    def __init__(self, message: str, *, status: int | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


class NotFound(ApiError):
    """The API says that the object does not exist. A 404 without the API's own error body is Broken instead."""


class Conflict(ApiError):
    """Somebody else changed the object, or it is another one under the same name."""


class Busy(Conflict):
    """The API refused before doing anything, because another change of the object is under way."""


class Invalid(ApiError):
    """The request can never succeed as it is."""


class Exhausted(Invalid):
    """The project may have no more of it, the account may not pay for it, or is locked: a person has to mend that."""


class Denied(ApiError):
    """The credentials are missing, wrong, or may not do this."""


class Throttled(ApiError):
    """The API refused before doing anything; ``retry_after_s`` is when one more request may pass."""

    def __init__(
        self, message: str, *, retry_after_s: float, status: int | None = None, code: str | None = None
    ) -> None:
        super().__init__(message, status=status, code=code)
        self.retry_after_s = retry_after_s


class Transient(ApiError):
    """It may work in a moment. A write may have been carried out all the same."""


class Stopped(Transient):
    """Nothing went wrong: the run was told to stop, and did not wait for the end of what it had asked for."""


class NotLeader(Stopped):
    """The write was not sent, for another process leads by now, or may."""


class Broken(ApiError):
    """Something answered that is not the API, or not as the API answers."""
