"""The rows of all rules, by the table that has them."""

import pkgutil
from collections.abc import Iterator, Mapping
from importlib import import_module
from string import Formatter

import desired.rules
from desired.rules.rule import Reason, Rule


def rules_by_table() -> Mapping[str, tuple[Rule, ...]]:
    """Name of a module of ``desired.rules`` → its rows, in their order."""
    found = {each.name: _rows(each.name) for each in pkgutil.iter_modules(desired.rules.__path__)}
    return {name: rows for name, rows in found.items() if rows}


def names_of_rules() -> Mapping[tuple[str, str], Rule]:
    """Table and name of the constant → row."""
    return {
        (table, name): value
        for table in rules_by_table()
        for name, value in vars(import_module(f"desired.rules.{table}")).items()
        if isinstance(value, Rule)
    }


def saying(text: str) -> Reason:
    """A reason with this text, of no table."""
    return Reason(Rule("said", "{text}"), {"text": text})


def facts_of(rule: Rule) -> frozenset[str]:
    return frozenset(name for template in (rule.says, rule.remedy) for name in _names(template))


def _names(template: str) -> Iterator[str]:
    return (name for _, name, _, _ in Formatter().parse(template) if name is not None)


def _rows(module: str) -> tuple[Rule, ...]:
    return tuple(value for value in vars(import_module(f"desired.rules.{module}")).values() if isinstance(value, Rule))
