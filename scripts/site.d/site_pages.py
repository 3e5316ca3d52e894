"""The repository's Markdown as pages of a site: what each is called, how one finds it, and where its links lead.

The same files are read on a code host. So they have plain links and no directives; what Sphinx needs besides follows
from them: the navigation from the tables of an index (a ``README.md`` below ``docs/``).
"""

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.project import Project

PAGES = ("*.md", "docs/**/*.md")
"""Globs of the repository's files that are pages."""
_OVERVIEW = "overview"
_HEADING = re.compile(r"^## (.+)$")
_ROW = re.compile(r"^\| \[([^\]]+)\]\(([^)#\s]+\.md)\) \|")
"""A row of an index: its page, with the title that it has in the navigation."""


def name_of(file: PurePosixPath) -> str:
    """The page's name, and so its address, which has no ``docs/`` and no capitals. ``file`` is relative to the
    repository."""
    if file == PurePosixPath("README.md"):
        return _OVERVIEW
    inside = file.relative_to("docs") if file.parts[0] == "docs" else file
    stem = "index" if inside.stem == "README" else inside.stem
    return str(inside.with_name(stem.lower()))


def navigation(index: str, file: PurePosixPath) -> str:
    """What is added to the text of an index, which is the Markdown of ``file``: a hidden toctree for each of its
    sections, in their order, with the pages of its tables."""
    trees = []
    for section, entries in _sections(index, file):
        caption = [f":caption: {section}"] if section else []
        if entries:
            trees += ["", "```{toctree}", ":hidden:", *caption, "", *entries, "```", ""]
    return "\n".join(trees)


def _sections(index: str, file: PurePosixPath) -> Iterator[tuple[str, list[str]]]:
    section, entries = "", list[str]()
    for line in index.splitlines():
        if heading := _HEADING.match(line):
            yield section, entries
            section, entries = heading[1], []
        elif row := _ROW.match(line):
            target = PurePosixPath(os.path.normpath(file.parent / row[2]))
            entries.append(f"{row[1]} </{name_of(target)}>")
    yield section, entries


class Pages(Project):
    """The pages of the repository, by the names that they have on the site."""

    def discover(self, *_: Iterable[str], **__: Iterable[str]) -> set[str]:
        """Find all pages; which files are some is no matter of what is excluded or included."""
        found = {path.relative_to(self.srcdir) for pattern in PAGES for path in Path(self.srcdir).glob(pattern)}
        self._docname_to_path = {name_of(PurePosixPath(path)): path for path in sorted(found)}
        self._path_to_docname = {path: name for name, path in self._docname_to_path.items()}
        self.docnames = set(self._docname_to_path)
        return self.docnames

    def path2doc(self, filename: str | os.PathLike[str]) -> str | None:
        """The page of a file, which may be absolute; None where it is none."""
        path = Path(filename)
        inside = path.relative_to(self.srcdir) if path.is_relative_to(self.srcdir) else path
        return self._path_to_docname.get(inside)


def address_in_source(source: str, version: str, target: PurePosixPath, *, folder: bool) -> str:
    """Where a code host shows a file or folder of the released version."""
    return f"{source.rstrip('/')}/{'tree' if folder else 'blob'}/v{version}/{target}"


def _use_pages(app: Sphinx) -> None:
    app.project = app.env.project = Pages(app.srcdir, app.config.source_suffix)


def _add_navigation(app: Sphinx, name: str, content: list[str]) -> None:
    if PurePosixPath(name).name == "index":
        content[0] += navigation(content[0], PurePosixPath(app.project.doc2path(name, absolute=False)))


def _lead_to_the_repository(app: Sphinx, document: nodes.document) -> None:
    """Links to files and folders that are no pages lead to where the repository is shown. As long as that has no
    address, files are copied into the site, and the link to a folder is its text alone."""
    source: str | None = app.config.site_source
    links = [node for kind in (addnodes.download_reference, addnodes.pending_xref) for node in document.findall(kind)]
    for link in links:
        if link.get("refdomain") == "doc":
            continue  # a page
        inside, found = app.env.relfn2path(link["reftarget"], app.env.docname)
        target, is_folder = PurePosixPath(inside), Path(found).is_dir()
        if not is_folder and not Path(found).is_file():
            continue  # a broken link, which Sphinx tells
        if source is not None:
            there = address_in_source(source, app.config.release, target, folder=is_folder)
            link.replace_self(nodes.reference("", "", *link.children, refuri=there, internal=False))
        elif is_folder:
            link.replace_self(link.children)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.add_config_value("site_source", None, "env", (str, type(None)))
    app.connect("builder-inited", _use_pages)
    app.connect("source-read", _add_navigation)
    app.connect("doctree-read", _lead_to_the_repository)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
