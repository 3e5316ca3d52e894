"""What the build adds to ``pyproject.toml``: the README as a package index can show it."""

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_RELATIVE = re.compile(r"(!?)\[([^\]]*)\]\((?![a-z]+:|#)([^)\s]+)\)")
"""A link to a file of the repository, or a picture in one: what tells which, its text, and where it leads."""


def for_an_index(readme: str, address: str | None, version: str) -> str:
    """The README with links that lead somewhere outside of the repository as well.

    ``address`` is that of the repository; a link is its text alone where there is none, and a picture is nothing.
    """
    if address is None:
        return _RELATIVE.sub(lambda link: "" if link[1] else link[2], readme)
    there = address.rstrip("/")
    return _RELATIVE.sub(
        lambda link: f"{link[1]}[{link[2]}]({there}/{'raw' if link[1] else 'blob'}/v{version}/{link[3]})", readme
    )


class Readme(MetadataHookInterface):
    """Sets the description of the project."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Put the README into the metadata; the version and the addresses are there by now."""
        text = (Path(self.root) / "README.md").read_text("utf-8")
        address = metadata.get("urls", {}).get("Source")
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": for_an_index(text, address, metadata["version"]),
        }
