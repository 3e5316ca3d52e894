"""``reconcile ui``: it shows what is there, follows it, only reads, and tells what keeps it from being there."""

import re
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import Request, urlopen

from tests.support.objects import joining_node, server
from tests.support.pages import Element, read_page
from tests.support.stage import DEADLINE_S, Stage, killed_at_the_end


def shown(url: str) -> Element:
    with urlopen(Request(url), timeout=20) as answer:
        return read_page(answer.read().decode())


def follows(url: str, meets: Callable[[Element], bool]) -> Element:
    """The first page that meets a condition. Raises AssertionError when none does for long."""
    deadline = time.monotonic() + DEADLINE_S
    while not meets(page := shown(url)):
        assert time.monotonic() < deadline, page.text
    return page


@contextmanager
def running(stage: Stage, *arguments: str) -> Iterator[str]:
    """The address of a page that the command serves; at the end Ctrl-C stops it, which is said."""
    process = stage.start("ui", "--ui-address", "127.0.0.1:0", *arguments)
    with killed_at_the_end(process):
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        assert re.fullmatch(r"http://127\.0\.0\.1:[0-9]+/", url), process.communicate(timeout=DEADLINE_S)
        yield url
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=DEADLINE_S)
        assert process.wait() == 130
        assert stderr.splitlines()[-1] == "reconcile: interrupted"


def test_it_follows_the_cluster_and_only_reads(stage: Stage) -> None:
    """What is changed by hand is on the page after the next interval; a token that is revoked is told, and the page
    stays."""
    stage.have_servers(server(1, "web-1"), server(2, "web-2"))
    stage.register(joining_node("web-1"))
    with running(stage, "--interval", "200ms") as url:
        follows(url, lambda page: "node/web-1" in page.by_id("main").keys)
        stage.register(joining_node("web-2"))
        follows(url, lambda page: "node/web-2" in page.by_id("main").keys)
        stage.proxy.set_faults([{"kind": "status", "code": 401, "count": None}])
        follows(url, lambda page: page.by_id("status").text.startswith("error"))
        assert stage.writes() == []
        assert stage.written_to_hetzner() == []


def test_a_captured_cluster(stage: Stage, tmp_path: Path) -> None:
    stage.have_servers(server(1, "web-1"))
    stage.register(joining_node("web-1"))
    assert stage.reconcile("capture", "--to", str(tmp_path / "world.json")).code == 0
    stage.forget()
    with running(stage, "--from", str(tmp_path / "world.json")) as url:
        page = follows(url, lambda page: "node/web-1" in page.by_id("main").keys)
        explained = shown(f"{url}node/web-1")
    assert "reconcile apply" not in page.text
    assert stage.asked_hetzner() == []
    assert "matched by name" in explained.by_id("main").text
