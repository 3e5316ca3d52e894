"""The tool behind ``scripts/corpus``: tells which plans differ, stores them, and chooses worlds anew."""

import os
import subprocess
import sys
import tempfile
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import msgspec

from hcloud_sandbox.clock import SimulatedClock
from hcloud_sandbox.hetzner import HetznerSimulator
from kubernetes_double import KubernetesSimulator
from reconciler.capture.world_file import World
from tests.support.corpus import Entry, all_differences, plan_of, read, summary, write
from tests.support.direct import DirectSimulation
from tests.support.large_plans import LARGE, large_nodes, large_project, large_services
from tests.support.passes import Run
from tests.support.simulators import START

AS_MET, CHANGED = 340, 160
"""How many worlds are kept as tests met them, and how many under other settings."""
_LANES = ("tests/unit", "tests/field", "tests/property")
_MARKS = "passes and not soak and not apiserver and not processes and not browser"
_HARM_WORLDS = "120"
_PRIVATE = {"HCLOUD_LOAD_BALANCERS_USE_PRIVATE_IP": "true"}
_CLOSED = {"HCLOUD_LOAD_BALANCERS_DISABLE_PUBLIC_NETWORK": "true"}
_OTHER_SETTINGS: tuple[Mapping[str, str], ...] = (
    {"HCLOUD_NETWORK": ""},
    _PRIVATE,
    _CLOSED,
    {**_PRIVATE, **_CLOSED},
    {**_CLOSED, "HCLOUD_NETWORK": ""},
    {"HCLOUD_LOAD_BALANCERS_USES_PROXYPROTOCOL": "true"},
    {"HCLOUD_LOAD_BALANCERS_TYPE": "lb21"},
    {"HCLOUD_LOAD_BALANCERS_ALGORITHM_TYPE": "least_connections"},
    {"HCLOUD_LOAD_BALANCERS_HEALTH_CHECK_INTERVAL": "7s"},
    {"HCLOUD_LOAD_BALANCERS_DISABLE_IPV6": "true"},
    {"HCLOUD_LOAD_BALANCERS_ENABLED": "false"},
    {"HCLOUD_INSTANCES_ADDRESS_FAMILY": "dualstack"},
    {"ROBOT_ENABLED": "false"},
)
"""Variables that are changed over a cluster as it is; "": taken away."""


def main() -> int:
    """0 where every plan is as it is stored, or was stored."""
    parser = ArgumentParser(description="Plans of the corpus that differ from the stored ones.")
    parser.add_argument("--update", action="store_true", help="store the plans as they are now")
    parser.add_argument("--collect", action="store_true", help="choose the worlds anew")
    asked = parser.parse_args()
    if asked.collect:
        with tempfile.TemporaryDirectory() as folder:
            _play(Path(folder))
            chosen = _chosen(_planned(_captured(Path(folder))), AS_MET)
        chosen |= _chosen(_planned(_with_other_settings(chosen)), CHANGED)
        write(chosen)
        print(f"{len(chosen)} worlds")
        return 0
    entries = read()
    found = all_differences(entries)
    print("\n".join(summary(found)) or "no plan differs")
    if asked.update:
        write(entries)
    return 0 if asked.update else bool(found)


def _play(folder: Path) -> None:
    """Run the tests that make plans in this process, and let them be captured."""
    environment = os.environ | {"CORPUS_FOLDER": str(folder), "PROPERTY_SEED": "1", "HARM_WORLDS": _HARM_WORLDS}
    command = [".venv/bin/pytest", "-p", "collecting", "-n", "2", "--dist", "loadfile", "-q", "--tb=no", "-r", "N"]
    subprocess.run([*command, "--timeout=600", "-m", _MARKS, *_LANES], env=environment, check=False)
    os.environ["CORPUS_FOLDER"] = str(folder)
    import collecting  # noqa: PLC0415 - needs the folder

    collecting.pytest_configure()
    for nodes, services in ((100, 20), (1000, 5)):
        os.environ["PYTEST_CURRENT_TEST"] = f"large::{nodes}-nodes (call)"
        _play_large(nodes, services)


def _play_large(nodes: int, services: int) -> None:
    """All join; then, of a smaller one, a few servers go, and then most."""
    clock = SimulatedClock(source=START.timestamp)
    identity = {"metadata": {"name": "kube-system", "uid": "11111111-2222-3333-4444-555555555555"}}
    cluster = {"nodes": large_nodes(nodes), "services": large_services(services), "namespaces": [identity]}
    hetzner = HetznerSimulator(clock, world=large_project(nodes))
    run = Run(DirectSimulation(hetzner, KubernetesSimulator(clock, world=cluster), clock), LARGE)
    run.plan()
    if nodes > 100:
        return
    run.converge()
    run.plan()
    for rest in (nodes - 3, nodes // 3):
        world = hetzner.world()["hetzner"]
        networks = [{key: value for key, value in found.items() if key != "servers"} for found in world["networks"]]
        hetzner.replace_world({**world, "networks": networks, "servers": world["servers"][:rest]})
        run.plan()


def _captured(folder: Path) -> Iterator[tuple[str, Entry]]:
    for file in sorted(folder.iterdir()):
        yield from msgspec.json.decode(file.read_bytes(), type=dict[str, Entry]).items()


def _with_other_settings(entries: Mapping[str, Entry]) -> Iterator[tuple[str, Entry]]:
    """Those worlds that have load balancers, each under other settings."""
    for name, entry in entries.items():
        if not msgspec.json.decode(entry.world, type=World).hetzner.load_balancers:
            continue
        for changed in _OTHER_SETTINGS:
            variables = {key: value for key, value in {**entry.variables, **changed}.items() if value}
            if variables != entry.variables:
                said = ", ".join(f"{key}={value}" for key, value in changed.items())
                yield f"{name} with {said}", Entry(entry.world, entry.flags, variables)


def _planned(captured: Iterable[tuple[str, Entry]]) -> Mapping[str, Entry]:
    """Those from which a plan can be made, with it; one of those with the same source and the same plan."""
    found: dict[object, tuple[str, Entry]] = {}
    for name, entry in sorted(captured, key=lambda pair: pair[0]):
        try:
            entry.plan = dict(plan_of(entry))
        except Exception as error:  # noqa: BLE001 - a world that is no whole one
            print(f"{name}: {error}", file=sys.stderr)
            continue
        found.setdefault((_source(name), msgspec.json.encode(entry.plan)), (name, entry))
    return dict(found.values())


def _chosen(entries: Mapping[str, Entry], most: int) -> dict[str, Entry]:
    """Those worlds of which something comes that comes of few others, until there are enough."""
    features = {name: _features(entry) for name, entry in entries.items()}
    left, sources = set(entries), Counter[str]()
    seen = Counter[object]()
    chosen: dict[str, Entry] = {}

    def worth(name: str) -> tuple[float, str]:
        return sum(3.0 ** -seen[each] for each in features[name]) / (1 + sources[_source(name)]), name

    while left and len(chosen) < most:
        best = max(left, key=worth)
        left.remove(best)
        seen.update(features[best])
        sources[_source(best)] += 1
        chosen[best] = entries[best]
    return chosen


def _features(entry: Entry) -> frozenset[object]:
    """What comes of a world, and what it is planned with."""
    plan = entry.plan
    changes = plan["changes"].values()
    rows = Counter((each["kind"], each["class"], each["verdict"], each["rule"]) for each in changes)
    return frozenset(
        (
            plan["result"],
            *rows,
            *((row, number > 1, number > 9) for row, number in rows.items()),
            *(note.partition(" ")[0] for note in plan["notes"]),
            *((hold["rule"], hold["value"]) for hold in plan["holds"]),
            *entry.flags.items(),
            *entry.variables.items(),
            *entry.setbacks,
        )
    )


def _source(name: str) -> str:
    """The test that a world comes from, and its other settings, if any."""
    test, _, rest = name.partition("#")
    return test.partition("[")[0] + rest.lstrip("0123456789")


if __name__ == "__main__":
    sys.exit(main())
