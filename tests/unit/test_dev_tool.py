"""scripts/dev and the tool that makes its infrastructure."""

from pathlib import Path

import pytest
from home import Home, Record
from infrastructure import Infrastructure, find_tool
from saying import Problem


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Home:
    """A folder for a cluster."""
    monkeypatch.setenv("DEV_HOME", str(tmp_path / "home"))
    found = Home("dev")
    found.folder.mkdir(parents=True)
    return found


@pytest.fixture
def programs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The only folder of the PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def install(folder: Path, name: str) -> str:
    """A tool that does whatever it is asked to; its path."""
    tool = folder / name
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)
    return str(tool)


def test_what_was_begun_with_one_tool_goes_on_with_it(home: Home, programs: Path) -> None:
    """Terraform cannot read what OpenTofu wrote down: installed later, it would be in the way of ``down``."""
    settings = {"location": "fsn1", "server_type": "cx23", "workers": 2, "admin_ranges": ("0.0.0.0/0",)}
    tofu = install(programs, "tofu")
    Infrastructure(home, "token", "https://api.example.com/v1", 0).prepare(
        Record.new("dev", "https://api.example.com/v1", **settings), "eu-central", 1
    )

    terraform = install(programs, "terraform")

    assert find_tool(home) == tofu
    assert find_tool(Home("another")) == terraform

    Path(tofu).unlink()
    with pytest.raises(Problem, match=r"^tofu has made this cluster and is not on the PATH: install it again"):
        find_tool(home)


def test_no_tool_at_all(home: Home, programs: Path) -> None:
    """One line, with what to install."""
    assert not list(programs.iterdir())

    with pytest.raises(Problem, match="install OpenTofu or Terraform"):
        find_tool(home)
