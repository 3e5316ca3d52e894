"""The limits of a simulated project that ``reconcile sandbox`` has flags for."""

import json
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from tests.faults.sandbox_process import running
from tests.support.objects import server


def test_what_a_network_takes_can_be_chosen(tmp_path: Path) -> None:
    """One attachment more than that is refused, as the 101st is by the real service."""
    world = tmp_path / "world.json"
    network = {"id": 5, "name": "private", "ip_range": "10.0.0.0/16"}
    servers = [server(1, "web-1"), server(2, "web-2")]
    world.write_text(json.dumps({"hetzner": {"servers": servers, "networks": [network]}}))
    with running(f"--world={world}", "--network-attachments=1", "--action-ms=0") as exports:
        _attach(exports, 1)
        with pytest.raises(urllib.error.HTTPError) as refusal:
            _attach(exports, 2)
    assert json.load(refusal.value)["error"]["code"] == "resource_limit_exceeded"


def _attach(exports: dict[str, str], server_id: int) -> Any:
    request = urllib.request.Request(
        f"{exports['HCLOUD_ENDPOINT']}/servers/{server_id}/actions/attach_to_network",
        data=json.dumps({"network": 5}).encode(),
        headers={"Authorization": f"Bearer {exports['HCLOUD_TOKEN']}", "Content-Type": "application/json"},
    )
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=30) as answer:
        return json.load(answer)
