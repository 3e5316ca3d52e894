"""The steps of a release, each by its name. They print what the next step needs, and end with 1 and one sentence on
stderr where something stands in the way."""

import argparse
import sys
from datetime import UTC, datetime
from inspect import getdoc, signature
from pathlib import Path

from artifacts import build_wheels, package_chart, push_chart, write_checksums, write_manifests
from artifacts import notes as notes_of
from versions import CHANGELOG, ReleaseError, require_reviewed, require_unreleased, section_of, version_in, version_of
from versions import prepare as prepare_in

from tests.support.assets import ROOT

_WORDS = {
    "version": "such as 1.2.3",
    "tag": "such as v1.2.3",
    "registry": "the registry's host",
    "repository": "OWNER/NAME of the repository",
    "address": "that of the repository, for links",
    "folder": "where it goes",
    "image": "the image that is installed: HOST/OWNER/NAME@sha256:...",
    "charts": "where charts are in the registry: HOST/PATH",
}
"""What the arguments of all steps mean."""


def prepare(version: str) -> None:
    """write the version wherever it is named, and today into the changelog"""
    print("\n".join(prepare_in(ROOT, version, datetime.now(UTC).date())))


def unreleased(tag: str, repository: str) -> None:
    """see that the tag has no release yet, by gh"""
    require_unreleased(tag, repository)


def names(tag: str, registry: str, repository: str) -> None:
    """see that the tag can be released, and print version, images and place of charts as NAME=VALUE"""
    version = version_in(tag)
    if version != version_of(ROOT):
        raise ReleaseError(f"the tag is {tag}, and the checkout is version {version_of(ROOT)}: tag another commit")
    section_of((ROOT / CHANGELOG).read_text("utf-8"), version)
    require_reviewed(ROOT)
    image = f"{registry}/{repository}".lower()  # a registry takes nothing else
    print(f"version={version}\nimage={image}\nsandbox={image}/hcloud-sandbox\ncharts={image}/charts")


def notes(address: str) -> None:
    """print the changelog's section of the version"""
    print(notes_of(version_of(ROOT), address), end="")


def wheel(folder: Path) -> None:
    """build and check wheel and source archive, and those of the sandbox"""
    build_wheels(folder)


def chart(folder: Path, image: str, charts: str) -> None:
    """package the chart for the image, push it, and print digest=DIGEST"""
    folder.mkdir(parents=True, exist_ok=True)
    print(f"digest={push_chart(package_chart(folder, version_of(ROOT), image), charts)}")


def manifests(folder: Path, image: str) -> None:
    """write manifests for the image, and checksums of all in the folder"""
    write_manifests(folder, version_of(ROOT), image)
    write_checksums(folder)


def rehearse() -> None:
    """carry out the workflow on this machine, in a clone of what is committed"""
    raise ReleaseError("scripts/release has this step itself")


def main() -> int:
    """0, or 1 with a sentence on stderr."""
    parser = argparse.ArgumentParser(prog="scripts/release", description=__doc__, allow_abbrev=False)
    steps = parser.add_subparsers(required=True, metavar="STEP", dest="step")
    known = {step.__name__: step for step in (prepare, unreleased, names, notes, wheel, chart, manifests, rehearse)}
    for name, step in known.items():
        added = steps.add_parser(name, help=getdoc(step), description=getdoc(step))
        for word in signature(step).parameters:
            # A folder is meant from where the command was typed, and tools are run elsewhere.
            added.add_argument(word, help=_WORDS[word], type=_absolute if word == "folder" else str)
    asked = vars(parser.parse_args())
    try:
        known[asked.pop("step")](**asked)
    except ReleaseError as wrong:
        print(f"release: {wrong}", file=sys.stderr)
        return 1
    return 0


def _absolute(text: str) -> Path:
    return Path(text).absolute()


if __name__ == "__main__":
    sys.exit(main())
