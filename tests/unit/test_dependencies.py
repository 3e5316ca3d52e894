"""What the product imports is what it declares, and it declares nothing that it does not import."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import pytest

_ROOT = Path(__file__).resolve().parents[2]
_PROJECTS = {
    ".": ("reconciler", "actuators", "desired", "launch"),
    "sandbox": ("sandbox/hcloud_sandbox", "sandbox/kubernetes_double"),
}
"""Folder of a distribution's ``pyproject.toml`` → the folders of its source."""
_OURS = {
    ".": ("reconciler", "actuators", "desired", "hcloud_reconciler"),
    "sandbox": ("hcloud_sandbox", "kubernetes_double"),
}
"""The same → the names by which it imports itself."""


@pytest.mark.parametrize("project", _PROJECTS)
def test_every_import_is_declared(project: str) -> None:
    """A package that only comes with another one goes when that one no longer needs it."""
    declared = _declared(project) | _optional(project)
    undeclared = {
        module: sorted(files) for module, files in _imported(project).items() if not _distributions(module) & declared
    }

    assert undeclared == {}


@pytest.mark.parametrize("project", _PROJECTS)
def test_every_declared_dependency_is_imported(project: str) -> None:
    """What nobody imports need not be installed."""
    imported = {name for module in _imported(project) for name in _distributions(module)}

    assert (_declared(project) | _optional(project)) - imported == set()


def test_the_product_can_do_without_the_sandbox() -> None:
    """One extra brings it, and what it needs by itself is no business of the product's."""
    assert _optional(".") == {"hcloud-sandbox"}
    assert _declared("sandbox") == {"aiohttp", "jsonpatch", "yarl"}
    assert _declared(".") & _declared("sandbox") == set()
    assert {module: files for module, files in _imported(".").items() if module == "hcloud_sandbox"} == {
        "hcloud_sandbox": {"reconciler/cli/demo.py", "reconciler/cli/sandbox.py"}
    }


@pytest.mark.parametrize("name", ["dev.txt", "sandbox.txt"])
def test_what_the_sandbox_needs_is_pinned(name: str) -> None:
    """In what ``scripts/setup`` installs, and in its image."""
    pinned = re.findall(r"^([\w.-]+)==", (_ROOT / "requirements" / name).read_text("utf-8"), re.MULTILINE)

    assert _declared("sandbox") - {_normal(word) for word in pinned} == set()


@pytest.mark.parametrize("name", ["README.md", "requirements/runtime.txt", "requirements/dev.txt"])
def test_every_declared_dependency_is_in(name: str) -> None:
    """The table that says why we need it, and the pinned versions."""
    text = (_ROOT / name).read_text("utf-8")
    rows = re.findall(r"^\| ([\w, -]+) \| ", text.partition("\n## Dependencies\n")[2], re.MULTILINE)
    pinned = re.findall(r"^([\w.-]+)==", text, re.MULTILINE)

    assert _declared(".") - {_normal(word) for word in (*pinned, *", ".join(rows).split(", "))} == set()


@cache
def _metadata(project: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = tomllib.loads((_ROOT / project / "pyproject.toml").read_text("utf-8"))["project"]
    return found


def _declared(project: str) -> frozenset[str]:
    return _named_in(_metadata(project)["dependencies"])


def _optional(project: str) -> frozenset[str]:
    """What extras bring."""
    extras = _metadata(project).get("optional-dependencies", {})
    return frozenset().union(*map(_named_in, extras.values()))


def _named_in(lines: Iterable[str]) -> frozenset[str]:
    return frozenset(_normal(re.split(r"[^\w.-]", line, maxsplit=1)[0]) for line in lines)


@cache
def _imported(project: str) -> dict[str, set[str]]:
    """Top-level module that is neither ours nor Python's → the files that import it, wherever in them."""
    found: dict[str, set[str]] = {}
    for folder in _PROJECTS[project]:
        for file in (_ROOT / folder).rglob("*.py"):
            for name in _imports_of(file):
                module = name.partition(".")[0]
                if module not in _OURS[project] and module not in sys.stdlib_module_names:
                    found.setdefault(module, set()).add(str(file.relative_to(_ROOT)))
    return found


def _imports_of(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module


_packages = cache(packages_distributions)


def _distributions(module: str) -> set[str]:
    """The distributions that a module may come from; one in this tree has its name."""
    return {_normal(name) for name in _packages().get(module, [module])}


def _normal(name: str) -> str:
    """The name as the package index compares it (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()
