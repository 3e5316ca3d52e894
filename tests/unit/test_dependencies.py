"""What the product imports is what it declares, and it declares nothing that it does not import."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

_ROOT = Path(__file__).resolve().parents[2]
_FOLDERS = ("reconciler", "actuators", "desired", "launch")
_OURS = ("reconciler", "actuators", "desired", "hcloud_reconciler")


def test_every_import_is_declared() -> None:
    """A package that only comes with another one goes when that one no longer needs it."""
    undeclared = {
        module: sorted(files) for module, files in _imported().items() if not _distributions(module) & _declared()
    }

    assert undeclared == {}


def test_every_declared_dependency_is_imported() -> None:
    """What nobody imports need not be installed."""
    imported = {name for module in _imported() for name in _distributions(module)}

    assert _declared() - imported == set()


@pytest.mark.parametrize("name", ["README.md", "requirements/runtime.txt", "requirements/dev.txt"])
def test_every_declared_dependency_is_in(name: str) -> None:
    """The table that says why we need it, and the pinned versions."""
    text = (_ROOT / name).read_text("utf-8")
    rows = re.findall(r"^\| ([\w, -]+) \| ", text.partition("\n## Dependencies\n")[2], re.MULTILINE)
    pinned = re.findall(r"^([\w.-]+)==", text, re.MULTILINE)

    assert _declared() - {_normal(word) for word in (*pinned, *", ".join(rows).split(", "))} == set()


@cache
def _declared() -> frozenset[str]:
    project = tomllib.loads((_ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return frozenset(_normal(re.split(r"[^\w.-]", line, maxsplit=1)[0]) for line in project["dependencies"])


@cache
def _imported() -> dict[str, set[str]]:
    """Top-level module that is neither ours nor Python's → the files that import it, wherever in them."""
    found: dict[str, set[str]] = {}
    for folder in _FOLDERS:
        for file in (_ROOT / folder).rglob("*.py"):
            for name in _imports_of(file):
                module = name.partition(".")[0]
                if module not in _OURS and module not in sys.stdlib_module_names:
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
    """The distributions that a module may come from."""
    return {_normal(name) for name in _packages().get(module, [])}


def _normal(name: str) -> str:
    """The name as the package index compares it (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()
