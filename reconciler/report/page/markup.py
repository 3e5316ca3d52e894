"""HTML that is escaped by construction: text becomes a node only through ``tag``, and ``tag`` escapes all of it."""

import re
from collections.abc import Callable, Iterable
from functools import cache
from html import escape, unescape

from reconciler.report.escaping import visible


class Html(str):
    """Text that is HTML already. Only this module makes any."""

    __slots__ = ()


Child = str | int | float | None | Iterable["Child"]
"""What may stand in an element: Html as it is, other text escaped, None nowhere, and any number of these."""
Attribute = str | int | float | bool | None
"""The value of an attribute; True stands for its name alone, False and None for no attribute."""

_VOID = frozenset({"br", "input", "link", "meta"})
_RAW = frozenset({"script", "style"})
_SAFE_LINKS = ("#", "./", "../")
"""Relative ones alone: behind a proxy the page may stand below a path that it does not know."""
_TEXT = re.compile(r"(?<=>)[^<>]+(?=<)")
"""A text between two tags: those have no other angle brackets."""


def tag(name: str, /, *children: Child, **attributes: Attribute) -> Html:
    """One element. An underscore at the end of an attribute's name is dropped, any other one is a dash.

    Raises ValueError for what would let foreign text act: handlers, ``style``, and links that leave the page.
    """
    opened = f"<{name}{''.join(_attribute(key, value) for key, value in attributes.items())}>"
    if name in _VOID:
        return Html(opened)
    if name in _RAW:
        raise ValueError(f"<{name}> is made by verbatim alone")
    return Html(f"{opened}{''.join(_texts(children))}</{name}>")


def verbatim(name: str, text: str, /, **attributes: Attribute) -> Html:
    """A script or a style of our own, whose text is no markup. Raises ValueError for one that would end too soon."""
    if name not in _RAW or "</" in text or "<!--" in text:
        raise ValueError(f"<{name}> takes no such text")
    return Html(f"<{name}{''.join(_attribute(key, value) for key, value in attributes.items())}>{text}</{name}>")


def join(*children: Child) -> Html:
    """Several elements, one after the other."""
    return Html("".join(_texts(children)))


def foreign(text: object) -> Html:
    """A text of other clients, whose direction ends where it ends."""
    return tag("bdi", str(text))


def with_texts(html: Html, change: Callable[[str], str]) -> Html:
    """The same elements, each text in them changed. Not for scripts and styles, whose text is no text."""
    whole = unescape(html)
    if change(whole) == whole:  # it mostly is, and each text alone takes ten times as long
        return html
    return Html(_TEXT.sub(lambda found: escape(change(unescape(found[0]))), html))


def _texts(children: Iterable[Child]) -> Iterable[str]:
    for child in children:
        if isinstance(child, Html):
            yield child
        elif isinstance(child, str):
            yield escape(visible(child))
        elif isinstance(child, int | float):
            yield str(child)
        elif child is not None:
            yield from _texts(child)


@cache  # of names that stand in our own code
def _attribute_name(key: str) -> str:
    name = key.rstrip("_").replace("_", "-")
    if name == "style" or name.startswith("on"):
        raise ValueError(f"no element has the attribute {name}")
    return name


def _attribute(key: str, value: Attribute) -> str:
    if value is None or value is False:
        return ""
    name = _attribute_name(key)
    if value is True:
        return f" {name}"
    text = visible(str(value))
    if name in ("href", "src") and not text.startswith(_SAFE_LINKS):
        raise ValueError(f"a link leads nowhere else: {text[:40]}")
    return f' {name}="{escape(text)}"'
