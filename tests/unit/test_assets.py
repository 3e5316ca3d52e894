"""Programs that tests need: a test is skipped for want of one, fails in CI, and a run tries to make each once."""

import functools
from pathlib import Path

import pytest

from tests.support import assets
from tests.support.assets import folder_of, lacking, needed
from tests.support.rows import rows

SKIPPED, FAILED = pytest.skip.Exception, pytest.fail.Exception
CI = {"here": ("", SKIPPED), "in-ci": ("true", FAILED)}
TRIES = "import sys; open('{tries}', 'a').write('tried ')\n"
MAKES = f"{TRIES}print('/cache/helm')"
BREAKS = f"{TRIES}sys.exit('helm: building\\nhelm: the network is down')"


@pytest.fixture
def tries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file in which a script notes its tries. Scripts are those of this test, and the run begins with it."""
    (tmp_path / "scripts").mkdir()
    monkeypatch.setattr(assets, "ROOT", tmp_path)
    monkeypatch.setattr(assets, "_made", functools.cache(assets._made.__wrapped__))
    return tmp_path / "tries"


def _write(tries: Path, script: str) -> None:
    (tries.parent / "scripts" / "helm").write_text(script.format(tries=tries), "utf-8")


@rows("ci ended", CI)
def test_a_program_that_is_lacking(monkeypatch: pytest.MonkeyPatch, ci: str, ended: type[BaseException]) -> None:
    monkeypatch.setenv("CI", ci)
    with pytest.raises(ended, match=r"^there is no mandoc here: scripts/shells installs it$"):
        lacking("mandoc", "scripts/shells installs it")


@rows("ci ended", CI)
def test_a_program_that_cannot_be_made(
    tries: Path, monkeypatch: pytest.MonkeyPatch, ci: str, ended: type[BaseException]
) -> None:
    """The reason is the script's last line, which all tests of the run share."""
    monkeypatch.setenv("CI", ci)
    _write(tries, BREAKS)
    for _ in range(2):
        with pytest.raises(ended, match=r"^there is no helm here: helm: the network is down$"):
            needed("helm")
    with pytest.raises(RuntimeError, match=r"^helm: building\nhelm: the network is down$"):
        folder_of("helm")
    assert tries.read_text("utf-8") == "tried "


def test_a_program_that_is_made(tries: Path) -> None:
    _write(tries, MAKES)
    assert {needed("helm"), needed("helm")} == {Path("/cache/helm")}
    assert tries.read_text("utf-8") == "tried "
