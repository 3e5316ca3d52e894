"""The image of the sandbox: by its Dockerfile's steps, and by buildah. It serves as a user with no rights who cannot
write."""

import shlex
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from hcloud_sandbox import __version__
from hcloud_sandbox.control import Control
from tests.support import buildah, image
from tests.support.assets import ROOT
from tests.support.stage import killed_at_the_end

pytestmark = [pytest.mark.soak, pytest.mark.timeout(900), pytest.mark.xdist_group("image")]

_FILE = "sandbox/Dockerfile"


@pytest.fixture(scope="module", params=["steps", "buildah"])
def built(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[image.Image]:
    """The image, below a folder that every user may look into: its steps alone, and all of it."""
    by = {"steps": image, "buildah": buildah}[request.param]
    if reason := by.why_not():
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("image")
    with ExitStack() as stack:
        if by is image:
            yield image.build(folder, _FILE)
        else:
            tool = buildah.Buildah(folder)
            tool.build(ROOT, _FILE, {})
            yield stack.enter_context(tool.unpacked())


def _line(built: image.Image, *words: str) -> list[str]:
    return image.command(built, words, {}, None)


def test_it_serves_what_it_says(built: image.Image) -> None:
    """To whoever asks at the ports that it exposes; the command in it finds it without being told where."""
    line = _line(built, *built.entry_point)
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as process, killed_at_the_end(process):
        assert process.stdout is not None
        exports: dict[str, str] = {}
        while "NO_PROXY" not in exports:
            name, _, value = process.stdout.readline().removeprefix("export ").partition("=")
            (exports[name],) = shlex.split(value)
        token = {"Authorization": f"Bearer {exports['HCLOUD_TOKEN']}"}
        with urllib.request.urlopen(urllib.request.Request("http://127.0.0.1:8080/v1/servers", headers=token)) as got:
            assert got.status == 200
        assert Control(exports["ROBOT_ENDPOINT"]).world()["robot"]["servers"]
        told = subprocess.run(
            _line(built, "python", "-m", "hcloud_sandbox", "advance", "2m"),
            capture_output=True,
            text=True,
            check=True,
        )
        process.terminate()
        assert process.wait(20) == 0

    assert (exports["HCLOUD_ENDPOINT"], exports["ROBOT_ENDPOINT"]) == (
        "http://127.0.0.1:8080/v1",
        "http://127.0.0.1:8081",
    )
    assert told.stdout.startswith("advanced by 2m: ")


def test_it_has_nothing_else(built: image.Image) -> None:
    """Compiled packages, no installer, no test; a user who can write nowhere."""
    folder = Path(built.opt) / "hcloud-sandbox"
    tried = subprocess.run(
        _line(built, "sh", "-c", "id -u; touch /tmp/x /opt/x; python -m hcloud_sandbox --version"),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )

    assert tried.stdout.splitlines() == ["65532", f"hcloud-sandbox {__version__}"]
    assert {"hcloud_sandbox", "kubernetes_double", "aiohttp", "bytecode"} <= {each.name for each in folder.iterdir()}
    assert not {"pip", "tests", "examples", "bin", "reconciler"} & {each.name for each in folder.iterdir()}
