"""The steps of a release, each by its name. They print what the next step needs, and end with 1 and one sentence on
stderr where something stands in the way."""

import argparse
import sys
from datetime import UTC, datetime
from pathlib import Path

from artifacts import build_wheel, notes, package_chart, push_chart, write_checksums, write_manifests
from versions import (
    ReleaseError,
    prepare,
    require_reviewed,
    require_unreleased,
    section_of,
    version_in,
    version_of,
)

from tests.support.assets import ROOT


def main() -> int:
    """0, or 1 with a sentence on stderr."""
    asked = _parser().parse_args()
    try:
        asked.step(asked)
    except ReleaseError as wrong:
        print(f"release: {wrong}", file=sys.stderr)
        return 1
    return 0


def _prepare(asked: argparse.Namespace) -> None:
    for file in prepare(ROOT, asked.version, datetime.now(UTC).date()):
        print(file)


def _names(asked: argparse.Namespace) -> None:
    """As lines of GITHUB_OUTPUT. A registry takes lower case alone."""
    version = version_in(asked.tag)
    if version != version_of(ROOT):
        raise ReleaseError(
            f"the tag is {asked.tag}, and the checkout is version {version_of(ROOT)}: tag another commit"
        )
    section_of((ROOT / "CHANGELOG.md").read_text("utf-8"), version)
    require_reviewed(ROOT)
    image = f"{asked.registry}/{asked.repository}".lower()
    print(f"version={version}\nimage={image}\ncharts={image}/charts")


def _unreleased(asked: argparse.Namespace) -> None:
    require_unreleased(asked.tag, asked.repository)


def _notes(asked: argparse.Namespace) -> None:
    print(notes(version_of(ROOT), asked.address), end="")


def _wheel(asked: argparse.Namespace) -> None:
    build_wheel(asked.folder)


def _chart(asked: argparse.Namespace) -> None:
    asked.folder.mkdir(parents=True, exist_ok=True)
    archive = package_chart(asked.folder, version_of(ROOT), asked.image)
    print(f"digest={push_chart(archive, asked.charts)}")


def _manifests(asked: argparse.Namespace) -> None:
    write_manifests(asked.folder, version_of(ROOT), asked.image)
    write_checksums(asked.folder)


def _folder(text: str) -> Path:
    """What is given is meant from where the command was typed, and tools are run elsewhere."""
    return Path(text).absolute()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="scripts/release", description=__doc__, allow_abbrev=False)
    steps = parser.add_subparsers(required=True, metavar="STEP")

    def step(name: str, does: str, *words: tuple[str, str]) -> argparse.ArgumentParser:
        added = steps.add_parser(name, help=does, description=does)
        for word, means in words:
            added.add_argument(word, help=means, type=_folder if word == "folder" else str)
        return added

    folder = ("folder", "where it goes")
    image = ("image", "the image that is installed: HOST/OWNER/NAME@sha256:...")
    step(
        "prepare", "write the version wherever it is named, and today into the changelog", ("version", "such as 1.2.3")
    ).set_defaults(step=_prepare)
    repository = ("repository", "OWNER/NAME of the repository")
    step(
        "unreleased", "see that the tag has no release yet, by gh", ("tag", "such as v1.2.3"), repository
    ).set_defaults(step=_unreleased)
    step(
        "names",
        "see that the tag can be released, and print version, image and place of charts as NAME=VALUE",
        ("tag", "such as v1.2.3"),
        ("registry", "the registry's host"),
        repository,
    ).set_defaults(step=_names)
    step(
        "notes", "print the changelog's section of the version", ("address", "that of the repository, for its links")
    ).set_defaults(step=_notes)
    step("wheel", "build and check wheel and source archive", folder).set_defaults(step=_wheel)
    step(
        "chart",
        "package the chart for the image, push it, and print digest=DIGEST",
        folder,
        image,
        ("charts", "where charts are in the registry: HOST/PATH"),
    ).set_defaults(step=_chart)
    step("manifests", "write manifests for the image, and checksums of all in the folder", folder, image).set_defaults(
        step=_manifests
    )
    steps.add_parser("rehearse", help="carry out the workflow on this machine, in a clone of what is committed")
    return parser


if __name__ == "__main__":
    sys.exit(main())
