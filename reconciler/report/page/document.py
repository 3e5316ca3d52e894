"""The whole document: head, policy, style and script around the sections.

In a file the policy stands in the document, and nothing is fetched. A server sends it as a header, and the page asks
again for what is new.
"""

import base64
import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from desired.model.key import Key
from reconciler.config.program import PROGRAM
from reconciler.report.page.markup import Child, Html, foreign, join, tag, verbatim
from reconciler.report.page.model import Page
from reconciler.report.page.sections import Section, anchor, facts, sections_of, status, status_tone
from reconciler.report.text_report import TextLine, Tone

_REFRESH_S = 30


@dataclass(frozen=True, slots=True)
class Live:
    """What a page needs that a server answers: where it asks for what is new, and how it knows that."""

    poll: str
    """Path of the same page, of which the script takes the parts that change."""
    tag: str = ""
    """ETag of what is sent."""


def policy(*, is_live: bool) -> str:
    """The Content-Security-Policy: nothing but the one style and the one script. What only a header may say is left out
    of a file."""
    hashes = {"style-src": _hash(_asset("style.css")), "script-src": _hash(_asset("script.js"))}
    told = ["default-src 'none'", *(f"{name} '{value}'" for name, value in hashes.items())]
    told += ["connect-src 'self'"] if is_live else []
    told += ["base-uri 'none'", "form-action 'none'"]
    return "; ".join([*told, *(["frame-ancestors 'none'"] if is_live else [])])


def page_document(page: Page, live: Live | None = None) -> str:
    """The page as a file; as a server sends it where ``live`` is given."""
    sections = sections_of(page, _linked if live else _typed)
    body = join(*(_section(section) for section in sections))
    return _document(page, _title(page), sections, body, live)


def explanation_document(page: Page, key: Key, lines: tuple[TextLine, ...], live: Live) -> str:
    """The explanation of one object, whose ``lines`` are those of the command."""
    back = tag("p", tag("a", "the whole page", href=f"/#{anchor(key)}"))
    command = tag("p", "As ", tag("code", _command_of(key)), " shows it:")
    title = tag("h2", "Explanation of ", foreign(key), id="explanation")
    said = tag("pre", *(_line(line) for line in lines), data_key=key)
    return _document(page, f"{key}: {_title(page)}", (), join(back, title, command, said), live)


def _line(line: TextLine) -> Html:
    classes = {Tone.HEADING: None, Tone.DETAIL: "dim", Tone.GOOD: "good", Tone.WARNING: "warning", Tone.BAD: "bad"}
    text = line.text or " "
    if line.tone is Tone.HEADING:
        return join(tag("strong", tag("bdi", text)), "\n")
    return tag("span", tag("bdi", text), "\n", class_=classes.get(line.tone, line.tone.value), data_row="")


def _command_of(key: Key) -> str:
    return f"{PROGRAM} explain {key}"


def _linked(key: Key) -> Html:
    return tag("a", "explain", tag("span", f" {key}", class_="only-read"), href=f"/{anchor(key)}")


def _typed(key: Key) -> Html:
    return tag("code", _command_of(key))


def _title(page: Page) -> str:
    head = page.head
    counts = ", ".join(f"{count} {word}" for word, count in head.counts)
    said = "no plan" if head.result is None else counts or str(head.result)
    return f"{said} - {head.cluster[:8] or 'cluster unknown'} - hcloud-reconciler"


def _section(section: Section) -> Html:
    title = f"{section.name}-title"
    return tag("section", tag("h2", section.title, id=title), section.body, id=section.name, aria_labelledby=title)


def _document(page: Page, title: str, sections: tuple[Section, ...], body: Html, live: Live | None) -> str:
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
    html = tag(
        "html",
        tag("head", *_head(title, live)),
        tag(
            "body",
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
            verbatim("script", _asset("script.js")),
            data_poll=live.poll if live else None,
            data_tag=live.tag if live else None,
        ),
        lang="en",
    )
    return f"<!doctype html>\n{html}\n"


def _head(title: str, live: Live | None) -> list[Child]:
    refresh = tag("noscript", tag("meta", http_equiv="refresh", content=_REFRESH_S)) if live else None
    own = None if live else tag("meta", http_equiv="Content-Security-Policy", content=policy(is_live=False))
    return [
        tag("meta", charset="utf-8"),
        own,
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("meta", name="color-scheme", content="light dark"),
        refresh,
        tag("title", title),
        verbatim("style", _asset("style.css")),
    ]


@cache
def _asset(name: str) -> str:
    return (files(__package__) / name).read_text("utf-8")


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"
