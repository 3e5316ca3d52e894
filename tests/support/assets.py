"""Programs that tests need and no package index has: scripts find them in the user's cache, or make them."""

import functools
import subprocess
import sys
from pathlib import Path
from typing import Literal

ROOT = Path(__file__).resolve().parents[2]
Script = Literal["envtest", "controllers", "kwok", "helm", "browser", "crane", "image-base"]


@functools.cache
def folder_of(script: Script) -> Path:
    """The folder with what the script in ``scripts/`` names, made now if need be. Raises RuntimeError with its
    message."""
    command = [sys.executable, str(ROOT / "scripts" / script)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.strip()[-4000:])
    return Path(done.stdout.strip())
