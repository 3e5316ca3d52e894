"""Keys: their texts, their fields, and that nothing else takes a text apart to decide."""

import ast
import copy
import pickle
import re
from pathlib import Path

import pytest

from desired.model.key import PLAN, Key, ObjectKind, is_below
from tests.support.rows import rows

SERVICE = Key(ObjectKind.SERVICE, "default/web")
LISTENER = Key(ObjectKind.LOAD_BALANCER, "default/web", "listener", 80)


@rows("key text parts", {
    "an object": (SERVICE, "service/default/web", ()),
    "a part": (LISTENER, "load_balancer/default/web/listener/80", ("listener", "80")),
    "one that is no Service's": (Key(ObjectKind.LOAD_BALANCER, "#42"), "load_balancer/#42", ()),
    "an id": (Key(ObjectKind.NETWORK, 4711), "network/4711", ()),
    "the plan": (PLAN, "plan", ()),
})  # fmt: skip
def test_texts(key: Key, text: str, parts: tuple[str, ...]) -> None:
    """A key is the text that people read, and compares, sorts and hashes as that text does."""
    assert (key, str(key), hash(key), key.parts) == (text, text, hash(text), parts)
    assert {text: 1}[key] == 1


def test_parts_and_wholes() -> None:
    """A part names its object, however deep it is."""
    assert SERVICE.part("status") == "service/default/web/status"
    assert LISTENER.whole == Key(ObjectKind.LOAD_BALANCER, "default/web")
    assert SERVICE.whole == SERVICE


@pytest.mark.parametrize("key", [SERVICE, LISTENER, PLAN])
def test_copies_keep_the_fields(key: Key) -> None:
    """A copy is a key as well, and no bare text."""
    for copied in (copy.deepcopy(key), pickle.loads(pickle.dumps(key))):
        assert (copied, copied.kind, copied.name, copied.parts) == (key, key.kind, key.name, key.parts)


@pytest.mark.parametrize(("key", "root", "expected"), [
    (LISTENER, "load_balancer/default/web", True),
    (LISTENER, "load_balancer/default/web/listener", True),
    (LISTENER, "load_balancer/default/we", False),
    (SERVICE, "service/default/web", True),
    (SERVICE, "service/default", True),
    (SERVICE, "service/default/web/status", False),
])  # fmt: skip
def test_below(key: Key, root: str, expected: bool) -> None:
    """What a person names includes all of its parts, and nothing whose name only begins like it."""
    assert is_below(key, [root]) is expected


_TAKES_APART = {
    "split",
    "rsplit",
    "partition",
    "rpartition",
    "startswith",
    "endswith",
    "removeprefix",
    "removesuffix",
    "find",
    "index",
}
_TOLD = {"key", "owner", "kind", "text", "why", "reason", "rule", "message", "verdict"}
_SHOWN = {
    "actuators/wire/objects.py": "checks that an answer of Kubernetes is a list",
    "reconciler/report/explanation.py": "leaves out the prefix of annotations",
    "reconciler/report/fields.py": "names the only field of a change after its kind",
    "desired/model/key.py": "is_below",
    "reconciler/report/terminal.py": "lines at the width of a terminal",
}
"""File → what it does with a text: show it, or read what a person wrote."""


def test_nothing_decides_by_taking_a_text_apart() -> None:
    """Keys, kinds and notes have fields: 30 places once looked for prefixes and slashes instead."""
    root = Path(__file__).resolve().parents[4]
    told = re.compile(rf"\.(?:{'|'.join(_TOLD)})\s*\.\s*(?:{'|'.join(_TAKES_APART)})\b")
    found = {
        str(path.relative_to(root))
        for top in ("desired", "actuators", "reconciler")
        for path in (root / top).rglob("*.py")
        if "sandbox" not in path.parts
        if told.search(text := path.read_text("utf-8"))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _TAKES_APART
        if isinstance(node.func.value, ast.Attribute) and node.func.value.attr in _TOLD
    }
    assert found - _SHOWN.keys() == set()
