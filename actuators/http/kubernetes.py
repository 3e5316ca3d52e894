"""The Kubernetes API: raw bytes in, raw bytes out, over the transport and credentials of the ``kubernetes`` package.

The typed API is not used: importing it costs more than a whole pass, and one malformed object fails a whole list.
``KubernetesReader`` and ``KubernetesWriter`` are different types; a connection that is opened for reading refuses
everything but GET, so that a dry run holds nothing that can write.
"""

import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from http.client import responses
from typing import TYPE_CHECKING, Any, Literal, TypeVar
from urllib.parse import quote, urlencode
from urllib.request import getproxies

import msgspec

from actuators.http.connection import Connection
from actuators.http.decoding import decoder
from actuators.http.errors import (
    ApiError,
    Broken,
    Conflict,
    Throttled,
    Transient,
    broken_unless_readable,
    cause,
    class_at_kubernetes,
    one_line,
)
from actuators.http.kubeconfig import load_kubeconfig
from actuators.http.own_writes import OwnWrites
from actuators.http.retry import Retry
from actuators.http.shown import is_loopback, shown_address

if TYPE_CHECKING:
    from kubernetes.client import ApiClient
    from kubernetes.client.rest import RESTResponse

P = TypeVar("P")

_log = logging.getLogger("hcloud-reconciler.clients")

PAGE_SIZE = 500
"""Objects a page, as client-go's pager asks for."""
_LIST_RESTARTS = 3
"""How often a list whose continue token expired is read again from the start."""

MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_MERGE_PATCH = "application/strategic-merge-patch+json"


@dataclass(frozen=True, slots=True)
class ApiAnswer:
    """A successful answer. Header names are lower case."""

    body: bytes
    headers: Mapping[str, str]


class _Status(msgspec.Struct):
    """The API server's error body (meta/v1 Status)."""

    kind: Literal["Status"]
    message: str = ""
    reason: str = ""


class _ListMeta(msgspec.Struct):
    continue_: str = msgspec.field(default="", name="continue")


class _ListHead(msgspec.Struct):
    metadata: _ListMeta = msgspec.field(default_factory=_ListMeta)


class KubernetesConnection(Connection):
    """One API server with credentials, over which every call goes. Safe to use from several threads."""

    def __init__(
        self,
        api_client: "ApiClient",
        *,
        user_agent: str,
        refused: Callable[[], None] = lambda: None,
        context: str = "",
        **options: Any,
    ) -> None:
        """``refused`` is told when the credentials are not good any more. ``context`` is the name of the kubeconfig's.
        ``options`` are those of every connection."""
        super().__init__("kubernetes", **options)
        api_client.user_agent = user_agent
        self._api_client = api_client
        self._signing = threading.Lock()
        self._refused = refused
        self.context = context
        self.host = shown_address(str(api_client.configuration.host))
        self.own_writes = OwnWrites()

    def send(
        self,
        method: str,
        path: str,
        *,
        body: Any = None,
        content_type: str | None = None,
        repeatable: bool = True,
        once: bool = False,
    ) -> ApiAnswer:
        """The API server's answer. Raises an ApiError; PermissionError for a write on a connection for reading."""
        answer = self._call(
            method,
            path,
            lambda timeout_s: self._attempt(method, path, body, content_type, timeout_s),
            repeatable=repeatable,
            once=once,
        )
        if method != "GET":
            self.own_writes.note(answer.body)
        return answer

    def open(self, path: str, *, silence_s: float) -> "RESTResponse":
        """The answer to a GET whose body goes on, for ``watch``: sent once, counted as WATCH, and given up
        after ``silence_s`` without a byte. Raises an ApiError when it is no success."""
        return self._asked("WATCH", path, None, None, silence_s)

    def _attempt(self, method: str, path: str, body: Any, content_type: str | None, timeout_s: float) -> ApiAnswer:
        from urllib3.exceptions import HTTPError  # noqa: PLC0415 - 0.2 s that --help need not pay

        response = self._asked(method, path, body, content_type, timeout_s)
        try:
            data = response.read()
        except HTTPError as error:
            raise self.silent(error) from error
        return ApiAnswer(data, _headers(response))

    def _asked(self, method: str, path: str, body: Any, content_type: str | None, timeout_s: float) -> "RESTResponse":
        """A successful answer of which the body is still to be read. Raises an ApiError for any other."""
        from kubernetes.client.exceptions import ApiException  # noqa: PLC0415 - 0.2 s that --help need not pay
        from urllib3.exceptions import HTTPError  # noqa: PLC0415

        headers = {"Accept": "application/json"} | ({"Content-Type": content_type} if content_type else {})
        # The package refreshes credentials in here and sets the shared configuration anew: one thread at a time, or an
        # expired credential would be fetched by each.
        with self._signing:
            request = self._api_client.param_serialize(
                "GET" if method == "WATCH" else method,
                path,
                header_params=headers,
                body=body,
                auth_settings=["BearerToken"],
            )
        if method not in ("GET", "WATCH"):
            self._gate()  # only now: fetching credentials may have taken its time
        try:
            response = self._exchange(
                method,
                path,
                lambda: self._api_client.call_api(*request, _request_timeout=(min(3.0, timeout_s), timeout_s)),
                lambda answer: answer.status,
            )
            data = response.read() if response.status >= 300 else b""
        except ApiException as error:
            raise Broken(f"Kubernetes API server {self.host}: {cause(error.reason)}; {_TLS_REMEDY}") from error
        except ValueError:  # the error's text may hold the token, so it is not chained
            raise Broken(
                f"Kubernetes API server {self.host} cannot be called: its address or the token is malformed;"
                " check server and user in the kubeconfig"
            ) from None
        except HTTPError as error:
            raise self.silent(error) from error
        if response.status < 300:
            return response
        if response.status == HTTPStatus.UNAUTHORIZED:
            self._refused()
        raise refusal(f"{method} {path.partition('?')[0]}", response.status, data, _headers(response))

    def silent(self, error: Exception) -> Transient:
        """The error of a call to which no whole answer came."""
        return Transient(
            f"Kubernetes API server {self.host} does not answer: {cause(error)}; check that it is up and that"
            " the kubeconfig has its address"
        )


_TLS_REMEDY = "check certificate-authority and server in the kubeconfig"


class KubernetesReader:
    """A client that can only GET."""

    def __init__(self, connection: KubernetesConnection) -> None:
        self.connection = connection
        """For callers that have to ask in another way."""
        self.host = connection.host
        """The API server's address, for messages."""
        self.requests = connection.requests
        self.dates = connection.dates

    def get(self, path: str) -> ApiAnswer:
        """One object, or whatever the path answers. Raises an ApiError."""
        return self.connection.send("GET", path)

    def list_pages(self, path: str, decode: Callable[[ApiAnswer], P]) -> list[P]:
        """All pages of a list, from one complete attempt, each decoded as soon as it arrives.

        When a continue token expires the list is read again from the start, as pages of two attempts do not fit
        together. Raises an ApiError when a page cannot be read, and what ``decode`` raises. A page of Nodes is
        megabytes of text and kilobytes of data, so no page's text outlives its decoding.
        """
        for _ in range(_LIST_RESTARTS):
            pages = self._one_attempt(path, decode)
            if pages is not None:
                return pages
        raise Transient(f"Kubernetes GET {path}: the list expired {_LIST_RESTARTS} times while it was being read")

    def _one_attempt(self, path: str, decode: Callable[[ApiAnswer], P]) -> list[P] | None:
        pages: list[P] = []
        token = ""
        while True:
            query = {"limit": str(PAGE_SIZE)} | ({"continue": token} if token else {})
            try:
                answer = self.get(f"{path}?{urlencode(query)}")
            except Conflict as error:
                if token and error.status == HTTPStatus.GONE:
                    return None
                raise
            pages.append(decode(answer))
            with broken_unless_readable(f"Kubernetes GET {path}: the answer is no list"):
                token = decoder(_ListHead).decode(answer.body).metadata.continue_
            if not token:
                return pages


class KubernetesWriter:
    """A client that changes things. Never constructed in a dry run."""

    def __init__(self, connection: KubernetesConnection) -> None:
        self._connection = connection

    def patch(self, path: str, body: Mapping[str, Any], *, content_type: str = MERGE_PATCH) -> ApiAnswer:
        """PATCH, repeated after a transient failure: patches here carry a resourceVersion or set absolute values."""
        return self._connection.send("PATCH", path, body=body, content_type=content_type)

    def update(self, path: str, body: Mapping[str, Any]) -> ApiAnswer:
        """PUT of a whole object with the resourceVersion that it was read with; any other there is a Conflict. Sent
        once: a second try could not tell its own trace from another's.
        """
        return self._connection.send("PUT", path, body=body, content_type="application/json", repeatable=False)

    def create(self, path: str, body: Mapping[str, Any]) -> ApiAnswer:
        """POST, sent once: whether a failed one was carried out is for the caller to look up."""
        return self._connection.send("POST", path, body=body, content_type="application/json", repeatable=False)

    def delete(self, path: str, *, uid: str, version: str) -> ApiAnswer:
        """DELETE of exactly this object as it was read; any other is a Conflict. Repeated after a transient failure,
        when NotFound may mean that the first try was carried out (Kubernetes API, DeleteOptions.preconditions).
        """
        body = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "preconditions": {"uid": uid, "resourceVersion": version},
        }
        return self._connection.send("DELETE", path, body=body, content_type="application/json")

    def try_create(self, path: str, body: Mapping[str, Any]) -> ApiAnswer:
        """POST without any second try, for what may be lost: Events."""
        return self._connection.send("POST", path, body=body, content_type="application/json", once=True)

    def try_patch(self, path: str, body: Mapping[str, Any]) -> ApiAnswer:
        """PATCH without any second try, for what may be lost: Events."""
        return self._connection.send("PATCH", path, body=body, content_type=MERGE_PATCH, once=True)


def segment(text: str) -> str:
    """``text`` as one segment of a path."""
    return quote(text, safe="")


def connect(
    kubeconfig: str | None,
    context: str | None = None,
    *,
    user_agent: str,
    retry: Retry,
    timeout_s: float,
    read_only: bool,
    gate: Callable[[], None] = lambda: None,
) -> KubernetesConnection:
    """A connection to the cluster that ``context`` of the kubeconfig names, by default its current one; no kubeconfig
    means ``KUBECONFIG``, then the pod's own cluster, then ``~/.kube/config``, as kubectl has it. Raises
    ConnectionProblem with one line that names the file and remedy.
    """
    from kubernetes.client import ApiClient, Configuration  # noqa: PLC0415 - 0.2 s that --help need not pay

    configuration = Configuration()
    refused, context = load_kubeconfig(configuration, kubeconfig, context)
    if is_loopback(configuration.host) and configuration.proxy in getproxies().values():
        configuration.proxy = None  # none of the environment's leads to this machine; the kubeconfig's own may
    configuration.retries = False
    configuration.keep_alive = True
    configuration.connection_pool_maxsize = 32
    return KubernetesConnection(
        ApiClient(configuration),
        user_agent=user_agent,
        retry=retry,
        timeout_s=timeout_s,
        read_only=read_only,
        gate=gate,
        refused=refused,
        context=context,
    )


def _headers(response: "RESTResponse") -> dict[str, str]:
    return {name.lower(): value for name, value in response.headers.items()}


def refusal(call: str, status: int, data: bytes, headers: Mapping[str, str]) -> ApiError:
    """The ApiError for the API server's refusal."""
    try:
        said = decoder(_Status).decode(data)
    except ValueError:
        said = None
    why = responses.get(status, "without a reason")
    if said is None:
        why += ", which is no answer of an API server; check server in the kubeconfig"
    else:
        why = one_line(said.message) or why
    if status == HTTPStatus.UNAUTHORIZED:
        why += "; the kubeconfig's credentials are unknown or expired"
    kind, code = class_at_kubernetes(status, said.message if said else None), said.reason if said else None
    message = f"Kubernetes API server: {call} answers {status} {why}"
    if kind is Throttled:
        return Throttled(message, retry_after_s=_retry_after_s(headers), status=status, code=code)
    return kind(message, status=status, code=code)


def _retry_after_s(headers: Mapping[str, str]) -> float:
    """Seconds of a Retry-After header; 1 when there is none or it is a date."""
    try:
        return max(0.0, float(headers.get("retry-after", "1")))
    except ValueError:
        return 1.0
