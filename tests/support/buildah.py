"""deploy/Dockerfile built as it is, without a container engine: by Debian's buildah, on what scripts/image-base makes
in place of the base image. What it builds and keeps is in a folder, and nothing runs."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.assets import folder_of
from tests.support.image import Image, whole

_BASE, _BUILT = "localhost/base", "localhost/built"
_DRIVER, _ISOLATION = "vfs", "chroot"
"""What works within a container as well. They are slower than others."""
_CERTIFICATES = "/etc/ssl/certs"


def why_not() -> str:
    """What this machine lacks for it; "" when nothing is missing."""
    missing = [program for program in ("buildah", "mmdebstrap") if shutil.which(program) is None]
    if missing:
        return f"needs {' and '.join(missing)}: install Debian's packages"
    return "" if os.geteuid() == 0 else "needs root, to mount"


@dataclass(frozen=True)
class Buildah:
    """buildah with all that it stores in ``folder``: some gigabytes, so who makes it should remove it."""

    folder: Path

    def build(self, context: Path, file: str, arguments: Mapping[str, str]) -> None:
        """Build from the folder, with these build arguments. Raises RuntimeError with what buildah says."""
        self._have_base()
        given = [f"--build-arg={name}={value}" for name, value in {**arguments, "BASE": _BASE}.items()]
        # The index may have a certificate of this machine's network.
        mounted = f"--volume={_CERTIFICATES}:{_CERTIFICATES}:ro"
        where = [f"--file={context / file}", f"--tag={_BUILT}", str(context)]
        self._run("bud", "--pull-never", "--network=host", mounted, *given, *where)

    def push(self, reference: str) -> str:
        """Push what was built to a registry without TLS; returns the digest. Raises RuntimeError."""
        file = self.folder / "digest"
        self._run("push", "--tls-verify=false", f"--digestfile={file}", _BUILT, f"docker://{reference}")
        return file.read_text()

    @contextmanager
    def unpacked(self) -> Iterator[Image]:
        """What was built, unpacked. Raises RuntimeError."""
        said: dict[str, Any] = json.loads(self._run("inspect", "--type=image", _BUILT))["OCIv1"]["config"]
        container = self._run("from", "--pull-never", _BUILT).strip()
        try:
            yield whole(
                Path(self._run("mount", container).strip()),
                environment=dict(each.split("=", 1) for each in said["Env"]),
                user=said["User"],
                directory=said["WorkingDir"],
                entry_point=said["Entrypoint"],
            )
        finally:
            self._run("rm", container)

    def _have_base(self) -> None:
        if _BASE in self._run("images", "--format={{.Name}}"):
            return
        container = self._run("from", "scratch").strip()
        self._run("add", container, str(folder_of("image-base") / "base.tar"), "/")
        self._run("config", "--env=PATH=/usr/local/bin:/usr/bin:/bin", container)
        self._run("commit", "--rm", container, _BASE)

    def _run(self, *words: str) -> str:
        stored = [
            f"--storage-driver={_DRIVER}",
            f"--root={self.folder / 'storage'}",
            f"--runroot={self.folder / 'run'}",
        ]
        done = subprocess.run(
            ["buildah", *stored, *words],
            env={**os.environ, "BUILDAH_ISOLATION": _ISOLATION},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"buildah {words[0]} ended with {done.returncode}: {done.stderr.strip()[-4000:]}")
        return done.stdout
