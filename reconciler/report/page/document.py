"""The whole document: head, policy, style and script around the sections.

In a file the policy stands in the document, and nothing is fetched. A server sends it as a header, and the page asks
again for what is new.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from desired.model.key import Key
from reconciler.config.program import PROGRAM
from reconciler.report.page.elements import anchor
from reconciler.report.page.markup import Html, foreign, join, tag, verbatim
from reconciler.report.page.model import Page
from reconciler.report.page.policy import asset, policy
from reconciler.report.page.sections import PageSection, facts, sections_of, status, status_tone
from reconciler.report.text_report import TextLine, Tone

_REFRESH_S = 30


@dataclass(frozen=True, slots=True)
class Document:
    """A document whose parts are made: one that a server sends whole once, and then only what has changed of it."""

    title: str
    body: Html
    """All that a script replaces, and what stands between."""
    root: str = "./"
    """Where the page is, as seen from this document."""

    def file(self) -> str:
        """The whole document, which loads nothing."""
        own = tag("meta", http_equiv="Content-Security-Policy", content=policy(is_live=False))
        return self._whole([own], tag("body", self.body, verbatim("script", asset("script.js"))))

    def served(self, path: str, etag: str) -> str:
        """The whole document as a server sends it at ``path``, which begins with no slash. The script asks below
        ``main`` for another one than ``etag``; without scripts it is loaded again and again."""
        refresh = tag("noscript", tag("meta", http_equiv="refresh", content=_REFRESH_S))
        script = verbatim("script", asset("script.js"))
        return self._whole(
            [refresh], tag("body", self.body, script, data_poll=f"{self.root}main/{path}", data_tag=etag)
        )

    def fragment(self) -> str:
        """What the script takes its parts from."""
        return f"<!doctype html>\n{join(tag('title', self.title), self.body)}\n"

    def _whole(self, own: list[Html], body: Html) -> str:
        head = tag(
            "head",
            tag("meta", charset="utf-8"),
            *own,
            tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
            tag("meta", name="referrer", content="no-referrer"),
            tag("meta", name="color-scheme", content="light dark"),
            tag("title", self.title),
            verbatim("style", asset("style.css")),
        )
        return f"<!doctype html>\n{tag('html', head, body, lang='en')}\n"


def document_of(page: Page, *, is_live: bool = False) -> Document:
    """The page. Where it ``is_live``, an explanation is a link away; else the command is named that tells it."""
    sections = sections_of(page, _linked if is_live else None)
    return _document(page, _title(page), sections, join(*(_section(section) for section in sections)))


def explanation_of(page: Page, key: Key, lines: Sequence[TextLine]) -> Document:
    """The explanation of one object on a live page, whose ``lines`` are those of the command; there are none where
    nothing is known of it."""
    root = "../" * key.count("/")
    back = tag("p", tag("a", "the whole page", href=f"{root}#{anchor(key)}"))
    command = tag("p", "As ", tag("code", _command_of(key)), " shows it:")
    title = tag("h2", "Explanation of ", foreign(key), id="explanation")
    said = tag("div", *(map(_line, lines) if lines else ["Nothing is known of it now."]), class_="explained")
    return replace(_document(page, f"{key}: {_title(page)}", (), join(back, title, command, said)), root=root)


def _line(line: TextLine) -> Html | None:
    if not line.text:
        return None
    if line.tone is Tone.HEADING:
        return tag("h3", foreign(line.text))
    tones = {Tone.PLAIN: "", Tone.DETAIL: "dim"}
    return tag("div", foreign(line.text), class_=f"line {tones.get(line.tone, line.tone.value)}".rstrip(), data_row="")


def _command_of(key: Key) -> str:
    return f"{PROGRAM} explain {key}"


def _linked(key: Key) -> Html:
    return tag("a", "explain", tag("span", f" {key}", class_="only-read"), href=f"./{anchor(key)}")


def _title(page: Page) -> str:
    head = page.head
    counts = ", ".join(f"{count} {word}" for word, count in head.counts)
    said = "no plan" if head.result is None else counts or str(head.result)
    return f"{said} - {head.cluster[:8] or 'cluster unknown'} - hcloud-reconciler"


def _section(section: PageSection) -> Html:
    title = f"{section.name}-heading"
    return tag("section", tag("h2", section.title, id=title), section.body, id=section.name, aria_labelledby=title)


def _document(page: Page, title: str, sections: tuple[PageSection, ...], body: Html) -> Document:
    links = [
        tag("li", tag("a", section.title, href=f"#{section.name}"), f" {section.count}" if section.count else None)
        for section in sections
    ]
    sift = tag(
        "label",
        tag("span", "filter"),
        tag("input", type="search", id="filter", autocomplete="off", spellcheck="false"),
        data_scripted="",
        hidden=True,
    )
    head = page.head
    whole = join(
        tag("a", "Skip to the content", href="#main", class_="skip"),
        tag(
            "header",
            tag("h1", f"hcloud-reconciler {head.version}"),
            tag("div", facts(head), id="facts"),
            tag("div", status(head), id="status", class_=f"status {status_tone(head)}", aria_live="polite"),
            tag("p", id="trouble", class_="bad", role="alert", hidden=True),
        ),
        tag("nav", tag("ul", *links, id="sections"), sift, aria_label="Sections"),
        tag("main", body, id="main", tabindex=-1),
        tag("footer", tag("p", "This page only shows: nothing on it changes anything.")),
    )
    return Document(title, whole)
