"""The documentation site: what pages are called, how they are found, where their links lead, and that it stands alone.

It is built once, and a warning is an error.
"""

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

import pytest
from site_pages import address_in_source, name_of, navigation

from reconciler import __version__

ROOT = Path(__file__).resolve().parents[2]
_ADDRESS = "https://code.example/us/it"
_MARKDOWN = [file.relative_to(ROOT) for pattern in ("*.md", "docs/**/*.md") for file in ROOT.glob(pattern)]


def test_names_of_pages() -> None:
    """No two pages have one, or one would be missing on the site."""
    expected = {
        "docs/README.md": "index",
        "README.md": "overview",
        "CONTRIBUTING.md": "contributing",
        "docs/nodes.md": "nodes",
        "docs/design/decisions/README.md": "design/decisions/index",
    }
    names = {str(file): name_of(PurePosixPath(file)) for file in _MARKDOWN}

    assert names | expected == names
    assert len(set(names.values())) == len(names)


def test_the_navigation_is_what_the_tables_of_an_index_say() -> None:
    """Pages by their sections, in their order, with the titles that they have there. Links within sentences, in other
    columns, and to a part of a page are none of it."""
    index = (
        "# Home\n\n| You want to | Read |\n|---|---|\n| go | [Go](go.md) |\n\n"
        "## Guides\n\n| Page | Contents |\n|---|---|\n"
        "| [Overview](../README.md) | what, see [Nodes](nodes.md) |\n| [Nodes](nodes.md) | life |\n"
        "| [A part](nodes.md#labels) | no page |\n\nSee [more](more.md).\n\n## Words\n\nNone.\n"
    )

    assert navigation(index, PurePosixPath("docs/README.md")) == (
        "\n```{toctree}\n:hidden:\n:caption: Guides\n\nOverview </overview>\nNodes </nodes>\n```\n"
    )


def test_addresses_in_the_repository() -> None:
    assert address_in_source(f"{_ADDRESS}/", "0.1.0", PurePosixPath("deploy/rbac"), folder=True) == (
        f"{_ADDRESS}/tree/v0.1.0/deploy/rbac"
    )
    assert address_in_source(_ADDRESS, "0.1.0", PurePosixPath("a.yaml"), folder=False) == (
        f"{_ADDRESS}/blob/v0.1.0/a.yaml"
    )


@dataclass
class Shown(HTMLParser):
    """What a page of the site has: where it can be led to, where it leads, and what it loads."""

    ids: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    loaded: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Called by the parser."""
        said = {name: value or "" for name, value in attrs}
        self.ids |= {said["id"]} if "id" in said else set()
        if tag == "a":
            self.links += [said["href"]] if "href" in said else []
        else:
            self.loaded += [said[name] for name in ("src", "href", "data", "srcset") if name in said]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the whole site, built as scripts/site does it once the repository has an address."""
    folder = tmp_path_factory.mktemp("site")
    options = ["--quiet", "--fail-on-warning", "--conf-dir", "scripts/site.d", "--doctree-dir", str(folder / "read")]
    options += ["--define", f"site_source={_ADDRESS}"]
    command = [sys.executable, "-m", "sphinx", *options, ".", str(folder / "site")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder / "site"


@pytest.fixture(scope="module")
def site(built: Path) -> Mapping[str, Shown]:
    """Its pages, by their addresses."""
    pages = {str(file.relative_to(built)): Shown() for file in built.rglob("*.html")}
    for name, page in pages.items():
        page.feed((built / name).read_text("utf-8"))
    return pages


def test_links_lead_somewhere(built: Path, site: Mapping[str, Shown]) -> None:
    """Each within the site to a file of it, and to a place in that which is there."""
    broken = [
        (name, link)
        for name, page in site.items()
        for link in page.links
        if not urlsplit(link).scheme and not _leads_somewhere(built, site, name, link)
    ]
    assert broken == []


def test_links_to_files_lead_to_the_repository(site: Mapping[str, Shown]) -> None:
    """Of the version whose pages these are, and each to a file that it has. None is copied."""
    links = {link for page in site.values() for link in page.links}
    there = f"{_ADDRESS}/blob/v{__version__}/"
    files = {link.removeprefix(there) for link in links if link.startswith(there)}

    assert "deploy/helm/hcloud-reconciler/values.yaml" in files
    assert [file for file in files if not (ROOT / file).is_file()] == []
    assert [link for link in links if "_downloads" in link] == []


def test_nothing_is_loaded_from_elsewhere(built: Path, site: Mapping[str, Shown]) -> None:
    """No fonts, no scripts, no pictures, be it by a page or by a style: it is whole without a network."""
    styles = [file.read_text("utf-8") for file in built.rglob("*.css")]

    assert [each for page in site.values() for each in page.loaded if urlsplit(each).scheme not in ("", "data")] == []
    assert [each for page in site.values() for each in page.loaded if urlsplit(each).netloc] == []
    assert [found for style in styles for found in re.findall(r"@import|url\(['\"]?(?:https?:)?//", style)] == []


def test_the_address_of_each_alerts_section_is_there(site: Mapping[str, Shown]) -> None:
    """The chart makes it of the runbook's."""
    alerts = (ROOT / "deploy" / "helm" / "hcloud-reconciler" / "alerts.yaml").read_text("utf-8")
    wanted = set(re.findall(r"docs/runbook\.md#(\S+)", alerts))

    assert wanted
    assert wanted - site["runbook.html"].ids == set()


def test_favorite_pages_are_one_link_away(site: Mapping[str, Shown]) -> None:
    guides = {f"{name}.html" for name in ("migrate-from-hccm", "runbook", "troubleshooting", "publish-a-service")}
    others = {"development.html#add-an-annotation", "tutorials/first-steps.html"}
    assert guides | others <= set(site["index.html"].links)


def _leads_somewhere(built: Path, site: Mapping[str, Shown], name: str, link: str) -> bool:
    path, _, place = link.partition("#")
    target = Path(os.path.normpath(Path(name).parent / unquote(path))) if path else Path(name)
    if not (built / target).is_file():
        return False
    return not place or str(target) not in site or unquote(place) in site[str(target)].ids
