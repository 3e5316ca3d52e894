"""A real Chromium without a window, and what can be asked of a page that it shows."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.support.wait import WebDriverWait

Scheme = Literal["light", "dark"]
SCHEMES: tuple[Scheme, ...] = ("light", "dark")
WIDTHS = (320, 800, 1280)
"""CSS pixels: the narrowest that WCAG asks for, half a screen, a laptop's."""

_DEADLINE_S = 20.0
_HEIGHT = 800
_FLAGS = (
    "--headless=new",
    "--no-sandbox",  # as root, as in containers, there is no browser with one
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--force-color-profile=srgb",
    "--hide-scrollbars",  # their width differs, and narrows the page
)


@dataclass(frozen=True, slots=True)
class Finding:
    """What axe-core holds against a page: its rule, what it means, and the places."""

    rule: str
    meaning: str
    places: tuple[str, ...]


class Browser:
    """One Chromium with one window. ``reset`` makes it as good as new for the next test."""

    def __init__(self, assets: Path) -> None:
        options = webdriver.ChromeOptions()
        options.binary_location = str(assets / "chromium")
        for flag in _FLAGS:
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        # Where no driver is named, selenium looks for one in the network.
        self.driver = webdriver.Chrome(options=options, service=Service(str(assets / "chromedriver")))
        self.driver.set_page_load_timeout(_DEADLINE_S)
        self.driver.set_script_timeout(_DEADLINE_S)
        self._axe = (assets / "axe.min.js").read_text(encoding="utf-8")

    def close(self) -> None:
        self.driver.quit()

    def reset(self) -> None:
        """Show nothing, with scripts, in light colors, 1280 pixels wide, and forget what was logged."""
        self.driver.get("about:blank")
        self.with_scripts(True)
        self.in_scheme("light")
        self.at_width(1280)
        self.console()
        self.requests()

    def open(self, address: str) -> None:
        """Load a page anew, also when only the fragment differs."""
        if self.driver.current_url.partition("#")[0] == address.partition("#")[0]:
            self.driver.get("about:blank")
        self.driver.get(address)

    def with_scripts(self, are_run: bool) -> None:
        self._send("Emulation.setScriptExecutionDisabled", value=not are_run)

    def in_scheme(self, scheme: Scheme) -> None:
        """The colors that the person prefers."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self._send("Emulation.setEmulatedMedia", features=features)

    def at_width(self, width: int, height: int = _HEIGHT, scale: float = 1) -> None:
        """The size of the window in CSS pixels, and how many pixels a picture has for one of these."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": scale, "mobile": False}
        self._send("Emulation.setDeviceMetricsOverride", **metrics)

    def console(self) -> list[str]:
        """What the console says since it was asked last: errors, warnings, violations of the policy, all."""
        return [f"{entry['level']}: {entry['message']}" for entry in self.driver.get_log("browser")]

    def requests(self) -> list[str]:
        """The address of each request since this was asked last; a request that was blocked is one as well."""
        logged = (json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance"))
        sent = (each["params"]["request"]["url"] for each in logged if each["method"] == "Network.requestWillBeSent")
        return [address for address in sent if address != "about:blank"]

    def run(self, script: str, *arguments: Any) -> Any:
        """What a script returns that is run in the page, whose policy does not bind it."""
        return self.driver.execute_script(script, *arguments)

    def press(self, *keys: str) -> None:
        """Press keys one after the other, wherever the focus is."""
        chain = ActionChains(self.driver)
        for key in keys:
            chain.send_keys(key)
        chain.perform()

    def wait_for(self, condition: Callable[[], Any], what: str, within_s: float = _DEADLINE_S) -> Any:
        """The first answer that is true. Raises TimeoutException that says ``what`` did not come."""
        return WebDriverWait(self.driver, within_s, poll_frequency=0.05).until(lambda _: condition(), what)

    def texts(self, selector: str) -> list[str]:
        """The text of each element, shown or folded, its whitespace as one space."""
        return list(self.run(_TEXTS, selector))

    def rows(self, selector: str) -> list[list[str]]:
        return list(self.run(_ROWS, selector))

    def focused(self) -> str:
        """A name for the element that has the focus: its id, address or text, behind its tag."""
        return str(self.run(_FOCUSED))

    def unfold(self) -> None:
        self.run("document.querySelectorAll('details').forEach(each => each.open = true)")

    def accessibility(self) -> list[Finding]:
        self.run(self._axe)
        found = self.driver.execute_async_script(_RUN_AXE)
        if "error" in found:
            raise AssertionError(found["error"])
        return [Finding(each["id"], each["help"], tuple(each["nodes"])) for each in found["violations"]]

    def beyond_the_right(self) -> list[str]:
        """What makes the page wider than its window, outermost first; none: nobody has to scroll sideways."""
        return list(self.run(_BEYOND))

    def picture(self, file: Path, selector: str | None = None) -> None:
        """Write the whole page, or the first element with the selector, as PNG."""
        if selector is not None:
            self.driver.find_element("css selector", selector).screenshot(str(file))
            return
        self.driver.save_screenshot(str(file))

    def _send(self, command: str, **parameters: Any) -> None:
        self.driver.execute_cdp_cmd(command, parameters)


def origin(address: str) -> str:
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc}"


_TEXTS = """
return [...document.querySelectorAll(arguments[0])].map(each => each.textContent.replace(/\\s+/g, ' ').trim());
"""

_ROWS = """
return [...document.querySelectorAll(arguments[0])].map(
  row => [...row.children].map(cell => cell.textContent.replace(/\\s+/g, ' ').trim()));
"""

_FOCUSED = """
const has = document.activeElement, tag = has.tagName.toLowerCase();
return tag + ' ' + (has.id || has.getAttribute('href') || has.textContent.replace(/\\s+/g, ' ').trim().slice(0, 80));
"""

_RUN_AXE = """
const done = arguments[arguments.length - 1];
axe.run(document, {resultTypes: ['violations']}).then(
  all => done({violations: all.violations.map(
    each => ({id: each.id, help: each.help, nodes: each.nodes.map(node => node.target.join(' ') + ' ' + node.html)}))}),
  error => done({error: String(error)}));
"""

_BEYOND = """
const wide = document.documentElement.clientWidth, out = [];
if (document.scrollingElement.scrollWidth <= wide) return out;
for (const element of document.body.querySelectorAll('*')) {
  if (element.getBoundingClientRect().right <= wide + 0.5) continue;
  // What is positioned leaves a box that scrolls, unless that is positioned as well.
  const parent = ['absolute', 'fixed'].includes(getComputedStyle(element).position) ? 'offsetParent' : 'parentElement';
  let holder = element[parent];
  while (holder && getComputedStyle(holder).overflowX === 'visible') holder = holder.parentElement;
  if (!holder) out.push(element.tagName.toLowerCase() + (element.id && '#' + element.id));
}
return out.length ? [...new Set(out)] : ['something'];
"""
