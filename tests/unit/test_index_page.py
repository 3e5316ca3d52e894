"""The README as a package index shows it: each link leads somewhere from there."""

import re
from pathlib import Path

import pytest

from hatch_build import for_an_index

_README = (Path(__file__).resolve().parents[2] / "README.md").read_text("utf-8")
_LINKS = re.compile(r"\]\(([^)\s]+)\)")
_ADDRESS = "https://code.example/us/it"
_THERE = f"{_ADDRESS}/blob/v0.1.0"


@pytest.mark.parametrize(
    ("written", "alone", "with_address"),
    [
        ("see [the rules](docs/a.md)", "see the rules", f"see [the rules]({_THERE}/docs/a.md)"),
        ("[a](a.md), [b](c.md#b)", "a, b", f"[a]({_THERE}/a.md), [b]({_THERE}/c.md#b)"),
        ("[theirs](https://other.example/)", "[theirs](https://other.example/)", "[theirs](https://other.example/)"),
        ("![a page](docs/a.png)", "", f"![a page]({_ADDRESS}/raw/v0.1.0/docs/a.png)"),
        ("[below](#guards)", "[below](#guards)", "[below](#guards)"),
    ],
)
def test_links_to_files(written: str, alone: str, with_address: str) -> None:
    """They are those of the released version, or their text alone where the repository has no address. Pictures are the
    files themselves, or nothing."""
    assert for_an_index(written, None, "0.1.0") == alone
    assert for_an_index(written, _ADDRESS, "0.1.0") == with_address
    assert for_an_index(written, f"{_ADDRESS}/", "0.1.0") == with_address


@pytest.mark.parametrize("address", [None, _ADDRESS])
def test_no_link_of_the_readme_leads_nowhere(address: str | None) -> None:
    """With and without an address; and nothing else of it is changed."""
    shown = for_an_index(_README, address, "0.1.0")

    assert [target for target in _LINKS.findall(shown) if not target.startswith(("https://", "#"))] == []
    assert len(shown.splitlines()) == len(_README.splitlines())
