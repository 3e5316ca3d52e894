"""Documents and source files cite what is in the repository: links, anchors, files, and no rule of a book elsewhere."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("sandbox/*.md"), *ROOT.glob("docs/**/*.md")])
SOURCES = [
    ROOT / "hatch_build.py",
    *sorted(
        path
        for top in ("desired", "actuators", "reconciler", "launch", "sandbox", "tests", "scripts", "deploy")
        for path in (ROOT / top).rglob("*")
        if path.suffix in {".py", ".sh", ".yaml", ".tpl", ".toml"}
    ),
]
PACKAGES = sorted(
    path.parent for top in ("desired", "actuators", "reconciler") for path in (ROOT / top).rglob("__init__.py")
)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_TO_A_PAGE = re.compile(r"\[([^\]]+)\]\((docs/[^)#]+)[^)]*\)")
_NAMED = re.compile(r"`((?:desired|actuators|reconciler|launch|sandbox|tests|scripts|deploy|docs)/[\w./-]+)`")
_BARE = re.compile(r"`([\w-]+\.py)`")
_BASENAMES = {path.name for path in SOURCES}
_ELSEWHERE = re.compile(
    r"\bdesign (?:section )?\d|\b(?:nodes-and-routes|python-stack|hetzner-api|user-wants|style-anchors|real-cluster)\b"
    r"|\bdesign\.md\b|\((?!KEP-)[A-Z]{1,4}-\d+(?:[,;] [A-Z]{1,4}-\d+)*\)"
)


def _anchors(page: Path) -> Iterator[str]:
    """The anchors that a code host gives the headings of a page."""
    for title in re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE):
        yield re.sub(r"[^\w\- ]", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title).lower()).replace(" ", "-")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_and_files_are_there(page: Path) -> None:
    """Each relative link leads to a file, and to a heading of it where one is named; each file that is named exists."""
    text, missing = page.read_text(), []
    for target in _LINK.findall(text):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        found = (page.parent / name).resolve() if name else page
        if not found.exists() or (anchor and found.suffix == ".md" and anchor not in _anchors(found)):
            missing.append(target)
    missing += [name for name in _NAMED.findall(text) if not (ROOT / name).exists()]
    missing += [name for name in _BARE.findall(text) if name not in _BASENAMES]
    assert missing == []


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_packages_say_in_which_order_to_read_what_is_there(package: Path) -> None:
    """Each module that the docstring of a package names exists, in it or under the name that it has elsewhere."""
    words = ast.get_docstring(ast.parse((package / "__init__.py").read_text())) or ""
    orders = re.findall(r"\b(?:Read|Begin with) .*?\.(?:\s|$)", words, re.DOTALL)
    named = set(re.findall(r"``([a-z_]+(?:\.[a-z_]+)*)``", " ".join(orders)))
    known = {path.stem for path in package.iterdir()} | {"GUARDS"}
    defined = (package / "__init__.py").read_text()
    missing = {
        name
        for name in named
        if name.rpartition(".")[2] not in known
        and f"def {name}(" not in defined
        and not (ROOT / f"{name.replace('.', '/')}.py").exists()
    }
    assert missing == set()


@pytest.mark.parametrize("picture", sorted((ROOT / "docs" / "images").glob("*.svg")), ids=lambda path: path.stem)
def test_diagrams_stand_by_themselves(picture: Path) -> None:
    """Each is shown by a page, has words for who does not see it, both color schemes, and fetches and runs nothing."""
    text = picture.read_text()
    elements = [element.tag.rpartition("}")[2] for element in ET.fromstring(text).iter()]

    assert any(f"images/{picture.name}" in page.read_text() for page in PAGES)
    assert elements[:3] == ["svg", "title", "desc"]
    assert "prefers-color-scheme:dark" in text
    assert {"script", "image", "use", "foreignObject", "a"} & set(elements) == set()
    assert re.findall(r"@import|url\((?!#)|href|src=|https?:(?!//www\.w3\.org/2000/svg)", text) == []


def test_nothing_is_cited_from_elsewhere() -> None:
    """A rule's reason is a sentence, and what it comes from is named as its owner calls it."""
    here = Path(__file__)
    cited = {
        str(path.relative_to(ROOT)): found
        for path in (*PAGES, *SOURCES)
        if path != here and (found := _ELSEWHERE.findall(path.read_text()))
    }
    assert cited == {}


def _incidents(page: str) -> str:
    """The section of the page, without a picture."""
    section = (ROOT / page).read_text().partition("\n## Three incidents\n")[2].partition("\n## ")[0]
    return section.partition("\n![")[0].strip()


def _figures(text: str) -> set[str]:
    return set(re.findall(r"\d[\d,.]*\d|\d", text))


def test_the_home_page_tells_the_incidents_of_the_readme() -> None:
    """Word by word, with the links of its place."""
    assert _incidents("docs/README.md") == _incidents("README.md").replace("](docs/", "](") != ""


def test_figures_of_incidents_are_those_of_their_sources() -> None:
    """Each that is the text of a link stands on the page to which the link leads."""
    links = _TO_A_PAGE.findall(_incidents("README.md"))

    assert {"43,337", "541"} <= {figure for text, _ in links for figure in _figures(text)}
    assert [(text, page) for text, page in links if _figures(text) - _figures((ROOT / page).read_text())] == []


def test_where_a_release_is_stands_in_one_place() -> None:
    """Which tells as well what works without one."""
    assert [page.name for page in PAGES for _ in range(page.read_text().count("OWNER/NAME"))] == ["operations.md"]
