"""What explanations may use: plan, model, rules and texts, the types that carry decisions, and these functions."""

import ast
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import FunctionType

import desired.explain

BENEATH = ("explain", "plan", "model", "rules", "syntax", "section", "names")
"""Packages and modules of ``desired`` that any explanation may use."""
CARRIERS = {
    "annotations.options": {"ON_LISTENERS", "OPTIONS", "Option"},
    "annotations.reading": {"Origin", "Requested"},
    "guards.guard": {"GuardInput", "GuardResult"},
    "guards.table": {"GUARDS"},
    "health.state": {"ObjectState", "States"},
    "load_balancers.desired": {"DesiredLoadBalancer"},
    "load_balancers.lifecycle": {"LoadBalancerRelease"},
    "load_balancers.matching": {"Adoptable", "Contested", "Foreign", "FoundBy", "Owned", "Undecided"},
    "load_balancers.membership": {"Membership"},
    "nodes.matching": {"Matched"},
    "nodes.node": {"DesiredNode", "InitializedNode", "UnmanagedNode"},
    "routes.actions": {"RouteAction"},
    "routes.claims": {"RouteClaim", "RouteStatus"},
    "routes.endpoints": {"NodeEndpoint"},
}
"""Module → its types and tables that carry what was decided."""
FUNCTIONS = {
    "load_balancers.in_use": {"in_use", "of_listener", "shown"},
    "load_balancers.lifecycle": {"awaiting"},
    "load_balancers.ownership": {"said_by_labels"},
    "load_balancers.published": {"source_of"},
    "nodes.node": {"deletable_server"},
}
"""Module → functions of it that no plan needs."""


def imported() -> Iterator[tuple[str, str, bool]]:
    """Module of ``desired``, name in it, and whether that is a function, for each import that is not beneath."""
    for path in Path(*desired.explain.__path__).glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            assert not isinstance(node, ast.Import), f"{path.name} imports a whole module"
            module = (node.module or "") if isinstance(node, ast.ImportFrom) else ""
            _, _, below = module.partition("desired.")
            for alias in node.names if isinstance(node, ast.ImportFrom) and below else ():
                if below.partition(".")[0] not in BENEATH:
                    yield below, alias.name, isinstance(getattr(import_module(module), alias.name), FunctionType)


def test_explanations_use_carriers_and_these_functions() -> None:
    """Exactly these, so that no rule is asked again, and the list does not grow stale."""
    found: dict[bool, dict[str, set[str]]] = {False: {}, True: {}}
    for module, name, is_function in imported():
        found[is_function].setdefault(module, set()).add(name)
    assert found == {False: CARRIERS, True: FUNCTIONS}
