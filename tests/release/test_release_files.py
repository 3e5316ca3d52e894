"""What a release ships beside the wheel: a chart and manifests that install the image which was built with them."""

import subprocess
from pathlib import Path

import pytest
from artifacts import MANIFESTS, package_chart, write_checksums, write_manifests
from versions import ReleaseError

from reconciler import __version__
from tests.support.chart import container_in, helm, objects_in

pytestmark = [pytest.mark.apiserver, pytest.mark.timeout(900)]
"""The first test may have to build helm."""

_DIGEST = f"sha256:{'ab' * 32}"
_IMAGE = f"registry.example/us/it@{_DIGEST}"
_INSTALLED = f"registry.example/us/it:v{__version__}@{_DIGEST}"


def test_the_chart_installs_the_image_of_its_release(tmp_path: Path) -> None:
    """Whatever the tag is by then; and the archive is what helm takes."""
    archive = package_chart(tmp_path, __version__, _IMAGE)

    assert container_in(objects_in(helm("template", "it", str(archive))))["image"] == _INSTALLED
    assert helm("lint", "--strict", str(archive)).count("0 chart(s) failed") == 1
    mine = {"image": {"repository": "registry.example/mine", "tag": "edge"}}
    assert (
        container_in(objects_in(helm("template", "it", str(archive), values=mine)))["image"]
        == "registry.example/mine:edge"
    )


def test_the_manifests_install_the_image_of_their_release(tmp_path: Path) -> None:
    """And sha256sum finds everything as it was written."""
    write_manifests(tmp_path, __version__, _IMAGE)
    write_checksums(tmp_path)
    write_checksums(tmp_path)

    for name in MANIFESTS:
        assert container_in(objects_in((tmp_path / name).read_text()))["image"] == _INSTALLED
    checked = subprocess.run(
        ["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert checked.stdout == "".join(f"{name}: OK\n" for name in sorted(MANIFESTS))


@pytest.mark.parametrize(
    "image", ["registry.example/us/it", f"registry.example/us/it:v1@{_DIGEST}", f"it@{_DIGEST}", f"@{_DIGEST}"]
)
def test_an_image_without_its_digest(tmp_path: Path, image: str) -> None:
    """A tag may be another image tomorrow."""
    with pytest.raises(ReleaseError, match="is no image by its digest"):
        write_manifests(tmp_path, __version__, image)
