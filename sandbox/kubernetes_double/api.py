"""API: from an HTTP request to the rules of the other modules, and from what they raise to an answer."""

import json
from collections.abc import Collection, Mapping
from typing import Any, ClassVar, NamedTuple
from urllib.parse import quote

from hcloud_sandbox.clock import SimulatedClock
from hcloud_sandbox.exchange import Request, Response
from kubernetes_double import auth, errors
from kubernetes_double import world as world_file
from kubernetes_double.decoding import DecodeError, decoded
from kubernetes_double.discovery import describe
from kubernetes_double.errors import ApiError, Cause
from kubernetes_double.lifecycle import Lifecycle
from kubernetes_double.paging import Pages
from kubernetes_double.patch import PATCHES, STRATEGIC_PATCH, patched
from kubernetes_double.resources import NODES, SERVICES, Resource, resource_for
from kubernetes_double.selectors import field_test
from kubernetes_double.store import Key, Store
from kubernetes_double.watching import History

_JSON = "application/json"
_LONGEST_MANAGER = 128


class _Target(NamedTuple):
    """What a path names: an object, or (without a name) a collection."""

    key: Key
    subresource: str


class KubernetesSimulator:
    """A small Kubernetes API. Implements ``hcloud_sandbox.exchange.Simulator``."""

    TOKEN: ClassVar[str] = "sandbox-admin"  # noqa: S105 - the sandbox has no secrets
    """The all-powerful token of a simulator that was given no tokens."""

    def __init__(
        self,
        clock: SimulatedClock,
        *,
        tokens: Mapping[str, Collection[str] | None] | None = None,
        world: Mapping[str, Any] | None = None,
        seed: int = 0,
    ) -> None:
        """``tokens`` maps each token to its verbs (None: all); ``seed`` decides uids."""
        self._clock = clock
        self._known_tokens = {self.TOKEN: None} if tokens is None else dict(tokens)
        self._tokens = auth.Tokens(self._known_tokens)
        self._pages = Pages(clock)
        self._store = Store(seed)
        self._lifecycle = Lifecycle(self._store, clock)
        world_file.load(self._store, world or {"nodes": []}, clock.now())
        self.worlds = 1
        """How many worlds it has had."""
        self._families: tuple[object, Mapping[int, frozenset[int]]] = None, {}
        """Version of the store with the number of worlds, and node port → versions of IP then."""
        self._history = History(self._store, clock)
        self._store.on_write = self._history.wrote
        self._verbs = {"get": self._get, "list": self._list, "watch": self._watch, "create": self._create}
        self._verbs |= {"update": self._update, "patch": self._patch, "delete": self._delete}

    def handle(self, request: Request) -> Response:
        """Answer one API request and change the state accordingly."""
        try:
            return self._answer(request)
        except ApiError as error:
            return error.response

    def world(self) -> dict[str, Any]:
        """The cluster as a world file."""
        return world_file.save(self._store)

    def replace_world(self, world: Mapping[str, Any]) -> None:
        """Forget everything and start from a world file or its ``kubernetes`` part. Raises ValueError."""
        world_file.load(self._store, world, self._clock.now())
        self.worlds += 1
        self._pages.forget()
        self._history.forget()

    def nodes(self) -> list[dict[str, Any]]:
        """The stored Nodes as they truly are now, not copied: for reading only."""
        return list(self._store.all(NODES))

    def families_of(self, node_port: int) -> frozenset[int]:
        """The versions of IP for which kube-proxy opens this port on the Nodes; empty where no Service has it."""
        at: object = (self._store.version, self.worlds)
        if self._families[0] != at:  # a thousand targets ask of each port in one list
            found: dict[int, set[int]] = {}
            for service in self._store.all(SERVICES):
                versions = {6 if family == "IPv6" else 4 for family in service["spec"].get("ipFamilies", ())}
                for port in service["spec"].get("ports", ()):
                    if "nodePort" in port:
                        found.setdefault(port["nodePort"], set()).update(versions)
            self._families = at, {port: frozenset(versions) for port, versions in found.items()}
        return self._families[1].get(node_port, frozenset())

    def act(self, method: str, path: str, body: Any) -> Response:
        """A POST or PATCH by the cluster's own components, who may do everything."""
        kind = {"POST": _JSON, "PATCH": STRATEGIC_PATCH}[method]
        try:
            return self._served(Request.of(method, path, body, {"Content-Type": kind}), _target_of(path))
        except ApiError as error:
            return error.response

    def set_faults(self, faults: list[dict[str, Any]]) -> None:
        """Raises ValueError: there are none to simulate, and those of transport are the fault proxy's."""
        for fault in faults:
            raise ValueError(f"unknown fault {fault.get('kind')!r}: the Kubernetes simulator knows none")

    def clear_faults(self) -> None:
        """Nothing: there are none."""

    def kubeconfig(self, url: str, token: str | None = None) -> dict[str, Any]:
        """A kubeconfig for this API served at ``url``; without a token, for the first one.

        The token is in the server's address too: over plain HTTP kubectl sends no other credentials.
        """
        token = next(iter(self._known_tokens), "") if token is None else token
        scheme, _, rest = url.partition("://")
        server = f"{scheme}://sandbox:{quote(token, safe='')}@{rest}"
        return {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "sandbox", "cluster": {"server": server}}],
            "users": [{"name": "sandbox", "user": {"token": token}}],
            "contexts": [{"name": "sandbox", "context": {"cluster": "sandbox", "user": "sandbox"}}],
            "current-context": "sandbox",
        }

    def _answer(self, request: Request) -> Response:
        token = self._tokens.authenticate(request)
        if request.method == "POST" and request.path in auth.REVIEWS:
            return Response(201, self._tokens.review(token, request.path, _body(request)))
        target = _target_of(request.path)
        if target is not None:
            self._tokens.authorize(token, _verb_of(request, target), *target)
        return self._served(request, target)

    def _served(self, request: Request, target: _Target | None) -> Response:
        """The answer to who may have it."""
        if target is None:
            if request.method != "GET":
                raise errors.method_not_allowed()
            return describe(request.path)
        if request.first("dryRun") or request.first("labelSelector"):
            raise errors.bad_request("neither dryRun nor labelSelector is simulated")
        return self._verbs[_verb_of(request, target)](request, target)

    def _watch(self, request: Request, target: _Target) -> Response:
        test = field_test(request.first("fieldSelector"), target.key.resource)
        return Response(200, self._history.watch(request, target.key, test))

    def _get(self, _request: Request, target: _Target) -> Response:
        return Response(200, self._stored(target.key))

    def _stored(self, key: Key) -> dict[str, Any]:
        found = self._store.get(key)
        if found is None:
            raise errors.not_found(key.resource, key.name)
        return found

    def _list(self, request: Request, target: _Target) -> Response:
        resource = target.key.resource
        limit, token = request.first("limit") or "0", request.first("continue") or None
        if token and request.first("resourceVersion"):
            raise errors.bad_request("specifying resource version is not allowed when using continue")
        if not limit.isdigit():
            raise errors.bad_request(f"limit: {errors.not_a_number(limit, 'ParseInt')}")
        test = field_test(request.first("fieldSelector"), resource)
        current = self._store.version, self._store.snapshot(resource)
        page = self._pages.page(target.key, current, test, int(limit), token)
        return Response(200, {"kind": f"{resource.kind}List", "apiVersion": resource.api_version, **page})

    def _create(self, request: Request, target: _Target) -> Response:
        key = target.key
        sent = _decoded_body(request, key.resource)
        return Response(201, self._lifecycle.create(key.resource, key.namespace, sent))

    def _update(self, request: Request, target: _Target) -> Response:
        key, subresource = target
        sent = _decoded_body(request, key.resource)
        return Response(200, self._lifecycle.put(key, sent, _manager_of(request), subresource))

    def _patch(self, request: Request, target: _Target) -> Response:
        key, subresource = target
        kind = _media_type(request)
        if kind not in PATCHES:
            raise errors.failure(415, "UnsupportedMediaType", "415: Unsupported Media Type", {})
        patch, old = _body(request), self._stored(key)
        try:
            new = decoded(key.resource, patched(old, patch, kind))
        except DecodeError as wrong:
            cause = Cause.invalid("patch", "", str(wrong))  # the API server names no object here
            message, details = f' "" is invalid: patch: {cause.text}', {"causes": errors.listed([cause])}
            raise errors.failure(422, "Invalid", message, details) from None
        return Response(200, self._lifecycle.replace(key, new, old, _manager_of(request), subresource))

    def _delete(self, request: Request, target: _Target) -> Response:
        key = target.key
        options = _body(request) if request.body else {}
        preconditions = (options.get("preconditions") or {}) if isinstance(options, dict) else None
        if not isinstance(preconditions, dict):
            raise errors.bad_request("the body is not a DeleteOptions object")
        found, lingers = self._lifecycle.delete(key, preconditions)
        if lingers or key.resource.delete_answers_object:
            return Response(200, found)
        details = {"name": key.name, "kind": key.resource.plural, "uid": found["metadata"]["uid"]}
        details |= {"group": key.resource.group} if key.resource.group else {}
        head = {"kind": "Status", "apiVersion": "v1", "metadata": {}}
        return Response(200, {**head, "status": "Success", "details": details})


def _target_of(path: str) -> _Target | None:
    """What a path names, or None for a path about the API. Raises ApiError 404 for a kind that is not served."""
    match path.strip("/").split("/"):
        case ["api", "v1", first, *rest]:
            group, parts = "", [first, *rest]
        case ["apis", group, "v1", first, *rest]:
            parts = [first, *rest]
        case _:
            return None
    namespace = ""
    if parts[0] == "namespaces" and len(parts) > 2 and parts[2] != "status":
        namespace, parts = parts[1], parts[2:]
    resource = resource_for(group, parts[0])
    name, subresource = parts[1] if len(parts) > 1 else "", "/".join(parts[2:])
    if (
        resource is None
        or (namespace and not resource.namespaced)
        or (name and resource.namespaced and not namespace)
        or (subresource and not (resource.has_status and subresource == "status"))
    ):
        raise errors.no_such_path()
    return _Target(Key(resource, namespace, name), subresource)


def _verb_of(request: Request, target: _Target) -> str:
    """The verb by which access is granted. Raises ApiError 405 for a method that the path does not have."""
    (resource, namespace, name), subresource = target
    methods = {"PUT": "update", "PATCH": "patch", "DELETE": "delete", "GET": "get"} if name else {}
    if not name:
        methods["GET"] = "watch" if request.first("watch") in ("true", "1") else "list"
        methods |= {"POST": "create"} if bool(namespace) == resource.namespaced else {}
    verb = methods.get(request.method, "")
    if verb not in resource.verbs or (subresource and verb == "delete"):
        raise errors.method_not_allowed()
    return verb


def _manager_of(request: Request) -> str:
    """The name under which a request writes: ``fieldManager``, else its ``User-Agent`` up to the first slash."""
    given = request.first("fieldManager") or request.headers.get("user-agent", "").partition("/")[0]
    return "".join(letter for letter in given if letter.isprintable())[:_LONGEST_MANAGER] or "unknown"


def _media_type(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def _body(request: Request) -> Any:
    try:
        return json.loads(request.body)
    except (ValueError, RecursionError) as wrong:
        raise errors.bad_request(f"couldn't get version/kind; json parse error: {wrong}") from None


def _decoded_body(request: Request, resource: Resource) -> dict[str, Any]:
    if _media_type(request) not in ("", _JSON):
        accepted = "application/json, application/yaml, application/vnd.kubernetes.protobuf"
        why = f"the body of the request was in an unknown format - accepted media types include: {accepted}"
        raise errors.failure(415, "UnsupportedMediaType", why)
    try:
        return decoded(resource, _body(request))
    except DecodeError as wrong:
        why = f'{resource.kind} in version "v1" cannot be handled as a {resource.kind}: {wrong}'
        raise errors.bad_request(why) from None
