"""The controller's probes and metrics as a kubelet and Prometheus see them, also while the API server is gone.

``tests/unit/reconciler/test_outages.py`` has other outages, on virtual time.
"""

from itertools import count

import pytest

from tests.support.child_processes import free_ports
from tests.support.controller import OFTEN, RARELY, Controller, Pages, started
from tests.support.objects import joining_node, server
from tests.support.stage import Stage, is_initialised, wait_for

PROBES = ("/livez", "/readyz", "/healthz")
LOOK_S = 0.5
NO_LEASE = "[-]snapshot failed: the Lease kube-system/cloud-controller-manager could not be acquired: "


def test_probes_and_metrics_are_served(one_node: Stage) -> None:
    """Metrics have a port of their own here, and are not beside the probes; probes have both names that HCCM has."""
    (port,) = free_ports(1)

    with started(one_node, *RARELY, HCLOUD_METRICS_ADDRESS=f"127.0.0.1:{port}") as controller:
        scraped = Pages(port)
        scraped.wait_for_passes(1)
        assert [controller.page(probe) for probe in PROBES] == [(200, "ok")] * 3
        status, verbose = controller.page("/readyz?verbose")
        assert (status, "[+]snapshot ok" in verbose) == (200, True)
        assert (controller.page("/metrics")[0], scraped.page("/livez")[0]) == (404, 404)
        applied = scraped.metric("hcloud_reconciler_applied_total", 'section="nodes"', 'result="applied"')
        assert (applied, scraped.metric("leader_election_master_status")) == (1, 1)
        assert scraped.metric("hcloud_api_requests_total", 'code="200"', 'api_endpoint="/servers"') > 0


def _recovers(stage: Stage, controller: Controller) -> None:
    """A Node that joins now is initialized. Its kubelet goes on reporting: a watch that comes back only after the Node
    has joined hears of it by that."""
    stage.add_servers(server(2, "late"))
    stage.register(joining_node("late"))
    reports = count()

    def is_done() -> bool:
        late = stage.nodes()["late"]
        if not is_initialised(late):
            told = {"metadata": {"annotations": {"example.com/report": str(next(reports))}}}
            stage.cluster.request("PATCH", "/api/v1/nodes/late", told)
        return is_initialised(late)

    wait_for(is_done, f"the Node that joins, log {controller.stderr}", every_s=LOOK_S)


@pytest.mark.usefixtures("no_lease")
def test_a_controller_begins_and_goes_on_although_its_api_server_is_gone(one_node: Stage) -> None:
    """Readiness waits for the first look at everything: an upgrade without one stops before it takes the leader away.
    Outages after that leave the process ready."""
    electing = {"RECONCILER_LEADER_ELECT": "true", "RECONCILER_LEADER_ELECT_RETRY_PERIOD": "300ms"}
    gone = {"kind": "status", "code": 503, "count": None}
    one_node.proxy.set_faults([gone])

    with started(one_node, *OFTEN, "--request-timeout", "1s", **electing) as controller:
        wait_for(lambda: controller.page("/livez") == (200, "ok"), "the probes")
        wait_for(lambda: NO_LEASE in controller.page("/readyz")[1], "a try that fails")
        assert [controller.page(probe)[0] for probe in PROBES] == [200, 503, 200]
        one_node.proxy.clear_faults()
        wait_for(lambda: controller.page("/readyz") == (200, "ok"), "readiness")

        one_node.proxy.set_faults([gone])
        wait_for(lambda: controller.passes('result="error"') >= 1, "a pass that could not be made")
        assert [controller.page(probe) for probe in PROBES] == [(200, "ok")] * 3
        one_node.proxy.clear_faults()
        _recovers(one_node, controller)
