"""Marks by which tests say of which rules of a reference they are cases, and what is held against them.

A reference has two tables: rules that have cases below ``tests/unit/desired``, and rules that have none there, with the
reason. So no rule is forgotten, and none is claimed that does not exist.
"""

import ast
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def mark(*ids: str) -> Callable[[F], F]:
    """A mark on a test: it is a case of these rules.

    It changes nothing about the test, and is read from the source: ids are written out, as strings. Each reference has
    a name of its own for it, since ids of two references may be the same.
    """
    del ids
    return lambda test: test


@dataclass(frozen=True)
class Rules:
    """The rules of one reference, and where each of them has its cases."""

    name: str
    """What its mark is called."""
    here: Mapping[str, str]
    """Rule → what it is about, in words: each has a case in the folder."""
    elsewhere: Mapping[str, str]
    """Rule → why it has no case in the folder, with the test that there is instead."""

    def covered_in(self, folder: Path) -> Mapping[str, tuple[str, ...]]:
        """Rule → tests in ``folder``, or below it, that are cases of it, as ``file::test``.

        Raises ValueError for a mark that says nothing: on what is no test, without ids, or with ids that are no
        literals.
        """
        covered: dict[str, list[str]] = {}
        for path in sorted(folder.rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.FunctionDef):
                    for rule in self._of(node, path):
                        covered.setdefault(rule, []).append(f"{path.name}::{node.name}")
        return {rule: tuple(tests) for rule, tests in covered.items()}

    def missing_tests(self, rule: str, root: Path) -> list[str]:
        """The files that the reason for a rule without a case names, and that are not there."""
        named = [word.rstrip(";,") for word in self.elsewhere[rule].split() if word.startswith("tests/")]
        return [path for path in named if not (root / path).is_file()]

    def _of(self, function: ast.FunctionDef, path: Path) -> Iterator[str]:
        for decorator in function.decorator_list:
            match decorator:
                case ast.Call(func=ast.Name(name), args=args) if name == self.name:
                    ids = [arg.value for arg in args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
                    if not ids or len(ids) < len(args) or not function.name.startswith("test_"):
                        raise ValueError(
                            f"{path.name}:{decorator.lineno}: a mark belongs on a test and names ids as strings"
                        )
                    yield from ids
