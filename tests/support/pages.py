"""Pages as a browser reads them: a tree of elements, which is whole, and what stands in it."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser

_VOID = frozenset({"br", "input", "link", "meta"})
_RAW = frozenset({"script", "style"})


@dataclass
class Element:
    """One element, with what is in it in order."""

    name: str
    attributes: dict[str, str | None] = field(default_factory=dict)
    children: list["Element | str"] = field(default_factory=list)

    @property
    def every(self) -> Iterator["Element"]:
        """The element, and all that are in it."""
        yield self
        for child in self.children:
            if isinstance(child, Element):
                yield from child.every

    @property
    def text(self) -> str:
        if self.name in _RAW:
            return ""
        return "".join(child if isinstance(child, str) else child.text for child in self.children)

    def with_attribute(self, name: str) -> list["Element"]:
        """The elements in it that have this attribute."""
        return [element for element in self.every if name in element.attributes]

    def by_id(self, name: str) -> "Element":
        (found,) = [element for element in self.every if element.attributes.get("id") == name]
        return found

    def section(self, name: str) -> "Element":
        """The section with this id; one with nothing in it where it is left out."""
        return next((each for each in self.named("section") if each.attributes.get("id") == name), Element("section"))

    def named(self, name: str) -> list["Element"]:
        return [element for element in self.every if element.name == name]

    @property
    def keys(self) -> list[str]:
        """What the elements in it are about, in order."""
        return [element.attributes["data-key"] or "" for element in self.with_attribute("data-key")]


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.root = Element("")
        self._open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(set(names)) == len(names), (tag, attrs)
        element = Element(tag, dict(attrs))
        self._open[-1].children.append(element)
        if tag not in _VOID:
            self._open.append(element)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop().name == tag

    def handle_data(self, data: str) -> None:
        self._open[-1].children.append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")

    def end(self) -> Element:
        """The tree, of which nothing is open."""
        self.close()
        assert len(self._open) == 1, [element.name for element in self._open]
        return self.root


def read_page(text: str) -> Element:
    """The tree of a page. Raises AssertionError where it is not whole, or an id stands for two elements."""
    reader = _Reader()
    reader.feed(text)
    root = reader.end()
    ids = [element.attributes["id"] for element in root.with_attribute("id")]
    assert len(set(ids)) == len(ids), sorted({name or "" for name in ids if ids.count(name) > 1})
    links = [element.attributes["href"] or "" for element in root.with_attribute("href")]
    assert all(link.startswith(("#", "?", "./", "../")) for link in links)
    return root
