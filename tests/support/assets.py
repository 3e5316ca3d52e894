"""Programs that tests need and no package index has: scripts find them in the user's cache, or make them."""

import functools
import os
import subprocess
import sys
from pathlib import Path
from typing import Literal, NoReturn

import pytest

ROOT = Path(__file__).resolve().parents[2]
Script = Literal["envtest", "controllers", "kwok", "helm", "browser", "crane", "image-base"]


def folder_of(script: Script) -> Path:
    """The folder with what the script in ``scripts/`` names, made now if need be. Raises RuntimeError with its
    message."""
    done = _made(script)
    if done.returncode:
        raise RuntimeError(done.stderr.strip()[-4000:])
    return Path(done.stdout.strip())


@functools.cache
def _made(script: Script) -> subprocess.CompletedProcess[str]:
    """How the script ended; one that fails is tried once in a run."""
    command = [sys.executable, str(ROOT / "scripts" / script)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def lacking(what: str, remedy: str) -> NoReturn:
    """End this test for want of a program: a failure in CI, a skip elsewhere."""
    (pytest.fail if os.environ.get("CI") else pytest.skip)(f"there is no {what} here: {remedy}")


def needed(script: Script) -> Path:
    """The folder of the script, for a test that cannot run without it."""
    try:
        return folder_of(script)
    except RuntimeError as error:
        lacking(script, str(error).splitlines()[-1])
