"""A release, rehearsed: the release workflow as it is written, from a tag in clean clones. Registry, helm, image and
kube-apiserver are real; stand-ins have what GitHub and the package index would have received."""

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import date
from functools import partial
from pathlib import Path

import pytest
import urllib3
from artifacts import MANIFESTS
from versions import CHANGELOG, prepare

from tests.support import buildah
from tests.support.apiserver import ApiServer
from tests.support.assets import ROOT, folder_of
from tests.support.chart import complaints, container_in, helm, objects_in
from tests.support.child_processes import end, free_ports, spawn, wait_until
from tests.support.workflows import Outputs, Runner

pytestmark = [
    pytest.mark.apiserver,
    pytest.mark.soak,
    pytest.mark.timeout(3600),
    pytest.mark.xdist_group("release"),
]
"""An image is built, and two environments are set up."""

_VERSION, _TAG = "99.0.1", "v99.0.1"
_REPOSITORY = "Us/It"
_GH = """#!/bin/sh -e
# The release pages of GitHub are folders here.
if [ "$1 $2" = "release list" ]; then exec ls "$RELEASE_PAGES"; fi
[ "$1 $2" = "release create" ]
page=$RELEASE_PAGES/$3
mkdir -p "$page"
shift 3
while [ $# -gt 0 ]; do
  case $1 in
    --notes-file) cp "$2" "$page.md"; shift ;;
    --repo | --title) shift ;;
    --verify-tag) ;;
    -*) exit 64 ;;
    *) cp "$1" "$page/" ;;
  esac
  shift
done
"""


@dataclass
class _World:
    """Everything outside of the workflow: its repository, a registry, a package index, GitHub, and who keeps
    attestations."""

    folder: Path
    origin: Path
    registry: str
    attested: set[str] = field(default_factory=set)

    @property
    def index(self) -> Path:
        return self.folder / "index"

    @property
    def page(self) -> Path:
        return self.folder / "pages" / _TAG

    @property
    def image(self) -> str:
        return f"{self.registry}/us/it"

    @property
    def chart(self) -> str:
        return f"{self.image}/charts/hcloud-reconciler"

    def crane(self, *words: str) -> str:
        return _output(str(folder_of("crane") / "crane"), *words).strip()

    def check_out(self, job: Path, inputs: Mapping[str, str]) -> Outputs:
        depth = [] if inputs.get("fetch-depth") == "0" else ["--depth=1"]
        _output("git", "clone", "--quiet", *depth, f"--branch={_TAG}", self.origin.as_uri(), str(job))
        return {}

    def keep(self, job: Path, inputs: Mapping[str, str]) -> Outputs:
        kept, from_there = self.folder / "artifacts" / inputs["name"], job / inputs["path"]
        kept.mkdir(parents=True)
        for each in from_there.iterdir() if from_there.is_dir() else [from_there]:
            shutil.copy(each, kept)
        return {}

    def load(self, job: Path, inputs: Mapping[str, str]) -> Outputs:
        shutil.copytree(self.folder / "artifacts" / inputs["name"], job / inputs["path"], dirs_exist_ok=True)
        return {}

    def build_image(self, job: Path, inputs: Mapping[str, str]) -> Outputs:
        assert (inputs["push"], inputs["provenance"]) == ("true", "mode=max")
        tool = buildah.Buildah(self.folder / "buildah")
        arguments = dict(line.split("=", 1) for line in inputs["build-args"].splitlines())
        tool.build(job / inputs["context"], inputs["file"], arguments)
        digest = tool.push(inputs["tags"])
        shutil.rmtree(tool.folder)
        return {"digest": digest}

    def attest(self, job: Path, inputs: Mapping[str, str]) -> Outputs:
        if "subject-checksums" in inputs:
            sums = job / inputs["subject-checksums"]
            self.attested |= {f"sha256:{line.split()[0]}" for line in sums.read_text().splitlines()}
        else:
            self.crane("manifest", f"{inputs['subject-name']}@{inputs['subject-digest']}")
            self.attested.add(inputs["subject-digest"])
        return {}

    def publish(self, job: Path, inputs: Mapping[str, str]) -> Outputs:
        shutil.copytree(job / inputs["packages-dir"], self.index)
        return {}


def _nothing(_job: Path, _inputs: Mapping[str, str]) -> Outputs:
    return {}


def _output(*command: str, cwd: Path | None = None, **variables: str) -> str:
    done = subprocess.run(
        command, cwd=cwd, env={**os.environ, **variables}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{command}: {done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Iterator[_World]:
    """What the world has once the workflow has ended, for a commit that was prepared and tagged."""
    if reason := buildah.why_not():
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("release")
    origin = folder / "origin"
    _output("git", "clone", "--quiet", "--no-tags", ROOT.as_uri(), str(origin))
    prepare(origin, _VERSION, date(2026, 11, 30))
    commit = ("-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "--quiet", "--all", "--message=Release")
    for words in (("checkout", "--quiet", "-B", "main"), commit, ("tag", _TAG)):
        _output("git", *words, cwd=origin)
    with ExitStack() as at_the_end:
        world = _World(folder, origin, _registry(folder, at_the_end))
        _runner(world).carry_out(origin / ".github" / "workflows" / "release.yaml")
        yield world


def _registry(folder: Path, at_the_end: ExitStack) -> str:
    """The address of a registry that is empty."""
    (port,) = free_ports(1)
    address = f"127.0.0.1:{port}"
    crane = str(folder_of("crane") / "crane")
    process = spawn([crane, "registry", "serve", f"--address={address}"], folder / "registry.log", {})
    at_the_end.callback(end, process)
    assert wait_until(partial(_answers, address), (process,), 60)
    return address


def _answers(address: str) -> bool:
    try:
        return urllib3.request("GET", f"http://{address}/v2/", retries=False, timeout=5).status == 200
    except urllib3.exceptions.HTTPError:
        return False


def _runner(world: _World) -> Runner:
    programs, pages = world.folder / "bin", world.folder / "pages"
    programs.mkdir()
    pages.mkdir()
    (programs / "gh").write_text(_GH)
    (programs / "gh").chmod(0o755)
    return Runner(
        world.folder,
        github={
            "actor": "someone",
            "ref_name": _TAG,
            "repository": _REPOSITORY,
            "server_url": "https://code.example",
            "sha": _output("git", "rev-parse", "HEAD", cwd=world.origin).strip(),
            "token": "a-token",
        },
        actions={
            "actions/checkout": world.check_out,
            "actions/setup-python": _nothing,
            "actions/upload-artifact": world.keep,
            "actions/download-artifact": world.load,
            "actions/attest-build-provenance": world.attest,
            "docker/setup-qemu-action": _nothing,
            "docker/setup-buildx-action": _nothing,
            "docker/login-action": _nothing,
            "docker/build-push-action": world.build_image,
            "pypa/gh-action-pypi-publish": world.publish,
        },
        environment={
            "REGISTRY": world.registry,
            "PATH": f"{programs}:{os.environ['PATH']}",
            "RELEASE_PAGES": str(pages),
        },
        elsewhere=frozenset({"checks"}),
    )


def test_the_index_has_what_anybody_builds_of_the_tag(released: _World, tmp_path: Path) -> None:
    """The wheels and the source archives, byte by byte, and they are of that version."""
    clone = tmp_path / "clone"
    released.check_out(clone, {})
    at = _output("git", "log", "-1", "--format=%ct", cwd=clone).strip()
    build = (sys.executable, "-m", "hatchling", "build", "--directory", str(tmp_path / "made"))
    for project in (clone, clone / "sandbox"):
        _output(*build, cwd=project, SOURCE_DATE_EPOCH=at)

    made = {each.name: each.read_bytes() for each in (tmp_path / "made").iterdir()}
    assert {each.name: each.read_bytes() for each in released.index.iterdir()} == made
    assert f"hcloud_sandbox-{_VERSION}-py3-none-any.whl" in made
    (wheel,) = released.index.glob("hcloud_reconciler-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    line = (sys.executable, "-m", "hcloud_reconciler", "--version")
    assert _output(*line, cwd=tmp_path / "site") == f"hcloud-reconciler {_VERSION}\n"


@pytest.mark.parametrize(
    ("name", "started"), [("", ["reconcile"]), ("/hcloud-sandbox", ["python", "-m", "hcloud_sandbox"])]
)
def test_an_image_says_what_it_is(released: _World, name: str, started: list[str]) -> None:
    config = json.loads(released.crane("config", f"{released.image}{name}:{_TAG}"))["config"]

    assert config["Labels"]["org.opencontainers.image.version"] == _VERSION
    revision = _output("git", "rev-parse", "HEAD", cwd=released.origin).strip()
    assert config["Labels"]["org.opencontainers.image.revision"] == revision
    assert (config["User"], config["Entrypoint"][: len(started)]) == ("65532:65532", started)


def test_the_chart_of_the_registry_installs_that_image(released: _World, api_server: ApiServer) -> None:
    """The kube-apiserver takes all of it, asked by ``helm install --dry-run=server``; and nothing is installed."""
    where = [f"oci://{released.chart}", "--version", _VERSION, "--plain-http"]
    digest = released.crane("digest", f"{released.image}:{_TAG}")
    rendered = objects_in(helm("template", "hcloud-reconciler", *where, "--namespace", "kube-system"))
    assert container_in(rendered)["image"] == f"{released.image}:{_TAG}@{digest}"

    access = ["--namespace", "kube-system", "--kubeconfig", str(api_server.kubeconfig())]
    said = json.loads(helm("install", "it", *where, *access, "--dry-run=server", "--output", "json"))

    assert said["info"]["status"] == "pending-install"
    assert (said["chart"]["metadata"]["version"], said["chart"]["metadata"]["appVersion"]) == (_VERSION, _TAG)
    assert container_in(objects_in(said["manifest"]))["image"] == f"{released.image}:{_TAG}@{digest}"
    assert complaints(api_server, objects_in(said["manifest"])) == {}
    status, _ = api_server.request("GET", "/apis/apps/v1/namespaces/kube-system/deployments/hcloud-reconciler")
    assert status == 404


def test_the_release_page_has_everything_with_its_checksum(released: _World, api_server: ApiServer) -> None:
    """Wheels, source archives, chart, manifests; the same as elsewhere. Its notes are the changelog's section."""
    files = {each.name for each in released.page.iterdir()}
    assert files == {
        *(each.name for each in released.index.iterdir()),
        *MANIFESTS,
        f"hcloud-reconciler-{_VERSION}.tgz",
        "SHA256SUMS",
    }
    checked = _output("sha256sum", "--check", "--strict", "SHA256SUMS", cwd=released.page)
    assert {line.partition(":")[0] for line in checked.splitlines()} == files - {"SHA256SUMS"}
    for each in released.index.iterdir():
        assert (released.page / each.name).read_bytes() == each.read_bytes()
    for name in MANIFESTS:
        assert complaints(api_server, objects_in((released.page / name).read_text())) == {}
    notes = released.page.with_name(f"{_TAG}.md").read_text()
    changelog = (released.origin / CHANGELOG).read_text()
    first = re.search(rf"^## {re.escape(_VERSION)}, 2026-11-30\n+(.*)$", changelog, re.MULTILINE)
    assert first
    assert notes.startswith(f"{first[1]}\n")
    assert f"](https://code.example/{_REPOSITORY}/blob/{_TAG}/docs/" in notes


def test_everything_that_was_published_is_attested(released: _World) -> None:
    """The images and the chart by the digests that the registry has, and each file of the release page."""
    digests = {
        released.crane("digest", f"{released.image}:{_TAG}"),
        released.crane("digest", f"{released.image}/hcloud-sandbox:{_TAG}"),
        released.crane("digest", f"{released.chart}:{_VERSION}"),
        *(f"sha256:{line.split()[0]}" for line in (released.page / "SHA256SUMS").read_text().splitlines()),
    }

    assert released.attested == digests
