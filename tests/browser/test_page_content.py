"""What the page says in each section, beside the JSON report of the same pass and the world that it was read from."""

import re
from collections import Counter
from typing import Any

from tests.support.browser import Browser
from tests.support.shown_page import ShownPage

Fields = dict[str, tuple[str | None, str | None]]
"""Path of a field → how it is, and how it should be; None for nothing."""

_CHANGES = """
const text = element => element && element.textContent.replace(/\\s+/g, ' ').trim();
const cells = row => [...row.children].map(text);
return [...document.querySelectorAll(':is(#plan, #holds) [data-key]')].map(each => {
  if (each.localName === 'details') {
    const rows = [...each.querySelectorAll('tbody tr')].map(cells);
    return {key: each.dataset.key, sign: text(each.querySelector('.sign')), head: text(each.querySelector('summary')),
            fields: rows};
  }
  const fold = each.closest('table').closest('details').parentElement.closest('details');
  const fields = [...each.querySelectorAll('td > div')].map(
    field => [text(field.querySelector('.key')), text(field.querySelector('del')), text(field.querySelector('ins'))]);
  return {key: each.dataset.key, sign: text(fold.querySelector('.sign')), head: text(fold.querySelector('summary')),
          fields};
});
"""
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00")
_SIGNS = {"add": "+", "modify": "~", "remove": "-"}


def test_every_change(browser: Browser, eventful: ShownPage) -> None:
    """Key, symbol, kind and each field of every change, whether it is folded with others or stands alone."""
    shown = {each["key"]: each for each in browser.run(_CHANGES)}
    changes = {each["key"]: each for each in eventful.report["changes"]}

    assert sorted(shown) == sorted(changes)
    for key, change in changes.items():
        assert change["kind"] in shown[key]["head"], key
        assert shown[key]["sign"] == _SIGNS[change["class"]], key
        assert _shown_fields(shown[key]["fields"]) == _reported_fields(change), key


def test_what_is_held_says_why_without_a_click(browser: Browser, eventful: ShownPage) -> None:
    """The reason of the change in what is open from the beginning, and what the guard says."""
    shown = {each["key"]: each["head"] for each in browser.run(_CHANGES)}
    held = [each for each in eventful.report["changes"] if each["verdict"] == "held"]

    assert [change["key"] for change in held] == ["node/worker-2", "node/worker-3"]
    for change in held:
        assert change["reason"] in shown[change["key"]]
        assert change["why"] in browser.texts("#holds")[0]
        assert browser.run("return document.getElementById(arguments[0]).open", f"plan/{change['key']}")


def test_cost(browser: Browser, eventful: ShownPage) -> None:
    """The sum of all changes, and the difference of each beside it."""
    cost = eventful.report["cost"]
    (text,) = browser.texts("#cost")
    assert f"+{cost['gross']} {cost['currency']} a month" in text

    shown = {each["key"]: each["head"] for each in browser.run(_CHANGES)}
    for each in eventful.report["changes"]:
        assert each["cost"] is None or f"+{each['cost']} {cost['currency']} a month" in shown[each["key"]]


def test_routes(browser: Browser, eventful: ShownPage) -> None:
    """Those of the network and those that are planned; how many are used, of how many."""
    section = eventful.report["sections"]["routes"]
    planned = {each["key"] for each in eventful.report["changes"] if each["kind"] == "route.create"}
    there = {f"route/4711/{each['destination']}" for each in eventful.project["networks"][0]["routes"]}

    assert f"{section['count']} of {section['limit']} routes" in browser.texts("#routes")[0]
    assert _keys(browser, "routes") == there | planned


def test_map(browser: Browser, eventful: ShownPage) -> None:
    """Every Node and Service, and of each load balancer the targets that it has, with their health, and those that it
    gets."""
    nodes = {f"node/{each['metadata']['name']}" for each in eventful.cluster["nodes"]}
    services = {f"service/default/{each['metadata']['name']}" for each in eventful.cluster["services"]}
    assert _keys(browser, "states") == nodes | services

    (balancer,) = eventful.project["load_balancers"]
    keys = [each["key"] for each in eventful.report["changes"]]
    planned = sum(key.startswith("load_balancer/default/api/target") for key in keys)
    targets = browser.texts('tr[data-key="service/default/api"] td[data-label="targets"] div')
    assert "1 unhealthy: worker-1" in targets
    assert _counted(targets) == {"unhealthy": len(balancer["targets"]), "planned": planned}

    rows = {row[0].split()[-1]: row for row in browser.rows("#states tr[data-key]")}
    of_nodes = [each for each in eventful.project["servers"] if each["name"] != "worker-6"]  # its Node is misnamed
    for server in of_nodes:
        said = f"server {server['id']} {server['server_type']['name']} in {server['location']['name']}"
        assert rows[server["name"]][2].startswith(said)


def test_hostile_texts_stay_texts(browser: Browser, eventful: ShownPage) -> None:
    """Markup from an annotation is neither run nor parsed, and right-to-left text ends where it ends."""
    assert browser.run("return document.title").endswith("hcloud-reconciler")
    assert browser.run("return document.querySelectorAll('main script, main img').length") == 0
    assert (
        browser.run(
            "return [...document.querySelectorAll('main *')].flatMap(e => e.getAttributeNames())"
            ".filter(name => name.startsWith('on') || name === 'style')"
        )
        == []
    )


def _keys(browser: Browser, section: str) -> set[str]:
    return set(
        browser.run(
            "return [...document.querySelectorAll(`#${arguments[0]} tr[data-key]`)].map(each => each.dataset.key)",
            section,
        )
    )


def _counted(targets: list[str]) -> Counter[str]:
    """How many targets are said to be what."""
    found: Counter[str] = Counter()
    for count, word in (target.partition(": ")[0].split(" ")[-2:] for target in targets):
        found[word] += int(count)
    return found


def _shown_fields(rows: list[list[str | None]]) -> Fields:
    return {str(path): (_unless_none(before), _unless_none(after)) for path, before, after in rows}


def _reported_fields(change: dict[str, Any]) -> Fields:
    return {each["path"]: (_as_text(each["before"]), _as_text(each["after"])) for each in change["fields"]}


def _unless_none(side: str | None) -> str | None:
    return None if side == "(none)" else side


def _as_text(side: Any) -> str | None:
    if side is None:
        return None
    if isinstance(side, str) and _MOMENT.fullmatch(side):
        return f"{side[:10]} {side[11:16]} UTC"
    if isinstance(side, bool):
        return str(side).lower()
    return ", ".join(map(str, side)) if isinstance(side, list) else str(side)
