"""What users of an API server may do: roles as they are shipped, granted to them, and what they made use of."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import yaml

from hcloud_sandbox.exchange import Exchange
from tests.support.apiserver import ApiServer
from tests.support.assets import ROOT

Grant = tuple[str, str, str]
"""Verb, resource, and the name that it is granted for, "" for any. No two groups have a resource of one name here."""
Role = dict[str, Any]

_SHIPPED = Path(ROOT) / "deploy" / "rbac"
_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_OF_EVERYBODY = ("authorization.k8s.io", "authentication.k8s.io")
"""Groups in which everybody may ask about themselves."""
_OF_ONE_NAME = ("configmaps", "namespaces", "leases")
"""Resources that are granted by name, wherever Kubernetes can do that: it cannot for a creation."""

BESIDE_PASSES: frozenset[Grant] = frozenset(
    {
        ("watch", "nodes", ""),
        ("watch", "services", ""),
        ("create", "leases", ""),
        ("get", "leases", "cloud-controller-manager"),
        ("update", "leases", "cloud-controller-manager"),
    }
)
"""What the process makes use of before and between its passes: a test of passes alone does not see it."""


def shipped(*files: str) -> list[Role]:
    return [role for file in files for role in yaml.safe_load_all((_SHIPPED / file).read_text())]


def grant(cluster: ApiServer, user: str, roles: Iterable[Role]) -> None:
    """Create the roles and bind them to ``user``."""
    for role in roles:
        kind, name, namespace = role["kind"], role["metadata"]["name"], role["metadata"].get("namespace")
        api = f"/apis/rbac.authorization.k8s.io/v1{f'/namespaces/{namespace}' if namespace else ''}"
        cluster.request("POST", f"{api}/{kind.lower()}s", role)
        binding: dict[str, Any] = {
            "apiVersion": role["apiVersion"],
            "kind": f"{kind}Binding",
            "metadata": {"name": f"{name}-{user}"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}],
        }
        status, answer = cluster.request("POST", f"{api}/{kind.lower()}bindings", binding)
        assert status in (201, 409), answer


def granted(roles: Iterable[Role]) -> set[Grant]:
    """All that the roles allow."""
    rules = [rule for role in roles for rule in role["rules"]]
    return {
        (verb, resource, name)
        for rule in rules
        for verb in rule["verbs"]
        for resource in rule["resources"]
        for name in rule.get("resourceNames", [""])
    }


def used(exchanges: Iterable[Exchange]) -> set[Grant]:
    """What was asked for, in the words of roles. Raises AssertionError for a request that was denied.

    What everybody may ask for, such as the version and one's own rights, is left out.
    """
    asked = set()
    for entry in exchanges:
        assert entry.status != 403, entry
        root, *words = entry.path.strip("/").split("/")
        if root in ("api", "apis") and words[0] not in _OF_EVERYBODY:
            is_watch = parse_qs(entry.query).get("watch", [""])[0] in ("1", "true")
            grant_ = _grant_of(entry.method, words[1 if root == "api" else 2 :])
            asked.add(("watch", *grant_[1:]) if is_watch else grant_)
    return asked


def _grant_of(method: str, words: Sequence[str]) -> Grant:
    """``namespaces/default/services/web/status`` is a namespaced path, ``namespaces/kube-system`` is none."""
    if words[0] == "namespaces" and len(words) > 2:
        words = words[2:]
    resource, name, *part = [*words, ""] if len(words) == 1 else words
    verb = _VERBS.get(method) or ("get" if name else "list")
    return verb, "/".join([resource, *part]), name if resource in _OF_ONE_NAME else ""
