"""Sphinx' configuration of the documentation site. ``scripts/site`` builds it."""

import sys
import tomllib
from pathlib import Path

_HERE = Path(__file__).resolve().parent
_ROOT = _HERE.parents[1]
sys.path[:0] = [str(_HERE), str(_ROOT)]

from reconciler import __version__  # noqa: E402 - Sphinx runs this file as a script

_PROJECT = tomllib.loads((_ROOT / "pyproject.toml").read_text("utf-8"))["project"]
_ADDRESSES = _PROJECT.get("urls", {})

project = _PROJECT["name"]
release = version = __version__
html_title = f"{project} {release}"
html_baseurl = _ADDRESSES.get("Documentation", "")
site_source = _ADDRESSES.get("Source")

extensions = ["myst_parser", "site_pages"]
root_doc = "index"
exclude_patterns = [".*", "build"]  # what Sphinx looks for pages in before it hears which there are
source_suffix = {".md": "markdown"}
nitpicky = True

myst_heading_anchors = 4
myst_links_external_new_tab = False
highlight_language = "none"
smartquotes = False  # what stands in a page may be pasted into a shell

html_theme = "furo"
html_show_copyright = False
html_copy_source = False
html_static_path = ["static"]
html_css_files = ["site.css"]
