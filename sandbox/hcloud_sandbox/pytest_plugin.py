"""Fixtures for tests of programs that speak to Hetzner. pytest finds them where hcloud-sandbox is installed.

A test asks for ``hcloud_sandbox``. What its project has at the start, and how it behaves, are the fixtures
``hcloud_world`` and ``hcloud_options``: a module, a class or a ``parametrize`` puts others in their place.
"""

import os
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from hcloud_sandbox.control import Control


class HcloudSandbox(Control):
    """The sandbox of a test. ``url`` is the endpoint of Hetzner's API, and what Control does is done to that."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        super().__init__(environment["HCLOUD_ENDPOINT"])
        self.environment = environment
        """What a subprocess needs beside the test's own environment: ``{**os.environ, **sandbox.environment}``."""
        self.token = environment["HCLOUD_TOKEN"]
        self.robot = Control(environment["ROBOT_ENDPOINT"]) if "ROBOT_ENDPOINT" in environment else None
        """The same for the Robot webservice; None where the world has no such part. ``robot.url`` is its endpoint."""


@pytest.fixture
def hcloud_world() -> Mapping[str, Any]:
    """The world that a test starts from, as a world file has it; an empty project unless a test says otherwise."""
    return {}


@pytest.fixture
def hcloud_options() -> Mapping[str, Any]:
    """Fields of ``hcloud_sandbox.running.SandboxOptions`` that are different: actions take no time, and there is no
    Kubernetes, unless a test says otherwise."""
    return {}


@pytest.fixture
def hcloud_sandbox(hcloud_world: Mapping[str, Any], hcloud_options: Mapping[str, Any]) -> Iterator[HcloudSandbox]:
    """Hetzner's APIs for one test, on free ports: another one for each test, which takes some milliseconds."""
    from hcloud_sandbox.running import Sandbox, SandboxOptions  # noqa: PLC0415 - only who asks for it waits
    from hcloud_sandbox.session import without_proxy  # noqa: PLC0415 - likewise

    options: dict[str, Any] = {"action_s": 0.0, "without_kubernetes": True, **hcloud_options}
    direct = without_proxy(os.environ)
    with Sandbox(SandboxOptions(world=hcloud_world, **options)) as sandbox, pytest.MonkeyPatch.context() as patch:
        # Clients in this process read it as well: they would ask the proxy of the environment for 127.0.0.1.
        for name, value in direct.items():
            patch.setenv(name, value)
        yield HcloudSandbox(sandbox.environment | direct)
