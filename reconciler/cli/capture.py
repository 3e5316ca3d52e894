"""``reconcile capture [--to FILE]``: writes cluster and project to a world file, masked. Reads only."""

import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from actuators.http.errors import ApiError
from actuators.http.hetzner import HetznerReader
from actuators.http.kubeconfig import ConnectionProblem
from actuators.http.kubernetes import KubernetesReader
from desired.model.clocks import shown_moment
from reconciler.capture.reading import capture_world
from reconciler.capture.world_file import Objects, World, write_world
from reconciler.cli.files import write_file
from reconciler.cli.own_settings import settled
from reconciler.cli.stopping import READING_GRACE_S, stop_within
from reconciler.cli.streams import begin, fail, internal_error, say
from reconciler.config.config import Config, ConfigurationError, load_config
from reconciler.config.options import Command
from reconciler.runtime import config_map, open_cloud, open_cluster, open_robot


def capture(_words: Sequence[str], flags: Mapping[str, str], environ: Mapping[str, str]) -> int:
    """Write the file; the exit code. What could not be read is a gap in the file, and a warning.

    Raises BrokenPipeError without a reader, and KeyboardInterrupt.
    """
    try:
        config = load_config(Command.CAPTURE, flags, environ)
    except ConfigurationError as error:
        return fail(*error.lines, code=error.code)
    begin(config)
    if _would_overwrite(config):
        why = "is there already: give another name, or --force to overwrite it"
        return fail(f"--to {config.capture_to!r} {why}", code=1)
    with stop_within(READING_GRACE_S) as stop:
        world = _world(settled(config, stop), stop)
    if isinstance(world, str):
        return fail(world, code=1)
    try:
        _write(write_world(world), config.capture_to)
    except BrokenPipeError:
        raise
    except OSError as error:
        return fail(f"--to {config.capture_to!r} cannot be written: {error.strerror or error}", code=1)
    _tell(world)
    return 0


def _world(config: Config, stop: threading.Event) -> World | str:
    """All that was read, or the reason why that is nothing."""
    try:
        world = _read(config, stop)
    except (ConnectionProblem, ApiError) as error:
        return str(error)
    except Exception as error:  # noqa: BLE001 - a bug of ours is told in one line, as everywhere
        return internal_error(error)
    return "stopped before everything was read: nothing is written" if stop.is_set() else world


def _read(config: Config, stop: threading.Event) -> World:
    """All connections refuse everything but GET."""
    cluster = KubernetesReader(open_cluster(config, stop, read_only=True))
    project = HetznerReader(open_cloud(config, stop, read_only=True))
    robot = open_robot(config, stop, config_map(config, cluster))
    return capture_world(cluster, project, config.settings.network, config.lease_namespace, robot)


def _would_overwrite(config: Config) -> bool:
    """Whether there is something in the file that must not be replaced."""
    file = Path(config.capture_to)
    return config.capture_to != "-" and not config.overwrites and file.is_file() and file.stat().st_size > 0


def _write(text: bytes, file: str) -> None:
    """To ``file``, which only its owner may read, or to stdout for ``-``. Raises OSError."""
    if file == "-":
        sys.stdout.buffer.write(text)
        sys.stdout.buffer.flush()
    else:
        write_file(text, file)


def _tell(world: World) -> None:
    """On stderr, what the file has and what it lacks."""
    for path, gap in world.captured.gaps.items():
        say(f"warning: {path} is not whole in the file: {gap.message or 'the list changed while it was being read'}")
    cluster, project = world.kubernetes, world.hetzner
    sizes = {"Node": cluster.nodes, "Service": cluster.services, "server": project.servers}
    if world.robot:
        sizes["Robot server"] = world.robot.servers
    counted = ", ".join(_counted(objects, word) for word, objects in sizes.items())
    balancers = _counted(project.load_balancers, "load balancer")
    when = shown_moment(world.captured.taken_at, to_seconds=True)
    say(f"captured {counted} and {balancers} as of {when}; docs/capture.md says what is in the file")


def _counted(objects: Objects, word: str) -> str:
    return f"{len(objects)} {word}{'s' * (len(objects) != 1)}"
