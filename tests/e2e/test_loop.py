"""The command running for ever: it notices, and it stops when asked to."""

import signal

from tests.support.objects import joining_node, server
from tests.support.stage import Stage, is_initialised, killed_at_the_end, wait_for


def test_a_node_that_joins_later_is_initialised_and_sigterm_ends_the_loop(stage: Stage) -> None:
    """The loop initializes what joins while it runs; SIGTERM ends it with exit code 0."""
    stage.have_servers(server(1, "early"), server(2, "late"))
    stage.register(joining_node("early"))

    with killed_at_the_end(stage.start("run", "--interval", "100ms")) as process:
        wait_for(lambda: is_initialised(stage.nodes()["early"]), "the first Node")
        stage.register(joining_node("late"))
        wait_for(lambda: is_initialised(stage.nodes()["late"]), "the second Node")
        process.send_signal(signal.SIGTERM)
        stdout, stderr = process.communicate(timeout=30)

    assert process.returncode == 0
    assert "Traceback" not in stderr
    assert stdout == ""
    assert "kind=node.initialise key=node/late" in stderr
