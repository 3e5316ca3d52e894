"""Elements that several sections have: keys, times, commands, tables, and the symbols of a plan."""

from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import UTC, datetime
from urllib.parse import quote

from desired.model.key import Key
from reconciler.report.folding import names
from reconciler.report.page.markup import Html, join, tag
from reconciler.report.text_report import TONES

OPEN = 12
"""Up to so many changes all of them are shown with their fields at once."""
_LONG = 34
"""Characters of a key that a table shows; the whole of a longer one is told by its tooltip, and can be copied."""
TALL = 40
"""Up to so many rows of a table stand on the page; a longer one scrolls in a box of its own."""
_MOMENT = "%Y-%m-%d %H:%M:%S UTC"
_WORDS = {"+": "add", "~": "modify", "-": "remove", "!": "withheld", "?": "waits", "": "nothing planned"}
Explain = Callable[[Key], Html] | None
"""Key of a Node or Service → what leads to its explanation; None where nothing does."""


def anchor(key: str, prefix: str = "") -> str:
    """The id of an element that is about this key, and what stands behind ``#`` in a link to it."""
    return quote(f"{prefix}{key}", safe="/:.-_~", errors="backslashreplace")


def moment_of(moment: datetime) -> Html:
    """A time in UTC, to the second."""
    shown = moment.astimezone(UTC)
    return tag("time", f"{shown:{_MOMENT}}", datetime=f"{shown:%Y-%m-%dT%H:%M:%SZ}")


def command_line(command: str, before: str = "") -> Html:
    """A command that can be copied, with what stands ``before`` it."""
    copy = tag("button", "copy", type="button", class_="copy", data_scripted="", hidden=True)
    return tag("p", tag("span", before) if before else None, tag("code", command, dir="ltr"), copy, class_="command")


def scrolling_table(
    label: str,
    columns: Sequence[str],
    rows: Iterable[Html],
    *,
    name: str,
    tall: bool = False,
    numbers: Collection[str] = (),
) -> Html:
    """A table in a box of its own, which scrolls where it is wider than the page."""
    heads = [tag("th", column, scope="col", class_="number" if column in numbers else None) for column in columns]
    table = tag(
        "table", tag("caption", label, class_="only-read"), tag("thead", tag("tr", *heads)), tag("tbody", *rows)
    )
    return scroll_box(table, label, name, tall=tall)


def scroll_box(content: Html, label: str, name: str, *, tall: bool = False) -> Html:
    """What scrolls in a box of its own where it is wider than the page, or where it is ``tall``."""
    kind = "scroll tall" if tall else "scroll"
    return tag("div", content, class_=kind, id=name, tabindex=0, role="group", aria_label=label)


def sign_of(symbol: str) -> Html:
    """The symbol of a plan, and its word for those who do not see it."""
    tone = f" {TONES[symbol].value}" if symbol else ""
    shown = tag("span", symbol, class_=f"sign{tone}", aria_hidden="true")
    return join(shown, tag("span", f"{_WORDS[symbol]} ", class_="only-read"))


def shown_key(key: str) -> Html:
    """A key, or part of one, in whichever direction it is written."""
    return tag("bdi", key, class_="key", title=key if len(key) > _LONG else None)


def link_to(key: Key) -> Html:
    """A link to the object's place on the map."""
    return tag("a", shown_key(key.whole), href=f"#{anchor(key.whole)}")


def shown_keys(keys: Sequence[str], name: str) -> Html:
    """Keys, of which many fold."""
    each = [join(", " if place else None, tag("bdi", key, class_="key")) for place, key in enumerate(keys)]
    if len(keys) <= OPEN:
        return join(*each)
    return tag(
        "details", tag("summary", f"{len(keys)}: ", tag("bdi", names(keys), class_="key")), tag("p", *each), id=name
    )
