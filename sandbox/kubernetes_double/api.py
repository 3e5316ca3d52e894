"""API: from an HTTP request to the rules of the other modules, and from what they raise to an answer."""

from collections.abc import Collection, Mapping
from typing import Any, ClassVar
from urllib.parse import quote

from hcloud_sandbox.clock import SimulatedClock
from hcloud_sandbox.exchange import Request, Response
from kubernetes_double import auth
from kubernetes_double import world as world_file
from kubernetes_double.asking import (
    Target,
    is_dry_run,
    json_body,
    media_type,
    object_body,
    target_of,
    verb_of,
    wants_table,
)
from kubernetes_double.decoding import DecodeError, decoded
from kubernetes_double.discovery import describe
from kubernetes_double.faults import ReadFaults
from kubernetes_double.lifecycle import Lifecycle
from kubernetes_double.managers import Writer, manager_of
from kubernetes_double.paging import Pages
from kubernetes_double.patch import (
    PatchCannotBeMerged,
    PatchDoesNotFit,
    PatchError,
    copied,
    json_patch,
    merge_patch,
    strategic_patch,
)
from kubernetes_double.resources import NODES, SERVICES, Resource
from kubernetes_double.selectors import Test, field_test, label_test
from kubernetes_double.status import (
    ApiError,
    bad_request,
    broken,
    invalid_after_patch,
    method_not_allowed,
    not_found,
    unprocessable_patch,
    unsupported_patch,
)
from kubernetes_double.store import Store, Write
from kubernetes_double.tables import table
from kubernetes_double.watching import Form, History

_JSON = "application/json"
_JSON_PATCH = "application/json-patch+json"
_MERGE_PATCH = "application/merge-patch+json"
_STRATEGIC_PATCH = "application/strategic-merge-patch+json"


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
        """``tokens`` maps each token to its verbs (None: all); ``seed`` decides uids and generated names."""
        self._clock = clock
        self._known_tokens = {self.TOKEN: None} if tokens is None else dict(tokens)
        self._tokens = auth.Tokens(self._known_tokens)
        self._path = "/"
        self._faults = ReadFaults(clock)
        self._pages = Pages(clock)
        self._store = Store(seed, self._wrote)
        self._lifecycle = Lifecycle(self._store, clock)
        world_file.load(self._store, world or {"nodes": []}, clock.now())
        self.worlds = 1
        """How many worlds it has had."""
        self._is_acting = False
        self._history = History(self._store, clock)

    def handle(self, request: Request) -> Response:
        """Answer one API request and change the state accordingly."""
        self._path = request.path
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
        self._faults.clear()
        self._pages.forget()
        self._history.forget()

    def nodes(self) -> list[dict[str, Any]]:
        """The stored Nodes as they truly are now, not copied: for reading only."""
        return list(self._store.all(NODES))

    def families_of(self, node_port: int) -> frozenset[int]:
        """The versions of IP for which kube-proxy opens this port on the Nodes; empty where no Service has it."""
        return frozenset(
            6 if family == "IPv6" else 4
            for service in self._store.all(SERVICES)
            if any(port.get("nodePort") == node_port for port in service["spec"].get("ports", ()))
            for family in service["spec"].get("ipFamilies", ())
        )

    def act(self, method: str, path: str, body: Any) -> Response:
        """A POST or PATCH by the cluster's own components, who may do everything and whom faults leave alone."""
        target = target_of(path)
        if target is None:
            raise ValueError(f"{path} names no object")
        self._is_acting = True
        try:
            headers = {"Content-Type": _JSON if method == "POST" else _STRATEGIC_PATCH}
            request = Request.of(method, path, body, headers)
            write = self._create if method == "POST" else self._patch
            return write(request, target, dry_run=False)
        except ApiError as error:
            return error.response
        finally:
            self._is_acting = False

    def set_faults(self, faults: list[dict[str, Any]]) -> None:
        """Add simulated faults: see ``faults``."""
        self._faults.add(faults)

    def clear_faults(self) -> None:
        """Forget all simulated faults."""
        self._faults.clear()

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

    def _wrote(self, write: Write) -> None:
        if not self._is_acting:
            self._faults.wrote(write, self._path)
        self._history.wrote(write)

    def _answer(self, request: Request) -> Response:
        token = self._tokens.authenticate(request)
        if request.method == "POST" and token is not None and (answer := self._reviewed(request, token)) is not None:
            return Response(201, answer)
        target = target_of(request.path)
        if target is None:
            self._tokens.authorize_path(token, request.path)
            if request.method != "GET":
                raise method_not_allowed()
            return describe(request.path)
        return self._of_resource(request, target, token)

    def _reviewed(self, request: Request, token: str) -> dict[str, Any] | None:
        """The answer to a question of the token's owner about himself; None when the request is none."""
        match request.path:
            case auth.REVIEWS:
                return self._tokens.review(token, object_body(request))
            case auth.RULES_REVIEWS:
                return self._tokens.review_rules(token, object_body(request))
            case auth.SELF_REVIEWS:
                return self._tokens.review_self(token)
        return None

    def _of_resource(self, request: Request, target: Target, token: str | None) -> Response:
        verb = verb_of(request, target)
        self._tokens.authorize(token, verb, target.key, target.subresource)
        if verb not in target.resource.verbs or bool(target.key.name) == (verb in ("list", "create", "watch")):
            raise method_not_allowed()
        form = self._table_of(request, target.resource) if wants_table(request) else None
        match verb:
            case "watch":
                return self._history.watch(request, target, _tests(request, target), form)
            case "list":
                return self._list(request, target, form)
            case "get":
                return self._get(request, target, form)
            case "create":
                return self._create(request, target, dry_run=is_dry_run(request))
            case "update":
                return self._update(request, target, dry_run=is_dry_run(request))
            case "patch":
                return self._patch(request, target, dry_run=is_dry_run(request))
            case _:
                return self._delete(request, target)

    def _table_of(self, request: Request, resource: Resource) -> Form:
        """What makes a table of objects, as the request wants it."""
        include = request.first("includeObject") or "Metadata"
        return lambda metadata, objects: table(resource, metadata, objects, self._clock.now(), include)

    def _get(self, request: Request, target: Target, form: Form | None) -> Response:
        hidden = self._faults.hidden(self._store, request.path, target.key)
        found = hidden[target.key].before if target.key in hidden else self._store.get(target.key)
        if found is None:
            raise not_found(target.resource, target.key.name)
        if form is not None:
            return Response(200, form({"resourceVersion": found["metadata"]["resourceVersion"]}, [found]))
        return Response(200, copied(found))

    def _list(self, request: Request, target: Target, form: Form | None) -> Response:
        tests = _tests(request, target)
        limit = request.first("limit") or "0"
        if request.first("continue") and request.first("resourceVersion"):
            raise bad_request("specifying resource version is not allowed when using continue")
        if not limit.isdigit():
            raise bad_request(f'limit: strconv.ParseInt: parsing "{limit}": invalid syntax')
        hidden = self._faults.hidden(self._store, request.path, target.key)
        current = self._store.snapshot(target.resource, hidden)
        page = self._pages.page(target.key, current, tests, int(limit), request.first("continue") or None)
        if form is not None:
            return Response(200, form(page["metadata"], page["items"]))
        return Response(200, {"kind": f"{target.resource.kind}List", "apiVersion": target.resource.api_version, **page})

    def _create(self, request: Request, target: Target, *, dry_run: bool) -> Response:
        sent = _decoded_body(request, target.resource)
        stored = self._lifecycle.create(target.resource, target.key.namespace, sent, dry_run=dry_run)
        return Response(201, stored)

    def _update(self, request: Request, target: Target, *, dry_run: bool) -> Response:
        sent = _decoded_body(request, target.resource)
        writer = Writer(manager_of(request), target.subresource)
        stored, created = self._lifecycle.replace(target.key, sent, writer, is_put=True, dry_run=dry_run)
        return Response(201 if created else 200, stored)

    def _patch(self, request: Request, target: Target, *, dry_run: bool) -> Response:
        kind = media_type(request)
        if kind not in (_JSON_PATCH, _MERGE_PATCH, _STRATEGIC_PATCH):
            raise unsupported_patch()
        patch = json_body(request)
        old = self._store.get(target.key)
        if old is None:
            raise not_found(target.resource, target.key.name)
        try:
            new = decoded(target.resource, _patched(kind, old, patch))
        except PatchDoesNotFit:
            raise unprocessable_patch() from None
        except PatchError as wrong:
            raise bad_request(str(wrong)) from None
        except PatchCannotBeMerged as wrong:
            raise broken(str(wrong)) from None
        except DecodeError as wrong:
            raise invalid_after_patch(str(wrong)) from None
        writer = Writer(manager_of(request), target.subresource)
        stored, _ = self._lifecycle.replace(target.key, new, writer, is_put=False, dry_run=dry_run)
        return Response(200, stored)

    def _delete(self, request: Request, target: Target) -> Response:
        options = json_body(request) if request.body else {}
        if not isinstance(options, dict):
            raise bad_request("the body is not a DeleteOptions object")
        found = self._store.get(target.key)
        preconditions = options.get("preconditions") or {}
        if not isinstance(preconditions, dict):
            raise bad_request("preconditions are not an object")
        # As on the real server: with a body, the query's options do not count.
        dry_run = options.get("dryRun") == ["All"] if request.body else is_dry_run(request)
        lingering = self._lifecycle.delete(target.key, preconditions, dry_run=dry_run)
        if lingering is not None:
            return Response(200, lingering)
        details = {"name": target.key.name, "group": target.resource.group, "kind": target.resource.plural}
        details["uid"] = (found or {"metadata": {"uid": ""}})["metadata"]["uid"]
        details = {field: value for field, value in details.items() if value}
        body = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}
        return Response(200, body)


def _tests(request: Request, target: Target) -> list[Test]:
    """What an object has to pass to be shown."""
    tests = []
    if labels := request.first("labelSelector"):
        tests.append(label_test(labels))
    if fields := request.first("fieldSelector"):
        tests.append(field_test(fields, target.resource))
    return tests


def _decoded_body(request: Request, resource: Resource) -> dict[str, Any]:
    sent = object_body(request)
    try:
        return decoded(resource, sent)
    except DecodeError as wrong:
        raise bad_request(f'{resource.kind} in version "v1" cannot be handled as a {resource.kind}: {wrong}') from None


def _patched(kind: str, old: dict[str, Any], patch: Any) -> Any:
    if kind == _JSON_PATCH:
        return json_patch(old, patch)
    if not isinstance(patch, dict):
        raise PatchError("the patch is not an object")
    return merge_patch(old, patch) if kind == _MERGE_PATCH else strategic_patch(old, patch, old["kind"])
