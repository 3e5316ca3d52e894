"""The schemas of the vendor's API document as a judge of answers, and of what clients send.

Belongs here: picking the schemas for a request and its answer, a wrapper that has every exchange of a simulator judged,
and a short way to talk to such a simulator. The schemas are loaded once per process, validators are built when first
needed, and what was found valid is not judged twice.
"""

import functools
import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from jsonschema import Draft202012Validator, FormatChecker
from jsonschema.protocols import Validator
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

from hcloud_sandbox.clock import SimulatedClock
from hcloud_sandbox.exchange import Request, Response, Simulator
from hcloud_sandbox.hetzner import HetznerOptions, HetznerSimulator
from sandbox_support.hetzner_document import schemas_of

_SCHEMAS = Path(__file__).with_name("hetzner_schemas.json")
_DOCUMENT = "urn:hetzner"
_LEFT_OUT = frozenset(
    {
        *("firewalls", "floating_ips", "images", "isos", "placement_groups", "pricing", "primary_ips", "ssh_keys"),
        *("storage_boxes", "storage_box_types", "volumes", "zones"),
    }
)
"""Kinds that the document at hand leaves out, as the first segment of their paths. The vendor's clients judge them, and
the whole document where ``HCLOUD_SPEC`` names that."""
_MAX_REMEMBERED = 200_000


class HetznerSpec:
    """Judges requests and answers by the schemas of the API document."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.paths: Mapping[str, Any] = document["paths"]
        """Template → method in lower case → ``operation``, ``tag`` and schemas, see ``schemas_of``."""
        self.date: str = document["date"]
        self.errors: Mapping[str, int] = document["errors"]
        """Code → status, of what any operation may answer."""
        self._definitions: Mapping[str, Any] = document["$defs"]
        resource = Resource.from_contents(document, default_specification=DRAFT202012)
        self._registry: Registry[Any] = Registry().with_resource(_DOCUMENT, resource)
        self._templates = [(_pattern(template), template) for template in _most_literal_first(self.paths)]
        self._found: dict[str, str | None] = {}
        self._validators: dict[tuple[str, ...], Validator] = {}
        self._valid: set[bytes] = set()

    def validate(self, method: str, path: str, status: int, body: Any) -> list[str]:
        """What is wrong with an answer, nothing when it is valid.

        ``path`` is without ``/v1`` and query. A refusal for a path or method that the document does not have must
        still have the error envelope; a success for one is a problem, but for the paths that the document leaves out.
        """
        where = f"{method} {path} → {status}"
        template = self.template_of(path)
        if status < 400 and not self.judges(path):
            return []
        answers: Mapping[str, Any] = {}
        if template is not None:
            answers = self.paths[template].get(method.lower(), {}).get("answers", {})
        chosen = next((key for key in (str(status), f"{status // 100}XX") if key in answers), None)
        if template is None or chosen is None:
            if status < 400:
                return [f"{where}: the API document has no such answer"]
            return self._problems(("/servers", "get", "answers", "4XX"), body, where)
        if answers[chosen] is None:
            return [] if body is None else [f"{where}: has a body, the API document has none"]
        return self._problems((template, method.lower(), "answers", chosen), body, where)

    def validate_request(self, method: str, path: str, query: Mapping[str, Sequence[str]], body: bytes) -> list[str]:
        """What is wrong with a request that was accepted, nothing when the document allows it: an unknown parameter, a
        value of one that the document does not list, a body against the schema."""
        template = self.template_of(path)
        if template is None:
            return []
        operation, key = self.paths[template][method.lower()], (template, method.lower())
        where = f"{method} {path}"
        problems = []
        for name, values in query.items():
            if name not in operation["query"]:
                problems.append(f"{where}: the API document has no parameter {name}")
                continue
            schema = self._followed(operation["query"][name])
            given: list[Any] = [part for value in values for part in (value.split(",") if name == "type" else [value])]
            kind = self._followed(schema.get("items", {})).get("type", schema["type"])
            given = [int(text) if kind == "integer" and text.isdecimal() else text for text in given]
            given = [text == "true" if kind == "boolean" and text in {"true", "false"} else text for text in given]
            value = given if schema["type"] == "array" else given[0]
            problems += [f"{where}?{name}{problem}" for problem in self._judge((*key, "query", name), value)]
        if operation["request"] is not None:
            sent = json.loads(body) if body.strip() else {}
            problems += [f"{where}: the body{problem}" for problem in self._judge((*key, "request"), sent)]
        elif body.strip() not in {b"", b"{}"}:
            problems.append(f"{where}: has a body, the API document has none")
        return problems

    def judges(self, path: str) -> bool:
        """Whether a path, or a template of one, is of a kind that this document should have."""
        return self.template_of(path) is not None or path.split("/")[1] not in _LEFT_OUT

    def template_of(self, path: str) -> str | None:
        """The template of a path; None when the document has none."""
        if path not in self._found:
            found = next((template for pattern, template in self._templates if pattern.fullmatch(path)), None)
            self._found[path] = found
        return self._found[path]

    def _problems(self, operation: tuple[str, ...], body: Any, where: str) -> list[str]:
        """The problems of a body. Items of its lists are judged one by one, each content only once."""
        if not isinstance(body, dict):
            return [f"{where}: the body is {body!r}, not a JSON object"]
        properties = self._schema(operation).get("properties", {})
        frame = dict(body)
        problems: list[str] = []
        for name, value in body.items():
            if isinstance(value, list) and "items" in properties.get(name, {}):
                frame[name] = []
                for number, item in enumerate(value):
                    found = self._judge((*operation, "properties", name, "items"), item)
                    problems += [f"{where}: {name}[{number}]{problem}" for problem in found]
        return problems + [f"{where}: {problem}" for problem in self._judge(operation, frame)]

    def _judge(self, key: tuple[str, ...], value: Any) -> list[str]:
        text = json.dumps([key, value], sort_keys=True)
        digest = hashlib.blake2b(text.encode(), digest_size=16).digest()
        if digest in self._valid:
            return []
        # The JSON text is judged and not the Python values, so that a tuple or a number as key cannot hide.
        errors = self._validator(key).iter_errors(json.loads(text)[1])
        problems = [f"{error.json_path.removeprefix('$')}: {error.message[:300]}" for error in errors]
        if not problems and len(self._valid) < _MAX_REMEMBERED:
            self._valid.add(digest)
        return problems

    def _schema(self, key: tuple[str, ...]) -> Any:
        """The schema at a place below ``paths``."""
        found: Any = self.paths
        for part in key:
            found = self._followed(found[part])
        return found

    def _followed(self, schema: Any) -> Any:
        """The schema itself, where this is a reference to it."""
        place = str(schema.get("$ref", "")).rpartition("/")[2]
        return self._definitions[place] if place else schema

    def _validator(self, key: tuple[str, ...]) -> Validator:
        if key not in self._validators:
            self._validators[key] = Draft202012Validator(
                self._schema(key), registry=self._registry, format_checker=FormatChecker()
            )
        return self._validators[key]


class ValidatingSimulator:
    """A simulator whose every answer must be valid, and every request that it accepts.

    Raises AssertionError for the first that is not; with ``collect`` the problems are gathered in ``problems``
    instead, for servers, in whose thread nobody would see an error. ``undocumented``: the test sends what the document
    does not have, and means it.
    """

    def __init__(
        self, inner: Simulator, spec: HetznerSpec, *, collect: bool = False, undocumented: bool = False
    ) -> None:
        self.inner = inner
        self.problems: list[str] = []
        self._spec = spec
        self._collect = collect
        self._undocumented = undocumented

    def handle(self, request: Request) -> Response:
        response = self.inner.handle(request)
        path = request.path.removeprefix("/v1")
        found = self._spec.validate(request.method, path, response.status, response.body)
        if response.status < 300 and not self._undocumented:
            found += self._spec.validate_request(request.method, path, request.query, request.body)
        if found and not self._collect:
            raise AssertionError("\n".join(found))
        self.problems += found
        return response

    def world(self) -> dict[str, Any]:
        return self.inner.world()

    def replace_world(self, world: Mapping[str, Any]) -> None:
        self.inner.replace_world(world)

    def set_faults(self, faults: list[dict[str, Any]]) -> None:
        self.inner.set_faults(faults)

    def clear_faults(self) -> None:
        self.inner.clear_faults()


class HetznerApi:
    """A Hetzner simulator whose clock stands still, judged by the API document. Paths are below ``/v1``."""

    NOW = 1_700_000_000.0

    def __init__(
        self,
        world: Mapping[str, Any] | None = None,
        *,
        tokens: Mapping[str, Literal["rw", "ro"]] | None = None,
        undocumented: bool = False,
        **options: Any,
    ) -> None:
        self.clock = SimulatedClock(source=lambda: self.NOW)
        self.simulator = HetznerSimulator(self.clock, HetznerOptions(**options), tokens=tokens, world=world)
        self.judged: Simulator = ValidatingSimulator(self.simulator, load_spec(), undocumented=undocumented)

    def send(self, method: str, url: str, body: Any = None, token: str | None = HetznerSimulator.TOKEN) -> Response:
        """The answer to one request; no token at all when it is None."""
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        return self.judged.handle(Request.of(method, f"/v1{url}", body, headers))

    def get(self, url: str) -> Any:
        return self.accepted("GET", url)

    def accepted(self, method: str, url: str, body: Any = None) -> Any:
        response = self.send(method, url, body)
        assert response.status < 300, response.body
        return response.body

    def refused(self, method: str, url: str, body: Any = None) -> tuple[int, str]:
        """Status and code of a refusal."""
        response = self.send(method, url, body)
        assert response.status >= 400, response.body
        return response.status, response.body["error"]["code"]

    def done(self, method: str, url: str, body: Any = None) -> Any:
        """The action of a request, as it is a minute later."""
        action = self.accepted(method, url, body)["action"]
        self.clock.advance(60)
        return self.get(f"/actions/{action['id']}")["action"]


@functools.cache
def load_spec() -> HetznerSpec:
    """The judge by the schemas that are kept here, which ``scripts/hetzner-schemas`` writes, or by the document that
    ``HCLOUD_SPEC`` names. OSError when that is not there."""
    if named := os.environ.get("HCLOUD_SPEC"):
        return HetznerSpec(schemas_of(json.loads(Path(named).read_text("utf-8")), "HCLOUD_SPEC"))
    return HetznerSpec(json.loads(_SCHEMAS.read_text("utf-8")))


def _pattern(template: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\\{[^/]+?\\}", r"[^/]+", re.escape(template)))


def _most_literal_first(templates: Mapping[str, Any]) -> list[str]:
    """So that ``/servers/actions`` is not taken for a server with the id "actions"."""
    return sorted(templates, key=lambda template: (template.count("{"), template))
