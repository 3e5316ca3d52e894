"""An image without a container engine: its Dockerfile's steps carried out in mount namespaces of their own, where this
machine's Python stands in for the base image's, and the result started as its user on a root that no one can write.
``buildah.py`` beside it builds the image whole."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path

from tests.support.assets import ROOT

_PYTHON = sys.base_prefix
_BASE_ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LD_LIBRARY_PATH": "/usr/local/lib"}
"""What the base image says of itself, as far as it matters."""
_READ_ONLY = """
while read -r _ place _; do
  case $place in
    /proc | /proc/* | /sys | /sys/* | /dev | /dev/pts) ;;
    *) mount -o remount,bind,ro "$place" 2> /dev/null || true ;;
  esac
done < /proc/self/mounts
"""


@dataclass(frozen=True)
class Image:
    """What was built, what it says of itself, and the commands that put it in place in a mount namespace: below
    ``root``, where a process then lives."""

    root: Path
    opt: Path
    mounts: Sequence[str]
    environment: Mapping[str, str]
    user: str
    directory: str
    entry_point: Sequence[str]


@dataclass
class _Stage:
    """What has been made of one ``FROM`` so far. All of it is below ``/opt``."""

    opt: Path
    name: str = ""
    environment: dict[str, str] = field(default_factory=lambda: dict(_BASE_ENVIRONMENT))
    user: str = "0:0"
    directory: str = "/"
    entry_point: Sequence[str] = ()


def why_not() -> str:
    """What this machine lacks for it; "" when nothing is missing."""
    if os.geteuid() != 0:
        return "needs root, to mount"
    tried = subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False)
    return "" if tried.returncode == 0 else f"cannot make a mount namespace: {tried.stderr.decode().strip()}"


def whole(root: Path, environment: Mapping[str, str], user: str, directory: str, entry_point: Sequence[str]) -> Image:
    """An image that is all in a folder, its system included."""
    quoted = shlex.quote(str(root))
    mounts = (
        f"mount --bind {quoted} {quoted}",
        f"mount -t proc proc {quoted}/proc",
        f"mount --rbind /dev {quoted}/dev",
    )
    return Image(root, root / "opt", mounts, environment, user, directory, entry_point)


def build(folder: Path, file: str = "deploy/Dockerfile") -> Image:
    """The last stage of a Dockerfile of this checkout. Raises CalledProcessError for a step that fails, AssertionError
    for one that is not understood."""
    arguments: dict[str, str] = {}
    stages: list[_Stage] = []
    for word, rest in _steps((ROOT / file).read_text()):
        if word == "FROM":
            opt = folder / str(len(stages)) / "opt"
            opt.mkdir(parents=True)
            stages.append(_Stage(opt, name=rest.partition(" AS ")[2]))
        elif word == "ARG":
            name, _, default = rest.partition("=")
            arguments[name] = default
        elif word != "LABEL":
            _carry_out(stages, word, rest)
    last = stages[-1]
    return Image(Path("/"), last.opt, _mounts(last), last.environment, last.user, last.directory, last.entry_point)


def command(image: Image, arguments: Sequence[str], variables: Mapping[str, str], mounted: Path | None) -> list[str]:
    """A command line that starts the image: as its user, with no rights, a read-only root, and ``mounted`` as /mnt.
    Each of its commands replaces the one before, so that the process of this line becomes the image's."""
    environment = [f"{name}={value}" for name, value in {**image.environment, **variables}.items()]
    user, _, group = image.user.partition(":")
    as_user = f"setpriv --reuid={user} --regid={group} --clear-groups --no-new-privs --bounding-set=-all"
    started = ["env", "-i", f"--chdir={image.directory}", *environment, *arguments]
    root = shlex.quote(str(image.root))
    script = [
        *image.mounts,
        *([f"mount --bind {mounted} {root}/mnt"] if mounted else []),
        _READ_ONLY,
        f"exec chroot {root} {as_user} {shlex.join(started)}",
    ]
    return ["unshare", "--mount", "sh", "-euc", "\n".join(script)]


def with_kubeconfig(variables: Mapping[str, str], mounted: Path) -> Mapping[str, str]:
    """These variables as they are in an image that has ``mounted``: their KUBECONFIG, and the certificate that it
    names, are copied there for every user to read."""
    kubeconfig = json.loads(Path(variables["KUBECONFIG"]).read_text())
    (cluster,) = (each["cluster"] for each in kubeconfig["clusters"])
    files = {}
    if "certificate-authority" in cluster:
        files["ca.crt"] = Path(cluster["certificate-authority"]).read_text()
        cluster["certificate-authority"] = "ca.crt"  # beside the kubeconfig
    files["kubeconfig"] = json.dumps(kubeconfig)
    for name, text in files.items():
        (mounted / name).write_text(text)
        (mounted / name).chmod(0o644)
    mounted.chmod(0o755)
    return {**variables, "KUBECONFIG": "/mnt/kubeconfig"}


def _steps(text: str) -> Iterator[tuple[str, str]]:
    lines = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    for line in re.sub(r"\\\n", " ", lines).splitlines():
        if line.strip():
            word, _, rest = line.strip().partition(" ")
            yield word, rest.strip()


def _carry_out(stages: Sequence[_Stage], word: str, rest: str) -> None:
    stage = stages[-1]
    match word:
        case "ENV":
            for name, _, value in (pair.partition("=") for pair in shlex.split(rest)):
                stage.environment[name] = value
        case "WORKDIR":
            stage.directory = rest
            if rest != "/":
                _place(stage, rest).mkdir(parents=True, exist_ok=True)
        case "USER":
            stage.user = rest
        case "ENTRYPOINT":
            stage.entry_point = json.loads(rest)
        case "COPY":
            _copy(stages, *rest.split())
        case "RUN":
            _run(stage, rest)
        case "EXPOSE":
            pass
        case _:
            raise AssertionError(f"no step like {word} is known here")


def _copy(stages: Sequence[_Stage], *words: str) -> None:
    *flags, source, target = words
    to = _place(stages[-1], target)
    if flags:
        (origin,) = (stage for stage in stages if flags == [f"--from={stage.name}"])
        shutil.copytree(_place(origin, source), to, symlinks=True, dirs_exist_ok=True)
        return
    rules = (ROOT / ".dockerignore").read_text().split()
    assert f"!{source}" in rules, f".dockerignore keeps {source} out"
    left_out = [rule.removeprefix("**/") for rule in rules if rule.startswith("**/")]
    if (ROOT / source).is_dir():
        shutil.copytree(
            ROOT / source, to, ignore=lambda _, names: {n for n in names for r in left_out if fnmatch(n, r)}
        )
    else:
        to = to / Path(source).name if target.endswith("/") else to
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / source, to)


def _place(stage: _Stage, path: str) -> Path:
    """Where ``path`` of the image is on this machine."""
    absolute = Path(stage.directory) / path
    return stage.opt / absolute.relative_to("/opt")


def _run(stage: _Stage, line: str) -> None:
    environment = {**os.environ, **stage.environment}
    script = [*_mounts(stage), f"cd {stage.directory}", line]
    subprocess.run(
        ["unshare", "--mount", "sh", "-euc", "\n".join(script)], env=environment, check=True, capture_output=True
    )


def _mounts(stage: _Stage) -> list[str]:
    return [f"mount --bind {shlex.quote(_PYTHON)} /usr/local", f"mount --bind {shlex.quote(str(stage.opt))} /opt"]
